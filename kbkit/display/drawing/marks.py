"""Vega marks of the nodes and lines of a still drawing."""

from __future__ import annotations

from typing import Any

_INK, _LINE, _WEAK, _EDGE_TEXT = "#1d2733", "#9aa4af", "#cfd5db", "#56616d"
_HEAD = "M0,0L-2,0.75L-1.6,0L-2,-0.75Z"
"""An arrow head that points right, with its tip at the mark's position."""

Mark = dict[str, Any]


def _signal(expression: str) -> dict[str, str]:
    return {"signal": expression}


def marks() -> list[Mark]:
    """Return the marks in drawing order: lines, their labels, dots, their labels."""
    return [*_lines(), *_names_of_lines(), _dots(), *_names_of_dots()]


def _lines() -> list[Mark]:
    rule = {
        **{name: {"field": name} for name in ("x", "y", "x2", "y2")},
        "stroke": _signal(f"datum.strong ? '{_LINE}' : '{_WEAK}'"),
        "strokeWidth": _signal("datum.strong ? 1.2 : 0.8"),
    }
    ring = {
        "x": {"field": "x"},
        "y": {"field": "y"},
        "size": {"value": 180},
        "stroke": {"value": _LINE},
        "fill": {"value": "transparent"},
    }
    return [
        {"type": "rule", "name": "lines", "from": {"data": "joined"}, "encode": {"enter": rule}},
        _heads("onward", "to_second", "x2", "y2", 0),
        _heads("backward", "to_first", "x", "y", 180),
        {"type": "symbol", "name": "loops", "from": {"data": "looped"}, "encode": {"enter": ring}},
    ]


def _heads(name: str, data: str, x: str, y: str, turn: int) -> Mark:
    place = {
        "x": {"field": x},
        "y": {"field": y},
        "angle": _signal(f"{turn} + atan2(datum.y2 - datum.y, datum.x2 - datum.x) * 180 / PI"),
        "shape": {"value": _HEAD},
        "size": {"field": "head"},
        "fill": _signal("datum.strong ? '#7f8a96' : '#aeb7c0'"),
    }
    return {"type": "symbol", "name": name, "from": {"data": data}, "encode": {"enter": place}}


def _dots() -> Mark:
    place: Mark = {
        "x": {"field": "x"},
        "y": {"field": "y"},
        "size": _signal("4 * datum.r * datum.r"),
        "fill": {"scale": "colour", "field": "group"},
        "stroke": _signal(f"datum.level === 0 ? '{_INK}' : 'white'"),
        "strokeWidth": _signal("datum.level === 0 ? 3 : 1.5"),
    }
    return {"type": "symbol", "name": "dots", "from": {"data": "nodes"}, "encode": {"enter": place}}


def _names_of_dots() -> list[Mark]:
    place = {
        "x": _signal("datum.x + datum.dx"),
        "y": _signal("datum.y + datum.dy"),
        "align": {"field": "align"},
        "baseline": {"value": "middle"},
        "text": {"field": "name"},
        "fontSize": {"field": "letters"},
        "fontWeight": _signal("datum.level === 0 ? 'bold' : 'normal'"),
    }
    return _with_halo("names", "named", place, _INK)


def _names_of_lines() -> list[Mark]:
    place = {
        "x": _signal("(datum.x + datum.x2) / 2"),
        "y": _signal("(datum.y + datum.y2) / 2"),
        "align": {"value": "center"},
        "baseline": {"value": "middle"},
        "text": {"field": "name"},
        "fontSize": {"value": 9.5},
        "fontStyle": {"value": "italic"},
    }
    return _with_halo("relations", "worded", place, _EDGE_TEXT)


def _with_halo(name: str, data: str, place: Mark, ink: str) -> list[Mark]:
    """Return text with a white outline, which keeps it readable across lines."""
    seam = {"fill": {"value": "white"}, "stroke": {"value": "white"}, "strokeWidth": {"value": 3.5}}
    layers = ((name + "_seam", seam), (name, {"fill": {"value": ink}}))
    return [
        {
            "type": "text",
            "name": called,
            "from": {"data": data},
            "encode": {"enter": {**place, **look, "strokeJoin": {"value": "round"}}},
        }
        for called, look in layers
    ]
