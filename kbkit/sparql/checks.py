"""Errors that the grammar allows and that the engine reports for another text: the rewritten one."""

from __future__ import annotations

from lark import Token, Tree

from kbkit.errors import plural
from kbkit.sparql.parse import refuse
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes


def refuse_uneven_rows(tree: ParseTree) -> None:
    """Raise :class:`QuerySyntaxError` at a row of VALUES that has more or fewer values than there are variables."""
    for block in nodes(tree, "inline_data_full"):
        wanted = sum(isinstance(part, Token) and part.type == "VAR" for part in block.children)
        for row in children(block, "data_row"):
            values = row.children[1:-1]
            if len(values) != wanted:
                found = f"A row of VALUES has {plural(len(values), 'value')}, for {plural(wanted, 'variable')}"
                refuse(row, found, "Write UNDEF for a missing value")


def refuse_ungrouped(tree: ParseTree) -> None:
    """Raise :class:`QuerySyntaxError` at a column that is neither grouped nor aggregated, where rows are groups."""
    for query in nodes(tree, "select_query", "sub_select"):
        clause, modifier = child(query, "select_clause"), child(query, "solution_modifier")
        grouping = child(modifier, "group_clause") if modifier is not None else None
        assert clause is not None
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
