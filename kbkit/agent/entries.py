"""Entries and examples of any KB: attributes, edges with their attributes, incoming edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kbkit.agent.names import KbNames, Property, line
from kbkit.agent.results import Edges, Entry, Examples
from kbkit.display.render import cell
from kbkit.errors import plural
from kbkit.graph.node_edges import incoming, outgoing
from kbkit.graph.nodes import describe
from kbkit.schema import STANDARD_PREFIXES, Relation, iri_escape, quote

if TYPE_CHECKING:
    from kbkit.graph.nodes import Node
    from kbkit.stores import Stores

VALUES = 20
"""Maximum number of values of a property in an entry."""
INCOMING = 3
EXAMPLES = 5

_RDF_TYPE = STANDARD_PREFIXES["rdf"] + "type"
_ALIAS = STANDARD_PREFIXES["skos"] + "altLabel"
_ALIASES = 5


def entry(stores: Stores, names: KbNames, node: int) -> Entry:
    """Return the entry of a node: types, attributes, texts, outgoing edges, and incoming edges by relation."""
    described = describe(stores, node)
    edges = _own(stores, names, described) | _outgoing(stores, names, node)
    heads = came_in(stores, names, node, INCOMING)
    if heads:
        edges["incoming"] = heads
    return Entry(names.node(described.type, described.key), described.name, _about(described), edges)


def _about(node: Node) -> str:
    text = f"; {node.texts[0][1]}" if node.texts else ""
    return line(node.type + text)


def _own(stores: Stores, names: KbNames, node: Node) -> Edges:
    """Return types, aliases, attributes, and the texts except the first, which is in the description."""
    types = [names.type(name) for name in (node.type, *node.other_types)]
    edges: Edges = {names.short(_RDF_TYPE): _one_or_all(types)}
    if node.aliases:
        edges[f"also called ({names.short(_ALIAS)})"] = cut(
            [line(a) for a in node.aliases], len(node.aliases), _ALIASES
        )
    for name, value in node.attributes.items():
        values = value if isinstance(value, list) else [value]
        edges[names.attribute(name)] = cut([line(cell(v)) for v in values[:VALUES]], len(values))
    for field, text in node.texts[1:]:
        predicate = field if stores.schema.rdf_source else names.short(f"{stores.schema.base}text/{iri_escape(field)}")
        edges.setdefault(predicate, line(text))
    return edges


def _outgoing(stores: Stores, names: KbNames, node: int) -> Edges:
    """Return the nodes reached by each relation, with edge attributes as qualifiers."""
    edges: Edges = {}
    for group in outgoing(stores, node, VALUES):
        pairs = [(names.titled_node(*edge.end), _qualifiers(names, edge.attributes)) for edge in group.first]
        edges[names.relation(group.relation).title] = gathered(pairs, group.total)
    return edges


def _qualifiers(names: KbNames, attributes: Mapping[str, Any]) -> dict[str, str]:
    return {names.attribute(name): line(cell(value)) for name, value in attributes.items()}


def came_in(stores: Stores, names: KbNames, node: int, shown: int) -> Edges:
    """Return the number of incoming edges by relation and their first heads. Symmetric relations count as outgoing."""
    edges: Edges = {}
    for group in incoming(stores, node, shown):
        first = [names.titled_node(*edge.end) for edge in group.first]
        edges[names.relation(group.relation).title] = (
            cut(first, group.total, shown) if first else plural(group.total, "edge")
        )
    return edges


# -- properties -------------------------------------------------------------------------------------------------------


def property_entry(names: KbNames, known: Property) -> Entry:
    """Describe a relation or attribute: signatures, number of edges, attributes."""
    edges: Edges = {}
    if known.relation is not None:
        relation = known.relation
        types = [f"{names.type(s.head)} -> {names.type(s.tail)} ({s.edges:,} edges)" for s in relation.signatures]
        edges["joins"] = cut(types[:VALUES], len(types))
        if relation.attributes:
            edges["its edges have"] = [f"{names.attribute(a.name)} ({a.type})" for a in relation.attributes]
    return Entry(known.id, known.label, known.about, edges)


def examples(stores: Stores, names: KbNames, known: Property) -> Examples:
    """Return edges of a relation, or nodes and edges with an attribute: a fixed pseudo-random sample."""
    if known.relation is not None:
        uses = _edge_examples(stores, names, known.relation)
    else:
        uses = _attribute_examples(stores, names, known.name)
    return Examples(known.id, known.label, known.about, uses)


def _edge_examples(stores: Stores, names: KbNames, relation: Relation, holding: str = "") -> list[dict[str, Any]]:
    """Return edges, those with attributes first; ``holding`` requires an attribute."""
    attributes = [a.name for a in relation.attributes]
    columns = "".join(f", e.{quote(name)} AS {quote('at ' + name)}" for name in attributes)
    null_last = "".join(f"{quote(name)} IS NULL, " for name in attributes)
    where = f" WHERE {quote(holding)} IS NOT NULL" if holding else ""
    frame = stores.tables.lookup(
        "SELECT h.type AS head_type, h.key AS head_key, h.name AS head_name, t.type, t.key, t.name"
        f"{columns} FROM (SELECT * FROM {quote(relation.table)}{where} ORDER BY {null_last}hash(head, tail), head, tail"
        f" LIMIT {EXAMPLES}) e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
        " ORDER BY hash(e.head, e.tail), e.head, e.tail"
    )
    uses = []
    for row in frame.iter_rows(named=True):
        example = {
            "subject": names.titled_node(row["head_type"], row["head_key"], row["head_name"]),
            "value": names.titled_node(row["type"], row["key"], row["name"]),
        }
        held = {name: value for name in attributes if (value := row[f"at {name}"]) is not None}
        qualifiers = _qualifiers(names, held)
        uses.append(example | ({"Qualifiers": qualifiers} if qualifiers else {}))
    return uses


def _attribute_examples(stores: Stores, names: KbNames, attribute: str) -> list[dict[str, Any]]:
    uses: list[dict[str, Any]] = []
    column = quote(attribute)
    for node_type in (t for t in stores.schema.node_types if attribute in {a.name for a in t.attributes}):
        rows = stores.tables.rows(
            f"SELECT n.type, n.key, n.name, a.{column} FROM {quote(node_type.table)} a JOIN nodes n USING (id)"
            f" WHERE a.{column} IS NOT NULL ORDER BY hash(id), id LIMIT {EXAMPLES}"
        )
        uses += [
            {"subject": names.titled_node(kind, key, name), "value": line(cell(value))}
            for kind, key, name, value in rows
        ]
    for relation in (r for r in stores.schema.relations if attribute in {a.name for a in r.attributes}):
        uses += _edge_examples(stores, names, relation, attribute)
    return uses[:EXAMPLES]


# -- the paper's compact form -----------------------------------------------------------------------------------------


def gathered(pairs: Sequence[tuple[str, Mapping[str, Any]]], count: int) -> Any:
    """Return values with their qualifiers: a value, a list of values, or ``{value: {"Qualifiers": [...]}}`` if any has
    qualifiers. ``count`` is the total number if only the first values are given.
    """
    if not any(qualifiers for _, qualifiers in pairs):
        return cut([value for value, _ in pairs], count)
    merged: dict[str, Any] = {}
    for value, qualifiers in pairs:
        held = merged.setdefault(value, {})
        if qualifiers:
            held.setdefault("Qualifiers", []).append(dict(qualifiers))
    return merged | ({"...": f"{count - len(pairs):,} more"} if count > len(pairs) else {})


def cut(values: Sequence[str], count: int, limit: int = VALUES) -> Any:
    """Return one value unchanged, several as a list, and for a truncated list a note of how many more there are."""
    shown = list(values[:limit])
    return _one_or_all(shown) if len(shown) == count else [*shown, f"... and {count - len(shown):,} more"]


def _one_or_all(values: list[str]) -> Any:
    return values[0] if len(values) == 1 else values
