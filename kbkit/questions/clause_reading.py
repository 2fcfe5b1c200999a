"""The reading of a question by its clauses, beside the readings that follow chains of relations.

It reads what tables are asked: conditions on values and numbers, counts, totals, groups and order. Its confidence is
the probability that the answers are exactly right; ``CONFIDENCE`` says how it was fitted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Condition,
    Expression,
    Filter,
    Group,
    Nodes,
    PathFunction,
    Superlative,
    subtrees,
)
from kbkit.errors import KbError
from kbkit.questions.acts import acts, without_ends
from kbkit.questions.amount_links import with_amounts
from kbkit.questions.answer_kinds import content, keeps_most, other_kind
from kbkit.questions.candidates import Topic
from kbkit.questions.clause_verbs import ClauseVerbs
from kbkit.questions.clauses import Clauses
from kbkit.questions.date_doubts import is_other_date
from kbkit.questions.day_rules import prepared, with_days
from kbkit.questions.dropped_parts import dropped_part
from kbkit.questions.elements import Elements
from kbkit.questions.late_links import with_lateness
from kbkit.questions.lexicon import LITERAL, label_words, related, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.links import Linker
from kbkit.questions.meanings import SEVERAL_DATES
from kbkit.questions.measure_nouns import MeasureNouns
from kbkit.questions.mentions import Mention
from kbkit.questions.named_nodes import without_nameless
from kbkit.questions.other_links import MAX_OTHERS, other_links
from kbkit.questions.products import with_products
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.row_doubts import order_of_rows, repeats
from kbkit.questions.row_rules import PAIR
from kbkit.questions.several_plans import SeveralPlanner
from kbkit.questions.state_links import with_states
from kbkit.questions.target_rules import read_clauses
from kbkit.questions.type_nouns import TypeNouns
from kbkit.questions.values import NOTES, AttributeValues
from kbkit.questions.ways import NotReadError

CONFIDENCE = {
    "": 2.6,
    "words": -2.5,
    "verbs": -0.6,
    "label": -1.0,
    "relations": -0.25,
    "choices": -0.85,
    "mismatched": -1.5,
    "empty": -2.2,
    "all": -1.0,
}
"""Weights of the log odds that the answers are exactly right, rounded by hand near a logistic regression that was
cross-validated over nine databases of others.

``words`` and ``verbs`` that nothing explains, 1 minus the worst score of a ``label``, ``relations`` that are followed,
``choices`` among equals, labels ``mismatched`` with values, ``empty`` answers, and conditions that ``all`` nodes meet.
"""
_SURELY = 0.75
"""Least score of a label of a reading whose answers are none."""
_AUXILIARIES = ("do", "does", "did", "has", "have", "had")
_LEAST_OTHER = 0.5
"""Least confidence of a reading by other links than the likeliest."""
MAX_WORDS = 0
"""Content words other than verbs that a trusted reading may leave unexplained."""


@dataclass(frozen=True)
class WordMatch:
    """What a word of the question was matched to: a relation, an attribute, a type or a node; empty for none."""

    words: str
    meaning: str
    similarity: float


class ClauseReader:
    """Reads questions about one KB by their clauses."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self._linker = Linker(elements, AttributeValues.of(elements.session.stores))
        self._nouns = TypeNouns(elements)
        self._measures = MeasureNouns(elements)

    def read(self, question: Question, mentions: list[Mention]) -> ClauseReading:
        """Return the reading of a question; see :class:`ClauseReading`.

        If the likeliest links of its words lead to none that is trusted, others are tried: their readings must explain
        every word, and have the same answers.
        """
        links = self._nouns.linked(question, self._linker.links(question, mentions))
        links = with_amounts(self.elements, question, self._measures.linked(question, links))
        links = with_lateness(self.elements, question, with_states(self.elements, question, links))
        links = without_ends(self.elements, links)
        best = self._read(question, links)
        is_sure = best.is_trusted and best.confidence >= _LEAST_OTHER
        return best if is_sure or best.reason == PAIR else self._by_other_links(question, best)

    def _by_other_links(self, question: Question, best: ClauseReading) -> ClauseReading:
        """Return the only reading by other links that is sure, or the best one."""
        found: dict[object, ClauseReading] = {}
        for links in islice(other_links(best.links), MAX_OTHERS):
            other = self._read(question, links)
            is_sure = other.tree is not None and other.is_trusted and other.has_answers and not other.verbs
            if is_sure and other.confidence >= _LEAST_OTHER:
                key, is_empty = content(other.answers)
                if not is_empty:
                    found.setdefault(key, other)
        return next(iter(found.values())) if len(found) == 1 else best

    def _read(self, question: Question, links: list[QuestionLink]) -> ClauseReading:
        """Return the reading of a question whose links are given."""
        clauses = read_clauses(question, links, acts(self.elements, question, links))
        about = self._nouns.about(question, links)
        events = (target.label is not None and is_participle(target.label.text) for target in clauses.targets)
        is_deed = clauses.is_yes_no and question.tokens[0].word in _AUXILIARIES  # did anyone row to the island
        if all(events) and not is_deed and (at := self._nouns.asked(question, links)) >= 0:
            clauses.nouns.add(question.tokens[at].word)  # staff in Paris: a verb nowhere
        noted = (value.attribute for link in links for value in link.values[:1])
        if any(label_words(name)[-1] in NOTES for name in noted):
            about = {*about, "because"}  # because of snow, as a note says
        clauses.unexplained = [word for word in clauses.unexplained if word not in about]
        words = [question.tokens[at].word for at in question.content(set())]
        planner = SeveralPlanner(self.elements, links, clauses, words, [token.word for token in question.tokens])
        is_other = False
        try:
            if order := order_of_rows(question, links):
                raise NotReadError(f"'{order}'")
            function = prepared(self.elements, clauses)
            tree = without_nameless(self.elements, with_days(planner.plan(), function), question)
            tree = with_products(self.elements, tree)
            if clauses.is_yes_no and not isinstance(tree, Aggregate):
                raise NotReadError("yes or no")
            if clauses.is_yes_no and isinstance(tree, Aggregate) and (tree.op == "values" or tree.groups):
                raise NotReadError("yes or no")
            parts = list(subtrees(tree)) if clauses.is_yes_no and question.superlative else None
            if parts is not None and not any(isinstance(part, Superlative) for part in parts):
                raise NotReadError("a superlative")  # is Ford the most common make: not whether there is one
            text = question.text.casefold()
            text = text.replace("who", "what", 1) if clauses.is_named else text
            named = _other_than_named(question, links, tree)
            if asks := other_kind(self.elements, tree, text) or named or self._done_by(links):
                is_other = asks == named
                raise NotReadError(f"'{asks}'")
            if repeats(self.elements, tree, [token.word for token in question.tokens]):
                raise NotReadError("whether what repeats counts once")
            if is_other_date(self.elements, tree, words):
                raise NotReadError(SEVERAL_DATES)
            named_at = {at for link in links if link.is_value for at in range(link.first, link.last)}
            if dropped := dropped_part(self.elements, tree, question.without(named_at)):
                raise NotReadError(dropped)
        except NotReadError as error:
            return ClauseReading(self.elements, links, clauses, planner, None, str(error), is_other)
        return ClauseReading(self.elements, links, clauses, planner, tree)

    def _done_by(self, links: list[QuestionLink]) -> str:
        """Return a verb whose column of persons links to none, if a question names a node; else ""."""
        if not any(link.nodes for link in links):
            return ""
        verbs = (link for link in links if any(label_words(o.attribute)[-1:] == ["by"] for o in link.attributes()))
        return next((link.text for link in verbs), "")


def _other_than_named(question: Question, links: list[QuestionLink], tree: Expression) -> str:
    """Return *which* and the type after it, at the beginning, if an expression gives a number instead; else ""."""
    head = next((link for link in links if link.first == 1), None)
    asks = question.tokens[0].word if question.tokens else ""
    if asks not in ("which", "what") or head is None or not head.labels or head.labels[0].attribute:
        return ""
    is_number = isinstance(tree, Aggregate) and tree.op in ("sum", "avg", "min", "max") and not tree.groups
    return f"{asks} {head.text}" if is_number else ""


@dataclass(frozen=True)
class ClauseReading:
    """The clauses of a question and their expression: ``tree``, or None and the ``reason`` why there is none."""

    elements: Elements
    links: list[QuestionLink]
    clauses: Clauses
    planner: SeveralPlanner
    tree: Expression | None
    reason: str = ""
    names_other_kind: bool = False
    """Whether the question asks for nodes of a type and its clauses give a number."""

    @property
    def expression(self) -> str:
        """The text of the expression; empty if there is none."""
        return "" if self.tree is None else str(self.tree)

    @cached_property
    def answers(self) -> AnswerSet:
        """The answers, evaluated lazily."""
        assert self.tree is not None
        return AnswerSet(self.elements.session, self.tree)

    @cached_property
    def has_answers(self) -> bool:
        """Whether there are answers, or the value that is asked for."""
        if self.tree is None:
            return False
        try:
            value = self.answers.value
        except KbError:
            return False
        if isinstance(self.tree, Aggregate):
            return value is not None and value != []
        return len(self.answers) > 0

    @cached_property
    def _verbs(self) -> ClauseVerbs:
        followed = self.planner.doubts.followed
        return ClauseVerbs(self.elements, self.clauses, self.links, followed, self.tree)

    @property
    def verbs(self) -> list[str]:
        """The unexplained verbs, which often mean no more than *have*, but none of a relation that is not followed."""
        return self._verbs.plain

    @property
    def is_unmet(self) -> bool:
        """Whether all nodes of a type are answers though a verb says which of them: ``which pets are insured``."""
        if isinstance(self.tree, Aggregate) and self.tree.having:
            return False  # movements represented by over 3 artists
        tree = self.tree.source if isinstance(self.tree, Aggregate) else self.tree
        is_all = isinstance(tree, Nodes) and tree.selector is None and not self.clauses.groups
        return is_all and any(is_participle(verb) for verb in self.verbs)

    @property
    def unexplained(self) -> list[str]:
        """The other unexplained content words."""
        words = [word for word in self.clauses.unexplained if word not in self.verbs or self.is_unmet]
        words += self._verbs.misread
        labels = [*self.planner.doubts.followed | self._verbs.labels] if words else []
        names = {one.name for one in self.elements.all if one.label in labels}
        said = {stem(word) for name in names for word in label_words(name)}  # an author of papers, by paper_authors
        words = [word for word in words if not any(related(stem(word), one) for one in said)]  # own, by horse_owners
        similar = self.elements.labels.similarity
        return [word for word in words if not labels or max(similar(word)[labels]) < LITERAL]

    @property
    def is_trusted(self) -> bool:
        """Whether it explains every content word and has answers."""
        if self.tree is None or len(set(self.unexplained)) > MAX_WORDS:
            return False
        return not keeps_most(self.elements, self.tree) if self.has_answers else self.is_surely_empty

    @cached_property
    def is_surely_empty(self) -> bool:
        """Whether nodes would meet the conditions but for a number that all are below or above: *after 2050*."""
        tree = self.tree
        doubts = self.planner.doubts
        if not isinstance(tree, Filter) or doubts.choices or doubts.words or doubts.label < _SURELY or self.verbs:
            return False
        is_number = [
            isinstance(test, Comparison) or (isinstance(test, Condition) and test.op in ("<", ">", "<=", ">="))
            for test in tree.conditions
        ]
        if not any(is_number) or any(map(self._counts_others, tree.conditions)):
            return False
        rest = tuple(test for test, number in zip(tree.conditions, is_number, strict=True) if not number)
        return len(AnswerSet(self.elements.session, Filter(tree.source, rest) if rest else tree.source)) > 0

    def _counts_others(self, test: object) -> bool:
        """Return whether a number is of other things than those counted, of which there are fewer: 100 million people,
        of years with a population.
        """
        if not isinstance(test, Comparison) or not isinstance(test.measure, PathFunction) or test.measure.op != "count":
            return False
        end, number = test.measure.elements[-1], test.value
        if not isinstance(end, Nodes) or not isinstance(number, int | float):
            return False
        return any(one.name == end.type and number > one.count for one in self.elements.types)

    @cached_property
    def features(self) -> dict[str, float]:
        """The features of the confidence."""
        doubts = self.planner.doubts
        return {
            "": 1.0,
            "words": float(len(set(self.unexplained))),
            "verbs": float(len(set(self.verbs))),
            "label": 1 - doubts.label,
            "relations": float(doubts.relations),
            "choices": float(doubts.choices),
            "mismatched": float(len(set(doubts.words))),
            "empty": float(not self.has_answers),
            "all": float(self._keeps_all()),
        }

    @cached_property
    def confidence(self) -> float:
        """The probability that the answers are exactly right, from 0 to 1."""
        if self.tree is None:
            return 0.0
        score = sum(weight * self.features[name] for name, weight in CONFIDENCE.items())
        return 1 / (1 + math.exp(-score))

    def _keeps_all(self) -> bool:
        """Return whether the question has conditions that every node meets."""
        if not self.clauses.restrictions or self.tree is None or not self.has_answers:
            return False
        return len(self.answers.ids) >= self.elements.types[self.planner.focus].count > 1

    @property
    def score(self) -> float:
        """The log odds of the confidence."""
        return math.log(self.confidence / (1 - self.confidence)) if 0 < self.confidence < 1 else -math.inf

    @property
    def probability(self) -> float:
        """The confidence."""
        return self.confidence

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Where it starts: not at one name, as chains do."""
        return ()

    @property
    def selects(self) -> bool:
        """Whether it answers with nodes that names or values select."""
        is_yes_no = isinstance(self.tree, Aggregate) and self.tree.op == "exists"
        return not is_yes_no and any(link.is_value for link in self.links)

    @property
    def has_sure_name(self) -> bool:
        """Whether a name is hardly a common word: it has a capital."""
        return any(link.is_value and link.text != link.text.lower() for link in self.links)

    def matches(self) -> list[WordMatch]:
        """Return what each linked span of the question was matched to."""
        types, nodes = self.elements.types, self.elements.session.stores.nodes
        found = []
        for link in self.links:
            if link.labels:
                best = link.labels[0]
                name = types[best.type].name
                meaning = f"{name}.{best.attribute}" if best.attribute else name
                found.append(WordMatch(link.text, meaning, best.score))
            elif link.values:
                value = link.values[0]
                found.append(WordMatch(link.text, f"{types[value.type].name}.{value.attribute} = {value.value}", 1.0))
            elif link.nodes:
                row = nodes.row(link.nodes[0])
                found.append(WordMatch(link.text, f"{row.type}#{row.key}", 1.0))
        return found + [WordMatch(word, "", 0.0) for word in self.clauses.unexplained]

    # -- what other readings must express --------------------------------------------------------------------------

    @property
    def is_beyond_chains(self) -> bool:
        """Whether the question has clauses that no chain expresses; see :meth:`ignored_by`."""
        clauses = self.clauses
        totals = any(target.total for target in clauses.targets)
        is_common = clauses.most is not None and clauses.most.is_common
        is_common |= any(r.operand == "measure" for r in clauses.restrictions)
        several = len({target.meaning for target in clauses.targets}) > 1
        return bool((totals and clauses.groups) or clauses.order or clauses.is_yes_no or is_common or several)

    def ignored_by(self, tree: Expression) -> list[str]:
        """Return the clauses of the question that another expression does not express."""
        parts = list(subtrees(tree))
        ops = {op for part in parts if isinstance(part, Aggregate) for op in part.ops}
        superlative = any(isinstance(part, Superlative) for part in parts)
        measures = {part.measure for part in parts if isinstance(part, Superlative)}
        tests = sum(isinstance(part, (Condition, Comparison)) for part in parts)
        clauses = self.clauses
        totals = {target.total for target in clauses.targets if target.total}
        ignored = [
            f"'{one.total}'"
            for one in clauses.targets
            if one.total and one.total not in ops and not (one.total in ("min", "max") and one.is_measure(measures))
        ]
        is_grouped = any(isinstance(part, Group) for part in parts)
        ignored += ["a group"] * bool(clauses.groups and (totals or clauses.most) and not is_grouped)
        ignored += ["a total for each"] * bool(clauses.most and clauses.most.total and clauses.most.total not in ops)
        is_measured = any(r.operand == "measure" for r in clauses.restrictions)
        ignored += ["a total for each"] * (is_measured and str(tree) != self.expression)
        ignored += ["an order"] * bool(clauses.order)
        ignored += ["a superlative"] * bool(clauses.most and not superlative)
        ignored += ["the most frequent"] * bool(clauses.most and clauses.most.is_common)
        needed = sum(
            bool(r.operand or r.op in ("holds", "lacks") or (r.values and not r.values[0].nodes))
            for r in clauses.restrictions
        )
        ignored += ["a condition"] * (needed > tests)
        negated = any(r.negated or r.op == "none" for r in clauses.restrictions)
        is_difference = any(isinstance(part, Combine) and part.op == "-" for part in parts)
        ignored += ["a negation"] * (negated and not is_difference)
        ignored += ["yes or no"] * clauses.is_yes_no
        ignored += ["several values"] * (len({target.meaning for target in clauses.targets}) > 1)
        read = {"'same'", *(("'not'", "'no'") if is_difference else ())}  # chains say what is shared themselves
        return ignored + [what for what in clauses.unread if what not in read]
