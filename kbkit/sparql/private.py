"""Find the types of nodes, ``kb:type``, in the graph where a KB from RDF keeps them.

Apart from the source's statements, they do not match a variable predicate, and no query counts them.
"""

from __future__ import annotations

from lark import Tree

from kbkit.sparql.context import Context
from kbkit.sparql.parse import patterns
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import ParseTree, Triple, above, drop_verbs, group, nodes, parents, put
from kbkit.stores.ntriples import KB_TYPE, TABLES_GRAPH


def find_types(tree: ParseTree, context: Context) -> None:
    """Move each triple of ``kb:type`` outside GRAPH into a pattern for the graph."""
    parent_of = parents(tree)
    for block in list(nodes(tree, "triples_block")):
        if above(block, parent_of, "graph_graph_pattern") is not None:
            continue
        types: list[str] = []

        def is_type(triple: Triple, types: list[str] = types) -> bool:
            if not context.is_iri(triple.verb, KB_TYPE) or isinstance(triple.subject, Tree):
                return False
            types.append(" ".join(map(to_text, triple)))
            return True

        around: ParseTree = group(block)
        drop_verbs(around, is_type)
        if types:
            text = f"GRAPH {context.names.short(TABLES_GRAPH)} {{ {' . '.join(types)} }}"
            rest = [part for part in around.children if isinstance(part, Tree)]
            put(parent_of[id(block)], block, *patterns(text), *rest)
            context.note("Looked up kb:type in its own graph")
