"""Stage 3: one query from a relational question and textual properties, and a paraphrase of it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

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
    """The fused query and its paraphrase, which is the query of the dataset."""

    fused: str = ""
    query: str = ""


FUSED = Stage("3_fused", Wording)


class Grammar(NamedTuple):
    """The forms of queries: ``fuse`` and ``rephrase`` with properties, ``alone`` without, ``roles`` by role."""

    fuse: tuple[str, ...]
    rephrase: tuple[str, ...]
    alone: tuple[str, ...]
    roles: dict[str, tuple[str, ...]]

    def forms(self, role: str) -> tuple[str, ...]:
        """Return the paraphrase forms for a role."""
        return (*self.rephrase, *self.roles.get(role, ()))


@cache
def grammar() -> Grammar:
    """Return the grammar that ships with kbkit."""
    data = tomllib.loads(Path(__file__).with_name("grammar.toml").read_text(encoding="utf-8"))
    roles = {name: tuple(forms["rephrase"]) for name, forms in data["roles"].items()}
    return Grammar(tuple(data["fuse"]), tuple(data["rephrase"]), tuple(data["alone"]), roles)


def by_grammar(question: str, properties: Sequence[str], role: str, rng: np.random.Generator) -> tuple[str, str]:
    """Return the fused query and its paraphrase, both by the grammar."""
    known = grammar()
    joined = " and ".join(filter(None, (", ".join(properties[:-1]), properties[-1]))) if properties else ""
    plain = known.fuse if properties else known.alone[:1]
    varied = known.forms(role) if properties else known.alone
    first, second = (forms[int(rng.integers(len(forms)))] for forms in (plain, varied))
    values = {"question": question, "stem": question.rstrip("?"), "p": joined}
    return first.format(**values), second.format(**values)


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
        result.append(Wording(item.id, text, query, dropped=reason))
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
