"""Turns of requests: a few run at once, and the clients take turns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import anyio


class QueueFullError(Exception):
    """Too many requests wait."""


@dataclass(eq=False)
class _Waiter:
    client: str
    granted: anyio.Event = field(default_factory=anyio.Event)


class Turns:
    """Up to ``at_once`` requests hold a turn, of one client at most all but one, so that others never wait for it.

    A free turn goes to the waiting client that holds the fewest, then to the one that waits longest. Up to ``waiting``
    requests wait, of one client at most half of them. All methods belong to one event loop.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free, self._of_one = at_once, max(1, at_once - 1)
        self._most = waiting
        self._held: Counter[str] = Counter()
        self._waiting: list[_Waiter] = []

    async def acquire(self, client: str) -> None:
        """Wait for a turn. Raises :class:`QueueFullError`."""
        if self._free and self._held[client] < self._of_one:
            self._take(client)
            return
        of_client = sum(waiter.client == client for waiter in self._waiting)
        if len(self._waiting) >= self._most or of_client >= self._most // 2:
            raise QueueFullError
        waiter = _Waiter(client)
        self._waiting.append(waiter)
        try:
            await waiter.granted.wait()
        except BaseException:
            if waiter.granted.is_set():  # in the moment in which the request was cancelled
                self.release(client)
            else:
                self._waiting.remove(waiter)
            raise

    def release(self, client: str) -> None:
        """Give a turn back."""
        self._free += 1
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        possible = [waiter for waiter in self._waiting if self._held[waiter.client] < self._of_one]
        if possible:
            waiter = min(possible, key=lambda one: self._held[one.client])
            self._waiting.remove(waiter)
            self._take(waiter.client)
            waiter.granted.set()

    def _take(self, client: str) -> None:
        self._free -= 1
        self._held[client] += 1
