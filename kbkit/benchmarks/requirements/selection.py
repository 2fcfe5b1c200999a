"""Select the queries of a dataset from complete drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbkit.answers.templates import Template
from kbkit.benchmarks.duplicates import distinct
from kbkit.benchmarks.pipeline import Item
from kbkit.benchmarks.requirements import relational
from kbkit.benchmarks.requirements.answer_counts import Target, select
from kbkit.benchmarks.requirements.phrases import DESCRIPTIONS
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.suggested import SUGGEST
from kbkit.benchmarks.requirements.textual import Requirement, TextProperty
from kbkit.benchmarks.requirements.verify import Verified

_CHOICE = 1.25
"""Queries to choose from, per query: if there are no more than wanted, nothing brings the numbers of answers closer."""
_FEW = 4
"""Candidates below which a reader would name them."""


def with_few_mentions(complete: Sequence[Item], count: int) -> list[Item]:
    """Return drafts without those that ask for what a description mentions, if enough others are left."""
    mentions = [query.id for query in complete if any(is_mention(one) for one in query[Requirement].properties)]
    most = max(0, count - (len(complete) - len(mentions)))
    left_out = {*mentions[most:]}
    return [query for query in complete if query.id not in left_out]


def is_mention(required: TextProperty) -> bool:
    """Return whether a requirement is that a description mentions something."""
    return not required.condition and "one" not in required.forms and required.field.partition("#")[0] in DESCRIPTIONS


def selected(
    complete: Sequence[Item], templates: Mapping[str, Template], count: int, target: Target, max_answers: int
) -> list[Item]:
    """Return up to ``count`` queries whose numbers of answers fit the target best.

    Trivial queries, and those that choose among few, are used if there are too few others; near duplicates never.
    """
    plain = sorted(complete, key=lambda query: (_is_trivial(query, templates), _is_of_few(query)))
    known = [plain[position] for position in distinct([_names_and_answers(query) for query in plain])]
    first = {_stated(query): query for query in reversed(known)}
    known = [query for query in known if not _stated(query)[0] or first[_stated(query)] is query]
    others = sum(not _is_trivial(query, templates) and not _is_of_few(query) for query in known)
    known = known[: max(others, int(_CHOICE * count))]
    wanted = target.counts(min(count, len(known)), max_answers)
    return [known[position] for position in select([len(query[Verified].answers) for query in known], wanted)]


def _is_trivial(query: Item, templates: Mapping[str, Template]) -> bool:
    """Return whether a query is a suggested template of one step without conditions: *films by Jane Doe*."""
    name = query[Grounding].template
    return (
        name.startswith(SUGGEST)
        and not query[Requirement].properties
        and relational.steps_of(templates[name]) < 2
        and len(query[Grounding].slots) < 2
    )


def _is_of_few(query: Item) -> bool:
    """Return whether conditions choose among few: *which of the two countries on Lake Nasser has 50 million people*."""
    return bool(query[Requirement].properties) and len(query[Grounding].candidates) < _FEW


def _stated(query: Item) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return what texts must say of the answers, and the answers: a clue for a thing is used once."""
    said = (one.text for one in query[Requirement].properties if not one.condition)
    return tuple(sorted(said)), frozenset(f"{answer.type}#{answer.key}" for answer in query[Verified].answers)


def _names_and_answers(query: Item) -> tuple[list[str], list[str]]:
    """Return the named entities and the answers of a query, as ``type#key``."""
    named = [f"{entity.type}#{entity.key}" for entity in query[Grounding].slots.values()]
    return named, [f"{answer.type}#{answer.key}" for answer in query[Verified].answers]
