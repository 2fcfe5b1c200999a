"""Commands for STaRK that need people: stark write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import DatasetOutput, Kb, Seed, Types, counted, note
from kbkit.errors import KbError

if TYPE_CHECKING:
    from kbkit.graph.nodes import Node
    from kbkit.kb import KnowledgeBase

NEIGHBORS = 5
"""Neighbours per relation on the page of an entity."""


def register(stark: typer.Typer) -> None:
    """Add the commands of this file to those for STaRK."""
    add(stark, write)


# -- write ------------------------------------------------------------------------------------------------------------


def write(
    context: typer.Context,
    kb: Kb,
    output: DatasetOutput,
    types: Types = None,
    seed: Seed = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of queries.")
    ] = None,
) -> None:
    """Write queries by hand.

    For each random entity shown, you write a query that does not contain its name (section 2.6 of the paper). An empty
    line skips the entity; q or end of input quits. Each query is saved immediately, to an existing or a new dataset.
    """
    from kbkit.benchmarks.stark import human
    from kbkit.kb import KnowledgeBase

    written = 0
    human.check_folder(output)
    with KnowledgeBase(kb) as base:
        names = human.naming(base, types or (), output)
        for drawn in human.draw(base, types or (), seed, human.answered(output)):
            node = _show(base, drawn)
            query = _query(node)
            if query is None:
                break
            if query:
                typer.echo(f"saved as query {human.append(base, output, query, node, seed, names=names)}\n")
                written += 1
            if written == limit:
                break
        else:
            typer.echo("No more entities")
    note(context, [f"{human.table(output)}: {counted(written, 'query', 'queries')} written"])


def _show(kb: KnowledgeBase, drawn: int) -> Node:
    """Print a node with shortened texts and some paths of two steps."""
    from kbkit.benchmarks.stark import human
    from kbkit.display.render import clean, width_of
    from kbkit.graph.pages import print_lines

    node = kb.node(drawn)
    print_lines(kb.page(drawn, NEIGHBORS).lines(width_of(sys.stdout)), sys.stdout)
    paths = human.paths(kb, node)
    if paths:
        typer.secho("\npaths", bold=True)
        for path in paths:
            typer.echo(clean(f"  {path}").replace("\n", " "))
    typer.echo("")
    return node


def _query(node: Node) -> str | None:
    """Read a query that does not contain the name of the node; empty to skip the entity, None to end."""
    from kbkit.benchmarks.stark.human import leak

    while line := _line():
        if line == "q":
            return None
        name = leak(line, node)
        if not name:
            return line
        typer.echo(f"The query contains the name {name}; rewrite it without the name (empty line: skip, q: end)")
    return line


def _line() -> str | None:
    """Read a line of the input without surrounding white space; None at its end."""
    from kbkit.display.render import clean

    typer.echo("query> ", nl=False)
    try:
        line = input().strip()
        line.encode()  # some locales decode invalid bytes as surrogates
    except EOFError:
        typer.echo("")
        return None
    except UnicodeError:
        raise KbError("Invalid UTF-8 in standard input", "Convert it to UTF-8, for example with iconv") from None
    if not sys.stdin.isatty():
        typer.echo(clean(line))  # as a terminal would
    return line
