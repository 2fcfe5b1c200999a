"""Evaluate a plan for a batch of bindings, in blocks of rows; see :mod:`kbkit.answers.batch_evaluator`.

Blocks run on all cores (NumPy releases the interpreter lock). Rows that give other values to conditions on edges follow
other edges, and are evaluated apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import Plan
from kbkit.answers.batch_evaluator import BatchEvaluator, Columns, Counts
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.evaluate import SingleEvaluator
from kbkit.answers.operator_tree import edge_parameters
from kbkit.answers.pairs import ids_of
from kbkit.answers.session import Session
from kbkit.directory import systems
from kbkit.stores.adjacency import Ids

BLOCK = 256
"""Rows evaluated at once: enough to make calls cheap, few enough to keep their bitmaps in the CPU cache."""

_MAX_PARTIAL_LIMIT = 1000
"""Largest limit for which :func:`count_up_to` first counts a part of each set."""


@dataclass(frozen=True)
class BatchAnswers:
    """Answers of a batch: ``nodes[i]`` is an answer of row ``rows[i]``; sorted by row, then node."""

    rows: NDArray[np.int64]
    nodes: Ids


def evaluate_batch(plan: Plan, session: Session, shared: Bindings, columns: Columns, rows: int) -> BatchAnswers:
    """Return the answers of ``rows`` bindings; ``shared`` holds the parameters with one value for all rows."""
    parts = [np.empty(0, np.int64)]
    for numbers, constants, values in _same_edges(plan, shared, columns, rows):
        blocks = _blocks(session, constants, values, len(numbers), lambda block: np.sort(block.members(plan.root)))
        pairs = np.concatenate([np.empty(0, np.int64), *(part + (np.int64(start) << 32) for start, part in blocks)])
        parts.append((numbers[pairs >> 32] << 32) | ids_of(pairs))
    packed = np.concatenate(parts) if len(parts) == 2 else np.sort(np.concatenate(parts))
    return BatchAnswers(packed >> 32, ids_of(packed))


def count_batch(plan: Plan, session: Session, shared: Bindings, columns: Columns, rows: int) -> Counts:
    """Return the number of answers of each of ``rows`` bindings."""
    return _count(plan, session, shared, columns, rows, lambda block: block.counts(block.members(plan.root)))


def count_up_to(plan: Plan, session: Session, shared: Bindings, columns: Columns, rows: int, limit: int) -> Counts:
    """Return the number of answers of each binding, or ``limit + 1`` if there are more.

    Rows where a part of the set already exceeds the limit are not evaluated further.
    """
    rounds = (2 * limit + 20, 20 * limit) if limit <= _MAX_PARTIAL_LIMIT else ()

    def count(block: BatchEvaluator) -> Counts:
        counts = np.full(block.rows, limit + 1)
        undecided = np.arange(block.rows)
        for size in rounds:
            rest = block.select(undecided)
            undecided = undecided[rest.counts(rest.partial(plan.root, size)) <= limit]
        if len(undecided):
            rest = block.select(undecided)
            counts[undecided] = np.minimum(rest.counts(rest.members(plan.root)), limit + 1)
        return counts

    return _count(plan, session, shared, columns, rows, count)


def _count(
    plan: Plan,
    session: Session,
    shared: Bindings,
    columns: Columns,
    rows: int,
    count: Callable[[BatchEvaluator], Counts],
) -> Counts:
    counts = np.zeros(rows, np.int64)
    for numbers, constants, values in _same_edges(plan, shared, columns, rows):
        parts = [part for _, part in _blocks(session, constants, values, len(numbers), count)]
        counts[numbers] = np.concatenate([np.empty(0, np.int64), *parts])
    return counts


def _same_edges(
    plan: Plan, shared: Bindings, columns: Columns, rows: int
) -> Iterator[tuple[NDArray[np.int64], Bindings, Columns]]:
    """Yield the rows that follow the same edges: their numbers, the constants of all of them, and the other columns."""
    names = sorted(edge_parameters(plan) & columns.keys())
    if not names:
        yield np.arange(rows), shared, columns
        return
    groups: dict[tuple[str, ...], list[int]] = {}
    texts = [[value.text for value in columns[name] if isinstance(value, Constant)] for name in names]
    for number, key in enumerate(zip(*texts, strict=True)):
        groups.setdefault(key, []).append(number)
    for same in groups.values():
        numbers = np.array(same, np.int64)
        constants = {name: value for name in names if isinstance(value := columns[name][same[0]], Constant)}
        others = {name: _taken(values, numbers) for name, values in columns.items() if name not in names}
        yield numbers, {**shared, **constants}, others


def _taken(values: Ids | list[Constant], numbers: NDArray[np.int64]) -> Ids | list[Constant]:
    return values[numbers] if isinstance(values, np.ndarray) else [values[i] for i in numbers.tolist()]


def _blocks(
    session: Session,
    shared: Bindings,
    columns: Columns,
    rows: int,
    action: Callable[[BatchEvaluator], NDArray[np.int64]],
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the first row and the result of ``action`` for each block, in order."""
    constant = SingleEvaluator(session, shared)
    slots = frozenset(columns)

    def run(start: int) -> tuple[int, NDArray[np.int64]]:
        part = {name: values[start : start + BLOCK] for name, values in columns.items()}
        return start, action(BatchEvaluator(session, constant, slots, part, min(BLOCK, rows - start)))

    if rows <= BLOCK:  # threads take longer to start
        yield from map(run, range(0, rows, BLOCK))
        return
    with ThreadPoolExecutor(systems.cores()) as pool:
        yield from pool.map(run, range(0, rows, BLOCK))
