"""The grammar of queries: generated queries parse back, even if names contain words of the grammar."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.quest.grammar import Shape, grammar
from kbkit.benchmarks.quest.paraphrase import Parser, by_grammar
from kbkit.english.modifiers import affirmed, denied, divided
from tests.examples import first_some

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
            "film{year = 1994} & (keyword#robots -> film)",
        ),
        (
            "films that are about robots but that were not made in France",
            "(keyword#robots -> film) - (country#fr -> film)",
        ),
        ("films from 1994 other than Dutch crime films", "film{year = 1994} - (film#1 | film#2)"),
        (
            "list the films that Jane Doe directed, that are about robots, or from 1994",
            "film{year = 1994} | (keyword#robots -> film) | (person#jane -> film)",
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
    assert Parser(CATEGORIES).parse(query) == expression


KINDS = {
    "films made in France": "country#fr -> film",
    "films made in Chad": "country#td -> film",
    "films made in Peru": "country#pe -> film",
    "films rated R": "rating#r -> film",
    "films in the War genre": "genre#war -> film",
    "films in the Crime genre": "genre#crime -> film",
    'films with the keyword "robot"': "keyword#robot -> film",
    'films with the keyword "boat"': "keyword#boat -> film",
    "films from 1994": "film{year = 1994}",
    "films in which Jane Doe acted": "person#jane -> film",
    "films in which Bo Li acted": "person#bo -> film",
    "films that last long": "film{long = true}",
    "films that star Jane Doe": "star#jane -> film",
    "films that star Bo Li": "star#bo -> film",
    "films whose color is Gold": "film{color = 'Gold'}",
    "Dutch crime films": "film#1 | film#2",
    "old Peruvian films": "film#3 | film#4",
    "silent films": "film#5 | film#6",
    "films in the Sci-Fi genre": "genre#scifi -> film",
    "chemists": "job#chemist -> person",
    "mathematicians": "job#mathematician -> person",
    "playwrights": "job#playwright -> person",
    "people who are citizens of France": "country#fr -> person",
    "people who are members of Alpha": "band#alpha -> person",
}


def sorted_expression(shape: Shape, parts: list[str]) -> str:
    return shape.expression([parts[i] for i in shape.ordered(parts)])


@pytest.mark.parametrize("shape", first_some(SHAPES, 3), ids=lambda shape: shape.template)
def test_every_form_is_written_and_parsed(shape: Shape) -> None:
    """Of phrases of all kinds, each form of each shape is written for some, and has one reading."""
    parser = Parser(KINDS)
    unused = set(shape.forms)
    for chosen in itertools.permutations(KINDS, len(shape.letters)):
        letters = dict(zip(shape.letters, chosen, strict=True))
        for form in [form for form in unused if form.render(letters)]:
            unused.remove(form)
            wanted = sorted_expression(shape, [KINDS[phrase] for phrase in chosen])
            assert parser.parse(form.render(letters)) == wanted, form.text
        if not unused:
            break
    assert not unused
    letters = dict(zip("ABC", ["films from 1994", "films made in France", "films made in Chad"], strict=True))
    own = [KINDS[phrase] for phrase in list(letters.values())[: len(shape.letters)]]
    for form in shape.readable:
        words = form.render({letter: letters[letter] for letter in shape.letters})
        assert not words or parser.parse(words) == sorted_expression(shape, own), words


@pytest.mark.parametrize(
    ("template", "phrases", "query"),
    [
        ("_ or _", ("films made in France", "films made in Chad"), "films made in France or Chad"),
        (
            "_ or _ or _",
            ("films made in France", "films made in Chad", "films made in Peru"),
            "films made in France, Chad, or Peru",
        ),
        ("_ that are also _", ("films from 1994", "films that last long"), "films from 1994 that last long"),
        (
            "_ that are also _",
            ("films that last long", "films in which Bo Li acted"),
            "films that last long and in which Bo Li acted",
        ),
        (
            "_ that are not _",
            ("films in which Bo Li acted", "films that last long"),
            "films in which Bo Li acted, except those that last long",
        ),
        (
            "_ that are not _",
            ("films from 1994", 'films with the keyword "robot"'),
            'films from 1994 without the keyword "robot"',
        ),
        (
            "_ that are also _",
            ('films with the keyword "robot"', "films made in Chad"),
            'films made in Chad with the keyword "robot"',
        ),
        (
            "_ that are also _ but not _",
            ("films in the War genre", "films made in Chad", "films whose color is Gold"),
            "war films made in Chad whose color is not Gold",
        ),
        ("_ that are also _", ("films in the Sci-Fi genre", "films from 1994"), "science-fiction films from 1994"),
        ("_ that are also _", ("chemists", "playwrights"), "chemists who are also playwrights"),
        (
            "_ that are also _",
            ("people who are citizens of France", "chemists"),
            "chemists who are citizens of France",
        ),
        (
            "_ that are also _",
            ("films in the War genre", "films in the Sci-Fi genre"),
            "science-fiction war films",
        ),
        (  # two nouns before a third may mean something else
            "_ that are also _",
            ("films in the War genre", "films in the Crime genre"),
            "films in the War genre that are also in the Crime genre",
        ),
    ],
)
def test_wordings_by_hand(template: str, phrases: tuple[str, ...], query: str) -> None:
    shape = grammar().shape(template)
    letters = dict(zip(shape.letters, phrases, strict=True))
    assert query in {form.render(letters) for form in shape.forms}
    seeds = range(60)
    written = {by_grammar(shape, phrases, Parser(KINDS), random.Random(seed)) for seed in seeds}
    assert query[0].upper() + query[1:] in written
    assert all(not text[0].islower() and text.endswith("?") == text.startswith("What") for text in written)


def test_a_form_needs_one_head() -> None:
    [form] = [form for form in grammar().shape("_ or _").forms if form.text == "{A:mod} or {B.mod}"]
    assert form.render({"A": "films from 1994", "B": "films from 1995"}) == "films from 1994 or from 1995"
    assert not form.render({"A": "films from 1994", "B": "books from 1995"})
    assert not form.render({"A": "films from 1994", "B": "Dutch films"})


def test_names_are_not_cut() -> None:
    """What New Zealand and New Caledonia share is part of their names; lower-case names could be misread."""
    [form] = [form for form in grammar().shape("_ or _").forms if form.text == "{A} or {B.short}"]
    there = {"A": "films made in New Zealand", "B": "films made in New Caledonia"}
    assert form.render(there) == "films made in New Zealand or New Caledonia"
    assert not form.render({"A": "drugs that treat acute pain", "B": "drugs that treat acute cough"})
    seas = {"A": "films set on the Red Sea", "B": "films set on the Black Sea"}
    assert form.render(seas) == "films set on the Red Sea or the Black Sea"


@pytest.mark.parametrize(
    ("rest", "no"),
    [
        ("that are about robots", "that are not about robots"),
        ("that have the genre Drama", "that do not have the genre Drama"),
        ("from 1994", "not from 1994"),
        ("who are members of NATO", "who are not members of NATO"),
        ("linked to Aspirin as target", "not linked to Aspirin as target"),
        ("in the War genre", "not in the War genre"),
        ("with a coast on the Red Sea", "without a coast on the Red Sea"),
        ("that flow into the Red Sea", "that do not flow into the Red Sea"),
        ("whose color is Gold", "whose color is not Gold"),
        ("in which Jane Doe acted", ""),
        ("who acted in Alba", ""),
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
    assert Parser(known).parse("films that are about war or that are about peace") == "keyword#wp -> film"
    assert Parser(known).parse("films that are about war or from 1994") == "film{year = 1994} | (keyword#w -> film)"
    without = {phrase: text for phrase, text in known.items() if "wp" not in text}
    assert (
        Parser(without).parse("films that are about war or that are about peace")
        == "(keyword#p -> film) | (keyword#w -> film)"
    )


def test_ambiguous_queries() -> None:
    known = {"x": "film#1", "x or y": "film#2", "y or z": "film#3", "z": "film#4"}
    assert Parser(known).parse("x or y or z") is None
    # ... and not written: "x" and "y or z" are worded in a way that has one reading.
    shape = grammar().shape("_ or _")
    said = {by_grammar(shape, ["x", "y or z"], Parser(known), random.Random(seed)) for seed in range(20)}
    assert said
    assert all(query and Parser(known).parse(query) == "film#1 | film#3" for query in said)


def test_case() -> None:
    known = {"films about it": "film#1", "films about IT": "film#2", "Old films": "film#3"}
    assert Parser(known).parse("films about IT") == "film#2"
    assert Parser(known).parse("films about It") is None
    assert Parser(known).parse("old FILMS") == "film#3"


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
            assert Parser(known).parse(query) == sorted_expression(shape, [known[phrase] for phrase in chosen])
            assert Parser({phrase: known[phrase] for phrase in chosen}).parse(query) is not None


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
    assert Parser(known).parse(query) == sorted_expression(shape, [known[phrase] for phrase in asked])
    assert all(name in query.casefold() for name in chosen[: len(asked)])
