"""What differs between Linux, macOS and Windows: locks, renames, deletions, links, writing to disk, file names.

The one place for it: a test refuses calls elsewhere that one of these systems lacks or runs otherwise.

Windows locks a range of bytes with ``LockFileEx``, others a file with ``flock``; either is the process's, and goes when
it dies. Windows neither renames nor removes what some process has open, so that both are tried again for a while:
scanners and indexers open new files for a moment. macOS returns from ``fsync`` while the data is still in the drive's
cache: :func:`sync` empties that too, which serves all files before it as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shlex
import shutil
import signal
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from kbkit.errors import LockedError

WINDOWS = sys.platform == "win32"
MACOS = sys.platform == "darwin"

_TRIES = 50
_PAUSE = 0.1
_LOCKED_BYTE = 1 << 30
"""Far behind the text of a lock file: Windows lets nobody read a byte that is locked."""
_EXCLUSIVE, _AT_ONCE = 2, 1  # LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY
_HELD = (33, 997)  # ERROR_LOCK_VIOLATION, ERROR_IO_PENDING
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_LONGEST_NAME = 150


# -- locks ------------------------------------------------------------------------------------------------------------


def lock(handle: IO[Any], *, shared: bool) -> bool:
    """Try to lock an open file until it is closed, at the latest when the process ends; False when others hold it.

    On a file system that knows no locks a shared one is given and an exclusive one is not: readers may go on there.
    """
    return _lock_range(handle, shared) if WINDOWS else _flock(handle, shared)


def _flock(handle: IO[Any], shared: bool) -> bool:
    import fcntl

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return shared
    return True


class _Overlapped(ctypes.Structure):
    """``OVERLAPPED`` of the Windows API: here, where the range begins."""

    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", ctypes.c_uint32),
        ("offset_high", ctypes.c_uint32),
        ("event", ctypes.c_void_p),
    )


def _lock_range(handle: IO[Any], shared: bool) -> bool:
    """See https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-lockfileex ."""
    lock_file, last_error = _windows_locks()
    start = _Overlapped(offset=_LOCKED_BYTE)
    if lock_file(handle.fileno(), _AT_ONCE | (0 if shared else _EXCLUSIVE), start):
        return True
    return shared and last_error() not in _HELD


def _windows_locks() -> tuple[Callable[[int, int, _Overlapped], int], Callable[[], int]]:
    """``LockFileEx`` of one byte by descriptor, and what tells why it failed."""
    import msvcrt

    kernel: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined, unused-ignore]
    words = (ctypes.c_void_p, *[ctypes.c_uint32] * 4, ctypes.POINTER(_Overlapped))
    kernel.LockFileEx.argtypes, kernel.LockFileEx.restype = words, ctypes.c_int

    def lock_file(descriptor: int, flags: int, start: _Overlapped) -> int:
        native = msvcrt.get_osfhandle(descriptor)  # type: ignore[attr-defined, unused-ignore]
        return int(kernel.LockFileEx(native, flags, 0, 1, 0, ctypes.byref(start)))

    return lock_file, ctypes.get_last_error  # type: ignore[attr-defined, unused-ignore]


def same_file(handle: IO[Any], path: Path) -> bool:
    """Whether ``path`` still names the open file: one that its holder removed meanwhile locks nobody out."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def exclusive(path: Path, busy: str, hint: str, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock file, which is made and goes again; its folder must be there.

    Raises :class:`LockedError` of ``busy`` while another process holds it, after ``patience`` seconds. The system drops
    the lock of a process that dies.
    """
    limit = time.monotonic() + patience
    while True:
        with _opened_lock(path) as handle:
            if handle is not None and lock(handle, shared=False) and same_file(handle, path):
                try:
                    yield
                finally:
                    drop_lock(handle, path)
                return
        if time.monotonic() >= limit:
            raise LockedError(busy, hint)
        time.sleep(0.05)


@contextlib.contextmanager
def _opened_lock(path: Path) -> Iterator[IO[bytes] | None]:
    """The lock file, open; None where Windows is just removing it."""
    try:
        handle = path.open("ab")
    except PermissionError:
        if not WINDOWS:
            raise
        yield None
        return
    with handle:
        yield handle


def drop_lock(handle: IO[Any], path: Path) -> None:
    """Remove a lock file that this process holds, and let go of it.

    Elsewhere the name goes first, so that nobody locks a file that is about to vanish; Windows keeps what is open, and
    what another process has opened meanwhile stays its lock file.
    """
    with contextlib.suppress(OSError):
        if WINDOWS:
            handle.close()
        path.unlink()
    handle.close()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C does nothing while the block runs, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# -- names in a folder ------------------------------------------------------------------------------------------------


def retry(action: Callable[[], object]) -> None:
    """Rename or remove; on Windows again, for five seconds, while a process has the file open."""
    for left in range(_TRIES - 1, -1, -1):
        try:
            action()
        except PermissionError:
            if not WINDOWS or not left:
                raise
            time.sleep(_PAUSE)
        else:
            return


def rename(old: Path, new: Path) -> None:
    """Give a file or folder a new name, which must be free; both are on one file system."""
    retry(lambda: old.rename(new))


def replace(old: Path, new: Path) -> None:
    """Put a file in place of another, at once: a reader finds the one or the other."""
    retry(lambda: old.replace(new))


def remove(path: Path) -> None:
    """Remove a file, if it exists."""
    retry(lambda: path.unlink(missing_ok=True))


def remove_tree(path: Path) -> None:
    """Remove a folder and all below it, if it exists; links are not followed."""
    if path.exists():
        retry(lambda: shutil.rmtree(path))


def rename_unless_locked(folder: Path, new: Path, lock_name: str, wanted: Callable[[], bool] = lambda: True) -> bool:
    """Rename a folder whose lock file nobody holds, unless ``wanted`` then says no; whether it was done.

    The lock is held meanwhile, so that nobody takes it. Windows renames no folder in which a file is open, its own lock
    file too, and that keeps it from those that others have open.
    """
    with (folder / lock_name).open("r+b") as handle:
        if not lock(handle, shared=False) or not wanted():
            return False
        if WINDOWS:
            handle.close()
        try:
            folder.rename(new)
        except PermissionError:
            if not WINDOWS:
                raise
            return False
    return True


# -- links, modes, disks ----------------------------------------------------------------------------------------------


def link_or_copy(old: str, new: str) -> None:
    """A hard link to a file, or a copy where links fail."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)


def symlink_or_copy(old: Path, new: Path) -> None:
    """A symbolic link to a file, or a copy where that is refused: on Windows links are a privilege."""
    try:
        new.symlink_to(old.resolve())
    except OSError:
        shutil.copy2(old, new)


def make_readable(path: str | os.PathLike[str]) -> None:
    """Let others read a temporary file, which was made private; on Windows a file has the rights of its folder."""
    if not WINDOWS:
        os.chmod(path, 0o644)  # noqa: PTH101


def sync(descriptor: int) -> None:
    """Wait until an open file is on the disk: not in the system's memory, and on macOS not in the drive's either."""
    if MACOS:
        import fcntl

        try:
            fcntl.fcntl(descriptor, getattr(fcntl, "F_FULLFSYNC", 51))
        except OSError:  # a network's file system has no such call
            pass
        else:
            return
    os.fsync(descriptor)


def sync_path(path: Path, flush: Callable[[int], object] = sync) -> None:
    """The same of a file or folder by its name. Windows opens no folders, and writes their names by itself."""
    if WINDOWS and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """The same of a folder and all below it; the drive is asked to empty its cache once, at the end."""
    for path in folder.rglob("*"):
        sync_path(path, os.fsync)
    if WINDOWS:
        return
    sync_path(folder)


# -- names, processes, pipes ------------------------------------------------------------------------------------------


def file_name(name: str) -> str:
    """A file's name, without ending, for any text: another one for each, on every system.

    Letters, digits and ``-._~`` stay, the rest is percent-encoded. A digest follows where that is not enough: after
    capitals (macOS and Windows take ``Big`` and ``big`` for one), after a name that Windows keeps for a device, and
    after what is cut because it is long.
    """
    import hashlib  # here, because every command waits for this module

    encoded = urllib.parse.quote(name, safe="")
    capitals = any("A" <= letter <= "Z" for letter in name)
    if capitals or encoded.split(".")[0].lower() in _RESERVED or len(encoded) > _LONGEST_NAME:
        encoded = f"{encoded[:100]}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return f"_{encoded}" if encoded.split(".")[0].lower() in _RESERVED else encoded


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def plainest_editor() -> str:
    """The editor that the system surely has."""
    return "notepad" if WINDOWS else "vi"


def words(command: str) -> list[str]:
    """The words of a command line, as a shell splits it; raises :class:`ValueError` where a quotation does not end.

    On Windows a backslash parts folders and quotes nothing.
    """
    if not WINDOWS:
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]


def is_closed_pipe(error: OSError) -> bool:
    """Whether a write failed because its reader is gone; Windows calls that an invalid argument."""
    return isinstance(error, BrokenPipeError) or (WINDOWS and error.errno == errno.EINVAL)


def discard_output() -> None:
    """Let standard output go nowhere from now on, when its reader is gone: Python flushes it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
