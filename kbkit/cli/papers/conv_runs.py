"""Commands that run and score systems on conversations: conv run, conv eval."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import ModelOptions
from kbkit.cli.options import Seed, argument, note, option
from kbkit.cli.papers.arguments import Conversations, RunFile
from kbkit.cli.papers.factory import (
    FiguresForm,
    PaperFigures,
    PaperSession,
    Shown,
    figures,
    opened_if_given,
    systems_run,
)
from kbkit.errors import KbError, Option, plural

if TYPE_CHECKING:
    import polars as pl

    from kbkit.llm.calls import Calls

    Section = tuple[str, pl.DataFrame]

Groups = Annotated[
    int | None,
    option(
        "--groups N", "Number of groups of conversations with the same facts, without and with related entities each."
    ),
]


@systems_run(FiguresForm(options=()))
def run(session: PaperSession, dataset: Conversations, output: RunFile, groups: Groups = None) -> None:
    """Answer the questions of conversations.

    Each question is asked with the correct answers to the questions before it. With --llm, a model answers from its own
    knowledge. Without, a baseline answers from the KB as kbkit ask does, with the name of the entity in place of
    pronouns; it does not see the correct answers. An interrupted run is resumed. Prints Table 4 of the paper at the
    end, as kbkit conv eval does.
    """
    from kbkit.benchmarks.convkgyarn import evaluate as scoring
    from kbkit.benchmarks.convkgyarn import run as running

    again = session.replace
    with session.progress("conversations") as progress:
        done = running.run(session.kb, dataset, output, session.calls, groups=groups, replace=again, progress=progress)

    def scores() -> PaperFigures:
        runs = scoring.read_runs([output])
        turns, remarks = scoring.per_turn(running.chosen(dataset, groups), runs)
        written = f"{output}: {plural(len(runs[0].rows), 'conversation')}"
        return PaperFigures([*remarks, written], sections=[_table_4(scoring.table(turns))])

    session.figures = scores
    session.finished(done.name, done.summary)


@figures(FiguresForm(options=("per_query", "plot", "format", "output")))
def evaluate(
    context: typer.Context,
    shown: Shown,
    dataset: Conversations,
    run: Annotated[list[Path], argument("RUN", "Runs of conv run, or of any other system.")],
    models: ModelOptions,
    kb: Annotated[Path | None, option("--kb KB", "KB that records the calls of the model (with --llm).")] = None,
    compare: Annotated[
        bool,
        option("--compare", "Show paired differences between configurations and systems instead."),
    ] = False,
    by: Annotated[
        list[str] | None,
        option(
            "--by COLUMN",
            "Show means by a column instead: set, interaction, deixis, kind, predicate, turn, ...; repeatable.",
        ),
    ] = None,
    groups: Groups = None,
    seed: Seed = 0,
) -> PaperFigures:
    """Score runs on conversations.

    An answer is right if one of its items matches a correct answer: names and aliases after normalization, numbers
    within 1 percent, dates within a day. With --llm, a model decides, as in the paper. Shows Table 4 of the paper
    (general / related), next to the paper's figures, and paired differences.
    """
    from kbkit.benchmarks.convkgyarn import evaluate as scoring
    from kbkit.benchmarks.convkgyarn.conversations import dataset_file
    from kbkit.benchmarks.convkgyarn.run import chosen
    from kbkit.directory.generations import fingerprint

    if sum((compare, bool(by), shown.per_query)) > 1:
        raise KbError("Options --compare, --by and --per-query cannot be combined", "Use one of them")
    runs = scoring.read_runs(run)
    conversations = chosen(dataset, groups, {name for one in runs for name in one.rows})
    digest = fingerprint(dataset_file(dataset))["sha256"]
    note(context, [line for one in runs for line in scoring.checked_against(one, digest)])
    with _judge(context, kb, models) as calls:
        turns, remarks = scoring.per_turn(conversations, runs, calls)

    def records() -> pl.DataFrame:
        if by:
            return shown.rounded(scoring.breakdown(turns, by), 4)
        return scoring.differences(turns, seed) if compare else scoring.table(turns)

    sections = None if by else _sections(turns, seed, table=not compare)
    return PaperFigures(remarks, (), sections, records, lambda: turns, lambda: scoring.charts(turns))


def _sections(turns: pl.DataFrame, seed: int, *, table: bool) -> Iterator[Section]:
    """Yield Table 4, unless it is not wanted, and the paired differences."""
    from kbkit.benchmarks.convkgyarn import evaluate as scoring

    if table:
        yield _table_4(scoring.table(turns))
    differences = scoring.differences(turns, seed)
    if differences.height or not table:
        title = "Paired differences of means per conversation when one property changes"
        yield title, _shown_differences(differences)


@contextlib.contextmanager
def _judge(context: typer.Context, kb: Path | None, models: ModelOptions) -> Iterator[Calls | None]:
    """Open the model that judges, if one is named."""
    from kbkit.cli.models import is_default

    if not models.llm or models.llm == ["none"] or (kb is None and is_default(context)):
        yield None
        return
    with opened_if_given(kb) as base:
        if base is None:
            raise KbError("No KB to record the calls of the model in", "Use ", Option("kb", "KB"))
        with models.opened(context, base) as calls:
            yield calls


def _table_4(scores: pl.DataFrame) -> Section:
    from kbkit.benchmarks.convkgyarn.evaluate import as_printed

    return "Table 4: means of scores and ratio of NA, general / related", as_printed(scores).rename({
        "turns": "mean (turn)", "conversations": "mean (conv.)", "na": "NA ratio",
        "interaction": "mode", "disfluency": "disfl.",
    })  # fmt: skip


def _shown_differences(differences: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    interval = pl.format("{} to {}", *(pl.col(name).round(3) for name in ("low", "high")))
    return differences.select(
        "compared",
        "system",
        "set",
        pl.col("first").alias("from"),
        pl.col("groups").alias("n"),
        pl.col("difference").round(3),
        interval.alias("95 %"),
        pl.col("p").round(4),
    )
