"""Answers against correct ones: names, numbers with units, dates, lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.convkgyarn.conversations import Turn, TurnAnswer
from kbkit.benchmarks.convkgyarn.matching import matches, matches_one, parse_date, quantity

DANUBE = TurnAnswer("2,850 km", value="2850")
BORN = TurnAnswer("12 May 1820", value="1820-05-12")


@pytest.mark.parametrize(
    ("candidate", "answer", "kind", "unit", "right"),
    [
        ("Muller", TurnAnswer("Müller"), "entity", "", True),
        ("the Netherlands", TurnAnswer("Netherlands"), "entity", "", True),
        ("Georgia (country)", TurnAnswer("Georgia"), "entity", "", True),
        ("Holland", TurnAnswer("Netherlands", ["Holland"]), "entity", "", True),
        ("Scholey", TurnAnswer("Keith Scholey"), "entity", "", False),
        ("", TurnAnswer("Netherlands"), "entity", "", False),
        ("?", TurnAnswer("!"), "text", "", False),
        ("A", TurnAnswer("A"), "text", "", True),
        ("2850", DANUBE, "number", "km", True),
        ("about 2,860 km long", DANUBE, "number", "km", True),
        ("1,770 miles", DANUBE, "number", "km", True),
        ("2,850,000 m", DANUBE, "number", "km", True),
        ("2,900 km", DANUBE, "number", "km", False),
        ("2850 km²", DANUBE, "number", "km", False),
        ("1949", TurnAnswer("1949", value="1949"), "number", "", True),
        ("1950", TurnAnswer("1949", value="1949"), "number", "", False),
        ("7", TurnAnswer("7", value="7"), "number", "", True),
        ("7.04", TurnAnswer("7", value="7"), "number", "", False),
        ("67.4 million", TurnAnswer("67,391,582", value="67391582"), "number", "people", True),
        ("67 thousand", TurnAnswer("67,391,582", value="67391582"), "number", "people", False),
        ("248,573 sq mi", TurnAnswer("643,801 km²", value="643801"), "number", "km2", True),
        ("no idea", DANUBE, "number", "km", False),
        ("May 12, 1820", BORN, "date", "", True),
        ("12th of May 1820", BORN, "date", "", True),
        ("1820-05-13", BORN, "date", "", True),
        ("14 May 1820", BORN, "date", "", False),
        ("1820", BORN, "date", "", False),
        ("12 May 1820", TurnAnswer("1820", value="1820"), "date", "", True),
        ("1821", TurnAnswer("1820", value="1820"), "date", "", False),
        ("44 BC", TurnAnswer("44 BC", value="-0043"), "date", "", True),
        ("15 March 44 BC", TurnAnswer("44 BC", value="-0043"), "date", "", True),
        ("0044-03-15 (BC)", TurnAnswer("15 March 44 BC", value="-0043-03-15"), "date", "", True),
        ("43 BC", TurnAnswer("44 BC", value="-0043"), "date", "", False),
        ("44", TurnAnswer("44 BC", value="-0043"), "date", "", False),
        ("31 December 1999", TurnAnswer("1 January 2000", value="2000-01-01"), "date", "", True),
        ("30 February 2000", TurnAnswer("1 March 2000", value="2000-03-01"), "date", "", False),
    ],
)
def test_one_answer(candidate: str, answer: TurnAnswer, kind: str, unit: str, right: bool) -> None:
    assert matches_one(candidate, answer, kind, unit) == right


def turn(answers: list[TurnAnswer], kind: str = "entity") -> Turn:
    return Turn("q", answers, kind, "p", "p", "t", "original")


def test_one_matching_item_is_enough() -> None:
    gold = turn([TurnAnswer("Trinidad and Tobago"), TurnAnswer("Paris")])
    assert matches(["London", "paris"], gold)
    assert matches(["Trinidad and Tobago"], gold)
    assert matches(["London, Paris and Rome"], gold)
    assert not matches(["Trinidad"], gold)
    assert not matches([], gold)
    assert not matches(["London and Rome"], gold)


@given(st.integers(-(10**9), 10**9), st.sampled_from(["km", "m", "km2", "people", ""]))
def test_a_number_matches_itself_in_any_notation(value: int, unit: str) -> None:
    answer = TurnAnswer(f"{value:,}", value=str(value))
    for text in (str(value), f"{value:,}", f"about {value} {unit}", f"{value:,}".replace(",", "\u202f")):
        assert matches_one(text, answer, "number", unit)
    found = quantity(f"{value:,}")
    assert found is not None
    assert found.value == value


@given(st.dates(), st.sampled_from(["%-d %B %Y", "%B %-d, %Y", "%Y-%m-%d", "%-d %b %Y"]))
def test_a_date_is_read_in_any_notation(day: object, form: str) -> None:
    text = day.strftime(form)  # type: ignore[attr-defined]
    found = parse_date(text)
    assert found is not None
    assert found == (day.year, day.month, day.day)  # type: ignore[attr-defined]


@given(st.text(max_size=40), st.text(max_size=20), st.sampled_from(["entity", "date", "number", "text"]))
def test_any_text_can_be_compared(candidate: str, gold: str, kind: str) -> None:
    matches([candidate], turn([TurnAnswer(gold, value=gold)], kind))
