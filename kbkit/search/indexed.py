"""What retrievers with an index of their own have in common: the model, its settings, and the index of the KB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.search import model_folder, model_index
from kbkit.search.model_index import IndexState, Rows, TextSource
from kbkit.search.ranking import Ranking
from kbkit.search.system_kinds import SystemName
from kbkit.stores import Stores
from kbkit.stores.arrays import Within

_UNUSED = ("device", "batch", "probes", "full_scores")
"""Settings on which the codes of texts do not depend."""


class IndexedRetriever:
    """A retriever that encodes the texts of all nodes once, and keeps the codes in the workspace of the KB."""

    def __init__(self, stores: Stores, system: SystemName) -> None:
        self.stores, self.system = stores, system
        self.folder = model_folder.opened(system)
        self.name = system.text
        self.settings: Mapping[str, Any] = self.folder.settings(system)
        self.batch = int(system.settings["batch"])

    def index(self, progress: Callable[[int, int], None] = lambda *_: None) -> IndexState:
        """Bring the index up to date."""
        settings = {name: value for name, value in self.settings.items() if name not in (*_UNUSED, "relations")}
        kind, relations = self.system.kind.name, self.folder.relations
        return model_index.update(self.stores, kind, settings, self, relations=relations, progress=progress)

    @cached_property
    def state(self) -> IndexState:
        """The index, brought up to date on first use."""
        return self.index()

    @cached_property
    def _row_of(self) -> Rows:
        """The row of each node in the index."""
        rows = np.empty(self.stores.schema.nodes, np.int64)
        rows[self.state.ids] = np.arange(len(rows))
        return rows

    def rows(self, within: Within) -> Rows | slice:
        """Return the rows of the nodes ``within``, all for None."""
        return slice(None) if within is None else self._row_of[np.asarray(within, dtype=np.int64)]

    def write(self, folder: Path, old: Path | None, kept: Rows, texts: TextSource) -> None:
        """See :class:`kbkit.search.model_index.Codes`."""
        raise NotImplementedError

    def search(self, queries: Sequence[str], k: int, within: Within) -> list[Ranking]:
        """See :class:`kbkit.search.system_kinds.TextRetriever`."""
        raise NotImplementedError
