"""The values that ``count(...)``, ``values(...)`` and so on compute from a set of nodes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kbkit.answers.algebra import Operator, PathMeasure, Plan, Total
from kbkit.answers.bind import Bindings
from kbkit.answers.columns import TotalColumn, columns
from kbkit.answers.edge_filters import edge_condition
from kbkit.answers.edge_values import value_attribute
from kbkit.answers.evaluate import SingleEvaluator
from kbkit.answers.pairs import ids_of
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import attribute_values
from kbkit.answers.total_sql import TotalSql, edge_rows
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl


def value_frame(plan: Plan, session: Session, bound: Bindings, ids: Ids) -> pl.DataFrame:
    """Return the value of the nodes ``ids`` as a table; see :func:`finished`."""
    import polars as pl

    assert plan.total is not None
    evaluator = SingleEvaluator(session, bound)
    frames = {"kbkit_nodes": pl.DataFrame({"id": ids})}

    def counts(path: PathMeasure) -> str:
        return _added(frames, "kbkit_counts", pl.DataFrame({"id": ids, "value": evaluator.count(path, ids)}))

    def reached(path: PathMeasure) -> str:
        pairs = evaluator.reached(path, ids)
        return _added(frames, "kbkit_reached", pl.DataFrame({"start": ids[pairs >> 32], "id": ids_of(pairs)}))

    def edges(path: PathMeasure) -> tuple[str, str]:
        pairs, values = evaluator.edge_values(path, ids)
        followed = _added(frames, "kbkit_followed", pl.DataFrame({"start": ids[pairs >> 32], "id": ids_of(pairs)}))
        return followed, attribute_values(_added(frames, "kbkit_values", values), value_attribute(path))

    def part(operator: Operator) -> str:
        return _added(frames, "kbkit_part", pl.DataFrame({"id": ids[evaluator.contains(operator, ids)]}))

    def within(operator: Operator) -> str:
        return _added(frames, "kbkit_within", pl.DataFrame({"id": evaluator.members(operator)}))

    rows = "kbkit_nodes"
    if (step := plan.total.edges) is not None:
        tests = [edge_condition(move, bound) for move in step.moves if move.conditions]
        others = "" if step.within is None else within(step.within)
        rows = f"({edge_rows(session.schema, plan.total, tests, rows, others)})"
    sql = TotalSql(session.table(plan.type), rows, counts, reached, session.table, edges, part)
    return read_total(session, plan.total, sql.select(plan.total), frames)


def fraction_origin(part: Operator, session: Session, bound: Bindings, ids: Ids) -> str:
    """Return how many of the nodes ``ids`` are in a part: *3 of 6 nodes*."""
    number = int(SingleEvaluator(session, bound).contains(part, ids).sum())
    return f"{number:,} of {len(ids):,} node{'s' if len(ids) != 1 else ''}"


def _added(frames: dict[str, pl.DataFrame], stem: str, frame: pl.DataFrame) -> str:
    name = f"{stem}_{len(frames)}"
    frames[name] = frame
    return name


def read_total(session: Session, total: Total, sql: str, frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Run a query of a value on frames and return its table."""
    tables, table_columns = session.stores.tables, columns(total)
    # Python has no dates before Christ: these become text.
    has_dates = any(c.sql_type.startswith(("DATE", "TIMESTAMP")) for c in table_columns)
    return finished(tables.frame(sql, frames=frames) if has_dates else tables.lookup(sql, frames=frames), table_columns)


def finished(frame: pl.DataFrame, table_columns: list[TotalColumn]) -> pl.DataFrame:
    """Return a table of values with plain numbers: integers and floats, no decimals."""
    import polars as pl

    for column in table_columns:
        series = frame[column.name]
        if series.dtype.is_decimal() or series.dtype == pl.Int128:
            frame = frame.with_columns(pl.Series(column.name, [_plain(v) for v in series.to_list()], strict=False))
    return frame


def value_of(total: Total, frame: pl.DataFrame) -> Any:
    """Return the value of a table: a scalar, a sorted list of distinct values, or rows as tuples."""
    if total.is_table:
        return frame.rows()
    values = frame.to_series().to_list()
    return values if total.op == "values" else values[0]


def _plain(value: Any) -> Any:
    """Return a number as int or float."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def spoken(value: Any) -> str:
    """Return a scalar value as text: ``true``, ``false``, ``no value``, or the value itself."""
    if value is None:
        return "no value"
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_text(total: Total | None, value: Any, origin: str) -> str:
    """Return a value as a line of text, a share with what it is of, as :func:`fraction_origin` has it."""
    from kbkit.display.render import cell

    if total is None or not origin or value is None:
        return cell(value) if isinstance(value, list | float) else spoken(value)
    return f"{value:.4g}{'%' * (total.op == 'percentage')} ({origin})"
