"""Rates a query's answers by their documents: relevance 0 to 3, evidence, and which span shows which phrase.

Without a model the KB vouches that an answer is one; a document can only show it wholly, in part or not, or seem to
show what the query excludes. With a model it is the model that judges, as QUEST's workers did (section 3.3.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.benchmarks.documents import Document
from kbkit.benchmarks.evidence import Evidence, Matcher
from kbkit.benchmarks.leaks import leaks

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls
    from kbkit.llm.prompts import Answer

PROMPT = "quest_relevance_label"
EVIDENCE = ("none", "partial", "complete")
RELEVANT = 2
"""The least rating of an answer that is kept: 3 surely relevant, 2 likely, 1 likely not, 0 surely not."""

_LEXICAL, _SEMANTIC = 0.8, 0.7
"""From these on a sentence shows a phrase: the weighted share of its words, or the cosine of their vectors."""


class Asked(NamedTuple):
    """One answer of a query: its document, the phrases that hold for it, and those that the query excludes, each with
    the name that its category shares.
    """

    query: str
    document: Document
    positive: tuple[tuple[str, str], ...]
    negative: tuple[tuple[str, str], ...]


class Label(NamedTuple):
    """``rating`` 0 to 3; ``evidence``: complete, partial or none; ``attributions`` from phrases of the query to spans
    of the document (those of excluded phrases speak against it); ``lost`` counts a model's quotes that are not there.
    ``problem`` says why there is no label.
    """

    rating: int
    evidence: str
    attributions: dict[str, str]
    lost: int = 0
    problem: str = ""


def by_matching(matcher: Matcher, asked: Sequence[Asked], *, strict: bool = False) -> list[Label]:
    """Labels by words and vectors. What the query excludes must be there word for word: that is no more than a sign, as
    "not in the sea" has the word sea, so only a ``strict`` reading rates such an answer below what the KB vouches for.
    """
    pairs = [(name, one.document) for one in asked for _, name in (*one.positive, *one.negative)]
    found = iter(matcher.match([name for name, _ in pairs], [document for _, document in pairs]))
    return [_label(one, found, strict=strict) for one in asked]


def _label(one: Asked, found: Iterator[Evidence], *, strict: bool) -> Label:
    shown = {phrase: next(found) for phrase, _ in one.positive}
    against = {phrase: next(found) for phrase, _ in one.negative}
    marks = {p: e.span.text for p, e in shown.items() if e.lexical >= _LEXICAL or e.semantic >= _SEMANTIC}
    excluded = {p: against[p].span.text for p, name in one.negative if leaks(against[p].span.text, [name])}
    evidence = EVIDENCE[bool(marks) + (len(marks) == len(shown))]
    rating = 3 if evidence == "complete" and not excluded else RELEVANT
    if excluded and strict:
        rating = 1
    return Label(rating, evidence, {**marks, **excluded})


def by_model(calls: Calls, asked: Sequence[Asked]) -> list[Label]:
    """Labels by a model's judgement of query and document."""
    inputs = [
        {
            "query": one.query,
            "phrases": [phrase for phrase, _ in one.positive],
            "excluded": [phrase for phrase, _ in one.negative],
            "document": {"title": one.document.name, "text": one.document.text},
        }
        for one in asked
    ]
    return [_judged(one, answer) for one, answer in zip(asked, calls.ask(PROMPT, inputs), strict=True)]


def _judged(one: Asked, answer: Answer) -> Label:
    """A model's label; its quotes must stand in the document, for phrases of the query."""
    if answer.value is None:
        return Label(0, "none", {}, problem=answer.problem)
    value: Mapping[str, Any] = answer.value
    phrases = {phrase for phrase, _ in (*one.positive, *one.negative)}
    texts = (one.document.name, *(passage.text for passage in one.document.passages))
    marks = {}
    lost = 0
    for mark in value["attributions"]:
        quote = str(mark["quote"]).strip()
        if mark["phrase"] in phrases and quote and any(quote in text for text in texts):
            marks[str(mark["phrase"])] = quote
        else:
            lost += 1
    return Label(int(value["rating"]), str(value["evidence"]), marks, lost)
