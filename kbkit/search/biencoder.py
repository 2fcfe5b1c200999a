"""Retriever ``biencoder``: one vector a text, by a model of sentence-transformers, compared by cosine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.search import model_folder, model_index
from kbkit.search.model_index import IndexState, Rows, TextSource
from kbkit.search.ranking import Ranking
from kbkit.search.system_kinds import SystemName
from kbkit.stores import Stores
from kbkit.stores.arrays import Within
from kbkit.stores.embedders import unit

_FILE = "vectors.npy"


class BiEncoder:
    """A bi-encoder with its index of a KB."""

    def __init__(self, stores: Stores, system: SystemName) -> None:
        self._stores, self._system = stores, system
        self._folder = model_folder.opened(system)
        self.name = system.text
        self.settings: Mapping[str, Any] = self._folder.settings(system)

    @cached_property
    def _model(self) -> Any:
        return load(self._system)

    def index(self, progress: Callable[[int, int], None] = lambda *_: None) -> IndexState:
        """Bring the index up to date."""
        settings = {name: self.settings[name] for name in ("model", "revision", "length")}
        relations = self._folder.relations
        return model_index.update(self._stores, "biencoder", settings, self, relations=relations, progress=progress)

    def write(self, folder: Path, old: Path | None, kept: Rows, texts: TextSource) -> None:
        """See :class:`kbkit.search.model_index.Codes`."""
        parts = [] if old is None else [np.load(old / _FILE)[kept]]
        parts += [self.encode(batch) for batch in texts.batches()]
        np.save(folder / _FILE, np.concatenate(parts) if parts else np.empty((0, 1), np.float32))

    def encode(self, texts: Sequence[str], *, queries: bool = False) -> NDArray[np.float32]:
        """Return vectors of length 1."""
        return encoded(self._model, texts, int(self._system.settings["batch"]), queries=queries)

    @cached_property
    def _opened(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        state = self.index()
        return np.load(state.folder / _FILE, mmap_mode="r"), state.ids

    def search(self, queries: Sequence[str], k: int, within: Within) -> list[Ranking]:
        """See :class:`kbkit.search.system_kinds.TextRetriever`."""
        matrix, ids = self._opened
        rows = model_index.positions(ids, self._stores.schema.nodes, within)
        candidates = matrix if within is None and len(rows) == len(ids) else matrix[rows]
        named = ids if candidates is matrix else ids[rows]
        vectors = self.encode(queries, queries=True)
        return [Ranking(*model_index.best(candidates @ vector, named, k)) for vector in vectors]


def load(system: SystemName) -> Any:
    """Load the model of a bi-encoder. Raises :class:`KbError` if there is none of that name on this computer."""
    library = system.kind.library()
    settings = system.settings
    with model_folder.loading(system):
        model = library.SentenceTransformer(system.model, device=settings["device"] or None, local_files_only=True)
    if settings["length"]:
        model.max_seq_length = int(settings["length"])
    return model


def encoded(model: Any, texts: Sequence[str], batch: int, *, queries: bool = False) -> NDArray[np.float32]:
    """Return vectors of length 1, with the prompts of the model for queries or documents if it has any."""
    encode = model.encode_query if queries else model.encode_document
    found = encode(list(texts), batch_size=batch, convert_to_numpy=True, show_progress_bar=False)
    return unit(np.asarray(found, np.float32))
