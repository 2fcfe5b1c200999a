"""The values that ``count(...)``, ``values(...)``, ``sum(...)`` and ``avg(...)`` compute from a set of nodes."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from kbkit.answers.algebra import Plan
from kbkit.answers.session import Session
from kbkit.answers.to_sql import identifier, known_sql
from kbkit.stores.adjacency import Ids


def value_of(plan: Plan, session: Session, ids: Ids) -> Any:
    """Return the value of a plan whose answers are ``ids``: a number, a sorted list, or None if it is only a set.

    Missing values are ignored; without any value, a sum is 0 and an average None.
    """
    total = plan.total
    if total is None:
        return None
    if total.op == "count":
        return len(ids)
    import polars as pl

    table, column = session.table(plan.type), identifier(total.attribute)
    known = known_sql(column, total.sql_type)
    among = f"FROM {table} WHERE id IN (SELECT member FROM kbkit_batch) AND {known}"
    if total.op == "values":
        each = f"unnest({column})" if total.sql_type.endswith("[]") else column
        sql = f"SELECT DISTINCT value FROM (SELECT {each} AS value {among}) ORDER BY value"
    else:
        sql = f"SELECT {total.op}({column}) AS value {among}"
    tables, frames = session.stores.tables, {"kbkit_batch": pl.DataFrame({"member": ids})}
    dates = total.sql_type.startswith(("DATE", "TIMESTAMP"))  # Python has none before Christ: these become text
    found = tables.frame(sql, frames=frames) if dates else tables.lookup(sql, frames=frames)
    values = [_plain(value) for value in found["value"].to_list()]
    if total.op == "values":
        return [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
    return values[0] if values[0] is not None or total.op == "avg" else 0


def _plain(value: Any) -> Any:
    """Return a number as int or float."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
