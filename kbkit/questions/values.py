"""The values of the text attributes of a KB by their words, which questions name: ``customers from Brazil``.

Columns with many distinct values hold names or texts, which the node lookup and the full-text index serve; see
:class:`kbkit.answers.attribute_values.ColumnValues`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kbkit.answers.attribute_values import ColumnValues
from kbkit.english import countries
from kbkit.english.question_words import GENDERS, SHORT_DATES
from kbkit.english.words import is_person, spoken
from kbkit.questions.lexicon import label_words, stem
from kbkit.stores import Stores
from kbkit.stores.folding import words
from kbkit.stores.node_values import text_attributes

_REPEATED = 0.8
"""Fraction of the nodes that the values of a column may be if it says what nodes have in common."""
_SHORT_DATES = 3
"""Short names of days or months among the values of a column from which they are such."""
NOTES = frozenset("note notes remark remarks comment comments description details reason feedback".split())  # noqa: SIM905
"""Words of columns of texts about what happened."""
_PARTS = 2
"""Words that people write as one, if a hyphen joins them."""
_MOST_OF_CLASS = 5
"""Values that begin with the same word up to which it stands for all of them."""
MAX_WORDS = 8
"""Limit on the words of a value."""


class AttributeValue(NamedTuple):
    """A value of an attribute; ``type`` is the position of the node type in ``schema.primary_types``."""

    type: int
    attribute: str
    value: str


class AttributeValues:
    """The values of all text attributes, looked up by words or by their stems."""

    def __init__(self, stores: Stores) -> None:
        self._exact: dict[str, list[AttributeValue]] = {}
        self._stemmed: dict[str, list[AttributeValue]] = {}
        self._of_people: list[tuple[set[str], AttributeValue]] = []
        self._with_stem: dict[str, list[tuple[frozenset[str], AttributeValue]]] = {}
        """The values of several words of columns that repeat values, by the stems of their words."""
        self._initials: dict[str, list[AttributeValue]] = {}
        """The values of several words of columns that repeat values, by the first letters of their words."""
        self._in_notes: dict[str, list[AttributeValue]] = {}
        """The texts of columns of notes, by the stems of their words."""
        self._states: set[tuple[int, str]] = set()
        """The attributes that say what nodes have in common."""
        known = ColumnValues.of(stores)
        numbers = {node_type.name: number for number, node_type in enumerate(stores.schema.primary_types)}
        for node_type, attribute in text_attributes(stores.schema):
            number = numbers[node_type.name]
            texts = known.distinct(node_type, attribute)
            if is_person(spoken(attribute.name)):
                named = (AttributeValue(number, attribute.name, text) for text in texts)
                self._of_people += [({*words(value.value).split()}, value) for value in named]
            known_values = {one.casefold() for one in texts}
            has_genders = len(GENDERS.keys() & known_values) > 1 and len(known_values) <= 4
            has_dates = len(SHORT_DATES.keys() & known_values) >= _SHORT_DATES
            has_codes = countries.are_codes(texts, label_words(attribute.name))
            for text in texts if label_words(attribute.name)[-1] in NOTES else ():
                self._add_note(AttributeValue(number, attribute.name, text))
            repeats = len(texts) <= _REPEATED * node_type.count
            for text in texts:
                self._add(AttributeValue(number, attribute.name, text))
                if repeats:
                    self._states.add((number, attribute.name))
                    self._add_parts(AttributeValue(number, attribute.name, text))
                called: tuple[str, ...] = GENDERS.get(text.casefold(), ()) if has_genders else ()
                called = (SHORT_DATES.get(text.casefold(), text.casefold()),) if has_dates else called
                called += countries.called(text, is_code=has_codes)
                for word in called:
                    if word != text.casefold():
                        self._exact.setdefault(word, []).append(AttributeValue(number, attribute.name, text))

    @staticmethod
    def of(stores: Stores) -> AttributeValues:
        """Return the values of an open KB, the same object each time."""
        return stores.shared(AttributeValues)

    def _add(self, value: AttributeValue) -> None:
        parts = words(value.value).split()
        if 0 < len(parts) <= MAX_WORDS:
            self._exact.setdefault(" ".join(parts), []).append(value)
            self._stemmed.setdefault(_stems(parts), []).append(value)
            if "-" in value.value and len(parts) == _PARTS:  # ICPMS, of ICP-MS
                self._exact.setdefault("".join(parts), []).append(value)

    def _add_parts(self, value: AttributeValue) -> None:
        parts = words(value.value).split()
        if 1 < len(parts) <= MAX_WORDS:
            letters = "".join(part[0] for part in parts if part not in ("and", "of", "the")).upper()
            self._initials.setdefault(letters, []).append(value)
            stems = frozenset(map(stem, parts))
            for one in stems:
                self._with_stem.setdefault(one, []).append((stems, value))

    def _add_note(self, value: AttributeValue) -> None:
        for one in {*map(stem, words(value.value).split())}:
            self._in_notes.setdefault(one, []).append(value)

    def noting(self, parts: Sequence[str]) -> tuple[AttributeValue, ...]:
        """Return the notes of one column with all of these words: *repairs because of a pothole*."""
        stems = [*map(stem, parts)]
        found = [
            value for value in self._in_notes.get(stems[0], ()) if {*stems} <= {*map(stem, words(value.value).split())}
        ]
        return tuple(found) if len({(value.type, value.attribute) for value in found}) == 1 else ()

    def holding(self, parts: Sequence[str]) -> tuple[AttributeValue, ...]:
        """Return the only value that has these words among others: *the fuel*, of ``Leaking fuel pump``.

        Or the values of a column, several but not most, that begin with one word: *closed*, of ``Closed won`` and
        ``Closed lost``.
        """
        stems = {*map(stem, parts)}
        found = [value for known, value in self._with_stem.get(min(stems), ()) if stems < known]
        columns = {(value.type, value.attribute) for value in found}
        begun = [value for value in found if stem(words(value.value).split()[0]) in stems]
        is_class = len(columns) == len(parts) == 1 and len(begun) == len(found) <= _MOST_OF_CLASS
        return tuple(found) if len(found) == 1 or is_class else ()

    def of_people(self, parts: Sequence[str]) -> list[AttributeValue]:
        """Return the names of people with these words, among others."""
        return [value for known, value in self._of_people if known.issuperset(parts)]

    def initials(self, letters: str) -> tuple[AttributeValue, ...]:
        """Return the values of one column whose words begin with capital letters: *R&D*, *HR*."""
        found = self._initials.get(letters, [])
        return tuple(found) if len({(value.type, value.attribute) for value in found}) == 1 == len(found) else ()

    def states(self, parts: Sequence[str]) -> list[AttributeValue]:
        """Return the values with exactly these words of columns that repeat values: *on loan*."""
        found = self._exact.get(" ".join(parts), [])
        return [value for value in found if (value.type, value.attribute) in self._states]

    def named(self, parts: Sequence[str]) -> list[AttributeValue]:
        """Return the values with these words, or else with their stems."""
        found = self._exact.get(" ".join(parts))
        return found if found is not None else self._stemmed.get(_stems(parts), [])


def _stems(parts: Sequence[str]) -> str:
    """Return the stems of words, the same in British and American spelling."""
    return " ".join(map(stem, parts))
