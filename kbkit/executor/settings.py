"""What dot-commands set: how results look, where they go, how long a query may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.display.render import TABLE_ROWS
from kbkit.executor.languages import AUTO


@dataclass
class Settings:
    """``format`` None is a table on a terminal and ndjson in a pipe; ``width`` None is the terminal's. ``pager`` is
    ``auto`` (for what is longer than the screen), ``on`` or ``off``. ``timeout`` is in seconds, None for never.
    ``search`` are options of :meth:`KnowledgeBase.search` for plain words.
    """

    mode: str = AUTO
    format: str | None = None
    output: Path | None = None
    width: int | None = None
    pager: str = "auto"
    timing: bool = False
    rows: int = TABLE_ROWS
    timeout: float | None = 60.0
    search: dict[str, Any] = field(default_factory=lambda: {"k": 10})
