"""The pages that ``info`` and ``show`` print."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import typer

from kbkit.render import cell, clean, print_table

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase

_COUNTED = ("store", "bytes", "seconds")
_SCALARS = ("title", "licence", "generation", "created", "nodes", "edges", "average_degree", "texts", "tokens")


def info_frame(data: dict[str, Any]) -> pl.DataFrame:
    """``kb.info()`` as rows of (item, value)."""
    import polars as pl

    rows = [(name, cell(data[name])) for name in _SCALARS]
    rows += [(f"type {t['type']}", str(t["nodes"])) for t in data["types"]]
    rows += [
        (f"relation {r['head_type']} {r['relation']} {r['tail_type']}", str(r["edges"])) for r in data["relations"]
    ]
    rows += [(f"store {s['store']} {key}", cell(s[key])) for s in data["stores"] for key in s if key != "store"]
    rows += [(f"version {name}", version) for name, version in data["versions"].items()]
    return pl.DataFrame(rows, schema=["item", "value"], orient="row")


def print_info(data: dict[str, Any]) -> None:
    """``kb.info()`` for the eye."""
    import polars as pl

    _line(f"{data['name']}: {data['title']}")
    _line(
        f"{data['nodes']:,} nodes, {data['edges']:,} edges, average degree {data['average_degree']:g};"
        f" {data['texts']:,} texts, {data['tokens']:,} tokens"
    )
    _line(f"licence {data['licence']}; generation {data['generation']} of {data['created']}")
    for name, drop in (("types", ("sql_name",)), ("relations", ("sql_name",))):
        if data[name]:
            _section(name, pl.DataFrame(data[name]).drop(*drop))
    if data["candidate_types"]:
        _line("")
        _line("questions of the source ask for: " + ", ".join(data["candidate_types"]))
    if data["text_fields"]:
        _section("text fields", pl.DataFrame(data["text_fields"]))
    stores = [
        {
            "store": s["store"],
            "MB": round(s["bytes"] / 1e6, 1),
            "seconds": s["seconds"],
            "settings": ", ".join(f"{k} {cell(v)}" for k, v in s.items() if k not in _COUNTED and v not in ("", False)),
        }
        for s in data["stores"]
    ]
    _section("stores", pl.DataFrame(stores))
    _line("")
    _line(", ".join(f"{name} {version}" for name, version in data["versions"].items()))


def _section(title: str, frame: pl.DataFrame) -> None:
    _line("")
    _line(title, bold=True)
    print_table(frame, sys.stdout, count=False)


def page(kb: KnowledgeBase, reference: str | int, most: int) -> dict[str, Any]:
    """A node and, for each relation and direction, how many neighbours it has and the first of them."""
    node = kb.node(reference)
    relations = []
    for relation, direction, count in kb.degrees(node.id):
        frame = kb.neighbors(node.id, relation.name, most)
        rows = frame.filter(frame["direction"] == direction).head(most).to_dicts()
        shown = [
            {
                "reference": f"{r['type']}#{r['key']}",
                "name": r["name"],
                **{a.name: r[a.name] for a in relation.attributes if r.get(a.name) is not None},
            }
            for r in rows
        ]
        code = {"label": relation.label} if relation.label and _is_code(relation.name) else {}
        relations.append(
            {"relation": relation.name, **code, "direction": direction, "count": count, "neighbors": shown}
        )
    labels = {a.name: a.label for a in kb.schema.type(node.type).attributes if a.label}
    return {
        "id": node.id,
        "reference": node.reference,
        "name": node.name,
        "aliases": node.aliases,
        "other_types": node.other_types,
        "attributes": node.attributes,
        **({"attribute_labels": {n: labels[n] for n in node.attributes if n in labels}} if labels else {}),
        "texts": [{"field": field, "text": text} for field, text in node.texts],
        "relations": relations,
    }


def _is_code(name: str) -> bool:
    """Whether a relation's name tells people nothing, as ``P31``."""
    return not any(letter.islower() for letter in name)


def print_page(data: dict[str, Any]) -> None:
    """A node's page for the eye."""
    more = f", also {', '.join(data['other_types'])}" if data["other_types"] else ""
    _line(data["name"], bold=True)
    _line(f"{data['reference']}{more} (id {data['id']})")
    if data["aliases"]:
        _line("also called " + ", ".join(data["aliases"]))
    for name, value in data["attributes"].items():
        label = data.get("attribute_labels", {}).get(name)
        _line(f"{label} ({name}): {cell(value)}" if label else f"{name}: {cell(value)}", indent=2)
    for text in data["texts"]:
        _line("")
        _line(text["field"], bold=True)
        _line(text["text"], indent=2)
    for item in data["relations"]:
        out = item["direction"] == "out"
        _line("")
        arrow, label = "->" if out else "<-", f"  ({item['label']})" if "label" in item else ""
        _line(f"{arrow} [{item['relation']}] {arrow} {item['count']:,}{label}", bold=True)
        for neighbor in item["neighbors"]:
            extra = "".join(f"; {k} {cell(v)}" for k, v in neighbor.items() if k not in ("reference", "name"))
            _line(f"{neighbor['name']}  ({neighbor['reference']}{extra})", indent=2)
        if item["count"] > len(item["neighbors"]):
            _line(f"... and {item['count'] - len(item['neighbors']):,} more", indent=2)


def _line(text: str, *, bold: bool = False, indent: int = 0) -> None:
    """Print text, folded to the terminal's width; bold on a terminal only."""
    width = shutil.get_terminal_size().columns
    margin = " " * indent
    for paragraph in clean(text).split("\n"):
        folded = textwrap.fill(paragraph, width, initial_indent=margin, subsequent_indent=margin)
        typer.secho(folded, bold=bold)
