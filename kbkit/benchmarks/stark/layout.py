"""Writes a dataset in STaRK's own layout, with a record of everything beside it.

``stark_qa/stark_qa.csv`` (id, query, answer_ids), ``split/NAME.index`` (an id a line), ``queries.jsonl`` and
``dataset.json``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.benchmarks.splits import assign, parts
from kbkit.directory.files import write_files
from kbkit.kb import KnowledgeBase

SPLITS = ("train", "val", "test")
SHARES = {"amazon": (0.65, 0.17, 0.18), "mag": (0.60, 0.20, 0.20), "prime": (0.55, 0.20, 0.25)}
"""Table 3 of the paper, by catalogue of templates; MAG's for any other."""
TENTH = "test-0.1"
TABLE, RECORDS = "stark_qa/stark_qa.csv", "queries.jsonl"
KEY, REFERENCE = "key", "reference"
"""What ``answer_ids`` call nodes: their keys, or ``type#key`` where answers of several types share keys."""


def shares_of(templates: Sequence[str]) -> tuple[float, ...]:
    """The paper's shares for the catalogue that the templates are of."""
    catalogues = {template.split("/")[0] for template in templates}
    return SHARES.get(catalogues.pop(), SHARES["mag"]) if len(catalogues) == 1 else SHARES["mag"]


def ambiguous(kb: KnowledgeBase, types: Iterable[str]) -> bool:
    """Whether nodes of different ``types`` share a key."""
    sql = (
        "SELECT 1 FROM nodes WHERE type::VARCHAR IN (SELECT unnest($types))"
        " GROUP BY key HAVING count(DISTINCT type) > 1 LIMIT 1"
    )
    distinct = sorted(set(types))
    return len(distinct) > 1 and bool(kb.tables.rows(sql, {"types": distinct}))


def write(
    out: Path, records: Sequence[dict[str, Any]], shares: Sequence[float], seed: int, about: Mapping[str, Any]
) -> None:
    """Write all files of a dataset; ``records`` get their split. What was there is replaced when all is written."""
    rng = np.random.default_rng(seed)
    named = assign(len(records), dict(zip(SPLITS, shares, strict=True)), rng)
    for record, split in zip(records, named, strict=True):
        record["split"] = split
    indexes = {split: [records[i]["id"] for i in parts(named, split)] for split in SPLITS}
    tenth = sorted(rng.permutation(len(indexes["test"]))[: -(-len(indexes["test"]) // 10)].tolist())
    indexes[TENTH] = [indexes["test"][i] for i in tenth]
    files = {
        TABLE: _table(records, references=about["names"] == REFERENCE),
        **{f"split/{name}.index": "".join(f"{query}\n" for query in ids) for name, ids in indexes.items()},
        RECORDS: "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records),
        "dataset.json": json.dumps(about, ensure_ascii=False, indent=2) + "\n",
    }
    write_files({out / name: text for name, text in files.items()})


def _table(records: Sequence[Mapping[str, Any]], *, references: bool) -> str:
    named = [[f"{a['type']}#{a['key']}" if references else a["key"] for a in record["answers"]] for record in records]
    numbers = all(key.isascii() and key.isdigit() and str(int(key)) == key for keys in named for key in keys)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["id", "query", "answer_ids"])
    for record, keys in zip(records, named, strict=True):
        rows.writerow([record["id"], record["query"], answer_ids(keys, numbers=numbers)])
    return text.getvalue()


def answer_ids(keys: Sequence[str], *, numbers: bool) -> str:
    """Keys as STaRK writes them, a list literal: ``numbers`` where all of a dataset are whole numbers, else texts."""
    return str([int(key) for key in keys]) if numbers else json.dumps(list(keys), ensure_ascii=False)
