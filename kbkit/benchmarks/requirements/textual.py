"""Stage 2: requirements on a gold answer, one of the candidates: textual properties, or conditions on attributes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kbkit.benchmarks.documents import Document
from kbkit.benchmarks.evidence import Matcher, leaks
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.llm.calls import Calls
from kbkit.schema import Role

READER = Role("reader")
"""The role for types of answers that no role of the KB's recipe asks for."""
_MAX_DOCUMENT = 20_000
"""Characters of a document that a model reads."""


@dataclass(frozen=True)
class TextProperty:
    """A requirement on the answers, where the gold answer's document says it, and the sentence as ``evidence``.

    Without a model, ``text`` is a phrase that the texts of the answers mention; or ``condition`` is a test of an
    attribute, ``field``, ``text`` a predicate for several things, and ``forms`` has the predicate for ``one`` thing and
    a ``whose`` clause or a ``modifier``. ``repeats``: the phrase is the name of a neighbour of the gold answer. With a
    model, ``kind`` is hard or soft, for products.
    """

    text: str
    field: str
    start: int
    end: int
    evidence: str
    condition: str = ""
    forms: dict[str, str] = dataclasses.field(default_factory=dict)
    repeats: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Requirement(Row):
    """The id of the gold answer, the role of the person who asks, and the properties.

    ``answers`` is the number of candidates that have all of them, where it is known before they are verified.
    For products also the general ``category``, and what ``negative`` reviews say.
    """

    gold: int
    role: str
    properties: list[TextProperty] = dataclasses.field(default_factory=list)
    answers: int = 0
    category: str = ""
    negative: list[str] = dataclasses.field(default_factory=list)


TEXTUAL = Stage("2_textual", Requirement)


def role_for(roles: Sequence[Role], node_type: str, rng: np.random.Generator) -> Role:
    """Return a random role that asks for nodes of a type: of the roles that name the type, or else of those for any."""
    fitting = [r for r in roles if node_type in r.types] or [r for r in roles if not r.types]
    return fitting[int(rng.integers(len(fitting)))] if fitting else READER


def for_model(document: Document) -> dict[str, Any]:
    """Return a document as a model reads it: name and texts by field, truncated if very long."""
    fields: dict[str, str] = {}
    left = _MAX_DOCUMENT
    for passage in document.passages:
        fields[passage.field] = passage.text[:left]
        left = max(0, left - len(passage.text))
    return {"name": document.name, "texts": {name: text for name, text in fields.items() if text}}


def from_model(
    calls: Calls, matcher: Matcher, documents: Sequence[Document], roles: Sequence[Role], counts: Sequence[int]
) -> list[tuple[list[TextProperty], str]]:
    """Return the properties that a model extracts from each document, or the reason why there are none."""
    inputs = [
        {
            "document": for_model(document),
            "target": document.type,
            "role": role.name,
            "interests": role.interests,
            "count": count,
        }
        for document, role, count in zip(documents, roles, counts, strict=True)
    ]
    extracted: list[tuple[list[TextProperty], str]] = []
    answers = calls.ask("stark_properties", inputs)
    for document, count, answer in zip(documents, counts, answers, strict=True):
        if answer.problem:
            extracted.append(([], f"no properties: {answer.problem}"))
            continue
        stated = dict.fromkeys(" ".join(entry["text"].split()) for entry in answer.value["properties"])
        texts = [text for text in stated if text and not leaks(text, document.names)][:count]
        spans = [evidence.span for evidence in matcher.match(texts, [document] * len(texts))]
        properties = [TextProperty(t, s.field, s.start, s.end, s.text) for t, s in zip(texts, spans, strict=True)]
        reason = "no properties without the answer's name" if any(stated) else "no properties: all are empty"
        extracted.append((properties, "" if properties else reason))
    return extracted
