"""A drawing as one self-contained HTML file: Cytoscape.js, our scripts (``kbkit/assets/web``) and the graph as JSON.

The page's policy lets it load nothing and run no script other than those written here: they are named by their hashes.
The graph is JSON in an element that is never run, and its text only becomes text nodes.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html as markup
import json
import shlex
from typing import TYPE_CHECKING, Any

from kbkit import assets
from kbkit.display.drawing.colours import of_types
from kbkit.display.drawing.model import BOTH
from kbkit.display.drawing.text import line, middle, short
from kbkit.english.words import spoken

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing, Pairs

FOLD = 25
"""Neighbours of a node by one relation and direction that are shown at first; a click shows the others."""
_SLACK = 5
"""Number of nodes that are not worth a "+N more"."""
_LABEL, _BRIEF = 30, 15
_TEXT, _NAME = 230, 300
"""Maximum number of characters of labels, and of text and names in the panel."""

_SCRIPTS = (
    "vendor/cytoscape.min.js",
    "vendor/fcose.min.js",
    "labels.js",
    "lines.js",
    "graph.js",
    "panel.js",
    "page.js",
)
# Cytoscape.js adds this style, which the policy would refuse, unless it is there.
_CONTAINER = ".__________cytoscape_container { position: relative; }"

_BODY = """
<header><div><h1>{title}</h1><p class="soft">{summary}</p></div>
<div class="tools"><input id="find" list="names" placeholder="Find a node" aria-label="Find a node">
<datalist id="names"></datalist><button id="fit" title="Show the whole drawing">Fit</button>
<button id="reset" title="Show the drawing as it was at first">Reset</button>
<button id="theme" title="Light or dark">Theme</button></div></header>
<ul id="legend" aria-label="Types"></ul>
<main><div id="graph" role="img" aria-label="{title}: {summary}"></div>
<aside id="panel" aria-label="Node" hidden></aside></main>
<script type="application/json" id="data">{data}</script>
"""


def html(graph: Drawing) -> str:
    """Return the page."""
    scripts, styles, policy = _fixed()
    title, summary = markup.escape(line(graph.title)), markup.escape(line(graph.summary))
    # ASCII JSON without "<", so that no name can end the element.
    data = json.dumps(content(graph), ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    body = _BODY.format(title=title, summary=summary, data=data)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n{styles}\n</head>\n<body>"
        f"{body}{scripts}\n</body>\n</html>\n"
    )


@functools.cache
def _fixed() -> tuple[str, str, str]:
    """Return the scripts, the styles, and the policy that allows these."""
    scripts = [(assets.web() / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    styles = [(assets.web() / "graph.css").read_text(encoding="utf-8"), _CONTAINER]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {' '.join(map(_hash, styles))};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    look = f'<style>{styles[0]}</style>\n<style id="__________cytoscape_stylesheet">{styles[1]}</style>'
    return "\n".join(f"<script>{script}</script>" for script in scripts), look, policy


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def content(graph: Drawing) -> dict[str, Any]:
    """Return the graph as the scripts read it.

    Nodes, types and relations are named by their positions in lists. A node's ``parent`` is a neighbour one step nearer
    to the centre (-1: none). ``groups`` are the "+N more": the ``node`` they belong to, the ``hidden`` nodes, and the
    number of nodes that are ``missing`` in the page.
    """
    pairs = graph.pairs()
    relations = sorted({relation for edges in pairs.values() for relation, _ in edges} | _totalled(graph))
    number = {name: i for i, name in enumerate(relations)}
    parents = _parents(graph, pairs)
    colours, counts = of_types(graph.types), dict(graph.nodes.group_by("type").len().iter_rows())
    types = [*graph.types, *sorted(set(counts) - set(graph.types))]
    totals = _totals(graph, number)
    return {
        "layered": graph.layered,
        "types": [
            {"name": line(name), "count": counts.get(name, 0), "colour": colours.get(name, colours[""])}
            for name in types
        ],
        "relations": [
            {
                "name": line(graph.shown(name)),
                "key": name,
                "label": middle(spoken(graph.labels.get(name, name)), _LABEL),
            }
            for name in relations
        ],
        "nodes": [
            {
                "name": line(row["name"])[:_NAME],
                "label": middle(row["name"], _LABEL),
                "brief": middle(row["name"], _BRIEF),
                "key": line(f"{row['type']}#{row['key']}")[:_NAME],
                "type": types.index(row["type"]),
                "colour": colours.get(row["type"], colours[""]),
                "hop": row["hop"],
                "level": level,
                "text": short(row["line"] or "", _TEXT),
                "parent": parents[i][0] if i in parents else -1,
                "command": _command(graph, row),
                "totals": totals.get(row["id"], []),
            }
            for i, (level, row) in enumerate(zip(graph.levels(), graph.nodes.iter_rows(named=True), strict=True))
        ],
        "edges": [
            {"s": a, "t": b, "relations": [(number[relation], way) for relation, way in edges]}
            for (a, b), edges in pairs.items()
        ],
        "groups": [] if graph.layered else _groups(graph, pairs, parents),
    }


_Parents = dict[int, tuple[int, str, int]]
"""For each row of ``nodes`` its parent, and the relation and direction that lead from the parent to it."""


def _parents(graph: Drawing, pairs: Pairs) -> _Parents:
    hops, result = graph.nodes["hop"].to_list(), {}
    for (a, b), edges in pairs.items():
        if hops[b] == hops[a] + 1 and b not in result:
            relation, way = next(iter(edges))
            result[b] = (a, relation, way)
    return result


def _groups(graph: Drawing, pairs: Pairs, parents: _Parents) -> list[dict[str, Any]]:
    """Return the "+N more" of nodes with many neighbours by a relation, and of the centre's incomplete relations.

    Of a group, the nodes with the most neighbours in the drawing are shown first.
    """
    degree = dict.fromkeys(range(graph.nodes.height), 0)
    for pair in pairs:
        for end in pair:
            degree[end] += 1
    members: dict[tuple[int, str, int], list[int]] = {}
    for node, group in parents.items():
        members.setdefault(group, []).append(node)
    missing = _missing(graph, pairs)
    hidden = {
        group: sorted(found, key=lambda node: (-degree[node], node))[FOLD:]
        for group, found in members.items()
        if len(found) > FOLD + _SLACK
    }
    return [
        {"node": group[0], "hidden": hidden.get(group, []), "missing": missing.get(group, 0)}
        for group in sorted({*hidden, *missing})
    ]


def _missing(graph: Drawing, pairs: Pairs) -> dict[tuple[int, str, int], int]:
    """Return the number of the centre's neighbours that are not in the drawing, by relation and direction."""
    if graph.totals is None:
        return {}
    found: dict[tuple[str, int], int] = {}
    for (a, b), edges in pairs.items():
        for edge in edges if a == 0 else ():
            found[edge] = found.get(edge, 0) + 1
            if a == b and edge[1] != BOTH:  # a loop leads out and in
                found[edge[0], -edge[1]] = found.get((edge[0], -edge[1]), 0) + 1
    totals = graph.totals.filter(graph.totals["id"] == graph.center).drop("id").iter_rows()
    rest = {(0, relation, way): total - found.get((relation, way), 0) for relation, way, total in totals}
    return {group: count for group, count in rest.items() if count > 0}


def _totalled(graph: Drawing) -> set[str]:
    return set() if graph.totals is None else set(graph.totals["relation"])


def _totals(graph: Drawing, number: dict[str, int]) -> dict[int, list[tuple[int, int, int]]]:
    """Return (relation, direction, neighbours in the KB) of each node, by id."""
    result: dict[int, list[tuple[int, int, int]]] = {}
    for node, relation, way, total in () if graph.totals is None else graph.totals.iter_rows():
        result.setdefault(node, []).append((number[relation], way, total))
    return result


def _command(graph: Drawing, row: dict[str, Any]) -> str:
    """Return the command that draws a node with its neighbours; it names nodes with unusual keys by their ids."""
    if not graph.kb:
        return ""
    reference = f"{row['type']}#{row['key']}"
    if not (reference.isascii() and reference.isprintable()) or len(reference) > _NAME:
        reference = f"#{row['id']}"
    return f"kbkit around {shlex.quote(line(graph.kb))} {shlex.quote(reference)} -n 1000 -o graph.html"
