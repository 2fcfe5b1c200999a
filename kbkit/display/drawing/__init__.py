"""A neighbourhood in a file: a drawing (HTML, SVG, PNG; the extra ``plot``) or a graph for other programs (GraphML,
DOT).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.directory.files import write_files
from kbkit.errors import KbError, MissingExtraError

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing

DRAWN = (".html", ".svg", ".png")
ENDINGS = (*DRAWN, ".graphml", ".dot")
MOST_DRAWN = 1000
"""Nodes: above, a drawing is a grey ball that takes a minute."""


def check(path: Path, limit: int = 0) -> None:
    """Raise now what :func:`write` would raise of ``path`` when the work is done, if there are ``limit`` nodes."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise KbError(
            f"{path}: no graph is written to a file that ends in {ending!r}", f"there are {', '.join(ENDINGS)}"
        )
    if not path.parent.is_dir():
        raise KbError(f"{path}: there is no folder {path.parent}", "make it first")
    if ending in DRAWN:
        _check_drawing(limit)


def write(graph: Drawing, path: Path) -> None:
    """Write ``graph`` to a file whose suffix selects the format (see ``ENDINGS``)."""
    from kbkit.display.drawing import exchange

    check(path, graph.nodes.height)
    ending = path.suffix.lower()
    content: str | bytes
    if ending == ".graphml":
        content = exchange.graphml(graph)
    elif ending == ".dot":
        content = exchange.dot(graph)
    elif ending == ".svg":
        content = svg(graph)
    else:
        content = _png(graph) if ending == ".png" else _html(graph)
    write_files({path: content})


def svg(graph: Drawing) -> str:
    """The drawing as SVG; raises :class:`KbError` where the extra is missing or it would be too large."""
    from kbkit.display.drawing import spec

    convert = _check_drawing(graph.nodes.height)
    return str(convert.vega_to_svg(spec.still(graph)))


def _png(graph: Drawing) -> bytes:
    from kbkit.display.drawing import spec

    return bytes(_check_drawing(graph.nodes.height).vega_to_png(spec.still(graph), scale=2))


def _html(graph: Drawing) -> str:
    from kbkit.display.drawing import page

    _check_drawing(graph.nodes.height)
    return page.html(graph)


def _check_drawing(nodes: int) -> Any:
    """vl-convert, if it is there and the drawing not too large."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    if nodes > MOST_DRAWN:
        raise KbError(
            f"{nodes:,} nodes are too many to draw",
            f"--most {MOST_DRAWN} draws fewer; .graphml and .dot hold any number",
        )
    return vl_convert
