"""Stages 4 and 5: votes on the wording of queries, and labels of their answers (QUEST, section 3.3).

A label rates an answer by its document: relevance 0 to 3, evidence, and the span that shows each phrase. Without a
model, the KB guarantees that an answer is correct, and the document is only searched for evidence. With a model, the
model rates the document, as QUEST's workers did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.benchmarks.documents import Document
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.benchmarks.quest import fact_sentences
from kbkit.benchmarks.quest.settings import EVIDENCE
from kbkit.benchmarks.quest.shown import CategoryCondition, Reader

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls
    from kbkit.llm.prompts import ModelAnswer

VALIDATE, LABEL = "quest_validate", "quest_relevance_label"
"""Names of the prompts."""
QUESTIONS = {"fluency": "fluent", "meaning": "same_meaning", "naturalness": "natural"}
"""The questions to vote on, and the fields of a model's answer."""
RELEVANT = 2
"""Minimum rating of an answer: 3 surely relevant, 2 likely, 1 likely not, 0 surely not."""
_VOTES = 3


@dataclass(frozen=True)
class QueryAnswer:
    """A node that answers a query; ``holds`` are the letters of the categories that contain it."""

    id: int
    type: str
    key: str
    name: str
    title: str
    holds: str


@dataclass(frozen=True)
class LabelledAnswer(QueryAnswer):
    """An answer with its label; ``why`` is the reason for removing it.

    ``facts`` are the phrases whose attribution is a sentence made of the KB's facts, not of a text.
    """

    rating: int | None = None
    evidence: str = ""
    attributions: dict[str, str] = field(default_factory=dict)
    facts: tuple[str, ...] = ()
    lost: int = 0
    problem: str = ""
    why: str = ""


@dataclass(frozen=True)
class Votes(Row):
    """The votes on the wording of a query; none without a model."""

    fluency: list[bool]
    meaning: list[bool]
    naturalness: list[bool]


@dataclass(frozen=True)
class QueryLabels(Row):
    """The remaining and the removed answers of a query."""

    labelled: list[LabelledAnswer] = field(default_factory=list)
    removed: list[LabelledAnswer] = field(default_factory=list)


VALIDATED = Stage("4_validated", Votes)
LABELS = Stage("5_labels", QueryLabels)


def votes(calls: Calls, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, list[bool]]]:
    """Return three votes per question on each row's ``query``, given its ``original`` and ``phrases``.

    The models vote in turn; an invalid answer is not a vote.
    """
    ballots: list[dict[str, list[bool]]] = [{question: [] for question in QUESTIONS} for _ in rows]
    for vote in range(_VOTES):
        model = calls.models[vote % len(calls.models)]
        answers = calls.ask(VALIDATE, list(rows), model=model, sample=vote)
        for row, answer in zip(ballots, answers, strict=True):
            for question, output in QUESTIONS.items():
                row[question] += [] if answer.value is None else [bool(answer.value[output])]
    return ballots


def voted_down(row: Mapping[str, Sequence[bool]]) -> str:
    """Return the first question without a majority of yes votes, or "" if all have one."""
    return next((question for question in QUESTIONS if 2 * sum(row[question]) <= _VOTES), "")


class Labelling(NamedTuple):
    """An answer to label: its document, and the conditions that it must meet and must not meet."""

    query: str
    document: Document
    positive: tuple[CategoryCondition, ...]
    negative: tuple[CategoryCondition, ...]


class RelevanceLabel(NamedTuple):
    """A label: ``rating`` 0 to 3, ``evidence``, and ``attributions`` from phrases of the query to spans.

    A model's spans of excluded phrases speak against the answer; without a model there are none. ``facts`` are the
    phrases whose span is a generated fact.
    ``lost`` counts a model's quotes that are not in the document. ``problem``: why there is no label.
    """

    rating: int
    evidence: str
    attributions: dict[str, str]
    facts: tuple[str, ...] = ()
    lost: int = 0
    problem: str = ""


def by_matching(reader: Reader, answers: Sequence[Labelling], *, strict: bool = False) -> list[RelevanceLabel]:
    """Return labels by the sentences that show a category.

    A sentence that shows an excluded one is weak evidence against the answer ("no longer flows into the Aral Sea"), so
    only ``strict`` labelling rates such an answer as not relevant.
    """
    return [_matched(labelling, reader, strict=strict) for labelling in answers]


def _matched(labelling: Labelling, reader: Reader, *, strict: bool) -> RelevanceLabel:
    marks, excluded = (
        {c.phrase: span for c in conditions if (span := reader.shown(c, labelling.document)) is not None}
        for conditions in (labelling.positive, labelling.negative)
    )
    evidence = EVIDENCE[bool(marks) + (len(marks) == len(labelling.positive))]
    rating = 3 if evidence == "complete" and not excluded else RELEVANT
    if excluded and strict:
        rating = 1
    facts = tuple(phrase for phrase, span in marks.items() if span.field == fact_sentences.FIELD)
    return RelevanceLabel(rating, evidence, {phrase: span.text for phrase, span in marks.items()}, facts)


def by_model(calls: Calls, answers: Sequence[Labelling]) -> list[RelevanceLabel]:
    """Return labels by a model's judgement of query and document."""
    inputs = [
        {
            "query": labelling.query,
            "phrases": [condition.phrase for condition in labelling.positive],
            "excluded": [condition.phrase for condition in labelling.negative],
            "document": {"title": labelling.document.name, "text": labelling.document.text},
        }
        for labelling in answers
    ]
    return [_judged(labelling, answer) for labelling, answer in zip(answers, calls.ask(LABEL, inputs), strict=True)]


def _judged(labelling: Labelling, answer: ModelAnswer) -> RelevanceLabel:
    """Return a model's label, with those of its quotes that are in the document and belong to a phrase of the query."""
    if answer.value is None:
        return RelevanceLabel(0, "none", {}, problem=answer.problem)
    value: Mapping[str, Any] = answer.value
    phrases = {condition.phrase for condition in (*labelling.positive, *labelling.negative)}
    document = labelling.document
    said = (document.name, *(one.text for one in document.passages if one.field != fact_sentences.FIELD))
    marks = {}
    lost = 0
    for mark in value["attributions"]:
        quote = _quoted(str(mark["quote"]), document)
        if mark["phrase"] in phrases and quote:
            marks[str(mark["phrase"])] = quote
        else:
            lost += 1
    facts = tuple(phrase for phrase, quote in marks.items() if not any(quote in text for text in said))
    return RelevanceLabel(int(value["rating"]), str(value["evidence"]), marks, facts, lost)


def _quoted(quote: str, document: Document) -> str:
    """Return the words of a document that a model quotes, or "" if it does not have them.

    A quote may span passages, which the model reads joined, and have a space where they have the end of a line.
    """
    words = r"\s+".join(map(re.escape, quote.split()))
    found = next(filter(None, (re.search(words, text) for text in (document.name, document.text))), None)
    return found[0] if words and found else ""
