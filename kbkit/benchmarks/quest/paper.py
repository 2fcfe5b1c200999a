"""Figures of the paper (Malaviya et al., QUEST, ACL 2023) that kbkit shows beside its own."""

from __future__ import annotations

from kbkit.benchmarks.report import published


def recall_by_age(system: str, part: str) -> float | None:
    """Return average recall@100 of Table 7 for ``bm25`` or ``T5-Large DE``, before or after; None if it is unknown."""
    rows = published("quest").of("7")
    found = rows.get((system, part))
    return None if found is None else found["recall@100"]
