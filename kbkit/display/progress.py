"""Progress of a build: events for a listener, and a stop signal for the build."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from kbkit.errors import InterruptedBuildError


@dataclass(frozen=True)
class Event:
    """``done`` of ``total`` units of ``stage`` (``load``, a store's name, ``publish``); both are 0 when the stage
    starts.

    ``unit`` is the plural name of the units, if the stage's name does not imply it.
    """

    stage: str
    done: int
    total: int
    unit: str = ""


Listener = Callable[[Event], None]


class Progress:
    """Passes events to a listener, one at a time, from any thread; after ``stop``, every event raises."""

    def __init__(self, listener: Listener | None) -> None:
        self.listener = listener
        self._guard = threading.Lock()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Make the threads of the build stop at their next event."""
        self._stopped.set()

    def report(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Report progress. Raises :class:`InterruptedBuildError` after :meth:`stop`."""
        if self._stopped.is_set():
            raise InterruptedBuildError("Interrupted", "The KB is unchanged")
        if self.listener:
            with self._guard:
                self.listener(Event(stage, done, total))
