"""What Blazegraph takes and SPARQL 1.1 engines do not, said so that they do."""

from __future__ import annotations

import re

from lark import Token, Tree

from kbkit.schema import Wikibase
from kbkit.sparql import services
from kbkit.sparql.context import Context
from kbkit.sparql.names import string
from kbkit.sparql.parse import expression
from kbkit.sparql.patterns import pairs
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes, replace, tokens, variables

_XSD = Wikibase.PREFIXES["xsd"]
_DATE = re.compile(r"([-+]?\d{4,})(?:-(\d\d)(?:-(\d\d))?)?(?:T(\d\d:\d\d:\d\d(?:\.\d+)?))?(Z|[-+]\d\d:\d\d)?")
_COMPARED = ("=", "!=", "<", ">", "<=", ">=")
MOST_LETTERS = 2000
"""Arguments that would have to be written several times are refused beyond this: nested, they grow without bound."""


def terms(tree: ParseTree, context: Context) -> ParseTree:
    """Words and terms: ``TRUE``, times that are only dates, ``:a`` for ``_:a``, Wikibase's own functions."""
    blank = {str(token)[2:] for token in tokens(tree) if token.type == "BLANK_NODE_LABEL"}

    def change(node: Node) -> Node:
        if isinstance(node, Tree):
            return {"rdf_literal": _time, "function_call": _function, "built_in_call": _is_blank}.get(node.data, _same)(
                node, context
            )
        if node.type == "BOOLEAN" and node != node.lower():
            return Token("BOOLEAN", node.lower())
        if node.type == "PNAME_LN" and node.startswith(":") and "" not in context.names.all and node[1:] in blank:
            context.note(f"{node} read as the blank node _{node}: the prefix : is declared nowhere")
            return Token("BLANK_NODE_LABEL", "_" + node)
        return node

    replace(tree, change)
    return tree


def _same(node: ParseTree, _context: Context) -> Node:
    return node


def _time(literal: ParseTree, context: Context) -> Node:
    """``"2020-01-01"^^xsd:dateTime`` with its time, and months and days of 0 as Wikibase writes them, 1."""
    words = literal.children
    if len(words) == 3 and context.is_iri(words[2], _XSD + "dateTime") and isinstance(words[0], Token):
        whole = _whole(string(words[0]))
        if whole is not None:
            context.note(f'{words[0]} is no xsd:dateTime: read as "{whole}"')
            return Tree("rdf_literal", [Token("STRING", f'"{whole}"'), *words[1:]], literal.meta)
    return literal


def _whole(text: str) -> str | None:
    """A date as a date with time; None where nothing is missing or it is no date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, time, zone = match.groups()
    month, day = (part if part not in (None, "00") else "01" for part in (month, day))
    whole = f"{year.removeprefix('+')}-{month}-{day}T{time or '00:00:00'}{zone or ('' if time else 'Z')}"
    return whole if whole != text else None


def _function(call: ParseTree, context: Context) -> Node:
    """``wikibase:isSomeValue(?x)`` and casts of dates without a time."""
    arguments = call.children[1]
    assert isinstance(arguments, Tree)
    values = [value for value in arguments.children if value not in ("(", ")", ",")]
    if context.is_iri(call.children[0], Wikibase.ONTOLOGY + "isSomeValue") and len(values) == 1:
        context.note("wikibase:isSomeValue() tests for Wikidata's IRIs of unknown values")
        return expression(_is_unknown(_repeatable(values[0], call)))
    if context.is_iri(call.children[0], _XSD + "dateTime") and len(values) == 1:
        value = values[0]
        if isinstance(value, Tree) and value.data == "rdf_literal" and len(value.children) == 1:
            assert isinstance(value.children[0], Token)
            whole = _whole(string(value.children[0]))
            if whole is not None:
                context.note(f'{value.children[0]} is no xsd:dateTime: read as "{whole}"')
                value.children[0] = Token("STRING", f'"{whole}"')
    return call


def _is_blank(call: ParseTree, context: Context) -> Node:
    """``isBLANK(?x)``: unknown values are blank nodes in Wikibase's model, and IRIs in the query service."""
    if not isinstance(call.children[0], Token) or call.children[0].upper() != "ISBLANK":
        return call
    context.note("isBLANK() is true of Wikidata's IRIs of unknown values too")
    text = _repeatable(call.children[2], call)
    return expression(f"ISBLANK({text}) || {_is_unknown(text)}")


def _repeatable(value: Node, whole: ParseTree) -> str:
    """An operand's text, which is written more than once in place of ``whole``."""
    text = to_text(value)
    if len(text) > MOST_LETTERS:
        services.refuse(whole, f"an expression of over {MOST_LETTERS} letters is tested as one value", "BIND it first")
    return text


def _is_unknown(text: str) -> str:
    return f'ISIRI({text}) && STRSTARTS(STR({text}), "{Wikibase.GENID}")'


def dates(tree: ParseTree, context: Context) -> ParseTree:
    """Comparisons with ``xsd:date``, and the difference of two times, which Blazegraph counts in days."""
    objects = {
        str(value)[1:]
        for properties in nodes(tree, "property_list_path_not_empty")
        for verb, value in pairs(properties)
        if not (context.names.iri(verb) or "").startswith(Wikibase.ONTOLOGY + "quantity")
    }

    def change(node: Node) -> Node:
        if not isinstance(node, Tree):
            return node
        if node.data == "relational_expression" and node.children[1] in _COMPARED:
            left, sign, right = node.children
            if _may_be_time(left, objects, context):
                node.children = [left, sign, _as_time(right, context)]
            elif _may_be_time(right, objects, context):
                node.children = [_as_time(left, context), sign, right]
        if node.data == "additive_expression" and len(node.children) == 3 and node.children[1] == "-":
            return _days(node, objects, context)
        return node

    replace(tree, change)
    return tree


def _as_time(node: Node, context: Context) -> Node:
    """A constant date as a time: all of Wikidata's dates are."""
    if isinstance(node, Tree) and node.data == "rdf_literal" and len(node.children) == 3:
        word = node.children[0]
        if context.is_iri(node.children[2], _XSD + "date") and isinstance(word, Token):
            whole = _whole(string(word))
            if whole is not None:
                context.note(f"{word}^^xsd:date compared as a time")
                kind = context.names.short(_XSD + "dateTime")
                return next(nodes(expression(f'"{whole}"^^{kind}'), "rdf_literal"))
    return node


def _days(node: ParseTree, objects: set[str], context: Context) -> Node:
    """``?a - ?b`` as a number of days where it is a duration."""
    left, _, right = node.children
    if not (_may_be_time(left, objects, context) and _may_be_time(right, objects, context)):
        return node
    text = _repeatable(node, node)
    context.note(f"{text}: the difference of two times counts days")
    duration, decimal = (context.names.short(_XSD + name) for name in ("dayTimeDuration", "decimal"))
    days = f'COALESCE({decimal}(REPLACE(STR({text}), "T.*$|[PD]", "")), 0)'  # P5DT3H, -P5D, PT0S
    return expression(f"IF(DATATYPE({text}) = {duration}, {days}, {text})")


def _may_be_time(node: Node, objects: set[str], context: Context) -> bool:
    while isinstance(node, Tree) and node.data == "bracketted_expression":
        node = node.children[1]
    if isinstance(node, Token):
        return node.type == "VAR" and str(node)[1:] in objects
    if node.data == "built_in_call":
        return str(node.children[0]).upper() == "NOW"
    return node.data == "function_call" and context.is_iri(node.children[0], _XSD + "dateTime")


def columns(tree: ParseTree, context: Context) -> ParseTree:
    """A column that is named twice in SELECT, once."""
    for clause in nodes(tree, "select_clause"):
        seen: set[str] = set()
        kept = []
        for part in clause.children:
            name = str(part)[1:] if isinstance(part, Token) and part.type == "VAR" else ""
            if name and name in seen:
                context.note(f"?{name} named once")
                continue
            seen.add(name)
            kept.append(part)
        clause.children = kept
    return tree


def having(tree: ParseTree, context: Context) -> ParseTree:
    """HAVING over a column that SELECT computes: with what it computes in its place."""
    for query in nodes(tree, "select_query", "sub_select"):
        clause, modifier = child(query, "select_clause"), child(query, "solution_modifier")
        assert clause is not None and modifier is not None
        computed = {str(part.children[-2])[1:]: part.children[1] for part in children(clause, "select_expression")}
        for condition in children(modifier, "having_clause"):
            inner = nodes(condition, "aggregate", "exists_func", "not_exists_func")
            below = {name for part in inner for name in variables(part)}  # there, the name is the pattern's
            used = sorted((variables(condition) & set(computed)) - below)
            if used:
                _put_in(condition, {name: computed[name] for name in used})
                context.note("HAVING computes " + ", ".join(f"?{name}" for name in used) + " itself")
    return tree


def _put_in(condition: ParseTree, computed: dict[str, Node]) -> None:
    def change(node: Node) -> Node:
        if isinstance(node, Token) and node.type == "VAR" and str(node)[1:] in computed:
            return expression(to_text(computed[str(node)[1:]]))
        return node

    replace(condition, change)
