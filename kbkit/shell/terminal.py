"""The user's editor, system commands, and the prompt of a terminal without cursor movement."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import click

from kbkit.display.pager import ctrl_c_ignored
from kbkit.errors import KbError


def edit(text: str) -> str:
    """Return ``text`` as changed in ``$VISUAL``, ``$EDITOR`` or the system's default editor.

    Raises :class:`KbError` if the editor cannot be started or fails; the caller still has the text then.
    """
    try:
        with ctrl_c_ignored():
            edited = click.edit(text, extension=".sql", require_save=False)
    except (click.ClickException, UnicodeDecodeError, ValueError) as error:
        reason = error.message if isinstance(error, click.ClickException) else f"Editing failed: {error}"
        raise KbError(reason, "The statement is unchanged. $VISUAL or $EDITOR sets the editor") from None
    return (edited or "").rstrip("\n")


def run_command(command: str, text: str | None = None) -> int:
    """Run a command in the system's shell and return its exit code; Ctrl-C stops only the command.

    It reads ``text`` on its standard input (None: what the user types).
    """
    sys.stdout.flush()
    given = None if text is None else text.encode("utf-8", "replace")
    with ctrl_c_ignored():
        return subprocess.run(command, shell=True, check=False, input=given).returncode  # noqa: S602 - typed by the user


def ask(prompt: str, is_complete: Callable[[str], bool], text: str = "") -> str:
    """Return lines typed at a terminal that cannot move its cursor (TERM=dumb, as in Emacs), up to a complete text.

    ``text`` comes before the typed lines. The prompt goes to the terminal, even if results go to a file. Raises
    :class:`EOFError` at the end of the input.
    """
    screen = sys.stdout if sys.stdout.isatty() else sys.stderr
    lines = text.split("\n") if text else []
    continuation = "... ".rjust(len(prompt))
    screen.write("".join(f"{continuation if i else prompt}{line}\n" for i, line in enumerate(lines)))
    # Polars installs a handler that lets a read continue; Python's own ends it, so that Ctrl-C works at once.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        screen.write(continuation if lines else prompt)
        screen.flush()
        try:
            lines.append(input())
        except UnicodeDecodeError:
            sys.stderr.write("Invalid UTF-8 in the line.\n")
            continue
        except (KeyboardInterrupt, EOFError):
            screen.write("\n")
            raise
        typed = "\n".join(lines)
        if is_complete(typed):
            return typed.rstrip()
