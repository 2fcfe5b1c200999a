"""Run a function on many items in threads, ended by the first error or Ctrl-C."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from kbkit.errors import KbError

S = TypeVar("S")
T = TypeVar("T")

_GRACE = 2.0
"""Seconds that calls in progress have to finish after Ctrl-C; a second Ctrl-C stops waiting."""
_END = -1
_Result = tuple[int, Any, BaseException | None]


def each(work: Callable[[S], T], items: Sequence[S], workers: int, done: Callable[[], None] | None = None) -> list[T]:
    """Return the results of ``work`` on all items in order; ``done`` is called in this thread after each.

    After an error no further item is started, items in progress are finished, and the error of the first failed item is
    raised. The threads are daemons, so that a hanging one cannot block the end of the program.
    """
    workers = min(workers, len(items))
    if workers > 1:
        return _threaded(work, items, workers, done)
    results = []
    for item in items:
        results.append(work(item))
        if done is not None:
            done()
    return results


def _threaded(work: Callable[[S], T], items: Sequence[S], workers: int, done: Callable[[], None] | None) -> list[T]:
    waiting = iter(range(len(items)))
    guard, stopped = threading.Lock(), threading.Event()
    results: queue.SimpleQueue[_Result] = queue.SimpleQueue()

    def run() -> None:
        while True:
            with guard:
                position = _END if stopped.is_set() else next(waiting, _END)
            if position == _END:
                break
            try:
                results.put((position, work(items[position]), None))
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                stopped.set()
                results.put((position, None, error))
        results.put((_END, None, None))

    # Each thread works in a copy of this thread's context, so that calls are metered where they are caused.
    targets = [contextvars.copy_context().run for _ in range(workers)]
    threads = [threading.Thread(target=target, args=(run,), daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    try:
        values, errors = _collect(results, workers, done)
    except BaseException:
        stopped.set()
        with contextlib.suppress(KeyboardInterrupt):
            _join(threads)
        raise
    if errors:
        raise errors[0]
    return [values[position] for position in range(len(items))]


def _collect(
    results: queue.SimpleQueue[_Result], workers: int, done: Callable[[], None] | None
) -> tuple[dict[int, Any], list[BaseException]]:
    """Collect results until all threads have ended; errors are sorted: unexpected ones first, then by item."""
    values: dict[int, Any] = {}
    errors: list[tuple[bool, int, BaseException]] = []
    while workers:
        try:
            position, value, error = results.get(timeout=0.5)  # Windows ignores Ctrl-C in a wait without timeout
        except queue.Empty:
            continue
        if error is not None:
            errors.append((isinstance(error, KbError), position, error))
        elif position == _END:
            workers -= 1
        else:
            values[position] = value
            if done is not None:
                done()
    return values, [error for *_, error in sorted(errors, key=lambda failure: failure[:2])]


def _join(threads: Iterable[threading.Thread]) -> None:
    limit = time.monotonic() + _GRACE
    for thread in threads:
        thread.join(max(0.0, limit - time.monotonic()))
