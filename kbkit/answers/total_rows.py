"""Make the table of a value from the rows of its SPARQL query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbkit.answers.algebra import EdgeMeasure, Total
from kbkit.answers.columns import TotalColumn, columns, group_columns
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import identifier
from kbkit.answers.total_sparql import key_columns
from kbkit.answers.total_sql import having, limited, sorted_by
from kbkit.answers.totals import read_total

if TYPE_CHECKING:
    import polars as pl

_EARLY = "^(?:-|0000)"
"""Years before Christ: in RDF 44 BC is the year -0043, in DuckDB 0044 (BC)."""


def read_sparql(session: Session, total: Total, text: str, timeout: float | None) -> pl.DataFrame:
    """Run the SPARQL query of a value and return its table, as :func:`kbkit.answers.totals.read_total` does."""
    import polars as pl

    answers = session.stores.triples.frame(text, timeout=timeout)
    rows = answers.select(pl.col(name).alias(f"c{number}") for number, name in enumerate(answers.columns))
    width = len(columns(total)) + len(total.order)
    missing = [pl.lit(None, pl.String).alias(f"c{number}") for number in range(answers.width, width)]
    rows = rows.with_columns(missing)
    frames = {"kbkit_rows": rows}
    if total.is_table and not _is_row(total):
        nodes = [f"c{number}" for number in _node_columns(total)]
        if total.edges is not None and not total.groups:
            frames["kbkit_rows"] = rows = rows.rename({rows.columns[answers.width - 1]: "edge"})
        frames["kbkit_iris"] = _iris(session, [iri for name in nodes for iri in rows[name].drop_nulls().to_list()])
    table = read_total(session, total, _sql(total), frames)
    is_scalar = _is_row(total) or (not total.is_table and total.op != "values")
    empty = {column.name: [None] for column in columns(total)}
    return pl.DataFrame(empty) if is_scalar and not table.height else table


def _is_row(total: Total) -> bool:
    """Whether the value is one row, of several functions."""
    return len(total.parts) > 1 and not total.groups


def _node_columns(total: Total) -> list[int]:
    """Return the numbers of the columns with IRIs."""
    if not total.groups:
        return [0]
    return [i for i, c in enumerate(group_columns(total)) if _is_node(c)]


def _is_node(column: TotalColumn) -> bool:
    return column.group >= 0 and column.measure is None and not column.name.startswith("name")


def _iris(session: Session, iris: list[str]) -> pl.DataFrame:
    """Return iri, node (its id) and reference of nodes."""
    import polars as pl

    ids, _ = session.stores.nodes.by_iri(list(dict.fromkeys(iris)))
    rows = session.stores.nodes.rows(ids.tolist()).values()
    named = [(session.schema.node_iri(row.type, row.key), row.id, f"{row.type}#{row.key}") for row in rows]
    return pl.DataFrame(named, {"iri": pl.String, "node": pl.Int32, "reference": pl.String}, orient="row")


def _sql(total: Total) -> str:
    """Return SQL for the table from the rows c0, c1, ... of the query."""
    table_columns = columns(total)
    if total.groups:
        return _groups_sql(total, table_columns)
    if _is_row(total):
        cells = [
            f"{_cast(f'c{n}', column.sql_type)} AS {identifier(column.name)}" for n, column in enumerate(table_columns)
        ]
        return f"SELECT {', '.join(cells)} FROM kbkit_rows"
    if total.is_table:
        return _listed_sql(total, table_columns)
    name, value = identifier(table_columns[0].name), _cast("c0", table_columns[0].sql_type)
    if total.op != "values":
        return f"SELECT {value} AS {name} FROM kbkit_rows"
    return f"SELECT DISTINCT {value} AS {name} FROM kbkit_rows WHERE c0 IS NOT NULL ORDER BY 1"


def _listed_sql(total: Total, table_columns: list[TotalColumn]) -> str:
    cells = ["any_value(i.reference)"]
    of_edges: list[str] = []
    for number, column in enumerate(table_columns[1:], 1):
        value = _cast(f"c{number}", column.sql_type)
        is_list = column.sql_type.endswith("[]")
        items = f"list_sort(list(DISTINCT {value}) FILTER ({value} IS NOT NULL))"
        cells.append(items if is_list else f"any_value({value})")
        of_edges += [cells[-1]] if isinstance(column.measure, EdgeMeasure) else []
    edge = ", edge" if total.edges is not None else ""
    keys = []
    for order, number in zip(total.order, key_columns(total), strict=True):
        sql_type = "BIGINT" if isinstance(order.key, int) else order.key.sql_type
        keys.append((f"any_value({_cast(f'c{number}', sql_type)})", order.descending))
    selected = ", ".join(f"{cell} AS {identifier(c.name)}" for cell, c in zip(cells, table_columns, strict=True))
    return (
        f"SELECT {selected} FROM kbkit_rows JOIN kbkit_iris i ON i.iri = c0 GROUP BY i.node{edge}"
        f"{limited(keys, total.limit)}{sorted_by(keys, ['i.node', *of_edges])}"
    )


def _groups_sql(total: Total, table_columns: list[TotalColumn]) -> str:
    cells, ids, joins = [], [], ""
    for number, column in enumerate(table_columns):
        if _is_node(column):
            joins += f" JOIN kbkit_iris i{number} ON i{number}.iri = c{number}"
            cells.append(f"i{number}.reference")
            ids.append(f"i{number}.node")
            continue
        cells.append(_cast(f"c{number}", column.sql_type))
        ids += [cells[-1]] if column.measure is not None else []
    selected = ", ".join(f"{cell} AS {identifier(c.name)}" for cell, c in zip(cells, table_columns, strict=True))
    keys = []
    for order in total.order:
        assert isinstance(order.key, int)
        key = f"i{order.key}.node" if _is_node(table_columns[order.key]) else cells[order.key]
        keys.append((key, order.descending))
    rows = f"SELECT {selected} FROM kbkit_rows{joins}{having(total, cells, 'WHERE')}"
    return f"{rows}{limited(keys, total.limit)}{sorted_by(keys, ids)}"


def _cast(column: str, sql_type: str) -> str:
    """Return the SQL of a column's values as an attribute's type."""
    element = sql_type.removesuffix("[]")
    if element.startswith(("DATE", "TIMESTAMP")):
        year, rest = (rf"regexp_extract({column}, '^-?(\d+)(.*)$', {part})" for part in (1, 2))
        early = f"format('{{:04d}}{{}} (BC)', {year}::INTEGER + 1, {rest})"
        column = f"CASE WHEN regexp_matches({column}, '{_EARLY}') THEN {early} ELSE {column}::VARCHAR END"
    return f"TRY_CAST({column} AS {element})"
