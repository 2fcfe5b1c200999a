"""Run the agent or a baseline on questions: a record each, with the gold answers of the same KB (section 5)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.agent.agent import POLICY, PRUNE, Agent, AgentAnswer, AgentSettings
from kbkit.benchmarks import run as runs
from kbkit.benchmarks.recorded import snapshot
from kbkit.benchmarks.spinach import paper
from kbkit.benchmarks.spinach.baselines import PROMPTS, Baseline
from kbkit.benchmarks.spinach.execute import Executed, execute, gold_problem, rows_of
from kbkit.benchmarks.spinach.files import QuestionFile, SparqlQuestion
from kbkit.benchmarks.spinach.run_files import AgentRecord
from kbkit.directory.generations import fingerprint
from kbkit.errors import KbError
from kbkit.llm.account import BudgetError
from kbkit.measures.rows import Result

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

_MAX_ERRORS = 3
"""Maximum number of consecutive questions with an error of the model; then the run ends."""


@dataclass(frozen=True)
class AgentPlan:
    """The questions to ask: the first ``limit`` (None: all); ``unscored`` includes questions that cannot be scored.

    ``baseline``: one of :mod:`kbkit.benchmarks.spinach.baselines` instead of the agent, or "".
    """

    agent: AgentSettings
    limit: int | None = None
    unscored: bool = False
    baseline: str = ""


def run(
    kb: KnowledgeBase,
    dataset: QuestionFile,
    out: Path,
    plan: AgentPlan,
    calls: Calls,
    *,
    workers: int = 1,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> runs.Run[AgentRecord]:
    """Ask the agent the questions in ``workers`` threads, and write each record to ``out`` when it is finished.

    An interrupted run continues with the questions that are missing or failed. See :func:`kbkit.benchmarks.run.run` for
    ``replace`` and errors; raises the error of the model's endpoint after three consecutive questions that fail.
    """
    agent = AgentSystem(kb, plan, calls)  # raises before anything is written if the agent cannot use the KB
    form = runs.row_form(AgentRecord, workers=workers, retry=lambda record: record.failed)
    questions = dataset.questions[: plan.limit]
    return runs.run(out, agent, questions, form, _settings(kb, dataset, plan), replace=replace, progress=progress)


def _settings(kb: KnowledgeBase, dataset: QuestionFile, plan: AgentPlan) -> dict[str, Any]:
    """Return everything about the data that the records depend on."""
    published = paper.named(dataset.path)
    return {
        "file": dataset.path.name,
        "dataset": published.name if published else "",
        "split": paper.split(dataset.path),
        "questions": fingerprint(dataset.path)["sha256"],
        "kb": snapshot(kb),
        "unscored": plan.unscored,
    }


class AgentSystem:
    """The agent with a model, or a baseline; thread-safe."""

    def __init__(self, kb: KnowledgeBase, plan: AgentPlan, calls: Calls) -> None:
        self._kb, self._plan, self._calls = kb, plan, calls
        model, settings = calls.models[0], plan.agent
        self.name = f"{model} {plan.baseline}".strip()
        self._baseline = self._agent = None
        if plan.baseline:
            self._baseline = Baseline(kb, calls, plan.baseline, settings.timeout, settings.limit)
            prompts = [PROMPTS[plan.baseline]]
            own: dict[str, Any] = {"baseline": plan.baseline, "timeout": settings.timeout, "limit": settings.limit}
        else:
            self._agent = Agent(kb.stores, calls, settings)
            prompts = [POLICY, PRUNE]
            own = {**asdict(settings), "without": sorted(settings.without)}
        digests = {name: calls.prompt(name).digest for name in prompts}
        self.settings: dict[str, Any] = {"model": model, "prompts": digests, **own}
        self._guard = threading.Lock()
        self._errors = 0

    def answer(self, questions: Sequence[SparqlQuestion]) -> list[AgentRecord]:
        """Return the record of each question."""
        return [self._attempt(question) for question in questions]

    def _attempt(self, question: SparqlQuestion) -> AgentRecord:
        """Run the gold query, then ask the question; the plan can exclude questions that cannot be scored."""
        settings = self._plan.agent
        gold = execute(self._kb, question.sparql, settings.timeout, settings.limit) if question.sparql else None
        result, problem = _gold(gold)
        if self._baseline is not None:
            result = self._baseline.gold(result)
        unanswered = AgentRecord(question.id, question.text, "", None, question.sparql, result, problem, asked=True)
        if gold is not None and not _is_scorable(gold) and not self._plan.unscored:
            return replace(unanswered, asked=False, error="not asked: there is no gold answer")
        try:
            fields = self._predicted(question, result)
        except BudgetError:
            raise
        except KbError as error:
            self._count(error)
            message = " ".join(str(error).split())
            return replace(unanswered, failed=True, error=message)
        self._count(None)
        return replace(unanswered, **fields)

    def _predicted(self, question: SparqlQuestion, gold: Result) -> dict[str, Any]:
        """Return the fields about the answer."""
        if self._baseline is not None:
            prediction = self._baseline.answer(question, gold)
            answered = {"predicted_answer_tuple": prediction.rows, "predicted_sparql": prediction.sparql}
            return {**answered, "error": prediction.error, "cut": prediction.cut}
        assert self._agent is not None
        answer = self._agent.ask(question.text)
        usable = bool(answer.sparql and answer.rows.columns)
        return {
            "predicted_answer_tuple": rows_of(answer.rows, answer.terms) if usable else None,
            "predicted_sparql": answer.sparql,
            "error": "" if usable else "no query that ran" if answer.sparql else "no query",
            **self._measured(answer),
        }

    def _count(self, error: KbError | None) -> None:
        with self._guard:
            self._errors = self._errors + 1 if error else 0
            if error and self._errors >= _MAX_ERRORS:
                raise error

    def _measured(self, answer: AgentAnswer) -> dict[str, Any]:
        """Return the fields about the work of the agent."""
        prices = self._calls.account.models[self._calls.models[0]].prices
        used = answer.usage
        known = any(used)  # a recording has no usage
        return {
            "cut": answer.cut,
            "outcome": answer.outcome,
            "actions": answer.actions,
            "rolled_back": answer.rolled_back,
            "taken": dict(Counter(step.action or "(none)" for step in answer.trace)),
            "input_tokens": used.input if known else None,
            "output_tokens": used.output if known else None,
            "cost": (used.input * prices[0] + used.output * prices[1]) / 1e6 if prices and known else None,
            "trace": [{name: one for name, one in step.record().items() if name in _STEP} for step in answer.trace],
        }


_STEP = ("thought", "action", "argument", "rolled_back")
"""The recorded fields of a step: observations follow from the actions."""


def _gold(gold: Executed | None) -> tuple[Result, str]:
    """Return the gold result and why it cannot be scored, if so."""
    if gold is None:
        return None, ""
    return gold.result, gold_problem(gold)


def _is_scorable(gold: Executed) -> bool:
    return gold.stage == "done" and not gold.cut
