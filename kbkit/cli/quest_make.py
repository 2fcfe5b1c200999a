"""Commands that make QUEST datasets: quest make and quest documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.models import Budget, Llm, Price, PromptFiles, Workers
from kbkit.cli.options import Kb, pairs
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.constraints import Constraints
    from kbkit.benchmarks.pipeline import Output
    from kbkit.benchmarks.quest.make import QuestSettings

Domain = Annotated[
    list[str] | None, typer.Option("--domain", "-d", metavar="TYPE", help="What queries ask for; repeat it.")
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without-field", metavar="NAME", help="A text field that documents leave out; repeat it."),
]

Out = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The dataset's folder.")]
Number = Annotated[int, typer.Option("-n", help="Queries in all, spread evenly over domains and shapes.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same.")]
Least = Annotated[int, typer.Option("--min", help="Answers at least.")]
Most = Annotated[int, typer.Option("--max", help="Answers at most.")]
Category = Annotated[
    list[str] | None,
    typer.Option("--category", metavar="EXPR", help="More categories: an expression with one <slot>; repeat it."),
]
CategoryFile = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="More categories: category<TAB>key, or JSON lines; repeat it.")
]
Phrases = Annotated[Path | None, typer.Option(metavar="FILE", help='TOML: "FAMILY" = "movies that {name} directed".')]
Constraint = Annotated[
    list[str] | None,
    typer.Option("--constraint", metavar="NAME=VALUE", help="A constraint on the sides of operations; repeat it."),
]
Scale = Annotated[
    bool, typer.Option("--scale-constraints", help="Halve bounds on sizes where a shape is short of queries.")
]
Require = Annotated[
    str, typer.Option(metavar="HOW", help="Keep answers whose documents show: none, partial, complete.")
]
NoEvidence = Annotated[bool, typer.Option("--no-evidence", help="Do not look at documents: for domains without texts.")]
Replace = Annotated[bool, typer.Option("--replace", help="Begin anew where the folder has a dataset.")]


def register(app: typer.Typer) -> None:
    """Add this file's commands to the group ``quest``."""
    for command in (make, documents):
        app.command()(command)


def make(
    context: typer.Context,
    kb: Kb,
    out: Out,
    domain: Domain = None,
    number: Number = 350,
    seed: Seed = 0,
    least: Least = 2,
    limit: Most = 20,
    category: Category = None,
    category_file: CategoryFile = None,
    phrases: Phrases = None,
    constraint: Constraint = None,
    scale_constraints: Scale = False,
    require_evidence: Require = "none",
    no_evidence: NoEvidence = False,
    without_field: Without = None,
    replace: Replace = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: PromptFiles = None,
    workers: Workers = 8,
) -> None:
    """Make a dataset of queries with implicit set operations, with answers, evidence and documents, as QUEST's.

    Without --llm, queries are worded by a grammar, votes are left out, and answers are labelled by matching. A run that
    was stopped goes on where it was; its tables are in FOLDER/stages.
    """
    from kbkit.benchmarks.quest import make as quest
    from kbkit.benchmarks.quest.families import read_patterns
    from kbkit.benchmarks.quest.make import QuestSettings
    from kbkit.cli.models import opened, stages
    from kbkit.kb import KnowledgeBase

    bounds = _constraints(constraint or [])
    with KnowledgeBase(kb) as base:
        settings = QuestSettings(
            domains=_domains(base.schema.node_types, domain),
            count=number,
            seed=seed,
            min_answers=least,
            max_answers=limit,
            categories=tuple(category or ()),
            files=tuple(category_file or ()),
            patterns=read_patterns(phrases) if phrases else {},
            constraints=bounds,
            scale=scale_constraints,
            require=require_evidence,
            texts=not no_evidence,
            without=tuple(without_field or ()),
        )
        with (
            opened(context, base, llm, budget, price, prompt, workers) as calls,
            stages(context, calls) as progress,
        ):
            made = quest.make(base, out, settings, calls, progress, replace=replace)
    if not context.obj.quiet:
        _print(made, settings)


def _constraints(given: list[str]) -> Constraints:
    from kbkit.answers.constraints import Constraints

    return Constraints.of({name: _number(name, value) for name, value in pairs(given, "--constraint").items()})


def documents(
    context: typer.Context,
    kb: Kb,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write, documents.jsonl.")],
    domain: Domain = None,
    without_field: Without = None,
) -> None:
    """Write what systems may see of a domain: title and texts of each node, without relations and category labels."""
    from kbkit.benchmarks import documents as corpus
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as base:
        types = _domains(base.schema.node_types, domain)
        corpus.check_types(base, types, without_field or [])
        frame = corpus.titles(base, types)
        silent = corpus.write(base, frame, out, without_field or [])
    if not context.obj.quiet:
        typer.echo(f"{out}: {frame.height:,} documents, {silent:,} of them without text", err=True)


def _domains(types: Iterable[Any], given: list[str] | None) -> tuple[str, ...]:
    if not given:
        names = ", ".join(t.name for t in types)
        raise KbError("what should queries ask for?", f"--domain TYPE; there are {names}")
    return tuple(given)


def _number(name: str, value: str) -> float:
    import math

    try:
        number = int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise KbError(f"--constraint {name}={value} is no number", f"e.g. --constraint {name}=10")
    return number


def _print(made: Output, settings: QuestSettings) -> None:
    """Say what was done: families, constraints, shapes, what was dropped, files."""
    import sys

    import polars as pl

    from kbkit.display.render import clean, print_table

    report = made.report
    for title, frame in (("categories", pl.DataFrame(report["families"])), ("shapes", _shapes(report["shapes"]))):
        typer.secho(f"{title}\n", bold=True, nl=False)
        print_table(frame, sys.stdout, count=False)
    for line in _lines(made, settings):
        typer.echo(clean(line))


def _shapes(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    import polars as pl

    listed = [{**row, "possible": f"{row['possible']:,}{'+' if row['more'] else ''}"} for row in rows]
    return pl.DataFrame(listed).select("domain", "template", "asked", "possible", "made")


def _lines(made: Output, settings: QuestSettings) -> Iterable[str]:
    from dataclasses import asdict

    report = made.report
    asked = asdict(settings.constraints)
    yield f"constraints: {settings.min_answers} to {settings.max_answers} answers, {_named(asked)}"
    for row in report["shapes"]:
        scaled = {name: value for name, value in row["constraints"].items() if value != asked[name]}
        mine = {name: value for name, value in scaled.items() if _concerns(name, row["template"])}
        if mine:
            yield f"constraints scaled down for {row['domain']}, {row['template']!r}: {_named(mine)}"
    short = [row for row in report["shapes"] if row["made"] < row["asked"]]
    for row in short:
        yield f"only {row['made']:,} of {row['asked']:,} for {row['domain']}, {row['template']!r}"
    if report["dropped"]:
        yield "queries dropped: " + ", ".join(f"{count:,} because {why}" for why, count in report["dropped"].items())
    if report["answers removed"]:
        yield "answers removed: " + ", ".join(f"{n:,} {why}" for why, n in report["answers removed"].items())
    if report["evidence"]:
        yield "evidence of the answers: " + ", ".join(f"{n:,} {name}" for name, n in report["evidence"].items())
    if report["quotes that are not in the document"]:
        yield f"{report['quotes that are not in the document']:,} of a model's quotes are not in the document: left out"
    for name in ("train", "val", "test"):
        if not report["splits"].get(name):
            yield f"{name}.jsonl is empty: ask for more queries (-n)"
    documents = report["documents"]
    splits = ", ".join(f"{report['splits'].get(name, 0):,} {name}" for name in ("train", "val", "test"))
    yield (
        f"{made.folder}: {report['queries']:,} queries ({splits}), {report['answers']:,} answers,"
        f" {documents['count']:,} documents ({documents['without text']:,} without text)"
    )


def _named(constraints: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:.4g}" for name, value in constraints.items())


def _concerns(constraint: str, template: str) -> bool:
    """Whether a constraint is about an operation of a shape."""
    word = {"intersection": "also", "difference": "not", "union": "or"}[constraint.split("_", maxsplit=1)[0]]
    return word in template.split()
