"""Commands that follow edges from a node: path, around."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Kb, Output, on_screen

if TYPE_CHECKING:
    from kbkit.graph.paths import Paths

Relations = Annotated[
    list[str] | None,
    typer.Option("--relation", "-r", metavar="RELATION", help="Only by this relation; may be given several times."),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", "-t", metavar="TYPE", help="Only over nodes of this type; may be given several times."),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    app.command()(path)
    app.command()(around)


def path(
    kb: Kb,
    start: Annotated[str, typer.Argument(metavar="FROM", help="A name, a key, type:name, type#key, or an id as #ID.")],
    end: Annotated[str, typer.Argument(metavar="TO", help="The same.")],
    longest: Annotated[int, typer.Option("--max", help="Steps of the longest path to look for.")] = 4,
    limit: Annotated[int, typer.Option("-n", help="Paths to show.")] = 10,
    relation: Relations = None,
    type: Types = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """The shortest paths that connect two nodes, whichever way edges run. Exits with 1 when there is none.

    Those through nodes of few neighbours come first. On a terminal "-> [r] -> B" is an edge to B, "<- [r] <- B" one
    from B. Other formats have a row for each node of a path, and each relation that leads to it: path, step (0 is
    FROM), relation, direction (out, or in for an edge against the arrow), id, key, type, name.
    """
    from kbkit.display.render import check, width_of, write
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.nodes import typed

    if not on_screen(format, output):
        check(format, output)
    with KnowledgeBase(kb) as opened:
        found = opened.paths(typed(start), typed(end), longest, limit, relation, type)
    if not found:
        _none(found, longest, bool(relation or type))
    if on_screen(format, output):
        typer.echo("\n".join(found.lines(width_of(sys.stdout))))
    else:
        write(found.frame(), format, output)


def _none(found: Paths, longest: int, restricted: bool) -> None:
    """Say that there is no path, and what would find one."""
    from kbkit.errors import KbError
    from kbkit.graph.paths import MAX_STEPS

    ends = f"{found.start.name} ({found.start.reference}) and {found.end.name} ({found.end.reference})"
    wider = "more relations and types may" if restricted else ""
    if found.separate:
        raise KbError(f"no path joins {ends}", wider or "they lie in separate parts of the graph")
    wider = wider or f"--max {min(longest + 2, MAX_STEPS)} looks further"
    raise KbError(f"no path of at most {longest} step{'s' * (longest != 1)} joins {ends}", wider)


def around(
    context: typer.Context,
    kb: Kb,
    node: Annotated[str, typer.Argument(help="A name, a key, type:name, type#key, or an id as #ID.")],
    hops: Annotated[int, typer.Option(help="Steps to go, whichever way edges run.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it (.html, .svg, .png) or write the graph (.graphml, .dot)."),
    ] = None,
    relation: Relations = None,
    type: Types = None,
    limit: Annotated[int, typer.Option(help="Nodes to keep: the nearest; of too many, some of each relation.")] = 150,
    format: Format = None,
    output: Output = None,
) -> None:
    """What lies around a node: how many nodes of each type within some steps, or a drawing of them (--out)."""
    from kbkit.display.drawing import ENDINGS, check
    from kbkit.display.render import check as check_output
    from kbkit.display.render import clean, width_of, write
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.nodes import typed

    if out is not None:
        check(out)
    if out is None and not on_screen(format, output):
        check_output(format, output)
    with KnowledgeBase(kb) as opened:
        found = opened.around(typed(node), hops, limit, relation, type)
    if out is not None:
        found.write(out)
        if not context.obj.quiet:
            typer.echo(clean(f"{out}: {found.summary}"), err=True)
    elif on_screen(format, output):
        typer.echo("\n".join(found.lines(width_of(sys.stdout))))
        if not context.obj.quiet:
            typer.echo(f"--out FILE draws it or writes the graph: {', '.join(ENDINGS)}", err=True)
    if output is not None or (out is None and not on_screen(format, output)):
        write(found.found, format, output)
