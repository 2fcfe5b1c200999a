"""Commands for STaRK: stark make, generate; further ones are in stark_runs and stark_people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli import stark_people, stark_runs
from kbkit.cli.commands import add, group
from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers, opened, stages
from kbkit.cli.options import DatasetOutput, Kb, Restart, Sampling, Seed, counted
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.benchmarks.pipeline import Output as NewDataset
    from kbkit.benchmarks.requirements.answer_counts import Target


_CLOSE = 0.1
"""Relative distance from the target up to which it counts as reached."""


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
        int, typer.Option("--properties", metavar="N", help="Maximum number of requirements per query.")
    ] = 2,
    max_candidates: Annotated[
        int | None,
        typer.Option(
            "--max-candidates",
            metavar="N",
            help="Maximum number of nodes that match the relations (default: 3 times --max-answers, at least 50).",
        ),
    ] = None,
    min_candidates: Annotated[
        int, typer.Option("--min-candidates", metavar="N", help="Minimum number of nodes that match the relations.")
    ] = 2,
    max_answers: Annotated[
        int | None,
        typer.Option(
            "--max-answers", metavar="N", help="Maximum number of answers per query (default: 20, or more for --like)."
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="NAME",
            help="Numbers of answers as in amazon, mag or prime (default: mag, or the catalogue's).",
        ),
    ] = None,
    several: Annotated[
        float | None,
        typer.Option(
            "--several", metavar="FRACTION", help="Fraction of queries with several answers; needs --mean-answers."
        ),
    ] = None,
    mean_answers: Annotated[
        float | None,
        typer.Option("--mean-answers", metavar="N", help="Mean number of answers (needs --several)."),
    ] = None,
    relations_only: Annotated[
        float | None,
        typer.Option(
            "--relations-only",
            metavar="FRACTION",
            help="Fraction of queries without textual requirements (default: as few as the target needs).",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="FIELD", help="With the value name, names of nodes are their texts."),
    ] = None,
    sampling: Sampling = "uniform",
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
    from kbkit.benchmarks.requirements.settings import StarkSettings
    from kbkit.benchmarks.stark import make as stark
    from kbkit.ingestion.recipe import load_roles
    from kbkit.kb import KnowledgeBase

    settings = StarkSettings(
        limit,
        seed,
        tuple(template or ()),
        load_roles(roles) if roles else (),
        properties,
        max_candidates,
        min_candidates,
        max_answers,
        sampling,
        _target(like, several, mean_answers),
        relations_only,
        text or "",
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


def _target(like: str | None, several: float | None, mean: float | None) -> Target | None:
    """Return the numbers of answers to aim at, if any are given."""
    from kbkit.benchmarks.requirements.answer_counts import Target, target_of

    if like and (several is not None or mean is not None):
        raise KbError(
            "Conflicting targets", "Use ", Option("like"), ", or ", Option("several"), " with ", Option("mean_answers")
        )
    if (several is None) != (mean is None):
        raise KbError("Incomplete target", "Use ", Option("several"), " and ", Option("mean_answers"), " together")
    if several is not None and mean is not None:
        return Target(several, mean)
    return target_of(like) if like else None


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


def _answers(report: dict[str, Any]) -> list[str]:
    """Return lines about the numbers of answers, and what kept them from the target."""
    target, several, mean = report["target"], report["several"], report["answers"]
    if not target:
        return [f"Several answers: {several:.1%}, mean {mean:.2f}"]
    lines = [
        f"Several answers: {several:.1%} (target {target['several']:.0%}), mean {mean:.2f} (target {target['mean']:g})"
    ]
    if abs(mean / target["mean"] - 1) > _CLOSE or abs(several - target["several"]) > _CLOSE * target["several"]:
        lines.append(
            f"The KB bounds the answers: of {report['drawn_for_many']:,} queries drawn for 3 or more,"
            f" {report['reached_of_many']:,} have as many as wanted"
        )
    return lines


def _report(made: NewDataset) -> Sequence[str]:
    """Return lines that describe a new dataset."""
    report: dict[str, Any] = made.report
    lines = [
        f"{made.folder}: {counted(report['queries'], 'query', 'queries')} of {report['drawn']:,} drawn,"
        f" {report['candidates']:g} candidates each"
    ]
    if report["queries"] < report["wanted"]:
        lines.append(f"Fewer than {report['wanted']:,} queries: add templates or raise --max-candidates")
    lines += _answers(report)
    lines.append(
        f"Requirements: {counted(report['phrases'], 'phrase')} of texts, {counted(report['conditions'], 'attribute')};"
        f" {counted(report['relations_only'], 'query', 'queries')} for relations alone"
    )
    if 2 * report["repeating_phrases"] > report["phrases"] > 0:
        lines.append(
            f"{report['repeating_phrases']:,} phrases are names of neighbours: these texts repeat a relation, so that"
            " graph search alone can answer their queries"
        )
    if report["golds_verified"] is not None:
        lines.append(f"Gold answers accepted: {report['golds_verified']:.1%}")
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
