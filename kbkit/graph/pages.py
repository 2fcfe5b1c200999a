"""Pages of text: a node with its neighbours, explained hits, the contents of a KB. Data first, then lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kbkit.assets.arguments import check_range, invalid
from kbkit.display.render import cell, clean, heading, print_table, width_of
from kbkit.errors import plural
from kbkit.graph.nodes import degrees, describe
from kbkit.schema import quote

if TYPE_CHECKING:
    import polars as pl

    from kbkit.schema import Relation
    from kbkit.stores import Stores
    from kbkit.stores.adjacency import Ids

NEIGHBORS = 5
"""Default number of neighbours per group."""
_OUT, _IN = "out", "in"
_TEXT_LINES, _TEXTS = 12, 3
_COUNTED = ("store", "bytes", "seconds")
_SCALARS = ("title", "licence", "generation", "created", "nodes", "edges", "average_degree", "texts", "tokens")


class Line(NamedTuple):
    """A line of a page; headings are bold on terminals that support it."""

    text: str
    is_heading: bool = False


# -- a node -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """A node's page.

    ``data`` is plain: id, reference, name, aliases, other_types, attributes, texts (field, text), and relations: one
    entry for each relation, direction (out, in) and type of neighbour, with the count and the first neighbours, or, on
    a page that continues another, with those after ``start``.
    """

    data: dict[str, Any]

    @property
    def links(self) -> list[str]:
        """References of the neighbours shown, in order; link number 1 is the first."""
        return [neighbor["reference"] for group in self.data["relations"] for neighbor in group["neighbors"]]

    def lines(self, width: int = 80, *, full: bool = False, numbered: bool = False) -> list[Line]:
        """Return the page as lines wrapped to ``width``. Long texts are truncated unless ``full``; ``numbered`` numbers
        the links.
        """
        return [*_about(self.data, width), *_texts(self.data, width, full), *_groups(self.data, width, numbered)]

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines())

    def _repr_html_(self) -> str:
        from kbkit.display.html import node

        return node(self.data)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))


def page(stores: Stores, reference: str | int, limit: int = NEIGHBORS) -> Page:
    """Return the page of a node, with the first ``limit`` neighbours of each group."""
    node = describe(stores, reference)
    labels = {a.name: a.label for a in stores.schema.type(node.type).attributes if a.label}
    return Page(
        {
            "id": node.id,
            "reference": node.reference,
            "name": node.name,
            "aliases": node.aliases,
            "other_types": node.other_types,
            "attributes": node.attributes,
            **({"attribute_labels": {n: labels[n] for n in node.attributes if n in labels}} if labels else {}),
            "texts": [{"field": field, "text": text} for field, text in node.texts],
            "relations": _relations(stores, node.id, limit),
        }
    )


def following(stores: Stores, shown: Page, limit: int) -> Page:
    """Return a page with the next ``limit`` neighbours of each group of a page, without groups that have no more."""
    groups = []
    for group in shown.data["relations"]:
        start = group.get("start", 0) + len(group["neighbors"])
        if start < group["count"]:
            key = (group["relation"], group["direction"], group["type"])
            groups.append({**page_group(stores, shown.data["id"], *key, limit, start), "start": start})
    about = {name: shown.data[name] for name in ("id", "reference", "name")}
    return Page({**about, "aliases": [], "other_types": [], "attributes": {}, "texts": [], "relations": groups})


def page_group(
    stores: Stores, reference: str | int, relation: str, direction: str, node_type: str, limit: int, offset: int
) -> dict[str, Any]:
    """See :meth:`kbkit.kb.KnowledgeBase.page_group`."""
    check_range("limit", limit, 0)
    check_range("offset", offset, 0)
    if direction not in (_OUT, _IN):
        raise invalid("direction", direction, f"Use {_OUT} or {_IN}")
    node, known, kind = stores.nodes.find(reference), stores.schema.relation(relation), stores.schema.type(node_type)
    ids = _neighbors(stores, known, direction, node)
    mine = ids[(ids >= kind.first) & (ids <= kind.last)]
    group = _Group(known, direction, kind.name, mine[offset : offset + limit].tolist(), len(mine))
    return _described(stores, node, [group])[0]


class _Group(NamedTuple):
    """Neighbours by one relation, of one type: those to show, and their number."""

    relation: Relation
    direction: str
    kind: str
    ids: list[int]
    total: int


def _neighbors(stores: Stores, relation: Relation, direction: str, node: int) -> Ids:
    adjacency = stores.adjacency
    return (adjacency.forward if direction == _OUT else adjacency.backward)(relation.name).neighbors(node)


def _relations(stores: Stores, node: int, limit: int) -> list[dict[str, Any]]:
    """Return neighbours grouped by relation, direction and primary type: the count and the first ones."""
    types = stores.schema.primary_types
    lasts = np.array([t.last for t in types])
    limit = max(limit, 0)
    groups = []
    for relation, direction, _ in degrees(stores, node):
        ids = _neighbors(stores, relation, direction, node)
        kinds = np.searchsorted(lasts, ids)
        for kind in np.unique(kinds).tolist():
            mine = ids[kinds == kind]
            groups.append(_Group(relation, direction, types[kind].name, mine[:limit].tolist(), len(mine)))
    described = _described(stores, node, groups)
    return [{**group, "neighbors": group["neighbors"][:limit]} for group in described]


def _described(stores: Stores, node: int, groups: Sequence[_Group]) -> list[dict[str, Any]]:
    """Return groups as plain data; neighbours with parallel edges occur once for each edge."""
    shown = {i for group in groups for i in group.ids}
    names = {i: (row.key, row.name) for i, row in stores.nodes.rows(list(shown)).items()}
    result = []
    for relation, direction, kind, ids, count in groups:
        edges = _edge_attributes(stores, relation, direction, node, ids)
        neighbors = [
            {"reference": f"{kind}#{names[i][0]}", "name": names[i][1], **attributes}
            for i in ids
            for attributes in edges.get(i, [{}])
        ]
        code = {"label": relation.label} if relation.label and _is_code(relation.name) else {}
        about = {"relation": relation.name, **code, "direction": direction, "type": kind, "count": count}
        result.append({**about, "neighbors": neighbors})
    return result


def _edge_attributes(
    stores: Stores, relation: Relation, direction: str, node: int, ids: Sequence[int]
) -> dict[int, list[dict[str, Any]]]:
    """Return the attributes of the edges to each neighbour; parallel edges are listed separately."""
    if not relation.attributes or not ids:
        return {}
    here, there = ("head", "tail") if direction == "out" else ("tail", "head")
    columns = ", ".join(quote(a.name) for a in relation.attributes)
    sql = (
        f"SELECT {there}, {columns} FROM {quote(relation.table)}"
        f" WHERE {here} = $node AND {there} IN (SELECT unnest($ids)) ORDER BY ALL LIMIT 1000"
    )
    result: dict[int, list[dict[str, Any]]] = {}
    for neighbor, *values in stores.tables.rows(sql, {"node": node, "ids": list(ids)}):
        named = zip(relation.attributes, values, strict=True)
        result.setdefault(neighbor, []).append({a.name: value for a, value in named if value is not None})
    return result


def _is_code(name: str) -> bool:
    """Return whether a relation's name is a code such as ``P31``."""
    return not any(letter.islower() for letter in name)


def _about(data: dict[str, Any], width: int) -> Iterator[Line]:
    more = f", also {', '.join(data['other_types'])}" if data["other_types"] else ""
    yield from _folded(data["name"], width, is_heading=True)
    yield from _folded(f"{data['reference']}{more} (id {data['id']})", width)
    if data["aliases"]:
        yield from _folded("also called " + ", ".join(data["aliases"]), width)
    for name, value in data["attributes"].items():
        label = data.get("attribute_labels", {}).get(name)
        yield from _folded(f"{label} ({name}): {cell(value)}" if label else f"{name}: {cell(value)}", width, 2)


def _texts(data: dict[str, Any], width: int, full: bool) -> Iterator[Line]:
    """Return each text under its field's name; of a field with many texts, the first ones."""
    seen: dict[str, int] = {}
    for text in data["texts"]:
        field = text["field"]
        seen[field] = seen.get(field, 0) + 1
        if full or seen[field] <= _TEXTS:
            yield Line("")
            yield from _folded(field, width, is_heading=True)
            lines = list(_folded(text["text"], width, 2))
            cut = len(lines) > _TEXT_LINES + 1 and not full
            yield from lines[:_TEXT_LINES] if cut else lines
            if cut:
                yield Line(f"  ... {len(lines) - _TEXT_LINES:,} more lines")
    for field, count in seen.items():
        if not full and count > _TEXTS:
            yield Line("")
            yield Line(f"... and {count - _TEXTS:,} more texts of {clean(field)}")


def _groups(data: dict[str, Any], width: int, numbered: bool) -> Iterator[Line]:
    number = 0
    digits = len(str(sum(len(group["neighbors"]) for group in data["relations"])))
    for group in data["relations"]:
        yield Line("")
        arrow = "->" if group["direction"] == "out" else "<-"
        label = f"  ({group['label']})" if "label" in group else ""
        title = f"{arrow} [{group['relation']}] {arrow} {group['type']}: {group['count']:,}{label}"
        yield from _folded(title, width, is_heading=True)
        for neighbor in group["neighbors"]:
            number += 1
            extra = "".join(f"; {k} {cell(v)}" for k, v in neighbor.items() if k not in ("reference", "name"))
            lead = f"{number:>{digits}}  " if numbered else ""
            yield from _folded(f"{neighbor['name']}  ({neighbor['reference']}{extra})", width, 2, lead)
        more = group["count"] - group.get("start", 0) - len(group["neighbors"])
        if more > 0:
            yield Line(f"{' ' * (2 + (digits + 2) * numbered)}... and {more:,} more")


def explained(frame: pl.DataFrame, linked: pl.DataFrame | None) -> Iterator[str]:
    """Return hits with their explanations as an indented page, preceded by the nodes that the query names."""
    if linked is not None:
        for text, how, kind, key, name in linked.select("text", "how", "type", "key", "name").iter_rows():
            yield clean(f"{text}: {name}  ({kind}#{key}, {how})")
        yield "" if linked.height else "the query names no node\n"
    for rank, name, kind, key, score, why in frame.select("rank", "name", "type", "key", "score", "why").iter_rows():
        yield clean(f"{rank}. {name}  ({kind}#{key}) {score:.4g}")
        yield from (clean(f"  {line}") for line in why)


def _folded(text: str, width: int, indent: int = 0, lead: str = "", *, is_heading: bool = False) -> Iterator[Line]:
    """Return KB text as lines of at most ``width`` columns, the first preceded by ``lead``."""
    margin = " " * indent
    for paragraph in clean(text).split("\n"):
        rest = margin + " " * len(lead)
        folded = textwrap.wrap(
            paragraph,
            max(width, 20),
            initial_indent=margin + lead,
            subsequent_indent=rest,
            break_on_hyphens=False,  # Keys may contain spaces, and are meant to be copied.
        )
        yield from (Line(line.rstrip(), is_heading) for line in folded or [""])


def print_lines(lines: Sequence[Line], stream: IO[str]) -> None:
    """Write the lines of a page, with bold headings on a terminal."""
    stream.write("".join(f"{heading(line.text, stream) if line.is_heading else line.text}\n" for line in lines))


def print_text(lines: Iterable[str], stream: IO[str]) -> None:
    """Write lines of text."""
    stream.writelines(f"{line}\n" for line in lines)


# -- a KB -------------------------------------------------------------------------------------------------------------


def info_frame(data: dict[str, Any]) -> pl.DataFrame:
    """Return ``kb.info()`` as rows of (item, value)."""
    import polars as pl

    rows = [(name, cell(data[name])) for name in _SCALARS]
    rows += [(f"type {t['type']}", str(t["nodes"])) for t in data["types"]]
    rows += [
        (f"relation {r['head_type']} {r['relation']} {r['tail_type']}", str(r["edges"])) for r in data["relations"]
    ]
    rows += [(f"store {s['store']} {key}", cell(s[key])) for s in data["stores"] for key in s if key != "store"]
    rows += [(f"version {name}", version) for name, version in data["versions"].items()]
    return pl.DataFrame(rows, schema=["item", "value"], orient="row")


def print_info(data: dict[str, Any], stream: IO[str], width: int | None = None) -> None:
    """Print ``kb.info()``."""
    import polars as pl

    def say(text: str) -> None:
        print_lines(list(_folded(text, width or width_of(stream))), stream)

    def section(title: str, frame: pl.DataFrame) -> None:
        print_lines([Line(""), Line(title, is_heading=True)], stream)
        print_table(frame, stream, count=False, width=width)

    say(data["name"] if data["title"] == data["name"] else f"{data['name']}: {data['title']}")
    say(
        f"{plural(data['nodes'], 'node')}, {plural(data['edges'], 'edge')}, average degree {data['average_degree']:g};"
        f" {plural(data['texts'], 'text')}, {plural(data['tokens'], 'token')}"
    )
    say(f"licence {data['licence']}; generation {data['generation']} of {data['created']}")
    for name, drop in (("types", ("sql_name",)), ("relations", ("sql_name",))):
        if data[name]:
            section(name, pl.DataFrame(data[name]).drop(*drop))
    if data["candidate_types"]:
        say("")
        say("questions of the source ask for: " + ", ".join(data["candidate_types"]))
    if data["text_fields"]:
        section("text fields", pl.DataFrame(data["text_fields"]))
    section("stores", pl.DataFrame([_store(s) for s in data["stores"]]))
    say("")
    say(", ".join(f"{name} {version}" for name, version in data["versions"].items()))


def _store(record: dict[str, Any]) -> dict[str, Any]:
    settings = (f"{k} {cell(v)}" for k, v in record.items() if k not in _COUNTED and v not in ("", False))
    return {
        "store": record["store"],
        "MB": round(record["bytes"] / 1e6, 1),
        "seconds": record["seconds"],
        "settings": ", ".join(settings),
    }
