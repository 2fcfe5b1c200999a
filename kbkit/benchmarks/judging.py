"""Tasks for people: items to read, each with a few questions to answer. Front ends show them and save the answers.

A benchmark describes its task as a :class:`Task`; the same task then runs in a terminal and in a browser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kbkit.errors import KbError


class Passage(NamedTuple):
    """Something to read: rows of cells, with the names of the columns as ``header``.

    ``numbered`` rows have numbers; the cells of ``stacked`` rows stand below each other, those of others side by side.
    """

    rows: Sequence[Sequence[str]]
    title: str = ""
    header: Sequence[str] = ()
    numbered: bool = False
    stacked: bool = False


class Question(NamedTuple):
    """A question with one answer: ``choices`` are what a person enters and what it means.

    It is not asked if the answer to the question ``unless[0]`` is ``unless[1]``.
    """

    name: str
    text: str
    choices: Mapping[str, str]
    unless: tuple[str, str] | None = None

    def applies(self, choices: Mapping[str, str]) -> bool:
        """Return whether the question is asked after other answers."""
        return self.unless is None or choices.get(self.unless[0]) != self.unless[1]


class Marking(NamedTuple):
    """A question whose answer is a set of rows of a passage; ``empty`` allows none."""

    name: str
    passage: Passage
    empty: bool = False


@dataclass(frozen=True)
class Item:
    """What is judged at once: ``title`` and ``lines`` of text, passages, and the questions.

    ``instead`` are answers to the item as a whole, such as an opt-out: what a person enters, and what it means.
    """

    title: str = ""
    lines: Sequence[str] = ()
    passages: Sequence[Passage] = ()
    marking: Marking | None = None
    questions: Sequence[Question] = ()
    instead: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answers:
    """The answers to an item: choices by question, marked rows (from 0), or the choice ``instead`` of them.

    ``seconds`` is the time that the person took.
    """

    choices: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[int] = ()
    instead: str = ""
    seconds: float = 0.0


class Stage(NamedTuple):
    """A part of a task: the items by key, in the order in which they are judged, and a note to the rater.

    ``test``: an entrance test.
    """

    items: Sequence[Hashable]
    note: str = ""
    test: bool = False


class Task(ABC):
    """What a rater judges. ``title`` says what to do, ``path`` is the file of the judgements.

    ``noun`` is what an item is called, singular and plural. ``whole``: an item is saved only when all its questions are
    answered.
    """

    title: str
    noun: tuple[str, str]
    path: Path
    whole: bool = True

    @property
    @abstractmethod
    def keys(self) -> Sequence[Hashable]:
        """The keys of the items, in the order in which they are judged."""

    @abstractmethod
    def item(self, key: Hashable) -> Item:
        """Return what to show of an item."""

    @abstractmethod
    def given(self, key: Hashable) -> Answers | None:
        """Return the saved answers to an item, None without any."""

    @abstractmethod
    def save(self, key: Hashable, answers: Answers) -> int:
        """Save valid answers to an item, replacing others; return how many judgements were written."""

    def stage(self) -> Stage:
        """Return the current stage. Raises :class:`KbError` for a rater who may not go on."""
        return Stage(self.keys)

    def done(self, key: Hashable) -> bool:
        """Return whether an item needs no more answers."""
        given = self.given(key)
        if given is None or self.whole or given.instead:
            return given is not None
        return all(one.name in given.choices for one in self.item(key).questions if one.applies(given.choices))


def validated(item: Item, answers: Answers) -> Answers:
    """Return answers without those to questions that are not asked. Raises :class:`KbError` for an invalid one."""
    if answers.instead:
        _check_choice("answer", answers.instead, item.instead)
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
            raise KbError(f"Nothing marked: {marking.name}", f"Mark at least one of {last}")
        if rows and not 0 <= rows[0] <= rows[-1] < last:
            raise KbError(f"Invalid row of {marking.name}", f"Use rows 1 to {last}")
    return Answers(choices, rows if marking else (), seconds=answers.seconds)


def _check_choice(name: str, given: str, choices: Mapping[str, str]) -> None:
    if given not in choices:
        known = ", ".join(f"{key} ({meaning})" if meaning else key for key, meaning in choices.items())
        raise KbError(
            f"No answer to {name}" if not given else f"Invalid answer to {name}: {given!r:.40}", f"Use {known}"
        )


def check_rater(name: str) -> None:
    """Raise :class:`KbError` for an empty name."""
    if not name.strip():
        raise KbError("Empty name of the rater", "Use a name that is the same in each session")
