"""Commands for relevance labels by people: quest annotate, agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kbkit.cli.judging import InBrowser, judge
from kbkit.cli.options import Format, Output, Rater, Raters, Seed, counted, note

Data = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder with train.jsonl, val.jsonl and test.jsonl.")]


def annotate(
    context: typer.Context,
    dataset: Data,
    rater: Rater,
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="Split: train, val or test.")] = "test",
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", help="Number of query and document pairs (0: all).")
    ] = 0,
    seed: Seed = 0,
    browser: InBrowser = False,
) -> None:
    """Judge the answers of a dataset.

    Asks for the relevance and the evidence of each document. Answers are saved at once in annotations/NAME.jsonl; the
    next run continues there. All raters with the same --split, --limit and --seed judge the same pairs.
    """
    from kbkit.benchmarks.quest.annotate import Annotating
    from kbkit.benchmarks.quest.dataset import Dataset

    judge(context, Annotating(Dataset.open(dataset), rater, split, limit, seed), browser)


def agreement(
    context: typer.Context,
    dataset: Data,
    raters: Raters = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Show how well raters agree on relevance.

    Computes the fraction of pairs on which they agree, Fleiss' kappa for all and Cohen's kappa for each two.
    """
    from kbkit.benchmarks.quest import annotate as module
    from kbkit.benchmarks.quest.dataset import Dataset
    from kbkit.display.render import write

    found = module.rater_files(Dataset.open(dataset)).all(raters or ())
    write(module.agreement(found), format, output)
    judged = {name: len({one.item for one in own if one.mark is not None}) for name, own in found.items()}
    note(context, [f"{name}: {counted(count, 'judgement')}" for name, count in judged.items()])
