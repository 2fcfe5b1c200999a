"""Stage 4: the facts of the chosen entities (section 2.5 of the paper), as a table of columns.

A fact is what one turn asks for: the values of a predicate, the qualifier of one value, or the value that a qualifier
holds for. Facts whose question would contain an answer are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from kbkit.benchmarks.convkgyarn import values
from kbkit.benchmarks.convkgyarn.predicates import Predicate, Qualifier
from kbkit.benchmarks.convkgyarn.values import NODE, UNITS, Source, answer_columns, is_unnamed
from kbkit.benchmarks.evidence import padded_sql
from kbkit.benchmarks.left_out import LeftOutWords
from kbkit.english.markers import untelling
from kbkit.english.readable import is_placeholder
from kbkit.english.stems import shares_stem
from kbkit.kb import KnowledgeBase
from kbkit.schema import literal, quote

ANSWER = pl.Struct({"text": pl.String, "aliases": pl.List(pl.String), "node": pl.String, "value": pl.String})
COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String, "type": pl.String, "key": pl.String, "predicate": pl.String, "asks": pl.String,
    "given": pl.List(pl.String), "shape": pl.String, "kind": pl.String, "unit": pl.String, "answers": pl.List(ANSWER),
}  # fmt: skip
"""``asks``: the qualifier that a fact is about, or ""; ``given``: the object or qualifier that its question names."""
_YEAR = re.compile(r"1\d{3}|20\d\d")
_YEAR_PRECISION, _DAY_PRECISION = 9, 11
"""Wikidata's codes for precision. A date must be precise to the year, and a *date of ...* to the day."""
_DAYS = re.compile(r"(?i)date of .*")
_GUESSED, _ENOUGH = 0.5, 10
"""Fraction of the entities with a predicate, of which there must be so many, that have the most common value: a person
who knows nothing of a film would guess that it is in English.
"""
_SEVERAL = 1.3
"""Mean number of answers of a backward predicate from which single answers are dropped.

A country has several mountains on average: if the source lists only one, others are probably missing.
"""


@dataclass(frozen=True)
class Asked:
    """What facts are made of: a predicate, and the qualifier that is asked for or given, if any."""

    predicate: Predicate
    qualifier: Qualifier | None = None
    given: str = ""


class Facts:
    """Reads facts from a KB; those whose answers or objects have one of ``words`` are left out."""

    def __init__(
        self, kb: KnowledgeBase, asked: Sequence[Asked], max_answers: int, words: LeftOutWords | None = None
    ) -> None:
        self._words = words or LeftOutWords()
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
            of_types = entities.filter(pl.col("type").is_in([one.predicate.type for one in alike]))
            if of_types.height:
                parts.append(self._facts(alike[0], of_types))
        if not parts:
            return pl.DataFrame(schema=COLUMNS)
        order = entities.select("type", "key").unique(maintain_order=True).with_row_index("row")
        frame = pl.concat(parts).join(order, on=["type", "key"], maintain_order="left")
        return self._clean(frame.sort("row", maintain_order=True).select(list(COLUMNS)), entities)

    def _clean(self, facts: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
        """Leave out facts that have a listed word, that their question gives away, or that others say.

        An answer that shares a stem with the question is given away: the country of the *Moldovan leu*. Labels that
        tell nothing (*two word title*) are no answers. Facts of an entity with the same answers are one in meaning to a
        reader, so the first one is kept, plain facts before those with a qualifier.
        """
        texts = pl.col("answers").list.eval(pl.element().struct.field("text"))
        facts = facts.filter(
            ~self._words.mask(facts.select(pl.concat_list(texts, "given")).to_series().list.join("\n"))
        )
        named = entities.select("type", "key", said=pl.concat_list("name", "aliases")).unique(["type", "key"])
        nodes = pl.col("answers").list.eval(pl.element().struct.field("node"))
        said = facts.join(named, on=["type", "key"], how="left", maintain_order="left").select(
            "kind", answers=texts, said=pl.concat_list("said", "given"), nodes=nodes
        )
        tells = [
            any(untelling(*pair) for pair in zip(answers, (node.partition("#")[0] for node in nodes), strict=True))
            or (kind in ("entity", "text") and any(shares_stem(answer, names) for answer in answers))
            or (kind == "entity" and not _are_named(answers))
            or any(map(is_placeholder, answers))
            for kind, answers, names, nodes in said.iter_rows()
        ]
        facts = facts.filter(~pl.Series(tells, dtype=pl.Boolean)).with_columns(
            said=texts.list.sort().list.join("\n").str.to_lowercase(), order=pl.int_range(pl.len())
        )
        facts = facts.sort(pl.col("asks") != "", maintain_order=True)
        facts = facts.unique(["type", "key", "said"], keep="first", maintain_order=True)
        return facts.sort("order").select(list(COLUMNS))

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

    def source(self, predicate: Predicate, *, qualified: bool = False) -> str:
        """Return the SQL of a predicate's values; of Wikidata those of best rank, or with ``qualified`` all.

        For Wikidata the table ``kbkit_values`` holds the statements.
        """
        if self._wikidata:
            rows = f"SELECT * FROM kbkit_values WHERE property = {literal(predicate.predicate)}"
            return (
                rows
                + ("" if qualified else " AND best")
                + (f" AND precision >= {_precision(predicate.label)}" if predicate.kind == "date" else "")
            )
        source: Source = next(
            s for (name, types), s in self._sources.items()
            if name == predicate.predicate and s.origin == predicate.origin
            and (s.origin != "attribute" or self._fits(types, predicate))
        )  # fmt: skip
        return source.sql

    def _fits(self, types: Sequence[str], predicate: Predicate) -> bool:
        return not types or predicate.type in types

    def _facts(self, asked: Asked, entities: pl.DataFrame) -> pl.DataFrame:
        one = asked.predicate
        frames = {"kbkit_entities": entities.select("id", "name", "aliases").unique("id", maintain_order=True)}
        source = self.source(one, qualified=asked.qualifier is not None)
        rows = f"SELECT v.* FROM ({source}) v WHERE v.entity IN (SELECT id FROM kbkit_entities)"
        if one.top >= _GUESSED and one.entities >= _ENOUGH and asked.qualifier is None:
            value = "coalesce(v.node::VARCHAR, v.value::VARCHAR)"
            usual = f"SELECT mode({value}) FROM ({source}) v"
            rows += f" QUALIFY count(*) OVER (PARTITION BY v.entity) > 1 OR {value} IS DISTINCT FROM ({usual})"
        if asked.qualifier is None:
            sql = f"SELECT entity, {answer_columns(one.kind)}, NULL::VARCHAR AS given FROM ({rows}) v {NODE}"
        else:
            sql = self._qualified(asked, rows)
        frame = self._kb.tables.lookup(self._grouped(asked, sql), frames={**frames, **self._loaded})
        if one.origin == "backward" and one.mean >= _SEVERAL:
            frame = frame.filter(pl.col("answers").list.len() > 1)
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
            unit=pl.lit("" if about else UNITS.get(one.unit, one.unit)),
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
                + (f" WHERE q.precision >= {_precision(q.label)}" if q.kind == "date" else "")
            )
        else:
            column = quote(q.name)
            joined = (
                f"SELECT entity, node, value, precision, unit, NULL::INTEGER AS q_node, {column} AS q_value,"
                f" NULL::INTEGER AS q_precision FROM ({rows}) WHERE {column} IS NOT NULL"
            )
        if asked.given == "object":
            if q.kind == "text" and not self._wikidata:  # the role of an only capital says nothing
                joined += " QUALIFY count(DISTINCT q_value) OVER (PARTITION BY entity) > 1"
            inner = (
                "SELECT entity, q_node AS node, q_value AS value, q_precision AS precision, '' AS unit, node AS o_node,"
                f" value AS o_value FROM ({joined})"
            )
            return (
                f"SELECT entity, {answer_columns(q.kind)}, coalesce(o.name, v.o_value) AS given FROM ({inner}) v {NODE}"
                f" LEFT JOIN nodes o ON o.id = v.o_node WHERE o.id IS NULL OR NOT {is_unnamed('o.name')}"
            )
        year = "regexp_extract(v.q_value, '^[0-9]{4}')" if q.kind == "date" else "coalesce(o.name, v.q_value)"
        return (
            f"SELECT entity, {answer_columns(one.kind)}, nullif({year}, '') AS given FROM ({joined}) v {NODE}"
            f" LEFT JOIN nodes o ON o.id = v.q_node WHERE nullif({year}, '') IS NOT NULL"
        )

    def _grouped(self, asked: Asked, sql: str) -> str:
        """Return SQL that gathers the answers of each fact, and leaves out facts that their question would answer."""
        own = asked.qualifier is not None
        said = padded_sql("concat_ws(' ', e.name, f.given, array_to_string(e.aliases, ' '))")
        texts = "flatten(list_transform(f.answers, lambda a: list_concat([a.text], a.aliases)))"
        return f"""
        WITH v AS ({sql}),
        facts AS (SELECT entity, given, list(answer ORDER BY answer.text, answer.node) AS answers,
                         bool_and(named) AS named
                  FROM (SELECT DISTINCT entity, given, answer, named FROM v) GROUP BY entity, given)
        SELECT e.id AS entity, f.given, f.answers FROM facts f JOIN kbkit_entities e ON e.id = f.entity
        WHERE f.named AND len(f.answers) <= {self._limit} AND {"f.given <> ''" if own else "true"}
          AND NOT coalesce(list_bool_or(list_transform(
            {texts}, lambda text: contains({said}, {padded_sql("text")}) AND {padded_sql("text")} <> '  ')), false)
        ORDER BY f.entity, f.given
        """


def _precision(label: str) -> int:
    return _DAY_PRECISION if _DAYS.fullmatch(label) else _YEAR_PRECISION


def _are_named(answers: Sequence[str]) -> bool:
    """Return whether nodes have names or years, not numbers of their table."""
    return all(any(map(str.isalpha, answer)) or _YEAR.fullmatch(answer) for answer in answers)


def _identified(frame: pl.DataFrame) -> pl.DataFrame:
    """Return facts with their ids: type#key, predicate, qualifier, and what the question names."""
    parts = [pl.col("type") + "#" + pl.col("key"), pl.col("predicate"), pl.col("asks"), pl.col("given").list.join(",")]
    return frame.with_columns(pl.concat_str(parts, separator="|").str.strip_chars_end("|").alias("id"))
