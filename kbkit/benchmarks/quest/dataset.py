"""Read QUEST datasets: the published files, and those that ``kbkit quest make`` generates.

A dataset is a folder with ``train.jsonl``, ``val.jsonl``, ``test.jsonl`` (any of them) and ``documents.jsonl`` (title,
text), as in github.com/google-research/language, language/quest. Datasets of kbkit have two more files:
``queries.jsonl`` with the ``id``, ``expression`` and ``categories`` of each query, and ``documents.nodes.jsonl`` with
the ``type`` and ``key`` of each document. These fields are also read from the records themselves.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks import document_files
from kbkit.benchmarks.dataset import SPLITS, read_about
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.measures import formats
from kbkit.measures.frames import JUDGEMENTS, Gold
from kbkit.measures.records import JsonRecord, content, records

TEMPLATES = {
    "_": "A",
    "_ or _": "A | B",
    "_ that are also _": "A & B",
    "_ that are not _": "A - B",
    "_ or _ or _": "A | B | C",
    "_ that are also both _ and _": "A & B & C",
    "_ that are also _ but not _": "A & B - C",
}
"""The templates in the order of Table 1, by their names in the published files, and their expressions."""


@dataclass(frozen=True)
class Example:
    """A query. ``id`` is the text if the file has no id; ``docs`` are the titles of the answers.

    ``categories`` are pairs of phrase and expression. ``evidence`` (ratings) and ``attributions`` (from a phrase of the
    query to a span of the document) are lists by title, with an element per judge.
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
class QuestDataset:
    """A folder with a dataset; ``about`` is its ``dataset.json``, or empty."""

    folder: Path
    about: Mapping[str, Any]

    @staticmethod
    def open(folder: str | os.PathLike[str]) -> QuestDataset:
        """Open the dataset in a folder. Raises :class:`KbError` if it has no file of queries."""
        folder = Path(folder)
        if not folder.is_dir():
            raise KbError(f"{folder} does not exist", "A QUEST dataset is a folder with test.jsonl")
        if not any((folder / f"{split}.jsonl").exists() for split in SPLITS):
            names = ", ".join(f"{split}.jsonl" for split in SPLITS)
            raise KbError(f"{folder} is not a QUEST dataset", f"It needs at least one of {names}")
        return QuestDataset(folder, read_about(folder))

    @property
    def without(self) -> tuple[str, ...]:
        """The text fields that the documents leave out."""
        fields = self.about.get("without")
        return tuple(name for name in fields if isinstance(name, str)) if isinstance(fields, list) else ()

    @property
    def splits(self) -> list[str]:
        """The splits that have queries: quest make writes an empty file for a split without any."""
        return [split for split in SPLITS if self.path(split).exists() and self.path(split).stat().st_size]

    def path(self, split: str) -> Path:
        """Return the file of a split."""
        return self.folder / f"{split}.jsonl"

    def read(self, split: str) -> list[Example]:
        """Read the queries of a split. Raises :class:`KbError` for a missing split or an invalid record."""
        if split not in SPLITS:
            raise UnknownNameError("split", split, SPLITS)
        path = self.path(split)
        if not path.exists():
            raise UnknownNameError("split", split, self.splits, str(self.folder))
        return _numbered([_example(record, split) for record in formats.queries(path, content(path))], path)

    def read_all(self, split: str = "") -> list[Example]:
        """Read the queries of one split, or of all."""
        return [example for name in ([split] if split else self.splits) for example in self.read(name)]

    def phrases(self) -> dict[str, str]:
        """Return all known categories, from phrase to expression.

        They come from the stages that generated the dataset, and from its queries. For an ambiguous phrase, the first
        expression is returned.
        """
        table = self.folder / "stages" / "1_categories.jsonl"
        expressions: dict[str, str] = {}
        for record in records(table, content(table)) if table.exists() else ():
            phrase, expression = record.fields.get("phrase"), record.fields.get("expression")
            if isinstance(phrase, str) and isinstance(expression, str):  # the first line holds settings
                expressions.setdefault(phrase, expression)
        for example in self.read_all():
            for phrase, expression in example.categories:
                expressions.setdefault(phrase, expression)
        return expressions

    def documents(self) -> pl.LazyFrame | None:
        """Return the documents, evaluated lazily: title, text, type, key (null if unknown); None without a file."""
        return document_files.scan(self.folder)

    def collect(self, documents: pl.LazyFrame) -> pl.DataFrame:
        """Evaluate a query on :meth:`documents`. Raises :class:`BadInputError` that names an invalid line."""
        return document_files.collect(self.folder, documents)


def _example(record: JsonRecord, split: str) -> Example:
    data = record.fields
    more = data.get("metadata")
    more = {} if more is None else more
    if not isinstance(more, dict):
        raise record.error("Invalid metadata: not an object", 'Example: "metadata": {"template": "_"}')
    text = data.get("query")
    if not isinstance(text, str) or not text.strip():
        raise record.error("Missing query", 'Example: "query": "films by Jane Doe", "docs": ["Title"]')
    docs = data.get("docs")
    if not isinstance(docs, list) or not all(isinstance(title, str) and title for title in docs):
        raise record.error("Invalid docs: not a list of titles", 'Example: "docs": ["Title"]')
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
        raise record.error(f"Invalid {key}: not a string", "Remove it or use a string")
    return value or None


def _categories(record: JsonRecord) -> tuple[tuple[str, str], ...]:
    categories = record.fields.get("categories") or []
    wanted = {"phrase", "expression"}
    if not isinstance(categories, list) or not all(
        isinstance(category, dict) and all(isinstance(category.get(key), str) for key in wanted)
        for category in categories
    ):
        hint = 'Example: [{"phrase": "...", "expression": "..."}]'
        raise record.error("Invalid categories: not a list of phrases and expressions", hint)
    return tuple((category["phrase"], category["expression"]) for category in categories)


def _by_title(record: JsonRecord, more: Mapping[str, Any], key: str, kind: type) -> Mapping[str, list[Any]] | None:
    lists = more.get(key)
    if lists is None:
        return None
    if not isinstance(lists, dict) or not all(isinstance(values, list | None) for values in lists.values()):
        raise record.error(f"Invalid {key}: not a list for each title", f'Example: "{key}": {{"Title": []}}')
    return {title: [value for value in values or () if isinstance(value, kind)] for title, values in lists.items()}


def _numbered(examples: list[Example], path: Path) -> list[Example]:
    """Give each example a distinct id: its own, or else its text, with a number if the text is repeated.

    Raises :class:`BadInputError` for a duplicate id.
    """
    taken = {example.id or example.text for example in examples}
    numbers: dict[str, Iterator[int]] = {}
    numbered = []
    for example in examples:
        name = example.id or example.text
        distinct = name
        if name in numbers:
            if example.id:
                raise BadInputError(f"Duplicate query id {name!r} in {path}", "Each query needs its own id")
            distinct = next(one for number in numbers[name] if (one := f"{name} ({number})") not in taken)
        taken.add(distinct)
        numbers.setdefault(name, itertools.count(2))
        numbered.append(replace(example, id=distinct))
    return numbered


def gold(examples: Sequence[Example]) -> Gold:
    """Return the answers by title; the queries' columns are text, split, template, domain and expression."""
    judgements = pl.DataFrame(
        [(example.id, title, 1) for example in examples for title in example.docs], schema=JUDGEMENTS, orient="row"
    )
    columns = ("text", "split", "template", "domain", "expression")
    rows = [(example.id, *(getattr(example, name) for name in columns)) for example in examples]
    return Gold(judgements, pl.DataFrame(rows, schema=dict.fromkeys(("query", *columns), pl.String), orient="row"))
