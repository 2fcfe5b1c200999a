"""Functions of an open KB that are computed once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

Opened = TypeVar("Opened")
T = TypeVar("T")


def once(compute: Callable[[Opened], T]) -> Callable[[Opened], T]:
    """Cache the value of a function for each KB or store while it is open: a generation never changes."""
    known: WeakKeyDictionary[Opened, T] = WeakKeyDictionary()

    @functools.wraps(compute)
    def value(opened: Opened) -> T:
        if opened not in known:
            known[opened] = compute(opened)
        return known[opened]

    return value
