"""Read entities from Wikibase's JSON.

The format: https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html. PHP writes an empty map as ``[]``.
Malformed entities raise one of ``MALFORMED``; the caller adds file and line.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kbkit.readers.wikidata import wikimedia
from kbkit.readers.wikidata.json_values import (
    LETTERS,
    Json,
    columns,
    datatype,
    entity_id,
    object_of,
    property_id,
    text_of,
)
from kbkit.readers.wikidata.model import (  # fmt: skip
    NO_VALUE,
    RANKS,
    Entity,
    EntityPage,
    EntityStatement,
    Languages,
    Reference,
    Sitelink,
    Snak,
)
from kbkit.readers.wikidata.options import ConversionOptions

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)
"""Exceptions for a line that is valid JSON but not an entity."""

_KINDS = {letter: kind for kind, letter in LETTERS.items()}


class JsonReader:
    """Turns the entities of a piece into pages."""

    def __init__(self, languages: Languages, options: ConversionOptions) -> None:
        self._languages = languages
        self._objects = options.triples
        self._links = options.sitelinks
        self._cites = options.triples or options.references
        self._references: set[str] = set()
        self._new_references: set[str] = set()

    def page(self, entity: Json) -> EntityPage:
        """Read an entity, with the forms and senses of a lexeme."""
        self._new_references.clear()  # of a malformed entity before this one
        main = self._entity(entity, entity_kind(entity))
        page = EntityPage(main.id, [main])
        for name in ("language", "lexicalCategory"):
            if entity.get(name):
                main.links.append((name, entity_id(entity[name])))
        for kind, part in sub_entities(entity):
            read = self._entity(part, kind)
            read.links += [("grammaticalFeature", entity_id(name)) for name in part.get("grammaticalFeatures") or ()]
            page.entities.append(read)
        page.sitelink_count = len(entity.get("sitelinks") or ())
        if self._links:
            page.sitelinks = [_sitelink(*pair) for pair in (entity.get("sitelinks") or {}).items()]
            if main.kind == "mediainfo" and entity.get("title"):
                page.sitelinks.append(_sitelink("commonswiki", {"title": entity["title"]}))
        if isinstance(entity.get("lastrevid"), int):
            page.version = entity["lastrevid"]
        if isinstance(entity.get("modified"), str):
            page.modified = entity["modified"]
        self._references |= self._new_references
        return page

    def _entity(self, entity: Json, kind: str) -> Entity:
        name = entity_id(entity["id"])
        converted = Entity(name, kind, own_datatype(entity), list(terms(entity, self._languages)))
        for prop, statements in claims(entity).items():
            property_id(prop)
            best = best_rank(statements)
            converted.statements += [self._statement(statement, name, prop, best) for statement in statements]
        return converted

    def _statement(self, statement: Json, subject: str, prop: str, best: str) -> EntityStatement:
        rank = statement.get("rank", "normal")
        if rank not in RANKS:
            raise ValueError(f"unknown rank {str(rank)[:20]!r}")
        qualifiers, references = statement.get("qualifiers"), statement.get("references")
        return EntityStatement(
            _statement_id(statement, subject),
            rank,
            rank == best,
            self._snak(prop, statement["mainsnak"]),
            self._snaks(qualifiers, statement.get("qualifiers-order")) if qualifiers else (),
            [self._reference(reference) for reference in references] if references and self._cites else (),
        )

    def _snak(self, prop: str, snak: Json) -> Snak:
        kind, of = snak["snaktype"], datatype(snak)
        if kind == "value":
            value = object_of(of, snak["datavalue"]) if self._objects else None
            return Snak(prop, ("value", of, *columns(snak["datavalue"])), value)
        if kind not in ("somevalue", "novalue"):
            raise ValueError(f"unknown snaktype {str(kind)[:20]!r}")
        return Snak(prop, (kind, of, *NO_VALUE[2:]))

    def _snaks(self, snaks: Any, order: Any) -> list[Snak]:
        return [self._snak(prop, snak) for prop, snak in in_order(snaks, order)]

    def _reference(self, reference: Json) -> Reference:
        snaks, code = reference["snaks"], reference.get("hash")
        if not isinstance(code, str) or not code.isalnum() or not code.isascii():
            content = json.dumps(snaks, sort_keys=True).encode()
            code = hashlib.sha1(content, usedforsecurity=False).hexdigest()
        if code in self._references or code in self._new_references:  # reading references takes most of the time
            return Reference(code, None)
        self._new_references.add(code)
        order = reference.get("snaks-order")
        return Reference(code, self._snaks(snaks, order))


def claims(entity: Json) -> Mapping[str, Sequence[Json]]:
    """Return the statements by property: ``claims`` of items, ``statements`` of media files."""
    return entity.get("claims") or entity.get("statements") or {}


def entity_kind(entity: Json) -> str:
    """Return item, property, lexeme or mediainfo, by default from the letter of the id."""
    kind = entity.get("type") or _KINDS.get(entity_id(entity["id"])[0], "item")
    if not isinstance(kind, str) or not kind.isidentifier() or not kind.isascii():
        raise ValueError(f"unknown entity type {str(kind)[:50]!r}")
    return kind


def own_datatype(entity: Json) -> str | None:
    """Return the datatype of a property."""
    return None if entity.get("datatype") is None else text_of(entity["datatype"])


def best_rank(statements: Sequence[Json]) -> str:
    """Return the best rank: preferred if a statement has it, else normal; never deprecated."""
    return "preferred" if any(statement.get("rank") == "preferred" for statement in statements) else "normal"


def _statement_id(statement: Json, subject: str) -> str:
    """Return the statement's id, or a hash of its content for dumps without ids."""
    name = statement.get("id")
    if isinstance(name, str) and name:
        return name
    content = json.dumps(statement, sort_keys=True).encode()
    return f"{subject}${hashlib.md5(content, usedforsecurity=False).hexdigest()}"


def sub_entities(entity: Json) -> Iterator[tuple[str, Json]]:
    """Yield (kind, form or sense) of a lexeme."""
    for kind, name in (("form", "forms"), ("sense", "senses")):
        for part in entity.get(name) or ():
            yield kind, part


def terms(entity: Json, languages: Languages) -> Iterator[tuple[str, str, str]]:
    """Yield (label, description, alias or title; language; value) in the selected languages.

    Lemmas of a lexeme, representations of a form and captions of a media file are labels, glosses of a sense are
    descriptions. The name of a media file is a title, in no language; dumps do not have it.
    """
    labels = entity.get("labels") or entity.get("lemmas") or entity.get("representations")
    for tag, label in languages.select(labels):
        yield "label", tag, text_of(label["value"])
    for tag, description in languages.select(entity.get("descriptions") or entity.get("glosses")):
        yield "description", tag, text_of(description["value"])
    for tag, aliases in languages.select(entity.get("aliases")):
        for alias in aliases if isinstance(aliases, list) else aliases.values():
            yield "alias", tag, text_of(alias["value"])
    if entity.get("type") == "mediainfo" and entity.get("title"):
        yield "title", "", text_of(entity["title"]).removeprefix("File:")


def in_order(snaks: Any, order: Any) -> Iterator[tuple[str, Json]]:
    """Yield (property, snak) in the order that the dump states."""
    if isinstance(snaks, list):  # early dumps
        yield from ((property_id(snak["property"]), snak) for snak in snaks)
        return
    known = [name for name in order or () if name in snaks]
    for name in itertools.chain(known, (name for name in snaks if name not in known)):
        for snak in snaks[name]:
            yield property_id(name), snak


def _sitelink(name: str, link: Json) -> Sitelink:
    title, site = text_of(link["title"]), wikimedia.site(name)
    url = wikimedia.page(site, title) if site else link.get("url")
    return Sitelink(name, title, url, [entity_id(badge) for badge in link.get("badges") or ()])
