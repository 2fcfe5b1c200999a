"""Parse answer expressions; errors give the column. No schema is needed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from kbkit.answers.date_functions import DATE_FUNCTIONS, USES
from kbkit.answers.errors import FUNCTIONS, TOTALS, ExpressionError, not_whole, relation_alone
from kbkit.answers.syntax import Aggregate, Comparison, Expression, Path, PathFunction, Step, depth, subtrees

if TYPE_CHECKING:
    import lark

MAX_PARENTHESES = 100
"""Maximum nesting of parentheses, well below the recursion limit."""

MAX_DEPTH = 200
"""Maximum nesting of steps and operations."""
_STRING = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.S)
_EXPECTED = {
    "IDENTIFIER": "a type",
    "QUOTED": "a name in backticks",
    "RELATION": "a relation",
    "ARROW": "-> or <-",
    "STRING": "a text in quotes",
    "SLOT": "a <slot>",
    "NUMBER": "a number",
    "KEY": "#key",
    "OPEN": "[relation]",
    "OPERATOR": "= != < <= > or >=",
    "AT": "@set",
    "LPAR": "(",
    "RPAR": ")",
    "RSQB": "]",
    "RBRACE": "}",
    "LBRACE": "{conditions}",
    "LSQB": "[",
    "COLON": ':"name"',
    "FUNCTION": "count(path)",
    "BY": "by",
    "OF": "of",
    "PER": "per",
    "HAVING": "having",
    "ORDER": "order by",
    "LIMIT": "limit",
    "COMMA": ",",
    "MINUS": "-",
    "__ANON_0": "-",
    "VBAR": "|",
    "AMPERSAND": "&",
    "ALL": 'all("name")',
    "$END": "the end",
}
_OBVIOUS = {"QUOTED", "STAR", "TRUE", "FALSE", "INVERSE", "NOT", "CLOSURE", "NEGATION", "KEY", "COLON", "LBRACE"}
_OBVIOUS |= {"SUPERLATIVE", "TOP", "TOTAL", "ASCENDING", "DESCENDING", "NEGATION", "DATE_FUNCTION", "FRACTION"}

_LAST_WORD = re.compile(r"(?:([{,]|\b(?:max|min))\s*)?\b(\w+)$")


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Return the syntax tree of an answer expression; raise :class:`ExpressionError` with the column of a mistake."""
    if not text.strip():
        raise ExpressionError("Empty expression", 'Example: country:"France" -> [borders] -> country')
    _check_nesting(text)
    _check_unicode(text)
    import lark

    from kbkit.answers.tree_builder import parser

    try:
        tree = parser().parse(text)
    except ExpressionError as error:  # of the builder, which does not know the text
        raise ExpressionError(error.problem, *error.hints, text=text, at=error.at) from None
    except lark.exceptions.UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    assert not isinstance(tree, lark.Tree)
    return _check(text, tree)


def _check_unicode(text: str) -> None:
    for surrogate in re.finditer("[\ud800-\udfff]", text):
        raise ExpressionError("Invalid Unicode (unpaired surrogate)", text=text, at=surrogate.start())


def _check_nesting(text: str) -> None:
    level = 0
    for sign in re.finditer(r"""(?<!\S)\#[^\n]*|[()]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`""", text, re.S):
        level += {"(": 1, ")": -1}.get(sign[0], 0)
        if level > MAX_PARENTHESES:
            raise ExpressionError(
                f"More than {MAX_PARENTHESES} nested parentheses",
                "Save a part as a @set",
                text=text,
                at=sign.start(),
            )


def _check(text: str, tree: Expression) -> Expression:
    """Check the rules for paths that the grammar does not express."""
    if isinstance(tree, Step):
        raise relation_alone(tree.at, text)
    if depth(tree) > MAX_DEPTH:
        raise ExpressionError(f"More than {MAX_DEPTH} nested steps", "Save a part as a @set", text=text)
    for part in subtrees(tree):
        if isinstance(part, Path):
            _check_path(text, part)
        elif isinstance(part, PathFunction):
            _check_function(text, part)
        elif isinstance(part, Aggregate):
            _check_total(text, part)
        elif isinstance(part, Comparison) and isinstance(part.value, Aggregate):
            _check_compared(text, part.value)
    return tree


_ARGUMENTS = {"exists": (0, 0), "fraction": (0, 0), "percentage": (0, 0), "count": (0, 1), "values": (1, 1000)}
"""Smallest and largest number of attributes of a function; 1 for others."""


def _check_total(text: str, total: Aggregate) -> None:
    least, most = (0, 0) if total.op == "values" and total.groups else _ARGUMENTS.get(total.op, (1, len(total.ops)))
    if least < len(total.columns) < most == len(total.ops):
        message = f"{total.op} takes one attribute, or one each"
        raise ExpressionError(message, f"Write {total.op}(expression, attribute)", text=text, at=total.at)
    if len(total.columns) < least:
        message = f"{total.op} needs an attribute"
        raise ExpressionError(message, f"Write {total.op}(expression, attribute)", text=text, at=total.at)
    if len(total.columns) > most:
        hint = "values(expression, a, b) lists several attributes" if most else "Write exists(expression)"
        message = f"{total.op} takes {'one attribute' if most else 'no attribute'}"
        raise ExpressionError(message, hint, text=text, at=total.columns[most].at)
    if total.groups and total.op == "exists":
        hint = "Group count, values, sum, avg, min or max"
        raise ExpressionError(f"{total.op} has no groups", hint, text=text, at=total.groups[0].at)
    if total.order and total.op != "values" and not total.groups:
        message = f"{total.op} has no rows to sort"
        hint = f"Sort groups or values: {total.op}(... by attribute order by {total.op})"
        raise ExpressionError(message, hint, text=text, at=total.order[0].at)
    if total.limit is not None and not total.order:
        hint = "Write order by attribute limit n, or {top n attribute} for nodes"
        raise ExpressionError("limit needs an order", hint, text=text, at=total.at)


def _check_compared(text: str, total: Aggregate) -> None:
    is_row = len(total.columns) > 1 or len(total.ops) > 1
    if total.op == "exists" or total.groups or total.order or is_row:
        hint = "Compare with count, values, sum, avg, min or max of one attribute, without by and order by"
        raise ExpressionError("A condition compares with one value", hint, text=text, at=total.at)


def _check_steps(text: str, path: Path | PathFunction) -> None:
    previous: object = None
    for element in path.elements:
        if isinstance(element, Step) and isinstance(previous, Step):
            raise ExpressionError(
                "Two consecutive relations", "Put a type (* for any) between them", text=text, at=element.at
            )
        previous = element


def _check_function(text: str, function: PathFunction) -> None:
    _check_steps(text, function)
    last = function.elements[-1]
    if isinstance(last, Step):
        message = f"The path of {function.op} must end with nodes"
        raise ExpressionError(message, "Add a type (* for any)", text=text, at=last.at)
    for i, element in enumerate(function.elements):
        if function.arrows[i] != function.arrows[0]:
            hint = "Write [^relation] to follow a relation backward"
            raise ExpressionError(f"The path of {function.op} has one direction", hint, text=text, at=element.at)
        if isinstance(element, Step) and element.negated:
            hint = "Follow the relations that lead to the nodes"
            raise ExpressionError(f"The path of {function.op} has no [!relation]", hint, text=text, at=element.at)
    if function.op != "count" and function.attribute is None:
        message = f"{function.op} of a path needs an attribute of the nodes at its end"
        raise ExpressionError(message, f"Write {function.op}(-> type, attribute)", text=text, at=function.at)


def _check_path(text: str, path: Path) -> None:
    _check_steps(text, path)
    for end in (path.elements[0], path.elements[-1]):
        if isinstance(end, Step):
            if text[: end.at].rstrip().endswith("-"):
                raise ExpressionError("Invalid arrow", "Write a -> [r] -> b, not a -[r]-> b", text=text, at=end.at)
            raise ExpressionError(
                "A path must start and end with nodes", "Add a type (* for any)", text=text, at=end.at
            )
    turns = [i for i in range(1, len(path.arrows)) if path.arrows[i] != path.arrows[i - 1]]
    if len(turns) > 1:
        at = path.elements[turns[1]].at
        raise ExpressionError("A path may change direction only once", "Combine two paths with &", text=text, at=at)
    if turns:
        middle = path.elements[turns[0]]
        if path.arrows[0] == "<-":
            raise ExpressionError(
                "The path has two ends",
                "Arrows must meet at the answer: a -> b <- c",
                text=text,
                at=middle.at,
            )
        if isinstance(middle, Step):
            raise ExpressionError(
                "Arrows must meet at nodes", "Write a -> [r] -> type <- [r] <- b", text=text, at=middle.at
            )


def _syntax_error(text: str, error: lark.exceptions.UnexpectedInput) -> ExpressionError:
    import lark

    at = error.pos_in_stream if isinstance(error, (lark.UnexpectedCharacters, lark.UnexpectedToken)) else None
    token = getattr(error, "token", None)
    expected = set(
        getattr(error, "accepts", None) or getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    )
    if at is None or (token is not None and token.type == "$END"):
        end = len(text.rstrip())
        return ExpressionError("Unexpected end", f"Expected {_expected(expected, text)}", text=text, at=end)
    before = text[:at].rstrip()
    if "OF" in expected and text[at] in "),":
        word = re.findall(r"\b(?:fraction|percentage)\b(?=\s*\()", before)[-1]
        return ExpressionError(f"{word} needs two sets", f"Write {word}(part of whole)", text=text, at=at)
    about = _measure_error(text, at, before, expected)
    if about is not None:
        return about
    if expected == {"$END"}:  # the parser has already closed the last path
        expected = {"$END", "ARROW", "MINUS", "AMPERSAND", "VBAR"}
    if text[at] == "[" and before.endswith("-"):
        return ExpressionError("Invalid arrow", "Write a -> [r] -> b, not a -[r]-> b", text=text, at=len(before) - 1)
    unexpected = re.match(r"->|<-|\w+|.", text[at:], re.S)
    assert unexpected is not None
    hint = f"Expected {_expected(expected, before)}"
    if text[at] in "\"'":
        if not _STRING.match(text, at):
            hint = "Quotes must be closed"
        elif not expected & {"STRING", "NUMBER"}:
            hint = 'Put a type before a name: country:"France"'
        return ExpressionError(f"Unexpected {text[at : at + 12]}", hint, text=text, at=at)
    if text[at] == "[" and re.search(r"\w$", before):
        hint = "Write conditions in braces: type{attribute < 10}"
    return ExpressionError(f"Unexpected {unexpected[0]!r}", hint, text=text, at=at)


def _measure_error(text: str, at: int, before: str, expected: set[str]) -> ExpressionError | None:
    """Return the error for an incomplete superlative or measure, or a count or sum inside another expression."""
    word = _LAST_WORD.search(before)
    if word and word[1] and word[2] in ("max", "min") and text[at] in ",}":
        hint = f"Write {{{word[2]} attribute}} or {{{word[2]} count(-> type)}}"
        return ExpressionError(f"{word[2]} needs an attribute or a count", hint, text=text, at=word.start(2))
    if word and text[at] == "(" and word[1] and word[2] in FUNCTIONS:
        arguments = "{} type" if word[2] == "count" else "{} type, attribute"
        hint = f"Write {word[2]}({arguments.format('->')}) or {word[2]}({arguments.format('<-')})"
        return ExpressionError(f"The path of {word[2]} must start with an arrow", hint, text=text, at=word.start(2))
    if word and text[at] == "(" and word[2] in TOTALS:
        return not_whole(word[2], text, word.start(2))
    if word and text[at] == "(" and word[2] in DATE_FUNCTIONS:
        if expected == {"RPAR"}:
            message = "missing takes an attribute"
            return ExpressionError(message, "Write missing(date)", text=text, at=word.start(2))
        message = f"{word[2]}(...) is a value of each node, and none of a set"
        hint = f"Write values(type, {USES[word[2]]}), or type{{{USES[word[2]]} = value}}"
        return ExpressionError(message, hint, text=text, at=word.start(2))
    if word and text[at] == "(" and expected & {"OPERATOR", "RBRACE", "HAVING", "ORDER"} and not word[2].isdecimal():
        hint = f"Functions: {', '.join(USES.values())}"
        return ExpressionError(f"Unknown function {word[2]}", hint, text=text, at=word.start(2))
    total = re.match(rf"\s*({'|'.join(TOTALS)})\s*\(", text)
    return not_whole(total[1], text, total.start(1)) if total and expected == {"$END"} else None


def _expected(expected: set[str], before: str) -> str:
    """Return in words the tokens that may follow ``before``."""
    names = _EXPECTED
    if before.rstrip().endswith("@"):
        names = {**names, "IDENTIFIER": "a set name"}
    elif "STAR" not in expected:
        in_braces = before.rfind("{") > before.rfind("}")
        names = {**names, "IDENTIFIER": "an attribute"}
        names |= {"OPEN": "[values]", "LPAR": "(values)"} if in_braces else {}
    functions = {"FUNCTION"} if "NUMBER" in expected else set()  # a value is what most people mean
    selected = expected - _OBVIOUS - functions or expected
    words = sorted({names.get(name, name.lower()) for name in selected})
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1] if words else "something else"
