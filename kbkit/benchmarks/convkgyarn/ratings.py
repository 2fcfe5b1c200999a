"""People rate conversations, or compare two of them (ConvKGYarn, section 5 and appendix B).

Four dimensions are rated from 1 (Poor) to 5 (Excellent), or compared (the first is better, the second, or the same). A
rater can opt out of a conversation. Each is a judgement, whose item is the task and a conversation or pair, and whose
question is a dimension; a file can hold those of several raters and of both tasks. Three raters judge the same items in
the same order.

Before the task, raters can be required to pass a test on items that an expert has judged; these items are not part of
the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.convkgyarn.conversations import Conversation
from kbkit.benchmarks.convkgyarn.paper import DIMENSIONS, SETTINGS, Setting
from kbkit.benchmarks.people.judgements import Judgement, Mark, outside, read_judgements
from kbkit.errors import KbError

QUESTIONS = {
    "fluency": "Do the questions flow naturally from one turn to the next?",
    "relevance": "Do all turns stay with the topic, and does each question fit the conversation?",
    "diversity": "Do the questions vary in content and in form?",
    "grammar": "Are the questions correct in grammar and spelling?",
}
"""What is asked about each dimension; the paper prints its guidelines as images only."""
LABELS = ("Poor", "Fair", "Satisfactory", "Good", "Excellent")
"""The meaning of the ratings 1 to 5 (appendix B.1)."""
RATE, COMPARE = "rate", "compare"
OURS, REFERENCE, SAME = "ours", "reference", "same"
TEST_TOLERANCE = 1
"""Ratings in a test may differ from the expert's by this much."""
OPT_OUT = "opt out"
"""The question whether a rater opts out of an item."""
_TEST = " test"
_SCALES: dict[str, Sequence[Mark]] = {RATE: range(1, len(LABELS) + 1), COMPARE: (OURS, REFERENCE, SAME)}


@dataclass(frozen=True)
class Rated:
    """What a rater gave to an ``item``: a conversation, or ``conversation|reference``.

    ``values`` are a rating from 1 to 5, or ``ours``, ``reference`` or ``same``, by dimension; empty if the rater opted
    out. ``related`` and ``setting`` are those of the conversation. ``test``: part of an entrance test.
    """

    task: str
    rater: str
    item: str
    values: Mapping[str, Any]
    related: bool = False
    setting: Setting = ("", False, False, False)
    test: bool = False


def item_name(task: str, item: str, *, test: bool = False) -> tuple[str, str]:
    """Return the name of an item in a file of judgements; those of a test are kept apart."""
    return task + _TEST if test else task, item


def about(conversation: Conversation) -> dict[str, Mark]:
    """Return what the tables need to know about a conversation."""
    names = ("interaction", "deixis", "disfluency", "typo")
    return {"related": conversation.related is not None, **{name: getattr(conversation, name) for name in names}}


# -- what to rate -----------------------------------------------------------------------------------------------------


def sample(conversations: Iterable[Conversation], count: int, seed: int) -> list[Conversation]:
    """Draw up to ``count`` conversations of each configuration, with and without a related entity, in random order.

    Equal arguments give equal samples. As in the paper, configurations are drawn uniformly; their conversations come
    from different groups as far as possible, so that a rater does not read the same facts again and again.
    """
    check_range("number of conversations", count)
    check_range("seed", seed, 0)
    parts: dict[tuple[bool, Setting], list[Conversation]] = {}
    for conversation in conversations:
        setting = (conversation.interaction, conversation.deixis, conversation.disfluency, conversation.typo)
        parts.setdefault((conversation.related is not None, setting), []).append(conversation)
    drawn = np.random.default_rng(seed)
    used: set[str] = set()
    chosen: list[Conversation] = []
    for _, part in sorted(parts.items(), key=lambda item: item[0]):
        shuffled = [part[i] for i in drawn.permutation(len(part)).tolist()]
        fresh_first = sorted(shuffled, key=lambda conversation: conversation.group in used)
        chosen += fresh_first[:count]
        used |= {conversation.group for conversation in fresh_first[:count]}
    return [chosen[i] for i in drawn.permutation(len(chosen)).tolist()]


# -- files ------------------------------------------------------------------------------------------------------------


def problem(judgement: Judgement) -> str:
    """Return what is wrong with a judgement, or ""."""
    task = judgement.item[0].removesuffix(_TEST)
    if task not in _SCALES or len(judgement.item) != 2:
        return f"its item is not a task ({RATE} or {COMPARE}) and a conversation"
    if wrong := outside({**dict.fromkeys(DIMENSIONS, _SCALES[task]), OPT_OUT: (True,)}, judgement):
        return wrong
    setting = _setting(judgement)
    if task == RATE and setting[0] and setting not in SETTINGS:
        return "invalid configuration: disfluencies are for voice, typos for text"
    return ""


def _setting(judgement: Judgement) -> Setting:
    noise = (judgement.about.get(name) is True for name in ("deixis", "disfluency", "typo"))
    return (str(judgement.about.get("interaction", "")), *noise)  # type: ignore[return-value]


def read_rated(paths: Sequence[Path], task: str | None = None) -> list[Rated]:
    """Return what raters gave to items, in one task or in both, from files of judgements."""
    values: dict[tuple[str, str, str], dict[str, Mark]] = {}
    last: dict[tuple[str, str, str], Judgement] = {}
    for judgement in read_judgements(paths, problem):
        key = (judgement.item[0], judgement.who, judgement.item[1])
        if judgement.mark is not None and task in (None, judgement.item[0].removesuffix(_TEST)):
            values.setdefault(key, {})[judgement.question] = judgement.mark
            last[key] = judgement
    return [
        Rated(
            name.removesuffix(_TEST),
            rater,
            item,
            {} if OPT_OUT in marks else {part: marks[part] for part in DIMENSIONS if part in marks},
            last[name, rater, item].about.get("related") is True,
            _setting(last[name, rater, item]),
            name.endswith(_TEST),
        )
        for (name, rater, item), marks in values.items()
    ]


# -- the entrance test ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EntranceResult:
    """The result of an entrance test: the share of ``count`` values that agree with the expert's."""

    count: int
    share: float


def expected(path: Path, task: str) -> dict[str, Rated]:
    """Return an expert's judgements by item. Raises :class:`KbError` if the file has those of several raters."""
    rated = [judgement for judgement in read_rated([path], task) if judgement.values]
    raters = {judgement.rater for judgement in rated}
    if len(raters) > 1:
        raise KbError(f"{path} has judgements of {len(raters)} raters", "An entrance test needs those of one expert")
    if not rated:
        raise KbError(f"{path} has no judgements of this task", "Let an expert judge the items of the test first")
    return {judgement.item: judgement for judgement in rated}


def outcome(gold: Mapping[str, Rated], answers: Mapping[str, Mapping[str, Any]]) -> EntranceResult:
    """Return how a rater's ``answers``, values by dimension by item, agree with an expert's.

    Ratings agree if they differ by at most one point, preferences if they are equal. Items that the rater opted out of
    do not agree. The paper states a threshold but neither its value nor the measure.
    """
    agreed = [
        name in answers.get(item, {}) and _agree(value, answers[item][name])
        for item, judgement in gold.items()
        for name, value in judgement.values.items()
    ]
    return EntranceResult(len(agreed), sum(agreed) / len(agreed) if agreed else 0.0)


def _agree(first: Any, second: Any) -> bool:
    if isinstance(first, int) and isinstance(second, int):
        return abs(first - second) <= TEST_TOLERANCE
    return bool(first == second)
