"""Rewrite ``SERVICE kb:search``, and the searches of ``SERVICE wikibase:mwapi``: full text, from the KB's own index.

The search runs before the query, and its hits become ``VALUES``, best first.
"""

from __future__ import annotations

import math

from kbkit.errors import QueryError
from kbkit.schema import KB_NAMESPACE
from kbkit.sparql.calls import constant, iri_token, number_token, parameters, variable
from kbkit.sparql.calls import values as table
from kbkit.sparql.context import Context
from kbkit.sparql.parse import refuse
from kbkit.sparql.tree import Node, ParseTree, group_of, parents, put, triples

DEFAULT_LIMIT = 100
MAX_LIMIT = 100_000
_FORM = 'Write SERVICE kb:search { ?item kb:matches "words" ; kb:score ?score ; kb:limit 20 }'
_SEARCH_VERBS = ("matches", "score", "limit", "mode", "type")


def search(tree: ParseTree, calls: list[ParseTree], context: Context) -> None:
    """Run each ``SERVICE kb:search`` now, and replace it by its hits as ``VALUES``, best first."""
    for service in calls:
        values = _search_values(service, context)
        if context.search is None:
            refuse(service, "SERVICE kb:search is not available here", "It needs a KB with a text index")
        words, limit = _search_text(service, values, "matches"), _search_limit(service, values)
        mode = _search_text(service, values, "mode") if "mode" in values else "bm25"
        kind = _search_text(service, values, "type") if "type" in values else None
        best = hits(context, words, limit, mode, kind)
        subject = variable(next(triples(group_of(service))).subject)
        names = [subject, *([str(values["score"])] if "score" in values else [])]
        rows = [[iri_token(iri), number_token(_checked(score))][: len(names)] for iri, score in best.items()]
        put(parents(tree)[id(service)], service, table(names, rows))


def hits(context: Context, words: str, limit: int, mode: str = "bm25", kind: str | None = None) -> dict[str, float]:
    """Return the distinct hits with their best scores."""
    assert context.search is not None
    best: dict[str, float] = {}
    for iri, score in context.search(words, limit, mode, kind):
        best.setdefault(iri, score)
    context.note(f"Searched for {words!r}: {len(best)} hit{'' if len(best) == 1 else 's'}")
    return best


def _search_values(service: ParseTree, context: Context) -> dict[str, Node]:
    """Return the objects of the service's triples by verb, checked."""
    extra, rest = parameters(service, context)
    values: dict[str, Node] = {}
    subjects = {variable(triple.subject) for triple in rest}
    for triple in rest:
        iri = context.names.iri(triple.verb) or ""
        name = iri.removeprefix(KB_NAMESPACE)
        if name not in _SEARCH_VERBS or name == iri:
            refuse(service, f"Unknown property {triple.verb} in SERVICE kb:search", _FORM)
        if name in values:
            refuse(service, f"Duplicate {triple.verb} in SERVICE kb:search", "Use two services for two searches")
        values[name] = triple.object
    if extra or "matches" not in values or len(subjects) != 1 or not next(iter(subjects)).startswith("?"):
        refuse(service, "SERVICE kb:search needs one variable with kb:matches", _FORM)
    if "score" in values and not str(values["score"]).startswith(("?", "$")):
        refuse(service, "The object of kb:score must be a variable", _FORM)
    if "score" in values and variable(values["score"]) in subjects:
        refuse(service, "The variable of kb:score must differ from that of the hits", _FORM)
    return values


def _search_text(service: ParseTree, values: dict[str, Node], name: str) -> str:
    text = constant(values[name])
    if text is None:
        hint = "The search runs before the query: use a string or a query parameter"
        refuse(service, f"The object of kb:{name} must be a constant", hint)
    return text


def _search_limit(service: ParseTree, values: dict[str, Node]) -> int:
    text = _search_text(service, values, "limit") if "limit" in values else str(DEFAULT_LIMIT)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MAX_LIMIT or len(text) > 9:
        refuse(service, f"Invalid kb:limit {text}", f"Use a number from 1 to {MAX_LIMIT:,}")
    return int(text)


def _checked(score: float) -> float:
    if not math.isfinite(score):
        raise QueryError(f"The search returned the score {score}", "Choose another kb:mode")
    return float(score)
