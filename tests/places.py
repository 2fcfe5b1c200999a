"""Where the tests are, and where they keep temporary files and bytecode, which decides how long the suite takes."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
"""The checkout."""

_MEMORY = Path("/dev/shm")
_NEEDED = 6 * 2**30
"""Bytes free in memory below which the disk is used; a run takes up to two billion."""
_NAME = "kbkit-tests-"


def use_memory() -> Path | None:
    """Put temporary files into memory where Linux has enough, and return their folder, which the caller deletes.

    A build waits for the disk three times as long as it computes. ``TMPDIR`` chooses another place.
    """
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    for left in _MEMORY.glob(f"{_NAME}*"):  # by a run that was killed
        if not Path("/proc", left.name.removeprefix(_NAME)).exists():
            shutil.rmtree(left, ignore_errors=True)
    state = os.statvfs(_MEMORY)
    if state.f_flag & os.ST_NOEXEC or min(state.f_bavail * state.f_frsize, _available()) < _NEEDED:
        return None
    folder = _MEMORY / f"{_NAME}{os.getpid()}"
    folder.mkdir(mode=0o700)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # Python asks for it once
    return folder


def _available() -> int:
    """Return the bytes of memory that programs can have."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def keep_bytecode() -> None:
    """Let ``PYTHONDONTWRITEBYTECODE`` keep the source folders clean, but compile kbkit and the tests once only.

    Each of the processes that tests start would compile what it imports, a fifth of its time.
    """
    if sys.dont_write_bytecode and not sys.pycache_prefix:
        folder = ROOT / ".pytest_cache" / "bytecode"
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(folder)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
        del os.environ["PYTHONDONTWRITEBYTECODE"]
