"""Drawings of graphs: HTML, with the extra ``plot`` SVG and PNG; and graphs for other programs: GraphML, DOT."""

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
        _check_drawing(limit, still=ending != ".html")


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
        content = _png(graph) if ending == ".png" else html(graph)
    write_files({path: content})


def html(graph: Drawing) -> str:
    """Return the drawing as a self-contained page. Raises :class:`KbError` if the graph is too large."""
    from kbkit.display.drawing import page

    _check_drawing(graph.nodes.height, still=False)
    return page.html(graph)


def svg(graph: Drawing) -> str:
    """Return the drawing as SVG. Raises :class:`KbError` if the extra is missing or the graph is too large."""
    from kbkit.display.drawing import spec

    _check_drawing(graph.nodes.height)
    return str(vega.call("vega_to_svg", spec.spec(graph)))


def _png(graph: Drawing) -> bytes:
    from kbkit.display.drawing import spec

    _check_drawing(graph.nodes.height)
    return bytes(vega.call("vega_to_png", spec.spec(graph), scale=2))


def _check_drawing(nodes: int, *, still: bool = True) -> None:
    """Raise :class:`KbError` if the extra that ``still`` drawings need is missing, or the graph is too large."""
    if still:
        vega.check("Drawing as .svg or .png")
    if nodes > MAX_NODES:
        raise KbError(
            f"A drawing of {nodes:,} nodes is too large",
            "Use ",
            Option("limit", str(MAX_NODES)),
            " or less, or write .graphml or .dot, which hold any number",
        )
