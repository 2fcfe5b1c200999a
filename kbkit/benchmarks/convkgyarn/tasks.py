"""The tasks of raters (ConvKGYarn, appendix B): conversations to rate, and pairs of conversations to compare."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.benchmarks.convkgyarn import ratings
from kbkit.benchmarks.convkgyarn.conversations import Conversation
from kbkit.benchmarks.convkgyarn.ratings import COMPARE, LABELS, OPT_OUT, OURS, QUESTIONS, RATE, REFERENCE, SAME, Rated
from kbkit.benchmarks.convkgyarn.references import Match
from kbkit.benchmarks.dataset import check_output_file
from kbkit.benchmarks.people.judgements import Mark
from kbkit.benchmarks.people.tasks import Passage, Task, TaskItem, TaskQuestion, TaskStage, scale
from kbkit.errors import KbError, plural

_SIDES = {"a": "A", "b": "B", "s": "the same"}
_OUT = TaskQuestion(OPT_OUT, "", {"o": OPT_OUT}, {"o": True})


class _Judging(Task):
    """A rater's task with an entrance test on items that an expert has judged, ``gold`` by item.

    Raises :class:`KbError` for an empty name, if the file cannot be written, and if items of the test are missing.
    """

    task: str

    def __init__(
        self, items: Mapping[str, Any], path: Path, rater: str, gold: Mapping[str, Rated], threshold: float
    ) -> None:
        check_output_file(path)
        if not 0 <= threshold <= 1:
            raise KbError(f"Invalid threshold of the test: {threshold:g}", "Use a number from 0 to 1")
        if missing := [name for name in gold if name not in items]:
            message = f"{plural(len(missing), 'item')} of the entrance test not found, for example {missing[0]!r}"
            raise KbError(message, "Use the dataset, and for pairs the seed, that the expert used")
        super().__init__(path, rater, ratings.problem)
        self._items, self._gold, self._threshold = items, gold, threshold

    @property
    def keys(self) -> list[str]:
        """The items that are not part of the test."""
        return [name for name in self._items if name not in self._gold]

    def stage(self) -> TaskStage:
        """Return the test until all its items are judged. Raises :class:`KbError` if the rater did not pass it."""
        if not all(map(self.done, self._gold)):
            return TaskStage(list(self._gold), f"Entrance test: {plural(len(self._gold), *self.noun)}", test=True)
        if self._gold:
            result = ratings.outcome(self._gold, {name: self._values(name) for name in self._gold})
            agreed = f"{100 * result.share:.0f} % of {result.count:,} values agree"
            if result.share < self._threshold:
                required = f"At least {100 * self._threshold:.0f} % must agree"
                raise KbError(f"Entrance test not passed: {agreed}", required)
            return TaskStage(self.keys, f"Entrance test passed: {agreed}")
        return TaskStage(self.keys)

    def _values(self, name: str) -> dict[str, Mark]:
        """Return a rater's value of each dimension of an item."""
        given, questions = self.given(name), self.item(name).questions
        choices = given.choices if given else {}
        return {
            question.name: question.mark(choices[question.name]) for question in questions if question.name in choices
        }

    def name(self, key: Hashable) -> tuple[str, ...]:
        """Return the task and the item; a test is a task of its own."""
        return ratings.item_name(self.task, str(key), test=key in self._gold)

    def about(self, key: Hashable) -> dict[str, Mark]:
        """Return what the tables need to know about the conversation of the dataset."""
        return ratings.about(self._conversation(str(key)))

    @abstractmethod
    def _conversation(self, name: str) -> Conversation:
        """Return the conversation of the dataset in an item."""


class ConvRating(_Judging):
    """Conversations to rate from 1 to 5."""

    task = RATE
    title = "Rate conversations"
    noun = ("conversation", "conversations")

    def item(self, key: Hashable) -> TaskItem:
        """Return a conversation."""
        questions = [scale(dimension, text, LABELS) for dimension, text in QUESTIONS.items()]
        return TaskItem(passages=[_passage(_turns(self._items[str(key)]))], questions=questions, instead=_OUT)

    def _conversation(self, name: str) -> Conversation:
        conversation: Conversation = self._items[name]
        return conversation


class Comparing(_Judging):
    """Pairs of conversations: which one is better? Their order is random."""

    task = COMPARE
    title = "Compare conversations"
    noun = ("pair", "pairs")

    def item(self, key: Hashable) -> TaskItem:
        """Return a pair."""
        match: Match = self._items[str(key)]
        sides: list[tuple[str, Sequence[tuple[str, str]]]] = [
            (OURS, _turns(match.ours)),
            (REFERENCE, match.reference.turns),
        ]
        shown = sides[::-1] if match.swapped else sides
        marks = {"a": shown[0][0], "b": shown[1][0], "s": SAME}
        return TaskItem(
            passages=[_passage(turns, f"Conversation {name}") for name, (_, turns) in zip("AB", shown, strict=True)],
            questions=[TaskQuestion(dimension, text, _SIDES, marks) for dimension, text in QUESTIONS.items()],
            instead=_OUT,
        )

    def _conversation(self, name: str) -> Conversation:
        match: Match = self._items[name]
        return match.ours


def _turns(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.question, ", ".join(answer.text for answer in turn.answers)) for turn in conversation.turns]


def _passage(turns: Sequence[tuple[str, str]], title: str = "") -> Passage:
    return Passage(turns, title, numbered=True, stacked=True)
