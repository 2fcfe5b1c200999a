"""The graph of a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

OUT, IN, BOTH = 1, -1, 0
"""Directions of an edge as seen from a node; ``BOTH`` is that of a symmetric relation."""

Pairs = dict[tuple[int, int], dict[tuple[str, int], None]]
"""For each connected pair of rows of ``nodes`` (ascending), the (relation, direction from the first), in order."""


@dataclass(frozen=True)
class Drawing:
    """A graph to draw, or to write as GraphML or DOT.

    ``nodes``: id, key, type, name, hop (distance from ``center``, an id), line (first line of text), by hop.
    ``edges``: head, relation, tail, between these nodes. ``types`` are all types of the KB in schema order, which
    decide the colours. ``symmetric`` names relations stored in both directions; ``labels`` maps relations whose names
    are codes to readable labels. ``totals``: id, relation, direction (``OUT``, ``IN``, ``BOTH``), neighbours (their
    number in the KB). ``kb`` is the KB's name on the command line (empty: none). A ``layered`` drawing has a column for
    each hop.
    """

    title: str
    summary: str
    center: int
    nodes: pl.DataFrame
    edges: pl.DataFrame
    types: Sequence[str]
    symmetric: frozenset[str]
    labels: Mapping[str, str]
    totals: pl.DataFrame | None = None
    kb: str = ""
    layered: bool = False

    def shown(self, relation: str) -> str:
        """Return a relation's name, with its label if the name is a code."""
        return f"{relation}: {self.labels[relation]}" if relation in self.labels else relation

    def levels(self) -> list[int]:
        """Return the importance of each node: 0 for the centre and for both ends of paths, then 1, and 2 for others."""
        hops = self.nodes["hop"].to_list()
        last = hops[-1] if self.layered else 0
        return [0 if hop in (0, last) else min(hop, 2) for hop in hops]

    def pairs(self) -> Pairs:
        """Return the connected pairs of nodes with their relations; both ends of a loop are the same node."""
        place = {node: i for i, node in enumerate(self.nodes["id"].to_list())}
        found: Pairs = {}
        for head, relation, tail in self.edges.iter_rows():
            a, b = place[head], place[tail]
            way = BOTH if relation in self.symmetric else OUT if a <= b else IN
            found.setdefault((min(a, b), max(a, b)), {})[relation, way] = None
        return dict(sorted(found.items()))
