"""The graph of a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Drawing:
    """A graph to draw, or to write as GraphML or DOT.

    ``nodes``: id, key, type, name, hop (distance from ``center``, an id), line (first line of text). ``edges``: head,
    relation, tail, between these nodes. ``symmetric`` names relations stored in both directions; ``labels`` maps
    relations whose names are codes to readable labels.
    """

    title: str
    summary: str
    center: int
    nodes: pl.DataFrame
    edges: pl.DataFrame
    symmetric: frozenset[str]
    labels: Mapping[str, str]

    def shown(self, relation: str) -> str:
        """Return a relation's name, with its label if the name is a code."""
        return f"{relation}: {self.labels[relation]}" if relation in self.labels else relation
