"""The tasks of a worker for RDF dumps; see ``tasks`` and ``scan`` for JSON."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from kbkit.errors import BadInputError
from kbkit.readers.wikidata import parts, scan
from kbkit.readers.wikidata.admission import IdSet
from kbkit.readers.wikidata.entity import Languages
from kbkit.readers.wikidata.objects import TYPE
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.rdf_dump import Group, groups, property_of
from kbkit.readers.wikidata.rdf_rows import VALUES, Tables, kind_of, value_columns
from kbkit.readers.wikidata.selection import chosen
from kbkit.readers.wikidata.worker import Request, folder_of
from kbkit.schema import Wikibase

_TEXT = pa.string()
_NODE = pa.field("node", _TEXT)
SCHEMAS = {
    **{name: parts.SCHEMAS[name] for name in ("entities", "terms", "sitelinks")},
    "statements": parts.SCHEMAS["statements"].append(_NODE),
    "qualifiers": parts.SCHEMAS["qualifiers"].append(_NODE),
    "values": pa.schema([
        (name, {"precision": pa.int32(), "lower": pa.float64(), "upper": pa.float64()}.get(name, _TEXT))
        for name in VALUES
    ]),
    "mentions": parts.MENTIONS,
}  # fmt: skip
NODES = {
    "nodes": pa.schema([("subject", _TEXT), ("object", _TEXT), ("line", _TEXT)]),
    "uses": pa.schema([("node", _TEXT)]),
}
"""``nodes``: lines about values, references and sites, of all entities, with the node they lead to. ``uses``: the nodes
that chosen entities lead to. ``rdf_finish`` keeps those that are used.
"""

_WIKIDATA = "<http://www.wikidata.org/"
_IN_ENTITY = f"<{Wikibase.ENTITY}"
_SHARED = (f"<{Wikibase.PREFIXES['wdv']}", f"<{Wikibase.PREFIXES['wdref']}")
_PART = f"<{Wikibase.SCHEMA}isPartOf>"
_BAD = (ValueError, KeyError, IndexError, OverflowError)
_ID = re.compile(r"[QPLM][1-9][0-9]*(-[A-Z][0-9]+)?")


@lru_cache(2)
def _chosen(file: str) -> IdSet:
    return chosen(Path(file))


def _is_chosen(group: Group, request: Request) -> bool:
    return not request.chosen or (group.name[0], int(group.name[1:])) in _chosen(request.chosen)


def convert_rdf(options: Options, request: Request) -> dict[str, Any]:
    """The entities of a piece, or the chosen of them -> tables and N-Triples."""
    languages = Languages(options)
    tables = Tables(languages)
    own: list[str] = []
    nodes: list[tuple[str, str | None, str]] = []
    uses: set[str] = set()
    mentioned: set[str] = set()
    for group in groups(request, languages):
        if not options.sitelinks:
            group.own = [triple for triple in group.own if triple[0].startswith(_WIKIDATA)]
            group.nodes = [triple for triple in group.nodes if triple[0].startswith(_WIKIDATA)]
        try:
            if _is_chosen(group, request):
                tables.add(group)
                _take(group, own, uses, mentioned)
            else:
                tables.add(Group(group.name, [], group.nodes))
        except _BAD as error:
            where = f"{request.path}, from {request.unit} {request.line:,} on"
            raise BadInputError(f"{where}: entity {group.name}: {error}", parts.REPORT) from None
        nodes += [(s, o if o.startswith(_SHARED) else None, f"{s} {p} {o} .") for s, p, o in group.nodes]
    mentioned |= tables.properties
    rows = {**tables.rows, "mentions": [(name,) for name in sorted(mentioned)]}
    if options.triples:
        rows |= {"nodes": list(dict.fromkeys(nodes)), "uses": [(name,) for name in sorted(uses)]}
    return _write(request, rows, own if options.triples else None, len(nodes), tables.properties)


def _take(group: Group, own: list[str], uses: set[str], mentioned: set[str]) -> None:
    """Sort what is said of a chosen entity: lines of its own, nodes that it leads to, entities that it names."""
    lines: dict[str, None] = {}
    for subject, predicate, value in group.own:
        line = f"{subject} {predicate} {value} ."
        lines[line + "\n"] = None
        if value.startswith(_SHARED) or predicate == _PART:
            uses.add(value)
        elif value.startswith(_IN_ENTITY) and predicate != TYPE and not subject.startswith(value[:-1]):
            name = value[len(_IN_ENTITY) : -1]
            if _ID.fullmatch(name):
                mentioned.add(name)
    own.extend(lines)


def _write(
    request: Request, rows: dict[str, list[Any]], own: list[str] | None, shared: int, properties: set[str]
) -> dict[str, Any]:
    schemas = {**SCHEMAS, **(NODES if own is not None else {})}
    part = parts.Part(folder_of(request), schemas, quads=own is not None)
    try:
        for table, content in rows.items():
            part.add(table, content)
        if own is not None:
            part.add_quads("".join(own).encode())
        part.finish(
            {
                "entities": len(rows["entities"]), "statements": len(rows["statements"]),
                "triples": 0 if own is None else len(own) + shared, "properties": sorted(properties),
            }
        )  # fmt: skip
    finally:
        part.close()
    return parts.publish(folder_of(request))


def scan_rdf(options: Options, request: Request) -> dict[str, Any]:
    """A piece -> what is needed to choose, and the names of all entities."""
    languages = Languages(options)
    scanned = scan.Scanned(options)
    terms = Tables(languages).terms
    for group in groups(request, languages):
        by_subject: dict[str, list[tuple[str, str]]] = {}
        for subject, predicate, value in group.own:
            if subject.startswith(_IN_ENTITY) and "/" not in subject[len(_IN_ENTITY) :]:
                by_subject.setdefault(subject[len(_IN_ENTITY) : -1], []).append((predicate, value))
        for name, said in by_subject.items():
            scanned.rows["known"].append((name, kind_of(name), None))
            scanned.rows["names"].extend(terms(name, said))
            for predicate, value in said:
                space, prop = property_of(predicate)
                if space == "wdt" and scanned.asks(prop):
                    _, _, shown, target, *_ = value_columns(value)
                    scanned.link(name, prop, target, shown)
        if group.name[0] == "P":
            lines = "".join(f"{s} {p} {o} .\n" for s, p, o in (*group.own, *group.nodes))
            scanned.rows["raw"].append((group.name, lines.rstrip("\n")))
    return scan.write(request, scanned)
