"""Temporary files and folders, whose names tell a later process whether the one that made them has ended.

A killed process leaves its files behind. Names have the machine and the process, so that what a dead process left is
found and deleted, and nothing that is in use.
"""

from __future__ import annotations

import functools
import os
import re
import socket
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from kbkit.directory import systems

_FOLDER = "kbkit-"
"""Start of the names of temporary folders."""


def unique_name(prefix: str, suffix: str = "") -> str:
    """Return a new name of this process: ``prefix``, machine, process, random digits, ``suffix``."""
    return f"{prefix}{_machine()}-{os.getpid()}-{os.urandom(6).hex()}{suffix}"


def abandoned(folder: Path, prefix: str, suffix: str = "") -> Iterator[Path]:
    """Yield the files and folders with a :func:`unique_name` in ``folder`` whose process has ended."""
    ours = re.compile(rf"{re.escape(prefix)}{_machine()}-(\d+)-[0-9a-f]{{12}}{re.escape(suffix)}")
    try:
        paths = sorted(folder.iterdir())
    except OSError:  # no folder, or one of other users
        return
    for path in paths:
        found = ours.fullmatch(path.name)
        if found and not systems.is_running(int(found[1])):
            yield path


@functools.cache
def _machine() -> str:
    """Return digits for the machine, or for the container, in which the numbers of processes are valid."""
    return f"{zlib.crc32(f'{socket.gethostname()} {systems.process_namespace()}'.encode()):08x}"


# -- folders ----------------------------------------------------------------------------------------------------------


def root() -> Path:
    """Return the system's folder for temporary files, without writing to it as :mod:`tempfile` does."""
    places = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    places += [os.path.expandvars(r"%SYSTEMROOT%\Temp")] if systems.WINDOWS else ["/tmp", "/var/tmp"]  # noqa: S108
    return Path(next((place for place in places if place and os.access(place, os.W_OK)), os.curdir)).absolute()


def unused_folder() -> Path:
    """Return the path of a temporary folder that does not exist yet."""
    return root() / unique_name(_FOLDER)


def remove_abandoned() -> None:
    """Delete the temporary folders that killed processes left."""
    for path in abandoned(root(), _FOLDER):
        systems.remove_tree(path)


class TemporaryFolder:
    """A temporary folder, deleted by ``close``, or when the process that made it ends."""

    def __init__(self) -> None:
        self.path = unused_folder()
        self.path.mkdir(mode=0o700)
        self.close = weakref.finalize(self, _remove_own, self.path, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _remove_own(path: Path, process: int) -> None:
    """Delete a folder, unless this is a forked child, to which it does not belong."""
    if os.getpid() == process:
        systems.remove_tree(path)
