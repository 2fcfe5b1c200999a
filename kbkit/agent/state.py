"""The exploration state: what an agent thought, did and saw so far; and how it goes back (the SPINACH paper, 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kbkit.agent.results import Outcome, Result
from kbkit.llm.client import Usage


@dataclass
class Step:
    """A thought, an action, and what came of it.

    ``observation`` is what a person reads of it, ``seen`` what the model does, ``folded`` what the model reads of it
    later on. ``usage`` counts the tokens of all calls of the step. ``rolled_back`` once the step stands no longer.
    """

    number: int
    thought: str
    action: str
    argument: str
    observation: str = ""
    seen: Any = None
    folded: str = ""
    usage: Usage = field(default_factory=Usage)
    rolled_back: bool = False
    outcome: Outcome | None = None

    def observe(self, result: Result) -> None:
        """Take what the action gave."""
        self.observation, self.seen, self.folded = result.text, result.to_json(), result.folded
        self.outcome = result if isinstance(result, Outcome) else None

    def note(self, text: str) -> None:
        """Take a remark in the place of a result: what is wrong."""
        self.observation = self.folded = text
        self.seen = text

    def record(self) -> dict[str, Any]:
        """The step as plain data, for a trace."""
        return {
            "step": self.number,
            "thought": self.thought,
            "action": self.action,
            "argument": self.argument,
            "observation": self.observation,
            "tokens": list(self.usage),
            "rolled_back": self.rolled_back,
        }


@dataclass
class State:
    """The steps that stand. ``trace`` has all that were taken, those that were rolled back too."""

    steps: list[Step] = field(default_factory=list)
    trace: list[Step] = field(default_factory=list)
    rollbacks: int = 0

    def repeats(self, action: str, argument: str) -> bool:
        """Whether an earlier step did the same."""
        return any((step.action, _plain(step.argument)) == (action, _plain(argument)) for step in self.steps)

    def add(self, step: Step) -> None:
        """Take a step."""
        self.steps.append(step)
        self.trace.append(step)

    def roll_back(self, step: Step, count: int) -> None:
        """Do not take a step, and go back ``count`` steps."""
        step.rolled_back = True
        self.trace.append(step)
        for undone in self.steps[len(self.steps) - count :] if count < len(self.steps) else self.steps:
            undone.rolled_back = True
        self.steps = [earlier for earlier in self.steps if not earlier.rolled_back]
        self.rollbacks += 1

    @property
    def found(self) -> bool:
        """Whether the last query that was run gave rows."""
        outcomes = _outcomes(self.steps)
        return bool(outcomes) and outcomes[-1].kind == "results"

    @property
    def best(self) -> Outcome | None:
        """The last query that gave rows, of the steps that stand if one of these did; else the last query."""
        for steps in (self.steps, self.trace):
            given = [outcome for outcome in _outcomes(steps) if outcome.kind == "results"]
            if given:
                return given[-1]
        outcomes = _outcomes(self.steps) or _outcomes(self.trace)
        return outcomes[-1] if outcomes else None

    @property
    def usage(self) -> Usage:
        """The tokens of all steps."""
        return Usage(sum(s.usage.input for s in self.trace), sum(s.usage.output for s in self.trace))

    def shown(self, whole: int) -> list[dict[str, Any]]:
        """The steps as the model reads them: the last ``whole`` with all that was observed, older ones folded."""
        old = len(self.steps) - whole
        return [
            {
                "thought": step.thought,
                "action": step.action or "(none)",
                "argument": step.argument,
                "observation": step.folded if place < old else step.seen,
            }
            for place, step in enumerate(self.steps)
        ]


def _outcomes(steps: Sequence[Step]) -> list[Outcome]:
    return [step.outcome for step in steps if step.outcome is not None]


def _plain(text: str) -> str:
    return " ".join(text.split())
