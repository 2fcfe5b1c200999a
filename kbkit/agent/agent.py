"""The SPINACH agent: a model explores a KB, one thought and action at a time, until a query answers a question.

After "SPINACH: SPARQL-Based Information Navigation for Challenging Real-World Questions" (Liu et al., 2024), section 4.
Only the model's own reply is parsed for an action; KB contents reach the model as JSON data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.agent import describe, reply
from kbkit.agent.actions import ROWS, TIMEOUT, Explorer
from kbkit.agent.reply import RequestedAction
from kbkit.agent.results import Entry, Outcome, Result
from kbkit.agent.state import AgentState, AgentStep
from kbkit.errors import KbError
from kbkit.llm import prompts
from kbkit.llm.calls import Calls
from kbkit.llm.client import Usage

if TYPE_CHECKING:
    import polars as pl

    from kbkit.stores import Stores

POLICY, PRUNE, SENTENCE = "explore_policy", "explore_prune", "explore_sentence"
"""The prompts."""

_BACK = 1
"""Number of steps that a repeated action rolls back, as well as the action itself: the authors' code drops the last two
actions (``move_back_on_duplicate_action``); the paper says "the state before the repetition".
"""
_MOST_ENTRY = 4
"""An entry that the model did not prune is truncated at this multiple of the pruning size."""

Listener = Callable[[AgentState], None]


@dataclass(frozen=True)
class AgentSettings:
    """Settings of the agent; the defaults are the paper's (section 4).

    * ``actions``: maximum number of actions in effect; ``total``: including those rolled back
    * ``without``: actions the agent lacks (search, entry, examples)
    * ``fold``: number of last steps whose observations the model sees in full; older ones are folded to one line
      (0: all in full, the paper's "full history")
    * ``prune``: size of an entry's JSON, in characters, from which a model prunes it (0: never)
    * ``timeout``: seconds per query; ``limit``: maximum rows per query
    * ``sentence``: let the model also answer in a sentence, from the rows of the query (not in the paper)
    """

    actions: int = 15
    total: int = 30
    without: tuple[str, ...] = ()
    fold: int = 6
    prune: int = 4_000
    timeout: float | None = TIMEOUT
    limit: int = ROWS
    sentence: bool = False

    def __post_init__(self) -> None:
        for name, least in (("actions", 1), ("total", 1), ("fold", 0), ("prune", 0), ("limit", 1)):
            if getattr(self, name) < least:
                raise KbError(f"Invalid value of {name}: {getattr(self, name)}", f"Use {least} or more")
        if self.timeout is not None and self.timeout <= 0:
            raise KbError(f"Invalid timeout: {self.timeout:g}", "Use a number above 0, or None for no limit")
        describe.actions(self.without)


class EarlierQuestion(NamedTuple):
    """An earlier question of the same conversation: its query, and a table of its rows as lines."""

    question: str
    sparql: str
    rows: list[str]


@dataclass(frozen=True)
class AgentAnswer:
    """The result of an agent.

    ``sparql`` is the last query with rows (else the last query, or '') and ``rows`` its rows, at most
    ``Settings.limit`` (then ``cut`` is true). ``outcome`` is ``stopped`` (the model called stop), ``limit`` (no actions
    left, but a query returned rows) or ``nothing``. ``actions`` counts the steps in effect, ``trace`` has all steps.
    ``usage`` counts tokens as reported by the model, including cached replies; those of a recording are 0. ``sentence``
    is the answer in the model's words (``Settings.sentence``), or empty.
    """

    question: str
    sparql: str
    rows: pl.DataFrame
    trace: list[AgentStep]
    actions: int
    usage: Usage
    outcome: str
    cut: bool = False
    shown: list[str] = field(default_factory=list)
    sentence: str = ""
    terms: pl.DataFrame | None = None
    """The rows as RDF terms."""

    @property
    def rolled_back(self) -> int:
        """The number of steps rolled back."""
        return sum(step.rolled_back for step in self.trace)


class Agent:
    """Answers questions on one KB. Thread-safe; each question has its own state.

    ``calls`` is the model with its cache of replies, so the same question is answered in the same way. Raises
    :class:`KbError` for a KB without triples.
    """

    def __init__(self, stores: Stores, calls: Calls, settings: AgentSettings | None = None) -> None:
        stores.manifest.store("triples")
        self.settings = settings or AgentSettings()
        self._calls, self._explorer = calls, Explorer(stores)
        self._actions = describe.actions(self.settings.without)
        self._names = [action["name"] for action in self._actions]
        self._about = describe.kb(stores, self._explorer.names)

    def ask(
        self, question: str, history: Sequence[EarlierQuestion] = (), listen: Listener | None = None
    ) -> AgentAnswer:
        """Explore until the model stops or its actions are used up; ``listen`` is called with the state after each
        step.

        Raises :class:`BudgetError` and the errors of the model's endpoint; the steps until then have been passed to
        ``listen``.
        """
        if not question.strip():
            raise KbError("Empty question", "Enter a question")
        state, stopped = AgentState(), False
        while not stopped and len(state.steps) < self.settings.actions and len(state.trace) < self.settings.total:
            wanted, usage = self._next(question, history, state)
            stopped = self._take(question, state, wanted, usage)
            if listen is not None:
                listen(state)
        return self._answer(question, history, state, stopped)

    # -- a step -------------------------------------------------------------------------------------------------------

    def _next(
        self, question: str, history: Sequence[EarlierQuestion], state: AgentState
    ) -> tuple[RequestedAction, Usage]:
        """Return the model's next action. After a rollback the same state is sampled again, as a new call."""
        inputs = {
            "actions": self._actions,
            "question": question,
            "kb": self._about,
            "history": [turn._asdict() for turn in history],
            "steps": state.shown(self.settings.fold),
            "left": min(self.settings.actions - len(state.steps), self.settings.total - len(state.trace)),
        }
        answer, usage = self._asked(POLICY, inputs, state.rollbacks)
        if answer.problem:
            return RequestedAction("", "", "", answer.problem), usage
        return reply.read(answer.value, self._names), usage

    def _take(self, question: str, state: AgentState, wanted: RequestedAction, usage: Usage) -> bool:
        """Execute the action or roll back; return whether the work is finished."""
        step = AgentStep(len(state.trace) + 1, wanted.thought, wanted.action, wanted.argument, usage=usage)
        if wanted.problem:
            step.note(wanted.problem)
            state.add(step)
        elif wanted.action == "stop" and not state.found:
            step.note("stop rejected: the last query returned no rows")
            state.roll_back(step, 0)
        elif wanted.action == "stop":
            step.note("the last query is the answer")
            state.add(step)
            return True
        elif state.repeats(wanted.action, wanted.argument):
            step.note("repeated action: rolled back, with the step before it")
            state.roll_back(step, _BACK)
        else:
            self._act(question, step)
            state.add(step)
        return False

    def _act(self, question: str, step: AgentStep) -> None:
        """Run the action; an error becomes the observation."""
        try:
            result = self._run(step.action, step.argument)
        except KbError as error:
            step.note(f"error: {' '.join(str(error).split())}")
            return
        if isinstance(result, Entry):
            result, usage = self._pruned(question, result)
            step.usage = Usage(step.usage.input + usage.input, step.usage.output + usage.output)
        step.observe(result)

    def _run(self, action: str, argument: str) -> Result:
        if action == "sparql":
            return self._explorer.sparql(argument, self.settings.timeout, self.settings.limit)
        if action == "entry":
            return self._explorer.entry(argument)
        if action == "examples":
            return self._explorer.examples(argument)
        return self._explorer.search(argument)

    def _pruned(self, question: str, entry: Entry) -> tuple[Entry, Usage]:
        """Return a long entry reduced to the properties that a model selects, or truncated if its answer is invalid."""
        if not self.settings.prune or entry.size <= self.settings.prune:
            return entry, Usage()
        inputs = {"question": question, "entry": entry.title, "edges": entry.edges}
        answer, usage = self._asked(PRUNE, inputs)
        kept = entry if answer.problem else entry.kept(answer.value["keep"])
        return (kept if kept.edges else entry).within(_MOST_ENTRY * self.settings.prune), usage

    def _asked(self, prompt: str, inputs: dict[str, Any], sample: int = 0) -> tuple[prompts.ModelAnswer, Usage]:
        """Return a model's answer, and the tokens of its calls from the cache."""
        [answer] = self._calls.ask(prompt, [inputs], sample=sample)
        request, model = self._calls.prompt(prompt).request(inputs, sample), self._calls.models[0]
        used = self._calls.cache.get(request.key(model))
        if used is None:  # a recording
            return answer, Usage()
        first = prompts.parse_reply(used, request.schema, request.max_tokens)
        if not first.problem:
            return answer, used.usage
        again = request.followed(*prompts.complaint(used, first.problem, request.schema))
        more = self._calls.cache.get(again.key(model))
        second = more.usage if more else Usage()
        return answer, Usage(used.usage.input + second.input, used.usage.output + second.output)

    # -- the end ------------------------------------------------------------------------------------------------------

    def _answer(
        self, question: str, history: Sequence[EarlierQuestion], state: AgentState, stopped: bool
    ) -> AgentAnswer:
        import polars as pl

        best: Outcome | None = state.best
        has_rows = best is not None and best.kind == "results"
        sentence, usage = "", state.usage
        if best is not None and has_rows and self.settings.sentence:
            sentence, used = self._sentence(question, history, best)
            usage = Usage(usage.input + used.input, usage.output + used.output)
        frame = best.frame if best is not None and best.frame is not None else pl.DataFrame()
        return AgentAnswer(
            question,
            best.query if best is not None else "",
            frame,
            state.trace,
            len(state.steps),
            usage,
            "stopped" if stopped else "limit" if has_rows else "nothing",
            best.cut if best is not None else False,
            best.shown if best is not None else [],
            sentence,
            best.terms if best is not None else None,
        )

    def _sentence(self, question: str, history: Sequence[EarlierQuestion], best: Outcome) -> tuple[str, Usage]:
        """Return the answer in the model's words, empty if it fails or writes no sentence: the rows are found."""
        inputs = {
            "question": question,
            "history": [turn._asdict() for turn in history],
            "sparql": best.query,
            "count": best.count,
            "rows": best.shown,
        }
        try:
            answer, usage = self._asked(SENTENCE, inputs)
        except KbError:
            return "", Usage()
        text = "" if answer.problem else " ".join(str(answer.value).split())
        return ("" if text.startswith(("{", "[")) else text), usage  # a small model repeats the JSON that it was given
