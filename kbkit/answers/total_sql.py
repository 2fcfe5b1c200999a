"""The SQL of a value of nodes: a part of compiled SQL, and what the walk engine runs on the nodes that it found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kbkit.answers.algebra import AttributeMeasure, EdgeMeasure, GroupKey, Measure, Operator, PathMeasure, Total
from kbkit.answers.columns import TotalColumn, columns, group_columns
from kbkit.answers.sql_parts import attribute_values, column_sql, identifier, known_sql, measure_sql, path_values
from kbkit.schema import Schema

REFERENCE = "{0}.type || '#' || {0}.key"
"""The reference of a node."""


@dataclass(frozen=True)
class TotalSql:
    """What the SQL of a value reads: ``table`` has the nodes' attributes, and ``nodes`` their ids.

    If the rows are edges, ``nodes`` has a row for each, with the columns of its measures.

    ``counts`` and ``reached`` return the name of a table (id, value) with the number of nodes that a path reaches from
    each, and of a table (start, id) with these nodes. ``attributes`` returns the name of the table with the attributes
    of all nodes of a type. ``edges`` returns, for a measure of edges, the table (start, id) of the edges that it is of,
    and the table (id, value) of their values. ``part`` returns the name of a table with the ids of an operator.
    """

    table: str
    nodes: str
    counts: Callable[[PathMeasure], str]
    reached: Callable[[PathMeasure], str]
    attributes: Callable[[str | None], str]
    edges: Callable[[PathMeasure], tuple[str, str]]
    part: Callable[[Operator], str]

    def select(self, total: Total) -> str:
        """Return the query of a value."""
        if total.groups:
            return self.grouped(total)
        if total.op == "exists":
            return f'SELECT count(*) > 0 AS "exists"\nFROM {self.nodes}'
        if total.part is not None:
            return f"SELECT {aggregate(total)} AS {total.op}\nFROM {self.nodes} s{self.in_part(total)}"
        if total.op == "count" and not total.measures:
            return f"SELECT count(*) AS count\nFROM {self.nodes}"
        if len(total.parts) > 1:
            named = zip(total.parts, columns(total), strict=True)
            cells = [f"({self.select(part)}) AS {identifier(column.name)}" for part, column in named]
            return "SELECT " + ",\n".join(cells)
        if total.is_table:
            return self.listed(total)
        [column] = columns(total)
        join = "SEMI JOIN" if total.edges is None or isinstance(total.measures[0], EdgeMeasure) else "JOIN"
        values = f"SELECT value FROM {self.values(total.measures[0])} v {join} {self.nodes} n ON n.id = v.id"
        if total.op == "values":
            return f"SELECT DISTINCT value AS {identifier(column.name)}\nFROM ({values})\nORDER BY 1"
        return f"SELECT {aggregate(total)} AS {identifier(total.op)}\nFROM ({values})"

    def in_part(self, total: Total) -> str:
        """Return the join with the part of which a fraction is, if it is one."""
        return "" if total.part is None else f"\n  LEFT JOIN {self.part(total.part)} p ON p.id = s.id"

    def values(self, measure: Measure) -> str:
        """Return a table (id, value) with the values of a measure; a row for each element of a list."""
        if isinstance(measure, EdgeMeasure):
            return attribute_values(self.nodes, measure.column)
        if isinstance(measure, AttributeMeasure):
            return attribute_values(self.table, measure)
        return self.counts(measure) if measure.attribute is None else f"({self.path_values(measure)})"

    def path_values(self, measure: PathMeasure) -> str:
        """Return the query of a function of values along a path: id, value."""
        assert measure.attribute is not None
        if measure.of_edges:
            reached, values = self.edges(measure)
            return path_values(measure, self.nodes, reached, values)
        ends = attribute_values(self.attributes(measure.end), measure.attribute)
        return path_values(measure, self.nodes, self.reached(measure), ends)

    def group_values(self, group: GroupKey) -> str:
        """Return a table (id, value) with the distinct values, or ids of nodes, by which nodes are grouped."""
        if isinstance(group, AttributeMeasure):
            return self.values(group)
        if isinstance(group, PathMeasure):
            return f"(SELECT start AS id, id AS value FROM {self.reached(group)})"
        values = attribute_values(self.attributes(group.type), group.attribute)
        return (
            f"(SELECT DISTINCT r.start AS id, v.value FROM {self.reached(group.path)} r JOIN {values} v ON v.id = r.id)"
        )

    # -- a row for each node ------------------------------------------------------------------------------------------

    def listed(self, total: Total) -> str:
        """Return the query of a table with a row for each node."""
        joins: dict[PathMeasure, str] = {}
        cells = [REFERENCE.format("n")]
        cells += [self.cell(column, joins) for column in columns(total)[1:]]
        of_edges = [edge_cell(measure) for measure in total.edge_measures]
        named = zip(cells, columns(total), strict=True)
        selected = ", ".join(f"{cell} AS {identifier(column.name)}" for cell, column in named)
        keys = [(self.key(order.key, order.descending, joins), order.descending) for order in total.order]
        table = "" if self.table == "nodes" else f"\n  JOIN {self.table} t ON t.id = s.id"
        counted = "".join(f"\n  LEFT JOIN {self.values(c)} {name} ON {name}.id = s.id" for c, name in joins.items())
        return (
            f"SELECT {selected}\nFROM {self.nodes} s\n  JOIN nodes n ON n.id = s.id{table}{counted}"
            f"{limited(keys, total.limit)}{sorted_by(keys, ['s.id', *of_edges])}"
        )

    @property
    def prefix(self) -> str:
        """What precedes the names of attributes in :meth:`listed`."""
        return "n." if self.table == "nodes" else "t."

    def cell(self, column: TotalColumn, joins: dict[PathMeasure, str]) -> str:
        """Return the SQL of a cell: NaN is missing, and a list has its distinct elements, sorted."""
        if isinstance(column.measure, PathMeasure):
            return f"{joins.setdefault(column.measure, f'c{len(joins) + 1}')}.value"
        assert isinstance(column.measure, AttributeMeasure)
        if isinstance(column.measure, EdgeMeasure):
            return edge_cell(column.measure)
        name = column_sql(column.measure, self.prefix)
        element = column.sql_type.removesuffix("[]")
        if element != column.sql_type:
            present = f"list_filter({name}, lambda item: {known_sql('item', element)})"
            return f"nullif(list_sort(list_distinct({present})), [])"
        return f"CASE WHEN NOT isnan({name}) THEN {name} END" if element in ("DOUBLE", "FLOAT") else name

    def key(self, key: Measure | int, descending: bool, joins: dict[PathMeasure, str]) -> str:
        """Return the SQL of a key for sorting: of a list, its greatest or least element."""
        assert not isinstance(key, int)
        if isinstance(key, AttributeMeasure) and key.sql_type.endswith("[]"):
            return measure_sql(key, "max" if descending else "min", self.prefix)[0]
        return self.cell(TotalColumn("", key.sql_type, key), joins)

    # -- a row for each group -----------------------------------------------------------------------------------------

    def grouped(self, total: Total) -> str:
        """Return the query of a table with a row for each group."""
        joins, ids, known = "", [], []
        for number, group in enumerate(total.groups, 1):
            if isinstance(group, EdgeMeasure):
                ids.append(edge_cell(group))
                known.append(f"{ids[-1]} IS NOT NULL")
                continue
            if isinstance(group, PathMeasure):
                joins += f"\n  JOIN {self.reached(group)} r{number} ON r{number}.start = s.id"
                joins += f"\n  JOIN nodes g{number} ON g{number}.id = r{number}.id"
            else:
                joins += f"\n  JOIN {self.group_values(group)} g{number} ON g{number}.id = s.id"
            ids.append(f"g{number}.{'id' if isinstance(group, PathMeasure) else 'value'}")
        for number, measure in enumerate(dict.fromkeys(total.measures)):
            if isinstance(measure, EdgeMeasure):
                continue
            joins += f"\n  LEFT JOIN {self.values(measure)} v{number or ''} ON v{number or ''}.id = s.id"
        joins += self.in_part(total)
        joins += f"\nWHERE {' AND '.join(known)}" if known else ""
        table_columns = group_columns(total)
        cells = [self.group_cell(column, total) for column in table_columns]
        selected = ", ".join(f"{cell} AS {identifier(c.name)}" for cell, c in zip(cells, table_columns, strict=True))
        keys = [(self.group_key(table_columns, cells, order.key), order.descending) for order in total.order]
        grouped = [
            part for cell, c in zip(cells, table_columns, strict=True) for part in ([cell] if c.group >= 0 else [])
        ]
        by = ", ".join(dict.fromkeys([*grouped, *ids]))
        return (
            f"SELECT {selected}\nFROM {self.nodes} s{joins}\nGROUP BY {by}{having(total, cells, 'HAVING')}"
            f"{limited(keys, total.limit)}{sorted_by(keys, ids)}"
        )

    def group_cell(self, column: TotalColumn, total: Total) -> str:
        """Return the SQL of a column of a table of groups."""
        if column.group < 0:
            part = total.parts[column.part]
            number = list(dict.fromkeys(total.measures)).index(part.measures[0]) if part.measures else 0
            if part.measures and isinstance(part.measures[0], EdgeMeasure):
                return aggregate(part, edge_cell(part.measures[0]))
            return aggregate(part, f"v{number or ''}.value")
        group = f"g{column.group + 1}"
        if isinstance(column.measure, EdgeMeasure):
            return edge_cell(column.measure)
        if column.measure is not None:
            return f"{group}.value"
        return f"{group}.name" if column.name.startswith("name") else REFERENCE.format(group)

    def group_key(self, table_columns: list[TotalColumn], cells: list[str], key: Any) -> str:
        """Return the SQL of the column by which groups are sorted; nodes are sorted by id."""
        column = table_columns[key]
        is_node = column.group >= 0 and column.measure is None and not column.name.startswith("name")
        return f"g{column.group + 1}.id" if is_node else cells[key]


def best_per_group(values: str, groups: str, greatest: bool, number: str) -> str:
    """Return the query of the ``number`` greatest (or least) of each group, and those that tie with the last.

    Both tables have the columns id and value.
    """
    rank = f"rank() OVER (PARTITION BY g.value ORDER BY v.value {'DESC' if greatest else 'ASC'})"
    ranked = f"SELECT v.id, {rank} AS place FROM {values} v JOIN {groups} g ON g.id = v.id"
    return f"SELECT DISTINCT id FROM ({ranked}) WHERE place <= {number}"


def edge_rows(schema: Schema, total: Total, tests: Sequence[str], nodes: str, within: str) -> str:
    """Return the query of the edges of a value: id, of the answer, and a column for each measure.

    They meet the ``tests``, and join the table ``nodes`` of answers with the table ``within``, if any.
    """
    assert total.edges is not None
    [move] = total.edges.moves
    near, far = ("head", "tail") if move.forward else ("tail", "head")
    cells = "".join(f", {column_sql(m.attribute)} AS {identifier(m.column.name)}" for m in total.edge_measures)
    ends = [(near, nodes), *([(far, within)] if within else [])]
    conditions = [*tests, *(f"{end} IN (SELECT id FROM {table})" for end, table in ends)]
    table = identifier(schema.relation(move.relation).table)
    return f"SELECT {near} AS id{cells} FROM {table} WHERE {' AND '.join(conditions)}"


def edge_cell(measure: EdgeMeasure) -> str:
    """Return the SQL of a value of an edge; NaN is missing."""
    cell = f"s.{identifier(measure.column.name)}"
    return f"CASE WHEN NOT isnan({cell}) THEN {cell} END" if measure.sql_type in ("DOUBLE", "FLOAT") else cell


def aggregate(total: Total, value: str = "value") -> str:
    """Return the SQL of an aggregate of the column ``value``."""
    if total.part is not None:
        return f"{'100 * ' * (total.op == 'percentage')}count(p.id) / nullif(count(*), 0)"
    if not total.measures:
        return "count(*)"
    text = f"{total.op}({'DISTINCT ' * (total.op == 'count')}{value})"
    return f"coalesce({text}, 0)" if total.op == "sum" else text


def _direction(key: tuple[str, bool]) -> str:
    return f"{key[0]} {'DESC' if key[1] else 'ASC'} NULLS LAST"


def having(total: Total, cells: list[str], word: str) -> str:
    """Return the clause that selects groups by their cells; it starts with ``word``."""
    tests = [f"{cells[test.column]} {'<>' if test.op == '!=' else test.op} {test.value}" for test in total.having]
    return f"\n{word} {' AND '.join(tests)}" if tests else ""


def limited(keys: list[tuple[str, bool]], limit: int | None) -> str:
    """Return the clause that keeps the first rows and the rows that tie with the last of them."""
    if limit is None:
        return ""
    return f"\nQUALIFY rank() OVER (ORDER BY {', '.join(map(_direction, keys))}) <= {limit}"


def sorted_by(keys: list[tuple[str, bool]], last: list[str]) -> str:
    """Return the clause that sorts rows by keys (an expression, and whether descending), then by ``last``."""
    return f"\nORDER BY {', '.join([*map(_direction, keys), *last])}"
