"""Search for entities (names first, then texts) and for properties (relations and attributes)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kbkit.agent.names import KbNames, Property, titled
from kbkit.agent.results import Hit, SearchHits
from kbkit.answers.answer_set import answers
from kbkit.errors import KbError
from kbkit.search.entities import degrees
from kbkit.search.run import search
from kbkit.stores.arrays import is_in
from kbkit.stores.folding import words
from kbkit.stores.text_query import snippet

if TYPE_CHECKING:
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.stores import Stores

ENTITIES, PROPERTIES = 8, 4
"""Maximum number of entities and properties (SPINACH paper, section 4.1)."""
PROPERTY = "property"
"""The node type of Wikidata's properties."""

_NEAR = "near in meaning only"
_NAMESAKES = 200
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_STEM = 4
_LEAST = 0.5
"""Fraction of the query's words that a property must contain."""


class Searcher:
    """Searches of one KB."""

    def __init__(self, stores: Stores, names: KbNames) -> None:
        self._stores, self._names = stores, names
        self._items: AnswerSet | None = None

    def search(self, text: str) -> SearchHits:
        """Return the entities and properties that match the words; an id returns its node."""
        if not text.strip():
            raise KbError("Empty search", "Enter at least one word")
        nodes, sure = self._names.written(text)
        if nodes and sure:
            return self._sorted(nodes)
        if self._names.wikidata:
            properties = self._typed(text, PROPERTY, PROPERTIES)
            return SearchHits(self._entities(text, self._not_properties(), ENTITIES), properties)
        if known := self._names.written_property(text):
            return SearchHits([], [_property(known)])
        return SearchHits(self._entities(text, None, ENTITIES, nodes), self._properties(text))

    def _sorted(self, nodes: Sequence[int]) -> SearchHits:
        """Separate Wikidata's properties from other nodes."""
        hits = self._hits(nodes)
        if not self._names.wikidata:
            return SearchHits(hits, [])
        known = {hit.id: hit for hit in hits if hit.id.startswith("P")}
        return SearchHits([hit for hit in hits if hit.id not in known], list(known.values()))

    # -- entities -----------------------------------------------------------------------------------------------------

    def _not_properties(self) -> AnswerSet:
        if self._items is None:
            self._items = answers(self._stores, f"* - {PROPERTY}")
        return self._items

    def _typed(self, text: str, type_name: str, limit: int) -> list[Hit]:
        return self._entities(text, answers(self._stores, type_name), limit)

    def _entities(self, text: str, within: AnswerSet | None, limit: int, first: Sequence[int] = ()) -> list[Hit]:
        """Return nodes with that name, then nodes whose names contain all words, then nodes whose texts contain many of
        them; if there are none, the nearest by embedding. ``first`` come before them.
        """
        ids = [*first, *self._named(text, within, limit)]
        if self._stores.has("text"):
            ids += self._all_words(text, within, 3 * limit)
            ids += self._found(text, within, limit, "bm25")
            if not ids and self._stores.has("vectors"):
                return self._near(text, within, limit)
        elif not ids:
            close = [row.id for row in self._stores.nodes.closest(text, limit=3 * limit)]
            ids = [node for node in close if within is None or node in set(within.ids.tolist())]
        return self._hits(list(dict.fromkeys(ids))[:limit])

    def _named(self, text: str, within: AnswerSet | None, limit: int) -> list[int]:
        """Return nodes with this name or alias: names before aliases, then by number of edges."""
        nodes, wanted = self._stores.nodes, words(text)
        named = nodes.named(text)
        if within is not None:
            named = named[is_in(named, within.ids)]
        rows = ((node, words(nodes.name(node)) != wanted) for node in named.tolist())
        ids = sorted(rows, key=lambda row: row[::-1])[:_NAMESAKES]
        count = degrees(self._stores, [node for node, _ in ids]) if len(ids) > 1 else {}
        return [node for node, _ in sorted(ids, key=lambda row: (row[1], -count.get(row[0], 0)))][:limit]

    def _found(self, text: str, within: AnswerSet | None, limit: int, mode: str) -> list[int]:
        frame = search(self._stores, mode, limit, within, options={"quotes": False, "include_weak": True}).one(text)
        return [int(node) for node in frame["id"].to_list()]

    def _near(self, text: str, within: AnswerSet | None, limit: int) -> list[Hit]:
        """Return the nearest nodes by embedding, marked as such, because there always are some. Nodes named only by
        their ids are skipped.
        """
        nameless = self._names.wikidata or self._stores.schema.rdf_source
        hits = self._hits(self._found(text, within, limit, "dense"))
        named = [hit for hit in hits if hit.name and not (nameless and titled(hit.name, hit.id) == hit.id)]
        return [hit._replace(description=f"{_NEAR}; {hit.description}".removesuffix("; ")) for hit in named]

    def _all_words(self, text: str, within: AnswerSet | None, limit: int) -> list[int]:
        """Return nodes whose name or aliases contain every significant word."""
        wanted = set(self._stores.text.words(text))
        if not wanted:
            return []
        ids = (
            search(self._stores, "bm25", limit, within, options={"fields": ["name"], "quotes": False})
            .one(text)["id"]
            .to_list()
        )
        rows = self._stores.nodes.with_aliases(ids)
        return [row.id for row in rows if wanted <= set(self._stores.text.words(" ".join([row.name, *row.aliases])))]

    def _hits(self, ids: Sequence[int]) -> list[Hit]:
        """Return ids with names and descriptions: the beginning of a text, preceded by the type outside of Wikidata."""
        rows = self._stores.tables.rows(
            "SELECT n.id, type, key, name, (SELECT arg_min(text, (field::VARCHAR, position)) FROM texts x"
            " WHERE x.id = n.id) FROM nodes n WHERE id IN (SELECT unnest($ids))",
            {"ids": list(ids)},
        )
        known = {node: rest for node, *rest in rows}
        return [self._hit(*known[node]) for node in ids]

    def _hit(self, type_name: str, key: str, name: str, text: str | None) -> Hit:
        about = snippet(text) if text else ""
        if not self._names.wikidata:
            about = f"{type_name}; {about}" if about else type_name
        return Hit(self._names.node(type_name, key), name, about)

    # -- properties of a KB that is not Wikidata's --------------------------------------------------------------------

    def _properties(self, text: str) -> list[Hit]:
        """Return relations and attributes whose names or labels contain most of the words."""
        wanted = _words(text)
        scored = [(_score(wanted, known), known) for known in self._names.properties] if wanted else []
        best = sorted((pair for pair in scored if pair[0] >= _LEAST), key=lambda pair: -pair[0])
        return [_property(known) for _, known in best[:PROPERTIES]]


def _property(known: Property) -> Hit:
    return Hit(known.id, known.label, known.about)


def _score(wanted: Sequence[str], known: Property) -> float:
    """Return the fraction of the words that the name or label contains, plus a bonus for short ones."""
    known_words = _words(f"{known.name} {known.label}")
    matched = sum(any(_alike(word, other) for other in known_words) for word in wanted)
    return matched / len(wanted) + 0.1 * matched / max(1, len(known_words))


def _words(text: str) -> list[str]:
    folded: Iterable[str] = (word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", text)))
    return list(dict.fromkeys(word for word in folded if word not in _IDLE)) or [text.strip().casefold()]


_IDLE = frozenset(("a", "an", "the", "of", "in", "on", "is", "to", "has", "with", "by", "at", "and", "or"))


def _alike(one: str, other: str) -> bool:
    """Return whether two words are equal or share a stem (borders, bordering)."""
    if one == other:
        return True
    shared = min(len(one), len(other))
    return shared >= _STEM and one[: max(_STEM, shared - 2)] == other[: max(_STEM, shared - 2)]
