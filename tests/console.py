"""The program run in this process: a process of its own takes half a second, and three where it opens every store."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Done:
    """What a finished command left."""

    returncode: int
    stdout: str
    stderr: str


@functools.cache
def _built(app: Any) -> Any:
    """The tree of all commands, built once: that takes longer than most commands run."""
    import typer

    return typer.main.get_command(app)


class _Screen(io.TextIOWrapper):
    """Standard output as a program finds it that writes to a terminal."""

    def isatty(self) -> bool:
        return True


def here(
    *args: object, stdin: str = "", cwd: Path | None = None, env: dict[str, str] | None = None, terminal: bool = False
) -> Done:
    """Run the console script's entry point: ``here("sql", kb, "-c", "SELECT 1")``, as the fixture ``run`` does outside.

    Arguments may be paths. With ``terminal`` the output is formatted as for the eye. An error that the program does
    not expect comes out as an internal error, code 70.
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


def read_all(terminal: int) -> str:
    """All that comes out of the near end of a pseudo-terminal, which is closed then."""
    printed = b""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while part := os.read(terminal, 65536):
            printed += part
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n")
