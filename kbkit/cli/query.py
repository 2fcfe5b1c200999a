"""Commands that run queries: shell, sql, sparql, and query list, show."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add, group
from kbkit.cli.options import (
    Dialect,
    Kb,
    Params,
    Rendering,
    TableRendering,
    Timeout,
    argument,
    note,
    option,
    pairs,
    read_input,
    seconds,
)
from kbkit.errors import Command, KbError, UnknownNameError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.assets.queries import QueryFile
    from kbkit.shell.runner import Runner
    from kbkit.sparql.view import View

QueryArgument = Annotated[
    str | None,
    argument("QUERY", "Query, file, or name of a shipped query (see kbkit query list); - for stdin."),
]
Text = Annotated[str | None, option("-c QUERY", "Text of the query.")]

SparqlEngineOption = Annotated[
    str,
    option(
        "--engine -e NAME",
        "Engine: columns (the query is compiled to SQL), oxigraph, or auto, which chooses by the query.",
    ),
]

SparqlFormat = Annotated[
    str | None,
    option(
        "--format -f FORMAT",
        "Output format: table, json, ndjson, csv, markdown or parquet; with full RDF terms sparql-json,"
        " sparql-xml, sparql-csv or sparql-tsv; of CONSTRUCT and DESCRIBE turtle, ntriples, jsonld or rdfxml"
        " (default: by the suffix of -o, else table).",
    ),
]


@dataclass(frozen=True)
class SparqlRendering(TableRendering):
    """Results of SPARQL have formats of their own, too."""

    format: SparqlFormat = None


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, shell)
    add(app, sql)
    add(app, sparql)
    query = group("List and show the shipped queries.")
    add(query, list_queries, "list")
    add(query, show_query, "show")
    app.add_typer(query, name="query")


def sql(
    kb: Kb,
    query: QueryArgument = None,
    text: Text = None,
    param: Params = None,
    timeout: Timeout = 60,
    allow_files: Annotated[bool, option("--allow-files", "Let SQL read and write files.")] = False,
    *,
    rendering: TableRendering,
) -> None:
    """Run a SQL query.

    -p NAME=VALUE sets $NAME in the query.
    """
    from kbkit.kb import KnowledgeBase

    rendering.check()
    chosen, limit = _chosen("sql", query, text), seconds(timeout)
    with KnowledgeBase(kb) as opened:
        frame = opened.run(chosen, pairs(param, "params"), limit, allow_files=allow_files)
    rendering.write(frame)


def sparql(
    context: typer.Context,
    kb: Kb,
    query: QueryArgument = None,
    text: Text = None,
    param: Params = None,
    dialect: Dialect = None,
    engine: SparqlEngineOption = "auto",
    print_: Annotated[
        bool, option("--print", "Print the query as its engine receives it, without running it.")
    ] = False,
    explain: Annotated[bool, option("--explain", "Run the query and print its plan, and why it has no rows.")] = False,
    limit: Annotated[int | None, option("--limit -n N", "Maximum number of rows.")] = None,
    timeout: Timeout = 60,
    plot: Annotated[
        Path | None,
        option("--plot FILE", "Draw the result to a .html, .svg or .png file, as #defaultView:NAME says."),
    ] = None,
    *,
    rendering: SparqlRendering,
) -> None:
    """Run a SPARQL query.

    Prefixes of the KB are predefined. SERVICE kb:search { ?x kb:matches "words" } searches its texts. -p NAME=VALUE
    sets $NAME in the query. --plot draws the view that a comment such as #defaultView:Map chooses (see kbkit docs
    sparql).
    """
    from kbkit.assets.parameters import convert_all
    from kbkit.display.render import check_output, write_bytes
    from kbkit.kb import KnowledgeBase
    from kbkit.sparql.engines import checked
    from kbkit.sparql.run import query as asking
    from kbkit.stores import sparql_formats

    rdf = sparql_formats.of_file(rendering.format, rendering.output)
    if rdf is None:
        rendering.check(sparql_formats.NAMES)
    check_output(rendering.output)
    chosen, cancel = _chosen("sparql", query, text), seconds(timeout)
    if plot is not None:
        _check_plot(chosen.text, plot, rdf)
    with KnowledgeBase(kb) as opened:
        params = convert_all(opened, chosen, pairs(param, "params"))
        asked = asking(opened.stores, chosen.text, cancel, dialect, limit, params, engine=checked(engine))
        if print_ or explain:
            typer.echo(asked.printed() if print_ else asked.explained())
            return
        note(context, [f"warning: {message}" for message in asked.unknown_names()])
        if rdf is not None:
            with asked.results(sparql_formats.only(rdf.name)) as results:
                write_bytes(results, rendering.output)
            return
        frame = asked.frame() if plot is None else _drawn(context, asked.view(), plot)
        prefixes = opened.schema.prefixes()
    rendering.write(frame, prefixes=prefixes)


def _drawn(context: typer.Context, view: View, path: Path) -> pl.DataFrame:
    """Draw the view of a result and return its rows."""
    view.write(path)
    note(context, [f"{path}: {view.name}"])
    return view.rows


def _check_plot(text: str, path: Path, rdf: object) -> None:
    """Raise the errors of drawing before any work is done."""
    from kbkit.sparql import view

    view.check_view(view.wanted(text).name, path)
    if rdf is not None:
        raise KbError("A drawing is written beside a table, not beside SPARQL results", "Remove one of the options")


def _chosen(language: str, argument: str | None, text: str | None) -> QueryFile:
    """Return the query given by the arguments: text, a file, or the name of a shipped query."""
    from kbkit.assets import queries

    if argument is not None and text is not None:
        raise KbError("Two queries given, as an argument and with -c", "Remove one of them")
    if argument is None and text is None:
        raise KbError("No query given", "For example: ", Command(f"{language} KB 'SELECT ...'"))
    if argument == "-":
        text = read_input()
    return queries.typed(language, text) if text is not None else queries.find(language, str(argument))


def list_queries(rendering: Rendering) -> None:
    """List the shipped SQL and SPARQL queries."""
    from kbkit.assets import queries

    rendering.write(queries.listed())


def show_query(name: Annotated[str, argument("NAME", "Name of a shipped query.")]) -> None:
    """Print the text of a shipped query."""
    from kbkit.assets import queries

    known = queries.all_shipped()
    hits = [query for query in known if name in (query.name, query.name.split("/")[1])]
    if not hits:
        raise UnknownNameError("query", name, [query.name for query in known])
    typer.echo("\n".join(query.text for query in hits), nl=False)


# -- shell ------------------------------------------------------------------------------------------------------------


def shell(
    context: typer.Context,
    kb: Kb,
    text: Annotated[
        list[str] | None,
        option("-c QUERY", "Run these statements and exit; repeatable."),
    ] = None,
    language: Annotated[
        str, option("--language NAME", "Language: auto, sql, sparql, answers, search or ask.")
    ] = "auto",
    *,
    rendering: Rendering,
) -> None:
    """Open an interactive shell, or run statements.

    It runs SQL, SPARQL, answer expressions, searches and questions, with completion (see kbkit docs shell). Statements
    are also read from a pipe: echo 'lake{area_km2 > 50000}' | kbkit shell world.kb
    """
    from kbkit.display.render import check_output
    from kbkit.executor import languages
    from kbkit.executor.executor import Executor
    from kbkit.executor.prompt_settings import PromptSettings
    from kbkit.shell.display import Display
    from kbkit.shell.runner import Runner
    from kbkit.stores import sparql_formats

    if language not in (languages.AUTO, *languages.LANGUAGES):
        raise UnknownNameError("language", language, (languages.AUTO, *languages.LANGUAGES))
    rdf = sparql_formats.of_file(rendering.format, rendering.output)
    if rdf is not None:
        check_output(rendering.output)
    elif rendering.format is not None or rendering.output is not None:
        rendering.check(sparql_formats.NAMES)
    interactive = not text and sys.stdin.isatty()
    kind = rdf.name if rdf and rendering.format else rendering.format
    settings = PromptSettings(mode=language, format=kind, output=rendering.output)
    executor = Executor.open(kb, settings)
    display = Display(settings, pages=interactive and sys.stdout.isatty(), quiet=context.obj.quiet)
    runner = Runner(executor, display, debug=context.obj.debug)
    try:
        code = _interact(runner) if interactive else _run(runner, text)
    finally:
        executor.close()
    raise typer.Exit(code)


def _interact(runner: Runner) -> int:
    from kbkit.shell.repl import Repl

    Repl(runner).run()
    return 0


def _run(runner: Runner, texts: list[str] | None) -> int:
    """Run the statements of -c or of standard input; return the exit code of the first that fails."""
    from kbkit.executor.outcomes import Quit

    try:
        if texts is None:
            return runner.script(read_input(), "stdin")
        for text in texts:
            if code := runner.script(text):
                return code
    except Quit:
        pass
    return 0
