"""What each table becomes, with the corrections of a user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError
from kbkit.ingestion.inference import chosen_dates, embedded, links, nouns, profile, roles, subsets, worded_names
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.request import Corrections

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection


def plan(con: Connection, tables: list[ProfiledTable], told: Corrections) -> TablePlan:
    """Decide what each table becomes. Raises :class:`kbkit.errors.UnknownNameError` for unknown tables and columns.

    Tables of columns whose values the user calls nodes are added to ``tables``.
    """
    nodes = _nodes(con, tables, told)
    for name, columns in told.keys.items():
        profile.check_names(tables, name, columns)
    own = {table.name for table in tables}
    of_columns = {column_of(tables, name): kind for name, kind in told.types.items() if "." in name and name not in own}
    for name in told.types:
        if name in own or "." not in name:
            profile.check_names(tables, name, ())
    for table in tables:
        table.type = told.types.get(table.name, table.type)
    types = {table.name: table.type for table in tables}
    for table in (table for table in tables if table.beyond):  # further rows of a table that may have another type now
        table.type = types.get(table.beyond[0] if table.beyond else "", table.type)
    _correct_columns(con, tables, told)
    texts: dict[str, set[str]] = {}
    for name in told.texts:
        of, column = column_of(tables, name)
        texts.setdefault(of, set()).add(column)
    linked = {column_of(tables, name): target for name, target in told.links.items()}
    for target in filter(None, linked.values()):
        profile.check_names(tables, target, ())
    filled = [table for table in tables if table.rows]
    if not filled:
        of_files = dict.fromkeys(table.spec.match[0].replace("[[]", "[") for table in tables)
        raise BadInputError(f"No rows in {', '.join(of_files)}", "Name files with a header and rows")
    guesses = links.find(con, filled, {name: tuple(columns) for name, columns in told.keys.items()}, linked, nodes)
    guesses = subsets.settle(con, filled, guesses, linked)
    nouns.of_references(filled, guesses.links, told.types)
    found = roles.plan(con, filled, guesses, texts, {*told.keys, *told.types})
    worded_names.settle(con, found)
    _correct_types(found, of_columns)
    _correct_relations(found, tables, told)
    return found


def _correct_columns(con: Connection, tables: Sequence[ProfiledTable], told: Corrections) -> None:
    """Set the columns of names, leave columns out, and read those of dates."""
    for name, column in told.named.items():
        profile.check_names(tables, name, ())
        table = next(table for table in tables if table.name == name)
        table.named = _columns_of_name(table, column)
        profile.check_names(tables, name, table.named)
    named = {table.name: table.named or () for table in tables}
    for name in told.omit:
        of, column = column_of(tables, name)
        if column in (*told.keys.get(of, ()), *(named[of] if of in told.named else ())):
            message = f"Column {of}.{column} cannot be left out: it is the key or the name of the nodes"
            raise BadInputError(message, "Choose another key or name first")
        _omit(next(table for table in tables if table.name == of), column)
    for name, kind in told.dates.items():
        of, column = column_of(tables, name)
        table = next(table for table in tables if table.name == of)
        table.columns[column] = chosen_dates.read(con, table, column, kind)


def _correct_types(plan: TablePlan, kinds: Mapping[tuple[str, str], str]) -> None:
    """Give the values of columns that are nodes without a table another type, by table and column.

    Raises :class:`BadInputError` for the type of a table, whose rows the column can be linked to instead.
    """
    tables = {nodes.table.type: nodes.table.name for nodes in plan.nodes}

    def typed(table: str, link: TableLink) -> TableLink:
        kind = kinds.get((table, link.columns[0])) if link.loose and len(link.columns) == 1 else None
        if kind in tables:
            hint = f"Link {table}.{link.columns[0]} to {tables[kind]}, or choose another type"
            raise BadInputError(f"The rows of {tables[kind]} have the type {kind}", hint)
        return replace(link, loose=kind) if kind else link

    for nodes in plan.nodes if kinds else ():
        nodes.links = [(relation, typed(nodes.table.name, link)) for relation, link in nodes.links]
    for edges in plan.edges if kinds else ():
        edges.head, edges.tail = (typed(edges.table.name, link) for link in (edges.head, edges.tail))


def _correct_relations(plan: TablePlan, tables: Sequence[ProfiledTable], told: Corrections) -> None:
    """Name the relations of tables of edges, and turn them around."""
    for name, relation in told.relation_names.items():
        profile.check_names(tables, name, ())
        for edges in (edges for edges in plan.edges if edges.table.name == name):
            edges.relation = relation.removeprefix("^") or edges.relation
            if relation.startswith("^"):
                edges.head, edges.tail = edges.tail, edges.head


def _nodes(con: Connection, tables: list[ProfiledTable], told: Corrections) -> set[tuple[str, str]]:
    """Add the tables of columns whose values the user calls nodes; return such columns that need no table."""
    chosen = list(dict.fromkeys(column_of(tables, name) for name in told.nodes))
    known = {*chosen, *(column_of(tables, name) for name in (*told.texts, *told.links, *told.omit, *told.dates))}
    known |= {(name, column) for name, columns in told.keys.items() for column in columns}
    known |= {(t.name, one) for t in tables if t.name in told.named for one in _columns_of_name(t, told.named[t.name])}
    return embedded.of_columns(con, tables, chosen, known)


def _omit(table: ProfiledTable, column: str) -> None:
    """Leave a column out, with what the source says about it."""
    del table.columns[column]
    table.declared_key = () if column in table.declared_key else table.declared_key
    table.declared_links = [link for link in table.declared_links if column not in link[0]]


def column_of(tables: Sequence[ProfiledTable], name: str) -> tuple[str, str]:
    """Return the table and the column of ``table.column``; the table may be left out if it is the only one."""
    table, _, column = name.partition(".")
    if not column and len(tables) == 1:
        table, column = tables[0].name, name
    profile.check_names(tables, table, [column])
    return table, column


def _columns_of_name(table: ProfiledTable, text: str) -> tuple[str, ...]:
    """Return the columns of a table's names as the user gives them: one, or several with commas between them."""
    return (text,) if text in table.columns else tuple(filter(None, map(str.strip, re.split(r",| \+ ", text))))
