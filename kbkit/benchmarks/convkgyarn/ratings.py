"""People rate conversations, or compare two of them (ConvKGYarn, section 5 and appendix B).

Four dimensions are rated from 1 (Poor) to 5 (Excellent), or compared (the first is better, the second, or the same). A
rater can opt out of a conversation. Each is a judgement, whose item is the task and a conversation or pair, and whose
question is a dimension; a file can hold those of several raters and of both tasks. Three raters judge the same items in
the same order.

Before the task, raters can be required to pass a test on items that an expert has judged; these items are not part of
the task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.convkgyarn import paper
from kbkit.benchmarks.convkgyarn.conversations import PROPERTIES, SETTINGS, Conversation, Setting
from kbkit.benchmarks.convkgyarn.paper import DIMENSIONS
from kbkit.benchmarks.people.judgements import Judgement, Mark, outside, read_judgements
from kbkit.benchmarks.report import beside, in_one_cell
from kbkit.errors import KbError, plural
from kbkit.measures.agreement import majority

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
    return {"related": conversation.related is not None, **dict(zip(PROPERTIES, conversation.setting, strict=True))}


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
        parts.setdefault((conversation.related is not None, conversation.setting), []).append(conversation)
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
    noise = (judgement.about.get(name) is True for name in PROPERTIES[1:])
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


# -- tables -----------------------------------------------------------------------------------------------------------

RATERS = 3
SETS = ("general", "related")
_RATED = (*DIMENSIONS, paper.AGREEMENT)


def agreement(rated: Sequence[Rated], dimension: str | None = None) -> tuple[int, float | None]:
    """Return the number of values that three raters gave, and the percentage on which at least two of them agree.

    A value is one dimension of one item; of more than three raters, the first three count. None without such values.
    """
    by_item: dict[tuple[str, str], list[Any]] = {}
    for judgement in rated:
        for name, value in judgement.values.items():
            if dimension in (None, name):
                by_item.setdefault((judgement.item, name), []).append(value)
    count, share = majority(by_item.values(), RATERS)
    return count, None if share is None else 100 * share


def rating_table(judgements: Sequence[Rated]) -> pl.DataFrame:
    """Return Table 2: set, interaction, deixis, disfluency, typo, figures, then for each configuration what was rated.

    ``conversations`` (rated), the mean of each dimension, ``agreement`` (percent). Opted-out conversations and tests
    are left out.
    """
    chosen = [
        judgement for judgement in judgements if judgement.task == RATE and judgement.values and not judgement.test
    ]
    parts: dict[tuple[bool, Setting], list[Rated]] = {}
    for judgement in chosen:
        parts.setdefault((judgement.related, judgement.setting), []).append(judgement)
    rows = []
    order = {setting: position for position, setting in enumerate(SETTINGS)}
    for related, setting in sorted(parts, key=lambda key: (key[1][0] == "text", key[0], order.get(key[1], 99))):
        part = parts[related, setting]
        means = [
            _mean([judgement.values[name] for judgement in part if name in judgement.values]) for name in DIMENSIONS
        ]
        rows.append((SETS[related], *setting, len({judgement.item for judgement in part}), *means, agreement(part)[1]))
    schema = {
        **dict.fromkeys(("set", "interaction"), pl.String),
        **dict.fromkeys(PROPERTIES[1:], pl.Boolean),
        "conversations": pl.Int64,
        **dict.fromkeys(_RATED, pl.Float64),
    }

    def printed(name: str, *setting: Any) -> list[float | None] | None:
        figures = paper.ratings(name, setting)
        return [None, *(figures[column] for column in _RATED)] if figures else None

    return beside(pl.DataFrame(rows, schema=schema, orient="row"), ["set", *PROPERTIES], printed)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def preference_table(judgements: Sequence[Rated]) -> pl.DataFrame:
    """Return Table 3: dimension, figures, judgements, preference, same, reference, agreement.

    ``preference``, ``same`` and ``reference`` are the percentages of judgements that prefer the conversation of the
    dataset, neither, and the reference; ``agreement`` is that of :func:`agreement`.
    """
    chosen = [
        judgement for judgement in judgements if judgement.task == COMPARE and judgement.values and not judgement.test
    ]
    rows = []
    for name in DIMENSIONS if chosen else ():
        values = Counter(judgement.values[name] for judgement in chosen if name in judgement.values)
        shares = [100 * values[value] / values.total() if values else None for value in (OURS, SAME, REFERENCE)]
        rows.append((name, values.total(), *shares, agreement(chosen, name)[1]))
    shares_of = dict.fromkeys(("preference", "same", "reference", "agreement"), pl.Float64)
    schema = {"dimension": pl.String, "judgements": pl.Int64, **shares_of}

    def printed(name: str) -> tuple[float | None, ...]:
        figures = paper.preferences(name)
        return (None, figures["preference"], None, None, figures["agreement"])

    return beside(pl.DataFrame(rows, schema=schema, orient="row"), ["dimension"], printed)


def as_printed(table: pl.DataFrame) -> pl.DataFrame:
    """Return Table 2 for a screen: each figure next to the paper's, ``3.50 (3.97)``."""
    marks = [pl.when(pl.col(name)).then(pl.lit("x")).otherwise(pl.lit("")).alias(name) for name in PROPERTIES[1:]]
    return in_one_cell(table, _RATED, [2] * len(DIMENSIONS) + [1]).with_columns(marks)


def remarks(judgements: Sequence[Rated]) -> list[str]:
    """Return lines about opted-out items, and about items that fewer than three raters judged."""
    lines = []
    for task, noun in ((RATE, "conversation"), (COMPARE, "pair")):
        own = [judgement for judgement in judgements if judgement.task == task and not judgement.test]
        out = sum(not judgement.values for judgement in own)
        counts = Counter(judgement.item for judgement in own if judgement.values)
        few = sum(count < RATERS for count in counts.values())
        if out:
            lines.append(f"{plural(out, f'{noun} judgement')} left out because the rater opted out")
        if few:
            lines.append(f"{plural(few, noun)} with fewer than {RATERS} raters, left out of the agreement")
    return lines
