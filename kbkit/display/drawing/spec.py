"""The Vega specification of a still drawing: https://vega.github.io/vega/docs/.

Positions come from :mod:`kbkit.display.drawing.layout`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.display.drawing import layout
from kbkit.display.drawing.colours import of_types
from kbkit.display.drawing.marks import marks
from kbkit.display.drawing.model import IN, OUT
from kbkit.display.drawing.text import line, middle, short, width

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing

INK, SOFT = "#1d2733", "#5b6672"
_RADII = (15.0, 7.5, 5.5)
_SIZES = (14, 11.5, 10.5)
"""Sizes of dots and letters: centre, its neighbours, others."""
_EDGE_LETTERS = 9.5
_MOST_EDGE_LABELS = 250
_FEW_LINES, _MANY_LINES = 40, 60
"""Up to this number of lines all are drawn and labelled alike; above it, lines not at the centre are drawn weaker."""
_CROWDED = 80
"""Number of nodes above which relations are not labelled."""

Rows = list[dict[str, Any]]


def spec(graph: Drawing) -> dict[str, Any]:
    """Return the specification of a still drawing."""
    size = _size(graph.nodes.height)
    nodes, lines = _data(graph, size)
    shown = _group(graph, nodes)
    return {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "description": line(f"{graph.title}: {graph.summary}"),
        "width": size[0],
        "height": size[1],
        "padding": 12,
        "background": "white",
        "autosize": "pad",
        "title": {
            "text": short(graph.title, 90),
            "subtitle": [graph.summary, _relations(graph)],
            "anchor": "start",
            "color": INK,
            "fontSize": 16,
            "subtitleColor": SOFT,
            "subtitleFontSize": 12,
            "subtitlePadding": 4,
            "offset": 10,
        },
        "data": _parts(nodes, lines),
        "scales": [
            {
                "name": "colour",
                "type": "ordinal",
                "domain": list(shown),
                "range": list(shown.values()),
            }
        ],
        "legends": [
            {
                "fill": "colour",
                "symbolType": "circle",
                "symbolSize": 110,
                "labelColor": INK,
                "labelLimit": 220,
                "labelFontSize": 12,
            }
        ],
        "marks": marks(),
    }


def _group(graph: Drawing, nodes: Rows) -> dict[str, str]:
    """Add the legend entry of each node; return the legend's colours by entry, most frequent first."""
    counts = graph.nodes.group_by("type").len().sort(["len", "type"], descending=[True, False])
    colours = of_types(graph.types)
    shown: dict[str, str] = {}
    of_type = {}
    for name, count in counts.iter_rows():
        label = f"{middle(name, 24)} ({count:,})"
        while label in shown:  # two long names that differ in the middle
            label += "'"
        of_type[name] = label
        shown[label] = colours.get(name, colours[""])
    for node, name in zip(nodes, graph.nodes["type"], strict=True):
        node["group"] = of_type[name]
    return shown


def _relations(graph: Drawing) -> str:
    """Return the most frequent relations as one line."""
    counts = graph.edges.group_by("relation").len().sort(["len", "relation"], descending=[True, False])
    named = [f"{short(graph.shown(name), 40)} {count:,}" for name, count in counts.head(6).iter_rows()]
    return ", ".join([*named, *([f"{counts.height - 6:,} more relations"] if counts.height > 6 else [])])


def _size(nodes: int) -> tuple[int, int]:
    """Return the size of the canvas for a number of nodes, wider than high."""
    area = max(420_000, 9_500 * nodes)
    high = math.sqrt(area / 1.5)
    return round(1.5 * high), round(high)


def _data(graph: Drawing, size: tuple[int, int]) -> tuple[Rows, Rows]:
    """Return one row per node, and one row per pair of connected nodes."""
    frame = graph.nodes
    pairs, hops, canvas = graph.pairs(), frame["hop"].to_list(), np.array(size, float)
    points = (
        layout.layers(hops, canvas)
        if graph.layered
        else layout.positions(hops, frame["type"].to_list(), list(pairs), canvas)
    )
    nodes: Rows = []
    for i, (level, row) in enumerate(zip(graph.levels(), frame.iter_rows(named=True), strict=True)):
        nodes.append(
            {
                "x": float(points[i, 0]),
                "y": float(points[i, 1]),
                "r": _RADII[level],
                "level": level,
                "name": middle(row["name"], 40 if level == 0 else 28 if len(frame) <= 40 else 22),
                "letters": _SIZES[level],
            }
        )
    lines: Rows = [
        {
            **_ends(nodes[a], nodes[b]),
            "loop": a == b,
            "on": any(way == OUT for _, way in edges),
            "back": any(way == IN for _, way in edges),
            "name": middle(" | ".join(dict.fromkeys(graph.labels.get(name, name) for name, _ in edges)), 32),
            **_weight(a, len(pairs)),
        }
        for (a, b), edges in pairs.items()
    ]
    _place_labels(nodes, lines, list(pairs))
    return nodes, lines


def _ends(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    """Return the ends of a line at the edges of two dots, or the place of a loop beside its dot."""
    if one is other:
        return {"x": one["x"] + one["r"], "y": one["y"] - one["r"]}
    dx, dy = other["x"] - one["x"], other["y"] - one["y"]
    long = max(1.0, math.hypot(dx, dy))
    ux, uy = dx / long, dy / long
    first, last = one["r"] + 1, other["r"] + 1
    return {
        "x": one["x"] + ux * first,
        "y": one["y"] + uy * first,
        "x2": other["x"] - ux * last,
        "y2": other["y"] - uy * last,
    }


def _weight(first: int, lines: int) -> dict[str, Any]:
    """Return the style of a line; lines at the centre, node 0, are always strong."""
    strong = first == 0 or lines <= _FEW_LINES
    return {"strong": strong, "head": 62 if lines <= _MANY_LINES else 42 if strong else 32}


def _place_labels(nodes: Rows, lines: Rows, pairs: Sequence[tuple[int, int]]) -> None:
    """Add the positions of the labels that have a place. Relations are only named in drawings with few nodes, and
    those at the centre first.
    """
    away = _away(nodes, pairs)
    of_nodes = [
        layout.PlacedLabel(
            (n["x"], n["y"]),
            width(n["name"], n["letters"]),
            1.25 * n["letters"],
            n["r"] + 1,
            away=away[i],
            always=not n["level"],
        )
        for i, n in enumerate(nodes)
    ]
    joined = [edge for edge in lines if edge["strong"] and not edge["loop"]] if len(nodes) <= _CROWDED else []
    of_lines = [
        layout.PlacedLabel(
            ((edge["x"] + edge["x2"]) / 2, (edge["y"] + edge["y2"]) / 2),
            width(edge["name"], _EDGE_LETTERS),
            1.2 * _EDGE_LETTERS,
            centred=True,
        )
        for edge in joined[:_MOST_EDGE_LABELS]
    ]
    for row, placed in zip([*nodes, *joined], layout.place([*of_nodes, *of_lines]), strict=False):
        if placed:
            row.update(align=placed[0], dx=round(placed[1], 1), dy=round(placed[2], 1))


def _away(nodes: Rows, pairs: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """Return for each node the direction from its neighbours to it; down for a hub."""
    near: list[list[int]] = [[] for _ in nodes]
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    result = []
    for node, others in zip(nodes, near, strict=True):
        x, y = (sum(node[axis] - nodes[i][axis] for i in others) for axis in "xy")
        length = math.hypot(x, y)
        result.append((x / length, y / length) if length and (node["level"] or len(others) <= 4) else (0.0, 1.0))
    return result


def _parts(nodes: Rows, lines: Rows) -> list[dict[str, Any]]:
    """Return the data of the marks."""
    joined = [edge for edge in lines if not edge["loop"]]
    parts = {
        "nodes": nodes,
        "named": [node for node in nodes if "dx" in node],
        "looped": [edge for edge in lines if edge["loop"]],
        "joined": joined,
        "worded": [edge for edge in joined if "dx" in edge],
        "to_second": [edge for edge in joined if edge["on"]],
        "to_first": [edge for edge in joined if edge["back"]],
    }
    return [{"name": name, "values": values} for name, values in parts.items()]
