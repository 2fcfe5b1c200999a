"""Errors that the grammar allows and that the engine reports for another text: the rewritten one."""

from __future__ import annotations

import re

from lark import Token, Tree

from kbkit.errors import plural
from kbkit.sparql.parse import refuse
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes, tokens, visible

_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u|U0000)[dD][89a-fA-F]")


def refuse_invalid(tree: ParseTree) -> None:
    """Raise :class:`QuerySyntaxError` for a query that follows the grammar, but breaks a rule beside it."""
    refuse_uneven_rows(tree)
    refuse_ungrouped(tree)
    refuse_reassigned(tree)
    refuse_shared_blanks(tree)
    refuse_surrogates(tree)


def refuse_uneven_rows(tree: ParseTree) -> None:
    """Raise :class:`QuerySyntaxError` at a row of VALUES that has more or fewer values than there are variables."""
    for block in nodes(tree, "inline_data_full"):
        wanted = sum(isinstance(part, Token) and part.type == "VAR" for part in block.children)
        for row in children(block, "data_row"):
            values = row.children[1:-1]
            if len(values) != wanted:
                problem = f"A row of VALUES has {plural(len(values), 'value')}, for {plural(wanted, 'variable')}"
                refuse(row, problem, "Write UNDEF for a missing value")


def refuse_ungrouped(tree: ParseTree) -> None:
    """Raise :class:`QuerySyntaxError` at a column that is neither grouped nor aggregated, where rows are groups."""
    for query in nodes(tree, "select_query", "sub_select"):
        clause, modifier = child(query, "select_clause"), child(query, "solution_modifier")
        grouping = child(modifier, "group_clause") if modifier is not None else None
        assert clause is not None
        if grouping is not None and clause.children[-1] == "*":
            refuse(clause, "SELECT * with GROUP BY", "List the columns")
        if grouping is None and not any(True for _ in nodes(clause, "aggregate")):
            continue
        known = set() if grouping is None else {_key(condition) for condition in children(grouping, "group_condition")}
        for part in clause.children:
            if isinstance(part, Tree):
                _refuse_free(part.children[1:-3], known)
                known.add(str(part.children[-2]))
            else:
                _refuse_free([part], known)


def _key(condition: ParseTree) -> str:
    """Return the variable of a condition of GROUP BY, if it has one."""
    last = next((part for part in reversed(condition.children) if part != ")"), None)
    return str(last) if isinstance(last, Token) and last.type == "VAR" else ""


def _refuse_free(parts: list[Node], known: set[str]) -> None:
    """Refuse variables outside aggregates that are not known."""
    for part in parts:
        if isinstance(part, Tree):
            if part.data not in ("aggregate", "group_graph_pattern"):  # EXISTS has a scope of its own
                _refuse_free(part.children, known)
        elif part.type == "VAR" and str(part) not in known:
            refuse(part, f"{part} is neither grouped nor aggregated", f"Add it to GROUP BY, or use SAMPLE({part})")


def refuse_reassigned(tree: ParseTree) -> None:
    """Raise :class:`QuerySyntaxError` at an assignment to a variable that already has a value."""
    for group in nodes(tree, "group_graph_pattern"):
        for at, part in enumerate(group.children):
            if isinstance(part, Tree) and part.data == "bind":
                _refuse_known(part.children[-2], set(visible(*group.children[:at])))
    for query in nodes(tree, "select_query", "sub_select"):
        clause, where = child(query, "select_clause"), child(query, "where_clause")
        assert clause is not None
        assert where is not None
        known = set(visible(where))
        for part in clause.children:
            if isinstance(part, Tree):
                _refuse_known(part.children[-2], known)
                known.add(str(part.children[-2])[1:])


def _refuse_known(variable: Node, known: set[str]) -> None:
    if str(variable)[1:] in known:
        refuse(variable, f"{variable} already has a value", "Use another variable")


def refuse_shared_blanks(tree: ParseTree) -> None:
    """Raise :class:`QuerySyntaxError` at a blank node of an earlier basic graph pattern: it denotes another node."""
    first: dict[str, int] = {}
    patterns = 0
    for group in nodes(tree, "group_graph_pattern"):
        patterns += 1
        for part in group.children:
            if isinstance(part, Tree) and part.data == "triples_block":
                for word in tokens(part):
                    if word.type == "BLANK_NODE_LABEL" and first.setdefault(str(word), patterns) != patterns:
                        refuse(word, f"Blank node {word} in two patterns", "Use a variable")
            elif isinstance(part, Tree) and part.data != "filter":  # ends the basic graph pattern
                patterns += 1


def refuse_surrogates(tree: ParseTree) -> None:
    r"""Raise :class:`QuerySyntaxError` at an escape such as ``\uD800``, which is no character."""
    for word in tokens(tree):
        if word.type in ("STRING", "IRIREF") and _SURROGATE.search(word):
            refuse(word, "Invalid Unicode (unpaired surrogate)")
