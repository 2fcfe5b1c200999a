"""What is late or on time: the date on which it was done is after the date on which it was due, or not.

Only where the types that a question names have one date that says when something is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.state_links import ENDS

LATENESS = {"late": ">", "on time": "<="}
"""How the date of what is done compares with the date on which it is due."""
_DUE = frozenset("due deadline planned scheduled expected promised estimated target required agreed".split())  # noqa: SIM905
"""Words of dates on which something is to be done."""


def with_lateness(elements: Elements, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
    """Return the links of a question with one for *late* or *on time*: when something was done, and when due."""
    words = [token.word for token in question.tokens]
    for text in LATENESS:
        said = text.split()
        at = next((n for n in range(len(words)) if words[n : n + len(said)] == said), -1)
        last = at + len(said)
        is_called = any(link.first <= at and last <= link.last for link in links)  # as a column says
        others = [link for link in links if link.last <= at or last <= link.first]
        if at >= 0 and not is_called and (dates := _dates(elements, others)) is not None:
            return sorted([*others, QuestionLink(at, last, text, dates)], key=lambda one: one.first)
    return list(links)


def _dates(elements: Elements, links: Sequence[QuestionLink]) -> tuple[LabelOption, LabelOption] | None:
    """Return the only date of what is done, and the only date on which it is due, of one type that is named."""
    found = []
    said = {(o.type, o.attribute) for link in links for o in link.attributes()}
    for kind in dict.fromkeys(option.type for link in links for option in link.labels):
        attributes = elements.types[kind].attributes
        dates = [a.name for a in attributes if a.type.startswith(("DATE", "TIMESTAMP"))]
        due = [name for name in dates if _DUE & {*label_words(name)}]
        others = [name for name in dates if name not in due]
        done = [name for name in others if (kind, name) in said]
        done = done or [name for name in others if ENDS & {*map(stem, label_words(name))}]
        done = done or [name for name in others if elements.is_optional(kind, name)]
        if len(due) == len(done) == 1:
            found.append((done[0], due[0], kind))
    if len(found) != 1:
        return None
    done_on, due_on, kind = found[0]
    option = LabelOption(kind, done_on, 1.0, True, is_date=True, is_year=True)
    return option, replace(option, attribute=due_on)
