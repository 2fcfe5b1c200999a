"""Known faults of Oxigraph 0.5: queries on which it deviates from SPARQL 1.1, written so that it gives what is right.

* a triple that is in two graphs of ``FROM`` is in their merge twice
* zero divided by a decimal with a fraction is unbound: ``0 / 1.5``
* a subquery in ``GRAPH ?g`` that does not return ``?g`` mixes the graphs
* ``MINUS`` in EXISTS that shares no variable with the pattern before it, which removes nothing, removes all
"""

from __future__ import annotations

import pyoxigraph as ox
from lark import Token, Tree

from kbkit.sparql.parse import expression, parse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import (
    Node,
    ParseTree,
    above,
    child,
    is_in_exists,
    nodes,
    parents,
    projected,
    put,
    replace,
    visible,
)  # fmt: skip
from tests.sparql.engines import Dataset

_QUOTIENT = (
    "COALESCE(({a} / {b}), IF({a} = 0 && {b} != 0 && DATATYPE({a} + {b}) ="
    " <http://www.w3.org/2001/XMLSchema#decimal>, 0.0, 1 / 0))"
)


def corrected(data: Dataset, text: str) -> tuple[Dataset, str]:
    """Return data and a query for which Oxigraph gives the right answer; the same objects if no fault is known."""
    tree = parse(text)
    right = _merged(data, tree)
    changed = [right is not data, _keep_graphs(tree), _drop_minus(tree), _divide(tree)]
    return right, to_text(tree) if any(changed) else text


def _merged(data: Dataset, tree: ParseTree) -> Dataset:
    """Return the dataset that FROM clauses describe, and remove them."""
    clauses = list(nodes(tree, "dataset_clause"))
    if not clauses:
        return data
    names = [ox.NamedNode(str(clause.children[-1])[1:-1]) for clause in clauses]
    is_named = [len(clause.children) == 3 for clause in clauses]
    parent_of = parents(tree)
    for clause in clauses:
        parent_of[id(clause)].children.remove(clause)
    quads = []
    for quad in data.store:
        for name, named in zip(names, is_named, strict=True):
            if quad.graph_name == name:
                quads.append(quad if named else ox.Quad(quad.subject, quad.predicate, quad.object))
    return Dataset(quads)


def _keep_graphs(tree: ParseTree) -> bool:
    """Add the variable of GRAPH to the columns of subqueries in it."""
    parent_of, changed = parents(tree), False
    for query in nodes(tree, "sub_select"):
        graph = above(query, parent_of, "graph_graph_pattern")
        clause, variable = child(query, "select_clause"), graph and graph.children[1]
        if clause is None or not isinstance(variable, Token) or variable.type != "VAR":
            continue
        names = projected(query)
        if str(variable)[1:] in names or next(nodes(query, "aggregate", "group_clause"), None) is not None:
            continue
        if clause.children[-1] == "*":
            clause.children[-1:] = [Token("VAR", f"?{name}") for name in names]
        clause.children.append(variable)
        changed = True
    return changed


def _drop_minus(tree: ParseTree) -> bool:
    """Drop what removes nothing from EXISTS."""
    parent_of, changed = parents(tree), False
    for minus in list(nodes(tree, "minus_graph_pattern")):
        group = parent_of[id(minus)]
        before = group.children[: next(at for at, part in enumerate(group.children) if part is minus)]
        if is_in_exists(minus, parent_of) and not visible(*before).keys() & visible(minus.children[-1]).keys():
            put(group, minus)
            changed = True
    return changed


def _divide(tree: ParseTree) -> bool:
    changed = False

    def change(node: Node) -> Node:
        nonlocal changed
        if not (isinstance(node, Tree) and node.data == "multiplicative_expression" and "/" in node.children):
            return node
        first, *rest = node.children
        value = to_text(first)
        for sign, factor in zip(rest[::2], rest[1::2], strict=True):
            other = to_text(factor)
            value = _QUOTIENT.format(a=value, b=other) if sign == "/" else f"({value} {sign} {other})"
        changed = True
        return expression(value)

    replace(tree, change)
    return changed
