"""Columns that hold two things: the first and the last day of a time, and numbers with words among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import dates, names
from kbkit.ingestion.inference.looks import NUMBER, ProfiledColumn, TableField, present
from kbkit.readers.columns import unique
from kbkit.schema import literal

if TYPE_CHECKING:
    import duckdb


def ranges(
    con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[TableField], looks: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[TableField, TableField]]:
    """Yield two columns of each one in which some dates are the first and the last day of a time: see :data:`_TO`."""
    taken = [one.name for one in columns]
    for one in columns:
        look = looks.get(one.name)
        if look is None or not dates.looks_dated(look, present(look)):
            continue
        for sign in _TO:
            start, end = (f"nullif(split_part({one.value}, {literal(sign)}, {part}), '')" for part in (1, 2))
            both = f"regexp_full_match({end}, {literal(dates.LOOSE)})"
            query = f"SELECT count_if({both}) > 0 AND bool_and({both}) FROM {source} WHERE {end} IS NOT NULL"
            if con.execute(query).fetchall() == [(True,)]:
                taken.append(unique([*taken, f"{one.name} end"])[-1])
                yield one._replace(value=start), one._replace(name=taken[-1], value=end)
                break


_TO = (" → ", " – ", " - ", " to ")
"""What is between the first and the last day of a time."""


def words_apart(
    con: duckdb.DuckDBPyConnection, source: str, column: ProfiledColumn, look: Mapping[str, float]
) -> tuple[ProfiledColumn, ProfiledColumn] | None:
    """Return the numbers and the words of a column in which a few words say why there is no number: *absent* among
    marks, *retired* among places; None for another column.
    """
    words, numbers = look["worded"] - look["missing"], look["numbers"]
    few = 0 < words * _NUMBERS_TO_WORDS <= numbers and numbers + words == present(look)
    if column.look != "text" or not few or names.is_id(column.name):
        return None
    is_number = f"regexp_full_match({column.value}, '{NUMBER}')"
    text, whole = f"CASE WHEN NOT {is_number} THEN {column.value} END", f"NOT contains({column.value}, '.')"
    query = f"SELECT count(DISTINCT {text}), bool_and(NOT {is_number} OR {whole}) FROM {source}"
    [(kinds, are_whole)] = con.execute(query).fetchall()
    if kinds > _MOST_WORDS:
        return None
    value = f"CASE WHEN {is_number} THEN {column.value} END"
    one = replace(column, look="integer" if are_whole else "number", value=value, missing=0, count=int(numbers))
    return one, replace(column, name=f"{column.name} text", count=int(words), distinct=kinds, value=text)


_NUMBERS_TO_WORDS, _MOST_WORDS = 4, 3
