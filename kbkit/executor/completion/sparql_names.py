"""SPARQL names of a KB's relations, attributes, types and prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kbkit.executor.completion.ranking import CompletionItem, ItemPool
from kbkit.schema import Schema, Wikibase, iri_escape

_LOCAL = re.compile(r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:[A-Za-z0-9_.-]|%[0-9A-Fa-f]{2})*(?<!\.)")
_PROPERTY = re.compile(r"P[1-9][0-9]*")

COMMON = {
    "rdf": {"type": "type"},
    "rdfs": {"label": "name", "comment": "description", "subClassOf": "narrower class of", "seeAlso": "see also"},
    "skos": {"altLabel": "alias", "prefLabel": "name", "broader": "broader", "narrower": "narrower"},
    "kb": {
        **{"type": "type, primary or secondary", "key": "key in the source", "name": "name"},
        **{"search": "SERVICE: full text", "matches": "search text", "score": "score", "limit": "hits"},
    },
    "xsd": dict.fromkeys(
        ("integer", "decimal", "double", "date", "dateTime", "boolean", "string", "gYear"), "datatype"
    ),
    "wikibase": {
        **{"label": "SERVICE: labels", "language": "languages of the labels", "rank": "rank of a statement"},
        **{
            "directClaim": "property as wdt:",
            "claim": "property as p:",
            "timeValue": "time",
            "quantityAmount": "amount",
        },
        **{"PreferredRank": "rank", "NormalRank": "rank", "DeprecatedRank": "rank", "sitelinks": "number of them"},
    },
    "bd": {"serviceParam": "parameter of a service"},
    "schema": {"description": "description", "about": "item of an article", "name": "title", "inLanguage": "language"},
}
"""Local names of common vocabularies."""

_PROPERTY_PREFIXES = ("wdt", "wdtn", "p", "ps", "psv", "psn", "pq", "pqv", "pqn", "pr", "prv", "prn", "wdno")


@dataclass
class SparqlNames:
    """``relations``, ``attributes`` and ``types`` are pairs (IRI, item); items are named by the local part."""

    schema: Schema
    declared: Mapping[str, str] = field(default_factory=dict)
    """Prefixes that the query declares."""
    prefixes: Mapping[str, str] = field(init=False)
    relations: list[tuple[str, CompletionItem]] = field(init=False)
    attributes: list[tuple[str, CompletionItem]] = field(init=False)
    types: list[tuple[str, CompletionItem]] = field(init=False)
    _pools: dict[str, ItemPool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.prefixes = {**self.schema.prefixes(), **self.declared}
        self._namespaces = {iri: name for name, iri in reversed(self.prefixes.items())}
        self._namespaces |= {iri: name for name, iri in self.declared.items()}
        self.wikidata = self.schema.dialect == "wikidata"
        self.types = list(self._types())
        self.relations = list(self._relations())
        self.attributes = list(self._attributes())

    def short(self, iri: str) -> str:
        """Return an IRI as a prefixed name, or else in angle brackets."""
        local = re.split("[/#:]", iri)[-1]
        prefix = self._namespaces.get(iri[: len(iri) - len(local)])
        return f"{prefix}:{local}" if prefix is not None and _LOCAL.fullmatch(local) else f"<{iri}>"

    def _item(self, iri: str, name: str, meta: str, weight: int, label: str = "") -> tuple[str, CompletionItem]:
        text = self.short(iri)
        return iri, CompletionItem(name, text, meta, weight, label, text)

    def _types(self) -> Iterator[tuple[str, CompletionItem]]:
        for t in self.schema.node_types:
            yield self._item(t.iri, t.name, f"type {t.name}, {t.members:,} nodes", t.members)

    def _relations(self) -> Iterator[tuple[str, CompletionItem]]:
        for r in self.schema.relations:
            chosen = max(r.signatures, key=lambda s: s.edges, default=None)
            joined = f"{chosen.head} -> {chosen.tail}" if chosen else "relation"
            yield self._item(r.iri, r.name, r.label or joined, r.edges, r.label)

    def _attributes(self) -> Iterator[tuple[str, CompletionItem]]:
        found: dict[str, tuple[str, str, int]] = {}
        for t in self.schema.node_types:
            for a in t.attributes:
                weight = found[a.name][2] if a.name in found else 0
                found[a.name] = (a.type, a.label, weight + t.members)
        for name, (kind, label, weight) in found.items():
            if self.schema.rdf_source and not self.wikidata:
                continue  # the source's IRIs of attributes are unknown
            if self.wikidata and _PROPERTY.fullmatch(name):
                iri = self.prefixes["wdt"] + name
            else:
                iri = f"{self.schema.base}attr/{iri_escape(name)}"
            yield self._item(iri, name, label or f"attribute, {kind}", weight, label)

    @cached_property
    def predicates(self) -> ItemPool:
        """Relations and attributes."""
        return ItemPool(item for _, item in (*self.relations, *self.attributes))

    @cached_property
    def all_types(self) -> ItemPool:
        """Node types."""
        return ItemPool(item for _, item in self.types)

    @cached_property
    def tails(self) -> dict[str, set[str]]:
        """Tail types of each relation, by its name in the query."""
        relations = zip(self.relations, self.schema.relations, strict=True)
        return {item.text: {s.tail for s in relation.signatures} for (_, item), relation in relations}

    def common_predicates(self) -> list[CompletionItem]:
        """Return the predicates that every node has."""
        first = [CompletionItem("a", "a ", "has the type", 0, "", "a")]
        names = ["rdfs:label", "skos:altLabel", "kb:type", "rdf:type", "schema:description"]
        names += [] if self.schema.rdf_source else ["kb:key"]
        described = {f"{prefix}:{local}": meta for prefix, locals_ in COMMON.items() for local, meta in locals_.items()}
        return first + [CompletionItem(n, "", described[n]) for n in names if n.partition(":")[0] in self.prefixes]

    def within(self, prefix: str) -> ItemPool:
        """Return the names in the namespace of a prefix: the KB's and common ones."""
        if prefix not in self._pools:
            self._pools[prefix] = self._pool(prefix, self.prefixes[prefix])
        return self._pools[prefix]

    def _pool(self, prefix: str, namespace: str) -> ItemPool:
        properties = self.wikidata and prefix in _PROPERTY_PREFIXES and namespace == Wikibase.PREFIXES[prefix]
        found: dict[str, CompletionItem] = {}
        for iri, item in (*self.relations, *self.attributes, *self.types):
            local = iri[len(namespace) :] if iri.startswith(namespace) else ""
            if properties and _PROPERTY.fullmatch(item.name):
                local = item.name
            if local and _LOCAL.fullmatch(local):
                text = f"{prefix}:{local}"
                found.setdefault(text, item._replace(name=local, text=text, display=text))
        for local, meta in COMMON.get(prefix, {}).items():
            text = f"{prefix}:{local}"
            found.setdefault(text, CompletionItem(local, text, meta, 0, "", text))
        return ItemPool(found.values())
