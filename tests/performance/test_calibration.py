"""The figures of a confidence, on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.performance.calibration import calibration_error, left_out, risk_coverage


def test_calibration_error_weighs_bins_by_their_size() -> None:
    # The bin of .95 has 2 of 4, of which one is right: |1/2 - .95|. The bin of .25: |1/2 - .25|.
    assert calibration_error([0.95, 0.95, 0.25, 0.25], [1, 0, 1, 0]) == pytest.approx(0.5 * 0.45 + 0.5 * 0.25)
    assert calibration_error([1.0, 0.0], [1, 0]) == 0
    assert calibration_error([1.0], [0]) == 1


def test_risk_falls_with_coverage_and_refused_questions_are_not_covered() -> None:
    found = risk_coverage([0.9, 0.8, 0.6, 0.99], [1, 0, 0, 1], [True, True, True, False], (0.5, 0.85, 0.95))
    assert [risk.coverage for risk in found] == [0.75, 0.25, 0]
    assert found[0].error == pytest.approx(2 / 3)
    assert [risk.error for risk in found[1:]] == [0, None]


def test_a_group_does_not_influence_its_own_calibration() -> None:
    drawn = np.random.default_rng(0)
    confidence = drawn.uniform(0.05, 0.95, 900)
    groups = ["a"] * 300 + ["b"] * 300 + ["c"] * 300
    right = drawn.uniform(size=900) < confidence**2  # it promises too much
    found = left_out(groups, confidence, right)
    assert calibration_error(found, right) < 0.6 * calibration_error(confidence, right)
    turned = right.copy()
    turned[:300] = ~turned[:300]
    assert np.array_equal(left_out(groups, confidence, turned)[:300], found[:300])
