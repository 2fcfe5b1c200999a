"""How a KB is asked in SPARQL: parameters, the dialect's rewriting, full text from the search index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kbkit.errors import QueryError, QuerySyntaxError
from kbkit.stores.sparql_text import bind, is_update, term

if TYPE_CHECKING:
    import polars as pl

    from kbkit.sparql.context import Search
    from kbkit.sparql.rewrite import Rewritten
    from kbkit.stores import Stores

_STANDARD = "sparql"


def rewrite(
    stores: Stores,
    text: str,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> Rewritten:
    """The query as the engine is to have it; see :meth:`Stores.rewrite`."""
    from kbkit.sparql.rewrite import rewrite as run

    return run(
        _bound(text, params),
        dialect or stores.schema.dialect or _STANDARD,
        search=search,
        languages=languages(stores),
        limit=limit,
        prefixes=stores.schema.prefixes(),
    )


def frame(
    stores: Stores,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> pl.DataFrame:
    """The rows of a query; see :meth:`Stores.sparql`."""
    bound = _bound(text, params)
    standard = (dialect or stores.schema.dialect or _STANDARD) == _STANDARD
    as_it_is = standard and limit is None and "service" not in text.lower()  # then no grammar need be loaded
    try:
        found = stores.triples.frame(
            bound if as_it_is else rewrite(stores, bound, dialect, limit, search=search).text, timeout=timeout
        )
    except QuerySyntaxError:
        raise
    except QueryError as error:
        if error.__cause__ is None:  # the engine refused it; else its process died
            _check(stores, bound)
        raise
    return found if limit is None else found.head(limit)


def _bound(text: str, params: Mapping[str, Any] | None) -> str:
    return bind(text, {name: term(value) for name, value in (params or {}).items()})


def _check(stores: Stores, text: str) -> None:
    """Say where a query that the engine refuses is wrong, in the user's text and not in what became of it."""
    from kbkit.sparql.rewrite import check

    if not is_update(text):
        check(text, stores.schema.prefixes())


def languages(stores: Stores) -> tuple[str, ...]:
    """The languages that the KB was ingested in, best first; English where its source knows none."""
    named: str = stores.manifest.recipe.get("options", {}).get("language", "")
    chosen = tuple(code.strip() for code in named.split(",") if code.strip() not in ("", "all"))
    return chosen or ("en",)
