"""A neighbourhood in the words of Vega: https://vega.github.io/vega/docs/.

Positions come from :mod:`kbkit.display.drawing.layout`. ``X`` and ``Y`` are those on the screen: a node at ``x``,
``y`` of the canvas stands at ``ox + scale * x``, ``oy + scale * y``, where wheel and mouse change ``ox``, ``oy`` and
``scale``.
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
"""Of dots and letters: of the centre, its neighbours, and the rest."""
_EDGE_LETTERS = 9.5
_MOST_EDGE_LABELS = 250
_FEW_LINES, _MANY_LINES = 40, 60
"""Up to so many, all are drawn and named alike; above, those that do not touch the centre stand back."""
_CROWDED = 80
"""Nodes; above, relations are named on a closer look only."""

Rows = list[dict[str, Any]]


def still(graph: Drawing) -> dict[str, Any]:
    """The drawing as a picture."""
    return _spec(graph, live=False)


def live(graph: Drawing) -> dict[str, Any]:
    """The drawing for a page: with zoom, drag, and what is said at hover."""
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
    """Add to each node what the legend calls its type; returns the legend: colours by what they stand for."""
    counts = dict(graph.nodes.group_by("type").len().iter_rows())
    shown: dict[str, str] = {}
    of_type = {}
    for name, colour in of_types(graph).items():
        count = counts.get(name) if name else sum(counts[other] for other in counts if other not in of_type)
        label = f"{short(name, 24) if name else 'other types'} ({count:,})"
        while label in shown:  # two long names that begin alike
            label += "'"
        of_type[name] = label
        if count:
            shown[label] = colour
    for node, name in zip(nodes, graph.nodes["type"], strict=True):
        node["group"] = of_type.get(name, of_type[""])
    return shown


def _legend(shown: Iterable[str]) -> int:
    """How wide the legend is, in pixels."""
    return 50 + round(max(width(label, 12) for label in shown))


def _relations(graph: Drawing) -> str:
    """The most frequent relations, in a line."""
    counts = graph.edges.group_by("relation").len().sort(["len", "relation"], descending=[True, False])
    named = [f"{short(graph.shown(name), 40)} {count:,}" for name, count in counts.head(6).iter_rows()]
    return ", ".join([*named, *([f"{counts.height - 6:,} more relations"] if counts.height > 6 else [])])


def _size(nodes: int) -> tuple[int, int]:
    """Of the canvas: room for each node, wider than high."""
    area = max(420_000, 9_500 * nodes)
    high = math.sqrt(area / 1.5)
    return round(1.5 * high), round(high)


def _data(graph: Drawing, size: tuple[int, int]) -> tuple[Rows, Rows]:
    """A row a node, and a row a line: all edges between two nodes are one."""
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
                "told": _told(row),
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
    """How much a line stands out, of so many: those of the centre, the node 0, always do."""
    strong = first == 0 or lines <= _FEW_LINES
    return {"strong": strong, "head": 62 if lines <= _MANY_LINES else 42 if strong else 32}


def _told(row: dict[str, Any]) -> dict[str, str]:
    """What is said of a node at hover."""
    told = {"title": short(row["name"], 200), "type": line(row["type"]), "key": short(row["key"], 80)}
    told["steps away"] = str(row["hop"])
    return {**told, "text": short(row["line"], 200)} if row["line"] else told


def _pairs(graph: Drawing, place: dict[int, int]) -> dict[tuple[int, int], tuple[bool, bool, str, str]]:
    """For each two nodes that are joined: whether an arrow points to the second, to the first, the relations' names,
    and the edges in words.
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
    """Add to each row from which magnification (``zoom``) its label is shown, and where."""
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
    """The direction from a node's neighbours to it; down for the centre, which has some all around."""
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
    # A formula is worked out again when a signal in it changes, not when the node does that it looks up.
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
