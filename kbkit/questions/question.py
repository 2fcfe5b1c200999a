"""A question as tokens, with the operator words that a reading has to account for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kbkit.english.agents import objects_of_verbs
from kbkit.english.question_words import (
    ADJECTIVES,
    COMPARATIVES,
    CONTRACTIONS,
    EXTREMES,
    FUNCTION_WORDS,
    INTERROGATIVES,
    SHARED,
    SUPERLATIVES,
    TOTALS,
    UNSUPPORTED,
    Adjective,
    is_negation,
)
from kbkit.english.words import PREPOSITIONS, lemmas_of, may_be_verb
from kbkit.errors import check_unicode
from kbkit.questions.units import POWER, short_power
from kbkit.stores.folding import words

MAX_TOKENS = 100
"""Words of a question that are read; what follows is ignored."""
MAX_LETTERS = 100
"""Letters of a word that are read."""
_TOKEN = re.compile(rf"(?P<unit>(?i:{POWER}))|\d+(?:,\d{{3}})+|\d+\.\d+|[^\W_]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_YEAR = re.compile("1[0-9]{3}|20[0-9]{2}")
_OF_NAMES = (["first"], ["last"])
_PARTS = (["name"], ["names"], ["initial"], ["initials"])
_GENERIC = Adjective(1, ())
_JOINING = frozenset(("that", "which", "who", "and", "but"))
"""Words after which *also* joins what is said of the same things."""


class QuestionToken(NamedTuple):
    """A word of the question: its characters ``start`` to ``end``, and the word in lower case without accents."""

    start: int
    end: int
    word: str


class AskedSuperlative(NamedTuple):
    """A superlative at tokens ``first`` to ``last``."""

    first: int
    last: int
    adjective: Adjective


class AskedComparison(NamedTuple):
    """A comparison with a number at tokens ``first`` to ``last``; ``operator`` is one of > >= < <= =."""

    first: int
    last: int
    operator: str
    number: str
    adjective: Adjective


@dataclass(frozen=True)
class Question:
    """A question, its tokens, and the operators that its words ask for.

    ``asked`` is the adjective of ``how long``; ``total`` is ``sum`` or ``avg`` if it asks for one, else empty;
    ``is_count`` whether it asks ``how many``; ``is_supported`` is false if it has operators that no expression has.
    """

    text: str
    tokens: tuple[QuestionToken, ...]
    superlative: AskedSuperlative | None
    comparison: AskedComparison | None
    negation: int | None
    asked: Adjective | None
    total: str
    is_count: bool
    is_shared: bool
    is_supported: bool
    operators: frozenset[int]
    """Positions of the tokens of operators."""
    in_labels: frozenset[int] = frozenset()
    """Positions of superlatives that are words of a relation: *first climbed*."""
    kinds: frozenset[int] = frozenset()
    """Positions of nouns for kinds of nodes in a KB that names none; see :mod:`kbkit.questions.kind_nouns`."""

    named: frozenset[int] = frozenset()
    """Positions of words of names, which are no operators or question words."""
    objects: frozenset[int] = frozenset()
    """Positions of nouns that say no more than their verb does: *wrote the script*."""

    @staticmethod
    def of(text: str, names: frozenset[int] = frozenset(), spelling: Mapping[str, str] | None = None) -> Question:
        """Return the tokens and operators of a question; the tokens ``names`` are parts of names, not operators.

        ``spelling`` has the right spelling of misspelled words.
        """
        check_unicode(text, "the question")
        found = (token for match in _TOKEN.finditer(text) for token in _tokens(match))
        tokens = tuple(token for token in found if token.word)[:MAX_TOKENS]
        if spelling:
            tokens = tuple(token._replace(word=spelling.get(token.word, token.word)) for token in tokens)
        plain = ["" if at in names else token.word for at, token in enumerate(tokens)]
        superlative, comparison = _superlative(plain), _comparison(text, tokens, plain)
        if superlative and comparison and comparison.first <= superlative.first <= comparison.last:
            superlative = None
        following = [*plain, ""][1:]
        negations = [
            at for at, (word, after) in enumerate(zip(plain, following, strict=True)) if is_negation(word, after)
        ]
        is_count, asked, used = _how(plain)
        totals = [at for at, word in enumerate(plain) if word in TOTALS]
        used |= {*totals}
        totals = [at for at in totals if plain[at] != "mean" or not at or plain[at - 1] not in ("i", "you")]
        if superlative:
            used |= set(range(superlative.first, superlative.last + 1))
        if comparison:
            used |= set(range(comparison.first, comparison.last + 1))
        return Question(
            text,
            tokens,
            superlative,
            comparison,
            negations[0] if negations else None,
            asked,
            TOTALS[plain[totals[0]]] if totals else "",
            is_count,
            any(word in SHARED for word in plain),
            len(negations) < 2
            and not any(word in UNSUPPORTED and not _is_aside(plain, at) for at, word in enumerate(plain)),
            frozenset(used | set(negations) | {at + 1 for at in negations if plain[at + 1 : at + 2] == ["t"]}),
            named=names,
            objects=frozenset(objects_of_verbs(plain)),
        )

    def content(self, without: set[int]) -> list[int]:
        """Return the positions of the words that need an explanation, ``without`` some.

        A preposition at the end belongs to the verb before it: *what does it fall under*.
        """
        words = [token.word for token in self.tokens]
        last = len(words) - 1 if words[-1:] and words[-1] in PREPOSITIONS and may_be_verb(words[-2:][0]) else -1
        return [
            at
            for at, token in enumerate(self.tokens)
            if at not in without
            and at != last
            and at not in self.operators
            and at not in self.kinds
            and at not in self.objects
            and token.word not in FUNCTION_WORDS
            and token.word not in SHARED
            and token.word not in INTERROGATIVES
        ]

    def without(self, named: set[int]) -> str:
        """Return the text in lower case, with a sign for each of the tokens ``named``."""
        text = self.text
        for at in sorted(named, reverse=True):
            text = f"{text[: self.tokens[at].start]}_{text[self.tokens[at].end :]}"
        return text.casefold()

    @property
    def asked_kind(self) -> str:
        """The noun for an unnamed kind of nodes that is asked for, *which films*; empty if something else is."""
        where = self.interrogative({*self.named})
        if where < 0 and self.says_also:
            last = max({*self.content(set()), *self.kinds}, default=-1)
            return self.tokens[last].word if last in self.kinds else ""
        is_first = where >= 0 and self.tokens[where].word in ("which", "what")
        rest = sorted({*self.content(set()), *self.kinds}) if is_first else []
        asked = next((at for at in rest if at > where), None)
        if asked in self.kinds and asked + 1 in rest and asked + 1 not in self.kinds:
            return ""  # what film genre
        return self.tokens[asked].word if asked in self.kinds else ""

    @property
    def says_also(self) -> bool:
        """Whether it says *also*; a statement then asks for its last noun: *the writer of Heat also wrote films*.

        A relative clause does not: *films by Ann that are also by Bob*.
        """
        plain = [token.word for token in self.tokens]
        return any(word == "also" and _JOINING.isdisjoint(plain[max(0, at - 2) : at]) for at, word in enumerate(plain))

    @property
    def superlative_words(self) -> list[str]:
        """The words of the superlative, if there is one."""
        found = self.superlative
        return [] if found is None else [token.word for token in self.tokens[found.first : found.last + 1]]

    def asks_last(self, after: int) -> bool:
        """Return whether the only question words come ``after`` a token, before one noun at most: *starred who*."""
        asking = [at for at, token in enumerate(self.tokens) if token.word in INTERROGATIVES]
        return bool(asking) and asking[0] >= max(after, len(self.tokens) - 2)

    def interrogative(self, without: set[int]) -> int:
        """Return the position of the first question word, ``without`` some tokens; -1 if there is none."""
        words = (at for at, token in enumerate(self.tokens) if at not in without and token.word in INTERROGATIVES)
        return next(words, -1)


def _tokens(match: re.Match[str]) -> Iterator[QuestionToken]:
    """Yield the word of a match; the parts of a contraction without its apostrophe, such as ``arent``."""
    word = short_power(match[0]) if match["unit"] else words(match[0]).replace(" ", "")[:MAX_LETTERS]
    first, second = CONTRACTIONS.get(word, (word, ""))
    if second and not match[0][1:].isupper():
        middle = match.end() - len(second)
        yield QuestionToken(match.start(), middle, first)
        yield QuestionToken(middle, match.end(), second)
    else:
        yield QuestionToken(match.start(), match.end(), word)


def _superlative(plain: list[str]) -> AskedSuperlative | None:
    for at, word in enumerate(plain):
        adjective = SUPERLATIVES.get(word)
        if adjective is None or (word in ("most", "least") and plain[at - 1 : at] == ["at"]):
            continue
        following = plain[at + 1] if at + 1 < len(plain) else ""
        if [word] in _OF_NAMES and _names_follow(plain[at + 1 : at + 4]):
            continue
        if word in ("most", "least") and following in ADJECTIVES:
            inner = ADJECTIVES[following]
            return AskedSuperlative(at, at + 1, inner._replace(sign=inner.sign * adjective.sign))
        if not adjective.nouns and following in ("number", "amount") and plain[at + 2 : at + 3] == ["of"]:
            return AskedSuperlative(at, at + 1, adjective)
        if following in ("number", "amount") and plain[at + 2 : at + 3] == ["of"]:
            return AskedSuperlative(at, at + 1, Adjective(adjective.sign, ()))
        return AskedSuperlative(at, at, adjective)
    return None


def _is_aside(plain: list[str], at: int) -> bool:
    """Return whether *only* is about the answer: ``only list the names``, ``the names only``."""
    return plain[at] == "only" and (at == len(plain) - 1 or plain[at + 1] in ("list", "show", "give", "return", "tell"))


def _names_follow(plain: list[str]) -> bool:
    """Return whether words go on as in ``last name`` or ``first and last names``."""
    return plain[:1] in _PARTS or (plain[:1] in (["and"], ["or"]) and plain[1:2] in _OF_NAMES and plain[2:3] in _PARTS)


def _comparison(text: str, tokens: tuple[QuestionToken, ...], plain: list[str]) -> AskedComparison | None:
    """Return the first comparison with a number: a comparative up to three words before it."""
    for at, token in enumerate(tokens):
        written = text[token.start : token.end].replace(",", "")
        if not plain[at] or not _NUMBER.fullmatch(written):
            continue
        for before in range(at - 1, max(-1, at - 5), -1):
            word = plain[before]
            if word in ("least", "most") and before and plain[before - 1] == "at":
                return AskedComparison(before - 1, at, ">=" if word == "least" else "<=", written, _GENERIC)
            if word in COMPARATIVES:
                adjective = COMPARATIVES[word]
                operator = (">" if adjective.sign > 0 else "<") + ("=" if word in ("since", "until") else "")
                return AskedComparison(before, at, operator, written, adjective)
            if word in ("exactly", "equal"):
                return AskedComparison(before, at, "=", written, _GENERIC)
        if plain[at - 1 : at] in (["in"], ["during"]) and _YEAR.fullmatch(written):
            return AskedComparison(at - 1, at, "=", written, COMPARATIVES["after"])
    return None


def _is_label(before: list[str]) -> bool:
    """Return whether the word before *number of* makes it no count: *greatest number*, or *tail number*."""
    return any(
        word in SUPERLATIVES
        or word in EXTREMES
        or (word not in (*TOTALS, *FUNCTION_WORDS) and "ADJ" not in lemmas_of(word) and "NOUN" in lemmas_of(word))
        for word in before
    )


def _how(plain: list[str]) -> tuple[bool, Adjective | None, set[int]]:
    """Return whether the question asks for a number, the adjective of ``how long``, and the tokens of both."""
    for at, word in enumerate(plain):
        following = plain[at + 1] if at + 1 < len(plain) else ""
        if word == "how" and following == "many":
            return True, None, {at, at + 1}
        if word == "number" and following == "of" and not _is_label(plain[max(0, at - 1) : at]):
            return True, None, {at}
        if word == "count" and at == 0:
            return True, None, {at}
        if word == "how" and following in ADJECTIVES:
            return False, ADJECTIVES[following], {at, at + 1}
    return False, None, set()
