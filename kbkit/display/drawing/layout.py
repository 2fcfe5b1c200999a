"""Positions of nodes and labels in a still drawing.

Nodes are placed by Vega's force transform (d3-force: https://d3js.org/d3-force), run by vl-convert from a fixed start,
so that the same graph gives the same drawing. Labels take the first free position next to their dot, in order of
importance; labels without a free position are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.display import vega

Points = NDArray[np.float64]

MARGIN = (120.0, 40.0)
"""Horizontal and vertical margin for labels of the outermost dots."""


def positions(hops: Sequence[int], groups: Sequence[str], lines: Sequence[tuple[int, int]], size: Points) -> Points:
    """Return the position of each node (rows of x and y) on a canvas of ``size``.

    ``hops`` are ascending and the first node is the centre; nodes of one group start next to each other; ``lines`` are
    pairs of connected nodes.
    """
    start = _start(hops, groups, lines)
    if len(hops) == 1:
        return size[None] / 2
    nodes = [
        {
            "x": float(x),
            "y": float(y),
            "room": 24 if hops[i] else 44,
            "home": 0,
            **({"fx": 0, "fy": 0} if not i else {}),
        }
        for i, (x, y) in enumerate(start)
    ]
    return _scaled(_forced(nodes, lines), size)


def layers(hops: Sequence[int], size: Points) -> Points:
    """Return positions in columns by hop, from left to right, on a canvas of ``size``."""
    column = np.array(hops)
    across = np.zeros(len(hops))
    for hop in np.unique(column):
        mine = np.flatnonzero(column == hop)
        across[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    width = size[0] - 2 * MARGIN[0]
    return np.stack([MARGIN[0] + width * column / max(column.max(), 1), size[1] * across], axis=1)


def _start(hops: Sequence[int], groups: Sequence[str], lines: Sequence[tuple[int, int]]) -> Points:
    """Return start positions: rings around the centre, the first sorted by group, outer ones next to their inner
    neighbour.
    """
    parent: dict[int, int] = {}
    for a, b in lines:
        for here, there in ((a, b), (b, a)):
            if hops[here] == hops[there] + 1:
                parent[here] = min(parent.get(here, there), there)
    angle = np.zeros(len(hops))
    for hop in range(1, max(hops) + 1):
        ring = [i for i in range(len(hops)) if hops[i] == hop]
        ring.sort(key=lambda i: (angle[parent.get(i, 0)], groups[i], i))
        angle[ring] = 2 * math.pi * np.arange(len(ring)) / len(ring)
    radius = 110.0 * np.array(hops)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _forced(nodes: list[dict[str, Any]], lines: Sequence[tuple[int, int]]) -> Points:
    """Return the positions after the force simulation."""
    links = [{"source": a, "target": b} for a, b in lines if a != b]
    forces = [
        {"force": "nbody", "strength": -340, "distanceMax": 900},
        {"force": "link", "links": "links", "distance": 95, "iterations": 2},
        {"force": "collide", "radius": {"expr": "datum.room"}, "iterations": 3},
        {"force": "x", "x": "home", "strength": 0.05},
        {"force": "y", "y": "home", "strength": 0.08},
    ]
    spec = {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "data": [
            {"name": "links", "values": links},
            {
                "name": "nodes",
                "values": nodes,
                "transform": [{"type": "force", "static": True, "iterations": 300, "forces": forces}],
            },
        ],
        "marks": [
            {
                "type": "symbol",
                "from": {"data": "nodes"},
                "encode": {"enter": {"x": {"field": "x"}, "y": {"field": "y"}}},
            }
        ],
    }
    [marks] = vega.call("vega_to_scenegraph", spec)["scenegraph"]["items"][0]["items"]
    return np.array([(item["x"], item["y"]) for item in marks["items"]], float)


def _scaled(points: Points, size: Points) -> Points:
    """Return the positions scaled to the canvas, keeping the aspect ratio within limits."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = (size - 2 * np.array(MARGIN)) / np.maximum(high - low, 1)
    room = np.minimum(np.minimum(room, 1.5 * room.min()), 2.0)
    placed: Points = np.round((points - (low + high) / 2) * room + size / 2, 1)
    return placed


@dataclass
class PlacedLabel:
    """A label of size ``wide`` by ``high`` for the point ``at``, a dot of ``radius``; ``centred`` labels lie on the
    point. It is placed in the direction ``away`` (x, y) if possible, and ``always`` labels even where no place is free.
    """

    at: tuple[float, float]
    wide: float
    high: float
    radius: float = 0
    centred: bool = False
    away: tuple[float, float] = (1.0, 0.0)
    always: bool = False


_Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Placed = tuple[str, float, float]
"""Alignment of a label, and its offset from the point."""


def place(labels: Sequence[PlacedLabel]) -> list[Placed | None]:
    """Place labels in order of importance, so that labels of dots overlap neither dots nor each other; those without
    a free place get None.
    """
    taken: list[_Box] = [_moved(d, (-d.radius, -d.radius, d.radius, d.radius)) for d in labels if not d.centred]
    placed: list[Placed | None] = []
    for label in labels:
        free = (place for place in _places(label) if _is_free(taken, _moved(label, place[3])))
        found = next(free, _places(label)[0] if label.always else None)
        placed.append(found[:3] if found else None)
        if found:
            taken.append(_moved(label, found[3]))
    return placed


def _moved(label: PlacedLabel, box: _Box) -> _Box:
    """Return a box relative to the label's point as one on the canvas."""
    x, y = label.at
    return (x + box[0], y + box[1], x + box[2], y + box[3])


def _is_free(taken: Sequence[_Box], box: _Box) -> bool:
    other = np.array(taken).reshape(-1, 4)
    left, top, right, bottom = box
    apart = (other[:, 0] >= right) | (other[:, 2] <= left) | (other[:, 1] >= bottom) | (other[:, 3] <= top)
    return bool(apart.all())


def _places(label: PlacedLabel) -> list[tuple[str, float, float, _Box]]:
    """Return candidate positions (alignment, dx, dy of the middle line, box): on the point, or next to it, starting
    with the direction away from its lines.
    """
    half, high = label.wide / 2, label.high / 2
    if label.centred:
        return [("center", 0.0, 0.0, (-half, -high, half, high))]
    beside, below = label.radius + 4, label.radius + high + 2
    sides: list[tuple[str, float, float, _Box]] = [
        ("left", beside, 0.0, (beside, -high, beside + label.wide, high)),
        ("right", -beside, 0.0, (-beside - label.wide, -high, -beside, high)),
        ("center", 0.0, below, (-half, below - high, half, below + high)),
        ("center", 0.0, -below, (-half, -below - high, half, -below + high)),
    ]
    x, y = label.away
    return sorted(
        sides,
        key=lambda side: -(math.copysign(1, side[1]) * x if side[2] == 0 else 0.7 * math.copysign(1, side[2]) * y),
    )
