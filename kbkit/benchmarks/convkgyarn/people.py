"""Tables of people's judgements: means of ratings (Table 2 of ConvKGYarn), preferences (Table 3), and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from kbkit.benchmarks.convkgyarn import paper
from kbkit.benchmarks.convkgyarn.paper import DIMENSIONS, SETTINGS, Setting
from kbkit.benchmarks.convkgyarn.ratings import COMPARE, OURS, RATE, REFERENCE, SAME, Rated
from kbkit.errors import plural
from kbkit.measures.agreement import majority

RATERS = 3
SETS = ("general", "related")
_PROPERTIES = ("interaction", "deixis", "disfluency", "typo")


def agreement(rated: Sequence[Rated], dimension: str | None = None) -> tuple[int, float | None]:
    """Return the number of values that three raters gave, and the percentage on which at least two of them agree.

    A value is one dimension of one item; of more than three raters, the first three count. None without such values.
    """
    given: dict[tuple[str, str], list[Any]] = {}
    for one in rated:
        for name, value in one.values.items():
            if dimension in (None, name):
                given.setdefault((one.item, name), []).append(value)
    count, share = majority(given.values(), RATERS)
    return count, None if share is None else 100 * share


def rating_table(judgements: Sequence[Rated]) -> pl.DataFrame:
    """Return Table 2: set, interaction, deixis, disfluency, typo, then for each configuration what was rated here.

    ``conversations`` (rated), the mean of each dimension, ``agreement`` (percent), and the paper's figures as
    ``paper_`` columns. Opted-out conversations and tests are left out.
    """
    chosen = [one for one in judgements if one.task == RATE and one.values and not one.test]
    parts: dict[tuple[bool, Setting], list[Rated]] = {}
    for one in chosen:
        parts.setdefault((one.related, one.setting), []).append(one)
    rows = []
    order = {setting: position for position, setting in enumerate(SETTINGS)}
    for related, setting in sorted(parts, key=lambda key: (key[1][0] == "text", key[0], order.get(key[1], 99))):
        part = parts[related, setting]
        means = [_mean([one.values[name] for one in part if name in one.values]) for name in DIMENSIONS]
        printed = paper.TABLE_2.get((related, setting), {})
        own = (len({one.item for one in part}), *means, agreement(part)[1])
        rows.append((SETS[related], *setting, *own, *(printed.get(name) for name in (*DIMENSIONS, paper.AGREEMENT))))
    figures = (*DIMENSIONS, paper.AGREEMENT)
    schema = {
        **dict.fromkeys(("set", "interaction"), pl.String),
        **dict.fromkeys(_PROPERTIES[1:], pl.Boolean),
        "conversations": pl.Int64,
        **dict.fromkeys((*figures, *(f"paper_{name}" for name in figures)), pl.Float64),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def preference_table(judgements: Sequence[Rated]) -> pl.DataFrame:
    """Return Table 3: dimension, judgements, preference, same, reference, agreement, and the paper's figures.

    ``preference``, ``same`` and ``reference`` are the percentages of judgements that prefer the conversation of the
    dataset, neither, and the reference; ``agreement`` is that of :func:`agreement`.
    """
    chosen = [one for one in judgements if one.task == COMPARE and one.values and not one.test]
    rows = []
    for name in DIMENSIONS if chosen else ():
        values = Counter(one.values[name] for one in chosen if name in one.values)
        shares = [100 * values[value] / values.total() if values else None for value in (OURS, SAME, REFERENCE)]
        printed = (paper.TABLE_3["preference"][name], paper.TABLE_3["agreement"][name])
        rows.append((name, values.total(), *shares, agreement(chosen, name)[1], *printed))
    figures = ("preference", "same", "reference", "agreement", "paper_preference", "paper_agreement")
    schema = {"dimension": pl.String, "judgements": pl.Int64, **dict.fromkeys(figures, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def as_printed(found: pl.DataFrame) -> pl.DataFrame:
    """Return Table 2 for a screen: each figure next to the paper's, ``3.50 (3.97)``."""

    def cell(name: str, digits: int) -> pl.Expr:
        def shown(row: dict[str, float | None]) -> str:
            return f"{_shown(row[name], digits)} ({_shown(row[f'paper_{name}'], digits)})"

        return pl.struct(name, f"paper_{name}").map_elements(shown, pl.String)

    marks = [pl.when(pl.col(name)).then(pl.lit("x")).otherwise(pl.lit("")).alias(name) for name in _PROPERTIES[1:]]
    cells = [cell(name, 2).alias(name) for name in DIMENSIONS]
    return found.select("set", "interaction", *marks, "conversations", *cells, cell("agreement", 1).alias("agreement"))


def _shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def remarks(judgements: Sequence[Rated]) -> list[str]:
    """Return lines about opted-out items, and about items that fewer than three raters judged."""
    found = []
    for task, noun in ((RATE, "conversation"), (COMPARE, "pair")):
        own = [one for one in judgements if one.task == task and not one.test]
        out = sum(not one.values for one in own)
        counts = Counter(one.item for one in own if one.values)
        few = sum(count < RATERS for count in counts.values())
        if out:
            found.append(f"{plural(out, f'{noun} judgement')} left out because the rater opted out")
        if few:
            found.append(f"{plural(few, noun)} with fewer than {RATERS} raters, left out of the agreement")
    return found
