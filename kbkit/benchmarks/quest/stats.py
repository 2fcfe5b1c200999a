"""Statistics of a QUEST dataset: Tables 1 and 2 of the paper (sections 3.1 to 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from kbkit.benchmarks.dataset import SPLITS, distribution
from kbkit.benchmarks.document_files import DOCUMENTS
from kbkit.benchmarks.quest.dataset import TEMPLATES, Example, QuestDataset
from kbkit.display.charts import Chart
from kbkit.measures.scores import ALL

_WORDS = r"\S+"
BINS = ((1, 1), (2, 2), (3, 4), (5, 7), (8, 10), (11, 15), (16, 20), (21, None))
"""Bins of numbers of answers. The paper keeps queries with 2 to 20."""


def templates(examples: Sequence[Example]) -> pl.DataFrame:
    """Return Table 1: template, domain, queries, example (the shortest text), in the paper's order, and a row for all.

    Queries without a template (the paper's additional ones for training) have null there.
    """
    rows = [(example.template, example.domain, example.text) for example in examples]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("template", "domain", "example"), pl.String), orient="row")
    shortest = pl.col("example").sort_by(pl.col("example").str.len_chars(), maintain_order=True).first()
    counts = frame.group_by("template", "domain").agg(pl.len().cast(pl.Int64).alias("queries"), shortest)
    total = pl.DataFrame({"template": [ALL], "domain": [ALL], "queries": [frame.height]})
    return pl.concat([in_order(counts, "domain"), total], how="diagonal").select(
        "template", "domain", "queries", "example"
    )


def in_order(frame: pl.DataFrame, *then: str) -> pl.DataFrame:
    """Sort rows by template as in the paper's Table 1, other templates last, and by ``then``."""
    known = {name: position for position, name in enumerate(TEMPLATES)}
    position = pl.col("template").replace_strict(known, default=len(known), return_dtype=pl.Int64)
    return frame.sort([position, pl.col("template"), *map(pl.col, then)], nulls_last=True)


def domains(dataset: QuestDataset, examples: Sequence[Example]) -> pl.DataFrame:
    """Return Table 2: a row per domain and one for all.

    domain, queries, documents, query_words, doc_words, answers (means; words are split at white space); complete,
    partial: fractions of the ratings of answers; attributed: mean number of words in the spans marked for an answer,
    each span once; longest: words of the longest span. Null if unknown: documents by domain without their types,
    ratings.
    """
    queries = pl.DataFrame(
        [(example.domain, len(example.text.split()), len(example.docs)) for example in examples],
        schema={"domain": pl.String, "query_words": pl.Int64, "answers": pl.Int64},
        orient="row",
    )
    means = _by_domain(queries, pl.len().cast(pl.Int64).alias("queries"), pl.col("query_words", "answers").mean())
    parts = [_documents(dataset), _evidence(examples), _attributions(examples)]
    for part in parts:
        means = means.join(part, on="domain", how="left", nulls_equal=True, maintain_order="left")
    return means.select(
        *("domain", "queries", "documents", "query_words", "doc_words", "answers"),
        *("complete", "partial", "attributed", "longest"),
    )


def _by_domain(frame: pl.DataFrame, *columns: pl.Expr) -> pl.DataFrame:
    """Aggregate ``columns`` by domain, sorted, then for all."""
    groups = frame.group_by("domain").agg(*columns).sort("domain", nulls_last=True)
    return pl.concat([groups, frame.select(pl.lit(ALL).alias("domain"), *columns)])


def _documents(dataset: QuestDataset) -> pl.DataFrame:
    """Return domain, documents, doc_words; only documents of kbkit have types, which are their domains."""
    empty = pl.DataFrame(schema={"domain": pl.String, "documents": pl.Int64, "doc_words": pl.Float64})
    documents = dataset.documents()
    if documents is None:
        return empty
    words = pl.col("text").str.count_matches(_WORDS).cast(pl.Int64)
    frame = dataset.collect(documents.select(pl.col("type").alias("domain"), words.alias("words")))
    columns = (pl.len().cast(pl.Int64).alias("documents"), pl.col("words").mean().alias("doc_words"))
    return _by_domain(frame, *columns).filter(pl.col("domain").is_not_null())


def _evidence(examples: Sequence[Example]) -> pl.DataFrame:
    """Return domain, complete, partial."""
    rows = [
        (example.domain, rating.strip().casefold())
        for example in examples
        for title in example.docs
        for rating in (example.evidence or {}).get(title, ())
    ]
    frame = pl.DataFrame(rows, schema={"domain": pl.String, "rating": pl.String}, orient="row")
    shares = ((pl.col("rating").str.starts_with(name)).mean().alias(name) for name in ("complete", "partial"))
    return _by_domain(frame, *shares)


def _attributions(examples: Sequence[Example]) -> pl.DataFrame:
    """Return domain, attributed, longest."""
    rows: list[tuple[str | None, int, int]] = [
        (example.domain, sum(counts), max(counts)) for example in examples for counts in _spans(example) if any(counts)
    ]
    schema = {"domain": pl.String, "sum": pl.Int64, "longest": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return _by_domain(frame, pl.col("sum").mean().alias("attributed"), pl.col("longest").max().alias("longest"))


def _spans(example: Example) -> Iterator[list[int]]:
    """Yield, for each answer, the number of words of each span marked in its document."""
    for title in example.docs:
        marked = (example.attributions or {}).get(title, ())
        spans = {span for one in marked for span in one.values() if isinstance(span, str)}
        yield [len(span.split()) for span in spans]


def charts(examples: Sequence[Example]) -> list[Chart]:
    """Return Table 1 as bars, and the number of queries by number of answers."""
    counts = templates(examples).filter(pl.col("template").ne_missing(ALL)).fill_null("none")
    title = "Table 1: queries by template"
    answers = spread(examples)
    return [
        Chart(title, counts, "template", "queries", "domain", flat=True, stacked=True, x_title=" "),
        Chart("Queries by number of answers", answers, "answers", "share", percent=True, y_title="fraction of queries"),
    ]


def spread(examples: Sequence[Example]) -> pl.DataFrame:
    """Return the number of queries by number of answers: answers (a bin), queries, share; empty bins included."""
    return distribution([((), [len(example.docs) for example in examples])], BINS, ("answers", "queries"))


def remarks(dataset: QuestDataset, examples: Sequence[Example]) -> list[str]:
    """Return remarks on the tables."""
    lines = []
    documents = dataset.documents()
    if documents is None:
        lines.append(f"{dataset.folder} has no {DOCUMENTS}, so documents are not counted")
    elif dataset.collect(documents.select("type").filter(pl.col("type").is_not_null()).head(1)).is_empty():
        lines.append(f"{DOCUMENTS} has no types, so documents are counted for all domains together")
    plain = sum(example.template is None for example in examples)
    if plain:
        lines.append(f"Queries without a template: {plain:,}; the paper adds such queries for training (section 3.5)")
    missing = [split for split in SPLITS if split not in dataset.splits]
    if missing:
        lines.append(f"{dataset.folder} has no {', '.join(f'{split}.jsonl' for split in missing)}")
    return lines
