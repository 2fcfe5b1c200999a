"""Runs pieces of work side by side; the engines work outside Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kbkit import systems

S = TypeVar("S")
T = TypeVar("T")


def each(work: Callable[[S], T], items: Sequence[S], threads: int | None = None) -> list[T]:
    """What ``work`` gives for each item, in order."""
    threads = min(len(items), threads or systems.cores())
    if threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
