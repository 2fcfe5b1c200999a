"""Table macros that SQL sees beside the tables of a KB."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

PATH_COUNT = "path_count"
_LONGEST = 4


def define(cursor: duckdb.DuckDBPyConnection, text: str) -> None:
    """Define the macros that the SQL ``text`` mentions, for this connection."""
    if PATH_COUNT in text.lower():
        cursor.execute(_path_count())


def _path_count() -> str:
    """Return the statement that defines ``path_count``, the number of rows of a join of edges, tail to head.

    Its arguments are names of relations, or of other tables with ``head`` and ``tail``. Each step groups the paths by
    their last node, so that it has at most as many rows as there are nodes, where the join has a row for each path.
    """
    forms = ["(relation1) AS TABLE (SELECT count(*)::HUGEINT AS paths FROM query_table(relation1))"]
    first = "(SELECT tail AS node, count(*)::HUGEINT AS n FROM query_table(relation1) GROUP BY tail)"
    steps = [f"{_step(1)} AS {first}"]
    for last in range(2, _LONGEST + 1):
        names = ", ".join(f"relation{i}" for i in range(1, last + 1))
        onward = f"(SELECT head AS node, count(*) AS m FROM query_table(relation{last}) GROUP BY head)"
        forms.append(
            f"({names}) AS TABLE (WITH {', '.join(steps)}"
            f" SELECT coalesce(sum(n * m), 0) AS paths FROM {_step(last - 1)} JOIN {onward} USING (node))"
        )
        steps.append(
            f"{_step(last)} AS (SELECT e.tail AS node, sum(n) AS n FROM {_step(last - 1)}"
            f" JOIN query_table(relation{last}) e ON e.head = node GROUP BY e.tail)"
        )
    return f"CREATE TEMP MACRO IF NOT EXISTS {PATH_COUNT}{', '.join(forms)}"


def _step(number: int) -> str:
    """Return the name of a step, which no table has: an argument of that name would be the step."""
    return f'"{PATH_COUNT} {number}"'
