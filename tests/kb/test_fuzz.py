"""A sample of the generated attacks of ``tests.fuzz``, of which ``python -m tests.fuzz`` runs more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.fuzz.__main__ import AREAS, attack

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def kbs(world_kb: Path, tiny_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Copies of the sample KBs: an attack may save sets in them, which other tests would see."""
    folder = tmp_path_factory.mktemp("attacked")
    return [shutil.copytree(kb, folder / kb.name) for kb in (world_kb, tiny_kb)]


@pytest.mark.parametrize(("area", "seed"), [(area, seed) for area, count in AREAS.items() for seed in range(count)])
def test_no_promise_is_broken(area: str, seed: int, kbs: list[Path], tmp_path: Path) -> None:
    broken = attack(area, seed, *kbs, tmp_path / "case")
    assert not broken, "\n".join(f"{one.input}\n  {one.found}" for one in broken)
