"""Answer lists (SKA-Bench, sections 3 and 4.1): normalization, macro-F1, refusals, and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kbkit.errors import BadInputError
from kbkit.measures import lists
from kbkit.measures.lists import ListPrediction, normalize
from tests.examples import examples
from tests.wording import Wording

Files = Callable[..., Path]
Score = float | None


def score(predicted: list[str] | None, gold: list[str]) -> tuple[Score, Score, Score, Score]:
    """precision, recall, f1, rejected of one record."""
    found = lists.measure([ListPrediction("q", predicted, gold, {})])
    measures = dict.fromkeys(["precision", "recall", "f1", "rejected"], pl.Float64)
    assert found.schema == {"query": pl.String, **measures}
    precision, recall, f1, rejected = found.drop("query").row(0)
    return precision, recall, f1, rejected


# -- normalization ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris", "paris"),
        ("  New \t York\n", "new york"),
        ("ＦＵＬＬ width", "full width"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("“The Beatles”.", "beatles"),
        ("The A Team", "team"),
        ("O’Brien", "o'brien"),
        ("1999–2000", "1999-2000"),
        ("Who?", "who"),
        ("Hepatitis A", "hepatitis a"),  # an article is only dropped in front
        ("A", "a"),
        ("The", "the"),
        ("the The", "the"),
        ("A.", "a"),
        ("!!!", "!!!"),
        ("theory", "theory"),
        ("C#", "c#"),
        ("C++", "c++"),
        ("U.S.", "u.s"),
        ("", ""),
        (" \n", ""),
        ("1,234.50", "1234.5"),
        ("1,234,567", "1234567"),
        ("1,234,56", "1,234,56"),
        ("12,34", "12,34"),
        ("3.0", "3"),
        ("3.", "3"),
        ("'3.10'", "3.1"),
        (".50", "0.5"),
        ('"-.5".', "-0.5"),
        ("+5", "5"),
        ("−5", "-5"),  # minus sign
        ("-0.00", "0"),
        ("100", "100"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("5 km", "5 km"),
        ("٣", "٣"),
        (
            "12345678901234567890123456789012345678901234567890.10",
            "12345678901234567890123456789012345678901234567890.1",
        ),
    ],
)
def test_normalize(text: str, expected: str) -> None:
    assert normalize(text) == expected


@given(st.text() | st.text("aThe n0123,.-'\"!? ", max_size=12))
@example("İ")
@example("ΐ")
@examples(20)
def test_normalize_is_idempotent_and_never_empty(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert bool(once) == bool(text.split())


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3), st.integers(0, 3))
def test_a_number_has_one_form(number: object, zeros: int) -> None:
    text = f"{number:f}"
    assert normalize(text + "0" * zeros) == normalize(f"{number:,f}") == normalize(f" '{text}' ")


# -- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        (["Paris"], ["paris"], (1, 1, 1)),
        (["Paris", "Rome"], ["paris"], (Fraction(1, 2), 1, Fraction(2, 3))),
        (["Paris"], ["Paris", "Rome", "Oslo"], (1, Fraction(1, 3), Fraction(1, 2))),
        (["a", "b", "c"], ["b", "c", "d", "e"], (Fraction(2, 3), Fraction(1, 2), Fraction(4, 7))),
        (["Paris", "PARIS", "the Paris"], ["Paris", "paris."], (1, 1, 1)),  # sets
        (["Paris", " "], ["Paris", ""], (1, 1, 1)),  # blank answers are none
        (["Rome"], ["Paris"], (0, 0, 0)),
        (["1,000.0"], ["1000"], (1, 1, 1)),
        (["I don't know"], ["Paris"], (0, 0, 0)),  # a refusal is a wrong answer here
        (["No"], ["no"], (1, 1, 1)),
        ([], ["Paris"], (None, 0, 0)),
        ([""], ["Paris"], (None, 0, 0)),
        (None, ["Paris"], (None, 0, 0)),
    ],
)
def test_scores_worked_by_hand(predicted: list[str] | None, gold: list[str], expected: tuple[object, ...]) -> None:
    floats = tuple(None if value is None else float(value) for value in expected)  # type: ignore[arg-type]
    assert score(predicted, gold) == (*floats, None)


@pytest.mark.parametrize(
    "predicted",
    [
        None, [], [""], [" ", ""], ["no"], ["No."], ["N/A"], ["none"], ["Unknown"], ["“Unanswerable”"],
        ["I don't know"], ["I don’t know."], ["I do not know the answer"], ["I don't know, sorry"], ["i dont know"],
        ["Cannot be answered"], ["The question cannot be answered from these triples."], ["It can't be determined"],
        ["I'm sorry, but the triples do not say"], ["There is no answer"], ["Not enough information to answer"],
        ["no", "I don't know"], ["no", ""],
    ],
)  # fmt: skip
def test_refusals(predicted: list[str] | None) -> None:
    assert score(predicted, []) == (None, None, None, 1.0)
    assert score(predicted, [" "]) == (None, None, None, 1.0)


@pytest.mark.parametrize(
    "predicted",
    [
        ["yes"], ["Paris"], ["Norway"], ["No Country for Old Men"], ["Unknown Pleasures"], ["None of the Above"],
        ["no", "Paris"], ["I don't knowingly"], ["0"], ["Nothing Compares 2 U"], ["I Can't Get No Satisfaction"],
        ["I'm Sorry"], ["The Unanswered Question"], ["Nottingham"], ["!"],
    ],
)  # fmt: skip
def test_answers_that_are_not_refusals(predicted: list[str]) -> None:
    assert score(predicted, []) == (None, None, None, 0.0)


def test_the_lists_of_refusals_are_normalized_themselves() -> None:
    # One that normalizing changes could never match; only a comma at the end is kept, which stands inside an answer.
    assert [text for text in lists.REFUSALS if normalize(text) != text] == []
    assert [text for text in lists.REFUSING_STARTS if normalize(text) != text.removesuffix(",")] == []


ANSWERS = st.lists(st.sampled_from(["a b", "A  B", "c", "d", "3", "3.0", "e!", "E", " "]), max_size=6)


@given(ANSWERS, ANSWERS, st.randoms(use_true_random=False))
def test_scores_are_those_of_sets(predicted: list[str], gold: list[str], random: object) -> None:
    same = {"a b": "ab", "A  B": "ab", "c": "c", "d": "d", "3": "3", "3.0": "3", "e!": "e", "E": "e"}
    given_set, wanted = {same[x] for x in predicted if x != " "}, {same[x] for x in gold if x != " "}
    precision, recall, f1, rejected = score(predicted, gold)
    if not wanted:
        assert (precision, recall, f1, rejected) == (None, None, None, float(not given_set))
        return
    both = len(given_set & wanted)
    assert (recall, rejected) == (both / len(wanted), None)
    assert precision == (both / len(given_set) if given_set else None)
    if precision and recall:
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert f1 == 0
    assert score(predicted[::-1] * 2, gold[::-1]) == (precision, recall, f1, rejected)


def test_a_frame_of_several_records() -> None:
    records = [ListPrediction("1", ["a"], ["a"], {"kind": "KG"}), ListPrediction("2", None, [], {"kind": "table"})]
    assert lists.measure(records).rows() == [("1", 1.0, 1.0, 1.0, None), ("2", None, None, None, 1.0)]
    assert lists.queries(records).to_dict(as_series=False) == {"query": ["1", "2"], "kind": ["KG", "table"]}
    assert lists.measure([]).columns == ["query", "precision", "recall", "f1", "rejected"]


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Files:
    def write(content: object, name: str = "a.json", lines: bool = False) -> Path:
        path = tmp_path / name
        text = "\n".join(map(json.dumps, content)) if lines else json.dumps(content, indent=1)  # type: ignore[call-overload]
        path.write_text(content if isinstance(content, str) else text, encoding="utf-8")
        return path

    return write


def test_one_file_and_the_names_of_its_fields(file: Files) -> None:
    content = [
        {"id": 1, "question": "Who?", "predicted": ["a", 2, 2.5, True], "gold": "a", "subset": "KG", "f1": 0.1},
        {"id": 2, "prediction": {"answer": ["a"]}, "answers": [1, "b"], "size": 4},
        {"id": 3, "answer": "a", "answers": {"answers": []}},
        {"id": 4, "prediction": None, "answer": ["a"]},
        {"question": "Why?", "answer": {"answer": "no", "because": "of it"}, "gold": []},
    ]
    expected = [
        ListPrediction("1", ["a", "2", "2.5", "true"], ["a"], {"question": "Who?", "subset": "KG"}),
        ListPrediction("2", ["a"], ["1", "b"], {"size": 4}),
        ListPrediction("3", ["a"], [], {}),
        ListPrediction("4", None, ["a"], {}),
        ListPrediction("Why?", ["no"], [], {}),
    ]
    assert lists.read_predictions(file(content)) == expected
    assert lists.read_predictions(file(content, "b.jsonl", lines=True)) == expected
    assert lists.read_predictions(file(content[0])) == expected[:1]


def test_two_files_joined_by_id(file: Files) -> None:
    gold = [{"id": 1, "answer": "a", "kind": "KG"}, {"id": 2, "answers": ["b"]}, {"id": 3, "gold": []}]
    predicted = [
        {"id": "3", "answers": ["no"]},
        {"id": "1", "predicted": "a", "answer": "gold"},
        {"id": 5, "answer": 1},
    ]
    assert lists.read_predictions(file(predicted), file(gold, "gold.jsonl", lines=True)) == [
        ListPrediction("1", ["a"], ["a"], {"kind": "KG"}),
        ListPrediction("2", None, ["b"], {}),
        ListPrediction("3", ["no"], [], {}),
    ]


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("", []),
        ("[]", []),
        ("{", []),
        ('{"gold": [], "answer": 1}\n{"gold": []}', ["line 2"]),
        ([{"answer": ["a"]}], ["record 1"]),
        (
            [{"answer": 1, "gold": None}],
            ["record 1"],
        ),
        ([{"answer": [["a"]], "gold": 1}], ["record 1"]),
        ([{"answer": [None], "gold": 1}], ["record 1"]),
        ([{"answer": {"text": "a"}, "gold": 1}], ["record 1"]),
        ([{"id": 1.5, "answer": 1, "gold": 1}], ["record 1", "1.5"]),
        ([{"id": 1, "answer": 1, "gold": 1}] * 2, ["record 2", '"1"', "record 1"]),
        ("[" * 100_000, []),
    ],
)
def test_bad_files(file: Files, content: object, facts: list[str], wording: Wording) -> None:
    path = file(content)
    with pytest.raises(BadInputError) as caught:
        lists.read_predictions(path)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_two_files_without_a_common_id(file: Files, wording: Wording) -> None:
    with pytest.raises(BadInputError) as caught:
        lists.read_predictions(
            file([{"question": "Who?", "answer": 1}]), file([{"question": "Why?", "answer": 1}], "b.json")
        )
    message = str(caught.value)
    assert [fact for fact in ['"Who?"', '"Why?"'] if fact not in message] == []
    wording(message)
