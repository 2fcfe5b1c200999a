"""Commands for STaRK: stark make, generate; further ones are in stark_runs and stark_people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli import stark_people, stark_runs
from kbkit.cli.commands import add, group
from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers, opened, stages
from kbkit.cli.options import DatasetOutput, Kb, MaxAnswers, Restart, Sampling, Seed, counted
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.benchmarks.pipeline import Output as NewDataset


def register(app: typer.Typer) -> None:
    """Add the commands for STaRK to the program."""
    stark = group("Make, run and score STaRK datasets.")
    add(stark, make)
    stark_runs.register(stark)
    stark_people.register(stark)
    add(stark, generate)
    app.add_typer(stark, name="stark")


# -- make -------------------------------------------------------------------------------------------------------------


def make(
    context: typer.Context,
    kb: Kb,
    output: DatasetOutput,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Number of queries to generate.")] = 100,
    seed: Seed = 0,
    template: Annotated[
        list[str] | None,
        typer.Option(
            "--template", metavar="ID", help="Template id, catalogue (mag), TOML file or suggest; repeatable."
        ),
    ] = None,
    roles: Annotated[
        Path | None, typer.Option("--roles", metavar="FILE", help="Roles of the users (default: those of the recipe).")
    ] = None,
    properties: Annotated[
        int, typer.Option("--properties", metavar="N", help="Maximum number of textual properties per query.")
    ] = 2,
    max_candidates: Annotated[
        int, typer.Option("--max-candidates", metavar="N", help="Maximum number of nodes that match the relations.")
    ] = 50,
    min_candidates: Annotated[
        int, typer.Option("--min-candidates", metavar="N", help="Minimum number of nodes that match the relations.")
    ] = 2,
    max_answers: MaxAnswers = 20,
    sampling: Sampling = "uniform",
    gold_share: Annotated[
        float,
        typer.Option(
            "--gold-share",
            metavar="FRACTION",
            help="Without a model: fraction of gold answers each threshold must accept.",
        ),
    ] = 0.95,
    splits: Annotated[
        str | None,
        typer.Option(
            "--splits", metavar="A,B,C", help="Fractions of train, val and test (default: those of the paper)."
        ),
    ] = None,
    replace: Restart = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
) -> None:
    """Make a dataset with verified answers.

    Each query combines relations and textual properties. Without --llm, rules do all steps. With it, the first model
    extracts properties and writes queries, the second rephrases them, and all models verify the answers. An
    interrupted run is resumed.
    """
    from kbkit.benchmarks.stark import make as stark
    from kbkit.ingestion.recipe import load_roles
    from kbkit.kb import KnowledgeBase

    settings = stark.StarkSettings(
        limit,
        seed,
        tuple(template or ()),
        load_roles(roles) if roles else (),
        properties,
        max_candidates,
        min_candidates,
        max_answers,
        sampling,
        gold_share,
        _fractions(splits),
    )
    with (
        KnowledgeBase(kb) as base,
        opened(context, base, llm, budget, price, prompt, workers) as calls,
        stages(context, calls) as progress,
    ):
        made = stark.make(base, output, settings, calls, progress, replace=replace)
    if not context.obj.quiet:
        typer.echo("\n".join(_report(made)))


def _fractions(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        first, second, third = map(float, text.split(","))
    except ValueError:
        raise KbError(
            f"Expected three numbers, found {text!r}", "For example ", Option("splits", "0.6,0.2,0.2")
        ) from None
    return first, second, third


def _report(made: NewDataset) -> Sequence[str]:
    """Return lines that describe a new dataset."""
    report: dict[str, Any] = made.report
    lines = [
        f"{made.folder}: {counted(report['queries'], 'query', 'queries')} of {report['drawn']:,} drawn,"
        f" {report['candidates']:g} candidates and {report['answers']:g} answers each"
    ]
    if report["queries"] < report["wanted"]:
        lines.append(f"Fewer than {report['wanted']:,} queries: add templates or raise --max-candidates")
    if report["golds_verified"] is not None:
        bounds = ", ".join(f"{rule} from {value:.3f}" for rule, value in report["thresholds"].items())
        lines.append(f"Gold answers accepted: {report['golds_verified']:.1%}" + (f" ({bounds})" if bounds else ""))
    lines += [f"Dropped: {count:,}, {reason}" for reason, count in report["dropped"].items()]
    if report["unusable_judgements"]:
        lines.append(f"Invalid judgements of models, counted as no: {report['unusable_judgements']:,}")
    return lines


# -- generate ---------------------------------------------------------------------------------------------------------


def generate(
    context: typer.Context,
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="Shape of the graph: amazon, mag or prime.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Output folder.")],
    scale: Annotated[
        float, typer.Option("--scale", metavar="FACTOR", help="Size of the graph, relative to the published one.")
    ] = 0.001,
    seed: Seed = 0,
    no_texts: Annotated[bool, typer.Option("--no-texts", help="Do not generate texts.")] = False,
) -> None:
    """Generate a random graph in the shape of a STaRK KB.

    The files are input for kbkit ingest table.
    """
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event
    from kbkit.ingestion.generate import generate as write_graph

    with bars(quiet=context.obj.quiet) as listener:

        def progress(stage: str, done: int, total: int) -> None:
            if listener is not None:
                listener(Event(stage, done, total, stage))

        counts = write_graph(shape, output, scale=scale, seed=seed, texts=not no_texts, progress=progress)
    typer.echo(
        f"{output}: {counts['nodes']:,} nodes, {counts['edges']:,} edges, {counts['texts']:,} texts;"
        f" to build a KB: kbkit ingest table {output} -o {shape}.kb"
    )
