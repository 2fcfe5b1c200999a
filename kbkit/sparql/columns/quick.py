"""Queries that Oxigraph answers at once, because it reads few triples for them: they need no SQL."""

from __future__ import annotations

from kbkit.sparql.columns.algebra import (
    AlgebraQuery,
    BasicPattern,
    NegatedPredicates,
    PathClosure,
    QueryVariable,
    SelectPattern,
    Term,
    TriplePattern,
    walk_algebra,
)
from kbkit.sparql.columns.terms import ConstantTerm, iri
from kbkit.stores.ntriples import KB_KEY, RDF, RDFS, SKOS

_FEW_ROWS = 1_000
"""Rows that Oxigraph finds in about the time that DuckDB takes to plan a statement over all predicates."""
_NAMES = {iri(RDFS + "label"), iri(SKOS + "altLabel"), iri(KB_KEY)}
"""Predicates of which few nodes have the same value."""
_SHARED = {iri(RDF + "type"), iri(RDFS + "label")}
"""Predicates that nearly all nodes have, so that a join with them loses few rows."""


def quick_reason(query: AlgebraQuery) -> str:
    """Return why Oxigraph answers a query at once, as a sentence without a stop; empty if it may not."""
    if query.select.group is not None:
        return ""
    parts = list(walk_algebra(query))
    if any(isinstance(part, (PathClosure, SelectPattern)) and part is not query.select for part in parts):
        return ""
    if any(_is_lookup(part) for part in parts if isinstance(part, TriplePattern)):
        return "The query is a lookup"
    return "It asks for the first rows of a pattern" if _asks_for_first_rows(query) else ""


def _is_lookup(triple: TriplePattern) -> bool:
    """Return whether a triple pattern has a given subject, a given name, or a given object of any statement."""
    if isinstance(triple.subject, ConstantTerm):
        return True
    is_open = isinstance(triple.predicate, QueryVariable) or triple.predicate in _NAMES
    return isinstance(triple.object, ConstantTerm) and is_open


def _asks_for_first_rows(query: AlgebraQuery) -> bool:
    """Return whether a query needs only the first solutions of joined triple patterns of which nearly all rows match.

    Oxigraph stops after these. On the tables a pattern with a variable predicate is a union over all predicates.
    """
    select, pattern = query.select, query.select.pattern
    limit = 1 if query.kind == "ask" else select.limit
    if limit is None or limit + select.offset > _FEW_ROWS or select.distinct or select.order:
        return False
    if not isinstance(pattern, BasicPattern):
        return False
    triples = [part for part in pattern.parts if isinstance(part, TriplePattern)]
    if len(triples) < len(pattern.parts) or not _are_connected(triples):
        return False
    selective = [t for t in triples if isinstance(t.predicate, (ConstantTerm, NegatedPredicates))]
    selective = [t for t in selective if t.predicate not in _SHARED]
    return len(triples) > len(selective) <= 1 or len(triples) == 1


def first_rows(query: AlgebraQuery) -> int | None:
    """Return how many triples are enough for a query for the first ones of all; None for other queries."""
    select = query.select
    triples = [part for part in walk_algebra(select) if isinstance(part, TriplePattern)]
    if select.limit is None or select.distinct or select.order or select.group is not None or len(triples) != 1:
        return None
    if not isinstance(select.pattern, BasicPattern) or select.pattern.parts != (triples[0],):
        return None
    names = _names(triples[0].subject, triples[0].predicate, triples[0].object)
    return select.limit + select.offset if len(names) == 3 else None


def _are_connected(triples: list[TriplePattern]) -> bool:
    """Return whether the triple patterns are joined by their variables to one whole."""
    names = [_names(triple.subject, triple.predicate, triple.object) for triple in triples]
    reached, waiting = names[:1], names[1:]
    for known in reached:
        reached += [other for other in waiting if other & known]
        waiting = [other for other in waiting if not other & known]
    return bool(triples) and not waiting


def _names(*terms: Term | NegatedPredicates) -> set[str]:
    return {term.name for term in terms if isinstance(term, QueryVariable)}
