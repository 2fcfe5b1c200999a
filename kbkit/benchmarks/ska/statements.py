"""The statements that hold for every instance with a query, executed on its units alone (section 3.2 of the paper).

The positive units give exactly the answers; so they do with all noise added; the noise alone gives none of them; and
in the forms with text neither the passages nor the structured units give the answers without the other. A reader of
one kind of unit alone, who knows the words of the question, does not have them either: see :func:`readable_from_one`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kbkit.benchmarks.evidence import leaks, padded
from kbkit.benchmarks.ska.instances import PASSAGE, ROW, Instance, KnowledgeUnit
from kbkit.benchmarks.ska.solve import Solver
from kbkit.errors import QueryError

_SHOWN = 3


def check_instance(instance: Instance, solver: Solver) -> list[str]:
    """Return the statements that fail, in plain words; none for a correct instance.

    An instance without a query cannot be checked, which is a failure too.
    """
    if not instance.provenance.sql:
        return ["the instance has no query"]
    if not instance.answers:
        return ["the instance has no answers"]
    try:
        return [message for message in _messages(instance, solver) if message]
    except QueryError as error:
        return [f"the query fails: {error}"]


def _messages(instance: Instance, solver: Solver) -> Iterator[str]:
    expected = set(instance.answers)
    yield _compared("the positive units", solver.answers(instance, instance.positive), expected)
    yield _compared("the positive units with all noise", solver.answers(instance, instance.units), expected)
    answers = solver.answers(instance, instance.noise)
    if answers:
        yield f"the noise alone gives {_shown(answers)}"
    if not instance.form.endswith("+text"):
        return
    for missing, is_structured in (("passages", True), ("structured units", False)):
        if is_structured and instance.provenance.phrases and not instance.header:
            continue  # without passages no phrase is found; the reader's statement asks for more
        kept = [unit for unit in instance.units if unit.is_structured == is_structured]
        if solver.answers(instance, kept) == expected:
            yield f"the {missing} are not needed"
    yield readable_from_one(instance, solver)


def readable_from_one(instance: Instance, solver: Solver) -> str:
    """Return which units a reader does not need in a form with text, or "" if both kinds are needed.

    The passages alone must leave a choice: in a graph, other nodes of the answers' type have passages with all phrases;
    with a table, no passage with a phrase has an answer, or others have the phrases too. The structured units alone
    must leave a choice too: without the phrases, the query has other answers, or no row has a phrase. Instances without
    phrases are not checked.
    """
    phrases = [padded(phrase) for phrase in instance.provenance.phrases]
    if not phrases:
        return ""
    passages = [unit for unit in instance.units if unit.kind == PASSAGE]
    if instance.header:
        texts = [" ".join(unit.content) for unit in passages]
        naming = [leaks(text, instance.answers) for text in texts if any(phrase in padded(text) for phrase in phrases)]
        if any(naming) and all(naming):
            return "the rows are not needed by a reader: a passage with a phrase has an answer"
        cells = (padded(cell) for unit in instance.units if unit.kind == ROW for cell in unit.content)
        return (
            "a row has a phrase, which is for the passages" if any(p in cell for cell in cells for p in phrases) else ""
        )
    answers = set(instance.answers)
    texts_of: dict[str, list[str]] = {}
    for unit in passages:
        if unit.source[0].partition("#")[0] == (instance.provenance.asked or unit.source[0].partition("#")[0]):
            texts_of.setdefault(unit.source[0], []).append(padded(unit.content[1]))
    fitting = [node for node, texts in texts_of.items() if all(any(p in text for text in texts) for p in phrases)]
    if len(fitting) <= len(answers):
        return "the structured units are not needed by a reader: no other text has the phrases"
    query = _OF_TEXT.sub("", instance.provenance.sql)
    relaxed = replace(instance, provenance=replace(instance.provenance, sql=query))
    kept = [unit for unit in instance.units if unit.is_structured]
    return "" if solver.answers(relaxed, kept) - answers else "the passages are not needed by a reader"


_OF_TEXT = re.compile(r"\n  AND id IN \(SELECT id FROM mention_\d+\)")
"""The conditions on passages in the queries of :mod:`kbkit.benchmarks.ska.graphs.triples_sql`."""


def _compared(units: str, answers: set[str], expected: Collection[str]) -> str:
    """Return how answers differ from those expected, or ""."""
    missing, wrong = set(expected) - answers, answers - set(expected)
    faults = []
    if missing:
        faults.append(f"do not give {_shown(missing)}")
    if wrong:
        faults.append(f"also give {_shown(wrong)}")
    return f"{units} {' and '.join(faults)}" if faults else ""


def _shown(names: Collection[str]) -> str:
    first = ", ".join(sorted(names)[:_SHOWN])
    return first if len(names) <= _SHOWN else f"{first} and {len(names) - _SHOWN:,} more"


def redundant(instance: Instance, solver: Solver) -> list[KnowledgeUnit]:
    """Return the positive units that are not needed one by one: without any one of them, the answers are the same.

    Some are expected: an answer can have several derivations, and all of them are positive units.
    """
    expected = set(instance.answers)
    return [unit for unit in instance.positive if solver.answers(instance, _without(instance, unit)) == expected]


def _without(instance: Instance, dropped: KnowledgeUnit) -> Sequence[KnowledgeUnit]:
    return [unit for unit in instance.positive if unit is not dropped]
