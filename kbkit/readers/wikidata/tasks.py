"""The tasks of worker processes: convert or scan one piece of a dump, write a part, and return its info."""

from __future__ import annotations

import importlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from kbkit.readers.wikidata import json_reader, json_values, parts, rdf_reader, selection
from kbkit.readers.wikidata.bad_lines import FIX_LINE, BadLines
from kbkit.readers.wikidata.dumps import INCOMPLETE, Piece
from kbkit.readers.wikidata.json_reader import MALFORMED, JsonReader
from kbkit.readers.wikidata.json_values import Json
from kbkit.readers.wikidata.literals import TYPE
from kbkit.readers.wikidata.model import EntityPage, Languages
from kbkit.readers.wikidata.options import ConversionOptions
from kbkit.readers.wikidata.quads import QuadWriter
from kbkit.readers.wikidata.rows import RowWriter
from kbkit.schema import Wikibase

Task = Callable[[ConversionOptions, Piece, Path], dict[str, Any]]

_LINE_START = 100  # bytes of a line in an error
_IN_ENTITY, _WIKIDATA = f"<{Wikibase.ENTITY}", "<http://www.wikidata.org/"
_SHARED_NODES = (f"<{Wikibase.PREFIXES['wdv']}", f"<{Wikibase.PREFIXES['wdref']}")
_PART_OF = f"<{Wikibase.SCHEMA}isPartOf>"
_ID = re.compile(r"[QPLM][1-9][0-9]*(-[A-Z][0-9]+)?")


def task(name: str) -> Task:
    """Return the task of this name."""
    function: Task = getattr(importlib.import_module(__name__), name)
    return function


# -- convert ----------------------------------------------------------------------------------------------------------


def convert_json(options: ConversionOptions, piece: Piece, folder: Path) -> dict[str, Any]:
    """Convert all entities of a piece to rows and, if requested, N-Triples."""
    try:
        return _convert_json(options, piece, folder, repair=False)
    except UnicodeEncodeError:  # an unpaired surrogate
        return _convert_json(options, piece, folder, repair=True)


def _convert_json(options: ConversionOptions, piece: Piece, folder: Path, *, repair: bool) -> dict[str, Any]:
    rows, quads, bad = RowWriter(), QuadWriter(), BadLines(piece, skip=options.skip_bad_lines)
    reader = JsonReader(Languages(options), options)
    for number, entity in read_json(piece, bad, repair=repair):
        try:
            if "redirect" in entity:
                name = json_values.entity_id(entity.get("entity") or entity["id"])
                quads.add_redirect(name, json_values.entity_id(entity["redirect"]))
            elif "missing" not in entity:
                page = reader.page(entity)
                rows.add(page)
                if options.triples:
                    quads.add(page)
        except MALFORMED as error:
            bad.add(number, f"{piece.place(number)}: {_reason(entity, error)}", FIX_LINE)
    properties = rows.properties()
    mentioned = {name for name in rows.mentioned() | properties if name and _is_id(name)}
    tables = {**rows.tables, "mentions": [(name,) for name in sorted(mentioned)]}
    if options.triples:
        tables["shared"] = [(line[:-1],) for line in quads.shared]
    quad_lines = quads.own if options.triples else None
    count = len(quads.own) + len(quads.shared)
    kept = None
    if options.keep_entities and not options.selects:
        kept = [line for number, line in piece.lines() if number not in bad.numbers]
    return _write(folder, parts.json_schemas(triples=options.triples), tables, quad_lines, count, properties, bad, kept)


def _is_id(name: str) -> bool:
    return name[0] in "QPLM" and name[1:2].isdigit()


def convert_rdf(options: ConversionOptions, piece: Piece, folder: Path) -> dict[str, Any]:
    """Convert all or the selected entities of a piece to rows and, if requested, N-Triples."""
    languages = Languages(options)
    rows, quads = RowWriter(nodes=True), QuadWriter()
    values: list[tuple[Any, ...]] = []
    nodes: dict[tuple[str, str | None, str], None] = {}
    used: set[str] = set()
    mentioned: set[str] = set()
    shared = 0
    bad = BadLines(piece, skip=options.skip_bad_lines)
    for page in rdf_reader.pages(piece, languages, bad):
        if not options.sitelinks:
            page.own = [triple for triple in page.own if triple[0].startswith(_WIKIDATA)]
            page.shared = [triple for triple in page.shared if triple[0].startswith(_WIKIDATA)]
        try:
            values += rdf_reader.value_nodes(page.shared)
            shared += len(page.shared)
            for s, p, o in page.shared:
                nodes[s, o if o.startswith(_SHARED_NODES) else None, f"{s} {p} {o} ."] = None
            if options.references:
                for reference in rdf_reader.references(page.shared):
                    rows.add_reference(reference)
            if _is_selected(page, piece):
                rdf_reader.read_page(page, languages)
                rows.add(page)
                quads.add(page)
                _note_targets(page, used, mentioned)
        except MALFORMED as error:
            _add_page(bad, piece, page, error)
    properties = rows.properties()
    tables: dict[str, Iterable[tuple[Any, ...]]] = {
        **rows.tables, "values": values, "mentions": [(name,) for name in sorted(mentioned | properties)],
    }  # fmt: skip
    if options.triples:
        tables |= {"nodes": list(nodes), "uses": [(name,) for name in sorted(used)]}
    quad_lines = quads.own if options.triples else None
    schemas = parts.rdf_schemas(triples=options.triples)
    return _write(folder, schemas, tables, quad_lines, len(quads.own) + shared, properties, bad)


@lru_cache(2)
def _selected(file: Path) -> selection.IdSet:
    return selection.read_ids(file)


def _is_selected(page: EntityPage, piece: Piece) -> bool:
    return piece.selected is None or (page.id[0], int(page.id[1:])) in _selected(piece.selected)


def _add_page(bad: BadLines, piece: Piece, page: EntityPage, error: Exception) -> None:
    """Add an entity of an RDF dump, whose lines are no longer known."""
    message = f"{piece.place(piece.line)} or later: entity {page.id}: {' '.join(str(error).split())}"
    bad.add(piece.line, message, FIX_LINE, page.id)


def _note_targets(page: EntityPage, used: set[str], mentioned: set[str]) -> None:
    """Collect the shared nodes and the entities that the triples of an entity refer to."""
    for subject, predicate, value in page.own:
        if value.startswith(_SHARED_NODES) or predicate == _PART_OF:
            used.add(value)
        elif value.startswith(_IN_ENTITY) and predicate != TYPE and not subject.startswith(value[:-1]):
            name = value[len(_IN_ENTITY) : -1]
            if _ID.fullmatch(name):
                mentioned.add(name)


def _write(
    folder: Path,
    schemas: Mapping[str, pa.Schema],
    tables: Mapping[str, Iterable[tuple[Any, ...]]],
    own: list[str] | None,
    triples: int,
    properties: set[str],
    bad: BadLines,
    kept: list[bytes] | None = None,
) -> dict[str, Any]:
    """Write a part and return its info.

    ``own`` are lines of N-Triples, None without triples; ``kept`` are entities to keep for updates, None for none.
    """
    columns = {table: list(zip(*rows, strict=True)) for table, rows in tables.items()}
    part = parts.ConversionPart(folder, schemas, quads=own is not None)
    try:
        for table, content in columns.items():
            part.add_columns(table, content)
        if own is not None:
            part.add_quads("".join(own).encode())
        if kept is not None:
            part.keep(kept)
        counts = {table: len(content[0]) if content else 0 for table, content in columns.items()}
        part.finish(
            {
                "entities": counts["entities"], "statements": counts["statements"],
                "triples": 0 if own is None else triples, "properties": sorted(properties), **bad.info(),
            }
        )  # fmt: skip
    finally:
        part.close()
    return parts.publish(folder)


# -- scan -------------------------------------------------------------------------------------------------------------


class Scan:
    """Rows of ``parts.SCAN_SCHEMAS``, which the selection of entities and the names of the others need."""

    def __init__(self, options: ConversionOptions) -> None:
        self.tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in parts.SCAN_SCHEMAS}
        self._all = options.hops > 0
        self._properties = {"P31", "P279", *(prop for prop, _ in options.properties)}

    def add_entity(self, name: str, kind: str, datatype: str | None, terms: Iterable[tuple[str, str, str]]) -> None:
        """Add an entity with its terms."""
        self.tables["known"].append((name, kind, datatype))
        self.tables["names"].extend((name, *term) for term in terms)

    def needs(self, prop: str) -> bool:
        """Return whether the selection may depend on statements of this property."""
        return self._all or prop in self._properties

    def add_link(self, name: str, prop: str, target: str | None, value: str | None) -> None:
        """Add a statement; without a target it is needed only if its property was named."""
        if target is not None or prop in self._properties:
            self.tables["links"].append((name, prop, target, value))

    def sizes(self) -> dict[str, int]:
        """Return the number of rows of each table, to which ``cut`` goes back."""
        return {name: len(rows) for name, rows in self.tables.items()}

    def cut(self, sizes: Mapping[str, int]) -> None:
        """Drop the rows of an entity that turned out to be malformed."""
        for name, size in sizes.items():
            del self.tables[name][size:]

    def write(self, folder: Path, bad: BadLines) -> dict[str, Any]:
        """Write the part and return its info."""
        part = parts.ConversionPart(folder, parts.SCAN_SCHEMAS, quads=False)
        try:
            for table, rows in self.tables.items():
                part.add_columns(table, list(zip(*rows, strict=True)))
            part.finish({"entities": len(self.tables["known"]), **bad.info()})
        finally:
            part.close()
        return parts.publish(folder)


def scan_json(options: ConversionOptions, piece: Piece, folder: Path) -> dict[str, Any]:
    """Scan a piece of a JSON dump."""
    try:
        return _scan_json(options, piece, folder, repair=False)
    except UnicodeEncodeError:  # an unpaired surrogate
        return _scan_json(options, piece, folder, repair=True)


def _scan_json(options: ConversionOptions, piece: Piece, folder: Path, *, repair: bool) -> dict[str, Any]:
    scan, languages, bad = Scan(options), Languages(options), BadLines(piece, skip=options.skip_bad_lines)
    for number, entity in read_json(piece, bad, repair=repair):
        if "redirect" in entity or "missing" in entity:
            continue
        before = scan.sizes()
        try:
            _scan_entity(scan, entity, languages)
        except MALFORMED as error:
            scan.cut(before)
            bad.add(number, f"{piece.place(number)}: {_reason(entity, error)}", FIX_LINE)
    return scan.write(folder, bad)


def _scan_entity(scan: Scan, entity: Json, languages: Languages) -> None:
    name, kind = json_values.entity_id(entity["id"]), json_reader.entity_kind(entity)
    for of, part in itertools.chain([(kind, entity)], json_reader.sub_entities(entity)):
        own, datatype = json_values.entity_id(part["id"]), json_reader.own_datatype(part)
        scan.add_entity(own, of, datatype, json_reader.terms(part, languages))
    if kind == "property":
        scan.tables["raw"].append((name, json.dumps(entity)))
    for prop, statements in json_reader.claims(entity).items():
        if not scan.needs(prop):
            continue
        best = json_reader.best_rank(statements)
        for statement in statements:
            snak = statement["mainsnak"]
            if statement.get("rank", "normal") == best and snak["snaktype"] != "novalue":
                value, target, *_ = (
                    json_values.columns(snak["datavalue"]) if snak["snaktype"] == "value" else (None,) * 2
                )
                scan.add_link(name, prop, target, value)


def scan_rdf(options: ConversionOptions, piece: Piece, folder: Path) -> dict[str, Any]:
    """Scan a piece of an RDF dump."""
    scan, languages, bad = Scan(options), Languages(options), BadLines(piece, skip=options.skip_bad_lines)
    for page in rdf_reader.pages(piece, languages, bad):
        before = scan.sizes()
        try:
            _scan_page(scan, page, languages)
        except MALFORMED as error:
            scan.cut(before)
            _add_page(bad, piece, page, error)
    return scan.write(folder, bad)


def _scan_page(scan: Scan, page: EntityPage, languages: Languages) -> None:
    for name, facts in rdf_reader.facts_of_entities(page).items():
        scan.add_entity(name, rdf_reader.kind_of(name), None, rdf_reader.terms(facts, languages))
        for predicate, value in facts:
            space, prop = rdf_reader.property_of(predicate)
            if space == "wdt" and scan.needs(prop):
                _, _, content, target, *_ = rdf_reader.value_columns(value)
                scan.add_link(name, prop, target, content)
    if page.id[0] == "P":
        lines = "".join(f"{s} {p} {o} .\n" for s, p, o in (*page.own, *page.shared))
        scan.tables["raw"].append((page.id, lines.rstrip("\n")))


# -- JSON -------------------------------------------------------------------------------------------------------------


def read_json(piece: Piece, bad: BadLines, *, repair: bool) -> Iterator[tuple[int, Json]]:
    """Yield the entities of a piece with their line numbers; lines that are no entity go to ``bad``.

    ``repair`` replaces unpaired surrogates, which UTF-8 cannot encode.
    """
    for number, line in piece.lines():
        try:
            entity = _JSON.decode(line.decode())
            if repair:
                utf16 = json.dumps(entity, ensure_ascii=False).encode("utf-16", "surrogatepass")
                entity = json.loads(utf16.decode("utf-16", "replace"))
        except UnicodeDecodeError:
            bad.add(number, f"Invalid UTF-8 in {piece.place(number)}", INCOMPLETE)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else _json_reason(error)
            bad.add(number, f"Invalid JSON in {piece.place(number)} ({reason}): {_start(line)}", INCOMPLETE)
        else:
            if isinstance(entity, dict):
                yield number, entity
            else:
                bad.add(number, f"Not an entity in {piece.place(number)}: {_start(line)}", FIX_LINE)


def _start(line: bytes) -> str:
    """Return the start of a line, for errors."""
    return _printable(line[:_LINE_START].decode("utf-8", "replace"))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


def _json_reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, character {error.pos + 1:,}"
    return str(error)


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _reason(entity: Json, error: Exception) -> str:
    """Describe the problem with an entity."""
    name = _printable(str(entity.get("id", "without an id"))[:20])
    if isinstance(error, KeyError):
        return f"entity {name}: missing or unknown {str(error.args[0])[:50]!r}"
    if isinstance(error, (TypeError, AttributeError, IndexError)):
        return f"entity {name}: unexpected structure"
    return f"entity {name}: {' '.join(str(error).split())}"
