"""Look up labels of result rows only.

A SELECT that groups, sorts or deduplicates rows and only shows labels becomes a subquery without labels, and the
labels are looked up around it. The rows are the same, because a label depends on its subject alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token, Tree

from kbkit.sparql.tree import Node, ParseTree, child, children, copy, nodes, tokens, variables, visible
from kbkit.sparql.tree import group as new_group


def postpone(query: ParseTree, group: ParseTree, labels: Sequence[tuple[str, str]]) -> ParseTree:
    """Return the group in which to look up ``labels`` (pairs of label and subject, without ``?``).

    It is ``group``, or a new one around it, if that is faster; the query is then changed in place.
    """
    parts = _Parts.of(query, group, {label for label, _ in labels}, {subject for _, subject in labels})
    return parts.wrap() if parts is not None else group


class _Parts:
    """The clauses of a SELECT whose labels can be looked up last."""

    def __init__(self, query: ParseTree, targets: set[str], columns: list[Node], modifier: ParseTree) -> None:
        self.query, self.targets, self.columns, self.modifier = query, targets, columns, modifier
        self.group_by = child(modifier, "group_clause")
        self.having = child(modifier, "having_clause")
        self.order = child(modifier, "order_clause")
        self.limit = child(modifier, "limit_offset_clauses")

    @classmethod
    def of(cls, query: ParseTree, group: ParseTree, targets: set[str], subjects: set[str]) -> _Parts | None:
        """Return the clauses, or None if postponing would change the rows or gain nothing."""
        where, clause = child(query, "where_clause"), child(query, "select_clause")
        modifier = child(query, "solution_modifier")
        if where is None or clause is None or modifier is None or where.children[-1] is not group:
            return None
        if not targets or child(query, "values_clause") is not None or clause.children[-1] == "*":
            return None
        head = 2 if str(clause.children[1]).upper() in ("DISTINCT", "REDUCED") else 1
        parts = cls(query, targets, clause.children[head:], modifier)
        parts.head = clause.children[:head]
        parts.subjects = subjects
        return parts if parts._pays() and parts._keeps_rows(group) else None

    head: list[Node]
    subjects: set[str]

    @property
    def distinct(self) -> bool:
        return len(self.head) == 2

    def _pays(self) -> bool:
        """Return whether the result may have fewer rows than the pattern, independently of labels."""
        sorted_out = self.limit is not None and self.order is not None and not self._order_needs_labels()
        return self.group_by is not None or self.distinct or sorted_out

    def _order_needs_labels(self) -> bool:
        return self.order is not None and bool(variables(self.order) & self.targets)

    def _plain(self) -> set[str]:
        return {str(column)[1:] for column in self.columns if isinstance(column, Token)}

    def _names(self) -> set[str]:
        """Return all columns, including computed ones."""
        return self._plain() | {str(column.children[-2])[1:] for column in self.columns if isinstance(column, Tree)}

    def _keeps_rows(self, group: ParseTree) -> bool:
        computed = [column for column in self.columns if isinstance(column, Tree)]
        if variables(group) & self.targets:  # a filter in the pattern may ask for a label
            return False
        used = {name for part in (*computed, *([self.having] if self.having else [])) for name in variables(part)}
        aggregated = any(True for part in computed for _ in nodes(part, "aggregate"))
        if used & self.targets or (aggregated and self.group_by is None):
            return False
        if self.order is not None and any(True for _ in nodes(self.order, "aggregate")):
            return False
        needed = variables(self.order) - self.targets if self.order is not None else set()
        if self.group_by is not None:
            keys = _grouped(self.group_by)
            in_terms = {n for part in children(self.group_by, "group_condition") for n in variables(part)} - keys
            return self.subjects <= keys and not in_terms & self.targets and needed <= keys | self._names()
        if self.distinct:
            return self.subjects <= self._plain() and needed <= self._names()
        return needed <= self._names() | set(visible(group))

    def wrap(self) -> ParseTree:
        """Turn the query into a subquery of one that adds the labels; return the outer group."""
        where = child(self.query, "where_clause")
        assert where is not None
        needed = variables(self.order) if self.order is not None else set()
        columns = [column for column in self.columns if not (isinstance(column, Token) and column[1:] in self.targets)]
        more = sorted((self.subjects | needed) - self._names() - self.targets)
        inner: ParseTree = Tree("select_clause", [*self.head, *columns, *(Token("VAR", "?" + name) for name in more)])
        first = not self._order_needs_labels() and self.limit is not None
        before = [part for part in (self._group_clause(), self.having) if part is not None]
        if first:
            before += [part for part in (self.order, self.limit) if part is not None]
        select: ParseTree = Tree("sub_select", [inner, where, Tree("solution_modifier", list(before))])
        outer_group = new_group(Tree("group_or_union_graph_pattern", [new_group(select)]))
        outer_columns = [column if isinstance(column, Token) else column.children[-2] for column in self.columns]
        after = [copy(part) for part in (self.order, None if first else self.limit) if part is not None]
        clause: ParseTree = Tree("select_clause", [*self.head, *outer_columns])
        outer: dict[str, ParseTree] = {
            "select_clause": clause,
            "where_clause": Tree("where_clause", [Token("WHERE", "WHERE"), outer_group]),
            "solution_modifier": Tree("solution_modifier", after),
        }
        self.query.children = [
            outer.get(part.data, part) if isinstance(part, Tree) else part for part in self.query.children
        ]
        return outer_group

    def _group_clause(self) -> ParseTree | None:
        """Return GROUP BY without the labels."""
        if self.group_by is None:
            return None
        return Tree("group_clause", [part for part in self.group_by.children if not _is_one_of(part, self.targets)])


def _is_one_of(condition: Node, names: set[str]) -> bool:
    words = list(tokens(condition))
    return len(words) == 1 and words[0].type == "VAR" and words[0][1:] in names


def _grouped(group_by: ParseTree) -> set[str]:
    """Return the plain variables of GROUP BY."""
    conditions = [list(tokens(part)) for part in children(group_by, "group_condition")]
    return {str(words[0])[1:] for words in conditions if len(words) == 1 and words[0].type == "VAR"}
