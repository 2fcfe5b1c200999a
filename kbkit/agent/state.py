"""The exploration state: thoughts, actions and observations of an agent, and rollbacks (SPINACH paper, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kbkit.agent.results import Outcome, Result
from kbkit.llm.client import Usage


@dataclass
class AgentStep:
    """A thought, an action, and its observation.

    ``observation`` is the text for a person, ``seen`` for the model, ``folded`` for the model in later steps. ``usage``
    counts the tokens of all calls of the step. ``rolled_back`` is set when the step is no longer in effect.
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
        """Record the result of the action."""
        self.observation, self.seen, self.folded = result.text, result.to_json(), result.folded
        self.outcome = result if isinstance(result, Outcome) else None

    def note(self, text: str) -> None:
        """Record a note in place of a result."""
        self.observation = self.folded = text
        self.seen = text

    def record(self) -> dict[str, Any]:
        """Return the step as plain data, for a trace."""
        return {
            "step": self.number,
            "thought": self.thought,
            "action": self.action,
            "argument": self.argument,
            "observation": self.observation,
            "tokens": list(self.usage),
            "rolled_back": self.rolled_back,
        }


_RECENT = 4
"""Number of last steps that a repeated action is looked for in, as in the authors' code: older observations are folded,
so that the model may need to see them again.
"""


@dataclass
class AgentState:
    """The steps in effect; ``trace`` has all steps, including those rolled back."""

    steps: list[AgentStep] = field(default_factory=list)
    trace: list[AgentStep] = field(default_factory=list)
    rollbacks: int = 0

    def repeats(self, action: str, argument: str) -> bool:
        """Return whether one of the last steps has the same action and argument."""
        wanted = (action, _plain(argument))
        return any((step.action, _plain(step.argument)) == wanted for step in self.steps[-_RECENT:])

    def add(self, step: AgentStep) -> None:
        """Add a step."""
        self.steps.append(step)
        self.trace.append(step)

    def roll_back(self, step: AgentStep, count: int) -> None:
        """Discard a step, and roll back the ``count`` steps before it."""
        step.rolled_back = True
        self.trace.append(step)
        for undone in self.steps[len(self.steps) - count :] if count < len(self.steps) else self.steps:
            undone.rolled_back = True
        self.steps = [earlier for earlier in self.steps if not earlier.rolled_back]
        self.rollbacks += 1

    @property
    def found(self) -> bool:
        """Whether the last query returned rows."""
        outcomes = _outcomes(self.steps)
        return bool(outcomes) and outcomes[-1].kind == "results"

    @property
    def best(self) -> Outcome | None:
        """The last query with rows, preferably of a step in effect; else the last query."""
        for steps in (self.steps, self.trace):
            with_rows = [outcome for outcome in _outcomes(steps) if outcome.kind == "results"]
            if with_rows:
                return with_rows[-1]
        outcomes = _outcomes(self.steps) or _outcomes(self.trace)
        return outcomes[-1] if outcomes else None

    @property
    def usage(self) -> Usage:
        """The tokens of all steps."""
        return Usage(sum(s.usage.input for s in self.trace), sum(s.usage.output for s in self.trace))

    def shown(self, whole: int) -> list[dict[str, Any]]:
        """Return the steps as the model sees them: the last ``whole`` (0: all) in full, older ones folded."""
        old = len(self.steps) - whole if whole else 0
        return [
            {
                "thought": step.thought,
                "action": step.action or "(none)",
                "argument": step.argument,
                "observation": step.folded if place < old else step.seen,
            }
            for place, step in enumerate(self.steps)
        ]


def _outcomes(steps: Sequence[AgentStep]) -> list[Outcome]:
    return [step.outcome for step in steps if step.outcome is not None]


def _plain(text: str) -> str:
    return " ".join(text.split())
