"""The reply to a question as plain data for all front ends: answers with proofs, or the closest readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.answers.totals import spoken
from kbkit.display.render import cell
from kbkit.questions.understood import (
    ReadingInWords,
    UnderstoodWords,
    certainty,
    in_words,
    readings,
    understood,
)

if TYPE_CHECKING:
    from kbkit.questions.ask import AskResult

MAX_PROOFS = 10
"""Number of answers that are listed with their proofs."""
CLOSEST = 3
"""Number of readings to choose from where none is certain enough."""


class ProvedAnswer(NamedTuple):
    """A node with the lines of its proof."""

    id: int
    type: str
    key: str
    name: str
    proof: list[str]


@dataclass(frozen=True)
class AskReply:
    """The reply to a question.

    If it ``is_answered``: the ``expression`` it was read as, the ``value`` (None if the question asks for nodes), the
    number of nodes, and the first ``answers`` with proofs. The nodes of a value are those it was computed from. Else
    ``refusal`` says in one sentence what could not be read, and ``closest`` has the closest readings, best first.
    ``phrase`` is the expression in words ("" if no phrase reads well), ``certainty`` the confidence in words, ``words``
    what each word was understood as, and ``others`` are the other readings (all if it is not answered).
    """

    question: str
    is_answered: bool
    confidence: float
    expression: str = ""
    value: Any = None
    count: int = 0
    answers: list[ProvedAnswer] = field(default_factory=list)
    refusal: str = ""
    closest: list[str] = field(default_factory=list)
    phrase: str = ""
    certainty: str = ""
    words: list[UnderstoodWords] = field(default_factory=list)
    others: list[ReadingInWords] = field(default_factory=list)

    @property
    def value_text(self) -> str:
        """The value as text."""
        return cell(self.value) if isinstance(self.value, list | float) else spoken(self.value)


def reply(result: AskResult, limit: int = MAX_PROOFS, closest: int = CLOSEST) -> AskReply:
    """Return the reply to a question, with up to ``limit`` answers or ``closest`` readings."""
    answers, stores = result.answers, result.stores
    told: dict[str, Any] = {
        "certainty": certainty(result.confidence),
        "words": understood(stores, result),
        "others": [],
    }
    others = readings(stores, result, closest + 1)
    if answers is None or not result.is_sure:
        told["others"] = others
        expressions = result.closest(closest)
        return AskReply(result.question, False, result.confidence, refusal=result.refusal, closest=expressions, **told)
    nodes = answers.nodes()
    first = nodes.head(limit)
    proofs = [why.lines() for why in answers.proofs(first["id"].to_list())]
    rows = first.select("id", "type", "key", "name").iter_rows()
    proved = [
        ProvedAnswer(node, kind, key, name, lines) for (node, kind, key, name), lines in zip(rows, proofs, strict=True)
    ]
    told["others"] = [one for one in others if one.expression != result.expression]
    phrase = in_words(answers, stores)
    return AskReply(
        result.question,
        True,
        result.confidence,
        result.expression,
        result.value,
        nodes.height,
        proved,
        phrase=phrase,
        **told,
    )
