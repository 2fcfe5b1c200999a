"""The context of the cursor in a SPARQL query: head, expression, or subject, predicate or object of a pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kbkit.stores.sparql_text import tokens

SUBJECT, PREDICATE, OBJECT, ENDED = range(4)

_TERMS = {"string", "iri", "variable", "name", "number"}
_PATTERN_WORDS = {
    "optional",
    "filter",
    "bind",
    "values",
    "union",
    "minus",
    "graph",
    "service",
    "silent",
    "not",
    "exists",
}
DECLARED = re.compile(r"(?i)\bPREFIX\s+([\w.-]*):\s*<([^<>\s]*)>")
VARIABLE = re.compile(r"[?$](\w+)")


@dataclass
class SparqlGroup:
    """An open group: ``head`` (outside braces), ``pattern``, ``list`` (VALUES), ``path`` or ``expression``.

    ``position`` is that of the next term in its triple; ``verb`` is the predicate; ``word`` the last keyword.
    """

    kind: str
    position: int = SUBJECT
    verb: str = ""
    word: str = ""
    before: str = ""
    """The keyword before ``word``."""
    terms: int = 0


@dataclass
class SparqlContext:
    """``typed`` is the current word, from ``start``, ``kind`` its kind of token; ``last`` is the token before it."""

    frame: SparqlGroup
    typed: str
    start: int
    kind: str
    last: str = ""
    ended: bool = False
    """Whether the braces of the query are closed, so that its modifiers come next."""
    prefixes: dict[str, str] = field(default_factory=dict)


def context(text: str, at: int) -> SparqlContext:
    """Return the context of position ``at``."""
    reader = _GroupReader()
    known = [token for token in tokens(text[:at]) if token.kind != "space"]
    typed, start, kind = "", at, ""
    if known and known[-1].end == at and known[-1].kind not in ("symbol", "escape"):
        typed, start, kind = known[-1].text, known[-1].start, known[-1].kind
        known.pop()
    for token in known:
        reader.read(token.kind, token.text)
    declared = {found[1]: found[2] for found in DECLARED.finditer(text)}
    return SparqlContext(reader.frames[-1], typed, start, kind, reader.last, reader.ended, declared)


class _GroupReader:
    def __init__(self) -> None:
        self.frames = [SparqlGroup("head")]
        self.last = ""
        self.ended = False

    def read(self, kind: str, symbol: str) -> None:
        if kind == "comment":
            return
        frame = self.frames[-1]
        if kind == "word" and not (symbol == "a" and frame.kind in ("pattern", "path")):
            frame.before, frame.word = frame.word, symbol.casefold()
            if frame.kind == "pattern" and (frame.word in _PATTERN_WORDS or frame.word == "select"):
                frame.position = SUBJECT
            if frame.word in ("true", "false"):
                self.term(frame, symbol)
        elif kind in _TERMS or kind == "word":
            self.term(frame, symbol)
        elif kind == "symbol":
            self.punctuation(frame, symbol)
        self.last = symbol

    def term(self, frame: SparqlGroup, symbol: str) -> None:
        frame.terms += 1
        if frame.kind != "pattern" or frame.word in ("bind", "graph", "service", "silent", "values", "select"):
            if frame.word in ("graph", "service", "silent") and not symbol.startswith("^^"):
                frame.position = SUBJECT
            return
        if self.last == "^^":
            return
        if frame.position == PREDICATE:
            frame.verb = symbol
        frame.position = min(frame.position + 1, ENDED)

    def punctuation(self, frame: SparqlGroup, symbol: str) -> None:
        if symbol == "{":
            kind = "list" if frame.word == "values" else "pattern"
            self.frames.append(SparqlGroup(kind))
            frame.word = ""
        elif symbol == "(":
            path = (
                frame.kind in ("pattern", "path")
                and frame.position == PREDICATE
                and frame.word not in ("filter", "bind")
            )
            self.frames.append(SparqlGroup("path" if path else "expression", PREDICATE))
        elif symbol == "[":
            self.frames.append(SparqlGroup("pattern", PREDICATE))
        elif symbol in (")", "]", "}") and len(self.frames) > 1:
            self.close(symbol)
        elif frame.kind == "pattern":
            self.within(frame, symbol)

    def within(self, frame: SparqlGroup, symbol: str) -> None:
        """Handle a symbol between the terms of a triple."""
        if symbol in (".", ";", ","):
            frame.position = {".": SUBJECT, ";": PREDICATE, ",": OBJECT}[symbol]
            frame.word = ""
        elif symbol in ("/", "|") and frame.position == OBJECT:
            frame.position = PREDICATE

    def close(self, symbol: str) -> None:
        closed, outer = self.frames.pop(), self.frames[-1]
        if symbol == "}":
            outer.position, outer.word = SUBJECT, ""
            self.ended = self.ended or (outer.kind == "head" and closed.kind == "pattern")
        elif outer.word in ("filter", "bind", "not", "exists"):
            outer.position, outer.word = SUBJECT, ""
        elif outer.kind == "pattern":
            self.term(outer, "()" if symbol == ")" else "[]")
