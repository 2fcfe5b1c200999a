"""Reads QUEST datasets: the published files, and those that ``kbkit quest make`` writes.

A folder with ``train.jsonl``, ``val.jsonl``, ``test.jsonl`` (any of them) and ``documents.jsonl`` (title, text), in the
form of github.com/google-research/language, language/quest. Datasets of kbkit's say more beside these:
``queries.jsonl`` the ``id``, ``expression`` and ``categories`` of a query, ``documents.nodes.jsonl`` the ``type`` and
``key`` of a document. Both are also read where they stand in the records themselves.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.measures.formats import queries
from kbkit.measures.frames import JUDGEMENTS, Gold
from kbkit.measures.records import JsonRecord, content, load, records

SPLITS = ("train", "val", "test")
TEMPLATES = {
    "_": "A",
    "_ or _": "A | B",
    "_ that are also _": "A & B",
    "_ that are not _": "A - B",
    "_ or _ or _": "A | B | C",
    "_ that are also both _ and _": "A & B & C",
    "_ that are also _ but not _": "A & B - C",
}
"""The templates as the published files call them, in the order of Table 1, and what they stand for."""

NODES = "documents.nodes.jsonl"
"""The nodes that documents stand for: title, type, key, a line for each."""
_NODE = pl.Schema(dict.fromkeys(("title", "type", "key"), pl.String))
_MARK = b"\xef\xbb\xbf"
"""A byte order mark, at which polars stops."""
_DOCUMENT = pl.Schema(dict.fromkeys(("title", "text", "type", "key"), pl.String))


@dataclass(frozen=True)
class Example:
    """One query. ``id`` is its text where the file has none; ``docs`` are the titles of its answers.

    ``categories`` are pairs of a phrase and its expression. ``evidence`` (ratings) and ``attributions`` (from a phrase
    of the query to a span of the document) are lists by title, a member for each judge.
    """

    id: str
    text: str
    docs: tuple[str, ...]
    split: str
    original: str = ""
    template: str | None = None
    domain: str | None = None
    expression: str | None = None
    categories: tuple[tuple[str, str], ...] = ()
    evidence: Mapping[str, list[str]] | None = None
    attributions: Mapping[str, list[dict[str, str]]] | None = None


@dataclass(frozen=True)
class Dataset:
    """A folder with a dataset; ``about`` is its ``dataset.json``, empty where there is none."""

    folder: Path
    about: Mapping[str, Any]

    @staticmethod
    def open(folder: str | os.PathLike[str]) -> Dataset:
        """The dataset in a folder. Raises :class:`KbError` where no file of queries is in it."""
        folder = Path(folder)
        if not folder.is_dir():
            raise KbError(f"there is no folder {folder}", "a QUEST dataset is a folder with test.jsonl")
        if not any((folder / f"{split}.jsonl").exists() for split in SPLITS):
            names = ", ".join(f"{split}.jsonl" for split in SPLITS)
            raise KbError(f"{folder} is no QUEST dataset", f"it has none of {names}")
        about = folder / "dataset.json"
        found = load(content(about).decode(), str(about)) if about.exists() else {}
        if not isinstance(found, dict):
            raise BadInputError(f"{about} is no record", "kbkit quest make writes it")
        return Dataset(folder, found)

    @property
    def without(self) -> tuple[str, ...]:
        """The text fields that the dataset's documents leave out."""
        found = self.about.get("without")
        return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()

    @property
    def splits(self) -> list[str]:
        """The splits that are there."""
        return [split for split in SPLITS if self.path(split).exists()]

    def path(self, split: str) -> Path:
        """The file of a split."""
        return self.folder / f"{split}.jsonl"

    def read(self, split: str) -> list[Example]:
        """The queries of a split. Raises :class:`KbError` for one that is not there, and for a record that is no query
        of QUEST's, naming its line.
        """
        if split not in SPLITS:
            raise UnknownNameError("split", split, SPLITS)
        path = self.path(split)
        if not path.exists():
            raise KbError(f"{self.folder} has no {path.name}", f"it has {', '.join(self.splits)}")
        return _numbered([_example(record, split) for record in queries(path, content(path))], path)

    def phrases(self) -> dict[str, str]:
        """All categories that the dataset knows, from phrase to expression: those it was made from where its stages are
        kept (``stages/1_categories.jsonl``), and those of its queries. A phrase of two meanings has its first.
        """
        made = self.folder / "stages" / "1_categories.jsonl"
        found: dict[str, str] = {}
        for record in records(made, content(made)) if made.exists() else ():
            phrase, expression = record.fields.get("phrase"), record.fields.get("expression")
            if isinstance(phrase, str) and isinstance(expression, str):  # the first line holds settings
                found.setdefault(phrase, expression)
        for split in self.splits:
            for example in self.read(split):
                for phrase, expression in example.categories:
                    found.setdefault(phrase, expression)
        return found

    def documents(self) -> pl.LazyFrame | None:
        """The documents, unread: title, text, and type and key, null in files that are not kbkit's; None without."""
        path = self.folder / "documents.jsonl"
        if not path.exists():
            return None
        documents = _scan(path, _DOCUMENT)
        beside = self.folder / NODES
        if not beside.exists():
            return documents
        nodes = _scan(beside, _NODE).unique("title", keep="first")
        both = documents.join(nodes, on="title", how="left", suffix="_beside", maintain_order="left")
        own = (pl.coalesce(name, f"{name}_beside").alias(name) for name in ("type", "key"))
        return both.with_columns(*own).select(_DOCUMENT.names())

    def collect(self, documents: pl.LazyFrame) -> pl.DataFrame:
        """Read what is asked of :meth:`documents`; raises :class:`BadInputError` that names a line which is no JSON."""
        path = self.folder / "documents.jsonl"
        try:
            return documents.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    _check_document(line.removeprefix(_MARK), f"{path}, line {number}")
            raise BadInputError(f"{path}: {error}", 'a line is {"title": ..., "text": ...}') from None


def _scan(path: Path, schema: pl.Schema) -> pl.LazyFrame:
    with path.open("rb") as file:
        marked = file.read(len(_MARK)) == _MARK
    return pl.scan_ndjson(io.BytesIO(content(path)) if marked else path, schema=schema)


def _check_document(line: bytes, where: str) -> None:
    hint = 'a line is {"title": ..., "text": ...}'
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise BadInputError(f"{where}: this is not UTF-8", "convert it, e.g. with iconv") from None
    if text.strip() and not isinstance(load(text, where), dict):
        raise BadInputError(f"{where}: no record", hint)


def _example(record: JsonRecord, split: str) -> Example:
    data = record.fields
    more = data.get("metadata")
    more = {} if more is None else more
    if not isinstance(more, dict):
        raise record.error("metadata is no record", 'e.g. "metadata": {"template": "_", "domain": "films"}')
    text = data.get("query")
    if not isinstance(text, str) or not text.strip():
        raise record.error("no query", 'e.g. "query": "films by Jane Doe", "docs": ["Title"]')
    docs = data.get("docs")
    if not isinstance(docs, list) or not all(isinstance(title, str) and title for title in docs):
        raise record.error("docs is no list of titles", 'e.g. "docs": ["Title"]')
    name = data.get("id")
    return Example(
        id="" if name is None else str(name),
        text=text,
        docs=tuple(dict.fromkeys(docs)),
        split=split,
        original=_text(record, data, "original_query") or "",
        template=_text(record, more, "template"),
        domain=_text(record, more, "domain"),
        expression=_text(record, data, "expression") or _text(record, more, "expression"),
        categories=_categories(record),
        evidence=_by_title(record, more, "evidence_ratings", str),
        attributions=_by_title(record, more, "attributions", dict),
    )


def _text(record: JsonRecord, data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise record.error(f"{key} is no text", "leave it out, or give a text")
    return value or None


def _categories(record: JsonRecord) -> tuple[tuple[str, str], ...]:
    found = record.fields.get("categories") or []
    wanted = {"phrase", "expression"}
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and all(isinstance(one.get(key), str) for key in wanted) for one in found
    ):
        hint = '[{"phrase": "...", "expression": "..."}]'
        raise record.error("categories is no list of phrases and expressions", hint)
    return tuple((one["phrase"], one["expression"]) for one in found)


def _by_title(record: JsonRecord, more: Mapping[str, Any], key: str, kind: type) -> Mapping[str, list[Any]] | None:
    found = more.get(key)
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(values, list | None) for values in found.values()):
        raise record.error(f"{key} has no list for each title", f'e.g. "{key}": {{"Title": []}}')
    return {title: [one for one in values or () if isinstance(one, kind)] for title, values in found.items()}


def _numbered(examples: list[Example], path: Path) -> list[Example]:
    """Examples with ids that differ: those without are called by their text, a text that comes again also by a number.

    Raises :class:`BadInputError` for an id that two of them have.
    """
    own = {example.id or example.text for example in examples}
    numbers: dict[str, Iterator[int]] = {}
    result = []
    for example in examples:
        name = example.id or example.text
        called = name
        if name in numbers:
            if example.id:
                raise BadInputError(f"{path}: two queries are called {name!r}", "each needs an id of its own")
            called = next(one for number in numbers[name] if (one := f"{name} ({number})") not in own)
        own.add(called)
        numbers.setdefault(name, itertools.count(2))
        result.append(Example(**{**example.__dict__, "id": called}))
    return result


def gold(examples: Sequence[Example]) -> Gold:
    """The answers of the queries by title, in the form that the measures take; the queries' columns are text, split,
    template, domain and expression.
    """
    judgements = pl.DataFrame(
        [(example.id, title, 1) for example in examples for title in example.docs], schema=JUDGEMENTS, orient="row"
    )
    columns = ("text", "split", "template", "domain", "expression")
    rows = [(example.id, *(getattr(example, name) for name in columns)) for example in examples]
    return Gold(judgements, pl.DataFrame(rows, schema=dict.fromkeys(("query", *columns), pl.String), orient="row"))
