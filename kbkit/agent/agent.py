"""The SPINACH agent: a model that explores a KB, a thought and an action at a time, until a query answers a question.

After "SPINACH: SPARQL-Based Information Navigation for Challenging Real-World Questions" (Liu et al., 2024), section 4.
Only what the model itself replies is ever taken for an action; what the KB says reaches it as JSON, and as data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.agent import describe, reply
from kbkit.agent.actions import ROWS, TIMEOUT, Explorer
from kbkit.agent.reply import Wanted
from kbkit.agent.results import Entry, Outcome, Result
from kbkit.agent.state import State, Step
from kbkit.errors import KbError
from kbkit.llm import reading
from kbkit.llm.calls import Calls
from kbkit.llm.client import Usage

if TYPE_CHECKING:
    import polars as pl

    from kbkit.stores import Stores

POLICY, PRUNE = "explore_policy", "explore_prune"
"""The prompts."""

_BACK = 2
"""Steps that a repeated action takes back."""
_MOST_ENTRY = 4
"""An entry that no model shortened is cut at so many times the size from which it is shortened."""

Listener = Callable[[State], None]


@dataclass(frozen=True)
class Settings:
    """How an agent works; the numbers are the paper's (section 4).

    * ``actions``: those that stand in the end, at most; ``total``: all, those that were rolled back too
    * ``without``: actions that it does not have (search, entry, examples)
    * ``fold``: the last steps whose observations are shown whole; older ones are a line each
    * ``prune``: letters of an entry's JSON from which a model shortens it; 0 for never
    * ``timeout``: seconds a query; ``limit``: rows that are taken of one
    """

    actions: int = 15
    total: int = 30
    without: tuple[str, ...] = ()
    fold: int = 6
    prune: int = 4_000
    timeout: float | None = TIMEOUT
    limit: int = ROWS

    def __post_init__(self) -> None:
        for name, least in (("actions", 1), ("total", 1), ("fold", 1), ("prune", 0), ("limit", 1)):
            if getattr(self, name) < least:
                raise KbError(f"{name} is {getattr(self, name)}", f"it is {least} or more")
        if self.timeout is not None and self.timeout <= 0:
            raise KbError(f"timeout is {self.timeout:g}", "it is above 0, or None for no limit")
        describe.actions(self.without)


class Turn(NamedTuple):
    """A question that was answered before, in the same conversation: its query, and lines of a table of its rows."""

    question: str
    sparql: str
    rows: list[str]


@dataclass(frozen=True)
class Answer:
    """What an agent found.

    ``sparql`` is the last query that gave rows (else the last query, empty if there was none) and ``rows`` are all of
    its rows, up to ``Settings.most`` (then ``cut``). ``outcome`` is ``stopped`` (the model called stop), ``limit`` (it
    used up its actions, and a query had given rows) or ``nothing``. ``actions`` counts the steps that stand, ``trace``
    has all. ``usage`` counts tokens as the model does, also of replies that the cache knew; those of a recording are 0.
    """

    question: str
    sparql: str
    rows: pl.DataFrame
    trace: list[Step]
    actions: int
    usage: Usage
    outcome: str
    cut: bool = False
    shown: list[str] = field(default_factory=list)

    @property
    def rolled_back(self) -> int:
        """Steps that do not stand."""
        return sum(step.rolled_back for step in self.trace)

    @property
    def turn(self) -> Turn:
        """The answer as a later question's history has it."""
        return Turn(self.question, self.sparql, self.shown)


class Agent:
    """Answers questions on one KB. Any thread may ask; each question has a state of its own.

    ``calls`` names the model, and keeps its replies, so that the same question takes the same way again. Raises
    :class:`KbError` for a KB without triples, which no query can be run on.
    """

    def __init__(self, stores: Stores, calls: Calls, settings: Settings | None = None) -> None:
        stores.manifest.store("triples")
        self.settings = settings or Settings()
        self._calls, self._explorer = calls, Explorer(stores)
        self._actions = describe.actions(self.settings.without)
        self._names = [action["name"] for action in self._actions]
        self._about = describe.kb(stores, self._explorer.names)

    def ask(self, question: str, history: Sequence[Turn] = (), listen: Listener | None = None) -> Answer:
        """Explore until the model stops or its actions are used up; ``listen`` hears the state after each step.

        Raises :class:`BudgetError` and what else a model's endpoint raises; what was found till then was told to
        ``listen``.
        """
        if not question.strip():
            raise KbError("the question is empty", "ask something")
        state, stopped = State(), False
        while not stopped and len(state.steps) < self.settings.actions and len(state.trace) < self.settings.total:
            wanted, usage = self._next(question, history, state)
            stopped = self._take(question, state, wanted, usage)
            if listen is not None:
                listen(state)
        return self._answer(question, state, stopped)

    # -- a step -------------------------------------------------------------------------------------------------------

    def _next(self, question: str, history: Sequence[Turn], state: State) -> tuple[Wanted, Usage]:
        """What the model wants to do. After a rollback the same state is another sample, which is another call."""
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
            return Wanted("", "", "", answer.problem), usage
        return reply.read(answer.value, self._names), usage

    def _take(self, question: str, state: State, wanted: Wanted, usage: Usage) -> bool:
        """Do what the model wants, or go back; whether the work is at its end."""
        step = Step(len(state.trace) + 1, wanted.thought, wanted.action, wanted.argument, usage=usage)
        if wanted.problem:
            step.note(wanted.problem)
            state.add(step)
        elif wanted.action == "stop" and not state.found:
            step.note("stop, but the last query gave no rows: taken back")
            state.roll_back(step, 0)
        elif wanted.action == "stop":
            step.note("the last query is the answer")
            state.add(step)
            return True
        elif state.repeats(wanted.action, wanted.argument):
            step.note(f"the same action again: taken back, and the {_BACK} steps before")
            state.roll_back(step, _BACK)
        else:
            self._act(question, step)
            state.add(step)
        return False

    def _act(self, question: str, step: Step) -> None:
        """Run the action; what is wrong with it is what the model sees."""
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
        """A long entry with the properties that a model thinks of help; one whose answer is of no use is cut."""
        if not self.settings.prune or entry.size <= self.settings.prune:
            return entry, Usage()
        inputs = {"question": question, "entry": entry.title, "edges": entry.edges}
        answer, usage = self._asked(PRUNE, inputs)
        kept = entry if answer.problem else entry.kept(answer.value["keep"])
        return (kept if kept.edges else entry).within(_MOST_ENTRY * self.settings.prune), usage

    def _asked(self, prompt: str, inputs: dict[str, Any], sample: int = 0) -> tuple[reading.Answer, Usage]:
        """A model's answer, and the tokens of its calls as the cache has them."""
        [answer] = self._calls.ask(prompt, [inputs], sample=sample)
        request, model = self._calls.prompt(prompt).request(inputs, sample), self._calls.models[0]
        used = self._calls.cache.get(request.key(model))
        if used is None:  # a recording
            return answer, Usage()
        first = reading.read(used, request.schema, request.max_tokens)
        if not first.problem:
            return answer, used.usage
        again = request.followed(*reading.complaint(used, first.problem, request.schema))
        more = self._calls.cache.get(again.key(model))
        second = more.usage if more else Usage()
        return answer, Usage(used.usage.input + second.input, used.usage.output + second.output)

    # -- the end ------------------------------------------------------------------------------------------------------

    def _answer(self, question: str, state: State, stopped: bool) -> Answer:
        import polars as pl

        best: Outcome | None = state.best
        frame = best.frame if best is not None and best.frame is not None else pl.DataFrame()
        return Answer(
            question,
            best.query if best is not None else "",
            frame,
            state.trace,
            len(state.steps),
            state.usage,
            "stopped" if stopped else "limit" if best is not None and best.kind == "results" else "nothing",
            best.cut if best is not None else False,
            best.shown if best is not None else [],
        )
