"""Select the queries of a dataset from complete drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbkit.answers.templates import Template
from kbkit.benchmarks.duplicates import distinct
from kbkit.benchmarks.pipeline import Item
from kbkit.benchmarks.requirements import relational
from kbkit.benchmarks.requirements.answer_counts import Target, select
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.textual import Requirement
from kbkit.benchmarks.requirements.verify import Verified


def selected(
    complete: Sequence[Item], templates: Mapping[str, Template], count: int, target: Target, max_answers: int
) -> list[Item]:
    """Return up to ``count`` queries whose numbers of answers fit the target best.

    Trivial queries are dropped if there are others, and near duplicates always.
    """
    known = [query for query in complete if not _is_trivial(query, templates)] or complete
    known = [known[position] for position in distinct([_names_and_answers(query) for query in known])]
    wanted = target.counts(min(count, len(known)), max_answers)
    return [known[position] for position in select([len(query[Verified].answers) for query in known], wanted)]


def _is_trivial(query: Item, templates: Mapping[str, Template]) -> bool:
    """Return whether a query is a suggested template of one step without conditions: *films by Jane Doe*."""
    name = query[Grounding].template
    return (
        name.startswith(relational.SUGGEST)
        and not query[Requirement].properties
        and relational.steps_of(templates[name]) < 2
    )


def _names_and_answers(query: Item) -> tuple[list[str], list[str]]:
    """Return the named entities and the answers of a query, as ``type#key``."""
    named = [f"{entity.type}#{entity.key}" for entity in query[Grounding].slots.values()]
    return named, [f"{answer.type}#{answer.key}" for answer in query[Verified].answers]
