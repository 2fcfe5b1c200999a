"""``SERVICE`` and query hints: parameters of the services that are rewritten, reasons why the others are not."""

from __future__ import annotations

import re
from typing import NoReturn

from lark import Token, Tree

from kbkit.errors import QuerySyntaxError
from kbkit.schema import KB_NAMESPACE, Wikibase
from kbkit.sparql.context import Context
from kbkit.sparql.names import string
from kbkit.sparql.patterns import Triple, drop_verbs, parents, put, triples
from kbkit.sparql.tree import Node, ParseTree, nodes, tokens

LABEL = Wikibase.ONTOLOGY + "label"
AROUND = Wikibase.ONTOLOGY + "around"
BOX = Wikibase.ONTOLOGY + "box"
SEARCH = KB_NAMESPACE + "search"
PARAMETER = Wikibase.BLAZEGRAPH + "serviceParam"

_WDQS = re.compile(r"https?://query(?:-main)?\.wikidata\.org/(?:bigdata/namespace/wdq/)?sparql/?")

_REFUSED = {
    Wikibase.ONTOLOGY + "mwapi": (
        "it asks the web interface of a wiki, and kbkit sends nothing to the network",
        'find entities with SERVICE kb:search { ?item kb:matches "words" }',
    ),
    Wikibase.BLAZEGRAPH + "sample": ("it draws triples from Blazegraph's index", "take ORDER BY RAND() with a LIMIT"),
    Wikibase.BLAZEGRAPH + "slice": (
        "it cuts a range out of Blazegraph's index",
        "take a sub-select with LIMIT and OFFSET",
    ),
    Wikibase.GAS + "service": ("it runs a graph program inside Blazegraph", "take a property path, as wdt:P279*"),
}


def of(tree: ParseTree, context: Context, *iris: str) -> list[ParseTree]:
    """The calls of these services, in the order of the text."""
    return [node for node in nodes(tree, "service_graph_pattern") if context.names.iri(_name(node)) in iris]


def _name(service: ParseTree) -> Node:
    return service.children[-2]


def body(service: ParseTree) -> ParseTree:
    """The group of a service."""
    group = service.children[-1]
    assert isinstance(group, Tree)
    return group


def parameters(service: ParseTree, context: Context) -> tuple[list[tuple[str, Node]], list[Triple]]:
    """What ``bd:serviceParam`` says, as (IRI, value), and the other triples of the service."""
    name = str(_name(service))
    others = [
        part
        for part in body(service).children
        if part not in ("{", "}", ".") and not (isinstance(part, Tree) and part.data == "triples_block")
    ]
    if others:
        refuse(service, f"SERVICE {name} holds more than triples", "put the rest outside of it")
    given, rest = [], []
    for triple in triples(body(service)):
        if context.is_iri(triple.subject, PARAMETER):
            iri = context.names.iri(triple.verb)
            if iri is None:
                refuse(service, f"a parameter of SERVICE {name} is no IRI", "as in: bd:serviceParam wikibase:radius 5")
            given.append((iri, triple.object))
        else:
            rest.append(triple)
    return given, rest


def constant(node: Node) -> str | None:
    """The text of a string or number; None for anything else."""
    if isinstance(node, Tree) and node.data == "rdf_literal":
        token = node.children[0]
        assert isinstance(token, Token)
        return string(token)
    if isinstance(node, Token) and node.type in ("NUMBER", "SIGNED_NUMBER"):
        return str(node)
    return None


def refuse(node: ParseTree, message: str, hint: str) -> NoReturn:
    """Raise an error that says where the node stands."""
    token = next(tokens(node))
    line, column = token.line or 0, token.column or 0
    place = f"line {line}, column {column}: " if line else ""
    raise QuerySyntaxError(place + message, hint, line=line, column=column)


def ask_here(tree: ParseTree, context: Context) -> ParseTree:
    """Ask this KB what a query asks of the Wikidata Query Service's own address."""
    parent_of = parents(tree)
    for service in list(nodes(tree, "service_graph_pattern")):
        if _WDQS.fullmatch(context.names.iri(_name(service)) or ""):
            put(parent_of[id(service)], service, Tree("group_or_union_graph_pattern", [body(service)]))
            context.note(f"SERVICE {_name(service)} answered from this KB")
    return tree


def refuse_others(tree: ParseTree, context: Context, *, wikidata: bool) -> ParseTree:
    """Refuse every service that is left: Oxigraph would send a request for it."""
    for service in nodes(tree, "service_graph_pattern"):
        iri = context.names.iri(_name(service)) or ""
        name = _name(service)
        if iri in (LABEL, AROUND, BOX) and not wikidata:
            refuse(service, f"SERVICE {name} belongs to the dialect wikidata", "kbkit sparql --dialect wikidata")
        why, instead = _REFUSED.get(
            iri, ("kbkit sends nothing to the network", "ask for what this KB holds, without SERVICE")
        )
        refuse(service, f"SERVICE {name} is refused: {why}", instead)
    return tree


def drop_hints(tree: ParseTree, context: Context) -> ParseTree:
    """Take away Blazegraph's query hints: triples whose subject or verb is in the namespace ``hint:``."""

    def is_hint(triple: Triple) -> bool:
        return any((context.names.iri(node) or "").startswith(Wikibase.HINT) for node in triple[:2])

    dropped = drop_verbs(tree, is_hint)
    if dropped:
        context.note("hints to the query optimizer dropped" if dropped > 1 else "a hint to the query optimizer dropped")
    return tree
