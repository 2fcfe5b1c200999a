"""What the calls of a run used and cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from kbkit.errors import KbError, plural
from kbkit.llm.client import Usage

Prices = tuple[float, float]
"""What a million tokens cost, read and written."""


class BudgetError(KbError):
    """The budget of a run is spent; all that was answered is kept."""


@dataclass
class Tally:
    """One model's calls: ``cached`` of them cost nothing; ``input`` and ``output`` are the tokens of the others.

    ``unfit`` are answers that did not fit their schema, also when asked for again. ``source`` is where calls that cost
    nothing come from.
    """

    calls: int = 0
    cached: int = 0
    input: int = 0
    output: int = 0
    unfit: int = 0
    prices: Prices | None = None
    source: str = "the cache"

    @property
    def cost(self) -> float | None:
        """In the currency of the prices; None where none is known."""
        if self.prices is None:
            return None
        return (self.input * self.prices[0] + self.output * self.prices[1]) / 1e6

    def add(self, usage: Usage) -> None:
        """Count a call that was made."""
        self.calls += 1
        self.input += usage.input
        self.output += usage.output

    def line(self, name: str) -> str:
        """For people."""
        cached = f" ({self.cached:,} from {self.source})" if self.cached else ""
        cost = "" if self.cost is None else f", {self.cost:,.4f}"
        unfit = f"; {plural(self.unfit, 'answer')} did not fit {_their(self.unfit)} schema" if self.unfit else ""
        tokens = f"{self.input:,} + {self.output:,} tokens"
        return f"{name}: {plural(self.calls, 'call')}{cached}, {tokens}{cost}{unfit}"


@dataclass
class Account:
    """All models' calls; sums over them by the names of a :class:`Tally`."""

    models: dict[str, Tally] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """Calls, those that cost nothing too."""
        return sum(tally.calls for tally in self.models.values())

    @property
    def cached(self) -> int:
        """Calls that cost nothing."""
        return sum(tally.cached for tally in self.models.values())

    @property
    def input(self) -> int:
        """Tokens read."""
        return sum(tally.input for tally in self.models.values())

    @property
    def output(self) -> int:
        """Tokens written."""
        return sum(tally.output for tally in self.models.values())

    @property
    def unfit(self) -> int:
        """Answers that did not fit their schema."""
        return sum(tally.unfit for tally in self.models.values())

    @property
    def cost(self) -> float | None:
        """Over the models whose prices are known; None where none is."""
        known = [tally.cost for tally in self.models.values() if tally.cost is not None]
        return sum(known) if known else None

    def lines(self) -> list[str]:
        """A line for each model that was asked."""
        return [tally.line(name) for name, tally in self.models.items() if tally.calls]


def _their(count: int) -> str:
    return "its" if count == 1 else "their"
