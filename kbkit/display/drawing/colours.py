"""Colours of node types: each type of a KB has one colour, in all drawings of the KB."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

# Tableau's ten colours, darkened or lightened to a contrast of 3 with white and with the dark background.
_COLOURS = (
    "#3b6ea5",
    "#d9730d",
    "#3f8f3f",
    "#c23b3f",
    "#7d5ba6",
    "#96604f",
    "#c9609f",
    "#2a8f9c",
    "#8f851c",
    "#5566d0",
)
_UNKNOWN = "#7d858f"
_LIGHT = 0.17
"""Relative luminance of further colours (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance)."""


def of_types(names: Sequence[str]) -> dict[str, str]:
    """Return the colour of each type, given all types of a KB in the order of its schema; ``""`` is for others."""
    further = (_further(place) for place in range(len(names) - len(_COLOURS)))
    return {**dict(zip(names, (*_COLOURS, *further), strict=False)), "": _UNKNOWN}


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (``#rrggbb``), from 0 to 1."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _further(place: int) -> str:
    """Return a colour for each place: hues apart by the golden angle, all equally light."""
    hue, saturation = (place * 0.381966 + 0.47) % 1, (0.75, 0.45)[place % 2]
    low, high, colour = 0.0, 1.0, _UNKNOWN
    for _ in range(12):
        middle = (low + high) / 2
        colour = "#" + "".join(f"{round(255 * c):02x}" for c in colorsys.hls_to_rgb(hue, middle, saturation))
        low, high = (middle, high) if luminance(colour) < _LIGHT else (low, middle)
    return colour
