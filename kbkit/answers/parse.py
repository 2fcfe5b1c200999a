"""Parse answer expressions; errors give the column. No schema is needed."""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from pathlib import Path as File
from typing import Any

import lark

from kbkit.answers.syntax import (
    Combine,
    Condition,
    Edge,
    Expression,
    Filter,
    Key,
    Name,
    Nodes,
    Path,
    SavedSet,
    Slot,
    Step,
    depth,
    subtrees,
)
from kbkit.errors import KbError, Part

MAX_PARENTHESES = 100
"""Maximum nesting of parentheses, well below the recursion limit."""

MAX_DEPTH = 200
"""Maximum nesting of steps and operations."""
_MAX_DIGITS = 60
_ARROWS = {"→": "->", "←": "<-"}
_STRING = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.S)
_ESCAPE = re.compile(r"\\(.)", re.S)
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
    "COMMA": ",",
    "MINUS": "-",
    "__ANON_0": "-",
    "VBAR": "|",
    "AMPERSAND": "&",
    "ALL": 'all("name")',
    "$END": "the end",
}
_OBVIOUS = {"QUOTED", "STAR", "TRUE", "FALSE", "INVERSE", "NOT", "CLOSURE", "NEGATION", "KEY", "COLON", "LBRACE"}


class ExpressionError(KbError):
    """An answer expression with a syntax error, or one that does not fit the KB; ``at`` is the position from 0."""

    def __init__(self, message: str, *hints: Part, text: str = "", at: int = 0) -> None:
        super().__init__(f"{position(text, at)}: {' '.join(message.split())}", *hints)
        self.problem, self.at = message, at


def position(text: str, at: int) -> str:
    """Return ``Column 7``, or ``Line 2, column 3`` if the text has several lines."""
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    return f"Line {line}, column {column}" if "\n" in text.strip() else f"Column {column}"


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Return the syntax tree of an answer expression; raise :class:`ExpressionError` with the column of a mistake."""
    if not text.strip():
        raise ExpressionError("Empty expression", 'Example: country:"France" -> [borders] -> country')
    _check_nesting(text)
    _check_unicode(text)
    try:
        tree = _parser().parse(text)
    except ExpressionError as error:  # of the builder, which does not know the text
        raise ExpressionError(error.problem, *error.hints, text=text, at=error.at) from None
    except lark.exceptions.UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    assert not isinstance(tree, lark.Tree)
    return _check(text, tree)


@cache
def _parser() -> lark.Lark:
    grammar = File(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", transformer=_Builder(), maybe_placeholders=True)


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
        raise _relation_alone(tree.at, text)
    if depth(tree) > MAX_DEPTH:
        raise ExpressionError(f"More than {MAX_DEPTH} nested steps", "Save a part as a @set", text=text)
    for part in subtrees(tree):
        if isinstance(part, Path):
            _check_path(text, part)
    return tree


def _relation_alone(at: int, text: str = "") -> ExpressionError:
    return ExpressionError("A relation is not a set of nodes", "Write type -> [relation] -> type", text=text, at=at)


def _check_path(text: str, path: Path) -> None:
    previous: object = None
    for element in path.elements:
        if isinstance(element, Step) and isinstance(previous, Step):
            raise ExpressionError(
                "Two consecutive relations", "Put a type (* for any) between them", text=text, at=element.at
            )
        previous = element
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
    at = error.pos_in_stream if isinstance(error, (lark.UnexpectedCharacters, lark.UnexpectedToken)) else None
    token = getattr(error, "token", None)
    expected = set(
        getattr(error, "accepts", None) or getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    )
    if at is None or (token is not None and token.type == "$END"):
        end = len(text.rstrip())
        return ExpressionError("Unexpected end", f"Expected {_expected(expected, text)}", text=text, at=end)
    before = text[:at].rstrip()
    if text[at] == "[" and before.endswith("-"):
        return ExpressionError("Invalid arrow", "Write a -> [r] -> b, not a -[r]-> b", text=text, at=len(before) - 1)
    found = re.match(r"->|<-|\w+|.", text[at:], re.S)
    assert found is not None
    hint = f"Expected {_expected(expected, before)}"
    if text[at] in "\"'":
        if not _STRING.match(text, at):
            hint = "Quotes must be closed"
        elif "STRING" not in expected:
            hint = 'Put a type before a name: country:"France"'
        return ExpressionError(f"Unexpected {text[at : at + 12]}", hint, text=text, at=at)
    return ExpressionError(f"Unexpected {found[0]!r}", hint, text=text, at=at)


def _expected(expected: set[str], before: str) -> str:
    """Return in words the tokens that may follow ``before``."""
    names = _EXPECTED
    if before.rstrip().endswith("@"):
        names = {**names, "IDENTIFIER": "a set name"}
    elif before.rfind("{") > before.rfind("}"):
        names = {**names, "IDENTIFIER": "an attribute", "OPEN": "[values]", "LPAR": "(values)"}
    selected = expected - _OBVIOUS or expected
    words = sorted({names.get(name, name.lower()) for name in selected})
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1] if words else "something else"


def _unquote(text: str) -> str:
    return _ESCAPE.sub(lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), text[1:-1])


def _plain(token: lark.Token) -> str:
    text = str(token)
    return text[1:-1].replace("``", "`") if token.type == "QUOTED" else text


class _Builder(lark.Transformer[lark.Token, Any]):
    """Builds the tree during parsing."""

    def union(self, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else Combine("|", tuple(map(_set, parts)))

    def intersection(self, parts: list[Expression]) -> Expression:
        return Combine("&", tuple(map(_set, parts)))

    def difference(self, parts: list[Expression]) -> Expression:
        return Combine("-", tuple(map(_set, parts)))

    def path(self, parts: list[Any]) -> Path:
        arrows = tuple(_ARROWS.get(str(arrow), str(arrow)) for arrow in parts[1::2])
        return Path(tuple(parts[::2]), arrows)

    def group(self, parts: list[Expression]) -> Expression:
        found: Expression = _set(parts[0])
        return found

    def where(self, parts: list[Any]) -> Filter:
        return Filter(parts[0], tuple(parts[1:]))

    def type(self, parts: list[lark.Token]) -> lark.Token:
        return parts[0]

    def attribute(self, parts: list[lark.Token]) -> lark.Token:
        return parts[0]

    def name(self, parts: list[lark.Token]) -> Name:
        return Name(_unquote(parts[0]))

    def every(self, parts: list[lark.Token]) -> Name:
        return Name(_unquote(parts[0]), all=True)

    def nodes(self, parts: list[Any]) -> Nodes:
        token, *selectors = parts
        selector = next((s for s in selectors if s is not None), None)
        if isinstance(selector, lark.Token):
            text = str(selector)
            key = _unquote(text[1:]) if text[1] == '"' else text[1:]
            selector = _slot(selector) if selector.type == "SLOT" else Key(key)
        return Nodes(None if token.type == "STAR" else _plain(token), selector, token.start_pos or 0)

    def saved(self, parts: list[lark.Token]) -> SavedSet:
        return SavedSet(_plain(parts[1]), parts[0].start_pos or 0)

    def step(self, parts: list[Any]) -> Step:
        return Step(tuple(parts[2:]), parts[1] is not None, parts[0].start_pos)

    def edge(self, parts: list[lark.Token | None]) -> Edge:
        inverse, name, closure = parts
        assert name is not None
        return Edge(_plain(name), inverse is not None, str(closure or ""), name.start_pos or 0)

    def compare(self, parts: list[Any]) -> Condition:
        attribute, op, *values = parts
        found = tuple(v if not isinstance(v, lark.Token) else _constant(v) for v in values if v is not None)
        return Condition(_plain(attribute), str(op), found, at=attribute.start_pos)

    def missing(self, parts: list[Any]) -> Condition:
        negation, _, attribute = parts
        return Condition(_plain(attribute), "missing", (), negation is not None, attribute.start_pos)

    def value(self, parts: list[lark.Token]) -> Any:
        return _constant(parts[0])


def _set(part: Any) -> Any:
    if isinstance(part, Step):
        raise _relation_alone(part.at)
    return part


def _constant(token: lark.Token) -> str | int | float | bool | Slot:
    text = str(token)
    if token.type == "STRING":
        return _unquote(text)
    if token.type == "SLOT":
        return _slot(token)
    if token.type in ("TRUE", "FALSE"):
        return token.type == "TRUE"
    if len(text) > _MAX_DIGITS or not math.isfinite(float(text)):
        raise ExpressionError("Number too large", at=token.start_pos or 0)
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def _slot(token: lark.Token) -> Slot:
    return Slot(str(token)[1:-1].strip())
