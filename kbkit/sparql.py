"""How a KB is asked in SPARQL: parameters, the dialect's rewriting, full text from the search index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kbkit.errors import UnknownNameError
from kbkit.stores.sparql_text import bind, term

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase
    from kbkit.sparql_syntax.rewrite import Rewritten

DIALECTS = ("sparql", "wikidata")


def rewrite(
    kb: KnowledgeBase,
    text: str,
    dialect: str | None = None,
    most: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> Rewritten:
    """The query as the engine is to have it; see :meth:`KnowledgeBase.rewrite`."""
    from kbkit.sparql_syntax.rewrite import rewrite as run

    chosen = dialect or kb.schema.dialect or DIALECTS[0]
    if chosen not in DIALECTS:
        raise UnknownNameError("dialect", chosen, DIALECTS)
    bound = bind(text, {name: term(value) for name, value in (params or {}).items()})
    return run(
        bound,
        chosen,
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
    standard = (dialect or kb.schema.dialect or DIALECTS[0]) == DIALECTS[0]
    if standard and most is None and "service" not in text.lower():  # as it is: no grammar need be loaded
        terms = {name: term(value) for name, value in (params or {}).items()}
        return kb.triples.frame(text, terms, timeout)
    found = kb.triples.frame(rewrite(kb, text, dialect, most, params).text, timeout=timeout)
    return found if most is None else found.head(most)


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
