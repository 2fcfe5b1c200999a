"""The columns of the table that a value expression gives."""

from __future__ import annotations

from typing import NamedTuple

from kbkit.answers.algebra import GroupKey, Measure, PathMeasure, Total, aggregate_type

NODE = "node"
"""Column with the reference (``type#key``) of a node."""


class TotalColumn(NamedTuple):
    """A column: ``sql_type`` is a DuckDB type; ``measure`` its source, None for references, names and aggregates."""

    name: str
    sql_type: str
    measure: GroupKey | None = None
    group: int = -1
    """For a column of a group: the number of the group."""
    part: int = 0
    """For a column of a function: the number of the function."""


def columns(total: Total) -> list[TotalColumn]:
    """Return the columns of the table of a value."""
    if total.groups:
        return group_columns(total)
    if total.op == "values":
        start = [TotalColumn(NODE, "VARCHAR")] if total.is_table else []
        return unique([*start, *(_measured(measure) for measure in total.measures)])
    return unique(_aggregates(total))


def group_columns(total: Total) -> list[TotalColumn]:
    """Return the columns of a table of groups: attributes, or references and names of nodes, and the value if any."""
    listed: list[TotalColumn] = []
    for number, group in enumerate(total.groups):
        if isinstance(group, PathMeasure):
            listed += [TotalColumn(NODE, "VARCHAR", None, number), TotalColumn("name", "VARCHAR", None, number)]
        else:
            listed.append(TotalColumn(group.name, group.sql_type.removesuffix("[]"), group, number))
    return unique(listed if total.op == "values" else [*listed, *_aggregates(total)])


def _aggregates(total: Total) -> list[TotalColumn]:
    """Return the column of each function."""
    return [_aggregate(part)._replace(part=number) for number, part in enumerate(total.parts)]


def _aggregate(total: Total) -> TotalColumn:
    return TotalColumn(total.op, aggregate_type(total.op, total.measures[0].sql_type if total.measures else ""))


def _measured(measure: Measure) -> TotalColumn:
    return TotalColumn(measure.text, measure.sql_type, measure)


def unique(all_columns: list[TotalColumn]) -> list[TotalColumn]:
    """Return columns with distinct names, whatever their case: the second ``name`` is ``name_2``."""
    taken: set[str] = set()
    named = []
    for column in all_columns:
        name, number = column.name, 1
        while name.casefold() in taken:
            number += 1
            name = f"{column.name}_{number}"
        taken.add(name.casefold())
        named.append(column._replace(name=name))
    return named
