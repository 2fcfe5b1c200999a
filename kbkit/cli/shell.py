"""The command shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Kb, Output

if TYPE_CHECKING:
    from kbkit.shell.runner import Runner


def register(app: typer.Typer) -> None:
    """Add this file's command to the program."""
    app.command()(shell)


def shell(
    context: typer.Context,
    kb: Kb,
    text: Annotated[
        list[str] | None,
        typer.Option("-c", metavar="TEXT", help="Run this, and leave; it may hold several statements."),
    ] = None,
    mode: Annotated[str, typer.Option("--mode", help="The language: auto, sql, sparql, answers or search.")] = "auto",
    format: Format = None,
    output: Output = None,
) -> None:
    """Look at a KB in SQL, SPARQL, answer expressions and plain words, with completion. `kbkit docs shell` tells more.

    Statements may come from a pipe, too: echo 'lake{area_km2 > 50000}' | kbkit shell world.kb
    """
    from kbkit.display.render import check
    from kbkit.errors import UnknownNameError
    from kbkit.executor import languages
    from kbkit.executor.executor import Executor, Settings
    from kbkit.shell.display import Display
    from kbkit.shell.runner import Runner

    if mode not in (languages.AUTO, *languages.LANGUAGES):
        raise UnknownNameError("mode", mode, (languages.AUTO, *languages.LANGUAGES))
    if format is not None or output is not None:
        check(format, output)
    talks = not text and sys.stdin.isatty()
    settings = Settings(mode=mode, format=format, output=output)
    executor = Executor.open(kb, settings)
    display = Display(settings, pages=talks and sys.stdout.isatty(), quiet=context.obj.quiet)
    runner = Runner(executor, display, debug=context.obj.debug)
    try:
        code = _talk(runner) if talks else _read(runner, text)
    finally:
        executor.close()
    raise typer.Exit(code)


def _talk(runner: Runner) -> int:
    from kbkit.shell.repl import Repl

    Repl(runner).run()
    return 0


def _read(runner: Runner, texts: list[str] | None) -> int:
    """Run what -c or the pipe holds; the code of the first statement that fails."""
    from kbkit.errors import KbError
    from kbkit.executor.executor import Quit

    try:
        if texts is None:
            try:
                return runner.script(sys.stdin.read(), "stdin")
            except UnicodeDecodeError:
                raise KbError("standard input is not UTF-8", "convert it, e.g. with iconv") from None
        for text in texts:
            if code := runner.script(text):
                return code
    except Quit:
        pass
    return 0
