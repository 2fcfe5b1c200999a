"""What is known of a candidate before anybody reads it: where retrievers put it, and which words it shares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.benchmarks.quest.dataset import Example
from kbkit.kb import KnowledgeBase
from kbkit.search.ranking import RRF_K

Matrix = NDArray[np.float64]

_WORD = r"[\p{L}\p{N}]+"
_STEP = 20_000
"""Documents that are split into words at once."""


def matrix(
    kb: KnowledgeBase,
    candidates: pl.DataFrame,
    examples: Sequence[Example],
    rankings: Mapping[str, pl.DataFrame],
    documents: pl.DataFrame,
) -> Matrix:
    """A row for each candidate (query, id), in order; no value is missing.

    For each of the ``rankings`` (mode -> query, id, score, rank): whether the candidate is in it, score / the query's
    best, score in standard deviations of the query's scores, log rank; what a ranking lacks has its lowest score, and
    the rank after its last. Then the sum of 1 / (60 + rank); the share of the query's words, weighted by how rare they
    are, in the document; the log of the document's words; the number of the query's words. ``documents``: id, text.
    """
    parts = [ranked(candidates, ranking) for ranking in rankings.values()]
    fused = sum((part[:, 0] / (RRF_K + np.exp(part[:, 3])) for part in parts), np.zeros(candidates.height))
    return np.column_stack([*parts, fused, _shared(kb, candidates, examples, documents)])


def ranked(candidates: pl.DataFrame, ranking: pl.DataFrame) -> Matrix:
    """What one ranking says of each candidate: found, score / best, standard score, log rank."""
    score = pl.col("score")
    whole = ranking.group_by("query").agg(
        best=score.max(), least=score.min(), mean=score.mean(), deviation=score.std(ddof=0), last=pl.col("rank").max()
    )
    joined = candidates.select("query", "id").join(
        ranking.select("query", "id", "score", "rank"), on=["query", "id"], how="left", maintain_order="left"
    )
    joined = joined.join(whole, on="query", how="left", maintain_order="left").with_columns(
        pl.coalesce("score", "least").fill_null(0.0).alias("at")
    )
    columns = joined.select(
        found=score.is_not_null().cast(pl.Float64),
        share=_ratio(pl.col("at"), pl.col("best")),
        standard=_ratio(pl.col("at") - pl.col("mean"), pl.col("deviation")),
        rank=(pl.coalesce("rank", pl.col("last") + 1).fill_null(1)).cast(pl.Float64).log(),
    )
    return columns.to_numpy()


def _ratio(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """A quotient, 0 where there is nothing to divide by."""
    return pl.when(below.abs() > 1e-12).then(above / below).otherwise(0.0).fill_null(0.0)


def _shared(
    kb: KnowledgeBase, candidates: pl.DataFrame, examples: Sequence[Example], documents: pl.DataFrame
) -> Matrix:
    """For each candidate the weighted share of the query's words in its document, log length, words of the query."""
    stem = _Stems(kb)
    words = [(example.id, word) for example in examples for word in stem.query(example.text)]
    queries = pl.DataFrame(words, schema={"query": pl.String, "word": pl.String}, orient="row")
    weights = {word: stem.weight(word) for word in queries["word"].unique()}
    queries = queries.with_columns(weight=pl.col("word").replace_strict(weights, return_dtype=pl.Float64, default=0.0))
    known, lengths = _words(documents, stem, set(weights))
    total = queries.group_by("query").agg(total=pl.col("weight").sum(), words=pl.len().cast(pl.Float64))
    pairs = candidates.select("query", "id")
    held = (
        pairs.join(queries, on="query")
        .join(known, on=["id", "word"], how="semi")
        .group_by("query", "id")
        .agg(held=pl.col("weight").sum())
    )
    frame = pairs.join(held, on=["query", "id"], how="left", maintain_order="left")
    frame = frame.join(total, on="query", how="left", maintain_order="left")
    frame = frame.join(lengths, on="id", how="left", maintain_order="left")
    return frame.select(
        _ratio(pl.col("held").fill_null(0.0), pl.col("total")).alias("share"),
        pl.col("length").fill_null(0).cast(pl.Float64).log1p(),
        pl.col("words").fill_null(0.0),
    ).to_numpy()


def _words(documents: pl.DataFrame, stem: _Stems, wanted: set[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Which of the ``wanted`` stems each document holds (id, word), and how many words it has (id, length)."""
    found = [pl.DataFrame(schema={"id": pl.Int32, "word": pl.String})]
    lengths = [pl.DataFrame(schema={"id": pl.Int32, "length": pl.UInt32})]
    for start in range(0, documents.height, _STEP):
        split = documents.slice(start, _STEP).select("id", pl.col("text").str.to_lowercase().str.extract_all(_WORD))
        lengths.append(split.select("id", pl.col("text").list.len().alias("length")))
        exploded = split.select("id", pl.col("text").list.unique()).explode("text", empty_as_null=False)
        spelt = exploded["text"].unique().drop_nulls()
        meant = {word: stem.word(word) for word in spelt}
        keep = {word: to for word, to in meant.items() if to in wanted}
        pairs = exploded.filter(pl.col("text").is_in(list(keep)))
        found.append(
            pairs.select("id", pl.col("text").replace_strict(keep, return_dtype=pl.String).alias("word")).unique()
        )
    return pl.concat(found), pl.concat(lengths)


class _Stems:
    """Words as the KB's full text knows them; in a KB without it, as they are written."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._text = kb.text if kb.has("text") else None
        self._known: dict[str, str] = {}

    def query(self, text: str) -> list[str]:
        """The distinct words of a query that tell something."""
        if self._text is not None:
            return self._text.words(text)
        return list(dict.fromkeys(re.findall(r"\w+", text.lower())))

    def word(self, word: str) -> str:
        """The stem of one word of a document."""
        if self._text is None:
            return word
        if word not in self._known:
            self._known[word] = next(iter(self._text.words(word)), word)
        return self._known[word]

    def weight(self, word: str) -> float:
        """How rare a stem is: BM25's inverse document frequency, log(1 + (N - n + 0.5) / (n + 0.5))."""
        if self._text is None:
            return 1.0
        documents = self._text.documents
        holding = min(self._text.frequency(word), documents)
        return float(np.log1p((documents - holding + 0.5) / (holding + 0.5)))
