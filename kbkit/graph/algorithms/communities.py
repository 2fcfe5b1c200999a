"""Communities by modularity: Louvain and Leiden of scikit-network (extra ``graph``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import MissingExtraError
from kbkit.graph.algorithms.components import by_size
from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import Communities


def communities(network: Network, settings: Communities) -> NDArray[np.int64]:
    """Return the number of the community of each node: 0 for the largest, ties by smallest id.

    Blondel et al., 2008 (Louvain) and Traag, Waltman and van Eck, 2019 (Leiden). With a direction, modularity is that
    of directed graphs (Dugue and Perez, 2015). Nodes without edges are communities of their own.
    """
    network.check_positive(settings.method.title())
    matrix = network.matrix("sum")
    joined = np.diff(matrix.indptr) + np.bincount(matrix.indices, minlength=len(network)) > 0
    labels = np.arange(len(network), dtype=np.int64)
    if matrix.sum() > 0:
        inner = np.flatnonzero(joined)
        labels += len(network)
        if len(inner) < len(network):  # else without a copy, which may take a gigabyte
            matrix = matrix[inner][:, inner]
        labels[inner] = _fitted(matrix, settings)
    return by_size(labels)


def _fitted(matrix: object, settings: Communities) -> NDArray[np.int64]:
    try:
        from sknetwork.clustering import Leiden, Louvain
    except ModuleNotFoundError:
        raise MissingExtraError("Finding communities", "graph") from None
    from scipy.sparse import csr_matrix

    method = {"louvain": Louvain, "leiden": Leiden}[settings.method]
    directed = settings.direction != "both"
    model = method(
        resolution=settings.resolution,
        modularity="dugue" if directed else "newman",
        random_state=settings.seed,
        shuffle_nodes=settings.seed > 0,
        return_probs=False,  # unused products of the matrix
        return_aggregate=False,
    )
    return np.asarray(model.fit_predict(csr_matrix(matrix)), np.int64)
