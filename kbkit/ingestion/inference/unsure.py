"""Guesses that may be wrong, each with the option that changes it: orders of dates, names and keys."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kbkit.errors import Option
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.dates import UNCLEAR
from kbkit.ingestion.inference.keys import is_unique
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import NodeTable, TablePlan
from kbkit.ingestion.inference.shared_values import SharedValues
from kbkit.ingestion.request import Corrections

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

MOST = 5
"""Guesses that are named: more would not be read."""
_FEWEST, _MISSING = 5, 0.05
"""Different values from which a column may refer to a table, and the fraction of them that may be missing there."""
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
        _dates(tables), _unclear(plan), _unlinked(con, plan, told), _names(plan), _keys(con, plan, told)
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


def _unlinked(con: Connection, plan: TablePlan, told: Corrections) -> Iterator[UnsureGuess]:
    """Yield the columns without a link that hold keys of one table: nearly all of their values are."""
    shared = SharedValues(con)
    linked = {f"{nodes.table.name}.{name}" for nodes in plan.nodes for _, link in nodes.links for name in link.columns}
    decided = {*linked, *plan.unclear, *told.links, *told.nodes}
    targets = [nodes for nodes in plan.nodes if len(nodes.key) == 1 and not nodes.table.of and not nodes.table.beyond]
    parts = [
        (nodes.table, [name for name in nodes.values if name not in (*nodes.key, *nodes.named)]) for nodes in plan.nodes
    ]
    parts += [(edges.table, list(edges.values)) for edges in plan.edges]
    for table, values in parts:
        for column in (table.columns[name] for name in values if f"{table.name}.{name}" not in decided):
            found = [nodes.table for nodes in targets if _refers(shared, table, column, nodes)]
            if len(found) == 1:
                message = f"{table.name}.{column.name} has keys of {found[0].name}, but is no link"
                yield UnsureGuess(message, Option("links", f"{table.name}.{column.name}={found[0].name}"))


def _refers(shared: SharedValues, table: ProfiledTable, column: ProfiledColumn, nodes: NodeTable) -> bool:
    """Return whether nearly all values of a column are keys, which is no coincidence: they are texts with digits or
    of some length, or numbers of a column that is named as an identifier.
    """
    key = nodes.table.columns[nodes.key[0]]
    if nodes.table is table or column.look != key.look or column.distinct < _FEWEST or column.problem:
        return False
    telling = column.length >= _SHORTEST if column.look == "text" else names.is_id(column.name)
    if column.look not in ("text", "integer") or not telling:
        return False
    missing, distinct = shared.missing(table, [column.name], nodes.table, nodes.key)
    if distinct < _FEWEST or missing > _MISSING * distinct:
        return False
    return column.look == "text" or not shared.are_dense(table, column, nodes.table, nodes.key[0])


def _names(plan: TablePlan) -> Iterator[UnsureGuess]:
    """Yield the nodes whose names may be in another column, or in one at all."""
    for nodes in (nodes for nodes in plan.nodes if nodes.table.named is None and not nodes.table.of):
        columns = [c for c in map(nodes.table.columns.__getitem__, nodes.values) if _may_be_name(c, nodes)]
        others = [c.name for c in columns if names.plain(c.name) in _WHOLE_NAMES]
        if len(nodes.named) == 1 and others:
            message = f"The names of {nodes.table.name} are in {nodes.named[0]}, not in {others[0]}"
            yield UnsureGuess(message, Option("name_column", f"{nodes.table.name}={others[0]}"))
        elif not nodes.named and columns and (not nodes.key or names.is_id(nodes.key[0])):
            best = max(columns, key=lambda column: column.distinct).name
            message = f"{nodes.table.name} has no column of names; {best} may be one"
            yield UnsureGuess(message, Option("name_column", f"{nodes.table.name}={best}"))


def _may_be_name(column: ProfiledColumn, nodes: NodeTable) -> bool:
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
