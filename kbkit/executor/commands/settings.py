"""Dot-commands that set how statements are read and results are shown."""

from __future__ import annotations

from kbkit.errors import KbError
from kbkit.executor import languages
from kbkit.executor.commands.registry import (
    command,
    parse_choice,
    parse_number,
    parse_pairs,
    parse_switch,
    split_words,
)
from kbkit.executor.executor import Executor
from kbkit.executor.languages import COMMAND
from kbkit.executor.outcomes import StatementOutcome
from kbkit.executor.vocabulary import FORMATS, Argument
from kbkit.stores import sparql_formats

_NARROWEST = 20


@command("[LANGUAGE]", Argument.LANGUAGE)
def mode(executor: Executor, argument: str) -> StatementOutcome:
    """Set the language of statements.

    One of sql, sparql, answers, search, ask, or auto, which recognizes the language by its syntax; plain words are a
    search, or a question (ask) if they have the form of one.
    The name of a format sets the output format, as in sqlite3: `.mode csv`.
    """
    if argument.lower() in FORMATS:
        return format_(executor, argument)
    if argument:
        executor.settings.mode = parse_choice(argument.lower(), "mode", (languages.AUTO, *languages.LANGUAGES))
    return StatementOutcome(COMMAND, note=f"mode {executor.settings.mode}")


@command("[FORMAT]", Argument.FORMAT)
def format_(executor: Executor, argument: str) -> StatementOutcome:
    """Set the output format.

    One of table, json, ndjson, csv, markdown, or auto: a table on the screen, and in a file the format of its suffix.
    For SPARQL also sparql-json, sparql-xml, sparql-csv, sparql-tsv (SELECT and ASK), turtle, ntriples, jsonld and
    rdfxml (CONSTRUCT and DESCRIBE); results in these formats do not become the last result `_`.
    """
    if argument:
        published = sparql_formats.of_file(argument.lower(), None)
        chosen = published.name if published else parse_choice(argument.lower(), "format", (*FORMATS, languages.AUTO))
        executor.settings.format = None if chosen == languages.AUTO else chosen
    return StatementOutcome(COMMAND, note=f"format {executor.settings.format or languages.AUTO}")


@command("[COLUMNS|auto]", Argument.NUMBER)
def width(executor: Executor, argument: str) -> StatementOutcome:
    """Set the width of tables and pages (auto: the terminal)."""
    if argument:
        auto = argument.lower() == languages.AUTO
        executor.settings.width = None if auto else parse_number(argument, "width", _NARROWEST)
    return StatementOutcome(COMMAND, note=f"width {executor.settings.width or languages.AUTO}")


@command("[N]", Argument.NUMBER)
def rows(executor: Executor, argument: str) -> StatementOutcome:
    """Set the maximum number of rows of a table.

    The default auto is 100 on a terminal and all in a pipe. Other formats contain all rows.
    """
    if argument:
        auto = argument.lower() == languages.AUTO
        executor.settings.rows = None if auto else parse_number(argument, "number of rows")
    return StatementOutcome(COMMAND, note=f"rows {executor.settings.rows or languages.AUTO}")


@command("[auto|on|off]", Argument.SWITCH)
def pager(executor: Executor, argument: str) -> StatementOutcome:
    """Set whether results go through a pager.

    The pager is $PAGER or less; auto pages output longer than the screen.
    """
    if argument:
        executor.settings.pager = parse_choice(argument.lower(), "value", ("auto", "on", "off"))
    return StatementOutcome(COMMAND, note=f"pager {executor.settings.pager}")


@command("[on|off]", Argument.SWITCH)
def wrap(executor: Executor, argument: str) -> StatementOutcome:
    """Set whether tables show long cells in full.

    Otherwise a terminal gets the first three lines of a cell, and words that are too long without their middle.
    """
    executor.settings.wrap = parse_switch(argument, executor.settings.wrap)
    return StatementOutcome(COMMAND, note=f"wrap {'on' if executor.settings.wrap else 'off'}")


@command("[on|off]", Argument.SWITCH)
def timing(executor: Executor, argument: str) -> StatementOutcome:
    """Set whether to show the time of each statement.

    `.timer` does the same.
    """
    executor.settings.timing = parse_switch(argument, executor.settings.timing)
    return StatementOutcome(COMMAND, note=f"timing {'on' if executor.settings.timing else 'off'}")


@command("[SECONDS]", Argument.NUMBER)
def timeout(executor: Executor, argument: str) -> StatementOutcome:
    """Set the time limit of a query in seconds (0: none).

    Ctrl-C cancels a query at any time.
    """
    if argument:
        try:
            seconds = float(argument)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            raise KbError(f"Invalid timeout {argument!r}", "Use a number of seconds, or 0 for no limit")
        executor.settings.timeout = seconds or None
    limit = executor.settings.timeout
    return StatementOutcome(COMMAND, note=f"timeout {'none' if limit is None else f'{limit:g} s'}")


@command("[NAME=VALUE ...]")
def set_(executor: Executor, argument: str) -> StatementOutcome:
    """Set values of $parameters and <slots>.

    `.set c=France n=3` sets the slot of `country:<c> -> country` and the parameter of `LIMIT $n`. Quote values with
    spaces; `c=` removes a value. Numeric values are numbers in SQL and SPARQL. `.set` alone shows all values.
    """
    for name, value in parse_pairs(split_words(argument)).items():
        if value:
            executor.values[name] = value
        else:
            executor.values.pop(name, None)
    current = ", ".join(f"{name} = {value}" for name, value in executor.values.items())
    return StatementOutcome(COMMAND, note=current or "no values are set")
