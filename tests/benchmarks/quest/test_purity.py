"""Precision and recall of a difference of incomplete sets, against counting in random sets."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.quest.purity import grid, overlap_of, purity
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.wording import Wording

share = st.floats(0, 1)
some = st.floats(0.05, 1)


@pytest.mark.core
def test_the_papers_example() -> None:
    # Appendix B: with a recall of B of 0.95 and an overlap below 0.8, precision is above 0.83.
    precision, recall = purity(0.95, 0.95, 0.8)
    assert precision == pytest.approx(0.2 / 0.24)
    assert recall == 0.95


@given(some, some, share, st.integers(0, 2**32 - 1))
def test_formula_agrees_with_simulation(recall_a: float, recall_b: float, overlap: float, seed: int) -> None:
    rng, size = np.random.default_rng(seed), 20_000
    in_b = np.arange(size) < round(overlap * size)  # members of A; those in B first
    known_a, known_b = rng.random(size) < recall_a, rng.random(size) < recall_b
    returned = known_a & ~(in_b & known_b)
    right = returned & ~in_b
    expected = purity(recall_a, recall_b, in_b.mean())
    if returned.sum() > 400:
        # Six deviations of a mean of so many.
        assert right.sum() / returned.sum() == pytest.approx(expected.precision, abs=3 / math.sqrt(returned.sum()))
    if (~in_b).sum() > 400:
        assert right.sum() / (~in_b).sum() == pytest.approx(expected.recall, abs=3 / math.sqrt((~in_b).sum()))


@given(some, share, share)
def test_bounds(recall_a: float, recall_b: float, overlap: float) -> None:
    precision, recall = purity(recall_a, recall_b, overlap)
    if overlap < 1:
        assert 0 <= precision <= 1
        assert recall == recall_a
        assert precision >= 1 - overlap - 1e-12  # with nothing known of B, A itself is returned
    else:
        assert math.isnan(recall)
        assert precision == 0 or math.isnan(precision)


def test_edges() -> None:
    assert purity(0.5, 1, 0.9) == (pytest.approx(1.0), 0.5)  # a complete B leaves nothing wrong
    assert purity(1, 0, 0.25) == (0.75, 1)
    assert purity(1, 0.5, 1)[0] == 0
    assert math.isnan(purity(1, 1, 1)[0])


@pytest.mark.parametrize(
    "shares",
    [
        (1.2, 1, 1),
        (1, -0.1, 1),
        (1, 1, float("nan")),
        (0, 1, 1),
    ],
)
def test_invalid_fractions(shares: tuple[float, float, float], wording: Wording) -> None:
    with pytest.raises(KbError) as error:
        purity(*shares)
    wording(str(error.value))


def test_grid_has_every_combination() -> None:
    found = grid([0.9, 1.0], [0.5], [0.0, 1.0])
    assert found.rows() == [
        (0.9, 0.5, 0.0, 1.0, 0.9),
        (0.9, 0.5, 1.0, 0.0, None),
        (1.0, 0.5, 0.0, 1.0, 1.0),
        (1.0, 0.5, 1.0, 0.0, None),
    ]


def test_overlap_from_a_kb(world: KnowledgeBase) -> None:
    german, french = world.answers('language:"German" -> country'), world.answers('language:"French" -> country')
    share = len(set(german.ids.tolist()) & set(french.ids.tolist())) / len(german)
    assert 0 < share < 1
    assert overlap_of(german, french, 1) == (share, share)
    assert overlap_of(german, french, 0.9) == (share, min(1, share / 0.9))
    assert overlap_of(german, german, 0.5) == (1, 1)
    with pytest.raises(KbError, match="recall of B: 0"):
        overlap_of(german, french, 0)
    with pytest.raises(KbError, match="no answers"):
        overlap_of(german - german, french, 1)


@pytest.mark.core
def test_command(here: Run, world_kb: object) -> None:
    done = here(
        "quest", "purity", "--recall-a", 0.95, "--recall-b", 0.95, "--overlap", 0.8, "--overlap", 0.1, "-f", "csv"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(",")[2:] for line in done.stdout.splitlines()] == [
        ["overlap", "precision", "recall"],
        ["0.8", str(purity(0.95, 0.95, 0.8).precision), "0.95"],
        ["0.1", str(purity(0.95, 0.95, 0.1).precision), "0.95"],
    ]
    sets = ('language:"German" -> country', 'language:"French" -> country')
    asked = here("quest", "purity", world_kb, *sets, "--recall-b", 0.8, "-f", "ndjson")
    row = json.loads(asked.stdout)
    # Belgium, Luxembourg and Switzerland, of the countries that speak German
    german = int(asked.stderr.split()[1].rstrip(","))
    assert row["overlap"] == pytest.approx(3 / german / 0.8)
    assert row["precision"] == pytest.approx(purity(0.95, 0.8, 3 / german / 0.8).precision)


def test_remark_on_an_impossible_overlap(here: Run, world_kb: object) -> None:
    sets = ('language:"German" -> country', 'language:"French" -> country')
    done = here("quest", "purity", world_kb, *sets, "--recall-b", 0.25, "--recall-b", 0.5, "-f", "ndjson")
    assert [json.loads(line)["overlap"] for line in done.stdout.splitlines()] == [1, 1]
    assert done.stderr.splitlines() == [  # half of A is just what can be seen with a recall of 0.5
        "0.5 of A is in B, which is more than a recall of B of 0.25 allows; the overlap is set to 1",
        "A: 6, B: 30, fraction of A in B according to the KB: 0.5",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--overlap", 2),
        ("x.kb", "a"),
        ("x.kb", "a", "b", "--overlap", 1),
    ],
)
def test_command_errors(here: Run, arguments: tuple[object, ...], wording: Wording) -> None:
    done = here("quest", "purity", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli")
