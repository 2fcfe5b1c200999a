"""Commands that explore a KB: info, check, show, path, around."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import (
    DrawnRendering,
    Kb,
    Node,
    Picture,
    Plot,
    Relations,
    Rendering,
    TableRendering,
    Type,
    argument,
    draw,
    note,
    option,
    write_drawing,
)
from kbkit.errors import KbError, Option, plural

if TYPE_CHECKING:
    from kbkit.display.charts import Chart
    from kbkit.graph.paths import Paths
    from kbkit.kb import KnowledgeBase


_ROWS = ("csv", "markdown", "parquet")
"""Formats of neighbours, which a page does not have."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    for command in (info, check, show, path, around):
        add(app, command)


def info(
    context: typer.Context,
    kb: Kb,
    stark: Annotated[bool, option("--stark", "Show one row, as in Table 2 of the STaRK paper.")] = False,
    plot: Plot = None,
    *,
    rendering: Rendering,
) -> None:
    """Show types, relations, counts and sizes of a KB.

    Also shows average degree, tokens, build times and versions.
    """
    from kbkit.display.pages import info_frame, print_info
    from kbkit.display.render import write_json
    from kbkit.graph.overview import stark_row
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        draw(context, plot, lambda: _charts(opened))
        if stark:
            rendering.write(stark_row(opened.schema))
            return
        data = opened.info()
    if rendering.on_screen:
        print_info(data, sys.stdout)
    elif rendering.format == "json" and rendering.output is None:
        write_json(data, sys.stdout, indent=1)
    else:
        rendering.write(info_frame(data))


def _charts(kb: KnowledgeBase) -> list[Chart]:
    from kbkit.graph.charts import charts

    return charts(kb.stores)


def check(
    context: typer.Context,
    kb: Kb,
    data: Annotated[bool, option("--data", "List data that may be wrong, with SQL for the rows, instead.")] = False,
    *,
    rendering: Rendering,
) -> None:
    """Verify files and compare the stores.

    Exits with 1 if a file has changed or the stores disagree. --data lists contradictions, values far from the others,
    misspelt values, equal names, nodes without edges, missing values, and the number of edges per node.
    """
    import polars as pl

    from kbkit.cli.models import stages
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened, stages(context, None) as progress:
        if data:
            found_data = opened.suspicions()
            rendering.write(found_data.drop("sql") if rendering.on_screen else found_data)
            return
        found = opened.check(progress)
    rows = [(what, "wrong" if problem else "ok", problem) for what, problem in found]
    rendering.write(pl.DataFrame(rows, schema=["what", "result", "problem"], orient="row"))
    if any(problem for _, problem in found):
        raise typer.Exit(1)


def show(
    kb: Kb,
    node: Node,
    relation: Annotated[
        str | None,
        option("--relation -r RELATION", "List all neighbours by this relation."),
    ] = None,
    limit: Annotated[
        int,
        option("--limit -n N", "Maximum number of neighbours per relation, direction and type."),
    ] = 5,
    full: Annotated[bool, option("--full", "Show texts in full.")] = False,
    similar: Annotated[bool, option("--similar", "List the nodes with the most similar graph embeddings.")] = False,
    type: Type = None,
    *,
    rendering: TableRendering,
) -> None:
    """Show a node with its texts and neighbours.

    csv, markdown, parquet and -o list the neighbours only. --similar compares the graph embeddings that kbkit build KB
    embeddings computes; the score is their inner product, the type by default that of the node.
    """
    from kbkit.display.pages import print_lines
    from kbkit.display.render import width_of, write_json
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.nodes import typed

    reference = typed(node)
    if type is not None and not similar:
        raise KbError("Option --type needs --similar", "Use ", Option("similar"))
    with KnowledgeBase(kb) as opened:
        if similar:
            rendering.write(opened.related(reference, limit, type))
            return
        if relation is not None or rendering.format in _ROWS or rendering.output is not None:
            rendering.write(opened.neighbors(reference, relation))
            return
        page = opened.page(reference, limit)
    if rendering.on_screen:
        print_lines(page.lines(width_of(sys.stdout), full=full or rendering.wrap), sys.stdout)
    else:
        write_json(page.data, sys.stdout, indent=None if rendering.format != "json" else 1)


def path(
    context: typer.Context,
    kb: Kb,
    start: Annotated[str, argument("FROM", "Name, key, type:name, type#key, or #ID of a node.")],
    end: Annotated[str, argument("TO", "The other node, in the same notation.")],
    max_steps: Annotated[int, option("--max-steps N", "Maximum length of a path.")] = 4,
    limit: Annotated[int, option("--limit -n N", "Maximum number of paths.")] = 10,
    relation: Relations = None,
    type: Annotated[list[str] | None, option("--type -t TYPE", "Node type to pass through; repeatable.")] = None,
    max_degree: Annotated[int | None, option("--max-degree N", "Leave out nodes with more neighbours.")] = None,
    longer: Annotated[bool, option("--longer", "Fill up to the limit with longer paths, without hubs.")] = False,
    plot: Picture = None,
    *,
    rendering: DrawnRendering,
) -> None:
    """Find the shortest paths between two nodes.

    Edges are followed in both directions. Paths through nodes with few neighbours come first. "-> [r] -> B" is an edge
    to B, "<- [r] <- B" one from B. Formats other than table have one row for each node of a path and each relation that
    leads to it: path, step (0 is FROM), relation, direction (out, or in for an edge against the arrow), id, key, type,
    name. Exits with 1 if there is no path.
    """
    from kbkit.display.render import width_of
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.nodes import typed

    drawn = rendering.is_drawing()
    with KnowledgeBase(kb) as opened:
        found = opened.paths(
            typed(start), typed(end), max_steps, limit, relation, type, longer=longer, max_degree=max_degree
        )
        if not found:
            raise _no_path(found, max_steps, bool(relation or type or max_degree is not None))
        write_drawing(context, found, plot)
        write_drawing(context, found, rendering.output if drawn else None)
    if drawn:
        return
    if rendering.on_screen:
        typer.echo("\n".join(found.lines(width_of(sys.stdout))))
        if found.unsearched and not longer:
            note(context, ["For longer paths: --longer"])
    else:
        rendering.write(found.frame())


def _no_path(found: Paths, steps: int, restricted: bool) -> KbError:
    """Return the error that no path exists, with a hint on how to find one."""
    from kbkit.graph.paths import MAX_STEPS

    ends = f"{found.start.name} ({found.start.reference}) to {found.end.name} ({found.end.reference})"
    wider = ("Allow more relations or types",) if restricted else ()
    if found.separate:
        return KbError(f"No path from {ends}", *(wider or ("They are in separate parts of the graph",)))
    longer = ("Use ", Option("max_steps", str(min(steps + 2, MAX_STEPS))), " to search further")
    return KbError(f"No path of at most {plural(steps, 'step')} from {ends}", *(wider or longer))


def around(
    context: typer.Context,
    kb: Kb,
    node: Node,
    hops: Annotated[int, option("--hops N", "Maximum distance in steps.")] = 1,
    relation: Relations = None,
    type: Annotated[list[str] | None, option("--type -t TYPE", "Node type to pass through; repeatable.")] = None,
    limit: Annotated[int, option("--limit -n N", "Maximum number of nodes, nearest first.")] = 150,
    plot: Picture = None,
    *,
    rendering: DrawnRendering,
) -> None:
    """Count, draw or export the neighbourhood of a node.

    Edges are followed in both directions.
    """
    from kbkit.display.drawing import ENDINGS
    from kbkit.display.render import width_of
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.nodes import typed

    drawn = rendering.is_drawing()
    with KnowledgeBase(kb) as opened:
        found = opened.around(typed(node), hops, limit, relation, type)
    write_drawing(context, found, plot)
    if drawn:
        write_drawing(context, found, rendering.output)
    elif rendering.on_screen:
        typer.echo("\n".join(found.lines(width_of(sys.stdout))))
        if plot is None:
            note(context, [f"To draw it or to export the graph: -o FILE ({', '.join(ENDINGS)})"])
    else:
        rendering.write(found.found)
