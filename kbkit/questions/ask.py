"""Entry point: ask questions in plain English. No language model."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kbkit.answers.answer_set import answers as expression_answers
from kbkit.errors import BadInputError, KbError
from kbkit.questions.answer_kinds import content
from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.choices import ReadingChoices, keep_choice, resolved
from kbkit.questions.clause_reading import ClauseReading, WordMatch
from kbkit.questions.meaning_doubts import meanings
from kbkit.questions.read import Read
from kbkit.questions.reader import QuestionReader
from kbkit.questions.understood import ReadingInWords, certainty, in_words
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.why import Why
    from kbkit.questions.taught import ChosenReading

MAX_ALTERNATIVES = 5
MAX_OFFERED = 20
"""Number of readings that a person can choose from, at most."""
_TRIED = 30
"""Number of best readings that are run to find different ones to choose from."""


class AskResult:
    """The answers to a question, with the expression it was read as.

    ``answers`` is an :class:`kbkit.answers.answer_set.AnswerSet`, empty if the KB has none, or None if the question
    could not be read. ``confidence`` is the probability that the answers are exactly right; it is 1 for a reading that
    a person chose for the question, which ``choice`` is then.
    """

    def __init__(self, stores: Stores, read: Read, alternatives: int = MAX_ALTERNATIVES) -> None:
        self._stores, self._read, self._alternatives = stores, read, alternatives
        self.choice: ChosenReading | None = ReadingChoices.of(stores).find(read.text)
        """The reading that a person chose for the question, if it is used."""
        self.unused_choice = ""
        """Why the reading that a person chose is not used, as a sentence without a full stop; else empty."""
        self._chosen: AnswerSet | None = None
        if self.choice is not None:
            self._chosen, self.unused_choice = resolved(stores, self.choice)
        if self._chosen is None:
            self.choice = None

    @property
    def question(self) -> str:
        """The question."""
        return self._read.text

    @property
    def reading(self) -> ChainReading | ClauseReading | None:
        """The best reading, whatever was chosen; None if there is none."""
        return self._read.best

    @property
    def answers(self) -> AnswerSet | None:
        """The answers, evaluated lazily."""
        if self._chosen is not None:
            return self._chosen
        return None if self.reading is None else self.reading.answers

    @property
    def expression(self) -> str:
        """The answer expression that the question was read as; empty if it could not be read."""
        if self.choice is not None:
            return self.choice.expression
        return "" if self.reading is None else self.reading.expression

    @property
    def value(self) -> Any:
        """The number or the values that the question asks for; None if it asks for nodes."""
        return None if self.answers is None else self.answers.value

    @property
    def confidence(self) -> float:
        """The probability that the answers are exactly right, 0 to 1; 1 for a chosen reading."""
        return 1.0 if self.choice is not None else self._read.confidence

    @property
    def certainty(self) -> str:
        """The confidence in words, or when the reading was chosen."""
        return certainty(self.confidence) if self.choice is None else f"as you chose on {self.choice.when[:10]}"

    @property
    def is_trusted(self) -> bool:
        """Whether the expression explains all content words of the question, verbs aside, and its operators."""
        return self.choice is not None or (self.reading is not None and self.reading.is_trusted)

    @property
    def unexplained(self) -> list[str]:
        """The content words of the question that nothing in the expression explains."""
        if self.reading is None or self.choice is not None:
            return []
        return list(dict.fromkeys(self.reading.unexplained))

    @property
    def is_sure(self) -> bool:
        """Whether the answers can be used as they are: the reading is trusted, and more likely right than not."""
        return self.choice is not None or self._read.is_sure

    @property
    def doubts(self) -> list[str]:
        """Why the answers cannot be used as they are, in words; empty if they can."""
        if self.is_sure:
            return []
        if (name := self._read.unclear) is not None and self.is_trusted:
            return [f"'{name.text}' may be {' or '.join(meanings(self._read.by_clauses.elements, name))}"]
        unread: dict[str, None] = {}
        if self.reading is None or self.reading is self._read.chain:
            unread = dict.fromkeys(filter(None, self._read.ignored or [self._read.by_clauses.reason]))
        words = ", ".join(word for word in map(repr, self.unexplained) if word not in unread)
        return [*([f"no meaning found for {words}"] if words else []), *(f"{what} is not read" for what in unread)]

    @property
    def refusal(self) -> str:
        """Why the question is not answered, as a sentence without a full stop; empty if it is."""
        if self.is_sure:
            return ""
        if self.reading is None:
            return f"Not answered: {self.without_reading}"
        doubts = "; ".join(self.doubts) or "no reading is certain enough"
        return f"Not answered: {doubts} (confidence {self.confidence:.2f})"

    @property
    def without_reading(self) -> str:
        """Why the question has no reading, in words; empty if it has one."""
        if self.reading is not None:
            return ""
        doubts = self.doubts if self._read.by_clauses.links else []
        return "; ".join(doubts) or "the question names nothing in this KB"

    def closest(self, limit: int) -> list[str]:
        """Return the expressions of the best readings, at most ``limit``."""
        return list(self._closest_sets(limit))

    def _closest_sets(self, limit: int) -> dict[str, AnswerSet]:
        """Return the best readings, at most ``limit``: expressions with their answers; the same whatever was chosen."""
        found: dict[str, AnswerSet] = {}
        for one in self._read.all:
            if len(found) < limit:
                found.setdefault(one.expression, one.answers)
        return dict(list(found.items())[:limit])

    def offered(self, limit: int) -> list[ReadingInWords]:
        """Return the best readings to choose from in words, at most ``limit``.

        No two have the same answers, and none is without answers where others have some.
        """
        found: dict[object, ReadingInWords] = {}
        empty: list[ReadingInWords] = []
        for expression, answers in self._closest_sets(_TRIED).items():
            if len(found) == limit:
                break
            try:
                key, is_empty = content(answers)
            except KbError:
                continue
            if key not in found:
                one = ReadingInWords(expression, in_words(answers, self._stores), len(answers))
                if is_empty:
                    empty.append(one)
                else:
                    found[key] = one
        return list(found.values()) or empty[:limit]

    @property
    def stores(self) -> Stores:
        """The stores of the KB that was asked."""
        return self._stores

    @cached_property
    def matches(self) -> list[WordMatch]:
        """What each name and word of the question was matched to; nothing for a chosen reading."""
        return [] if self.reading is None or self.choice is not None else self.reading.matches()

    def match_table(self) -> pl.DataFrame:
        """Return :attr:`matches` as a table: words, meaning, similarity (0 to 1)."""
        import polars as pl

        return pl.DataFrame(
            [(match.words, match.meaning, round(match.similarity, 2)) for match in self.matches],
            schema={"words": pl.String, "meaning": pl.String, "similarity": pl.Float64},
            orient="row",
        )

    def why(self, node: int | str) -> Why | None:
        """Return the proof of an answer: an id, or a reference as for ``kb.find``."""
        return None if self.answers is None else self.answers.why(node)

    def __len__(self) -> int:
        return 0 if self.answers is None else len(self.answers)

    def nodes(self) -> pl.DataFrame:
        """Return the answers sorted by id: id, type, key, name."""
        if self.answers is None:
            return self._stores.nodes.frame([])
        return self.answers.nodes()

    @cached_property
    def alternatives(self) -> pl.DataFrame:
        """Other expressions that the question may mean, best first: score, probability, answers, expression."""
        import polars as pl

        others: dict[
            str, ChainReading | ClauseReading
        ] = {}  # several names of a node give one expression several times
        for reading in self._read.by_rules:
            if len(others) < self._alternatives and reading.expression != self.expression:
                others.setdefault(reading.expression, reading)
        return pl.DataFrame(
            [(r.score, r.probability, len(r.answers), r.expression) for r in others.values()],
            schema={"score": pl.Float64, "probability": pl.Float64, "answers": pl.Int64, "expression": pl.String},
            orient="row",
        )

    def __repr__(self) -> str:
        return f"<AskResult {self.expression or 'not read'}, confidence {self.confidence:.2f}>"


def ask(stores: Stores, question: str, alternatives: int = MAX_ALTERNATIVES) -> AskResult:
    """Read and answer a question; see :meth:`kbkit.kb.KnowledgeBase.ask`."""
    return AskResult(stores, QuestionReader.of(stores).read(question), alternatives)


def choose(stores: Stores, result: AskResult, reading: int | str, *, own: bool = False) -> AskResult:
    """Choose a reading of a question and remember it; see :meth:`kbkit.kb.KnowledgeBase.choose`."""
    if not isinstance(result, AskResult):
        raise BadInputError(f"Expected the result of ask(), not {type(result).__name__}")
    if isinstance(reading, int):
        offered = result.offered(MAX_OFFERED)
        if not 1 <= reading <= len(offered):
            some = f"Readings are numbered from 1 to {len(offered)}" if offered else "The question has no readings"
            raise KbError(f"Invalid reading number {reading}", some)
        expression = offered[reading - 1].expression
    elif own:
        expression = expression_answers(stores, reading).expression
    elif (expression := reading) not in result.closest(_TRIED):
        raise KbError(f"The question has no reading {expression!r}", "Ask it again and choose one that is offered")
    keep_choice(stores, result.question, expression)
    return ask(stores, result.question)
