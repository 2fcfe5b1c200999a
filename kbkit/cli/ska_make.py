"""Commands that make and check SKA-Bench datasets: ska make, check."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.commands import add
from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers, opened, stages
from kbkit.cli.options import DatasetOutput, Format, Output, Restart, Seed, counted, note
from kbkit.cli.ska_options import Data, Form
from kbkit.cli.ska_scores import counting
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.benchmarks.pipeline import Output as NewDataset

_LISTED = 8
"""Reasons for which questions were left out, as many as are printed."""


def register(ska: typer.Typer) -> None:
    """Add the commands of this file to those for SKA-Bench."""
    add(ska, make)
    add(ska, check)


def make(
    context: typer.Context,
    kbs: Annotated[list[Path], typer.Argument(metavar="KB", help="Directory of a KB; several share the instances.")],
    output: DatasetOutput,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Number of instances of each form.")] = 50,
    seed: Seed = 0,
    form: Form = None,
    questions: Annotated[
        list[Path] | None,
        typer.Option(
            "--questions", metavar="PATH", help="Published questions, or a folder of stark or quest make; repeatable."
        ),
    ] = None,
    tokens: Annotated[
        int, typer.Option("--tokens", metavar="N", help="Tokens that the noise of an instance should fill.")
    ] = 24_000,
    model_rows: Annotated[
        int, typer.Option("--model-rows", metavar="N", help="Synthesized rows per table that models write.")
    ] = 40,
    replace: Restart = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
) -> None:
    """Make questions with the units that answer them.

    Each instance has a question, its answers, the triples, rows and passages that the answers need, and noise. Without
    --questions, they are made from the graph and the tables of the KBs; without --llm by rule. Every instance that was
    made from a query is checked on its units alone. An interrupted run is resumed from its tables in FOLDER/stages.
    """
    from kbkit.benchmarks.ska.make import SkaSettings
    from kbkit.benchmarks.ska.make import make as make_dataset
    from kbkit.kb import KnowledgeBase

    settings = SkaSettings(limit, seed, tuple(form or ()), tokens, tuple(questions or ()), model_rows)
    with contextlib.ExitStack() as stack:
        bases = [stack.enter_context(KnowledgeBase(path)) for path in kbs]
        calls = stack.enter_context(opened(context, bases[0], llm, budget, price, prompt, workers))
        progress = stack.enter_context(stages(context, calls))
        made = make_dataset(bases, output, settings, calls, progress, replace=replace)
    note(context, _report(made))


def _report(made: NewDataset) -> Sequence[str]:
    """Return lines that describe a new dataset."""
    report: dict[str, Any] = made.report
    counts = ", ".join(f"{count:,} {form}" for form, count in report["instances"].items())
    lines = [f"{made.folder}: {counted(sum(report['instances'].values()), 'instance')} ({counts})"]
    reasons: dict[str, int] = {}
    for of_form in report["left_out"].values():
        for reason, count in of_form.items():
            reasons[reason] = reasons.get(reason, 0) + count
    most = sorted(reasons.items(), key=lambda pair: -pair[1])
    lines += [f"Left out: {count:,}, {reason}" for reason, count in most[:_LISTED]]
    return [*lines, f"{counted(len(most) - _LISTED, 'further reason')} in dataset.json"] if most[_LISTED:] else lines


def check(
    context: typer.Context,
    dataset: Data,
    redundant: Annotated[
        bool,
        typer.Option("--redundant", help="Count the positive units of which each could be missing (takes longer)."),
    ] = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """Check instances on their own units.

    Runs the query of each instance on its units: the positive units give exactly the answers, also with all noise; the
    noise alone gives none; and forms with texts need both sources. Lists the statements that fail; the exit code is
    1 if there are any. Instances without a query, whose units came from published data or people, are counted.
    """
    import polars as pl

    from kbkit.benchmarks.ska import instances, statements
    from kbkit.benchmarks.ska.solve import Solver
    from kbkit.display import render

    render.check(format, output)
    failed: list[tuple[str, str, str]] = []
    checked = without = spare = 0
    with Solver() as solver, counting(context, "instances") as progress:
        for number, one in enumerate(instances.scan(dataset), 1):
            progress(number)
            if not one.provenance.sql:
                without += 1
                continue
            checked += 1
            problems = statements.check(one, solver)
            failed += [(one.id, one.form, problem) for problem in problems]
            spare += len(statements.redundant(one, solver)) if redundant and not problems else 0
    names = {name for name, _, _ in failed}
    lines = [f"{counted(checked, 'instance')} checked, {len(names):,} with failures"]
    lines += [f"{counted(without, 'instance')} without a query"] if without else []
    if redundant:
        lines.append(f"{counted(spare, 'positive unit')} not needed alone: their answers have several derivations")
    if failed or format or output:
        columns = {"instance": pl.String, "form": pl.String, "problem": pl.String}
        render.write(pl.DataFrame(failed, schema=columns, orient="row"), format, output)
    note(context, lines)
    if failed:
        hint = ("Delete their lines in instances.jsonl, or make the dataset again with ", Option("replace"))
        raise KbError(f"Statements fail in {counted(len(names), 'instance')}", *hint)
