"""The files of a made dataset: QUEST's records in three splits, and ``queries.jsonl``, which says more of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.benchmarks.quest.grammar import grammar
from kbkit.benchmarks.stages import Row
from kbkit.directory import files as whole_files
from kbkit.measures.formats import DETAILS

SPLITS = ("train", "val", "test")
SHARES = [0.4, 0.1, 0.5]
"""Half for testing, of the rest four fifths for training (section 3.2 of the paper)."""
_PUBLISHED = ("query", "docs", "original_query", "scores", "metadata")
"""The keys of QUEST's records: its own reader takes no others."""
DOCUMENTS = "documents.jsonl"
OWN = (*(f"{split}.jsonl" for split in SPLITS), DOCUMENTS)
"""The files that make a folder a dataset."""
ABOUT = "dataset.json"


def records(kept: Mapping[tuple[str, str], Sequence[Row]], domains: Sequence[str]) -> list[Row]:
    """Queries as the files hold them, the shapes of each domain in turn; each shape is split alike."""
    order = {shape.template: place for place, shape in enumerate(grammar().shapes)}
    placed = [
        (domains.index(domain), len(order) * turn + order[template], row)
        for (domain, template), rows in kept.items()
        for turn, row in enumerate(rows)
    ]
    placed.sort(key=lambda item: item[:2])
    return [_record(str(number), split_of(place), row) for number, (_, place, row) in enumerate(placed)]


def split_of(place: int) -> str:
    """Every other place is for testing, of the rest every fifth for validation. As there are seven shapes, an odd
    number, and neither 2 nor 5 divides it, each shape gets its share of each split.
    """
    if place % 2 == 0:
        return "test"
    return "val" if place // 2 % 5 == 4 else "train"


def _record(name: str, split: str, row: Row) -> Row:
    answers = row["labelled"]
    rated = [answer for answer in answers if "rating" in answer]
    return {
        "id": name,
        "query": row["query"],
        "docs": [answer["title"] for answer in answers],
        "original_query": row["marked"],
        "scores": [1.0] * len(answers),
        "split": split,
        "expression": row["expression"],
        "categories": [
            {"phrase": phrase, "expression": part} for phrase, part in zip(row["phrases"], row["parts"], strict=True)
        ],
        "answer_nodes": [{"type": answer["type"], "key": answer["key"]} for answer in answers],
        "metadata": {
            "template": row["template"],
            "domain": row["domain"],
            "fluency": row["fluency"],
            "meaning": row["meaning"],
            "naturalness": row["naturalness"],
            "relevance_ratings": {answer["title"]: [answer["rating"]] for answer in rated},
            "evidence_ratings": {answer["title"]: [answer["evidence"]] for answer in rated},
            "attributions": {answer["title"]: [answer.get("attributions", {})] for answer in rated},
        },
    }


def write(out: Path, found: Sequence[Row], about: Mapping[str, Any]) -> None:
    """Write the splits and what they were made of. What was there is replaced when all is written."""
    texts = {
        f"{split}.jsonl": _lines({k: row[k] for k in _PUBLISHED} for row in found if row["split"] == split)
        for split in SPLITS
    }
    texts[DETAILS] = _lines(found)
    texts[ABOUT] = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
    whole_files.write({out / name: text for name, text in texts.items()})


def _lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
