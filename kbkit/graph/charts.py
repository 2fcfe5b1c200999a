"""Charts of a whole KB: types, relations, degrees, text lengths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.display.charts import Chart
from kbkit.display.drawing.colours import of_types
from kbkit.schema import Relation

if TYPE_CHECKING:
    from kbkit.stores import Stores

Counts = NDArray[np.int64]

MAX_BARS = 30
"""Maximum number of bars; the remaining values are summed in one more."""
_LINES, _POINTS = 8, 60
"""Maximum number of lines, and of points per line."""
_SAMPLE = 50_000
"""Approximate number of texts to measure."""


def charts(stores: Stores) -> list[Chart]:
    """Return the charts that apply: nodes by type, edges by relation, degrees by type, words by text field."""
    name = stores.schema.name
    types = _largest((t.name, t.count) for t in stores.schema.node_types)
    relations = _largest((_title(r), r.edges) for r in stores.schema.relations)
    found = [Chart(f"{name}: nodes by type", types, "name", "count", flat=True, x_title=" ", y_title="nodes")]
    if relations.height:
        title = f"{name}: edges by relation"
        found.append(Chart(title, relations, "name", "count", flat=True, x_title=" ", y_title="edges"))
    if relations.height and stores.has("adjacency"):
        found.append(_degree_chart(stores))
    if any(field.texts for field in stores.schema.text_fields):
        found.append(_text_chart(stores))
    return found


def _title(relation: Relation) -> str:
    """Return a relation's name, preceded by its label if the name is a code such as ``P31``."""
    readable = not relation.label or any(letter.islower() for letter in relation.name)
    return relation.name if readable else f"{relation.label} ({relation.name})"


def _largest(counts: Iterable[tuple[str, int]]) -> pl.DataFrame:
    """Return name, count: the ``MAX_BARS`` largest and the sum of the others, without zero counts."""
    ranked = sorted((pair for pair in counts if pair[1]), key=lambda pair: -pair[1])
    rest = ranked[MAX_BARS:]
    others = [(f"{len(rest):,} others", sum(count for _, count in rest))] if rest else []
    return pl.DataFrame([*ranked[:MAX_BARS], *others], schema={"name": pl.String, "count": pl.Int64}, orient="row")


# -- degrees ----------------------------------------------------------------------------------------------------------


def degrees(stores: Stores) -> Counts:
    """Return the number of neighbours of each node, summed over relations and directions; symmetric relations count
    once.
    """
    found = np.zeros(stores.schema.nodes, np.int64)
    for relation in stores.schema.relations:
        sides = (stores.adjacency.forward(relation.name), stores.adjacency.backward(relation.name))
        for csr in sides[:1] if relation.symmetric else sides:
            rows = slice(csr.first, csr.first + len(csr.offsets) - 1) if csr.heads is None else csr.heads
            found[rows] += csr.degrees()
    return found


def at_least(values: Counts) -> pl.DataFrame:
    """Return value, share: the fraction of ``values`` (integers from 0) that are at least ``value``, at few points.

    Zeros count but have no point. The points are values that occur; the largest value is always one.
    """
    counts = np.bincount(values)
    reached = np.cumsum(counts[::-1])[::-1] / max(1, len(values))
    there = np.flatnonzero(counts)
    there = there[there > 0]
    if len(there) > _POINTS:
        wanted = np.geomspace(there[0], there[-1], _POINTS)
        there = there[np.unique(np.minimum(np.searchsorted(there, wanted), len(there) - 1))]
    return pl.DataFrame({"value": there.astype(np.int64), "share": reached[there]})


def _degree_chart(stores: Stores) -> Chart:
    found = degrees(stores)
    types = sorted((t for t in stores.schema.node_types if t.count), key=lambda t: -t.count)[:_LINES]
    lines = [at_least(found[t.first : t.first + t.count]).with_columns(type=pl.lit(t.name)) for t in types]
    alone = int((found == 0).sum())
    return Chart(
        f"{stores.schema.name}: degrees{f' ({alone:,} nodes have no neighbour)' if alone else ''}",
        pl.concat(lines),
        "value",
        "share",
        "type",
        percent=True,
        lines=True,
        log="xy",
        x_title="neighbours, over all relations",
        y_title="nodes with as many or more",
        palette=of_types([t.name for t in stores.schema.node_types]),
    )


# -- texts ------------------------------------------------------------------------------------------------------------


def _text_chart(stores: Stores) -> Chart:
    fields = sorted((f for f in stores.schema.text_fields if f.texts), key=lambda f: -f.tokens)[:_LINES]
    total = sum(field.texts for field in stores.schema.text_fields)
    # Block sampling reads only the sampled blocks, and is repeatable.
    part = f"TABLESAMPLE system ({100 * _SAMPLE / total} PERCENT) REPEATABLE (0)" if total > _SAMPLE else ""
    words = "length(text) - length(replace(text, ' ', '')) + 1"
    frame = stores.tables.lookup(f"SELECT field::VARCHAR AS field, {words} AS words FROM texts {part}")
    lines = [
        at_least(frame.filter(field=field.name)["words"].to_numpy().astype(np.int64)).with_columns(
            field=pl.lit(field.name)
        )
        for field in fields
    ]
    of = f" (a sample of {frame.height:,} of {total:,} texts)" if part else ""
    return Chart(
        f"{stores.schema.name}: lengths of the texts{of}",
        pl.concat(lines),
        "value",
        "share",
        "field",
        percent=True,
        lines=True,
        log="x",
        x_title="words",
        y_title="texts with as many or more",
    )
