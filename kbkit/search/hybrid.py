"""Full text and embeddings together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from kbkit.search.fuse import reciprocal_rank
from kbkit.search.ranking import Ranking

DEPTH = 100
"""How deep each leg is fused, at least."""


def hybrid(legs: Mapping[str, Callable[[int], Ranking]], k: int) -> tuple[Ranking, dict[str, Ranking]]:
    """Run the legs side by side, each to depth max(k, 100), and fuse them; the fused ranking and each leg's own."""
    depth = max(k, DEPTH)
    with ThreadPoolExecutor(len(legs)) as pool:
        futures = {name: pool.submit(leg, depth) for name, leg in legs.items()}
        rankings = {name: future.result() for name, future in futures.items()}
    return reciprocal_rank(list(rankings.values()), k), rankings
