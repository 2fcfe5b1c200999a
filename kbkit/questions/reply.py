"""The reply to a question as plain data for all front ends: answers with proofs, or the closest readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.questions.understood import (
    ReadingInWords,
    UnderstoodWords,
    in_words,
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

    If it ``is_answered``: the ``expression`` it was read as, the ``value`` (None if the question asks for nodes), also
    as a text, the number of nodes, and the first ``answers`` with proofs. The nodes of a value are those it was
    computed from. Else ``refusal`` says in one sentence what could not be read.
    ``phrase`` is the expression in words, ``certainty`` the confidence in words or when the reading was chosen,
    ``words`` what each word was understood as, and ``others`` are the other readings to choose from, best first (all
    if it is not answered). ``is_chosen``: a person chose the reading; ``unused_choice``: why a choice is not used.
    """

    question: str
    is_answered: bool
    confidence: float
    expression: str = ""
    value: Any = None
    value_text: str = ""
    count: int = 0
    answers: list[ProvedAnswer] = field(default_factory=list)
    refusal: str = ""
    phrase: str = ""
    certainty: str = ""
    words: list[UnderstoodWords] = field(default_factory=list)
    others: list[ReadingInWords] = field(default_factory=list)
    is_chosen: bool = False
    unused_choice: str = ""


def reply(result: AskResult, limit: int = MAX_PROOFS, closest: int = CLOSEST) -> AskReply:
    """Return the reply to a question, with up to ``limit`` answers or ``closest`` readings."""
    answers, stores = result.answers, result.stores
    told: dict[str, Any] = {
        "certainty": result.certainty,
        "words": understood(stores, result.question, result.matches),
        "is_chosen": result.choice is not None,
        "unused_choice": result.unused_choice,
    }
    if answers is None or not result.is_sure:
        told["others"] = result.offered(closest)
        return AskReply(result.question, False, result.confidence, refusal=result.refusal, **told)
    nodes = answers.nodes()
    first = nodes.head(limit)
    proofs = [why.lines() for why in answers.proofs(first["id"].to_list())]
    rows = first.select("id", "type", "key", "name").iter_rows()
    proved = [
        ProvedAnswer(node, kind, key, name, lines) for (node, kind, key, name), lines in zip(rows, proofs, strict=True)
    ]
    others = result.offered(closest + 1)
    told["others"] = [one for one in others if one.expression != result.expression][:closest]
    phrase = in_words(answers, stores)
    return AskReply(
        result.question,
        True,
        result.confidence,
        result.expression,
        result.value,
        answers.value_text,
        nodes.height,
        proved,
        phrase=phrase,
        **told,
    )
