"""Colours of node types: one each for those that most nodes have, one for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing

# Tableau's ten, darker: white letters are readable on them, and small dots on white. Grey is for the rest.
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
    """The colour of each type, the most frequent first; ``""`` is the colour of those that are not named."""
    counts = graph.nodes.group_by("type").len().sort(["len", "type"], descending=[True, False])
    names = counts["type"].to_list()
    return {**dict(zip(names, _COLOURS, strict=False)), "": _OTHERS}
