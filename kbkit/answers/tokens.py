"""The lexer of answer expressions, for highlighting and completion: it accepts any text, finished or not.

``grammar.lark`` defines the same terminals for the parser, which stops at the first error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbkit.answers.errors import TOTALS
from kbkit.stores.sparql_text import Token

_STEP = r"""(?P<step>\[(?:[^\[\]`]|`(?:[^`]|``)*+`)*+\])
    | (?P<open_step>\[(?:[^\[\]`]|`(?:[^`]|``)*+`)*+(?:`(?:[^`]|``)*+)?\Z)
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
