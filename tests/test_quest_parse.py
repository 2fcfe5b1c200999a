"""The grammar of queries: generated queries parse back, even if names contain words of the grammar."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.quest.grammar import affirmed, denied, divided, grammar
from kbkit.benchmarks.quest.paraphrase import Parser, by_grammar, parse_query

CATEGORIES = {
    "films that are about robots": "keyword#robots -> film",
    "films that Jane Doe directed": "person#jane -> film",
    "films from 1994": "film{year = 1994}",
    "films that were made in France": "country#fr -> film",
    "Dutch crime films": "film#1 | film#2",
    "books that are about robots": "keyword#robots -> book",
}
SHAPES = grammar().shapes
PATTERNS = (
    "films that are about {}",
    "films that {} directed",
    "films from {}",
    "{} of a kind",
    "films with the tag {}",
)


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("films from 1994", "film{year = 1994}"),
        ("find films from 1994", "film{year = 1994}"),
        ("What are the films FROM 1994?", "film{year = 1994}"),
        (
            "films that are about robots and from 1994",
            "(keyword#robots -> film) & film{year = 1994}",
        ),
        (
            "films that are about robots but that were not made in France",
            "(keyword#robots -> film) - (country#fr -> film)",
        ),
        ("films from 1994 other than Dutch crime films", "film{year = 1994} - (film#1 | film#2)"),
        (
            "list the films that Jane Doe directed, that are about robots, or from 1994",
            "(person#jane -> film) | (keyword#robots -> film) | film{year = 1994}",
        ),
        (
            "films that are about robots and that Jane Doe directed but not from 1994",
            "((keyword#robots -> film) & (person#jane -> film)) - film{year = 1994}",
        ),
        # "that are about robots" is what films and books may be: the head decides.
        ("Dutch crime films or that are about robots", None),
        ("films from 1995", None),
        ("films from 1994 or", None),
        ("", None),
    ],
)
@pytest.mark.core
def test_queries_by_hand(query: str, expression: str | None) -> None:
    assert parse_query(query, CATEGORIES) == expression


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.template)
def test_every_form_is_parsed(shape) -> None:
    """Of plain names, each form of each shape has one reading, and no two forms are the same."""
    phrases = list(CATEGORIES)[:3]
    letters = dict(zip(shape.letters, phrases, strict=False))
    wanted = shape.expression([CATEGORIES[phrase] for phrase in letters.values()])
    said = {form.render({**letters, "C": letters.get("C", "")}) for form in shape.forms}
    said |= {form.render({**letters, shape.letters[-1]: "films from 1994"}) for form in shape.forms}
    assert len([words for words in said if words]) >= len(shape.forms)
    for form in (*shape.forms, shape.original):
        words = form.render(letters)
        if words:
            assert parse_query(words, CATEGORIES) == wanted, words


def test_a_form_needs_one_head() -> None:
    [form] = [form for form in grammar().shape("_ or _").forms if form.text == "{A} or {B.rest}"]
    assert form.render({"A": "films from 1994", "B": "films from 1995"}) == "films from 1994 or from 1995"
    assert not form.render({"A": "films from 1994", "B": "books from 1995"})
    assert not form.render({"A": "films from 1994", "B": "Dutch films"})


@pytest.mark.parametrize(
    ("rest", "no"),
    [
        ("that are about robots", "that are not about robots"),
        ("that have the genre Drama", "that do not have the genre Drama"),
        ("from 1994", "not from 1994"),
        ("who are members of NATO", "who are not members of NATO"),
        ("linked to Aspirin as target", "not linked to Aspirin as target"),
        ("that Jane Doe directed", ""),
        ("that are not about robots", ""),
    ],
)
def test_denials(rest: str, no: str) -> None:
    assert denied(rest) == no
    if no:
        assert affirmed(no) == rest


def test_phrases_are_divided_at_the_first_opener() -> None:
    assert divided("war films from 1945 that are long") == ("war films", "from 1945 that are long")
    assert divided("people who acted in Alien") == ("people", "who acted in Alien")
    assert divided("drugs linked to pain that lasts as target") == ("drugs", "linked to pain that lasts as target")
    assert divided("Dutch crime films") == ("Dutch crime films", "")
    assert divided("from 1994") == ("from 1994", "")  # no head


def test_names_with_words_of_the_grammar() -> None:
    known = {
        "films that are about war": "keyword#w -> film",
        "films that are about war or that are about peace": "keyword#wp -> film",
        "films that are about peace": "keyword#p -> film",
        "films from 1994": "film{year = 1994}",
    }
    # One known phrase is preferred to two that make it up.
    assert parse_query("films that are about war or that are about peace", known) == "keyword#wp -> film"
    assert parse_query("films that are about war or from 1994", known) == "(keyword#w -> film) | film{year = 1994}"
    without = {phrase: text for phrase, text in known.items() if "wp" not in text}
    assert (
        parse_query("films that are about war or that are about peace", without)
        == "(keyword#w -> film) | (keyword#p -> film)"
    )


def test_ambiguous_queries() -> None:
    known = {"x": "film#1", "x or y": "film#2", "y or z": "film#3", "z": "film#4"}
    assert parse_query("x or y or z", known) is None
    # ... and not written: "x" and "y or z" are worded in a way that has one reading.
    shape = grammar().shape("_ or _")
    said = {by_grammar(shape, ["x", "y or z"], Parser(known), random.Random(seed)) for seed in range(20)}
    assert said
    assert all(query and parse_query(query, known) == "film#1 | film#3" for query in said)


def test_case() -> None:
    known = {"films about it": "film#1", "films about IT": "film#2", "Old films": "film#3"}
    assert parse_query("films about IT", known) == "film#2"
    assert parse_query("films about It", known) is None
    assert parse_query("old FILMS", known) == "film#3"


WORDS = ["a", "b", "é'", "or", "and", "that", "who", "are", "not", "but", "also", "both", "from", "ones,", "x?"]
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@given(
    shape=st.sampled_from(SHAPES),
    pairs=st.lists(st.tuples(st.sampled_from(PATTERNS), names), min_size=3, max_size=6, unique=True),
    seed=st.integers(0, 2**32),
)
def test_paraphrases_are_parsed(shape, pairs: list[tuple[str, str]], seed: int) -> None:
    """Names may hold any words: a query is either worded so that it has one reading, or not at all."""
    phrases = list(dict.fromkeys(pattern.format(name) for pattern, name in pairs))
    known = {phrase: f"film#{place}" for place, phrase in enumerate(phrases)}
    chosen = phrases[: len(shape.letters)]
    if len(chosen) == len(shape.letters):
        query = by_grammar(shape, chosen, Parser(known), random.Random(seed))
        if query:
            assert parse_query(query, known) == shape.expression([known[phrase] for phrase in chosen])
            assert parse_query(query, {phrase: known[phrase] for phrase in chosen}) is not None


plain = st.text(st.sampled_from("bcdfghjklm"), min_size=3, max_size=9)


@given(
    shape=st.sampled_from(SHAPES),
    chosen=st.lists(plain, min_size=3, max_size=3, unique=True),
    patterns=st.lists(st.sampled_from(PATTERNS), min_size=3, max_size=3),
    seed=st.integers(0, 2**32),
)
def test_plain_names_are_always_worded(shape, chosen: list[str], patterns: list[str], seed: int) -> None:
    phrases = [pattern.format(name) for pattern, name in zip(patterns, chosen, strict=True)]
    known = {phrase: f"film#{place}" for place, phrase in enumerate(phrases)}
    asked = phrases[: len(shape.letters)]
    query = by_grammar(shape, asked, Parser(known), random.Random(seed))
    assert parse_query(query, known) == shape.expression([known[phrase] for phrase in asked])
    assert all(name in query for name in chosen[: len(asked)])
