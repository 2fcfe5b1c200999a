"""The words of a question as sketches see them: how well each expresses what a KB has, and what it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from kbkit.english.question_words import (
    COMPARATIVES,
    EXTREMES,
    FREQUENT,
    FUNCTION_WORDS,
    INTERROGATIVES,
    MONEY,
    MONTHS,
    NEGATIONS,
    NUMBERS,
    PLAIN_WORDS,
    SHARED,
    TOTALS,
    Adjective,
)
from kbkit.english.words import lemmas_of, may_be_verb
from kbkit.questions.element_lists import VALUE
from kbkit.questions.elements import Elements, Floats
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.question import AskedSuperlative, Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.sketches.numbers import asked_numbers, is_unit

_PLAIN = (
    FUNCTION_WORDS
    | INTERROGATIVES
    | NEGATIONS
    | PLAIN_WORDS
    | SHARED
    | COMPARATIVES.keys()
    | TOTALS.keys()
    | EXTREMES.keys()
    | MONTHS.keys()
    | MONEY
    | frozenset(
        """
        about above across after all as before below between bottom data database different during each every exactly
        far fewer if least less listed more most much name names no off on only out over per please recorded show since
        so still than there top under until up whether while within without yet
        """.split()  # noqa: SIM905
    )
)
"""Words that no part of an expression needs to express."""
_YES_OR_NO = frozenset("is are was were does do did has have had can any".split())  # noqa: SIM905
_MISSING = frozenset("missing unknown blank empty unrecorded".split())  # noqa: SIM905
_EACH = ("per", "each", "every")
_TWO = re.compile(
    r"\b(?:and|with|together with|along with|showing|plus)(?: for each)? "
    r"(?:(?:how|what|which|when|where|who|whose|from)\b|(?:the|its|their|his|her|a) )"
    r"|\bwith (?:their|its|the)\b|, (?:and )?(?:their|its)\b"
)
"""Words that ask for one thing more."""
_OF_DATES = ("since", "until", "before", "after", "over", "under", "above", "below")
_WEAK, _RANGE = 0.25, 0.5
"""Similarities from which a word expresses something, and how much more makes it sure."""
_FADES = 0.08
"""How much less a word counts for each word between it and what it describes."""
_FOLLOWING = 0.02
"""How much less a further noun of an adjective counts."""
_MANY = 1_000
"""Number from which a number beside a superlative is no number of results."""


class SketchWords:
    """The words of a question about a KB.

    Whatever words can express has a number, its *atom*: relations and attributes by the position of their label, then
    types.
    """

    def __init__(self, elements: Elements, question: Question, links: Sequence[QuestionLink]) -> None:
        self.elements, self.question = elements, question
        self.tokens = [token.word for token in question.tokens]
        self.labels = elements.labels.count
        self.attributes = {(one.source, one.name): one.label for one in elements.all if one.kind == VALUE}
        """The atom of each attribute of a type."""
        self.named = [link for link in links if link.values or link.nodes]
        self.is_doubtful = [_may_be_label(link) for link in self.named]
        """Whether each is as likely a label as a name or value."""
        self.taken = {
            at
            for link, doubt in zip(self.named, self.is_doubtful, strict=True)
            for at in range(link.first, link.last)
            if not doubt
        }
        self.numbers = [one for one in asked_numbers(question) if not self.taken & {*range(one.first, one.last)}]
        self.how_many = self._number_of_results()
        superlative = self.superlative
        said = set(range(superlative.first, superlative.last + 1)) if superlative else set()
        in_labels = {word for one in elements.all if one.kind == VALUE for word in label_words(one.name)}
        self.total = "" if not in_labels.isdisjoint(TOTALS.keys() & {*self.tokens}) else question.total
        """``sum`` or ``avg`` if it asks for one and no attribute is called so; else empty."""
        self.content = [
            at
            for at, word in enumerate(self.tokens)
            if at not in self.taken | said | question.kinds
            and (word not in _PLAIN or (word in TOTALS and word in in_labels))
            and word not in NUMBERS
            and not word[:1].isdigit()
            and not (at in self.in_numbers and is_unit(word))
        ]
        """Positions of the words to express."""
        self.at = np.array(self.content, np.int64)
        self.fit = np.array([self.vector(_forms(self.tokens[at])) for at in self.content])
        """How well each word expresses each atom, 0 to 1."""
        self.fit = self.fit.reshape(len(self.content), self.labels + len(elements.types))
        self._best: list[float] = self.fit.max(0, initial=0.0).tolist()
        self.is_verb = np.array([may_be_verb(self.tokens[at]) for at in self.content], bool)
        self.names_no_type = np.array([not elements.types_called(stem(self.tokens[at])) for at in self.content], bool)

    @property
    def in_numbers(self) -> set[int]:
        """The positions of numbers and their comparisons."""
        return {at for one in self.numbers for at in range(one.first, one.last)}

    def _number_of_results(self) -> int | None:
        """Return the number of *the three largest*, *top 5*; what is said of it is no number any more."""
        superlative = self.superlative
        sides = [superlative.first - 1, superlative.last + 1] if superlative else []
        sides += [at + 1 for at, word in enumerate(self.tokens) if word in ("top", "bottom")]
        for at in sides:
            word = self.tokens[at] if 0 <= at < len(self.tokens) else ""
            found = NUMBERS.get(word, word)
            if found.isdigit() and int(found) < _MANY:
                self.numbers = [one for one in self.numbers if not one.first <= at < one.last]
                return int(found)
        return None

    def type_atom(self, kind: int) -> int:
        """Return the atom of a type."""
        return self.labels + kind

    def vector(self, words: Iterable[str]) -> Floats:
        """Return how well the first of some words expresses each atom, or a further one a little less."""
        labels, kinds = self.elements.labels, self.elements.type_labels
        found = np.zeros(labels.count + kinds.count)
        for place, word in enumerate(words):
            both = np.concatenate([labels.similarity(word), kinds.similarity(word)])
            found = np.maximum(found, (1 - _FOLLOWING * place) * both)
        fit: Floats = np.clip((found - _WEAK) / _RANGE, 0, 1)
        return fit

    def said(self, *atoms: int) -> float:
        """Return how well any word expresses one of some atoms."""
        return max(map(self._best.__getitem__, atoms), default=0.0)

    def near(self, first: int, last: int, atom: int, width: int = 4) -> float:
        """Return how well a word at most ``width`` words from a span expresses an atom; the nearer, the better."""
        if not len(self.at):
            return 0.0
        far = np.where(self.at >= last, self.at - last + 1, np.maximum(0, first - self.at))
        factor = np.where(far <= width, 1 - _FADES * np.maximum(0, far - 1), 0)
        return float((self.fit[:, atom] * factor).max(initial=0.0))

    def of_adjective(self, adjective: Adjective | None) -> Floats | None:
        """Return how well the nouns of an adjective express each atom; None if it has none."""
        return self.vector(adjective.nouns) if adjective is not None and adjective.nouns else None

    @cached_property
    def superlative(self) -> AskedSuperlative | None:
        """The superlative, or the comparative that asks which of some things has more: *which is higher, A or B*."""
        if self.question.superlative is not None or "or" not in self.tokens or "than" in self.tokens:
            return self.question.superlative
        words = enumerate(self.tokens)
        at = next((at for at, w in words if w in COMPARATIVES and w not in _OF_DATES and at not in self.in_numbers), -1)
        return AskedSuperlative(at, at, COMPARATIVES[self.tokens[at]]) if at >= 0 else None

    @cached_property
    def superlative_fit(self) -> Floats | None:
        """How well the nouns of the superlative express each atom."""
        found = self.superlative
        return self.of_adjective(found.adjective if found else None)

    @cached_property
    def asked_fit(self) -> Floats | None:
        """How well the nouns of *how long* express each atom."""
        return self.of_adjective(self.question.asked)

    @cached_property
    def question_word(self) -> int:
        """The position of the first question word; -1 if there is none."""
        return next((at for at, w in enumerate(self.tokens) if w in INTERROGATIVES and at not in self.taken), -1)

    @cached_property
    def asks(self) -> str:
        """The first question word: *who*; empty if there is none."""
        return self.tokens[self.question_word] if self.question_word >= 0 else ""

    @cached_property
    def head(self) -> list[int]:
        """Which words name what is asked for: those after *which*, *what* or *how many*, or at the beginning."""
        if self.asks not in ("which", "what", "") and not (self.asks == "how" and self.question.is_count):
            return []
        found: list[int] = []
        for at in range(self.question_word + 1, len(self.tokens)):
            if at in self.content and not (found and may_be_verb(self.tokens[at])):
                found.append(self.content.index(at))
            elif found or at in self.taken:
                break
        return found

    @cached_property
    def fit_of_head(self) -> Floats:
        """How well the best word of the head expresses each atom."""
        best: Floats = self.fit[self.head].max(0, initial=0.0)
        return best

    @cached_property
    def most(self) -> Floats:
        """How well each word expresses the atom that it expresses best."""
        best: Floats = self.fit.max(1, initial=0.0)
        return best

    @cached_property
    def is_yes_or_no(self) -> bool:
        """Whether it asks whether something is so."""
        return self.tokens[:1] != [] and self.tokens[0] in _YES_OR_NO and self.question_word < 0

    @cached_property
    def each(self) -> int:
        """The position of the word that asks for groups: *per*, *each*, *by*; -1 if there is none."""
        words = enumerate(self.tokens)
        return next((at for at, w in words if w in _EACH or (w == "by" and at > 2 and at + 1 in self.content)), -1)

    @cached_property
    def denied(self) -> int:
        """The position of the word that denies something or says that it is missing; -1 if there is none."""
        if self.question.negation is not None:
            return self.question.negation
        return next((at for at, word in enumerate(self.tokens) if word in _MISSING), -1)

    @cached_property
    def asks_more(self) -> bool:
        """Whether it asks for one thing more than the first one: *..., and how much is it*."""
        return bool(_TWO.search(" ".join(self.tokens)))

    @cached_property
    def says_frequent(self) -> bool:
        """Whether it asks for what is common."""
        return not {*FREQUENT}.isdisjoint(self.tokens)

    @cached_property
    def than(self) -> int:
        """The position of *than*; -1 if it does not occur."""
        return self.tokens.index("than") if "than" in self.tokens else -1

    @cached_property
    def same(self) -> int:
        """The position of *same* or *as many* in a comparison with something; -1 if there is none."""
        words = enumerate(self.tokens)
        pairs = (["many"], ["much"])
        return next((at for at, w in words if w == "same" or (w == "as" and self.tokens[at + 1 : at + 2] in pairs)), -1)

    @cached_property
    def than_number(self) -> bool:
        """Whether *than* is said of a number."""
        return any(one.first <= self.than < one.last for one in self.numbers)

    @cached_property
    def compares(self) -> bool:
        """Whether it says *more* or another comparative that is not said of a number."""
        if self.superlative is not self.question.superlative:
            return False
        words = (word for at, word in enumerate(self.tokens) if at not in self.in_numbers | self.taken)
        return any(word in COMPARATIVES and word not in _OF_DATES for word in words)

    def compared_before(self, at: int) -> Adjective | None:
        """Return the comparative at most four words before a position."""
        before = reversed(self.tokens[max(0, at - 4) : max(0, at)])
        return next((COMPARATIVES[word] for word in before if word in COMPARATIVES), None)


def _may_be_label(link: QuestionLink) -> bool:
    """Return whether a name or value is as likely the label of something: *director*, also a keyword."""
    is_label = bool(link.labels) and link.labels[0].score >= 0.95
    return is_label and not link.is_quoted and not (link.values and link.text[:1].isupper())


def _forms(word: str) -> list[str]:
    """Return a word, and the infinitive if it may be another form of a verb."""
    return [word, *[verb for verb in lemmas_of(word).get("VERB", ()) if verb != word][:1]]
