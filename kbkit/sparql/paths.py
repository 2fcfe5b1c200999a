"""Evaluate property paths with a constant object from that object: ``?x wdt:P31/wdt:P279* wd:Q5``.

Oxigraph evaluates such a path from all ``wdt:P31`` statements. The trailing closure, ``?class wdt:P279* wd:Q5``,
becomes a subquery: a few nodes, quickly found from the constant, then joined by hash. This costs at most the time to
find those nodes, even if another pattern makes ``?x`` selective. In that case the same path split or reversed without
a subquery can be a thousand times slower.

The rows and their multiplicity are unchanged: a closure returns each pair of nodes once, and a sequence is a join.
"""

from __future__ import annotations

from lark import Token, Tree

from kbkit.sparql.context import Context
from kbkit.sparql.parse import patterns
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import (
    QUERIES,
    Node,
    ParseTree,
    above,
    child,
    index,
    is_in_exists,
    is_list,
    nodes,
    parents,
    projected,
    query_of,
    tokens,
)

_CONSTANTS = ("IRIREF", "PNAME_LN", "PNAME_NS")


def split_closures(tree: ParseTree, context: Context) -> None:
    """Split each path that ends in a closure with a constant object.

    Paths in EXISTS and OPTIONAL are unchanged: the engine evaluates them row by row.
    """
    parent_of = parents(tree)
    shows_all = {id(query) for query in nodes(tree, *QUERIES) if _shows_all(query)}
    labels = {id(block): block_labels for block in nodes(tree, "triples_block") if (block_labels := _labels(block))}
    for properties in list(nodes(tree, "property_list_path_not_empty")):
        if (
            _is_row_by_row(properties, parent_of)
            or above(properties, parent_of, "graph_graph_pattern") is not None  # a subquery would lose the graph
            or id(query_of(properties, parent_of)) in shows_all
            or not _starts_open(properties, parent_of)
        ):
            continue
        for at, verb in enumerate(properties.children):
            if not isinstance(verb, Tree) or is_list(verb) or verb.data == "object_list_path":
                continue
            parts = steps(verb)
            cut = _cut(parts)
            objects = properties.children[at + 1]
            assert isinstance(objects, Tree)
            if 0 < cut < len(parts) and all(_is_constant(value) for value in objects.children if value != ","):
                _prepend(properties, _split(properties, at, parts, cut, context, parent_of), parent_of, labels)
                context.note(f"Evaluated the end of {to_text(verb)} first")


def _is_row_by_row(properties: ParseTree, parent_of: dict[int, ParseTree]) -> bool:
    around = above(properties, parent_of, "optional_graph_pattern", "minus_graph_pattern", *QUERIES)
    return (around is not None and around.data == "optional_graph_pattern") or is_in_exists(properties, parent_of)


def _shows_all(query: ParseTree) -> bool:
    """Return whether a new variable would be projected: by DESCRIBE *, or a SELECT * without columns to list."""
    clause = query if query.data == "describe_query" else child(query, "select_clause")
    return clause is not None and "*" in clause.children and (query is clause or not projected(query))


def _starts_open(properties: ParseTree, parent_of: dict[int, ParseTree]) -> bool:
    """Return whether the subject is a variable or blank node; from a constant, the engine starts at the right end."""
    parent = parent_of[id(properties)]
    subject = parent.children[0]
    return isinstance(subject, Tree) or subject == "[" or subject.type in ("VAR", "BLANK_NODE_LABEL")


def steps(path: Node) -> list[Node]:
    """Return the steps of a sequence path, brackets removed."""
    while isinstance(path, Tree) and path.data == "path_group":
        path = path.children[1]
    if isinstance(path, Tree) and path.data == "path_sequence":
        return [step for part in path.children if part != "/" for step in steps(part)]
    return [path]


def _cut(parts: list[Node]) -> int:
    """Return the position of the first trailing closure (the number of steps: none)."""
    cut = len(parts)
    while cut and any(token in ("*", "+") for token in tokens(parts[cut - 1])):
        cut -= 1
    return cut


def _is_constant(value: Node) -> bool:
    return (isinstance(value, Token) and value.type in _CONSTANTS) or (
        isinstance(value, Tree) and value.data == "rdf_literal"
    )


def _split(
    properties: ParseTree, at: int, parts: list[Node], cut: int, context: Context, parent_of: dict[int, ParseTree]
) -> list[Node]:
    """Change ``?x first/rest* C`` to ``?x first ?y``; return ``{ SELECT ?y WHERE { ?y rest* C } }``."""
    objects = properties.children[at + 1]
    assert isinstance(objects, Tree)
    values = [value for value in objects.children if value != ","]
    ends = [context.variable("class" if to_text(parts[cut]).startswith("wdt:P279") else "end") for _ in values]
    closure = "/".join(grouped(step) for step in parts[cut:])
    first = "/".join(grouped(step) for step in parts[:cut])
    block = patterns(f"?x {first} {', '.join(ends)} .")[0]
    verb = next(p for p in nodes(block, "property_list_path_not_empty")).children
    properties.children[at : at + 2] = verb[:2]
    for part in verb[:2]:
        if isinstance(part, Tree):
            parent_of[id(part)] = properties
    return [
        part
        for end, value in zip(ends, values, strict=True)
        for part in patterns(f"{{ SELECT {end} WHERE {{ {end} {closure} {to_text(value)} . }} }}")
    ]


def grouped(step: Node) -> str:
    """Return a step as text, in brackets if a sequence needs them."""
    text = to_text(step)
    return f"({text})" if isinstance(step, Tree) and step.data == "path_alternative" else text


def _prepend(
    properties: ParseTree, new: list[Node], parent_of: dict[int, ParseTree], labels: dict[int, set[str]]
) -> None:
    """Insert patterns before the block of ``properties``; ``labels`` are the blank nodes of each block.

    A pattern ends the scope of blank node labels: if an earlier block shares a label with a later one, insert before
    that block.
    """
    block = above(properties, parent_of, "triples_block")
    assert block is not None
    group = parent_of[id(block)]
    position = index(group, block)
    after = {label for part in group.children[position:] for label in labels.get(id(part), ())} if labels else set()
    if after:
        shared = (at for at, part in enumerate(group.children[:position]) if labels.get(id(part), set()) & after)
        position = next(shared, position)
    group.children[position:position] = new


def _labels(block: ParseTree) -> set[str]:
    return {str(token) for token in tokens(block) if token.type == "BLANK_NODE_LABEL"}
