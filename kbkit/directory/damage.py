"""Damaged files: what is noticed before an engine opens them, and one error for what an engine says of the others.

Engines trust their files: cut ones end in a panic, a fault of the memory map or an exception of any kind. Sizes are
compared with the manifest first, which takes microseconds; :func:`check_files` of the generations compares checksums.
A KB consists of files and folders only, because a link in a stranger's KB would read or write elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

from kbkit.directory.manifest import FileRecord
from kbkit.errors import Command, DamagedError, KbError, NotAKbError, Part, ShortageError, is_panic, shortage

STORE_OF_RECORD = "tables"
"""The store that the others are built from."""
_MAX_REASON = 200
_PANICKING = ("text", "vectors")
_MAX_HASHED = 1_000_000
"""Bytes of a store that are hashed when it opens, which takes about a millisecond."""
_OUR_BUGS = (TypeError, AttributeError, NameError, AssertionError, NotImplementedError)
"""Exceptions that no damaged file explains."""


def damaged(path: Path, reason: str = "", store: str = "") -> DamagedError | ShortageError:
    """Return the error for a damaged file or folder, or for a shortage that keeps an engine from reading it.

    ``store`` is the store to rebuild.
    """
    if short := shortage(reason):  # a damaged file may also ask for more memory than there is
        hint = (*short.hints, ". If that does not help, run ", Command("check KB"))
        return ShortageError(f"Cannot read {path}: {short.message.lower()}", *hint)
    remedy: tuple[Part, ...] = (" for details",)
    if store == STORE_OF_RECORD:
        remedy = (" for details. Then restore the KB from a copy, or ingest the source again",)
    elif store:
        remedy = (" for details, and ", Command(f"build KB {store}"), " to rebuild it from the tables")
    reason = " ".join(reason.split())[:_MAX_REASON]
    return DamagedError(f"{path} is damaged{': ' * bool(reason)}{reason}", "Run ", Command("check KB"), *remedy)


class reading:  # noqa: N801 - a context manager, called for each query
    """Turn what an engine raises for damaged files into :class:`DamagedError`; panics of Rust are no ``Exception``."""

    __slots__ = ("_path", "_store")

    def __init__(self, store: str, path: Path) -> None:
        self._store, self._path = store, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or isinstance(error, (KbError, *_OUR_BUGS)):
            return
        if isinstance(error, Exception) or is_panic(error):
            reason = type(error).__name__ if isinstance(error, MemoryError) else describe(error)
            raise damaged(self._path, reason, self._store) from error


def describe(error: BaseException) -> str:
    """Return what an engine said, without the path that the message around it names."""
    if isinstance(error, OSError) and error.strerror:
        name = f"{Path(str(error.filename)).name}: " if error.filename else ""
        return f"{name}{error.strerror}"
    return str(error) or type(error).__name__


# -- before an engine opens files -------------------------------------------------------------------------------------


def check_plain(*paths: Path) -> None:
    """Raise :class:`NotAKbError` for a path that is neither a file nor a folder; missing ones are left to the caller.

    Links lead elsewhere, and the opening of a pipe waits for its other end.
    """
    for path in paths:
        try:
            mode = os.lstat(path).st_mode
        except (OSError, ValueError):
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            what = "a link" if stat.S_ISLNK(mode) else "no regular file"
            hint = "Replace it by what it stands for"
            raise NotAKbError(f"{path} is {what}, and a KB consists of files and folders", hint)


def check_sizes(folder: Path, name: str, files: Mapping[str, FileRecord]) -> None:
    """Raise an error if the files of a store are not those that the manifest of a generation lists, by their sizes.

    ``name`` is the store's file or folder. Files that the manifest does not list, such as locks, may have any size. Of
    the stores whose engines panic, the smallest files, which describe the others, are compared by their checksums too.
    """
    expected = {path: record["bytes"] for path, record in files.items() if path == name or path.startswith(f"{name}/")}
    store = name.partition(".")[0]
    for path, size in _sizes(folder, name):
        if expected.pop(path, size) != size:
            raise damaged(folder / path, f"it has {size:,} bytes instead of {files[path]['bytes']:,}", store)
    if expected:
        raise damaged(folder / name, f"{next(iter(expected)).removeprefix(f'{name}/')} is missing", store)
    left = _MAX_HASHED if store in _PANICKING else 0
    for path in sorted((path for path in files if path.startswith(f"{name}/")), key=lambda path: files[path]["bytes"]):
        left -= files[path]["bytes"]
        if left < 0:
            break
        if hashlib.sha256((folder / path).read_bytes()).hexdigest() != files[path]["sha256"]:
            raise damaged(folder / path, "it differs from its checksum", store)


def check_tree(folder: Path) -> None:
    """Raise :class:`NotAKbError` if a generation has a link or another file that is not a regular one."""
    for path in sorted(folder.iterdir()):
        for _ in _sizes(folder, path.name):
            pass


def _sizes(folder: Path, name: str) -> Iterator[tuple[str, int]]:
    """Yield path and size of a file, or of all files in a folder; raise an error for links."""
    path = folder / name
    check_plain(path)
    if not path.is_dir():
        if path.exists():
            yield name, path.stat().st_size
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sizes(folder, f"{name}/{entry.name}")
            elif entry.is_file(follow_symlinks=False):
                yield f"{name}/{entry.name}", entry.stat(follow_symlinks=False).st_size
            else:
                check_plain(path / entry.name)
