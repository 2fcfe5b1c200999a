"""The ``kbkit`` command: gathers the groups, and is the one place where errors end."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from kbkit import __version__
from kbkit.cli import ask, build, look
from kbkit.errors import KbError


@dataclass
class State:
    """What the options before the command say; every command finds it as ``context.obj``."""

    debug: bool = False
    quiet: bool = False


app = typer.Typer(
    name="kbkit",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Knowledge graphs whose nodes carry text: SQL, SPARQL, full text and vectors over one graph, in one folder.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
build.register(app)
look.register(app)
ask.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kbkit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,  # noqa: ARG001
) -> None:
    context.obj.debug, context.obj.quiet = debug, quiet


def main() -> None:
    """Run the command line; a user's error is one line (and a hint) on standard error."""
    state = State()
    try:
        app(obj=state)
    except KbError as error:
        if state.debug:
            raise
        _fail(error.message, error.hint, error.exit_code)
    except BrokenPipeError:  # the reader has seen enough, as with head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if state.debug:
            raise
        _fail(f"{error.filename + ': ' if error.filename else ''}{error.strerror or error}", "", 1)
    except Exception as error:
        if state.debug:
            raise
        what = " ".join(str(error).split())
        _fail(f"internal error: {type(error).__name__}: {what}", "please report it; kbkit --debug ... shows where", 70)


def _fail(message: str, hint: str, code: int) -> None:
    from kbkit.render import clean

    typer.echo(clean(f"kbkit: {message}" + (f"; {hint}" if hint else "")).replace("\n", " "), err=True)
    sys.exit(code)
