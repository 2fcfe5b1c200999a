"""A spinner on standard error for one long call into an engine."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task

PATIENCE = 0.6
"""Seconds before the spinner appears."""


def terminal() -> Console:
    """Return a Rich console on standard error."""
    from rich.console import Console

    return Console(file=getattr(sys.stderr, "stream", sys.stderr))  # bypasses the wrapper that watches for output


def duration(seconds: float) -> str:
    """Return a duration as text, for example 7 s, 3 min 20 s, 2 h 5 min.

    >>> duration(7.4), duration(200), duration(7_500)
    ('7 s', '3 min 20 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


class Waiting:
    """A spinner with the elapsed time that appears after a moment and disappears before any output.

    For a single long call into an engine that reports no progress.
    """

    def __init__(self, what: str, console: Callable[[], Console] = terminal, patience: float = PATIENCE) -> None:
        self._what, self._console, self._patience = what, console, patience
        self._guard = threading.Lock()
        self._started = time.monotonic()
        self._tooltip: Progress | None = None
        self._timer: threading.Timer | None = None
        self._over = False

    def arm(self) -> None:
        """Start the timer after which the spinner appears."""
        with self._guard:
            if self._over:
                return
            self._timer = threading.Timer(self._patience, self._appear)
            self._timer.daemon = True
            self._timer.start()

    def end(self, *, for_good: bool = True) -> None:
        """Remove the spinner or cancel its timer; ``for_good`` also prevents it from appearing again."""
        with self._guard:
            self._over = self._over or for_good
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if self._tooltip is not None:
                self._tooltip.stop()
                self._tooltip = None

    def _appear(self) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), _elapsed(self._started))
        console = self._console()
        shown = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
        shown.add_task(self._what, total=None)
        with self._guard:
            if threading.current_thread() is self._timer:  # not cancelled meanwhile
                self._tooltip = shown
                shown.start()


def _elapsed(started: float) -> Any:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Elapsed(ProgressColumn):
        def render(self, _: Task) -> Text:
            return Text(duration(time.monotonic() - started))

    return Elapsed()
