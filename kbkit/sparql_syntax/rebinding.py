"""Variables that are bound a second time, which Blazegraph allows and SPARQL forbids.

``SELECT (expression AS ?x)`` over a pattern or GROUP BY that has ``?x``: the column is the expression's value, and the
``?x`` inside is another variable. ``BIND(expression AS ?x)`` after ``?x`` is bound: rows where the two differ go.
"""

from __future__ import annotations

from lark import Token, Tree

from kbkit.sparql_syntax.context import Context, rename
from kbkit.sparql_syntax.parse import patterns
from kbkit.sparql_syntax.scope import visible
from kbkit.sparql_syntax.tree import Node, ParseTree, child, children, nodes


def separate(tree: ParseTree, context: Context) -> ParseTree:
    """Give the inner variables names of their own."""
    for query in list(nodes(tree, "select_query", "sub_select")):
        _columns(query, context)
    for group in list(nodes(tree, "group_graph_pattern")):
        _binds(group, context)
    return tree


def _columns(query: ParseTree, context: Context) -> None:
    clause, modifier = child(query, "select_clause"), child(query, "solution_modifier")
    assert clause is not None
    grouping = child(modifier, "group_clause") if modifier is not None else None
    inside = [part for part in (*children(query, "where_clause", "values_clause"), grouping) if part is not None]
    grouped = grouping is not None or any(list(nodes(part, "aggregate")) for part in clause.children)
    for at, column in enumerate(clause.children):
        if not isinstance(column, Tree):
            continue
        target = column.children[-2]
        assert isinstance(target, Token)
        name = str(target)[1:]
        bound = _group_variables(grouping) if grouped else visible(*inside)
        if name not in bound:
            continue
        if isinstance(column.children[1], Token) and column.children[1][1:] == name:
            clause.children[at] = target  # (?x AS ?x)
            continue
        new = context.variable(name)
        context.note(f"?{name} is bound twice: inside, {new} stands for it")
        names = {"?" + name: new}
        for part in (*inside, *(part for part in clause.children[:at] if isinstance(part, Tree))):
            rename(part, names)
        whole: ParseTree = Tree("column", column.children[:-2])
        rename(whole, names)
        column.children[:-2] = whole.children


def _group_variables(grouping: ParseTree | None) -> set[str]:
    """The variables that GROUP BY keeps."""
    if grouping is None:
        return set()
    found = set()
    for condition in children(grouping, "group_condition"):
        words: list[Node] = condition.children
        last = words[0] if len(words) == 1 else words[-2]
        if isinstance(last, Token) and last.type == "VAR":
            found.add(str(last)[1:])
    return found


def _binds(group: ParseTree, context: Context) -> None:
    at = 0
    while at < len(group.children):
        bind = group.children[at]
        before = group.children[:at]
        at += 1
        if not isinstance(bind, Tree) or bind.data != "bind":
            continue
        name = str(bind.children[-2])[1:]
        if name not in visible(*before):
            continue
        first, second = context.variable(name), context.variable(name)
        context.note(f"?{name} is bound twice: rows where its values differ are left out")
        for part in before:
            if isinstance(part, Tree):
                rename(part, {"?" + name: first})
        whole: ParseTree = Tree("bind", bind.children[:-2])
        rename(whole, {"?" + name: first})
        bind.children = [*whole.children, Token("VAR", second), bind.children[-1]]
        new = patterns(
            f"BIND(COALESCE({first}, {second}) AS ?{name}) "
            f"FILTER(!BOUND({first}) || !BOUND({second}) || SAMETERM({first}, {second}))"
        )
        group.children[at:at] = new
        at += len(new)
