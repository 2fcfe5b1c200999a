"""Entry point: searches of any mode."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.answers.session import Session
from kbkit.search import learned
from kbkit.search.hybrid import Search
from kbkit.search.settings import AUTO, LEARNED, base_mode
from kbkit.search.system_kinds import is_model, parse_name

if TYPE_CHECKING:
    from kbkit.answers.scope import Scope
    from kbkit.search.rerank import Reranker
    from kbkit.search.settings import SearchOptions
    from kbkit.stores import Stores

_OWN_RANKING = frozenset(("fields", "weights"))
"""Options with which a user chooses the ranking of ``auto``, so that the learned one is not used."""


def search(
    stores: Stores,
    mode: str = AUTO,
    k: int = 20,
    within: Scope = None,
    node_type: str | None = None,
    reranker: str | Reranker | None = None,
    options: SearchOptions | None = None,
) -> Search:
    """Return a search of any mode with validated arguments; see :meth:`kbkit.kb.KnowledgeBase.search`."""
    kind, chosen, ranker = Search, options or {}, None
    if is_model(mode):
        from kbkit.search.model_search import ModelSearch, open_retriever

        searching = ModelSearch.of(Session.of(stores), mode, k, within, node_type, reranker, chosen)
        return searching.by(open_retriever(stores, mode))
    if "?" in mode:
        named = parse_name(mode)
        mode, chosen = named.kind.name, {**chosen, **named.chosen}  # type: ignore[typeddict-item] # names of options
    if mode == LEARNED:
        ranker, mode = learned.required(stores), base_mode(stores)
    elif mode == AUTO and not chosen.keys() & _OWN_RANKING:
        ranker = learned.usable(stores)
    if mode == "relational":
        from kbkit.search.relational import RelationalSearch

        kind = RelationalSearch
    elif mode == AUTO:
        mode = base_mode(stores)
        if stores.has("adjacency"):
            from kbkit.search.relational import AutomaticSearch

            kind = AutomaticSearch
    opened = kind.of(Session.of(stores), mode, k, within, node_type, reranker, chosen)
    return opened if ranker is None else replace(opened, ranker=ranker)
