"""Add labels to the result instead of the query.

A label that a SELECT only shows is looked up when the rows are written: the engine calls a function for each row, which
takes much longer. The rows are the same, because a label depends on its subject alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lark import Token

from kbkit.sparql.context import Context
from kbkit.sparql.tree import Node, ParseTree, child, nodes, variables, visible
from kbkit.stores.sparql_process import ResultColumn


def detach(query: ParseTree, group: ParseTree, labels: Sequence[ResultColumn], context: Context) -> bool:
    """Make labels, which the pattern ``group`` would bind, columns of the result; return whether the rows are the same.

    Only then is the query changed: it gets their subjects as columns, and ``context`` the columns of the result.
    """
    if context.columns is None or query.data != "select_query":
        return False
    where, clause = child(query, "where_clause"), child(query, "select_clause")
    modifier = child(query, "solution_modifier")
    assert where is not None and clause is not None and modifier is not None
    head = 2 if str(clause.children[1]).upper() in ("DISTINCT", "REDUCED") else 1
    shown = {_name(part): part for part in clause.children[head:]}
    label_of = {label.name: label for label in labels}
    own = {name: part for name, part in shown.items() if name not in label_of}
    subjects = {label.variable for name, label in label_of.items() if name in shown}
    hidden = sorted(subjects - own.keys())
    if where.children[-1] is not group or child(query, "values_clause") or "*" in clause.children:
        return False
    if len(label_of) < len(labels) or not all(label.property for label in labels):
        return False
    if not subjects <= visible(group).keys() or (hidden and head == 2):
        return False
    used = set[str]().union(*map(variables, (where, modifier, *own.values())))
    if used & label_of.keys() or _is_grouped(modifier, own.values()):
        return False
    clause.children[head:] = [*own.values(), *(Token("VAR", "?" + name) for name in hidden)]
    if subjects:
        context.columns += [label_of.get(name, ResultColumn(name, name)) for name in shown]
    return True


def _is_grouped(modifier: ParseTree, columns: Iterable[Node]) -> bool:
    """Return whether a row stands for several solutions: their variables are out of scope."""
    return child(modifier, "group_clause", "having_clause") is not None or any(
        True for column in columns for _ in nodes(column, "aggregate")
    )


def _name(column: Node) -> str:
    """Return the name of a column, plain or computed."""
    return str(column if isinstance(column, Token) else column.children[-2])[1:]
