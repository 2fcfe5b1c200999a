"""Answer the question of an instance by its query, on chosen units alone.

The query is SQL over three tables that hold nothing but the units:

``triples``: ``head``, ``head_type``, ``head_name``, ``relation``, ``tail``, ``tail_type``, ``tail_name``. Nodes are
``type#key``; for the value of an attribute, ``tail`` and ``tail_type`` are NULL and ``tail_name`` is the value.

``table_rows``: the cells as text in one column per column of the header, and ``position``, unless the table has a
column of that name.

``passages``: ``node`` (``type#key``), ``field``, ``title``, ``text``.

It returns the answers in one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import polars as pl

from kbkit.benchmarks.ska.instances import PASSAGE, ROW, TRIPLE, Instance, KnowledgeUnit
from kbkit.stores.scratch import Scratch

_TRIPLES = ("head", "head_type", "head_name", "relation", "tail", "tail_type", "tail_name")
POSITION = "position"
_PASSAGES = ("node", "field", "title", "text")


class Solver:
    """Runs the queries of instances; ``with`` closes it."""

    def __init__(self) -> None:
        self._database = Scratch()

    def __enter__(self) -> Solver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.__exit__(kind, error, trace)

    def answers(self, instance: Instance, units: Sequence[KnowledgeUnit]) -> set[str]:
        """Return the answers that the query of an instance, which must have one, finds in ``units``."""
        rows = self._database.rows(instance.provenance.sql, frames(instance, units))
        return {str(row[0]) for row in rows if row[0] is not None}


def frames(instance: Instance, units: Sequence[KnowledgeUnit]) -> dict[str, pl.DataFrame]:
    """Return the tables of units that queries read."""
    triples = [_triple(unit) for unit in units if unit.kind == TRIPLE]
    rows: list[tuple[Any, ...]] = [(*unit.content, unit.position) for unit in units if unit.kind == ROW]
    passages = [(*unit.source[:2], *unit.content) for unit in units if unit.kind == PASSAGE]
    header: dict[str, Any] = dict.fromkeys(instance.header, pl.String)
    if any(name.casefold() == POSITION for name in header):  # a column of the table has this name
        rows = [row[:-1] for row in rows]
    else:
        header[POSITION] = pl.Int64
    return {
        "triples": pl.DataFrame(triples, dict.fromkeys(_TRIPLES, pl.String), orient="row"),
        "table_rows": pl.DataFrame(rows, header, orient="row"),
        "passages": pl.DataFrame(passages, dict.fromkeys(_PASSAGES, pl.String), orient="row"),
    }


def _triple(unit: KnowledgeUnit) -> tuple[str | None, ...]:
    head, relation, tail = unit.source
    head_name, _, tail_name = unit.content
    tail_type = tail.partition("#")[0] if tail else None
    return head, head.partition("#")[0], head_name, relation, tail or None, tail_type, tail_name
