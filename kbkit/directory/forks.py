"""Forked child processes: what they must leave alone, and what they do instead.

A fork copies memory but no threads. A lock that a thread held stays locked, and an engine that waits for its threads
waits for ever. A child therefore neither uses nor closes the engines of its parent, and opens its own.

Polars cannot be opened again: its threads belong to the process. In a child of a process in which they had started,
most operations on frames would hang, so that :func:`check` refuses.
"""

from __future__ import annotations

import os
import re
import sys
import weakref
from typing import Protocol

from kbkit.directory import systems
from kbkit.errors import ForkedError


class Renewable(Protocol):
    """An object with engines."""

    def renew_after_fork(self) -> None:
        """Forget the parent's engines."""


_renewable: weakref.WeakSet[Renewable] = weakref.WeakSet()
_without_threads = [False]
"""Whether this is a child without the threads of polars that its parent had started."""


def register(renewable: Renewable) -> None:
    """Call ``renew_after_fork`` in forked children as long as the object exists."""
    _renewable.add(renewable)


def check() -> None:
    """Raise :class:`ForkedError` in a child in which operations on frames would hang."""
    if _without_threads[0]:
        raise ForkedError(
            "A forked process cannot use frames after its parent did, because the threads of polars do not survive"
            " the fork",
            'Start processes with multiprocessing.get_context("spawn") or "forkserver", or fork before using the KB',
        )


def _threads_of_polars() -> bool:
    """Return whether polars has started threads; on a system that does not list them, whether it was imported."""
    if "polars" not in sys.modules:
        return False
    pool = os.environ.get("POLARS_THREAD_NAME", "polars")
    ours = re.compile(rf"{re.escape(pool[:13])}-\d+|async-executor-\d*|tokio-rt-worker")
    threads = systems.thread_names()
    return threads is None or any(map(ours.fullmatch, threads))


_before = [False]


def _look() -> None:
    _before[0] = _threads_of_polars()


def _renew() -> None:
    _without_threads[0] = _without_threads[0] or _before[0]
    for renewable in list(_renewable):
        renewable.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look, after_in_child=_renew)
