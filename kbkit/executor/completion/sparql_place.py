"""Where in a SPARQL query the cursor is: in the head, in a pattern (subject, predicate or object), in an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SUBJECT, PREDICATE, OBJECT, ENDED = range(4)

_SIGN = re.compile(
    r"""(?P<comment>(?<![\w:])\#[^\n]*)
    | (?P<string>"{3}(?:\\.|.)*?"{3}|'{3}(?:\\.|.)*?'{3}|"(?!"")(?:\\.|[^"\\\n])*"|'(?!'')(?:\\.|[^'\\\n])*')
    | (?P<open_string>["'](?:\\.|[^\n])*\Z|"{3}.*\Z|'{3}.*\Z)
    | (?P<iri><[^<>"{}|^`\\\s=]*>)
    | (?P<open_iri><[A-Za-z][^<>"{}|^`\\\s=]*\Z)
    | (?P<variable>[?$]\w*)
    | (?P<tag>@[A-Za-z-]+)
    | (?P<name>(?:[^\W\d_][\w.-]*)?:(?:[\w:%-]|\\.|\.(?=[\w:%-]))*)
    | (?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
    | (?P<word>[^\W\d_]\w*)
    | (?P<space>\s+)
    | (?P<sign>&&|\|\||\^\^|[<>!]=|.)""",
    re.X | re.S,
)
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
class Frame:
    """What is open: ``head`` (outside braces), ``pattern``, ``list`` (VALUES), ``path`` or ``expression``.

    ``place`` counts the terms of the triple so far; ``verb`` is its predicate; ``word`` the last keyword.
    """

    kind: str
    place: int = SUBJECT
    verb: str = ""
    word: str = ""
    before: str = ""
    """The keyword before ``word``."""
    terms: int = 0


@dataclass
class Place:
    """``typed`` is the cut word, from ``start``, ``kind`` its kind of token; ``last`` is the token before it."""

    frame: Frame
    typed: str
    start: int
    kind: str
    last: str = ""
    ended: bool = False
    """Whether a pattern was closed before: what follows the query's braces is next."""
    prefixes: dict[str, str] = field(default_factory=dict)


def place(text: str, at: int) -> Place:
    """Where the cursor is."""
    reader = _Reader()
    signs = [found for found in _SIGN.finditer(text[:at]) if found.lastgroup != "space"]
    typed, start, kind = "", at, ""
    if signs and signs[-1].end() == at and signs[-1].lastgroup != "sign":
        cut = signs.pop()
        typed, start, kind = cut[0], cut.start(), cut.lastgroup or ""
    for found in signs:
        reader.read(found.lastgroup or "", found[0])
    declared = {found[1]: found[2] for found in DECLARED.finditer(text)}
    return Place(reader.frames[-1], typed, start, kind, reader.last, reader.ended, declared)


class _Reader:
    def __init__(self) -> None:
        self.frames = [Frame("head")]
        self.last = ""
        self.ended = False

    def read(self, kind: str, sign: str) -> None:
        if kind == "comment":
            return
        frame = self.frames[-1]
        if kind == "word" and not (sign == "a" and frame.kind in ("pattern", "path")):
            frame.before, frame.word = frame.word, sign.casefold()
            if frame.kind == "pattern" and (frame.word in _PATTERN_WORDS or frame.word == "select"):
                frame.place = SUBJECT
            if frame.word in ("true", "false"):
                self.term(frame, sign)
        elif kind in _TERMS or kind == "word":
            self.term(frame, sign)
        elif kind == "sign":
            self.punctuation(frame, sign)
        self.last = sign

    def term(self, frame: Frame, sign: str) -> None:
        frame.terms += 1
        if frame.kind != "pattern" or frame.word in ("bind", "graph", "service", "silent", "values", "select"):
            if frame.word in ("graph", "service", "silent") and not sign.startswith("^^"):
                frame.place = SUBJECT
            return
        if self.last == "^^":
            return
        if frame.place == PREDICATE:
            frame.verb = sign
        frame.place = min(frame.place + 1, ENDED)

    def punctuation(self, frame: Frame, sign: str) -> None:
        if sign == "{":
            kind = "list" if frame.word == "values" else "pattern"
            self.frames.append(Frame(kind))
            frame.word = ""
        elif sign == "(":
            path = (
                frame.kind in ("pattern", "path") and frame.place == PREDICATE and frame.word not in ("filter", "bind")
            )
            self.frames.append(Frame("path" if path else "expression", PREDICATE))
        elif sign == "[":
            self.frames.append(Frame("pattern", PREDICATE))
        elif sign in (")", "]", "}") and len(self.frames) > 1:
            self.close(sign)
        elif frame.kind == "pattern":
            self.within(frame, sign)

    def within(self, frame: Frame, sign: str) -> None:
        """A sign between the terms of a triple."""
        if sign in (".", ";", ","):
            frame.place = {".": SUBJECT, ";": PREDICATE, ",": OBJECT}[sign]
            frame.word = ""
        elif sign in ("/", "|") and frame.place == OBJECT:
            frame.place = PREDICATE

    def close(self, sign: str) -> None:
        closed, outer = self.frames.pop(), self.frames[-1]
        if sign == "}":
            outer.place, outer.word = SUBJECT, ""
            self.ended = self.ended or (outer.kind == "head" and closed.kind == "pattern")
        elif outer.word in ("filter", "bind", "not", "exists"):
            outer.place, outer.word = SUBJECT, ""
        elif outer.kind == "pattern":
            self.term(outer, "()" if sign == ")" else "[]")
