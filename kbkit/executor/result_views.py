"""Parts of a result for a person: rows that match filters, in an order, and statistics of columns.

Pure functions of frames, for front ends that show a result page by page.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbkit.display.render import cell
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

_FILTER = re.compile(r"\s*(!=|<=|>=|=|<|>)?\s*(.*?)\s*", re.S)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TOP, _BINS = 5, 24
"""Number of the most frequent values of a column, and of the bars of its distribution."""
_KINDS = (
    ("is_integer", "integer"),
    ("is_numeric", "number"),
    ("is_temporal", "date or time"),
    ("is_nested", "list or record"),
)


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of a column of a result.

    ``missing`` and ``distinct`` count values; ``least``, ``most``, ``mean`` and ``median`` are None where they do not
    apply. ``top`` are the most frequent values, as text, with their numbers; empty if all values differ. ``bins`` are
    the numbers of values in ranges of equal width from ``least`` to ``most``, or of equal ratio where they are
    ``logarithmic``: where the middle half of the values would be in one range.
    """

    name: str
    kind: str
    rows: int
    missing: int
    distinct: int
    least: str | None
    most: str | None
    mean: str | None
    median: str | None
    top: tuple[tuple[str, int], ...]
    bins: tuple[int, ...]
    logarithmic: bool = False


def chosen_rows(
    frame: pl.DataFrame, filters: Mapping[str, str], order: str = "", *, descending: bool = False
) -> pl.Series:
    """Return the numbers of the rows (from 0) that match all filters, sorted by the column ``order`` if one is given.

    ``filters`` are texts by column: ``paris`` (contains, in any case; of a number: equals), ``=Paris``, ``!=Paris``,
    ``>3``, ``<=3``, ``=`` (missing), ``!=`` (not missing). Missing values come last. Raises :class:`KbError` for a text
    that is no number in a column of numbers.
    """
    import polars as pl

    kept = pl.Series("row", range(frame.height), dtype=pl.UInt32)
    for name, text in filters.items():
        kept = kept.filter(matching(frame[name].gather(kept), text))
    if order:
        column = frame[order].gather(kept)
        sortable = _texts(column) if column.dtype.is_nested() or column.dtype == pl.Object else column
        by = pl.DataFrame({"row": kept, "by": sortable})
        kept = by.sort("by", descending=descending, nulls_last=True, maintain_order=True)["row"]
    return kept


def matching(column: pl.Series, text: str) -> pl.Series:
    """Return for each value whether it matches a filter; see :func:`chosen_rows`."""
    import polars as pl

    found = _FILTER.fullmatch(text)
    assert found is not None
    sign, value = found[1] or "", found[2]
    if not value:
        every = pl.Series([True]).new_from_index(0, len(column))
        return {"=": column.is_null(), "!=": column.is_not_null()}.get(sign, every)
    if column.dtype.is_numeric():
        result = _SIGNS[sign or "="](
            column.cast(pl.Float64) if column.dtype.is_decimal() else column, _number(value, column.name)
        )
    elif sign:
        result = _SIGNS[sign](_texts(column), value)
    else:
        result = _texts(column).str.to_lowercase().str.contains(value.lower(), literal=True)
    found_rows: pl.Series = result.fill_null(value=False)
    return found_rows


def _number(text: str, column: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text.replace(",", ""))
        except ValueError:
            continue
    raise KbError(
        f"Invalid filter for the numbers of {column}: {text!r}", "Write 3, >3, <=3, = (missing) or != (not missing)"
    )


def _texts(column: pl.Series) -> pl.Series:
    """Return the values as a person sees them."""
    import polars as pl

    if column.dtype == pl.String:
        return column
    if column.dtype.is_temporal() or column.dtype == pl.Boolean:
        return column.cast(pl.String)
    return pl.Series(
        column.name, [None if value is None else cell(value) for value in column.to_list()], dtype=pl.String
    )


def statistics(column: pl.Series) -> ColumnStatistics:
    """Return the statistics of a column."""
    import polars as pl

    values = column.drop_nulls()
    nested = column.dtype.is_nested() or column.dtype == pl.Object
    compared = _texts(values) if nested else values
    distinct = compared.n_unique()
    numeric = column.dtype.is_numeric()
    numbers = values.cast(pl.Float64).filter(values.cast(pl.Float64).is_finite()) if numeric else None
    ordered = bool(len(values)) and not nested
    return ColumnStatistics(
        column.name,
        next(
            (kind for test, kind in _KINDS if getattr(column.dtype, test)()),
            "text" if column.dtype == pl.String else _plain(column.dtype),
        ),
        len(column),
        column.null_count(),
        distinct,
        cell(values.min()) if ordered else None,
        cell(values.max()) if ordered else None,
        cell(numbers.mean()) if numbers is not None and len(numbers) else None,
        cell(numbers.median()) if numbers is not None and len(numbers) else None,
        _most_frequent(compared) if distinct < len(values) else (),
        *(_distribution(numbers) if numbers is not None and distinct > _TOP else ((), False)),
    )


def _plain(dtype: pl.DataType) -> str:
    return {"Boolean": "true or false", "Null": "nothing"}.get(str(dtype), str(dtype).lower())


def _most_frequent(values: pl.Series) -> tuple[tuple[str, int], ...]:
    counted = (
        values.alias("value").value_counts(name="count").sort("count", "value", descending=[True, False]).head(_TOP)
    )
    return tuple((cell(value), count) for value, count in counted.iter_rows())


def _distribution(numbers: pl.Series) -> tuple[tuple[int, ...], bool]:
    """Return the numbers of values in ranges, and whether these are logarithmic."""
    low, quarter, rest, high = (float(numbers.quantile(share) or 0) for share in (0, 0.25, 0.75, 1))
    if low == high:
        return (), False
    is_wide = low > 0 and (rest - quarter) * _BINS < high - low
    scaled = numbers.log() if is_wide else numbers
    low, high = (math.log(low), math.log(high)) if is_wide else (low, high)
    place = ((scaled - low) / (high - low) * _BINS).floor().clip(0, _BINS - 1)
    counts = dict(place.alias("bin").value_counts(name="count").iter_rows())
    return tuple(counts.get(float(number), 0) for number in range(_BINS)), is_wide
