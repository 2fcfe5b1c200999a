"""The share of a set that is in another one: ``fraction(part of whole)``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kbkit.answers.parse import parse
from kbkit.answers.syntax import Aggregate, fill, slots
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.questions.reading_words import ReadingWords
from tests.answers import oracle
from tests.answers.completion import check_completion
from tests.answers.test_cases import plain, prints_back
from tests.answers.test_measures import same
from tests.console import good
from tests.wording import Wording

ENGINES = ("walk", "sql", "sparql")
VALUES: dict[str, Any] = {
    "fraction(drug{approved = true} of drug)": 0.5,
    "fraction(drug{approved = true} of drug{not missing(weight)})": 2 / 3,
    "fraction(drug of drug{year > 9999})": None,
    "fraction(drug{year > 9999} of drug)": 0.0,
    "fraction(drug & hormone of drug)": "refused",
    "fraction(* of drug)": 1.0,
    "fraction(drug of *)": 1 / 3,
    "fraction(gene/protein of drug)": "refused",
    "fraction(person -> [order] -> drug of (drug - drug#1))": 1 / 3,
    "fraction(drug{weight > 5} of drug by approved)": [(False, 0.5), (True, 0.5)],
    "fraction(drug{weight > 5} of drug by approved order by fraction desc limit 1)": [(False, 0.5), (True, 0.5)],
    "fraction(drug#1 of drug by approved having fraction > 0)": [(True, 0.5)],
    "fraction(drug{year > 1950} of drug by <- [order] <- person.year)": [(1958, 1.0), (1990, 0.0)],
    "fraction(drug{year > 1950} of drug by <- [order] <- person order by fraction)": [
        ("person#p2", "Zoë Müller", 0.0),
        ("person#1", "Zoë Müller", 1.0),
    ],
    "percentage(drug{approved = true} of drug)": 50.0,
    "percentage(drug{approved = true} of drug{not missing(weight)})": 200 / 3,
    "percentage(drug of drug{year > 9999})": None,
    "percentage(drug#1 of drug by approved having percentage > 20)": [(True, 50.0)],
    "fraction(* of gene/protein by year(first_seen))": [(1921, 1.0), (1994, 1.0)],
}


def value_of(kb: KnowledgeBase, engine: str, text: str) -> Any:
    try:
        return oracle.value(plain(kb), text) if engine == "oracle" else kb.answers(text, engine).value
    except (KbError, oracle.RefusedError):
        return "refused"


@pytest.mark.parametrize("text", VALUES)
def test_values(small: KnowledgeBase, text: str) -> None:
    found = {engine: value_of(small, engine, text) for engine in ("oracle", *ENGINES)}
    assert [engine for engine, value in found.items() if not same(value, VALUES[text])] == [], found
    prints_back(text)


def test_the_tree() -> None:
    tree = parse("fraction(a:<x> & b of (c | d) by e, year(f) having fraction > 0.5 order by fraction desc limit 3)")
    assert isinstance(tree, Aggregate)
    assert (str(tree.part), str(tree.source)) == ("a:<x> & b", "c | d")
    assert sorted(slots(tree)) == ["x"]
    assert "a#1" in str(fill(tree, {"x": "#1"}))
    prints_back(str(tree))
    prints_back("fraction(of of of)")
    prints_back("percentage(percentage{percentage > 1} of percentage by percentage order by percentage)")
    prints_back("fraction(fraction{fraction > 1} of fraction by fraction)")


def test_a_slot_and_a_saved_set(small: KnowledgeBase) -> None:
    for engine in ENGINES:
        assert small.answers("fraction(drug{year > <n>} of drug{not missing(weight)})", engine, n=1950).value == 1 / 3


def test_the_two_counts(small: KnowledgeBase, here: Any, tiny_kb: Path) -> None:
    text = "fraction(drug{approved = true} of drug{weight > 5})"
    assert [small.answers(text, engine).value_origin for engine in ENGINES] == ["1 of 2 nodes"] * 3
    assert small.answers("fraction(drug of drug by approved)").value_origin == ""
    assert small.answers("count(drug)").value_origin == ""
    lines = good(here("answers", tiny_kb, text, "--why")).splitlines()
    assert lines[-2:] == [f"{text} = 0.5, 1 of 2 nodes", "2 answers"]


def test_in_words(small: KnowledgeBase) -> None:
    words = ReadingWords(small.schema).text(parse("fraction(drug{approved = true} of drug by year)"))
    assert words == "share of drugs that are among drugs whose approved is True, for each year"


ERRORS = [
    "percentage(drug)",
    "percentage(drug of person)",
    "fraction(drug)",
    "fraction(drug, person)",
    "fraction(drug of drug of drug)",
    "fraction(drug of person)",
    "fraction(drug of drug, year)",
    "fraction(drug of drug order by fraction)",
    "fraction(drug of drug by approved limit 3)",
    "drug & fraction(drug of drug)",
    "drug{weight > fraction(drug of drug)}",
]


@pytest.mark.parametrize("text", ERRORS)
def test_errors(small: KnowledgeBase, text: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        small.answers(text)
    assert caught.value.hints
    wording(str(caught.value))


COMPLETED: dict[str, tuple[list[str], list[str]]] = {
    "perc¦": (["percentage("], []),
    "percentage(drug ¦": (["of ", "& "], []),
    "fra¦": (["fraction("], []),
    "fraction(¦": (["drug"], ["of "]),
    "fraction(drug ¦": (["of ", "& "], []),
    "fraction((drug ¦": (["& "], ["of "]),
    "fraction(drug{approved = true} of ¦": (["drug"], ["of "]),
    "fraction(drug of drug ¦": (["& ", ") "], ["of "]),
    "fraction(drug of drug by ¦": (["approved", "year("], []),
    "count(drug ¦": (["& "], ["of "]),
}


@pytest.mark.parametrize("row", COMPLETED)
def test_completion(small: KnowledgeBase, row: str) -> None:
    check_completion(small, row, *COMPLETED[row])
