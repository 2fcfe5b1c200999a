"""``kbkit stark make``: a dataset in four stages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.models import Budget, Llm, Price, PromptFiles, Workers, opened, stages
from kbkit.cli.options import Kb
from kbkit.errors import KbError

if TYPE_CHECKING:
    from kbkit.benchmarks.pipeline import Output


Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The dataset's folder.")]
Count = Annotated[int, typer.Option("-n", help="Queries.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same.")]
Templates = Annotated[
    list[str] | None,
    typer.Option(
        "--templates", "-t", metavar="ID", help="A template, a catalogue (mag), a TOML file or `suggest`; repeat it."
    ),
]
Roles = Annotated[
    Path | None, typer.Option("--roles", metavar="FILE", help="Who asks, in the place of the recipe's [roles].")
]
Properties = Annotated[int, typer.Option("--properties", help="The most that is asked of a text.")]
Most = Annotated[int, typer.Option("--max-candidates", help="The most nodes that relations may leave.")]
Least = Annotated[int, typer.Option("--min-candidates", help="The fewest; 2 leave the text something to decide.")]
Answers = Annotated[int, typer.Option("--max-answers", help="The most answers of a query.")]
Weight = Annotated[str, typer.Option("--weight", help="uniform, or popular: nodes with more edges more often.")]
GoldShare = Annotated[
    float, typer.Option("--gold-share", help="Without a model: the golds that each threshold lets pass.")
]
Splits = Annotated[
    str | None, typer.Option("--splits", metavar="A,B,C", help="Shares of train, val, test; else the paper's.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Begin anew where another run's stages are.")]


def make(
    context: typer.Context,
    kb: Kb,
    out: Out,
    count: Count = 100,
    seed: Seed = 0,
    templates: Templates = None,
    roles: Roles = None,
    properties: Properties = 2,
    candidates: Most = 50,
    least: Least = 2,
    answers: Answers = 20,
    weight: Weight = "uniform",
    gold_share: GoldShare = 0.95,
    splits: Splits = None,
    replace: Replace = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: PromptFiles = None,
    workers: Workers = 8,
) -> None:
    """Make a dataset: relations, textual properties, a query of both, and every answer verified.

    Without --llm everything is done by rules. With it, the first model takes properties and writes queries, the second
    rephrases them, and all of them verify. A run that was stopped goes on where it was.
    """
    from kbkit.benchmarks.stark import make as stark
    from kbkit.ingestion.recipe import load_roles
    from kbkit.kb import KnowledgeBase

    settings = stark.StarkSettings(
        count,
        seed,
        tuple(templates or ()),
        load_roles(roles) if roles else (),
        properties,
        candidates,
        least,
        answers,
        weight,
        gold_share,
        _shares(splits),
    )
    with (
        KnowledgeBase(kb) as base,
        opened(context, base, llm, budget, price, prompt, workers) as calls,
        stages(context, calls) as progress,
    ):
        made = stark.make(base, out, settings, calls, progress, replace=replace)
    for line in [] if context.obj.quiet else _lines(made):
        typer.echo(line)


def _shares(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        first, second, third = map(float, text.split(","))
    except ValueError:
        raise KbError(f"--splits {text!r} is not three numbers", "e.g. --splits 0.6,0.2,0.2") from None
    return first, second, third


def _lines(made: Output) -> Sequence[str]:
    """What was made, for a person."""
    report: dict[str, Any] = made.report
    lines = [
        f"{made.folder}: {report['queries']:,} {'query' if report['queries'] == 1 else 'queries'}"
        f" of {report['drawn']:,} drawn,"
        f" {report['candidates']:g} candidates and {report['answers']:g} answers each"
    ]
    if report["queries"] < report["wanted"]:
        lines.append(f"{report['wanted']:,} were asked for; more templates or --max-candidates give more")
    if report["golds_verified"] is not None:
        bounds = ", ".join(f"{rule} from {value:.3f}" for rule, value in report["thresholds"].items())
        lines.append(f"gold answers that pass: {report['golds_verified']:.1%}" + (f" ({bounds})" if bounds else ""))
    lines += [f"left out: {count:,}, {reason}" for reason, count in report["dropped"].items()]
    if report["unusable_judgements"]:
        lines.append(f"judgements of models that could not be used, and count as no: {report['unusable_judgements']:,}")
    return lines
