"""Entry point: SPARQL in which ``SERVICE kb:search`` searches the KB."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kbkit.sparql.run import Query
from kbkit.stores.sparql_text import bind, term

if TYPE_CHECKING:
    from kbkit.stores import Stores
    from kbkit.stores.sparql_process import Graphs


def query(
    stores: Stores,
    text: str,
    timeout: float | None = 60.0,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    graphs: Graphs = (None, None),
) -> Query:
    """Return a query with the values of its parameters, in which ``SERVICE kb:search`` searches this KB."""
    bound = bind(text, {name: term(value) for name, value in (params or {}).items()})
    return Query(stores, bound, timeout, dialect, limit, graphs, partial(_service, stores))


def _service(
    stores: Stores, words: str, limit: int = 100, mode: str = "bm25", node_type: str | None = None
) -> list[tuple[str, float]]:
    """Answer ``SERVICE kb:search``: IRIs with their scores, best first."""
    from kbkit.questions.run import search  # loads the search stack, which other queries do not need

    found = search(stores, mode, limit, node_type=node_type).one(words)
    rows = found.select("type", "key", "score").iter_rows()
    return [(stores.schema.node_iri(kind, key), float(score)) for kind, key, score in rows]
