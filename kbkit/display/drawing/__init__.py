"""Drawings of graphs (HTML, SVG, PNG; the extra ``plot``), and graphs for other programs (GraphML, DOT)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.directory.files import write_files
from kbkit.display import vega
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing

DRAWN = (".html", ".svg", ".png")
ENDINGS = (*DRAWN, ".graphml", ".dot")
MAX_NODES = 1000
"""Maximum number of nodes of a drawing; larger ones are unreadable and take a minute."""


def check(path: Path, limit: int = 0) -> None:
    """Raise the errors of :func:`write` for ``path`` and up to ``limit`` nodes, in advance."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise KbError(f"Unsupported graph format {ending!r}: {path}", f"Use one of {', '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise KbError(f"{path.parent} does not exist", "Create the folder first")
    if ending in DRAWN:
        _check_drawing(limit)


def write(graph: Drawing, path: Path) -> None:
    """Write ``graph`` to a file, in the format of its suffix (one of ``ENDINGS``), atomically."""
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
    """Return the drawing as SVG. Raises :class:`KbError` if the extra is missing or the graph is too large."""
    from kbkit.display.drawing import spec

    _check_drawing(graph.nodes.height)
    return str(vega.call("vega_to_svg", spec.still(graph)))


def _png(graph: Drawing) -> bytes:
    from kbkit.display.drawing import spec

    _check_drawing(graph.nodes.height)
    return bytes(vega.call("vega_to_png", spec.still(graph), scale=2))


def _html(graph: Drawing) -> str:
    from kbkit.display.drawing import page

    _check_drawing(graph.nodes.height)
    return page.html(graph)


def _check_drawing(nodes: int) -> None:
    """Raise :class:`KbError` if the extra is missing or the graph is too large."""
    vega.check("Drawing")
    if nodes > MAX_NODES:
        raise KbError(
            f"A drawing of {nodes:,} nodes is too large",
            "Use ",
            Option("limit", str(MAX_NODES)),
            " or less, or write .graphml or .dot, which hold any number",
        )
