"""The year after the title of a work that a question names: *'Fair Game' (2010)*, as several works share a title."""

from __future__ import annotations

from functools import lru_cache

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
        last = type_noun(noun).rpartition(" ")[2]
        year = self._of(entity.type, entity.key) if last in WORKS - TITLED_WITH_SENTENCES else ""
        return f" ({year})" if year else ""

    def _year(self, node_type: str, key: str) -> str:
        node = self._kb.find(f"{node_type}#{key}")
        kind = self._kb.schema.type(node_type)
        values: list[object] = []
        for attribute in kind.attributes if not is_untyped(node_type) else ():
            if attribute_words(attribute).noun.rpartition(" ")[2] == _YEAR:
                sql = f"SELECT {quote(attribute.name)} FROM {quote(kind.table)} WHERE id = $id"
                values += [value for (value,) in self._kb.tables.rows(sql, {"id": node})]
        for name in self._relations:
            tails = self._kb.session.move(name, True).neighbors(node)
            values += self._kb.stores.nodes.frame(tails)["name"].to_list()
        years = {str(value) for value in values if str(value).isdecimal()}
        is_known = len(years) == 1 and all(YEARS[0] <= int(year) <= YEARS[1] for year in years)
        return years.pop() if is_known else ""
