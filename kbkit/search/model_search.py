"""Searches by a retriever with a model of its own, such as ``biencoder:FOLDER``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kbkit.errors import KbError
from kbkit.search.hybrid import Search
from kbkit.search.learned import required
from kbkit.search.ranking import QueryResult
from kbkit.search.settings import LEARNED, missing_stores
from kbkit.search.system_kinds import TextRetriever, imported, is_model, parse_name
from kbkit.stores import Stores

if TYPE_CHECKING:
    from kbkit.search.model_index import IndexState
    from kbkit.search.retrievers import QueryBatch
    from kbkit.search.settings import SearchSettings


@dataclass(frozen=True)
class ModelSearch(Search):
    """A search of a retriever: its ranking alone, without the types that a query names."""

    retriever: TextRetriever | None = None

    def by(self, retriever: TextRetriever) -> ModelSearch:
        """Return the search of a retriever."""
        return replace(self, retriever=retriever)

    def rank(self, batch: QueryBatch, settings: SearchSettings) -> list[QueryResult]:
        """Return the rankings of the retriever."""
        if self.retriever is None:
            raise KbError(f"No retriever for mode {settings.mode!r}")
        texts = [" ".join((query.text, *query.words)) for query in batch.queries]
        rankings = self.retriever.search(texts, settings.k, settings.within)
        name = parse_name(settings.mode).kind.name
        return [QueryResult(ranking, {name: ranking}) for ranking in rankings]


class OpenedRetrievers:
    """The retrievers of a KB that were opened: a model takes seconds to load."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._known: dict[str, TextRetriever] = {}

    def of(self, name: str) -> TextRetriever:
        """Return a retriever, see :func:`open_retriever`."""
        if name not in self._known:
            system = parse_name(name)
            if not system.kind.opens:
                raise KbError(f"{name} is a search mode, not a retriever with a model")
            system.kind.require()
            missing = missing_stores(self._stores, name)
            if missing:
                raise KbError(f"{system.kind.name} needs {' and '.join(missing)}, which the KB does not have")
            self._known[name] = imported(system.kind.opens)(self._stores, system)
        return self._known[name]


def open_retriever(stores: Stores, name: str) -> TextRetriever:
    """Return a retriever by its name, loaded once for the stores.

    Raises :class:`UnknownNameError` for an unknown kind, :class:`MissingExtraError` if its packages are not installed,
    and :class:`KbError` if there is no such model.
    """
    return stores.shared(OpenedRetrievers).of(name)


def retriever_settings(stores: Stores, mode: str) -> dict[str, Any]:
    """Return what the rankings of a mode depend on beside the KB: settings of its model, or weights of its features."""
    if mode == LEARNED:
        return {"weights": dict(required(stores).weights)}
    return {"retriever": dict(open_retriever(stores, mode).settings)} if is_model(mode) else {}


def prepare(stores: Stores, mode: str, progress: Callable[[int, int], None] = lambda *_: None) -> list[str]:
    """Bring the index of a mode up to date, if it has one, and return a line about the texts that were encoded."""
    retriever = open_retriever(stores, mode) if is_model(mode) else None
    index = getattr(retriever, "index", None)
    if index is None:
        return []
    state: IndexState = index(progress)
    if not state.encoded:
        return []
    return [
        f"{mode}: encoded {state.encoded:,} texts in {state.seconds:.1f} s; the index has {state.size / 1e6:.1f} MB"
    ]
