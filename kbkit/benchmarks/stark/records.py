"""Records and the report of a generated STaRK dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from kbkit.benchmarks.pipeline import Item, dropped, listed
from kbkit.benchmarks.requirements.answer_counts import Target
from kbkit.benchmarks.requirements.fuse import FusedQuery, used_properties
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.textual import Requirement
from kbkit.benchmarks.requirements.verify import Verified
from kbkit.directory.typed_json import to_json


def report_of(queries: Sequence[Item], complete: Sequence[Item], wanted: int, target: Target | None) -> dict[str, Any]:
    """Return counts of drawn and dropped queries, answers beside their target, and passed golds (section 2.4)."""
    verified = [(query, row) for query in queries if (row := query.get(Verified)) is not None]
    passed = [row.gold_passes for query, row in verified if query[Requirement].properties]
    answers = np.array([len(query[Verified].answers) for query in complete])
    properties = [text_property for query in complete for text_property in used_properties(query)]
    return {
        "wanted": wanted,
        "queries": len(complete),
        "drawn": len(queries),
        "dropped": dropped(query.dropped for query in queries),
        "unusable_judgements": sum(1 for _ in _problems(queries)),
        "golds_verified": round(sum(passed) / len(passed), 4) if target is None and passed else None,
        "candidates": round(float(np.mean([len(q[Grounding].candidates) for q in complete])), 2) if complete else None,
        "answers": round(float(answers.mean()), 2) if complete else None,
        "several": round(float((answers > 1).mean()), 4) if complete else None,
        "target": asdict(target) if target else None,
        "drawn_for_many": sum(1 for query in queries if query[Grounding].wanted > 2),
        "reached_of_many": sum(1 for query, row in verified if len(row.answers) >= query[Grounding].wanted > 2),
        "phrases": sum(1 for text_property in properties if not text_property.condition),
        "conditions": sum(1 for text_property in properties if text_property.condition),
        "relations_only": sum(1 for query in complete if not query[Requirement].properties),
        "repeating_phrases": sum(1 for text_property in properties if text_property.repeats),
    }


def record(number: int, query: Item) -> dict[str, Any]:
    """Return a record of ``queries.jsonl``."""
    grounding, required, worded, verified = (
        query[Grounding], query[Requirement], query[FusedQuery], query[Verified],
    )  # fmt: skip
    return {
        "id": str(number),
        "query": worded.query,
        "split": "",
        "template": grounding.template,
        "expression": grounding.expression,
        "slots": to_json(grounding.slots),
        "question": grounding.question,
        "role": required.role,
        "fused": worded.fused,
        "properties": to_json(used_properties(query)),
        "relational_words": worded.relational_words,
        "textual_words": worded.textual_words,
        "gold": to_json(verified.gold_node),
        "candidates": len(grounding.candidates),
        "answers": to_json(verified.answers),
        "checks": to_json(verified.checks),
    }


def _problems(queries: Sequence[Item]) -> Iterator[str]:
    """Yield the problems of the judgements that could not be used."""
    rows = (row for query in queries if (row := query.get(Verified)) is not None)
    yield from (v.problem for row in rows for check in row.checks for v in check.verdicts if v.problem)


def reasons(queries: Sequence[Item], report: Mapping[str, Any]) -> str:
    """Return why queries were dropped, with their numbers."""
    reasons = listed(report["dropped"])
    if report["unusable_judgements"]:
        first = next(_problems(queries))
        reasons += f"; {report['unusable_judgements']:,} judgements could not be used, e.g. {first}"
    return reasons
