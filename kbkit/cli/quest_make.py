"""Commands that make QUEST datasets: quest make, documents."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers
from kbkit.cli.options import Constraints, Kb, MaxAnswers, Restart, Seed, Types, note, numbers

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.pipeline import Output as NewDataset
    from kbkit.benchmarks.quest.make import QuestSettings

Facts = Annotated[
    str,
    typer.Option(
        "--facts",
        metavar="HOW",
        help="Add attributes and relations to documents as sentences: always, never, or auto if texts lack evidence.",
    ),
]
ExcludedFields = Annotated[
    list[str] | None,
    typer.Option("--exclude-field", metavar="FIELD", help="Text field to leave out of documents; repeatable."),
]


def make(
    context: typer.Context,
    kb: Kb,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the dataset.")],
    type: Types = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", help="Number of queries to generate, over all domains and templates."
        ),
    ] = 350,
    seed: Seed = 0,
    min_answers: Annotated[
        int, typer.Option("--min-answers", metavar="N", help="Minimum number of answers per query.")
    ] = 2,
    max_answers: MaxAnswers = 20,
    category: Annotated[
        list[str] | None,
        typer.Option(
            "--category", metavar="EXPR", help="Additional categories: an expression with one <slot>; repeatable."
        ),
    ] = None,
    category_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--category-file",
            metavar="FILE",
            help="Additional categories: category<TAB>key, or JSON lines; repeatable.",
        ),
    ] = None,
    phrases: Annotated[
        Path | None,
        typer.Option("--phrases", metavar="FILE", help='Phrases of categories (TOML): "FAMILY" = "movies by {name}".'),
    ] = None,
    constraint: Constraints = None,
    scale_constraints: Annotated[
        bool,
        typer.Option(
            "--scale-constraints/--no-scale-constraints",
            help="Halve size limits for templates that yield too few queries.",
        ),
    ] = True,
    require_evidence: Annotated[
        str,
        typer.Option(
            "--require-evidence", metavar="HOW", help="Evidence required for an answer: none, partial or complete."
        ),
    ] = "partial",
    facts: Facts = "auto",
    augmented: Annotated[
        int,
        typer.Option("--augmented", metavar="N", help="Number of additional training queries, in augmented.jsonl."),
    ] = 0,
    no_evidence: Annotated[
        bool, typer.Option("--no-evidence", help="Skip the search for evidence, for domains without texts.")
    ] = False,
    exclude_field: ExcludedFields = None,
    replace: Restart = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
) -> None:
    """Make a dataset of queries with set operations.

    It has answers, evidence and documents, as in QUEST. --type selects the domains (default: the types with texts).
    Without --llm, a grammar writes the queries, answers are labelled by matching, and there are no votes. An
    interrupted run is resumed from its tables in FOLDER/stages.
    """
    from kbkit.benchmarks.quest import make as quest
    from kbkit.benchmarks.quest.draft import default_domains
    from kbkit.benchmarks.quest.families import read_patterns
    from kbkit.benchmarks.quest.make import QuestSettings
    from kbkit.cli.models import opened, stages
    from kbkit.kb import KnowledgeBase

    bounds = _constraints(constraint)
    with KnowledgeBase(kb) as base:
        settings = QuestSettings(
            domains=tuple(type) if type else default_domains(base),
            count=limit,
            seed=seed,
            min_answers=min_answers,
            max_answers=max_answers,
            categories=tuple(category or ()),
            files=tuple(category_file or ()),
            patterns=read_patterns(phrases) if phrases else {},
            constraints=bounds,
            scale=scale_constraints,
            require="none" if no_evidence else require_evidence,
            texts=not no_evidence,
            without=tuple(exclude_field or ()),
            facts=facts,
            augmented=augmented,
        )
        with (
            opened(context, base, llm, budget, price, prompt, workers) as calls,
            stages(context, calls) as progress,
        ):
            made = quest.make(base, output, settings, calls, progress, replace=replace)
    if not context.obj.quiet:
        _print(made, settings)


def _constraints(values: list[str] | None) -> Any:
    from kbkit.answers.sample_sets import Constraints

    return Constraints.of(numbers(values, "constraint", "NAME=10"))


def documents(
    context: typer.Context,
    kb: Kb,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Output file, e.g. documents.jsonl.")],
    type: Types = None,
    facts: Facts = "auto",
    exclude_field: ExcludedFields = None,
) -> None:
    """Write the documents of a domain.

    Each document has the title and texts of a node, and facts if the texts lack evidence. --type selects the domains
    (default: the types with texts).
    """
    from kbkit.benchmarks.quest.draft import QuestSettings, default_domains
    from kbkit.benchmarks.quest.make import write_documents
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as base:
        settings = QuestSettings(
            tuple(type) if type else default_domains(base), without=tuple(exclude_field or ()), facts=facts
        )
        frame, silent = write_documents(base, settings, output)
    note(context, [f"{output}: {frame.height:,} documents, {silent:,} of them without text"])


def _print(made: NewDataset, settings: QuestSettings) -> None:
    """Print a report on a new dataset: categories, templates, constraints, dropped queries, files."""
    import polars as pl

    from kbkit.display.render import clean, print_table

    report = made.report
    for title, frame in (("categories", pl.DataFrame(report["families"])), ("templates", _shapes(report["shapes"]))):
        typer.secho(f"{title}\n", bold=True, nl=False)
        print_table(frame, sys.stdout, count=False)
    for line in _lines(made, settings):
        typer.echo(clean(line))


def _shapes(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    import polars as pl

    listed = [{**row, "possible": f"{row['possible']:,}{'+' if row['more'] else ''}"} for row in rows]
    return pl.DataFrame(listed).select("domain", "template", "asked", "possible", "made")


def _lines(made: NewDataset, settings: QuestSettings) -> Iterable[str]:
    from dataclasses import asdict

    report = made.report
    limits = asdict(settings.constraints)
    yield f"constraints: {settings.min_answers} to {settings.max_answers} answers, {_assignments(limits)}"
    for row in report["shapes"]:
        scaled = {name: value for name, value in row["constraints"].items() if value != limits[name]}
        own = {name: value for name, value in scaled.items() if _applies(name, row["template"])}
        if own:
            yield f"constraints scaled down for {row['domain']}, {row['template']!r}: {_assignments(own)}"
    for row in report["shapes"]:
        if row["made"] < row["asked"]:
            yield f"only {row['made']:,} of {row['asked']:,} for {row['domain']}, {row['template']!r}"
    yield from _labels(report)
    for name in ("train", "val", "test"):
        if not report["splits"].get(name):
            yield f"{name}.jsonl is empty: make more queries (--limit)"
    documents = report["documents"]
    if report["augmented"]:
        yield f"augmented.jsonl: {report['augmented']:,} additional queries for training"
    splits = ", ".join(f"{report['splits'].get(name, 0):,} {name}" for name in ("train", "val", "test"))
    yield (
        f"{made.folder}: {report['queries']:,} queries ({splits}), {report['answers']:,} answers,"
        f" {documents['count']:,} documents ({documents['without text']:,} without text)"
    )


def _labels(report: Mapping[str, Any]) -> Iterable[str]:
    """Yield lines about dropped queries and the evidence of answers."""
    from kbkit.benchmarks.report import published

    expected = published("quest").value("", "answers", "all", "without evidence") / 100
    if report["dropped"]:
        yield "queries dropped: " + ", ".join(f"{count:,} because {why}" for why, count in report["dropped"].items())
    if report["answers removed"]:
        yield "answers removed: " + ", ".join(f"{n:,} {why}" for why, n in report["answers removed"].items())
    lost = report["answers removed"].get("evidence: none", 0)
    if lost > expected * (lost + report["answers"]):
        yield (
            f"answers without evidence in their documents, removed: {lost / (lost + report['answers']):.0%}; --facts"
            " always adds what the KB knows, --require-evidence none keeps them"
        )
    with_facts = report["documents"]["with facts"]
    if with_facts:
        yield f"documents with attributes and relations as sentences: {', '.join(with_facts)}"
    if report["evidence"]:
        counts = report["evidence"]
        yield "evidence of the answers: " + ", ".join(f"{n:,} {name}" for name, n in counts.items())
        share = counts["none"] / sum(counts.values())
        if share > expected:
            yield f"answers without evidence in their documents: {share:.0%}; in the paper about {expected:.0%}"
    if report["quotes that are not in the document"]:
        yield f"quotes of models skipped, not found in the document: {report['quotes that are not in the document']:,}"


def _assignments(constraints: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:.4g}" for name, value in constraints.items())


def _applies(constraint: str, template: str) -> bool:
    """Return whether a constraint applies to an operation of a template."""
    word = {"intersection": "also", "difference": "not", "union": "or"}[constraint.split("_", maxsplit=1)[0]]
    return word in template.split()
