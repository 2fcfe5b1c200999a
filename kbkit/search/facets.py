"""Facets: values of attributes, ranges of numbers and neighbours that some nodes share, as expressions to filter by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kbkit.answers.syntax import Edge, Key, Nodes, Path, Step, identifier, quoted
from kbkit.display.render import cell
from kbkit.english.headings import attribute_heading, figure, is_quantity, relation_heading
from kbkit.graph.titles import titles
from kbkit.schema import Attribute, Join, NodeType, quote
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

_WORDS, _WHOLE = ("VARCHAR", "BOOLEAN"), ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_NUMBERS = (*_WHOLE, "FLOAT", "DOUBLE")
_MOST_ATTRIBUTES, _MOST_VALUES = 20, 12
"""Attributes that are counted, and distinct values up to which an attribute is a facet."""
_FEWEST, _RANGES = 5, 4
"""Distinct numbers from which there are ranges, and how many of these about."""
_MOST_RELATIONS = 8
_CLOSE = 10
"""Frequent neighbours that are looked at for each that is shown: some may be of another type."""


class _Facet(NamedTuple):
    attribute: str
    heading: str
    value: str
    nodes: int
    expression: str


def facets(stores: Stores, nodes: Sequence[int], node_type: str, limit: int, timeout: float | None) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.facets`."""
    import polars as pl

    texts = dict.fromkeys(("attribute", "heading", "value"), pl.String)
    kinds = {**texts, "nodes": pl.Int64, "expression": pl.String}
    if not len(nodes):
        return pl.DataFrame(schema=kinds)
    known, ids = stores.schema.type(node_type), np.unique(np.asarray(nodes, np.int32))
    rows = [
        *_values(stores, ids.tolist(), known, limit, timeout),
        *_ranges(stores, ids.tolist(), known, timeout),
        *(_neighbours(stores, ids, known, limit) if stores.has("adjacency") else ()),
    ]
    return pl.DataFrame(rows, kinds, orient="row")


def _values(stores: Stores, nodes: list[int], known: NodeType, limit: int, timeout: float | None) -> Iterator[_Facet]:
    """Yield the most frequent values of attributes with few distinct ones."""
    import polars as pl

    chosen = [a for a in known.attributes if a.type.upper() in (*_WORDS, *_WHOLE)][:_MOST_ATTRIBUTES]
    if not chosen:
        return
    parts = [
        f"SELECT {place} AS place, CAST({quote(a.name)} AS VARCHAR) AS value, count(*) AS nodes FROM mine"
        f" WHERE {quote(a.name)} IS NOT NULL GROUP BY ALL"
        for place, a in enumerate(chosen)
    ]
    members = f"SELECT * FROM {quote(known.table)} WHERE id IN (SELECT unnest($ids))"
    sql = f"WITH mine AS MATERIALIZED ({members}) {' UNION ALL '.join(parts)} ORDER BY place, nodes DESC, value"
    counts = stores.tables.frame(sql, {"ids": nodes}, timeout)
    several = pl.len().over("place").is_between(2, _MOST_VALUES) & (pl.col("nodes").max().over("place") > 1)
    for place, value, count in counts.filter(several).group_by("place", maintain_order=True).head(limit).iter_rows():
        one = chosen[place]
        text = quoted(value) if one.type.upper() == "VARCHAR" else value
        expression = f"{identifier(known.name)}{{{identifier(one.name)} = {text}}}"
        yield _Facet(one.name, attribute_heading(one.label or one.name), value, count, expression)


# -- ranges of numbers ------------------------------------------------------------------------------------------------


def _ranges(stores: Stores, nodes: list[int], known: NodeType, timeout: float | None) -> Iterator[_Facet]:
    """Yield ranges of numbers, between round ones, with about as many nodes each."""
    numeric = [a for a in known.attributes if a.type.upper() in _NUMBERS and is_quantity(a.name)]
    chosen = numeric[:_MOST_ATTRIBUTES]
    if not chosen:
        return
    columns = ", ".join(f"CAST({quote(a.name)} AS DOUBLE) AS {quote(a.name)}" for a in chosen)
    sql = f"SELECT {columns} FROM {quote(known.table)} WHERE id IN (SELECT unnest($ids))"
    frame = stores.tables.frame(sql, {"ids": nodes}, timeout)
    for one in chosen:
        numbers = frame[one.name].drop_nulls().to_numpy()
        numbers = numbers[np.isfinite(numbers)]
        whole = one.type.upper() in _WHOLE
        if len(np.unique(numbers)) <= (_MOST_VALUES if whole else _FEWEST - 1):
            continue
        edges = _edges(numbers, whole)
        counts = np.bincount(np.searchsorted(edges, numbers, side="right"), minlength=len(edges) + 1).tolist()
        heading = attribute_heading(one.label or one.name)
        for low, high, count in zip([None, *edges], [*edges, None], counts, strict=True):
            if count and count < len(numbers):
                tests = [f"{identifier(one.name)} {sign} {_literal(edge)}"
                         for sign, edge in ((">=", low), ("<", high)) if edge is not None]  # fmt: skip
                expression = f"{identifier(known.name)}{{{', '.join(tests)}}}"
                yield _Facet(one.name, heading, _range_text(one, low, high, whole), count, expression)


def _edges(numbers: np.ndarray[tuple[int], np.dtype[np.float64]], whole: bool) -> list[float]:
    """Return round numbers that divide others into ranges with about as many each."""
    cuts = np.quantile(numbers, np.arange(1, _RANGES) / _RANGES)
    spread = float(cuts[-1] - cuts[0]) or float(numbers.max() - numbers.min())
    power = 10.0 ** math.floor(math.log10(spread / _RANGES))
    unit = max(one * power for one in (1, 2, 5) if one * power <= spread / _RANGES or one == 1)
    unit = max(unit, 1.0) if whole else unit
    # Multiplied by a power of ten below one, edges would be 0.30000000000000004.
    rounded = {float(Decimal(repr(unit)) * round(cut / unit)) for cut in cuts.tolist()}
    return sorted(edge for edge in rounded if numbers.min() < edge <= numbers.max())


def _literal(number: float) -> str:
    return str(int(number)) if number.is_integer() else format(Decimal(repr(number)), "f")


def _range_text(one: Attribute, low: float | None, high: float | None, whole: bool) -> str:
    def shown(number: float) -> str:
        return cell(figure(one.name, int(number) if number.is_integer() else number))

    if low is None or high is None:
        return f"under {shown(high)}" if high is not None else f"{shown(low or 0.0)} or more"
    if whole:
        return shown(low) if high - low == 1 else f"{shown(low)}\N{EN DASH}{shown(high - 1)}"
    return f"{shown(low)} to under {shown(high)}"


# -- neighbours -------------------------------------------------------------------------------------------------------


def _neighbours(
    stores: Stores, ids: np.ndarray[tuple[int], np.dtype[np.int32]], known: NodeType, limit: int
) -> Iterator[_Facet]:
    """Yield the neighbours by each relation that most of the nodes have."""
    joins = [
        join
        for relation in stores.schema.relations
        for join in relation.joins()
        if join.source == known.name and (join.forward or not relation.symmetric)
    ]
    shown = 0
    for join in joins:
        rows = stores.adjacency.forward if join.forward else stores.adjacency.backward
        csr = rows(join.relation.name)
        found, counts = np.unique(csr.expand(*csr.ranges(ids)), return_counts=True)
        if not len(found) or counts.max() < 2 or shown == _MOST_RELATIONS:
            continue
        first = np.argsort(-counts, kind="stable")[: limit * _CLOSE]
        near = stores.nodes.rows(found[first].tolist())
        own = [(node, count) for node, count in zip(found[first].tolist(), counts[first].tolist(), strict=True)
               if near[node].type == join.target and count > 1][:limit]  # fmt: skip
        if not own:
            continue
        shown += 1
        named = titles(stores, [node for node, _ in own])
        heading = relation_heading(stores.schema, join.relation.name, known.name, join.target, of_head=join.forward)
        for node, count in own:
            name = named.get(node, near[node].name or near[node].key)
            yield _Facet(join.relation.name, heading, name, count, _leading(join, near[node].key, known.name))


def _leading(join: Join, key: str, node_type: str) -> str:
    """Return the expression of the nodes that have a neighbour."""
    step = Step((Edge(join.relation.name, inverse=join.forward and not join.relation.symmetric),))
    return str(Path((Nodes(join.target, Key(key)), step, Nodes(node_type)), ("->", "->")))
