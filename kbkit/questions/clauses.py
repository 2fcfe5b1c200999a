"""Read the clauses of a question: what it asks for, and the conditions, order and groups that it names.

Links stand in the text as signs (``<L0>`` a label, ``<V1>`` a value or node, ``<N2>`` a number), and rules rewrite the
text from the most specific phrase to the most general: ``<L0> between <N1> and <N2>`` becomes a condition, ``<C0>``.
What no rule consumes is asked for, stands on the way between the two, or is not explained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

from kbkit.english.question_words import ADJECTIVES, SUPERLATIVES, Adjective
from kbkit.questions.acts import Act
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink

L, V, N = r"<L\d+>", r"<V\d+>", r"<N\d+>"
OF = r"(?: of| for| in)?(?: all| each)?(?: the| their| its| his| her| this| these)?"
BE = (
    "(?:(?:that|which|who|is|are|was|were|be|being|been|has|have|had|having|with|whose|of|equal|equals|to|exactly|a|an|"
    "value|named|called|it|they) )*"
)
"""Verbs, pronouns and articles that may stand between a label and its value."""
_SURE = 0.95
"""Least score of a label that is surely meant."""
_SPACES = re.compile(r"\s+")
SUPERLATIVE = "|".join(sorted(SUPERLATIVES, key=len, reverse=True))


@dataclass(frozen=True)
class Restriction:
    """A condition: of an attribute that ``label`` or ``nouns`` names, or of how many nodes of the type ``label`` there
    are; ``operand`` is an aggregate (``avg``) of the attribute itself, or a node to compare with.

    ``op`` is also ``holds`` (an attribute says yes), ``lacks`` (it says no), ``missing``, or ``none`` (no
    nodes of the type ``label``, or of the only type that can be meant, are joined).
    """

    label: QuestionLink | None
    op: str
    values: tuple[QuestionLink, ...] = ()
    negated: bool = False
    adjective: Adjective | None = None
    operand: str = ""
    is_both: bool = False
    """Whether the text says *both*, so that each of the values is required."""


@dataclass(frozen=True)
class Most:
    """A superlative: the ``count`` nodes with the greatest (``sign`` 1) or least of what ``label`` or ``nouns`` names.

    ``is_common``: the most frequent values of ``label`` are asked for.
    """

    label: QuestionLink | None
    adjective: Adjective
    count: int = 1
    is_common: bool = False
    is_number: bool = False
    is_use: bool = False
    """Only a verb says what is counted: the least used service."""
    is_amount: bool = False
    """It is *the most* or *the least* of what ``label`` names, which adds up: the most hours."""
    is_nth: bool = False
    """Only the last of the ``count`` nodes is asked for: the second largest."""
    total: str = ""
    """``sum`` or ``avg`` of ``label`` is compared: the member with the highest total fines."""
    hop: int = -1
    """The hop to what is counted, if a verb says it: *who supervises the most people*."""
    among: tuple[QuestionLink, ...] = ()
    """The values that select what is counted: the actor in the most horror films."""

    @property
    def is_judged(self) -> bool:
        """Whether it is the best or the worst, of which only the measure tells whether it is the most or the least."""
        return self.adjective.nouns == ADJECTIVES["good"].nouns


@dataclass(frozen=True)
class AskedTarget:
    """What is asked for: a label, or a ``total`` of it: count, sum, avg, min or max.

    ``of`` is the type whose attribute it is, if the text says.
    """

    label: QuestionLink | None
    total: str = ""
    of: QuestionLink | None = None
    is_distinct: bool = False

    def is_measure(self, measures: Collection[object]) -> bool:
        """Return whether a superlative with one of some measures may compare what is asked for."""
        options = self.label.attributes() if self.label is not None else []
        is_number = any(option.is_number for option in options)
        return bool(measures) and (not is_number or any(option.attribute in measures for option in options))

    @property
    def meaning(self) -> object:
        """What two targets share that ask for the same."""
        said = self.label and (self.label.labels, self.label.role)
        return (said, self.total, self.of and self.of.labels)


@dataclass
class Clauses:
    """The clauses of a question. ``context`` are the labels that stand between what is asked for and the conditions."""

    targets: list[AskedTarget] = field(default_factory=list)
    context: list[QuestionLink] = field(default_factory=list)
    restrictions: list[Restriction] = field(default_factory=list)
    most: Most | None = None
    groups: list[QuestionLink] = field(default_factory=list)
    are_theirs: bool = False
    """Whether all conditions are on the nodes of the groups: each of *Ann's courses*."""
    order: tuple[QuestionLink | None, bool] | None = None
    order_by: Adjective | None = None
    """What the nodes are ordered by, as an adjective: oldest first."""
    is_yes_no: bool = False
    is_either: bool = False
    nouns: set[str] = field(default_factory=set)
    """Words that follow an article, a preposition or an unexplained word, so that they are hardly verbs."""
    capitalized: set[str] = field(default_factory=set)
    """Words that begin with a capital inside the question, as names do."""
    is_who: bool = False
    """Whether it asks for people: it begins with *who*, or says *anyone who*."""
    is_named: bool = False
    """Whether it says who is asked for: *who is our oldest client*."""
    is_whose: bool = False
    """Whether it asks whose nodes of a type are meant."""
    said: list[QuestionLink] = field(default_factory=list)
    """The labels that the verb after *who* is derived from: *represents*, of the counties represented."""
    events: list[QuestionLink] = field(default_factory=list)
    """The types whose verb the question has: *adopted*, of adoptions."""
    averaged: Adjective | None = None
    """What an average is asked of: *how long on average*."""
    is_how_much: bool = False
    """Whether it asks *how much* without saying of what."""
    is_where: bool = False
    """Whether it begins with *where*."""
    head: QuestionLink | None = None
    """The value that says what is asked for: ``comedies of 2012``, ``how many herbs``."""
    asks_for: str = ""
    """The question word that asks for a person, place or time."""
    is_compared: bool = False
    """Whether values are compared with each other: *electric cars compared to petrol ones*."""
    tells_measure: bool = False
    """Whether the number that a superlative or a condition compares is asked for too: *..., and how many?*."""
    lists_columns: bool = False
    """Whether columns of the nodes and of their neighbours are asked for beside them."""
    verbs: list[str] = field(default_factory=list)
    """Verbs of a relation that is denied: *borrowed*, of books without borrowers."""
    unexplained: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Phrases that no rule reads."""

    @property
    def asks_attribute(self) -> bool:
        """Whether an attribute other than a name is surely asked for."""
        plain = [target.label for target in self.targets if target.label is not None and not target.total]
        surely = (label.labels[0] for label in plain if label.labels and label.labels[0].score >= _SURE)
        return any(option.attribute not in ("", "name", "key") for option in surely)


class Rewriter:
    """Rewrites the text of one question by the rules, and collects its clauses."""

    def __init__(self, question: Question, links: list[QuestionLink], acts: Mapping[str, Act]) -> None:
        self.links, self.clauses, self.acts = links, Clauses(), acts
        self.last = len(question.tokens) - 1
        """The position of the last word."""
        ends = [question.tokens[link.last - 1].end for link in links]
        self.commas = {number for number, end in enumerate(ends) if question.text[end:].lstrip()[:1] == ","}
        """The numbers of the links that a comma follows."""
        self.text = self._signed(question)

    def _signed(self, question: Question) -> str:
        """Return the words of the question in lower case, with a sign for each link."""
        starts = {link.first: (number, link) for number, link in enumerate(self.links)}
        words: list[str] = []
        at = 0
        while at < len(question.tokens):
            if at in starts:
                number, link = starts[at]
                is_value = not link.labels or self._is_value_of_label(number)
                letter = "N" if link.number else "V" if is_value else "L"
                if letter == "V" and number - 1 in self.commas and words[-1:] == [f"<V{number - 1}>"]:
                    words.append(self._joining(question, number))  # Alaska, Hawaii and Nevada
                words.append(f"<{letter}{number}>")
                at = link.last
            else:
                words += [question.tokens[at].word] * (at not in question.in_labels)
                at += 1
        return _SPACES.sub(" ", f" {' '.join(words)} ")

    def _joining(self, question: Question, number: int) -> str:
        """Return the word that joins the last two of a list of values: ``or``, or else ``and``."""
        for link, after in zip(self.links[number:], self.links[number + 1 :], strict=False):
            between = [question.tokens[at].word for at in range(link.last, after.first)]
            if between not in ([], ["and"], ["or"]):
                break
            if between:
                return between[0]
        return "and"

    def _is_value_of_label(self, number: int) -> bool:
        """Return whether a label is written like a value of the attribute before it: *of type Participant*."""
        link, before = self.links[number], self.links[number - 1] if number else None
        if before is None or before.last != link.first or link.text == link.text.lower():
            return False
        meant = {(option.type, option.attribute) for option in before.attributes()}
        return any((value.type, value.attribute) in meant and value.value == link.text for value in link.values)

    def link(self, sign: str | None) -> QuestionLink | None:
        """Return the link of a sign."""
        return None if not sign else self.links[int(sign[2:-1])]

    def linked(self, signs: str) -> tuple[QuestionLink, ...]:
        """Return the links of all signs in a phrase."""
        return tuple(self.links[int(number)] for number in re.findall(r"<[LVN](\d+)>", signs))

    def apply(self, pattern: str, use: Callable[[re.Match[str]], str | None]) -> None:
        """Replace each match of a pattern by what ``use`` returns; None leaves it as it is."""

        def replaced(match: re.Match[str]) -> str:
            result = use(match)
            return match[0] if result is None else f" {result} "

        text, count = _between_spaces(pattern).subn(replaced, self.text)
        if count or "  " in text:
            self.text = _SPACES.sub(" ", text)

    def restrict(self, restriction: Restriction) -> str:
        """Add a condition and return its sign."""
        self.clauses.restrictions.append(restriction)
        return f"<C{len(self.clauses.restrictions) - 1}>"


@cache
def _between_spaces(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a rule. The cache of ``re`` is too small for all rules."""
    return re.compile(f"(?<=\\s){pattern}(?=\\s)")


def is_type(link: QuestionLink | None) -> bool:
    """Return whether a link is first of all a type."""
    return bool(link and link.labels and not link.labels[0].attribute)
