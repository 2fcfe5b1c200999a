"""Synthesized rows as noise of any instance over a table, each checked against its question (section 3.2.3).

Where the question is a query, a row is safe if the answers stay the same when it is added, and the noise alone still
gives none. Otherwise a row is rejected if it holds an answer, or all cells of a positive row that the question names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.ska.instances import ROW, Instance, KnowledgeUnit, numbered
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.tables.synthesize import synthesize
from kbkit.measures.lists import normalize

_QUERIES = 1_000
"""Queries to find the rows that change the answers, for each instance; rows that are not decided then are rejected."""
RULE = "rule"
SAFE = "the condition of the question does not hold (SQL)"
NO_TERMS = "no answer, and not all terms of the question"


def extended(
    instance: Instance,
    count: int,
    seed: int,
    solver: Solver,
) -> Instance:
    """Return an instance over a table with ``count`` rows of noise, if as many can be synthesized.

    Synthesized rows take random places between the original ones, which keep their order, and the noise is shuffled.
    """
    missing = count - sum(unit.kind == ROW for unit in instance.noise)
    original = sorted((unit for unit in instance.units if unit.kind == ROW), key=lambda unit: unit.position)
    if missing <= 0:
        return instance
    synthesized = synthesize(instance.header, [unit.content for unit in original], int(missing * 1.1) + 10, seed)
    fit = safe(instance, synthesized, solver)
    check = SAFE if instance.provenance.sql else NO_TERMS
    rows = [row for row, is_safe in zip(synthesized, fit, strict=True) if is_safe][:missing]
    rng = np.random.default_rng((seed, *instance.id.encode()))
    total = len(original) + len(rows)
    at = np.sort(rng.choice(total, len(rows), replace=False)).tolist()
    free = sorted(set(range(total)) - set(at))
    place = {unit.id: position for unit, position in zip(original, free, strict=True)}
    table = original[0].source[0] if original and original[0].source else instance.provenance.table
    new = [KnowledgeUnit("", ROW, row, [table, ""], place, RULE, check) for row, place in zip(rows, at, strict=True)]
    noise = [*instance.noise, *new]
    noise = [noise[i] for i in rng.permutation(len(noise)).tolist()]
    return replace(
        instance,
        positive=[replace(unit, position=place.get(unit.id, unit.position)) for unit in instance.positive],
        noise=numbered([replace(unit, position=place.get(unit.id, unit.position)) for unit in noise], "n"),
    )


def safe(instance: Instance, rows: Sequence[Sequence[str]], solver: Solver) -> list[bool]:
    """Return for each row whether it can be added to an instance as noise.

    Where the question is a query, rows are rejected that change its answers, or give any in the noise alone. Batches
    that do are split until the offending rows are found. Rows with all terms of the question come last, because they
    offend most often: rows still undecided after ``_QUERIES`` queries are rejected.
    """
    if not instance.provenance.sql:
        return safe_by_terms(instance, rows)
    named = _named(instance)
    order = sorted(range(len(rows)), key=lambda i: any(terms <= set(rows[i]) for terms in named))
    units = [KnowledgeUnit(f"s{i}", ROW, list(rows[i])) for i in order]
    expected = set(instance.answers)
    left = _QUERIES

    def is_safe(batch: Sequence[KnowledgeUnit]) -> bool:
        nonlocal left
        left -= 1
        with_all = solver.answers(instance, [*instance.units, *batch])
        return with_all == expected and not solver.answers(instance, [*instance.noise, *batch])

    def search(first: int, last: int) -> list[bool]:
        if first == last or (left > 0 and is_safe(units[first:last])):
            return [True] * (last - first)
        if last - first == 1 or left <= 0:
            return [False] * (last - first)
        middle = (first + last) // 2
        return [*search(first, middle), *search(middle, last)]

    are_safe = search(0, len(units))
    kept = [unit for unit, fit in zip(units, are_safe, strict=True) if fit]
    if not is_safe(kept):  # rows that are safe one by one can change the answers together
        return [False] * len(rows)
    by_row = dict(zip(order, are_safe, strict=True))
    return [by_row[i] for i in range(len(rows))]


def safe_by_terms(instance: Instance, rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return which rows hold neither an answer nor, together, the cells of a positive row that the question names."""
    answers = {normalize(answer) for answer in instance.answers}
    named = _named(instance)
    return [
        not any(normalize(cell) in answers for cell in row if cell.strip())
        and not any(terms <= set(row) for terms in named)
        for row in rows
    ]


def _named(instance: Instance) -> list[set[str]]:
    """Return the cells of each positive row that the question names, for rows with any."""
    cells = (
        {cell for cell in unit.content if cell.strip() and leaks(instance.question, [cell])}
        for unit in instance.positive
        if unit.kind == ROW
    )
    return [terms for terms in cells if terms]
