"""Nouns that stand for a type which the schema calls otherwise: *restaurants*, of establishments.

Only the noun that is asked for is read so, and only if nothing else of the schema is as near: by its meaning, by the
names of the nodes (*hospitals*, where centres are called so), or by the name of the KB (*birds*, of the species of
``bird_log``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from kbkit.english.question_words import (
    EXTREMES,
    FUNCTION_WORDS,
    GREETINGS,
    INTERROGATIVES,
    NEGATIONS,
    PERSON_WORDS,
    PLAIN_WORDS,
    SUPERLATIVES,
    TOTALS,
)
from kbkit.english.words import is_plural, lemmas_of, may_be_person, singular
from kbkit.questions.element_lists import VALUE
from kbkit.questions.elements import Elements
from kbkit.questions.label_lookup import STANDING
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.stores.folding import words

_NEAR, _APART, _OWN = 0.45, 0.15, 0.1
"""Least similarity of a noun and the name of the type, how much nearer it must be than all others, and how much nearer
it is taken to be if all attributes that the question names are of the type.
"""
_LIKE = 0.7
"""Score of the type of a node that others are compared with."""
_WEAK = 0.6
"""Score of a label below which it is only similar."""
_AMONG, _NAMED = 20, 2
"""Nodes whose names are looked at, and how many of them must have the noun."""
_BEFORE = (
    FUNCTION_WORDS
    | PLAIN_WORDS
    | GREETINGS
    | INTERROGATIVES
    | PERSON_WORDS
    | NEGATIONS
    | {*SUPERLATIVES, *TOTALS, *EXTREMES, "more", "less", "fewer"}
) - {"on"}
"""Words that may stand before the noun that is asked for."""
_GENERAL = frozenset(("place", "thing", "item", "entry", "record", "one"))
"""Nouns that fit nodes of any type."""
_COUNTED = frozenset(("many", "number", "count"))
_EXISTING: tuple[list[str], ...] = ([], ["are", "there"], ["exist"], ["do", "we", "have"])
"""What may follow what is counted: *how many birds are there*, but not *how many birds were seen*, which adds up."""
_LINKING = (["of"], ["for"], ["and"])
"""Words between an attribute that is asked for and whose it is."""
_AUXILIARIES = frozenset("do does did has have had".split())  # noqa: SIM905
_WITHIN = frozenset("in at within to by from of for does do did".split())  # noqa: SIM905
_WHOLE = ("the", "our", "this")
"""Words before a word for all that the KB has."""
_KEEPING = frozenset("own have hold keep possess".split())  # noqa: SIM905
"""Verbs of what has all that the KB has."""
_MAX_NOUNS = 2_000


def _compared(question: Question, links: Sequence[QuestionLink], elements: Elements) -> list[int]:
    """Return the type of the node after *than*, of which the unknown noun must be: *companies larger than Lumen*."""
    for link in links:
        before = [token.word for token in question.tokens[max(0, link.first - 2) : link.first]]
        if link.nodes and not link.labels and "than" in before:
            kinds = {elements.type_number(node) for node in link.nodes}
            return list(kinds) if len(kinds) == 1 else []
    return []


@dataclass(frozen=True)
class TypeNouns:
    """Finds the noun of a question that stands for a type of one KB."""

    elements: Elements

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", lru_cache(_MAX_NOUNS)(self.of))

    @cached_property
    def subject(self) -> frozenset[str]:
        """The stems of the words of the name of the KB, which say what it is about: *birds*, of bird_log."""
        return frozenset(map(stem, label_words(self.elements.session.stores.directory.path.stem)))

    def about(self, question: Question, links: Sequence[QuestionLink]) -> set[str]:
        """Return the words that the name of the KB says: before types, *power* stations, or of all, in the *club*."""
        firsts = {link.first for link in links if link.types()}
        words = [token.word for token in question.tokens]
        before = {word for at, word in enumerate(words) if at + 1 in firsts}
        whole = [at for at in range(2, len(words)) if words[at - 2] in _WITHIN and self._is_whole(words, at)]
        does = {at for at in whole if words[at - 2] in _AUXILIARIES}  # what the museum owns
        kept = {words[-1] for at in does if at == len(words) - 2 and words[-1] in _KEEPING}
        return {word for word in before if stem(word) in self.subject} | {words[at] for at in whole} | kept

    def _is_whole(self, words: Sequence[str], at: int) -> bool:
        """Return whether a word is for all that the KB is about, as its name says: *the museum*."""
        return words[at - 1] in _WHOLE and stem(words[at]) in self.subject and not is_plural(words[at])

    def linked(self, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
        """Return the links with one for the noun that is asked for, if it stands for a type."""
        found = list(links)
        at = self.asked(question, links)
        if at < 0:
            return found
        noun = singular(question.tokens[at].word)
        others = [link for link in found if link.first != at]
        if kinds := _compared(question, others, self.elements):
            token = question.tokens[at]
            option = tuple(LabelOption(kind, "", _LIKE) for kind in kinds)
            text = question.text[token.start : token.end]
            return sorted([*others, QuestionLink(at, at + 1, text, option)], key=lambda link: link.first)
        owners = [frozenset((*(o.type for o in link.attributes()), *(v.type for v in link.values))) for link in others]
        kind = self.of(noun, frozenset(one for one in owners if one), len(others) < len(found))
        if kind < 0:
            asks = at > 0 and question.tokens[at - 1].word in ("which", "what")
            return others if asks else found  # which birds: not their number
        token = question.tokens[at]
        text, found = question.text[token.start : token.end], others
        found.append(QuestionLink(at, at + 1, text, (LabelOption(kind, "", STANDING),)))
        return sorted(found, key=lambda link: link.first)

    def asked(self, question: Question, links: Sequence[QuestionLink]) -> int:
        """Return the position of the noun that is asked for if it is no type; -1 if there is none."""
        linked = {at: link for link in links for at in range(link.first, link.last)}
        tokens = [token.word for token in question.tokens]
        at = self._first(tokens, linked)
        if {"who", "whom", "where", "when", "why"} & {*tokens[:at]}:
            return -1  # who lives in Leeds
        if at < 0 or at in question.operators or at in linked:
            return at if at in linked else -1
        if at and self._is_whole(tokens, at):
            return -1
        while (
            at + 1 < len(tokens)
            and at + 1 not in linked
            and tokens[at + 1] not in _BEFORE
            and self._is_noun(tokens[at + 1])
        ):
            at += 1
        is_part = at + 1 in linked and bool(linked[at + 1].types())
        if is_part or not self._is_noun(tokens[at]):
            return -1
        # How many votes did she get: not of what she is.
        is_other = "many" in tokens[:at] and bool(_AUXILIARIES & {*tokens[at + 1 : at + 2]})
        return -1 if is_other else at

    def _first(self, tokens: Sequence[str], linked: Mapping[int, QuestionLink]) -> int:
        """Return the position of the first word that is no label and may be the noun; -1 if there is none."""
        at = 0
        while at < len(tokens):
            link = linked.get(at)
            before = tokens[at - 1] if at else ""
            if link is None:
                if tokens[at] not in _BEFORE:
                    break
            elif link.types() or link.nodes:
                return -1
            elif link.labels and link.labels[0].score < _WEAK and is_plural(tokens[at]):
                return at  # companies, which an industry is only similar to
            elif self._is_part(link) and is_plural(tokens[at]):
                is_sum = bool(_COUNTED & {*tokens[:at]}) and tokens[at + 1 :] not in _EXISTING
                return -1 if is_sum or before in TOTALS else at
            elif link.labels and not link.labels[0].is_boolean and tokens[link.last : link.last + 1] not in _LINKING:
                return -1  # attorney general candidates
            at += 1
        return at if at < len(tokens) else -1

    def _is_part(self, link: QuestionLink) -> bool:
        """Return whether a word is only the first of the words of numbers: *birds*, of ``bird_count``."""
        options = link.attributes()
        return bool(options) and all(
            one.is_number and one.score < 1 and label_words(one.attribute)[-1] != singular(link.text.casefold())
            for one in options
        )

    def _is_noun(self, word: str) -> bool:
        return any("NOUN" in lemmas_of(form) for form in (word, singular(word)))

    def of(self, noun: str, owners: frozenset[frozenset[int]], is_part: bool) -> int:
        """Return the type that a noun stands for; ``owners`` are the types that each attribute named is of.

        The noun may be a part of a label (``is_part``), and is else no nearer to an attribute than to the type.
        """
        named = self._called(noun)
        if named >= 0:
            return named
        kinds = self.elements.type_labels.similarity(noun)
        if not len(kinds):
            return -1
        common = frozenset.intersection(*owners) if owners else frozenset()
        if noun in _GENERAL:
            return min(common) if len(common) == 1 and self._is_named(min(common)) else -1
        is_person = may_be_person(noun)
        fits = [(number in self.elements.people) == is_person for number in range(len(kinds))]
        if stem(noun) in self.subject:
            common |= {int(np.argmax(kinds))}
        own = np.array([_OWN * (number in common) for number in range(len(kinds))])
        kinds = kinds * np.array(fits)
        ranked = np.argsort(-(kinds + own), kind="stable")
        best = int(ranked[0])
        others = float((kinds + own)[ranked[1]]) if len(ranked) > 1 else 0.0
        own_labels = [e.label for e in self.elements.all if e.source == best and e.kind == VALUE]
        similar = self.elements.labels.similarity(noun).copy()
        similar[own_labels] = 0.0  # restaurants have a cuisine
        labels = float(similar.max(initial=0.0))
        score = float((kinds + own)[best])
        return best if score >= _NEAR and score - others >= _APART and (is_part or score > labels) else -1

    def _is_named(self, kind: int) -> bool:
        """Return whether the nodes of a type have names, as things have and rows of a log have not."""
        row = self.elements.session.stores.nodes.row(self.elements.types[kind].first)
        return row.name != row.key

    def _called(self, noun: str) -> int:
        """Return the only type with nodes that have a noun in their names; -1 if there is none."""
        stores = self.elements.session.stores
        if not stores.has("text"):
            return -1
        nodes = stores.text.names_holding(noun, None, _AMONG).tolist()
        forms = {noun, f"{noun}s"}
        whole = [node for node in nodes if forms & {*words(stores.nodes.name(node)).split()}]
        kinds = {self.elements.type_number(node) for node in whole}
        return kinds.pop() if len(kinds) == 1 and len(whole) >= _NAMED else -1
