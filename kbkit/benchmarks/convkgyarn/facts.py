"""Stage 4: the facts of the chosen entities (section 2.5 of the paper), as a table of columns.

A fact is what one turn asks for: the values of a predicate, the qualifier of one value, or the value that a qualifier
holds for. Facts whose question would contain an answer are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from kbkit.benchmarks.convkgyarn import values
from kbkit.benchmarks.convkgyarn.predicates import Predicate, Qualifier
from kbkit.benchmarks.convkgyarn.values import Source
from kbkit.kb import KnowledgeBase
from kbkit.schema import literal, quote

ANSWER = pl.Struct({"text": pl.String, "aliases": pl.List(pl.String), "node": pl.String, "value": pl.String})
COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String, "type": pl.String, "key": pl.String, "predicate": pl.String, "asks": pl.String,
    "given": pl.List(pl.String), "shape": pl.String, "kind": pl.String, "unit": pl.String, "answers": pl.List(ANSWER),
}  # fmt: skip
"""``asks``: the qualifier that a fact is about, or ""; ``given``: the object or qualifier that its question names."""
_LONG_UNITS = {
    "kilometre": "km", "square kilometre": "km²", "metre": "m", "kilogram": "kg", "minute": "minutes",
    "second": "seconds", "hour": "hours", "year": "years", "degree Celsius": "°C", "United States dollar": "US dollars",
    "1": "",
}  # fmt: skip
_UNNAMED = "regexp_full_match(name, '[QPLE][0-9]+(-[FS][0-9]+)?')"
_MIN_PRECISION = 9
"""Wikidata's precision of a year; less precise dates are not asked for."""


@dataclass(frozen=True)
class Asked:
    """What facts are made of: a predicate, and the qualifier that is asked for or given, if any."""

    predicate: Predicate
    qualifier: Qualifier | None = None
    given: str = ""


class Facts:
    """Reads facts from a KB."""

    def __init__(self, kb: KnowledgeBase, asked: Sequence[Asked], max_answers: int) -> None:
        self._kb, self._asked, self._limit = kb, asked, max_answers
        self._wikidata = values.is_wikidata(kb)
        self._loaded: dict[str, pl.DataFrame] = {}
        self._sources = {} if self._wikidata else {(s.name, s.types): s for s in values.sources(kb)}

    def read(self, entities: pl.DataFrame) -> pl.DataFrame:
        """Return the facts of ``entities`` (columns id, type, key, name, aliases) in ``COLUMNS``, by entity.

        The type decides which predicates are asked for.
        """
        parts = []
        self._load(entities)
        for alike in self._alike():
            own = entities.filter(pl.col("type").is_in([one.predicate.type for one in alike]))
            if own.height:
                parts.append(self._facts(alike[0], own))
        if not parts:
            return pl.DataFrame(schema=COLUMNS)
        order = entities.select("type", "key").unique(maintain_order=True).with_row_index("row")
        frame = pl.concat(parts).join(order, on=["type", "key"], maintain_order="left")
        return frame.sort("row", maintain_order=True).select(list(COLUMNS))

    def _alike(self) -> list[list[Asked]]:
        """Return what is asked for, of several types at once if these differ in nothing else."""
        groups: dict[tuple[str, ...], list[Asked]] = {}
        for one in self._asked:
            p, q = one.predicate, one.qualifier
            own = p.type if p.origin == "attribute" else ""
            key = (p.predicate, p.origin, p.kind, p.unit, own, one.given, *((q.name, q.kind) if q else ()))
            groups.setdefault(key, []).append(one)
        return list(groups.values())

    def _load(self, entities: pl.DataFrame) -> None:
        """Read the statements of entities once: those of all types and predicates are in one table."""
        if self._wikidata:
            frames = {"kbkit_entities": entities.select("id")}
            own = "IN (SELECT id FROM kbkit_entities)"
            rows = f"SELECT * FROM ({values.statements()}) WHERE entity {own}"
            self._loaded["kbkit_values"] = self._kb.tables.lookup(rows, frames=frames)
            rows = f"SELECT * FROM ({values.qualifiers()}) WHERE statement IN (SELECT statement FROM kbkit_values)"
            self._loaded["kbkit_qualifiers"] = self._kb.tables.lookup(rows, frames=self._loaded)

    def source(self, one: Predicate, *, qualified: bool = False) -> str:
        """Return the SQL of a predicate's values; of Wikidata those of best rank, or with ``qualified`` all.

        For Wikidata the table ``kbkit_values`` holds the statements.
        """
        if self._wikidata:
            rows = f"SELECT * FROM kbkit_values WHERE property = {literal(one.predicate)}"
            return rows + ("" if qualified else " AND best") + (f" AND precision >= {_MIN_PRECISION}" if one.kind == "date" else "")
        source: Source = next(
            s for (name, types), s in self._sources.items()
            if name == one.predicate and s.origin == one.origin and (s.origin != "attribute" or self._fits(types, one))
        )  # fmt: skip
        return source.sql

    def _fits(self, types: Sequence[str], one: Predicate) -> bool:
        return not types or one.type in types

    def _facts(self, asked: Asked, entities: pl.DataFrame) -> pl.DataFrame:
        one = asked.predicate
        frames = {"kbkit_entities": entities.select("id", "name", "aliases").unique("id", maintain_order=True)}
        rows = f"SELECT v.* FROM ({self.source(one, qualified=asked.qualifier is not None)}) v WHERE v.entity IN (SELECT id FROM kbkit_entities)"
        if asked.qualifier is None:
            sql = f"SELECT entity, {_parts('v', one.kind)}, NULL::VARCHAR AS given FROM ({rows}) v {_JOIN}"
        else:
            sql = self._qualified(asked, rows)
        frame = self._kb.tables.lookup(self._grouped(asked, sql), frames={**frames, **self._loaded})
        own = asked.qualifier
        about = own is not None and asked.given == "object"
        simple = pl.when(pl.col("answers").list.len() > 1).then(pl.lit("complex")).otherwise(pl.lit("simple"))
        empty = pl.lit([], dtype=pl.List(pl.String))
        frame = frame.join(entities.select("type", "key", entity="id"), on="entity", how="inner", maintain_order="left")
        return frame.select(
            "type",
            "key",
            pl.col("answers").cast(pl.List(ANSWER)),
            predicate=pl.lit(one.predicate),
            asks=pl.lit(own.name if own else ""),
            given=pl.when(pl.col("given").is_null()).then(empty).otherwise(pl.concat_list("given")),
            shape=pl.lit("qualified") if own else simple,
            kind=pl.lit(own.kind if own and about else one.kind),
            unit=pl.lit("" if about else _LONG_UNITS.get(one.unit, one.unit)),
        ).pipe(_identified)

    def _qualified(self, asked: Asked, rows: str) -> str:
        """Return SQL for the qualifier of each value, or the values of each qualifier."""
        assert asked.qualifier is not None
        q, one = asked.qualifier, asked.predicate
        if self._wikidata:
            joined = (
                f"SELECT v.entity, v.node, v.value, v.precision, v.unit, q.node AS q_node, q.value AS q_value,"
                f" q.precision AS q_precision FROM ({rows}) v JOIN kbkit_qualifiers q ON q.statement = v.statement"
                f" AND q.qualifier = {literal(q.name)}"
                + (f" WHERE q.precision >= {_MIN_PRECISION}" if q.kind == "date" else "")
            )
        else:
            column = quote(q.name)
            joined = (
                f"SELECT entity, node, value, precision, unit, NULL::INTEGER AS q_node, {column} AS q_value,"
                f" NULL::INTEGER AS q_precision FROM ({rows}) WHERE {column} IS NOT NULL"
            )
        if asked.given == "object":
            inner = f"SELECT entity, q_node AS node, q_value AS value, q_precision AS precision, '' AS unit, node AS o_node, value AS o_value FROM ({{}})"
            given = f"coalesce(o.name, v.o_value)"
            extra = "LEFT JOIN nodes o ON o.id = v.o_node WHERE o.id IS NULL OR NOT " + _UNNAMED.replace("name", "o.name")
            if q.kind == "text" and not self._wikidata:  # the role of an only capital says nothing
                joined += f" QUALIFY count(DISTINCT q_value) OVER (PARTITION BY entity) > 1"
            inner = inner.format(joined)
            return f"SELECT entity, {_parts('v', q.kind)}, {given} AS given FROM ({inner}) v {_JOIN} {extra}"
        year = "regexp_extract(v.q_value, '^[0-9]{4}')" if q.kind == "date" else "coalesce(o.name, v.q_value)"
        return (
            f"SELECT entity, {_parts('v', one.kind)}, nullif({year}, '') AS given FROM ({joined}) v {_JOIN}"
            f" LEFT JOIN nodes o ON o.id = v.q_node WHERE nullif({year}, '') IS NOT NULL"
        )

    def _grouped(self, asked: Asked, sql: str) -> str:
        """Return SQL that gathers the answers of each fact, and leaves out facts that their question would answer."""
        own = asked.qualifier is not None
        return f"""
        WITH v AS ({sql}),
        facts AS (SELECT entity, given, list(answer ORDER BY answer.text, answer.node) AS answers, bool_and(named) AS named
                  FROM (SELECT DISTINCT entity, given, answer, named FROM v) GROUP BY entity, given)
        SELECT e.id AS entity, f.given, f.answers FROM facts f JOIN kbkit_entities e ON e.id = f.entity
        WHERE f.named AND len(f.answers) <= {self._limit} AND {"f.given <> ''" if own else "true"}
          AND NOT list_bool_or(list_transform(
            list_distinct(flatten(list_transform(f.answers, lambda a: list_concat([a.text], a.aliases)))),
            lambda text: contains({_PADDED.format("concat_ws(' ', e.name, f.given, array_to_string(e.aliases, ' '))")}, {_PADDED.format("text")})))
        ORDER BY f.entity, f.given
        """


_PADDED = "concat(' ', regexp_replace(lower({}), '[^\\pL\\pN]+', ' ', 'g'), ' ')"
_JOIN = "LEFT JOIN nodes n ON n.id = v.node"


def _parts(v: str, kind: str) -> str:
    """Return SQL for the columns ``answer`` and ``named`` of values of a kind."""
    year = f"regexp_full_match({v}.value, '-?[0-9]{{1,4}}')"
    date = f"TRY_CAST({v}.value AS DATE)"
    number = f"TRY_CAST({v}.value AS DOUBLE)"
    whole = f"CASE WHEN {number} = round({number}) AND abs({number}) < 1e15 THEN format('{{:,}}', {number}::BIGINT) ELSE {v}.value END"
    short = f"CASE {v}.unit" + "".join(f" WHEN {literal(a)} THEN {literal(b)}" for a, b in _LONG_UNITS.items()) + f" ELSE coalesce({v}.unit, '') END"
    node = f"{{'text': n.name, 'aliases': coalesce(n.aliases, []::VARCHAR[]), 'node': concat(n.type::VARCHAR, '#', n.key), 'value': ''}}"
    if kind == "entity":
        other = f"{{'text': {v}.value, 'aliases': []::VARCHAR[], 'node': '', 'value': ''}}"
        return f"CASE WHEN n.id IS NULL THEN {other} ELSE {node} END AS answer, coalesce(n.name <> '' AND NOT {_UNNAMED.replace('name', 'n.name')}, {v}.value IS NOT NULL, false) AS named"
    if kind == "date":
        text = (
            f"CASE WHEN {year} THEN {v}.value WHEN {v}.value[1] = '-' THEN concat(ltrim(split_part({v}.value[2:], '-', 1), '0')::BIGINT + 1, ' BC')"
            f" WHEN coalesce({v}.precision, 11) >= 11 THEN strftime({date}, '%-d %B %Y')"
            f" WHEN {v}.precision = 10 THEN strftime({date}, '%B %Y') ELSE strftime({date}, '%Y') END"
        )
        iso = f"CASE WHEN {year} OR {v}.value[1] = '-' OR coalesce({v}.precision, 11) >= 11 THEN {v}.value WHEN {v}.precision = 10 THEN left({v}.value, 7) ELSE left({v}.value, 4) END"
        answer = f"{{'text': {text}, 'aliases': CASE WHEN {year} THEN []::VARCHAR[] ELSE [{iso}] END, 'node': '', 'value': {iso}}}"
        return f"{answer} AS answer, coalesce({text} <> '', false) AS named"
    if kind == "number":
        unit = f"CASE WHEN {short} = '' THEN '' ELSE concat(' ', {short}) END"
        answer = f"{{'text': concat({whole}, {unit}), 'aliases': list_distinct([{whole}, {v}.value]), 'node': '', 'value': {v}.value}}"
        return f"{answer} AS answer, {v}.value IS NOT NULL AS named"
    answer = f"{{'text': coalesce({v}.value, n.name), 'aliases': coalesce(n.aliases, []::VARCHAR[]), 'node': '', 'value': ''}}"
    return f"{answer} AS answer, coalesce({v}.value, n.name, '') <> '' AS named"


def _identified(frame: pl.DataFrame) -> pl.DataFrame:
    """Return facts with their ids: type#key, predicate, qualifier, and what the question names."""
    parts = [pl.col("type") + "#" + pl.col("key"), pl.col("predicate"), pl.col("asks"), pl.col("given").list.join(",")]
    return frame.with_columns(pl.concat_str(parts, separator="|").str.strip_chars_end("|").alias("id"))
