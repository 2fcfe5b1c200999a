"""Other ways to link the words of a question: a word as a value instead of an attribute, or an attribute of a type.

They are read where the first links lead to no trusted reading. Each differs from them in one link, so that few are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kbkit.questions.question_link import QuestionLink

MAX_OTHERS = 8
"""Number of other ways that are read, at most."""
_LESS = 0.1
"""How much less the score of another label may be."""


def other_links(links: Sequence[QuestionLink]) -> Iterator[list[QuestionLink]]:
    """Yield the links of a question with one of them changed, the likeliest changes first."""
    for change in (_as_value, _as_other_label):
        for number, link in enumerate(links):
            for changed in change(link):
                yield [*links[:number], changed, *links[number + 1 :]]


def _as_value(link: QuestionLink) -> Iterator[QuestionLink]:
    """Yield the value or the node that a label is written like."""
    if link.labels and (link.values or link.nodes):
        yield replace(link, labels=())


def _as_other_label(link: QuestionLink) -> Iterator[QuestionLink]:
    """Yield an attribute that a type is written like, or the type for an attribute."""
    is_type = [not option.attribute for option in link.labels]
    if len(set(is_type)) == 2:
        other = tuple(option for option, one in zip(link.labels, is_type, strict=True) if one != is_type[0])
        if other[0].score >= link.labels[0].score - _LESS:
            yield replace(link, labels=other)
