"""Parts of SQL that compiled queries and the walk engine share: names, constants, conditions and values of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kbkit.answers.algebra import AttributeCondition, AttributeMeasure, DateMeasure, PathMeasure
from kbkit.answers.bind import Constant
from kbkit.answers.date_functions import NUMBER_FUNCTIONS
from kbkit.schema import literal, quote
from kbkit.stores.node_directory import NodeRow

PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def condition_sql(condition: AttributeCondition, values: Sequence[str]) -> str:
    """Return the SQL of a condition on the attribute's column; ``values`` are SQL expressions.

    A list meets the condition if any element does. NULL and NaN are missing values and fail every comparison.
    """
    if condition.other is not None:
        return _pair_sql(condition, condition.other)
    column = identifier(condition.attribute)
    element = condition.sql_type.removesuffix("[]")
    is_list = condition.sql_type.endswith("[]")
    item = "item" if is_list else column
    known = known_sql(item, element)
    negation = "NOT " if condition.negated else ""
    if condition.op == "missing":
        text = known
    elif condition.op == "contains":
        text = f"{negation}regexp_matches({item}, regexp_escape({values[0]}), 'i')"
    elif condition.op == "in":
        text = f"{item} {negation}IN ({', '.join(values)})"
    else:
        text = f"{item} {sql_sign(condition.op)} {values[0]}"
    if condition.op != "missing" and element in ("DOUBLE", "FLOAT"):
        text = f"NOT isnan({item}) AND {text}"
    if is_list:
        text = f"coalesce(len(list_filter({column}, lambda item: {text})), 0) > 0"
    if condition.op == "missing" and not condition.negated:
        return f"{column} IS NULL" if text == f"{column} IS NOT NULL" else f"NOT coalesce({text}, false)"
    return text


def _pair_sql(condition: AttributeCondition, other: AttributeMeasure) -> str:
    """Return the SQL of a comparison of two columns; of lists, any two elements may compare."""
    mine, theirs = AttributeMeasure(condition.attribute, condition.sql_type), other
    elements = [part.sql_type.removesuffix("[]") for part in (mine, theirs)]
    items = [
        free_name(word, mine, theirs) if part.sql_type.endswith("[]") else identifier(part.name)
        for word, part in (("item", mine), ("other", theirs))
    ]
    sides = [f"{item}::DATE" if day else item for item, day in zip(items, by_day(*elements), strict=True)]
    known = [f"NOT isnan({item})" for item, kind in zip(items, elements, strict=True) if kind in ("DOUBLE", "FLOAT")]
    text = " AND ".join([*known, f"{sides[0]} {sql_sign(condition.op)} {sides[1]}"])
    for item, part in zip(reversed(items), (theirs, mine), strict=True):
        if part.sql_type.endswith("[]"):
            text = f"coalesce(len(list_filter({identifier(part.name)}, lambda {item}: {text})), 0) > 0"
    return text


def free_name(word: str, *attributes: AttributeMeasure) -> str:
    """Return a name for an element of a list that is not the name of a column of the same condition."""
    taken = {attribute.name.casefold() for attribute in attributes}
    while word in taken:
        word += "_"
    return word


def by_day(sql_type: str, other: str) -> tuple[bool, bool]:
    """Return for each of two types of elements whether its values are times that compare with dates: by their day."""
    times = sql_type.startswith("TIMESTAMP"), other.startswith("TIMESTAMP")
    return times[0] and other == "DATE", times[1] and sql_type == "DATE"


def column_sql(attribute: AttributeMeasure, table: str = "") -> str:
    """Return the SQL of an attribute's column, or of a function of dates; ``table`` precedes names: ``t.``."""
    if not isinstance(attribute, DateMeasure):
        return f"{table}{identifier(attribute.name)}"
    columns = [column_sql(date, table) for date in attribute.dates]
    if not attribute.sql_type.endswith("[]"):
        return _date_sql(attribute.op, columns)
    item = free_name("item", *attribute.dates)
    return f"list_transform({columns[0]}, lambda {item}: {_date_sql(attribute.op, [item])})"


def known_column(attribute: AttributeMeasure, table: str = "") -> str:
    """Return the condition that an attribute that is no list, or a function of dates, has a value."""
    if isinstance(attribute, DateMeasure) and attribute.op == "month":
        attribute = DateMeasure.of("year", attribute.dates)  # shorter
    return known_sql(column_sql(attribute, table), attribute.sql_type)


def _date_sql(op: str, dates: Sequence[str]) -> str:
    if op in NUMBER_FUNCTIONS:
        return f"({dates[0]}::DOUBLE {NUMBER_FUNCTIONS[op]} {dates[1]}::DOUBLE)"
    if op == "days":
        return f"date_diff('day', {', '.join(dates)})"
    if op == "year":
        return f"year({dates[0]})"
    # Unlike strftime, this is NULL for infinity, and the same as in RDF before Christ.
    return f"regexp_replace(format('{{:05d}}-{{:02d}}', year({dates[0]}), month({dates[0]})), '^0', '')"


def measure_sql(attribute: AttributeMeasure, op: str, table: str = "") -> tuple[str, str]:
    """Return the SQL of an attribute's value, and the condition that there is one.

    The value of a list is its greatest (``op`` is max) or least (min) element. ``table`` precedes names: ``t.``.
    """
    column, element = column_sql(attribute, table), attribute.sql_type.removesuffix("[]")
    if element == attribute.sql_type:
        return column, known_column(attribute, table)
    value = f"list_{op}(list_filter({column}, lambda item: {known_sql('item', element)}))"
    return value, f"{value} IS NOT NULL"


def item_sql(attribute: AttributeMeasure) -> str:
    """Return the SQL of an attribute's value, or of each element of a list."""
    column = column_sql(attribute)
    return f"unnest({column})" if attribute.sql_type.endswith("[]") else column


def attribute_values(table: str, measure: AttributeMeasure) -> str:
    """Return a table (id, value) with the values of an attribute in a table; a row for each element of a list."""
    value = item_sql(measure)
    element = measure.sql_type.removesuffix("[]")
    if element == measure.sql_type:
        return f"(SELECT id, {value} AS value FROM {table} WHERE {known_column(measure)})"
    items = f"SELECT DISTINCT id, {value} AS value FROM {table}"
    return f"(SELECT id, value FROM ({items}) WHERE {known_sql('value', element)})"


def path_values(measure: PathMeasure, starts: str, reached: str, values: str, nodes: str = "") -> str:
    """Return the query of a function of values along a path: id, value, a row for each node that has a value.

    ``starts`` (id), ``reached`` (start, id) and ``values`` (id, value) are tables. ``nodes`` names a further column
    with the number of nodes that the values are of.
    """
    number = f", count(DISTINCT v.id) AS {nodes}" if nodes else ""
    if measure.op == "count":  # of no values, 0
        return (
            f"SELECT s.id, count(DISTINCT v.value) AS value{number} FROM {starts} s"
            f"\n  LEFT JOIN {reached} r ON r.start = s.id LEFT JOIN {values} v ON v.id = r.id GROUP BY s.id"
        )
    return (
        f"SELECT r.start AS id, {measure.op}(v.value) AS value{number} FROM {reached} r"
        f"\n  JOIN {values} v ON v.id = r.id GROUP BY r.start"
    )


def sql_sign(op: str) -> str:
    """Return the SQL of a comparison."""
    return "<>" if op == "!=" else op


def known_sql(item: str, sql_type: str) -> str:
    """Return the condition that a value is neither NULL nor NaN."""
    return f"{item} IS NOT NULL" + (f" AND NOT isnan({item})" if sql_type in ("DOUBLE", "FLOAT") else "")


def constant_sql(value: tuple[NodeRow, ...] | Constant, sql_type: str) -> str:
    """Return a constant as an SQL literal for an attribute of a type."""
    assert isinstance(value, Constant)
    kind = sql_type.removesuffix("[]")
    if kind == "VARCHAR":
        return literal(value.text)
    if kind in ("BIGINT", "INTEGER", "BOOLEAN"):
        return value.text
    return f"{literal(value.text)}::{kind}"


def identifier(name: str) -> str:
    """Return an SQL name, quoted if necessary."""
    return name if PLAIN.fullmatch(name) and name not in _RESERVED else quote(name)


_RESERVED = frozenset(
    """all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default
    deferrable desc describe distinct do else end except false fetch for foreign from grant group having in initially
    intersect into lambda lateral leading limit not null offset on only or order pivot placing primary qualify
    references returning select show some summarize symmetric table then to trailing true union unique unpivot using
    variadic when where window with cross full inner is join left like natural outer right semi anti similar glob
    asof positional""".split()  # noqa: SIM905
)
"""Words that DuckDB reserves in places where a name can occur."""
