"""Commands that ask a KB: sql, sparql, queries."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Kb, Output, Timeout, pairs
from kbkit.errors import KbError, UnknownNameError

if TYPE_CHECKING:
    from kbkit.assets.queries import Query

QueryName = Annotated[
    str | None,
    typer.Argument(metavar="[QUERY]", help="A file, or a shipped query (kbkit queries); - reads standard input."),
]
Text = Annotated[str | None, typer.Option("-c", metavar="TEXT", help="The query itself.")]
Parameters = Annotated[
    list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="A parameter: $NAME in the query.")
]


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    app.command()(sql)
    app.command()(sparql)
    app.command()(queries)


def sql(
    kb: Kb,
    query: QueryName = None,
    text: Text = None,
    parameters: Parameters = None,
    timeout: Timeout = 0,
    allow_files: Annotated[bool, typer.Option("--allow-files", help="Let the SQL read and write files.")] = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """Run SQL: a file, a shipped query by name, or text."""
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    chosen = _chosen("sql", query, text, timeout)
    with KnowledgeBase(kb) as opened:
        frame = opened.run(chosen, pairs(parameters or [], "-p"), timeout or None, allow_files=allow_files)
    write(frame, format, output)


def sparql(
    kb: Kb,
    query: QueryName = None,
    text: Text = None,
    parameters: Parameters = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            help="sparql, or wikidata: queries as the Wikidata Query Service takes them. By default that of the KB."
        ),
    ] = None,
    print_: Annotated[
        bool, typer.Option("--print", help="Print the query as the engine gets it; run nothing.")
    ] = False,
    max_rows: Annotated[int | None, typer.Option(metavar="N", help="Rows at most: a LIMIT.")] = None,
    timeout: Timeout = 60,
    format: Format = None,
    output: Output = None,
) -> None:
    """Run SPARQL: a file, a shipped query by name, or text. The KB's prefixes are supplied.

    SERVICE kb:search { ?x kb:matches "words" } searches the KB's texts.
    """
    from kbkit.assets.parameters import read_all
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    chosen = _chosen("sparql", query, text, timeout)
    with KnowledgeBase(kb) as opened:
        params = read_all(opened, chosen, pairs(parameters or [], "-p"))
        if print_:
            typer.echo(str(opened.rewrite(chosen.text, dialect, max_rows, **params)).rstrip("\n"))
            return
        frame = opened.sparql(chosen.text, timeout or None, dialect=dialect, max_rows=max_rows, **params)
    write(frame, format, output)


def _chosen(kind: str, query: str | None, text: str | None, timeout: float) -> Query:
    """The query that the arguments name."""
    from kbkit.assets import queries as files

    if (query is None) == (text is None):
        raise KbError("name one query, or give its text with -c", f"kbkit {kind} DIR -c 'SELECT ...'")
    if timeout < 0:
        raise KbError(f"--timeout {timeout:g} is negative", "give seconds, or 0 for never")
    text = sys.stdin.read() if query == "-" else text
    return files.Query(kind, "-c", "", "", (), text) if text is not None else files.load(kind, str(query))


def queries(
    name: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="One query, to print its text.")] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """List the shipped SQL and SPARQL queries, or print one."""
    from kbkit.assets import queries as files
    from kbkit.display.render import write

    if name is None:
        write(files.listed(), format, output)
        return
    known = files.all_shipped()
    hits = [query for query in known if name in (query.name, query.name.split("/")[1])]
    if not hits:
        raise UnknownNameError("query", name, [query.name for query in known])
    typer.echo("\n".join(query.text for query in hits), nl=False)
