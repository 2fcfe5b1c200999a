"""Readings that people chose where a question was not answered: run, remembered, listed and forgotten.

A choice is kept in the workspace as the question and the answer expression, so that it names nodes, relations and
attributes as they are called, and outlives generations. One that the schema of a generation cannot resolve is not
used, which the result of the question says.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.answer_set import answers as expression_answers
from kbkit.answers.errors import ExpressionError
from kbkit.directory.generations import now
from kbkit.errors import KbError
from kbkit.questions.taught import ChosenReading, Taught, change
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

MAX_CHOICES = 1_000
"""Number of choices that are kept, the latest ones."""
_MARKS = re.compile(r"[?!.,;:\"'“”‘’…]+(?=\s|$)|(?<!\S)[\"'“”‘’¿¡]+")
"""Punctuation before and after words; signs inside them, as in ``C++`` and ``3.5``, count."""


@dataclass
class ReadingChoices:
    """The choices of an open KB by the questions, which are compared without case and punctuation."""

    by_question: Mapping[str, ChosenReading]

    @staticmethod
    def of(stores: Stores) -> ReadingChoices:
        """Return the choices of an open KB, the same object until one is added."""
        return stores.shared(_read)

    @staticmethod
    def renew(stores: Stores) -> None:
        """Use the choices that are in the workspace now."""
        stores.renew(_read)

    def find(self, question: str) -> ChosenReading | None:
        """Return the choice for a question, if there is one."""
        return self.by_question.get(question_key(question))


def _read(stores: Stores) -> ReadingChoices:
    return ReadingChoices({question_key(one.question): one for one in Taught.of(stores).choices})


def question_key(question: str) -> str:
    """Return a question without case and punctuation, by which choices are found."""
    plain = unicodedata.normalize("NFKC", question).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return " ".join(_MARKS.sub(" ", plain).casefold().split())


def resolved(stores: Stores, choice: ChosenReading) -> tuple[AnswerSet | None, str]:
    """Return the answers of a choice, or None and why this generation has none, as a sentence without a full stop."""
    try:
        return expression_answers(stores, choice.expression), ""
    except KbError as error:
        problem = error.problem if isinstance(error, ExpressionError) else error.message
        return None, f"Reading chosen on {choice.when[:10]} not used: {problem}"


def keep_choice(stores: Stores, question: str, expression: str) -> None:
    """Remember the expression of the reading that a person chose for a question, instead of an earlier one."""
    choice = ChosenReading(question, expression, now())
    change(stores, lambda taught: replace(taught, choices=[*_others(taught, question), choice][-MAX_CHOICES:]))
    ReadingChoices.renew(stores)


def _others(taught: Taught, question: str) -> list[ChosenReading]:
    """Return the choices for other questions."""
    key = question_key(question)
    return [one for one in taught.choices if question_key(one.question) != key]


def forget_choice(stores: Stores, question: str) -> bool:
    """Forget the reading that was chosen for a question; return whether there was one."""
    counts: list[int] = []

    def without(taught: Taught) -> Taught:
        kept = _others(taught, question)
        counts[:] = len(taught.choices), len(kept)
        return replace(taught, choices=kept)

    change(stores, without)
    ReadingChoices.renew(stores)
    return counts[1] < counts[0]


def choice_table(stores: Stores) -> pl.DataFrame:
    """Return the choices, the last one first: question, expression, chosen (UTC), problem (why it is not used)."""
    import polars as pl

    rows = [
        (one.question, one.expression, one.when, resolved(stores, one)[1] or None)
        for one in reversed(Taught.of(stores).choices)
    ]
    return pl.DataFrame(rows, dict.fromkeys(("question", "expression", "chosen", "problem"), pl.String), orient="row")
