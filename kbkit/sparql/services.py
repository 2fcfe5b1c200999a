"""The table of the services that a query may call, and errors for all others.

To add a service, write a function that replaces its calls, and enter it in :data:`SERVICES` under its IRI.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

from lark import Tree

from kbkit.errors import Option, QuerySyntaxError
from kbkit.schema import KB_NAMESPACE, Wikibase
from kbkit.sparql import calls, fulltext, geo, labels, mwapi, slices, traversal
from kbkit.sparql.context import Context
from kbkit.sparql.parse import refuse
from kbkit.sparql.tree import ParseTree, child, group, group_of, nodes, parents, put, tokens


class Service(NamedTuple):
    """How the calls of a service are evaluated."""

    replace: Callable[[ParseTree, list[ParseTree], Context], None]
    """Replaces its calls in a tree, given in text order."""
    everywhere: bool = False
    """Whether the dialect ``sparql`` has it too."""
    last: bool = False
    """Whether it is evaluated after the limit of rows is set."""


SERVICES = {
    KB_NAMESPACE + "search": Service(fulltext.search, everywhere=True),
    Wikibase.ONTOLOGY + "mwapi": Service(mwapi.search),
    Wikibase.ONTOLOGY + "around": Service(geo.locate),
    Wikibase.ONTOLOGY + "box": Service(geo.locate),
    Wikibase.BLAZEGRAPH + "slice": Service(slices.take),
    Wikibase.BLAZEGRAPH + "sample": Service(slices.take),
    Wikibase.GAS + "service": Service(traversal.traverse),
    Wikibase.ONTOLOGY + "label": Service(labels.lookup, last=True),
}
"""The supported services by their IRI, in the order of their evaluation."""

FOREIGN = {
    "http://www.bigdata.com/rdf/search#": "bds",
    "http://qlever.cs.uni-freiburg.de/builtin-functions/": "ql",
    "http://jena.apache.org/text#": "jena",
    "http://www.ontotext.com/connectors/lucene#": "luc",
    "http://www.ontotext.com/owlim/lucene#": "lucene",
    "tag:stardog:api:property:": "stardog",
    "bif:": "bif",
}
"""Namespaces of other engines' predicates, all of them searches of text, with their usual prefixes."""

SKIPPED = "Skipped SERVICE SILENT: "
"""How the notes on services that are left out start."""
NO_NETWORK = "kbkit sends nothing to the network"
_HERE = re.compile(  # Wikidata, whole or a subgraph, from its own endpoints or a copy elsewhere
    r"https?://query(?:-main|-scholarly|-legacy-full)?\.wikidata\.org/(?:bigdata/namespace/wdq/)?sparql/?"
    rf"|{re.escape(Wikibase.SUBGRAPH)}(?:scholarly_articles|wikidata_main)"
    r"|https://qlever\.(?:cs\.uni-freiburg\.de|dev)/api/wikidata/?"
)


def inline(tree: ParseTree, context: Context) -> None:
    """Evaluate calls of Wikidata's own endpoints, and of its subgraphs, on this KB."""
    parent_of = parents(tree)
    for call in list(nodes(tree, "service_graph_pattern")):
        name = calls.name_of(call)
        if _HERE.fullmatch(context.names.iri(name) or ""):
            put(parent_of[id(call)], call, Tree("group_or_union_graph_pattern", [group_of(call)]))
            context.note(f"Evaluated SERVICE {name} on this KB")


def evaluate(tree: ParseTree, context: Context, *, wikidata: bool, last: bool = False) -> None:
    """Replace the calls of all services of a dialect, of those that come ``last`` or of the others.

    A call with SILENT that cannot be evaluated has one empty solution.
    """
    for iri, service in SERVICES.items():
        if service.last != last or not (wikidata or service.everywhere):
            continue
        of_service = calls.of(tree, context, iri)
        silent = [] if last else [call for call in of_service if _is_silent(call)]
        others = [call for call in of_service if call not in silent]
        if others:
            service.replace(tree, others, context)
        for call in silent:
            try:
                service.replace(tree, [call], context)
            except QuerySyntaxError as error:
                _skip(tree, call, error.message, context)


def refuse_others(tree: ParseTree, context: Context, *, wikidata: bool) -> None:
    """Raise :class:`QuerySyntaxError` for any remaining service: Oxigraph would send a request for it.

    A call with SILENT has one empty solution, as the standard says.
    """
    for call in list(nodes(tree, "service_graph_pattern")):
        name = calls.name_of(call)
        if _is_silent(call):
            _skip(tree, call, f"SERVICE {name} is not supported: {NO_NETWORK}", context)
            continue
        if not wikidata and context.names.iri(name) in SERVICES:
            refuse(call, f"SERVICE {name} needs the dialect 'wikidata'", "Use ", Option("dialect", "wikidata"))
        refuse(call, f"SERVICE {name} is not supported: {NO_NETWORK}", "Query the contents of this KB, without SERVICE")


def _is_silent(call: ParseTree) -> bool:
    return str(call.children[1]).upper() == "SILENT"


def _skip(tree: ParseTree, call: ParseTree, reason: str, context: Context) -> None:
    """Replace a call by a pattern with one empty solution."""
    parent = parents(tree).get(id(call))
    if parent is not None:  # it may be inside another one
        put(parent, call, Tree("group_or_union_graph_pattern", [group()]))
        context.note(SKIPPED + reason)


def refuse_foreign(tree: ParseTree, context: Context) -> None:
    """Raise :class:`QuerySyntaxError` for predicates by which other engines search text."""
    for word in chain.from_iterable(tokens(part) for part in tree.children if part is not child(tree, "prologue")):
        iri = context.names.iri(word)
        prefix = str(word).partition(":")[0] if word.type == "PNAME_LN" and iri is None else ""
        if prefix in FOREIGN.values() or (iri is not None and iri.startswith(tuple(FOREIGN))):
            hint = 'Write SERVICE kb:search { ?x kb:matches "words" ; kb:score ?score }'
            refuse(word, f"{word} is a text search of another engine", hint)
