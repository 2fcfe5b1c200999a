"""The agent on the questions of a file: a record a question, the gold answers of the same KB beside (section 5)."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.agent.agent import POLICY, PRUNE, Agent, Answer
from kbkit.agent.agent import Settings as AgentSettings
from kbkit.benchmarks.spinach import paper
from kbkit.benchmarks.spinach.execute import Executed, execute, rows_of
from kbkit.benchmarks.spinach.files import Dataset, Question
from kbkit.benchmarks.spinach.runs import GOLD, PREDICTED, RunFile
from kbkit.benchmarks.stages import Row
from kbkit.directory import systems
from kbkit.directory.generations import fingerprint
from kbkit.directory.systems import exclusive
from kbkit.errors import KbError
from kbkit.llm.account import BudgetError

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

_MOST_ERRORS = 3
"""A run ends when so many questions, one after another, end in an error of the model: it is not there."""


@dataclass(frozen=True)
class Plan:
    """What is asked: the first ``limit`` questions (None: all), those too that cannot be scored if ``unscored``."""

    agent: AgentSettings
    limit: int | None = None
    unscored: bool = False


def snapshot(kb: KnowledgeBase) -> dict[str, Any]:
    """What data a KB's answers are of: its name, generation, when that was made, and a hash of its sources' names and
    checksums.
    """
    manifest = kb.manifest
    sources = sorted((str(source.get("name")), str(source.get("sha256"))) for source in manifest.sources)
    digest = hashlib.sha256(json.dumps(sources).encode()).hexdigest()
    return {
        "name": kb.schema.name,
        "generation": manifest.generation,
        "created": manifest.created,
        "sources": digest,
    }


def run(
    kb: KnowledgeBase,
    dataset: Dataset,
    out: Path,
    plan: Plan,
    calls: Calls,
    *,
    workers: int = 1,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> None:
    """Let the agent answer the questions, ``workers`` at once, and write a record for each to ``out`` as it comes.

    A run that was stopped goes on where it was, with the questions that the file lacks or whose model failed; with
    ``replace`` it begins anew. The first line says how it was made, and on what data (:func:`snapshot`). Raises
    :class:`KbError` for a file of another run, and what the model's endpoint raises for three questions in a row.
    """
    if not out.parent.is_dir():
        raise KbError(f"{out}: there is no folder {out.parent}", "make it first")
    asking = _Asking(kb, plan, calls)  # refuses a KB that cannot be asked, before anything is written
    lock = out.with_name(f".{out.name}.lock")
    with exclusive(lock, f"another run writes to {out}", "wait for it, or give another --out"):
        if replace:
            systems.remove(out)
        file = RunFile(out, _settings(kb, dataset, plan, calls))
        questions = dataset.questions[: plan.limit]
        asked = {question.id: question for question in questions}
        todo: list[Row] = [{"id": name} for name in asked]
        file.each(todo, lambda row: asking.record(asked[row["id"]]), workers, progress)


def _settings(kb: KnowledgeBase, dataset: Dataset, plan: Plan, calls: Calls) -> Row:
    """All that the records depend on."""
    agent, published = asdict(plan.agent), paper.named(dataset.path)
    return {
        "file": dataset.path.name,
        "dataset": published.name if published else "",
        "split": paper.split(dataset.path),
        "questions": fingerprint(dataset.path)["sha256"],
        "kb": snapshot(kb),
        "model": calls.models[0],
        "prompts": {name: calls.prompt(name).digest for name in (POLICY, PRUNE)},
        **agent,
        "without": sorted(plan.agent.without),
        "unscored": plan.unscored,
    }


class _Asking:
    """Makes the record of a question; any thread may ask."""

    def __init__(self, kb: KnowledgeBase, plan: Plan, calls: Calls) -> None:
        self._kb, self._plan, self._calls = kb, plan, calls
        self._agent = Agent(kb.stores, calls, plan.agent)
        self._guard = threading.Lock()
        self._errors = 0

    def record(self, question: Question) -> Row:
        """Gold first: a question that it cannot score is not asked, unless the plan says so."""
        settings = self._plan.agent
        gold = execute(self._kb, question.sparql, settings.timeout, settings.limit) if question.sparql else None
        begun = {"id": question.id, "question": question.text, "gold_sparql": question.sparql, **_gold(gold)}
        if gold is not None and not _scores(gold) and not self._plan.unscored:
            return {**begun, "asked": False, PREDICTED: None, "error": "not asked: there is no gold answer"}
        try:
            answer = self._agent.ask(question.text)
        except BudgetError:
            raise
        except KbError as error:
            self._count(error)
            return {**begun, "asked": True, "failed": True, PREDICTED: None, "error": " ".join(str(error).split())}
        self._count(None)
        return {**begun, "asked": True, **self._told(answer)}

    def _count(self, error: KbError | None) -> None:
        with self._guard:
            self._errors = self._errors + 1 if error else 0
            if error and self._errors >= _MOST_ERRORS:
                raise error

    def _told(self, answer: Answer) -> Row:
        prices = self._calls.account.models[self._calls.models[0]].prices
        used = answer.usage
        found = answer.sparql and answer.rows.columns
        return {
            "predicted_sparql": answer.sparql,
            PREDICTED: rows_of(answer.rows) if found else None,
            "cut": answer.cut,
            "outcome": answer.outcome,
            "error": "" if found else "no query that ran" if answer.sparql else "no query",
            "actions": answer.actions,
            "rolled_back": answer.rolled_back,
            "taken": dict(Counter(step.action or "(none)" for step in answer.trace)),
            "input_tokens": used.input if any(used) else None,  # a recording does not say
            "output_tokens": used.output if any(used) else None,
            "cost": (used.input * prices[0] + used.output * prices[1]) / 1e6 if prices and any(used) else None,
            "trace": [{name: value for name, value in step.record().items() if name in _KEPT} for step in answer.trace],
        }


_KEPT = ("thought", "action", "argument", "rolled_back")
"""What a record keeps of a step: the same actions give the same observations again."""


def _gold(gold: Executed | None) -> Row:
    if gold is None:
        return {GOLD: None, "gold_error": ""}
    return {GOLD: gold.result, "gold_error": "there are more rows than are kept" if gold.cut else gold.error}


def _scores(gold: Executed) -> bool:
    """Whether a gold result says what is right."""
    return gold.stage == "done" and not gold.cut
