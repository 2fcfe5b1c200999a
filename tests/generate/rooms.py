"""Draw the rooms of the package and their imports: ``python -m tests.generate.rooms`` prints SVG.

``--write`` writes the picture of the guide ``architecture``; a test fails if it is stale. Rooms come from the contract
of layers in ``pyproject.toml``, imports from the code. An import that follows from others is not drawn.
"""

from __future__ import annotations

import sys
import tomllib
from html import escape
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from kbkit import assets
from tests.places import ROOT

NAME = "rooms.svg"
WIDTH, HEIGHT = 108, 30  # of a box, in pixels
BEND = 28  # room for a line that passes a row
GAP = 14  # between two boxes of a row
STEP = 66  # from one row to the next
MARGIN = 16
SWEEPS = 40

STYLE = """
text { font: 13px system-ui, sans-serif; text-anchor: middle; fill: #1f2328 }
rect.page { fill: #ffffff }
rect.room { fill: #eef4fb; stroke: #7d9cc0 }
rect.front { fill: #fdf3e3; stroke: #c9a25c }
rect.api { fill: #2f6db5; stroke: #2f6db5 }
text.api { fill: #ffffff; font-weight: 600 }
path { fill: none; stroke: #8c959f; stroke-width: 1.2 }
path.head { fill: #8c959f; stroke: none }
g:hover path { stroke: #d1242f; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  rect.page { fill: #0d1117 }
  rect.room { fill: #17263a; stroke: #4f78a8 }
  rect.front { fill: #33280f; stroke: #a07c34 }
  rect.api { fill: #3b82d6; stroke: #3b82d6 }
}
""".strip()


def rooms() -> list[str]:
    """Return the rooms from the front ends down, as the contract lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each["type"] == "layers" and "containers" not in each]
    return [name.strip().removeprefix("kbkit.") for layer in layers for name in layer.split("|")]


def imports() -> nx.DiGraph:
    """Return the graph of all imports between rooms; an edge leads to the room that is imported."""
    import grimp

    code = grimp.build_graph("kbkit", cache_dir=None)
    graph = nx.DiGraph()
    graph.add_nodes_from(rooms())
    for module in sorted(code.modules):
        for imported in sorted(code.find_modules_directly_imported_by(module)):
            first, second = _room(module), _room(imported)
            if first and second and first != second:
                graph.add_edge(first, second)
    return graph


def _room(module: str) -> str:
    room = module.split(".")[1] if "." in module else ""
    return "" if room == "__main__" else room


def draw(graph: nx.DiGraph, order: list[str]) -> str:
    """Return an SVG with a row of boxes for each level: a room is above every room that it imports.

    Rooms of a row keep the sequence of ``order`` where lines do not cross more for it.
    """
    reduced = nx.transitive_reduction(graph)
    rows = [sorted(row, key=order.index) for row in nx.topological_generations(reduced.reverse())]
    lines = _routes(reduced, rows)
    rows = _untangled(rows, lines)
    places = _places(rows, lines)
    width = max(x for x, _ in places.values()) + WIDTH // 2 + MARGIN
    height = MARGIN * 2 + HEIGHT + STEP * (len(rows) - 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img">',
        "<title>The rooms of kbkit: an arrow leads from a room to a room that it imports</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
        *(_arrow([places[stop] for stop in line]) for line in lines),
        *(_box(room, places[room], _kind(room, graph), sorted(graph[room], key=order.index)) for room in order),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _kind(room: str, graph: nx.DiGraph) -> str:
    return "api" if room == "kb" else "front" if nx.has_path(graph, room, "kb") else "room"


def _routes(graph: nx.DiGraph, rows: list[list[Any]]) -> list[list[Any]]:
    """Return the stops of each line from row to row, and add a stop to each row that a line passes."""
    level = {room: number for number, row in enumerate(rows) for room in row}
    lines = []
    for first, second in sorted(graph.edges, key=lambda edge: (level[edge[0]], edge)):
        between = [(first, second, number) for number in range(level[first] - 1, level[second], -1)]
        for stop in between:
            rows[stop[2]].append(stop)
        lines.append([first, *between, second])
    return lines


def _neighbours(lines: list[list[Any]]) -> tuple[dict[Any, list[Any]], dict[Any, list[Any]]]:
    """Return the stops below and above each stop."""
    below: dict[Any, list[Any]] = {}
    above: dict[Any, list[Any]] = {}
    for line in lines:
        for upper, lower in pairwise(line):
            below.setdefault(upper, []).append(lower)
            above.setdefault(lower, []).append(upper)
    return below, above


def _untangled(rows: list[list[Any]], lines: list[list[Any]]) -> list[list[Any]]:
    """Return the rows in an order with few crossings: each stop at the mean place of its neighbours, up and down."""
    sides = _neighbours(lines)
    best, fewest = rows, _crossings(rows, lines)
    for sweep in range(SWEEPS):
        rows = [list(row) for row in rows]
        numbers = range(len(rows)) if sweep % 2 else reversed(range(len(rows)))
        for number in numbers:
            at = {stop: place / len(row) for row in rows for place, stop in enumerate(row, 1)}
            side = sides[sweep % 2 == 0]
            rows[number].sort(key=lambda stop: float(np.mean([at[each] for each in side.get(stop, [stop])])))
        if (crossings := _crossings(rows, lines)) < fewest:
            best, fewest = rows, crossings
    return best


def _crossings(rows: list[list[Any]], lines: list[list[Any]]) -> int:
    at = {stop: (number, place) for number, row in enumerate(rows) for place, stop in enumerate(row)}
    parts = [(at[upper], at[lower]) for line in lines for upper, lower in pairwise(line)]
    pairs = ((one, two) for number, one in enumerate(parts) for two in parts[:number] if one[0][0] == two[0][0])
    return sum((a[1] - c[1]) * (b[1] - d[1]) < 0 for (a, b), (c, d) in pairs)


def _places(rows: list[list[Any]], lines: list[list[Any]]) -> dict[Any, tuple[int, int]]:
    """Return the centre of each stop: near the mean of its neighbours, in the order of its row, without overlap."""
    from scipy.optimize import isotonic_regression

    below, above = _neighbours(lines)
    starts = []
    for row in rows:
        widths = [WIDTH if isinstance(stop, str) else BEND for stop in row]
        starts.append(np.cumsum([0.0, *((a + b) / 2 + GAP for a, b in pairwise(widths))]))
    x: dict[Any, float] = {}
    for row, start in zip(rows, starts, strict=True):
        x.update(zip(row, start - start.mean(), strict=True))
    for _ in range(SWEEPS):
        for number, row in enumerate(rows):
            near = [[*below.get(stop, []), *above.get(stop, [])] for stop in row]
            wanted = [float(np.mean([x[each] for each in stops] or [0.0])) for stops in near]
            fitted = isotonic_regression(np.array(wanted) - starts[number]).x + starts[number]
            x.update(zip(row, fitted, strict=True))
    least = min(x[stop] for row in rows for stop in row if isinstance(stop, str)) - WIDTH / 2 - MARGIN
    return {
        stop: (round(x[stop] - least), MARGIN + HEIGHT // 2 + STEP * (len(rows) - 1 - number))
        for number, row in enumerate(rows)
        for stop in row
    }


def _arrow(stops: list[tuple[int, int]]) -> str:
    """Return a smooth line through the stops that starts and ends vertically."""
    (x, y), (right, down) = stops[0], stops[-1]
    points = np.array([(x, y + HEIGHT // 2), *stops[1:-1], (right, down - HEIGHT // 2 - 6)], dtype=float)
    slopes = np.gradient(points, axis=0)
    slopes[[0, 1, -2, -1]] *= (0, 1.5)  # beside the first and last stop, a slanted line would cross boxes
    parts = [f"M{x} {y + HEIGHT // 2}"]
    for (start, slope), (end, next_slope) in pairwise(zip(points, slopes, strict=True)):
        bezier = np.rint([start + slope / 3, end - next_slope / 3, end]).astype(int)
        parts.append("C" + " ".join(map(str, bezier.ravel())))
    head = f'<path class="head" d="M{right - 4} {down - HEIGHT // 2 - 6}h8l-4 6z"/>'
    return f'<g><path d="{"".join(parts)}"/>{head}</g>'


def _box(room: str, place: tuple[int, int], kind: str, imported: list[str]) -> str:
    x, y = place
    hint = f"{room} imports {', '.join(imported)}" if imported else f"{room} imports nothing of kbkit"
    return (
        f"<g><title>{escape(hint)}</title>"
        f'<rect class="{kind}" x="{x - WIDTH // 2}" y="{y - HEIGHT // 2}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
        f'<text class="{kind}" x="{x}" y="{y + 5}">{escape(room)}</text></g>'
    )


def render() -> str:
    """Return the picture of the code as it is."""
    return draw(imports(), rooms())


def main(arguments: list[str]) -> None:
    """Print the picture, or write it."""
    if arguments == ["--write"]:
        (assets.guides() / NAME).write_text(render(), encoding="utf-8", newline="\n")
    else:
        sys.stdout.write(render())


if __name__ == "__main__":
    main(sys.argv[1:])
