"""Property paths that engines run from the wrong end, turned round: ``?x wdt:P31/wdt:P279* wd:Q5``.

Oxigraph runs such a path from every ``wdt:P31`` statement there is. The part of it that is a closure towards the
constant, ``?class wdt:P279* wd:Q5``, becomes a sub-select: a few nodes, found from the constant in no time and joined
by hash. A sub-select is never worse by more than the time of finding those nodes, also where ``?x`` is bound by
something selective; the same path as a plain pattern, split or reversed, can be a thousand times worse in that case.

The rows and their number stay: a closure gives each pair of nodes once, and steps in sequence are a join.
"""

from __future__ import annotations

from lark import Token, Tree

from kbkit.sparql.context import Context
from kbkit.sparql.parse import patterns
from kbkit.sparql.patterns import above, is_in_exists, is_list, parents, query_of
from kbkit.sparql.printing import to_text
from kbkit.sparql.scope import QUERIES, projected
from kbkit.sparql.tree import Node, ParseTree, child, nodes, tokens

_CONSTANTS = ("IRIREF", "PNAME_LN", "PNAME_NS")


def turn_round(tree: ParseTree, context: Context) -> ParseTree:
    """Split each path that ends in a closure towards a constant.

    Paths in EXISTS and OPTIONAL stay: the engine asks them row by row.
    """
    parent_of = parents(tree)
    shows_all = {id(query) for query in nodes(tree, *QUERIES) if _shows_all(query)}
    labels = {id(block): found for block in nodes(tree, "triples_block") if (found := _labels(block))}
    for properties in list(nodes(tree, "property_list_path_not_empty")):
        if (
            _is_row_by_row(properties, parent_of)
            or above(properties, parent_of, "graph_graph_pattern") is not None  # a sub-select would lose the graph
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
                context.note(f"{to_text(verb)} is walked from its end")
    return tree


def _is_row_by_row(properties: ParseTree, parent_of: dict[int, ParseTree]) -> bool:
    around = above(properties, parent_of, "optional_graph_pattern", "minus_graph_pattern", *QUERIES)
    return (around is not None and around.data == "optional_graph_pattern") or is_in_exists(properties, parent_of)


def _shows_all(query: ParseTree) -> bool:
    """Whether a variable more would be shown: by DESCRIBE *, and by a SELECT * that has no columns to write out."""
    clause = query if query.data == "describe_query" else child(query, "select_clause")
    return clause is not None and "*" in clause.children and (query is clause or not projected(query))


def _starts_open(properties: ParseTree, parent_of: dict[int, ParseTree]) -> bool:
    """Whether the subject is a variable or blank node: from a constant, the engine starts at the right end."""
    parent = parent_of[id(properties)]
    subject = parent.children[0]
    return isinstance(subject, Tree) or subject == "[" or subject.type in ("VAR", "BLANK_NODE_LABEL")


def steps(path: Node) -> list[Node]:
    """The steps of a path in sequence, those in brackets too."""
    while isinstance(path, Tree) and path.data == "path_group":
        path = path.children[1]
    if isinstance(path, Tree) and path.data == "path_sequence":
        return [step for part in path.children if part != "/" for step in steps(part)]
    return [path]


def _cut(parts: list[Node]) -> int:
    """Where the closures at the end begin; the number of steps where there are none."""
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
    """``?x first/rest* C`` becomes ``?x first ?y``; what goes before it: ``{ SELECT ?y WHERE { ?y rest* C } }``."""
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
    """A step as text that can stand in a sequence."""
    text = to_text(step)
    return f"({text})" if isinstance(step, Tree) and step.data == "path_alternative" else text


def _prepend(
    properties: ParseTree, new: list[Node], parent_of: dict[int, ParseTree], labels: dict[int, set[str]]
) -> None:
    """Put patterns before the block that holds ``properties``; ``labels`` are those of each block that has any.

    A pattern ends the reach of blank node names: where an earlier block shares one with what follows, it goes before
    that.
    """
    block = above(properties, parent_of, "triples_block")
    assert block is not None
    group = parent_of[id(block)]
    place = next(i for i, part in enumerate(group.children) if part is block)
    after = {label for part in group.children[place:] for label in labels.get(id(part), ())} if labels else set()
    if after:
        shared = (at for at, part in enumerate(group.children[:place]) if labels.get(id(part), set()) & after)
        place = next(shared, place)
    group.children[place:place] = new


def _labels(block: ParseTree) -> set[str]:
    return {str(token) for token in tokens(block) if token.type == "BLANK_NODE_LABEL"}
