"""A question with its readings, and which of them is best: along a chain of relations, or by clauses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest

import numpy as np

from kbkit.answers.syntax import Expression
from kbkit.english.question_words import DWELLING, LIGHT_VERBS
from kbkit.english.words import may_be_verb
from kbkit.errors import KbError
from kbkit.questions.answer_kinds import content, keeps_most, other_kind
from kbkit.questions.chain_doubts import ChainDoubts
from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.clause_reading import ClauseReading
from kbkit.questions.date_doubts import is_other_date
from kbkit.questions.dropped_parts import dropped_part
from kbkit.questions.edge_words import unread_of_edges
from kbkit.questions.lexicon import STRONG
from kbkit.questions.meaning_doubts import unclear_meaning
from kbkit.questions.meanings import NO_ATTRIBUTE, SEVERAL_DATES
from kbkit.questions.mentions import Mention
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.reading_words import answer_type
from kbkit.questions.scoring import WEIGHTS
from kbkit.questions.sketches.reading import MAX_TRIED, SketchReading
from kbkit.questions.ways import WHETHER

MAX_EXECUTED = 12
"""Number of best candidates that are executed until one has answers."""
FAR_FETCHED = 1.5
"""How much lower the score of a reading with answers may be than that of a trusted one without."""
_CONFIDENCE = {
    "": 1.49,
    "probability": 0.44,
    "uncovered": -1.01,
    "unexplained words": -0.4,
    "ignored": -0.63,
    "empty": -1.26,
    "score": 0.16,
}
"""Logistic regression of whether the answers are exactly right, fitted to half of the questions of ten sets, each with
the same weight; ``""`` is the intercept, ``probability`` the log odds of all readings with the same answers.
"""
MAX_DOUBTFUL = 0.25
"""Limit on the confidence of a reading that is not trusted."""
SURE = 0.5
"""Least confidence of answers that can be used as they are."""
AGREED, APART = 0.93, 0.65
"""Least confidence of a reading by clauses that the best sketch agrees with, and greatest of one that it does not.

Over thirteen databases on which no rules were developed, 85 of 87 of the first are right, and 30 of 49 of the second;
weights of sketches were fitted to eight of them.
"""
OF_ONE_TABLE = 0.75
"""The first of these in a KB without relations, where types say little: 41 of 55 over 120 tables of Wikipedia."""
_OWN = 0.05
"""How much of the confidence in a reading counts if a sketch agrees."""
_BEFORE_CHAIN = 0.8
"""Confidence from which a reading by clauses comes before a chain that ends with an attribute."""
CHOSEN = 0.3
"""How far an element may lack a word, at most, if a verb that nothing explains could say another one."""
_TIED = 0.2
"""Difference of scores below which of two readings with other answers none is meant more than the other."""
_COMPARED = 6
"""Number of best readings whose answers are compared, to find those that agree with the best."""


@dataclass(frozen=True)
class Read:
    """A question, the names found in it, and its readings: along chains of relations, best first, and by clauses."""

    text: str
    """The question as it was asked, with what announces it."""
    question: Question
    mentions: list[Mention]
    candidates: Callable[[], list[ChainReading]]
    by_clauses: ClauseReading
    may_explain: Callable[[], bool]
    """Whether a chain may explain so much that it is trusted; found out without scoring chains."""
    sketched: Callable[[int], Sequence[SketchReading]] = lambda _: ()
    """Returns some readings by sketches, the likeliest first."""

    @property
    def has_names(self) -> bool:
        """Whether a name or value is found, by which a reading may select its answers."""
        return bool(self.mentions) or any(link.is_value for link in self.by_clauses.links)

    @cached_property
    def readings(self) -> list[ChainReading]:
        """The readings along chains, best first; found when they are needed."""
        return self.candidates()

    @cached_property
    def best(self) -> ChainReading | ClauseReading | None:
        """The reading of the greater confidence, if any."""
        if self.by_clauses.tree is None:
            return self.chain
        if self.by_clauses.is_beyond_chains and self._of_clauses > MAX_DOUBTFUL:
            return self.by_clauses
        if self.chain is None or (self.ignored and self._of_clauses > MAX_DOUBTFUL):
            return self.by_clauses
        if self._of_clauses >= _BEFORE_CHAIN and self.chain.has_attribute:
            return self.by_clauses
        return self.chain if self._chain_reaches(self._of_clauses) else self.by_clauses

    @property
    def all(self) -> list[ChainReading | ClauseReading]:
        """All readings: the best first if it is sure; then in turn sketches and others, a chain before any sketch."""
        first: list[ChainReading | ClauseReading] = []
        if self.best is not None and self.is_sure:
            first = [self.best]
        is_chain = self.best is not None and self.best is self.chain
        turns = zip_longest(self.by_rules, self.sketches) if is_chain else zip_longest(self.sketches, self.by_rules)
        return [*first, *filter(None, chain.from_iterable(turns))]

    @property
    def by_rules(self) -> list[ChainReading | ClauseReading]:
        """The readings that are no sketches, with the one by clauses first."""
        return [*([] if self.by_clauses.tree is None else [self.by_clauses]), *self.readings]

    @cached_property
    def sketches(self) -> Sequence[SketchReading]:
        """The readings by sketches, the likeliest first; made when they are needed."""
        return self.sketched(MAX_TRIED)

    @cached_property
    def confidence(self) -> float:
        """The probability that the answers of the best reading are exactly right, from 0 to 1.

        The best sketch is a second opinion on a reading by clauses.
        """
        if self.unclear is not None:
            return min(self._of_chain if self.best is not self.by_clauses else self._of_clauses, MAX_DOUBTFUL)
        if self.best is not self.by_clauses:
            return self._of_chain
        found = self._of_clauses
        if not self.is_sure or type(self.by_clauses) is not ClauseReading:
            return found
        for sketch in self.sketched(1):
            agreed = AGREED if self.by_clauses.elements.hops else OF_ONE_TABLE
            return agreed + _OWN * found if self._agrees(sketch) else min(found, APART)
        return found

    def _agrees(self, sketch: SketchReading) -> bool:
        """Return whether a sketch has the same answers as the reading by clauses."""
        try:
            return content(sketch.answers) == content(self.by_clauses.answers)
        except KbError:
            return False

    @property
    def is_sure(self) -> bool:
        """Whether the answers can be used as they are: the reading is trusted, and more likely right than not."""
        # Most queries of a search are no questions. This tells without scores, or without answers.
        if not self.by_clauses.is_trusted and not (
            self.may_explain() and any(one.is_trusted for one in self.readings[:MAX_EXECUTED])
        ):
            return False
        return self.best is not None and self.best.is_trusted and self.reaches(SURE) and self.unclear is None

    @cached_property
    def unclear(self) -> QuestionLink | None:
        """A name that the best reading takes for the less common of its meanings though no word says which."""
        tree = None if self.best is None else self.best.tree
        clauses = self.by_clauses
        return None if tree is None else unclear_meaning(clauses.elements, self.question, clauses.links, tree)

    def reaches(self, least: float) -> bool:
        """Return whether the confidence is at least ``least``; faster than comparing it."""
        if self.best is not self.by_clauses:
            return self._chain_reaches(least)
        return self._of_clauses >= least if least <= SURE else self.confidence >= least

    @cached_property
    def ignored(self) -> list[str]:
        """The clauses of the question that the best chain does not express."""
        if self.chain is None:
            return []
        doubts = ChainDoubts(self.chain)
        ignored = self._ignored_clauses(self.chain) + doubts.not_read
        ignored += ["a superlative that most meet"] * keeps_most(self.by_clauses.elements, self.chain.tree)
        words = [token.word for token in self.question.tokens]
        is_place = words[:1] == ["where"] and not {*self.chain.unexplained} <= {*DWELLING, *LIGHT_VERBS}
        is_deed = _asks_what_is_done(words, self.chain)
        ignored += [f"'{verb}'" for verb in self.chain.unexplained] * (is_place or is_deed)
        is_deed = self.by_clauses.clauses.is_who and doubts.is_other_deed
        ignored += [f"'{verb}'" for verb in self.chain.unexplained] * is_deed  # who won: not who took part
        is_guess = self.chain.unexpressed > CHOSEN and self._certainty < SURE  # appears in: as an actor, or a writer?
        ignored += [f"'{verb}'" for verb in self.chain.unexplained] * is_guess
        is_unfit = self.by_clauses.reason == NO_ATTRIBUTE and self.chain.has_attribute_superlative
        ignored += ["a superlative"] * is_unfit
        is_choice = self.by_clauses.reason.startswith(WHETHER) and not self.chain.selects
        ignored += [self.by_clauses.reason] * is_choice  # most books, of authors and translators
        is_unfit = self.by_clauses.names_other_kind and self.chain.has_attribute_superlative
        ignored += ["whether a total is meant"] * is_unfit  # which product sold the largest quantity
        dates = (link.number for link in self.by_clauses.links if "-" in link.number)
        ignored += [f"'{date}'" for date in dates if date not in self.chain.expression]  # before 2025-03: not 2025
        is_any = doubts.is_any_date or (self.by_clauses.reason == SEVERAL_DATES and self.chain.has_attribute)
        names = {at for topic in self.chain.topics for at in topic.words}
        content = [words[at] for at in self.question.content(names)]
        is_any |= is_other_date(self.by_clauses.elements, self.chain.tree, content)
        ignored += [SEVERAL_DATES] * is_any
        ignored += [f"'{word}'" for word in self._unread_of_edges(self.chain.tree)]
        ignored += ["which of two readings is meant"] * self._is_tied
        ignored += ["what is shared"] * (self._asks_what_is_shared and not self.chain.is_shared)
        ignored += ["'how much'"] * (self.by_clauses.clauses.is_how_much and not self.chain.has_attribute)
        ignored += ["'who'"] * (self.by_clauses.clauses.is_who and doubts.ends_with_things)
        is_owned = self.by_clauses.reason == "'whose'" or not doubts.ends_with_people
        ignored += ["'whose'"] * (self.by_clauses.clauses.is_whose and is_owned)
        ignored += ["'when'"] * (self.by_clauses.clauses.asks_for == "when" and doubts.is_undated)
        text = self.question.text.casefold()
        text = text.replace("who", "what", 1) if self.by_clauses.clauses.is_named else text
        asks = other_kind(self.by_clauses.elements, self.chain.tree, text)
        ignored += [f"'{asks}'"] * bool(asks)
        ignored += filter(None, [dropped_part(self.by_clauses.elements, self.chain.tree, self.question.without(names))])
        ignored += ["an attribute"] * (self.by_clauses.clauses.asks_attribute and not self.chain.ends_with_attribute)
        if self.chain.expression == self.by_clauses.expression:
            nouns = {*self.by_clauses.unexplained} & self.by_clauses.clauses.nouns - {*self.chain.unexplained}
            ignored += sorted(f"'{noun}'" for noun in nouns if self._likeness(noun) < STRONG)
        ignored += [f"'{m.text}'" for m in self._labels_taken_for_names(self.chain)]
        used = {at for topic in self.chain.topics for at in topic.words}
        named = {self.question.tokens[at].word for at in used}
        clauses = self.by_clauses.clauses
        ignored += sorted(set(clauses.unexplained) & clauses.capitalized - named)
        used |= (
            self.chain.expressed | self.question.kinds | self.question.objects
        )  # actor, which is also the name of a tag
        return ignored + [f"'{m.text}'" for m in self.mentions if m.same_case and not used & {*m.tokens}]

    def _ignored_clauses(self, chain: ChainReading) -> list[str]:
        """Return the clauses that a chain does not express, but for numbers that are names: films like *Five*."""
        starts = {f"'{topic.mention.text}'" for topic in chain.topics if topic.mention is not None}
        return [what for what in self.by_clauses.ignored_by(chain.tree) if what not in starts]

    def _likeness(self, noun: str) -> float:
        """Return the greatest similarity of a noun to any label or type."""
        known = (self.by_clauses.elements.labels, self.by_clauses.elements.type_labels)
        return max(float(one.similarity(noun).max(initial=0.0)) for one in known)

    def _labels_taken_for_names(self, chain: ChainReading) -> list[Mention]:
        """Return the names a chain starts at that are rather a label: without a *director*, which is also a keyword."""
        labels = {at for link in self.by_clauses.links if link.role for at in range(link.first, link.last)}
        names = [topic.mention for topic in chain.topics if topic.mention is not None]
        taken = [name for name in names if not name.is_sure and labels & {*name.tokens}]
        verbs = [name for name in names if not name.same_case and may_be_verb(name.text) and chain.is_label(name.text)]
        return [*taken, *(name for name in verbs if name not in taken)]

    @cached_property
    def _of_clauses(self) -> float:
        found, tree = self.by_clauses.confidence, self.by_clauses.tree
        is_read = self.by_clauses.is_trusted and tree is not None and not self._unread_of_edges(tree)
        return found if is_read else min(found, MAX_DOUBTFUL)

    def _unread_of_edges(self, tree: Expression) -> list[str]:
        """Return the words of attributes of edges of which a reading says nothing."""
        names = {at for mention in self.mentions if mention.is_sure for at in mention.tokens}
        words = [token.word for at, token in enumerate(self.question.tokens) if at not in names]
        return unread_of_edges(self.by_clauses.elements.session.schema, tree, words)

    @cached_property
    def chain(self) -> ChainReading | None:
        """The best chain, if any: the first one with answers that is not far-fetched, or that is as good and shares."""
        first = self.readings[0] if self.readings else None
        best = None
        for reading in self.readings[:MAX_EXECUTED]:
            if first is not None and first.is_plain and reading.score < first.score - FAR_FETCHED:
                break
            is_better = best is None or (reading.score > best.score - _TIED and self._asks_what_is_shared)
            if is_better and (best is None or reading.is_shared > best.is_shared) and reading.has_answers:
                best = reading
            if best is not None and (best.is_shared or not self._asks_what_is_shared):
                break
        return best or first

    @property
    def _asks_what_is_shared(self) -> bool:
        """Whether the question says that things have the same: *films that share a director with Heat*."""
        return bool(re.search(r"\bsame\b|\bshares?\b.+\bwith\b", self.question.text.casefold()))

    @property
    def _is_tied(self) -> bool:
        """Whether another chain explains the words as well as one step does, and has other answers."""
        best = self.chain
        if best is None or sum(map(len, best.arms)) > 1:
            return False
        return any(
            one.score > best.score - _TIED
            and one.is_trusted
            and one.has_answers
            and answer_type(one.tree) == answer_type(best.tree)
            and not one.agrees_with(best)
            and not ChainDoubts(one).not_read
            for one in self.readings[:_COMPARED]
            if one is not best
        )

    @cached_property
    def _certainty(self) -> float:
        """The probability of the best chain, and of others with the same answers, among all chains."""
        best = self.chain
        if best is None:
            return 0.0
        return sum(r.probability for r in self.readings[:_COMPARED] if r is best or r.agrees_with(best))

    @cached_property
    def _of_chain(self) -> float:
        return self._confidence(self._certainty)

    def _chain_reaches(self, least: float) -> bool:
        """Return whether the confidence of the best chain is at least ``least``.

        Finds out which other readings have the same answers only if it depends on them.
        """
        if self.chain is None or self._confidence(self.chain.probability) >= least:
            return self.chain is not None or least <= 0
        possible = self.chain.probability + sum(one.probability for one in self.readings[:_COMPARED])
        return self._confidence(possible) >= least and self._of_chain >= least

    def _confidence(self, certainty: float) -> float:
        """Return the confidence of the best chain, if it and those with the same answers have this probability."""
        best = self.chain
        if best is None:
            return 0.0
        same = min(max(certainty, 1e-4), 1 - 1e-4)
        known = dict(zip(WEIGHTS, best.features.tolist(), strict=True))
        known |= {"": 1.0, "probability": float(np.log(same / (1 - same))), "score": best.score}
        known |= {"ignored": min(known["ignored"], 2.0), "empty": float(not best.has_answers)}
        known["unexplained words"] = float(len(set(best.unexplained)))
        found = float(1 / (1 + np.exp(-sum(weight * known[name] for name, weight in _CONFIDENCE.items()))))
        return found if best.is_trusted and not self.ignored else min(found, MAX_DOUBTFUL)


def _asks_what_is_done(words: list[str], chain: ChainReading) -> bool:
    """Return whether a verb at the end that nothing explains says what is asked: *what did her boss publish*."""
    is_asking = words[:1] == ["what"] and words[1:2] in (["do"], ["does"], ["did"])
    return is_asking and words[-1:] == chain.unexplained[-1:]
