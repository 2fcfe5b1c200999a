"""Usage and cost of model calls, and their budget."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from kbkit.errors import KbError, Option, UnknownNameError, plural
from kbkit.llm.client import Usage

Prices = tuple[float, float]
"""Price of a million input tokens, and of a million output tokens."""


class BudgetError(KbError):
    """The budget is spent; all replies so far are cached."""


@dataclass
class Tally:
    """Usage of one model.

    ``cached`` of its ``calls`` were free, from ``source``; ``input`` and ``output`` are the tokens of the others.
    ``unfit`` counts answers that did not fit their schema after a second attempt.
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
        """Cost in the currency of the prices (None: no prices)."""
        if self.prices is None:
            return None
        return (self.input * self.prices[0] + self.output * self.prices[1]) / 1e6

    def line(self, name: str) -> str:
        """Return a summary in one line."""
        cached = f" ({self.cached:,} from {self.source})" if self.cached else ""
        cost = "" if self.cost is None else f", {self.cost:,.4f}"
        unfit = f"; {plural(self.unfit, 'invalid answer')}" if self.unfit else ""
        tokens = f"{self.input:,} + {self.output:,} tokens"
        return f"{name}: {plural(self.calls, 'call')}{cached}, {tokens}{cost}{unfit}"


@dataclass
class Meter:
    """Usage of a block of code: numbers as in :class:`Tally`, of all models (``cost`` None: no prices)."""

    calls: int = 0
    cached: int = 0
    input: int = 0
    output: int = 0
    cost: float | None = None

    def add(self, usage: Usage, prices: Prices | None) -> None:
        """Count a paid call."""
        self.calls += 1
        self.input += usage.input
        self.output += usage.output
        if prices is not None:
            self.cost = (self.cost or 0.0) + (usage.input * prices[0] + usage.output * prices[1]) / 1e6


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextlib.contextmanager
def metered() -> Iterator[Meter]:
    """Count the calls that the block makes, those in threads of :func:`kbkit.llm.threads.each` included."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


class Account:
    """Usage of all models, with sums by the names of a :class:`Tally`, and the budget; safe for threads.

    ``budget`` is in the currency of ``prices`` (by model), or in tokens without prices.
    """

    def __init__(
        self, sources: Mapping[str, str], prices: Mapping[str, Prices] | None = None, budget: float | None = None
    ) -> None:
        prices = prices or {}
        if budget is not None and not (math.isfinite(budget) and budget >= 0):
            raise KbError(f"Invalid budget: {budget}", "Use 0 (cached calls only) or more")
        for name, price in prices.items():
            if name not in sources:
                raise UnknownNameError("model", name, sources, "the prices")
            if not all(math.isfinite(part) and part >= 0 for part in price):
                raise KbError(f"Invalid price of {name}: {price}", "Use two numbers, 0 or more, per million tokens")
        unpriced = [name for name in sources if name not in prices]
        if budget is not None and prices and unpriced:
            hint = "Add ", Option("price", f"{unpriced[0]}=IN,OUT")
            raise KbError(f"The budget needs the price of {unpriced[0]}", *hint)
        self.budget = budget
        self.models = {name: Tally(prices=prices.get(name), source=source) for name, source in sources.items()}
        self._guard = threading.Lock()

    # -- counting -----------------------------------------------------------------------------------------------------

    def add(self, model: str, usage: Usage) -> None:
        """Count a paid call."""
        tally = self.models[model]
        with self._guard:
            tally.calls += 1
            tally.input += usage.input
            tally.output += usage.output
            if meter := _METER.get():
                meter.add(usage, tally.prices)

    def add_cached(self, model: str, count: int = 1) -> None:
        """Count free calls."""
        with self._guard:
            self.models[model].calls += count
            self.models[model].cached += count
            if meter := _METER.get():
                meter.calls += count
                meter.cached += count

    def add_unfit(self, model: str) -> None:
        """Count an answer that does not fit its schema."""
        with self._guard:
            self.models[model].unfit += 1

    def check_budget(self) -> None:
        """Raise :class:`BudgetError` if the budget is spent."""
        with self._guard:
            if self.budget is None:
                return
            cost, paid = self.cost, self.calls - self.cached
            spent = self.input + self.output if cost is None else cost
        if spent >= self.budget:
            limit = f"{self.budget:,.0f} tokens" if cost is None else f"{self.budget:,.4f}"
            used = f"{spent:,.0f}" if cost is None else f"{spent:,.4f}"
            message = f"The budget of {limit} is spent: {used} used by {plural(paid, 'call')}"
            raise BudgetError(message, "Replies are cached: run again with a larger ", Option("budget"))

    # -- sums ---------------------------------------------------------------------------------------------------------

    @property
    def calls(self) -> int:
        """Number of calls, free ones included."""
        return sum(tally.calls for tally in self.models.values())

    @property
    def cached(self) -> int:
        """Number of free calls."""
        return sum(tally.cached for tally in self.models.values())

    @property
    def input(self) -> int:
        """Number of input tokens."""
        return sum(tally.input for tally in self.models.values())

    @property
    def output(self) -> int:
        """Number of output tokens."""
        return sum(tally.output for tally in self.models.values())

    @property
    def unfit(self) -> int:
        """Number of answers that did not fit their schema."""
        return sum(tally.unfit for tally in self.models.values())

    @property
    def cost(self) -> float | None:
        """Cost of the models with prices (None: no prices)."""
        known = [tally.cost for tally in self.models.values() if tally.cost is not None]
        return sum(known) if known else None

    def lines(self) -> list[str]:
        """Return a summary line for each model that was called."""
        return [tally.line(name) for name, tally in self.models.items() if tally.calls]
