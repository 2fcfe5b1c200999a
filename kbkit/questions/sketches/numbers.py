"""The numbers of a question with their comparisons: *at least 5*, *between 10 and 20*, *100 or more*."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from kbkit.english.question_words import COMPARATIVES, COUNTED, MONEY, NUMBERS, SCALES
from kbkit.english.words import YEARS
from kbkit.questions.question import Question
from kbkit.questions.units import UNITS

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MORE = frozenset("more higher later longer above over older greater bigger larger".split())  # noqa: SIM905
_LESS = frozenset("less fewer earlier lower below under younger shorter smaller".split())  # noqa: SIM905
_BEFORE = 5
"""How many words a comparative may stand before its number."""
_JOINING = ("and", "to", "until", "through")


class NumberTest(NamedTuple):
    """A comparison with a number; ``op`` is one of = < <= > >=."""

    op: str
    number: Decimal


class AskedNumber(NamedTuple):
    """A number at tokens ``first`` to before ``last`` and the tests that all must pass, or with ``is_any`` one of them.

    ``nouns`` are what a comparative compares, as *older* does the age; with ``is_reversed`` more is less of a date.
    """

    first: int
    last: int
    tests: tuple[NumberTest, ...]
    nouns: tuple[str, ...] = ()
    is_reversed: bool = False
    is_any: bool = False

    @property
    def values(self) -> list[Decimal]:
        """The numbers."""
        return [test.number for test in self.tests]

    @property
    def are_years(self) -> bool:
        """Whether all may be years."""
        return all(value == int(value) and YEARS[0] <= value <= YEARS[1] for value in self.values)

    @property
    def are_whole(self) -> bool:
        """Whether all are whole numbers."""
        return all(value == int(value) for value in self.values)


def is_unit(word: str) -> bool:
    """Return whether a word is a unit, or what numbers count without saying more."""
    return word in UNITS or word in MONEY or word in COUNTED or word == "percent"


def asked_numbers(question: Question) -> list[AskedNumber]:
    """Return the numbers of a question from left to right."""
    words = [_written(question, at) for at in range(len(question.tokens))]
    found: list[AskedNumber] = []
    at = 0
    while at < len(words):
        one = None if words[at] == "one" else _Numbers(words).read(at)
        if one is not None:
            found.append(one)
        at = at + 1 if one is None else one.last
    return found


def _written(question: Question, at: int) -> str:
    """Return a token, with the period of a number."""
    token = question.tokens[at]
    written = question.text[token.start : token.end].replace(",", "")
    return written if _NUMBER.fullmatch(written) else token.word


class _Numbers:
    """Reads the numbers of some words."""

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def number(self, at: int) -> tuple[Decimal, int] | None:
        """Return the number at a position, and where it ends."""
        word = NUMBERS.get(self.word(at), self.word(at))
        if not _NUMBER.fullmatch(word):
            return None
        scale = SCALES.get(self.word(at + 1))
        return (Decimal(word), at + 1) if scale is None else (Decimal(word) * scale, at + 2)

    def read(self, at: int) -> AskedNumber | None:
        """Return the number at a position with its comparison; None if there is none."""
        known = self.number(at)
        if known is None:
            return None
        value, last = known
        other = self.number(last + 1)
        if other and self.word(last) in _JOINING and self.word(at - 1) in ("between", "from"):
            return AskedNumber(at - 1, other[1], (NumberTest(">=", value), NumberTest("<=", other[0])))
        if other and self.word(last) == "or":
            return AskedNumber(at, other[1], (NumberTest("=", value), NumberTest("=", other[0])), is_any=True)
        return self._compared(at, value, last) or self._bounded(at, value, last)

    def _compared(self, at: int, value: Decimal, last: int) -> AskedNumber | None:
        """Return a number with a comparative before it."""
        for before in range(at - 1, max(-1, at - _BEFORE), -1):
            word = self.word(before)
            if word in ("least", "most") and self.word(before - 1) == "at":
                return AskedNumber(before - 1, last, (NumberTest(">=" if word == "least" else "<=", value),))
            if word in COMPARATIVES:
                adjective = COMPARATIVES[word]
                op = (">" if adjective.sign > 0 else "<") + "=" * (word in ("since", "until"))
                if self.word(before - 1) in ("no", "not") and self.word(before + 1) == "than":
                    op = "<=" if op == ">" else ">="
                return AskedNumber(before, last, (NumberTest(op, value),), adjective.nouns, adjective.dates)
            if word in ("exactly", "equal"):
                return AskedNumber(before, last, (NumberTest("=", value),))
            if word == "from" and before == at - 1 and self.word(last) in ("on", "onward", "onwards"):
                return AskedNumber(before, last + 1, (NumberTest(">=", value),))
            if word == "up" and self.word(before + 1) == "to":
                return AskedNumber(before, last, (NumberTest("<=", value),))
            if self.number(before):
                break
        return None

    def _bounded(self, at: int, value: Decimal, last: int) -> AskedNumber:
        """Return a number with *or more* behind it, or one that is equalled."""
        behind = last + 1 if is_unit(self.word(last)) else last
        if self.word(behind) == "or" and self.word(behind + 1) in _MORE | _LESS:
            op = ">=" if self.word(behind + 1) in _MORE else "<="
            return AskedNumber(at, behind + 2, (NumberTest(op, value),))
        first = at - 1 if self.word(at - 1) in ("in", "during", "of", "for", "at") else at
        return AskedNumber(first, last, (NumberTest("=", value),))
