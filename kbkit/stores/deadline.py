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
    """Return what ``work`` returns. At the limit (seconds) or on Ctrl-C, call ``stop``, which makes ``work`` end, and
    raise :class:`Expired` or ``KeyboardInterrupt`` when it has.
    """
    result: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            failure.append(error)

    thread = threading.Thread(target=target, daemon=True)
    limit = time.monotonic() + seconds if seconds else None
    thread.start()
    try:
        while thread.is_alive() and (limit is None or time.monotonic() < limit):
            thread.join(_STEP if limit is None else max(0.0, min(_STEP, limit - time.monotonic())))
        if thread.is_alive():
            raise Expired
    except BaseException:
        stop()
        thread.join()
        raise
    if failure:
        raise failure[0]
    return result[0]
