"""Pairs of nodes that may be the same thing, for people to decide on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.people.judgements import Judgement, Mark, outside, read_judgements
from kbkit.benchmarks.people.tasks import Passage, Task, TaskItem, TaskQuestion
from kbkit.display.render import cell
from kbkit.ingestion.merging import APART, SAME, PairDecision

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase

DECISION, _SAME_OTHER, _UNSURE = "decision", "merge into other", "unsure"
_QUESTION = TaskQuestion(
    DECISION,
    "Are they the same?",
    {"1": "yes, keep the first", "2": "yes, keep the second", "n": "no", "u": "unsure"},
    {"1": SAME, "2": _SAME_OTHER, "n": APART, "u": _UNSURE},
)
_NEIGHBORS = 5
_LONGEST = 200


class SameNodes(Task):
    """The decisions of a person on the candidates of :meth:`kbkit.kb.KnowledgeBase.duplicates`."""

    title = "Decide which nodes are the same"
    noun = ("pair", "pairs")

    def __init__(self, kb: KnowledgeBase, candidates: pl.DataFrame, path: Path, who: str) -> None:
        super().__init__(path, who, pair_problem)
        self._kb = kb
        self._pairs = {(row["type"], row["key"], row["other_key"]): row for row in candidates.iter_rows(named=True)}

    @property
    def keys(self) -> Sequence[Hashable]:
        """The pairs, as type and two keys."""
        return list(self._pairs)

    def item(self, key: Hashable) -> TaskItem:
        """Return the two nodes side by side, with what speaks for and against the pair."""
        row = self._pairs[key]  # type: ignore[index]
        sides = [_described(self._kb, row[name]) for name in ("id", "other_id")]
        labels = list(dict.fromkeys(label for side in sides for label in side))
        rows = [(label, *(side.get(label, "") for side in sides)) for label in labels]
        header = ("", f"1: {row['type']}#{row['key']}", f"2: {row['type']}#{row['other_key']}")
        found = [f"{row['neighbors']:,} neighbours in common"] if row["neighbors"] else []
        found += [f"{what} {row[name]}" for name, what in (("same", "same"), ("differ", "different")) if row[name]]
        line = f"score {row['score']}" + "".join(f"; {text}" for text in found)
        title = f"{row['name']} / {row['other_name']}"
        return TaskItem(title, [line], [Passage(rows, header=header)], questions=[_QUESTION])

    def about(self, key: Hashable) -> dict[str, Mark]:
        """Return the names of the nodes."""
        row = self._pairs[key]  # type: ignore[index]
        return {"name": row["name"], "other_name": row["other_name"], "score": str(row["score"])}


def _described(kb: KnowledgeBase, node: int) -> Mapping[str, str]:
    """Return names, attributes, texts and neighbours of a node, as short texts by what they are."""
    data: Any = kb.page(node, _NEIGHBORS).data
    shown = {"name": data["name"], "also called": ", ".join(data["aliases"])}
    shown |= {name: cell(value) for name, value in data["attributes"].items()}
    shown |= {one["field"]: one["text"] for one in reversed(data["texts"])}
    for group in data.get("relations", []):
        names = ", ".join(neighbor["name"] for neighbor in group["neighbors"])
        more = f" and {group['count'] - _NEIGHBORS:,} more" if group["count"] > _NEIGHBORS else ""
        arrow = "->" if group["direction"] == "out" else "<-"
        shown[f"{arrow} [{group['relation']}] {arrow} {group['type']}"] = names + more
    return {name: text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..." for name, text in shown.items() if text}


def pair_problem(one: Judgement) -> str:
    """Return what is wrong with a judgement on a pair, or ""."""
    if len(one.item) != 3 or one.question != DECISION:
        return "it is not about two nodes of a type"
    return "" if one.mark is None else outside({DECISION: list(_QUESTION.marks.values())}, one)


def decisions(path: Path) -> list[PairDecision]:
    """Return the decisions in a file of judgements; of several persons, all count.

    Raises :class:`kbkit.errors.BadInputError` for another file.
    """
    found = []
    for one in read_judgements([path], pair_problem):
        kind, key, other = one.item
        where = f"{path}, by {one.who}"
        if one.mark == _SAME_OTHER:
            found.append(PairDecision(kind, other, key, SAME, where))
        elif one.mark in (SAME, APART):
            found.append(PairDecision(kind, key, other, str(one.mark), where))
    return found
