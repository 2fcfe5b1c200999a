"""The ``kbkit`` program: its commands, and the handling of errors."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import re
import sys
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer

from kbkit import __version__
from kbkit.cli import (
    answers,
    ask,
    build,
    completion,
    demo,
    docs,
    duplicates,
    explore,
    graph,
    llm,
    measure,
    papers,
    publishing,
    query,
    recipes,
    search,
    serve,
    train,
)
from kbkit.cli.commands import Program, branch
from kbkit.cli.options import option
from kbkit.cli.progress import watch
from kbkit.cli.spelling import SPELLER
from kbkit.directory import limits, systems
from kbkit.directory.files import is_folder
from kbkit.errors import KbError, ShortageError, is_panic, sentence, shortage, suggest, system_error, without_passwords

_UNKNOWN_COMMAND = re.compile(r"No such command '(.*?)'\.(.*)", re.S)


@dataclass
class State:
    """The options before the command; each command finds them as ``context.obj``."""

    debug: bool = False
    quiet: bool = False


app = typer.Typer(
    name="kbkit",
    cls=Program,
    no_args_is_help=True,
    add_completion=False,  # kbkit completion is a command
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Build, query and search knowledge graphs whose nodes carry text.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    demo, build, recipes, query, answers, search, ask, serve, explore, graph, duplicates, docs, measure, papers,
    publishing, llm, train, completion
):  # fmt: skip
    module.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kbkit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    quiet: Annotated[bool, option("--quiet -q", "Hide progress and notes.")] = False,
    debug: Annotated[bool, option("--debug", "Show tracebacks of errors.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, option("--version", "Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    context.obj.debug, context.obj.quiet = debug, quiet
    if not any(one in context.help_option_names for one in sys.argv):
        limits.check_limits()  # before a command imports an engine
    owns_terminal = context.invoked_subcommand in ("shell", "mcp", "serve", "explore")
    context.with_resource(watch(_running(context), quiet or owns_terminal))


def _running(context: typer.Context) -> str:
    """Return the name of the running command, with that of its group: ``quest run``."""
    name = context.invoked_subcommand or ""
    group: Any = context.command
    children = getattr(group.get_command(context, name), "commands", {})
    return " ".join([name, *(word for word in sys.argv[1:] if word in children)][:2])


def entry() -> None:
    """Run the command line as the program of this process, which starts and ends sooner than a library may.

    Most of a short command's time is the import of libraries, during which few objects die, and the end of the
    interpreter, which takes their modules apart.
    """
    gc.set_threshold(100_000, 20, 20)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # Typer's Pydantic looks for them in all packages
    code = 1
    atexit.register(lambda: _leave(code))  # the first one registered is the last one called
    try:
        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        raise


def _leave(code: int) -> None:
    """End the process, unless a tool that measures it has something left to write."""
    if "coverage" in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # a closed one is None
            stream.flush()
    os._exit(code)


def main() -> None:
    """Run the command line; an error is reported in one line on standard error."""
    from typer.exceptions import TyperException

    if completion.wanted():
        completion.prepare(app)(prog_name="kbkit")
    state = State()
    _prepare_streams()
    try:
        _check_arguments()
        code = branch(app, sys.argv[1:])(prog_name="kbkit", obj=state, standalone_mode=False)
        if code == 130:  # Typer caught Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()  # here, where a closed pipe is handled
        sys.exit(code)
    except TyperException as error:
        _fail_usage(error)
    except SystemExit as left:  # Typer's own end for a closed pipe, which scripts cannot tell from an error
        if isinstance(left.__context__, OSError) and systems.is_closed_pipe(left.__context__):
            _leave_quietly()
        raise
    except (KeyboardInterrupt, typer.Abort):
        _fail(*_interrupted())
    except Exception as error:
        if isinstance(error, OSError) and systems.is_closed_pipe(error):
            _leave_quietly()
        if state.debug:
            raise
        _fail(*_explain(error))
    except BaseException as error:
        if state.debug or not is_panic(error):
            raise
        _fail(*_explain(error))


def _prepare_streams() -> None:
    systems.open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(newline="\n")  # the same bytes on every system
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            stream.reconfigure(errors="replace")  # the encoding of the terminal lacks some letters


def _leave_quietly() -> NoReturn:
    """Exit because the reader closed the pipe, as ``head`` does; shells report SIGPIPE as 141."""
    systems.discard_output()
    sys.exit(141)


def _fail_usage(error: Any) -> None:
    """Report an invalid command or option; print the help if no command was given."""
    message = error.format_message()
    if "Usage:" in message:
        typer.echo(message)
        sys.exit(2)
    context = getattr(error, "ctx", None)
    message = _usage_message(error, context)
    _fail(f"{sentence(message)} See {context.command_path if context else 'kbkit'} --help.", error.exit_code)


def _usage_message(error: Any, context: Any) -> str:
    """Return the message of an invalid command line in the words of kbkit's other errors."""
    message: str = error.format_message()
    option = getattr(error, "option_name", "")
    if option and message.startswith("No such option"):
        close = suggest(option, error.possibilities or [], 1)
        return sentence(f"Unknown option {option!r}") + (f" {close}" if close.startswith("Did you mean") else "")
    if message.startswith("Got unexpected extra argument"):
        extra = message.partition("(s) (")[2].removesuffix(")")
        takes = any(
            param.param_type_name == "argument" for param in getattr(getattr(context, "command", None), "params", ())
        )
        hint = " Put quotes around an argument that contains spaces or '>'" if takes else ""
        return f"Unexpected argument {extra!r}.{hint}"
    unknown = _UNKNOWN_COMMAND.match(message)
    if unknown and not unknown[2] and context is not None and context.parent is None and is_folder(unknown[1]):
        return f"Unknown command {unknown[1]!r}. To open a KB: kbkit shell {unknown[1]}"
    message = re.sub(r"Input should be (a valid \w+).*", r"expected \1", message, flags=re.S)
    return _UNKNOWN_COMMAND.sub(r"Unknown command '\1'.\2", message)


def _explain(error: BaseException) -> tuple[str, int]:
    """Return the error's text and exit code."""
    if isinstance(error, KbError):
        return error.text_for(SPELLER), error.exit_code
    if short := shortage(error):
        return short.text_for(SPELLER), short.exit_code
    if isinstance(error, OSError):
        found = system_error(error)
        return found.text_for(SPELLER), found.exit_code
    what = " ".join(str(error).split())
    return f"Internal error: {type(error).__name__}: {what}. Please report it; kbkit --debug shows the traceback.", 70


def _interrupted() -> tuple[str, int]:
    """Return the text and exit code after SIGINT, which OpenBLAS too sends when it cannot start its threads."""
    try:
        limits.check_threads()
    except ShortageError as error:
        return _explain(error)
    return "Interrupted.", 130


def _check_arguments() -> None:
    for argument in sys.argv:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            shown = argument.encode("utf-8", "replace").decode()
            raise KbError(f"Invalid UTF-8 in the argument {shown!r}", "Convert it to UTF-8, for example with iconv")


def _fail(text: str, code: int) -> None:
    from kbkit.display.render import clean

    typer.echo(clean(f"kbkit: {without_passwords(text)}").replace("\n", " "), err=True)
    sys.exit(code)
