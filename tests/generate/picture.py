"""Draw the picture of the shell in the README: ``python -m tests.generate.picture``.

The real program runs in a pseudo-terminal; the screen that it leaves is written as SVG.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from kbkit import assets
from tests.terminal import Shell

COLUMNS, ROWS = 92, 40
TYPED = (
    '(country:"France" -> [borders] -> country) & (language:"German" -> country)',
    ".why 2",
    ".search -k 1 --within _ neutral, watches and banks",
    "SELECT ?name { country:CHE rel:borders/rdfs:label ?name };",
)


def screen() -> list[Text]:
    """Return the lines on the screen after the statements ran, without empty lines at the end."""
    with tempfile.TemporaryDirectory() as folder:
        kb = Path(folder) / "world.kb"
        build = "import sys, kbkit; kbkit.ingest('world', out=sys.argv[1]).close()"
        subprocess.run([sys.executable, "-c", build, str(kb)], check=True)  # a fork of this process would get a warning
        with Shell(kb, rows=ROWS, columns=COLUMNS, env={"HOME": folder}) as shell:
            for statement in TYPED:
                shell.ask(statement)
            buffer = shell.terminal._screen.buffer if hasattr(shell, "terminal") else shell._screen.buffer
            lines = [_line(buffer[row]) for row in range(ROWS)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return lines


def _line(row: dict[int, object]) -> Text:
    text = Text()
    for column in range(COLUMNS):
        cell = row[column]
        colour = {"default": None, "brown": "yellow"}.get(cell.fg, cell.fg)  # type: ignore[attr-defined]
        if colour and len(colour) == 6 and all(digit in "0123456789abcdef" for digit in colour):
            colour = f"#{colour}"
        elif colour and colour.startswith("bright"):
            colour = f"bright_{colour.removeprefix('bright')}"
        text.append(cell.data, Style(color=colour, bold=cell.bold))  # type: ignore[attr-defined]
    text.rstrip()
    return text


def main() -> None:
    """Write ``shell.svg`` beside the guides."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in screen():
        console.print(line, no_wrap=True, crop=False)
    console.save_svg(str(assets.guides() / "shell.svg"), title="kbkit shell world.kb", theme=DEFAULT_TERMINAL_THEME)


if __name__ == "__main__":
    main()
