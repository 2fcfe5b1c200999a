"""Stage 3: one query from a relational question and textual properties, and a paraphrase of it, by models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.pipeline import Item, Row, Stage
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.textual import Requirement, TextProperty
from kbkit.llm.calls import Calls, ModelAnswer
from kbkit.schema import Role

_MAX_LENGTH = 2_000
"""Characters of a query."""


@dataclass(frozen=True)
class FusedQuery(Row):
    """The fused query and its paraphrase, which is the query of the dataset.

    ``relational_words`` and ``textual_words`` count the words of its relations and of its properties. ``used`` are the
    numbers of the properties that it asks for (None: all).
    """

    fused: str = ""
    query: str = ""
    relational_words: int = 0
    textual_words: int = 0
    used: list[int] | None = None


FUSED = Stage("3_fused", FusedQuery)


def used_properties(query: Item) -> list[TextProperty]:
    """Return the properties that a query asks for."""
    properties, used = query[Requirement].properties, query[FusedQuery].used
    return properties if used is None else [properties[number] for number in used]


def words_of(query: Item, used: Sequence[int] | None = None) -> tuple[int, int]:
    """Return the numbers of words of a query's relations and of its properties, or of the ``used`` ones."""
    properties = query[Requirement].properties
    texts = [properties[number].text for number in (range(len(properties)) if used is None else used)]
    return count_words(query[Grounding].question), sum(map(count_words, texts))


def fused(calls: Calls, queries: Sequence[Item], targets: Sequence[str], roles: Sequence[Role]) -> list[FusedQuery]:
    """Return queries that the first model fuses; ``targets`` are the types of the answers.

    A query is dropped if the model gives no usable answer.
    """
    inputs = [
        {
            "question": query[Grounding].question,
            "properties": [p.text for p in query[Requirement].properties],
            "target": target,
            "role": role.name,
            "interests": role.interests,
        }
        for query, target, role in zip(queries, targets, roles, strict=True)
    ]
    rows = []
    for query, answer in zip(queries, calls.ask("stark_fuse", inputs), strict=True):
        text, reason = checked(answer, [slot.name for slot in query[Grounding].slots.values()])
        rows.append(FusedQuery(query.id, text, "", *words_of(query), dropped=reason))
    return rows


def rephrased(
    calls: Calls, queries: Sequence[Item], wordings: Sequence[FusedQuery], targets: Sequence[str], roles: Sequence[Role]
) -> list[FusedQuery]:
    """Return fused queries with a paraphrase by the second model; a query without a usable one is dropped."""
    names = [[slot.name for slot in query[Grounding].slots.values()] for query in queries]
    valid = [position for position, row in enumerate(wordings) if row.fused]
    inputs = [
        {"query": wordings[i].fused, "names": names[i], "target": targets[i], "role": roles[i].name} for i in valid
    ]
    answers = dict(zip(valid, calls.ask("stark_rephrase", inputs, model=calls.second), strict=True))
    paraphrased = []
    for position, row in enumerate(wordings):
        query, reason = checked(answers[position], names[position]) if row.fused else ("", row.dropped)
        paraphrased.append(replace(row, query=query, dropped=reason))
    return paraphrased


def checked(answer: ModelAnswer, names: Sequence[str]) -> tuple[str, str]:
    """Return a model's query on one line, or "" and the reason; it must contain the names of the entities."""
    if answer.problem:
        return "", f"no query: {answer.problem}"
    query = " ".join(answer.value["query"].split())
    if not query or len(query) > _MAX_LENGTH:
        return "", f"no query: it has {len(query):,} characters"
    if any(name not in query and not leaks(query, [name]) for name in names):
        return "", "no query: a name is missing"
    return query, ""


def count_words(text: str) -> int:
    """Return the number of words of a text, split at white space."""
    return len(text.split())
