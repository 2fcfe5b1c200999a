"""Tokens of statements, finished or not: one lexer per language, for splitting, highlighting and completion.

The lexers of SPARQL and of answer expressions are imported when they are first used: the first prompt needs neither.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from kbkit.stores.sparql_text import Token

_SQL = re.compile(
    r"""(?P<comment>--[^\n]*+|/\*.*?\*/)
    | (?P<open_comment>/\*.*+)
    | (?P<string>'(?:[^']|'')*+'|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)
    | (?P<open_string>'(?:[^']|'')*+|\$(?:[^\W\d]\w*)?\$.*+)
    | (?P<quoted>"(?:[^"]|"")*+")
    | (?P<open_quoted>"(?:[^"]|"")*+)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?!\w))
    | (?P<parameter>\$\w+)
    | (?P<word>[^\W\d]\w*+)
    | (?P<space>\s++)
    | (?P<symbol><=|>=|<>|!=|\|\||::|->>?|.)""",
    re.X | re.S,
)
_BLANK = re.compile(r"[^\n]")
_IN_BACKTICKS = re.compile("`[^`]*`")
_SLOT = re.compile(r"<\s*([^\W\d][\w/]*)\s*>")


def sql_tokens(text: str) -> Iterator[Token]:
    """Split an SQL text into tokens; concatenated, they are the text.

    Identifiers in double quotes are ``quoted``, ``$name`` is a ``parameter``. Unfinished tokens at the end of the text
    are ``open_string``, ``open_quoted`` and ``open_comment``.
    """
    for match in _SQL.finditer(text):
        yield Token(match.lastgroup or "", match[0], match.start())


def tokens(text: str, language: str) -> Iterator[Token]:
    """Split a statement into the tokens of its language; plain words are one token."""
    if language == "sql":
        return sql_tokens(text)
    if language == "sparql":
        from kbkit.stores import sparql_text

        return sparql_text.tokens(text)
    if language == "answers":
        from kbkit.answers import tokens as answers

        return answers.tokens(text)
    return iter([Token("text", text, 0)] if text else [])


def masked(text: str, language: str, inside: str = " ") -> str:
    """Return the text with comments and the content of quotes replaced by ``inside``; positions stay the same."""
    return "".join(_masked(token, inside, language) for token in tokens(text, language))


def _masked(token: Token, inside: str, language: str) -> str:
    kind, text, _ = token
    if kind == "open_string" and language == "sparql" and not _is_long(text):
        return text  # the line ends the string, and the text after it is code again
    if kind in ("comment", "open_comment"):
        return _BLANK.sub(" ", text)
    if kind == "step":
        return _IN_BACKTICKS.sub(lambda quoted: _BLANK.sub(inside, quoted[0]), text)
    if kind in ("string", "quoted", "iri"):
        return text[0] + _BLANK.sub(inside, text[1:-1]) + text[-1]
    if kind in ("open_quoted", "open_string"):
        return text[0] + _BLANK.sub(inside, text[1:])
    return text[:1] + _BLANK.sub(inside, text[1:]) if kind.endswith("key") and '"' in text else text


def _is_long(text: str) -> bool:
    """Return whether a string of SPARQL has three quotes, so that it can span lines."""
    return text[:3] in ('"""', "'''")


def unfinished(text: str, language: str) -> bool:
    """Return whether the text ends inside a string, quoted name, comment or bracketed relation."""
    last = next(iter(deque(tokens(text, language), maxlen=1)), None)
    if last is None or not last.kind.startswith("open_"):
        return False
    if language == "sparql":
        return last.kind == "open_string" and _is_long(last.text)
    return last.kind != "open_key" or '"' in last.text


def parameters(statement: str, language: str) -> list[str]:
    """Return the names of ``$parameters`` (SQL and SPARQL) or ``<slots>`` (answer expressions), each once."""
    names = []
    for kind, text, _ in tokens(statement, language):
        if kind in ("parameter", "variable") and text[0] == "$" and text[1:2].strip("0123456789"):
            names.append(text[1:])
        elif kind == "slot" and (slot := _SLOT.fullmatch(text)):
            names.append(slot[1])
    return list(dict.fromkeys(names))
