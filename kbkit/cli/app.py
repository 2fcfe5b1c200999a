"""The ``kbkit`` command: gathers the groups, and is the one place where errors end."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer

from kbkit import __version__
from kbkit.cli import (
    answer,
    ask,
    build,
    completion,
    connect,
    explore,
    export,
    fetch,
    guides,
    llm,
    look,
    measure,
    quest,
    search,
    shell,
    spinach,
    stark,
)
from kbkit.cli.progress import watch
from kbkit.cli.spelling import SPELLER
from kbkit.directory import systems
from kbkit.errors import KbError, check_unicode, sentence


@dataclass
class State:
    """What the options before the command say; every command finds it as ``context.obj``."""

    debug: bool = False
    quiet: bool = False


app = typer.Typer(
    name="kbkit",
    no_args_is_help=True,
    add_completion=False,  # kbkit completion is a command
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Knowledge graphs whose nodes carry text: SQL, SPARQL, full text and vectors over one graph, in one folder.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
build.register(app)
fetch.register(app)
look.register(app)
connect.register(app)
shell.register(app)
ask.register(app)
search.register(app)
answer.register(app)
measure.register(app)
stark.register(app)
quest.register(app)
spinach.register(app)
llm.register(app)
explore.register(app)
export.register(app)
guides.register(app)
completion.register(app)


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
    talks = context.invoked_subcommand in ("shell", "mcp")  # these have the terminal to themselves
    context.with_resource(watch(_running(context), quiet or talks))


def _running(context: typer.Context) -> str:
    """The command that was asked for, with that of its group: ``quest run``."""
    name = context.invoked_subcommand or ""
    group: Any = context.command
    children = getattr(group.get_command(context, name), "commands", {})
    return " ".join([name, *(word for word in sys.argv[1:] if word in children)][:2])


def main() -> None:
    """Run the command line; a user's error is one line (and a hint) on standard error."""
    from typer.exceptions import TyperException

    if completion.wanted():
        completion.prepare(app)(prog_name="kbkit")
    state = State()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(newline="\n")  # the same bytes on every system
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            stream.reconfigure(errors="replace")  # a terminal that cannot show a letter shows that it cannot
    try:
        _check_arguments()
        code = app(obj=state, standalone_mode=False)
        if code == 130:  # Typer has caught Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()  # here, where a reader that is gone is no error
        sys.exit(code)
    except TyperException as error:
        _fail_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        _fail("Interrupted.", 130)
    except Exception as error:
        if isinstance(error, OSError) and systems.is_closed_pipe(error):
            _leave_quietly()
        if state.debug:
            raise
        _fail(*_explain(error))


def _leave_quietly() -> NoReturn:
    """The reader of our output has seen enough, as with ``head``; 141 is what a shell reports of SIGPIPE."""
    systems.discard_output()
    sys.exit(141)


def _fail_usage(error: Any) -> None:
    """A command or option that does not exist, or lacks its value; the help itself where nothing was asked."""
    message = error.format_message()
    if "Usage:" in message:
        typer.echo(message)
        sys.exit(2)
    context = getattr(error, "ctx", None)
    _fail(f"{sentence(message)} See {context.command_path if context else 'kbkit'} --help.", error.exit_code)


def _explain(error: Exception) -> tuple[str, int]:
    """Return the error's text and exit code."""
    if isinstance(error, KbError):
        return error.text_for(SPELLER), error.exit_code
    if isinstance(error, OSError):
        return sentence(f"{error.filename + ': ' if error.filename else ''}{error.strerror or error}"), 1
    what = " ".join(str(error).split())
    return f"Internal error: {type(error).__name__}: {what}. Please report it; kbkit --debug shows the traceback.", 70


def _check_arguments() -> None:
    for argument in sys.argv:
        check_unicode(argument, f"argument {argument.encode('utf-8', 'replace').decode()!r}")


def _fail(text: str, code: int) -> None:
    from kbkit.display.render import clean

    typer.echo(clean(f"kbkit: {text}").replace("\n", " "), err=True)
    sys.exit(code)
