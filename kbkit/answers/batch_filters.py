"""Tests of attributes for a batch: SQL over the pairs of row and node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.answers.algebra import AllNodes, AttributeFilter, AttributeMeasure, Extreme
from kbkit.answers.bind import Constant
from kbkit.answers.evaluate import SingleEvaluator
from kbkit.answers.pairs import Pairs, ids_of, pack, unique
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import condition_sql, constant_sql, measure_sql
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class RowFilter:
    """Filters with the values of each of ``rows``; ``columns`` has the values of the ``slots``."""

    session: Session
    constant: SingleEvaluator
    slots: frozenset[str]
    columns: Mapping[str, Ids | list[Constant]]
    rows: int

    def select(self, operator: AttributeFilter, source: str, pairs: pl.DataFrame | None = None) -> Pairs:
        """Return the pairs that pass; ``source`` is SQL that joins nodes to ``v``, the table of the rows' values."""
        import polars as pl

        values: dict[str, object] = {"kb row": np.arange(self.rows, dtype=np.int32)}
        tests = []
        for test in operator.conditions:
            operands = []
            for name in test.parameters:
                if name in self.slots:
                    values[f"kb {name}"] = [value.text for value in self.columns[name] if isinstance(value, Constant)]
                    operands.append(f'v."kb {name}"::{test.sql_type.removesuffix("[]")}')
                else:
                    operands.append(constant_sql(self.constant.bound[name], test.sql_type))
            tests.append(condition_sql(test, operands))
        frames = {"kbkit_values": pl.DataFrame(values)}
        if pairs is not None:
            frames["kbkit_pairs"] = pairs
        elif not isinstance(operator.source, AllNodes):
            frames["kbkit_members"] = pl.DataFrame({"member": self.constant.members(operator.source)})
            tests.append("id IN (SELECT member FROM kbkit_members)")
        condition = " AND ".join(f"({test})" for test in tests)
        sql = f'SELECT v."kb row" AS row, id FROM kbkit_values v JOIN {source} {condition}'
        return _pairs(self.session, sql, frames)


def extreme_of_rows(
    session: Session, operator: Extreme, attribute: AttributeMeasure, pairs: Pairs, number: Any = None
) -> Pairs:
    """Return the pairs with the greatest (or least) value of their row; with ``number``, of all or of each pair, the
    pairs that fewer than so many of the row surpass.
    """
    import polars as pl

    op = "max" if operator.greatest else "min"
    value, known = measure_sql(attribute, op)
    batch = pl.DataFrame({"kb row": (pairs >> 32).astype(np.int32), "kb id": ids_of(pairs)})
    nodes = f'kbkit_pairs p JOIN {session.table(operator.type)} ON p."kb id" = id'
    values = f'SELECT p."kb row" AS row, id, {value} AS value FROM {nodes} WHERE {known}'
    if number is not None:
        batch = batch.with_columns(pl.Series("kb number", np.broadcast_to(number, len(pairs)), pl.Int64))
        values = values.replace("AS value FROM", 'AS value, p."kb number" AS number FROM', 1)
        rank = f"rank() OVER (PARTITION BY row ORDER BY value {'DESC' if operator.greatest else 'ASC'})"
        sql = f"SELECT row, id FROM ({values}) QUALIFY {rank} <= number"
        return _pairs(session, sql, {"kbkit_pairs": batch})
    sql = f"SELECT row, id FROM ({values}) QUALIFY value = {op}(value) OVER (PARTITION BY row)"
    return _pairs(session, sql, {"kbkit_pairs": batch})


def _pairs(session: Session, sql: str, frames: Mapping[str, pl.DataFrame]) -> Pairs:
    rows = session.stores.tables.lookup(sql, frames=frames)
    return unique(pack(rows["row"].to_numpy(), rows["id"].to_numpy()))
