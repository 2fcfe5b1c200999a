"""The lexer of answer expressions, for highlighting and completion: it accepts any text, finished or not.

``grammar.lark`` defines the same terminals for the parser, which stops at the first error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbkit.answers.errors import TOTALS
from kbkit.stores.sparql_text import Token

_TEST = r"""(?:[^{}"'`]|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|`(?:[^`]|``)*+`)*+"""
"""The conditions on the edges of a step, without their braces."""
_OPEN_TEST = _TEST + r"""(?:"(?:[^"\\]|\\.|\\\Z)*+|'(?:[^'\\]|\\.|\\\Z)*+|`(?:[^`]|``)*+)?\Z"""
_RELATIONS = rf"(?:[^\[\]`{{]|`(?:[^`]|``)*+`|\{{{_TEST}\}})*+"
_STEP = rf"""(?P<step>\[{_RELATIONS}\])
    | (?P<open_step>\[{_RELATIONS}(?:\{{{_OPEN_TEST}|(?:`(?:[^`]|``)*+)?\Z))
    | """
_COMMON = r"""(?P<comment>(?<!\S)\#[^\n]*+)
    | (?P<string>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')
    | (?P<open_string>"(?:[^"\\]|\\.|\\\Z)*+|'(?:[^'\\]|\\.|\\\Z)*+)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<open_quoted>`(?:[^`]|``)*\Z)
    | (?P<key>(?<!\s)\#(?:"(?:[^"\\]|\\.)*+"|(?:(?!->|<-)[^\s(){}\[\]<>&|,"'`\#→←@])++))
    | (?P<open_key>(?<!\s)\#(?:"(?:[^"\\]|\\.)*+)?\Z)
    | (?P<arrow>->|<-|→|←)
    | (?P<slot><[^<>\s=-][^<>\n]*>)
    | (?P<operator>!=|<=|>=|[=<>])
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w))
    | (?P<word>\w+(?:/\w+)*+/?)
    | (?P<space>\s++)
    | (?P<symbol>.)"""
_OUTSIDE = re.compile(_STEP + _COMMON, re.X | re.S)
_INSIDE = re.compile(_COMMON, re.X | re.S)


_BRACES = re.compile(rf"\{{{_TEST}\}}", re.S)
_UNFINISHED = re.compile(rf"(?P<relation>[^|!^{{}}]*)\{{(?P<tests>{_OPEN_TEST})", re.S)


def without_tests(step: str) -> str:
    """Return the text of a step without the conditions on its edges."""
    return _BRACES.sub("", step)


def open_tests(step: str) -> tuple[str, int] | None:
    """Return the relation whose conditions an unfinished step ends in, and where they start; None if in none."""
    blanked = _BRACES.sub(lambda match: " " * len(match[0]), step)
    match = _UNFINISHED.search(blanked)
    return (match["relation"], match.start("tests")) if match else None


def tokens(text: str) -> Iterator[Token]:
    """Split an expression into tokens; concatenated, they are the text.

    A relation in brackets is one ``step``; in conditions ``[`` starts a list and is a ``symbol``, except in the path
    of a count and in a value. Names in backticks are ``quoted``. Unfinished tokens at the end of the text are
    ``open_string``, ``open_quoted``, ``open_key`` and ``open_step``.
    """
    position, before = 0, ""
    inside: list[str] = []  # open braces, and parentheses of counts and in counts
    while match := (_INSIDE if inside and inside[-1] == "{" else _OUTSIDE).match(text, position):
        kind, word = match.lastgroup or "", match[0]
        yield Token(kind, word, position)
        if kind == "symbol" and word == "{":
            inside.append("{")
        elif kind == "symbol" and word == "(" and (before in TOTALS or (inside and inside[-1] != "{")):
            inside.append("(")
        elif kind == "symbol" and inside and word == {"{": "}"}.get(inside[-1], ")"):
            inside.pop()
        before = before if kind in ("space", "comment") else word
        position = match.end()
