"""Walking and changing a syntax tree; nothing here recurses, so that a deep tree is as good as a flat one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from lark import Token, Tree

ParseTree: TypeAlias = Tree[Token]
Node: TypeAlias = ParseTree | Token


def tokens(node: Node) -> Iterator[Token]:
    """The words below ``node``, in the order of the text."""
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Token):
            yield top
        else:
            stack += reversed(top.children)


def nodes(node: Node, *names: str, within: Callable[[ParseTree], bool] | None = None) -> Iterator[ParseTree]:
    """The subtrees of these rules (all where none is named) at or below ``node``, in the order of the text.

    ``within`` says of a subtree whether to look below it.
    """
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Token):
            continue
        if not names or top.data in names:
            yield top
        if within is None or top is node or within(top):
            stack += reversed(top.children)


def child(tree: ParseTree, *names: str) -> ParseTree | None:
    """The first child that is one of these rules."""
    return next((c for c in tree.children if isinstance(c, Tree) and c.data in names), None)


def children(tree: ParseTree, *names: str) -> list[ParseTree]:
    """The children that are one of these rules."""
    return [c for c in tree.children if isinstance(c, Tree) and c.data in names]


def variables(node: Node) -> set[str]:
    """The names of the variables below ``node``, without their sign."""
    return {str(token)[1:] for token in tokens(node) if token.type == "VAR"}


def replace(tree: ParseTree, change: Callable[[Node], Node | Iterable[Node] | None]) -> None:
    """Change the tree in place, from the leaves up.

    ``change`` gives, for a node whose children are done, the node itself, another, several (put in its place) or None
    (left out). The root stays.
    """
    order: list[ParseTree] = []
    stack = [tree]
    while stack:
        top = stack.pop()
        order.append(top)
        stack += [c for c in top.children if isinstance(c, Tree)]
    for top in reversed(order):  # parents come before their children in `order`
        done: list[Node] = []
        for part in top.children:
            new = change(part)
            if isinstance(new, (Tree, Token)):
                done.append(new)
            elif new is not None:
                done.extend(new)
        top.children = done


def copy(node: Node) -> Node:
    """A copy that shares nothing but its tokens, which are never changed."""
    if isinstance(node, Token):
        return node
    root: ParseTree = Tree(node.data, list(node.children), node.meta)
    stack = [root]
    while stack:
        top = stack.pop()
        top.children = [Tree(c.data, list(c.children), c.meta) if isinstance(c, Tree) else c for c in top.children]
        stack += [c for c in top.children if isinstance(c, Tree)]
    return root


def fresh(name: str, taken: set[str]) -> str:
    """A variable name that is not ``taken``, as close to ``name`` as can be; it is taken from then on."""
    chosen, number = name, 1
    while chosen in taken:
        number += 1
        chosen = f"{name}_{number}"
    taken.add(chosen)
    return chosen
