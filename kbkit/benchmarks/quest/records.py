"""Records of a generated QUEST dataset in the form of its files, and the report on how it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kbkit.benchmarks.pipeline import Item, Row, dropped
from kbkit.benchmarks.quest.draft import DraftQuery, FamilyRow, ShapeRow
from kbkit.benchmarks.quest.grammar import grammar
from kbkit.benchmarks.quest.label import QueryLabels, Votes
from kbkit.benchmarks.quest.paraphrase import Paraphrase
from kbkit.benchmarks.quest.settings import EVIDENCE
from kbkit.directory.typed_json import to_json


def records(complete: Mapping[tuple[str, str], Sequence[Item]], domains: Sequence[str]) -> list[dict[str, Any]]:
    """Return the records of queries, alternating between shapes within each domain, so that shapes are split evenly."""
    order = {shape.template: number for number, shape in enumerate(grammar().shapes)}
    placed = [
        (domains.index(domain), len(order) * turn + order[template], item)
        for (domain, template), items in complete.items()
        for turn, item in enumerate(items)
    ]
    placed.sort(key=lambda entry: entry[:2])
    return [_record(str(number), split_of(position), item) for number, (_, position, item) in enumerate(placed)]


def split_of(position: int) -> str:
    """Return the split of a query: every other one is for testing, every fifth of the rest for validation.

    The number of shapes, seven, is divisible by neither 2 nor 5, so each shape has its share of each split.
    """
    if position % 2 == 0:
        return "test"
    return "val" if position // 2 % 5 == 4 else "train"


def _record(name: str, split: str, item: Item) -> dict[str, Any]:
    query, votes, answers = item[DraftQuery], item[Votes], item[QueryLabels].labelled
    rated = [answer for answer in answers if answer.rating is not None]
    return {
        "id": name,
        "query": item[Paraphrase].query,
        "docs": [answer.title for answer in answers],
        "original_query": query.marked,
        "scores": None,
        "split": split,
        "expression": query.expression,
        "categories": [
            {"phrase": phrase, "expression": part} for phrase, part in zip(query.phrases, query.parts, strict=True)
        ],
        "answer_nodes": [{"type": answer.type, "key": answer.key} for answer in answers],
        "fact_evidence": {answer.title: list(answer.facts) for answer in rated if answer.facts},
        "metadata": {
            "template": query.template,
            "domain": query.domain,
            "fluency": votes.fluency,
            "meaning": votes.meaning,
            "naturalness": votes.naturalness,
            "relevance_ratings": {answer.title: [answer.rating] for answer in rated},
            "evidence_ratings": {answer.title: [answer.evidence] for answer in rated},
            "attributions": {answer.title: [answer.attributions] for answer in rated},
        },
    }


# -- report -----------------------------------------------------------------------------------------------------------


def reasons(seen: Sequence[Item]) -> dict[str, int]:
    """Count the queries that were dropped by reason."""
    return dropped(item.dropped.split(": ")[0] for item in seen)


def _plain(row: Row) -> dict[str, Any]:
    return {name: value for name, value in to_json(row).items() if name != "id"}


def report(
    families: Sequence[FamilyRow], shapes: Sequence[ShapeRow], made: Sequence[Mapping[str, Any]], seen: Sequence[Item]
) -> dict[str, Any]:
    """Return counts for the report on the records ``made`` of a dataset, of the queries ``seen``."""
    counts = Counter((r["metadata"]["domain"], r["metadata"]["template"]) for r in made)
    spans = sum(len(marks) for r in made for row in r["metadata"]["attributions"].values() for marks in row)
    facts = sum(len(phrases) for record in made for phrases in record["fact_evidence"].values())
    ratings = [e for r in made for row in r["metadata"]["evidence_ratings"].values() for e in row]
    labels = [row for item in seen if (row := item.get(QueryLabels)) is not None]
    removed = Counter(answer.why for row in labels for answer in row.removed)
    return {
        "queries": len(made),
        "splits": dict(Counter(record["split"] for record in made)),
        "families": [_plain(row) for row in families],
        "shapes": [{**_plain(row), "made": counts[row.domain, row.template]} for row in shapes],
        "dropped": reasons(seen),
        "answers": sum(len(record["docs"]) for record in made),
        "answers removed": dict(removed.most_common()),
        "evidence": {name: ratings.count(name) for name in reversed(EVIDENCE)} if ratings else {},
        "evidence spans": {"of texts": spans - facts, "of facts": facts},
        "quotes that are not in the document": sum(
            answer.lost for row in labels for answer in (*row.labelled, *row.removed)
        ),
    }
