"""Progress of a build: events out, a stop signal in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from kbkit.errors import InterruptedBuildError


@dataclass(frozen=True)
class Event:
    """``done`` of ``total`` units of ``stage`` (``load``, a store's name, ``publish``); both 0 when it starts.

    ``unit`` is what is counted, in the plural, where the stage's name does not tell.
    """

    stage: str
    done: int
    total: int
    unit: str = ""


Listener = Callable[[Event], None]


class Progress:
    """Hands events to a listener, one at a time, from any thread; ``stop`` makes every later event raise."""

    def __init__(self, listener: Listener | None) -> None:
        self.listener = listener
        self._guard = threading.Lock()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Make the threads of the build end at their next event."""
        self._stopped.set()

    def report(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Report; raises :class:`InterruptedBuildError` after :meth:`stop`."""
        if self._stopped.is_set():
            raise InterruptedBuildError("stopped", "the KB is as it was")
        if self.listener:
            with self._guard:
                self.listener(Event(stage, done, total))
