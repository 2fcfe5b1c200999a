"""Compare a query's answer with Oxigraph's: as a multiset, in the order that ORDER BY fixes, with ties at LIMIT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lark import Token, Tree

from kbkit.sparql.parse import parse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import ParseTree, child, children, nodes
from tests.sparql.solutions import Answer, Row, difference, disorder, is_before, nearly

Ask = Callable[[str], Answer]
_PAIRS = 20_000
"""Limit on the pairs of rows whose order is compared."""


@dataclass(frozen=True)
class Slice:
    """The end of a query: its ORDER BY, as far as it names variables, LIMIT and OFFSET; ``whole`` lacks the latter."""

    whole: str
    keys: tuple[tuple[str, bool], ...]
    """Variables, and whether they descend."""
    limit: int | None
    offset: int

    @property
    def is_cut(self) -> bool:
        """Whether the query has LIMIT or OFFSET."""
        return self.limit is not None or self.offset > 0


def slice_of(text: str) -> Slice:
    """Parse the end of a query."""
    tree = parse(text)
    query: Any = tree.children[-1]
    modifier = child(query, "solution_modifier")
    order = None if modifier is None else child(modifier, "order_clause")
    ends = None if modifier is None else child(modifier, "limit_offset_clauses")
    limit, offset = (_number(ends, rule) for rule in ("limit_clause", "offset_clause"))
    if modifier is not None and ends is not None:
        modifier.children.remove(ends)
        if not modifier.children:
            query.children.remove(modifier)
    return Slice(to_text(tree), () if order is None else _keys(order), limit, offset or 0)


def _number(ends: ParseTree | None, rule: str) -> int | None:
    clause = None if ends is None else child(ends, rule)
    return None if clause is None else int(str(clause.children[-1]))


def _keys(order: ParseTree) -> tuple[tuple[str, bool], ...]:
    found = []
    for condition in children(order, "order_condition"):
        words = [str(word) for word in condition.scan_values(lambda part: isinstance(part, Token))]
        names = [word for word in words if word[0] in "?$"]
        if (
            len(names) != 1
            or len(words) > 4
            or any(isinstance(p, Tree) and p.data == "built_in_call" for p in condition.children)
        ):
            break
        found.append((names[0][1:], words[0].upper() == "DESC"))
    return tuple(found)


class NotComparableError(Exception):
    """Oxigraph's answer to a query depends on its plan."""


def compare(text: str, oracle: Ask, engine: Ask) -> str:
    """Return how the engine's answer to a query differs from the oracle's, empty if it does not.

    Raises :class:`NotComparableError` for a query whose multiplicities matter and depend on Oxigraph's plan.
    """
    if "|" in text or "!" in text:
        tree = parse(text)
        if any(True for _ in nodes(tree, "path_alternative", "path_negated_property_set")):
            return _compare_sets(text, tree, oracle, engine)
    end = slice_of(text) if any(word in text for word in ("ORDER BY", "LIMIT", "OFFSET")) else Slice(text, (), None, 0)
    wanted, found = oracle(end.whole), engine(text)
    ties = any(word in text.upper() for word in ("MIN(", "MAX("))
    if wanted.kind != "select" or not end.is_cut:
        problem = difference(wanted, found, inexact=True, ties=ties)
    else:
        problem = _part_of(wanted, found, end, ties=ties)
    if problem or wanted.kind != "select" or not end.keys:
        return problem
    keys, down = _ordered_by(found, end)
    return disorder(keys, down)


def _compare_sets(text: str, tree: ParseTree, oracle: Ask, engine: Ask) -> str:
    """Compare sets of solutions: with both ends bound, Oxigraph finds ``a|b`` and ``!a`` once, otherwise per triple."""
    if any(True for _ in nodes(tree, "aggregate", "limit_offset_clauses")):
        raise NotComparableError
    wanted, found = (replace(a, rows=tuple(dict.fromkeys(a.rows))) for a in (oracle(text), engine(text)))
    return difference(wanted, found, inexact=True)


def _ordered_by(found: Answer, end: Slice) -> tuple[list[Row], list[bool]]:
    known = [(found.variables.index(name), down) for name, down in end.keys if name in found.variables]
    known = known if len(known) == len(end.keys) else []
    return [tuple(row[at] for at, _ in known) for row in found.rows], [down for _, down in known]


def _part_of(whole: Answer, found: Answer, end: Slice, *, ties: bool) -> str:
    """Return why rows cannot be those from ``offset`` to ``limit`` of the whole result, empty if they can."""
    if set(whole.variables) != set(found.variables):
        return f"the variables are {found.variables}, not {whole.variables}"
    number = max(0, len(whole.rows) - end.offset)
    number = number if end.limit is None else min(number, end.limit)
    if len(found.rows) != number:
        return f"{len(found.rows)} rows where {number} are right"
    order = [found.variables.index(name) for name in whole.variables]
    rest = list(whole.rows)
    for row in ([row[at] for at in order] for row in found.rows):
        same = next(
            (at for at, other in enumerate(rest) if all(map(lambda a, b: nearly(a, b, ties=ties), row, other))), None
        )
        if same is None:
            return f"wrong: {row}"
        del rest[same]
    mine, down = _ordered_by(found, end)
    theirs, _ = _ordered_by(whole, end)
    for at, row in enumerate(mine if down and len(mine) * len(theirs) < _PAIRS else []):
        before = sum(is_before(other, row, down) for other in theirs)
        after = sum(is_before(row, other, down) for other in theirs)
        if before > end.offset + at or after > len(theirs) - 1 - end.offset - at:
            return f"row {at + 1} ({row}) belongs elsewhere: {before} rows come before it, {after} after it"
    return ""
