"""The statements that hold for every instance with a query, executed on its units alone (section 3.2 of the paper).

The positive units give exactly the answers; so they do with all noise added; the noise alone gives none of them; and
in the forms with text neither the passages nor the structured units give the answers without the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kbkit.benchmarks.ska.instances import Instance, KnowledgeUnit
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
        kept = [unit for unit in instance.units if unit.is_structured == is_structured]
        if solver.answers(instance, kept) == expected:
            yield f"the {missing} are not needed"


def _compared(units: str, found: set[str], expected: Collection[str]) -> str:
    """Return how answers differ from those expected, or ""."""
    missing, wrong = set(expected) - found, found - set(expected)
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
