"""Questions to a person in the terminal: a line of text, or one of a few answers."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from kbkit.errors import KbError

QUIT = "q"


def line(prompt: str) -> str | None:
    """Read a line of the input without surrounding white space; None at its end."""
    from kbkit.display.render import clean

    typer.echo(f"{clean(prompt)}> ", nl=False)
    try:
        text = input().strip()
        text.encode()  # some locales decode invalid bytes as surrogates
    except EOFError:
        typer.echo("")
        return None
    except UnicodeError:
        raise KbError("Invalid UTF-8 in standard input", "Convert it to UTF-8, for example with iconv") from None
    if not sys.stdin.isatty():
        typer.echo(clean(text))  # as a terminal would
    return text


def choice(prompt: str, valid: Callable[[str], bool], hint: str) -> str | None:
    """Ask until the answer, in lower case, is valid; None if the person quits (q, or end of input)."""
    while (text := line(prompt)) is not None and text.casefold() != QUIT:
        if valid(text.casefold()):
            return text.casefold()
        typer.echo(f"{hint} (q: end)")
    return None
