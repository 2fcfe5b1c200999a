"""Read entities from RDF dumps, in the form that the Wikidata Query Service serves.

As the query service does on loading, properties of an entity's page move to the entity, duplicate labels
(``schema:name``, ``skos:prefLabel``) and types that apply to nearly every node are dropped, and blank nodes become
IRIs. OWL declarations of predicates are dropped too.

A truthy dump has only the values of the best rank: each becomes a statement of normal rank without qualifiers, with an
id of the form ``Q42$P31$HASH``. A value node (precision, unit) may be far from its statement: snaks name the node, and
``finishing`` joins them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus

from kbkit.errors import BadInputError, Command
from kbkit.readers.wikidata.bad_lines import SKIP, BadLines
from kbkit.readers.wikidata.dumps import INCOMPLETE, Piece
from kbkit.readers.wikidata.literals import COMMONS_DATA, MATHML, MEDIA, TYPE, XSD, iri, language_tag, literal_parts
from kbkit.readers.wikidata.model import (  # fmt: skip
    NO_VALUE,
    SOME_VALUE,
    Entity,
    EntityPage,
    EntityStatement,
    Languages,
    Reference,
    Sitelink,
    Snak,
    Triple,
)
from kbkit.readers.wikidata.quads import ALIAS, DEFINITION, DESCRIPTION, LABEL, LEMMA, REPRESENTATION
from kbkit.schema import Wikibase

if TYPE_CHECKING:
    import pyoxigraph as ox

TERMS = {
    LABEL: "label", LEMMA: "label", REPRESENTATION: "label", DESCRIPTION: "description", DEFINITION: "description",
    ALIAS: "alias",
}  # fmt: skip
"""Predicates of terms, which are filtered by language."""

_PAGES = ("<https://www.wikidata.org/wiki/Special:EntityData/", "<http://www.wikidata.org/wiki/Special:EntityData/")
_IN_ENTITY, _IN_STATEMENT = f"<{Wikibase.ENTITY}", f"<{Wikibase.PREFIXES['wds']}"
_IN_VALUE, _IN_REFERENCE = f"<{Wikibase.PREFIXES['wdv']}", f"<{Wikibase.PREFIXES['wdref']}"
_IN_PROP, _IN_ONTOLOGY, _WIKIDATA = f"<{Wikibase.PROP}", f"<{Wikibase.ONTOLOGY}", "<http://www.wikidata.org/"
_IN_NO_VALUE = f"<{Wikibase.PREFIXES['wdno']}"
_GROUP = f"<{Wikibase.ONTOLOGY}wikiGroup>"
_OF_PAGE = (f"<{Wikibase.SCHEMA}version>", f"<{Wikibase.SCHEMA}dateModified>")
_DUPLICATE_LABELS = (f"<{Wikibase.SCHEMA}name>", f"<{Wikibase.PREFIXES['skos']}prefLabel>")
_COMMON_TYPES = frozenset(
    f"<{Wikibase.ONTOLOGY}{name}>" for name in ("Item", "Lexeme", "Form", "Sense", "Statement", "Reference", "Value")
)
_ORDERED = (
    "In Wikidata's dumps each entity is followed by its statements; a file in another order can be loaded with ",
    Command("ingest rdf"),
)
_RANK, _BEST = f"<{Wikibase.ONTOLOGY}rank>", f"<{Wikibase.ONTOLOGY}BestRank>"
_ABOUT, _TITLE, _PART = f"<{Wikibase.SCHEMA}about>", f"<{Wikibase.SCHEMA}name>", f"<{Wikibase.SCHEMA}isPartOf>"
_DERIVED = f"<{Wikibase.PREFIXES['prov']}wasDerivedFrom>"
_PROPERTY_TYPE = f"<{Wikibase.ONTOLOGY}propertyType>"

_TAGGED = re.compile(r'"@([A-Za-z0-9-]+)$')
_PARSER_POSITION = re.compile(r"^Parser error[^:]*: |\(line [0-9]+\)$")
_ENTITY_NAME = re.compile(r"[A-Z][1-9][0-9]*")
_ID = re.compile(r"[A-Z][0-9]+(-[A-Z][0-9]+)?")
_POINT = re.compile(r"(?:<http://www\.wikidata\.org/entity/(Q[0-9]+)> )?Point\(([-+0-9.eE]+) ([-+0-9.eE]+)\)")
_KINDS = {"Q": "item", "P": "property", "L": "lexeme", "M": "mediainfo"}
_BY_ID = {"Q": "wikibase-item", "P": "wikibase-property", "L": "wikibase-lexeme", "E": "entity-schema"}
_IRREGULAR_DATATYPES = {"CommonsMedia": "commonsMedia"}
_PROJECTS = {"wikipedia": "wiki"}

NODE_COLUMNS = ("node", "precision", "calendar", "lower", "upper", "unit", "globe")
"""Columns that value nodes add to the snaks that name them."""
_NODE_PREDICATES = {
    f"<{Wikibase.ONTOLOGY}{name}>": (column, kind)
    for name, column, kind in (
        ("timePrecision", "precision", int), ("timeCalendarModel", "calendar", str), ("quantityUnit", "unit", str),
        ("quantityLowerBound", "lower", float), ("quantityUpperBound", "upper", float), ("geoGlobe", "globe", str),
    )
}  # fmt: skip


# -- triples ----------------------------------------------------------------------------------------------------------


def lines(piece: Piece, bad: BadLines) -> Iterator[str]:
    """Yield the triples of a piece in N-Triples; invalid lines of a dump in N-Triples go to ``bad``.

    Raises :class:`BadInputError` with file and line for invalid Turtle, whose statements span lines.
    """
    import pyoxigraph as ox  # workers that read JSON import this module

    turtle = ".ttl" in piece.path.suffixes
    try:
        text = _in_ntriples(piece.data, ox.RdfFormat.TURTLE if turtle else ox.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as error:
        if turtle or not bad.skip:
            line = error.lineno or 1 if isinstance(error, SyntaxError) else 0
            where = piece.place(piece.line + line - 1) if line else f"{piece.place(piece.line)} or later"
            raise BadInputError(f"{where}: {_reason(error)}", INCOMPLETE, *(() if turtle else SKIP)) from None
        text = b"".join(_valid_lines(piece, bad))
    yield from filter(None, text.decode().split("\n"))  # literals may contain other line breaks


def _in_ntriples(data: bytes, syntax: ox.RdfFormat) -> bytes:
    import pyoxigraph as ox

    # Lenient: invalid IRIs and languages are repaired later.
    return ox.serialize(ox.parse(data, format=syntax, lenient=True), format=ox.RdfFormat.N_TRIPLES) or b""


def _valid_lines(piece: Piece, bad: BadLines) -> Iterator[bytes]:
    """Yield the valid lines of a piece in N-Triples, parsed one by one."""
    import pyoxigraph as ox

    for number, line in enumerate(piece.data.split(b"\n"), piece.line):
        try:
            yield _in_ntriples(line, ox.RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError) as error:
            bad.add(number, f"{piece.place(number)}: {_reason(error)}", INCOMPLETE)


def _reason(error: Exception) -> str:
    """Return the reason that the parser gives, without its position, which is that in the piece."""
    return " ".join(_PARSER_POSITION.sub("", getattr(error, "msg", str(error))).split())


def pages(piece: Piece, languages: Languages, bad: BadLines) -> Iterator[EntityPage]:
    """Yield the pages of a piece with their triples; :func:`read_page` adds entities and sitelinks."""
    page: EntityPage | None = None
    for line in lines(piece, bad):
        subject, predicate, rest = line.split(" ", 2)
        name = _entity_of(subject)
        if name is not None and (page is None or name != page.id):
            if page is not None:
                yield page
            page = EntityPage(name)
        if page is None:
            if subject.startswith(_IN_STATEMENT):
                raise _unordered(subject)
            continue  # metadata of the dump
        triple = munge(subject, predicate, rest[:-2], page.id, languages)
        if triple is not None:
            shared = subject.startswith((_IN_VALUE, _IN_REFERENCE)) or predicate == _GROUP
            (page.shared if shared else page.own).append(triple)
    if page is not None:
        yield page


def _unordered(subject: str) -> BadInputError:
    return BadInputError(f"The statement {subject} is not after its entity", *_ORDERED)


def _entity_of(subject: str) -> str | None:
    """Return the entity that a subject is, or is part of."""
    if subject.startswith(_PAGES):
        name = subject[len(_PAGES[0]) - (subject[5] == ":") : -1]
    elif subject.startswith(_IN_ENTITY) and not subject.startswith(_IN_STATEMENT):
        name = subject[len(_IN_ENTITY) : -1].partition("-")[0]
    else:
        return None
    return name if _ENTITY_NAME.fullmatch(name) else None


def munge(subject: str, predicate: str, value: str, name: str, languages: Languages) -> Triple | None:
    """Return a triple as the query service stores it, or None if it drops the triple."""
    if subject.startswith(_PAGES):
        if predicate not in _OF_PAGE and not predicate.startswith(_IN_ONTOLOGY):
            return None
        subject = f"{_IN_ENTITY}{name}>"
    elif subject.startswith((_IN_PROP, "_:", _IN_ONTOLOGY)):
        return None
    if predicate == TYPE and value in _COMMON_TYPES:
        return None
    if subject.startswith(_IN_ENTITY):
        if predicate in _DUPLICATE_LABELS or (predicate == LABEL and subject.startswith(f"{_IN_ENTITY}L")):
            return None
    elif not subject.startswith(_WIKIDATA):
        subject = iri(subject[1:-1]) or subject
    if value[0] == "_":
        value = f"<{Wikibase.GENID}{value[2:]}>"
    elif value[0] == "<":
        if not value.startswith(_WIKIDATA):
            value = iri(value[1:-1]) or f'"{value[1:-1]}"'
    elif (tagged := _TAGGED.search(value)) is not None:
        tag = language_tag(tagged[1])
        if predicate in TERMS and languages.tags and tag not in languages.tags:
            return None
        value = f"{value[: tagged.start() + 2]}{tag}"
    return subject, predicate, value


# -- pages ------------------------------------------------------------------------------------------------------------

Facts = list[tuple[str, str]]
"""(predicate, object) of one subject."""


def read_page(page: EntityPage, languages: Languages) -> None:
    """Add entities and sitelinks to a page, from its triples."""
    by_subject: dict[str, Facts] = {}
    for subject, predicate, value in page.own:
        by_subject.setdefault(subject, []).append((predicate, value))
    for subject, facts in by_subject.items():
        name = subject[len(_IN_ENTITY) : -1]
        if subject.startswith(_IN_STATEMENT):
            if subject[len(_IN_STATEMENT) :].partition("-")[0].upper() != page.id:
                raise _unordered(subject)
        elif subject.startswith(_IN_ENTITY) and _ID.fullmatch(name):
            page.entities.append(_entity(name, facts, by_subject, languages))
        elif any(predicate == _ABOUT for predicate, _ in facts):
            by_predicate = dict(facts)
            title = literal_parts(by_predicate[_TITLE])[0] if _TITLE in by_predicate else ""
            page.sitelinks.append(Sitelink(_site(by_predicate.get(_PART, "")), title, subject[1:-1]))


def facts_of_entities(page: EntityPage) -> dict[str, Facts]:
    """Return the facts of an entity and its forms and senses by id; for a scan, which needs no statements."""
    facts_by_id: dict[str, Facts] = {}
    for subject, predicate, value in page.own:
        if subject.startswith(_IN_ENTITY) and "/" not in subject[len(_IN_ENTITY) :]:
            facts_by_id.setdefault(subject[len(_IN_ENTITY) : -1], []).append((predicate, value))
    return facts_by_id


def _entity(name: str, facts: Facts, others: dict[str, Facts], languages: Languages) -> Entity:
    datatypes = [_datatype(value) for predicate, value in facts if predicate == _PROPERTY_TYPE]
    entity = Entity(name, kind_of(name), datatypes[0] if datatypes else None, terms(facts, languages))
    full = {prop for predicate, _ in facts for space, prop in [property_of(predicate)] if space == "p"}
    for predicate, value in facts:
        space, prop = property_of(predicate)
        if space == "p":
            entity.statements.append(_statement(name, prop, value, others.get(value, [])))
        elif space == "wdt" and prop not in full:
            entity.statements.append(_truthy(name, Snak(prop, value_columns(value)), value))
        elif predicate == TYPE and value.startswith(_IN_NO_VALUE):
            prop = _last_part(value)
            if prop not in full:
                entity.statements.append(_truthy(name, Snak(prop, NO_VALUE), value))
    return entity


def terms(facts: Facts, languages: Languages) -> list[tuple[str, str, str]]:
    """Return (term, language, value), in the order of the selected languages."""
    rows = []
    for predicate, value in facts:
        if predicate in TERMS:
            content, tag, _ = literal_parts(value)
            rows.append((TERMS[predicate], tag, content))
    order, last = {"label": 0, "description": 1, "alias": 2}, len(languages.positions)
    return sorted(rows, key=lambda term: (order[term[0]], languages.positions.get(term[1], last)))


def _truthy(name: str, snak: Snak, value: str) -> EntityStatement:
    code = hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()[:16]
    return EntityStatement(f"{name}${snak.property}${code}", "normal", True, snak)


def _statement(name: str, prop: str, subject: str, facts: Facts) -> EntityStatement:
    statement_id = subject[len(Wikibase.PREFIXES["wds"]) + 1 : -1]
    statement_id = f"{statement_id[: len(name)]}${statement_id[len(name) + 1 :]}"
    if not facts:  # it would be read as a statement without value
        raise _unordered(subject)
    rank, best, main, node = "normal", False, "", None
    qualifiers: list[tuple[str, tuple[Any, ...]]] = []
    nodes: dict[str, list[str]] = {}
    cited: list[Reference] = []
    for predicate, value in facts:
        space, of = property_of(predicate)
        if predicate == _RANK:
            rank = value.rsplit("#", 1)[-1].removesuffix("Rank>").lower()
        elif predicate == TYPE:
            best = best or value == _BEST
            if value.startswith(_IN_NO_VALUE):
                qualifiers.append((_last_part(value), NO_VALUE))
        elif space == "ps":
            main = value
        elif space == "psv":
            node = _last_part(value)
        elif space == "pq":
            qualifiers.append((of, value_columns(value)))
        elif space == "pqv":
            nodes.setdefault(of, []).append(_last_part(value))
        elif predicate == _DERIVED:
            cited.append(Reference(_last_part(value), None))
    if not main and (prop, NO_VALUE) in qualifiers:
        qualifiers.remove((prop, NO_VALUE))  # it is the main value
    main_snak = Snak(prop, value_columns(main) if main else NO_VALUE, node=node)
    return EntityStatement(statement_id, rank, best, main_snak, _with_nodes(qualifiers, nodes), cited)


def _with_nodes(snaks: Iterable[tuple[str, tuple[Any, ...]]], nodes: dict[str, list[str]]) -> list[Snak]:
    """Return snaks with their value nodes: RDF does not link them, but dumps list both in the same order."""
    return [
        Snak(of, columns, node=nodes[of].pop(0) if columns[0] == "value" and nodes.get(of) else None)
        for of, columns in snaks
    ]


def references(triples: Iterable[Triple]) -> list[Reference]:
    """Return the references that the triples describe."""
    snaks: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    nodes: dict[str, dict[str, list[str]]] = {}
    for subject, predicate, value in triples:
        if not subject.startswith(_IN_REFERENCE):
            continue
        space, of = property_of(predicate)
        if space == "pr":
            snaks.setdefault(subject, []).append((of, value_columns(value)))
        elif space == "prv":
            nodes.setdefault(subject, {}).setdefault(of, []).append(_last_part(value))
        elif predicate == TYPE and value.startswith(_IN_NO_VALUE):
            snaks.setdefault(subject, []).append((_last_part(value), NO_VALUE))
    return [Reference(_last_part(name), _with_nodes(pairs, nodes.get(name, {}))) for name, pairs in snaks.items()]


def value_nodes(triples: Iterable[Triple]) -> list[tuple[Any, ...]]:
    """Return the value nodes among the triples, as rows of ``NODE_COLUMNS``."""
    nodes: dict[str, dict[str, Any]] = {}
    for subject, predicate, value in triples:
        if predicate in _NODE_PREDICATES:
            column, kind = _NODE_PREDICATES[predicate]
            content = _last_part(value) if kind is str else kind(literal_parts(value)[0])
            name = _last_part(subject)
            nodes.setdefault(name, {})[column] = "1" if column == "unit" and content == "Q199" else content
    return [(name, *(facts.get(column) for column in NODE_COLUMNS[1:])) for name, facts in nodes.items()]


def _last_part(term: str) -> str:
    return term[1:-1].rpartition("/")[2]


def kind_of(name: str) -> str:
    """Return item, property, lexeme, form, sense or mediainfo."""
    sub = name.partition("-")[2]
    return {"F": "form", "S": "sense"}.get(sub[:1]) or _KINDS.get(name[0], "item")


def _datatype(term: str) -> str:
    """Return ``wikibase-item`` of ``<http://wikiba.se/ontology#WikibaseItem>``."""
    name = term.rsplit("#", 1)[-1].rstrip(">")
    return _IRREGULAR_DATATYPES.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def value_columns(value: str) -> tuple[Any, ...]:
    """Return the columns from ``snak`` to ``language`` of an object; ``datatype`` is inferred from the value alone."""
    datatype, content, target = "string", "", None
    amount = latitude = longitude = globe = unit = language = None
    if value.startswith(f"<{Wikibase.GENID}"):
        return SOME_VALUE
    if value.startswith("<"):
        content = value[1:-1]
        if content.startswith(Wikibase.ENTITY) and _ID.fullmatch(content[len(Wikibase.ENTITY) :]):
            content = target = content[len(Wikibase.ENTITY) :]
            sub = {"form": "wikibase-form", "sense": "wikibase-sense"}.get(kind_of(content))
            datatype = sub or _BY_ID.get(content[0], "wikibase-item")
        elif content.startswith(MEDIA):
            datatype, content = "commonsMedia", unquote(content[len(MEDIA) :])
        elif content.startswith(COMMONS_DATA):
            datatype = "tabular-data" if content.endswith(".tab") else "geo-shape"
            content = unquote_plus(content[len(COMMONS_DATA) :])
        else:
            datatype = "url"
    else:
        content, tag, kind = literal_parts(value)
        if tag:
            datatype, language = "monolingualtext", tag
        elif kind == f"{XSD}dateTime":
            datatype = "time"
        elif kind == f"{XSD}decimal":
            datatype, amount, content = "quantity", float(content), content.removeprefix("+")
        elif kind == MATHML:
            datatype = "math"
        elif kind == f"{Wikibase.GEO}wktLiteral" and (point := _POINT.fullmatch(content)):
            datatype, globe = "globe-coordinate", point[1] or "Q2"
            longitude, latitude = float(point[2]), float(point[3])
            content = f"Point({point[2]} {point[3]})"
    return (
        "value", datatype, content, target, None, None, amount, None, None, unit, latitude, longitude, globe, language,
    )  # fmt: skip


def _site(home: str) -> str:
    """Return ``enwiki`` of ``<https://en.wikipedia.org/>``, or the host if it has another form."""
    host = home.strip("<>/").partition("://")[2]
    alone = {"www.wikidata.org": "wikidatawiki", "www.mediawiki.org": "mediawikiwiki", "wikisource.org": "sourceswiki",
             "www.wikifunctions.org": "wikifunctionswiki", "be-tarask.wikipedia.org": "be_x_oldwiki"}  # fmt: skip
    parts = host.split(".")
    if host in alone or len(parts) != 3:
        return alone.get(host, host)
    code, project, _ = parts
    if project == "wikimedia":
        return f"{code}wiki"
    return f"{code.replace('-', '_')}{_PROJECTS.get(project, project)}"


# -- predicates -------------------------------------------------------------------------------------------------------


@lru_cache(1 << 15)
def property_of(predicate: str) -> tuple[str, str]:
    """Return (``ps``, ``P31``) of a predicate in angle brackets, or empty strings if it belongs to no property."""
    if not predicate.startswith(_IN_PROP):
        return "", ""
    space, _, name = predicate[1:-1].rpartition("/")
    return _SPACES.get(space + "/", ""), name


_SPACES = {iri: prefix for prefix, iri in Wikibase.PREFIXES.items() if iri.startswith(Wikibase.PROP)}
