"""The shapes of QUEST's queries with the forms that word them, from ``english/frames/sets.toml``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from kbkit.answers import syntax
from kbkit.answers.parse import parse
from kbkit.english.frames import frame_file
from kbkit.english.modifiers import FormSlot, WordedForm

_TIERS = ("first", "forms", "otherwise", "last")


@dataclass(frozen=True)
class Shape:
    """One of the seven set expressions.

    ``template``: its name in the published files. ``tree``: an expression of ``@A``, ``@B``, ``@C``. ``original``: the
    form of the original query. ``commutes``: letters whose order does not matter. ``tiers``: those of the
    paraphrase, preferred ones first. ``readable``: all forms that are parsed, with
    letters in one order.
    """

    template: str
    tree: syntax.Expression
    original: WordedForm
    tiers: tuple[tuple[WordedForm, ...], ...]
    commutes: str = ""
    readable: tuple[WordedForm, ...] = ()

    @property
    def forms(self) -> tuple[WordedForm, ...]:
        """The forms of all tiers."""
        return tuple(form for tier in self.tiers for form in tier)

    @property
    def letters(self) -> tuple[str, ...]:
        """A; A, B; or A, B, C."""
        return tuple(piece.letter for piece in self.original.pieces if isinstance(piece, FormSlot))

    def ordered(self, parts: Sequence[str]) -> list[int]:
        """Return the positions of the parts, those of letters that commute sorted: equal queries get equal orders."""
        own = [i for i, letter in enumerate(self.letters) if letter in self.commutes]
        sorted_ = iter(sorted(own, key=lambda i: parts[i]))
        return [next(sorted_) if i in own else i for i in range(len(parts))]

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
    """The content of ``sets.toml``."""

    shapes: tuple[Shape, ...]
    leads: tuple[str, ...]
    plain: int
    read_leads: tuple[str, ...] = ()

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
    data = frame_file("sets")
    leads = data["leads"]
    return Grammar(
        tuple(_shape(row) for row in data["shape"]),
        tuple(leads["words"]),
        leads["plain"],
        (*leads["words"], *leads["read"]),
    )


def _shape(row: Mapping[str, Any]) -> Shape:
    original = WordedForm.of(row["original"])
    orders: list[tuple[str, ...]] = [tuple(row.get("commutes", ""))]
    orders += [order for order in itertools.permutations(orders[0]) if order != orders[0]]
    tiers = tuple(
        tuple(dict.fromkeys(form for text in row.get(key, []) for form in WordedForm.of(text).permuted(orders)))
        for key in _TIERS
    )
    own = (text for key in (*_TIERS, "read") for text in row.get(key, []))
    readable = (*map(WordedForm.of, own), original)  # one order of letters suffices, as expressions are sorted
    return Shape(row["template"], parse(row["expression"]), original, tiers, row.get("commutes", ""), readable)
