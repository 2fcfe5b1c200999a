"""A STaRK dataset on disk: ``stark_qa/*.csv`` and ``split/*.index``; one that kbkit made has ``queries.jsonl`` too."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from kbkit.errors import BadInputError
from kbkit.measures import stark
from kbkit.measures.frames import Gold
from kbkit.measures.records import JsonRecord, content, records

HUMAN = "human_generated_eval"
"""What the paper's code calls the split of the questions that people wrote."""
HUMAN_TABLE = f"stark_qa_{HUMAN}"
QUERIES = "queries.jsonl"
_FIELDS = "a query has an id, and relational_words and textual_words that count"
WORDS = pl.Schema({"query": pl.String, "relational": pl.Int64, "textual": pl.Int64})


@dataclass(frozen=True)
class Dataset:
    """Questions with their answers, and ``words`` (query, relational, textual: how many of its words say what), None
    where nothing tells.
    """

    name: str
    gold: Gold
    words: pl.DataFrame | None
    human: bool = False


def read(path: Path) -> list[Dataset]:
    """The dataset of a folder, and the questions that people wrote as another; or that of one csv.

    Raises :class:`BadInputError` where there is neither, and for what cannot be read, with its line.
    """
    found = _read(path)
    for dataset in found:
        if dataset.gold.queries.is_empty():
            raise BadInputError(f"{path}: {dataset.name} has no queries", "a line a query, after the one of names")
    return found


def _read(path: Path) -> list[Dataset]:
    name = path.resolve().name
    if not path.is_dir():
        human = path.stem == HUMAN_TABLE
        return [Dataset(path.stem, stark.read(path), None if human else _words(path.parent.parent), human)]
    made, written = (_has(path, table) for table in ("stark_qa", HUMAN_TABLE))
    found = []
    if made or not written:  # where there is neither, the reader says what is missing
        found.append(Dataset(name, stark.read(path), _words(path)))
    if written:
        found.append(Dataset(f"{name} human" if made else name, stark.read(path, HUMAN), None, human=True))
    return found


def read_all(paths: Sequence[Path]) -> list[Dataset]:
    """The datasets of several folders, a folder that is named twice once; those of one name are called by their whole
    paths.
    """
    once = {path.resolve(): path for path in reversed(paths)}
    found = [(path, dataset) for path in reversed(once.values()) for dataset in read(path)]
    again = Counter(dataset.name for _, dataset in found)
    unclear = {path for path, dataset in found if again[dataset.name] > 1}
    names = [_whole(path, dataset) if path in unclear else dataset.name for path, dataset in found]
    return [replace(dataset, name=name) for name, (_, dataset) in zip(_distinct(names), found, strict=True)]


def _whole(path: Path, dataset: Dataset) -> str:
    """The name by the path; of the questions that people wrote, beside others in their folder, with that word."""
    return f"{path}{dataset.name.removeprefix(path.resolve().name)}" if path.is_dir() else str(path)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names with a number behind those that came before: a folder may be called as another's second dataset."""
    result: list[str] = []
    for name in names:
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        result.append(name if name not in result else next(n for n in numbered if n not in {*names, *result}))
    return result


def _has(folder: Path, table: str) -> bool:
    return any(path.is_file() for path in (folder / "stark_qa" / f"{table}.csv", folder / f"{table}.csv"))


def _words(folder: Path) -> pl.DataFrame | None:
    """The counts of words in ``queries.jsonl``; None without that file."""
    path = folder / QUERIES
    if not path.is_file():
        return None
    rows: dict[str, tuple[int, int, int]] = {}
    for record in records(path, content(path)):
        name = _id(record)
        if name in rows:
            raise record.error(f"query {name!r} again, as in line {rows[name][0]}", "a query has one line")
        rows[name] = (record.position, _count(record, "relational_words"), _count(record, "textual_words"))
    return pl.DataFrame([(name, *counts) for name, (_, *counts) in rows.items()], schema=WORDS, orient="row")


def _id(record: JsonRecord) -> str:
    value = record.fields.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise record.error(f"id is {value!r:.40}" if "id" in record.fields else "no id", _FIELDS)
    return str(value)


def _count(record: JsonRecord, name: str) -> int:
    value = record.fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise record.error(f"{name} is {value!r:.40}" if name in record.fields else f"no {name}", _FIELDS)
    return value
