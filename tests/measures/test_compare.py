"""Two systems over the same queries: intervals and p-values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import KbError
from kbkit.measures.scores import compare, untested
from tests.wording import Wording


def scores(values: list[float | None], name: str = "f1") -> pl.DataFrame:
    columns = {"query": [str(i) for i in range(len(values))], name: values}
    return pl.DataFrame(columns, schema={"query": pl.String, name: pl.Float64})


def row(a: list[float | None], b: list[float | None], n: int = 2000, seed: int = 0) -> dict[str, float]:
    [found] = compare(scores(a), scores(b), n, seed).to_dicts()
    return found


def flips(differences: list[float]) -> float:
    """The share of the ways to choose signs whose mean is at least as far from 0."""
    means = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(mean >= abs(sum(differences)) - 1e-12 for mean in means) / len(means)


@pytest.mark.core
def test_worked_by_hand() -> None:
    # Differences 1, 1, 1: of the eight ways to choose signs only +++ and --- are as far from 0.
    found = row([0.0, 0.0, 0.0, 0.5], [1.0, 1.0, 1.0, 0.5])
    assert list(found) == [
        *("measure", "queries", "mean_a", "mean_b", "difference"),
        *("low", "high", "p_randomization", "p_bootstrap"),
    ]
    assert (found["measure"], found["queries"], found["mean_a"], found["mean_b"], found["difference"]) == (
        *("f1", 4, 0.125, 0.875),
        0.75,
    )
    assert found["p_randomization"] == pytest.approx(2 / 8)
    # A resample's mean is at most 0.25 with a chance of 5 %, and 0 with one of 0.4 %: all four from the last query.
    assert (found["low"], found["high"]) == (0.25, 1.0)
    assert found["p_bootstrap"] == pytest.approx(0.25**4, abs=0.005)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=9))
def test_the_randomization_test_is_exact_for_few_queries(differences: list[float]) -> None:
    found = row([0.0] * len(differences), list(differences), n=512)
    assert found["p_randomization"] == pytest.approx(flips(differences))
    assert found["low"] <= found["difference"] <= found["high"]
    assert 0 < found["p_bootstrap"] <= 1


def test_random_flips_come_close_to_the_exact_value() -> None:
    rng = np.random.default_rng(3)
    differences = rng.normal(0.3, 0.6, 12).round(3).tolist()
    exact = flips(differences)
    assert 0.01 < exact < 0.5
    found = row([0.0] * 12, differences, n=4000)  # 4,096 ways are more than 4,000
    assert found["p_randomization"] == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4000))
    assert found["p_randomization"] != exact
    assert row([0.0] * 12, differences, n=4096)["p_randomization"] == pytest.approx(exact)


def test_interval_and_p_of_the_bootstrap_agree_with_the_normal_distribution() -> None:
    differences = np.random.default_rng(1).normal(0.05, 0.5, 400)
    found = row([0.0] * 400, differences.tolist(), n=10_000)
    error = differences.std() / 20
    assert found["low"] == pytest.approx(differences.mean() - 1.96 * error, abs=error / 5)
    assert found["high"] == pytest.approx(differences.mean() + 1.96 * error, abs=error / 5)
    p = math.erfc(abs(differences.mean()) / error / math.sqrt(2))
    assert 0.01 < p < 0.9
    assert found["p_bootstrap"] == pytest.approx(p, abs=0.02)
    assert found["p_randomization"] == pytest.approx(p, abs=0.02)


def test_the_same_seed_gives_the_same() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(40).tolist(), rng.random(40).tolist()
    assert row(a, b, seed=1) == row(a, b, seed=1)
    assert row(a, b, seed=1)["p_randomization"] != row(a, b, seed=2)["p_randomization"]
    turned, straight = row(b, a, seed=1), row(a, b, seed=1)
    assert turned["difference"] == -straight["difference"]
    assert turned["p_bootstrap"] == straight["p_bootstrap"]


def test_systems_that_are_alike_and_a_difference_without_spread() -> None:
    same = row([0.1, 0.5, 0.9], [0.1, 0.5, 0.9])
    assert [same[name] for name in ("low", "high", "p_randomization", "p_bootstrap")] == [0, 0, 1, 1]
    up = row([0.0] * 30, [0.5] * 30, n=999)
    assert [up[name] for name in ("low", "high", "p_randomization", "p_bootstrap")] == [0.5, 0.5, 0.001, 0.001]


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random(64).tolist(), rng.random(64).tolist()
    whole = row(a, b)
    monkeypatch.setattr("kbkit.measures.scores._CELLS", 64 * 7)
    parts = row(a, b)
    assert parts["p_randomization"] == whole["p_randomization"]
    assert parts == pytest.approx({**whole}, abs=0.05)


def test_queries_that_cannot_be_computed_are_left_out() -> None:
    found = row([None, 0.0, 1.0, 0.5], [1.0, None, 0.0, 1.0])
    assert (found["queries"], found["mean_a"], found["mean_b"], found["difference"]) == (2, 0.75, 0.5, -0.25)


@pytest.mark.parametrize(
    ("a", "b", "queries", "mean"),
    [([1.0, None], [0.5, 0.5], 1, 1.0), ([None, None], [None, 1.0], 0, None), ([], [], 0, None)],
)
def test_too_few_queries(
    a: list[float | None], b: list[float | None], queries: int, mean: float | None, wording: Wording
) -> None:
    compared = compare(scores(a), scores(b))
    [found] = compared.to_dicts()
    assert (found["queries"], found["mean_a"]) == (queries, mean)
    assert [found[name] for name in ("low", "high", "p_randomization", "p_bootstrap")] == [None] * 4
    notes = untested(compared)
    assert len(notes) == 1
    wording("\n".join(notes))


def test_rows_are_in_the_order_of_the_measures_and_queries_in_any() -> None:
    a = scores([0.0, 1.0, 0.0]).with_columns(map=pl.lit(0.5))
    b = scores([1.0, 1.0, 0.5]).with_columns(map=pl.lit(0.25)).sample(fraction=1, shuffle=True, seed=4)
    found = compare(a, b, 100)
    assert found.select("measure", "difference").rows() == [("f1", 0.5), ("map", -0.25)]
    assert untested(found) == []


def test_refusals(wording: Wording) -> None:
    a, b = scores([0.0, 1.0]), scores([0.0, 1.0, 1.0])
    with pytest.raises(KbError) as caught:
        compare(a, b)
    message = str(caught.value)
    wording(message)
    with pytest.raises(KbError) as caught:
        compare(a, scores([0.0, 1.0], "map"))
    message = str(caught.value)
    wording(message)
    for n in (0, 1_000_001):
        with pytest.raises(KbError) as caught:
            compare(a, a, n)
        message = str(caught.value)
        assert [fact for fact in ["1", "1,000,000"] if fact not in message] == []
        wording(message)
