"""The settings of a prompt, and where its results go."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.display import render
from kbkit.executor import languages
from kbkit.stores import sparql_formats


@dataclass(frozen=True)
class Pipe:
    """A command of the operating system that reads results on its standard input."""

    command: str


@dataclass
class PromptSettings:
    """Settings of a prompt, which dot-commands change.

    ``format`` None is a table on the screen, and in a file the format of its suffix; ``width`` None is the terminal's.
    Results go to ``output``, and the next one to ``once`` if this is set.
    ``rows`` None is 100 on a terminal and all in a pipe. ``wrap`` shows whole cells on a terminal.
    ``pager`` is ``auto`` (for output longer than the screen), ``on`` or ``off``. ``timeout`` is in seconds, None for no
    limit. ``search`` holds options of :meth:`KnowledgeBase.search` for plain words.
    """

    mode: str = languages.AUTO
    format: str | None = None
    output: Path | Pipe | None = None
    once: Path | Pipe | None = None
    width: int | None = None
    pager: str = "auto"
    wrap: bool = False
    timing: bool = False
    rows: int | None = None
    timeout: float | None = 60.0
    search: dict[str, Any] = field(default_factory=lambda: {"k": 10})

    @property
    def target(self) -> Path | Pipe | None:
        """Where the next result goes; None is the screen."""
        return self.once or self.output

    @property
    def file(self) -> Path | None:
        """The file that the next result goes to, if any."""
        return self.target if isinstance(self.target, Path) else None

    def kind(self, path: Path | None = None) -> str:
        """Return the format of results in a file, or on the screen: that of the suffix, else the one that is set."""
        if path is None:
            return self.format or "table"
        if path.suffix in sparql_formats.SUFFIXES:
            return sparql_formats.SUFFIXES[path.suffix].name
        if path.suffix in render.ENDINGS or self.format not in sparql_formats.NAMES:
            return render.ENDINGS.get(path.suffix) or render.kind_of(self.format, path, sparql_formats.NAMES)
        return self.format
