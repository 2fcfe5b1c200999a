"""Dot-commands that set how statements are read and results are shown."""

from __future__ import annotations

from kbkit.errors import KbError
from kbkit.executor import languages
from kbkit.executor.commands import arguments
from kbkit.executor.commands.registry import command
from kbkit.executor.executor import Executor, Outcome
from kbkit.executor.languages import COMMAND
from kbkit.executor.vocabulary import Argument

_NARROWEST = 20


@command("[LANGUAGE]", Argument.LANGUAGE)
def mode(executor: Executor, argument: str) -> Outcome:
    """The language of what you type.

    sql, sparql, answers, search, or auto, which tells it by the syntax: plain words are a search.
    """
    from kbkit.display.render import FORMATS

    if argument.lower() in FORMATS:  # as other shells have it
        raise KbError(f"{argument!r} is no language", f".format {argument} sets how results are written")
    if argument:
        executor.settings.mode = arguments.choice(argument.lower(), "mode", (languages.AUTO, *languages.LANGUAGES))
    return Outcome(COMMAND, note=f"mode {executor.settings.mode}")


@command("[FORMAT]", Argument.FORMAT)
def format_(executor: Executor, argument: str) -> Outcome:
    """How results are written.

    table, json, ndjson, csv, markdown, or auto: a table on a terminal, ndjson in a pipe, and what a file's ending says.
    """
    from kbkit.display.render import FORMATS

    if argument:
        known = (*(name for name in FORMATS if name != "parquet"), languages.AUTO)
        chosen = arguments.choice(argument.lower(), "format", known)
        executor.settings.format = None if chosen == languages.AUTO else chosen
    return Outcome(COMMAND, note=f"format {executor.settings.format or languages.AUTO}")


@command("[COLUMNS|auto]", Argument.NUMBER)
def width(executor: Executor, argument: str) -> Outcome:
    """How wide tables and pages are; auto fits the terminal."""
    if argument:
        auto = argument.lower() == languages.AUTO
        executor.settings.width = None if auto else arguments.number(argument, "width", _NARROWEST)
    return Outcome(COMMAND, note=f"width {executor.settings.width or languages.AUTO}")


@command("[N]", Argument.NUMBER)
def rows(executor: Executor, argument: str) -> Outcome:
    """How many rows a table shows; other formats have all."""
    if argument:
        executor.settings.rows = arguments.number(argument, "number of rows")
    return Outcome(COMMAND, note=f"rows {executor.settings.rows}")


@command("[auto|on|off]", Argument.SWITCH)
def pager(executor: Executor, argument: str) -> Outcome:
    """Whether results go through a pager.

    $PAGER, or less; auto pages what is longer than the screen.
    """
    if argument:
        executor.settings.pager = arguments.choice(argument.lower(), "value", ("auto", "on", "off"))
    return Outcome(COMMAND, note=f"pager {executor.settings.pager}")


@command("[on|off]", Argument.SWITCH)
def timing(executor: Executor, argument: str) -> Outcome:
    """Whether to tell the time that each statement took."""
    executor.settings.timing = arguments.switch(argument, executor.settings.timing)
    return Outcome(COMMAND, note=f"timing {'on' if executor.settings.timing else 'off'}")


@command("[SECONDS]", Argument.NUMBER)
def timeout(executor: Executor, argument: str) -> Outcome:
    """Seconds after which a query is stopped; 0 for never.

    Ctrl-C stops one at any time.
    """
    if argument:
        try:
            seconds = float(argument)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            raise KbError(f"{argument!r} is no time", "give seconds, or 0 for never")
        executor.settings.timeout = seconds or None
    limit = executor.settings.timeout
    return Outcome(COMMAND, note=f"timeout {'none' if limit is None else f'{limit:g} s'}")


@command("[NAME=VALUE ...]")
def set_(executor: Executor, argument: str) -> Outcome:
    """Values of $parameters and <slots> from now on.

    `.set c=France n=3` is for `country:<c> -> country` and `LIMIT $n`; quotes hold together what has spaces, `c=` takes
    a value away. What looks like a number is one in SQL and SPARQL. `.set` alone says what is set.
    """
    for name, value in arguments.pairs(arguments.words(argument)).items():
        if value:
            executor.values[name] = value
        else:
            executor.values.pop(name, None)
    said = ", ".join(f"{name} = {value}" for name, value in executor.values.items())
    return Outcome(COMMAND, note=said or "nothing is set")
