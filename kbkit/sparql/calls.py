"""Read the calls of a ``SERVICE``: their name, parameters and triples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lark import Token, Tree

from kbkit.schema import Wikibase
from kbkit.sparql.context import Context, string
from kbkit.sparql.parse import refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, Triple, group_of, nodes, triples

PARAMETER = Wikibase.BLAZEGRAPH + "serviceParam"


def of(tree: ParseTree, context: Context, *iris: str) -> list[ParseTree]:
    """Return the calls of these services in text order."""
    return [node for node in nodes(tree, "service_graph_pattern") if context.names.iri(name_of(node)) in iris]


def name_of(service: ParseTree) -> Node:
    """Return the IRI or variable of a service, as written."""
    return service.children[-2]


def parameters(service: ParseTree, context: Context) -> tuple[list[tuple[str, Node]], list[Triple]]:
    """Return the ``bd:serviceParam`` parameters as (IRI, value), and the other triples of a service."""
    name = str(name_of(service))
    others = [
        part
        for part in group_of(service).children
        if part not in ("{", "}", ".") and not (isinstance(part, Tree) and part.data == "triples_block")
    ]
    if others:
        refuse(service, f"SERVICE {name} contains more than triples", "Move the rest out of it")
    values, rest = [], []
    for triple in triples(group_of(service)):
        if context.is_iri(triple.subject, PARAMETER):
            iri = context.names.iri(triple.verb)
            if iri is None:
                refuse(
                    service, f"A parameter of SERVICE {name} is not an IRI", "Write bd:serviceParam wikibase:radius 5"
                )
            values.append((iri, triple.object))
        else:
            rest.append(triple)
    return values, rest


def constant(node: Node) -> str | None:
    """Return the text of a string or number, or None for any other node."""
    if isinstance(node, Tree) and node.data == "rdf_literal":
        token = node.children[0]
        assert isinstance(token, Token)
        return string(token)
    if isinstance(node, Token) and node.type in ("NUMBER", "SIGNED_NUMBER"):
        return str(node)
    return None


def variable(node: Node) -> str:
    """Return a term as text; ``$x`` is written ``?x``."""
    return "?" + node[1:] if isinstance(node, Token) and node.type == "VAR" else str(node)


def number(service: ParseTree, node: Node, what: str) -> int:
    """Return the value of a constant whole number, or refuse the service; ``what`` names the parameter."""
    text = constant(node) or ""
    if not (text.isascii() and text.isdigit() and len(text) < 18):
        refuse(service, f"Invalid {what} {to_text(node)}", "Use a whole number")
    return int(text)


def values(names: Sequence[str], rows: Iterable[Sequence[Token]]) -> ParseTree:
    """Return ``VALUES (?a ?b) { (1 2) }``, built without the parser, which is slow for thousands of rows."""
    left, right = Token("LPAR", "("), Token("RPAR", ")")
    block: list[Node] = [left, *(Token("VAR", name) for name in names), right, Token("LBRACE", "{")]
    block += [Tree("data_row", [left, *row, right]) for row in rows]
    return Tree("inline_data", [Token("VALUES", "VALUES"), Tree("inline_data_full", [*block, Token("RBRACE", "}")])])


def iri_token(iri: str) -> Token:
    """Return an IRI in angle brackets."""
    return Token("IRIREF", f"<{iri}>")


def number_token(value: float) -> Token:
    """Return a number that is not negative."""
    return Token("NUMBER", str(value) if isinstance(value, int) else f"{value:.6f}")


UNDEF = Token("UNDEF", "UNDEF")
