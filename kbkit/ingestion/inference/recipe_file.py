"""The description of a plan, ``recipe.toml``, to be read and edited by people."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kbkit.english.relations import RECORDED, is_bare_noun
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.attribute_names import apart, attribute
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import NodeTable, TablePlan


def recipe(
    plan: TablePlan, tables: Sequence[ProfiledTable], name: str, title: str, *, source_file: bool = False
) -> str:
    """Return the text of ``recipe.toml``."""
    lines = [
        "# Written by kbkit from the files below. Edit it, and load.sql, as you like.",
        f"name = {_toml(name)}",
        f"title = {_toml(title)}",
        'licence = ""            # of the data',
        "infer = true            # numbers, dates and booleans get their types",
        *([f"as_text = {_toml(codes)}  # codes that would lose digits as numbers"] if (codes := _codes(plan)) else []),
        *(['source_file = true      # tables have the column "file of the row"'] if source_file else []),
    ]
    for spec in (spec for table in tables if not table.of for spec in table.parts or [table.spec]):
        lines += ["", f"[files.{_bare(spec.name)}]", f"match = {_toml(list(spec.match))}"]
        if spec.many:
            lines.append("many = true  # files of one shape")
        for key in ("table", "folder", "file", "encoding", "delimiter", "escape", "spaced"):
            if value := getattr(spec, key):
                lines.append(f"{key} = {_toml(value)}")
        lines += [f"{key} = {_toml(value)}  # {said}" for key, said in _SAID.items() if (value := getattr(spec, key))]
        if spec.quote is not None:
            lines.append(f"quote = {_toml(spec.quote)}")
        if spec.columns:
            lines.append(f"columns = {_toml(list(spec.columns))}  # the file has no header line")
    loose = [link.loose for edges in plan.edges for link in (edges.head, edges.tail) if link.loose]
    types = [nodes.table.type for nodes in plan.nodes if not nodes.by] + loose
    labels = {nodes.table.type: _labels(nodes) for nodes in plan.nodes}
    for kind in dict.fromkeys(types):
        lines += ["", f"[types.{_bare(kind)}]", *labels.get(kind, ())]
    for edges in plan.edges:
        if edges.symmetric:
            lines += [
                "",
                f"[relations.{_bare(edges.relation)}]",
                "symmetric = true  # every edge is there in both directions",
            ]
        elif not edges.by and is_bare_noun(edges.relation):
            lines += [
                "",
                f'[relations.{_bare(edges.relation)}]  # say what it means: {{ head = "shows", tail = "is shown by" }}',
                f"phrases = {{ head = {_toml(RECORDED[True])}, tail = {_toml(RECORDED[False])} }}",
            ]
    return "\n".join(lines) + "\n"


_SAID = {
    "skip": "lines before the header",
    "short_rows": "rows may lack their last fields",
    "footer": "lines of one field at the end are left out",
}
"""Keys of files with what they mean."""


def _codes(plan: TablePlan) -> list[str]:
    """Return the attributes that are texts although they look like numbers."""
    own = apart(plan)
    found = [attribute(c, n.table.type, own) for n in plan.nodes for c in n.values if n.table.columns[c].is_code]
    for one in plan.edges:
        codes = (name for name in one.values if one.table.columns[name].is_code)
        found += [attribute(name, one.relation, of_edges=True) for name in codes]
    return list(dict.fromkeys(found))


def _labels(nodes: NodeTable) -> list[str]:
    """Return the lines that say what the file calls the names and keys, if questions need it."""
    name = nodes.named[0] if len(nodes.named) == 1 else ""
    key = nodes.key[0] if len(nodes.key) == 1 else ""
    lines = [f"name_label = {_toml(name)}"] if name and names.plain(name) not in names.NAMES else []
    if key and not names.is_own_id(key, nodes.table.type):
        lines.append(f"key_label = {_toml(key)}")
    return lines


def _toml(value: str | Sequence[str]) -> str:
    """Return a string or a list of strings in TOML, whose strings are those of JSON but for the character DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _bare(name: str) -> str:
    """Return a key in TOML."""
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _toml(name)
