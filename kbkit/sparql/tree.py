"""Read and change syntax trees of SPARQL: traversal, groups and triples, the variables in scope.

Traversal does not recurse, so deeply nested trees are safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from lark import Token, Tree

ParseTree: TypeAlias = Tree[Token]
Node: TypeAlias = ParseTree | Token

QUERIES = ("select_query", "sub_select", "construct_query", "describe_query", "ask_query")
"""Rules with a pattern and variables of their own."""
_TRIPLES = ("triples_same_subject_path", "triples_same_subject")
_LISTS = ("property_list_path_not_empty", "property_list_not_empty")


# -- traversal --------------------------------------------------------------------------------------------------------


def tokens(node: Node) -> Iterator[Token]:
    """Yield the tokens of a subtree in text order."""
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Token):
            yield top
        else:
            stack += reversed(top.children)


def nodes(node: Node, *rules: str, within: Callable[[ParseTree], bool] | None = None) -> Iterator[ParseTree]:
    """Yield the subtrees of these rules (default: all), the root included, in text order.

    ``within`` returns whether to descend into a subtree (default: always).
    """
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Token):
            continue
        if not rules or top.data in rules:
            yield top
        if within is None or top is node or within(top):
            stack += reversed(top.children)


def child(tree: ParseTree, *rules: str) -> ParseTree | None:
    """Return the first child of one of these rules, or None."""
    return next((c for c in tree.children if isinstance(c, Tree) and c.data in rules), None)


def children(tree: ParseTree, *rules: str) -> list[ParseTree]:
    """Return the children of these rules."""
    return [c for c in tree.children if isinstance(c, Tree) and c.data in rules]


def parents(tree: ParseTree) -> dict[int, ParseTree]:
    """Map the ``id`` of each subtree to its parent."""
    return {id(part): node for node in nodes(tree) for part in node.children if isinstance(part, Tree)}


def above(node: ParseTree, parent_of: dict[int, ParseTree], *rules: str) -> ParseTree | None:
    """Return the nearest ancestor of one of these rules, or None."""
    ancestor = parent_of.get(id(node))
    while ancestor is not None and ancestor.data not in rules:
        ancestor = parent_of.get(id(ancestor))
    return ancestor


def depth(node: ParseTree, parent_of: dict[int, ParseTree]) -> int:
    """Return the number of ancestors."""
    level = 0
    ancestor = parent_of.get(id(node))
    while ancestor is not None:
        level, ancestor = level + 1, parent_of.get(id(ancestor))
    return level


def query_of(node: ParseTree, parent_of: dict[int, ParseTree]) -> ParseTree:
    """Return the query or subquery that contains a node."""
    query = above(node, parent_of, *QUERIES)
    assert query is not None
    return query


def is_in_exists(node: ParseTree, parent_of: dict[int, ParseTree]) -> bool:
    """Return whether a pattern is evaluated row by row: in EXISTS, NOT EXISTS or LATERAL."""
    return above(node, parent_of, "exists_func", "not_exists_func", "lateral_graph_pattern") is not None


# -- changes ----------------------------------------------------------------------------------------------------------


def replace(tree: ParseTree, change: Callable[[Node], Node | Iterable[Node] | None]) -> None:
    """Change the tree in place, from the leaves up; the root stays.

    ``change`` takes a node whose children are done, and returns it, its replacement, several replacements, or None to
    remove it.
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
    """Return a deep copy; tokens are shared, since they never change."""
    if isinstance(node, Token):
        return node
    root: ParseTree = Tree(node.data, list(node.children), node.meta)
    stack = [root]
    while stack:
        top = stack.pop()
        top.children = [Tree(c.data, list(c.children), c.meta) if isinstance(c, Tree) else c for c in top.children]
        stack += [c for c in top.children if isinstance(c, Tree)]
    return root


def index(group: ParseTree, part: Node) -> int:
    """Return the position of a child, by identity."""
    return next(at for at, other in enumerate(group.children) if other is part)


def put(parent: ParseTree, old: Node, *new: Node) -> None:
    """Replace a child by other nodes; if there are none, also remove the full stop after it."""
    at = index(parent, old)
    end = at + 1
    if not new and parent.data == "group_graph_pattern" and parent.children[end] == ".":
        end += 1
    parent.children[at:end] = new


def append(group: ParseTree, *new: Node) -> None:
    """Add nodes at the end of a group, inside its braces."""
    group.children[-1:-1] = new


def group(*parts: Node) -> ParseTree:
    """Return a group ``{ ... }`` of these parts."""
    return Tree("group_graph_pattern", [Token("LBRACE", "{"), *parts, Token("RBRACE", "}")])


def group_of(part: ParseTree) -> ParseTree:
    """Return the group of a pattern or a service, its last part."""
    own = part.children[-1]
    assert isinstance(own, Tree)
    return own


def merge_triples(tree: ParseTree) -> None:
    """Merge adjacent triple blocks, which result from removing the pattern between them.

    The grammar requires a full stop between triples; without this, the printed text would parse differently.
    """
    for parent in nodes(tree, "group_graph_pattern"):
        joined: list[Node] = []
        for part in parent.children:
            last = joined[-1] if joined else None
            blocks = [p for p in (last, part) if isinstance(p, Tree) and p.data == "triples_block"]
            if len(blocks) == 2:
                first, second = blocks
                stop = [] if first.children[-1] == "." else [Token("DOT", ".")]
                joined[-1] = Tree("triples_block", [*first.children, *stop, *second.children], first.meta)
            else:
                joined.append(part)
        parent.children = joined


# -- triples ----------------------------------------------------------------------------------------------------------


class Triple(NamedTuple):
    """A subject, one of its verbs, and one object of the verb; each a token or a subtree."""

    subject: Node
    verb: Node
    object: Node


def triples(parent: ParseTree) -> Iterator[Triple]:
    """Yield the triples directly in a group, not those of nested groups or blank node brackets."""
    for block in children(parent, "triples_block"):
        for same_subject in children(block, *_TRIPLES):
            subject, *rest = same_subject.children
            for properties in rest:
                if isinstance(properties, Tree):
                    yield from (Triple(subject, verb, value) for verb, value in pairs(properties))


def pairs(properties: ParseTree) -> Iterator[tuple[Node, Node]]:
    """Yield (verb, object) for each entry of a property list."""
    verb: Node | None = None
    for part in properties.children:
        if isinstance(part, Tree) and part.data in ("object_list_path", "object_list"):
            assert verb is not None
            yield from ((verb, value) for value in part.children if value != ",")
        elif part != ";":
            verb = part


def is_variable(node: object) -> bool:
    """Return whether a node is a variable."""
    return isinstance(node, Token) and node.type == "VAR"


def is_list(node: Node) -> bool:
    """Return whether a node is a property list."""
    return isinstance(node, Tree) and node.data in _LISTS


def drop_verbs(tree: ParseTree, unwanted: Callable[[Triple], bool]) -> int:
    """Remove each verb, with its objects, for which ``unwanted`` returns True; return the number removed.

    Applies to patterns, not to templates. A subject without any verb left is removed too.
    """
    count = 0
    parent_of = parents(tree)
    for block in list(nodes(tree, "triples_block", "construct_triples")):
        if block.data == "construct_triples" and child(parent_of[id(parent_of[id(block)])], "where_clause"):
            continue
        remaining = []
        dropped = 0
        for part in children(block, *_TRIPLES):
            dropped += _drop_verbs(part, unwanted)
            if len(part.children) > 1 or isinstance(part.children[0], Tree):
                remaining.append(part)
        count += dropped
        if dropped and remaining:
            stop = Token("DOT", ".")
            block.children = [part for triple in remaining for part in (triple, stop)]
        elif dropped:
            put(parent_of[id(block)], block)
    return count


def _drop_verbs(same_subject: ParseTree, unwanted: Callable[[Triple], bool]) -> int:
    subject, *rest = same_subject.children
    count = 0
    for properties in (part for part in rest if isinstance(part, Tree)):
        parts = [part for part in properties.children if part != ";"]
        entries = list(zip(parts[::2], parts[1::2], strict=True))
        remaining = [entry for entry in entries if not unwanted(Triple(subject, *entry))]
        if len(remaining) < len(entries):
            count += len(entries) - len(remaining)
            properties.children = [part for entry in remaining for part in (*entry, Token("SEMICOLON", ";"))][:-1]
    same_subject.children = [subject, *(part for part in rest if not (isinstance(part, Tree) and not part.children))]
    return count


# -- variables in scope (SPARQL 1.1, section 18.2.1) ------------------------------------------------------------------


def variables(node: Node) -> set[str]:
    """Return the names of all variables of a subtree, without ``?``."""
    return {str(token)[1:] for token in tokens(node) if token.type == "VAR"}


def visible(*patterns: Node) -> dict[str, None]:
    """Return the variables that these patterns may bind, without ``?``, in text order."""
    names: dict[str, None] = {}
    for pattern in patterns:
        if isinstance(pattern, Token):
            if pattern.type == "VAR":
                names[str(pattern)[1:]] = None
        elif pattern.data in ("filter", "minus_graph_pattern"):
            continue
        elif pattern.data in ("sub_select", "select_query"):
            names |= dict.fromkeys(projected(pattern))
        elif pattern.data in ("bind", "inline_data", "values_clause"):
            names |= dict.fromkeys(_assigned(pattern))
        else:
            names |= visible(*pattern.children)
    return names


def certain(*patterns: Node) -> set[str]:
    """Return variables that the join of these patterns binds in every row (a lower bound: some may be missing)."""
    bound: set[str] = set()
    for pattern in patterns:
        if isinstance(pattern, Token):
            continue
        if pattern.data == "triples_block":
            bound |= variables(pattern)
        elif pattern.data == "group_graph_pattern":
            bound |= certain(*pattern.children)
        elif pattern.data == "group_or_union_graph_pattern":
            bound |= set.intersection(*(certain(branch) for branch in children(pattern, "group_graph_pattern")))
        elif pattern.data == "graph_graph_pattern":
            bound |= certain(pattern.children[-1]) | set(visible(pattern.children[1]))
        elif pattern.data == "inline_data" and not any(token.type == "UNDEF" for token in tokens(pattern)):
            bound |= set(_assigned(pattern))
        elif pattern.data == "sub_select":
            where = child(pattern, "where_clause")
            clause = child(pattern, "select_clause")
            if where is not None and clause is not None:
                plain = {str(part)[1:] for part in clause.children if isinstance(part, Token) and part.type == "VAR"}
                inner = certain(where.children[-1])
                bound |= inner & set(projected(pattern)) if "*" in clause.children else inner & plain
    return bound


def projected(select: ParseTree) -> list[str]:
    """Return the columns of a SELECT, without ``?``."""
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
    """Return the variables of BIND or VALUES."""
    if pattern.data == "bind":
        return [str(pattern.children[-2])[1:]]
    block = pattern.children[1]
    assert isinstance(block, Tree)
    return [str(part)[1:] for part in block.children if isinstance(part, Token) and part.type == "VAR"]
