"""Commands that serve a KB to other programs and to a browser: serve, mcp, explore."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import Dialect, Kb, MaxRows, Timeout, note, option, seconds

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_PORT = 7890


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    for command in (serve, mcp, explore):
        add(app, command)


def serve(
    context: typer.Context,
    kb: Kb,
    port: Annotated[int, option("--port PORT", "Port to listen on (0: any free one).")] = _PORT,
    allow_origin: Annotated[
        list[str] | None,
        option(
            "--allow-origin ORIGIN",
            "Origin whose pages may send queries, such as https://yasgui.triply.cc; localhost: all pages of this"
            " machine (default: none); repeatable.",
        ),
    ] = None,
    dialect: Dialect = None,
    limit: Annotated[int | None, option("--limit -n N", "Maximum number of rows per query.", min=0)] = None,
    timeout: Timeout = 60,
) -> None:
    """Serve a KB as a SPARQL endpoint on this machine.

    It speaks the SPARQL 1.1 protocol at http://127.0.0.1:PORT/sparql, read-only, until Ctrl-C. Other machines cannot
    reach it (see kbkit docs sparql).
    """
    from kbkit.kb import KnowledgeBase
    from kbkit.web import description, server, sparql
    from kbkit.web.app import application
    from kbkit.web.rules import Rules

    limits, rules = sparql.EndpointLimits(seconds(timeout), limit), Rules.of(allow_origin or ())
    with KnowledgeBase(kb) as opened, server.listen(port) as listening:
        app = application(opened, limits, rules, dialect)
        address = server.url(listening) + sparql.PATH

        def started() -> None:
            typer.echo(f"{opened.schema.name}: {address}")
            note(context, [description.curl(address), "Press Ctrl-C to stop."])

        server.server(app, started, debug=context.obj.debug).run(sockets=[listening])


def mcp(
    context: typer.Context,
    kb: Kb,
    http: Annotated[
        int | None,
        option(
            "--http PORT", "Serve http://127.0.0.1:PORT/mcp (0: any free port) instead of standard input and output."
        ),
    ] = None,
    limit: MaxRows = 1_000,
    timeout: Timeout = 60,
) -> None:
    """Serve a KB to agents as MCP tools.

    The tools (Model Context Protocol) do not change the KB; the server uses standard input and output, or with --http
    the streamable HTTP of the protocol, on this machine only.
    """
    from kbkit.kb import KnowledgeBase
    from kbkit.mcp import server as mcp_server

    limits = mcp_server.ToolLimits(limit, seconds(timeout))
    with KnowledgeBase(kb) as known:
        if http is None:
            mcp_server.serve(known, limits)
            return
        from kbkit.web import server
        from kbkit.web.rules import Guard, Rules

        with server.listen(http) as listening:
            app = Guard(mcp_server.application(known, limits), Rules())

            def started() -> None:
                typer.echo(f"{known.schema.name}: {server.url(listening)}{mcp_server.PATH}")
                note(context, ["Press Ctrl-C to stop."])

            server.server(app, started, debug=context.obj.debug).run(sockets=[listening])


def explore(
    context: typer.Context,
    kb: Kb,
    port: Annotated[int, option("--port PORT", "Port to listen on (0: any free one).")] = 0,
    no_browser: Annotated[bool, option("--no-browser", "Print the address without opening a browser.")] = False,
    new_token: Annotated[
        bool, option("--new-token", "With --port: replace the token that is kept for bookmarks.")
    ] = False,
    limit: MaxRows = 100_000,
    timeout: Timeout = 60,
) -> None:
    """Explore a KB in a browser.

    Opens a page of a server on this machine, which runs until Ctrl-C and which other machines cannot reach. Only a
    browser that opened the printed address sees the pages; with --port, it does so again after a restart. The KB is
    read-only (see kbkit docs explore).
    """
    from kbkit.kb import KnowledgeBase
    from kbkit.web.explore import access
    from kbkit.web.explore.app import application
    from kbkit.web.explore.site import PageLimits

    limits = PageLimits(seconds(timeout), limit)
    with KnowledgeBase(kb) as opened:
        open_pages(
            context,
            opened.schema.name,
            port,
            lambda token, once: application(opened, token, limits, once, kept=bool(port)),
            browser=not no_browser,
            token=access.kept_token(kb, new=new_token) if port else "",
        )


def open_pages(
    context: typer.Context,
    name: str,
    port: int,
    application: Callable[[str, str], ASGIApp],
    *,
    browser: bool = True,
    token: str = "",
) -> None:
    """Serve the pages of an application, made for two tokens, until Ctrl-C, and open them in a browser.

    The first ``token`` is random if none is given.
    """
    from kbkit.web import server
    from kbkit.web.explore import access

    token, once = token or access.new_token(), access.new_token()
    with server.listen(port) as listening:
        address = f"{server.url(listening)}/?{access.TOKEN}="

        def started() -> None:
            typer.echo(f"{name}: {address}{token}")
            note(context, ["Press Ctrl-C to stop."])
            if browser:
                server.open_browser(address + once)

        server.server(application(token, once), started, debug=context.obj.debug).run(sockets=[listening])
