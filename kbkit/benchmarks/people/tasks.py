"""Tasks for people: items to read, each with a few questions to answer. Front ends show them and save the answers.

A benchmark describes its task as a :class:`Task`; the same task then runs in a terminal and in a browser, and all tasks
save their answers in the same way, as judgements (:mod:`kbkit.benchmarks.people.judgements`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kbkit.benchmarks.people.judgements import (
    Judgement,
    Mark,
    Problem,
    append_judgements,
    check_rater,
    known_judgements,
    remove_leftover_lock,
)
from kbkit.errors import KbError

_Slot = tuple[tuple[str, ...], str]
"""An item and a question, which have one mark."""


class Passage(NamedTuple):
    """Something to read: rows of cells, with the names of the columns as ``header``.

    ``numbered`` rows have numbers; the cells of ``stacked`` rows stand below each other, those of others side by side.
    """

    rows: Sequence[Sequence[str]]
    title: str = ""
    header: Sequence[str] = ()
    numbered: bool = False
    stacked: bool = False


class TaskQuestion(NamedTuple):
    """A question with one answer: ``choices`` are what a person enters and what it means.

    ``marks`` are what is saved for a choice, by default the choice itself. The question is not asked if the answer to
    the question ``unless[0]`` is ``unless[1]``.
    """

    name: str
    text: str
    choices: Mapping[str, str]
    marks: Mapping[str, Mark] = MappingProxyType({})
    unless: tuple[str, str] | None = None

    def applies(self, choices: Mapping[str, str]) -> bool:
        """Return whether the question is asked after other answers."""
        return self.unless is None or choices.get(self.unless[0]) != self.unless[1]

    def mark(self, choice: str) -> Mark:
        """Return what is saved for a choice."""
        return self.marks.get(choice, choice)

    def choice(self, mark: Mark) -> str | None:
        """Return the first choice with a mark, or None."""
        return next((choice for choice in self.choices if self.mark(choice) == mark), None)


def scale(name: str, text: str, meanings: Sequence[str], first: int = 1) -> TaskQuestion:
    """Return a question that is answered by a number from ``first``; ``meanings`` are theirs, in order."""
    numbers = {str(number): meaning for number, meaning in enumerate(meanings, first)}
    return TaskQuestion(name, text, numbers, {number: int(number) for number in numbers})


_NOTHING = TaskQuestion("", "", {})


class Marking(NamedTuple):
    """A question about each row of a passage, answered by marking rows; ``empty`` allows none.

    ``text`` says which rows to mark. ``rows`` are the names of the rows, under which their marks, true or false, are
    saved.
    """

    name: str
    text: str
    passage: Passage
    rows: Sequence[str]
    empty: bool = False


@dataclass(frozen=True)
class TaskItem:
    """What is judged at once: ``title`` and ``lines`` of text, passages, and the questions.

    ``instead`` is a question about the item as a whole, such as whether to opt out, answered instead of the others.
    """

    title: str = ""
    lines: Sequence[str] = ()
    passages: Sequence[Passage] = ()
    marking: Marking | None = None
    questions: Sequence[TaskQuestion] = ()
    instead: TaskQuestion = _NOTHING


@dataclass(frozen=True)
class Answers:
    """The answers to an item: choices by question, marked rows (from 0), or the choice ``instead`` of them.

    ``seconds`` is the time that the person took.
    """

    choices: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[int] = ()
    instead: str = ""
    seconds: float = 0.0


class TaskStage(NamedTuple):
    """A part of a task: the items by key, in the order in which they are judged, and a note to the rater.

    ``test``: an entrance test.
    """

    items: Sequence[Hashable]
    note: str = ""
    test: bool = False


class Task(ABC):
    """What the person ``who`` judges. ``title`` says what to do, ``path`` is the file of the judgements.

    ``noun`` is what an item is called, singular and plural. ``whole``: an item is saved only when all its questions are
    answered. ``problem`` finds invalid judgements in the file.
    """

    title: str
    noun: tuple[str, str]
    whole: bool = True

    def __init__(self, path: Path, who: str, problem: Problem = lambda _: "") -> None:
        check_rater(who)
        remove_leftover_lock(path)
        self.path, self.who = path, who
        self._marks = {
            (judgement.item, judgement.question): judgement.mark
            for judgement in known_judgements(path, problem)
            if judgement.who == who
        }

    @property
    @abstractmethod
    def keys(self) -> Sequence[Hashable]:
        """The keys of the items, in the order in which they are judged."""

    @abstractmethod
    def item(self, key: Hashable) -> TaskItem:
        """Return what to show of an item."""

    def name(self, key: Hashable) -> tuple[str, ...]:
        """Return the name of an item in the file: its key, which is text or a tuple of texts."""
        return key if isinstance(key, tuple) else (str(key),)

    def about(self, key: Hashable) -> dict[str, Mark]:  # noqa: ARG002 - for tasks that have some
        """Return properties of an item that are saved with its judgements."""
        return {}

    def stage(self) -> TaskStage:
        """Return the current stage. Raises :class:`KbError` for a rater who may not go on."""
        return TaskStage(self.keys)

    def done(self, key: Hashable) -> bool:
        """Return whether an item needs no more answers."""
        given = self.given(key)
        if given is None or given.instead:
            return given is not None
        return all(
            question.name in given.choices for question in self.item(key).questions if question.applies(given.choices)
        )

    def given(self, key: Hashable) -> Answers | None:
        """Return the saved answers to an item, None without any or if not all rows have a mark."""
        item, name = self.item(key), self.name(key)
        instead = self._marks.get((name, item.instead.name))
        if instead is not None:
            return Answers(instead=item.instead.choice(instead) or "")
        choices: dict[str, str] = {}
        for question in item.questions:
            choice = question.choice(self._marks.get((name, question.name)))
            if choice is not None and question.applies(choices):
                choices[question.name] = choice
        marks = [self._marks.get(slot) for slot in _rows(item, name)]
        if None in marks or not (marks or choices):
            return None
        return Answers(choices, [at for at, mark in enumerate(marks) if mark] if item.marking else ())

    def save(self, key: Hashable, answers: Answers) -> int:
        """Save valid answers to an item, replacing others; return how many judgements are new or different."""
        item, name = self.item(key), self.name(key)
        marks = dict.fromkeys(_slots(item, name)) | _marks_of(item, name, answers)
        changed = {slot: mark for slot, mark in marks.items() if self._marks.get(slot) != mark}
        about, seconds = self.about(key), round(answers.seconds, 1)
        append_judgements(
            self.path,
            [Judgement(self.who, *slot, mark, seconds=seconds, about=about) for slot, mark in changed.items()],
        )
        self._marks |= changed
        return sum(mark is not None for mark in changed.values())


def _rows(item: TaskItem, name: tuple[str, ...]) -> list[_Slot]:
    return [((*name, row), item.marking.name) for row in item.marking.rows] if item.marking else []


def _slots(item: TaskItem, name: tuple[str, ...]) -> list[_Slot]:
    """Return all that can have a mark. What comes first is what an interrupted session may leave without the rest."""
    return [*((name, question.name) for question in (item.instead, *item.questions)), *_rows(item, name)]


def _marks_of(item: TaskItem, name: tuple[str, ...], answers: Answers) -> dict[_Slot, Mark]:
    if answers.instead:
        return {(name, item.instead.name): item.instead.mark(answers.instead)}
    known = {question.name: question for question in item.questions}
    marks = {(name, of): known[of].mark(choice) for of, choice in answers.choices.items()}
    return {**marks, **{slot: at in answers.rows for at, slot in enumerate(_rows(item, name))}}


def validated(item: TaskItem, answers: Answers) -> Answers:
    """Return answers without those to questions that are not asked. Raises :class:`KbError` for an invalid one."""
    if answers.instead:
        _check_choice("answer", answers.instead, item.instead.choices)
        return Answers(instead=answers.instead, seconds=answers.seconds)
    choices: dict[str, str] = {}
    for question in item.questions:
        if question.applies(choices):
            _check_choice(question.name, answers.choices.get(question.name, ""), question.choices)
            choices[question.name] = answers.choices[question.name]
    rows = sorted(set(answers.rows))
    marking = item.marking
    if marking is not None:
        last = len(marking.passage.rows)
        if not rows and not marking.empty:
            raise KbError(f"Nothing marked: {marking.text}", f"Mark at least one of {last}")
        if rows and not 0 <= rows[0] <= rows[-1] < last:
            raise KbError(f"Invalid row of {marking.text}", f"Use rows 1 to {last}")
    return Answers(choices, rows if marking else (), seconds=answers.seconds)


def _check_choice(name: str, given: str, choices: Mapping[str, str]) -> None:
    if given not in choices:
        known = ", ".join(f"{key} ({meaning})" if meaning else key for key, meaning in choices.items())
        raise KbError(
            f"No answer to {name}" if not given else f"Invalid answer to {name}: {given!r:.40}", f"Use {known}"
        )
