"""What is published: tables with typed columns, retrieval data, and what the dataset card says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.assets.operations import described
from kbkit.benchmarks.dataset import SPLITS
from kbkit.benchmarks.left_out import setting_of
from kbkit.errors import KbError, Option

CORPUS, QUERIES, QRELS = "corpus", "queries", "default"
"""Names of the configurations of retrieval datasets, as ``mteb`` and BEIR's datasets on Hugging Face have them."""
_SAFE = r"^[A-Za-z0-9][A-Za-z0-9._:/#-]*$"
"""Ids that TREC's files and BEIR's tables can store."""


@dataclass(frozen=True)
class RowStream:
    """Rows of a table that is too large for memory: ``frames`` yields them, all with the same ``schema``."""

    schema: pl.Schema
    frames: Callable[[], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class PublishedTable:
    """A configuration: a table for each split. ``columns`` describes its columns, in order.

    Columns are texts, integers, numbers, truth values, or lists of texts: types that all readers have.
    """

    name: str
    about: str
    columns: Mapping[str, str]
    splits: Mapping[str, pl.DataFrame | RowStream]


@dataclass(frozen=True)
class WrittenTable:
    """A table in its files: the number of rows by split, without empty ones, and the types of the columns."""

    name: str
    about: str
    columns: Mapping[str, str]
    schema: pl.Schema
    rows: Mapping[str, int]


@dataclass(frozen=True)
class Retrieval:
    """Documents (id, title, text), queries (id, text, split) and judgements (query, document, score).

    Further columns of documents and queries are described by ``columns``.
    """

    documents: pl.DataFrame
    queries: pl.DataFrame
    judgements: pl.DataFrame
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Publication:
    """A dataset to publish: the ``benchmark`` whose form it has, its tables or ``retrieval`` data, and its ``files``.

    ``task`` is a task category of Hugging Face. ``summary`` says in a sentence what an item is, ``paper`` is the
    citation of the form. ``questions`` are the texts of all items. ``about`` is the ``dataset.json``, empty if another
    program made the dataset. ``command`` and ``options`` made it. ``limits`` are known limits.
    """

    benchmark: str
    task: str
    summary: str
    paper: str
    questions: pl.Series
    files: Mapping[str, Path]
    tables: Sequence[PublishedTable] = ()
    retrieval: Retrieval | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    options: Sequence[Option] = ()
    limits: Sequence[str] = ()


# -- retrieval data as tables -----------------------------------------------------------------------------------------


def safe_ids(ids: pl.Series, prefix: str) -> pl.Series:
    """Return ids that every format can store: the same, or ``prefix`` and a number if one has other characters."""
    if ids.str.contains(_SAFE).all() and ids.is_unique().all():
        return ids
    return pl.select(pl.format("{}{}", pl.lit(prefix), pl.int_range(len(ids)))).to_series().alias(ids.name)


def named_safely(data: Retrieval) -> Retrieval:
    """Replace ids that some formats cannot store; the column ``original_id`` then has the id of the dataset.

    Raises :class:`KbError` for judgements of unknown queries or documents.
    """
    documents, of_documents = _renamed(data.documents, "d")
    queries, of_queries = _renamed(data.queries, "q")
    judged = data.judgements.join(of_queries, left_on="query", right_on="id", how="left", maintain_order="left")
    judged = judged.join(of_documents, left_on="document", right_on="id", how="left", suffix="_document")
    for column, noun, new in (("query", "query", "new"), ("document", "document", "new_document")):
        lost = judged.filter(pl.col(new).is_null())
        if lost.height:
            message = f"{lost.height:,} answers belong to no {noun}, the first is {lost[column][0]!r:.60}"
            raise KbError(message, "Publish a dataset whose files belong together")
    judged = judged.select(query="new", document="new_document", score="score")
    columns = dict(data.columns)
    if "original_id" in documents.columns or "original_id" in queries.columns:
        columns["original_id"] = "Id in the original files."
    return Retrieval(documents, queries, judged, columns)


def _renamed(frame: pl.DataFrame, prefix: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a frame with safe ids, and the new id of each old one."""
    ids = safe_ids(frame["id"], prefix)
    known = pl.DataFrame({"id": frame["id"], "new": ids})
    if ids.equals(frame["id"]):
        return frame, known
    return frame.with_columns(original_id="id", id=ids), known


def judgements(data: Retrieval) -> dict[str, pl.DataFrame]:
    """Return the judgements of each split (query-id, corpus-id, score), of splits that have some."""
    splits = data.queries.select(query="id", split="split")
    judged = data.judgements.join(splits, on="query", how="left", maintain_order="left")
    named = {"query-id": "query", "corpus-id": "document", "score": "score"}
    parts = {
        str(split): judged.filter(pl.col("split") == split).select(**{k: pl.col(v) for k, v in named.items()})
        for split in sorted(data.queries["split"].unique(), key=_order)
    }
    return {split: frame for split, frame in parts.items() if frame.height}


def retrieval_tables(data: Retrieval) -> list[PublishedTable]:
    """Return retrieval data as tables: judgements by split, queries and documents."""
    known = {
        "_id": "Id.",
        "text": "Text.",
        "title": "Title.",
        "split": "Split of the query.",
        **data.columns,
    }
    return [
        PublishedTable(
            QRELS,
            "Judgements: which documents answer which query.",
            {"query-id": "Id of the query.", "corpus-id": "Id of the document.", "score": "1 for an answer."},
            judgements(data),
        ),
        _table(QUERIES, "Queries of all splits.", data.queries, known),
        _table(CORPUS, "Documents that are searched.", data.documents, known),
    ]


def _order(split: str) -> tuple[int, str]:
    """Return the place of a split: train, val and test come before others."""
    return (SPLITS.index(split) if split in SPLITS else len(SPLITS), split)


def _table(name: str, about: str, frame: pl.DataFrame, known: Mapping[str, str]) -> PublishedTable:
    renamed = frame.rename({"id": "_id"})
    return PublishedTable(name, about, {column: known[column] for column in renamed.columns}, {name: renamed})


# -- files of a dataset -----------------------------------------------------------------------------------------------


def files_of(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return those of some files of a folder that exist, by name; a name may have wildcards."""
    files = {path.relative_to(folder).as_posix(): path for name in names for path in folder.glob(name)}
    return {name: path for name, path in sorted(files.items()) if path.is_file()}


def without_answers(lost: int, what: str) -> list[str]:
    """Return a limit for the card about answers that were left out because they are ``what``."""
    return [f"{lost:,} answers of the original files are {what} and are left out of the judgements."] if lost else []


# -- how a dataset was made -------------------------------------------------------------------------------------------


def made_with(kind: type, recorded: Mapping[str, Any]) -> list[Option]:
    """Return the options of a maker with the settings ``kind``, from ``recorded`` values by field.

    The number of items and the seed are always among them, other settings where they differ from the default.
    """
    options: list[Option] = []
    for one in described(kind):
        value = recorded.get(one.name)
        if one.name == "leave_out" and value is not None:
            value = setting_of(value)
        same = value == one.default or (isinstance(value, list) and tuple(value) == one.default)
        if value is None or (same and one.name not in ("count", "seed")):
            continue
        name = one.about.name or one.name
        options += [Option(name, text) for text in _texts(value, joined=one.about.joined)]
    return options


def _texts(value: Any, *, joined: bool) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key}={one}" for key, one in value.items()]
    if isinstance(value, list | tuple):
        texts = [str(one) for one in value]
        return [",".join(texts)] if joined else texts
    return [str(value)]
