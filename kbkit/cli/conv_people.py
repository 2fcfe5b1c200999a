"""Commands for ConvKGYarn that need people: conv rate, compare, ratings; and conv proxies, which needs none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.asking import choice
from kbkit.cli.commands import add
from kbkit.cli.conv_runs import Conversations
from kbkit.cli.options import Format, Output, Rater, Seed, counted, note, on_screen, pairs
from kbkit.cli.tables import Table, check_table, write_tables
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.convkgyarn.conversations import Conversation
    from kbkit.benchmarks.convkgyarn.ratings import Judgement
    from kbkit.benchmarks.convkgyarn.references import Match
    from kbkit.cli.tables import Titled

Show = Callable[[Any], None]
"""Prints an item."""
Ours = Callable[[Any], Any]
"""Returns the conversation of the dataset in an item."""
Parse = Callable[[str, Any], Any]
"""Returns the value of an answer about an item, None if it is invalid."""

_OPT_OUT = "o"

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
) -> None:
    """Rate conversations.

    For each conversation shown, you rate fluency, relevance, diversity and grammar from 1 (Poor) to 5 (Excellent), or
    opt out with o (appendix B.1 of the paper). Each conversation is saved when it is rated; q or end of input quits,
    and the same command continues. All raters with the same --limit and --seed rate the same conversations.
    """
    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import ratings as module

    _check(output, rater)
    known = list(files.read(dataset))
    gold = module.expected(entrance, module.RATE) if entrance is not None else {}
    by_id = {one.id: one for one in known}
    task = _Task(context, module.RATE, rater, output, gold, threshold)

    def show(one: Conversation) -> None:
        _print_turns([(turn.question, ", ".join(answer.text for answer in turn.answers)) for turn in one.turns])

    task.test({name: by_id[name] for name in gold if name in by_id}, show, lambda one: one, _rating)
    drawn = module.sample((one for one in known if one.id not in gold), count, seed)
    task.ask({one.id: one for one in drawn}, show, lambda one: one, _rating)


def _print_turns(turns: Sequence[tuple[str, str]], title: str = "") -> None:
    from kbkit.display.render import clean

    if title:
        typer.secho(title, bold=True)
    for number, (question, answer) in enumerate(turns, 1):
        typer.echo(clean(f"{number:>3}  {question}\n       {answer}"))
    typer.echo("")


def _rating(text: str, _: object) -> int | None:
    return int(text) if text in ("1", "2", "3", "4", "5") else None


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

    _check(output, rater)
    gold = module.expected(entrance, module.COMPARE) if entrance is not None else {}
    types = pairs(domain, "domain", "movies=movie")
    check_range("number of pairs", count)
    drawn = references.match(files.read(dataset), references.read(reference), seed, types, deixis=deixis)
    matches = {one.id: one for one in drawn}
    task = _Task(context, module.COMPARE, rater, output, gold, threshold)

    def show(match: Match) -> None:
        ours = [(turn.question, ", ".join(answer.text for answer in turn.answers)) for turn in match.ours.turns]
        sides = [ours, list(match.reference.turns)]
        for name, turns in zip("AB", reversed(sides) if match.swapped else sides, strict=True):
            _print_turns(turns, f"Conversation {name}")

    task.test({name: matches[name] for name in gold if name in matches}, show, lambda match: match.ours, _preferred)
    rest = [one for one in drawn if one.id not in gold][:count]
    task.ask({one.id: one for one in rest}, show, lambda match: match.ours, _preferred)


def _preferred(text: str, match: Match) -> str | None:
    from kbkit.benchmarks.convkgyarn.ratings import OURS, REFERENCE, SAME

    first, second = (REFERENCE, OURS) if match.swapped else (OURS, REFERENCE)
    return {"a": first, "b": second, "s": SAME}.get(text.casefold())


# -- both tasks -------------------------------------------------------------------------------------------------------


def _check(output: Path, rater: str) -> None:
    from kbkit.benchmarks.stark.ratings import check_file

    if not rater.strip():
        raise KbError("Empty name of the rater", "Use a name that is the same in each session")
    check_file(output)


class _Task:
    """Asks a rater about items in the terminal, and saves each judgement."""

    def __init__(
        self,
        context: typer.Context,
        task: str,
        rater: str,
        output: Path,
        gold: Mapping[str, Judgement],
        threshold: float,
    ) -> None:
        from kbkit.benchmarks.convkgyarn.ratings import known

        if not 0 <= threshold <= 1:
            raise KbError(f"Invalid threshold of the test: {threshold:g}", "Use a number from 0 to 1")
        self._context, self._task, self._rater, self._output = context, task, rater, output
        self._gold, self._threshold = gold, threshold
        self._known = known(output, task, rater)

    def test(self, items: Mapping[str, Any], show: Show, ours: Ours, parse: Parse) -> None:
        """Run the entrance test, if there is one and the rater has not passed it.

        Raises :class:`KbError` for a rater who does not pass, or if items of the test are missing.
        """
        from kbkit.benchmarks.convkgyarn.ratings import outcome

        if not self._gold:
            return
        missing = [name for name in self._gold if name not in items]
        if missing:
            message = f"{counted(len(missing), 'item')} of the entrance test not found, for example {missing[0]!r}"
            raise KbError(message, "Use the dataset, and for pairs the seed, that the expert used")
        left = {name: item for name, item in items.items() if (name, True) not in self._known}
        if left:
            typer.secho(f"Entrance test: {counted(len(items), 'item')}", bold=True)
            if self._ask(left, show, ours, parse, test=True) < len(left):
                raise KbError("The entrance test is not complete", "Run the same command to continue it")
        found = outcome(self._gold, [one for (_, test), one in self._known.items() if test])
        if found.share < self._threshold:
            message = f"Entrance test not passed: {100 * found.share:.0f} % of {found.count:,} values agree"
            raise KbError(message, f"At least {100 * self._threshold:.0f} % must agree")
        if left:
            note(self._context, [f"Entrance test passed: {100 * found.share:.0f} % of {found.count:,} values agree"])

    def ask(self, items: Mapping[str, Any], show: Show, ours: Ours, parse: Parse) -> None:
        """Ask about the items that the rater has not judged."""
        left = {name: item for name, item in items.items() if (name, False) not in self._known}
        done = len(items) - len(left)
        note(self._context, [f"{done:,} of {len(items):,} judged; o: opt out, q: end"])
        saved = self._ask(left, show, ours, parse, done=done, total=len(items))
        note(self._context, [f"{self._output}: {counted(saved, 'judgement')} saved"])

    def _ask(
        self,
        items: Mapping[str, Any],
        show: Show,
        ours: Ours,
        parse: Parse,
        *,
        test: bool = False,
        done: int = 0,
        total: int = 0,
    ) -> int:
        """Ask about items until the rater ends; return the number of saved judgements."""
        from kbkit.benchmarks.convkgyarn.ratings import judgement, save

        for number, (name, item) in enumerate(items.items()):
            typer.secho(f"\n{done + number + 1:,} of {total or len(items):,}", bold=True)
            show(item)
            values = self._values(item, parse)
            if values is None:
                return number
            one = judgement(self._task, self._rater, name, ours(item), values, test=test)
            save(self._output, one)
            self._known[name, test] = one
        return len(items)

    def _values(self, item: Any, parse: Parse) -> dict[str, Any] | None:
        """Return what the rater says about each dimension: empty if they opt out, None to end."""
        from kbkit.benchmarks.convkgyarn.ratings import LABELS, QUESTIONS, RATE

        scale = ", ".join(f"{number} {label}" for number, label in enumerate(LABELS, 1))
        choices = scale if self._task == RATE else "a, b, or s for the same"
        values: dict[str, Any] = {}
        for dimension, question in QUESTIONS.items():
            typer.echo(f"{question} ({choices})")
            given = choice(
                dimension,
                lambda text: text == _OPT_OUT or parse(text, item) is not None,
                f"Enter {choices}, o: opt out",
            )
            if given is None:
                return None
            if given == _OPT_OUT:
                return {}
            values[dimension] = parse(given, item)
        return values


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
    found = module.read(files)
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
