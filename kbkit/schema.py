"""The schema of a KB: node types, relations with their signatures, attributes, text fields.

Plain frozen data, written to ``manifest.json`` and read back on open. Nothing here touches an engine.
"""

from __future__ import annotations

import bisect
import dataclasses
import graphlib
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

from kbkit.errors import UnknownNameError

T = TypeVar("T")

UNTYPED = "entity"
"""The primary type of nodes that have none, or one too rare to keep."""

KB_NAMESPACE = "urn:kbkit:"
"""Namespace of kbkit's own vocabulary in RDF (``kb:type``)."""

STANDARD_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "kb": KB_NAMESPACE,
}


class Wikibase:
    """Namespaces of Wikibase's RDF, and the prefixes that the Wikidata Query Service declares for every query.

    Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
    """

    ENTITY = "http://www.wikidata.org/entity/"
    PROP = "http://www.wikidata.org/prop/"
    GENID = "http://www.wikidata.org/.well-known/genid/"
    """Values that are known to exist and not what they are (somevalue): the query service makes IRIs of them."""

    ONTOLOGY = "http://wikiba.se/ontology#"
    GEO = "http://www.opengis.net/ont/geosparql#"
    GEOF = "http://www.opengis.net/def/function/geosparql/"
    SCHEMA = "http://schema.org/"
    BLAZEGRAPH = "http://www.bigdata.com/rdf#"
    HINT = "http://www.bigdata.com/queryHints#"
    MWAPI = "https://www.mediawiki.org/ontology#API/"
    GAS = "http://www.bigdata.com/rdf/gas#"

    PREFIXES: ClassVar[Mapping[str, str]] = {
        "wd": ENTITY,
        "wds": ENTITY + "statement/",
        "wdv": "http://www.wikidata.org/value/",
        "wdref": "http://www.wikidata.org/reference/",
        "wdata": "http://www.wikidata.org/wiki/Special:EntityData/",
        "wdt": PROP + "direct/",
        "wdtn": PROP + "direct-normalized/",
        "p": PROP,
        "ps": PROP + "statement/",
        "psv": PROP + "statement/value/",
        "psn": PROP + "statement/value-normalized/",
        "pq": PROP + "qualifier/",
        "pqv": PROP + "qualifier/value/",
        "pqn": PROP + "qualifier/value-normalized/",
        "pr": PROP + "reference/",
        "prv": PROP + "reference/value/",
        "prn": PROP + "reference/value-normalized/",
        "wdno": PROP + "novalue/",
        "wikibase": ONTOLOGY,
        "bd": BLAZEGRAPH,
        "hint": HINT,
        "mwapi": MWAPI,
        "gas": GAS,
        "schema": SCHEMA,
        "prov": "http://www.w3.org/ns/prov#",
        "geo": GEO,
        "geof": GEOF,
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
        "owl": "http://www.w3.org/2002/07/owl#",
        "skos": "http://www.w3.org/2004/02/skos/core#",
        "dct": "http://purl.org/dc/terms/",
        "cc": "http://creativecommons.org/ns#",
        "ontolex": "http://www.w3.org/ns/lemon/ontolex#",
        "fn": "http://www.w3.org/2005/xpath-functions#",
        "foaf": "http://xmlns.com/foaf/0.1/",
        "dbo": "http://dbpedia.org/ontology/",
        "mediawiki": "https://www.mediawiki.org/ontology#",
        "sesame": "http://www.openrdf.org/schema/sesame#",
        "dc": "http://purl.org/dc/elements/1.1/",
        "bds": "http://www.bigdata.com/rdf/search#",
    }
    """Prefix -> namespace, as the Wikidata Query Service supplies them without being asked."""


@dataclass(frozen=True)
class Attribute:
    """A typed column of a node type or a relation; ``type`` is DuckDB's name for it (``BIGINT``, ``VARCHAR[]``).

    ``label`` says what it is, where the name does not (``P569``: date of birth).
    """

    name: str
    type: str
    label: str = ""


@dataclass(frozen=True)
class NodeType:
    """A node type.

    ``first`` and ``count`` give the id range ``first .. first + count - 1`` of the nodes whose primary type it is;
    ``others`` counts the nodes that have it besides their primary type, and ``overlaps`` names those primary types.
    ``table`` is its name in SQL.
    """

    name: str
    first: int
    count: int
    others: int
    table: str
    iri: str
    attributes: tuple[Attribute, ...] = ()
    description: str = ""
    overlaps: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """The largest id of the range; ``first - 1`` when the range is empty."""
        return self.first + self.count - 1

    @property
    def members(self) -> int:
        """Nodes that have this type, primary or other."""
        return self.count + self.others


@dataclass(frozen=True)
class Signature:
    """One (head type, tail type) that a relation joins, by primary types, and how many edges do so."""

    head: str
    tail: str
    edges: int


@dataclass(frozen=True)
class Relation:
    """A relation. ``edges`` counts rows (parallel edges too), ``pairs`` distinct (head, tail)."""

    name: str
    table: str
    iri: str
    edges: int
    pairs: int
    signatures: tuple[Signature, ...]
    symmetric: bool = False
    attributes: tuple[Attribute, ...] = ()
    label: str = ""

    def joins(self) -> list[Join]:
        """Return the joins of every signature: all forward ones, then all backward ones."""
        forward = [Join(self, True, s.head, s.tail, s.edges) for s in self.signatures]
        return [*forward, *(Join(self, False, s.tail, s.head, s.edges) for s in self.signatures)]


class Join(NamedTuple):
    """A relation that leads from nodes of the primary type ``source`` to nodes of the primary type ``target``.

    It is followed from head to tail (``forward``) or from tail to head. ``edges`` counts the edges of its signature.
    """

    relation: Relation
    forward: bool
    source: str
    target: str
    edges: int


@dataclass(frozen=True)
class TextField:
    """A named text of nodes; ``weight`` multiplies its score in full-text search; ``tokens`` are split at spaces."""

    name: str
    weight: float
    texts: int
    tokens: int


@dataclass(frozen=True)
class Role:
    """Somebody who asks for nodes of some ``types`` (none: any), and what they are interested in.

    ``interests`` says so in a sentence or two; ``fields`` are the text fields that speak of it, none: all.
    """

    name: str
    types: tuple[str, ...] = ()
    interests: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """What a KB holds. Types are in the order of their id ranges.

    ``candidate_types`` are those that the source's own questions ask for; none: all. ``roles`` are who asks.
    ``rdf_source`` says that SPARQL sees the source's own statements; there a node's IRI is ``key_base`` and its key.
    ``dialect`` is the SPARQL that queries are written in (``wikidata``; else the standard's); ``extra_tables`` are
    further tables of the source in SQL.
    """

    name: str
    base: str
    node_types: tuple[NodeType, ...]
    relations: tuple[Relation, ...]
    text_fields: tuple[TextField, ...]
    rdf_source: bool = False
    name_weight: float = 1.25
    candidate_types: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    key_base: str = ""
    dialect: str = ""
    extra_tables: tuple[str, ...] = ()

    @cached_property
    def _types(self) -> dict[str, NodeType]:
        return {t.name: t for t in self.node_types}

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        return {r.name: r for r in self.relations}

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return sum(t.count for t in self.node_types)

    @property
    def edges(self) -> int:
        """Number of edges, parallel ones included, symmetric relations counted both ways."""
        return sum(r.edges for r in self.relations)

    def type(self, name: str) -> NodeType:
        """The node type called ``name``; raises :class:`UnknownNameError` with the closest names."""
        return _lookup("type", name, self._types)

    @cached_property
    def primary_types(self) -> tuple[NodeType, ...]:
        """The types that are the primary one of some node, in the order of their id ranges."""
        return tuple(t for t in self.node_types if t.count)

    def type_of(self, node: int) -> NodeType:
        """The primary type of a node, by its range."""
        return self.primary_types[bisect.bisect_left(self.primary_types, node, key=lambda t: t.last)]

    def relation(self, name: str) -> Relation:
        """The relation called ``name``; raises :class:`UnknownNameError` with the closest names."""
        return _lookup("relation", name, self._relations)

    # -- how relations join types -------------------------------------------------------------------------------------

    @cached_property
    def _primary_types_of(self) -> dict[str, frozenset[str]]:
        return {t.name: frozenset((t.name, *t.overlaps)) for t in self.node_types}

    @cached_property
    def _types_of(self) -> dict[str, tuple[str, ...]]:
        result: dict[str, tuple[str, ...]] = {t.name: (t.name,) for t in self.node_types}
        for node_type in self.node_types:
            for primary in node_type.overlaps:
                result[primary] = (*result.get(primary, (primary,)), node_type.name)
        return result

    @cached_property
    def _joins_from(self) -> dict[str, list[Join]]:
        result: dict[str, list[Join]] = {}
        for relation in self.relations:
            for s in relation.signatures:
                more = 0 if s.head == s.tail else s.edges  # a loop is counted by its forward join
                result.setdefault(s.head, []).append(Join(relation, True, s.head, s.tail, s.edges))
                result.setdefault(s.tail, []).append(Join(relation, False, s.tail, s.head, more))
        return result

    def may_have(self, primary: str, node_type: str | None) -> bool:
        """Return whether nodes of a primary type may have a type (None: any)."""
        return node_type is None or primary == node_type or primary in self._primary_types_of[node_type]

    def types_of(self, primary: str) -> tuple[str, ...]:
        """Return the types that nodes of a primary type may have, the primary type first."""
        return self._types_of.get(primary, (primary,))

    def joins_between(self, source: str | None, target: str | None) -> list[Join]:
        """Return the joins from nodes of a type to nodes of another, by signature; None is any type, but not for both.

        If a relation joins a type to itself, its backward join has no edges, so that none is counted twice.
        """
        if source is None:
            back = [] if target is None else self.joins_between(target, None)
            return [Join(j.relation, not j.forward, j.target, j.source, j.edges) for j in back]
        ends = None if target is None else self._primary_types_of.get(target, frozenset())
        joins = (join for near in self._primary_types_of.get(source, ()) for join in self._joins_from.get(near, ()))
        return [join for join in joins if ends is None or join.target in ends]

    def allows(self, relation: Relation, source: str | None, target: str | None, *, forward: bool) -> bool:
        """Return whether a relation leads from nodes of a type to nodes of another in a direction (None: any type)."""
        head, tail = (source, target) if forward else (target, source)
        return any(self.may_have(s.head, head) and self.may_have(s.tail, tail) for s in relation.signatures)

    def direction(self, relation: Relation, source: str | None, target: str | None) -> bool | None:
        """Return the direction of a step: forward (True) if a signature fits, else backward (False), else None."""
        return next((f for f in (True, False) if self.allows(relation, source, target, forward=f)), None)

    def relations_between(self, source: str | None, target: str | None) -> list[tuple[Relation, bool]]:
        """Return the relations between two types (None: any), each with the direction of a step."""
        found = ((relation, self.direction(relation, source, target)) for relation in self.relations)
        return [(relation, forward) for relation, forward in found if forward is not None]

    @cached_property
    def _relations_from(self) -> dict[str, list[tuple[Relation, bool]]]:
        result: dict[str, list[tuple[Relation, bool]]] = {}
        for forward in (True, False):
            for relation in self.relations:
                if forward or not relation.symmetric:
                    for primary in dict.fromkeys(s.head if forward else s.tail for s in relation.signatures):
                        result.setdefault(primary, []).append((relation, forward))
        return result

    def relations_from(self, primary: str) -> list[tuple[Relation, bool]]:
        """Return the relations of nodes of a primary type, forward then backward; symmetric ones forward only."""
        return self._relations_from.get(primary, [])

    def prefixes(self) -> dict[str, str]:
        """SPARQL prefixes that this KB's IRIs call for, beside the standard ones.

        ``type:``, ``rel:``, ``attr:`` and ``text:`` are the KB's vocabulary. In a KB that did not come from RDF, each
        node type whose name can be one is a prefix too (``country:FRA``).
        """
        own = {kind: f"{self.base}{kind}/" for kind in ("type", "rel", "attr", "text")}
        types = {} if self.rdf_source else {t.name: self.node_namespace(t.name) for t in self.node_types}
        usable = {name: iri for name, iri in types.items() if name.isascii() and name.replace("_", "").isalnum()}
        letters = {name: iri for name, iri in usable.items() if name[0].isalpha() and not name.endswith("_")}
        theirs = Wikibase.PREFIXES if self.dialect == "wikidata" else {}
        return {**letters, **own, **theirs, **STANDARD_PREFIXES}

    def node_namespace(self, type_name: str) -> str:
        """The IRI that stands before the keys of a type's nodes, in a KB that did not come from RDF."""
        return f"{self.base}{iri_escape(type_name)}/"

    def node_iri(self, type_name: str, key: str) -> str:
        """The IRI of the node with this primary type and key."""
        return self.key_base + key if self.rdf_source else self.node_namespace(type_name) + iri_escape(key)

    def to_json(self) -> dict[str, Any]:
        """A plain structure for ``manifest.json``."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Schema:
        """The inverse of :meth:`to_json`."""
        types = tuple(
            NodeType(**{**t, "attributes": _attributes(t), "overlaps": tuple(t.get("overlaps", ()))})
            for t in data["node_types"]
        )
        relations = tuple(
            Relation(
                **{**r, "attributes": _attributes(r), "signatures": tuple(Signature(**s) for s in r["signatures"])}
            )
            for r in data["relations"]
        )
        fields = tuple(TextField(**f) for f in data["text_fields"])
        candidates = tuple(data.get("candidate_types", ()))
        roles = tuple(
            Role(r["name"], tuple(r["types"]), r["interests"], tuple(r["fields"])) for r in data.get("roles", ())
        )
        return Schema(
            **{
                **data,
                "node_types": types,
                "relations": relations,
                "text_fields": fields,
                "candidate_types": candidates,
                "roles": roles,
                "extra_tables": tuple(data.get("extra_tables", ())),
            }
        )


def merged_attributes(owners: Iterable[Sequence[Attribute]]) -> list[Attribute]:
    """The attributes of several types or relations, once each, in an order that agrees with every owner's.

    Each owner's are some columns of one table, in its order; so such an order exists.
    """
    sorter: graphlib.TopologicalSorter[Attribute] = graphlib.TopologicalSorter()
    for attributes in owners:
        for before, after in zip((None, *attributes), attributes, strict=False):
            sorter.add(after, *(() if before is None else (before,)))
    return list(sorter.static_order())


def iri_escape(text: str) -> str:
    """Percent-encode all but letters, digits and ``-._~``, as DuckDB's ``url_encode`` does to keys."""
    return urllib.parse.quote(text, safe="")


def _attributes(data: dict[str, Any]) -> tuple[Attribute, ...]:
    return tuple(Attribute(**a) for a in data["attributes"])


def _lookup(kind: str, name: str, known: dict[str, T]) -> T:
    if name in known:
        return known[name]
    folded = [key for key in known if key.casefold() == name.casefold()]
    if len(folded) == 1:
        return known[folded[0]]
    raise UnknownNameError(kind, name, known)
