"""Names of nodes, relations and attributes for a model, in SPARQL notation, so that it can use them in queries.

A node is ``country:FRA``, a relation ``rel:borders``, an attribute ``attr:area_km2``; without a matching prefix, the
IRI in angle brackets. In a Wikidata KB the names are ``Q42`` and ``P69``.
"""

from __future__ import annotations

import difflib
import itertools
import re
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kbkit.display.render import clean
from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Relation, iri_escape

if TYPE_CHECKING:
    from kbkit.stores import Stores

_LOCAL = re.compile(r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:[A-Za-z0-9_.-]|%[0-9A-Fa-f]{2})*(?<!\.)")
_ENTITY = re.compile(r"[QPLM][1-9][0-9]*(?:-[FS][1-9][0-9]*)?")
_SEARCH = "A search finds properties by words"
_IRI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)[^\x00-\x20<>\"{}|\\^`]+")
_NAMESAKES = 8
_LONGEST = 300
"""Maximum number of characters of a text."""


@dataclass(frozen=True)
class Property:
    """A relation, or an attribute of node types or relations (``owners``), with the ``types`` of its values."""

    id: str
    name: str
    label: str
    relation: Relation | None = None
    types: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The label followed by the id."""
        return titled(self.label, self.id)

    @property
    def about(self) -> str:
        """A description: signatures or owners, edges, attributes."""
        if self.relation is None:
            return f"attribute ({', '.join(self.types)}) of {_listed(self.owners)}"
        relation = self.relation
        joined = _listed([f"{s.head} -> {s.tail}" for s in relation.signatures])
        more = f"; its edges have {', '.join(a.name for a in relation.attributes)}" if relation.attributes else ""
        return f"{joined}; {relation.edges:,} edges{', both ways' if relation.symmetric else ''}{more}"


class KbNames:
    """Names in one KB."""

    def __init__(self, stores: Stores) -> None:
        self._stores, self._schema = stores, stores.schema
        self.wikidata = stores.schema.dialect == "wikidata"

    @cached_property
    def prefixes(self) -> dict[str, str]:
        """Prefix -> namespace, as in the KB's SPARQL."""
        return self._schema.prefixes()

    @cached_property
    def _namespaces(self) -> list[tuple[str, str]]:
        """(namespace, prefix), longest namespace first; if a namespace has two prefixes, the first."""
        unique: dict[str, str] = {}
        for prefix, namespace in self.prefixes.items():
            unique.setdefault(namespace, prefix)
        return sorted(unique.items(), key=lambda pair: -len(pair[0]))

    # -- written ------------------------------------------------------------------------------------------------------

    def short(self, iri: str) -> str:
        """Return an IRI in SPARQL notation: a prefixed name, or the IRI in angle brackets."""
        for namespace, prefix in self._namespaces:
            if iri.startswith(namespace) and _LOCAL.fullmatch(iri, len(namespace)):
                return f"{prefix}:{iri[len(namespace) :]}"
        return f"<{iri}>"

    def shortened(self, value: Any) -> Any:
        """Return a value of a query result: IRIs as :meth:`short` writes them, other values unchanged."""
        return self.short(value) if isinstance(value, str) and _IRI.fullmatch(value) else value

    def node(self, type_name: str, key: str) -> str:
        """Return the id of a node."""
        return key if self.wikidata else self.short(self._schema.node_iri(type_name, key))

    def titled_node(self, type_name: str, key: str, name: str) -> str:
        """Return a node's name followed by its id."""
        return titled(name, self.node(type_name, key))

    def attribute(self, name: str) -> str:
        """Return the id of an attribute."""
        return name if self.wikidata else self.short(f"{self._schema.base}attr/{iri_escape(name)}")

    def type(self, name: str) -> str:
        """Return the id of a node type."""
        return self.short(self._schema.type(name).iri)

    def relation(self, name: str) -> Property:
        """Return a relation."""
        known = self._schema.relation(name)
        return Property(known.name if self.wikidata else self.short(known.iri), known.name, known.label, known)

    # -- properties ---------------------------------------------------------------------------------------------------

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """All relations, then all attributes, each once."""
        relations = [self.relation(relation.name) for relation in self._schema.relations]
        owners: dict[str, dict[str, list[str]]] = {}
        having = [(owner.name, owner.attributes) for owner in self._schema.node_types]
        having += [(owner.name, owner.attributes) for owner in self._schema.relations]
        for name, held in having:
            for attribute in held:
                owners.setdefault(attribute.name, {}).setdefault(attribute.type, []).append(name)
        attributes = [
            Property(self.attribute(name), name, "", types=tuple(owned), owners=tuple(itertools.chain(*owned.values())))
            for name, owned in owners.items()
        ]
        return (*relations, *attributes)

    def property(self, text: str) -> Property | None:
        """Return the relation or attribute with an id, IRI, name or label, or None."""
        wanted = self._expanded(text.strip())
        for way in (lambda p: (p.id, p.name), lambda p: (p.label,)):
            for known in self.properties:
                if any(wanted == self._expanded(name) or text.strip() == name for name in way(known) if name):
                    return known
        return None

    def known_property(self, text: str) -> Property:
        """Return the relation or attribute. Raises :class:`UnknownNameError` with the closest names."""
        exact = self.property(text)
        if exact is not None:
            return exact
        ids = {name: known.id for known in reversed(self.properties) for name in (known.label, known.name) if name}
        local = text.strip("<> ").rpartition(":")[2]
        close = difflib.get_close_matches(local, list(ids), 5)
        hint = f"Did you mean {' or '.join(dict.fromkeys(ids[name] for name in close))}?" if close else _SEARCH
        raise UnknownNameError("property", text, ids.values(), "", hint)

    # -- read back ----------------------------------------------------------------------------------------------------

    def find(self, text: str) -> int:
        """Return a node by an id as above, an IRI, or a reference (:meth:`kbkit.stores.nodes.Nodes.find`)."""
        given = text.strip()
        if not given:
            raise KbError("No entry given", "Pass an id from a search")
        iri = self._expanded(given)
        if self.wikidata:
            entity = iri.rpartition("/")[2].upper()
            given = entity if is_entity(entity) else given
        elif (node := self._by_iri(iri)) is not None:
            return node
        try:
            return self._stores.nodes.find(given)
        except UnknownNameError as error:
            if error.choices:
                raise
            close = [] if self.wikidata else self._close_keys(iri)
            hint = f"Did you mean {' or '.join(close)}?" if close else "A search finds ids by words"
            raise UnknownNameError("node", given, close, "", hint) from None

    def written(self, text: str) -> tuple[list[int], bool]:
        """Return the nodes with an id or key, and whether the text is unambiguous: a plain key may be a word too."""
        given = text.strip()
        iri = self._expanded(given)
        sure = "://" in iri
        if self.wikidata:
            entity = (iri.rpartition("/")[2] if sure else given).upper()
            return self._keyed(None, entity) if is_entity(entity) else [], True
        if (node := self._by_iri(iri)) is not None:
            return [node], sure
        type_name, _, key = given.partition("#")
        if nodes := self._keyed(type_name, key):
            return nodes, True
        return self._keyed(None, given), False

    def written_property(self, text: str) -> Property | None:
        """Return the relation or attribute with an id, as shown or as an IRI."""
        iri = self._expanded(text.strip())
        return next((known for known in self.properties if "://" in iri and self._expanded(known.id) == iri), None)

    def _expanded(self, text: str) -> str:
        """Return the IRI of a prefixed name or of an IRI in angle brackets; other text unchanged."""
        if text.startswith("<") and text.endswith(">"):
            return text[1:-1]
        prefix, sign, local = text.partition(":")
        return self.prefixes[prefix] + local if sign and prefix in self.prefixes else text

    def _by_iri(self, iri: str) -> int | None:
        """Return the node with an IRI."""
        if self._schema.rdf_source:
            return next(iter(self._keyed(None, iri.removeprefix(self._schema.key_base))), None)
        for node_type in self._schema.node_types:
            namespace = self._schema.node_namespace(node_type.name)
            if iri.startswith(namespace):
                key = urllib.parse.unquote(iri[len(namespace) :])
                return next(iter(self._keyed(node_type.name, key)), None)
        return None

    def _close_keys(self, iri: str) -> list[str]:
        """Return the nodes whose keys are closest to that of an IRI, as ids with names."""
        for node_type in self._schema.node_types:
            namespace = self._schema.node_namespace(node_type.name)
            if iri.startswith(namespace) and not self._schema.rdf_source:
                key = urllib.parse.unquote(iri[len(namespace) :])
                rows = self._stores.nodes.closest(key, node_type.name, keys=True)
                return [self.titled_node(row.type, row.key, row.name) for row in rows]
        return []

    def _keyed(self, type_name: str | None, key: str) -> list[int]:
        """Return the ids of nodes of a primary type (None: any) with a key."""
        if type_name is not None and all(t.name != type_name for t in self._schema.node_types):
            return []
        [rows] = self._stores.nodes.by_key(type_name, [key])
        return [row.id for row in rows if type_name in (None, row.type)][:_NAMESAKES]


def is_entity(text: str) -> bool:
    """Return whether a text has the form of a Wikidata id."""
    return _ENTITY.fullmatch(text) is not None


def titled(label: str, name: str) -> str:
    """Return a label followed by an id, or the id alone if the label adds nothing."""
    label = line(label)
    local = name.strip("<>").rpartition(":")[2]
    return name if not label or label in (name, local) else f"{label} ({name})"


def line(text: str, limit: int = _LONGEST) -> str:
    """Return KB text on one line, without control characters, truncated."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else flat[: limit - 3].rstrip() + "..."


def _listed(names: Iterable[str], limit: int = 6) -> str:
    known = list(names)
    more = f" and {len(known) - limit} more" if len(known) > limit else ""
    return ", ".join(known[:limit]) + more
