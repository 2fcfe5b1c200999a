"""The table of the services that a query may call, and errors for all others.

To add a service, write a function that replaces its calls, and enter it in :data:`SERVICES` under its IRI.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from lark import Tree

from kbkit.errors import Option
from kbkit.schema import KB_NAMESPACE, Wikibase
from kbkit.sparql import calls, fulltext, geo, labels, mwapi, slices, traversal
from kbkit.sparql.context import Context
from kbkit.sparql.parse import refuse
from kbkit.sparql.tree import ParseTree, nodes, parents, put


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
            put(parent_of[id(call)], call, Tree("group_or_union_graph_pattern", [calls.body(call)]))
            context.note(f"Evaluated SERVICE {name} on this KB")


def evaluate(tree: ParseTree, context: Context, *, wikidata: bool, last: bool = False) -> None:
    """Replace the calls of all services of a dialect, of those that come ``last`` or of the others."""
    for iri, service in SERVICES.items():
        if service.last == last and (wikidata or service.everywhere):
            found = calls.of(tree, context, iri)
            if found:
                service.replace(tree, found, context)


def refuse_others(tree: ParseTree, context: Context, *, wikidata: bool) -> None:
    """Raise :class:`QuerySyntaxError` for any remaining service: Oxigraph would send a request for it."""
    for call in nodes(tree, "service_graph_pattern"):
        name = calls.name_of(call)
        if not wikidata and context.names.iri(name) in SERVICES:
            refuse(call, f"SERVICE {name} needs the dialect 'wikidata'", "Use ", Option("dialect", "wikidata"))
        refuse(call, f"SERVICE {name} is not supported: {NO_NETWORK}", "Query the contents of this KB, without SERVICE")
