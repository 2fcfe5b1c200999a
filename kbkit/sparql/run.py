"""Run SPARQL on a KB: bind parameters, rewrite the dialect, send the query to the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kbkit.errors import QueryError, QuerySyntaxError
from kbkit.schema import KB_NAMESPACE
from kbkit.stores.sparql_text import bind, is_update, term

if TYPE_CHECKING:
    import polars as pl

    from kbkit.sparql.context import Search, Traversal
    from kbkit.sparql.rewrite import Rewritten
    from kbkit.stores import Stores

_STANDARD = "sparql"
_MANY = 100
"""Brackets of a kind above which their nesting is checked, which loads the grammar."""
_POSITION = re.compile(r"^error at \d+:\d+: ")


def rewrite(
    stores: Stores,
    text: str,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> Rewritten:
    """Return the query as sent to the engine; see :meth:`kbkit.kb.KnowledgeBase.rewrite`."""
    from kbkit.sparql.rewrite import rewrite as run

    bound = _bound(text, params)
    return run(
        bound,
        dialect or stores.schema.dialect or _STANDARD,
        search=search,
        walk=partial(_walk, stores),
        languages=languages(stores),
        limit=limit,
        prefixes=stores.schema.prefixes(),
        types_apart=_types_apart(stores, bound),
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
    """Run a query; see :meth:`kbkit.kb.KnowledgeBase.sparql`."""
    bound = _bound(text, params)
    standard = (dialect or stores.schema.dialect or _STANDARD) == _STANDARD
    if any(bound.count(sign) > _MANY for sign in "({[!"):
        from kbkit.sparql.parse import check_nesting

        check_nesting(bound)
    apart = _types_apart(stores, bound)
    unchanged = standard and limit is None and not apart and "service" not in text.lower()  # loads no grammar
    try:
        found = stores.triples.frame(
            bound if unchanged else rewrite(stores, bound, dialect, limit, search=search).text, timeout=timeout
        )
    except QuerySyntaxError:
        raise
    except QueryError as error:
        if error.__cause__ is None:  # the engine rejected the query, its process did not die
            _check(stores, bound)
        if not unchanged:  # the position is that of another text
            raise QueryError(
                f"The engine rejected the rewritten query: {_POSITION.sub('', error.message)}",
                *error.hints,
            ) from None
        raise
    return found if limit is None else found.head(limit)


def _types_apart(stores: Stores, text: str) -> bool:
    """Return whether a query may use ``kb:type``, and the KB has it in a graph of its own."""
    return stores.schema.types_apart and ("kb:" in text or KB_NAMESPACE in text)


def _bound(text: str, params: Mapping[str, Any] | None) -> str:
    return bind(text, {name: term(value) for name, value in (params or {}).items()})


def _walk(stores: Stores, traversal: Traversal) -> list[tuple[str, int, str | None]]:
    from kbkit.sparql.traversal import walk  # loads the grammar, which most queries do not need

    return walk(stores, traversal)


def _check(stores: Stores, text: str) -> None:
    """Locate the error of a rejected query in the user's text, which may differ from the rewritten one."""
    from kbkit.sparql.rewrite import check

    if not is_update(text):
        check(text, stores.schema.prefixes())


def languages(stores: Stores) -> tuple[str, ...]:
    """Return the languages of the KB, best first (default: English)."""
    option: str = stores.manifest.recipe.get("options", {}).get("language", "")
    codes = tuple(code.strip() for code in option.split(",") if code.strip() not in ("", "all"))
    return codes or ("en",)
