"""Whether a date in a question is compared with a date of the right thing.

*Which botanists described the plant in 1965* asks for when it was described, not for when they were born; and *books
translated in 1998* for when they were translated, if the relation has the year, not for when they were published.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.answers.syntax import Condition, Edge, Expression, Filter, subtrees
from kbkit.english.question_words import BIRTH
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import FAINT, LITERAL, label_words
from kbkit.questions.reading_words import answer_type

_TIMES = frozenset("date day from month on since time until when year".split())  # noqa: SIM905
"""Words of dates, which do not say what happened then."""


def is_other_date(elements: Elements, tree: Expression, words: Sequence[str]) -> bool:
    """Return whether an expression compares a date that no word says, and the date of something else may be meant."""
    said = [word for word in words if word not in _TIMES and not word.isdigit()]
    for part in (one for one in subtrees(tree) if isinstance(one, Filter)):
        kind = answer_type(part.source)
        of = next((number for number, one in enumerate(elements.types) if one.name == kind), -1)
        tests = [one.attribute for one in part.conditions if isinstance(one, Condition)]
        for name in tests if of >= 0 else ():
            is_open = elements.is_yearly(of, name) and not _is_said(elements, name, said)
            if is_open and (BIRTH & {*label_words(name)} or _is_of_edge(elements, part, said)):
                return True
    return False


def _is_said(elements: Elements, name: str, words: Sequence[str]) -> bool:
    """Return whether a word says an attribute."""
    labels = {one.label for one in elements.all if one.name == name}
    return any(elements.labels.similarity(word)[[*labels]].max(initial=0.0) >= FAINT for word in words)


def _is_of_edge(elements: Elements, part: Filter, words: Sequence[str]) -> bool:
    """Return whether nodes are reached by a relation that a word says, whose edges have a date themselves."""
    for edge in (one for one in subtrees(part.source) if isinstance(one, Edge) and not one.conditions):
        columns = elements.session.schema.relation(edge.relation).attributes
        is_dated = any(a.type.startswith(("DATE", "TIMESTAMP")) or _TIMES & {*label_words(a.name)} for a in columns)
        labels = {one.label for one in elements.all[: elements.hops] if one.name == edge.relation}
        if is_dated and any(elements.labels.similarity(word)[[*labels]].max(initial=0.0) >= LITERAL for word in words):
            return True
    return False
