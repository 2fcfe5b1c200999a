"""What the answers of a run cost: time, model calls, tokens and money, in a CSV file beside the run.

The file of ``m.jsonl`` is ``m.costs.csv``. It is apart from the run because times differ between equal runs. A line is
appended before the answer is written, so that the sums include what was spent on answers that an interruption lost.
"""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl

from kbkit.benchmarks.dataset import writing
from kbkit.directory import systems
from kbkit.errors import BadInputError, plural
from kbkit.llm.account import metered

COSTS = pl.Schema(
    {
        "id": pl.String,
        "together": pl.Int64,
        "alone": pl.Boolean,
        "seconds": pl.Float64,
        "calls": pl.Float64,
        "cached": pl.Float64,
        "input_tokens": pl.Float64,
        "output_tokens": pl.Float64,
        "cost": pl.Float64,
    }
)
"""A row per item and answer. Of the items that were answered ``together``, each has an equal share of the numbers.

``together`` is 0 for an answer that was interrupted. ``alone``: the item was answered by itself, not in a batch, so
that its time is a latency. ``cached`` of the ``calls`` of models were free; ``cost`` is null without prices.
"""

T = TypeVar("T")


class Latency(NamedTuple):
    """Milliseconds per item, for items that are answered one after the other."""

    median: float
    mean: float

    @staticmethod
    def of(seconds: Sequence[float]) -> Latency | None:
        """Return the latency from ``seconds`` per item, or None without any."""
        taken = 1000 * np.asarray(seconds)
        return Latency(float(np.median(taken)), float(np.mean(taken))) if len(taken) else None


class CostSummary(NamedTuple):
    """Sums over a run. ``latency`` covers items that were answered alone, without a cached reply of a model."""

    seconds: float
    calls: int
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    latency: Latency | None

    def lines(self, name: str) -> list[str]:
        """Return a line about the costs of a run, for people; none if they are unknown."""
        if not (self.seconds or self.calls):
            return []
        time_each = "" if self.latency is None else f", median {self.latency.median:,.1f} ms per item"
        line = f"{name}: {self.seconds:,.1f} s{time_each}"
        if not self.calls:
            return [line]
        cached = f" ({self.cached:,} cached)" if self.cached else ""
        tokens = f"{self.input_tokens:,} + {self.output_tokens:,} tokens"
        money = "" if self.cost is None else f", {self.cost:,.4f}"
        return [f"{line}; {plural(self.calls, 'call')} of models{cached}, {tokens}{money}"]


class CostFile:
    """The file of a run's costs; safe for threads."""

    def __init__(self, run: Path) -> None:
        self.path = run.with_name(f"{run.stem}.costs.csv")
        self._guard = threading.Lock()

    def measure(self, ids: Sequence[str], answer: Callable[[], T], *, alone: bool = False) -> T:
        """Return what ``answer`` returns, and append what it cost for each of the ``ids``, see :data:`COSTS`."""
        started = time.perf_counter()
        together = 0
        with metered() as meter:
            try:
                result = answer()
                together = len(ids)
            finally:
                if together or meter.calls:
                    spent = (time.perf_counter() - started, *astuple(meter))
                    self._append(ids, together, alone and together > 0, spent)
        return result

    def _append(self, ids: Sequence[str], together: int, alone: bool, spent: Sequence[float | None]) -> None:
        shares = [str(alone).lower(), *("" if call is None else call / len(ids) for call in spent)]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([name, together, *shares] for name in ids)
        with self._guard, writing(self.path):
            new = not self.path.exists()
            with self.path.open("a", encoding="utf-8", newline="") as file:
                file.write((",".join(COSTS) + "\n" if new else "") + text.getvalue())

    def read(self) -> pl.DataFrame:
        """Return the costs, see :data:`COSTS`. An incomplete last line, of a run that is active, is left out."""
        if not self.path.is_file():
            return pl.DataFrame(schema=COSTS)
        content = self.path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if not complete:
            return pl.DataFrame(schema=COSTS)
        try:
            frame = pl.read_csv(complete, schema=COSTS)
        except pl.exceptions.PolarsError:
            raise BadInputError(f"{self.path} is not a file of costs", "Delete it; costs are then unknown") from None
        return frame.with_columns(pl.col("id").fill_null(""))  # polars reads an empty text as null

    def repair(self) -> None:
        """Cut off a last line that a killed run left incomplete."""
        if self.path.is_file():
            content = self.path.read_bytes()
            complete = content[: content.rfind(b"\n") + 1]
            if len(complete) < len(content):
                with writing(self.path), self.path.open("r+b") as file:
                    file.truncate(len(complete))
            if not complete:
                self.remove()

    def remove(self) -> None:
        """Delete the file, if there is one."""
        if self.path.exists():
            systems.remove(self.path)


def timed(costs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of items that were answered alone, without a cached reply of a model; of several, the last."""
    return costs.filter(alone=True, cached=0.0).unique("id", keep="last", maintain_order=True)


def summary(costs: pl.DataFrame) -> CostSummary:
    """Return the sums of costs, see :data:`COSTS`."""
    sums = costs.select(pl.exclude("id", "together", "alone").sum()).row(0, named=True)
    counts = {name: round(sums[name]) for name in ("calls", "cached", "input_tokens", "output_tokens")}
    cost = sums["cost"] if costs["cost"].count() else None
    return CostSummary(sums["seconds"], **counts, cost=cost, latency=Latency.of(timed(costs)["seconds"].to_list()))
