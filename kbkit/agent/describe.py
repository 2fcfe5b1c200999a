"""The description of a KB for a model: contents, notation, actions."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kbkit.agent import reply
from kbkit.agent.names import KbNames, line
from kbkit.errors import KbError, UnknownNameError

if TYPE_CHECKING:
    from kbkit.stores import Stores

ACTIONS = {
    "search": ("text", "finds entities and properties by words in their names, aliases and descriptions"),
    "entry": ("id", "shows an entity's properties with values, qualifiers and labels"),
    "examples": ("property", "shows examples of the use of a property, with qualifiers, by its id"),
    "sparql": ("query", "runs a SPARQL query; shows the number of rows, and the first and last rows"),
    "stop": ("", "ends the exploration: the last query is the answer"),
}
"""Action -> its argument and its description."""

NEEDED = ("sparql", "stop")
LISTED = 60
"""Maximum number of types and of relations listed; others are found by search."""

_WIKIDATA = (
    "This is a part of Wikidata. Write queries as for the Wikidata Query Service; its prefixes are predefined.",
    "wdt:P31 matches values of the best rank, p:P31 statements; from a statement ps:P31 matches the value, pq:P580 a"
    " qualifier.",
    "SERVICE wikibase:label returns labels; wikibase:around and wikibase:box find places, wikibase:mwapi entities"
    " by words. There is no other endpoint.",
    "Instances of a class, also of its subclasses: ?x wdt:P31/wdt:P279* wd:Q5 .",
)
_TABLES = (
    "?x a type:NAME . matches the nodes of a type; rdfs:label is the name, skos:altLabel an alias.",
    "The prefixes below, rdf:, rdfs:, xsd:, owl: and skos: are predefined.",
)
_STATEMENTS = (
    "Attributes of an edge belong to a statement about it: ?s rdf:subject ?head ; rdf:predicate rel:NAME ;"
    " rdf:object ?tail ; attr:NAME ?value ."
)
_FULL_TEXT = (
    'SERVICE kb:search { ?x kb:matches "words" ; kb:limit 20 } finds entities by words in their names and texts; the'
    " words are constant."
)
_RDF = (
    "The KB holds the RDF of its source as published; ids are IRIs.",
    "?x a CLASS . matches the nodes of a class; rdfs:label is usually the name.",
)


def actions(without: Collection[str]) -> list[dict[str, str]]:
    """Return the actions, except ``without``, as a model sees them. Raises :class:`KbError` for a required action."""
    for name in without:
        if name not in ACTIONS:
            raise UnknownNameError("action", name, [known for known in ACTIONS if known not in NEEDED])
        if name in NEEDED:
            raise KbError(f"The action '{name}' is required", "Leave out search, entry or examples")
    return [
        {"name": name, "argument": argument, "form": reply.form(name), "does": does}
        for name, (argument, does) in ACTIONS.items()
        if name not in without
    ]


def kb(opened: Stores, names: KbNames) -> dict[str, Any]:
    """Describe a KB: notes on notation, and except for Wikidata, types with attributes, and relations."""
    schema = opened.schema
    full_text = [_FULL_TEXT] if opened.has("text") else []
    about: dict[str, Any] = {"name": line(opened.manifest.recipe.get("title") or schema.name)}
    if names.wikidata:
        return {**about, "notes": [*_WIKIDATA, *full_text]}
    about["notes"] = [*(_RDF if schema.rdf_source else _TABLES), *full_text]
    if any(relation.attributes for relation in schema.relations) and not schema.rdf_source:
        about["notes"].append(_STATEMENTS)
    if not schema.rdf_source:
        about["prefixes"] = {name: iri for name, iri in names.prefixes.items() if iri.startswith(schema.base)}
    types = sorted(schema.node_types, key=lambda t: -t.members)
    about["types"] = {names.type(t.name): _type(names, t) for t in types[:LISTED]}
    relations = sorted(schema.relations, key=lambda r: -r.edges)
    about["relations"] = {known.id: _relation(known) for known in (names.relation(r.name) for r in relations[:LISTED])}
    for kind, listed in (("types", types), ("relations", relations)):
        if len(listed) > LISTED:
            about["notes"].append(f"Only {LISTED} of {len(listed)} {kind} are listed.")
    return about


def _type(names: KbNames, node_type: Any) -> str:
    about = f"{node_type.members:,} nodes"
    if node_type.description:
        about += f": {line(node_type.description)}"
    if node_type.attributes:
        about += "; has " + ", ".join(names.attribute(a.name) for a in node_type.attributes)
    return about


def _relation(known: Any) -> str:
    return f"{line(known.label)}: {known.about}" if known.label else known.about
