"""Additional queries for training (QUEST, section 3.5): atomic queries that are part of no other query.

The paper adds 5,000 of them, without paraphrase and annotation. As in its files, they have no template and no original
query, and they are kept apart from the other queries, in a file of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.quest.categories import Categories

FILE = "augmented.jsonl"


def records(
    categories: Mapping[str, Categories],
    titles: Mapping[int, str],
    names: Mapping[int, str],
    *,
    used: Collection[str],
    count: int,
    bounds: tuple[int, int],
    seed: int,
) -> list[dict[str, Any]]:
    """Return up to ``count`` records, domains and families of categories in turn, each in random order.

    ``used`` are the phrases of the other queries; ``bounds`` the smallest and the largest number of answers. ``titles``
    and ``names`` are those of all nodes of the domains; a query that names one of its answers is skipped.
    """
    rng = np.random.default_rng([seed, 35])
    waiting = [_shuffled(domain, of, used, bounds, rng) for domain, of in categories.items()]
    queues = [queue for queues_of in in_turn(waiting) for queue in queues_of]
    rows: list[dict[str, Any]] = []
    while queues and len(rows) < count:
        queues = [queue for queue in queues if queue]
        for queue in queues:
            while queue and len(rows) < count:
                domain, number = queue.pop()
                row = _record(domain, categories[domain], number, titles, names)
                if row is not None:
                    rows.append(row)
                    break
    return rows


def in_turn(waiting: list[list[list[tuple[str, int]]]]) -> list[list[list[tuple[str, int]]]]:
    """Return the first queue of each domain, then the second of each, and so on."""
    longest = max(map(len, waiting), default=0)
    return [[queues[i] for queues in waiting if i < len(queues)] for i in range(longest)]


def _shuffled(
    domain: str, categories: Categories, used: Collection[str], bounds: tuple[int, int], rng: np.random.Generator
) -> list[list[tuple[str, int]]]:
    """Return the unused categories of each family in random order."""
    families: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for number in rng.permutation(len(categories.items)).tolist():
        item = categories.items[number]
        if item.phrase not in used and bounds[0] <= item.size <= bounds[1]:
            families[item.family].append((domain, number))
    return [families[name] for name in sorted(families)]


def _record(
    domain: str, categories: Categories, number: int, titles: Mapping[int, str], names: Mapping[int, str]
) -> dict[str, Any] | None:
    matrix: Any = categories.sets.matrix
    members = matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]].tolist()
    phrase = categories.items[number].phrase
    if leaks(phrase, [names[node] for node in members]):
        return None
    return {
        "query": phrase[0].upper() + phrase[1:],
        "docs": [titles[node] for node in members],
        "original_query": None,
        "scores": None,
        "metadata": {"template": None, "domain": domain},
    }
