"""The tasks of raters (ConvKGYarn, appendix B): conversations to rate, and pairs of conversations to compare."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from kbkit.benchmarks.convkgyarn import ratings
from kbkit.benchmarks.convkgyarn.conversations import Conversation
from kbkit.benchmarks.convkgyarn.ratings import COMPARE, LABELS, OURS, QUESTIONS, RATE, REFERENCE, SAME, Judgement
from kbkit.benchmarks.convkgyarn.references import Match
from kbkit.benchmarks.dataset import check_output_file
from kbkit.benchmarks.judging import Answers, Item, Passage, Question, Stage, Task, check_rater
from kbkit.errors import KbError, plural

_OPT_OUT = "o"
_SCALE = {str(number): label for number, label in enumerate(LABELS, 1)}
_SIDES = {"a": "A", "b": "B", "s": "the same"}


class _Judging(Task):
    """A rater's task with an entrance test on items that an expert has judged, ``gold`` by item.

    Raises :class:`KbError` for an empty name, if the file cannot be written, and if items of the test are missing.
    """

    task: str

    def __init__(
        self, items: Mapping[str, Any], path: Path, rater: str, gold: Mapping[str, Judgement], threshold: float
    ) -> None:
        check_rater(rater)
        check_output_file(path)
        if not 0 <= threshold <= 1:
            raise KbError(f"Invalid threshold of the test: {threshold:g}", "Use a number from 0 to 1")
        if missing := [name for name in gold if name not in items]:
            message = f"{plural(len(missing), 'item')} of the entrance test not found, for example {missing[0]!r}"
            raise KbError(message, "Use the dataset, and for pairs the seed, that the expert used")
        self.path, self._rater, self._gold, self._threshold = path, rater, gold, threshold
        self._items, self._known = items, ratings.known(path, self.task, rater)

    @property
    def keys(self) -> list[str]:
        """The items that are not part of the test."""
        return [name for name in self._items if name not in self._gold]

    def stage(self) -> Stage:
        """Return the test until all its items are judged. Raises :class:`KbError` if the rater did not pass it."""
        if any((name, True) not in self._known for name in self._gold):
            return Stage(list(self._gold), f"Entrance test: {plural(len(self._gold), *self.noun)}", test=True)
        if self._gold:
            found = ratings.outcome(self._gold, [one for (_, test), one in self._known.items() if test])
            agreed = f"{100 * found.share:.0f} % of {found.count:,} values agree"
            if found.share < self._threshold:
                required = f"At least {100 * self._threshold:.0f} % must agree"
                raise KbError(f"Entrance test not passed: {agreed}", required)
            return Stage(self.keys, f"Entrance test passed: {agreed}")
        return Stage(self.keys)

    def given(self, key: Hashable) -> Answers | None:
        """Return the judgement of an item."""
        one = self._known.get((str(key), key in self._gold))
        if one is None:
            return None
        if not one.values:
            return Answers(instead=_OPT_OUT)
        return Answers({name: self._entered(str(key), value) for name, value in one.values.items()})

    def save(self, key: Hashable, answers: Answers) -> int:
        """Save a judgement."""
        name, test = str(key), key in self._gold
        values = {dimension: self._value(name, choice) for dimension, choice in answers.choices.items()}
        one = ratings.judgement(self.task, self._rater, name, self._conversation(name), values, test=test)
        ratings.save(self.path, one)
        self._known[name, test] = one
        return 1

    @abstractmethod
    def _conversation(self, name: str) -> Conversation:
        """Return the conversation of the dataset in an item."""

    @abstractmethod
    def _value(self, name: str, choice: str) -> Any:
        """Return the value of a choice."""

    @abstractmethod
    def _entered(self, name: str, value: Any) -> str:
        """Return the choice of a value."""


class Rating(_Judging):
    """Conversations to rate from 1 to 5."""

    task = RATE
    title = "Rate conversations"
    noun = ("conversation", "conversations")

    def item(self, key: Hashable) -> Item:
        """Return a conversation."""
        questions = [Question(dimension, text, _SCALE) for dimension, text in QUESTIONS.items()]
        return Item(
            passages=[_passage(_turns(self._items[str(key)]))], questions=questions, instead={_OPT_OUT: "opt out"}
        )

    def _conversation(self, name: str) -> Conversation:
        found: Conversation = self._items[name]
        return found

    def _value(self, name: str, choice: str) -> int:  # noqa: ARG002 - the same for all
        return int(choice)

    def _entered(self, name: str, value: Any) -> str:  # noqa: ARG002 - the same for all
        return str(value)


class Comparing(_Judging):
    """Pairs of conversations: which one is better? Their order is random."""

    task = COMPARE
    title = "Compare conversations"
    noun = ("pair", "pairs")

    def item(self, key: Hashable) -> Item:
        """Return a pair."""
        match: Match = self._items[str(key)]
        sides = [_turns(match.ours), list(match.reference.turns)]
        shown = reversed(sides) if match.swapped else sides
        return Item(
            passages=[_passage(turns, f"Conversation {name}") for name, turns in zip("AB", shown, strict=True)],
            questions=[Question(dimension, text, _SIDES) for dimension, text in QUESTIONS.items()],
            instead={_OPT_OUT: "opt out"},
        )

    def _conversation(self, name: str) -> Conversation:
        match: Match = self._items[name]
        return match.ours

    def _values(self, name: str) -> dict[str, str]:
        first, second = (REFERENCE, OURS) if self._items[name].swapped else (OURS, REFERENCE)
        return {"a": first, "b": second, "s": SAME}

    def _value(self, name: str, choice: str) -> str:
        return self._values(name)[choice]

    def _entered(self, name: str, value: Any) -> str:
        return next(choice for choice, meant in self._values(name).items() if meant == value)


def _turns(one: Conversation) -> list[tuple[str, str]]:
    return [(turn.question, ", ".join(answer.text for answer in turn.answers)) for turn in one.turns]


def _passage(turns: list[tuple[str, str]], title: str = "") -> Passage:
    return Passage(turns, title, numbered=True, stacked=True)
