"""Relevance labels by people (QUEST, section 3.3.3): which pairs to judge, and how raters agree.

Of each query and document a rater judges the relevance, from 0 (definitely not) to 3 (definitely), the evidence of the
document, and for phrases of the query the sentence that shows them. All judge the same pairs in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.document_files import DOCUMENTS
from kbkit.benchmarks.people.judgements import ANNOTATIONS, Judgement, RaterFolder, outside, ratings
from kbkit.benchmarks.people.tasks import Passage, Task, TaskItem, TaskQuestion, scale
from kbkit.benchmarks.quest.dataset import Example, QuestDataset
from kbkit.benchmarks.quest.label import RELEVANT
from kbkit.benchmarks.quest.settings import EVIDENCE
from kbkit.english.sentences import sentences
from kbkit.errors import Command, KbError
from kbkit.measures.agreement import agreement_table

RATINGS = ("definitely not relevant", "likely not relevant", "likely relevant", "definitely relevant")
"""The meaning of each rating; ratings from 2 on count as relevant."""
RELEVANCE, SHOWN = "relevance", "evidence"
"""The questions about a pair; others ask for the sentence of a phrase."""
_SENTENCE = "sentence for "
_EVIDENCE = {name[0]: name for name in reversed(EVIDENCE)}
_NO_EVIDENCE = EVIDENCE[0][0]
_MARK = re.compile(r"<mark>(.*?)</mark>")


@dataclass(frozen=True)
class QueryDocument:
    """A query and a document to judge, ``sentences`` of the document, and the ``phrases`` of the query."""

    example: Example
    title: str
    sentences: tuple[str, ...]

    @property
    def phrases(self) -> list[str]:
        """The phrases of the categories, as in the original query; the whole query without one."""
        return _MARK.findall(self.example.original) or [self.example.text]


def rater_files(dataset: QuestDataset) -> RaterFolder:
    """Return the files of the raters of a dataset."""
    return RaterFolder(dataset.folder / ANNOTATIONS, _problem)


def _problem(judgement: Judgement) -> str:
    if len(judgement.item) != 2:
        return "its item is not a query and a document"
    if judgement.question.startswith(_SENTENCE):
        return (
            ""
            if judgement.mark is None or isinstance(judgement.mark, str)
            else f"{judgement.question} {judgement.mark!r} is not a text"
        )
    return outside({RELEVANCE: range(len(RATINGS)), SHOWN: EVIDENCE}, judgement)


def pairs(dataset: QuestDataset, split: str, limit: int = 0, seed: int = 0) -> Iterator[QueryDocument]:
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
        yield QueryDocument(example, title, tuple(text[start:end] for start, end in sentences(text)))


def _texts(dataset: QuestDataset, titles: set[str]) -> dict[str, str]:
    lazy = dataset.documents()
    if lazy is None:
        raise KbError(f"{dataset.folder} has no {DOCUMENTS}", "Write it with ", Command("quest documents"))
    texts = dataset.collect(lazy.filter(pl.col("title").is_in(sorted(titles))).select("title", "text"))
    return {title: text or "" for title, text in texts.iter_rows()}


class RelevanceTask(Task):
    """A rater's task: the relevance and the evidence of the document of each pair.

    Raises :class:`KbError` for an invalid name, and without documents.
    """

    title = "Judge the relevance of documents"
    noun = ("pair", "pairs")

    def __init__(self, dataset: QuestDataset, rater: str, split: str, limit: int = 0, seed: int = 0) -> None:
        files = rater_files(dataset)
        super().__init__(files.path(rater), rater, files.problem)
        self._pairs = {(pair.example.id, pair.title): pair for pair in pairs(dataset, split, limit, seed)}

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Queries and titles of documents."""
        return list(self._pairs)

    def item(self, key: Hashable) -> TaskItem:
        """Return a query with a document."""
        pair = self._pairs[key]  # type: ignore[index]
        original = _MARK.sub(r"[\1]", pair.example.original)
        document = Passage([[sentence] for sentence in pair.sentences], pair.title, numbered=True)
        questions = [
            scale(RELEVANCE, "Is the document relevant to the query?", RATINGS, first=0),
            TaskQuestion(SHOWN, "Does the document show it?", _EVIDENCE, _EVIDENCE),
        ]
        if pair.sentences:
            numbered = {str(number): sentence for number, sentence in enumerate(pair.sentences, 1)}
            choices = {"0": "none"} | dict.fromkeys(numbered, "")
            questions += [
                TaskQuestion(f"{_SENTENCE}{phrase!r}", "", choices, {"0": "", **numbered}, (SHOWN, _NO_EVIDENCE))
                for phrase in pair.phrases
            ]
        lines = [f"original query: {original}"] if original else []
        return TaskItem(pair.example.text, lines, [document], questions=questions)


def agreement(raters: Mapping[str, Sequence[Judgement]]) -> pl.DataFrame:
    """Return how raters agree on relevance, as :func:`~kbkit.measures.agreement.agreement_table`, by scale.

    The first scale distinguishes relevant documents from others, as the paper does, the second all ratings.
    """
    rated = {name: ratings(own, RELEVANCE) for name, own in raters.items()}
    binary = {name: {item: rating >= RELEVANT for item, rating in own.items()} for name, own in rated.items()}  # type: ignore[operator]
    return agreement_table("scale", {"relevant or not": binary, "four ratings": rated})
