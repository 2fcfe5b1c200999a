"""An entity of Wikibase's JSON -> N-Triples in the form that the Wikidata Query Service holds.

The model: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format. As the query service does on loading, types
that hold for nearly everything are left out (``wikibase:Item``, ``Statement``, ``Reference``; those of value nodes
stay), and what dumps say of an entity's page is said of the entity. Known differences: value nodes are named by a hash
of our own; somevalue is an IRI under ``Wikibase.GENID``, one for a statement's ``ps:`` and ``wdt:``; formulas are
TeX, not MathML; units are normalized where ``units`` knows them; OWL's declarations of predicates are not written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from kbkit.readers.wikidata import entity as entities
from kbkit.readers.wikidata import objects, sites, values
from kbkit.readers.wikidata.entity import Entity, Languages, Statement
from kbkit.readers.wikidata.literals import text_literal
from kbkit.readers.wikidata.objects import TYPE, XSD, Node, Object
from kbkit.schema import Wikibase

_LABEL = f"<{Wikibase.PREFIXES['rdfs']}label>"
_ALIAS = f"<{Wikibase.PREFIXES['skos']}altLabel>"
_DEFINITION = f"<{Wikibase.PREFIXES['skos']}definition>"
_DESCRIPTION = f"<{Wikibase.SCHEMA}description>"
_DERIVED = f"<{Wikibase.PREFIXES['prov']}wasDerivedFrom>"
_SAME = f"<{Wikibase.PREFIXES['owl']}sameAs>"
_ONTOLEX = Wikibase.PREFIXES["ontolex"]
_LEXICAL = {"lexeme": "LexicalEntry", "form": "Form", "sense": "LexicalSense"}
_NAMES = {"lexeme": f"<{Wikibase.ONTOLOGY}lemma>", "form": f"<{_ONTOLEX}representation>"}
_OF_LEXEMES = (
    (f"<{Wikibase.PREFIXES['dct']}language>", "language"),
    (f"<{Wikibase.ONTOLOGY}lexicalCategory>", "lexicalCategory"),
)
_RANKS = {name: f"<{Wikibase.ONTOLOGY}{name.capitalize()}Rank>" for name in entities.RANKS}
_IN_ENTITY = f"<{Wikibase.ENTITY}"
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
    """Those of the property ``P31``."""
    return Predicates(*(f"<{Wikibase.PREFIXES[prefix]}{name}>" for prefix in Predicates._fields))


class Writer:
    """Collects lines: ``own`` of one entity each, ``shared`` of nodes that several may lead to, each node once."""

    def __init__(self, languages: Languages, *, links: bool) -> None:
        self.own: list[str] = []
        self.shared: list[str] = []
        self.properties: set[str] = set()
        self.mentioned: set[str] = set()  # entities in references
        self._languages = languages
        self._links = links
        self._seen: set[str] = set()

    def add(self, entity: Entity) -> None:
        """Add what is said of an entity; each line once."""
        lines: list[str] = []
        kind = entities.kind(entity)
        subject = f"<{Wikibase.ENTITY}{values.entity_id(entity['id'])}>"
        self._page(entity, kind, subject, lines)
        self._entity(entity, kind, subject, lines)
        if kind == "lexeme":
            self._lexeme(entity, subject, lines)
        if self._links:
            self._sitelinks(entity, subject, lines)
        self.own.extend(dict.fromkeys(lines))

    def add_redirect(self, name: str, target: str) -> None:
        """Say that an entity has been merged into another."""
        self.own.append(
            f"<{Wikibase.ENTITY}{values.entity_id(name)}> {_SAME} <{Wikibase.ENTITY}{values.entity_id(target)}> .\n"
        )

    def take(self) -> tuple[list[str], list[str]]:
        """Hand over the lines collected so far."""
        own, shared = self.own, self.shared
        self.own, self.shared = [], []
        return own, shared

    def _page(self, entity: Entity, kind: str, subject: str, lines: list[str]) -> None:
        """Version and counts, which the query service has on the entity."""
        if isinstance(entity.get("lastrevid"), int):
            lines.append(f'{subject} <{Wikibase.SCHEMA}version> "{entity["lastrevid"]}"^^<{XSD}integer> .\n')
        if isinstance(entity.get("modified"), str):
            when = text_literal(entity["modified"])
            lines.append(f"{subject} <{Wikibase.SCHEMA}dateModified> {when}^^<{XSD}dateTime> .\n")
        claims = entities.claims(entity)
        external = sum(
            len(statements)
            for statements in claims.values()
            if statements[0]["mainsnak"].get("datatype") == "external-id"
        )
        counts = {"statements": sum(map(len, claims.values())), "identifiers": external}
        if kind == "item":
            counts["sitelinks"] = len(entity.get("sitelinks") or ())
        for name, count in counts.items():
            lines.append(f'{subject} <{Wikibase.ONTOLOGY}{name}> "{count}"^^<{XSD}integer> .\n')

    def _entity(self, entity: Entity, kind: str, subject: str, lines: list[str]) -> None:
        name = _NAMES.get(kind, _LABEL)
        for tag, label in self._languages.of(entities.labels(entity)):
            lines.append(f"{subject} {name} {text_literal(label['value'])}@{tag} .\n")
        about = _DEFINITION if kind == "sense" else _DESCRIPTION
        for tag, description in self._languages.of(entities.descriptions(entity)):
            lines.append(f"{subject} {about} {text_literal(description['value'])}@{tag} .\n")
        for tag, aliases in self._languages.of(entity.get("aliases")):
            for alias in aliases if isinstance(aliases, list) else aliases.values():
                lines.append(f"{subject} {_ALIAS} {text_literal(alias['value'])}@{tag} .\n")
        if kind in _LEXICAL:
            lines.append(f"{subject} {TYPE} <{_ONTOLEX}{_LEXICAL[kind]}> .\n")
        elif kind == "property":
            _property(entity, subject, lines)
        elif kind != "item":
            lines.append(f"{subject} {TYPE} <{Wikibase.ONTOLOGY}{kind.capitalize()}> .\n")
        for prop, statements in entities.claims(entity).items():
            names = predicates(values.property_id(prop))
            self.properties.add(prop)
            best = entities.best_rank(statements)
            for statement in statements:
                self._statement(statement, subject, names, best, lines)

    def _statement(self, statement: Statement, subject: str, names: Predicates, best: str, lines: list[str]) -> None:
        own = entities.statement_id(statement, subject.rsplit("/", 1)[-1][:-1])
        node = f"<{Wikibase.PREFIXES['wds']}{_NOT_IN_NAMES.sub('-', own)}>"
        rank, snak = statement.get("rank", "normal"), statement["mainsnak"]
        lines.append(f"{subject} {names.p} {node} .\n")
        lines.append(f"{node} <{Wikibase.ONTOLOGY}rank> {_RANKS[rank]} .\n")
        said = self._snak(snak, node, names.ps, names.psv, names.psn, names.wdno, own, lines)
        if rank == best:
            lines.append(f"{node} {TYPE} <{Wikibase.ONTOLOGY}BestRank> .\n")
            lines.append(f"{subject} {TYPE} {names.wdno} .\n" if said is None else f"{subject} {names.wdt} {said} .\n")
        if statement.get("qualifiers"):
            order = statement.get("qualifiers-order")
            for position, (prop, qualifier) in enumerate(entities.in_order(statement["qualifiers"], order)):
                of = predicates(prop)
                self.properties.add(prop)
                self._snak(qualifier, node, of.pq, of.pqv, of.pqn, of.wdno, f"{own} {position}", lines)
        for reference in statement.get("references") or ():
            lines.append(f"{node} {_DERIVED} {self._reference(reference)} .\n")

    def _snak(
        self, snak: Mapping[str, Any], node: str, simple: str, full: str, normal: str, none: str, place: str,
        lines: list[str],
    ) -> str | None:  # fmt: skip
        """Say what a snak says of ``node``; returns the object, None for novalue. ``place`` names a somevalue."""
        if snak["snaktype"] == "novalue":
            lines.append(f"{node} {TYPE} {none} .\n")
            return None
        if snak["snaktype"] == "somevalue":
            code = hashlib.md5(f"{place} {simple}".encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
            made = Object(f"<{Wikibase.GENID}{code}>")
        else:
            made = objects.of(values.datatype(snak), snak["datavalue"])
        lines.append(f"{node} {simple} {made.text} .\n")
        if made.node is not None:
            lines.append(f"{node} {full} {made.node.name} .\n")
            self._share(made.node)
            if made.node.normal is not None:
                lines.append(f"{node} {normal} {made.node.normal.name} .\n")
                self._share(made.node.normal)
        return made.text

    def _share(self, node: Node) -> None:
        if node.name not in self._seen:
            self._seen.add(node.name)
            self.shared.extend(node.lines)

    def _reference(self, reference: Mapping[str, Any]) -> str:
        snaks, code = reference["snaks"], reference.get("hash")
        if not isinstance(code, str) or not code.isalnum() or not code.isascii():
            content = json.dumps(snaks, sort_keys=True).encode()
            code = hashlib.sha1(content, usedforsecurity=False).hexdigest()
        node = f"<{Wikibase.PREFIXES['wdref']}{code}>"
        if node not in self._seen:
            self._seen.add(node)
            lines: list[str] = []
            for position, (prop, snak) in enumerate(entities.in_order(snaks, reference.get("snaks-order"))):
                of = predicates(prop)
                self.properties.add(prop)
                said = self._snak(snak, node, of.pr, of.prv, of.prn, of.wdno, f"{code} {position}", lines)
                if said and said.startswith(_IN_ENTITY):
                    self.mentioned.add(said[len(_IN_ENTITY) : -1])
            self.shared.extend(lines)
        return node

    def _lexeme(self, entity: Entity, subject: str, lines: list[str]) -> None:
        for predicate, name in (
            (f"<{Wikibase.PREFIXES['dct']}language>", "language"),
            (f"<{Wikibase.ONTOLOGY}lexicalCategory>", "lexicalCategory"),
        ):
            if entity.get(name):
                lines.append(f"{subject} {predicate} <{Wikibase.ENTITY}{values.entity_id(entity[name])}> .\n")
        for kind, part in entities.sub_entities(entity):
            own = f"<{Wikibase.ENTITY}{values.entity_id(part['id'])}>"
            lines.append(f"{subject} <{_ONTOLEX}{'lexicalForm' if kind == 'form' else 'sense'}> {own} .\n")
            self._entity(part, kind, own, lines)
            for feature in part.get("grammaticalFeatures") or ():
                lines.append(
                    f"{own} <{Wikibase.ONTOLOGY}grammaticalFeature> <{Wikibase.ENTITY}{values.entity_id(feature)}> .\n"
                )

    def _sitelinks(self, entity: Entity, subject: str, lines: list[str]) -> None:
        for name, link in (entity.get("sitelinks") or {}).items():
            site = sites.site(name)
            if site is None:
                continue
            page, home = f"<{sites.page(site, link['title'])}>", f"<{site.address}>"
            lines.append(f"{page} {TYPE} <{Wikibase.SCHEMA}Article> .\n")
            lines.append(f"{page} <{Wikibase.SCHEMA}about> {subject} .\n")
            lines.append(f'{page} <{Wikibase.SCHEMA}inLanguage> "{site.language}" .\n')
            lines.append(f"{page} <{Wikibase.SCHEMA}isPartOf> {home} .\n")
            lines.append(f"{page} <{Wikibase.SCHEMA}name> {text_literal(link['title'])}@{site.language} .\n")
            for badge in link.get("badges") or ():
                lines.append(f"{page} <{Wikibase.ONTOLOGY}badge> <{Wikibase.ENTITY}{values.entity_id(badge)}> .\n")
            self._share(Node(home, [f'{home} <{Wikibase.ONTOLOGY}wikiGroup> "{site.group}" .\n']))


def _property(entity: Entity, subject: str, lines: list[str]) -> None:
    """The type of a property, and the predicates that stand for it."""
    name, datatype = entity["id"], entity.get("datatype") or "string"
    words = re.sub(r"\W+", "", "".join(word[:1].upper() + word[1:] for word in datatype.split("-")))
    made = {
        "directClaim": "wdt", "claim": "p", "statementProperty": "ps", "statementValue": "psv", "qualifier": "pq",
        "qualifierValue": "pqv", "reference": "pr", "referenceValue": "prv", "novalue": "wdno",
    }  # fmt: skip
    if datatype in ("quantity", "external-id"):
        made |= {
            "directClaimNormalized": "wdtn", "statementValueNormalized": "psn", "qualifierValueNormalized": "pqn",
            "referenceValueNormalized": "prn",
        }  # fmt: skip
    lines.append(f"{subject} {TYPE} <{Wikibase.ONTOLOGY}Property> .\n")
    lines.append(f"{subject} <{Wikibase.ONTOLOGY}propertyType> <{Wikibase.ONTOLOGY}{words}> .\n")
    lines += [
        f"{subject} <{Wikibase.ONTOLOGY}{term}> <{Wikibase.PREFIXES[prefix]}{name}> .\n"
        for term, prefix in made.items()
    ]


def terms(name: str, rows: list[tuple[str, str, str]]) -> list[str]:
    """The lines of (term, language, value) rows: for an entity of which nothing else is taken."""
    known = {"label": _LABEL, "description": _DESCRIPTION, "alias": _ALIAS}
    return [f"<{Wikibase.ENTITY}{name}> {known[term]} {text_literal(value)}@{tag} .\n" for term, tag, value in rows]
