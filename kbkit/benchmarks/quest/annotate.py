"""Relevance labels by people (QUEST, section 3.3.3): which pairs to judge, and a file of judgements for each rater.

A judgement has a rating from 0 (definitely not relevant) to 3 (definitely relevant), the evidence of the document, and
for phrases of the query the sentence that shows them. All raters judge the same pairs in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.documents import sentences
from kbkit.benchmarks.judging import Answers, Item, Passage, Question, Task
from kbkit.benchmarks.quest.dataset import DOCUMENTS, Dataset, Example
from kbkit.benchmarks.quest.settings import EVIDENCE
from kbkit.benchmarks.raters import FOLDER, RaterFiles
from kbkit.errors import Command, KbError

RATINGS = ("definitely not relevant", "likely not relevant", "likely relevant", "definitely relevant")
"""The meaning of each rating; ratings from 2 on count as relevant."""
_EVIDENCE = {name[0]: name for name in reversed(EVIDENCE)}
_NO_EVIDENCE = EVIDENCE[0][0]
_MARK = re.compile(r"<mark>(.*?)</mark>")


@dataclass(frozen=True)
class Pair:
    """A query and a document to judge, ``sentences`` of the document, and the ``phrases`` of the query."""

    example: Example
    title: str
    sentences: tuple[str, ...]

    @property
    def phrases(self) -> list[str]:
        """The phrases of the categories, as in the original query; the whole query without one."""
        return _MARK.findall(self.example.original) or [self.example.text]


@dataclass(frozen=True)
class Judgement:
    """A rater's judgement of a pair; ``attributions`` map phrases of the query to sentences of the document."""

    query: str
    title: str
    rating: int
    evidence: str
    attributions: dict[str, str] = field(default_factory=dict)


def files(dataset: Dataset) -> RaterFiles[Judgement]:
    """Return the files of the raters of a dataset."""
    return RaterFiles(dataset.folder / FOLDER, Judgement, lambda one: (one.query, one.title), _problem)


def _problem(judgement: Judgement) -> str:
    if not 0 <= judgement.rating < len(RATINGS):
        return f"rating {judgement.rating} is not 0 to {len(RATINGS) - 1}"
    return "" if judgement.evidence in EVIDENCE else f"evidence {judgement.evidence!r} is not {' or '.join(EVIDENCE)}"


def pairs(dataset: Dataset, split: str, limit: int = 0, seed: int = 0) -> Iterator[Pair]:
    """Yield the answers of the queries of a split, with their documents, queries in random order.

    ``limit`` is the number of pairs (0: all). Equal arguments give equal pairs. Raises :class:`KbError` without
    documents.
    """
    check_range("seed", seed, 0)
    examples = dataset.read(split)
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    wanted = [(examples[i], title) for i in order for title in examples[i].docs]
    wanted = wanted[:limit] if limit else wanted
    texts = _texts(dataset, {title for _, title in wanted})
    for example, title in wanted:
        text = texts.get(title, "")
        yield Pair(example, title, tuple(text[start:end] for start, end in sentences(text)))


def _texts(dataset: Dataset, titles: set[str]) -> dict[str, str]:
    lazy = dataset.documents()
    if lazy is None:
        raise KbError(f"{dataset.folder} has no {DOCUMENTS}", "Write it with ", Command("quest documents"))
    found = dataset.collect(lazy.filter(pl.col("title").is_in(sorted(titles))).select("title", "text"))
    return {title: text or "" for title, text in found.iter_rows()}


class Annotating(Task):
    """A rater's task: the relevance and the evidence of the document of each pair.

    Raises :class:`KbError` for an invalid name, and without documents.
    """

    title = "Judge the relevance of documents"
    noun = ("pair", "pairs")

    def __init__(self, dataset: Dataset, rater: str, split: str, limit: int = 0, seed: int = 0) -> None:
        self._files, self._rater = files(dataset), rater
        self.path = self._files.path(rater)
        self._known = self._files.of(rater)
        self._pairs = {(pair.example.id, pair.title): pair for pair in pairs(dataset, split, limit, seed)}

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Queries and titles of documents."""
        return list(self._pairs)

    def item(self, key: Hashable) -> Item:
        """Return a query with a document."""
        pair = self._pairs[key]  # type: ignore[index]
        original = _MARK.sub(r"[\1]", pair.example.original)
        document = Passage([[sentence] for sentence in pair.sentences], pair.title, numbered=True)
        questions = [
            Question("relevance", "Is the document relevant to the query?", dict(zip("0123", RATINGS, strict=True))),
            Question("evidence", "Does the document show it?", _EVIDENCE),
        ]
        if pair.sentences:
            numbers = {"0": "none"} | {str(number): "" for number in range(1, len(pair.sentences) + 1)}
            questions += [
                Question(f"sentence for {phrase!r}", "", numbers, unless=("evidence", _NO_EVIDENCE))
                for phrase in pair.phrases
            ]
        lines = [f"original query: {original}"] if original else []
        return Item(pair.example.text, lines, [document], questions=questions)

    def given(self, key: Hashable) -> Answers | None:
        """Return the judgement of a pair."""
        one = self._known.get(key)
        if one is None:
            return None
        pair = self._pairs[key]  # type: ignore[index]
        choices = {"relevance": str(one.rating), "evidence": one.evidence[0]}
        for phrase in pair.phrases if one.evidence != EVIDENCE[0] else ():
            sentence = one.attributions.get(phrase)
            number = pair.sentences.index(sentence) + 1 if sentence in pair.sentences else 0
            choices[f"sentence for {phrase!r}"] = str(number)
        return Answers(choices)

    def save(self, key: Hashable, answers: Answers) -> int:
        """Save a judgement."""
        pair = self._pairs[key]  # type: ignore[index]
        marks = {phrase: int(answers.choices.get(f"sentence for {phrase!r}", 0)) for phrase in pair.phrases}
        one = Judgement(
            pair.example.id,
            pair.title,
            int(answers.choices["relevance"]),
            next(name for name in EVIDENCE if name[0] == answers.choices["evidence"]),
            {phrase: pair.sentences[number - 1] for phrase, number in marks.items() if number},
        )
        self._files.append(self._rater, one)
        self._known[key] = one
        return 1
