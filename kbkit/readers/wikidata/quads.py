"""Entities and statements to N-Triples, in the form that the Wikidata Query Service serves.

The model: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format. As in the query service, types that apply
to nearly every node are left out (``wikibase:Item``, ``Statement``, ``Reference``; value nodes keep theirs), and
properties of an entity's page move to the entity. Known differences: value nodes are named by our own hash; somevalue
is an IRI under ``Wikibase.GENID``, the same for a statement's ``ps:`` and ``wdt:``; formulas are TeX, not MathML; units
are normalized if ``units`` knows them; OWL declarations of predicates are not written.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from functools import lru_cache
from typing import NamedTuple

from kbkit.readers.wikidata import wikimedia
from kbkit.readers.wikidata.literals import TYPE, XSD, text_literal
from kbkit.readers.wikidata.model import RANKS, Entity, EntityPage, EntityStatement, Reference, Snak, ValueNode
from kbkit.schema import Wikibase

LABEL, ALIAS = f"<{Wikibase.PREFIXES['rdfs']}label>", f"<{Wikibase.PREFIXES['skos']}altLabel>"
DESCRIPTION, LEMMA = f"<{Wikibase.SCHEMA}description>", f"<{Wikibase.ONTOLOGY}lemma>"
_ONTOLEX = Wikibase.PREFIXES["ontolex"]
REPRESENTATION, DEFINITION = f"<{_ONTOLEX}representation>", f"<{Wikibase.PREFIXES['skos']}definition>"
_TERMS = {"label": LABEL, "description": DESCRIPTION, "alias": ALIAS}
_LEXICAL_TERMS = {"lexeme": {"label": LEMMA}, "form": {"label": REPRESENTATION}, "sense": {"description": DEFINITION}}

CAPTION = f"<{Wikibase.SCHEMA}caption>"
_MEDIA_TYPES = (f"<{Wikibase.ONTOLOGY}Mediainfo>", f"<{Wikibase.SCHEMA}MediaObject>")
_DERIVED = f"<{Wikibase.PREFIXES['prov']}wasDerivedFrom>"
_SAME = f"<{Wikibase.PREFIXES['owl']}sameAs>"
_LEXICAL_TYPES = {"lexeme": "LexicalEntry", "form": "Form", "sense": "LexicalSense"}
_LINKS = {
    "language": f"<{Wikibase.PREFIXES['dct']}language>",
    "lexicalCategory": f"<{Wikibase.ONTOLOGY}lexicalCategory>",
    "grammaticalFeature": f"<{Wikibase.ONTOLOGY}grammaticalFeature>",
}
_RANKS = {name: f"<{Wikibase.ONTOLOGY}{name.capitalize()}Rank>" for name in RANKS}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


class Predicates(NamedTuple):
    """The predicates of a property, in angle brackets."""

    wdt: str
    p: str
    ps: str
    psv: str
    psn: str
    pq: str
    pqv: str
    pqn: str
    pr: str
    prv: str
    prn: str
    wdno: str


@lru_cache(1 << 15)
def predicates(name: str) -> Predicates:
    """Return the predicates of the property ``P31``."""
    return Predicates(*(f"<{Wikibase.PREFIXES[prefix]}{name}>" for prefix in Predicates._fields))


class QuadWriter:
    """Collects lines: ``own`` of single entities, and ``shared`` of nodes that several entities use, each node once."""

    def __init__(self) -> None:
        self.own: list[str] = []
        self.shared: list[str] = []
        self._seen: set[str] = set()

    def add(self, page: EntityPage) -> None:
        """Add the triples of an entity, each line once."""
        if page.own or not page.entities:
            self.own.extend(dict.fromkeys(f"{s} {p} {o} .\n" for s, p, o in page.own))
            return
        main, *parts = page.entities
        subject, lines = f"<{Wikibase.ENTITY}{main.id}>", list[str]()
        _page(page, subject, lines)
        self._entity(main, subject, lines)
        _links(main, subject, lines)
        for part in parts:
            part_iri = f"<{Wikibase.ENTITY}{part.id}>"
            lines.append(f"{subject} <{_ONTOLEX}{'lexicalForm' if part.kind == 'form' else 'sense'}> {part_iri} .\n")
            self._entity(part, part_iri, lines)
            _links(part, part_iri, lines)
        self._sitelinks(page, subject, lines)
        self.own.extend(dict.fromkeys(lines))

    def add_redirect(self, name: str, target: str) -> None:
        """Add the triple of an entity that was merged into another."""
        self.own.append(f"<{Wikibase.ENTITY}{name}> {_SAME} <{Wikibase.ENTITY}{target}> .\n")

    def _entity(self, entity: Entity, subject: str, lines: list[str]) -> None:
        kind = entity.kind
        names = _TERMS | _LEXICAL_TERMS.get(kind, {})
        terms = [term for term in entity.terms if term[0] != "title"]
        lines += [f"{subject} {names[term]} {text_literal(value)}@{tag} .\n" for term, tag, value in terms]
        if kind in _LEXICAL_TYPES:
            lines.append(f"{subject} {TYPE} <{_ONTOLEX}{_LEXICAL_TYPES[kind]}> .\n")
        elif kind == "property":
            _property(entity, subject, lines)
        elif kind == "mediainfo":
            lines += [f"{subject} {TYPE} {of} .\n" for of in _MEDIA_TYPES]
            lines += [f"{subject} {CAPTION} {text_literal(v)}@{tag} .\n" for term, tag, v in terms if term == "label"]
        elif kind != "item":
            lines.append(f"{subject} {TYPE} <{Wikibase.ONTOLOGY}{kind.capitalize()}> .\n")
        for statement in entity.statements:
            self._statement(statement, subject, lines)

    def _statement(self, statement: EntityStatement, subject: str, lines: list[str]) -> None:
        statement_id, rank, best, main, qualifiers, references = statement
        node = f"<{Wikibase.PREFIXES['wds']}{_NOT_IN_NAMES.sub('-', statement_id)}>"
        names = predicates(main.property)
        lines.append(f"{subject} {names.p} {node} .\n")
        lines.append(f"{node} <{Wikibase.ONTOLOGY}rank> {_RANKS[rank]} .\n")
        value = self._snak(main, node, names.ps, names.psv, names.psn, names.wdno, statement_id, lines)
        if best:
            lines.append(f"{node} {TYPE} <{Wikibase.ONTOLOGY}BestRank> .\n")
            lines.append(
                f"{subject} {TYPE} {names.wdno} .\n" if value is None else f"{subject} {names.wdt} {value} .\n"
            )
        for position, snak in enumerate(qualifiers):
            of = predicates(snak.property)
            self._snak(snak, node, of.pq, of.pqv, of.pqn, of.wdno, f"{statement_id} {position}", lines)
        for reference in references:
            lines.append(f"{node} {_DERIVED} {self._reference(reference)} .\n")

    def _snak(
        self, snak: Snak, node: str, simple: str, full: str, normal: str, none: str, seed: str, lines: list[str]
    ) -> str | None:
        """Add the lines of a snak about ``node``; return its object, None for novalue. ``seed`` names a somevalue."""
        kind, value = snak.columns[0], snak.object
        if kind == "novalue":
            lines.append(f"{node} {TYPE} {none} .\n")
            return None
        if value is None:
            code = hashlib.md5(f"{seed} {simple}".encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
            text, value_node = f"<{Wikibase.GENID}{code}>", None
        else:
            text, value_node = value
        lines.append(f"{node} {simple} {text} .\n")
        if value_node is not None:
            lines.append(f"{node} {full} {value_node.name} .\n")
            self._share(value_node)
            if value_node.normal is not None:
                lines.append(f"{node} {normal} {value_node.normal.name} .\n")
                self._share(value_node.normal)
        return text

    def _share(self, node: ValueNode) -> None:
        if node.name not in self._seen:
            self._seen.add(node.name)
            self.shared.extend(node.lines)

    def _reference(self, reference: Reference) -> str:
        code, snaks = reference
        node = f"<{Wikibase.PREFIXES['wdref']}{code}>"
        lines: list[str] = []
        for position, snak in enumerate(snaks or ()):
            of = predicates(snak.property)
            self._snak(snak, node, of.pr, of.prv, of.prn, of.wdno, f"{code} {position}", lines)
        self.shared.extend(lines)
        return node

    def _sitelinks(self, page: EntityPage, subject: str, lines: list[str]) -> None:
        for link in page.sitelinks:
            site = wikimedia.site(link.site)
            if site is None:
                continue
            article, home = f"<{link.url}>", f"<{site.address}>"
            lines.append(f"{article} {TYPE} <{Wikibase.SCHEMA}Article> .\n")
            lines.append(f"{article} <{Wikibase.SCHEMA}about> {subject} .\n")
            lines.append(f'{article} <{Wikibase.SCHEMA}inLanguage> "{site.language}" .\n')
            lines.append(f"{article} <{Wikibase.SCHEMA}isPartOf> {home} .\n")
            lines.append(f"{article} <{Wikibase.SCHEMA}name> {text_literal(link.title)}@{site.language} .\n")
            lines += [f"{article} <{Wikibase.ONTOLOGY}badge> <{Wikibase.ENTITY}{name}> .\n" for name in link.badges]
            self._share(ValueNode(home, [f'{home} <{Wikibase.ONTOLOGY}wikiGroup> "{site.group}" .\n']))


def _page(page: EntityPage, subject: str, lines: list[str]) -> None:
    """Add version and counts, which the query service attaches to the entity."""
    if page.version is not None:
        lines.append(f'{subject} <{Wikibase.SCHEMA}version> "{page.version}"^^<{XSD}integer> .\n')
    if page.modified is not None:
        when = text_literal(page.modified)
        lines.append(f"{subject} <{Wikibase.SCHEMA}dateModified> {when}^^<{XSD}dateTime> .\n")
    main = page.entities[0]
    groups = (list(group) for _, group in itertools.groupby(main.statements, lambda one: one.main.property))
    external = sum(len(group) for group in groups if group[0].main.columns[1] == "external-id")
    counts = {"statements": len(main.statements), "identifiers": external}
    if main.kind == "item":
        counts["sitelinks"] = page.sitelink_count
    lines += [f'{subject} <{Wikibase.ONTOLOGY}{name}> "{n}"^^<{XSD}integer> .\n' for name, n in counts.items()]


def _links(entity: Entity, subject: str, lines: list[str]) -> None:
    lines += [f"{subject} {_LINKS[name]} <{Wikibase.ENTITY}{target}> .\n" for name, target in entity.links]


def _property(entity: Entity, subject: str, lines: list[str]) -> None:
    """Add the type of a property, and its predicates."""
    name, datatype = entity.id, entity.datatype or "string"
    words = re.sub(r"\W+", "", "".join(word[:1].upper() + word[1:] for word in datatype.split("-")))
    spaces = {
        "directClaim": "wdt", "claim": "p", "statementProperty": "ps", "statementValue": "psv", "qualifier": "pq",
        "qualifierValue": "pqv", "reference": "pr", "referenceValue": "prv", "novalue": "wdno",
    }  # fmt: skip
    if datatype in ("quantity", "external-id"):
        spaces |= {
            "directClaimNormalized": "wdtn", "statementValueNormalized": "psn", "qualifierValueNormalized": "pqn",
            "referenceValueNormalized": "prn",
        }  # fmt: skip
    lines.append(f"{subject} {TYPE} <{Wikibase.ONTOLOGY}Property> .\n")
    lines.append(f"{subject} <{Wikibase.ONTOLOGY}propertyType> <{Wikibase.ONTOLOGY}{words}> .\n")
    lines += [
        f"{subject} <{Wikibase.ONTOLOGY}{term}> <{Wikibase.PREFIXES[prefix]}{name}> .\n"
        for term, prefix in spaces.items()
    ]
