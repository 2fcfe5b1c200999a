"""Stage 1: the predicates of each type, with coverage, cardinality and kind of values (section 2.2 of the paper).

A type's entities include those of which it is a secondary type, such as an occupation of Wikidata's people, so that
politicians have other predicates than actors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from kbkit.benchmarks.convkgyarn import values
from kbkit.benchmarks.convkgyarn.values import Source
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.english.attributes import attribute_words
from kbkit.english.names import are_named_people
from kbkit.english.roles import is_untyped, tail_noun
from kbkit.english.types import are_people
from kbkit.english.words import YEARS, is_person
from kbkit.kb import KnowledgeBase
from kbkit.schema import Relation, quote

_YEAR_WORDS = re.compile(
    r"(?i)\b(?:year|since|until|founded|established|opened|closed|built|born|died|released|from)\b"
)
MEMBERSHIP = "SELECT id, type::VARCHAR AS type FROM nodes UNION ALL SELECT id, type::VARCHAR FROM node_types"
"""SQL for the types of each node, primary and secondary."""


@dataclass(frozen=True)
class Qualifier:
    """A qualifier of a predicate's values: the attribute of an edge, or a property of Wikidata.

    ``entities`` is the number of entities with it, ``distinguishes`` of those with values that differ by it.
    """

    name: str
    label: str
    kind: str
    entities: int
    distinguishes: int = 0


@dataclass(frozen=True)
class Predicate(Row):
    """A predicate of a type.

    * ``predicate``: an attribute, a relation, ``^relation`` from tail to head, or a property of Wikidata
    * ``origin``: attribute, forward, backward or statement; ``label``: its words; ``kind``: of values, ``unit`` of
      numbers; ``target``: the type of most values, ``people``: whether they are people;
      ``relation``: the name of the relation, if it is one
    * ``entities`` of the ``members`` of the type have it; ``mean`` and ``most`` values each; ``distinct`` values;
      ``top``: fraction of the most common value; ``shape``: simple, complex or qualified
    """

    type: str
    predicate: str
    label: str
    origin: str
    kind: str
    entities: int
    members: int
    mean: float
    most: int
    distinct: int
    top: float
    shape: str
    unit: str = ""
    target: str = ""
    targets: int = 0
    people: bool = False
    relation: str = ""
    qualifiers: list[Qualifier] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        """Fraction of the type's entities that have the predicate."""
        return self.entities / self.members

    @property
    def described(self) -> str:
        """The words for a model, which must see the direction of a relation."""
        return f"inverse of: {self.label} (asks for each {self.target})" if self.origin == "backward" else self.label


PREDICATES = Stage("1_predicates", Predicate)


def extract(kb: KnowledgeBase, types: Iterable[str]) -> list[Predicate]:
    """Return the predicates of some types, by type and coverage."""
    wanted = list(types)
    members = dict(
        kb.tables.rows(
            f"SELECT type, count(*) FROM ({MEMBERSHIP}) WHERE list_contains($types, type) GROUP BY type",
            {"types": wanted},
        )
    )
    people = people_types(kb)
    predicates = (
        _of_statements(kb, members, people)
        if values.is_wikidata(kb)
        else [row for source in values.sources(kb) for row in _of_source(kb, source, members, people)]
    )
    order = {name: position for position, name in enumerate(wanted)}
    predicates = sorted(predicates, key=lambda row: (order[row.type], -row.entities, row.predicate))
    # Members with other primary types have their attributes from these types' tables; the most frequent one counts.
    return list({row.id: row for row in reversed(predicates)}.values())[::-1]


def people_types(kb: KnowledgeBase) -> frozenset[str]:
    """Return the types of people: by their names, by first and last names of their nodes, or of entities that mostly
    have a date of birth or a gender.
    """
    named = {t.name for t in kb.schema.node_types if are_people(t.name) or are_named_people(t)}
    if values.is_wikidata(kb):
        sql = (
            f"WITH m AS ({MEMBERSHIP}), p AS (SELECT DISTINCT n.id FROM statements s JOIN nodes n ON n.key = s.subject"
            " WHERE s.property IN ('P21', 'P569') AND n.type::VARCHAR <> 'property')"
            " SELECT m.type FROM m LEFT JOIN p USING (id) GROUP BY m.type HAVING 2 * count(p.id) > count(*)"
        )
        return frozenset(named | {name for (name,) in kb.tables.rows(sql)})
    return frozenset(named)


def _of_source(
    kb: KnowledgeBase, source: Source, members: Mapping[str, int], people: frozenset[str]
) -> list[Predicate]:
    if source.types and not any(kb.schema.may_have(t, own) for own in members for t in source.types):
        return []
    if not source.kind:
        return []
    rows = f"SELECT v.*, m.type FROM ({source.sql}) v JOIN ({MEMBERSHIP}) m ON m.id = v.entity"
    qualified = _edge_qualifiers(kb, source, rows)
    predicates = []
    for counts in _counts(kb, rows, source.kind).iter_rows(named=True):
        kind = _year_or(source, counts)
        own = list(qualified.get(counts["type"], ()))
        if counts["type"] in members:
            words = (source.name, source.label, source.origin, kind, source.unit)
            predicates.append(_row(counts, *words, members, people, own, source.relation))
    return predicates


def _counts(kb: KnowledgeBase, rows: str, kind: str, by: str = "type") -> pl.DataFrame:
    """Return the statistics of values by type (and property)."""
    number = "TRY_CAST(value AS DOUBLE)" if kind == "number" else "NULL"
    keys = ", ".join(f"v.{key}" for key in by.split(", "))
    sql = f"""
    WITH v AS MATERIALIZED ({rows}),
    per_entity AS (SELECT {by}, entity, count(*) AS n FROM v GROUP BY {by}, entity),
    sizes AS (SELECT {by}, count(*) AS entities, avg(n) AS mean, max(n) AS most FROM per_entity GROUP BY {by}),
    per_value AS (SELECT {by}, node, value, count(*) AS n FROM v GROUP BY {by}, node, value),
    distincts AS (SELECT {by}, count(*) AS "distinct", max(n) / sum(n) AS top, min({number}) AS low,
                         max({number}) AS high FROM per_value GROUP BY {by}),
    per_target AS (SELECT {keys}, t.type::VARCHAR AS target, count(*) AS n FROM v JOIN nodes t ON t.id = v.node
                   GROUP BY ALL),
    targets AS (SELECT {by}, arg_max(target, (n, target)) AS target, count(*) AS targets FROM per_target GROUP BY {by})
    SELECT * FROM sizes JOIN distincts USING ({by}) LEFT JOIN targets USING ({by}) ORDER BY ALL
    """
    return kb.tables.lookup(sql)


def _row(
    counts: Mapping[str, Any], name: str, label: str, origin: str, kind: str, unit: str,
    members: Mapping[str, int], people: frozenset[str], qualifiers: list[Qualifier],
    relation: Relation | None = None,
) -> Predicate:  # fmt: skip
    by_role = relation is not None and origin == "forward" and is_untyped(counts["target"])
    of_people = counts["target"] in people or (by_role and relation is not None and is_person(tail_noun(relation)))
    distinguishing = any(qualifier.distinguishes for qualifier in qualifiers)
    shape = "qualified" if distinguishing else "complex" if counts["most"] > 1 else "simple"
    target = counts["target"] or ""
    return Predicate(
        f"{counts['type']}.{name}", counts["type"], name, label, origin, kind, counts["entities"],
        members[counts["type"]], round(counts["mean"], 3), counts["most"], counts["distinct"], round(counts["top"], 4),
        shape, unit, target, counts["targets"] or 0, of_people, relation.name if relation else "", qualifiers,
    )  # fmt: skip


def _year_or(source: Source, counts: Mapping[str, Any]) -> str:
    """Return ``date`` for numbers that are years, else the source's kind."""
    if source.kind != "number" or source.unit or counts["low"] is None:
        return source.kind
    is_range = YEARS[0] <= counts["low"] and counts["high"] <= YEARS[1]
    return "date" if is_range and _YEAR_WORDS.search(source.label) else "number"


def _edge_qualifiers(kb: KnowledgeBase, source: Source, rows: str) -> dict[str, list[Qualifier]]:
    """Return the edge attributes of a relation as qualifiers, by type."""
    qualifiers: dict[str, list[Qualifier]] = {}
    for attribute in source.qualifiers:
        column, kind = quote(attribute.name), values.kind_of(attribute.type)
        if not kind:
            continue
        sql = (
            f"SELECT type, count(*), count(*) FILTER (distinguishes), min(low), max(high) FROM (SELECT type, entity,"
            f" count(DISTINCT {column}) > 1 AS distinguishes, min(TRY_CAST({column} AS DOUBLE)) AS low,"
            f" max(TRY_CAST({column} AS DOUBLE)) AS high FROM ({rows}) WHERE {column} IS NOT NULL"
            " GROUP BY type, entity)"
            " GROUP BY type"
        )
        label = attribute_words(attribute).noun
        for name, entities, distinguishes, low, high in kb.tables.rows(sql):
            is_year = kind == "number" and low is not None and YEARS[0] <= low and high <= YEARS[1]
            own = "date" if is_year and _YEAR_WORDS.search(label) else kind
            qualifiers.setdefault(name, []).append(Qualifier(attribute.name, label, own, entities, distinguishes))
    return qualifiers


# -- Wikidata ---------------------------------------------------------------------------------------------------------


def _of_statements(kb: KnowledgeBase, members: Mapping[str, int], people: frozenset[str]) -> list[Predicate]:
    rows = f"SELECT v.*, m.type FROM ({values.statements()}) v JOIN ({MEMBERSHIP}) m ON m.id = v.entity"
    labels = dict(kb.tables.rows("SELECT key, name FROM nodes WHERE type::VARCHAR = 'property'"))
    kinds = dict(kb.tables.rows(f"SELECT property, mode(datatype) FROM ({values.statements()}) GROUP BY property"))
    units = dict(
        kb.tables.rows(
            f"SELECT property, mode(unit) FROM ({values.statements()}) WHERE unit NOT IN ('', '1') GROUP BY property"
        )
    )
    qualified: dict[tuple[str, str], list[Qualifier]] = {}
    sql = f"""
    WITH v AS ({rows}), q AS ({values.qualifiers()})
    SELECT type, property, qualifier, mode(datatype), count(*), count(*) FILTER (several) FROM (
      SELECT v.type, v.property, v.entity, q.qualifier, mode(q.datatype) AS datatype,
             count(DISTINCT coalesce(q.node::VARCHAR, q.value)) > 1 AS several
      FROM v JOIN q USING (statement) GROUP BY v.type, v.property, v.entity, q.qualifier)
    GROUP BY type, property, qualifier ORDER BY ALL
    """
    for name, prop, qualifier, datatype, entities, several in kb.tables.rows(sql):
        kind = values.KINDS.get(datatype, "text")
        one = Qualifier(qualifier, labels.get(qualifier, qualifier), kind, entities, several)
        qualified.setdefault((name, prop), []).append(one)
    predicates = []
    for counts in _counts(kb, rows, "entity", "type, property").iter_rows(named=True):
        name, prop = counts["type"], counts["property"]
        if name in members:
            kind = values.KINDS.get(kinds[prop], "text")
            own = qualified.get((name, prop), [])
            row = (labels.get(prop, prop), "statement", kind, units.get(prop, ""))
            predicates.append(_row(counts, prop, *row, members, people, own))
    return predicates
