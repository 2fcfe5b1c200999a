"""An entity of Wikibase's JSON -> rows of the tables.

The format: https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html. PHP writes an empty map as ``[]``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kbkit.readers.wikidata import sites, values
from kbkit.readers.wikidata.literals import CANONICAL, language_tag
from kbkit.readers.wikidata.options import Options

Entity = Mapping[str, Any]
Statement = Mapping[str, Any]

RANKS = ("preferred", "normal", "deprecated")


@dataclass
class Rows:
    """Rows by table, as tuples in the order of the columns in ``parts.SCHEMAS``; and entities that are mentioned
    elsewhere than in statements.
    """

    entities: list[tuple[Any, ...]] = field(default_factory=list)
    terms: list[tuple[Any, ...]] = field(default_factory=list)
    statements: list[tuple[Any, ...]] = field(default_factory=list)
    qualifiers: list[tuple[Any, ...]] = field(default_factory=list)
    sitelinks: list[tuple[Any, ...]] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)


class Languages:
    """The chosen languages, as the codes that a dump may have them under."""

    def __init__(self, options: Options) -> None:
        wanted = [*options.languages, "mul"] if options.languages else []
        tags = {language_tag(code): None for code in wanted}
        old = {tag: [code for code, new in CANONICAL.items() if new == tag] for tag in tags}
        self.codes = list(dict.fromkeys(code for tag in tags for code in (tag, *old[tag])))
        self.tags_in_order = list(tags)
        self.tags = frozenset(tags)

    def of(self, terms: Any) -> Iterator[tuple[str, Any]]:
        """(tag, what it maps to) of the chosen languages in their order; of all, if none was chosen."""
        if not terms:  # PHP's empty map, []
            return
        for code in self.codes or terms:
            found = terms.get(code)
            if found is not None:
                yield language_tag(code), found


def claims(entity: Entity) -> Mapping[str, Sequence[Statement]]:
    """Statements by property: of items under ``claims``, of media files under ``statements``, or none at all."""
    return entity.get("claims") or entity.get("statements") or {}


def kind(entity: Entity) -> str:
    """item, property, lexeme or mediainfo; by the letter of the id where nothing is said."""
    known = {"Q": "item", "P": "property", "L": "lexeme", "M": "mediainfo"}
    given = entity.get("type") or known.get(values.entity_id(entity["id"])[0], "item")
    if not isinstance(given, str) or not given.isidentifier() or not given.isascii():
        raise ValueError(f"{str(given)[:50]!r} is no kind of entity")
    return given


def own_datatype(entity: Entity) -> str | None:
    """The datatype of a property."""
    return None if entity.get("datatype") is None else _text(entity["datatype"])


def best_rank(statements: Sequence[Statement]) -> str:
    """The rank of the statements that count: preferred where there is one, else normal; never deprecated."""
    return "preferred" if any(statement.get("rank") == "preferred" for statement in statements) else "normal"


def statement_id(statement: Statement, subject: str) -> str:
    """The statement's id; one made of what it says for dumps that have none."""
    given = statement.get("id")
    if isinstance(given, str) and given:
        return given
    content = json.dumps(statement, sort_keys=True).encode()
    return f"{subject}${hashlib.md5(content, usedforsecurity=False).hexdigest()}"


def labels(entity: Entity) -> Any:
    """The names of an entity by language: the lemmas of a lexeme, the representations of a form."""
    return entity.get("labels") or entity.get("lemmas") or entity.get("representations")


def descriptions(entity: Entity) -> Any:
    """The descriptions by language: the glosses of a sense."""
    return entity.get("descriptions") or entity.get("glosses")


def sub_entities(entity: Entity) -> Iterator[tuple[str, Entity]]:
    """The forms and senses of a lexeme, with their kind."""
    for kind, name in (("form", "forms"), ("sense", "senses")):
        for part in entity.get(name) or ():
            yield kind, part


def add(entity: Entity, languages: Languages, rows: Rows, *, links: bool) -> None:
    """Add the rows of an entity, and of what lies within a lexeme; ``links`` says whether sitelinks are wanted."""
    _add_one(entity, kind(entity), languages, rows)
    for of, part in sub_entities(entity):
        _add_one(part, of, languages, rows)
        rows.mentioned.update(map(values.entity_id, part.get("grammaticalFeatures") or ()))
    rows.mentioned.update(
        values.entity_id(entity[name]) for name in ("language", "lexicalCategory") if entity.get(name)
    )
    if links:
        _sitelinks(entity, rows)


def _add_one(entity: Entity, kind: str, languages: Languages, rows: Rows) -> None:
    name = values.entity_id(entity["id"])
    rows.entities.append((name, kind, own_datatype(entity), False))
    _terms(entity, name, languages, rows)
    for prop, statements in claims(entity).items():
        values.property_id(prop)
        best = best_rank(statements)
        for statement in statements:
            _statement(statement, name, prop, best, rows)


def _terms(entity: Entity, name: str, languages: Languages, rows: Rows) -> None:
    rows.terms.extend((name, *term) for term in terms(entity, languages))


def terms(entity: Entity, languages: Languages) -> Iterator[tuple[str, str, str]]:
    """(label, description or alias; language; value) in the chosen languages."""
    for tag, label in languages.of(labels(entity)):
        yield "label", tag, _text(label["value"])
    for tag, description in languages.of(descriptions(entity)):
        yield "description", tag, _text(description["value"])
    for tag, aliases in languages.of(entity.get("aliases")):
        for alias in aliases if isinstance(aliases, list) else aliases.values():
            yield "alias", tag, _text(alias["value"])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:50]!r} is no text")
    return value


def _statement(statement: Statement, subject: str, prop: str, best: str, rows: Rows) -> None:
    snak, rank, own = statement["mainsnak"], statement.get("rank", "normal"), statement_id(statement, subject)
    if rank not in RANKS:
        raise ValueError(f"an unknown rank {str(rank)[:20]!r}")
    rows.statements.append(
        (own, subject, prop, rank, rank == best, snak["snaktype"], values.datatype(snak), *values.fields(snak))
    )
    qualifiers = statement.get("qualifiers")
    if qualifiers:
        for position, (name, qualifier) in enumerate(in_order(qualifiers, statement.get("qualifiers-order"))):
            rows.qualifiers.append(
                (own, subject, name, position, qualifier["snaktype"], values.datatype(qualifier),
                 *values.fields(qualifier))
            )  # fmt: skip


def in_order(snaks: Any, order: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(property, snak) in the order that the dump states beside them."""
    if isinstance(snaks, list):  # dumps of the first years
        yield from ((values.property_id(snak["property"]), snak) for snak in snaks)
        return
    known = [name for name in order or () if name in snaks]
    for name in itertools.chain(known, (name for name in snaks if name not in known)):
        for snak in snaks[name]:
            yield values.property_id(name), snak


def _sitelinks(entity: Entity, rows: Rows) -> None:
    for name, link in (entity.get("sitelinks") or {}).items():
        title = _text(link["title"])
        site = sites.site(name)
        rows.mentioned.update(map(values.entity_id, link.get("badges") or ()))
        rows.sitelinks.append((entity["id"], name, title, sites.page(site, title) if site else link.get("url")))
