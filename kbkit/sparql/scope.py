"""Which variables a pattern binds (section 18.2.1 of SPARQL 1.1), and which it binds in every row."""

from __future__ import annotations

from lark import Token, Tree

from kbkit.sparql.tree import Node, ParseTree, child, children, tokens

QUERIES = ("select_query", "sub_select", "construct_query", "describe_query", "ask_query")
"""What has a pattern of its own, with variables of its own."""


def visible(*patterns: Node) -> dict[str, None]:
    """The variables that these patterns may bind, in the order of the text, without their sign."""
    found: dict[str, None] = {}
    for pattern in patterns:
        if isinstance(pattern, Token):
            if pattern.type == "VAR":
                found[str(pattern)[1:]] = None
        elif pattern.data in ("filter", "minus_graph_pattern"):
            continue
        elif pattern.data in ("sub_select", "select_query"):
            found |= dict.fromkeys(projected(pattern))
        elif pattern.data in ("bind", "inline_data", "values_clause"):
            found |= dict.fromkeys(_assigned(pattern))
        else:
            found |= visible(*pattern.children)
    return found


def certain(*patterns: Node) -> set[str]:
    """The variables that these patterns, joined, bind in every row. Some that are may be missing."""
    found: set[str] = set()
    for pattern in patterns:
        if isinstance(pattern, Token):
            continue
        if pattern.data == "triples_block":
            found |= {str(token)[1:] for token in tokens(pattern) if token.type == "VAR"}
        elif pattern.data == "group_graph_pattern":
            found |= certain(*pattern.children)
        elif pattern.data == "group_or_union_graph_pattern":
            found |= set.intersection(*(certain(group) for group in children(pattern, "group_graph_pattern")))
        elif pattern.data == "graph_graph_pattern":
            found |= certain(pattern.children[-1]) | set(visible(pattern.children[1]))
        elif pattern.data == "inline_data" and not any(token.type == "UNDEF" for token in tokens(pattern)):
            found |= set(_assigned(pattern))
        elif pattern.data == "sub_select":
            where = child(pattern, "where_clause")
            clause = child(pattern, "select_clause")
            if where is not None and clause is not None:
                plain = {str(part)[1:] for part in clause.children if isinstance(part, Token) and part.type == "VAR"}
                inner = certain(where.children[-1])
                found |= inner & set(projected(pattern)) if "*" in clause.children else inner & plain
    return found


def projected(select: ParseTree) -> list[str]:
    """The columns of a SELECT."""
    clause = child(select, "select_clause")
    assert clause is not None
    if clause.children[-1] == "*":
        return list(visible(*children(select, "where_clause", "values_clause")))
    columns = []
    for part in clause.children:
        variable = part.children[-2] if isinstance(part, Tree) else part  # ( expression AS ?variable )
        if isinstance(variable, Token) and variable.type == "VAR":
            columns.append(str(variable)[1:])
    return columns


def _assigned(pattern: ParseTree) -> list[str]:
    """The variables of BIND or VALUES."""
    if pattern.data == "bind":
        return [str(pattern.children[-2])[1:]]
    block = pattern.children[1]
    assert isinstance(block, Tree)
    return [str(part)[1:] for part in block.children if isinstance(part, Token) and part.type == "VAR"]
