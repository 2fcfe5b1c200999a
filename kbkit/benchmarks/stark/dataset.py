"""A STaRK dataset on disk: ``stark_qa/*.csv`` and ``split/*.index``; datasets of kbkit have ``queries.jsonl`` too."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from kbkit.benchmarks.dataset import QUERIES, SPLITS, assign, json_lines
from kbkit.errors import BadInputError
from kbkit.measures import stark
from kbkit.measures.frames import Gold
from kbkit.measures.records import JsonRecord, content, records

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

HUMAN = "human_generated_eval"
"""The split of the questions that people wrote, as the paper's code calls it."""
HUMAN_TABLE = f"stark_qa_{HUMAN}"
TABLE = "stark_qa/stark_qa.csv"
TEST_TENTH = "test-0.1"
FRACTIONS = {"amazon": (0.65, 0.17, 0.18), "mag": (0.60, 0.20, 0.20), "prime": (0.55, 0.20, 0.25)}
"""Fractions of train, val and test by catalogue (Table 3 of the paper); other catalogues use those of MAG."""
HUMAN_RECORDS = "human.jsonl"
"""The entity of each question that people wrote."""
NUMBER, KEY, REFERENCE = "number", "key", "reference"
"""How ``answer_ids`` name nodes: by number; by key, where the keys are the numbers; in datasets of earlier versions,
also by other keys, or by ``type#key`` if answers of several types share keys.
"""
WORDS = pl.Schema({"query": pl.String, "relational": pl.Int64, "textual": pl.Int64})
_FIELDS = "A query needs an id, and relational_words and textual_words (numbers) or relational and textual (texts)"


@dataclass(frozen=True)
class StarkDataset:
    """Questions with their answers. ``words`` (query, relational, textual) counts the words of each kind, if known."""

    name: str
    gold: Gold
    words: pl.DataFrame | None
    human: bool = False


# -- reading ----------------------------------------------------------------------------------------------------------


def read_datasets(path: Path) -> list[StarkDataset]:
    """Return the dataset of a folder or a csv file; human-written questions are a separate dataset.

    Raises :class:`BadInputError` if there is no dataset or an invalid line.
    """
    datasets = _read(path)
    for dataset in datasets:
        if dataset.gold.queries.is_empty():
            raise BadInputError(f"No queries of {dataset.name} in {path}", "Each line after the header is a query")
    return datasets


def _read(path: Path) -> list[StarkDataset]:
    name = path.resolve().name
    if not path.is_dir():
        human = path.stem == HUMAN_TABLE
        return [
            StarkDataset(path.stem, stark.read_stark_gold(path), None if human else _words(path.parent.parent), human)
        ]
    has_main, has_human = (_has(path, table) for table in ("stark_qa", HUMAN_TABLE))
    datasets = []
    if has_main or not has_human:  # without either, the reader raises an error that names the missing file
        datasets.append(StarkDataset(name, stark.read_stark_gold(path), _words(path)))
    if has_human:
        datasets.append(
            StarkDataset(f"{name} human" if has_main else name, stark.read_stark_gold(path, HUMAN), None, human=True)
        )
    return datasets


def read_all(paths: Sequence[Path]) -> list[StarkDataset]:
    """Return the datasets of several folders with distinct names: paths if two have the same name.

    A folder that is listed twice is read once.
    """
    once = {path.resolve(): path for path in reversed(paths)}
    datasets = [(path, dataset) for path in reversed(once.values()) for dataset in read_datasets(path)]
    counts = Counter(dataset.name for _, dataset in datasets)
    ambiguous = {path for path, dataset in datasets if counts[dataset.name] > 1}
    names = [_path_name(path, dataset) if path in ambiguous else dataset.name for path, dataset in datasets]
    return [replace(dataset, name=name) for name, (_, dataset) in zip(_distinct(names), datasets, strict=True)]


def _path_name(path: Path, dataset: StarkDataset) -> str:
    """Return the path of a dataset, with the suffix ``human`` if its name has it."""
    return f"{path}{dataset.name.removeprefix(path.resolve().name)}" if path.is_dir() else str(path)


def _distinct(names: Sequence[str]) -> list[str]:
    """Append numbers to repeated names."""
    distinct: list[str] = []
    for name in names:
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        distinct.append(name if name not in distinct else next(n for n in numbered if n not in {*names, *distinct}))
    return distinct


def _has(folder: Path, table: str) -> bool:
    return any(path.is_file() for path in (folder / "stark_qa" / f"{table}.csv", folder / f"{table}.csv"))


def _words(folder: Path) -> pl.DataFrame | None:
    """Return the word counts of ``queries.jsonl``, or None without that file."""
    path = folder / QUERIES
    if not path.is_file():
        return None
    rows: dict[str, tuple[int, int, int]] = {}
    for record in records(path, content(path)):
        name = _id(record)
        if name in rows:
            raise record.error(f"Duplicate query {name!r}, first in line {rows[name][0]}", "A query has one line")
        rows[name] = (record.position, _count(record, "relational"), _count(record, "textual"))
    return pl.DataFrame([(name, *counts) for name, (_, *counts) in rows.items()], schema=WORDS, orient="row")


def _id(record: JsonRecord) -> str:
    value = record.fields.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise record.error(f"Invalid id {value!r:.40}" if "id" in record.fields else "Missing id", _FIELDS)
    return str(value)


def _count(record: JsonRecord, kind: str) -> int:
    """Return the number of words of a kind: as recorded, or those of the requirements, one text or a list."""
    name = f"{kind}_words"
    if name not in record.fields and kind in record.fields:
        requirements = record.fields[kind]
        texts = requirements if isinstance(requirements, list) else [requirements]
        if not all(isinstance(text, str) for text in texts):
            raise record.error(f"Invalid {kind} {requirements!r:.40}", _FIELDS)
        return sum(len(text.split()) for text in texts)
    value = record.fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise record.error(f"Invalid {name} {value!r:.40}" if name in record.fields else f"Missing {name}", _FIELDS)
    return value


# -- writing ----------------------------------------------------------------------------------------------------------


def fractions_of(templates: Sequence[str]) -> tuple[float, ...]:
    """Return the paper's split fractions for the catalogue of the templates."""
    catalogues = {template.split("/")[0] for template in templates}
    return FRACTIONS.get(catalogues.pop(), FRACTIONS["mag"]) if len(catalogues) == 1 else FRACTIONS["mag"]


def share_keys(kb: KnowledgeBase, types: Iterable[str]) -> bool:
    """Return whether nodes of different ``types`` share a key."""
    sql = (
        "SELECT 1 FROM nodes WHERE type::VARCHAR IN (SELECT unnest($types))"
        " GROUP BY key HAVING count(DISTINCT type) > 1 LIMIT 1"
    )
    distinct = sorted(set(types))
    return len(distinct) > 1 and bool(kb.tables.rows(sql, {"types": distinct}))


def are_references(kb: KnowledgeBase, names: pl.Series) -> bool:
    """Return whether all names are ``type#key``; False without names."""
    types = names.str.extract("^(.+?)#").is_in([t.name for t in kb.schema.node_types])
    return bool(len(names) and types.fill_null(False).all())


def dataset_files(
    records: Sequence[dict[str, Any]], fractions: Sequence[float], seed: int, names: str
) -> dict[str, str]:
    """Set the split of each of the ``records``, and return the texts of a dataset's files by name.

    ``names`` is the field of the answers that STaRK's file has, their ``number`` or numeric ``key``
    (:func:`kbkit.benchmarks.stark.numbers.name_answers`).
    """
    rng = np.random.default_rng(seed)
    splits = assign(len(records), dict(zip(SPLITS, fractions, strict=True)), rng)
    for record, split in zip(records, splits, strict=True):
        record["split"] = split
    indexes = {split: [record["id"] for record in records if record["split"] == split] for split in SPLITS}
    tenth = sorted(rng.permutation(len(indexes["test"]))[: -(-len(indexes["test"]) // 10)].tolist())
    indexes[TEST_TENTH] = [indexes["test"][i] for i in tenth]
    return {
        TABLE: _csv(records, names),
        **{f"split/{name}.index": "".join(f"{query}\n" for query in ids) for name, ids in indexes.items()},
        QUERIES: json_lines(records),
    }


def _csv(records: Sequence[Mapping[str, Any]], field: str) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["id", "query", "answer_ids"])
    for record in records:
        rows.writerow([record["id"], record["query"], str([int(answer[field]) for answer in record["answers"]])])
    return text.getvalue()
