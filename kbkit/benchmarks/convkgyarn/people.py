"""Tables of people's judgements: means of ratings (Table 2 of ConvKGYarn), preferences (Table 3), and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from kbkit.benchmarks.convkgyarn import paper
from kbkit.benchmarks.convkgyarn.paper import DIMENSIONS, SETTINGS, Setting
from kbkit.benchmarks.convkgyarn.ratings import COMPARE, OURS, RATE, REFERENCE, SAME, Rated
from kbkit.benchmarks.report import beside, in_one_cell
from kbkit.errors import plural
from kbkit.measures.agreement import majority

RATERS = 3
SETS = ("general", "related")
_RATED = (*DIMENSIONS, paper.AGREEMENT)
_PROPERTIES = ("interaction", "deixis", "disfluency", "typo")


def agreement(rated: Sequence[Rated], dimension: str | None = None) -> tuple[int, float | None]:
    """Return the number of values that three raters gave, and the percentage on which at least two of them agree.

    A value is one dimension of one item; of more than three raters, the first three count. None without such values.
    """
    by_item: dict[tuple[str, str], list[Any]] = {}
    for judgement in rated:
        for name, value in judgement.values.items():
            if dimension in (None, name):
                by_item.setdefault((judgement.item, name), []).append(value)
    count, share = majority(by_item.values(), RATERS)
    return count, None if share is None else 100 * share


def rating_table(judgements: Sequence[Rated]) -> pl.DataFrame:
    """Return Table 2: set, interaction, deixis, disfluency, typo, figures, then for each configuration what was rated.

    ``conversations`` (rated), the mean of each dimension, ``agreement`` (percent). Opted-out conversations and tests
    are left out.
    """
    chosen = [
        judgement for judgement in judgements if judgement.task == RATE and judgement.values and not judgement.test
    ]
    parts: dict[tuple[bool, Setting], list[Rated]] = {}
    for judgement in chosen:
        parts.setdefault((judgement.related, judgement.setting), []).append(judgement)
    rows = []
    order = {setting: position for position, setting in enumerate(SETTINGS)}
    for related, setting in sorted(parts, key=lambda key: (key[1][0] == "text", key[0], order.get(key[1], 99))):
        part = parts[related, setting]
        means = [
            _mean([judgement.values[name] for judgement in part if name in judgement.values]) for name in DIMENSIONS
        ]
        rows.append((SETS[related], *setting, len({judgement.item for judgement in part}), *means, agreement(part)[1]))
    schema = {
        **dict.fromkeys(("set", "interaction"), pl.String),
        **dict.fromkeys(_PROPERTIES[1:], pl.Boolean),
        "conversations": pl.Int64,
        **dict.fromkeys(_RATED, pl.Float64),
    }

    def printed(name: str, *setting: Any) -> list[float | None] | None:
        figures = paper.ratings(name, setting)
        return [None, *(figures[column] for column in _RATED)] if figures else None

    return beside(pl.DataFrame(rows, schema=schema, orient="row"), ["set", *_PROPERTIES], printed)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def preference_table(judgements: Sequence[Rated]) -> pl.DataFrame:
    """Return Table 3: dimension, figures, judgements, preference, same, reference, agreement.

    ``preference``, ``same`` and ``reference`` are the percentages of judgements that prefer the conversation of the
    dataset, neither, and the reference; ``agreement`` is that of :func:`agreement`.
    """
    chosen = [
        judgement for judgement in judgements if judgement.task == COMPARE and judgement.values and not judgement.test
    ]
    rows = []
    for name in DIMENSIONS if chosen else ():
        values = Counter(judgement.values[name] for judgement in chosen if name in judgement.values)
        shares = [100 * values[value] / values.total() if values else None for value in (OURS, SAME, REFERENCE)]
        rows.append((name, values.total(), *shares, agreement(chosen, name)[1]))
    shares_of = dict.fromkeys(("preference", "same", "reference", "agreement"), pl.Float64)
    schema = {"dimension": pl.String, "judgements": pl.Int64, **shares_of}

    def printed(name: str) -> tuple[float | None, ...]:
        figures = paper.preferences(name)
        return (None, figures["preference"], None, None, figures["agreement"])

    return beside(pl.DataFrame(rows, schema=schema, orient="row"), ["dimension"], printed)


def as_printed(table: pl.DataFrame) -> pl.DataFrame:
    """Return Table 2 for a screen: each figure next to the paper's, ``3.50 (3.97)``."""
    marks = [pl.when(pl.col(name)).then(pl.lit("x")).otherwise(pl.lit("")).alias(name) for name in _PROPERTIES[1:]]
    return in_one_cell(table, _RATED, [2] * len(DIMENSIONS) + [1]).with_columns(marks)


def remarks(judgements: Sequence[Rated]) -> list[str]:
    """Return lines about opted-out items, and about items that fewer than three raters judged."""
    lines = []
    for task, noun in ((RATE, "conversation"), (COMPARE, "pair")):
        own = [judgement for judgement in judgements if judgement.task == task and not judgement.test]
        out = sum(not judgement.values for judgement in own)
        counts = Counter(judgement.item for judgement in own if judgement.values)
        few = sum(count < RATERS for count in counts.values())
        if out:
            lines.append(f"{plural(out, f'{noun} judgement')} left out because the rater opted out")
        if few:
            lines.append(f"{plural(few, noun)} with fewer than {RATERS} raters, left out of the agreement")
    return lines
