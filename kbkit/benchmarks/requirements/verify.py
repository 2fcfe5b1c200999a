"""Stage 4: which candidates have the properties. An answer must be accepted by every verifier.

Verifiers are models. Without a model there is one rule: the texts mention the phrase, or the attribute meets the
condition, which is checked for all candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.documents import Document, Span
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.benchmarks.requirements.relational import NamedEntity
from kbkit.benchmarks.requirements.textual import TextProperty, for_model
from kbkit.llm.calls import Calls

RULE, CATEGORY = "rule", "category"


@dataclass(frozen=True)
class Verdict:
    """One verifier's judgement of a candidate: for each property whether it has it.

    A model's answer with a ``problem`` counts as no.
    """

    verifier: str
    satisfied: list[bool]
    problem: str = ""

    @property
    def accepts(self) -> bool:
        """Whether the candidate has all properties."""
        return not self.problem and all(self.satisfied)


class SpanJudgement(NamedTuple):
    """A verdict, and for each property the span that shows it."""

    verdict: Verdict
    spans: tuple[Span | None, ...]


@dataclass(frozen=True)
class Check(NamedEntity):
    """A candidate with the verdicts on it."""

    verdicts: list[Verdict]


@dataclass(frozen=True)
class Proof:
    """The span of a document that shows a property, by the property's number."""

    property: int
    field: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class VerifiedAnswer(NamedEntity):
    """An answer: ``why`` proves its relations, ``evidence`` its properties."""

    why: list[str]
    evidence: list[Proof]


@dataclass(frozen=True)
class Verified(Row):
    """The verified answers of a query."""

    gold_passes: bool
    gold_node: NamedEntity
    checks: list[Check]
    answers: list[VerifiedAnswer] = field(default_factory=list)


VERIFIED = Stage("4_verified", Verified)


def by_rule(masks: Sequence[NDArray[np.bool_]], candidates: int) -> list[list[SpanJudgement]]:
    """Return a judgement of each candidate; ``masks`` say for each property which candidates have it."""
    has = np.array(masks, bool).reshape(len(masks), candidates)
    return [[SpanJudgement(Verdict(RULE, has[:, row].tolist()), (None,) * len(masks))] for row in range(candidates)]


def of_other_category(properties: int) -> SpanJudgement:
    """Return the judgement of a product of another category: it has none of the properties."""
    return SpanJudgement(Verdict(CATEGORY, [False] * properties), (None,) * properties)


def by_models(calls: Calls, pairs: Sequence[tuple[Sequence[str], Document]]) -> list[list[SpanJudgement]]:
    """Return the judgements of pairs (properties, candidate) by every model."""
    inputs = [
        {"document": for_model(document), "target": document.type, "properties": dict(enumerate(texts, 1))}
        for texts, document in pairs
    ]
    judgements: list[list[SpanJudgement]] = [[] for _ in pairs]
    for model in calls.models:
        answers = calls.ask("stark_verify", inputs, model=model)
        for own, (texts, document), answer in zip(judgements, pairs, answers, strict=True):
            own.append(_judgement(model, answer.value, answer.problem, len(texts), document))
    return judgements


def _judgement(model: str, value: Any, problem: str, count: int, document: Document) -> SpanJudgement:
    if not problem:
        entries = sorted(value["checks"], key=lambda entry: entry["number"])
        numbers = [entry["number"] for entry in entries]
        if numbers == list(range(1, count + 1)):
            spans = tuple(quoted(document, entry["quote"]) if entry["satisfied"] else None for entry in entries)
            return SpanJudgement(Verdict(model, [bool(entry["satisfied"]) for entry in entries]), spans)
        problem = f"it judged properties {numbers[:20]} of {count}"
    return SpanJudgement(Verdict(model, [False] * count, problem=problem), (None,) * count)


def quoted(document: Document, quote: str) -> Span | None:
    """Return the span of a quotation in the document, or None if the document does not contain it."""
    quote = quote.strip()
    for passage in document.passages if quote else ():
        start = passage.text.find(quote)
        # Case folding must not change positions.
        if start < 0 and len(passage.text) == len(passage.text.casefold()):
            start = passage.text.casefold().find(quote.casefold())
        if start >= 0:
            end = start + len(quote)
            return Span(passage.field, start, end, passage.text[start:end])
    return None


def evidence(
    matcher: Matcher, properties: Sequence[TextProperty], judgements: Sequence[SpanJudgement], document: Document
) -> list[Proof]:
    """Return a span of the document for each property: the first one of a judgement, or else the best match."""
    proofs = []
    for number, entry in enumerate(properties):
        span = next((judgement.spans[number] for judgement in judgements if judgement.spans[number] is not None), None)
        if span is None:
            span = matcher.match([entry.text], [document])[0].span
        proofs.append(Proof(number, span.field, span.start, span.end, span.text))
    return proofs
