"""How tables write the same identifiers and names: in capitals, with zeros before them, with other capitals,
with the last name first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_PLAIN = ("upper({v})", "lower({v})", "ltrim({v}, '0')")
_TURNED = (
    r"regexp_replace({v}, '^([^,]+), *([^,]+)$', '\2 \1')",
    r"regexp_replace({v}, '^(.+) ([^ ,]+)$', '\2, \1')",
)
"""Names of persons with the first name behind the last one as others write them, and the reverse."""
_NUMBERS = ("integer",)
_MOST = 100
"""Names with other capitals that a recipe lists."""


def in_form(column: ProfiledColumn, form: str) -> ProfiledColumn:
    """Return a column with its values in a form; see :class:`kbkit.ingestion.inference.table_link.TableLink`."""
    if not form:
        return column
    if column.look == "list":
        return replace(column, element_form=form)
    value = column.value if column.kind == "VARCHAR" else f"{column.value}::VARCHAR"
    return replace(column, value=form.format(v=value), kind="VARCHAR")


def of_all(con: Connection, table: ProfiledTable, name: str) -> str:
    """Return the form that all values of a column have: one case, numbers without zeros before them, or with so many
    that all have one length; empty if there is none.
    """
    column = table.columns[name]
    rows = f"SELECT {reference(table, [name])} AS v FROM {identifier(table.name)}"
    if column.look == "text":
        tests = ", ".join(f"bool_and(v = {form.format(v='v')})" for form in _PLAIN[:2])
        found = con.execute(f"SELECT {tests} FROM ({rows})").fetchall()[0]
        return next((form for form, holds in zip(_PLAIN, found, strict=False) if holds), "")
    if column.look not in _NUMBERS:
        return ""
    query = f"SELECT min(length(v)), max(length(v)), bool_or(v LIKE '0_%') FROM ({rows})"
    [(shortest, longest, padded)] = con.execute(query).fetchall()
    if not padded:
        return _PLAIN[2]
    return f"lpad({{v}}, greatest({longest}, length({{v}}))::INTEGER, '0')" if shortest == longest else ""


def differs(con: Connection, table: ProfiledTable, column: ProfiledColumn, form: str) -> bool:
    """Return whether some values of a column are others in a form."""
    own, look = form.format(v="v"), column.look
    if look == "list":
        rows = f"SELECT unnest({column.elements}) AS v FROM {identifier(table.name)}"
    else:
        rows = f"SELECT {reference(table, [column.name])} AS v FROM {identifier(table.name)}"
    query = f"SELECT coalesce(bool_or(v <> {own} AND {own} <> ''), false) FROM ({rows})"
    return con.execute(query).fetchall() == [(True,)]


def is_turned(column: ProfiledColumn, other: ProfiledColumn) -> bool:
    """Return whether only one of two columns of texts, or of lists of them, has commas: *Doe, Jane* and *Jane Doe*."""
    return column.look in ("text", "list") and other.look == "text" and ("," in column.signs) != ("," in other.signs)


def differing(
    con: Connection,
    table: ProfiledTable,
    column: ProfiledColumn,
    other: ProfiledTable,
    by: str,
    *,
    names_too: bool,
) -> str:
    """Return the form in which the values of a column differ from those of another table that have no form: with the
    last names of persons elsewhere, or a list of the few names that have other capitals (``names_too``); empty if they
    do not differ.
    """
    target = other.columns[by]
    if is_turned(column, target):
        return _TURNED["," in target.signs]
    if column.look != "text" or target.look != "text" or not names_too:
        return ""
    rows = f"SELECT {reference(table, [column.name])} AS v FROM {identifier(table.name)}"
    names = f"SELECT DISTINCT {reference(other, [by])} AS k FROM {identifier(other.name)}"
    pairs = con.execute(f"""
        SELECT v, any_value(k) FROM (SELECT DISTINCT v FROM ({rows})) JOIN ({names}) ON lower(v) = lower(k)
        WHERE v NOT IN ({names}) GROUP BY v HAVING count(*) = 1 ORDER BY v LIMIT {_MOST + 1}""").fetchall()
    if not pairs or len(pairs) > _MOST:
        return ""
    cases = " ".join(f"WHEN {literal(v)} THEN {literal(k)}" for v, k in pairs).replace("{", "{{").replace("}", "}}")
    return f"CASE {{v}} {cases} ELSE {{v}} END"
