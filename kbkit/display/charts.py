"""Charts of data frames as HTML, SVG or PNG (Altair and vl-convert, the extra ``plot``)."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.directory.files import write_files
from kbkit.display import vega
from kbkit.display.points import Points, Spans, points, spans
from kbkit.errors import KbError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".html", ".svg", ".png")
_WIDTH, _HEIGHT = 560, 220
_LETTER, _LABEL, _BAR = 6.2, 260, 18
"""Width of a letter, maximum width of an axis label, thickness of a horizontal bar, in chart units."""
_PIXELS = 2
"""Pixels of a PNG per chart unit."""
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters invalid in XML, on which vl-convert aborts the process."""


@dataclass(frozen=True)
class Chart:
    """A bar chart: one bar per row of ``frame``, at ``x`` (in row order), with the height ``y`` (null: no bar).

    Rows with the same ``x`` and different ``colour`` are drawn side by side, or with ``stacked`` on top of each other.
    ``flat`` draws horizontal bars, which is the default if the labels would not fit. ``lines`` draws one line per
    ``colour`` over numeric ``x`` instead; ``log`` names the axes with a logarithmic scale (``x``, ``y``, ``xy``).
    ``percent`` formats ``y`` from 0 to 1 as percentages; ``x_format`` formats the numbers of ``x``; ``palette`` has the
    colours of the values of ``colour``.
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
    x_format: str = "~s"
    palette: Mapping[str, str] = field(default_factory=dict)


def check(path: Path) -> None:
    """Raise the errors of :func:`write` for ``path``, in advance."""
    if path.suffix.lower() not in ENDINGS:
        raise KbError(f"Unsupported chart format {path.suffix!r}: {path}", f"Use one of {', '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise KbError(f"{path.parent} does not exist", "Create the folder first")
    _altair()


def write(charts: Sequence[Chart | Points | Spans], path: Path) -> None:
    """Write ``charts``, stacked vertically, to one file in the format of its suffix.

    HTML is self-contained, fills the width of the page, follows the browser's light or dark theme and shows values on
    hover; SVG output is deterministic. The file
    is written atomically. Raises :class:`KbError` for an unsupported suffix, a missing extra, or a write error.
    """
    check(path)
    ending = path.suffix.lower()
    if ending == ".svg":
        content = vega.call("vegalite_to_svg", _spec(charts)).encode()
    elif ending == ".png":
        content = vega.call("vegalite_to_png", _spec(charts), scale=_PIXELS)
    else:
        content = _page([_wide(chart) for chart in charts], charts[0].title).encode()
    write_files({path: content})


def _altair() -> Any:
    vega.check("Charting")
    try:
        import altair
    except ImportError:
        raise MissingExtraError("Charting", "plot") from None
    return altair


def _spec(charts: Sequence[Chart | Points | Spans]) -> dict[str, Any]:
    """Return the charts as a Vega-Lite specification."""
    altair = _altair()
    drawn = [_drawn(altair, chart) for chart in charts]
    whole = altair.vconcat(*drawn).resolve_scale(color="independent").configure_title(anchor="start", frame="group")
    spec: dict[str, Any] = _fit(whole.to_dict())
    return spec


def _wide(chart: Chart | Points | Spans) -> dict[str, Any]:
    """Return a chart for a page as a Vega-Lite specification: as wide as the page, unless it is a map."""
    drawn = _drawn(_altair(), chart).configure_title(anchor="start", frame="group")
    spec: dict[str, Any] = _fit(drawn.to_dict())
    if isinstance(chart, Points) and chart.equal:
        return spec
    return {**spec, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def _drawn(altair: Any, chart: Chart | Points | Spans) -> Any:
    if isinstance(chart, Points):
        return points(altair, chart)
    if isinstance(chart, Spans):
        return spans(altair, chart)
    return (_lines if chart.lines else _bars)(altair, chart)


def _fit(value: Any) -> Any:
    """Return a JSON value with the characters replaced that are invalid in SVG."""
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
        **_colour(altair, groups, chart.palette),
    }
    if groups and not chart.stacked:
        channels[f"{along}Offset"] = (altair.YOffset if flat else altair.XOffset)("colour:N", sort=groups)
    base = altair.Chart(altair.Data(values=rows.to_dicts())).encode(**channels, tooltip=_tooltip(altair, chart))
    drawn = base.mark_bar()
    if flat and not groups:  # Sizes differ by orders of magnitude, so small values are printed.
        text = altair.Text("y:Q", format=_form(chart))
        drawn = altair.layer(drawn, base.mark_text(align="left", dx=3).encode(text=text))
    thick = 12 * len(groups) + 6 if groups and not chart.stacked else _BAR
    return drawn.properties(title=chart.title, width=_WIDTH, height=thick * len(order) if flat else _HEIGHT)


def _lines(altair: Any, chart: Chart) -> Any:
    rows, groups = _rows(chart)
    scales = {name: altair.Scale(type="log" if name in chart.log else "linear", nice=False) for name in "xy"}
    axis = altair.Axis(format=chart.x_format)
    drawn = altair.Chart(altair.Data(values=rows.to_dicts())).encode(
        x=altair.X("x:Q", title=chart.x_title or chart.x, scale=scales["x"], axis=axis),
        y=altair.Y("y:Q", title=chart.y_title or chart.y, scale=scales["y"], axis=_axis(altair, chart)),
        tooltip=_tooltip(altair, chart),
        **_colour(altair, groups, chart.palette),
    )
    return drawn.mark_line(point=altair.OverlayMarkDef(size=12)).properties(
        title=chart.title, width=_WIDTH, height=_HEIGHT
    )


def _rows(chart: Chart) -> tuple[pl.DataFrame, list[str]]:
    """Return the rows to draw (x, y, colour) and the colours in row order."""
    # Columns get our own names, because Vega interprets dots and brackets in field names.
    columns = {"x": chart.x, "y": chart.y, **({"colour": chart.colour} if chart.colour else {})}
    rows = chart.frame.select(**{ours: chart.frame[theirs] for ours, theirs in columns.items()})
    return rows, rows["colour"].unique(maintain_order=True).to_list() if chart.colour else []


def _colour(altair: Any, groups: list[str], palette: Mapping[str, str]) -> dict[str, Any]:
    if not groups:
        return {}
    scale = {"scale": altair.Scale(domain=groups, range=[palette[name] for name in groups])} if palette else {}
    legend = altair.Legend(labelLimit=_LABEL)
    return {"color": altair.Color("colour:N", sort=groups, title=None, legend=legend, **scale)}


def _axis(altair: Any, chart: Chart) -> Any:
    """Return the axis of ``y``, with few and short labels."""
    largest = chart.frame[chart.y].max()
    long = not chart.percent and isinstance(largest, int | float) and largest >= 10_000
    form = {"format": "~%"} if chart.percent else {"format": "~s"} if long else {}
    step = {"tickMinStep": 1} if chart.frame[chart.y].dtype.is_integer() else {}
    return altair.Axis(tickCount=6, **form, **step)


def _form(chart: Chart) -> str:
    return ".1%" if chart.percent else ","


def _tooltip(altair: Any, chart: Chart) -> list[Any]:
    """Return the tooltip."""
    kind = "Q" if chart.lines else "N"
    shown = [altair.Tooltip(f"x:{kind}", title=chart.x_title or chart.x)]
    if chart.colour:
        shown.append(altair.Tooltip("colour:N", title=chart.colour))
    form = {"format": ".1%"} if chart.percent else {}
    return [*shown, altair.Tooltip("y:Q", title=chart.y_title or chart.y, **form)]


_DRAW = """
window.draw = specs => {
  for (const spec of specs) {
    const place = document.createElement('div');
    document.getElementById('charts').append(place);
    vegaEmbed(place, spec, {mode: 'vega-lite', actions: false, renderer: 'svg'});
  }
};
"""
_STYLE = """
body { margin: 12px; }
#charts > div { display: block; width: 100%; margin-bottom: 16px; }
svg { overflow: visible; }
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark; }
  body { background: #14191f; color: #e6eaef; }
  #charts svg { background: none !important; }
  #charts svg .background[stroke] { stroke: #323b45; }
  #charts svg text { fill: currentColor; }
  #charts svg .role-axis-grid line { stroke: #323b45; }
  #charts svg .role-axis-domain line, #charts svg .role-axis-tick line { stroke: #a3adb8; }
  body #vg-tooltip-element { background: #1c232b; color: #e6eaef; border-color: #323b45; }
  body #vg-tooltip-element table tr td.key { color: #a3adb8; }
}
"""


def _page(specs: Sequence[dict[str, Any]], title: str) -> str:
    """Return a self-contained page. Altair's own lets a name with a closing tag end the script."""
    data = json.dumps(specs, ensure_ascii=True).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n"
        f"<script>{vega.call('javascript_bundle', _DRAW)}</script>\n</head>\n<body>\n"
        f'<div id="charts"></div>\n<script>draw({data});</script>\n</body>\n</html>\n'
    )
