"""Guesses that may be wrong, each with the option that changes it: orders of dates, names and keys."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kbkit.errors import Option
from kbkit.ingestion.inference import names, possible_links
from kbkit.ingestion.inference.dates import UNCLEAR
from kbkit.ingestion.inference.keys import KEY_LOOKS, is_unique, reference
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import NodeTable, TablePlan
from kbkit.ingestion.request import Corrections
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

MOST = 5
"""Guesses that are named: more would not be read."""
_GEOMETRY = r"[A-Z]+ ?\([-0-9., ()]+\)"
_SHORTEST, _LONGEST = 3, 60
"""Mean numbers of characters of names."""
_WHOLE_NAMES = frozenset(f"{word} name" for word in ("full", "real", "display", "long", "official"))
"""Columns that may be better names than one called ``name``."""
_PLACES = frozenset(("address", "ip", "url"))


class UnsureGuess(NamedTuple):
    """What a guess is and why it may be wrong, and the option that changes it."""

    message: str
    option: Option


def unsure(
    con: Connection, tables: Sequence[ProfiledTable], plan: TablePlan, told: Corrections
) -> Sequence[UnsureGuess]:
    """Return the guesses that may be wrong, those that matter most first."""
    found = itertools.chain(
        _dates(tables),
        _repeated_keys(con, plan, told),
        _unclear(plan),
        _numbers(con, plan, told),
        _possible(con, plan, told),
        _names(con, plan),
        _keys(con, plan, told),
    )
    return list(itertools.islice(found, MOST))


def _dates(tables: Sequence[ProfiledTable]) -> Iterator[UnsureGuess]:
    found = [f"{t.name}.{c.name}" for t in tables for c in t.columns.values() if c.problem == UNCLEAR]
    if found:
        more = f" and {len(found) - 1} more columns" if len(found) > 1 else ""
        yield UnsureGuess(f"{found[0]}{more}: {UNCLEAR}, and stays text", Option("date_order", "dmy"))


def _unclear(plan: TablePlan) -> Iterator[UnsureGuess]:
    for column, tables in plan.unclear.items():
        yield UnsureGuess(f"{column} may refer to {' or '.join(tables)}", Option("links", f"{column}={tables[0]}"))


def _numbers(con: Connection, plan: TablePlan, told: Corrections) -> Iterator[UnsureGuess]:
    """Yield the columns of numbers that are all identifiers of another table, each of which several rows have: a column
    whose name does not say so may hold them, or count something.
    """
    keyed = [n for n in plan.nodes if len(n.key) == 1 and _FEWEST_ROWS <= n.table.rows <= _MOST_ROWS]
    keyed = [n for n in keyed if n.table.columns[n.key[0]].look == "integer"]
    for nodes in plan.nodes:
        for column in (nodes.table.columns[name] for name in nodes.values):
            words = {"", *names.words(column.name)}
            said = names.is_count(column.name) or any(map(names.is_measure, words)) or bool(words & _COUNTS)
            said = said or names.is_sequence(column.name)
            if column.look != "integer" or said or f"{nodes.table.name}.{column.name}" in told.links:
                continue
            fitting = [n for n in keyed if n is not nodes and column.distinct == n.table.rows]
            same = [n for n in fitting if _RARE * column.distinct <= column.count and _are_equal(con, nodes, column, n)]
            if len(same) == 1:
                message = f"{nodes.table.name}.{column.name} has the keys of {same[0].table.name}, and may refer to it"
                yield UnsureGuess(message, Option("links", f"{nodes.table.name}.{column.name}={same[0].table.name}"))


def _are_equal(con: Connection, nodes: NodeTable, column: ProfiledColumn, other: NodeTable) -> bool:
    own, keys = reference(nodes.table, [column.name]), reference(other.table, other.key)
    query = f"SELECT {own} FROM {identifier(nodes.table.name)} WHERE {column.value} IS NOT NULL"
    query = f"SELECT count(*) FROM ({query} EXCEPT SELECT {keys} FROM {identifier(other.table.name)})"
    return con.execute(query).fetchall() == [(0,)]


_FEWEST_ROWS, _MOST_ROWS, _RARE = 3, 100, 5
_COUNTS = frozenset(["quantity", "count", "amount", "number", "level", "position", "rating", "score", "stars"])


def _possible(con: Connection, plan: TablePlan, told: Corrections) -> Iterator[UnsureGuess]:
    """Yield the columns most of whose values are keys or names of another table, with those that are not."""
    for one in possible_links.find(con, plan):
        column = f"{one.table}.{one.column}"
        if column not in told.links and column not in told.nodes:
            message = f"{column} may refer to {one.target} by {one.by}, but {one.reason}"
            yield UnsureGuess(message, Option("links", f"{column}={one.target}"))


def _repeated_keys(con: Connection, plan: TablePlan, told: Corrections) -> Iterator[UnsureGuess]:
    """Yield the keys that several rows share, and the columns that are named as identifiers and nearly are keys."""
    for nodes in (nodes for nodes in plan.nodes if not nodes.table.declared_key and not nodes.table.of):
        table, key = nodes.table, nodes.key
        if len(key) == 1 and not is_unique(con, table, key) and (where := _repeated(con, table, key[0])):
            yield UnsureGuess(f"{key[0]} is the key of {table.name}, but {where}", Option("merge_duplicates"))
            continue
        values = [table.columns[name] for name in nodes.values]
        full = [c for c in values if names.is_id(c.name) and c.look in KEY_LOOKS and c.count == table.rows]
        full = [c for c in full if names.is_own_id(c.name, table.type) or names.fit(c.name, table.type)]
        for column in full if table.name not in told.keys else ():
            least = _OWN_ID if names.is_own_id(column.name, table.type) else _OTHER_ID
            if column.distinct >= least * table.rows and (where := _repeated(con, table, column.name)):
                instead = " + ".join(key) or "the number of the row"
                message = f"{column.name} looks like the key of {table.name}, but {where}; the key is {instead}"
                yield UnsureGuess(message, Option("keys", f"{table.name}={column.name}"))
                break


def _repeated(con: Connection, table: ProfiledTable, name: str) -> str:
    """Return which value of a column several rows have, and how many more there are; empty if none."""
    rows = f"SELECT {reference(table, [name])} AS v, row_number() OVER () AS n FROM {identifier(table.name)}"
    groups = f"SELECT v, list(n ORDER BY n) AS ns FROM ({rows}) WHERE v IS NOT NULL GROUP BY v HAVING count(*) > 1"
    found = con.execute(
        f"SELECT v, ns[:3], len(ns), count(*) OVER () FROM ({groups}) ORDER BY ns[1] LIMIT 1"
    ).fetchall()
    if not found:
        return ""
    [(value, numbers, count, others)] = found
    places = (
        f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
        if count == len(numbers)
        else f"{numbers[0]} and {count - 1} more"
    )
    more = f", and {others - 1:,} more values repeat" if others > 1 else ""
    return f"{value!r} is in rows {places}{more}"


_OWN_ID, _OTHER_ID = 0.7, 0.95
"""Fraction of different values of a column named as the identifier of the rows, or about, from which it may be one."""


def _names(con: Connection, plan: TablePlan) -> Iterator[UnsureGuess]:
    """Yield the nodes whose names may be in another column, or in one at all."""
    for nodes in (nodes for nodes in plan.nodes if nodes.table.named is None and not nodes.table.of):
        columns = [c for c in map(nodes.table.columns.__getitem__, nodes.values) if may_be_name(c, nodes)]
        others = [c.name for c in columns if names.plain(c.name) in _WHOLE_NAMES]
        if len(nodes.named) == 1 and others:
            message = f"The names of {nodes.table.name} are in {nodes.named[0]}, not in {others[0]}"
            yield UnsureGuess(message, Option("name_column", f"{nodes.table.name}={others[0]}"))
        elif not nodes.named and (not nodes.key or names.is_id(nodes.key[0])):
            worded = [column for column in columns if _has_words(con, nodes, column)]
            if not worded:
                continue
            best = max(worded, key=lambda column: column.distinct).name
            message = f"{nodes.table.name} has no column of names; {best} may be one"
            yield UnsureGuess(message, Option("name_column", f"{nodes.table.name}={best}"))


def _has_words(con: Connection, nodes: NodeTable, column: ProfiledColumn) -> bool:
    """Return whether most texts have letters: measures with words such as *<2* among them have none. The letters of
    ``POINT (1 2)`` are no words.
    """
    worded = f"regexp_matches(v, '\\p{{L}}{{2}}') AND NOT regexp_full_match(v, '{_GEOMETRY}')"
    query = f"SELECT 2 * count_if({worded}) > count(v)"
    rows = f"SELECT {column.value} AS v FROM {identifier(nodes.table.name)}"
    return con.execute(f"{query} FROM ({rows})").fetchall() == [(True,)]


def may_be_name(column: ProfiledColumn, nodes: NodeTable) -> bool:
    """Return whether a column may hold the names of nodes, though its own name does not say so."""
    text = column.look == "text" and column.kind == "VARCHAR" and not column.is_code and not column.problem
    words = set(names.words(column.name))
    other = names.is_id(column.name) or names.is_global_id(column.name) or bool(words & {*names.OTHERS, *_PLACES})
    most = 2 * column.distinct >= nodes.table.rows and 10 * column.count >= 9 * nodes.table.rows
    other = other or not re.search(r"[^\W\d]{2}", column.name)  # 2015
    place = column.name in (nodes.table.spec.folder, nodes.table.spec.file)
    return text and most and not other and not place and _SHORTEST < column.length < _LONGEST


def _keys(con: Connection, plan: TablePlan, told: Corrections) -> Iterator[UnsureGuess]:
    """Yield the keys that are not named as identifiers, if a column that is may be the key as well."""
    for nodes in plan.nodes:
        table, key = nodes.table, nodes.key
        known = table.declared_key or table.name in told.keys
        if known or len(key) != 1 or names.is_id(key[0]):
            continue
        values = [table.columns[name] for name in nodes.values]
        ids = [c.name for c in values if names.is_id(c.name) and c.look in ("text", "integer") and not c.missing]
        other = next((name for name in ids if is_unique(con, table, [name])), "")
        if other:
            message = f"The key of {table.name} is {key[0]}, but {other} identifies its rows, too"
            yield UnsureGuess(message, Option("keys", f"{table.name}={other}"))
