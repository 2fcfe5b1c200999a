"""Which candidates are answers: features, logistic regression, and the threshold for the scores of any classifier.

The paper's classifier is a fine-tuned T5 (appendix A). This one needs no model, and learns from the same examples:
answers and non-answers among the candidates of a retriever, and random non-answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.benchmarks.quest.dataset import Example
from kbkit.errors import KbError, Option
from kbkit.kb import KnowledgeBase
from kbkit.search.ranking import RRF_K

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Labels = NDArray[np.bool_]
_WORD = r"[\p{L}\p{N}]+"
_BATCH = 20_000
"""Number of documents that are split into words at once."""


@dataclass(frozen=True)
class Logistic:
    """P(answer) = 1 / (1 + exp(-(bias + weights . (x - mean) / scale)))."""

    weights: Vector
    bias: float
    mean: Vector
    scale: Vector

    def scores(self, features: Matrix) -> Vector:
        """Return a probability for each row."""
        from scipy.special import expit

        probabilities: Vector = expit(((features - self.mean) / self.scale) @ self.weights + self.bias)
        return probabilities


def fit(features: Matrix, labels: Labels, l2: float = 1.0) -> Logistic:
    """Minimize the sum of log losses + ``l2`` / 2 * |weights|^2 (without the bias) by L-BFGS.

    Columns are standardized first; constant columns have no weight. The problem is convex, so the result is
    deterministic. Raises :class:`KbError` unless there are answers and non-answers.
    """
    from scipy.optimize import minimize

    if labels.all() or not labels.any():
        kind = "answer" if not labels.any() else "non-answer"
        raise KbError(f"The training candidates include no {kind}", "Use a larger ", Option("k"))
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, 1.0)
    scaled, targets = (features - mean) / scale, labels.astype(np.float64)
    start = np.zeros(features.shape[1] + 1)
    options = {"maxiter": 2_000, "maxcor": 30, "ftol": 1e-14, "gtol": 1e-6 * len(labels)}
    optimum = minimize(loss, start, (scaled, targets, l2), jac=True, method="L-BFGS-B", options=options)
    return Logistic(optimum.x[:-1], float(optimum.x[-1]), mean, scale)


def loss(parameters: Vector, features: Matrix, targets: Vector, l2: float) -> tuple[float, Vector]:
    """Return the sum that :func:`fit` minimizes, and its gradient; the last of the ``parameters`` is the bias."""
    from scipy.special import expit

    weights, bias = parameters[:-1], parameters[-1]
    logits = features @ weights + bias
    value = np.logaddexp(0.0, logits).sum() - targets @ logits + l2 / 2 * weights @ weights
    wrong = expit(logits) - targets
    return float(value), np.append(features.T @ wrong + l2 * weights, wrong.sum())


class TunedThreshold(NamedTuple):
    """Candidates with this score or more are answers; ``f1`` is the mean F1 where it was tuned."""

    value: float
    f1: float


def tune(queries: NDArray[np.integer], scores: Vector, labels: Labels, answers: NDArray[np.integer]) -> TunedThreshold:
    """Return the threshold with the best mean F1 over the queries, the highest of equal ones. Exact, in one sort.

    ``queries`` numbers the query of each candidate, ``labels`` says whether it is an answer, ``answers`` counts all
    answers of each query, found or not; queries without any are left out. The threshold is one of the scores, or
    infinite (no answers) if no candidate is an answer.
    """
    answerable = answers > 0
    if not answerable.any():
        raise KbError("No query of the validation split has answers", "They are needed to tune the threshold")
    keep = answerable[queries]
    queries, scores, labels = queries[keep], scores[keep], labels[keep]
    order = np.lexsort((-scores, queries))
    queries, scores, labels = queries[order], scores[order], labels[order]
    gained = _gains(queries, labels, answers)
    falling = np.argsort(-scores, kind="stable")
    average = np.cumsum(gained[falling]) / answerable.sum()
    sorted_scores = scores[falling]
    ends = np.append(sorted_scores[1:] < sorted_scores[:-1], True)[: len(scores)]  # equal scores share a threshold
    if not ends.any() or not labels.any():
        return TunedThreshold(float("inf"), 0.0)
    best = float(average[ends].max())
    position = int(np.flatnonzero(ends & (average >= best - 1e-12))[0])
    return TunedThreshold(float(sorted_scores[position]), float(average[position]))


def _gains(queries: NDArray[np.integer], labels: Labels, answers: NDArray[np.integer]) -> Vector:
    """Return the change of a query's F1 by each candidate, taken in order; candidates are sorted by query."""
    count = np.arange(len(queries))
    first = np.searchsorted(queries, queries)  # where the query starts
    size = count - first + 1
    running = np.cumsum(labels)
    hits: NDArray[np.integer] = running - np.where(first > 0, running[first - 1], 0)
    f1 = 2 * hits / (size + answers[queries])
    before = np.where(size > 1, np.append(0.0, f1[:-1])[: len(f1)], 0.0)
    gained: Vector = f1 - before
    return gained


# -- features ---------------------------------------------------------------------------------------------------------


def matrix(
    kb: KnowledgeBase,
    candidates: pl.DataFrame,
    examples: Sequence[Example],
    rankings: Mapping[str, pl.DataFrame],
    documents: pl.DataFrame,
) -> Matrix:
    """Return a row of features for each candidate (query, id), in order, without missing values.

    For each of the ``rankings`` (mode -> query, id, score, rank): whether the candidate is in it, score / the query's
    best, score in standard deviations of the query's scores, log rank; a candidate that is missing has the lowest score
    and the rank after the last. Then the sum of 1 / (60 + rank); the fraction of the query's words, weighted by rarity,
    that the document contains; the log of the document's word count; the number of the query's words. ``documents``:
    id, text.
    """
    parts = [ranked(candidates, ranking) for ranking in rankings.values()]
    fused = sum((part[:, 0] / (RRF_K + np.exp(part[:, 3])) for part in parts), np.zeros(candidates.height))
    return np.column_stack([*parts, fused, _shared(kb, candidates, examples, documents)])


def ranked(candidates: pl.DataFrame, ranking: pl.DataFrame) -> Matrix:
    """Return the features of one ranking for each candidate: found, score / best, standard score, log rank."""
    score = pl.col("score")
    totals = ranking.group_by("query").agg(
        best=score.max(), lowest=score.min(), mean=score.mean(), deviation=score.std(ddof=0), last=pl.col("rank").max()
    )
    joined = candidates.select("query", "id").join(
        ranking.select("query", "id", "score", "rank"), on=["query", "id"], how="left", maintain_order="left"
    )
    joined = joined.join(totals, on="query", how="left", maintain_order="left").with_columns(
        pl.coalesce("score", "lowest").fill_null(0.0).alias("at")
    )
    columns = joined.select(
        found=score.is_not_null().cast(pl.Float64),
        share=_ratio(pl.col("at"), pl.col("best")),
        standard=_ratio(pl.col("at") - pl.col("mean"), pl.col("deviation")),
        rank=(pl.coalesce("rank", pl.col("last") + 1).fill_null(1)).cast(pl.Float64).log(),
    )
    return columns.to_numpy()


def _ratio(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """Return a quotient, or 0 if the divisor is 0 or missing."""
    return pl.when(below.abs() > 1e-12).then(above / below).otherwise(0.0).fill_null(0.0)


def _shared(
    kb: KnowledgeBase, candidates: pl.DataFrame, examples: Sequence[Example], documents: pl.DataFrame
) -> Matrix:
    """Return for each candidate: weighted fraction of the query's words, log length, words of the query."""
    stem = _Stems(kb)
    words = [(example.id, word) for example in examples for word in stem.query(example.text)]
    queries = pl.DataFrame(words, schema={"query": pl.String, "word": pl.String}, orient="row")
    weights = {word: stem.weight(word) for word in queries["word"].unique()}
    queries = queries.with_columns(weight=pl.col("word").replace_strict(weights, return_dtype=pl.Float64, default=0.0))
    known, lengths = _words(documents, stem, set(weights))
    total = queries.group_by("query").agg(total=pl.col("weight").sum(), words=pl.len().cast(pl.Float64))
    pairs = candidates.select("query", "id")
    matched = (
        pairs.join(queries, on="query")
        .join(known, on=["id", "word"], how="semi")
        .group_by("query", "id")
        .agg(matched=pl.col("weight").sum())
    )
    frame = pairs.join(matched, on=["query", "id"], how="left", maintain_order="left")
    frame = frame.join(total, on="query", how="left", maintain_order="left")
    frame = frame.join(lengths, on="id", how="left", maintain_order="left")
    return frame.select(
        _ratio(pl.col("matched").fill_null(0.0), pl.col("total")).alias("share"),
        pl.col("length").fill_null(0).cast(pl.Float64).log1p(),
        pl.col("words").fill_null(0.0),
    ).to_numpy()


def _words(documents: pl.DataFrame, stem: _Stems, wanted: set[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return which of the ``wanted`` stems each document contains (id, word), and its word count (id, length)."""
    occurrences = [pl.DataFrame(schema={"id": pl.Int32, "word": pl.String})]
    lengths = [pl.DataFrame(schema={"id": pl.Int32, "length": pl.UInt32})]
    for start in range(0, documents.height, _BATCH):
        split = documents.slice(start, _BATCH).select("id", pl.col("text").str.to_lowercase().str.extract_all(_WORD))
        lengths.append(split.select("id", pl.col("text").list.len().alias("length")))
        exploded = split.select("id", pl.col("text").list.unique()).explode("text", empty_as_null=False)
        spelt = exploded["text"].unique().drop_nulls()
        meant = {word: stem.word(word) for word in spelt}
        keep = {word: to for word, to in meant.items() if to in wanted}
        pairs = exploded.filter(pl.col("text").is_in(list(keep)))
        occurrences.append(
            pairs.select("id", pl.col("text").replace_strict(keep, return_dtype=pl.String).alias("word")).unique()
        )
    return pl.concat(occurrences), pl.concat(lengths)


class _Stems:
    """Stems of words from the KB's full text; without full text, the words themselves."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._text = kb.text if kb.has("text") else None
        self._known: dict[str, str] = {}

    def query(self, text: str) -> list[str]:
        """Return the distinct words of a query, without stop words."""
        if self._text is not None:
            return self._text.words(text)
        return list(dict.fromkeys(re.findall(r"\w+", text.lower())))

    def word(self, word: str) -> str:
        """Return the stem of one word of a document."""
        if self._text is None:
            return word
        if word not in self._known:
            self._known[word] = next(iter(self._text.words(word)), word)
        return self._known[word]

    def weight(self, word: str) -> float:
        """Return BM25's inverse document frequency of a stem: log(1 + (N - n + 0.5) / (n + 0.5))."""
        if self._text is None:
            return 1.0
        documents = self._text.documents
        holding = min(self._text.frequency(word), documents)
        return float(np.log1p((documents - holding + 0.5) / (holding + 0.5)))
