"""Progress bars for builds, on standard error, when a person looks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from kbkit.ingestion.progress import Event, Listener

_BYTES = ("read",)
"""Stages of a build that count bytes."""


@contextlib.contextmanager
def bars(quiet: bool, *, sizes: bool = False) -> Iterator[Listener | None]:
    """A listener that draws one bar per stage; None when nobody looks. ``sizes`` for events that count bytes."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        Task,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.text import Text

    class Rate(TransferSpeedColumn):
        """Bytes a second, of stages that count bytes."""

        def render(self, task: Task) -> Text:
            return super().render(task) if sizes or task.description in _BYTES else Text()

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(30),
        TextColumn("{task.percentage:>3.0f}%"),
        *((DownloadColumn(),) if sizes else ()),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def listen(event: Event) -> None:
            if event.stage not in tasks:
                tasks[event.stage] = progress.add_task(event.stage, total=None, completed=event.done)
            progress.update(tasks[event.stage], completed=event.done, total=event.total or None)

        yield listen
