"""``SERVICE kb:search``: full text within SPARQL, answered before the query runs and put in as ``VALUES``."""

from __future__ import annotations

import math

from lark import Token

from kbkit.errors import QueryError
from kbkit.schema import KB_NAMESPACE
from kbkit.sparql import services
from kbkit.sparql.context import Context
from kbkit.sparql.parse import patterns
from kbkit.sparql.patterns import parents, put, triples
from kbkit.sparql.tree import Node, ParseTree

DEFAULT_LIMIT = 100
MOST = 100_000
_FORM = 'as in: SERVICE kb:search { ?item kb:matches "words" ; kb:score ?score ; kb:limit 20 }'
_KNOWN = ("matches", "score", "limit", "mode", "type")


def search(tree: ParseTree, context: Context) -> ParseTree:
    """Answer each search, and put what it finds, best first, in its place."""
    for service in services.of(tree, context, services.SEARCH):
        asked = _asked(service, context)
        if context.search is None:
            services.refuse(service, "SERVICE kb:search is not to be had here", "it needs a KB with its text index")
        words, limit = _text(service, asked, "matches"), _limit(service, asked)
        mode = _text(service, asked, "mode") if "mode" in asked else "bm25"
        kind = _text(service, asked, "type") if "type" in asked else None
        best: dict[str, float] = {}
        for iri, score in context.search(words, limit, mode, kind):
            best.setdefault(iri, score)
        score_of = str(asked["score"]) if "score" in asked else ""
        lines = [f"(<{iri}> {_number(score)})" if score_of else f"(<{iri}>)" for iri, score in best.items()]
        subject = str(next(triples(services.body(service))).subject)
        values = patterns(f"VALUES ({subject} {score_of}) {{ {' '.join(lines)} }}")
        put(parents(tree)[id(service)], service, *values)
        context.note(f"search for {words!r}: {len(best)} found")
    return tree


def _asked(service: ParseTree, context: Context) -> dict[str, Node]:
    given, rest = services.parameters(service, context)
    asked: dict[str, Node] = {}
    subjects = {_sign(triple.subject) for triple in rest}
    for triple in rest:
        iri = context.names.iri(triple.verb) or ""
        name = iri.removeprefix(KB_NAMESPACE)
        if name not in _KNOWN or name == iri:
            services.refuse(service, f"SERVICE kb:search knows no {triple.verb}", _FORM)
        if name in asked:
            services.refuse(service, f"SERVICE kb:search has two {triple.verb}", "search twice, in two services")
        asked[name] = triple.object
    if given or "matches" not in asked or len(subjects) != 1 or not next(iter(subjects)).startswith("?"):
        services.refuse(service, "SERVICE kb:search needs one variable and its kb:matches", _FORM)
    if "score" in asked and not str(asked["score"]).startswith(("?", "$")):
        services.refuse(service, "kb:score gives a value and takes none: it needs a variable", _FORM)
    if "score" in asked and _sign(asked["score"]) in subjects:
        services.refuse(service, "kb:score needs a variable of its own, not the one that is searched for", _FORM)
    return asked


def _sign(node: Node) -> str:
    """A term as text; ``$x`` and ``?x`` are one variable."""
    return "?" + node[1:] if isinstance(node, Token) and node.type == "VAR" else str(node)


def _text(service: ParseTree, asked: dict[str, Node], name: str) -> str:
    text = services.constant(asked[name])
    if text is None:
        services.refuse(
            service,
            f"kb:{name} needs a constant, for the search runs before the query",
            "give the words themselves, or a parameter ($words, -p words=...)",
        )
    return text


def _limit(service: ParseTree, asked: dict[str, Node]) -> int:
    text = _text(service, asked, "limit") if "limit" in asked else str(DEFAULT_LIMIT)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MOST or len(text) > 9:
        services.refuse(service, f"kb:limit {text} is no number of hits", f"give 1 to {MOST}")
    return int(text)


def _number(score: float) -> str:
    if not math.isfinite(score):
        raise QueryError(f"the search gave the score {score}", "choose another kb:mode")
    return f"{score:.6f}"
