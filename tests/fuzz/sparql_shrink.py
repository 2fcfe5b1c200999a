"""Make a failing query and its data small: drop and simplify parts as long as the case fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from lark import Token, Tree

from kbkit.errors import QuerySyntaxError
from kbkit.sparql.parse import parse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, copy, nodes

Item = TypeVar("Item")
Fails = Callable[[Sequence[Any], str], bool]
_BUDGET = 15.0


def shrink(quads: Sequence[Any], text: str, fails: Fails, budget: float = _BUDGET) -> tuple[Sequence[Any], str]:
    """Return smaller quads and a shorter query that still fail; stop after ``budget`` seconds."""
    end = time.monotonic() + budget
    before: tuple[int, int] | None = None
    while before != (len(quads), len(text)) and time.monotonic() < end:
        before = (len(quads), len(text))
        quads = _fewer(quads, lambda some, text=text: fails(some, text), end)  # type: ignore[misc]
        text = _shorter(text, lambda other, quads=quads: fails(quads, other), end)  # type: ignore[misc]
    return quads, text


def _fewer(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool], end: float) -> Sequence[Item]:
    size = max(1, len(items) // 2)
    while size and time.monotonic() < end:
        at = 0
        while at < len(items):
            some = [*items[:at], *items[at + size :]]
            if fails(some):
                items = some
            else:
                at += size
        size //= 2
    return items


def _shorter(text: str, fails: Callable[[str], bool], end: float) -> str:
    tried = {text}
    found = True
    while found and time.monotonic() < end:
        found = False
        for other in _variants(text):
            if len(other) < len(text) and other not in tried and time.monotonic() < end:
                tried.add(other)
                if fails(other):
                    text, found = other, True
                    break
    return text


def _variants(text: str) -> Iterator[str]:
    """Yield queries with a part less, or with a part in place of a larger one; the largest changes first."""
    tree = parse(text)
    changes: list[tuple[int, int, int, int | None]] = []
    for number, node in enumerate(nodes(tree)):
        for at, part in enumerate(node.children):
            changes += [(number, at, size, None) for size in (1, 2, 3) if at + size <= len(node.children)]
            if isinstance(part, Tree):
                changes += [(number, at, 1, inner) for inner in range(len(list(_parts(part))))]
    for number, at, size, inner in changes:
        changed = cast("ParseTree", copy(tree))
        node = next(found for place, found in enumerate(nodes(changed)) if place == number)
        new = [] if inner is None else [list(_parts(cast("ParseTree", node.children[at])))[inner]]
        node.children[at : at + size] = new
        try:
            other = to_text(changed)
            parse(other)
        except (QuerySyntaxError, IndexError, AssertionError):  # not a query any more
            continue
        yield other


def _parts(tree: ParseTree) -> Iterator[Node]:
    """Yield what may stand for a subtree: its parts, down to three levels, but no punctuation."""
    level: list[Node] = list(tree.children)
    for _ in range(3):
        yield from (part for part in level if isinstance(part, Tree) or _is_term(part))
        level = [part for node in level if isinstance(node, Tree) for part in node.children]


def _is_term(part: Node) -> bool:
    return isinstance(part, Token) and part.type in ("VAR", "IRIREF", "NUMBER", "STRING", "BOOLEAN", "PNAME_LN")
