"""Examples of questions that a KB can answer, in English and as expressions: one for each of its largest relations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers.parse import parse
from kbkit.answers.session import Session
from kbkit.answers.suggest import question
from kbkit.answers.syntax import identifier, quoted
from kbkit.errors import KbError
from kbkit.graph.nodes import degrees_of_all
from kbkit.questions.ask import ask
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

    from kbkit.schema import Join

_FEW = range(2, 26)
"""Numbers of answers that are easy to read."""
_KNOWN = 20
"""Nodes of a type, those with most neighbours first, of which one with few answers is chosen."""


def examples(stores: Stores, limit: int) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.examples`."""
    import polars as pl

    rows: list[tuple[str, str, int]] = []
    for expression, answer, count in _candidates(stores):
        if len(rows) >= limit:
            break
        text = question(Session.of(stores), parse(expression), answer)
        found = ask(stores, text, 0)
        if found.expression == expression:
            rows.append((text, expression, count))
    kinds = {"question": pl.String, "expression": pl.String, "answers": pl.Int64}
    return pl.DataFrame(rows, kinds, orient="row")


def _candidates(stores: Stores) -> Iterator[tuple[str, str, int]]:
    """Yield (expression, type of the answers, their number) for the largest joins, each pair of types once."""
    joins = sorted((j for r in stores.schema.relations for j in r.joins()), key=lambda join: -join.edges)
    seen: set[tuple[str, str]] = set()
    for join in joins:
        pairs = {(join.source, join.target), (join.target, join.source)}
        if pairs & seen or (len(pairs) == 1 and not join.forward):
            continue
        found = _start(stores, join)
        if found is not None:
            seen.add((join.source, join.target))
            name, count = found
            start, relation = f"{identifier(join.source)}:{quoted(name)}", identifier(join.relation.name)
            yield f"{start} -> [{relation}] -> {identifier(join.target)}", join.target, count


def _start(stores: Stores, join: Join) -> tuple[str, int] | None:
    """Return the name of a well-known node with few answers, and their number."""
    known = stores.schema.type(join.source)
    degrees = stores.shared(degrees_of_all)[known.first : known.last + 1]
    if not len(degrees):
        return None
    best = np.argsort(-degrees, kind="stable")[:_KNOWN] + known.first
    adjacency, name = stores.adjacency, join.relation.name
    rows = adjacency.forward(name) if join.forward else adjacency.backward(name)
    target = stores.schema.type(join.target)
    for node in best.tolist():
        ids = rows.neighbors(node)
        count = int(((ids >= target.first) & (ids <= target.last)).sum())
        row = stores.nodes.row(node)
        try:
            unique = count in _FEW and stores.nodes.find(f"{join.source}:{row.name}") == node
        except KbError:
            continue
        if unique:
            return row.name, count
    return None
