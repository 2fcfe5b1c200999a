"""Parts of patterns that several rewritings read or change: groups, their parents, single triples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lark import Token, Tree

from kbkit.sparql.scope import QUERIES
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes

_TRIPLES = ("triples_same_subject_path", "triples_same_subject")
_LISTS = ("property_list_path_not_empty", "property_list_not_empty")


class Triple(NamedTuple):
    """A subject with one of its verbs and one object; each a word or a subtree."""

    subject: Node
    verb: Node
    object: Node


def triples(group: ParseTree) -> Iterator[Triple]:
    """The triples that stand in the blocks of a group itself, and not in groups or brackets below it."""
    for block in children(group, "triples_block"):
        for same_subject in children(block, *_TRIPLES):
            subject, *rest = same_subject.children
            for properties in rest:
                if isinstance(properties, Tree):
                    yield from (Triple(subject, verb, value) for verb, value in pairs(properties))


def pairs(properties: ParseTree) -> Iterator[tuple[Node, Node]]:
    """Verb and object of each entry of a property list."""
    verb: Node | None = None
    for part in properties.children:
        if isinstance(part, Tree) and part.data in ("object_list_path", "object_list"):
            assert verb is not None
            yield from ((verb, value) for value in part.children if value != ",")
        elif part != ";":
            verb = part


def parents(tree: ParseTree) -> dict[int, ParseTree]:
    """The parent of each subtree, by ``id``."""
    return {id(part): node for node in nodes(tree) for part in node.children if isinstance(part, Tree)}


def above(node: ParseTree, parent_of: dict[int, ParseTree], *names: str) -> ParseTree | None:
    """The nearest ancestor that is one of these rules."""
    found = parent_of.get(id(node))
    while found is not None and found.data not in names:
        found = parent_of.get(id(found))
    return found


def query_of(node: ParseTree, parent_of: dict[int, ParseTree]) -> ParseTree:
    """The query or sub-select whose pattern a node is part of."""
    found = above(node, parent_of, *QUERIES)
    assert found is not None
    return found


def is_in_exists(node: ParseTree, parent_of: dict[int, ParseTree]) -> bool:
    """Whether a pattern is asked for single rows: in EXISTS, NOT EXISTS or LATERAL."""
    return above(node, parent_of, "exists_func", "not_exists_func", "lateral_graph_pattern") is not None


def depth(node: ParseTree, parent_of: dict[int, ParseTree]) -> int:
    """How many nodes stand above."""
    level = 0
    found = parent_of.get(id(node))
    while found is not None:
        level, found = level + 1, parent_of.get(id(found))
    return level


def put(parent: ParseTree, old: Node, *new: Node) -> None:
    """Put other nodes where ``old`` stands; with none, a full stop after it goes as well."""
    at = next(i for i, part in enumerate(parent.children) if part is old)
    end = at + 1
    if not new and parent.data == "group_graph_pattern" and parent.children[end] == ".":
        end += 1
    parent.children[at:end] = new


def append(group: ParseTree, *new: Node) -> None:
    """Put nodes at the end of a group."""
    group.children[-1:-1] = new


def drop_verbs(tree: ParseTree, unwanted: Callable[[Triple], bool]) -> int:
    """Take away the verbs, with their objects, for which ``unwanted`` says so of a triple; how many there were.

    Of a pattern, and not of a template; a subject that nothing is said of any more goes as well.
    """
    count = 0
    parent_of = parents(tree)
    for block in list(nodes(tree, "triples_block", "construct_triples")):
        if block.data == "construct_triples" and child(parent_of[id(parent_of[id(block)])], "where_clause"):
            continue
        kept = []
        dropped = 0
        for part in children(block, *_TRIPLES):
            dropped += _drop_verbs(part, unwanted)
            if len(part.children) > 1 or isinstance(part.children[0], Tree):
                kept.append(part)
        count += dropped
        if dropped and kept:
            stop = Token("DOT", ".")
            block.children = [part for triple in kept for part in (triple, stop)]
        elif dropped:
            put(parent_of[id(block)], block)
    return count


def _drop_verbs(same_subject: ParseTree, unwanted: Callable[[Triple], bool]) -> int:
    subject, *rest = same_subject.children
    count = 0
    for properties in (part for part in rest if isinstance(part, Tree)):
        words = [part for part in properties.children if part != ";"]
        entries = list(zip(words[::2], words[1::2], strict=True))
        kept = [entry for entry in entries if not unwanted(Triple(subject, *entry))]
        if len(kept) < len(entries):
            count += len(entries) - len(kept)
            properties.children = [part for entry in kept for part in (*entry, Token("SEMICOLON", ";"))][:-1]
    same_subject.children = [subject, *(part for part in rest if not (isinstance(part, Tree) and not part.children))]
    return count


def tidy(tree: ParseTree) -> None:
    """Join neighbouring triple blocks that stood around something that is gone.

    The grammar asks for a full stop between triples, so that without this the text would read otherwise.
    """
    for group in nodes(tree, "group_graph_pattern"):
        joined: list[Node] = []
        for part in group.children:
            last = joined[-1] if joined else None
            blocks = [p for p in (last, part) if isinstance(p, Tree) and p.data == "triples_block"]
            if len(blocks) == 2:
                first, second = blocks
                stop = [] if first.children[-1] == "." else [Token("DOT", ".")]
                joined[-1] = Tree("triples_block", [*first.children, *stop, *second.children], first.meta)
            else:
                joined.append(part)
        group.children = joined


def is_list(node: Node) -> bool:
    """Whether a node is a property list."""
    return isinstance(node, Tree) and node.data in _LISTS
