"""PageRank and degrees, on the adjacency arrays as they are on disk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError, Option
from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import PageRank, Subgraph
from kbkit.stores.sums import Sums, total

Ranks = NDArray[np.float64]


def pagerank(network: Network, settings: PageRank) -> Ranks:
    """Return the PageRank of each node of the network; the ranks add up to 1.

    Page, Brin, Motwani and Winograd, 1999, computed by power iteration. Nodes without outgoing edges pass their rank
    on to all nodes (to the seeds, if there are any).
    """
    network.check_positive("PageRank")
    if not len(network):
        return np.empty(0)
    start = np.zeros(network.schema.nodes)
    nodes = network.nodes
    if settings.seeds is not None:
        nodes = nodes[network.positions_of(settings.seeds, "seeds")]
    start[nodes] = 1 / len(nodes)
    return _Walk(network, settings, start).ranks()[network.nodes]


class _Walk:
    """The random walk, with its parts sorted by when they have to be computed.

    Ranks that no iteration changes are not computed in each: nodes without incoming edges have a multiple of their
    start value, and the ranks of nodes without outgoing edges are needed at the end only.
    """

    def __init__(self, network: Network, settings: PageRank, start: Ranks) -> None:
        self._settings, self._start, self._inside = settings, start, network.inside
        self._parts = network.sums(incoming=True)
        out = network.weights_of(network.sums())
        self._has_out = network.inside & (out > 0)
        self._share = np.zeros(len(out))  # what each edge (of weight 1) passes on
        self._share[self._has_out] = 1 / out[self._has_out]
        self._steady, self._live = self._sorted_parts(network)

    def _sorted_parts(self, network: Network) -> tuple[list[Sums], list[Sums]]:
        """Return the parts that only lead from nodes without incoming edges, and the others that do not only lead to
        nodes without outgoing ones.
        """
        walked = (network.weights_of(self._parts) > 0) & self._has_out
        steady: list[Sums] = []
        live: list[Sums] = []
        for part in self._parts:
            if not self._has_out[part.rows].any():
                continue
            (live if part.reads(walked) else steady).append(part)
        return steady, live

    def ranks(self) -> Ranks:
        damping, start = self._settings.damping, self._start
        steady = total(self._steady, start * self._share)
        ranks, scale, change = start, 1.0, 0.0
        for _ in range(self._settings.iterations):
            lost = 1 - float(ranks[self._has_out].sum())
            passed = total(self._live, ranks * self._share) + scale * steady
            scale = 1 - damping + damping * lost
            new = damping * passed + scale * start
            new[~self._inside] = 0
            change = float(np.abs(new - ranks)[self._has_out].sum())
            ranks = new
            if change < self._settings.tolerance:
                return self._finished(ranks)
        raise KbError(
            f"PageRank did not converge in {self._settings.iterations} iterations: the last one changed {change:.2g}",
            *("Raise ", Option("iterations"), " or ", Option("tolerance")),
        )

    def _finished(self, ranks: Ranks) -> Ranks:
        """Return the ranks after a last iteration, which all parts have a share in."""
        damping = self._settings.damping
        lost = 1 - float(ranks[self._has_out].sum())
        found = damping * total(self._parts, ranks * self._share) + (1 - damping + damping * lost) * self._start
        return np.asarray(found)


def degree(network: Network, settings: Subgraph) -> Ranks:
    """Return the number of edges that lead from each node, or the sum of their weights."""
    del settings
    return network.weights_of(network.sums())[network.nodes]
