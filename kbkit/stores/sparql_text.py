"""What kbkit must know of a SPARQL text before Oxigraph sees it: whether it calls out, and where its parameters are.

Oxigraph sends a real HTTP request for each ``SERVICE`` and has no switch against it, so such queries are refused first.
"""

from __future__ import annotations

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
_CODEPOINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
# The keyword, then an endpoint (IRI, variable or prefixed name), then a group.
_SERVICE = re.compile(
    r"\bSERVICE\b(?:\s|\#[^\n\r]*[\n\r])*(?:SILENT\b)?(?:\s|\#[^\n\r]*[\n\r])*(?:<[^>]*>|[?$]\w+|[^\s{}<>]*:[^\s{}<>]*)"
    r"(?:\s|\#[^\n\r]*[\n\r])*\{",
    re.IGNORECASE,
)


def refuse_service(text: str) -> None:
    """Raise :class:`QueryError` when the query may call another endpoint.

    Escapes of code points are resolved first, as the grammar does. A text in which the keyword, an endpoint and a
    group never follow each other is safe however it is read. Where they do, inside a comment or a string they are
    harmless; but an IRI with an apostrophe may really be a less-than sign and the start of a string, so then nothing is
    taken as harmless.
    """
    text = _CODEPOINT.sub(lambda m: chr(int(m[1] or m[2], 16)), text)
    if not _SERVICE.search(text):
        return
    tokens = list(_TOKEN.finditer(text))
    ambiguous = any(t.lastgroup == "iri" and "'" in t[0] for t in tokens)
    code = "".join(" " if t.lastgroup in ("string", "comment") else t[0] for t in tokens)
    if ambiguous or _SERVICE.search(code):
        raise QueryError(
            "SERVICE is refused: kbkit sends nothing to the network", "ask for what this KB holds, without SERVICE"
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
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if text.startswith("<") and text.endswith(">"):
        if re.search(r'[<>"{}|^`\\\x00-\x20]', text[1:-1]):
            raise QueryError(f"{text} is no IRI", "percent-encode what may not stand in one")
        return text
    for old, new in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(old, new)
    return f'"{text}"'
