"""Variables that are bound a second time, which Blazegraph allows and SPARQL forbids.

``SELECT (expression AS ?x)`` over a pattern or GROUP BY that has ``?x``: the column is the expression's value, and the
``?x`` inside is another variable. ``BIND(expression AS ?x)`` after ``?x`` is bound: rows where the two differ go.
"""

from __future__ import annotations

from lark import Token, Tree

from kbkit.sparql.context import Context, rename
from kbkit.sparql.parse import patterns
from kbkit.sparql.scope import visible
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes


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
    bound = _group_variables(grouping) if grouped else set(visible(*inside))
    after = children(modifier, "having_clause") if modifier is not None else []
    for at, column in enumerate(clause.children):
        if not isinstance(column, Tree):
            continue
        target = column.children[-2]
        assert isinstance(target, Token)
        name = str(target)[1:]
        if name not in bound:
            continue
        if isinstance(column.children[1], Token) and column.children[1][1:] == name:
            clause.children[at] = target  # (?x AS ?x)
            continue
        new = context.variable(name)
        context.note(f"?{name} is bound twice: inside, {new} stands for it")
        names = {"?" + name: new}
        bound = bound - {name} | {new[1:]}
        later = [part for part in clause.children[at + 1 :] if isinstance(part, Tree)]
        later += children(modifier, "order_clause") if modifier is not None else []
        aggregates = [part for whole in later for part in nodes(whole, "aggregate")]
        for part in (*inside, *after, *aggregates, *(p for p in clause.children[:at] if isinstance(p, Tree))):
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
    seen: set[str] = set()
    while at < len(group.children):
        bind = group.children[at]
        at += 1
        name = str(bind.children[-2])[1:] if isinstance(bind, Tree) and bind.data == "bind" else ""
        if not isinstance(bind, Tree) or name not in seen:
            seen |= visible(bind).keys()
            continue
        first, second = context.variable(name), context.variable(name)
        context.note(f"?{name} is bound twice: rows where its values differ are left out")
        for part in group.children[: at - 1]:
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
        seen |= {first[1:], second[1:]}
