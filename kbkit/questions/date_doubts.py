"""Whether a date in a question is compared with a date of the right thing.

*Which botanists described the plant in 1965* asks for when it was described, not for when they were born; *books
translated in 1998* for when they were translated, if the relation has the year, not for when they were published; and
*the population in 2000* for that of then, if the KB has it, not for today's.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.answers.resolve_attributes import is_number
from kbkit.answers.syntax import (
    Comparison,
    Condition,
    Edge,
    Expression,
    Filter,
    Name,
    Nodes,
    Path,
    Superlative,
    ValueColumn,
    subtrees,
)
from kbkit.english.question_words import BIRTH
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import FAINT, LITERAL, label_words
from kbkit.questions.reading_words import answer_type

_TIMES = frozenset("date day from month on since time until when year".split())  # noqa: SIM905
"""Words of dates, which do not say what happened then."""


def is_other_date(elements: Elements, tree: Expression, words: Sequence[str]) -> bool:
    """Return whether an expression compares a date that no word says, and the date of something else may be meant."""
    if _is_of_its_time(elements, tree):
        return True
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


def _is_of_its_time(elements: Elements, tree: Expression) -> bool:
    """Return whether an amount of nodes is used that the edges to a year have for that year: *most people in 2000*."""
    schema, parts = elements.session.schema, list(subtrees(tree))
    used = {one.measure for one in parts if isinstance(one, Superlative | Comparison | ValueColumn)}
    used |= {one.attribute for one in parts if isinstance(one, Condition)}
    amounts = {word for name in used if isinstance(name, str) for word in label_words(name)}
    for path in (one for one in parts if isinstance(one, Path)):
        ends = (one.selector for one in path.elements if isinstance(one, Nodes))
        if any(isinstance(end, Name) and end.text.isdigit() for end in ends):
            edges = (one for one in subtrees(path) if isinstance(one, Edge) and not one.conditions)
            relations = [schema.relation(edge.relation) for edge in edges]
            numbers = ((one.name, a.name) for one in relations for a in one.attributes if is_number(a.type))
            if not amounts.isdisjoint(word for names in numbers for name in names for word in label_words(name)):
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
