"""Makes what tests only read once per run, though every worker asks for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import CodeType

import pytest
from filelock import FileLock

Once = Callable[[str, Callable[[Path], object]], Path]


class _Shared:
    """A folder that all workers of a run see."""

    def __init__(self, root: Path) -> None:
        self._root, self._makers = root, dict[str, CodeType]()

    def __call__(self, name: str, make: Callable[[Path], object]) -> Path:
        """Return the path ``folder/name`` below the shared folder, after the first who asked has called ``make(path)``.

        Whoever writes there takes a copy first.
        """
        assert self._makers.setdefault(name, make.__code__) is make.__code__, f"two fixtures make {name}"
        path, state = self._root / name, self._root / "once" / name.replace("/", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        state.parent.mkdir(exist_ok=True)
        with FileLock(f"{state}.lock"):
            if not state.exists():
                make(path)
                state.touch()
        return path


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Make a folder or a file that tests only read: ``once("kb/tiny.kb", make)`` calls ``make(path)`` once per run."""
    base = tmp_path_factory.getbasetemp()
    return _Shared(base.parent if base.name.startswith("popen-") else base)
