"""Colours of node types: one for each of the most frequent types, one for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing

# Tableau's ten colours, darkened for contrast with white labels and on white; grey is for other types.
_COLOURS = (
    "#3b6ea5",
    "#d9730d",
    "#3f8f3f",
    "#c23b3f",
    "#7d5ba6",
    "#8c5a4a",
    "#c9609f",
    "#2f9aa8",
    "#9a8f1f",
    "#4a5bc7",
)
_OTHERS = "#7d858f"


def of_types(graph: Drawing) -> dict[str, str]:
    """Return the colour of each type, most frequent first; ``""`` is the colour of the other types."""
    counts = graph.nodes.group_by("type").len().sort(["len", "type"], descending=[True, False])
    names = counts["type"].to_list()
    return {**dict(zip(names, _COLOURS, strict=False)), "": _OTHERS}
