"""The grammar of queries (``grammar.toml``): shapes, the forms that word them, and the parts of a phrase."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from kbkit.answers import syntax
from kbkit.answers.parse import parse

_SLOT = re.compile(
    r"\{([A-C])(?:(:(?:mod|thing|with|date|clause))|\.(rest|short|mod|bare|other|with|date|be|clause|which|not|notbare|notwith|notbe|notclause))?\}"
)
_CLAUSE = re.compile(r"(?:that|who|whose|(?:[a-z]+ or )?[a-z]+ (?:which|whom)) ")
_NOT_AFTER_BE = re.compile(
    "(?:with|without|such) "
    "|(?!(?:affiliated|associated|based|linked|located|rated|related|used) )(?:also )?(?:[a-z]+(?:ed|wn|tten)"
    "|born|built|found|held|made|set|shot|sold|sung) "
)
"""Modifiers that would need another verb than are, or another tense."""
_TIERS = ("first", "forms", "otherwise")
_DATE = re.compile(r"from \d+")
_MIDDLE = re.compile(r"[a-z ]+ (?:which|whom) |with .* as an? ")
"""A rest with the name in its middle: in which Jane Doe acted."""
_VERB = re.compile(r"(that|who) ((?!an? |the )[a-z]+(?<!ed))(?= )")


class Slot(NamedTuple):
    """A slot of a form, as ``grammar.toml`` explains.

    ``kind``: "" for the letter's phrase, ``:mod`` and others for a phrase with such a rest, or the part of
    it.
    """

    letter: str
    kind: str

    @property
    def is_whole(self) -> bool:
        """Whether the slot is the whole phrase."""
        return self.kind.startswith(":") or not self.kind


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
            pieces.append(Slot(match[1], match[2] or match[3] or ""))
            done = match.end()
        return Form(text, (*pieces, *([text[done:]] * (done < len(text)))))

    def render(self, phrases: Mapping[str, str]) -> str:
        """Return the words for the letters' phrases, or "" if a phrase lacks a part or the heads differ."""
        first = next(piece for piece in self.pieces if isinstance(piece, Slot))
        words = [piece if isinstance(piece, str) else _part(piece, phrases, first.letter) for piece in self.pieces]
        return "".join(words) if all(words) else ""

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """The texts between the slots."""
        return tuple(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def heads(self) -> int:
        """The number of whole phrases, so of heads."""
        return sum(isinstance(piece, Slot) and piece.is_whole for piece in self.pieces)

    def permuted(self, letters: Sequence[Sequence[str]]) -> Iterator[Form]:
        """Yield the form with its letters in each of some orders."""
        for order in letters:
            names = dict(zip(sorted(order), order, strict=True))
            yield Form.of(_SLOT.sub(lambda m, n=names: m[0].replace(m[1], n.get(m[1], m[1]), 1), self.text))  # type: ignore[misc] # names


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
    original: Form
    tiers: tuple[tuple[Form, ...], ...]
    commutes: str = ""
    readable: tuple[Form, ...] = ()

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms of all tiers."""
        return tuple(form for tier in self.tiers for form in tier)

    @property
    def letters(self) -> tuple[str, ...]:
        """A; A, B; or A, B, C."""
        return tuple(piece.letter for piece in self.original.pieces if isinstance(piece, Slot))

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
    """The content of ``grammar.toml``."""

    shapes: tuple[Shape, ...]
    openers: re.Pattern[str]
    denials: Mapping[str, str]
    leads: tuple[str, ...]
    plain: int
    questions: tuple[str, ...]
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
    data = tomllib.loads(Path(__file__).with_name("grammar.toml").read_text(encoding="utf-8"))
    openers = "|".join([*map(re.escape, data["openers"]), *data["patterns"]])
    leads = data["leads"]
    return Grammar(
        tuple(_shape(row) for row in data["shape"]),
        re.compile(rf"(?<=\S) (?=(?:{openers}) \S)"),
        data["denials"],
        (*leads["words"], *leads["questions"]),
        leads["plain"],
        tuple(leads["questions"]),
        (*leads["words"], *leads["questions"], *leads["read"]),
    )


def _shape(row: Mapping[str, Any]) -> Shape:
    original = Form.of(row["original"])
    orders: list[tuple[str, ...]] = [tuple(row.get("commutes", ""))]
    orders += [order for order in itertools.permutations(orders[0]) if order != orders[0]]
    tiers = tuple(
        tuple(dict.fromkeys(form for text in row.get(key, []) for form in Form.of(text).permuted(orders)))
        for key in _TIERS
    )
    own = (text for key in (*_TIERS, "read") for text in row.get(key, []))
    readable = (*map(Form.of, own), original)  # one order of letters suffices, as expressions are sorted
    return Shape(row["template"], parse(row["expression"]), original, tiers, row.get("commutes", ""), readable)


def divided(phrase: str) -> tuple[str, str]:
    """Split a phrase into head and rest (``movies``, ``that Jane Doe directed``); rest is "" without an opener."""
    head, *rest = grammar().openers.split(phrase, maxsplit=1)
    return head, rest[0] if rest else ""


def kind_of(rest: str) -> str:
    """Return ``clause`` for a relative clause, ``mod`` for another modifier, "" without one."""
    if not rest:
        return ""
    return "clause" if _CLAUSE.match(rest) else "mod"


def denied(rest: str) -> str:
    """Return the negated rest of a phrase, or "" if the grammar has no negation for it."""
    denials = grammar().denials
    if any(rest.startswith(no) for no in denials.values()):
        return ""
    for yes, no in denials.items():
        if rest.startswith(yes):
            return no + rest.removeprefix(yes)
    whose = re.match(r"whose (.+?) (is|are) ", rest)
    if whose:
        return f"{whose[0]}not {rest[whose.end() :]}"
    verb = _VERB.match(rest)
    if verb:
        return f"{verb[1]} do not {verb[2]}{rest[verb.end() :]}"
    return f"not {rest}" if kind_of(rest) == "mod" and not rest.startswith(("without ", "such ")) else ""


def affirmed(rest: str) -> str:
    """Invert :func:`denied`; return "" for a rest that is not negated."""
    for yes, no in grammar().denials.items():
        if rest.startswith(no):
            return yes + rest.removeprefix(no)
    whose = re.match(r"(whose (?:.+?) (?:is|are) )not ", rest)
    if whose:
        return whose[1] + rest[whose.end() :]
    verb = re.match(r"(that|who) do not ", rest)
    if verb:
        return f"{verb[1]} {rest[verb.end() :]}"
    return rest.removeprefix("not ") if rest.startswith("not ") else ""


def _part(slot: Slot, phrases: Mapping[str, str], first: str) -> str:
    phrase = phrases[slot.letter]
    if not slot.kind:
        return phrase
    (head, before), (own, rest) = divided(phrases[first]), divided(phrase)
    if own != head or not fits(slot, rest, before):
        return ""
    if slot.is_whole:
        return phrase
    if slot.kind == "short":
        return _shortened(before, rest)
    return denied(rest) if slot.kind.startswith("not") else rest


_NAME = re.compile(r"(?:the )?[\"A-ZÀ-ÖØ-Þ\d]")


def _shortened(before: str, rest: str) -> str:
    """Return a rest without the words that it shares with the one before, or "" unless names follow in both."""
    words, others = rest.split(" "), before.split(" ")
    shared = 0
    if _MIDDLE.match(rest):
        return ""
    while shared < min(len(words), len(others)) - 1 and words[shared] == others[shared]:
        shared += 1
    while shared and (words[shared - 1] == "the" or _NAME.match(words[shared - 1])):
        shared -= 1
    short, long = " ".join(words[shared:]), " ".join(others[shared:])
    return short if shared and _NAME.match(short) and _NAME.match(long) else ""


def lengthened(before: str, short: str) -> list[str]:
    """Invert the shortening of a rest: return each rest that it can stand for."""
    words = before.split(" ")
    rests = [" ".join([*words[:shared], short]) for shared in range(1, len(words))]
    return [rest for rest in rests if _shortened(before, rest) == short]


def fits(slot: Slot, rest: str, before: str = "") -> bool:
    """Return whether the rest of a phrase is of the kind that a slot wants; ``before`` is that of the first phrase."""
    wanted = slot.kind.removeprefix(":").removeprefix("not")
    is_mod, has_with, is_date = kind_of(rest) == "mod", rest.startswith("with "), bool(_DATE.fullmatch(rest))
    kinds = {
        "be": is_mod and not _NOT_AFTER_BE.match(rest),
        "bare": is_mod and not has_with,
        "other": is_mod and not has_with and rest.partition(" ")[0] != before.partition(" ")[0],
        "thing": is_mod and not has_with and not is_date,
        "with": has_with,
        "date": is_date,
        "which": kind_of(rest) == "clause" and not rest.startswith("whose "),
    }
    if wanted in kinds:
        return kinds[wanted]
    return wanted in ("", "rest", "short", kind_of(rest))
