"""Commands for SKA-Bench that need people: ska annotate, review, agreement, revise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.asking import choice
from kbkit.cli.commands import add
from kbkit.cli.options import DatasetOutput, Format, Output, Rater, Raters, Seed, counted, note
from kbkit.cli.ska_options import Data, Instances
from kbkit.errors import Command, KbError, Option, UnknownNameError

if TYPE_CHECKING:
    from kbkit.benchmarks.ska.annotate import Annotation
    from kbkit.benchmarks.ska.instances import Instance, Unit


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
) -> None:
    """Mark the units that answers need, in the terminal.

    Shows a question, its answers and up to 30 units in random order (section 3.2.2 of the paper). Enter the numbers of
    the units that the answers need, or a letter for a question that breaks a rule. Answers are saved at once in
    annotations/NAME.jsonl; the next run continues there. All raters with the same --limit and --seed see the same
    instances.
    """
    from kbkit.benchmarks.ska import annotate as module
    from kbkit.benchmarks.ska import instances

    files = module.files(dataset)
    done = files.of(rater)
    waiting = module.tasks(instances.read(dataset), limit, seed)
    left = [one for one in waiting if one.id not in done]
    note(
        context, [f"{len(waiting) - len(left):,} of {counted(len(waiting), 'instance')} annotated; q ends the session"]
    )
    saved = 0
    for position, instance in enumerate(left, len(waiting) - len(left) + 1):
        given = _ask(instance, module.shown(instance), f"{position} of {len(waiting)}")
        if given is None:
            break
        files.append(rater, given)
        saved += 1
    note(context, [f"{files.path(rater)}: {counted(saved, 'annotation')} added"])


def _ask(instance: Instance, units: list[Unit], place: str) -> Annotation | None:
    """Show an instance and ask for the units that its answers need; None to end the session."""
    from kbkit.benchmarks.ska.annotate import USABLE, VERDICTS, Annotation
    from kbkit.display.render import clean

    typer.secho(f"\n{place}: {clean(instance.question)}", bold=True)
    typer.echo(clean(f"answers: {'; '.join(instance.answers)}"))
    if instance.header:
        typer.echo(clean(f"{instance.title}\n      {' | '.join(instance.header)}"))
    for number, unit in enumerate(units, 1):
        typer.echo(f"{number:>4}  {clean(' | '.join(unit.content))}")
    letters = {name[0]: name for name in VERDICTS if name != USABLE}
    for letter, name in letters.items():
        typer.echo(f"{letter:>4}  {VERDICTS[name]}")
    started = time.monotonic()
    answer = choice(
        "units or rule",
        lambda text: text in letters or _numbers(text, len(units)) != [],
        f"Enter numbers from 1 to {len(units)}, such as 2 5 7, or {', '.join(letters)}",
    )
    if answer is None:
        return None
    seconds = round(time.monotonic() - started, 1)
    if answer in letters:
        return Annotation(instance.id, letters[answer], seconds=seconds)
    chosen = [units[number - 1].id for number in _numbers(answer, len(units))]
    return Annotation(instance.id, USABLE, chosen, seconds)


def _numbers(text: str, largest: int) -> list[int]:
    """Return the numbers of a list such as ``2 5,7``, without duplicates; empty if one is invalid."""
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= largest for word in words):
        return []
    return sorted({int(word) for word in words})


def review(
    context: typer.Context,
    dataset: Data,
    rater: Rater,
    limit: Instances = 20,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Synthesized rows per instance.")] = 10,
    seed: Seed = 0,
) -> None:
    """Judge synthesized rows, in the terminal.

    Shows a question, its answers, its positive units and rows that were synthesized as noise (section 3.2.3 of the
    paper). Enter the numbers of rows that are unsafe: with them, the answers would change. Verdicts are saved in
    review/NAME.jsonl after each instance; the next run continues there.
    """
    from kbkit.benchmarks.ska import instances
    from kbkit.benchmarks.ska import review as module

    files = module.files(dataset)
    done = files.of(rater)
    waiting = module.sampled(instances.read(dataset), limit, rows, seed)
    if not waiting:
        raise KbError(f"No synthesized rows in {dataset}", "Run ", Command("ska make"), " with a form that has tables")
    left = [(one, units) for one, units in waiting if any((one.id, unit.id) not in done for unit in units)]
    finished = len(waiting) - len(left)
    note(context, [f"{finished:,} of {counted(len(waiting), 'instance')} reviewed; q ends the session"])
    saved = unsafe = 0
    for position, (instance, units) in enumerate(left, finished + 1):
        marked = _ask_unsafe(instance, units, f"{position} of {len(waiting)}")
        if marked is None:
            break
        for number, unit in enumerate(units, 1):
            files.append(rater, module.Verdict(instance.id, unit.id, number not in marked))
        saved += len(units)
        unsafe += len(marked)
    note(context, [f"{files.path(rater)}: {counted(saved, 'verdict')} added, {unsafe:,} unsafe"])


def _ask_unsafe(instance: Instance, units: list[Unit], place: str) -> list[int] | None:
    """Show an instance and synthesized rows, and ask for those that are unsafe; None to end the session."""
    from kbkit.display.render import clean

    typer.secho(f"\n{place}: {clean(instance.question)}", bold=True)
    typer.echo(clean(f"answers: {'; '.join(instance.answers)}"))
    typer.echo(clean(f"{instance.title}\n      {' | '.join(instance.header)}"))
    for unit in instance.positive:
        typer.echo(f"   +  {clean(' | '.join(unit.content))}")
    for number, unit in enumerate(units, 1):
        typer.echo(f"{number:>4}  {clean(' | '.join(unit.content))}")
    answer = choice(
        "unsafe rows (0: none)",
        lambda text: text == "0" or _numbers(text, len(units)) != [],
        f"Enter 0, or numbers from 1 to {len(units)}, such as 2 5",
    )
    return None if answer is None else _numbers(answer, len(units))


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

    found = module.files(dataset).all(raters or ())
    loaded = instances.read(dataset)
    write(module.agreement(found, loaded), format, output)
    times = module.expert_minutes(found, loaded)
    note(context, [f"{form}: median {minutes:.1f} minutes of {count:,}" for form, count, minutes in times.iter_rows()])


def revise(context: typer.Context, dataset: Data, output: DatasetOutput, raters: Raters = None) -> None:
    """Apply people's annotations and reviews.

    Writes a new dataset whose positive units are those that most annotators marked, without questions that most of them
    rejected and without rows that were reviewed as unsafe.
    """
    from kbkit.benchmarks.ska import annotate as annotations
    from kbkit.benchmarks.ska import instances
    from kbkit.benchmarks.ska import review as reviews

    if output.resolve() == dataset.resolve():
        raise KbError(f"{output} is the dataset itself", "Choose another folder with ", Option("output"))
    loaded = instances.read(dataset)
    given, marks = annotations.files(dataset).all(), reviews.files(dataset).all()
    if unknown := set(raters or ()) - given.keys() - marks.keys():
        raise UnknownNameError("rater", min(unknown), sorted({*given, *marks}))
    if not given and not marks:
        raise KbError(f"No annotations or reviews in {dataset}", "Run kbkit ska annotate or kbkit ska review first")
    chosen = set(raters or {*given, *marks})
    given = {name: own for name, own in given.items() if name in chosen}
    verdicts = reviews.judged(loaded, (one for name in chosen for one in marks.get(name, {}).values()))
    kept, left_out = annotations.apply(reviews.without_unsafe(loaded, verdicts), given)
    if not kept:
        raise KbError("All instances are left out by their annotations", "Use other ", Option("raters"))
    path = instances.write(output, kept)
    lines = [f"{path}: {counted(len(kept), 'instance')}"]
    if verdicts:
        safe = sum(verdicts.values())
        lines.append(f"Safe rows: {safe / len(verdicts):.1%} of {len(verdicts):,} reviewed (the paper: 92.5%)")
    note(context, [*lines, *(f"{count} left out: {reason}" for reason, count in left_out.items())])
