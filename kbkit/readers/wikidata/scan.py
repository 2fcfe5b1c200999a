"""The first of two passes over a JSON dump: what is needed to choose entities, and to name the others."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pyarrow as pa

from kbkit.errors import BadInputError
from kbkit.readers.wikidata import entity as entities
from kbkit.readers.wikidata import parts, values
from kbkit.readers.wikidata.entity import Entity, Languages
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.tasks import ODD, read_json, reason
from kbkit.readers.wikidata.worker import Request, folder_of

_TEXT = pa.string()
SCHEMAS = {
    "known": pa.schema([("id", _TEXT), ("kind", _TEXT), ("datatype", _TEXT)]),
    "names": parts.SCHEMAS["terms"],
    "links": pa.schema([("subject", _TEXT), ("property", _TEXT), ("target", _TEXT), ("value", _TEXT)]),
    "raw": pa.schema([("id", _TEXT), ("line", _TEXT)]),
}
"""``known``: all entities. ``names``: their terms. ``links``: statements of the best rank that a choice may depend on.
``raw``: the properties as they stand in the dump.
"""


class Scanned:
    """Rows of :data:`SCHEMAS`."""

    def __init__(self, options: Options) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SCHEMAS}
        self._languages = Languages(options)
        self._all = options.hops > 0
        self._asked = {"P31", "P279", *(prop for prop, _ in options.properties)}

    def add(self, entity: Entity) -> None:
        """Take in an entity."""
        name, kind = values.entity_id(entity["id"]), entities.kind(entity)
        for of, part in itertools.chain([(kind, entity)], entities.sub_entities(entity)):
            own = values.entity_id(part["id"])
            self.rows["known"].append((own, of, entities.own_datatype(part)))
            self.rows["names"].extend((own, *term) for term in entities.terms(part, self._languages))
        if kind == "property":
            self.rows["raw"].append((name, json.dumps(entity)))
        for prop, statements in entities.claims(entity).items():
            if not self.asks(prop):
                continue
            best = entities.best_rank(statements)
            for statement in statements:
                snak = statement["mainsnak"]
                if statement.get("rank", "normal") == best and snak["snaktype"] != "novalue":
                    value, target, *_ = values.fields(snak)
                    self.link(name, prop, target, value)

    def asks(self, prop: str) -> bool:
        """Whether a choice may depend on statements of this property."""
        return self._all or prop in self._asked

    def link(self, name: str, prop: str, target: str | None, value: str | None) -> None:
        """Take in a statement; one without an entity is of use only where its property was named."""
        if target is not None or prop in self._asked:
            self.rows["links"].append((name, prop, target, value))


def scan_json(options: Options, request: Request, *, clean: bool = False) -> dict[str, Any]:
    """A piece of a JSON dump -> a part with the tables above."""
    scanned = Scanned(options)
    for number, entity in read_json(request, clean=clean):
        if "redirect" in entity or "missing" in entity:
            continue
        try:
            scanned.add(entity)
        except ODD as error:
            raise BadInputError(f"{request.where(number)}: {reason(entity, error)}", parts.REPORT) from None
    try:
        return write(request, scanned)
    except UnicodeEncodeError:
        if clean:
            raise
        return scan_json(options, request, clean=True)


def write(request: Request, scanned: Scanned) -> dict[str, Any]:
    """Write the part."""
    part = parts.Part(folder_of(request), SCHEMAS, quads=False)
    try:
        for table, rows in scanned.rows.items():
            part.add(table, rows)
        part.finish({"entities": len(scanned.rows["known"])})
    finally:
        part.close()
    return parts.publish(folder_of(request))
