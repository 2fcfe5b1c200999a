"""Select the queries of a dataset from complete drafts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import numpy as np

from kbkit.answers.templates import Template
from kbkit.benchmarks.duplicates import Spread, distinct
from kbkit.benchmarks.evidence import padded
from kbkit.benchmarks.pipeline import Item
from kbkit.benchmarks.requirements import relational
from kbkit.benchmarks.requirements.answer_counts import ONE_OR_SEVERAL, Share, Target, select
from kbkit.benchmarks.requirements.fuse import FusedQuery
from kbkit.benchmarks.requirements.phrases import is_list_field
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.suggested import SUGGEST
from kbkit.benchmarks.requirements.textual import Requirement, TextProperty
from kbkit.benchmarks.requirements.verify import Verified

_CHOICE = 1.25
"""Queries to choose from, per query: if there are no more than wanted, nothing brings the numbers of answers closer."""
_FEW = 5
"""Candidates below which a reader would name them."""
_FIFTH = 0.2
"""Maximum fraction of the queries with one template, and with one relation, if there are others."""
_SOME = 100.0
"""What a query weighs that is one too many of a relation, or without a requirement."""
_LITTLE = 0.1
"""The same where somebody asks for numbers of answers of their own."""
_BARE, _WITHOUT_TEXT, _CHAINS, _QUOTED = 0.35, 0.6, 0.25, 0.08
"""Maximum fractions of the queries without a requirement, without one on texts, by way of things without a name, and
with five words in a row that are those of a text, if there are others."""
_ALONE = 0.4
"""Maximum fraction of the queries without a requirement, even if there are no others."""
_NAMED, _NAMES = 2, 25
"""A thing is named by 2 queries, or by one in 25 of a large dataset."""
_RUN = 5
"""Number of words in a row that are a quotation."""


def selected(
    complete: Sequence[Item],
    templates: Mapping[str, Template],
    count: int,
    target: Target,
    max_answers: int,
    alike: int | None = None,
) -> list[Item]:
    """Return up to ``count`` queries whose numbers of answers fit the target best.

    Trivial queries, and those that choose among few, are used if there are too few others; near duplicates never, nor
    more of one mould than :class:`Spread` allows.
    """
    spread = Spread(count, alike)
    plain = sorted(complete, key=lambda query: (_is_trivial(query, templates), _is_of_few(query)))
    known = [plain[position] for position in distinct([_names_and_answers(query) for query in plain])]
    first = {_stated(query): query for query in reversed(known)}
    known = _of_different_texts([query for query in known if not _stated(query)[0] or first[_stated(query)] is query])
    others = sum(not _is_trivial(query, templates) and not _is_of_few(query) for query in known)
    known = known[: max(others, int(_CHOICE * count))]
    wanted = target.counts(min(count, len(known)), max_answers)
    strict, some = (2 * ONE_OR_SEVERAL, _SOME) if target.is_published else (_LITTLE, _LITTLE)
    of_count = int(_FIFTH * count)
    can_state = any(query[Requirement].properties for query in known)
    shares = [
        *_shares(known, _named, max(_NAMED, count // _NAMES), math.inf),
        *_shares(known, lambda query: [()] * (can_state and not query[Requirement].properties),
                 int(_ALONE * count), math.inf),
        *_shares(known, lambda query: [query[Grounding].template], of_count, strict),
        *_shares(known, lambda query: [mould(query)] * (not _asks_text(query)), spread.of_mould, math.inf),
        *_shares(known, lambda query: [mould(query)] * _asks_text(query), spread.of_text, math.inf),
        *_shares(known, lambda query: [()] * _is_trivial(query, templates), spread.of_lookups, math.inf),
        *_shares(known, lambda query: [()] * _is_of_few(query), 0, strict),
        *_shares(known, lambda query: [()] * is_quotation(query), int(_QUOTED * count), strict),
        *_shares(known, lambda query: [()] * _is_chain(query, templates), int(_CHAINS * count), 2 * some),
        *_shares(known, lambda query: [()] * (not query[Requirement].properties), int(_BARE * count), 2 * some),
        *_shares(known, lambda query: [()] * (not _asks_text(query)),
                 int(_WITHOUT_TEXT * count), 2 * some),
        *_shares(known, lambda query: relational.relations_of(templates[query[Grounding].template]), of_count, some),
    ]  # fmt: skip
    return [known[position] for position in select([len(query[Verified].answers) for query in known], wanted, shares)]


def _shares(
    queries: Sequence[Item], names: Callable[[Item], Iterable[Hashable]], most: int, cost: float
) -> list[Share]:
    """Return the shares of the queries that have a name in common, of which at most ``most`` should be selected."""
    of_queries = [frozenset(names(query)) for query in queries]
    every = dict.fromkeys(name for own in of_queries for name in own)
    return [Share(np.array([name in own for own in of_queries], bool), most, cost) for name in every]


def _named(query: Item) -> list[tuple[str, str]]:
    """Return the things and labels that a query names."""
    named = [(entity.type, entity.key) for entity in query[Grounding].slots.values()]
    labels = [one for one in query[Requirement].properties if not one.condition and is_list_field(_field(one))]
    return [*named, *((_field(one), one.text) for one in labels)]


def _field(required: TextProperty) -> str:
    return required.field.partition("#")[0]


def _of_different_texts(queries: Sequence[Item]) -> list[Item]:
    """Return the first query on each text: two that are answered from one sentence are one to a reader."""
    read: set[tuple[int, str]] = set()
    kept = []
    for query in queries:
        stated = [one for one in query[Requirement].properties if not one.condition and not is_list_field(_field(one))]
        own = {(query[Requirement].gold, one.field) for one in stated}
        if read.isdisjoint(own):
            kept.append(query)
            read |= own
    return kept


def mould(query: Item) -> tuple[str, ...]:
    """Return what queries have in common that differ in what they name alone, and in what a text says."""
    return query[Grounding].template, *sorted(_field(one) for one in query[Requirement].properties)


def _asks_text(query: Item) -> bool:
    return any(not one.condition for one in query[Requirement].properties)


def _is_chain(query: Item, templates: Mapping[str, Template]) -> bool:
    """Return whether a query names one thing and goes on by way of others: *by the director of X*."""
    return len(query[Grounding].slots) < 2 <= relational.steps_of(templates[query[Grounding].template])


def is_quotation(query: Item) -> bool:
    """Return whether a query shares five words in a row with what a text says of its answer."""
    words = padded(query[FusedQuery].query).split()
    said = [padded(one.evidence) for one in query[Requirement].properties if not one.condition]
    runs = [f" {' '.join(words[at : at + _RUN])} " for at in range(len(words) - _RUN + 1)]
    return any(run in text for run in runs for text in said)


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
