"""Where questions come from: the lengths of their conversations (Table 8) and the popularity of entities (Table 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from kbkit.benchmarks.report import FIGURES, HERE, PAPER
from kbkit.benchmarks.spinach import paper, qawiki
from kbkit.benchmarks.spinach.features import ParsedQuery, wikidata_id
from kbkit.benchmarks.spinach.files import QuestionFile, is_archive
from kbkit.errors import BadInputError, QuerySyntaxError
from kbkit.measures.records import content, load_records
from kbkit.sparql.parse import parse
from kbkit.sparql.tree import tokens

LENGTHS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", ">10")
"""Table 8's rows. Its last row is printed as ``>10``; ten responses count there too, since no other row has them."""
PERCENTILES = (10, 25, 50, 75, 90)
"""Table 9's rows, from the most to the least viewed entity."""
_VIEWS_HINT = "A file of views is a CSV with the columns id and views"


def lengths(datasets: Sequence[QuestionFile]) -> pl.DataFrame:
    """Return Table 8: dataset, length, figures, questions, percent.

    The length of a conversation is the number of its responses: the field ``responses`` of a record, a number or list.
    Datasets without it, such as the published ones, are left out.
    """
    rows: list[tuple[object, ...]] = []
    for dataset in datasets:
        counts = _responses(dataset)
        for position, label in enumerate(LENGTHS, 1) if counts else ():
            matching = sum(count == position or (label == LENGTHS[-1] and count > position) for count in counts)
            rows.append((dataset.path.stem, label, HERE, matching, 100 * matching / len(counts)))
            rows.append((paper.SPINACH, label, PAPER, None, paper.conversation_lengths()[label]))
    schema = {
        "dataset": pl.String,
        "length": pl.String,
        FIGURES: pl.String,
        "questions": pl.Int64,
        "percent": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _responses(dataset: QuestionFile) -> list[int]:
    has_none = qawiki.is_rdf(dataset.path) or is_archive(dataset.path)
    loaded = [] if has_none else load_records(dataset.path)
    counts = []
    for record in loaded if isinstance(loaded, list) else ():
        value = record.fields.get("responses")
        if value is None:
            continue
        count = len(value) if isinstance(value, list) else value
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise BadInputError(f"Invalid responses in {record.where}", "Use a list of responses, or their number")
        counts.append(count)
    return counts


def read_views(path: Path) -> dict[str, int]:
    """Read the page views of entities: a CSV file with ``id`` and ``views``. Raises :class:`BadInputError`."""
    try:
        frame = pl.read_csv(content(path), schema_overrides={"id": pl.String})
    except pl.exceptions.PolarsError as error:
        raise BadInputError(f"Invalid CSV in {path}: {str(error).splitlines()[0]}", _VIEWS_HINT) from None
    if not {"id", "views"} <= set(frame.columns) or not frame["views"].dtype.is_integer():
        raise BadInputError(f"{path} is not a file of views", _VIEWS_HINT)
    return dict(frame.select("id", "views").iter_rows())


def popularity(datasets: Sequence[QuestionFile], views: Mapping[str, int]) -> pl.DataFrame:
    """Return Table 9: dataset, percentile, figures, views, entity, question.

    The views of each entity in the gold queries are sorted from high to low, those of an entity that ``views`` lacks
    being 0. The percentile p is the first value that at least p percent of the entities reach or exceed.
    """
    rows: list[tuple[object, ...]] = []
    for dataset in datasets:
        asked = _entities(dataset)
        order = sorted(asked, key=lambda entity: (-views.get(entity, 0), entity))
        for percentile in PERCENTILES if order else ():
            entity = order[max(0, int(np.ceil(len(order) * percentile / 100)) - 1)]
            rows.append((dataset.path.stem, percentile, HERE, views.get(entity, 0), entity, asked[entity]))
            rows.append((paper.SPINACH, percentile, PAPER, paper.page_views()[str(percentile)], None, None))
    schema = {
        "dataset": pl.String,
        "percentile": pl.Int64,
        FIGURES: pl.String,
        "views": pl.Int64,
        "entity": pl.String,
        "question": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _entities(dataset: QuestionFile) -> dict[str, str]:
    """Return the items (Q...) in the queries, each with the first question that has it."""
    items: dict[str, str] = {}
    for question in dataset.questions:
        try:
            query = ParsedQuery(parse(question.sparql))
        except QuerySyntaxError:
            continue
        names = (wikidata_id(query.iri(token)) for token in tokens(query.tree))
        for name in names:
            if name.startswith("Q"):
                items.setdefault(name, question.text or question.id)
    return items
