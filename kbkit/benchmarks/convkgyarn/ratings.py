"""People rate conversations, or compare two of them (ConvKGYarn, section 5 and appendix B): the records and files.

Four dimensions are rated from 1 (Poor) to 5 (Excellent), or compared (the first is better, the second, or the same). A
rater can opt out of a conversation. Judgements are JSON lines, one for each conversation or pair, saved at once; a file
can hold those of several raters and of both tasks. Three raters judge the same items in the same order.

Before the task, raters can be required to pass a test on items that an expert has judged; these items are not part of
the task.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.convkgyarn.conversations import Conversation
from kbkit.benchmarks.convkgyarn.paper import DIMENSIONS, SETTINGS, Setting
from kbkit.benchmarks.dataset import writing
from kbkit.benchmarks.pipeline import busy
from kbkit.directory.files import append_json, whole_lines
from kbkit.directory.systems import exclusive
from kbkit.directory.typed_json import from_json, to_json
from kbkit.errors import BadInputError, KbError
from kbkit.measures.records import content, records

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
_PATIENCE = 10.0
"""Seconds to wait for another writer; saving a judgement takes milliseconds."""


@dataclass(frozen=True)
class Judgement:
    """A rater's judgement of an ``item``: a conversation, or ``conversation|reference``.

    ``values`` are a rating from 1 to 5, or ``ours``, ``reference`` or ``same``, by dimension; empty if the rater opted
    out. ``related`` and the four properties are those of the conversation. ``test``: part of an entrance test.
    """

    task: str
    rater: str
    item: str
    values: dict[str, Any] = field(default_factory=dict)
    related: bool = False
    interaction: str = ""
    deixis: bool = False
    disfluency: bool = False
    typo: bool = False
    test: bool = False

    @property
    def setting(self) -> Setting:
        """The configuration of the conversation."""
        return self.interaction, self.deixis, self.disfluency, self.typo


def judgement(
    task: str, rater: str, item: str, one: Conversation, values: Mapping[str, Any], *, test: bool = False
) -> Judgement:
    """Return a judgement of a conversation, or of a pair with this conversation."""
    noise = (one.interaction, one.deixis, one.disfluency, one.typo)
    return Judgement(task, rater, item, dict(values), one.related is not None, *noise, test=test)


# -- what to rate -----------------------------------------------------------------------------------------------------


def sample(conversations: Iterable[Conversation], count: int, seed: int) -> list[Conversation]:
    """Draw up to ``count`` conversations of each configuration, with and without a related entity, in random order.

    Equal arguments give equal samples. As in the paper, configurations are drawn uniformly; their conversations come
    from different groups as far as possible, so that a rater does not read the same facts again and again.
    """
    check_range("number of conversations", count)
    check_range("seed", seed, 0)
    parts: dict[tuple[bool, Setting], list[Conversation]] = {}
    for one in conversations:
        setting = (one.interaction, one.deixis, one.disfluency, one.typo)
        parts.setdefault((one.related is not None, setting), []).append(one)
    drawn = np.random.default_rng(seed)
    used: set[str] = set()
    chosen: list[Conversation] = []
    for _, part in sorted(parts.items(), key=lambda item: item[0]):
        shuffled = [part[i] for i in drawn.permutation(len(part)).tolist()]
        fresh_first = sorted(shuffled, key=lambda one: one.group in used)
        chosen += fresh_first[:count]
        used |= {one.group for one in fresh_first[:count]}
    return [chosen[i] for i in drawn.permutation(len(chosen)).tolist()]


# -- files ------------------------------------------------------------------------------------------------------------


def read(paths: Sequence[Path], task: str | None = None) -> list[Judgement]:
    """Return the judgements of files, of one task or of both; of several by a rater on an item, the last one counts.

    An incomplete last line, which a killed process left, is skipped. Raises :class:`BadInputError` with the line.
    """
    found: dict[tuple[Hashable, ...], Judgement] = {}
    for path in paths:
        for record in records(path, whole_lines(content(path))):
            where = f"{path}, line {record.position}"
            one: Judgement = from_json(Judgement, record.fields, where)
            _check(one, where)
            if task in (None, one.task):
                found[one.task, one.rater, one.item, one.test] = one
    return list(found.values())


def _check(one: Judgement, where: str) -> None:
    if one.task not in (RATE, COMPARE) or not one.rater or not one.item:
        raise BadInputError(f"Invalid judgement in {where}", f"It needs task ({RATE} or {COMPARE}), rater and item")
    valid: tuple[object, ...] = tuple(range(1, len(LABELS) + 1)) if one.task == RATE else (OURS, REFERENCE, SAME)
    for name, value in one.values.items():
        if name not in DIMENSIONS or isinstance(value, bool) or value not in valid:
            hint = f"Values are {', '.join(map(str, valid))} for {', '.join(DIMENSIONS)}"
            raise BadInputError(f"Invalid value {name}: {value!r:.40} in {where}", hint)
    if one.task == RATE and one.interaction and one.setting not in SETTINGS:
        raise BadInputError(f"Invalid configuration in {where}", "Disfluencies are for voice, typos for text")


def save(path: Path, one: Judgement) -> None:
    """Append a judgement to a file, written to disk before returning. Concurrent writers wait for each other."""
    with writing(path), exclusive(path.with_name(f".{path.name}.lock"), *busy(path), _PATIENCE):
        append_json(path, to_json(one))


def known(path: Path, task: str, rater: str) -> dict[tuple[str, bool], Judgement]:
    """Return a rater's judgements in a file by item and whether they are part of a test; empty without a file."""
    if not path.is_file() or not path.stat().st_size:
        return {}
    return {(one.item, one.test): one for one in read([path], task) if one.rater == rater}


# -- the entrance test ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """The result of an entrance test: the share of ``count`` values that agree with the expert's."""

    count: int
    share: float


def expected(path: Path, task: str) -> dict[str, Judgement]:
    """Return an expert's judgements by item. Raises :class:`KbError` if the file has those of several raters."""
    found = [one for one in read([path], task) if one.values]
    raters = {one.rater for one in found}
    if len(raters) > 1:
        raise KbError(f"{path} has judgements of {len(raters)} raters", "An entrance test needs those of one expert")
    if not found:
        raise KbError(f"{path} has no judgements of this task", "Let an expert judge the items of the test first")
    return {one.item: one for one in found}


def outcome(gold: Mapping[str, Judgement], given: Iterable[Judgement]) -> Outcome:
    """Return how a rater's judgements agree with an expert's.

    Ratings agree if they differ by at most one point, preferences if they are equal. Items that the rater opted out of
    do not agree. The paper states a threshold but neither its value nor the measure.
    """
    answers = {one.item: one.values for one in given}
    agreed = [
        name in answers.get(item, {}) and _agree(value, answers[item][name])
        for item, one in gold.items()
        for name, value in one.values.items()
    ]
    return Outcome(len(agreed), sum(agreed) / len(agreed) if agreed else 0.0)


def _agree(first: Any, second: Any) -> bool:
    if isinstance(first, int) and isinstance(second, int):
        return abs(first - second) <= TEST_TOLERANCE
    return bool(first == second)
