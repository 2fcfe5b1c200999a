"""Translate the terms and expressions of syntax trees into the algebra."""

from __future__ import annotations

from lark import Token, Tree

from kbkit.schema import STANDARD_PREFIXES
from kbkit.sparql.columns.algebra import (
    AggregateCall,
    ExistsCall,
    Expression,
    FunctionCall,
    Pattern,
    QueryVariable,
    Term,
)
from kbkit.sparql.columns.terms import XSD, ConstantTerm, UnsupportedQueryError, iri, literal, number
from kbkit.sparql.context import QueryPrefixes, string
from kbkit.sparql.tree import Node, ParseTree, group_of, tokens

RDF = STANDARD_PREFIXES["rdf"]


class ExpressionTranslator:
    """Translates terms and expressions; ``names`` are the prefixes in force."""

    def __init__(self, names: QueryPrefixes) -> None:
        self.names = names
        self.canonical = True
        """Whether literals are as Oxigraph stores them, or as they are written, which is right for CONSTRUCT."""
        self._blank = 0

    def group(self, tree: ParseTree) -> Pattern:
        """Translate the group of an EXISTS."""
        raise NotImplementedError

    def _fresh(self) -> QueryVariable:
        self._blank += 1
        return QueryVariable(f"_:{self._blank}")  # labels of the query are `_:b...`

    def _iri(self, node: Node) -> ConstantTerm:
        resolved = self.names.iri(node)
        if resolved is None:
            raise UnsupportedQueryError(f"the term {next(tokens(node))}")
        return iri(resolved)

    def term(self, node: Node) -> Term:
        """Return a variable or constant."""
        if isinstance(node, Tree):
            return self._term_of_tree(node)
        if node.type == "VAR":
            return variable_of(node)
        if node.type == "BLANK_NODE_LABEL":
            return QueryVariable("_:b" + str(node)[2:])
        if node.type in ("NUMBER", "SIGNED_NUMBER"):
            return number(str(node), canonical=self.canonical)
        return literal(str(node).lower(), datatype=XSD + "boolean") if node.type == "BOOLEAN" else self._iri(node)

    def _term_of_tree(self, node: ParseTree) -> Term:
        if node.data == "anon":
            return self._fresh()
        if node.data == "nil":
            return iri(RDF + "nil")
        if node.data != "rdf_literal":
            raise UnsupportedQueryError(node.data.replace("_", " "))
        text = string(_token(node.children[0]))
        if len(node.children) == 1:
            return literal(text)
        if len(node.children) == 3:
            return literal(text, datatype=self._iri(node.children[2]).text[1:], canonical=self.canonical)
        tag = str(node.children[1])[1:]
        if "--" in tag:
            raise UnsupportedQueryError("text directions")
        return literal(text, language=tag)

    def expression(self, node: Node) -> Expression:
        """Translate an expression."""
        if isinstance(node, Token) or node.data in ("rdf_literal", "nil"):
            return self.term(node)
        if node.data == "bracketted_expression":
            return self.expression(node.children[1])
        rules = {
            "conditional_or_expression": self._logic,
            "conditional_and_expression": self._logic,
            "relational_expression": self._comparison,
            "additive_expression": self._arithmetic,
            "multiplicative_expression": self._arithmetic,
            "signed_multiplicative": self._arithmetic,
            "unary_expression": self._unary,
            "aggregate": self._aggregate,
        }
        return rules.get(node.data, self._function)(node)

    def _logic(self, node: ParseTree) -> Expression:
        sign = "||" if node.data == "conditional_or_expression" else "&&"
        value, *others = [self.expression(part) for part in node.children if part != sign]
        for other in others:
            value = FunctionCall(sign, (value, other))
        return value

    def _unary(self, node: ParseTree) -> Expression:
        value = self.expression(node.children[-1])
        for sign in reversed(node.children[:-1]):
            value = FunctionCall({"!": "!", "-": "negate", "+": "plus"}[str(sign)], (value,))
        return value

    def _comparison(self, node: ParseTree) -> Expression:
        left = self.expression(node.children[0])
        words = [str(part).upper() for part in node.children[1:-1]]
        if words[-1] != "IN":
            return FunctionCall(words[0], (left, self.expression(node.children[-1])))
        listed = node.children[-1]
        assert isinstance(listed, Tree)
        call = FunctionCall("IN", (left, *self._arguments(listed)))
        return FunctionCall("!", (call,)) if words[0] == "NOT" else call

    def _arithmetic(self, node: ParseTree) -> Expression:
        parts = list(node.children)
        value = self.expression(parts.pop(0))
        while parts:
            part = parts.pop(0)
            if isinstance(part, Token) and part in ("+", "-", "*", "/"):
                value = FunctionCall(str(part), (value, self.expression(parts.pop(0))))
            else:  # `a -1` is a sum
                value = FunctionCall("+", (value, self.expression(part)))
        return value

    def _arguments(self, listed: ParseTree) -> tuple[Expression, ...]:
        parts = [part for part in listed.children if part not in ("(", ")", ",")]
        if any(isinstance(part, Token) and part.upper() == "DISTINCT" and part.type == "DISTINCT" for part in parts):
            raise UnsupportedQueryError("DISTINCT in a function call")
        return tuple(self.expression(part) for part in parts)

    def _aggregate(self, node: ParseTree) -> AggregateCall:
        name = str(node.children[0]).upper()
        inner = list(node.children[2:-1])
        distinct = isinstance(inner[0], Token) and inner[0].type == "DISTINCT"
        inner = inner[distinct:]
        argument = None if inner[0] == "*" else self.expression(inner[0])
        separator = " "
        if len(inner) > 1:
            word = inner[-1]
            assert isinstance(word, Token)
            separator = string(word)
        return AggregateCall(name, argument, distinct, separator)

    def _function(self, node: ParseTree) -> Expression:
        if node.data == "function_call":
            called, listed = node.children
            assert isinstance(listed, Tree)
            return FunctionCall(f"<{self._iri(called).text[1:]}>", self._arguments(listed))
        if node.data != "built_in_call":
            raise UnsupportedQueryError(str(node.data).replace("_", " "))
        first = node.children[0]
        if isinstance(first, Tree):  # EXISTS
            return ExistsCall(self.group(group_of(first)), negated=first.data == "not_exists_func")
        name = str(first).upper()
        if len(node.children) == 2 and isinstance(node.children[1], Tree):
            return FunctionCall(name, self._arguments(node.children[1]))
        parts = [part for part in node.children[1:] if part not in ("(", ")", ",")]
        return FunctionCall(name, tuple(self.expression(part) for part in parts))


def variable_of(node: Node) -> QueryVariable:
    """Return the variable of a token."""
    assert isinstance(node, Token)
    return QueryVariable(str(node)[1:])


def _token(node: Node) -> Token:
    assert isinstance(node, Token)
    return node
