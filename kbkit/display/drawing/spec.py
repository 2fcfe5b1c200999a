"""The Vega specification of a drawing: https://vega.github.io/vega/docs/.

Positions come from :mod:`kbkit.display.drawing.layout`. ``X`` and ``Y`` are screen coordinates: the canvas position
(``x``, ``y``) is shown at (``ox + scale * x``, ``oy + scale * y``), where zooming and dragging change ``ox``, ``oy``
and ``scale``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.display.drawing import layout
from kbkit.display.drawing.colours import of_types
from kbkit.display.drawing.marks import live_signals, marks, still_signals
from kbkit.display.drawing.text import line, short, width

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
"""Number of nodes above which relations are labelled only at higher zoom levels."""

Rows = list[dict[str, Any]]


def still(graph: Drawing) -> dict[str, Any]:
    """Return the specification of a still drawing."""
    return _spec(graph, live=False)


def live(graph: Drawing) -> dict[str, Any]:
    """Return the specification of an interactive drawing: zoom, drag, tooltips."""
    return _spec(graph, live=True)


def _spec(graph: Drawing, *, live: bool) -> dict[str, Any]:
    size = _size(graph.nodes.height)
    nodes, lines = _data(graph, size)
    shown = _group(graph, nodes)
    return {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "description": line(f"{graph.title}: {graph.summary}"),
        "width": size[0],
        "height": size[1],
        "padding": {"left": 12, "top": 72, "right": _legend(shown), "bottom": 8} if live else 12,
        "background": "white",
        "autosize": "none" if live else "pad",
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
        "signals": live_signals(*size) if live else still_signals(),
        "data": _pipelines(nodes, lines, live=live),
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
        "marks": marks(live=live),
    }


def _group(graph: Drawing, nodes: Rows) -> dict[str, str]:
    """Add the legend entry of each node; return the legend's colours by entry."""
    counts = dict(graph.nodes.group_by("type").len().iter_rows())
    shown: dict[str, str] = {}
    of_type = {}
    for name, colour in of_types(graph).items():
        count = counts.get(name) if name else sum(counts[other] for other in counts if other not in of_type)
        label = f"{short(name, 24) if name else 'other types'} ({count:,})"
        while label in shown:  # two long names with the same beginning
            label += "'"
        of_type[name] = label
        if count:
            shown[label] = colour
    for node, name in zip(nodes, graph.nodes["type"], strict=True):
        node["group"] = of_type.get(name, of_type[""])
    return shown


def _legend(shown: Iterable[str]) -> int:
    """Return the width of the legend in pixels."""
    return 50 + round(max(width(label, 12) for label in shown))


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
    place = {node: i for i, node in enumerate(frame["id"].to_list())}
    pairs = _pairs(graph, place)
    points = layout.positions(frame["hop"].to_list(), frame["type"].to_list(), list(pairs), np.array(size, float))
    nodes: Rows = []
    for i, row in enumerate(frame.iter_rows(named=True)):
        level = min(row["hop"], 2)
        nodes.append(
            {
                "i": i,
                "x": float(points[i, 0]),
                "y": float(points[i, 1]),
                "r": _RADII[level],
                "level": level,
                "name": short(row["name"], 40 if level == 0 else 28 if len(frame) <= 40 else 22),
                "letters": _SIZES[level],
                "told": _tooltip(row),
                "near": [i],
            }
        )
    for a, b in pairs:
        nodes[a]["near"].append(b)
        nodes[b]["near"].append(a)
    lines: Rows = [
        {
            "s": a,
            "t": b,
            "on": on,
            "back": back,
            "name": short(label, 32),
            "told": {"edges": told},
            **_weight(a, len(pairs)),
        }
        for (a, b), (on, back, label, told) in pairs.items()
    ]
    _place_labels(nodes, lines)
    return nodes, lines


def _weight(first: int, lines: int) -> dict[str, Any]:
    """Return the style of a line; lines at the centre, node 0, are always strong."""
    strong = first == 0 or lines <= _FEW_LINES
    return {"strong": strong, "head": 62 if lines <= _MANY_LINES else 42 if strong else 32}


def _tooltip(row: dict[str, Any]) -> dict[str, str]:
    """Return the tooltip of a node."""
    told = {"title": short(row["name"], 200), "type": line(row["type"]), "key": short(row["key"], 80)}
    told["steps away"] = str(row["hop"])
    return {**told, "text": short(row["line"], 200)} if row["line"] else told


def _pairs(graph: Drawing, place: dict[int, int]) -> dict[tuple[int, int], tuple[bool, bool, str, str]]:
    """Return for each connected pair whether an arrow points to the second node, to the first node, the names of the
    relations, and the edges as text.
    """
    names = [short(name, 40) for name in graph.nodes["name"].to_list()]
    found: dict[tuple[int, int], dict[str, set[bool]]] = {}
    for head, relation, tail in graph.edges.iter_rows():
        a, b = place[head], place[tail]
        found.setdefault((min(a, b), max(a, b)), {}).setdefault(relation, set()).add(a <= b)
    result = {}
    for (a, b), relations in sorted(found.items()):
        directed = {side for name, sides in relations.items() if name not in graph.symmetric for side in sides}
        told = []
        for name, sides in relations.items():
            if name in graph.symmetric:
                told.append(f"{names[a]} \N{EN DASH} {line(graph.shown(name))} \N{EN DASH} {names[b]}")
            else:
                told += [
                    f"{names[x]} \N{RIGHTWARDS ARROW} {line(graph.shown(name))} \N{RIGHTWARDS ARROW} {names[y]}"
                    for side in sorted(sides, reverse=True)
                    for x, y in [(a, b) if side else (b, a)]
                ]
        label = " | ".join(line(graph.labels.get(name, name)) for name in relations)
        result[a, b] = (True in directed, False in directed, label, "; ".join(told[:8]) + ("; ..." if told[8:] else ""))
    return result


def _place_labels(nodes: Rows, lines: Rows) -> None:
    """Add the zoom level from which each label is shown (``zoom``) and its position."""
    of_nodes = [
        layout.Label(
            (n["x"], n["y"]), width(n["name"], n["letters"]), 1.25 * n["letters"], n["r"] + 1, away=_away(n, nodes)
        )
        for n in nodes
    ]
    joined = [edge for edge in lines if edge["s"] != edge["t"]]
    joined = sorted(joined, key=lambda edge: not edge["strong"])[:_MOST_EDGE_LABELS]
    of_lines = []
    for edge in joined:
        a, b = nodes[edge["s"]], nodes[edge["t"]]
        middle = ((a["x"] + b["x"]) / 2, (a["y"] + b["y"]) / 2)
        least = (1.3 if len(nodes) > _CROWDED else 0) if edge["strong"] else 1.6
        wide = width(edge["name"], _EDGE_LETTERS)
        of_lines.append(layout.Label(middle, wide, 1.2 * _EDGE_LETTERS, centred=True, least=least))
    placed = layout.place([*of_nodes, *of_lines])
    for row, (zoom, align, dx, dy) in zip([*nodes, *joined], placed, strict=True):
        row.update(zoom=zoom, align=align, dx=round(dx, 1), dy=round(dy, 1))
    for edge in lines:
        edge.setdefault("zoom", 1e9)


def _away(node: dict[str, Any], nodes: Rows) -> tuple[float, float]:
    """Return the direction from a node's neighbours to it; down for the centre."""
    near = [nodes[i] for i in node["near"]]
    x, y = (node[axis] - sum(other[axis] for other in near) / len(near) for axis in "xy")
    length = math.hypot(x, y)
    return (x / length, y / length) if node["level"] and length else (0.0, 1.0)


def _pipelines(nodes: Rows, lines: Rows, *, live: bool) -> list[dict[str, Any]]:
    def formula(name: str, expression: str) -> dict[str, str]:
        return {"type": "formula", "as": name, "expr": expression}

    def part(name: str, source: str, test: str) -> dict[str, Any]:
        return {"name": name, "source": source, "transform": [{"type": "filter", "expr": test}]}

    shown = "scale >= datum.zoom - 0.001"
    # Vega re-evaluates a formula when a signal in it changes, not when a node that it looks up does.
    again = " + (moved ? 0 : 0)" if live else ""
    ends = [
        (f"{axis.upper()}{n}", f"o{axis} + scale * datum.{end}.{axis}")
        for n, end in ((1, "a"), (2, "b"))
        for axis in "xy"
    ]
    moved = {"on": [{"trigger": "moved", "modify": "held", "values": "moved"}]} if live else {}
    return [
        {
            "name": "placed",
            "values": nodes,
            "transform": [formula("X", "ox + scale * datum.x"), formula("Y", "oy + scale * datum.y")],
            **moved,
        },
        {
            "name": "drawn",
            "values": lines,
            "transform": [
                {"type": "lookup", "from": "placed", "key": "i", "fields": ["s", "t"], "as": ["a", "b"]},
                *(formula(name, expression + again) for name, expression in ends),
                formula("long", "max(1, hypot(datum.X2 - datum.X1, datum.Y2 - datum.Y1))"),
                formula("ux", "(datum.X2 - datum.X1) / datum.long"),
                formula("uy", "(datum.Y2 - datum.Y1) / datum.long"),
            ],
        },
        part("looped", "drawn", "datum.s === datum.t"),
        part("joined", "drawn", "datum.s !== datum.t"),
        part("named", "placed", shown + (" || datum.i === over" if live else "")),
        part("worded", "joined", shown),
        part("to_second", "joined", "datum.on"),
        part("to_first", "joined", "datum.back"),
    ]
