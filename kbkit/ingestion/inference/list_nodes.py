"""Lists whose elements become nodes by themselves: names that rows share, where nothing else relates rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_FEWEST_ELEMENTS, _FEWEST_NAMES = 20, 3
_REPEATED = 0.7
"""Fraction of different elements up to which rows share them."""
_LONGEST, _MOST = 40, 0.9
"""Mean number of characters of names, at most, and the fraction of the elements that must look like names."""
_NAME = r"[^/\\{}<>@+]*\p{L}{2}[^/\\{}<>@+]*"


def find(con: duckdb.DuckDBPyConnection, plan: TablePlan, kept: Collection[str]) -> list[str]:
    """Return the columns (``table.column``) of lists of names whose elements are better nodes: those that several rows
    share, if no column refers to a row of a table. Columns that are ``kept`` stay lists.
    """
    links = [link for nodes in plan.nodes for _, link in nodes.links]
    links += [end for edges in plan.edges for end in (edges.head, edges.tail)]
    if any(link.target for link in links):
        return []
    found = [(nodes.table, name) for nodes in plan.nodes for name in nodes.values if name not in nodes.named]
    named = [(f"{table.name}.{name}", table, table.columns[name]) for table, name in found]
    named = [one for one in named if one[0] not in kept and _are_names(con, *one[1:])]
    return [name for name, table, column in named if not _are_of_another(con, table, column)]


def _are_of_another(con: duckdb.DuckDBPyConnection, table: ProfiledTable, column: ProfiledColumn) -> bool:
    """Return whether half of the elements are values of another column, such as two colours of a thing: as nodes of two
    types, the same things would be apart.
    """
    elements = f"SELECT DISTINCT unnest({column.elements}) AS x FROM {identifier(table.name)}"
    for other in table.columns.values():
        if other.name != column.name and other.look in ("text", "list"):
            values = f"SELECT {reference(table, [other.name])} FROM {identifier(table.name)}"
            query = f"SELECT 2 * count_if(x IN ({values})) >= count(*) FROM ({elements})"
            if con.execute(query).fetchall() == [(True,)]:
                return True
    return False


def _are_names(con: duckdb.DuckDBPyConnection, table: ProfiledTable, column: ProfiledColumn) -> bool:
    if column.look != "list" or names.is_global_id(column.name) or names.is_file(column.name):
        return False
    query = f"""
        SELECT count(*), count(DISTINCT x), coalesce(avg(length(x)), 0), count_if(regexp_full_match(x, '{_NAME}')),
               count_if(regexp_matches(x, '[0-9]'))
        FROM (SELECT unnest({column.elements}) AS x FROM {identifier(table.name)})"""
    [(count, distinct, length, named, numbered)] = con.execute(query).fetchall()
    enough = count >= _FEWEST_ELEMENTS and distinct >= _FEWEST_NAMES and distinct <= _REPEATED * count
    return bool(enough and length <= _LONGEST and named >= _MOST * count and 2 * numbered < count)
