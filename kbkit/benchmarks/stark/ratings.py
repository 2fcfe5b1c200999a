"""Human evaluation of datasets (STaRK, section 2.5 and Table 10): people rate samples of queries.

The paper asked participants for the naturalness, diversity and practicality of sampled queries on a scale of five, and
prints for each dataset the percentage of positive and of non-negative ratings. Its rates are multiples of 1/19, 1/19
and 1/28: each participant rated a sample as a whole. It prints neither the number of queries nor the wording.

Each rating is a judgement whose item is the name of the dataset and the ids of the queries of a sample, and whose
question is an aspect. A file can hold ratings of several raters and datasets.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.dataset import check_output_file
from kbkit.benchmarks.people.judgements import Judgement, outside, read_judgements
from kbkit.benchmarks.people.tasks import Passage, Task, TaskItem, scale
from kbkit.errors import BadInputError, KbError
from kbkit.measures.agreement import agreement_table, quadratic
from kbkit.measures.frames import Gold
from kbkit.measures.scores import ALL

ASPECTS = {
    "naturalness": "Do the queries resemble natural conversation?",
    "diversity": "Do the queries cover various structures of questions and degrees of complexity?",
    "practicality": "Are the queries relevant to situations of real life?",
}
"""The aspects and a question for each, after section 2.5."""
SCALE = ("not at all", "", "neutral", "", "very much")
"""The meaning of the ratings 1 to 5."""
NEUTRAL = 3
_TEXTS = dict.fromkeys(("rater", "dataset"), pl.String())
_SCHEMA = pl.Schema({**_TEXTS, "queries": pl.List(pl.String()), "aspect": pl.String(), "rating": pl.Int64()})


class RatedSample(NamedTuple):
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

    def __iter__(self) -> Iterator[RatedSample]:
        """Yield the samples."""
        for number, ids in enumerate(self.ids, 1):
            yield RatedSample(self.dataset, number, ids)


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


# -- the task ---------------------------------------------------------------------------------------------------------


def _problem(judgement: Judgement) -> str:
    return outside(dict.fromkeys(ASPECTS, range(1, len(SCALE) + 1)), judgement) or (
        "" if len(judgement.item) > 1 else "no queries"
    )


class SampleRating(Task):
    """A rater's task: samples to rate, each with all aspects. Each rating counts, also if others are missing.

    Raises :class:`KbError` for an empty name, and if the file cannot be written.
    """

    noun = ("sample", "samples")
    whole = False

    def __init__(self, drawn: Samples, path: Path, rater: str) -> None:
        check_output_file(path)
        super().__init__(path, rater, _problem)
        self.title, self._drawn = f"Rate queries of {drawn.dataset}", drawn

    @property
    def keys(self) -> list[RatedSample]:
        """The samples."""
        return list(self._drawn)

    def name(self, key: Hashable) -> tuple[str, ...]:
        """Return the dataset and the ids of the queries of a sample."""
        assert isinstance(key, RatedSample)
        return (key.dataset, *key.ids)

    def item(self, key: Hashable) -> TaskItem:
        """Return the queries of a sample, and a question for each aspect."""
        assert isinstance(key, RatedSample)
        texts = [[" ".join(self._drawn.texts[name].split())] for name in key.ids]
        questions = [scale(aspect, text, SCALE) for aspect, text in ASPECTS.items()]
        title = f"{key.dataset}, sample {key.number} of {len(self._drawn.ids)}"
        return TaskItem(title, passages=[Passage(texts, numbered=True)], questions=questions)


# -- tables -----------------------------------------------------------------------------------------------------------


def read_ratings(paths: Sequence[Path]) -> pl.DataFrame:
    """Return the ratings of files: rater, dataset, queries, aspect, rating.

    Of several ratings of the same, the last one counts. Raises :class:`BadInputError` for an invalid line.
    """
    rows = [
        (judgement.who, judgement.item[0], list(judgement.item[1:]), judgement.question, judgement.mark)
        for judgement in read_judgements(paths, _problem)
        if judgement.mark is not None
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def rates(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return Table 10: dataset, aspect, ratings (number), positive, non_negative (percent).

    A rating of 4 or 5 is positive, 3 neutral. The rows of the dataset ``Average`` are the means of the datasets.
    """
    if ratings.is_empty():
        raise BadInputError("No ratings")
    rating = pl.col("rating")
    place = {name: i for i, name in enumerate(ratings["dataset"].unique(maintain_order=True))}
    table = ratings.group_by("dataset", "aspect").agg(
        pl.len().cast(pl.Int64).alias("ratings"),
        (100 * (rating > NEUTRAL).mean()).alias("positive"),
        (100 * (rating >= NEUTRAL).mean()).alias("non_negative"),
    )
    table = table.sort(pl.col("dataset").replace_strict(place), pl.col("aspect").replace_strict(_ORDER))
    if len(place) == 1:
        return table
    average = table.group_by("aspect").agg(
        pl.lit("Average").alias("dataset"), pl.col("ratings").sum(), pl.col("positive", "non_negative").mean()
    )
    return pl.concat([table, average.sort(pl.col("aspect").replace_strict(_ORDER)).select(table.columns)])


_ORDER = {aspect: place for place, aspect in enumerate(ASPECTS)}


def as_printed(rated: pl.DataFrame) -> pl.DataFrame:
    """Return Table 10 as the paper prints it: a row per dataset, "positive / non-negative" for each aspect."""
    shown = pl.format("{} / {}", pl.col("positive").round(1), pl.col("non_negative").round(1))
    names = [aspect for aspect in ASPECTS if aspect in rated["aspect"]]
    cells = rated.with_columns(shown.alias("cell"))
    counts = rated.group_by("dataset", maintain_order=True).agg(pl.col("ratings").max())
    wide = cells.pivot("aspect", index="dataset", values="cell", maintain_order=True).select("dataset", *names)
    return counts.join(wide, on="dataset", maintain_order="left")


def agreement(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return how each two raters agree, by aspect and over all, as :func:`~kbkit.measures.agreement.agreement_table`.

    Kappa is weighted by squared differences. Aspects that no two raters have in common are left out.
    """
    parts: dict[str, dict[str, dict[Hashable, int]]] = {aspect: {} for aspect in (*ASPECTS, ALL)}
    for rater, dataset, queries, aspect, rating in ratings.iter_rows():
        for part in (aspect, ALL):
            parts[part].setdefault(rater, {})[dataset, tuple(queries), aspect] = rating
    agreed = agreement_table("aspect", parts, everyone=False, distance=quadratic)
    return agreed.filter(pl.col("items") > 0)
