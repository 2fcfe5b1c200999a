"""States that a missing date tells: *open* work orders have no date of closing, *current* staff has not left.

Only where a type has one date that all nodes have, and one that some lack, by whose name something ends; and where
neither a value nor a column of states says the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.questions.elements import Elements
from kbkit.questions.label_lookup import LabelOption
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink

OPEN = frozenset("open ongoing current currently active unfinished unresolved outstanding running".split())  # noqa: SIM905
"""Words for what has begun and not ended."""
ENDED = frozenset("finished completed ended concluded former past".split())  # noqa: SIM905
"""Words for what has ended."""
_ENDS = frozenset(
    map(
        stem,
        [
            "end",
            "ended",
            "ending",
            "close",
            "closed",
            "closing",
            "finish",
            "finished",
            "complete",
            "completed",
            "completion",
            "resolved",
            "solved",
        ],
    )
) | frozenset(
    map(
        stem,
        [
            "left",
            "leaving",
            "leave",
            "departed",
            "departure",
            "returned",
            "return",
            "released",
            "discharged",
            "terminated",
            "until",
            "to",
        ],
    )
)
"""Stems of the words of a date at which something ends."""
_STATES = frozenset("status state stage condition phase active".split())  # noqa: SIM905
"""Words of a column that tells states itself."""


def with_states(elements: Elements, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
    """Return the links of a question with one for a word that says whether something has ended."""
    found = list(links)
    for at, token in enumerate(question.tokens):
        if token.word not in OPEN | ENDED or at in question.operators:
            continue
        own = next((link for link in found if link.first <= at < link.last), None)
        if own is not None and (
            own.last - own.first > 1 or own.is_value or (own.labels[0].score == 1 and own.labels[0].is_boolean)
        ):
            continue
        kinds = [link.labels[0].type for link in found if link is not own and link.labels]
        kinds += [value.type for link in found if link is not own and link.is_value for value in link.values[:1]]
        ends = [end for kind in dict.fromkeys(kinds) if (end := ending(elements, kind)) is not None]
        if len(ends) != 1 or (own is not None and own.labels and own.labels[0].type != ends[0].type):
            continue
        link = QuestionLink(at, at + 1, token.word, (ends[0],))
        found = sorted([*(one for one in found if one is not own), link], key=lambda one: one.first)
    return found


def ending(elements: Elements, kind: int) -> LabelOption | None:
    """Return the only date of a type at which something ends that others have not reached; None if there is none."""
    node_type = elements.types[kind]
    if any(_STATES & {*label_words(a.name)} for a in node_type.attributes):
        return None
    dates = [a.name for a in node_type.attributes if a.type.startswith(("DATE", "TIMESTAMP"))]
    known = {name: elements.is_optional(kind, name) for name in dates}
    ends = [name for name, is_optional in known.items() if is_optional and _ENDS & {*map(stem, label_words(name))}]
    if len(ends) != 1 or all(known.values()):
        return None
    return LabelOption(kind, ends[0], 1.0, True, is_date=True, is_optional=True, is_year=True)
