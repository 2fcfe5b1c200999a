"""Differences between Linux, macOS and Windows: locks, renames, deletions, links, syncing, file names.

A test rejects such calls in other modules.

Windows locks a range of bytes with ``LockFileEx``, the others a file with ``flock``; the lock ends with its process.
Windows cannot rename or delete an open file, so both are retried for a while, because virus scanners and indexers open
new files for a moment. ``fsync`` on macOS leaves data in the cache of the drive, which :func:`sync` flushes too, with
the data of all files synced before.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
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
"""Position far beyond the text of a lock file, because locked bytes cannot be read on Windows."""
_EXCLUSIVE, _AT_ONCE = 2, 1  # LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY
_HELD = (33, 997)  # ERROR_LOCK_VIOLATION, ERROR_IO_PENDING
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_MAX_NAME_LENGTH = 150


# -- locks ------------------------------------------------------------------------------------------------------------


def lock(handle: IO[Any], *, shared: bool) -> bool:
    """Try to lock an open file until it is closed; return False if another process holds the lock.

    On a file system without locks, shared locks succeed and exclusive ones fail, so that KBs can be read there.
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
    """``OVERLAPPED`` of the Windows API; here, the start of a range."""

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
    """Return ``LockFileEx`` for one byte of a descriptor, and the function that returns its error."""
    import msvcrt

    kernel: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined, unused-ignore]
    words = (ctypes.c_void_p, *[ctypes.c_uint32] * 4, ctypes.POINTER(_Overlapped))
    kernel.LockFileEx.argtypes, kernel.LockFileEx.restype = words, ctypes.c_int

    def lock_file(descriptor: int, flags: int, start: _Overlapped) -> int:
        native = msvcrt.get_osfhandle(descriptor)  # type: ignore[attr-defined, unused-ignore]
        return int(kernel.LockFileEx(native, flags, 0, 1, 0, ctypes.byref(start)))

    return lock_file, ctypes.get_last_error  # type: ignore[attr-defined, unused-ignore]


def same_file(handle: IO[Any], path: Path) -> bool:
    """Return whether ``path`` still names the open file, since the lock on a deleted file is void."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def exclusive(path: Path, busy: str, hint: str, timeout: float = 0.0) -> Iterator[None]:
    """Create and hold a lock file, in an existing folder, and delete it after the block.

    Raises :class:`LockedError` with message ``busy`` if another process still holds it after ``timeout`` seconds. The
    lock ends with its process.
    """
    limit = time.monotonic() + timeout
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
    """Yield the open lock file, or None while Windows is deleting it."""
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
    """Delete a lock file that this process holds, and release the lock.

    The file is deleted first, so that no other process locks a file about to be deleted; Windows must close it first,
    and keeps a file that another process has opened meanwhile as that process's lock file.
    """
    with contextlib.suppress(OSError):
        if WINDOWS:
            handle.close()
        path.unlink()
    handle.close()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C during the block, in the main thread."""
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
    """Run ``action``, which renames or deletes; on Windows, retry for five seconds while the file is open."""
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
    """Rename a file or folder to a path that does not exist, on the same file system."""
    retry(lambda: old.rename(new))


def replace(old: Path, new: Path) -> None:
    """Replace a file by another atomically."""
    retry(lambda: old.replace(new))


_EXCHANGE, _HERE = 2, -100  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS, AT_FDCWD


def exchange(one: Path, other: Path) -> bool:
    """Exchange two files or folders of one file system in one step; return False if the system cannot."""
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if MACOS:
            return bool(library.renamex_np(first, second, _EXCHANGE) == 0)
        return bool(library.renameat2(_HERE, first, _HERE, second, _EXCHANGE) == 0)
    except (AttributeError, OSError, TypeError):  # an old system, or Windows
        return False


def swap(new: Path, old: Path) -> None:
    """Put the folder ``new`` in the place of the folder ``old``, which is deleted; at no moment is there neither.

    Where the system cannot exchange folders, a process killed between two renames leaves the old one as ``NEW.former``.
    """
    if exchange(new, old):
        remove_tree(new)
        return
    former = new.with_name(new.name + ".former")
    rename(old, former)
    try:
        rename(new, old)
    except BaseException:
        rename(former, old)
        raise
    remove_tree(former)


def is_running(process: int) -> bool:
    """Return whether a process may be running; always on Windows, where asking is not possible without ending it."""
    if WINDOWS:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def process_namespace() -> str:
    """Return the namespace in which the numbers of processes are valid, such as a container's; '' if there is one."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def thread_names() -> list[str] | None:
    """Return the names of this process's threads, native ones too; None if the system does not list them.

    A thread names itself when it first runs: those that have not are waited for, for a moment.
    """
    threads = Path("/proc/self/task")
    if not threads.is_dir():
        return None
    for _ in range(_TRIES):
        if all(_proc(thread / "schedstat") != "0" for thread in threads.iterdir()):
            break
        time.sleep(0.001)
    return [_proc(thread / "comm") for thread in threads.iterdir()]


def _proc(file: Path) -> str:
    """Return the first word of a file of a thread; '' if the thread has ended."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").partition(" ")[0].strip()
    except OSError:
        return ""


def never_destroy(*objects: object) -> None:
    """Keep objects for ever, until the process ends and even then without calling their destructors."""
    for one in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def remove(path: Path) -> None:
    """Delete a file if it exists."""
    retry(lambda: path.unlink(missing_ok=True))


def remove_tree(path: Path) -> None:
    """Delete a folder and its contents, or a file of that name, if it exists, without following links."""
    if path.is_dir() and not path.is_symlink():
        retry(lambda: shutil.rmtree(path))
    else:
        remove(path)


def rename_unless_locked(folder: Path, new: Path, lock_name: str, wanted: Callable[[], bool] = lambda: True) -> bool:
    """Rename a folder if its lock file is free and ``wanted`` then returns True; return whether it was renamed.

    The lock is held meanwhile, except on Windows, which cannot rename a folder with an open file; this also protects
    the folders that other processes have open.
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
    """Create a hard link to a file, or a copy if that fails."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)


def symlink_or_copy(old: Path, new: Path) -> None:
    """Create a symbolic link to a file, or a copy if that fails, as on Windows without the privilege."""
    try:
        new.symlink_to(old.resolve())
    except OSError:
        shutil.copy2(old, new)


def sync(descriptor: int) -> None:
    """Wait until an open file is on disk, on macOS including the cache of the drive."""
    if MACOS:
        import fcntl

        try:
            fcntl.fcntl(descriptor, getattr(fcntl, "F_FULLFSYNC", 51))
        except OSError:  # not supported by network file systems
            pass
        else:
            return
    os.fsync(descriptor)


def sync_path(path: Path, flush: Callable[[int], object] = sync) -> None:
    """Sync a file or folder by path; Windows cannot open folders, and syncs them by itself."""
    if WINDOWS and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Sync a folder and its contents; the cache of the drive is flushed once, at the end."""
    for path in folder.rglob("*"):
        sync_path(path, os.fsync)
    if WINDOWS:
        return
    sync_path(folder)


# -- names, processes, pipes ------------------------------------------------------------------------------------------


def file_name(name: str) -> str:
    """Return a valid file name without ending for any text, distinct on every system.

    Letters, digits and ``-._~`` remain, other characters are percent-encoded. A digest is appended if the text has
    capitals (on macOS and Windows ``Big`` and ``big`` are the same file), is a device name of Windows, or is truncated.
    """
    import hashlib  # every command imports this module

    encoded = urllib.parse.quote(name, safe="")
    capitals = any("A" <= letter <= "Z" for letter in name)
    if capitals or encoded.split(".")[0].lower() in _RESERVED or len(encoded) > _MAX_NAME_LENGTH:
        encoded = f"{encoded[:100]}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return f"_{encoded}" if encoded.split(".")[0].lower() in _RESERVED else encoded


def settings_folder() -> Path:
    """Return the folder of the user's settings: ``KBKIT_SETTINGS``, or ``kbkit`` where the system keeps settings."""
    if chosen := os.environ.get("KBKIT_SETTINGS", ""):
        return Path(chosen)
    if WINDOWS:
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "kbkit"
    if MACOS:
        return Path.home() / "Library" / "Application Support" / "kbkit"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "kbkit"


def is_private(status: os.stat_result) -> bool:
    """Return whether a file belongs to the user and only the user can read and write it, by its status.

    Windows tells by access lists, which the settings folder inherits from the user's own.
    """
    return WINDOWS or (status.st_uid == os.getuid() and not status.st_mode & 0o077)


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_of(resource_name: str) -> int | None:
    """Return the soft limit of a resource of this process (``AS``, ``NOFILE``); None if there is none."""
    if WINDOWS:
        return None
    import resource

    soft, _ = resource.getrlimit(getattr(resource, f"RLIMIT_{resource_name}"))
    return None if soft == resource.RLIM_INFINITY else soft


def has_screen() -> bool:
    """Return whether programs can open windows; a browser for terminals would take over the terminal."""
    return WINDOWS or MACOS or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def is_closed_pipe(error: OSError) -> bool:
    """Return whether a write failed because the reader is gone, an invalid argument on Windows."""
    return isinstance(error, BrokenPipeError) or (WINDOWS and error.errno == errno.EINVAL)


def open_closed_streams() -> None:
    """Give a process its three standard streams if it was started without some (``>&-``).

    Otherwise, the next file to be opened, such as that of a database, would get their numbers, and what any library
    prints. Standard input is then empty, standard output fails, and standard error is discarded.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)  # the lowest number that is free
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def discard_output() -> None:
    """Redirect standard output to the null device, because Python flushes it on exit even if the reader is gone."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
