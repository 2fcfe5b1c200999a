"""Commands that look at a KB: info, check, show."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Kb, Output, on_screen
from kbkit.cli.plots import Plot, draw

if TYPE_CHECKING:
    from kbkit.display.charts import Chart
    from kbkit.kb import KnowledgeBase


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    app.command()(info)
    app.command()(check)
    app.command()(show)


def info(
    context: typer.Context,
    kb: Kb,
    stark: Annotated[bool, typer.Option("--stark", help="Only a row of the STaRK paper's Table 2.")] = False,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """What a KB holds: types, relations, counts, average degree, tokens, sizes on disk, build times, versions."""
    from kbkit.display.render import write
    from kbkit.graph.overview import stark_row
    from kbkit.graph.pages import info_frame, print_info
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        draw(context, plot, lambda: _charts(opened))
        if stark:
            write(stark_row(opened.schema), format, output)
            return
        data = opened.info()
    if on_screen(format, output):
        print_info(data, sys.stdout)
    elif format == "json" and output is None:
        typer.echo(json.dumps(data, indent=1, ensure_ascii=False, default=str))
    else:
        write(info_frame(data), format, output)


def _charts(kb: KnowledgeBase) -> list[Chart]:
    from kbkit.graph.charts import charts

    return charts(kb.stores)


def check(context: typer.Context, kb: Kb, format: Format = None, output: Output = None) -> None:
    """Check that the stores agree and that all files are as they were written. Exits with 1 when something is wrong."""
    import polars as pl

    from kbkit.cli.models import stages
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened, stages(context, None) as progress:
        found = opened.check(progress)
    frame = pl.DataFrame(
        [(what, "wrong" if problem else "ok", problem) for what, problem in found],
        schema=["what", "result", "problem"],
        orient="row",
    )
    write(frame, format, output)
    if any(problem for _, problem in found):
        raise typer.Exit(1)


def show(
    kb: Kb,
    node: Annotated[str, typer.Argument(help="A name, a key, type:name, type#key, or an id as #ID.")],
    relation: Annotated[str | None, typer.Option("--relation", "-r", help="All neighbours by this relation.")] = None,
    limit: Annotated[int, typer.Option("-n", help="Neighbours to show of each relation, direction and type.")] = 5,
    full: Annotated[bool, typer.Option("--full", help="All of each text.")] = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """A node's page: attributes, texts, neighbours by relation and type with counts."""
    from kbkit.display.render import width_of, write
    from kbkit.graph.pages import print_lines
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.nodes import typed

    reference = typed(node)
    with KnowledgeBase(kb) as opened:
        if relation is not None or format in ("csv", "markdown", "parquet") or output is not None:
            write(opened.neighbors(reference, relation), format, output)
            return
        page = opened.page(reference, limit)
    if on_screen(format, output):
        print_lines(page.lines(width_of(sys.stdout), full=full), sys.stdout)
    else:
        typer.echo(json.dumps(page.data, indent=None if format != "json" else 1, ensure_ascii=False, default=str))
