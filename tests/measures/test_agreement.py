"""Agreement of raters against published and hand-worked examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import KbError
from kbkit.measures.agreement import agreement_table, cohen, fleiss, majority, quadratic

pytestmark = pytest.mark.core

# Fleiss (1971) as in Wikipedia's example: ten subjects, fourteen raters, five categories, kappa 0.210.
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip

# Cohen (1968): 200 patients, diagnosed as personality disorder, neurosis or psychosis by two clinicians; his weights.
COHEN = [(88, 14, 18), (10, 40, 10), (2, 6, 12)]
WEIGHTS = [(0, 1, 3), (1, 0, 6), (3, 6, 0)]


def both(pairs: list[tuple[int, int]]) -> tuple[dict[int, int], dict[int, int]]:
    return {i: one for i, (one, _) in enumerate(pairs)}, {i: two for i, (_, two) in enumerate(pairs)}


def test_fleiss_of_a_published_example() -> None:
    rated = [[category for category, n in enumerate(counts) for _ in range(n)] for counts in FLEISS]
    raters = [{item: ratings[rater] for item, ratings in enumerate(rated)} for rater in range(14)]
    assert fleiss(raters) == (10, 0.1, pytest.approx(0.20993, abs=1e-5))


def test_cohen_of_a_published_example() -> None:
    """Fifty applications, two readers: 20 yes by both, 15 no by both, 5 and 10 between; kappa is 0.4."""
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert cohen(*both(pairs)) == (50, 0.7, pytest.approx(0.4))


def test_weighted_kappa_of_the_paper_that_defines_it() -> None:
    pairs = [(i, j) for i, row in enumerate(COHEN) for j, n in enumerate(row) for _ in range(n)]
    assert cohen(*both(pairs)) == (200, 0.7, pytest.approx(0.492, abs=0.0005))
    weighted = cohen(*both(pairs), lambda a, b: WEIGHTS[a][b])
    assert weighted == (200, 0.7, pytest.approx(0.348, abs=0.0005))


@pytest.mark.parametrize(
    ("one", "two", "kappa"),
    [
        ([1, 5, 3], [1, 5, 3], 1.0),
        ([1, 5], [5, 1], -1.0),
        ([2, 2], [2, 2], None),
        ([], [], None),
        ([1, 1], [1, 2], 0),
        # As scikit-learn 1.9 computes it with quadratic weights.
        ([1, 2, 3, 4, 5, 5, 3, 1], [1, 3, 3, 5, 4, 5, 2, 2], 0.8484848484848485),
    ],
)
def test_quadratic_weights(one: list[int], two: list[int], kappa: float | None) -> None:
    found = cohen(dict(enumerate(one)), dict(enumerate(two)), quadratic)
    assert found.kappa == (None if kappa is None else pytest.approx(kappa))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_bounds_of_kappa(pairs: list[tuple[int, int]]) -> None:
    first, second = both(pairs)
    same = all(a == b for a, b in pairs)
    for found in (cohen(first, second), fleiss([first, second])):
        assert found.agreement == sum(a == b for a, b in pairs) / len(pairs)
        assert found.kappa is None or (-1 <= found.kappa <= 1 and (found.kappa == pytest.approx(1)) == same)
    weighted, plain = cohen(first, second, quadratic), cohen(first, second)
    assert (weighted.kappa is None) == (plain.kappa is None)
    if {a for pair in pairs for a in pair} <= {0, 1} and plain.kappa is not None:
        assert weighted.kappa == pytest.approx(plain.kappa)  # two levels have one distance


def test_degenerate_agreement() -> None:
    assert cohen({1: 0}, {2: 0}) == (0, None, None)
    assert fleiss([{1: 0}, {2: 0}]) == (0, None, None)
    assert fleiss([{1: 3, 2: 3}, {1: 3, 2: 3}]) == (2, 1.0, None)  # nothing else was ever said
    with pytest.raises(KbError, match="two raters"):
        fleiss([{1: 3}])


def test_a_majority_by_hand() -> None:
    """Of four items with three raters, 1-1-5, 2-2-2 and 3-4-4 agree; the fifth has two raters only."""
    assert majority([(1, 1, 5), (2, 2, 2), (3, 4, 4), (1, 2, 3), (5, 5)]) == (4, 0.75)
    assert majority([(1, 2)]) == (0, None)
    assert majority([(1, 2, 3, 3)]) == (1, 0.0)  # the first three count
    assert majority([(1, 1, 2, 2), (1, 1, 1, 2)], 4) == (2, 0.5)  # two of four are no majority


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=1, max_size=20))
def test_a_majority_of_three_is_a_pair(values: list[tuple[int, int, int]]) -> None:
    assert majority(values) == (len(values), sum(len({*row}) < 3 for row in values) / len(values))


def test_the_table() -> None:
    """Of 12 ratings 7 are 1; the pairs of raters agree on 1, 1, 1 and 1/3."""
    rated = {"cleo": (1, 1, 0, 0), "ann": (1, 1, 0, 0), "bob": (1, 1, 0, 1)}
    raters = {name: dict(enumerate(own)) for name, own in rated.items()}
    found = agreement_table("scale", {"a": raters, "none": {"x": {}, "y": {}}})
    expected = (7 / 12) ** 2 + (5 / 12) ** 2
    assert found.columns == ["scale", "raters", "measure", "items", "agreement", "kappa"]
    assert found.rows() == [
        ("a", "all", "fleiss", 4, 0.75, pytest.approx((10 / 12 - expected) / (1 - expected))),
        ("a", "ann, bob", "cohen", 4, 0.75, 0.5),
        ("a", "ann, cleo", "cohen", 4, 1.0, 1.0),
        ("a", "bob, cleo", "cohen", 4, 0.75, 0.5),
        ("none", "all", "fleiss", 0, None, None),
        ("none", "x, y", "cohen", 0, None, None),
    ]
    pairs = agreement_table("scale", {"a": raters}, everyone=False, distance=quadratic)
    assert pairs["measure"].unique().to_list() == ["cohen, weighted"]
    assert pairs.height == 3
    with pytest.raises(KbError, match="two raters"):
        agreement_table("scale", {"a": {"ann": {1: 1}}})
    assert agreement_table("scale", {"a": {"ann": {1: 1}}}, everyone=False).is_empty()
