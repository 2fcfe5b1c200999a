"""Rewrite ``SERVICE gas:service``: breadth-first traversals, computed from the adjacency arrays before the query runs.

https://github.com/blazegraph/database/wiki/RDF_GAS_API. The classes BFS and SSSP give the same rows, since links have
no weights: each node reached (``gas:out``), its distance (``gas:out1``) and its predecessor (``gas:out2``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark import Token

from kbkit.schema import Wikibase
from kbkit.sparql.calls import UNDEF, constant, iri_token, number, number_token, parameters, values, variable
from kbkit.sparql.context import Context, Traversal
from kbkit.sparql.parse import refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, parents, put

if TYPE_CHECKING:
    from kbkit.stores import Stores

_CLASSES = ("BFS", "SSSP")
_OUT = ("out", "out1", "out2")
_ONCE = ("gasClass", *_OUT, "traversalDirection", "maxIterations", "maxVisited")
_DIRECTIONS = {"forward": (True, False), "reverse": (False, True), "undirected": (True, True)}
_FORM = 'Write gas:program gas:gasClass "com.bigdata.rdf.graph.analytics.BFS" ; gas:in wd:Q42 ; gas:out ?node'


def traverse(tree: ParseTree, calls: list[ParseTree], context: Context) -> None:
    """Replace each call by the nodes that it reaches, as ``VALUES``."""
    parent_of = parents(tree)
    for call in calls:
        arguments = _arguments(call, context)
        traversal = _traversal(call, arguments, context)
        if context.walk is None:
            refuse(call, "SERVICE gas:service is not available here", "It needs the adjacency arrays of a KB")
        rows = context.walk(traversal)
        columns = {name: variable(arguments[name][0]) for name in _OUT if name in arguments}
        cells = (
            {"out": iri_token(iri), "out1": number_token(depth), "out2": iri_token(before) if before else UNDEF}
            for iri, depth, before in rows
        )
        table = values(list(columns.values()), ([row[name] for name in columns] for row in cells))
        put(parent_of[id(call)], call, table)
        context.note(f"Traversed the graph from {', '.join(traversal.starts)}: {len(rows):,} nodes")


def _arguments(call: ParseTree, context: Context) -> dict[str, list[Node]]:
    """Return the objects of the triples of ``gas:program``, by the local name of the verb."""
    _, rest = parameters(call, context)
    objects: dict[str, list[Node]] = {}
    for triple in rest:
        name = (context.names.iri(triple.verb) or "").removeprefix(Wikibase.GAS)
        if not context.is_iri(triple.subject, Wikibase.GAS + "program") or ":" in name:
            refuse(call, "SERVICE gas:service contains more than gas:program", _FORM)
        objects.setdefault(name, []).append(triple.object)
    for name in _OUT:
        if any(not isinstance(node, Token) or node.type != "VAR" for node in objects.get(name, ())):
            refuse(call, f"The object of gas:{name} must be a variable", _FORM)
    twice = next((name for name in _ONCE if len(objects.get(name, ())) > 1), "")
    if twice or not {"gasClass", "in", "out"} <= objects.keys():
        refuse(
            call, f"Duplicate gas:{twice}" if twice else "SERVICE gas:service needs a class, gas:in and gas:out", _FORM
        )
    return objects


def _traversal(call: ParseTree, arguments: dict[str, list[Node]], context: Context) -> Traversal:
    def iris(name: str) -> tuple[str, ...]:
        nodes = [(node, context.names.iri(node)) for node in arguments.get(name, ())]
        unknown = next((to_text(node) for node, iri in nodes if iri is None), None)
        if unknown is not None:
            hint = "The traversal runs before the query: use an IRI or a query parameter"
            refuse(call, f"The object of gas:{name} must be a constant, not {unknown}", hint)
        return tuple(iri for _, iri in nodes if iri is not None)

    program = (constant(arguments["gasClass"][0]) or to_text(arguments["gasClass"][0])).rpartition(".")[2]
    if program not in _CLASSES:
        refuse(call, f"Unsupported class {program!r} of SERVICE gas:service", f"Use {' or '.join(_CLASSES)}")
    word = constant(arguments["traversalDirection"][0]) if "traversalDirection" in arguments else "Forward"
    if (word or "").lower() not in _DIRECTIONS:
        refuse(call, f"Invalid gas:traversalDirection {word!r}", "Use Forward, Reverse or Undirected")
    forward, backward = _DIRECTIONS[(word or "").lower()]

    def limit(name: str) -> int | None:
        return number(call, arguments[name][0], f"gas:{name}") if name in arguments else None

    depth, visited = limit("maxIterations"), limit("maxVisited")
    return Traversal(iris("in"), iris("linkType"), forward, backward, depth, visited, iris("target"))


# -- the traversal itself ---------------------------------------------------------------------------------------------


def walk(stores: Stores, traversal: Traversal) -> list[tuple[str, int, str | None]]:
    """Return (IRI, depth, IRI of the predecessor) of each node reached, the nearest first."""
    import numpy as np

    from kbkit.stores.adjacency import Csr
    from kbkit.stores.arrays import distinct

    adjacency, wanted = stores.adjacency, set(traversal.relations)
    names = [r.name for r in stores.schema.relations if not wanted or r.iri in wanted]
    links: list[Csr] = [adjacency.forward(name) for name in names] if traversal.forward else []
    links += [adjacency.backward(name) for name in names] if traversal.backward else []
    starts = stores.nodes.by_iri(list(dict.fromkeys(traversal.starts)))[0].astype(np.int32)
    before = np.full(stores.nodes.count, -2, np.int32)  # -2: not reached, -1: a start
    before[starts] = -1
    levels = [starts]
    while len(levels[-1]) and len(levels) - 1 != traversal.iterations:
        if traversal.visited is not None and sum(map(len, levels)) > traversal.visited:
            break
        reached = []
        for csr in links:
            first, count = csr.ranges(levels[-1])
            tails, heads = csr.expand(first, count), np.repeat(levels[-1], count)
            new = before[tails] == -2
            before[tails[new]] = heads[new]
            reached.append(tails[new])
        levels.append(distinct(np.concatenate(reached)) if reached else starts[:0])
    ids = np.concatenate(levels)
    depths = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    if traversal.targets:
        on_path = np.zeros(stores.nodes.count, bool)
        ends = stores.nodes.by_iri(list(dict.fromkeys(traversal.targets)))[0]
        ends = ends[before[ends] != -2]
        while len(ends):
            on_path[ends] = True
            ends = before[ends]
            ends = ends[ends >= 0]
        ids, depths = ids[on_path[ids]], depths[on_path[ids]]
    rows = stores.nodes.rows_of(ids, ("type", "key"))
    iris = dict(zip(ids.tolist(), (stores.schema.node_iri(*row) for row in rows.iter_rows()), strict=True))
    return [
        (iris[node], depth, iris.get(previous))
        for node, depth, previous in zip(ids.tolist(), depths.tolist(), before[ids].tolist(), strict=True)
    ]
