"""A small QUEST dataset over the world KB: countries by language, sea, organisation and continent."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kbkit.benchmarks.pipeline import Table
from kbkit.benchmarks.quest import run_files
from kbkit.benchmarks.quest.dataset import Example
from kbkit.benchmarks.quest.evaluate import ScoredSystem
from kbkit.benchmarks.quest.run import Predicted
from kbkit.benchmarks.retrieval import lists_of
from kbkit.benchmarks.run import make_folder, predictions_file
from kbkit.kb import KnowledgeBase
from kbkit.measures.frames import ordered

PATTERNS = {
    "speaks": ("language", "countries that speak {}"),
    "coast_on": ("sea", "countries with a coast on the {}"),
    "member_of": ("organisation", "countries that are members of the {}"),
    "in_continent": ("continent", "countries that lie in {}"),
}
SHAPES = (
    ("_", "{a}", "<mark>{x}</mark>", "{x}", 1),
    ("_ or _", "({a}) | ({b})", "<mark>{x}</mark> or <mark>{y}</mark>", "{x} or {y}", 2),
    (
        "_ that are also _",
        "({a}) & ({b})",
        "<mark>{x}</mark> that are also <mark>{y}</mark>",
        "{x} that are also {y}",
        2,
    ),
    ("_ that are not _", "({a}) - ({b})", "<mark>{x}</mark> that are not <mark>{y}</mark>", "{x} that are not {y}", 2),
)


def categories(kb: KnowledgeBase) -> dict[str, tuple[str, frozenset[str]]]:
    """Return expression and names of countries by phrase."""
    found = {}
    for relation, (kind, phrase) in PATTERNS.items():
        rows = kb.sql(
            f'SELECT o.name, list(c.name ORDER BY c.name) AS members FROM "{relation}" r JOIN nodes c ON c.id = r.head'
            " JOIN nodes o ON o.id = r.tail GROUP BY o.key, o.name HAVING count(*) >= 2 ORDER BY o.key"
        )
        for name, members in rows.iter_rows():
            expression = f'{kind}:"{name}" -> [{relation}] -> country'
            found[phrase.format(name)] = (expression, frozenset(members))
    return found


def queries(known: dict[str, tuple[str, frozenset[str]]], limit: int) -> Iterator[dict[str, Any]]:
    """Yield up to ``limit`` records per shape, each with 2 to 20 answers."""
    for template, expression, original, text, arity in SHAPES:
        count = 0
        pairs = itertools.combinations(sorted(known), 2) if arity == 2 else ((name, name) for name in sorted(known))
        for place, (x, y) in enumerate(pairs):
            (a, first), (b, second) = known[x], known[y]
            members = {"_": first, "_ or _": first | second, "_ that are also _": first & second}.get(
                template, first - second if first & second else frozenset()
            )
            if place % 7 == 0 and 2 <= len(members) <= 20 and count < limit:
                count += 1
                names = [(x, a), (y, b)][:arity]
                yield {
                    "query": text.format(x=x, y=y),
                    "docs": sorted(members),
                    "original_query": original.format(x=x, y=y),
                    "scores": None,
                    "metadata": {"template": template, "domain": "country"},
                    "expression": expression.format(a=a, b=b),
                    "categories": [{"phrase": p, "expression": e} for p, e in names],
                }


def documents(kb: KnowledgeBase) -> list[dict[str, str]]:
    rows = kb.sql(
        "SELECT c.name AS title, any_value(t.text) AS text, 'country' AS type, c.key FROM country c"
        " JOIN texts t ON t.id = c.id GROUP BY ALL ORDER BY title"
    )
    return rows.to_dicts()


def write(kb: KnowledgeBase, folder: Path, limit: int = 15) -> Path:
    """Write the dataset: records alternate between the splits, test twice as often."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "test": [], "val": []}
    for place, record in enumerate(queries(categories(kb), limit)):
        split = ("train", "test", "val", "test")[place % 4]
        parts[split].append({"id": str(place), "split": split, **record})
    for split, records in parts.items():
        lines(folder / f"{split}.jsonl", records)
    lines(folder / "documents.jsonl", documents(kb))
    return folder


def lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")


def write_system(system: ScoredSystem, examples: Sequence[Example], folder: Path) -> Path:
    """Write the predictions of a system as ``quest run`` does: a run, and the file for QUEST's own scripts."""
    path = predictions_file(folder, system.name)
    make_folder(path.parent)
    settings: dict[str, Any] = {"system": system.name, "ranked": system.ranked}
    if system.ranked:
        settings["k"] = system.k
    if system.threshold is not None:
        settings["classifier"] = ""
    threshold = system.threshold if system.threshold is not None and math.isfinite(system.threshold) else None
    lists = lists_of(ordered(system.run), [example.id for example in examples])
    rows = [Predicted(name, *predicted, threshold) for name, predicted in lists.items()]
    Table(path, Predicted, settings).write(rows)
    return run_files.export(system, examples, folder)
