"""Commands for ConvKGYarn that need people: conv rate, compare, ratings; and conv proxies, which needs none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.conv_runs import Conversations
from kbkit.cli.judging import InBrowser, judge
from kbkit.cli.options import Format, Output, Rater, Seed, note, on_screen, pairs
from kbkit.cli.tables import Table, check_table, write_tables
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.cli.tables import Titled

RatingsFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="File of the judgements (JSON lines).")
]
Entrance = Annotated[
    Path | None,
    typer.Option(
        "--entrance",
        metavar="FILE",
        help="Judgements of an expert: raters must pass a test on these items first, which are not asked again.",
    ),
]
Threshold = Annotated[
    float, typer.Option("--threshold", metavar="FRACTION", help="Fraction of the test that must agree with the expert.")
]
References = Annotated[Path, typer.Argument(metavar="FILE", help="File of ConvQuestions (JSON).")]


def register(conv: typer.Typer) -> None:
    """Add the commands of this file to those for ConvKGYarn."""
    for command in (rate, compare, ratings, proxies):
        add(conv, command)


# -- rate -------------------------------------------------------------------------------------------------------------


def rate(
    context: typer.Context,
    dataset: Conversations,
    output: RatingsFile,
    rater: Rater,
    count: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", help="Maximum number of conversations per configuration.")
    ] = 5,
    entrance: Entrance = None,
    threshold: Threshold = 0.7,
    seed: Seed = 0,
    browser: InBrowser = False,
) -> None:
    """Rate conversations.

    For each conversation shown, you rate fluency, relevance, diversity and grammar from 1 (Poor) to 5 (Excellent), or
    opt out with o (appendix B.1 of the paper). Each conversation is saved when it is rated; q or end of input quits,
    and the same command continues. All raters with the same --limit and --seed rate the same conversations.
    """
    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import ratings as module
    from kbkit.benchmarks.convkgyarn.tasks import Rating

    known = list(files.read(dataset))
    gold = module.expected(entrance, module.RATE) if entrance is not None else {}
    tested = {one.id: one for one in known if one.id in gold}
    drawn = module.sample((one for one in known if one.id not in gold), count, seed)
    task = Rating(tested | {one.id: one for one in drawn}, output, rater, gold, threshold)
    judge(context, task, browser)


# -- compare ----------------------------------------------------------------------------------------------------------


def compare(
    context: typer.Context,
    dataset: Conversations,
    reference: References,
    output: RatingsFile,
    rater: Rater,
    count: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Maximum number of pairs.")] = 500,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain",
            metavar="NAME=VALUE",
            help="Type of a domain (movies=movie): pair its references by type if no entity is the same; repeatable.",
        ),
    ] = None,
    deixis: Annotated[
        bool, typer.Option("--deixis/--no-deixis", help="Use conversations with or without deixis.")
    ] = True,
    entrance: Entrance = None,
    threshold: Threshold = 0.7,
    seed: Seed = 0,
    browser: InBrowser = False,
) -> None:
    """Compare conversations with those of ConvQuestions.

    For each pair about the same entity, with the same number of turns, you say which conversation is better in fluency,
    relevance, diversity and grammar: a, b, or s for the same; o opts out of the pair (appendix B.2 of the paper). Their
    order is random. Each pair is saved when it is judged; q or end of input quits, and the same command continues.
    """
    from kbkit.assets.arguments import check_range
    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import ratings as module
    from kbkit.benchmarks.convkgyarn import references
    from kbkit.benchmarks.convkgyarn.tasks import Comparing

    gold = module.expected(entrance, module.COMPARE) if entrance is not None else {}
    types = pairs(domain, "domain", "movies=movie")
    check_range("number of pairs", count)
    drawn = references.match(files.read(dataset), references.read(reference), seed, types, deixis=deixis)
    tested = [one for one in drawn if one.id in gold]
    rest = [one for one in drawn if one.id not in gold][:count]
    task = Comparing({one.id: one for one in [*tested, *rest]}, output, rater, gold, threshold)
    judge(context, task, browser)


# -- tables -----------------------------------------------------------------------------------------------------------


def ratings(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of conv rate and conv compare.")],
    table: Table = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Evaluate judgements of people.

    Shows the means of the ratings (Table 2 of the paper, its figures in parentheses), the preferences (Table 3), and
    agreement: the percentage of values on which at least two of three raters agree.
    """
    from kbkit.benchmarks.convkgyarn import people
    from kbkit.benchmarks.convkgyarn import ratings as module
    from kbkit.display.render import write

    check_table(table, (2, 3), format, output)
    found = module.read_rated(files)
    rated, preferred = people.rating_table(found), people.preference_table(found)
    note(context, people.remarks(found))
    if table is None and not (rated.height or preferred.height):
        raise KbError("No judgements in the files", "Tests and items that raters opted out of do not count")
    screen = on_screen(format, output)
    short = {"interaction": "mode", "disfluency": "disfl.", "conversations": "n"}
    tables: list[Titled] = [
        (2, "mean ratings and agreement, the paper's in parentheses", people.as_printed(rated) if screen else rated),
        (3, "percentage of judgements that prefer the dataset's conversation", _rounded(preferred, screen)),
    ]
    if table is not None:
        write(next(frame for number, _, frame in tables if number == table), format, output)
        return
    write_tables([one for one in tables if one[2].height], None, format, output, short=short)


def _rounded(frame: pl.DataFrame, screen: bool) -> pl.DataFrame:
    import polars.selectors as cs

    return frame.with_columns(cs.float().round(1)) if screen else frame


def proxies(
    dataset: Conversations,
    reference: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File of ConvQuestions (JSON) to show beside.")
    ] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Measure readability and variety of questions.

    These are automatic proxies for people's ratings, not ratings: words per question, Flesch's reading ease (English),
    distinct words and word pairs per conversation, and repeated three-word sequences, by configuration.
    """
    import polars.selectors as cs

    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import proxies as module
    from kbkit.benchmarks.convkgyarn import references
    from kbkit.display.render import check, write

    check(format, output)
    parts = module.parts_of(files.read(dataset))
    if reference is not None:
        parts += module.parts_of_references(reference.stem, references.read(reference))
    found = module.table(parts)
    write(found.with_columns(cs.float().round(3)) if on_screen(format, output) else found, format, output)
