"""What kbkit must know of a SPARQL text before Oxigraph sees it: whether it calls out, and where its parameters are.

Oxigraph sends a real HTTP request for each ``SERVICE`` and has no switch against it, so such queries are refused first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from kbkit.errors import QueryError

# IRIs, strings (long forms first), comments and backslash escapes of prefixed names, then anything else.
_TOKEN = re.compile(
    r"""(?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
      | (?P<string>'''(?:[^'\\]|\\.|'(?!''))*''' | \"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"
                  | '(?:[^'\\\n\r]|\\.)*' | "(?:[^"\\\n\r]|\\.)*")
      | (?P<comment>\#[^\n\r]*)
      | (?P<escape>\\.)
      | (?P<parameter>\$\w+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_HIDDEN = ("iri", "string", "comment")
_SERVICE = re.compile("service", re.IGNORECASE)
# A variable or the local part of a prefixed name; ASCII only, so that whatever else stands before it counts as a break.
_PART_OF_NAME = re.compile(r"(?:[?$][A-Za-z0-9_]*|:(?:[A-Za-z0-9_][A-Za-z0-9_-]*)?)$")
# A prefix called `service`: not a call unless a group follows the name.
_PREFIX = re.compile(r":(?![^ \t\r\n{}]*[ \t\r\n]*\{)")
_UPDATE = re.compile(
    r"(?<![A-Za-z0-9_?$:-])(INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY)(?![A-Za-z0-9_:-])", re.I
)


def refuse_service(text: str) -> str:
    r"""The query, safe to run, or :class:`QueryError` when it may call another endpoint.

    Telling strings, IRIs and comments from code needs the whole grammar (``?a<?b`` may begin an IRI or compare), so a
    wrong guess must fail safely: in what looks like one, the word is written with an escape, ``\u0073ervice``. There
    it means the same; in code it is a syntax error, because escapes of code points count in strings and IRIs only.
    In what looks like code, only names may hold the word.
    """
    parts, code = [], []
    for token in _TOKEN.finditer(text):
        hidden = token.lastgroup in _HIDDEN
        parts.append(_SERVICE.sub(lambda m: f"\\u{ord(m[0][0]):04X}{m[0][1:]}", token[0]) if hidden else token[0])
        code.append(" " if hidden else "x" if token.lastgroup == "escape" else token[0])
    plain = "".join(code)
    for word in _SERVICE.finditer(plain):
        if not _PART_OF_NAME.search(plain, 0, word.start()) and not _PREFIX.match(plain, word.end()):
            raise QueryError(
                "SERVICE is refused: kbkit sends nothing to the network", "ask for what this KB holds, without SERVICE"
            )
    return "".join(parts)


def _code(text: str) -> str:
    """The query without strings, IRIs and comments."""
    return "".join(" " if token.lastgroup in _HIDDEN else token[0] for token in _TOKEN.finditer(text))


def is_update(text: str) -> bool:
    """Whether the text looks like a SPARQL update, for the message when it is refused."""
    return bool(_UPDATE.search(_code(text))) and not re.search(
        r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", _code(text), re.I
    )


def bind(text: str, terms: Mapping[str, str]) -> str:
    """Put RDF terms (in SPARQL syntax, e.g. ``"x"`` or ``<http://...>``) where ``$name`` stands outside strings,
    comments and IRIs. Variables that are no parameter stay as they are.
    """
    return "".join(terms.get(t[0][1:], t[0]) if t.lastgroup == "parameter" else t[0] for t in _TOKEN.finditer(text))


def parameters(text: str) -> set[str]:
    """Names that stand as ``$name`` in the text."""
    return {t[0][1:] for t in _TOKEN.finditer(text) if t.lastgroup == "parameter"}


def term(value: object) -> str:
    """A Python value as a SPARQL term: numbers and booleans as they are, ``<...>`` an IRI, other text a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        raise QueryError("a parameter has no value", "leave it out, or give a number or a text")
    if isinstance(value, float) and not math.isfinite(value):
        word = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        return f'"{word}"^^<http://www.w3.org/2001/XMLSchema#double>'
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if text.startswith("<") and text.endswith(">"):
        if re.search(r'[<>"{}|^`\\\x00-\x20]', text[1:-1]):
            raise QueryError(f"{text} is no IRI", "percent-encode what may not stand in one")
        return text
    return string_literal(text)


def string_literal(text: str) -> str:
    """``text`` as a SPARQL string."""
    for old, new in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(old, new)
    return f'"{text}"'
