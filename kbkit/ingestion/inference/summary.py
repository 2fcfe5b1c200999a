"""A short table of what an inferred recipe makes of each table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbkit.errors import plural
from kbkit.ingestion.inference.edges import EdgeTable
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import DetailTable, NodeTable, TablePlan
from kbkit.ingestion.inference.table_link import TableLink

if TYPE_CHECKING:
    import polars as pl


def summary(tables: Sequence[ProfiledTable], plan: TablePlan) -> pl.DataFrame:
    """Return a frame with the columns ``table``, ``rows``, ``becomes``, ``key``, ``name``, ``links`` and ``texts``."""
    import polars as pl

    rows = []
    for table in tables:
        nodes = plan.of(table.name)
        edges = next((edges for edges in plan.edges if edges.table is table), None)
        found = next(((one, detail) for one in plan.nodes for detail in one.details if detail.table is table), None)
        if nodes:
            row = _nodes(nodes)
        elif edges:
            row = _edges(edges)
        elif found:
            row = _detail(*found)
        else:
            row = ("nothing: no rows", "", "", "", "")
        rows.append((table.name, table.rows, *row))
    names = ("table", "rows", "becomes", "key", "name", "links", "texts")
    return pl.DataFrame(rows, schema={name: pl.Int64 if name == "rows" else pl.String for name in names}, orient="row")


Row = tuple[str, str, str, str, str]


def _nodes(nodes: NodeTable) -> Row:
    key, name = " + ".join(nodes.key) or "(row number)", " + ".join(nodes.named)
    links = ", ".join(_link(relation, link) for relation, link in nodes.links)
    kind = f"one type for each {nodes.by}" if nodes.by else nodes.table.type
    kind += f"; {plural(nodes.table.repeated, 'repeated row')} left out" if nodes.table.repeated else ""
    return (f"nodes: {kind}", key, name, links, ", ".join(nodes.texts))


def _link(relation: str, link: TableLink) -> str:
    column = " + ".join(link.columns)
    if not link.target:
        return f"{column} -> new {link.loose} nodes"
    lacking = f" ({_lacking(link).removeprefix(', ')})" if link.missing else ""
    return f"{column} -> {link.target}{'' if relation == column else f' as {relation}'}{lacking}"


def _lacking(link: TableLink) -> str:
    return f", {link.missing:,} of {link.distinct:,} values have no row" if link.missing else ""


def _edges(edges: EdgeTable) -> Row:
    head, tail = (_end(link) for link in (edges.head, edges.tail))
    kind = f"one for each {edges.by}" if edges.by else edges.relation
    ways = "symmetric, " if edges.symmetric else ""
    left_out = f"; {plural(edges.incomplete, 'row')} without an end left out" if edges.incomplete else ""
    return (f"edges: {kind}", "", "", f"{ways}from {head} to {tail}{left_out}", "")


def _end(link: TableLink) -> str:
    return f"{' + '.join(link.columns)} ({link.target or link.loose}{_lacking(link)})"


def _detail(nodes: NodeTable, detail: DetailTable) -> Row:
    kind = nodes.table.type
    listed = ", ".join(["aliases" if detail.is_alias else name for name in detail.values])
    what = f"attributes of {kind}: {listed}" if listed else f"texts of {kind}"
    return (what, "", "", " + ".join(detail.link.columns) + f" -> {nodes.table.name}", ", ".join(detail.texts))
