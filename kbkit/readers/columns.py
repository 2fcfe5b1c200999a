"""Arrow columns of Python values whose types vary, as in SQLite and Excel: a column of several types becomes text."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

DATUM = re.compile(r"[-+]?[0-9][0-9.,:/ -]*|")
"""A number, a date or nothing: no name of a column."""
YEAR = re.compile(r"(18|19|20)\d\d")
"""A year, which names a column in tables of time series."""
_WIDE = 6
_MOST_TITLES = 10
"""Rows before a header."""
EXACT = 1 << 53
"""Integers up to this size are exact as floating-point numbers."""

_KINDS: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    datetime.datetime: pa.timestamp("us"),
    datetime.date: pa.date32(),
    datetime.time: pa.time64("us"),
}


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values as an array of a type that fits all of them; :func:`text` makes strings of other values."""
    if kind == pa.string():
        return pa.array([value if value is None or type(value) is str else text(value) for value in values], kind)
    if kind == pa.bool_():
        return pa.array([None if value is None else bool(value) for value in values], kind)
    return pa.array(values, kind)


def kind_of(values: Sequence[Any]) -> pa.DataType:
    """Return the narrowest type that holds all values without loss: text if they have several types."""
    types = {type(value) for value in values} - {type(None)}
    if not types:
        return pa.null()
    if types == {int, float} and all(abs(value) <= EXACT for value in values if type(value) is int):
        return pa.float64()
    kind = _KINDS.get(types.pop(), pa.string()) if len(types) == 1 else pa.string()
    if kind == pa.int64() and not all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pa.string()
    return kind


def joined(chunks: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Return one column of arrays, each with the type that :func:`kind_of` finds for it."""
    kinds = {chunk.type for chunk in chunks} - {pa.null()}
    if len(kinds) <= 1:
        kind = next(iter(kinds), pa.string())
        return pa.chunked_array([chunk.cast(kind) for chunk in chunks], kind)
    values = [chunk.to_pylist() for chunk in chunks]
    kind = kind_of([value for chunk in values for value in chunk])
    return pa.chunked_array([array(chunk, kind) for chunk in values], kind)


def text(value: Any) -> str:
    """Return a value as text without loss: numbers with all digits, dates in ISO 8601, bytes in Base64."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def titles(rows: Sequence[Sequence[Any]]) -> int:
    """Return the number of rows before the header: titles, notes and blank rows, as people write them in sheets.

    The header has a name in all columns, and the rows before it have one cell at most, or two above a wide table, such
    as a date after what it is. The following rows, of which these may be a sample, mostly have several.
    """
    if block := _below_block(rows):
        return block
    filled = [sum(value is not None and str(value).strip() != "" for value in row) for row in rows]
    most = 2 if max(filled, default=0) >= _WIDE else 1
    start = next((place for place, count in enumerate(filled) if count > most), 0)
    if not any(filled[:start]) or start > _MOST_TITLES:
        return 0
    names, after = list(rows[start]), filled[start + 1 :]
    while names and (names[-1] is None or str(names[-1]).strip() == ""):
        names.pop()
    years = [name for name in names if YEAR.fullmatch(str(name).strip())]
    others = [name for name in names if name not in years]
    if not others or any(not isinstance(name, str) or DATUM.fullmatch(name.strip()) for name in others):
        return 0
    usual = max(after, default=0)
    whole = usual > 1 and filled[start] == max(usual, len(names))
    return start if whole and sum(count > 1 for count in after) * 2 > len(after) else 0


def _below_block(rows: Sequence[Sequence[Any]]) -> int:
    """Return the number of rows up to the blank one below a smaller block, such as what a list is; 0 without one.

    The row after it names the columns if it has texts only, and one of the columns nothing but numbers or dates.
    """
    cells = [[str(value).strip() if value is not None else "" for value in row] for row in rows]
    blank = [place for place, row in enumerate(cells[:_MOST_TITLES]) if not any(row)]
    start = blank[-1] + 1 if blank else 0
    header, below = (cells[start], [row for row in cells[start + 1 :] if any(row)]) if start < len(cells) else ([], [])
    above = sum(map(any, cells[:start]))
    if not above or len(below) <= above or any(DATUM.fullmatch(name) for name in header) or len(header) < _PAIR:
        return 0
    columns = ([row[place] for row in below if len(row) > place] for place in range(len(header)))
    return start if any(any(column) and all(map(_NUMBER.fullmatch, column)) for column in columns) else 0


_NUMBER = re.compile(r"[-+]?[0-9][0-9.,:/ -]*")
_PAIR = 2


def unique(names: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Return the names, numbered where they repeat, ignoring case."""
    seen = {name.casefold() for name in taken}
    renamed = []
    for name in names:
        other, number = name, 2
        while other.casefold() in seen:
            other, number = f"{name}_{number}", number + 1
        seen.add(other.casefold())
        renamed.append(other)
    return renamed
