"""The reply to a question as plain data for all front ends: answers with proofs, or the closest readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.answers.totals import spoken
from kbkit.display.render import cell

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

    @property
    def value_text(self) -> str:
        """The value as text."""
        return cell(self.value) if isinstance(self.value, list | float) else spoken(self.value)


def reply(result: AskResult, limit: int = MAX_PROOFS, closest: int = CLOSEST) -> AskReply:
    """Return the reply to a question, with up to ``limit`` answers or ``closest`` readings."""
    answers = result.answers
    if answers is None or not result.is_sure:
        readings = result.closest(closest)
        return AskReply(result.question, False, result.confidence, refusal=result.refusal, closest=readings)
    nodes = answers.nodes()
    first = nodes.head(limit)
    proofs = [why.lines() for why in answers.proofs(first["id"].to_list())]
    rows = first.select("id", "type", "key", "name").iter_rows()
    proved = [
        ProvedAnswer(node, kind, key, name, lines) for (node, kind, key, name), lines in zip(rows, proofs, strict=True)
    ]
    return AskReply(result.question, True, result.confidence, result.expression, result.value, nodes.height, proved)
