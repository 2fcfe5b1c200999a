"""Phrases of Boolean attributes, and attributes whose last word is a unit only after some nouns."""

from __future__ import annotations

import pytest

from kbkit.english import categories
from kbkit.english.attributes import words_of_name
from kbkit.english.descriptions import descriptions


@pytest.mark.parametrize(
    ("attribute", "yes", "no"),
    [
        ("active", "animals that are active", "animals that are not active"),
        ("hand_reared", "animals that are hand reared", "animals that are not hand reared"),
        ("is_wild", "animals that are wild", "animals that are not wild"),
        ("lays_eggs", "animals that lay eggs", "animals that do not lay eggs"),
        ("first_aid", "animals that are marked as first aid", "animals that are not marked as first aid"),
    ],
)
def test_flags_are_predicates(attribute: str, yes: str, no: str) -> None:
    assert categories.of_flag("animal", attribute, value=True) == yes
    assert categories.of_flag("animal", attribute, value=False) == no


@pytest.mark.parametrize(
    ("name", "noun", "unit"),
    [
        ("duration_min", "duration", "minutes"),
        ("price_min", "price minimum", ""),
        ("min_depth_m", "minimum depth", "m"),
    ],
)
def test_min_is_a_unit_of_times(name: str, noun: str, unit: str) -> None:
    words = words_of_name(name)
    assert (words.noun, words.unit.symbol if words.unit else "") == (noun, unit)


def test_clauses_about_somebody_else_do_not_describe_the_subject() -> None:
    assert not list(descriptions("A forester catches a young fox who escapes and raises a family.", "opera"))
    assert not list(descriptions("A governess believes that two children are possessed by servants.", "opera"))
    found = [one.said for one in descriptions("A country that rises from the plain to the highest peaks.", "country")]
    assert found == ["the country that rises from the plain to the highest peaks"]
