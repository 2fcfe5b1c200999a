"""The limits of the process (``ulimit``) that the engines need: several of them end the process if one is reached."""

from __future__ import annotations

import _thread
import functools
import threading

from kbkit.directory import systems
from kbkit.errors import ShortageError

_ADDRESS_SPACE = 4_000_000_000
"""Bytes that the engines reserve for small KBs, most of them never used."""
_OPEN_FILES = 128
"""Files that the engines open for small KBs."""
THREADS = min(256, 32 + 8 * systems.cores())
"""Threads that a build of all stores has at once, about: 31 on one core and 7 for each further one."""


def check_limits() -> None:
    """Raise :class:`ShortageError` if a limit of this process (``ulimit``) is too low for the engines.

    Several of them do not report a lack of memory or files, but end the process.
    """
    space, files = systems.limit_of("AS"), systems.limit_of("NOFILE")
    if space is not None and space < _ADDRESS_SPACE:
        shown = f"{space / 1e9:.1f} of at least {_ADDRESS_SPACE / 1e9:.0f} GB"
        raise ShortageError(f"The limit of the address space is too low: {shown}", "Raise it: ulimit -v unlimited")
    if files is not None and files < _OPEN_FILES:
        shown = f"{files} of at least {_OPEN_FILES}"
        raise ShortageError(f"The limit of open files is too low: {shown}", "Raise it: ulimit -n 4096")
    _check_threads_once()


@functools.cache
def _check_threads_once() -> None:
    check_threads()


def check_threads() -> None:
    """Start and end as many threads as a build has at once. Raises :class:`ShortageError`.

    A limit cannot be asked for, because other programs of the user and of the container count too. Without enough
    threads, engines in Rust panic, engines in C++ end or interrupt the process, and some wait forever.
    """
    held, ended = threading.Lock(), threading.Semaphore(0)

    def wait() -> None:
        with held:
            ended.release()

    started = 0
    try:
        with held:
            while started < THREADS:
                _thread.start_new_thread(wait, ())  # a tenth of the time of threading.Thread
                started += 1
    except RuntimeError:
        hint = "Close other programs, or raise the limit: ulimit -u 4096"
        raise ShortageError(f"Cannot start {THREADS} threads", hint) from None
    finally:
        for _ in range(started):
            ended.acquire()
