"""Runs the program in this process, which saves starting one, and parses what it prints."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Done:
    """Exit code and output of a finished command."""

    returncode: int
    stdout: str
    stderr: str


@functools.cache
def _built(app: Any) -> Any:
    """Return all commands, built once because that takes longer than most commands run."""
    import typer

    return typer.main.get_command(app)


class _Screen(io.TextIOWrapper):
    """Standard output that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def here(
    *args: object, stdin: str = "", cwd: Path | None = None, env: dict[str, str] | None = None, terminal: bool = False
) -> Done:
    """Run the entry point of the console script: ``here("sql", kb, "SELECT 1")``; the fixture ``run`` starts a process.

    Arguments may be paths. With ``terminal`` standard output claims to be one. Unexpected exceptions end as an internal
    error with exit code 70.
    """
    import typer

    from kbkit.cli.app import app, main

    commands = _built(app)
    out = (_Screen if terminal else io.TextIOWrapper)(io.BytesIO(), "utf-8", newline="")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", newline="")
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd or Path.cwd()):
        for name, value in {"COLUMNS": "120", "NO_COLOR": "1", **(env or {})}.items():
            patch.setenv(name, value)
        for name, stream in {"stdin": given, "stdout": out, "stderr": err}.items():
            patch.setattr(sys, name, stream)
        patch.setattr(typer.main, "get_command", lambda _: commands)
        patch.setattr(sys, "argv", ["kbkit", *map(str, args)])
        with pytest.raises(SystemExit) as left:
            main()
    for stream in (out, err):
        stream.flush()
    code = left.value.code or 0
    assert isinstance(code, int)
    return Done(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]


def good(done: Done, notes: str | None = "") -> str:
    """Return the output of a successful command; ``notes`` is its standard error (None: anything)."""
    assert done.returncode == 0, done.stderr
    assert notes in (None, done.stderr)
    return done.stdout


def rows(done: Done, notes: str | None = "") -> list[dict[str, Any]]:
    """Return the records that a successful command printed with ``-f ndjson``."""
    return [json.loads(line) for line in good(done, notes).splitlines()]


def records(*args: object, notes: str | None = "", **options: Any) -> list[dict[str, Any]]:
    """Run a command with ``-f ndjson`` and return its records."""
    return rows(here(*args, "-f", "ndjson", **options), notes)


def one_line(done: Done) -> str:
    """Return the error of a command that failed as it should, without the name of the program."""
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("kbkit: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("kbkit: ").rstrip("\n")


def read_all(terminal: int) -> str:
    """Return all output at the near end of a pseudo-terminal, and close it."""
    printed = b""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while part := os.read(terminal, 65536):
            printed += part
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n")
