"""Lines of orders and the like: several rows for one thing, whose own values are in the first of them only.

An export of a shop has a row for each line of an order, and the total, the customer and the date in the first line; the
number of the order is in all of its lines, or in the first one, too. The orders are one table then, the lines another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.left_out_rows import replace_rows
from kbkit.ingestion.inference.profile import ProfiledTable, profile
from kbkit.readers.columns import unique
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_FEWEST = 2
_MOST_COLUMNS = 300
_MOSTLY = 0.75
"""Fraction of the further lines in which some column of the lines must have a value."""


@dataclass(frozen=True)
class _Filled:
    """In how many first and further lines a column has a value, and whether some thing has several of its values."""

    first: int
    rest: int
    varies: bool


def split(con: Connection, tables: Sequence[ProfiledTable]) -> list[ProfiledTable]:
    """Return the tables, each followed by the table of its lines, if it has any; it keeps one row for each thing."""
    result = []
    for table in tables:
        result.append(table)
        taken = {one.name for one in (*tables, *result)}
        single_file = not table.declared_key and not table.folded and not table.spec.folder
        if single_file and 2 < len(table.columns) <= _MOST_COLUMNS:
            result += _lines(con, table, taken)
    return result


def _lines(con: Connection, table: ProfiledTable, taken: set[str]) -> list[ProfiledTable]:
    key, *others = table.columns
    heads = _things(con, table, key)
    if not heads or table.rows - heads < _FEWEST:
        return []
    numbered = f'SELECT *, row_number() OVER () AS "row number" FROM {identifier(table.name)}'
    filled = f"""SELECT *, last_value({identifier(key)} IGNORE NULLS) OVER (ORDER BY "row number") AS "thing"
FROM ({numbered})"""
    counts = _counts(con, filled, others)
    rest = table.rows - heads
    own = [name for name, one in counts.items() if one.first and not one.rest]
    lines = [name for name, one in counts.items() if one.varies]
    full = [name for name in own if counts[name].first == heads]
    blank = table.columns[key].count < table.rows
    if len(full) < (1 if blank else _FEWEST) or not any(counts[name].rest >= _MOSTLY * rest for name in lines):
        return []
    prefix = _prefix(lines)
    started = [name for name in counts if prefix and names.words(name)[: len(prefix)] == prefix]
    lines = [name for name in counts if (name in lines or name in started) and name not in own]
    listed = _beyond(con, filled, lines, started)
    lines = [name for name in lines if name not in listed]
    line = _line_table(con, table, filled, {name: _short(name, prefix) for name in lines}, prefix, taken)
    columns = [f'"thing" AS {identifier(key)}']
    for name in (name for name in others if name not in lines):
        own_name = identifier(name)
        value = f'list({own_name} ORDER BY "row number") FILTER ({own_name} IS NOT NULL)'
        columns.append(f"{value if name in listed else f'any_value({own_name})'} AS {own_name}")
    query = f'SELECT {", ".join(columns)}\nFROM ({filled})\nGROUP BY "thing" ORDER BY min("row number")'
    replace_rows(con, table, lambda _: query)
    table.declared_key = (key,)
    return [line]


def _things(con: Connection, table: ProfiledTable, key: str) -> int:
    """Return the number of things whose rows follow each other, by their key; 0 if the rows are not lines."""
    column, name = table.columns[key], identifier(key)
    if table.rows < 2 * _FEWEST or not _is_plain(con, table):
        return 0
    [(first, distinct, runs)] = con.execute(f"""
        SELECT first(k ORDER BY n), count(DISTINCT k), count(*) FILTER (k IS DISTINCT FROM before)
        FROM (SELECT n, k, lag(k) OVER (ORDER BY n) AS before
              FROM (SELECT {name} AS k, row_number() OVER () AS n FROM {identifier(table.name)}))""").fetchall()
    if first is None or distinct < _FEWEST:  # the first line has no thing
        return 0
    in_all = column.count == table.rows
    return int(distinct) if (runs if in_all else column.count) == distinct else 0


def _is_plain(con: Connection, table: ProfiledTable) -> bool:
    """Return whether the columns are those of the file, not fields of objects."""
    return {row[0] for row in con.execute(f"DESCRIBE {identifier(table.name)}").fetchall()} >= set(table.columns)


def _counts(con: Connection, filled: str, columns: Sequence[str]) -> dict[str, _Filled]:
    """Return how the columns with values are filled."""
    first = 'row_number() OVER (PARTITION BY "thing" ORDER BY "row number") = 1 AS "is first"'
    con.execute(f"CREATE OR REPLACE TEMP TABLE things AS SELECT *, {first} FROM ({filled})")
    found = {}
    for name in columns:
        value = identifier(name)
        [(at_first, rest)] = con.execute(
            f'SELECT count({value}) FILTER ("is first"), count({value}) FILTER (NOT "is first") FROM things'
        ).fetchall()
        if not at_first and not rest:
            continue
        varies = rest and con.execute(f"""
            SELECT bool_or(low <> high) FROM
            (SELECT min({value}) AS low, max({value}) AS high FROM things GROUP BY "thing")""").fetchall() == [(True,)]
        found[name] = _Filled(at_first, rest, bool(varies))
    con.execute("DROP TABLE things")
    return found


def _prefix(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the first words that most columns of lines share: ``lineitem``, ``order line``."""
    counts = Counter(words[0] for name in columns if len(words := names.words(name)) > 1)
    if not counts or counts.most_common(1)[0][1] < _FEWEST:
        return ()
    word = counts.most_common(1)[0][0]
    alike = [words for name in columns if (words := names.words(name))[:1] == (word,) and len(words) > 1]
    size = 1
    while all(len(words) > size + 1 and words[size] == alike[0][size] for words in alike):
        size += 1
    return alike[0][:size]


def _short(column: str, prefix: Sequence[str]) -> str:
    """Return the name of a column without the words that all columns of the lines start with."""
    if not prefix or names.words(column)[: len(prefix)] != tuple(prefix):
        return column
    start = r"[\W_]*".join(map(re.escape, prefix))
    return re.sub(rf"^[\W_]*{start}[\W_]*", "", column, flags=re.IGNORECASE) or column


def _beyond(con: Connection, filled: str, lines: Sequence[str], started: Sequence[str]) -> list[str]:
    """Return the columns with values in rows that are not lines, such as further pictures of a product."""
    others = [name for name in lines if name not in started]
    if not started or not others:
        return []
    empty = " AND ".join(f"{identifier(name)} IS NULL" for name in started)
    counts = ", ".join(f"count({identifier(name)})" for name in others)
    row = con.execute(f"SELECT {counts} FROM ({filled}) WHERE {empty}").fetchone()
    return [name for name, count in zip(others, row or (), strict=False) if count]


def _line_table(
    con: Connection, table: ProfiledTable, filled: str, columns: Mapping[str, str], prefix: Sequence[str],
    taken: set[str],
) -> ProfiledTable:  # fmt: skip
    """Make the table of the lines, whose first column is the key of the thing that they are of.

    ``prefix`` are the words that columns of lines start with, if they share any.
    """
    [key, *_] = table.columns
    started = [name for name in columns if prefix and names.words(name)[: len(prefix)] == prefix]
    what = "_".join(prefix) or "line"
    name = next(one for one in (f"{table.name}_{what}", f"{table.name}_{what}_lines") if one not in taken)
    shown = unique([table.type, *columns.values()])
    parts = [f'"thing" AS {identifier(shown[0])}']
    parts += [f"{identifier(old)} AS {identifier(new)}" for old, new in zip(columns, shown[1:], strict=True)]
    given = " OR ".join(f"{identifier(one)} IS NOT NULL" for one in started or columns)
    query = f'SELECT {", ".join(parts)}\nFROM ({filled})\nWHERE {given}\nORDER BY "row number"'
    words = [*(() if prefix else table.type.split("_")), *what.split("_")]
    line = ProfiledTable(name, table.spec, type=names.types([words])[0], words=words, folded=query, of=table.name)
    con.execute(f"CREATE TABLE {identifier(name)} AS {query}")
    profile(con, line)
    line.declared_links = [((shown[0],), table.name, (key,))]
    return line
