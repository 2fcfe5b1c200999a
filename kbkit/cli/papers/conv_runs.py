"""Commands that run and score systems on conversations: conv run, conv eval."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import NO_MODELS, ModelOptions
from kbkit.cli.options import Format, Kb, Output, PerQuery, Plot, Restart, Seed, counted, draw, note, on_screen
from kbkit.cli.papers.arguments import Conversations
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    import polars as pl

    from kbkit.llm.calls import Calls

Groups = Annotated[
    int | None,
    typer.Option(
        "--groups",
        metavar="N",
        help="Number of groups of conversations with the same facts, without and with related entities each.",
    ),
]


def run(
    context: typer.Context,
    kb: Kb,
    dataset: Conversations,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Output file for the run (JSON lines).")
    ],
    models: ModelOptions = NO_MODELS,
    groups: Groups = None,
    replace: Restart = False,
) -> None:
    """Answer the questions of conversations.

    Each question is asked with the correct answers to the questions before it. With --llm, a model answers from its own
    knowledge. Without, a baseline answers from the KB as kbkit ask does, with the name of the entity in place of
    pronouns; it does not see the correct answers. An interrupted run is resumed. Prints Table 4 of the paper at the
    end, as kbkit conv eval does.
    """
    from kbkit.benchmarks.convkgyarn import evaluate as scoring
    from kbkit.benchmarks.convkgyarn import run as running
    from kbkit.cli.models import stages
    from kbkit.kb import KnowledgeBase

    with (
        KnowledgeBase(kb) as base,
        models.opened(context, base) as calls,
        stages(context, calls) as report,
    ):
        running.run(
            base,
            dataset,
            output,
            calls,
            groups=groups,
            replace=replace,
            progress=lambda done, total: report("conversations", done, total),
        )
    runs = scoring.read_runs([output])
    turns, remarks = scoring.per_turn(running.chosen(dataset, groups), runs)
    note(context, remarks)
    _print_table(scoring.table(turns))
    note(context, [f"{output}: {counted(len(runs[0].rows), 'conversation')}"])


def evaluate(
    context: typer.Context,
    dataset: Conversations,
    run: Annotated[list[Path], typer.Argument(metavar="RUN", help="Runs of conv run, or of any other system.")],
    models: ModelOptions = NO_MODELS,
    kb: Annotated[
        Path | None, typer.Option("--kb", metavar="KB", help="KB that records the calls of the model (with --llm).")
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Show paired differences between configurations and systems instead."),
    ] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Show means by a column instead: set, interaction, deixis, kind, predicate, turn, ...; repeatable.",
        ),
    ] = None,
    per_query: PerQuery = False,
    groups: Groups = None,
    seed: Seed = 0,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs on conversations.

    An answer is right if one of its items matches a correct answer: names and aliases after normalization, numbers
    within 1 percent, dates within a day. With --llm, a model decides, as in the paper. Shows Table 4 of the paper
    (general / related), next to the paper's figures, and paired differences.
    """
    from kbkit.benchmarks.convkgyarn import evaluate as scoring
    from kbkit.benchmarks.convkgyarn.conversations import dataset_file
    from kbkit.benchmarks.convkgyarn.run import chosen
    from kbkit.directory.generations import fingerprint
    from kbkit.display.render import check, write

    check(format, output)
    if sum((compare, bool(by), per_query)) > 1:
        raise KbError("Options --compare, --by and --per-query cannot be combined", "Use one of them")
    runs = scoring.read_runs(run)
    conversations = chosen(dataset, groups, {name for one in runs for name in one.rows})
    digest = fingerprint(dataset_file(dataset))["sha256"]
    note(context, [line for one in runs for line in scoring.checked_against(one, digest)])
    with _judge(context, kb, models) as calls:
        turns, remarks = scoring.per_turn(conversations, runs, calls)
    note(context, remarks)
    draw(context, plot, lambda: scoring.charts(turns))
    if per_query:
        write(turns, format, output)
    elif by:
        write(_rounded(scoring.breakdown(turns, by), format, output), format, output)
    elif on_screen(format, output):
        _print(turns, seed, table=not compare)
    else:
        write(scoring.differences(turns, seed) if compare else scoring.table(turns), format, output)


def _print(turns: pl.DataFrame, seed: int, *, table: bool) -> None:
    """Print Table 4, unless it is not wanted, and the paired differences."""
    from kbkit.benchmarks.convkgyarn import evaluate as scoring

    if table:
        _print_table(scoring.table(turns))
    found = scoring.differences(turns, seed)
    if found.height or not table:
        title = "Paired differences of means per conversation when one property changes"
        typer.secho(f"\n{title}" if table else title, bold=True)
        _print_differences(found)


@contextlib.contextmanager
def _judge(context: typer.Context, kb: Path | None, models: ModelOptions) -> Iterator[Calls | None]:
    """Open the model that judges, if one is named."""
    from kbkit.cli.models import is_default
    from kbkit.kb import KnowledgeBase

    if not models.llm or models.llm == ["none"] or (kb is None and is_default(context)):
        yield None
        return
    if kb is None:
        raise KbError("No KB to record the calls of the model in", "Use ", Option("kb", "KB"))
    with KnowledgeBase(kb) as base, models.opened(context, base) as calls:
        yield calls


def _print_table(found: pl.DataFrame) -> None:
    from kbkit.benchmarks.convkgyarn.evaluate import as_printed
    from kbkit.display.render import print_table

    shown = as_printed(found).rename({
        "turns": "mean (turn)", "conversations": "mean (conv.)", "na": "NA ratio",
        "interaction": "mode", "disfluency": "disfl.",
    })  # fmt: skip
    typer.secho("Table 4: means of scores and ratio of NA, general / related", bold=True)
    print_table(shown, sys.stdout, count=False)


def _print_differences(found: pl.DataFrame) -> None:
    import polars as pl

    from kbkit.display.render import print_table

    interval = pl.format("{} to {}", *(pl.col(name).round(3) for name in ("low", "high")))
    shown = found.select(
        "compared",
        "system",
        "set",
        pl.col("first").alias("from"),
        pl.col("groups").alias("n"),
        pl.col("difference").round(3),
        interval.alias("95 %"),
        pl.col("p").round(4),
    )
    print_table(shown, sys.stdout, count=False)


def _rounded(found: pl.DataFrame, format: str | None, output: Path | None) -> pl.DataFrame:
    """Return a table with three digits on a screen, unchanged in a file."""
    import polars.selectors as cs

    return found.with_columns(cs.float().round(4)) if on_screen(format, output) else found
