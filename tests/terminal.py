"""A real terminal for tests: a pseudo-terminal (pexpect) whose output a terminal emulator (pyte) puts on a screen.

It answers what a program asks of a terminal (where the cursor is). Nothing sleeps: every wait reads what the program
writes until the screen shows what is waited for.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals that pexpect knows", allow_module_level=True)
pexpect = pytest.importorskip("pexpect")
pyte = pytest.importorskip("pyte")
termios = pytest.importorskip("termios")

PATIENCE = 30.0
"""Seconds after which a test gives up: many, since a loaded machine is no defect."""
_GLANCE = 0.05

UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
ENTER, TAB, ESCAPE, BACKSPACE = "\r", "\t", "\x1b", "\x7f"
ALT_ENTER = "\x1b\r"


def ctrl(letter: str) -> str:
    """The key Ctrl and a letter."""
    return chr(ord(letter.lower()) - ord("a") + 1)


class _Screen(pyte.HistoryScreen):  # type: ignore[misc]
    """A screen that remembers what has left it at the top; ``answer`` takes what it is to say to the program."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, rows, history=100_000, ratio=0.5)
        self._answer = answer

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:  # how keys are reported, which editors ask for
            super().select_graphic_rendition(*attributes)

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Terminal:
    """A program in a terminal of a size. Use it in a ``with`` block: it ends the program."""

    def __init__(
        self,
        *command: object,
        rows: int = 30,
        columns: int = 80,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in _OURS}
        self._process = pexpect.spawn(
            str(command[0]),
            [str(word) for word in command[1:]],
            dimensions=(rows, columns),
            env={**inherited, "TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})},
            cwd=cwd,
            encoding=None,
        )
        self._screen = _Screen(columns, rows, lambda answer: self._write(answer.encode()))
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        """All that the program wrote."""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.isalive():
            self._process.kill(signal.SIGKILL)
        self._process.close(force=True)

    # -- what is on the screen ----------------------------------------------------------------------------------------

    @property
    def lines(self) -> list[str]:
        """The screen's lines, without spaces at their ends."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """What the screen shows, without the empty lines at its end."""
        return "\n".join(self.lines).rstrip("\n")

    @property
    def before_cursor(self) -> str:
        """The cursor's line, up to the cursor."""
        cursor = self._screen.cursor
        row = self._screen.buffer[cursor.y]
        return "".join(row[place].data for place in range(cursor.x))

    @property
    def drawn(self) -> bool:
        """Whether the line editor has finished drawing: it hides the cursor while it moves about the screen."""
        return not self._screen.cursor.hidden

    @property
    def cursor_line(self) -> str:
        """The cursor's line."""
        return self.lines[self._screen.cursor.y]

    @property
    def written(self) -> list[str]:
        """All lines up to the cursor's, those too that have left the screen."""
        width = range(self._screen.columns)
        gone = ["".join(row[place].data for place in width).rstrip() for row in self._screen.history.top]
        return [*gone, *self.lines[: self._screen.cursor.y + 1]]

    def colours(self, text: str) -> set[str]:
        """The colours that ``text`` has where the screen shows it last: names of pyte, with ``bold`` in front."""
        for y in reversed(range(self._screen.lines)):
            at = self._screen.display[y].rfind(text)
            if at >= 0:
                signs = [self._screen.buffer[y][x] for x in range(at, at + len(text))]
                return {f"{'bold ' * sign.bold}{sign.fg}" for sign in signs if sign.data != " "}
        raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")

    # -- what a person does -------------------------------------------------------------------------------------------

    def send(self, *keys: str | bytes) -> None:
        """Press keys."""
        for key in keys:
            self._write(key.encode() if isinstance(key, str) else key)

    def paste(self, text: str | bytes) -> None:
        """Paste text, as terminals do that mark it."""
        body = text.encode() if isinstance(text, str) else text
        self._write(b"\x1b[200~" + body.replace(b"\n", b"\r") + b"\x1b[201~")

    def resize(self, rows: int, columns: int) -> None:
        """Give the window another size."""
        self._screen.resize(rows, columns)
        self._process.setwinsize(rows, columns)

    def breaks(self) -> None:
        """Press Ctrl-C when it is a signal: as soon as the program has left the terminal to what it runs."""
        self.wait_until(self._has_signals, "program that takes signals from the keyboard")
        self.send(ctrl("c"))

    def _has_signals(self) -> bool:
        return bool(termios.tcgetattr(self._process.child_fd)[3] & termios.ISIG)

    @property
    def pid(self) -> int:
        """The program's process."""
        return int(self._process.pid)

    # -- waiting ------------------------------------------------------------------------------------------------------

    def wait(self, *texts: str, gone: str | None = None, patience: float = PATIENCE) -> None:
        """Wait until the screen shows all of some texts, and no longer ``gone``."""

        def shown() -> bool:
            screen = self.text
            return all(text in screen for text in texts) and (gone is None or gone not in screen)

        self.wait_until(shown, f"{texts} on the screen" + (f", without {gone!r}" if gone else ""), patience)

    def wait_until(self, true: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        """Wait until something is true of the screen."""
        end = time.monotonic() + patience
        while not true():
            self._read(_GLANCE)
            assert time.monotonic() < end, f"no {what}; the screen shows:\n{self.text}"

    def ended(self, patience: float = PATIENCE) -> int:
        """Wait until the program has ended; its exit code (that of a signal is negative)."""
        end = time.monotonic() + patience
        while self._read(end - time.monotonic()):
            pass
        assert self._process.flag_eof, f"the program goes on; the screen shows:\n{self.text}"
        self._process.wait()
        code = self._process.exitstatus
        return int(-self._process.signalstatus if code is None else code)

    # -- the pseudo-terminal ------------------------------------------------------------------------------------------

    def _read(self, patience: float) -> bool:
        """Put on the screen what the program writes within a time; False when it wrote nothing, or has ended."""
        try:
            data = self._process.read_nonblocking(65536, timeout=max(patience, 0))
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.raw += data
        self._stream.feed(data)
        return True

    def _write(self, data: bytes) -> None:
        """Write without waiting for ever: a program that writes itself meanwhile is read."""
        descriptor = self._process.child_fd
        while data:
            readable, writable, _ = select.select([descriptor], [descriptor], [], PATIENCE)
            assert readable or writable, f"the program reads nothing; the screen shows:\n{self.text}"
            if writable:
                data = data[os.write(descriptor, data[:512]) :]
            elif not self._read(0):
                return  # it has ended


_OURS = {"COLUMNS", "LINES", "NO_COLOR", "PAGER", "LESS", "EDITOR", "VISUAL", "LC_ALL", "LC_CTYPE"} | {
    name for name in os.environ if name.startswith("PROMPT_TOOLKIT_")
}
"""What of the surroundings would change what a program shows."""


class Shell(Terminal):
    """``kbkit shell`` in a terminal."""

    def __init__(self, kb: Path, *options: object, name: str | None = None, wait: bool = True, **more: object) -> None:
        script = Path(sys.executable).with_name("kbkit")
        super().__init__(script, "shell", kb, *options, **more)  # type: ignore[arg-type]
        self.name = name or kb.stem
        if wait:
            self.prompted()

    def prompted(self, default: str = "") -> None:
        """Wait for an empty prompt, or one with a text in it."""
        wanted = re.compile(rf"{re.escape(self.name)}( \w+)?> {re.escape(default)}")
        self.wait_until(
            lambda: self.drawn and wanted.fullmatch(self.before_cursor) is not None, f"prompt of {self.name}"
        )

    def typed(self, text: str) -> None:
        """Type text, and wait until it stands before the cursor."""
        self.send(text)
        last = text.rpartition("\n")[2]
        self.wait_until(lambda: self.drawn and self.before_cursor.endswith(last), f"{last!r} before the cursor")

    def enter(self) -> None:
        """Press Enter, and wait until it has moved the cursor."""
        self.wait_until(lambda: self.drawn, "end of drawing")
        before = len(self.written)
        self.send(ENTER)
        self.wait_until(lambda: self.drawn and len(self.written) > before, "sign of Enter")

    def ask(self, *lines: str) -> str:
        """Type lines, each with Enter, and wait for the next prompt; what was written between."""
        for line in lines:
            self.typed(line)
            self.enter()
        self.prompted()
        written = self.written
        start = max(place for place, line in enumerate(written) if line.endswith(f"> {lines[0]}".rstrip()))
        return "\n".join(written[start + len("\n".join(lines).rstrip().split("\n")) : -1])

    def clear(self) -> None:
        """Leave what is typed, and wait for an empty prompt below it."""
        self.wait_until(lambda: self.drawn, "end of drawing")
        row = len(self.written)
        self.send(ctrl("c"))
        self.wait_until(lambda: self.drawn and len(self.written) > row, "new prompt")
        self.prompted()
