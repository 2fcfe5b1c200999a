"""Retriever ``biencoder``: one vector a text, by a model of sentence-transformers, compared by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.search import model_folder, model_index
from kbkit.search.indexed import IndexedRetriever
from kbkit.search.model_index import Rows, TextSource
from kbkit.search.ranking import Ranking
from kbkit.stores.arrays import Within, unit

_FILE = "vectors.npy"


class BiEncoder(IndexedRetriever):
    """A bi-encoder with its index of a KB: a matrix of float32 with a row of length 1 per node."""

    @cached_property
    def model(self) -> Any:
        """The model, loaded on first use."""
        settings = self.system.settings
        library = self.system.kind.library()
        with model_folder.loading(self.system):
            model = library.SentenceTransformer(
                self.folder.model, device=settings["device"] or None, local_files_only=True
            )
        if settings["length"]:
            model.max_seq_length = int(settings["length"])
        return model

    def write(self, folder: Path, old: Path | None, kept: Rows, texts: TextSource) -> None:
        """See :class:`kbkit.search.model_index.Codes`."""
        parts = [] if old is None else [np.load(old / _FILE)[kept]]
        parts += [encoded(self.model, batch, self.batch) for batch in texts.batches()]
        np.save(folder / _FILE, np.concatenate(parts) if parts else np.empty((0, 1), np.float32))

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        matrix: NDArray[np.float32] = np.load(self.state.folder / _FILE, mmap_mode="r")
        return matrix

    def search(self, queries: Sequence[str], k: int, within: Within) -> list[Ranking]:
        """See :class:`kbkit.search.system_kinds.TextRetriever`."""
        rows = self.rows(within)
        candidates = self._matrix if within is None else self._matrix[rows]
        vectors = encoded(self.model, queries, self.batch, queries=True)
        return [model_index.best(candidates @ vector, self.state.ids[rows], k) for vector in vectors]


def encoded(model: Any, texts: Sequence[str], batch: int, *, queries: bool = False) -> NDArray[np.float32]:
    """Return vectors of length 1, with the prompts of the model for queries or documents if it has any."""
    encode = model.encode_query if queries else model.encode_document
    vectors = encode(list(texts), batch_size=batch, convert_to_numpy=True, show_progress_bar=False)
    return unit(np.asarray(vectors, np.float32))
