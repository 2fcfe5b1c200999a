"""Builds the store of graph embeddings from the edges.

``spectral`` (the default) is a regularized spectral embedding. A is the symmetric matrix whose entry (i, j) is the
number of relations that join i and j, in either direction. With D the diagonal matrix of A's row sums and t their mean,
the rows are the eigenvectors of L = (D + tI)^-1/2 A (D + tI)^-1/2 with the largest eigenvalues, scaled by the
eigenvalues. This is the truncated singular value decomposition of L without its negative part. The regularization t
keeps small components and nodes of degree 1 from taking a dimension each (Qin and Rohe, Regularized Spectral Clustering
under the Degree-Corrected Stochastic Blockmodel, NIPS 2013).

``pykeen:MODEL`` trains a model of PyKEEN (Ali et al., JMLR 2021), which is an optional dependency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError, MissingExtraError, Option, UnknownNameError
from kbkit.stores.arrays import GrowingArray
from kbkit.stores.embeddings import MATRIX

if TYPE_CHECKING:
    import pyarrow as pa

SPECTRAL, PYKEEN = "spectral", "pykeen"
_EXACT_NODES, _TOLERANCE = 50_000, 1e-2
"""Above so many nodes, eigenvalues are computed up to this relative error: that changes no measured quality."""
_ROUNDING = 1e-9
"""Eigenvalues up to this are zero but for rounding."""
_SEED_LIMIT = 2**32
_ROWS = 100_000
Ids = NDArray[np.int64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class EmbeddingSettings:
    """How graph embeddings are computed; recorded in the manifest.

    ``method`` is ``spectral`` or ``pykeen:MODEL`` (``pykeen:TransE``), ``dimension`` the length of a row (smaller in a
    KB with fewer nodes), ``epochs`` those of PyKEEN's training. Raises :class:`KbError` for invalid values.
    """

    method: str = SPECTRAL
    dimension: int = 64
    seed: int = 0
    epochs: int = 20

    def __post_init__(self) -> None:
        kind, _, model = self.method.partition(":")
        if (kind, bool(model)) not in ((SPECTRAL, False), (PYKEEN, True)):
            hint = ("Use ", Option("method", SPECTRAL), " or ", Option("method", f"{PYKEEN}:TransE"))
            raise KbError(f"Unknown method of embeddings: {self.method}", *hint)
        for name, low, high in (("dimension", 1, 4096), ("seed", 0, _SEED_LIMIT - 1), ("epochs", 1, 10_000)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise KbError(f"Invalid {name}: {value}", f"Use a number from {low} to {high:,}")


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    nodes: int,
    symmetric: Sequence[bool],
    settings: EmbeddingSettings,
    progress: Progress,
) -> dict[str, int]:
    """Compute the embeddings and write them to ``folder``; ``batches`` runs SQL over the tables.

    ``symmetric`` says of each relation, in the order of the ENUM, whether it is stored in both directions. Returns
    ``{"embeddings": rows, "dimension": columns}``. Equal edges and settings give equal bytes on one machine. Raises
    :class:`KbError` if the method needs a package that is not installed.
    """
    head, relation, tail = _triples(batches, symmetric)
    compute = spectral if settings.method == SPECTRAL else _pykeen
    rows = compute(head, relation, tail, nodes, settings, progress) if len(head) else np.zeros((nodes, 1))
    folder.mkdir()
    with GrowingArray(folder / MATRIX, np.float32, rows.shape[1]) as matrix:
        for start in range(0, nodes, _ROWS):
            matrix.append(unit_rows(rows[start : start + _ROWS]))
    return {"embeddings": len(rows), "dimension": rows.shape[1]}


def unit_rows(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return rows of unit length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def _triples(batches: Callable[[str], pa.RecordBatchReader], symmetric: Sequence[bool]) -> tuple[Ids, Ids, Ids]:
    """Return head, relation (its position in the ENUM) and tail of the distinct edges, symmetric ones once."""
    table = batches("SELECT DISTINCT head, enum_code(relation)::INTEGER AS r, tail FROM edges ORDER BY ALL").read_all()
    head, relation, tail = (table.column(name).to_numpy().astype(np.int64) for name in ("head", "r", "tail"))
    once = ~np.asarray(symmetric, bool)[relation] | (head <= tail)
    return head[once], relation[once], tail[once]


def spectral(
    head: Ids, relation: Ids, tail: Ids, nodes: int, settings: EmbeddingSettings, progress: Progress = lambda *_: None
) -> NDArray[Any]:
    """Return the eigenvectors of the matrix L of the module's docstring, scaled by their eigenvalues: (nodes, k).

    ``head``, ``relation`` and ``tail`` are distinct triples; ``relation`` is not used. The starting vector is random.
    """
    del relation
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    columns = min(settings.dimension, nodes - 2)
    if columns < 1:
        return np.ones((nodes, 1))
    joined = csr_array((np.ones(len(head)), (head, tail)), shape=(nodes, nodes))
    adjacent = joined + joined.T
    degrees = adjacent.sum(axis=1)
    scale = diags_array(1 / np.sqrt(degrees + degrees.mean()))
    matrix = (scale @ adjacent @ scale).tocsr()
    products = 0

    def multiply(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal products
        products += 1
        if products % 20 == 0:  # also lets a cancelled build end here
            progress(products, 0)  # their number is not known in advance
        return np.asarray(matrix @ vector)

    tolerance = _TOLERANCE if nodes > _EXACT_NODES else 1e-9
    start = np.random.default_rng(settings.seed).standard_normal(nodes)
    operator = LinearOperator(matrix.shape, matvec=multiply, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k=columns, which="LA", tol=tolerance, v0=start)
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors  # those that converged
    order = [i for i in np.argsort(-values, kind="stable").tolist() if values[i] > _ROUNDING]
    if not order:
        return np.zeros((nodes, 1))
    rows = vectors[:, order] * values[order]
    rows *= np.sign(rows[np.abs(rows).argmax(axis=0), np.arange(len(order))])
    rows[degrees == 0] = 0
    return np.asarray(rows)


def _pykeen(
    head: Ids, relation: Ids, tail: Ids, nodes: int, settings: EmbeddingSettings, progress: Progress
) -> NDArray[Any]:
    """Train a model of PyKEEN and return its representations of the nodes; complex numbers take two columns."""
    try:
        import torch
        from pykeen.models import model_resolver
        from pykeen.training import SLCWATrainingLoop
        from pykeen.triples import CoreTriplesFactory
        from pykeen.utils import set_random_seed
    except ImportError:
        raise MissingExtraError(f"Method {settings.method}", "pykeen") from None
    name = settings.method.partition(":")[2]
    try:
        kind = model_resolver.lookup(name)
    except KeyError:
        raise UnknownNameError("model of PyKEEN", name, model_resolver.lookup_dict) from None
    set_random_seed(settings.seed)
    triples = torch.as_tensor(np.column_stack((head, relation, tail)))
    factory = CoreTriplesFactory(triples, num_entities=nodes, num_relations=int(relation.max()) + 1)
    options = {"embedding_dim": settings.dimension, "random_seed": settings.seed}
    model = kind(triples_factory=factory, **options)
    loop = SLCWATrainingLoop(model=model, triples_factory=factory, optimizer=torch.optim.Adam(model.parameters(), 0.01))
    for epoch in range(settings.epochs):
        progress(epoch, settings.epochs)
        loop.train(factory, num_epochs=epoch + 1, use_tqdm=False, continue_training=epoch > 0)
    rows = model.entity_representations[0](indices=None).detach().cpu()
    if rows.is_complex():
        rows = torch.view_as_real(rows)
    return np.asarray(rows.reshape(nodes, -1).numpy(), np.float64)
