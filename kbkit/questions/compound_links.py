"""Joins links that stand side by side and name one attribute together: singer citizenship, return date."""

from __future__ import annotations

from dataclasses import replace

from kbkit.questions.label_lookup import WHOLE_LABEL
from kbkit.questions.link_words import is_participle
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink

_HEADS = frozenset("address addresses number numbers code codes date dates value values".split())  # noqa: SIM905
"""Nouns that end names of attributes, and say little: email address."""


def _are_listed(question: Question, links: list[QuestionLink], last: QuestionLink) -> bool:
    """Return whether *and* and another attribute follow: *make model and year*."""
    after = next((one for one in links if one.first == last.last + 1), None)
    return after is not None and question.tokens[last.last].word == "and" and bool(after.attributes())


def compounds(question: Question, links: list[QuestionLink]) -> list[QuestionLink]:
    """Join a type and an attribute of it that follows: ``singer citizenship``."""
    result: list[QuestionLink] = []
    for link in links:
        before = result[-1] if result else None
        is_next = before is not None and before.last == link.first and before.labels and link.labels
        if before and is_next and "," not in question.text[: question.tokens[link.first].start].rstrip()[-1:]:
            is_said = is_participle(before.text) and before.labels[0].score < 1  # paid rentals, beside payments
            if is_participle(link.text) or link.text.endswith("ing"):  # loans requiring a key
                result.append(link)
                continue
            if link.labels == before.labels and " " in before.text and not link.types():
                result[-1] = replace(before, last=link.last)  # miles per gallon (mpg)
                continue
            is_head = link.text.casefold() in _HEADS and bool(before.attributes()) and link.labels[0].score < 1
            is_head |= link.text.casefold() in ("date", "dates") and before.labels[0].is_date
            if is_head and not before.types() and not link.types():  # email address
                result[-1] = replace(before, last=link.last, text=f"{before.text} {link.text}")
                continue
            types = {option.type for option in before.types()}
            own = tuple(option for option in link.labels if option.type in types and option.attribute)
            if not own and not is_said and link.types() and len(before.labels) == len(before.types()):
                own = link.labels  # car models
            are_attributes = bool(before.attributes() and link.attributes() and not before.types() and not link.types())
            are_attributes &= not _are_listed(question, links, link) and not before.labels[0].is_date
            if not own and are_attributes and link.labels[0].score >= WHOLE_LABEL:
                own = tuple(replace(option, score=0.8 * option.score) for option in link.labels)  # population density
            if own:
                text = f"{before.text} {link.text}"
                result[-1] = replace(link, first=before.first, text=text, labels=own, values=(), nodes=())
                continue
        result.append(link)
    return result
