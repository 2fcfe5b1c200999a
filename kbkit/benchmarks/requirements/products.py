"""Steps for roles that ask for products, as STaRK-Amazon has them (section 2.4 and appendix E).

A model lists hard and soft requirements and what negative reviews say, writes the query from the requirements that no
review contradicts, and checks each candidate's general category before the requirements.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.benchmarks.documents import Document
from kbkit.benchmarks.evidence import Matcher, leaks
from kbkit.benchmarks.pipeline import Item
from kbkit.benchmarks.requirements.fuse import FusedQuery, checked, words_of
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.textual import Requirement, TextProperty, for_model
from kbkit.llm.calls import Calls
from kbkit.schema import Role

HARD, SOFT, NEGATIVE = "hard", "soft", "negative"
_MAX_REQUIREMENTS = 5
"""Hard requirements of a product, and soft ones (appendix E.1)."""


def requirements(
    calls: Calls, matcher: Matcher, documents: Sequence[Document], roles: Sequence[Role], ids: Sequence[str]
) -> list[Requirement]:
    """Return the requirements that a model finds in each product's texts; a row without any is dropped."""
    inputs = [
        {
            "document": for_model(document),
            "target": document.type,
            "role": role.name,
            "interests": role.interests,
            "count": _MAX_REQUIREMENTS,
        }
        for document, role in zip(documents, roles, strict=True)
    ]
    rows = []
    answers = calls.ask("stark_product_properties", inputs)
    for document, role, name, answer in zip(documents, roles, ids, answers, strict=True):
        if answer.problem:
            rows.append(Requirement(name, document.id, role.name, dropped=f"no properties: {answer.problem}"))
            continue
        entries = [(entry["kind"], " ".join(entry["text"].split())) for entry in answer.value["statements"]]
        by_kind = {kind: [text for one, text in entries if one == kind] for kind in (NEGATIVE, SOFT, HARD)}
        stated = {text: kind for kind in (SOFT, HARD) for text in by_kind[kind][:_MAX_REQUIREMENTS]}
        texts = [text for text in stated if text and not leaks(text, document.names)]
        spans = [evidence.span for evidence in matcher.match(texts, [document] * len(texts))]
        rows.append(
            Requirement(
                name,
                document.id,
                role.name,
                [
                    TextProperty(text, span.field, span.start, span.end, span.text, kind=stated[text])
                    for text, span in zip(texts, spans, strict=True)
                ],
                category=" ".join(answer.value["category"].split()),
                negative=by_kind[NEGATIVE],
                dropped="" if texts else "no properties: all are empty or have the answer's name",
            )
        )
    return rows


def fused(calls: Calls, queries: Sequence[Item], roles: Sequence[Role]) -> list[FusedQuery]:
    """Return a query of the first model and the requirements that it uses; a query without any is dropped."""
    inputs = [
        {
            "question": query[Grounding].question,
            "category": query[Requirement].category,
            "requirements": {number: p.text for number, p in enumerate(query[Requirement].properties, 1)},
            "negative": query[Requirement].negative,
            "role": role.name,
            "interests": role.interests,
        }
        for query, role in zip(queries, roles, strict=True)
    ]
    rows = []
    for query, answer in zip(queries, calls.ask("stark_product_fuse", inputs), strict=True):
        names = [slot.name for slot in query[Grounding].slots.values()]
        text, reason = checked(answer, names)
        count = len(query[Requirement].properties)
        used = sorted({number - 1 for number in answer.value["used"] if 0 < number <= count}) if text else []
        if text and not used:
            text, reason = "", "no query: it uses no requirement"
        rows.append(FusedQuery(query.id, text, "", *words_of(query, used), used=used, dropped=reason))
    return rows


def in_category(calls: Calls, pairs: Sequence[tuple[str, Document]]) -> list[bool]:
    """Return whether the first model says that documents belong to a category; an invalid answer counts as no."""
    inputs = [{"document": for_model(document), "category": category} for category, document in pairs]
    answers = calls.ask("stark_product_category", inputs)
    return [not answer.problem and bool(answer.value["belongs"]) for answer in answers]
