"""An SKA-Bench dataset as a publication: the questions, and the units that models read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.dataset import ABOUT, check_strictly, line_blocks, read_about, read_fast
from kbkit.benchmarks.publish.form import Publication, PublishedTable, RowStream, files_of, made_with
from kbkit.benchmarks.ska.instances import FILE, file_of, scan
from kbkit.benchmarks.ska.settings import FORMS, SkaSettings

FILES = (FILE, ABOUT, "testbeds/*.jsonl")
_TEXTS = pl.List(pl.String)
_UNIT = pl.Struct(
    {
        "id": pl.String,
        "kind": pl.String,
        "content": _TEXTS,
        "source": _TEXTS,
        "position": pl.Int64,
        "synthesized": pl.String,
        "check": pl.String,
    }
)
_UNITS_OF = ("positive", "noise")
_BLOCK = 1 << 26
"""Bytes that are read at once."""
_PROVENANCE = (*("dataset", "question_id", "kb", "table", "evidence", "expression", "sql"),)
_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("id", "form", "question"), pl.String()),
        "answers": _TEXTS,
        "title": pl.String(),
        "header": _TEXTS,
        "provenance": pl.Struct({**dict.fromkeys(_PROVENANCE, pl.String), "topics": _TEXTS}),
        "positive": pl.List(_UNIT),
        "noise": pl.List(_UNIT),
    }
)
_QUESTIONS = {
    "id": "Id of the instance.",
    "form": "Form of the knowledge: kg, table, kg+text or table+text.",
    "question": "Question.",
    "answers": "All answers.",
    "title": "Title of the table, empty for other forms.",
    "header": "Columns of the table.",
    "dataset": "Source of the question.",
    "question_id": "Id of the question in its source, empty if it was made.",
    "kb": "Knowledge graph.",
    "table": "Table of the source.",
    "evidence": "How the positive units were found.",
    "expression": "Expression of kbkit, empty if there is none.",
    "sql": "The question as a query over the units, empty if there is none.",
    "topics": "Nodes (type#key) or cells that the question names.",
}
_UNITS = {
    "instance": "Id of the instance.",
    "id": "Id of the unit within the instance.",
    "positive": "Whether the answers need the unit; others are noise, in the order in which it is added.",
    "kind": "triple, row or passage.",
    "content": "What a model reads: the parts of a triple, the cells of a row, title and text of a passage.",
    "source": "Where the unit comes from.",
    "position": "Position of a row in its table.",
    "synthesized": "What made a row: a model, or rule; empty for rows of the source.",
    "check": "Result of the check of a synthesized row.",
}
_UNIT_ROWS = pl.Schema(
    {
        **dict.fromkeys(("instance", "id"), pl.String()),
        "positive": pl.Boolean(),
        "kind": pl.String(),
        **dict.fromkeys(("content", "source"), _TEXTS),
        "position": pl.Int64(),
        **dict.fromkeys(("synthesized", "check"), pl.String()),
    }
)
_LIMITS = (
    "Answers are exact for the units of the instance, on which the query of the question was run.",
    "Units are those of the knowledge graph and its tables; they can be out of date or incomplete.",
)


def publication(dataset: Path) -> Publication:
    """Describe a dataset. Raises :class:`BadInputError` for an invalid instance."""
    path = file_of(dataset)
    flat = _questions(path).unnest("provenance")
    texts = [name for name, kind in flat.schema.items() if kind == pl.String()]
    lists = [name for name, kind in flat.schema.items() if kind == _TEXTS]
    flat = flat.with_columns(pl.col(texts).fill_null(""), pl.col(lists).fill_null([])).select(list(_QUESTIONS))
    units = RowStream(_UNIT_ROWS, lambda: _units(path))
    about = read_about(dataset)
    return Publication(
        benchmark="SKA-Bench",
        task="question-answering",
        summary="Questions about structured knowledge, each with the units that its answers need and with noise.",
        paper="Liu et al., SKA-Bench: A Fine-Grained Benchmark for Evaluating Structured Knowledge Understanding of"
        " LLMs, 2025",
        questions=flat["question"],
        files=files_of(dataset, FILES) if dataset.is_dir() else {path.name: path},
        tables=[
            PublishedTable("questions", "Questions with their answers.", _QUESTIONS, {"test": flat}),
            PublishedTable("units", "Units of knowledge of the questions.", _UNITS, {"test": units}),
        ],
        about=about,
        command="ska make",
        options=made_with(SkaSettings, _settings(about)),
        limits=_LIMITS,
    )


def _questions(path: Path) -> pl.DataFrame:
    """Read the instances without their units."""
    columns = [name for name in _SCHEMA if name not in _UNITS_OF]
    frames = [_frame(block, path, columns) for block in _blocks(path)]
    if not frames:
        check_strictly(lambda: scan(path))
    questions = pl.concat(frames)
    needed = ("id", "form", "question", "answers")
    wrong = questions.select(pl.any_horizontal(pl.col(name).is_null().any() for name in needed)).item()
    if wrong or not questions["id"].is_unique().all() or not questions["form"].is_in(FORMS).all():
        check_strictly(lambda: scan(path))
    return questions


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from line_blocks(file, _BLOCK)


def _frame(block: bytes, path: Path, columns: Sequence[str]) -> pl.DataFrame:
    schema = pl.Schema({name: _SCHEMA[name] for name in columns})
    with read_fast(path, lambda: scan(path)):
        return pl.read_ndjson(io.BytesIO(block), schema=schema)


def _units(path: Path) -> Iterator[pl.DataFrame]:
    """Yield the units of all instances, the positive ones of an instance first."""
    for block in _blocks(path):
        frame = _frame(block, path, ("id", *_UNITS_OF)).rename({"id": "instance"})
        unit_columns = [pl.col(name).fill_null([]) for name in _UNITS_OF]
        both = frame.select(
            "instance", pl.concat_list(unit_columns).alias("unit"), unit_columns[0].list.len().alias("positives")
        )
        long = both.explode("unit").drop_nulls("unit")
        yield (
            long.with_columns(positive=pl.int_range(pl.len()).over("instance") < pl.col("positives"))
            .drop("positives")
            .unnest("unit")
            .with_columns(
                pl.col("synthesized", "check").fill_null(""),
                pl.col("position").fill_null(0),
                pl.col("source").fill_null([]),
            )
            .select(_UNIT_ROWS.names())
        )


def _settings(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded settings by the names of their fields."""
    if not about:
        return {}
    forms = tuple((about.get("report") or {}).get("instances", ()))
    questions = [one.get("name") for one in about.get("questions") or () if isinstance(one, dict)]
    models = bool(about.get("models"))
    return {
        **about,
        "forms": () if forms == FORMS else forms,
        "questions": questions,
        "model_rows": about.get("model_rows") if models else None,
    }
