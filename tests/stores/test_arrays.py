"""Sets of node ids as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from kbkit.stores import arrays


@pytest.mark.parametrize("few", [0, 10**9], ids=["SciPy", "NumPy"])
def test_common_members(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_FEW_COMPARISONS", few)
    sets = [np.array(ids, np.int64) for ids in ([7, 9, 12], [], [9, 12, 50], [51], [7])]
    found = {(a, b): n for a, b, n in zip(*(part.tolist() for part in arrays.common_members(sets)), strict=True)}
    assert found == {
        (0, 0): 3, (2, 2): 3, (3, 3): 1, (4, 4): 1,
        (0, 2): 2, (2, 0): 2, (0, 4): 1, (4, 0): 1,
    }  # fmt: skip
    assert [len(part) for part in arrays.common_members([])] == [0, 0, 0]
