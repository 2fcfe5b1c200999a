"""Commands for SKA-Bench that need people: ska annotate, review, agreement, revise."""

from __future__ import annotations

from typing import Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.judging import InBrowser, judge
from kbkit.cli.options import DatasetOutput, Format, Output, Rater, Raters, Seed, counted, note
from kbkit.cli.ska_options import Data, Instances
from kbkit.errors import KbError, Option, UnknownNameError


def register(ska: typer.Typer) -> None:
    """Add the commands of this file to those for SKA-Bench."""
    add(ska, annotate)
    add(ska, review)
    add(ska, agreement)
    add(ska, revise)


def annotate(
    context: typer.Context,
    dataset: Data,
    rater: Rater,
    limit: Instances = 0,
    seed: Seed = 0,
    browser: InBrowser = False,
) -> None:
    """Mark the units that answers need.

    Shows a question, its answers and up to 30 units in random order (section 3.2.2 of the paper). Enter the numbers of
    the units that the answers need, or a letter for a question that breaks a rule. Answers are saved at once in
    annotations/NAME.jsonl; the next run continues there. All raters with the same --limit and --seed see the same
    instances.
    """
    from kbkit.benchmarks.ska.annotate import Annotating

    judge(context, Annotating(dataset, rater, limit, seed), browser)


def review(
    context: typer.Context,
    dataset: Data,
    rater: Rater,
    limit: Instances = 20,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Synthesized rows per instance.")] = 10,
    seed: Seed = 0,
    browser: InBrowser = False,
) -> None:
    """Judge synthesized rows.

    Shows a question, its answers, its positive units and rows that were synthesized as noise (section 3.2.3 of the
    paper). Enter the numbers of rows that are unsafe: with them, the answers would change. Verdicts are saved in
    review/NAME.jsonl after each instance; the next run continues there.
    """
    from kbkit.benchmarks.ska.review import Reviewing

    judge(context, Reviewing(dataset, rater, limit, rows, seed), browser)


def agreement(
    context: typer.Context, dataset: Data, raters: Raters = None, format: Format = None, output: Output = None
) -> None:
    """Show how well annotators agree.

    Computes the fraction of verdicts and of shown units on which they agree, Fleiss' kappa for all and Cohen's kappa
    for each two.
    """
    from kbkit.benchmarks.ska import annotate as module
    from kbkit.benchmarks.ska import instances
    from kbkit.display.render import write

    loaded = instances.read(dataset)
    found = module.annotations_of(module.annotator_files(dataset).all(raters or ()), loaded)
    write(module.agreement(found, loaded), format, output)
    times = module.expert_minutes(found, loaded)
    note(context, [f"{form}: median {minutes:.1f} minutes of {count:,}" for form, count, minutes in times.iter_rows()])


def revise(context: typer.Context, dataset: Data, output: DatasetOutput, raters: Raters = None) -> None:
    """Apply people's annotations and reviews.

    Writes a new dataset whose positive units are those that most annotators marked, without questions that most of them
    rejected and without rows that were reviewed as unsafe.
    """
    from kbkit.benchmarks.ska import annotate as annotations
    from kbkit.benchmarks.ska import instances, paper
    from kbkit.benchmarks.ska import review as reviews

    if output.resolve() == dataset.resolve():
        raise KbError(f"{output} is the dataset itself", "Choose another folder with ", Option("output"))
    loaded = instances.read(dataset)
    given, marks = annotations.annotator_files(dataset).all(), reviews.reviewer_files(dataset).all()
    if unknown := set(raters or ()) - given.keys() - marks.keys():
        raise UnknownNameError("rater", min(unknown), sorted({*given, *marks}))
    if not given and not marks:
        raise KbError(f"No annotations or reviews in {dataset}", "Run kbkit ska annotate or kbkit ska review first")
    chosen = set(raters or {*given, *marks})
    given = {name: own for name, own in given.items() if name in chosen}
    verdicts = reviews.judged(loaded, (one for name in chosen for one in marks.get(name, ())))
    annotated = annotations.annotations_of(given, loaded)
    kept, left_out = annotations.apply(reviews.without_unsafe(loaded, verdicts), annotated)
    if not kept:
        raise KbError("All instances are left out by their annotations", "Use other ", Option("raters"))
    path = instances.write(output, kept)
    lines = [f"{path}: {counted(len(kept), 'instance')}"]
    if verdicts:
        safe = sum(verdicts.values())
        share = f"{safe / len(verdicts):.1%} of {len(verdicts):,} reviewed"
        lines.append(f"Safe rows: {share} (the paper: {paper.safe_rows():g}%)")
    note(context, [*lines, *(f"{count} left out: {reason}" for reason, count in left_out.items())])
