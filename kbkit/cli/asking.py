"""Questions to a person in the terminal."""

from __future__ import annotations

import sys

import typer

from kbkit.errors import KbError


def read_line(prompt: str) -> str | None:
    """Read a line of the input without surrounding white space; None at its end."""
    from kbkit.display.render import clean

    typer.echo(f"{prompt}> ", nl=False)
    try:
        line = input().strip()
        line.encode()  # some locales decode invalid bytes as surrogates
    except EOFError:
        typer.echo("")
        return None
    except UnicodeError:
        raise KbError("Invalid UTF-8 in standard input", "Convert it to UTF-8, for example with iconv") from None
    if not sys.stdin.isatty():
        typer.echo(clean(line))  # as a terminal would
    return line
