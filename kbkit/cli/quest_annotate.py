"""Commands for relevance labels by people: quest annotate, agreement."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Output, Seed, counted, note

if TYPE_CHECKING:
    from kbkit.benchmarks.quest.annotate import Judgement, Pair

Data = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder with train.jsonl, val.jsonl and test.jsonl.")]


class _StoppedError(Exception):
    """The rater ended the session."""


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
    path = module.file_of(opened, rater)
    done = module.read(path)
    waiting = list(module.pairs(opened, split, limit, seed))
    left = [pair for pair in waiting if (pair.example.id, pair.title) not in done]
    note(context, [f"{counted(len(waiting) - len(left), 'pair')} of {len(waiting):,} judged; q ends the session"])
    judged = 0
    for position, pair in enumerate(left, len(waiting) - len(left) + 1):
        try:
            judgement = _ask(pair, f"{position} of {len(waiting)}")
        except (_StoppedError, typer.Abort, EOFError):
            typer.echo()
            break
        module.append(path, judgement)
        judged += 1
    note(context, [f"{path}: {counted(judged, 'judgement')} added"])


def _ask(pair: Pair, place: str) -> Judgement:
    """Show a pair and ask for its judgement."""
    from kbkit.benchmarks.quest.annotate import RATINGS, Judgement
    from kbkit.benchmarks.quest.label import EVIDENCE
    from kbkit.display.render import clean

    typer.secho(f"\n{place}: {clean(pair.example.text)}", bold=True)
    typer.echo(f"original query: {clean(pair.example.original)}" if pair.example.original else "")
    typer.secho(f"{clean(pair.title)}", underline=True)
    for number, sentence in enumerate(pair.sentences, 1):
        typer.echo(f"{number:>3}  {clean(sentence)}")
    scale = ", ".join(f"{number} {meaning}" for number, meaning in enumerate(RATINGS))
    rating = _choice(f"Relevance ({scale})", lambda text: text in "0123" and len(text) == 1)
    kinds = {name[0]: name for name in EVIDENCE}
    hint = f"Evidence ({', '.join(f'{letter} {name}' for letter, name in reversed(kinds.items()))})"
    evidence = kinds[_choice(hint, lambda text: text in kinds)]
    marks = {}
    for phrase in pair.phrases if evidence != EVIDENCE[0] and pair.sentences else ():
        answer = _choice(
            f"Sentence for {clean(phrase)!r} (number, 0 none)",
            lambda text: text.isascii() and text.isdigit() and int(text) <= len(pair.sentences),
        )
        if int(answer):
            marks[phrase] = pair.sentences[int(answer) - 1]
    return Judgement(pair.example.id, pair.title, int(rating), evidence, marks)


def _choice(question: str, valid: Callable[[str], bool]) -> str:
    """Ask until the answer is valid; raise :class:`_StoppedError` for q."""
    while True:
        answer = str(typer.prompt(question)).strip().casefold()
        if answer == "q":
            raise _StoppedError
        if valid(answer):
            return answer
        typer.echo("Invalid answer; q ends the session")


def agreement(
    context: typer.Context,
    dataset: Data,
    raters: Annotated[
        list[str] | None, typer.Option("--raters", metavar="NAME", help="Rater to compare (default: all); repeatable.")
    ] = None,
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

    found = files.raters(Dataset.open(dataset), raters or ())
    ratings: dict[str, dict[Hashable, int]] = {
        name: {pair: one.rating for pair, one in own.items()} for name, own in found.items()
    }
    write(module.table(ratings, RELEVANT), format, output)
    note(context, [f"{name}: {counted(len(own), 'judgement')}" for name, own in found.items()])
