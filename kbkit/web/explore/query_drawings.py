"""Results of queries as graphs and charts: the data that the scripts of the screen Query draw."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.display.render import cell, clean
from kbkit.english.headings import figure
from kbkit.errors import KbError
from kbkit.graph.subgraph import SubgraphDrawing, subgraph
from kbkit.web.explore import links
from kbkit.web.explore.graph import PALETTE, drawn_values
from kbkit.web.explore.query_results import KeptResult, ResultState, iris_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from kbkit.web.explore.site import Site

FIRST_NODES, MOST_NODES, MOST_POINTS = 120, 480, 20_000
"""Number of nodes of a graph at first and at most, and maximum number of rows of a chart."""
_READ = 2_000
"""Rows whose nodes are looked up for a graph."""
ENDS = ("id", "head", "tail")
"""Columns of SQL whose numbers are nodes."""


def graph(site: Site, kept: KeptResult, state: ResultState, most: int) -> SubgraphDrawing:
    """Return the first nodes of a result: answers of an expression with their proofs, others with their edges.

    Raises :class:`KbError` if the result has no nodes.
    """
    assert kept.frame is not None
    rows = kept.rows(state)
    found = list(dict.fromkeys(_nodes(site, kept, rows.head(_READ))))
    if not found:
        raise KbError("The result has no nodes to draw", "Select a column id (SQL), or variables of nodes (SPARQL)")
    shown = found[:most]
    omitted = max(len(found), rows.len() if kept.nodes else 0) - len(shown)
    title, proofs = "Nodes of the result", None
    if kept.outcome.language == "answers" and kept.outcome.value is not None and kept.nodes:
        rows_of = [why.triples.select("head", "relation", "tail").rows() for why in kept.outcome.value.proofs(shown)]
        proofs, title = [row for listed in rows_of for row in listed], "Answers with their proofs"
    return subgraph(site.kb.stores, shown, title, proofs, omitted)


def _nodes(site: Site, kept: KeptResult, rows: pl.Series) -> Iterator[int]:
    """Yield the nodes of rows, in order: those that the rows describe, or all that columns name."""
    assert kept.frame is not None
    part = kept.frame[rows]
    columns = [part[name].to_list() for name in node_columns(site, part)]
    if kept.outcome.language == "sparql":
        iris = {iri: node for iri, (node, *_) in iris_of(site, part).items()}
        for row in part.iter_rows():
            yield from (iris[value] for value in row if isinstance(value, str) and value in iris)
    for row in zip(*columns, strict=True):
        yield from (node for node in row if node is not None)


def node_columns(site: Site, frame: pl.DataFrame) -> list[str]:
    """Return the columns whose numbers are nodes."""
    return [
        name
        for name, kind in frame.schema.items()
        if kind.is_integer()
        and (name in ENDS or name.endswith("_id"))
        and _are_nodes(frame[name], site.kb.schema.nodes)
    ]


def _are_nodes(column: pl.Series, count: int) -> bool:
    low, high = column.min(), column.max()
    return isinstance(low, int) and isinstance(high, int) and low >= 0 and high < count


def graph_content(
    site: Site, kept: KeptResult, state: ResultState, most: int = FIRST_NODES, ranks: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a graph as the scripts read it, with the addresses of the nodes' pages, and how many more can be drawn.

    The answers of an expression are marked, apart from the other nodes of their proofs.
    """
    made = graph(site, kept, state, most)
    drawing = made.drawing()
    shown = site.drawn(drawing, state.text)
    shown.update(
        values=drawn_values(site, drawing, ranks),
        palette=PALETTE,
        places={},
        graphml=f"{state.url('/query/graph')}&nodes={most}&format=graphml",
    )
    rows = drawing.nodes.select("id", "type", "key").iter_rows()
    for node, (number, kind, key) in zip(shown["nodes"], rows, strict=True):
        node.update(command="", page=links.node(kind, key), graph=links.page("/graph", node=f"{kind}#{key}"))
        node["marked"] = number in made.marked
    return {**shown, "more": min(MOST_NODES, most + made.omitted) if most < MOST_NODES and made.omitted else 0}


def chart_content(site: Site, kept: KeptResult, state: ResultState, columns: list[int]) -> dict[str, Any]:
    """Return the rows of some columns as lists, for a chart; dates are text, other values than numbers too.

    ``nodes`` are the types, keys and names of the nodes that the rows describe, if they do.
    """
    assert kept.frame is not None
    rows = kept.rows(state)
    part = kept.frame[rows.head(MOST_POINTS)]
    names = [kept.columns[place] for place in columns if place < len(kept.columns)]
    content: dict[str, Any] = {"total": rows.len(), "columns": [_plotted(part[name]) for name in names]}
    if kept.nodes:
        ids = np.asarray(kept.nodes, np.int32)[rows.head(MOST_POINTS).to_numpy()]
        known = site.kb.stores.nodes.rows_of(ids, ("type", "key", "name"))
        content["nodes"] = [known[name].to_list() for name in ("type", "key", "name")]
    return content


def _plotted(column: pl.Series) -> list[Any]:
    import polars as pl

    if column.dtype.is_numeric():
        numbers = column.cast(pl.Float64) if column.dtype.is_decimal() or column.dtype.is_float() else column
        return [value if value is not None and math.isfinite(value) else None for value in numbers.to_list()]
    if column.dtype.is_temporal():
        return column.cast(pl.String).to_list()
    return [None if value is None else clean(cell(value))[:200] for value in column.to_list()]


def chart_fields(kept: KeptResult) -> list[tuple[str, str]]:
    """Return the name and the kind (number, date, text) of each column."""
    assert kept.frame is not None
    kinds = [(name, kept.frame.schema[name]) for name in kept.columns]
    return [(name, "number" if kind.is_numeric() else "date" if kind.is_temporal() else "text") for name, kind in kinds]


def figures(name: str, text: str, least: int) -> str:
    """Return a value of a column of numbers, which is text, with separators as in the table."""
    if name in ENDS:
        return text
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return cell(figure(name, kind(text), least))
    return text
