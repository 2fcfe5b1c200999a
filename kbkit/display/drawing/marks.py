"""Vega marks of nodes and lines, and the signals for zoom, drag and hover."""

from __future__ import annotations

from typing import Any

from kbkit.display.drawing.layout import MARGIN

_INK, _LINE, _WEAK, _EDGE_TEXT = "#1d2733", "#9aa4af", "#cfd5db", "#56616d"
_HEAD = "M0,0L-2,0.75L-1.6,0L-2,-0.75Z"
"""An arrow head that points right, with its tip at the mark's position."""

Mark = dict[str, Any]

_WHOLE = {"width": {"signal": "width"}, "height": {"signal": "height"}}


def _signal(expression: str) -> dict[str, str]:
    return {"signal": expression}


def marks(*, live: bool) -> list[Mark]:
    """Return the marks in drawing order: lines, their labels, dots, their labels."""
    drawn = [*_lines(live), *_names_of_lines(live), _dots(live), *_names_of_dots(live)]
    if not live:
        return drawn
    ground = {"type": "rect", "name": "ground", "encode": _ground()}
    # Clip, so that a zoomed or moved drawing does not cover the title.
    return [{"type": "group", "clip": True, "encode": {"update": _WHOLE}, "marks": [ground, *drawn]}]


def _ground() -> Mark:
    """Return the background, which is dragged to move the drawing."""
    return {"update": {**_WHOLE, "fill": {"value": "transparent"}, "cursor": {"value": "grab"}}}


def _faint(live: bool, near: str) -> Mark:
    """Return the opacity, reduced unless ``near`` the node under the pointer."""
    return {"signal": f"over === null || {near} ? 1 : 0.13"} if live else {"value": 1}


_BESIDE = "datum.s === over || datum.t === over"


def _lines(live: bool) -> list[Mark]:
    ends = {
        "x": _signal("datum.X1 + datum.ux * datum.a.r"),
        "y": _signal("datum.Y1 + datum.uy * datum.a.r"),
        "x2": _signal("datum.X2 - datum.ux * datum.b.r"),
        "y2": _signal("datum.Y2 - datum.uy * datum.b.r"),
    }
    faint = _faint(live, _BESIDE)
    rule = {
        **ends,
        "stroke": _signal(f"datum.strong ? '{_LINE}' : '{_WEAK}'"),
        "strokeWidth": _signal("datum.strong ? 1.2 : 0.8"),
        "opacity": faint,
    }
    ring = {
        "x": _signal("datum.X1 + datum.a.r"),
        "y": _signal("datum.Y1 - datum.a.r"),
        "size": {"value": 180},
        "stroke": {"value": _LINE},
        "fill": {"value": "transparent"},
        "opacity": faint,
        **(_tooltip() if live else {}),
    }
    drawn = [
        {"type": "rule", "name": "lines", "interactive": False, "from": {"data": "joined"}, "encode": {"update": rule}},
        _heads("onward", "X2", "-", "b", faint),
        _heads("backward", "X1", "+", "a", faint),
        {"type": "symbol", "name": "loops", "from": {"data": "looped"}, "encode": {"update": ring}},
    ]
    if live:  # A line one pixel wide is hard to hit.
        touch = {**ends, "stroke": {"value": "black"}, "strokeOpacity": {"value": 0}, "strokeWidth": {"value": 11}}
        drawn.append(
            {"type": "rule", "name": "touch", "from": {"data": "joined"}, "encode": {"update": {**touch, **_tooltip()}}}
        )
    return drawn


def _tooltip() -> Mark:
    return {"tooltip": {"field": "told"}}


def _heads(data: str, x: str, sign: str, end: str, faint: Mark) -> Mark:
    turn = "0" if end == "b" else "180"
    place = {
        "x": _signal(f"datum.{x} {sign} datum.ux * (datum.{end}.r + 1)"),
        "y": _signal(f"datum.{x.replace('X', 'Y')} {sign} datum.uy * (datum.{end}.r + 1)"),
        "angle": _signal(f"{turn} + atan2(datum.uy, datum.ux) * 180 / PI"),
        "shape": {"value": _HEAD},
        "size": {"field": "head"},
        "fill": _signal("datum.strong ? '#7f8a96' : '#aeb7c0'"),
        "opacity": faint,
    }
    return {
        "type": "symbol",
        "name": data,
        "interactive": False,
        "from": {"data": f"to_{'second' if end == 'b' else 'first'}"},
        "encode": {"update": place},
    }


def _dots(live: bool) -> Mark:
    place: Mark = {
        "x": {"field": "X"},
        "y": {"field": "Y"},
        "size": _signal("4 * datum.r * datum.r"),
        "fill": {"scale": "colour", "field": "group"},
        "stroke": _signal(f"datum.level === 0 ? '{_INK}' : 'white'"),
        "strokeWidth": _signal("datum.level === 0 ? 3 : 1.5"),
    }
    if live:
        place |= {"cursor": {"value": "pointer"}, "opacity": _faint(live, _NEAR), **_tooltip()}
    return {"type": "symbol", "name": "dots", "from": {"data": "placed"}, "encode": {"update": place}}


_NEAR = "indexof(near, datum.i) >= 0"


def _names_of_dots(live: bool) -> list[Mark]:
    place = {
        "x": _signal("datum.X + datum.dx"),
        "y": _signal("datum.Y + datum.dy"),
        "align": {"field": "align"},
        "baseline": {"value": "middle"},
        "text": {"field": "name"},
        "fontSize": {"field": "letters"},
        "fontWeight": _signal("datum.level === 0 ? 'bold' : 'normal'"),
        "opacity": _faint(live, _NEAR),
    }
    return _with_halo("names", "named", place, _INK)


def _names_of_lines(live: bool) -> list[Mark]:
    place = {
        "x": _signal("(datum.X1 + datum.X2) / 2"),
        "y": _signal("(datum.Y1 + datum.Y2) / 2"),
        "align": {"value": "center"},
        "baseline": {"value": "middle"},
        "text": {"field": "name"},
        "fontSize": {"value": 9.5},
        "fontStyle": {"value": "italic"},
        "opacity": _faint(live, _BESIDE),
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
            "interactive": False,
            "from": {"data": data},
            "encode": {"update": {**place, **look, "strokeJoin": {"value": "round"}}},
        }
        for called, look in layers
    ]


def live_signals(wide: int, high: int) -> list[dict[str, Any]]:
    """Return the signals: zoom with the wheel, reset with a double click, drag the background or a dot, hover. ``over``
    is the hovered node, ``near`` are its neighbours, ``view`` is (zoom, dx, dy) of the centre.
    """

    def on(events: object, update: str) -> dict[str, Any]:
        return {"events": events, "update": update}

    drag = "[@{}:pointerdown, window:pointerup] > window:pointermove!"
    # Deltas differ between wheels: some count pixels, some lines.
    turned = "clamp(view[0] * pow(1.0015, -event.deltaY * pow(16, event.deltaMode)), 0.3, 16) / view[0]"
    zoomed = (
        "[view[0] * wheel[0], wheel[1] - wheel[0] * (wheel[1] - view[1]), wheel[2] - wheel[0] * (wheel[2] - view[2])]"
    )
    panned = "[view[0], down[2] + x() - down[0], down[3] + y() - down[1]]"
    beside, above = (2 * margin for margin in MARGIN)  # labels do not scale with the drawing
    fit = f"min((width - {beside}) / {wide - beside}, (height - {above}) / {high - above})"
    return [
        {"name": "wheel", "value": [1, 0, 0], "on": [on("wheel!", f"[{turned}, x() - width / 2, y() - height / 2]")]},
        {"name": "down", "value": [0, 0, 0, 0], "on": [on("@ground:pointerdown", "[x(), y(), view[1], view[2]]")]},
        {
            "name": "view",
            "value": [1, 0, 0],
            "on": [on({"signal": "wheel"}, zoomed), on(drag.format("ground"), panned), on("dblclick", "[1, 0, 0]")],
        },
        {"name": "scale", "update": f"view[0] * clamp({fit}, 0.3, 2)"},
        {"name": "ox", "update": f"width / 2 + view[1] - scale * {wide / 2}"},
        {"name": "oy", "update": f"height / 2 + view[2] - scale * {high / 2}"},
        {"name": "held", "value": None, "on": [on("@dots:pointerdown", "datum"), on("window:pointerup", "null")]},
        {
            "name": "moved",
            "value": None,
            "on": [on(drag.format("dots"), "{x: (x() - ox) / scale, y: (y() - oy) / scale}")],
        },
        {"name": "over", "value": None, "on": [on("@dots:pointerover", "datum.i"), on("@dots:pointerout", "null")]},
        {"name": "near", "value": [], "on": [on("@dots:pointerover", "datum.near"), on("@dots:pointerout", "[]")]},
    ]


def still_signals() -> list[dict[str, Any]]:
    """Return the constant signals of a still drawing."""
    return [{"name": "ox", "value": 0}, {"name": "oy", "value": 0}, {"name": "scale", "value": 1}]
