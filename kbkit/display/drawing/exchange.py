"""GraphML and DOT. Formats: http://graphml.graphdrawing.org/specification.html,
https://graphviz.org/doc/info/lang.html.

Node ids are ``n`` and the id in this KB; type and key identify a node across KBs.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from kbkit.display.drawing.colours import of_types
from kbkit.display.drawing.text import fit, line, middle

if TYPE_CHECKING:
    from kbkit.display.drawing.model import Drawing

_GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_KEYS = {"name": "string", "type": "string", "key": "string", "hop": "int", "text": "string"}


def graphml(graph: Drawing) -> bytes:
    """Return GraphML: directed, with parallel edges. Nodes have name, type, key, hop and text, edges have relation.
    Symmetric relations are written in both directions, as in the KB.
    """
    root = ET.Element("graphml", xmlns=_GRAPHML)
    for name, kind in _KEYS.items():
        ET.SubElement(root, "key", {"id": name, "for": "node", "attr.name": name, "attr.type": kind})
    ET.SubElement(root, "key", {"id": "relation", "for": "edge", "attr.name": "relation", "attr.type": "string"})
    top = ET.SubElement(root, "graph", id="around", edgedefault="directed")
    for node in graph.nodes.rename({"line": "text"}).iter_rows(named=True):
        element = ET.SubElement(top, "node", id=f"n{node['id']}")
        for name in _KEYS:
            if node[name] is not None:
                ET.SubElement(element, "data", key=name).text = fit(str(node[name]))
    for head, relation, tail in graph.edges.iter_rows():
        element = ET.SubElement(top, "edge", source=f"n{head}", target=f"n{tail}")
        ET.SubElement(element, "data", key="relation").text = fit(relation)
    ET.indent(root, "")
    stream = BytesIO()
    ET.ElementTree(root).write(stream, encoding="utf-8", xml_declaration=True)
    return stream.getvalue() + b"\n"


def dot(graph: Drawing) -> str:
    """Return DOT: nodes coloured by type; edges of symmetric relations once, without an arrow head."""
    colours = of_types(graph.types)
    lines = [
        "digraph around {",
        f"  label={_quoted(line(f'{graph.title}: {graph.summary}'))}; overlap=false; splines=true;",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontcolor="#ffffff"];',
        '  edge [color="#8a939e", fontname="Helvetica", fontsize=9];',
    ]
    for node in graph.nodes.iter_rows(named=True):
        told = f"{node['name']}\n{node['type']}#{node['key']}\n{node['line'] or ''}".strip()
        attributes = {
            "label": middle(node["name"], 40),
            "tooltip": fit(told),
            "fillcolor": colours.get(node["type"], colours[""]),
            **({"penwidth": "3", "color": "#1d2733"} if node["id"] == graph.center else {}),
        }
        lines.append(f"  n{node['id']} [{_listed(attributes)}];")
    for head, relation, tail in graph.edges.iter_rows():
        both = relation in graph.symmetric
        if not both or head <= tail:
            direction = {"dir": "none"} if both else {}
            lines.append(f"  n{head} -> n{tail} [{_listed({'label': line(graph.shown(relation)), **direction})}];")
    return "\n".join([*lines, "}", ""])


def _listed(attributes: dict[str, str]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in attributes.items())


def _quoted(text: str) -> str:
    """Return a quoted DOT string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
