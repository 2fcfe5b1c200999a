"""Progress on standard error: bars with rate and time left, or the elapsed time.

Nothing is drawn with ``--quiet``, or if standard error is not a terminal. Standard output is never touched.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

from kbkit.display.progress import Event, Listener
from kbkit.display.waiting import Waiting, duration, terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task

BYTES = "bytes"
UNITS = {
    "read": BYTES, "files": BYTES, "checksums": BYTES, "adjacency": "edges", "triples": "triples", "columns": "triples",
    "nodes": "nodes", "text": "nodes", "vectors": "nodes", "embeddings": "products",
    "queries": "queries", "questions": "questions", "instances": "instances", "testbeds": "instances",
}  # fmt: skip
"""Units of stages whose events have none; other stages count items without a unit."""

_FEW = 10
"""Stages with fewer items show no rate, because their items differ too much."""


@contextlib.contextmanager
def bars(quiet: bool, *, sizes: bool = False, console: Console | None = None) -> Iterator[Listener | None]:
    """Return a listener that draws one bar per stage, or None if nothing is drawn; ``sizes`` if events count bytes."""
    if quiet or (console is None and not sys.stderr.isatty()):
        yield None
        return
    with _paused():
        progress = _progress(sizes, console)
        tasks: dict[str, Any] = {}

        def listen(event: Event) -> None:
            if event.stage not in tasks:
                unit = BYTES if sizes else event.unit or UNITS.get(event.stage, "")
                tasks[event.stage] = progress.add_task(event.stage, total=None, completed=event.done, unit=unit)
            progress.update(tasks[event.stage], completed=event.done, total=event.total or None)

        with progress:
            yield listen


@contextlib.contextmanager
def counting(quiet: bool, stage: str) -> Iterator[Callable[[int, int], None]]:
    """Return a function ``(done, total)`` that draws the bar of one stage."""
    with bars(quiet) as listen:
        yield lambda done, total: listen(Event(stage, done, total)) if listen else None


def _progress(sizes: bool, console: Console | None) -> Progress:
    """Return bars that do not redirect standard output."""
    from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn
    from rich.text import Text

    class Figures(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(figures(task))

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(20),
        TextColumn("{task.percentage:>3.0f}%"),
        *((DownloadColumn(),) if sizes else ()),
        Figures(),
    )
    return Progress(*columns, console=console or terminal(), transient=True, redirect_stdout=False)


def figures(task: Task) -> str:
    """Return the rate, elapsed time and time left of a bar, as far as they are known."""
    parts = []
    unit = task.fields["unit"]
    speed = task.finished_speed or task.speed
    if speed and (unit or (task.total or 0) >= _FEW):
        parts.append(rate(speed, unit))
    parts.append(duration(task.elapsed or 0))
    if task.time_remaining and not task.finished:
        parts.append(f"{duration(task.time_remaining)} left")
    return ", ".join(parts)


def rate(speed: float, unit: str = "") -> str:
    """Return a rate per second: 0.35/s, 12 nodes/s, 3.4k nodes/s, 1.2M nodes/s; bytes as 0.5 MB/s.

    >>> rate(12_345, "nodes"), rate(2.5), rate(45_000_000, "bytes")
    ('12.3k nodes/s', '2.5/s', '45.0 MB/s')
    """
    if unit == BYTES:
        return f"{speed / 1e6:,.1f} MB/s"
    if speed >= 999_950:
        text = f"{speed / 1e6:,.1f}M"
    elif speed >= 9_999.5:
        text = f"{speed / 1e3:.1f}k"
    elif speed >= 9.95:
        text = f"{speed:,.0f}"
    else:
        text = f"{speed:.2g}" if speed < 0.995 else f"{speed:.1f}"
    return f"{text} {unit}/s" if unit else f"{text}/s"


# -- work without known progress --------------------------------------------------------------------------------------


class Watched:
    """A standard stream that ends ``waiting`` before it is used.

    With ``again``, waiting restarts after the output, for notes on standard error.
    """

    def __init__(self, stream: IO[str], waiting: Waiting, *, again: bool) -> None:
        self.stream, self._waiting, self._again = stream, waiting, again

    def write(self, text: str) -> int:
        """End waiting and write to the stream."""
        self._waiting.end(for_good=not self._again)
        written = self.stream.write(text)
        self._waiting.arm()
        return written

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "fileno", "read", "readline", "readlines", "writelines"):
            self._waiting.end()
        return getattr(self.stream, name)

    def __iter__(self) -> Iterator[str]:
        self._waiting.end()
        return iter(self.stream)


_waiting: Waiting | None = None


@contextlib.contextmanager
def watch(what: str, quiet: bool) -> Iterator[None]:
    """Show the message ``what`` if the block takes long without bars or output."""
    global _waiting  # noqa: PLW0603 - one terminal
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield
        return
    waiting = _waiting = Waiting(what)
    streams = sys.stdin, sys.stdout, sys.stderr
    piped = not sys.stdout.isatty()
    sys.stdin, sys.stdout, sys.stderr = (
        Watched(stream, waiting, again=again) for stream, again in zip(streams, (False, piped, True), strict=True)
    )
    try:
        waiting.arm()
        yield
    finally:
        waiting.end()
        _waiting = None
        sys.stdin, sys.stdout, sys.stderr = streams


@contextlib.contextmanager
def _paused() -> Iterator[None]:
    """Hide the waiting line while bars are shown."""
    if _waiting is None:
        yield
        return
    _waiting.end(for_good=False)
    try:
        yield
    finally:
        _waiting.arm()
