"""Commands that make and check SKA-Bench datasets: ska make, check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import Format, Output, counted, note
from kbkit.cli.papers import making
from kbkit.cli.ska_options import Data
from kbkit.cli.ska_scores import counting
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    pass

_LISTED = 8
"""Reasons for which questions were left out, as many as are printed."""


def register(ska: typer.Typer) -> None:
    """Add the commands of this file to those for SKA-Bench."""
    add(ska, making.make_ska, "make")
    add(ska, check)


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
