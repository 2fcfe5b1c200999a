"""Threads: interruptible calls into an engine, and a parallel map.

A call into an engine returns to Python only when it is done, and libraries with their own signal handlers may keep
Ctrl-C from interrupting a blocking read. Therefore, the engine runs in a thread, and the caller waits in short steps.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from types import FrameType
from typing import TypeVar

from kbkit.directory import systems

S = TypeVar("S")
T = TypeVar("T")

_STEP = 0.1


_CANCEL: ContextVar[tuple[threading.Event, ...]] = ContextVar("cancel", default=())


class Cancelled(Exception):  # noqa: N818 - callers turn it into a KbError
    """The event of :func:`cancellable` was set."""


@contextlib.contextmanager
def cancellable(cancel: threading.Event) -> Iterator[None]:
    """Within ``with``, let calls of :func:`run` in this thread end with :class:`Cancelled` once ``cancel`` is set."""
    token = _CANCEL.set((*_CANCEL.get(), cancel))
    try:
        yield
    finally:
        _CANCEL.reset(token)


class Expired(Exception):  # noqa: N818 - callers turn it into a KbError
    """The time limit was exceeded."""


def run(work: Callable[[], T], stop: Callable[[], None] | None, seconds: float | None = None) -> T:
    """Return ``work()``. After ``seconds``, on Ctrl-C, or when cancelled, call ``stop`` until ``work`` ends, then raise
    :class:`Expired`, ``KeyboardInterrupt`` or :class:`Cancelled`.

    Without ``stop``, the thread is left behind: a request to a server cannot be stopped while its name is resolved.
    """
    result: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()  # Thread.join may return early after Ctrl-C (Python 3.11)
    cancelled = threading.Event()

    def target() -> None:
        try:
            if not cancelled.is_set():
                result.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below
            failure.append(error)
        finally:
            done.set()

    limit, wanted = time.monotonic() + seconds if seconds else None, _CANCEL.get()
    thread = threading.Thread(target=target, daemon=True)
    try:
        thread.start()
        while not done.wait(_STEP if limit is None else max(0.0, min(_STEP, limit - time.monotonic()))):
            if limit is not None and time.monotonic() >= limit:
                raise Expired
            if any(event.is_set() for event in wanted):
                raise Cancelled
    except BaseException:
        cancelled.set()  # Ctrl-C may arrive while the thread starts
        if stop is not None and thread.ident is not None:
            stop()
            while not done.wait(_STEP):  # repeat: an engine ignores interrupts that arrive before it starts
                stop()
        raise
    if failure:
        raise failure[0]
    return result[0]


@contextlib.contextmanager
def stopped_by_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Within ``with``, call ``stop`` on Ctrl-C before ``KeyboardInterrupt`` is raised.

    DuckDB ends a query in the main thread on Ctrl-C, but first waits for the parts of it that run in other threads,
    which only an interrupt stops. Does nothing in other threads and beside another program's handler of Ctrl-C.
    """
    default = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not default:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        stop()
        default(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, default)


def parallel(work: Callable[[S], T], items: Sequence[S], threads: int | None = None) -> Iterator[T]:
    """Yield ``work(item)`` for each item, in order, computed by ``threads`` threads (default: one per core)."""
    threads = min(len(items), threads or systems.cores())
    if threads < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, items)
