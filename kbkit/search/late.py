"""Retriever ``late``: a vector a word piece (ColBERT), by a model of PyLate, in a PLAID index (extra ``late``).

The score is the sum over the words of the query of their best cosine in a text (Khattab and Zaharia 2020). PLAID
compares with centroids first (Santhanam et al. 2022); filters apply before the top k.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.search import model_folder, model_index
from kbkit.search.indexed import IndexedRetriever
from kbkit.search.model_index import Rows, TextSource
from kbkit.search.ranking import EMPTY, Ranking
from kbkit.stores.arrays import Within

_FILE = "plaid"


class LateInteraction(IndexedRetriever):
    """A late-interaction model with its index of a KB."""

    @cached_property
    def model(self) -> Any:
        """The model, loaded on first use."""
        self.system.kind.library()
        import torch
        from pylate import models

        logging.getLogger("pylate").setLevel(logging.ERROR)  # keep warnings out of the results
        settings = self.system.settings
        length = {"document_length": int(settings["length"])} if settings["length"] else {}
        # PyLate adds a random projection to a model that was not trained as late interaction. It must be the same for
        # the index and, in another process, for queries.
        with model_folder.loading(self.system), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return models.ColBERT(self.folder.model, device=settings["device"] or None, local_files_only=True, **length)

    def write(self, folder: Path, old: Path | None, kept: Rows, texts: TextSource) -> None:
        """See :class:`kbkit.search.model_index.Codes`."""
        path = folder / _FILE
        if old is not None:
            shutil.copytree(old / _FILE, path)
        index = self._plaid(path)
        if old is not None:
            gone = np.setdiff1d(np.arange(model_index.count(old)), kept)
            if len(gone):
                index.delete(gone.tolist())
        encodings = [vectors for batch in texts.batches() for vectors in encoded(self.model, batch, self.batch)]
        if encodings:
            if old is None:
                index.create(encodings, nbits=int(self.system.settings["bits"]), seed=0)
            else:
                index.update(encodings, seed=0)
        index.close()

    def _plaid(self, path: Path) -> Any:
        from fast_plaid.search import FastPlaid

        return FastPlaid(index=str(path), device=self.system.settings["device"] or "cpu")

    @cached_property
    def _index(self) -> Any:
        return self._plaid(self.state.folder / _FILE)

    def search(self, queries: Sequence[str], k: int, within: Within) -> list[Ranking]:
        """See :class:`kbkit.search.system_kinds.TextRetriever`."""
        if within is not None and not len(within):
            return [EMPTY] * len(queries)
        settings, ids = self.system.settings, self.state.ids
        rows = self.rows(within)
        all_hits = self._index.search(
            queries_embeddings=encoded(self.model, queries, self.batch, queries=True),
            top_k=min(k, len(ids[rows])),
            n_full_scores=max(int(settings["full_scores"]), 4 * k),
            n_ivf_probe=int(settings["probes"]),
            show_progress=False,
            subset=None if isinstance(rows, slice) else rows.tolist(),
        )
        return [_ranking(ids, hits) for hits in all_hits]


def _ranking(ids: Rows, hits: Sequence[tuple[int, float]]) -> Ranking:
    if not hits:
        return EMPTY
    rows, scores = zip(*hits, strict=True)
    return Ranking.of(ids[np.array(rows, np.int64)], np.array(scores, np.float64))


def encoded(model: Any, texts: Sequence[str], batch: int, *, queries: bool = False) -> Any:
    """Return the vectors of the word pieces of each text, of length 1, as tensors."""
    import torch

    encodings = model.encode(
        list(texts), batch_size=batch, is_query=queries, convert_to_numpy=True, show_progress_bar=False
    )
    return [torch.from_numpy(np.asarray(vectors, np.float32)) for vectors in encodings]
