"""The schema of a KB: node types, relations with their signatures, attributes, text fields.

Plain frozen data, stored in ``manifest.json``. Also how names are written as SQL identifiers and IRIs.
"""

from __future__ import annotations

import bisect
import dataclasses
import graphlib
import html
import itertools
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

from kbkit.errors import UnknownNameError

T = TypeVar("T")

UNTYPED = "entity"
"""Primary type of nodes without a type, or whose type is too rare for one of its own."""

KB_NAMESPACE = "urn:kbkit:"
"""Namespace of kbkit's RDF vocabulary (``kb:type``)."""

_SHOWN = 40
"""Maximum number of types in a notebook's table."""

STANDARD_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "kb": KB_NAMESPACE,
}


class Wikibase:
    """Namespaces of Wikibase's RDF.

    Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
    """

    ENTITY = "http://www.wikidata.org/entity/"
    PROP = "http://www.wikidata.org/prop/"
    GENID = "http://www.wikidata.org/.well-known/genid/"
    """Unknown values (``somevalue``), which the query service represents as IRIs."""

    ONTOLOGY = "http://wikiba.se/ontology#"
    GEO = "http://www.opengis.net/ont/geosparql#"
    GEOF = "http://www.opengis.net/def/geosparql/function/"
    """The query service's own namespace, which differs from GeoSPARQL's."""

    SUBGRAPH = "https://query.wikidata.org/subgraph/"
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
        "uom": "http://www.opengis.net/def/uom/OGC/1.0/",
        **{name: STANDARD_PREFIXES[name] for name in ("rdf", "rdfs", "xsd", "owl", "skos")},
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
        "wdsubgraph": SUBGRAPH,
    }
    """Namespaces by prefix, predeclared by the Wikidata Query Service."""


@dataclass(frozen=True)
class Attribute:
    """A typed column of a node type or a relation.

    ``type`` is a DuckDB type (``BIGINT``, ``VARCHAR[]``), ``label`` a readable name (``P569``: date of birth).
    """

    name: str
    type: str
    label: str = ""


@dataclass(frozen=True)
class NodeType:
    """A node type.

    Nodes with this primary type have the ids ``first .. first + count - 1``. ``others`` is the number of nodes with it
    as a secondary type, ``overlaps`` lists their primary types. ``table`` is the name in SQL. ``article`` precedes
    names in generated sentences. ``name_label`` and ``key_label`` say what the source calls names and keys, if it has
    other words for them: ``Party_Theme``, ``Ssn``.
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
    article: str = ""
    name_label: str = ""
    key_label: str = ""

    @property
    def last(self) -> int:
        """Last id of the range; ``first - 1`` if it is empty."""
        return self.first + self.count - 1

    @property
    def members(self) -> int:
        """Number of nodes of this type, primary or secondary."""
        return self.count + self.others


@dataclass(frozen=True)
class Signature:
    """A pair of primary types (head, tail) that a relation joins, and the number of such edges."""

    head: str
    tail: str
    edges: int


@dataclass(frozen=True)
class Relation:
    """A relation; ``edges`` includes parallel edges, ``pairs`` is the number of distinct (head, tail).

    ``table`` is the name in SQL; a ``symmetric`` relation is stored in both directions; ``words`` are further words for
    it in questions. ``phrases`` are (subject, verb phrase): the subject is a type, or ``head`` or ``tail`` for nodes of
    any type at that end; further phrases of a subject say the same in other words.
    """

    name: str
    table: str
    iri: str
    edges: int
    pairs: int
    signatures: tuple[Signature, ...]
    symmetric: bool = False
    attributes: tuple[Attribute, ...] = ()
    label: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, str], ...] = ()

    def joins(self) -> list[Join]:
        """Return the joins of every signature: all forward ones, then all backward ones."""
        forward = [Join(self, True, s.head, s.tail, s.edges) for s in self.signatures]
        return [*forward, *(Join(self, False, s.tail, s.head, s.edges) for s in self.signatures)]

    def phrase(self, subject: str, *, of_head: bool) -> str:
        """Return the given verb phrase whose subject is of a type and at an end of the relation, or ""."""
        return next(iter(self.phrases_of(subject, of_head=of_head)), "")

    def phrases_of(self, subject: str, *, of_head: bool) -> list[str]:
        """Return all given verb phrases whose subject is of a type and at an end of the relation."""
        own, end = (
            [text for name, text in self.phrases if name == wanted]
            for wanted in (subject, "head" if of_head else "tail")
        )
        return own or end

    @property
    def shown_label(self) -> str:
        """The label if the name is a code (``P31``), else ''."""
        return "" if any(letter.islower() for letter in self.name) else self.label


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
    """A named text of nodes; ``weight`` multiplies its full-text score, ``tokens`` is its number of words."""

    name: str
    weight: float
    texts: int
    tokens: int


@dataclass(frozen=True)
class Role:
    """A role of a person who asks questions, for generated benchmarks.

    The role asks for nodes of ``types`` (empty: any), ``interests`` describes its interests in a sentence or two, and
    ``fields`` are the relevant text fields (empty: all). ``products``: it asks for products, so that reviews count, and
    the general category is checked first.
    """

    name: str
    types: tuple[str, ...] = ()
    interests: str = ""
    fields: tuple[str, ...] = ()
    products: bool = False


@dataclass(frozen=True, repr=False)
class Schema:
    """The contents of a KB. Types are in the order of their id ranges.

    ``candidate_types`` are the answer types of the source's own questions (empty: all), ``roles`` the people who ask.
    With ``rdf_source``, SPARQL queries the source's own statements, and the IRI of a node is ``key_base`` + key.
    ``dialect`` is the default SPARQL dialect (``wikidata``, or empty for the standard), ``extra_tables`` are further
    SQL tables of the source. With ``types_apart``, the types of its nodes are in a named graph, not among the source's
    statements (KBs that were built before it existed have them there). ``source_prefixes`` are the SPARQL prefixes that
    an RDF source declares, with their IRIs.
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
    types_apart: bool = False
    source_prefixes: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"<Schema {self.name!r}: {len(self.node_types)} types, {len(self.relations)} relations>"

    def _repr_html_(self) -> str:
        """Return the types with their attributes and the relations that lead from them, for a notebook."""
        shown = self.node_types[:_SHOWN]
        rows = [
            (t.name, f"{t.members:,}", _listed(a.name for a in t.attributes), _listed(self._leading_from(t.name)))
            for t in shown
        ]
        style = ' style="text-align:left;vertical-align:top;padding:.1em .8em .1em 0"'
        cells = [
            "".join(f"<{tag}{style}>{html.escape(cell)}</{tag}>" for cell in row)
            for tag, row in [("th", ("type", "nodes", "attributes", "relations")), *(("td", row) for row in rows)]
        ]
        more = (
            f"<div>and {len(self.node_types) - _SHOWN:,} more types</div>" if len(shown) < len(self.node_types) else ""
        )
        return f"<div><table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>{more}</div>"

    def _leading_from(self, type_name: str) -> Iterator[str]:
        """Return the relations whose heads have a type, with the types of their tails."""
        for relation in self.relations:
            tails = [s.tail for s in relation.signatures if s.head == type_name]
            if tails:
                yield f"{relation.name} \N{RIGHTWARDS ARROW} {_listed(tails, 3)}"

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
        """Number of edges, including parallel ones; symmetric relations count in both directions."""
        return sum(r.edges for r in self.relations)

    def type(self, name: str) -> NodeType:
        """Return the node type ``name`` (case-insensitive if unambiguous) or raise :class:`UnknownNameError`."""
        return _lookup("type", name, self._types)

    @cached_property
    def primary_types(self) -> tuple[NodeType, ...]:
        """The types that are the primary type of any node, in the order of their id ranges."""
        return tuple(t for t in self.node_types if t.count)

    def type_of(self, node: int) -> NodeType:
        """Return the primary type of a node, by its id."""
        return self.primary_types[bisect.bisect_left(self.primary_types, node, key=lambda t: t.last)]

    def relation(self, name: str) -> Relation:
        """Return the relation ``name`` (case-insensitive if unambiguous) or raise :class:`UnknownNameError`."""
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
        return node_type is None or primary == node_type or primary in self._primary_types_of.get(node_type, ())

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
        """Return the predeclared SPARQL prefixes, including the standard ones.

        ``type:``, ``rel:``, ``attr:`` and ``text:`` are the KB's vocabulary. In a KB without an RDF source, each node
        type with a suitable name is a prefix too (``country:FRA``). Prefixes of an RDF source replace none of
        these.
        """
        own = {kind: f"{self.base}{kind}/" for kind in ("type", "rel", "attr", "text")}
        types = {} if self.rdf_source else {t.name: self.node_namespace(t.name) for t in self.node_types}
        usable = {name: iri for name, iri in types.items() if name.isascii() and name.replace("_", "").isalnum()}
        letters = {name: iri for name, iri in usable.items() if name[0].isalpha() and not name.endswith("_")}
        theirs = Wikibase.PREFIXES if self.dialect == "wikidata" else {}
        known = {**letters, **own, **theirs, **STANDARD_PREFIXES}
        return known | {name: iri for name, iri in self.source_prefixes if name not in known}

    def node_namespace(self, type_name: str) -> str:
        """Return the IRI prefix of a type's nodes, in a KB without an RDF source."""
        return f"{self.base}{iri_escape(type_name)}/"

    def node_iri(self, type_name: str, key: str) -> str:
        """Return the IRI of the node with this primary type and key."""
        return self.key_base + key if self.rdf_source else self.node_namespace(type_name) + iri_escape(key)

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain JSON data."""
        return dataclasses.asdict(self)

    def problem(self) -> str:
        """Return why no KB can have this schema, which was read from a file; empty if one can.

        Whether its numbers are those of the stores is left to ``kbkit check``. Names of extra tables are checked
        because exports use them as names of files.
        """
        types = {t.name for t in self.node_types}
        if len(types) < len(self.node_types) or len(self._relations) < len(self.relations):
            return "a type or a relation occurs twice"
        for t in self.node_types:
            if not all(0 <= n <= _MAX_NODES for n in (t.first, t.count, t.others)) or not types.issuperset(t.overlaps):
                return f"invalid number of nodes or overlap of type {t.name!r}"
        if not 0 < self.nodes <= _MAX_NODES:
            return f"invalid number of nodes: {self.nodes}"
        for r in self.relations:
            known = all(s.head in types and s.tail in types and 0 <= s.edges < _MAX_ROWS for s in r.signatures)
            if not known or not (0 <= r.pairs < _MAX_ROWS and 0 <= r.edges < _MAX_ROWS):
                return f"invalid signatures or numbers of edges of relation {r.name!r}"
        for field in self.text_fields:
            if not (0 <= field.texts < _MAX_ROWS and 0 <= field.tokens < _MAX_ROWS):
                return f"invalid numbers of texts {field.name!r}"
        names = [f"name of a table: {name!r}" for name in self.extra_tables if not _TABLE_NAME.fullmatch(name)]
        names += [f"prefix {name!r}" for name, iri in self.source_prefixes if not is_prefix(name, iri)]
        return f"invalid {names[0]}" if names else ""


_MAX_NODES, _MAX_ROWS = 2**31 - 1, 2**62
_TABLE_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


_PREFIX = re.compile("[A-Za-z](?:[A-Za-z0-9_.-]{0,60}[A-Za-z0-9_-])?")
_NAMESPACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{}|\\^`\s\x00-\x20]{1,1000}")


def is_prefix(name: str, iri: str) -> bool:
    """Return whether a prefix and its IRI can be declared in SPARQL; those without a name are left out."""
    return bool(_PREFIX.fullmatch(name) and _NAMESPACE.fullmatch(iri) and iri.isprintable())


def merged_attributes(owners: Iterable[Sequence[Attribute]]) -> list[Attribute]:
    """Return the distinct attributes of several types or relations, in an order consistent with each owner's.

    Such an order exists because the attributes of each owner are columns of one table, in its order.
    """
    sorter: graphlib.TopologicalSorter[Attribute] = graphlib.TopologicalSorter()
    for attributes in owners:
        for before, after in zip((None, *attributes), attributes, strict=False):
            sorter.add(after, *(() if before is None else (before,)))
    return list(sorter.static_order())


def _listed(names: Iterable[str], limit: int = 12) -> str:
    """Return the first names, separated by commas."""
    first = list(itertools.islice(names, limit + 1))
    return ", ".join(first[:limit]) + ", \N{HORIZONTAL ELLIPSIS}" * (len(first) > limit)


def iri_escape(text: str) -> str:
    """Percent-encode all characters but letters, digits and ``-._~``, like DuckDB's ``url_encode``."""
    return urllib.parse.quote(text, safe="")


def quote(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return an SQL string literal, for statements where DuckDB accepts no parameter."""
    return "'" + text.replace("'", "''") + "'"


def _lookup(kind: str, name: str, known: dict[str, T]) -> T:
    if name in known:
        return known[name]
    folded = [key for key in known if key.casefold() == name.casefold()]
    if len(folded) == 1:
        return known[folded[0]]
    raise UnknownNameError(kind, name, known)
