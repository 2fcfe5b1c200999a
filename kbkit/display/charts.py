"""Charts of plain frames in one file: HTML, SVG or PNG (Altair and vl-convert, the extra ``plot``)."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.directory.files import write_files
from kbkit.errors import KbError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".html", ".svg", ".png")
_WIDTH, _HEIGHT = 560, 220
_LETTER, _LABEL, _BAR = 6.2, 260, 18
"""Widths of a letter and of the longest label beside an axis, and the height of a bar that lies, in units of length."""
_PIXELS = 2
"""Of a PNG, for each unit of length in the chart."""
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""What no XML may hold: vl-convert aborts the whole process at it."""


@dataclass(frozen=True)
class Chart:
    """Bars: a row of ``frame`` is one, at its value of column ``x`` (in the order of the rows), as high as ``y``.

    Rows of one ``x`` that differ in the column ``colour`` stand side by side, or with ``stacked`` on each other; ``y``
    null is no bar. With ``flat`` bars lie, as they also do where their names would not fit side by side.
    ``lines`` draws a line through the rows of each ``colour`` instead, over numbers ``x``; ``log`` names the axes whose
    scale is logarithmic (``x``, ``y``, ``xy``). ``percent`` shows ``y`` from 0 to 1 as percent.
    """

    title: str
    frame: pl.DataFrame
    x: str
    y: str
    colour: str = ""
    percent: bool = False
    stacked: bool = False
    flat: bool = False
    lines: bool = False
    log: str = ""
    x_title: str = ""
    y_title: str = ""


def check(path: Path) -> None:
    """Raise now what :func:`write` would raise of ``path`` when the work is done, and if the libraries are missing."""
    if path.suffix.lower() not in ENDINGS:
        raise KbError(f"{path}: no chart ends in {path.suffix!r}", f"there are {', '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise KbError(f"{path}: there is no folder {path.parent}", "make it first")
    _libraries()


def write(charts: Sequence[Chart], path: Path) -> None:
    """Write ``charts``, one below the other, to one file; its ending says how.

    HTML holds all that it shows (hover for the values) and asks for nothing outside; SVG has the same bytes for the
    same charts. The file is written aside and renamed. Raises :class:`KbError` for an ending that is none of
    ``ENDINGS``, where the extra is missing, and where the disk refuses.
    """
    check(path)
    _, convert = _libraries()
    spec = _spec(charts)
    ending = path.suffix.lower()
    if ending == ".svg":
        content = convert.vegalite_to_svg(spec).encode()
    elif ending == ".png":
        content = convert.vegalite_to_png(spec, scale=_PIXELS)
    else:
        content = _page(spec, charts[0].title, convert).encode()
    write_files({path: content})


def _libraries() -> tuple[Any, Any]:
    try:
        import altair
        import vl_convert
    except ImportError:
        raise MissingExtraError("Charting", "plot") from None
    return altair, vl_convert


def _spec(charts: Sequence[Chart]) -> dict[str, Any]:
    """The charts in the words of Vega-Lite."""
    altair, _ = _libraries()
    drawn = [(_lines if chart.lines else _bars)(altair, chart) for chart in charts]
    whole = altair.vconcat(*drawn).resolve_scale(color="independent").configure_title(anchor="start", frame="group")
    spec: dict[str, Any] = _fit(whole.to_dict())
    return spec


def _fit(value: Any) -> Any:
    """A value of JSON without the signs in its texts that SVG cannot hold."""
    if isinstance(value, dict):
        return {name: _fit(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_fit(part) for part in value]
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _bars(altair: Any, chart: Chart) -> Any:
    rows, groups = _rows(chart)
    order = rows["x"].cast(str).unique(maintain_order=True).to_list()
    flat = chart.flat or _LETTER * max(map(len, order), default=0) * len(order) > _WIDTH
    along, across = ("y", "x") if flat else ("x", "y")
    axis = altair.Axis(labelLimit=_LABEL, labelAngle=0)
    name = altair.Y if flat else altair.X
    channels = {
        along: name("x:N", sort=order, title=chart.x_title or chart.x, axis=axis),
        across: (altair.X if flat else altair.Y)("y:Q", title=chart.y_title or chart.y, axis=_axis(altair, chart)),
        **_colour(altair, groups),
    }
    if groups and not chart.stacked:
        channels[f"{along}Offset"] = (altair.YOffset if flat else altair.XOffset)("colour:N", sort=groups)
    base = altair.Chart(altair.Data(values=rows.to_dicts())).encode(**channels, tooltip=_shown(altair, chart))
    drawn = base.mark_bar()
    if flat and not groups:  # sizes differ by orders of magnitude: the small ones are read, not seen
        text = altair.Text("y:Q", format=_form(chart))
        drawn = altair.layer(drawn, base.mark_text(align="left", dx=3).encode(text=text))
    thick = 12 * len(groups) + 6 if groups and not chart.stacked else _BAR
    return drawn.properties(title=chart.title, width=_WIDTH, height=thick * len(order) if flat else _HEIGHT)


def _lines(altair: Any, chart: Chart) -> Any:
    rows, groups = _rows(chart)
    scales = {name: altair.Scale(type="log" if name in chart.log else "linear", nice=False) for name in "xy"}
    axis = altair.Axis(format="~s")
    drawn = altair.Chart(altair.Data(values=rows.to_dicts())).encode(
        x=altair.X("x:Q", title=chart.x_title or chart.x, scale=scales["x"], axis=axis),
        y=altair.Y("y:Q", title=chart.y_title or chart.y, scale=scales["y"], axis=_axis(altair, chart)),
        tooltip=_shown(altair, chart),
        **_colour(altair, groups),
    )
    return drawn.mark_line(point=altair.OverlayMarkDef(size=12)).properties(
        title=chart.title, width=_WIDTH, height=_HEIGHT
    )


def _rows(chart: Chart) -> tuple[pl.DataFrame, list[str]]:
    """What is drawn, in columns x, y and colour, and the colours in the order of the rows."""
    # Columns get names of our own: a dot or bracket in a field's name means something to Vega.
    columns = {"x": chart.x, "y": chart.y, **({"colour": chart.colour} if chart.colour else {})}
    rows = chart.frame.select(**{ours: chart.frame[theirs] for ours, theirs in columns.items()})
    return rows, rows["colour"].unique(maintain_order=True).to_list() if chart.colour else []


def _colour(altair: Any, groups: list[str]) -> dict[str, Any]:
    legend = altair.Legend(labelLimit=_LABEL)
    return {"color": altair.Color("colour:N", sort=groups, title=None, legend=legend)} if groups else {}


def _axis(altair: Any, chart: Chart) -> Any:
    """The axis of ``y``: few numbers, and short ones."""
    largest = chart.frame[chart.y].max()
    long = not chart.percent and isinstance(largest, int | float) and largest >= 10_000
    form = {"format": "~%"} if chart.percent else {"format": "~s"} if long else {}
    step = {"tickMinStep": 1} if chart.frame[chart.y].dtype.is_integer() else {}
    return altair.Axis(tickCount=6, **form, **step)


def _form(chart: Chart) -> str:
    return ".1%" if chart.percent else ","


def _shown(altair: Any, chart: Chart) -> list[Any]:
    """What a pointer reads."""
    kind = "Q" if chart.lines else "N"
    shown = [altair.Tooltip(f"x:{kind}", title=chart.x_title or chart.x)]
    if chart.colour:
        shown.append(altair.Tooltip("colour:N", title=chart.colour))
    form = {"format": ".1%"} if chart.percent else {}
    return [*shown, altair.Tooltip("y:Q", title=chart.y_title or chart.y, **form)]


def _page(spec: dict[str, Any], title: str, convert: Any) -> str:
    """A page with Vega inside. Altair's own would let a name that holds a closing tag end the script."""
    draw = "window.draw = spec => vegaEmbed('#chart', spec, {mode: 'vega-lite', actions: false, renderer: 'svg'});"
    data = json.dumps(spec, ensure_ascii=True).replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f"<script>{convert.javascript_bundle(draw)}</script>\n</head>\n<body>\n"
        f'<div id="chart"></div>\n<script>draw({data});</script>\n</body>\n</html>\n'
    )
