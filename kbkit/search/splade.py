"""Retriever ``splade``: weights of words and of related words for a text, by a model of sentence-transformers.

The index is a sparse matrix of texts by words (SciPy), an inverted index if read by columns; the score is the dot
product (Formal et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.search import model_folder, model_index
from kbkit.search.indexed import IndexedRetriever
from kbkit.search.model_index import Rows, TextSource
from kbkit.search.ranking import Ranking
from kbkit.stores.arrays import Within

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_FILE = "weights.npz"
_BATCH = 200
"""Queries whose scores are in memory at once."""


class Splade(IndexedRetriever):
    """A SPLADE model with its index of a KB."""

    @cached_property
    def model(self) -> Any:
        """The model, loaded on first use."""
        settings = self.system.settings
        library = self.system.kind.library()
        with model_folder.loading(self.system):
            model = library.SparseEncoder(self.folder.model, device=settings["device"] or None, local_files_only=True)
        if settings["length"]:
            model.max_seq_length = int(settings["length"])
        return model

    def write(self, folder: Path, old: Path | None, kept: Rows, texts: TextSource) -> None:
        """See :class:`kbkit.search.model_index.Codes`."""
        from scipy import sparse

        weights = [] if old is None else [sparse.load_npz(old / _FILE)[kept]]
        weights += [encoded(self.model, batch, self.batch) for batch in texts.batches()]
        sparse.save_npz(folder / _FILE, sparse.vstack(weights, "csr") if weights else sparse.csr_matrix((0, 1)))

    @cached_property
    def _weights(self) -> csr_matrix:
        from scipy import sparse

        return sparse.load_npz(self.state.folder / _FILE)

    def search(self, queries: Sequence[str], k: int, within: Within) -> list[Ranking]:
        """See :class:`kbkit.search.system_kinds.TextRetriever`; nodes that share no word with a query are left out."""
        rows = self.rows(within)
        candidates, ids = self._weights[rows].T.tocsr(), self.state.ids[rows]
        weights = encoded(self.model, queries, self.batch, queries=True)
        rankings: list[Ranking] = []
        for start in range(0, len(queries), _BATCH):
            scores = (weights[start : start + _BATCH] @ candidates).toarray()
            rankings += [_positive(model_index.best(row, ids, k)) for row in scores]
        return rankings


def _positive(ranking: Ranking) -> Ranking:
    return ranking.cut(int(np.count_nonzero(ranking.scores > 0)))


def encoded(model: Any, texts: Sequence[str], batch: int, *, queries: bool = False) -> csr_matrix:
    """Return a sparse matrix of float32 with a row per text and a column per word piece."""
    from scipy import sparse

    encode = model.encode_query if queries else model.encode_document
    tensor = encode(list(texts), batch_size=batch, show_progress_bar=False, save_to_cpu=True).coalesce()
    values = tensor.values().float().numpy()
    return sparse.csr_matrix((values, tensor.indices().numpy()), shape=tuple(tensor.shape), dtype=np.float32)
