"""Relevance labels by people (QUEST, section 3.3.3): which pairs to judge, and a file of judgements for each rater.

A judgement has a rating from 0 (definitely not relevant) to 3 (definitely relevant), the evidence of the document, and
for phrases of the query the sentence that shows them. All raters judge the same pairs in the same order. The file of a
rater is ``annotations/RATER.jsonl`` in the folder of the dataset; each judgement is saved at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kbkit.benchmarks.dataset import check_seed, writing
from kbkit.benchmarks.documents import sentences
from kbkit.benchmarks.quest.dataset import DOCUMENTS, Dataset, Example
from kbkit.benchmarks.quest.label import EVIDENCE
from kbkit.directory.files import append_json, whole_lines
from kbkit.errors import BadInputError, Command, KbError, UnknownNameError
from kbkit.measures.records import content, records

FOLDER = "annotations"
RATINGS = ("definitely not relevant", "likely not relevant", "likely relevant", "definitely relevant")
"""The meaning of each rating; ratings from 2 on count as relevant."""
_NAME = re.compile(r"[\w.-]{1,64}")
_MARK = re.compile(r"<mark>(.*?)</mark>")


@dataclass(frozen=True)
class Pair:
    """A query and a document to judge, ``sentences`` of the document, and the ``phrases`` of the query."""

    example: Example
    title: str
    sentences: tuple[str, ...]

    @property
    def phrases(self) -> list[str]:
        """The phrases of the categories, as in the original query; the whole query without one."""
        return _MARK.findall(self.example.original) or [self.example.text]


@dataclass(frozen=True)
class Judgement:
    """A rater's judgement of a pair; ``attributions`` map phrases of the query to sentences of the document."""

    query: str
    title: str
    rating: int
    evidence: str
    attributions: Mapping[str, str] = field(default_factory=dict)


def file_of(dataset: Dataset, rater: str) -> Path:
    """Return the file of a rater. Raises :class:`KbError` for a name that is not one word."""
    if not _NAME.fullmatch(rater) or rater.startswith("."):
        raise KbError(f"Invalid rater {rater!r}", "Use letters, digits, '-', '_' and '.'")
    return dataset.folder / FOLDER / f"{rater}.jsonl"


def pairs(dataset: Dataset, split: str, limit: int = 0, seed: int = 0) -> Iterator[Pair]:
    """Yield the answers of the queries of a split, with their documents, queries in random order.

    ``limit`` is the number of pairs (0: all). Equal arguments give equal pairs. Raises :class:`KbError` without
    documents.
    """
    check_seed(seed)
    examples = dataset.read(split)
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    wanted = [(examples[i], title) for i in order for title in examples[i].docs]
    wanted = wanted[:limit] if limit else wanted
    texts = _texts(dataset, {title for _, title in wanted})
    for example, title in wanted:
        text = texts.get(title, "")
        yield Pair(example, title, tuple(text[start:end] for start, end in sentences(text)))


def _texts(dataset: Dataset, titles: set[str]) -> dict[str, str]:
    lazy = dataset.documents()
    if lazy is None:
        raise KbError(f"{dataset.folder} has no {DOCUMENTS}", "Write it with ", Command("quest documents"))
    found = dataset.collect(lazy.filter(pl.col("title").is_in(sorted(titles))).select("title", "text"))
    return {title: text or "" for title, text in found.iter_rows()}


def append(path: Path, judgement: Judgement) -> None:
    """Add a judgement to the file of a rater, written to disk before returning."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        append_json(path, asdict(judgement))


def read(path: Path) -> dict[tuple[str, str], Judgement]:
    """Return the judgements of a rater by query and title, the last one of each pair; empty without a file.

    An incomplete last line, which a killed process left, is skipped. Raises :class:`BadInputError` for any other
    invalid line.
    """
    if not path.is_file():
        return {}
    lines = records(path, whole_lines(content(path)))
    found = (_judgement(record.fields, f"{path}, line {record.position}") for record in lines)
    return {(one.query, one.title): one for one in found}


def _judgement(fields: Mapping[str, Any], where: str) -> Judgement:
    marks = fields.get("attributions") or {}
    texts = all(isinstance(fields.get(name), str) for name in ("query", "title"))
    valid = texts and fields.get("rating") in range(4) and isinstance(marks, dict)
    if not valid or fields.get("evidence") not in EVIDENCE:
        hint = 'Example: {"query": "7", "title": "Alien", "rating": 3, "evidence": "complete"}'
        raise BadInputError(f"Invalid judgement in {where}", hint)
    own = {str(phrase): str(sentence) for phrase, sentence in marks.items()}
    return Judgement(fields["query"], fields["title"], int(fields["rating"]), fields["evidence"], own)


def raters(dataset: Dataset, names: Sequence[str] = ()) -> dict[str, dict[tuple[str, str], Judgement]]:
    """Return the judgements of some raters, or of all. Raises :class:`UnknownNameError` for an unknown rater."""
    known = {path.stem: path for path in sorted((dataset.folder / FOLDER).glob("*.jsonl"))}
    for name in names:
        if name not in known:
            raise UnknownNameError("rater", name, list(known))
    return {name: read(known[name]) for name in names or known}
