"""Whether a reading answers with the kind of thing that a question asks for: a person, or a number.

An answer of another kind is wrong, however well the words of the question fit the reading: a date is not *who*, and
nodes are not *how many*.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.attribute_values import ColumnValues
from kbkit.answers.syntax import Aggregate, Expression, Filter, Name, Nodes, Superlative, ValueColumn, subtrees
from kbkit.english.question_words import NO, YES
from kbkit.english.words import singular
from kbkit.questions.element_lists import numeric
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import label_words
from kbkit.questions.reading_words import answer_type

_BEGINNING = r"^(?:(?:and|so|please|list|find|show|tell|me|us) )*"
_WHO = re.compile(rf"{_BEGINNING}(whose|who|whom)\b")
_HOW_MANY = re.compile(rf"\b(how many)\b|{_BEGINNING}(?:the )?(?:total )?(number of)\b")
_HOW_MUCH = re.compile(r"\b(how much)\b")
_FOR = re.compile(rf"{_BEGINNING}(what) (?:do|does|did|was|were|is|are) .* for\W*$")
"""Asks for a price or a purpose: *what did the picture sell for*."""
_WHERE = re.compile(rf"{_BEGINNING}(where)\b")
_WHERE_THE = re.compile(r"\bwhere (?:is|are|was|were) (?:the|all|our|an?) (?:\w+ )?(\w+)\W*$")
"""Asks where nodes of a type are."""
_WHEN = re.compile(rf"{_BEGINNING}(when)\b")
_MAX_COMPARED = 100_000
"""Number of nodes up to which readings are compared by their values."""
_MOST = 0.5
"""Fraction of the nodes that a superlative may keep."""
_EACH = re.compile(r"\b(?:each|every|per|by|respectively|all)\b")


def other_kind(elements: Elements, tree: Expression, text: str) -> str:
    """Return the words of a question (``text``, in lower case) that ask for another kind of answer; "" if none do."""
    is_who = _WHO.search(text)
    if is_who and (_are_measures(elements, tree) or _are_things(elements, tree) or _are_by_number(elements, tree)):
        return is_who[1]
    if (found := _HOW_MANY.search(text)) and not (_has_number(elements, tree) and _is_one(elements, tree, text)):
        return found[1] or found[2]  # seasons without two tribes: not a list of their numbers
    if (found := _WHEN.search(text) or _FOR.search(text)) and _is_unfit(elements, tree, _are_dates):
        return found[1]
    if (found := _WHERE.search(text)) and (
        _is_unfit(elements, tree, _are_places) or _are_numbers(elements, tree) or _are_named(tree, text)
    ):
        return found[1]
    if (
        (found := _HOW_MUCH.search(text))
        and not _EACH.search(text.replace(" all ", " "))
        and _are_several(elements, tree)
    ):
        return found[1]
    return ""


def _is_one(elements: Elements, tree: Expression, text: str) -> bool:
    """Return whether an expression gives one value, or a question asks for one for each."""
    if not isinstance(tree, Aggregate) or any(column.measure == "name" for column in tree.columns):
        return True
    return bool(_EACH.search(text)) or not _are_values(elements, tree)


def _is_unfit(elements: Elements, tree: Expression, fits: Callable[[Elements, Expression], bool]) -> bool:
    """Return whether an expression gives nodes that are not of a kind, in a KB of several types."""
    return elements.typed and not isinstance(tree, Aggregate) and not fits(elements, tree)


def _are_places(elements: Elements, tree: Expression) -> bool:
    """Return whether an expression gives nodes that may be places: no people, and nothing that happens on a date."""
    kind = next((number for number, one in enumerate(elements.types) if one.name == answer_type(tree)), None)
    attributes = elements.types[kind].attributes if kind is not None else ()
    is_dated = any(attribute.type.startswith(("DATE", "TIMESTAMP")) for attribute in attributes)
    return kind is None or (kind not in elements.people and not is_dated)


def _are_named(tree: Expression, text: str) -> bool:
    """Return whether an expression gives the nodes of which a question asks where they are: *the smallest city*."""
    found = _WHERE_THE.search(text)
    kind = label_words(answer_type(tree) or "")
    return found is not None and bool(kind) and singular(found[1]) == singular(kind[-1])


def _are_numbers(elements: Elements, tree: Expression) -> bool:
    """Return whether an expression gives numbers or dates and nothing else: the year, of *where was Ann born*."""
    types = _types(elements, tree) if isinstance(tree, Aggregate) and tree.op == "values" else []
    return bool(types) and all(map(numeric, types))


def _are_dates(_: Elements, tree: Expression) -> bool:
    """Return whether an expression gives nodes that are years or dates."""
    return not {"year", "date", "day", "month"}.isdisjoint(label_words(answer_type(tree) or ""))


def _are_things(elements: Elements, tree: Expression) -> bool:
    """Return whether an expression gives nodes that are no people, though the KB has types of people."""
    kind = answer_type(tree)
    people = {elements.types[number].name for number in elements.people}
    return not isinstance(tree, Aggregate) and bool(people) and kind is not None and kind not in people


def _are_by_number(elements: Elements, tree: Expression) -> bool:
    """Return whether an expression gives groups by numbers or dates only: who was it, by a number of the manager."""
    if not isinstance(tree, Aggregate) or not tree.groups:
        return False
    columns = tuple(ValueColumn(one.measure) for one in tree.groups if isinstance(one.measure, str))
    types = _types(elements, replace(tree, columns=columns)) if len(columns) == len(tree.groups) else []
    return bool(types) and all(map(numeric, types))


def _types(elements: Elements, tree: Aggregate) -> list[str]:
    """Return the DuckDB types of the columns of values that are attributes; "" for names and keys."""
    known = {node_type.name: node_type for node_type in elements.types}.get(answer_type(tree.source) or "")
    types = {attribute.name: attribute.type for attribute in known.attributes} if known else {}
    return [types.get(column.measure, "") for column in tree.columns if isinstance(column.measure, str)]


def _are_measures(elements: Elements, tree: Expression) -> bool:
    """Return whether an expression gives numbers, dates or a yes or no, and nothing beside them says whose."""
    if not isinstance(tree, Aggregate) or tree.groups or tree.op == "exists":
        return False
    types = _types(elements, tree)
    if tree.op != "values" or (types and all(one == "BOOLEAN" or numeric(one) for one in types)):
        return True
    return bool(types) and all(_says_yes_or_no(elements, tree, column.measure) for column in tree.columns)


def _says_yes_or_no(elements: Elements, tree: Aggregate, name: object) -> bool:
    """Return whether a text attribute has no values but yes and no, in a word or a letter."""
    kind = next((one for one in elements.types if one.name == answer_type(tree.source)), None)
    own = next((a for a in kind.attributes if a.name == name), None) if kind is not None else None
    if kind is None or own is None or own.type != "VARCHAR":
        return False
    values = ColumnValues.of(elements.session.stores).distinct(kind, own)
    return bool(values) and {value.casefold() for value in values} <= {*YES, *NO}


def _has_number(elements: Elements, tree: Expression) -> bool:
    """Return whether an expression gives a number, or one for each node."""
    if not isinstance(tree, Aggregate):
        return False
    types = _types(elements, tree)
    return tree.op != "values" or len(types) < len(tree.columns) or any(map(numeric, types))


def _are_several(elements: Elements, tree: Expression) -> bool:
    """Return whether an expression gives nodes, or values of several nodes, of which a total may be meant."""
    if not isinstance(tree, Aggregate) or (tree.op == "values" and tree.groups and not tree.columns):
        return True
    return _are_values(elements, tree)


def _are_values(elements: Elements, tree: Aggregate) -> bool:
    """Return whether an expression gives values of several nodes."""
    return isinstance(tree, Aggregate) and tree.op == "values" and len(AnswerSet(elements.session, tree)) > 1


def content(answers: AnswerSet) -> tuple[object, bool]:
    """Return what two readings with the same answers share, and whether there are no answers or a count of 0."""
    if len(answers) > _MAX_COMPARED:
        return answers.expression, False
    value = answers.value
    if value is None:
        return answers.ids.tobytes(), not len(answers)
    return repr(value), value == [] or (value == 0 and not isinstance(value, bool))


def keeps_most(elements: Elements, tree: Expression) -> bool:
    """Return whether a superlative of an expression keeps most of the nodes, as the most of what all have one of.

    Of one named node, it keeps all.
    """
    if isinstance(tree, Aggregate) and tree.op == "count" and tree.limit is not None:
        kept, every = (len(AnswerSet(elements.session, one).value or ()) for one in (tree, replace(tree, limit=None)))
        if kept > max(2 * tree.limit, _MOST * every):
            return True  # most actors tie for the fewest films
    for part in subtrees(tree):
        if isinstance(part, Filter):
            tests = [test for test in part.conditions if isinstance(test, Superlative) and test.per is None]
            if not tests:
                continue
            if (
                isinstance(part.source, Nodes)
                and isinstance(part.source.selector, Name)
                and not part.source.selector.all
            ):
                return True
            kept = len(AnswerSet(elements.session, part))
            wanted = max(test.number if isinstance(test.number, int) else 1 for test in tests)
            if kept > 2 * wanted and kept > _MOST * len(AnswerSet(elements.session, part.source)):
                return True
    return False
