"""The command that writes a KB to files of other programs: export."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kbkit.cli.options import Kb


def register(app: typer.Typer) -> None:
    """Add this file's command to the program."""
    app.command()(export)


def export(
    context: typer.Context,
    kb: Kb,
    to: Annotated[str, typer.Option("--to", help="parquet, csv, ntriples or kgtk.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="A folder for parquet and csv; a file for ntriples (.nt; .nq where the source is RDF) and kgtk (.tsv),"
            " .gz after it compresses; - for standard output.",
        ),
    ],
    flat: Annotated[
        bool,
        typer.Option(
            "--flat",
            help="For parquet and csv: one file each of nodes, edges and texts, and a recipe that builds the KB again.",
        ),
    ] = False,
    gzip: Annotated[bool, typer.Option("--gzip", help="For csv: compress the files.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a file, or a former export.")] = False,
) -> None:
    """Write a KB to files that other programs read."""
    from kbkit.cli.progress import bars
    from kbkit.export import export as write
    from kbkit.kb import KnowledgeBase

    started = time.perf_counter()
    with KnowledgeBase(kb) as opened, bars(context.obj.quiet) as listener:
        done = write(opened.stores, to, out, flat=flat, gzip=gzip, replace=replace, progress=listener)
    if context.obj.quiet or done.out == "-":
        return
    again = f"; kbkit ingest {_folder(out)} --out again.kb builds it again" if flat else ""
    typer.echo(
        f"{out}: {done.nodes:,} nodes, {done.edges:,} edges, {done.texts:,} texts;"
        f" {done.bytes / 1e6:,.1f} MB in {time.perf_counter() - started:.1f} s{again}",
        err=True,
    )


def _folder(out: Path) -> str:
    """A path that ``ingest`` takes for a folder and not for a recipe's name."""
    return str(out) if len(out.parts) > 1 else f"./{out}"
