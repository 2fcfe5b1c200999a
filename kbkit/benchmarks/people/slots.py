"""Items of a task as other annotation programs take them, and as they give them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class AnnotationSlot(NamedTuple):
    """A question with choices: its name in the other program, the ``question`` of the task, and its text.

    ``choices`` are what is saved and what it means; ``several`` may be chosen at once. An ``optional`` one depends on
    other answers.
    """

    name: str
    question: str
    text: str
    choices: Mapping[str, str]
    several: bool = False
    optional: bool = False


@dataclass(frozen=True)
class ShownItem:
    """An item: its name (JSON), title and text, its slots, and what the rater ``who`` chose, by slot."""

    name: str
    title: str
    text: str
    slots: Sequence[AnnotationSlot]
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    who: str = ""


@dataclass(frozen=True)
class AnnotatedItem:
    """What ``annotator`` chose for an item, by slot, and how long it took."""

    item: str
    annotator: str
    chosen: Mapping[str, Sequence[str]]
    seconds: float = 0.0


def all_slots(items: Sequence[ShownItem]) -> dict[str, list[AnnotationSlot]]:
    """Return the slots of all items by name, in order."""
    by_name: dict[str, list[AnnotationSlot]] = {}
    for item in items:
        for slot in item.slots:
            by_name.setdefault(slot.name, []).append(slot)
    return by_name
