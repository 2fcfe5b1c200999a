"""Human evaluation of datasets (STaRK, section 2.5 and Table 10): people rate samples of queries.

The paper asked participants for the naturalness, diversity and practicality of sampled queries on a scale of five, and
prints for each dataset the percentage of positive and of non-negative ratings. Its rates are multiples of 1/19, 1/19
and 1/28: each participant rated a sample as a whole. It prints neither the number of queries nor the wording.

Ratings are JSON lines, one for each answer: rater, dataset, queries (their ids), aspect, rating (1 to 5). A file can
hold ratings of several raters and datasets.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.dataset import check_output_file, writing
from kbkit.benchmarks.judging import Answers, Item, Passage, Question, Task, check_rater
from kbkit.benchmarks.pipeline import busy
from kbkit.directory.files import append_json, whole_lines
from kbkit.directory.systems import exclusive
from kbkit.errors import BadInputError, KbError
from kbkit.measures.agreement import weighted_kappa
from kbkit.measures.frames import Gold
from kbkit.measures.records import JsonRecord, content, records

ASPECTS = {
    "naturalness": "Do the queries resemble natural conversation?",
    "diversity": "Do the queries cover various structures of questions and degrees of complexity?",
    "practicality": "Are the queries relevant to situations of real life?",
}
"""The aspects and a question for each, after section 2.5."""
LEVELS = 5
SCALE = {"1": "not at all", "2": "", "3": "neutral", "4": "", "5": "very much"}
NEUTRAL = 3
_TEXTS = dict.fromkeys(("rater", "dataset"), pl.String())
_SCHEMA = pl.Schema({**_TEXTS, "queries": pl.List(pl.String()), "aspect": pl.String(), "rating": pl.Int64()})
_PATIENCE = 10.0
"""Seconds to wait for another writer; saving a rating takes milliseconds."""


class Sample(NamedTuple):
    """The ``number``-th sample of a dataset, whose queries are ``ids``."""

    dataset: str
    number: int
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """Disjoint random samples of the queries of a dataset: ``texts`` by id, and the ids of each sample."""

    dataset: str
    texts: dict[str, str]
    ids: tuple[tuple[str, ...], ...]

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples."""
        for number, ids in enumerate(self.ids, 1):
            yield Sample(self.dataset, number, ids)


def samples(name: str, gold: Gold, size: int, count: int, seed: int) -> Samples:
    """Draw ``count`` samples of ``size`` queries of a dataset; equal seeds give equal samples.

    Raises :class:`KbError` if the dataset has too few queries.
    """
    check_range("number of queries", size)
    check_range("number of samples", count)
    check_range("seed", seed, 0)
    queries = gold.queries
    if queries.height < size * count:
        message = f"{name} has {queries.height:,} queries, fewer than the {size * count:,} of all samples"
        raise KbError(message, "Use fewer or smaller samples")
    ids = queries["query"].gather(np.random.default_rng(seed).permutation(queries.height)[: size * count])
    texts = dict(queries.select("query", pl.col("text").fill_null("")).iter_rows())
    drawn = ids.to_list()
    return Samples(name, texts, tuple(tuple(drawn[i : i + size]) for i in range(0, size * count, size)))


# -- the file ---------------------------------------------------------------------------------------------------------


def read(paths: Sequence[Path]) -> pl.DataFrame:
    """Return the ratings of files: rater, dataset, queries, aspect, rating.

    Of several ratings of the same, the last one counts. Raises :class:`BadInputError` for an invalid line.
    """
    rows = [_row(record) for path in paths for record in records(path, whole_lines(content(path)))]
    found = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return found.unique(["rater", "dataset", "queries", "aspect"], keep="last", maintain_order=True)


def _row(record: JsonRecord) -> tuple[str, str, list[str], str, int]:
    rater, dataset, queries, aspect, rating = (record.fields.get(name) for name in _SCHEMA)
    hint = f"A rating has rater, dataset, queries, aspect ({', '.join(ASPECTS)}) and rating (1 to {LEVELS})"
    if not isinstance(rater, str) or not isinstance(dataset, str) or not rater or not dataset:
        raise record.error("Missing rater or dataset", hint)
    if not isinstance(queries, list) or not queries or not all(isinstance(query, str) for query in queries):
        raise record.error("Invalid queries", hint)
    if aspect not in ASPECTS:
        raise record.error(f"Invalid aspect {aspect!r:.40}", hint)
    if type(rating) is not int or not 1 <= rating <= LEVELS:
        raise record.error(f"Invalid rating {rating!r:.40}", hint)
    return rater, dataset, queries, aspect, rating


def save(path: Path, rater: str, sample: Sample, aspect: str, rating: int) -> None:
    """Append a rating to a file. Concurrent writers wait for each other."""
    values = (rater, sample.dataset, list(sample.ids), aspect, rating)
    line: dict[str, Any] = dict(zip(_SCHEMA, values, strict=True))
    lock = exclusive(path.with_name(f".{path.name}.lock"), *busy(path), _PATIENCE)
    with writing(path), lock:
        append_json(path, line)


class Rating(Task):
    """A rater's task: samples to rate, each with all aspects. Each rating counts, also if others are missing.

    Raises :class:`KbError` for an empty name, and if the file cannot be written.
    """

    noun = ("sample", "samples")
    whole = False

    def __init__(self, drawn: Samples, path: Path, rater: str) -> None:
        check_rater(rater)
        check_output_file(path)
        self.title, self.path, self._rater, self._drawn = f"Rate queries of {drawn.dataset}", path, rater, drawn
        self._known: dict[tuple[str, ...], dict[str, str]] = {}
        if path.is_file() and path.stat().st_size:
            own = read([path]).filter(pl.col("rater") == rater, pl.col("dataset") == drawn.dataset)
            for ids, aspect, rating in own.select("queries", "aspect", "rating").iter_rows():
                self._known.setdefault(tuple(ids), {})[aspect] = str(rating)

    @property
    def keys(self) -> list[Sample]:
        """The samples."""
        return list(self._drawn)

    def item(self, key: Hashable) -> Item:
        """Return the queries of a sample, and a question for each aspect."""
        assert isinstance(key, Sample)
        texts = [[" ".join(self._drawn.texts[name].split())] for name in key.ids]
        questions = [Question(aspect, text, SCALE) for aspect, text in ASPECTS.items()]
        title = f"{key.dataset}, sample {key.number} of {len(self._drawn.ids)}"
        return Item(title, passages=[Passage(texts, numbered=True)], questions=questions)

    def given(self, key: Hashable) -> Answers | None:
        """Return the ratings of a sample."""
        assert isinstance(key, Sample)
        known = self._known.get(key.ids)
        return None if known is None else Answers(known)

    def save(self, key: Hashable, answers: Answers) -> int:
        """Save the ratings that are new or different."""
        assert isinstance(key, Sample)
        known = self._known.setdefault(key.ids, {})
        fresh = {aspect: rating for aspect, rating in answers.choices.items() if known.get(aspect) != rating}
        for aspect, rating in fresh.items():
            save(self.path, self._rater, key, aspect, int(rating))
            known[aspect] = rating
        return len(fresh)


# -- tables -----------------------------------------------------------------------------------------------------------


def rates(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return Table 10: dataset, aspect, ratings (number), positive, non_negative (percent).

    A rating of 4 or 5 is positive, 3 neutral. The rows of the dataset ``Average`` are the means of the datasets.
    """
    if ratings.is_empty():
        raise BadInputError("No ratings")
    rating = pl.col("rating")
    place = {name: i for i, name in enumerate(ratings["dataset"].unique(maintain_order=True))}
    found = ratings.group_by("dataset", "aspect").agg(
        pl.len().cast(pl.Int64).alias("ratings"),
        (100 * (rating > NEUTRAL).mean()).alias("positive"),
        (100 * (rating >= NEUTRAL).mean()).alias("non_negative"),
    )
    found = found.sort(pl.col("dataset").replace_strict(place), pl.col("aspect").replace_strict(_ORDER))
    if len(place) == 1:
        return found
    average = found.group_by("aspect").agg(
        pl.lit("Average").alias("dataset"), pl.col("ratings").sum(), pl.col("positive", "non_negative").mean()
    )
    return pl.concat([found, average.sort(pl.col("aspect").replace_strict(_ORDER)).select(found.columns)])


_ORDER = {aspect: place for place, aspect in enumerate(ASPECTS)}


def as_printed(found: pl.DataFrame) -> pl.DataFrame:
    """Return Table 10 as the paper prints it: a row per dataset, "positive / non-negative" for each aspect."""
    shown = pl.format("{} / {}", pl.col("positive").round(1), pl.col("non_negative").round(1))
    names = [aspect for aspect in ASPECTS if aspect in found["aspect"]]
    cells = found.with_columns(shown.alias("cell"))
    counts = found.group_by("dataset", maintain_order=True).agg(pl.col("ratings").max())
    wide = cells.pivot("aspect", index="dataset", values="cell", maintain_order=True).select("dataset", *names)
    return counts.join(wide, on="dataset", maintain_order="left")


def agreement(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return how pairs of raters agree, by aspect and over all.

    The columns are rater, other, aspect, samples (rated by both), equal (percent with the same rating), kappa (weighted
    by squared differences; null if undefined).
    """
    rows: list[tuple[str, str, str, int, float, float | None]] = []
    keys = ["dataset", "queries", "aspect"]
    for first, second in itertools.combinations(ratings["rater"].unique(maintain_order=True), 2):
        one, two = (ratings.filter(pl.col("rater") == name) for name in (first, second))
        both = one.join(two, on=keys, suffix="_other", maintain_order="left")
        for aspect in (*ASPECTS, "all"):
            chosen = both if aspect == "all" else both.filter(pl.col("aspect") == aspect)
            if chosen.height:
                ours, theirs = chosen["rating"], chosen["rating_other"]
                same = 100 * int((ours == theirs).sum()) / chosen.height
                kappa = weighted_kappa(ours.to_list(), theirs.to_list(), LEVELS)
                rows.append((first, second, aspect, chosen.height, same, kappa))
    schema = {"rater": pl.String, "other": pl.String, "aspect": pl.String, "samples": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, "equal": pl.Float64, "kappa": pl.Float64}, orient="row")
