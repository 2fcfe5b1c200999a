"""Blazegraph's named subqueries, ``WITH { SELECT ... } AS %name`` and ``INCLUDE %name``, as plain sub-selects."""

from __future__ import annotations

from lark import Token, Tree

from kbkit.errors import QuerySyntaxError, suggest
from kbkit.sparql.context import Context
from kbkit.sparql.patterns import parents, put
from kbkit.sparql.tree import ParseTree, child, copy, nodes, tokens

MOST_WORDS = 50_000
"""Queries that grow beyond this by including named subqueries in named subqueries are refused."""


def inline(tree: ParseTree, context: Context) -> ParseTree:
    """Put a copy of its subquery for each ``INCLUDE``."""
    definitions: dict[str, ParseTree] = {}
    parent_of = parents(tree)
    for named in list(nodes(tree, "named_subquery")):
        select = child(named, "sub_select")
        assert select is not None
        called = str(named.children[-1])
        if called in definitions:
            raise _error(named, f"two named subqueries are called {called}", "give each a name of its own")
        definitions[called] = select
        parent_of[id(named)].children.remove(named)
    used: set[str] = set()
    size = sum(1 for _ in tokens(tree))
    todo: list[tuple[ParseTree, ParseTree, tuple[str, ...]]] = [
        (parent_of[id(include)], include, ()) for include in nodes(tree, "include") if id(include) in parent_of
    ]
    while todo:
        parent, include, names = todo.pop()
        body = copy(_definition(include, definitions, names))
        assert isinstance(body, Tree)
        name = str(include.children[1])
        if name in used:
            context.with_new_blank_nodes(body)
        used.add(name)
        size += sum(1 for _ in tokens(body))
        if size > MOST_WORDS:
            raise _error(include, f"with its named subqueries the query has over {MOST_WORDS} words", "include less")
        group: ParseTree = Tree("group_graph_pattern", [Token("LBRACE", "{"), body, Token("RBRACE", "}")])
        put(parent, include, Tree("group_or_union_graph_pattern", [group]))
        within = parents(body)
        todo += [(within[id(inner)], inner, (*names, name)) for inner in nodes(body, "include")]
    for name in definitions:
        context.note(f"{name} put in where it is included" if name in used else f"{name} is never included: left out")
    return tree


def _definition(include: ParseTree, definitions: dict[str, ParseTree], names: tuple[str, ...]) -> ParseTree:
    name = str(include.children[1])
    if name not in definitions:
        hint = suggest(name, definitions) if definitions else "WITH { SELECT ... } AS " + name + " defines it"
        raise _error(include, f"unknown named subquery {name}", hint)
    if name in names:
        raise _error(include, f"{name} includes itself", "a named subquery may include earlier ones")
    return definitions[name]


def _error(clause: ParseTree, message: str, hint: str) -> QuerySyntaxError:
    token = clause.children[0]
    assert isinstance(token, Token)
    line, column = token.line or 0, token.column or 0
    return QuerySyntaxError(f"line {line}, column {column}: {message}", hint, line=line, column=column)
