"""Rewrite dates and times, which Blazegraph reads more leniently than SPARQL.

* ``"2020-01-01"^^xsd:dateTime`` is midnight
* an ``xsd:date`` is compared with a time as its midnight
* a difference of times is a number of days
"""

from __future__ import annotations

import re

from lark import Token, Tree

from kbkit.schema import KB_NAMESPACE, Wikibase
from kbkit.sparql.context import Context, string
from kbkit.sparql.parse import expression
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, is_variable, nodes, pairs, replace

_XSD = Wikibase.PREFIXES["xsd"]
_DATE = re.compile(r"([-+]?\d{4,})(?:-(\d\d)(?:-(\d\d))?)?(?:T(\d\d:\d\d:\d\d(?:\.\d+)?))?(Z|[-+]\d\d:\d\d)?")
_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
_SELECTING = ("IF", "COALESCE", "MAX", "MIN", "SAMPLE")
"""Functions and aggregates whose result is one of their arguments."""
_NUMERIC = ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "STRLEN", "ABS", "CEIL", "FLOOR", "ROUND", "RAND")
_NUMERIC_AGGREGATES = ("COUNT", "SUM", "AVG")
_NUMERIC_CASTS = tuple(_XSD + name for name in ("integer", "decimal", "double", "float", "int", "long"))
_DURATIONS = tuple(_XSD + name for name in ("duration", "dayTimeDuration", "yearMonthDuration"))


def complete_literal(literal: ParseTree, context: Context) -> Node:
    """Complete ``"2020-01-01"^^xsd:dateTime``; months and days of 0, as Wikibase writes them, become 1."""
    words = literal.children
    if len(words) == 3 and context.is_iri(words[2], _XSD + "dateTime") and isinstance(words[0], Token):
        time = complete(string(words[0]))
        if time is not None:
            context.note(f'Read {words[0]} as "{time}": it is not a valid xsd:dateTime')
            return Tree("rdf_literal", [Token("STRING", f'"{time}"'), *words[1:]], literal.meta)
    return literal


def complete(text: str) -> str | None:
    """Return a date as a date with time, or None if it is complete or not a date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, time, zone = match.groups()
    month, day = (part if part not in (None, "00") else "01" for part in (month, day))
    full = f"{year.removeprefix('+')}-{month}-{day}T{time or '00:00:00'}{zone or ('' if time else 'Z')}"
    return full if full != text else None


def calculate(tree: ParseTree, context: Context) -> None:
    """Compare dates as times, and return differences of times in days."""
    kinds = _Kinds(tree, context)

    def change(node: Node) -> Node:
        if not isinstance(node, Tree):
            return node
        if node.data == "relational_expression" and node.children[1] in _COMPARISONS:
            left, sign, right = node.children
            if kinds.is_date(left) or kinds.is_date(right):
                node.children = [_as_time(left, kinds, context), sign, _as_time(right, kinds, context)]
        if node.data == "additive_expression":
            return _days(node, kinds, context)
        return node

    replace(tree, change)


def _as_time(node: Node, kinds: _Kinds, context: Context) -> Node:
    """Turn a date into a time: all dates of Wikidata are times."""
    if not kinds.is_date(node):
        return node
    if isinstance(node, Tree) and node.data == "rdf_literal":
        word = node.children[0]
        time = complete(string(word)) if isinstance(word, Token) else None
        if time is not None:
            context.note(f"Compared {word}^^xsd:date as a time")
            kind = context.names.short(_XSD + "dateTime")
            return next(nodes(expression(f'"{time}"^^{kind}'), "rdf_literal"))
    return _call("time", to_text(node), context)


def _days(node: ParseTree, kinds: _Kinds, context: Context) -> Node:
    """Rewrite ``?a - ?b``, unless it is a number, to a number of days if it is a duration."""
    total, *addends = node.children
    at = 0
    while at < len(addends):
        sign, other = (addends[at], addends[at + 1]) if addends[at] in ("+", "-") else (None, addends[at])
        at += 1 if sign is None else 2
        if sign != "-" or kinds.is_number(total) or kinds.is_number(other) or kinds.is_duration(other):
            words = [total, other] if sign is None else [total, sign, other]
            total = Tree("additive_expression", words, node.meta)
            continue
        left, right = (to_text(_as_time(part, kinds, context)) for part in (total, other))
        context.note("Differences of times are numbers of days")
        total = _call("days", f"{left} - {right}", context)
    return total


def _call(name: str, argument: str, context: Context) -> Node:
    return next(nodes(expression(f"{context.names.short(KB_NAMESPACE + name)}({argument})"), "function_call"))


class _Kinds:
    """What is known of expressions without evaluating them: which are numbers, and which may be dates."""

    def __init__(self, tree: ParseTree, context: Context) -> None:
        self._context = context
        self._numbers: set[str] = set()
        self._dates: set[str] = set()
        values: dict[str, list[Node]] = {}
        for part in nodes(tree, "bind", "select_expression", "group_condition"):
            if len(part.children) > 3 and str(part.children[-3]).upper() == "AS":
                values.setdefault(str(part.children[-2])[1:], []).append(part.children[-4])
        for part in nodes(tree, "inline_data", "values_clause"):
            if any(self.is_date(literal) for literal in nodes(part, "rdf_literal")):
                self._dates |= {str(name)[1:] for name in part.scan_values(is_variable)}
        objects = [
            (str(value)[1:], (context.names.iri(verb) or "").startswith(Wikibase.ONTOLOGY))
            for properties in nodes(tree, "property_list_path_not_empty")
            for verb, value in pairs(properties)
            if is_variable(value)
        ]
        counts = {name for name, of_wikibase in objects if of_wikibase} - {name for name, other in objects if not other}
        self._numbers |= counts - values.keys()  # wikibase:quantityAmount, wikibase:sitelinks; no verb has times
        self._solve(values, {name for name, _ in objects})

    def _solve(self, values: dict[str, list[Node]], bound: set[str]) -> None:
        changed = True
        while changed:
            changed = False
            for name, options in values.items():
                if name not in self._dates and any(map(self.is_date, options)):
                    self._dates.add(name)
                    changed = True
                if name not in self._numbers and name not in bound and all(map(self.is_number, options)):
                    self._numbers.add(name)
                    changed = True

    def is_date(self, node: Node) -> bool:
        """Return whether an expression may be an ``xsd:date``."""
        if isinstance(node, Token):
            return is_variable(node) and str(node)[1:] in self._dates
        if node.data == "rdf_literal":
            return len(node.children) == 3 and self._context.is_iri(node.children[2], _XSD + "date")
        if node.data == "function_call":
            return self._context.is_iri(node.children[0], _XSD + "date")
        selecting = node.data in ("built_in_call", "aggregate") and str(node.children[0]).upper() in _SELECTING
        inside = selecting or node.data in ("bracketted_expression", "expression_list", "additive_expression")
        return inside and any(self.is_date(part) for part in node.children)

    def is_number(self, node: Node) -> bool:
        """Return whether an expression is a number, if it has a value."""
        if isinstance(node, Token):
            is_known = is_variable(node) and str(node)[1:] in self._numbers
            return is_known or node.type in ("NUMBER", "SIGNED_NUMBER", "INTEGER")
        if node.data == "bracketted_expression":
            return self.is_number(node.children[1])
        if node.data == "function_call":
            name = self._context.names.iri(node.children[0]) or ""
            return name in (*_NUMERIC_CASTS, KB_NAMESPACE + "days") or name.startswith(Wikibase.GEOF)
        if node.data in ("built_in_call", "aggregate"):
            return str(node.children[0]).upper() in (*_NUMERIC, *_NUMERIC_AGGREGATES)
        if node.data == "additive_expression":
            return any(self.is_number(part) for part in node.children)
        return node.data in ("multiplicative_expression", "signed_multiplicative")

    def is_duration(self, node: Node) -> bool:
        """Return whether an expression is a constant duration."""
        if not isinstance(node, Tree) or node.data != "rdf_literal" or len(node.children) != 3:
            return False
        return (self._context.names.iri(node.children[2]) or "") in _DURATIONS
