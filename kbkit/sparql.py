"""How a KB is asked in SPARQL: parameters, the dialect's rewriting, full text from the search index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kbkit.errors import QueryError, QuerySyntaxError
from kbkit.stores.sparql_text import bind, is_update, term

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase
    from kbkit.sparql_syntax.rewrite import Rewritten

_STANDARD = "sparql"


def rewrite(
    kb: KnowledgeBase,
    text: str,
    dialect: str | None = None,
    most: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> Rewritten:
    """The query as the engine is to have it; see :meth:`KnowledgeBase.rewrite`."""
    from kbkit.sparql_syntax.rewrite import rewrite as run

    return run(
        _bound(text, params),
        dialect or kb.schema.dialect or _STANDARD,
        search=lambda *asked: _search(kb, *asked),
        languages=languages(kb),
        most=most,
        prefixes=kb.schema.prefixes(),
    )


def frame(
    kb: KnowledgeBase,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    most: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """The rows of a query; see :meth:`KnowledgeBase.sparql`."""
    bound = _bound(text, params)
    standard = (dialect or kb.schema.dialect or _STANDARD) == _STANDARD
    as_it_is = standard and most is None and "service" not in text.lower()  # then no grammar need be loaded
    try:
        found = kb.triples.frame(bound if as_it_is else rewrite(kb, bound, dialect, most).text, timeout=timeout)
    except QuerySyntaxError:
        raise
    except QueryError as error:
        if error.__cause__ is None:  # the engine refused it; else its process died
            _check(kb, bound)
        raise
    return found if most is None else found.head(most)


def _bound(text: str, params: Mapping[str, Any] | None) -> str:
    return bind(text, {name: term(value) for name, value in (params or {}).items()})


def _check(kb: KnowledgeBase, text: str) -> None:
    """Say where a query that the engine refuses is wrong, in the user's text and not in what became of it."""
    from kbkit.sparql_syntax.rewrite import check

    if not is_update(text):
        check(text, kb.schema.prefixes())


def languages(kb: KnowledgeBase) -> tuple[str, ...]:
    """The languages that the KB was ingested in, best first; English where its source knows none."""
    named: str = kb.manifest.recipe.get("options", {}).get("language", "")
    chosen = tuple(code.strip() for code in named.split(",") if code.strip() not in ("", "all"))
    return chosen or ("en",)


def _search(
    kb: KnowledgeBase, words: str, limit: int = 100, mode: str = "bm25", node_type: str | None = None
) -> list[tuple[str, float]]:
    """What ``SERVICE kb:search`` finds: IRIs with their scores, best first."""
    found = kb.search(words, limit, mode, type=node_type)
    rows = found.select("type", "key", "score").iter_rows()
    return [(kb.schema.node_iri(kind, key), float(score)) for kind, key, score in rows]
