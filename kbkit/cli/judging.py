"""A person's task, in the terminal or in a browser: stark rate, quest annotate, ska annotate, conv rate and others."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.asking import choice
from kbkit.cli.options import note, option
from kbkit.errors import KbError, plural

if TYPE_CHECKING:
    from kbkit.benchmarks.people.tasks import Passage, Task, TaskItem, TaskQuestion

InBrowser = Annotated[bool, option("--browser", "Open the task in a browser instead of the terminal.")]


@dataclass(frozen=True)
class Elsewhere:
    """Options to judge in another program: export the task for it, and import the answers."""

    export_to: Annotated[
        Path | None,
        option("--export FOLDER", "Write the task for another program instead, with existing judgements.", rare=True),
    ] = None
    program: Annotated[
        str,
        option("--program NAME", "Program of --export: label-studio or argilla.", rare=True),
    ] = "label-studio"
    import_from: Annotated[
        Path | None,
        option(
            "--import FILE",
            "Save the answers of an export of Label Studio or Argilla as judgements of the rater.",
            rare=True,
        ),
    ] = None
    annotator: Annotated[
        str,
        option("--annotator ID", "Person in the file of --import, if it has several.", rare=True),
    ] = ""

    def used(self, context: typer.Context, task: Task) -> bool:
        """Export the task or import answers, if the options say so; return whether they do."""
        from kbkit.benchmarks.people.exchange import export_task, import_answers

        if self.export_to is not None and self.import_from is not None:
            raise KbError("Conflicting options: a task is exported or answers are imported", "Use one of the two")
        if self.export_to is not None:
            count = export_task(task, self.program, self.export_to)
            note(context, [f"{self.export_to}: {plural(count, *task.noun)} for {self.program}"])
        if self.import_from is not None:
            done = import_answers(task, self.import_from, self.annotator)
            skipped = f"; {done.unanswered:,} without answers" if done.unanswered else ""
            lines = f"{plural(done.items, *task.noun)} read{skipped}"
            note(context, [lines, f"{task.path}: {plural(done.judgements, 'judgement')} saved"])
        return self.export_to is not None or self.import_from is not None


def judge(context: typer.Context, task: Task, browser: bool) -> None:
    """Run a task until the person ends it."""
    (_in_browser if browser else _in_terminal)(context, task)


# -- in a browser -----------------------------------------------------------------------------------------------------


def _in_browser(context: typer.Context, task: Task) -> None:
    from kbkit.cli.serve import open_pages
    from kbkit.web.explore.app import judging

    open_pages(context, task.title, 0, lambda token, once: judging(task, token, once))


# -- in the terminal --------------------------------------------------------------------------------------------------


def _in_terminal(context: typer.Context, task: Task) -> None:
    saved, ended = 0, False
    stage = task.stage()
    while not ended:
        left = [key for key in stage.items if not task.done(key)]
        done = len(stage.items) - len(left)
        note(context, [stage.note] if stage.note else [])
        note(context, [f"{done:,} of {plural(len(stage.items), *task.noun)} done; q ends the session"])
        written, ended = _judge(task, left, len(stage.items))
        if not stage.test:
            saved += written
            break
        if ended:
            raise KbError("The entrance test is not complete", "Run the same command to continue it")
        stage = task.stage()
    note(context, [f"{task.path}: {plural(saved, 'judgement')} saved"])


def _judge(task: Task, left: Sequence[Hashable], total: int) -> tuple[int, bool]:
    """Show the items that are left; return how many judgements were saved, and whether the person ended."""
    saved = 0
    for place, key in enumerate(left, total - len(left) + 1):
        item = task.item(key)
        _show(item, f"{place:,} of {total:,}")
        written, complete = _ask(task, key, item)
        saved += written
        if not complete:
            return saved, True
    return saved, False


def _show(item: TaskItem, place: str) -> None:
    from kbkit.display.render import clean

    typer.secho(clean(f"\n{place}: {item.title}" if item.title else f"\n{place}"), bold=True)
    for line in item.lines:
        typer.echo(clean(line))
    for passage in item.passages:
        _print(passage)
    if item.marking:
        _print(item.marking.passage)
    for entered, meaning in item.instead.choices.items():
        typer.echo(f"{entered:>4}  {meaning}")


def _print(passage: Passage) -> None:
    from kbkit.display.render import clean

    if passage.title:
        typer.secho(clean(passage.title), underline=True)
    if passage.header:
        typer.echo(clean(f"      {' | '.join(passage.header)}"))
    separator = "\n      " if passage.stacked else " | "
    for number, cells in enumerate(passage.rows, 1):
        typer.echo(clean(f"{number if passage.numbered else '':>4}  {separator.join(cells)}"))


def _ask(task: Task, key: Hashable, item: TaskItem) -> tuple[int, bool]:
    """Ask about an item and save the answers; return how many were saved, and whether there are all."""
    from kbkit.benchmarks.people.tasks import Answers

    started = time.monotonic()

    def save(choices: dict[str, str], rows: list[int], instead: str = "") -> int:
        return task.save(key, Answers(choices, rows, instead, time.monotonic() - started))

    rows: list[int] = []
    if item.marking:
        entered = _marked(item)
        if entered is None or entered in item.instead.choices:
            return (0, False) if entered is None else (save({}, [], entered), True)
        rows = [number - 1 for number in _numbers(entered, len(item.marking.passage.rows))]
    given = task.given(key)
    choices = dict(given.choices) if given else {}
    for question in item.questions:
        if question.name in choices or not question.applies(choices):
            continue
        entered = _chosen(question, item)
        if entered is None:
            return 0 if task.whole or not choices else save(choices, rows), False
        if entered in item.instead.choices:
            return save({}, [], entered), True
        choices[question.name] = entered
    return save(choices, rows), True


def _chosen(question: TaskQuestion, item: TaskItem) -> str | None:
    """Ask a question; None if the person ends."""
    keys = list(question.choices)
    if keys[-1].isdigit() and not any(list(question.choices.values())[1:]):
        scale = hint = f"a number from {keys[0]} to {keys[-1]}"
        scale += f"; {keys[0]}: {question.choices[keys[0]]}"
    else:
        scale = hint = ", ".join(f"{entered} {meaning}".rstrip() for entered, meaning in question.choices.items())
    typer.echo("\n" + f"{question.text} ({scale})".lstrip())
    others = "".join(f", {entered}: {meaning}" for entered, meaning in item.instead.choices.items())
    valid = {*question.choices, *item.instead.choices}
    return choice(question.name, lambda text: text in valid, f"Enter {hint}{others}")


def _marked(item: TaskItem) -> str | None:
    """Ask which rows are marked; None if the person ends."""
    assert item.marking
    last, nothing = len(item.marking.passage.rows), "0 for none, " if item.marking.empty else ""
    others = f", or {', '.join(item.instead.choices)}" if item.instead.choices else ""
    return choice(
        f"{item.marking.text}{' (0: none)' if nothing else ''}",
        lambda text: text in item.instead.choices or (bool(nothing) and text == "0") or _numbers(text, last) != [],
        f"Enter {nothing}numbers from 1 to {last}, such as 2 5 7{others}",
    )


def _numbers(text: str, largest: int) -> list[int]:
    """Return the numbers of a list such as ``2 5,7``, without duplicates; empty if one is invalid."""
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= largest for word in words):
        return []
    return sorted({int(word) for word in words})
