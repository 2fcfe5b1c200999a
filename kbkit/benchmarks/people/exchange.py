"""Tasks for other annotation programs, and the judgements that come back: Label Studio and Argilla.

An item of a task becomes a text with *slots*: a slot is a question with numbered or named choices. What a person chose
in another program is saved as an answer to the same task, so that it lies in the same file as answers that were given
in the terminal or in the browser. Existing judgements of the rater are exported with the items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kbkit.benchmarks.people import argilla, label_studio
from kbkit.benchmarks.people.slots import AnnotatedItem, AnnotationSlot, ShownItem
from kbkit.benchmarks.people.tasks import Answers, Passage, Task, TaskItem, validated
from kbkit.directory.files import write_files
from kbkit.errors import BadInputError, KbError, Option, UnknownNameError
from kbkit.measures.records import content, load_json

ROWS, INSTEAD = "rows", "instead"
"""Names of the slots for marked rows, and for the question that is answered instead of the others."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


class _Program(NamedTuple):
    """How a program takes a task and gives judgements back."""

    files: Callable[[Sequence[ShownItem], str], dict[str, str]]
    annotated: Callable[[Sequence[Any], str], Iterator[AnnotatedItem]]


PROGRAMS = {
    "label-studio": _Program(label_studio.task_files, label_studio.annotated_items),
    "argilla": _Program(argilla.dataset_files, argilla.annotated_items),
}


@dataclass(frozen=True)
class Imported:
    """The result of an import: ``items`` with answers, and how many judgements are new or different."""

    items: int
    judgements: int
    unanswered: int


# -- out --------------------------------------------------------------------------------------------------------------


def export_task(task: Task, program: str, out: Path) -> int:
    """Write the items of a task with the rater's judgements for a program, into a folder; return their number.

    For Label Studio: ``tasks.json`` and the labelling interface, ``config.xml``. For Argilla: what
    ``Dataset.from_disk`` reads. Raises :class:`KbError` for a folder with files.
    """
    if program not in PROGRAMS:
        raise UnknownNameError("program", program, PROGRAMS)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise KbError(f"{out} already exists", "Use a new or empty folder")
    items = [_shown(task, key) for key in task.stage().items]
    if not items:
        raise KbError("The task has no items")
    written = PROGRAMS[program].files(items, task.title)
    write_files({out / name: text for name, text in written.items()})
    return len(items)


def _shown(task: Task, key: Hashable) -> ShownItem:
    item, given = task.item(key), task.given(key)
    chosen: dict[str, list[str]] = {}
    if given is not None and given.instead:
        chosen[INSTEAD] = [given.instead]
    elif given is not None:
        names = {slot.question: slot.name for slot in slots(item)}
        chosen = {names[question]: [choice] for question, choice in given.choices.items()}
        chosen |= {ROWS: [str(row + 1) for row in given.rows]} if item.marking else {}
    return ShownItem(_item_name(task, key), item.title, _text(item), slots(item), chosen, task.who)


def _item_name(task: Task, key: Hashable) -> str:
    return json.dumps(task.name(key), ensure_ascii=False)


def slots(item: TaskItem) -> list[AnnotationSlot]:
    """Return the slots of an item: marked rows, the question instead of others, and the questions."""
    listed = []
    if item.marking:
        rows = {str(n): " | ".join(cells) for n, cells in enumerate(item.marking.passage.rows, 1)}
        listed.append(AnnotationSlot(ROWS, item.marking.name, f"Mark {item.marking.text}", rows, several=True))
    if item.instead.choices:
        listed.append(
            AnnotationSlot(INSTEAD, item.instead.name, "Or, about the item as a whole", dict(item.instead.choices))
        )
    for number, question in enumerate(item.questions, 1):
        plain = _NAME.fullmatch(question.name) and question.name not in (ROWS, INSTEAD)
        name = question.name if plain else f"q{number}"
        listed.append(
            AnnotationSlot(
                name,
                question.name,
                question.text or question.name,
                dict(question.choices),
                optional=question.unless is not None,
            )
        )
    return listed


def _text(item: TaskItem) -> str:
    passages = [*item.passages, *([item.marking.passage] if item.marking else [])]
    return "\n".join([*item.lines, *(line for passage in passages for line in _lines(passage))])


def _lines(passage: Passage) -> Iterator[str]:
    if passage.title:
        yield passage.title
    if passage.header:
        yield " | ".join(passage.header)
    for number, cells in enumerate(passage.rows, 1):
        text = ("\n   " if passage.stacked else " | ").join(cells)
        yield f"{number}. {text}" if passage.numbered else text


# -- back -------------------------------------------------------------------------------------------------------------


def import_answers(task: Task, path: Path, annotator: str = "") -> Imported:
    """Save the answers in an export of Label Studio (JSON) or Argilla (``records.json``) as the rater's judgements.

    ``annotator`` is the person in that program; it can be omitted if the file has only one. An item without answers
    is skipped. Raises :class:`BadInputError` for an invalid answer; then nothing is saved.
    """
    path = path / argilla.RECORDS if path.is_dir() else path
    of_rater = _of_one(_annotated(path), annotator, path)
    known = {_item_name(task, key): key for key in task.stage().items}
    answers: dict[Hashable, Answers] = {}
    unanswered = 0
    for annotation in of_rater:
        if annotation.item not in known:
            message = f"Unknown item {annotation.item:.60} in {path}"
            raise BadInputError(message, "Use the dataset, limit and seed that the task was exported with")
        item = task.item(known[annotation.item])
        if not annotation.chosen and not (item.marking and item.marking.empty):
            unanswered += 1
            continue
        answers[known[annotation.item]] = _valid(item, annotation, path)
    saved = sum(task.save(key, given) for key, given in answers.items())
    return Imported(len(answers), saved, unanswered)


def _annotated(path: Path) -> list[AnnotatedItem]:
    records = load_json(content(path).decode(), str(path))
    if isinstance(records, list) and records and all(isinstance(record, dict) for record in records):
        for program, key in (("label-studio", "data"), ("argilla", "fields")):
            if key in records[0]:
                return list(PROGRAMS[program].annotated(records, str(path)))
    hint = "Export JSON from Label Studio (not JSON-MIN), or records.json from Argilla"
    raise BadInputError(f"{path} is not an export of Label Studio or Argilla", hint)


def _of_one(annotated: Sequence[AnnotatedItem], annotator: str, path: Path) -> Iterable[AnnotatedItem]:
    names = sorted({item.annotator for item in annotated})
    if annotator and annotator not in names:
        raise UnknownNameError("annotator", annotator, names, str(path))
    if not names:
        raise KbError(f"{path} has no answers", "Export it again when items are annotated")
    if not annotator and len(names) > 1:
        shown = ", ".join(names[:5])
        raise KbError(f"{path} has answers of {len(names)} people: {shown}", "Choose one with ", Option("annotator"))
    return (item for item in annotated if item.annotator == (annotator or names[0]))


def _valid(item: TaskItem, annotated: AnnotatedItem, path: Path) -> Answers:
    """Return the answers to an item; those to questions that are not asked are ignored."""
    known = {slot.name: slot for slot in slots(item)}
    where = f"item {annotated.item:.60} of {path}"
    for name, chosen in annotated.chosen.items():
        if name not in known:
            raise BadInputError(f"Unknown question {name!r:.40} in {where}", f"Known: {', '.join(known)}")
        wrong = next((choice for choice in chosen if choice not in known[name].choices), None)
        if wrong is not None or (len(chosen) > 1 and not known[name].several):
            shown = chosen if wrong is None else wrong
            raise BadInputError(f"Invalid answer {shown!r:.40} to {name} in {where}")
    if instead := annotated.chosen.get(INSTEAD):
        return Answers(instead=instead[0], seconds=annotated.seconds)
    choices = {
        slot.question: annotated.chosen[slot.name][0] for slot in known.values() if slot.name in annotated.chosen
    }
    choices = {question: choice for question, choice in choices.items() if question != _marked(item)}
    rows = [int(row) - 1 for row in annotated.chosen.get(ROWS, ())]
    try:
        return validated(item, Answers(choices, rows, seconds=annotated.seconds))
    except KbError as error:
        raise BadInputError(f"{error.message} in {where}", *error.hints) from None


def _marked(item: TaskItem) -> str | None:
    return item.marking.name if item.marking else None
