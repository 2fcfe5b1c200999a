"""The year after the title of a work that a question names: *'Fair Game' (2010)*, as several works share a title."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kbkit.benchmarks.fit_nodes import head_nouns
from kbkit.benchmarks.requirements.relational import NamedEntity
from kbkit.english.attributes import attribute_words
from kbkit.english.roles import is_untyped, tail_noun
from kbkit.english.types import TITLED_WITH_SENTENCES, WORKS, type_noun
from kbkit.english.words import YEARS
from kbkit.kb import KnowledgeBase
from kbkit.schema import quote

_YEAR = "year"


class WorkYears:
    """Looks up the year of works, by an attribute or a relation whose noun is *year* or ends with it."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._relations = [
            relation.name
            for relation in kb.schema.relations
            if tail_noun(relation).rpartition(" ")[2] == _YEAR
            or any(type_noun(signature.tail) == _YEAR for signature in relation.signatures)
        ]
        self._of = lru_cache(None)(self._year)

    def after(self, entity: NamedEntity, noun: str) -> str:
        """Return what follows the title of a work, `` (2010)``; "" if its year is unknown. ``noun``: what it is."""
        year = self._of(entity.type, entity.key) if _has_title(noun) else ""
        return f" ({year})" if year else ""

    def noun(self, node_type: str) -> str:
        """Return what the works of a type are, "" of other types; of nodes without a type, what all heads are."""
        heads = set((head_nouns(self._kb) or {}).values()) if is_untyped(node_type) else {type_noun(node_type)}
        return noun if len(heads) == 1 and _has_title(noun := heads.pop()) else ""

    def predicates(self, node_type: str) -> set[str]:
        """Return the attributes and relations that have the year of a type."""
        return {*self._attributes(node_type), *self._relations}

    def of_nodes(self, node_type: str, nodes: Sequence[int]) -> dict[int, str]:
        """Return the years of those nodes of a type that have one."""
        values: dict[int, set[str]] = {node: set() for node in nodes}
        table = quote(self._kb.schema.type(node_type).table)
        for name in self._attributes(node_type):
            column = quote(name)
            sql = f"SELECT id, {column}::VARCHAR FROM {table} WHERE list_contains($ids, id) AND {column} IS NOT NULL"
            for node, value in self._kb.tables.rows(sql, {"ids": list(values)}):
                values[node].add(value)
        for name in self._relations:
            move = self._kb.session.move(name, True)
            for node, found in values.items():
                found.update(map(str, self._kb.stores.nodes.frame(move.neighbors(node))["name"].to_list()))
        known = {node: [one for one in found if one.isdecimal()] for node, found in values.items()}
        return {node: one[0] for node, one in known.items() if len(one) == 1 and YEARS[0] <= int(one[0]) <= YEARS[1]}

    def _year(self, node_type: str, key: str) -> str:
        node = self._kb.find(f"{node_type}#{key}")
        return self.of_nodes(node_type, [node]).get(node, "")

    def _attributes(self, node_type: str) -> list[str]:
        known = () if is_untyped(node_type) else self._kb.schema.type(node_type).attributes
        return [one.name for one in known if attribute_words(one).noun.rpartition(" ")[2] == _YEAR]


def _has_title(noun: str) -> bool:
    return type_noun(noun).rpartition(" ")[2] in WORKS - TITLED_WITH_SENTENCES
