"""Shows results: on the screen, in a pager if they are long, or in a file."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kbkit.directory import systems
from kbkit.display import render
from kbkit.display.pager import paged
from kbkit.display.waiting import Waiting
from kbkit.errors import KbError, Option
from kbkit.executor import languages
from kbkit.executor.outcomes import Printout, StatementOutcome
from kbkit.executor.prompt_settings import Pipe, PromptSettings
from kbkit.shell.terminal import run_command
from kbkit.stores import sparql_formats

if TYPE_CHECKING:
    import polars as pl


FILE_WIDTH = 100
"""Width of tables that go to a file or a command."""


class _Screen(io.StringIO):
    """Text for a terminal, which may contain styles."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class Display:
    """Where results go. ``pages`` allows a pager, since a person can leave it; ``quiet`` suppresses remarks."""

    def __init__(self, settings: PromptSettings, *, pages: bool = False, quiet: bool = False) -> None:
        self.settings, self._pages, self._quiet = settings, pages, quiet
        self._started: Path | None = None
        self._waiting: Waiting | None = None

    def show(self, outcome: StatementOutcome) -> None:
        """Show the result of a statement, its remark and its time."""
        if outcome.value is not None:
            target, once = self.settings.target, self.settings.once is not None
            if isinstance(target, Pipe):
                self._pipe(outcome, target)
            elif target is not None:
                self._append(outcome, target, once)
            else:
                self._put(self._text(outcome))
            self.settings.once = None
        if outcome.note:
            self.remark(outcome.note)
        if self.settings.timing and not outcome.script:
            self.remark(f"{outcome.seconds:.3f} s")

    def remark(self, text: str) -> None:
        """Print a remark on standard error."""
        if not self._quiet:
            sys.stdout.flush()
            print(render.clean(text), file=sys.stderr, flush=True)  # noqa: T201

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Show how long the block takes if a person waits for it."""
        if not self._pages or self._quiet or not render.has_styles(sys.stderr):
            yield
            return
        self._waiting = Waiting("running (Ctrl-C cancels)")
        try:
            self._waiting.arm()
            yield
        finally:
            self.settle()

    def settle(self) -> None:
        """Remove the running message, without interruption by Ctrl-C."""
        if self._waiting is None:
            return
        with systems.undisturbed():
            self._waiting.end()
            self._waiting = None

    @property
    def width(self) -> int:
        """Width of the output in columns."""
        return self.settings.width or render.width_of(sys.stdout)

    def _text(self, outcome: StatementOutcome) -> str:
        screen = _Screen(sys.stdout.isatty())
        kind = self.settings.kind()
        self._write(outcome, kind, screen, self.width)
        return screen.getvalue()

    def _write(self, outcome: StatementOutcome, kind: str, stream: IO[str], width: int) -> None:
        """Write rows in the format ``kind``, other values as text."""
        if kind in sparql_formats.NAMES and not isinstance(outcome.value, bytes):
            if outcome.language != languages.COMMAND:
                raise KbError(f"Format {kind} is for results of SPARQL", "Use ", Option("format", "auto"))
            kind = "table"
        if outcome.frame is not None:
            preview = outcome.frame if outcome.preview is None else outcome.preview
            self._rows(preview, outcome.frame, kind, stream, width, outcome)
        elif isinstance(outcome.value, tuple):
            for i, (title, part) in enumerate(outcome.value):
                if kind in ("table", "markdown"):  # other formats are for programs
                    stream.write("\n" * (i > 0) + (render.heading(title, stream) + "\n" if title else ""))
                self._part(part, kind, stream, width)
        else:
            self._part(outcome.value, kind, stream, width)

    def _part(self, value: Any, kind: str, stream: IO[str], width: int) -> None:
        from kbkit.display.pages import print_lines
        from kbkit.graph.pages import Page  # imports DuckDB, which would delay the first prompt

        if isinstance(value, Printout):
            value.print(stream, width)
        elif isinstance(value, Page) and self.settings.format in ("json", "ndjson"):
            render.write_json(value.data, stream)
        elif isinstance(value, Page):
            print_lines(value.lines(width, full=self.settings.wrap, numbered=True), stream)
        elif isinstance(value, bytes):
            text = value.decode("utf-8").replace("\r\n", "\n")
            stream.write(f"{render.clean(text) if stream.isatty() else text}{chr(10) * (not text.endswith(chr(10)))}")
        elif isinstance(value, str):
            stream.write(render.clean(value) + "\n")
        else:
            self._rows(value, value, kind, stream, width)

    def _rows(
        self,
        preview: pl.DataFrame,
        frame: pl.DataFrame,
        kind: str,
        stream: IO[str],
        width: int,
        outcome: StatementOutcome | None = None,
    ) -> None:
        if kind == "table":
            part = outcome is not None and outcome.total is not None
            limit = preview.height if part else self._limit(stream.isatty()) or preview.height
            note = "" if outcome is None else _count(outcome, preview.height, limit)
            cut = "" if self.settings.wrap else ".wrap"
            prefixes = None if outcome is None else outcome.prefixes
            render.print_table(preview, stream, width=width, limit=limit, note=note, cut=cut, prefixes=prefixes)
        else:
            render.write_text(frame, kind, stream)

    def page_rows(self) -> int | None:
        """Return how many rows of the next result are shown at once; None is all."""
        if self.settings.kind(self.settings.file) != "table":
            return None
        return self._limit(self.settings.target is None and sys.stdout.isatty())

    def _limit(self, terminal: bool) -> int | None:
        return self.settings.rows or (render.TABLE_ROWS if terminal else None)

    def _pipe(self, outcome: StatementOutcome, pipe: Pipe) -> None:
        """Run a command that reads the result; each result has its own run."""
        text = io.StringIO()
        self._write(outcome, self.settings.kind(), text, self.settings.width or FILE_WIDTH)
        if code := run_command(pipe.command, text.getvalue()):
            self.remark(f"{pipe.command}: exit code {code}")

    def _append(self, outcome: StatementOutcome, path: Path, once: bool) -> None:
        """Append to the output file; the file of a single result and a Parquet file hold only the last one."""
        kind = self.settings.kind(path)
        try:
            if kind == "parquet":
                if outcome.frame is None:
                    raise KbError(f"Only rows can be written to {path}", "Enter .output to show results on the screen")
                outcome.frame.write_parquet(path)
                return
            appends = path == self._started and not once
            with path.open("a" if appends else "w", encoding="utf-8", newline="") as stream:
                self._started = self._started if once else path
                self._write(outcome, kind, stream, self.settings.width or FILE_WIDTH)
        except OSError as error:
            raise KbError(f"Cannot write {path}: {error.strerror or error}") from None

    def _put(self, text: str) -> None:
        size = shutil.get_terminal_size()
        long = text.count("\n") >= size.lines - 1 and os.environ.get("TERM") != "dumb"  # no pager works on it
        setting = self.settings.pager
        if self._pages and (setting == "on" or (setting == "auto" and long)) and paged(text):
            return
        sys.stdout.write(text)
        sys.stdout.flush()


def _count(outcome: StatementOutcome, height: int, limit: int) -> str:
    """Return the line below rows that are a part of a result; empty if they are all."""
    if outcome.total is not None:
        end = outcome.start + height
        more = "; .more shows the next" if end < outcome.total else ""
        return f"rows {outcome.start + 1:,} to {end:,} of {outcome.total:,}{more}"
    if outcome.language == languages.COMMAND or height <= limit:
        return ""
    return f"{limit:,} of {height:,} rows shown; .more shows the next, other formats show all"
