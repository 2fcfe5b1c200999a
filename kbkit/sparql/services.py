"""``SERVICE``: parameters of supported services, full-text search (``kb:search``), errors for all other services."""

from __future__ import annotations

import math
import re

from lark import Token, Tree

from kbkit.errors import Option, QueryError
from kbkit.schema import KB_NAMESPACE, Wikibase
from kbkit.sparql.context import Context, string
from kbkit.sparql.parse import patterns, refuse
from kbkit.sparql.tree import Node, ParseTree, Triple, nodes, parents, put, triples

LABEL = Wikibase.ONTOLOGY + "label"
AROUND = Wikibase.ONTOLOGY + "around"
BOX = Wikibase.ONTOLOGY + "box"
SEARCH = KB_NAMESPACE + "search"
PARAMETER = Wikibase.BLAZEGRAPH + "serviceParam"
NO_NETWORK = "kbkit sends nothing to the network"

_WDQS = re.compile(r"https?://query(?:-main)?\.wikidata\.org/(?:bigdata/namespace/wdq/)?sparql/?")

_UNSUPPORTED = {  # the reason and the alternative
    Wikibase.ONTOLOGY + "mwapi": (
        f"it calls the web API of a wiki, and {NO_NETWORK}",
        'Find entities with SERVICE kb:search { ?item kb:matches "words" }',
    ),
    Wikibase.BLAZEGRAPH + "sample": ("it samples Blazegraph's index", "Use ORDER BY RAND() with a LIMIT"),
    Wikibase.BLAZEGRAPH + "slice": ("it reads a slice of Blazegraph's index", "Use a subquery with LIMIT and OFFSET"),
    Wikibase.GAS + "service": ("it runs a graph algorithm in Blazegraph", "Use a property path, such as wdt:P279*"),
}


# -- reading a service ------------------------------------------------------------------------------------------------


def of(tree: ParseTree, context: Context, *iris: str) -> list[ParseTree]:
    """Return the calls of these services in text order."""
    return [node for node in nodes(tree, "service_graph_pattern") if context.names.iri(_name(node)) in iris]


def _name(service: ParseTree) -> Node:
    return service.children[-2]


def body(service: ParseTree) -> ParseTree:
    """Return the group of a service."""
    group = service.children[-1]
    assert isinstance(group, Tree)
    return group


def parameters(service: ParseTree, context: Context) -> tuple[list[tuple[str, Node]], list[Triple]]:
    """Return the ``bd:serviceParam`` parameters as (IRI, value), and the other triples of a service."""
    name = str(_name(service))
    others = [
        part
        for part in body(service).children
        if part not in ("{", "}", ".") and not (isinstance(part, Tree) and part.data == "triples_block")
    ]
    if others:
        refuse(service, f"SERVICE {name} contains more than triples", "Move the rest out of it")
    values, rest = [], []
    for triple in triples(body(service)):
        if context.is_iri(triple.subject, PARAMETER):
            iri = context.names.iri(triple.verb)
            if iri is None:
                refuse(
                    service, f"A parameter of SERVICE {name} is not an IRI", "Write bd:serviceParam wikibase:radius 5"
                )
            values.append((iri, triple.object))
        else:
            rest.append(triple)
    return values, rest


def constant(node: Node) -> str | None:
    """Return the text of a string or number, or None for any other node."""
    if isinstance(node, Tree) and node.data == "rdf_literal":
        token = node.children[0]
        assert isinstance(token, Token)
        return string(token)
    if isinstance(node, Token) and node.type in ("NUMBER", "SIGNED_NUMBER"):
        return str(node)
    return None


def variable(node: Node) -> str:
    """Return a term as text; ``$x`` is written ``?x``."""
    return "?" + node[1:] if isinstance(node, Token) and node.type == "VAR" else str(node)


# -- services of other systems ----------------------------------------------------------------------------------------


def inline_wdqs(tree: ParseTree, context: Context) -> None:
    """Evaluate calls of the Wikidata Query Service on this KB."""
    parent_of = parents(tree)
    for service in list(nodes(tree, "service_graph_pattern")):
        if _WDQS.fullmatch(context.names.iri(_name(service)) or ""):
            put(parent_of[id(service)], service, Tree("group_or_union_graph_pattern", [body(service)]))
            context.note(f"Evaluated SERVICE {_name(service)} on this KB")


def refuse_unsupported(tree: ParseTree, context: Context, *, wikidata: bool) -> None:
    """Raise :class:`QuerySyntaxError` for any remaining service: Oxigraph would send a request for it."""
    for service in nodes(tree, "service_graph_pattern"):
        iri = context.names.iri(_name(service)) or ""
        name = _name(service)
        if iri in (LABEL, AROUND, BOX) and not wikidata:
            refuse(service, f"SERVICE {name} needs the dialect 'wikidata'", "Use ", Option("dialect", "wikidata"))
        reason, instead = _UNSUPPORTED.get(iri, (NO_NETWORK, "Query the contents of this KB, without SERVICE"))
        refuse(service, f"SERVICE {name} is not supported: {reason}", instead)


# -- SERVICE kb:search ------------------------------------------------------------------------------------------------

DEFAULT_LIMIT = 100
MAX_LIMIT = 100_000
_FORM = 'Write SERVICE kb:search { ?item kb:matches "words" ; kb:score ?score ; kb:limit 20 }'
_SEARCH_VERBS = ("matches", "score", "limit", "mode", "type")


def search(tree: ParseTree, context: Context) -> None:
    """Run each ``SERVICE kb:search`` now, and replace it by its hits as ``VALUES``, best first."""
    for service in of(tree, context, SEARCH):
        values = _search_values(service, context)
        if context.search is None:
            refuse(service, "SERVICE kb:search is not available here", "It needs a KB with a text index")
        words, limit = _search_text(service, values, "matches"), _search_limit(service, values)
        mode = _search_text(service, values, "mode") if "mode" in values else "bm25"
        kind = _search_text(service, values, "type") if "type" in values else None
        best: dict[str, float] = {}
        for iri, score in context.search(words, limit, mode, kind):
            best.setdefault(iri, score)
        score_of = str(values["score"]) if "score" in values else ""
        rows = [f"(<{iri}> {_number(score)})" if score_of else f"(<{iri}>)" for iri, score in best.items()]
        subject = str(next(triples(body(service))).subject)
        data = patterns(f"VALUES ({subject} {score_of}) {{ {' '.join(rows)} }}")
        put(parents(tree)[id(service)], service, *data)
        context.note(f"Searched for {words!r}: {len(best)} hit{'' if len(best) == 1 else 's'}")


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


def _number(score: float) -> str:
    if not math.isfinite(score):
        raise QueryError(f"The search returned the score {score}", "Choose another kb:mode")
    return f"{score:.6f}"
