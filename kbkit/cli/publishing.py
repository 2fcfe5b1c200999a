"""The command that publishes a dataset of any benchmark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kbkit.benchmarks.publish.settings import PublishSettings
from kbkit.cli.commands import add
from kbkit.cli.options import argument, note, option
from kbkit.errors import plural


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    add(app, publish)


def publish(
    context: typer.Context,
    dataset: Annotated[Path, argument("DATASET", "Folder of a dataset, or a file of questions with SPARQL.")],
    output: Annotated[Path, option("--output -o FOLDER", "Folder to publish.")],
    settings: PublishSettings,
    kb: Annotated[
        Path | None,
        option("--kb KB", "KB of the dataset: the documents of STaRK, and the licence."),
    ] = None,
    replace: Annotated[bool, option("--replace", "Overwrite an earlier publication.")] = False,
) -> None:
    """Write a dataset for other libraries to load.

    The folder loads unchanged in Hugging Face datasets and mlcroissant; that of a STaRK or QUEST dataset also in BEIR,
    mteb, ir_datasets, ranx and ir_measures. A dataset card says how the dataset was made, with statistics and
    checksums. The same dataset gives the same bytes.
    """
    from kbkit.benchmarks.published import publish as write
    from kbkit.cli.models import stages
    from kbkit.cli.papers.factory import opened_if_given
    from kbkit.cli.spelling import SPELLER

    started = time.perf_counter()
    with opened_if_given(kb) as base, stages(context, None) as step:
        done = write(dataset, output, base, settings, overwrite=replace, progress=step, speller=SPELLER)
    rows = ", ".join(f"{count:,} {name}" for name, count in done.rows.items())
    size, seconds = done.bytes / 1e6, time.perf_counter() - started
    note(context, [f"{output}: {rows}", f"{plural(done.files, 'file')}, {size:,.1f} MB in {seconds:.1f} s"])
