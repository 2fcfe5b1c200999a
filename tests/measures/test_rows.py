"""Row-major EM and F1 (SPINACH, section 5.1): worked examples, two oracles, properties, published data."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from kbkit.errors import KbError
from kbkit.measures import rows
from kbkit.measures.rows import Result, RowsPrediction
from tests.examples import examples
from tests.wording import Wording


def uri(name: str) -> dict[str, str]:
    return {"type": "uri", "value": name}


def table(text: str, columns: str = "xyzuv") -> list[dict[str, dict[str, str]]]:
    """Rows of one-letter cells: ``"ab c-"`` is (x=a, y=b), (x=c, y unbound)."""
    return [
        {column: uri(cell) for column, cell in zip(columns, row, strict=False) if cell != "-"} for row in text.split()
    ]


def score(predicted: Result, gold: Result) -> tuple[float | None, float | None]:
    """em and f1 of one record."""
    found = rows.measure([RowsPrediction("q", predicted, gold, {})])
    assert found.schema == {"query": pl.String, "em": pl.Float64, "f1": pl.Float64}
    return found.select("em", "f1").row(0)


# -- worked by hand ---------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(
    ("predicted", "gold", "f1"),
    [
        ("a", "a", Fraction(1)),
        ("b a", "a b", Fraction(1)),  # order is free
        ("a a c d f", "a", Fraction(2, 6)),  # tp 1, fp 4
        ("a", "a a c d f", Fraction(2, 6)),  # tp 1, fn 4
        ("a c s", "a a c d f", Fraction(4, 8)),  # tp 2, fn 3, fp 1
        ("a a", "a a", Fraction(1)),  # duplicate rows are rows
        ("a", "a a", Fraction(2, 3)),
        ("a a", "a", Fraction(2, 3)),
        ("x", "a", Fraction(0)),  # recall 0 is no pair: fn 1, fp 1
        ("", "a", Fraction(0)),
        ("a", "", Fraction(0)),
        ("a b", "bc ac", Fraction(2, 3)),  # two pairs of recall 1/2: tp 1, fn 1, fp 0
        ("a b s t", "bc ac", Fraction(2, 5)),  # and fp 2
        ("a", "aa", Fraction(2, 3)),  # a cell counts as often as it occurs: recall 1/2
        ("aa", "aa", Fraction(1)),
        ("aaa", "aa", Fraction(1)),  # more is an extra column
        ("ab", "aab", Fraction(4, 5)),  # recall 2/3
        ("ba", "ab", Fraction(1)),  # names and order of columns are free
        ("ab ac", "a- ab", Fraction(1)),  # a row may be narrower: ac to a, ab to ab
        ("ab", "a- ab", Fraction(2, 3)),
        ("a", "- a", Fraction(2, 3)),  # a gold row without cells has recall 0
        ("ab cd", "ad", Fraction(2, 5)),  # either: tp 1/2, fn 1/2, fp 1
        ("abc de-", "abc ade", Fraction(10, 11)),  # 1 + 2/3: tp 5/3, fn 1/3, fp 0
    ],
)
def test_worked_by_hand(predicted: str, gold: str, f1: Fraction) -> None:
    assert score(table(predicted), table(gold)) == (float(f1 == 1), float(f1))


def test_greedy_pairs_are_not_optimal() -> None:
    # ab is best for both gold rows; the sum is greatest when the second takes it: 1/2 + 1, not 1 + 0.
    assert score(table("ab ac"), table("ac ab")) == (1.0, 1.0)
    assert score(table("abc a--"), table("abd abc"))[1] == float(Fraction(8, 3) / (Fraction(8, 3) + Fraction(2, 3)))


def test_ties_prefer_more_pairs() -> None:
    # ab to ab and bd to none, or bd to ab and ab to ac: tp is 1 both times, and fp 1 or 0.
    assert score(table("ab bd"), table("ab ac")) == (0.0, float(Fraction(2, 3)))


def test_extra_columns_and_gold_labels_are_ignored() -> None:
    gold = [{"item": uri("a"), "itemLabel": uri("L"), "itemDescription": uri("D")}]
    assert score([{"x": uri("a")}], gold) == (1.0, 1.0)
    assert score([{"x": uri("a"), "population": uri("7")}], gold) == (1.0, 1.0)
    assert score([{"x": uri("L")}], gold) == (0.0, 0.0)
    assert score([{"nameLabel": uri("a")}], [{"name": uri("a")}]) == (1.0, 1.0)  # a predicted label may match
    assert score([{"x": uri("a")}], [{"Labels": uri("a"), "label": uri("b")}]) == (0.0, float(Fraction(2, 3)))


@pytest.mark.parametrize(
    "other",
    [
        {"type": "uri", "value": "a"},
        {"type": "literal", "value": "A"},
        {"type": "literal", "value": "a", "xml:lang": "en"},
        {"type": "literal", "value": "a", "datatype": "http://www.w3.org/2001/XMLSchema#string"},
    ],
)
def test_cells_compare_by_all_parts_of_a_term(other: dict[str, str]) -> None:
    term = {"value": "a", "type": "literal"}
    assert score([{"x": term}], [{"x": dict(reversed(term.items()))}]) == (1.0, 1.0)
    assert score([{"x": other}], [{"x": term}]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        (True, True, 1.0),
        (False, False, 1.0),
        (True, False, 0.0),
        (table("a"), True, 0.0),
        (False, table("a"), 0.0),
        (False, [], 0.0),
        ([], False, 0.0),
        (None, True, 0.0),
        (None, table("a"), 0.0),
        (None, [], 0.0),
    ],
)
def test_booleans_and_missing_predictions(predicted: Result, gold: Result, expected: float) -> None:
    assert score(predicted, gold) == (expected, expected)


def test_undefined_scores_are_null_with_reasons(wording: Wording) -> None:
    labels = [{"aLabel": uri("a")}, {}]
    records = [
        RowsPrediction("fine", table("a"), table("a"), {}),
        RowsPrediction("both empty", [], [], {}),
        RowsPrediction("no gold", table("a"), None, {}),
        RowsPrediction("neither", None, None, {}),
        RowsPrediction("labels", True, labels, {}),
        RowsPrediction("labels 2", None, labels, {}),
        *(RowsPrediction(f"none {i}", table("a"), None, {}) for i in range(2)),
    ]
    scores = rows.measure(records)
    assert scores["f1"].to_list() == [1.0, *[None] * 7] == scores["em"].to_list()
    notes = rows.reasons(records, scores)
    assert len(notes) == 3
    wording("\n".join(notes))
    assert rows.reasons(records[:1], scores[:1]) == []
    assert rows.measure([]).is_empty()


# -- oracles ----------------------------------------------------------------------------------------------------------


def oracle(predicted: list[dict[str, Any]], gold: list[dict[str, Any]]) -> tuple[float, Fraction] | None:
    """em and f1 by trying every assignment, in fractions."""
    wanted = [Counter(json.dumps(c, sort_keys=True) for k, c in r.items() if k[-5:] != "Label") for r in gold]
    given = [Counter(json.dumps(c, sort_keys=True) for c in r.values()) for r in predicted]
    if not gold + predicted or (gold and not any(wanted)):
        return None

    def recall(i: int, j: int) -> Fraction:
        inside = i < len(gold) and j < len(predicted) and wanted[i].total()
        return Fraction((wanted[i] & given[j]).total(), wanted[i].total()) if inside else Fraction(0)

    size = max(len(gold), len(predicted))
    sums = ([recall(i, j) for i, j in enumerate(order)] for order in itertools.permutations(range(size)))
    tp, pairs = max((sum(found), sum(1 for r in found if r)) for found in sums)
    f1 = 2 * tp / (2 * tp + (len(gold) - tp) + (len(predicted) - pairs))
    return float(f1 == 1), f1


TERMS = [
    uri("a"),
    uri("b"),
    uri("c"),
    {"type": "literal", "value": "a"},
    {"type": "literal", "value": "a", "xml:lang": "en"},
]
ROW = st.dictionaries(st.sampled_from(["x", "y", "z", "u", "xLabel"]), st.sampled_from(TERMS), max_size=5)
TABLE = st.lists(ROW, max_size=5)


@given(TABLE, TABLE)
@examples(20)
def test_all_assignments_in_exact_fractions_give_the_same(
    predicted: list[dict[str, Any]], gold: list[dict[str, Any]]
) -> None:
    expected = oracle(predicted, gold)
    if expected is None:
        assert score(predicted, gold) == (None, None)
    else:
        assert score(predicted, gold) == (expected[0], float(expected[1]))


def overlaps(predicted: list[list[int]], gold: list[list[int]]) -> np.ndarray:
    return np.array([[(Counter(g) & Counter(p)).total() / len(g) for p in predicted] for g in gold])


def as_rows(cells: list[list[int]]) -> list[dict[str, dict[str, str]]]:
    return [{f"c{place}": uri(str(cell)) for place, cell in enumerate(row)} for row in cells]


@pytest.mark.parametrize("seed", range(12))
def test_the_dense_assignment_of_scipy_gives_the_same(seed: int) -> None:
    random = np.random.default_rng(seed)
    distinct, limit = int(random.choice([3, 12, 80])), int(random.choice([2, 4, 11]))
    sizes = random.integers(20, 90, 2)

    def cells(count: int) -> list[list[int]]:
        widths = random.integers(1, limit + 1, count) if seed % 2 else [limit] * count
        return [random.integers(0, distinct, width).tolist() for width in widths]

    gold, predicted = cells(sizes[0]), cells(sizes[1])
    recall = overlaps(predicted, gold)
    matched = recall[linear_sum_assignment(recall + 1e-7 * (recall > 0), maximize=True)]
    tp, pairs = matched.sum(), (matched > 0).sum()
    expected = 2 * tp / (tp + len(gold) + len(predicted) - pairs)
    assert score(as_rows(predicted), as_rows(gold))[1] == pytest.approx(expected, abs=1e-12)


def test_widths_without_a_small_common_multiple() -> None:
    random = np.random.default_rng(7)
    widths = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
    gold = [random.integers(0, 60, width).tolist() for width in widths * 2]
    predicted = [random.integers(0, 60, 20).tolist() for _ in range(25)]
    recall = overlaps(predicted, gold)
    tp = recall[linear_sum_assignment(recall, maximize=True)].sum()
    assert score(as_rows(predicted), as_rows(gold))[1] == pytest.approx(2 * tp / (tp + len(gold)), abs=1e-12)


# -- properties -------------------------------------------------------------------------------------------------------


@given(TABLE, TABLE, st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter_nor_do_more_predicted_columns(
    predicted: list[dict[str, Any]], gold: list[dict[str, Any]], random: Any
) -> None:
    before = score(predicted, gold)
    em, f1 = before
    assert f1 is None or (0 <= f1 <= 1 and em == (f1 == 1))
    renamed = {"x": "z", "y": "x", "z": "name", "u": "y", "xLabel": "other"}
    shuffled = [
        {renamed[name]: row[name] for name in random.sample(sorted(row), len(row))}
        for row in random.sample(predicted, len(predicted))
    ]
    assert score(shuffled, random.sample(gold, len(gold))) == before
    wider = [{**row, "new": uri(random.choice(["new", "newer"]))} for row in predicted]
    assert score(wider, gold) == before


COLUMN = st.lists(st.sampled_from("abcde"), max_size=12)


@given(COLUMN, COLUMN)
def test_one_column_gives_the_textbook_f1_of_multisets(predicted: list[str], gold: list[str]) -> None:
    f1 = score([{"p": uri(value)} for value in predicted], [{"g": uri(value)} for value in gold])[1]
    both, total = (Counter(predicted) & Counter(gold)).total(), len(predicted) + len(gold)
    assert f1 == (2 * both / total if total else None)


@given(TABLE.filter(lambda gold: all({*row} - {"xLabel"} for row in gold) and bool(gold)))
def test_gold_itself_is_exact(gold: list[dict[str, Any]]) -> None:
    assert score(gold[::-1], gold) == (1.0, 1.0)


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_many_rows_that_share_a_value() -> None:
    def film(number: int) -> dict[str, dict[str, str]]:
        return {"film": uri(f"Q{number}"), "type": uri("film"), "decade": uri(f"{number % 7}0s")}

    gold, predicted = [film(n) for n in range(4_000)], [film(n) for n in range(1_000, 3_000)]
    assert score(predicted, gold) == (0.0, float(Fraction(2, 3)))  # tp 2,000, fn 2,000, fp 0
    # The others still share a type, and most a decade: recall 2/3, else 1/3.
    decades = Counter(n % 7 for n in range(2_003)) & Counter(n % 7 for n in range(4_000, 6_003))
    tp = 1_997 + Fraction(2_003 + decades.total(), 3)
    assert score([film(n) for n in range(2_003, 6_003)], gold) == (0.0, float(2 * tp / (tp + 4_000)))


def test_too_many_overlaps(wording: Wording) -> None:
    gold = [{"a": uri(f"kind {n % 2}"), "b": uri(str(n))} for n in range(8_000)]
    predicted = [{"a": uri(f"kind {(n + 1) % 2}"), "b": uri(str(n))} for n in range(8_000)]
    with pytest.raises(KbError) as caught:
        score(predicted, gold)
    message = str(caught.value)
    assert [fact for fact in ["'q'", "8,000", "32,008,000", "32,000,000"] if fact not in message] == []
    wording(message)


# -- the published outputs --------------------------------------------------------------------------------------------


def test_the_published_outputs_on_qald_7(shared_data: Path) -> None:
    path = shared_data / "spinach" / "qald_7_outputs.json"
    records = rows.read_predictions(path)
    scores = rows.measure(records)
    published = [float(record["f1"]) for record in json.loads(path.read_text(encoding="utf-8"))]
    assert scores["f1"].to_list() == pytest.approx(published, abs=1e-9)
    assert (scores["em"].sum(), scores.height) == (28, 45)
    assert round(scores["em"].mean() * 100, 2) == 62.22  # type: ignore[operator]
    assert round(scores["f1"].mean() * 100, 2) == 74.62  # type: ignore[operator]
    assert rows.reasons(records, scores) == []
    assert rows.queries(records).columns == ["query", "predicted_sparql", "gold_sparql"]
    assert max(len(r.gold) for r in records if isinstance(r.gold, list)) == 7_634
