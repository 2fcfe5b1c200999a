"""The grammar of queries (``grammar.toml``): shapes, the forms that word them, and the parts of a phrase."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from kbkit.answers import syntax
from kbkit.answers.parse import parse

_SLOT = re.compile(r"\{([A-C])(?:\.(rest|not))?\}")


class Slot(NamedTuple):
    """A slot of a form. ``kind``: "" for the letter's phrase, ``rest``, or ``not`` for the negated rest."""

    letter: str
    kind: str


@dataclass(frozen=True)
class Form:
    """A wording: texts and slots in turn."""

    text: str
    pieces: tuple[str | Slot, ...]

    @staticmethod
    def of(text: str) -> Form:
        """Parse a form of the grammar."""
        pieces: list[str | Slot] = []
        done = 0
        for match in _SLOT.finditer(text):
            pieces += [text[done : match.start()]] * (match.start() > done)
            pieces.append(Slot(match[1], match[2] or ""))
            done = match.end()
        return Form(text, (*pieces, *([text[done:]] * (done < len(text)))))

    def render(self, phrases: Mapping[str, str]) -> str:
        """Return the words for the letters' phrases, or "" if a phrase lacks a part or its head differs from A's."""
        words = [piece if isinstance(piece, str) else _part(piece, phrases) for piece in self.pieces]
        return "".join(words) if all(words) else ""


@dataclass(frozen=True)
class Shape:
    """One of the seven set expressions.

    ``template``: its name in the published files. ``tree``: an expression of ``@A``, ``@B``, ``@C``. ``original``: the
    form of the original query. ``forms``: those of the paraphrase.
    """

    template: str
    tree: syntax.Expression
    original: Form
    forms: tuple[Form, ...]

    @property
    def letters(self) -> tuple[str, ...]:
        """A; A, B; or A, B, C."""
        return tuple(piece.letter for piece in self.original.pieces if isinstance(piece, Slot))

    def expression(self, parts: Sequence[str]) -> str:
        """Return the expression of the shape with ``parts`` in place of its letters."""
        return str(syntax.substitute(self.tree, dict(zip(self.letters, map(parsed, parts), strict=True))))

    def marked(self, phrases: Sequence[str]) -> str:
        """Return the original query with its phrases in ``<mark>``."""
        marked = [f"<mark>{phrase}</mark>" for phrase in phrases]
        return self.original.render(dict(zip(self.letters, marked, strict=True)))

    def plain(self, phrases: Sequence[str]) -> str:
        """Return the original query without marks."""
        return self.original.render(dict(zip(self.letters, phrases, strict=True)))


@dataclass(frozen=True)
class Grammar:
    """The content of ``grammar.toml``."""

    shapes: tuple[Shape, ...]
    openers: re.Pattern[str]
    denials: Mapping[str, str]
    leads: tuple[str, ...]
    plain: int

    def shape(self, template: str) -> Shape:
        """Return the shape of a template."""
        return next(shape for shape in self.shapes if shape.template == template)


@lru_cache(10_000)
def parsed(expression: str) -> syntax.Expression:
    """Parse an expression, with a cache."""
    return parse(expression)


@cache
def grammar() -> Grammar:
    """Return the grammar that ships with kbkit."""
    data = tomllib.loads(Path(__file__).with_name("grammar.toml").read_text(encoding="utf-8"))
    shapes = tuple(
        Shape(row["template"], parse(row["expression"]), Form.of(row["original"]), tuple(map(Form.of, row["forms"])))
        for row in data["shape"]
    )
    openers = re.compile(r"(?<=\S) (?=(?:" + "|".join(map(re.escape, data["openers"])) + r") \S)")
    return Grammar(shapes, openers, data["denials"], tuple(data["leads"]["words"]), data["leads"]["plain"])


def divided(phrase: str) -> tuple[str, str]:
    """Split a phrase into head and rest (``movies``, ``that Jane Doe directed``); rest is "" without an opener."""
    head, *rest = grammar().openers.split(phrase, maxsplit=1)
    return head, rest[0] if rest else ""


def denied(rest: str) -> str:
    """Return the negated rest of a phrase, or "" if the grammar has no negation for it."""
    found = ((yes, no) for yes, no in grammar().denials.items() if rest.startswith(yes) and not rest.startswith(no))
    return next((no + rest.removeprefix(yes) for yes, no in found), "")


def affirmed(rest: str) -> str:
    """Invert :func:`denied`; return "" for a rest that is not negated."""
    found = ((yes, no) for yes, no in grammar().denials.items() if rest.startswith(no))
    return next((yes + rest.removeprefix(no) for yes, no in found), "")


def _part(slot: Slot, phrases: Mapping[str, str]) -> str:
    phrase = phrases[slot.letter]
    if not slot.kind:
        return phrase
    head, rest = divided(phrase)
    if head != divided(phrases["A"])[0]:
        return ""
    return denied(rest) if slot.kind == "not" else rest
