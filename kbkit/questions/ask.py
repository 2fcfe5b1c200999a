"""Entry point: ask questions in plain English. No language model."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.clause_reading import ClauseReading, WordMatch
from kbkit.questions.reader import QuestionReader, Read
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.why import Why

MAX_ALTERNATIVES = 5


class AskResult:
    """The answers to a question, with the expression it was read as.

    ``answers`` is an :class:`kbkit.answers.answer_set.AnswerSet`, empty if the KB has none, or None if the question
    could not be read. ``confidence`` is the probability that the answers are exactly right.
    """

    def __init__(self, stores: Stores, read: Read, alternatives: int = MAX_ALTERNATIVES) -> None:
        self._stores, self._read, self._alternatives = stores, read, alternatives

    @property
    def question(self) -> str:
        """The question."""
        return self._read.question.text

    @property
    def reading(self) -> ChainReading | ClauseReading | None:
        """The best reading; None if there is none."""
        return self._read.best

    @property
    def answers(self) -> AnswerSet | None:
        """The answers, evaluated lazily."""
        return None if self.reading is None else self.reading.answers

    @property
    def expression(self) -> str:
        """The answer expression that the question was read as; empty if it could not be read."""
        return "" if self.reading is None else self.reading.expression

    @property
    def value(self) -> Any:
        """The number or the values that the question asks for; None if it asks for nodes."""
        return None if self.answers is None else self.answers.value

    @property
    def confidence(self) -> float:
        """The probability that the answers are exactly right, 0 to 1."""
        return self._read.confidence

    @property
    def is_trusted(self) -> bool:
        """Whether the expression explains all content words of the question, verbs aside, and its operators."""
        return self.reading is not None and self.reading.is_trusted

    @property
    def unexplained(self) -> list[str]:
        """The content words of the question that nothing in the expression explains."""
        return [] if self.reading is None else list(dict.fromkeys(self.reading.unexplained))

    @property
    def is_sure(self) -> bool:
        """Whether the answers can be used as they are: the reading is trusted, and more likely right than not."""
        return self._read.is_sure

    @property
    def doubts(self) -> list[str]:
        """Why the answers cannot be used as they are, in words; empty if they can."""
        if self.is_sure:
            return []
        words = ", ".join(map(repr, self.unexplained))
        doubts = [f"no meaning found for {words}"] if words else []
        if self.reading is None or self.reading is self._read.chain:
            unread = dict.fromkeys(self._read.ignored or [self._read.by_clauses.reason])
            doubts += [f"{what} is not read" for what in unread if what]
        return doubts

    @property
    def refusal(self) -> str:
        """Why the question is not answered, as a sentence without a full stop; empty if it is."""
        if self.is_sure:
            return ""
        if self.reading is None:
            return "Not answered: the question names nothing in this KB"
        doubts = "; ".join(self.doubts) or "no reading is certain enough"
        return f"Not answered: {doubts} (confidence {self.confidence:.2f})"

    def closest(self, limit: int) -> list[str]:
        """Return the expressions of the best readings, at most ``limit``."""
        return [] if self.reading is None else [self.expression, *self.alternatives["expression"].to_list()][:limit]

    def closest_sets(self, limit: int) -> list[tuple[str, AnswerSet]]:
        """Return the best readings, at most ``limit``: expressions with their answers."""
        if self.answers is None:
            return []
        found = {self.expression: self.answers}
        for one in self._read.all:
            if len(found) < limit:
                found.setdefault(one.expression, one.answers)
        return list(found.items())[:limit]

    @property
    def stores(self) -> Stores:
        """The stores of the KB that was asked."""
        return self._stores

    @cached_property
    def matches(self) -> list[WordMatch]:
        """What each name and word of the question was matched to."""
        return [] if self.reading is None else self.reading.matches()

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
        for reading in self._read.all:
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
