"""Commands for relevance labels by people: quest annotate, agreement."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.asking import choice
from kbkit.cli.options import Format, Output, Raters, Seed, counted, note

if TYPE_CHECKING:
    from kbkit.benchmarks.quest.annotate import Judgement, Pair

Data = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder with train.jsonl, val.jsonl and test.jsonl.")]


def annotate(
    context: typer.Context,
    dataset: Data,
    rater: Annotated[str, typer.Option("--rater", metavar="NAME", help="Name of the person who rates.")],
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="Split: train, val or test.")] = "test",
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", help="Number of query and document pairs (0: all).")
    ] = 0,
    seed: Seed = 0,
) -> None:
    """Judge the answers of a dataset in the terminal.

    Asks for the relevance and the evidence of each document. Answers are saved at once in annotations/NAME.jsonl; the
    next run continues there. All raters with the same --split, --limit and --seed judge the same pairs.
    """
    from kbkit.benchmarks.quest import annotate as module
    from kbkit.benchmarks.quest.dataset import Dataset

    opened = Dataset.open(dataset)
    files = module.files(opened)
    done = files.of(rater)
    waiting = list(module.pairs(opened, split, limit, seed))
    left = [pair for pair in waiting if (pair.example.id, pair.title) not in done]
    note(context, [f"{counted(len(waiting) - len(left), 'pair')} of {len(waiting):,} judged; q ends the session"])
    judged = 0
    for position, pair in enumerate(left, len(waiting) - len(left) + 1):
        judgement = _ask(pair, f"{position} of {len(waiting)}")
        if judgement is None:
            break
        files.append(rater, judgement)
        judged += 1
    note(context, [f"{files.path(rater)}: {counted(judged, 'judgement')} added"])


def _ask(pair: Pair, place: str) -> Judgement | None:
    """Show a pair and ask for its judgement; None to end the session."""
    from kbkit.benchmarks.quest.annotate import RATINGS, Judgement
    from kbkit.benchmarks.quest.label import EVIDENCE
    from kbkit.display.render import clean

    typer.secho(f"\n{place}: {clean(pair.example.text)}", bold=True)
    typer.echo(f"original query: {clean(pair.example.original)}" if pair.example.original else "")
    typer.secho(f"{clean(pair.title)}", underline=True)
    for number, sentence in enumerate(pair.sentences, 1):
        typer.echo(f"{number:>3}  {clean(sentence)}")
    scale = ", ".join(f"{number} {meaning}" for number, meaning in enumerate(RATINGS))
    rating = choice(f"relevance ({scale})", lambda text: text in set("0123"), "Enter a number from 0 to 3")
    if rating is None:
        return None
    kinds = {name[0]: name for name in EVIDENCE}
    letters = ", ".join(f"{letter} {name}" for letter, name in reversed(kinds.items()))
    kind = choice(f"evidence ({letters})", lambda text: text in kinds, f"Enter {' or '.join(reversed(kinds))}")
    if kind is None:
        return None
    marks = {}
    for phrase in pair.phrases if kinds[kind] != EVIDENCE[0] and pair.sentences else ():
        answer = choice(
            f"sentence for {phrase!r} (0: none)",
            lambda text: text.isascii() and text.isdigit() and int(text) <= len(pair.sentences),
            f"Enter a number from 0 to {len(pair.sentences)}",
        )
        if answer is None:
            return None
        if int(answer):
            marks[phrase] = pair.sentences[int(answer) - 1]
    return Judgement(pair.example.id, pair.title, int(rating), kinds[kind], marks)


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
    from kbkit.benchmarks.quest import agreement as module
    from kbkit.benchmarks.quest import annotate as files
    from kbkit.benchmarks.quest.dataset import Dataset
    from kbkit.benchmarks.quest.label import RELEVANT
    from kbkit.display.render import write

    found = files.files(Dataset.open(dataset)).all(raters or ())
    ratings: dict[str, dict[Hashable, int]] = {
        name: {item: one.rating for item, one in own.items()} for name, own in found.items()
    }
    write(module.table(ratings, RELEVANT), format, output)
    note(context, [f"{name}: {counted(len(own), 'judgement')}" for name, own in found.items()])
