"""Stage 3: one query from a relational question and textual properties, and a paraphrase of it, by models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.pipeline import Item, Row, Stage
from kbkit.benchmarks.stark.relational import Grounding
from kbkit.benchmarks.stark.textual import Requirement
from kbkit.llm.calls import Answer, Calls
from kbkit.schema import Role

_MAX_LENGTH = 2_000
"""Characters of a query."""


@dataclass(frozen=True)
class Wording(Row):
    """The fused query and its paraphrase, which is the query of the dataset.

    ``relational_words`` and ``textual_words`` count the words of its relations and of its properties.
    """

    fused: str = ""
    query: str = ""
    relational_words: int = 0
    textual_words: int = 0


FUSED = Stage("3_fused", Wording)


def by_models(calls: Calls, queries: Sequence[Item], targets: Sequence[str], roles: Sequence[Role]) -> list[Wording]:
    """Return queries that the first model fuses and the second paraphrases; ``targets`` are the types of the answers.

    A query is dropped if a model gives no usable answer.
    """
    first = [
        {
            "question": query[Grounding].question,
            "properties": [p.text for p in query[Requirement].properties],
            "target": target,
            "role": role.name,
            "interests": role.interests,
        }
        for query, target, role in zip(queries, targets, roles, strict=True)
    ]
    names = [[slot.name for slot in query[Grounding].slots.values()] for query in queries]
    answers = calls.ask("stark_fuse", first)
    fused = [_query(answer, required) for answer, required in zip(answers, names, strict=True)]
    valid = [i for i, (query, _) in enumerate(fused) if query]
    second = [{"query": fused[i][0], "names": names[i], "target": targets[i], "role": roles[i].name} for i in valid]
    rephrased = dict(zip(valid, calls.ask("stark_rephrase", second, model=calls.second), strict=True))
    result = []
    for i, item in enumerate(queries):
        text, reason = fused[i]
        query, reason = _query(rephrased[i], names[i]) if text else ("", reason)
        words = count_words(item[Grounding].question), sum(count_words(p.text) for p in item[Requirement].properties)
        result.append(Wording(item.id, text, query, *words, dropped=reason))
    return result


def _query(answer: Answer, names: Sequence[str]) -> tuple[str, str]:
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
