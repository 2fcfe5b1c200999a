"""The lexer of SPARQL, and the checks and parameter binding that run before Oxigraph sees a query.

Oxigraph sends an HTTP request for each ``SERVICE`` and has no switch against it, so such queries are refused first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kbkit.errors import QueryError

_TOKEN = re.compile(
    r"""(?P<iri><(?!=)[^<>"{}|^`\\\x00-\x20]*+>)
      | (?P<open_iri><[A-Za-z][^<>"{}|^`\\\x00-\x20]*+\Z)
      | (?P<string>'''(?:[^'\\]|\\.|'(?!''))*+''' | \"\"\"(?:[^"\\]|\\.|"(?!""))*+\"\"\"
                  | '(?!'')(?:[^'\\\n\r]|\\.)*+' | "(?!"")(?:[^"\\\n\r]|\\.)*+")
      | (?P<open_string>'''.*+ | \"\"\".*+ | '(?:[^'\\\n\r]|\\.|\\\Z)*+ | "(?:[^"\\\n\r]|\\.|\\\Z)*+)
      | (?P<comment>\#[^\n\r]*+)
      | (?P<variable>[?$]\w*+)
      | (?P<tag>@[A-Za-z][A-Za-z0-9-]*+)
      | (?P<name>(?:[^\W\d_][\w.-]*+|_)?:(?:[\w:%-]|\\.|\.(?=[\w:%\\-]))*+)
      | (?P<number>[-+]?\d++(?:\.\d++)?(?:[eE][-+]?\d++)?)
      | (?P<word>[^\W\d_]\w*+)
      | (?P<escape>\\.)
      | (?P<space>\s++)
      | (?P<symbol>&&|\|\||\^\^|[<>!]=|.)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = ("iri", "string", "comment")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_SERVICE = re.compile("service", re.IGNORECASE)
# A variable or the local part of a prefixed name; ASCII only, so that any other character ends the name.
_PART_OF_NAME = re.compile(r"(?:[?$][A-Za-z0-9_]*|:(?:[A-Za-z0-9_][A-Za-z0-9_-]*)?)$")
# A prefix called `service`: not a call unless a group follows the name.
_PREFIX = re.compile(r":(?![^ \t\r\n{}]*[ \t\r\n]*\{)")
_UPDATE = re.compile(
    r"(?<![A-Za-z0-9_?$:-])(INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY)(?![A-Za-z0-9_:-])", re.I
)
_QUERY = re.compile(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.I)


class Token(NamedTuple):
    """A token of a SPARQL text: its kind, its text, and its position in the whole text.

    Kinds: ``iri``, ``string``, ``comment``, ``variable`` (``?x`` or ``$x``), ``tag`` (``@en``), ``name``
    (``prefix:local``), ``number``, ``word`` (keywords, functions, ``a``), ``escape`` (a backslash and a character
    outside a name), ``space``, ``symbol``. Unfinished strings and IRIs are ``open_string`` and ``open_iri``.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Position after the last character."""
        return self.start + len(self.text)


def tokens(text: str) -> Iterator[Token]:
    """Split a SPARQL text, valid or not, into tokens; concatenated, they are the text.

    A short string that its line does not close extends to the end of the line, a long one to the end of the text. An
    unclosed IRI is a token only at the end of the text; elsewhere ``<`` is a comparison.
    """
    for match in _TOKEN.finditer(text):
        yield Token(match.lastgroup or "", match[0], match.start())


def refuse_service(text: str) -> str:
    r"""Return the query, safe to run; raise :class:`QueryError` if it may call another endpoint.

    Telling strings, IRIs and comments from code needs the whole grammar (``?a<?b`` may start an IRI or a comparison),
    so a wrong guess must fail safely: in an apparent string, IRI or comment the word is escaped as ``\u0073ervice``,
    which means the same there and is a syntax error in code, where such escapes are not allowed. In apparent code the
    word may only occur in names.
    """
    if not _SERVICE.search(text):
        return text
    parts, code = [], []
    for kind, part, _ in tokens(text):
        if kind in _QUOTED:
            parts.append(_SERVICE.sub(lambda m: f"\\u{ord(m[0][0]):04X}{m[0][1:]}", part))
            code.append(" ")
        else:
            parts.append(part)
            code.append(_ESCAPE.sub("x", part) if kind in ("name", "escape") else part)
    plain = "".join(code)
    for word in _SERVICE.finditer(plain):
        if not _PART_OF_NAME.search(plain, 0, word.start()) and not _PREFIX.match(plain, word.end()):
            raise QueryError("SERVICE is not allowed: kbkit sends no data over the network", "Query this KB only")
    return "".join(parts)


def is_update(text: str) -> bool:
    """Return whether the text looks like a SPARQL update, for a clearer error message."""
    code = "".join(" " if token.kind in _QUOTED else token.text for token in tokens(text))
    return bool(_UPDATE.search(code)) and not _QUERY.search(code)


def read_only() -> QueryError:
    """Return the error of an update."""
    return QueryError("Updates are not allowed: a KB is read-only", "Change the source and ingest it again")


def bind(text: str, terms: Mapping[str, str]) -> str:
    """Replace each parameter ``$name`` outside strings, comments and IRIs by its RDF term in SPARQL syntax.

    Variables that are not in ``terms`` remain.
    """
    if not terms:
        return text

    def value(name: re.Match[str]) -> str:
        return terms.get(name[0][1:], name[0])

    parts = []
    for kind, part, _ in tokens(text):
        if kind == "variable" and part[0] == "$":
            parts.append(terms.get(part[1:], part))
        else:  # an unfinished string is an error, which the engine reports
            parts.append(re.sub(r"\$\w+", value, part) if kind == "open_string" else part)
    return "".join(parts)


def term(value: object) -> str:
    """Return a Python value as a SPARQL term: a number or boolean, an IRI for ``<...>``, or else a string literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        raise QueryError("A parameter has no value", "Omit it, or pass a number or a string")
    if isinstance(value, float) and not math.isfinite(value):
        word = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        return f'"{word}"^^<http://www.w3.org/2001/XMLSchema#double>'
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple, set, dict)):
        raise QueryError(f"A parameter is a {type(value).__name__}", "Pass a number or a string")
    text = str(value)
    if text.startswith("<") and text.endswith(">"):
        if re.search(r'[<>"{}|^`\\\x00-\x20]', text[1:-1]):
            raise QueryError(f"Invalid IRI {text}", "Percent-encode spaces and special characters")
        return text
    return string_literal(text)


def is_regex(pattern: str, flags: str = "") -> bool:
    """Return whether Oxigraph accepts a regular expression with these flags."""
    import pyoxigraph as ox

    call = f'REGEX("", {string_literal(pattern)}, {string_literal(flags)})'
    return bool(ox.Store().query(f"ASK {{ BIND({call} AS ?found) FILTER(BOUND(?found)) }}"))


def string_literal(text: str) -> str:
    """Return ``text`` as a SPARQL string literal."""
    for old, new in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(old, new)
    return f'"{text}"'
