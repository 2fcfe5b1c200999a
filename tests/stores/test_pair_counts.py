"""Counts of distinct pairs of a join, against sets."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.stores import pair_counts

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25)


def arrays(pairs: list[tuple[int, int]]) -> pair_counts.Pairs:
    table = np.array(pairs, np.int32).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@pytest.mark.parametrize("piece", [1, 7, 1_000])
@given(left=PAIRS, right=PAIRS)
def test_counts_are_those_of_sets(piece: int, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_counts, "_PIECE", piece)
        values, counts = pair_counts.count_pairs(arrays(left), arrays(right), threading.Event())
    met = {(a, c) for a, b in left for other, c in right if b == other}
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {
        value: sum(a == value for a, _ in met) for value in {a for a, _ in met}
    }


def test_a_stopped_count_ends() -> None:
    stopped = threading.Event()
    stopped.set()
    assert len(pair_counts.count_pairs(arrays([(0, 1)]), arrays([(1, 2)]), stopped)[0]) == 0


def test_ids_that_fit() -> None:
    assert pair_counts.fits(np.array([], np.int64))
    assert not pair_counts.fits(np.array([-1, 3]))
    assert not pair_counts.fits(np.array([2**40]))
