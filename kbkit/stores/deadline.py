"""Runs an engine's work so that a time limit and Ctrl-C can end it.

A call into an engine does not return to Python until it is done, and libraries that set their own signal handling may
keep Ctrl-C from ending a blocking read. So the work runs in a thread, and the caller waits in short steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_STEP = 0.1


class Expired(Exception):  # noqa: N818 - not an error a user sees
    """The time limit passed."""


def run(work: Callable[[], T], stop: Callable[[], None], seconds: float | None = None) -> T:
    """Return what ``work`` returns. At the limit (seconds) or on Ctrl-C, call ``stop`` until ``work`` has ended, and
    raise :class:`Expired` or ``KeyboardInterrupt`` then.
    """
    result: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()  # Thread.join may return early once Ctrl-C has interrupted it (Python 3.11)
    given_up = threading.Event()

    def target() -> None:
        try:
            if not given_up.is_set():
                result.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            failure.append(error)
        finally:
            done.set()

    limit = time.monotonic() + seconds if seconds else None
    thread = threading.Thread(target=target, daemon=True)
    try:
        thread.start()
        while not done.wait(_STEP if limit is None else max(0.0, min(_STEP, limit - time.monotonic()))):
            if limit is not None and time.monotonic() >= limit:
                raise Expired
    except BaseException:
        given_up.set()  # Ctrl-C may come while the thread starts
        if thread.ident is not None:
            stop()
            while not done.wait(_STEP):  # again: an engine forgets what comes before it has begun
                stop()
        raise
    if failure:
        raise failure[0]
    return result[0]
