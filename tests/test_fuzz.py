"""A sample of the generated attacks of ``tests.fuzz``, of which ``python -m tests.fuzz`` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.__main__ import AREAS, attack


@pytest.mark.parametrize(("area", "seed"), [(area, seed) for area, count in AREAS.items() for seed in range(count)])
def test_no_promise_is_broken(area: str, seed: int, world_kb: Path, tiny_kb: Path, tmp_path: Path) -> None:
    broken = attack(area, seed, world_kb, tiny_kb, tmp_path / "case")
    assert not broken, "\n".join(f"{one.input}\n  {one.found}" for one in broken)
