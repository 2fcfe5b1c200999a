"""The store of graph embeddings: one row per node, computed from the edges alone (texts have :mod:`vectors`).

* ``matrix.npy``  float32 (nodes, dimension): row ``i`` is node ``i``, of unit length, or zero for a node without edges

Nodes with similar neighbourhoods have similar rows, so the inner product of two rows (a cosine, from -1 to 1) says how
related two nodes are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.directory.damage import reading
from kbkit.stores.arrays import Within, mapped

FOLDER = "embeddings"
MATRIX = "matrix.npy"
_MAX_SCORES = 16_000_000
"""Maximum number of products (candidates times nodes) in memory at once."""


class Embeddings:
    """A generation's graph embeddings, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        with reading(FOLDER, folder):
            self.matrix: NDArray[np.float32] = mapped(folder / MATRIX, np.float32, 2)

    def close(self) -> None:
        """Release the file."""
        del self.matrix

    def nearest(
        self, nodes: NDArray[Any], k: int, within: Within = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the ``k`` candidates with the largest inner product with each node, largest first, ties by id.

        The arrays of ids and of products have a row per node and up to ``k`` columns. A node is never its own
        neighbour. Where there are fewer than ``k`` candidates with a positive product, the id is -1 and the product 0.
        ``within`` are the candidates (None: all nodes).
        """
        ids = _ids(within, len(self.matrix))
        rows = self.matrix if within is None else self.matrix[ids]
        columns = max(1, min(k, len(ids)))
        found = np.full((len(nodes), columns), -1, np.int64)
        products = np.zeros((len(nodes), columns), np.float32)
        step = max(1, _MAX_SCORES // max(1, len(ids)))
        for start in range(0, len(nodes) if len(ids) else 0, step):
            part = np.asarray(nodes[start : start + step], np.int64)
            scores = self.matrix[part] @ rows.T
            position = np.minimum(np.searchsorted(ids, part), len(ids) - 1)
            own = ids[position] == part
            scores[np.flatnonzero(own), position[own]] = -np.inf
            best = _largest(scores, columns)
            top = np.take_along_axis(scores, best, 1)
            found[start : start + step] = np.where(top > 0, ids[best], -1)
            products[start : start + step] = np.maximum(top, 0)
        return found, products


def _ids(within: Within, count: int) -> NDArray[np.int64]:
    if within is None:
        return np.arange(count)
    return np.arange(within.start, within.stop) if isinstance(within, range) else np.asarray(within, np.int64)


def _largest(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` largest scores of each row, largest first, ties by position.

    More than ``k`` are considered, so that ties at the border are decided by position unless there are very many.
    """
    wide = min(scores.shape[1], 4 * k + 16)
    if wide < scores.shape[1]:
        near = np.sort(np.argpartition(-scores, wide - 1, axis=1)[:, :wide], axis=1)
    else:
        near = np.broadcast_to(np.arange(wide), (len(scores), wide))
    order = np.argsort(-np.take_along_axis(scores, near, 1), axis=1, kind="stable")[:, :k]
    return np.take_along_axis(near, order, 1)
