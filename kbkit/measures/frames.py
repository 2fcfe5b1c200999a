"""Frames of runs and answers: columns, order, and checks.

A *run* has the columns ``query`` (String), ``node`` (String) and ``score`` (Float64), best first within a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.errors import BadInputError, KbError, Option, UnknownNameError

RUN = pl.Schema({"query": pl.String, "node": pl.String, "score": pl.Float64})
JUDGEMENTS = pl.Schema({"query": pl.String, "node": pl.String, "relevance": pl.Int64})
MAX_RELEVANCE = 10_000
"""Limit on the absolute value of judgements: trec_eval keeps a counter per level."""
MAX_K = 1_000_000


@dataclass(frozen=True)
class Gold:
    """The right answers: ``judgements`` (query, node, relevance; 1 and above is relevant) and ``queries``.

    ``queries`` has a row per query: ``query``, ``text`` (may be null), other columns of the source to group by. A query
    may have no judgements.
    """

    judgements: pl.DataFrame
    queries: pl.DataFrame

    @property
    def relevant(self) -> pl.DataFrame:
        """Judgements of relevance 1 or more."""
        return self.judgements.filter(pl.col("relevance") >= 1)

    def only(self, split: str, where: object) -> Gold:
        """Return the queries of a split with their judgements (empty: all)."""
        queries = of_split(self.queries, split, where)
        return self if not split else Gold(self.judgements.join(queries, on="query", how="semi"), queries)


def of_split(queries: pl.DataFrame, split: str, where: object) -> pl.DataFrame:
    """Return the rows of a split (empty: all)."""
    if not split:
        return queries
    if "split" not in queries.columns:
        raise KbError(f"{where} has no splits", "Omit ", Option("split"))
    chosen = queries.filter(pl.col("split").cast(pl.String) == split)
    if chosen.is_empty():
        known = queries["split"].drop_nulls().cast(pl.String).unique().sort().to_list()
        raise UnknownNameError("split", split, known, where=str(where))
    return chosen


def by_id(run: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Return a run with the ids of ``queries`` (query, text) instead of their texts.

    Texts that several queries have, or that are ids too, stay as they are.
    """
    clear = queries.select(_id="query", _text="text").drop_nulls()
    clear = clear.filter(pl.col("_text").is_unique() & ~pl.col("_text").is_in(queries["query"].to_list()))
    return (
        run.join(clear, left_on="query", right_on="_text", how="left", maintain_order="left")
        .with_columns(query=pl.coalesce("_id", "query"))
        .select(run.columns)
    )


def ordered(run: pl.DataFrame) -> pl.DataFrame:
    """Sort a run by rank: queries in order of appearance, scores descending, ties by node, ascending.

    Nodes of decimal digits compare as numbers and precede others, which compare by code point. (trec_eval itself keeps
    scores in 32 bits and orders ties by node, descending: its values can differ on ties.) Raises :class:`KbError` for a
    duplicate node in a query and for a score that is not finite.
    """
    twice = run.filter(pl.struct("query", "node").is_duplicated())
    for query, node in twice.select("query", "node").head(1).iter_rows():
        raise KbError(f"Duplicate node {node!r} in query {query!r}")
    for query, node, score in _not_finite(run).select(*RUN).iter_rows():
        raise KbError(_score_message(query, node, score))
    return _sorted(run)


def _score_message(query: str, node: str, score: float | None) -> str:
    return f"Invalid score {score} of node {node!r} in query {query!r}"


def _not_finite(run: pl.DataFrame) -> pl.DataFrame:
    """Return the first row whose score is missing or not finite."""
    return run.filter(pl.col("score").is_null() | ~pl.col("score").is_finite()).head(1)


def _sorted(run: pl.DataFrame) -> pl.DataFrame:
    digits = pl.col("node").str.contains("^[0-9]+$")
    number = pl.col("node").str.strip_chars_start("0")
    zeroed = pl.col("score") + 0.0  # -0.0 and 0.0 are a tie
    keys = run.select("query", "node", zeroed).cast(RUN).with_row_index("_position")
    keys = keys.with_columns(
        _first=pl.col("_position").min().over("query"),
        _word=~digits,
        _length=pl.when(digits).then(number.str.len_bytes()).otherwise(0),
        _name=pl.when(digits).then(number).otherwise(pl.col("node")),
    )
    by = ["_first", "score", "_word", "_length", "_name", "node"]
    return keys.sort(by, descending=[name == "score" for name in by]).select(*RUN)


def checked_run(rows: pl.DataFrame, path: Path, unit: str) -> pl.DataFrame:
    """Return the run of ``rows`` (with ``position``, the number of the line or record), sorted.

    Raises :class:`BadInputError` for a score that is not finite and for a duplicate node in a query.
    """
    for query, node, score, position in _not_finite(rows).select(*RUN, "position").iter_rows():
        raise BadInputError(f"{_score_message(query, node, score)} in {path}, {unit} {position}")
    for query, node, _, first, second in _repeated(rows, ["query", "node"]):
        message = f"Duplicate node {node!r} in query {query!r} in {path}, {unit} {second}"
        raise BadInputError(message, f"The first is in {unit} {first}")
    return _sorted(rows)


def checked_judgements(rows: pl.DataFrame, path: Path, unit: str) -> pl.DataFrame:
    """Return the distinct judgements of ``rows`` (with ``position``).

    Raises :class:`BadInputError` for contradicting judgements and for a relevance out of bounds.
    """
    for query, node, relevance, position in rows.filter(pl.col("relevance").abs() > MAX_RELEVANCE).head(1).iter_rows():
        message = f"Invalid relevance {relevance} of node {node!r} in query {query!r} in {path}, {unit} {position}"
        raise BadInputError(message, f"Use a number from -{MAX_RELEVANCE:,} to {MAX_RELEVANCE:,}")
    once = rows.unique(list(JUDGEMENTS), keep="first", maintain_order=True)
    for query, node, _, first, second in _repeated(once, ["query", "node"]):
        message = f"Contradicting judgements of node {node!r} in query {query!r} in {path}, {unit} {second}"
        raise BadInputError(message, f"The first is in {unit} {first}")
    return once.select(*JUDGEMENTS)


def _repeated(rows: pl.DataFrame, by: list[str]) -> list[tuple[Any, ...]]:
    """Return the first row that repeats another, if any: its columns, the other's position, its position."""
    repeated = rows.filter(pl.struct(by).is_duplicated())
    again = repeated.filter(~pl.struct(by).is_first_distinct()).sort("position").head(1)
    if again.is_empty():
        return []
    first = repeated.join(again, on=by, how="semi")["position"].min()
    return [(*row[:-1], first, row[-1]) for row in again.iter_rows()]


def series(name: str, values: Sequence[Any]) -> pl.Series:
    """Return scalars as a column: of their type, or as text if types differ."""
    kinds = {type(value) for value in values if value is not None}
    fit = kinds and kinds <= {int, float} and all(abs(v) < 2**63 for v in values if isinstance(v, int))
    if fit and kinds == {int}:
        return pl.Series(name, values, dtype=pl.Int64)
    if fit:
        return pl.Series(name, [None if v is None else float(v) for v in values], dtype=pl.Float64)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    return pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)


def count_queries(count: int) -> str:
    """Return ``1 query``, ``2 queries``."""
    return f"{count:,} quer{'y' if count == 1 else 'ies'}"
