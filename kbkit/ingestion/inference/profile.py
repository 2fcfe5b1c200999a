"""Profiles of tables: what the values of each column look like. Computed by DuckDB, without a loop over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kbkit.errors import UnknownNameError
from kbkit.ingestion.inference import dates, names
from kbkit.ingestion.inference.column_looks import column_of
from kbkit.ingestion.inference.looks import (
    WITHOUT_ADDRESS,
    ProfiledColumn,
    TableField,
    answered,
    dated,
    has_na,
    looks_of,
    present,
    unmarked,
    unwrapped,
)
from kbkit.ingestion.inference.separators import are_addressed_lists, separator_of
from kbkit.ingestion.inference.table_fields import table_fields
from kbkit.ingestion.inference.two_columns import ranges, words_apart
from kbkit.ingestion.recipe import FileSpec
from kbkit.readers.columns import unique
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_TOGETHER = 20
"""Columns that one query profiles: the memory of a query grows with the square of their number."""
_VALUES_TOGETHER = 5_000
"""Values that one query profiles of a table with few rows and many columns."""
_SAMPLE = 20_000
"""Rows from which the look of values is judged; keys and links are judged by all rows."""
_FEWEST = 2
_NO_DATES = dates.DateReading()


@dataclass(eq=False)
class ProfiledTable:
    """A table of the source: a file, or a table of a database.

    ``type`` is that of its rows, if they are nodes; ``words`` are those of its name. ``folded`` is the query that makes
    one row of those that differ in one column only or not at all, if there are any; of the latter, ``repeated`` are
    left out, like ``blank`` ones, those of ``totals``, and those that begin with ``headers``. ``named`` are the columns
    of names that the user gave. ``names_of_others`` are columns with the names of rows that another column refers to.
    ``beyond`` are a table and a column of it: only the rows whose key is not there are nodes. ``of`` is the table that
    ``folded`` reads, if it is another one. ``same_named`` are the columns whose header repeats a name, by this name.
    ``date_order`` is what the user said about 3/4/2024; see :func:`dates.find`. ``numbers`` is the column with the
    numbers of the rows, which is left out; ``apart`` are the columns after the first that repeat its name and stay.
    ``declared_texts`` are columns that stay texts although their values look like numbers. ``worded`` are columns of
    numbers with the column of the words that some rows have instead. ``parts`` are the sheets whose rows it has.
    ``has_things``: some of its columns became a table of the things that they name.
    """

    name: str
    spec: FileSpec
    rows: int = 0
    columns: dict[str, ProfiledColumn] = field(default_factory=dict)
    declared_key: tuple[str, ...] = ()
    declared_links: Sequence[tuple[tuple[str, ...], str, tuple[str, ...]]] = ()
    type: str = ""
    words: Sequence[str] = ()
    folded: str = ""
    repeated: int = 0
    merged: str = ""
    blank: int = 0
    totals: int = 0
    headers: Sequence[str] = ()
    named: tuple[str, ...] | None = None
    names_of_others: list[str] = field(default_factory=list)
    beyond: tuple[str, str] | None = None
    of: str = ""
    same_named: Mapping[str, Sequence[str]] = field(default_factory=dict)
    date_order: str = ""
    numbers: str = ""
    apart: Mapping[str, Sequence[str]] = field(default_factory=dict)
    has_things: bool = False
    declared_texts: frozenset[str] = frozenset()
    worded: dict[str, str] = field(default_factory=dict)
    parts: Sequence[FileSpec] = ()


def check_names(tables: Sequence[ProfiledTable], table: str, columns: Sequence[str]) -> None:
    """Raise :class:`UnknownNameError` for an unknown table or column."""
    known = {one.name: one for one in tables}
    if table not in known:
        named = [f"{one.name}.{table}" for one in tables if table in one.columns]
        raise UnknownNameError("table", table, known, "", *([f"Write {named[0]}"] if named else []))
    for column in columns:
        if column not in known[table].columns:
            raise UnknownNameError("column", column, known[table].columns, f"table {table}")


def profile(con: duckdb.DuckDBPyConnection, table: ProfiledTable) -> None:
    """Fill the columns of a table, which is a table of ``con`` with the same name."""
    source = identifier(table.name)
    fields = [one for one in table_fields(con, source) if one.name != table.numbers]
    [(table.rows,)] = con.execute(f"SELECT count(*) FROM {source}").fetchall()
    sampled = source
    if table.rows > 2 * _SAMPLE:
        sampled = identifier(f"{table.name} sample")
        con.execute(f"CREATE TABLE {sampled} AS FROM {source} USING SAMPLE reservoir({_SAMPLE} ROWS) REPEATABLE (1)")
    together = max(_TOGETHER, _VALUES_TOGETHER // max(table.rows, 1))
    looks: dict[str, dict[str, float]] = {}
    counts: dict[str, tuple[int, int]] = {}
    marks: dict[str, int] = {}
    columns: list[TableField] = []
    for start in range(0, len(fields), together):
        part = fields[start : start + together]
        counts |= _counts(con, source, part)
        looks |= looks_of(con, sampled, [one for one in part if one.kind == "VARCHAR"])
        clean, marked = _clean(con, sampled, part, looks)
        looks |= looks_of(con, sampled, [one for one, old in zip(clean, part, strict=True) if one != old])
        counts |= _counts(con, source, [one for one in clean if one.name in marked])
        columns += clean
        marks |= marked
    german, na = any(map(_has_decimal_commas, looks.values())), any(map(has_na, looks.values()))
    for one, end in ranges(con, sampled, columns, looks):
        columns[[old.name for old in columns].index(one.name)] = one
        columns.append(end)
        counts |= _counts(con, source, [one, end])
        looks |= looks_of(con, sampled, [one, end])
    date_like, numbered = dated(columns, looks)
    first = f"(FROM {source} LIMIT {_SAMPLE})"
    readings = dates.find(con, sampled, first, date_like, numbered, table.date_order)
    for one in columns:
        look = looks.get(one.name)
        if look and german:
            _with_decimal_commas(look)
        if look and one.value.endswith(WITHOUT_ADDRESS) and are_addressed_lists(con, sampled, one):
            look[","] = 1
        elif look and (sign := separator_of(con, sampled, one, look)):
            look[sign] = 1
        reading = readings.get(one.name, _NO_DATES)
        column = column_of(one, counts[one.name], look, reading, na=na, rows=table.rows)
        is_code = one.name in table.declared_texts or names.is_product_code(one.name)
        is_code = is_code and one.kind == "VARCHAR" and column.look == "integer"
        table.columns[one.name] = replace(
            column, is_code=is_code or column.is_code, missing=column.missing + marks.get(one.name, 0)
        )
        if one.kind == "VARCHAR[]" and _are_sentences(con, sampled, one):
            text, kept = f"array_to_string({one.value}, chr(10))", table.columns[one.name]
            table.columns[one.name] = replace(kept, kind="VARCHAR", look="prose", value=text)
        if one.kind in ("DOUBLE", "FLOAT") and _are_integers(con, source, one, table):
            kept, value = table.columns[one.name], f"TRY_CAST({one.value} AS BIGINT)"
            table.columns[one.name] = replace(kept, kind="BIGINT", look="integer", value=value)
    _part_words(con, source, table, looks)
    _read_times(con, sampled, table)
    for name, parts in table.same_named.items():
        _merge(table, name, [table.columns[part] for part in parts if part in table.columns])


def _clean(
    con: duckdb.DuckDBPyConnection, source: str, fields: Sequence[TableField], looks: Mapping[str, Mapping[str, float]]
) -> tuple[list[TableField], dict[str, int]]:
    """Return columns without what is around or instead of their values, and the numbers of marks of missing ones."""
    clean: list[TableField] = []
    marks: dict[str, int] = {}
    # Escapes of the texts that PostgreSQL copies, beside its missing values.
    copied = any(looks[raw.name]["copy nulls"] for raw in fields if raw.name in looks)
    for raw in fields:
        one, count = unwrapped(raw, looks.get(raw.name)), 0
        if copied and raw.name in looks and looks[raw.name]["copy escapes"]:
            one = one._replace(value=f"CASE WHEN {one.value} <> '\\N' THEN {_unescaped(one.value)} END")
        if raw.name in looks:
            one = answered(con, source, one, looks[raw.name])
            one, count = unmarked(con, source, one, looks[raw.name])
        clean.append(one)
        marks |= {raw.name: count} if count else {}
    return clean, marks


def _unescaped(value: str) -> str:
    r"""Return the expression of a value without the escapes of PostgreSQL: ``\\``, ``\t``, ``\n``, ``\r``."""
    shown = f"replace({value}, '\\\\', chr(31))"
    for sign, code in (("t", 9), ("n", 10), ("r", 13)):
        shown = f"replace({shown}, '\\{sign}', chr({code}))"
    return f"replace({shown}, chr(31), '\\')"


def _with_decimal_commas(look: dict[str, float]) -> None:
    """Change what values are that may have a decimal comma or point, where other columns have commas."""
    if look["dotted"] == look["values"]:  # 12.500 beside 1,84
        look["numbers"] = look["grouped"] = 0
    if look["decimal_commas"] >= present(look):  # 1,234 beside 1,84
        look["grouped"] = look["numbers"]


def _part_words(
    con: duckdb.DuckDBPyConnection, source: str, table: ProfiledTable, looks: Mapping[str, Mapping[str, float]]
) -> None:
    """Make two columns of those of numbers with some words."""
    for name in looks if not (table.declared_key or table.spec.columns) else ():
        if parts := words_apart(con, source, table.columns[name], looks[name]):
            number, words = parts
            own = unique([*table.columns, words.name])[-1]
            table.columns |= {name: number, own: replace(words, name=own)}
            table.worded[name] = own


def _has_decimal_commas(look: Mapping[str, float]) -> bool:
    """Return whether all numbers of a column may have a decimal comma, and some cannot be whole ones in groups."""
    alike = 0 < present(look) == look["decimal_commas"] > look["numbers"]
    return alike and (look["grouped"] < look["decimal_commas"] or look["zero commas"] > 0)


def _are_sentences(con: duckdb.DuckDBPyConnection, source: str, one: TableField) -> bool:
    """Return whether most elements of lists are sentences: the paragraphs or steps of one text."""
    query = f"SELECT 2 * count_if(regexp_full_match(v, {literal(_SENTENCE)})) > count(*)"
    return con.execute(f"{query} FROM (SELECT unnest({one.value}) AS v FROM {source})").fetchall() == [(True,)]


_SENTENCE = r"(?s)\S+( \S+){3,}[.!?]\s*"


def _are_integers(con: duckdb.DuckDBPyConnection, source: str, one: TableField, table: ProfiledTable) -> bool:
    """Return whether a column has integers, and a number without a value in their place: pandas makes floats of them.

    The types that databases declare stay.
    """
    if table.spec.table and not table.spec.table.startswith("$"):
        return False
    known = f"{one.value} IS NOT NULL AND NOT isnan({one.value})"
    query = f"SELECT bool_and({one.value} = trunc({one.value}) AND abs({one.value}) < {_EXACT}) FILTER ({known}),"
    return con.execute(f"{query} count(*) > count(*) FILTER ({known}) FROM {source}").fetchall() == [(True, True)]


_EXACT = 1 << 53


def _read_times(con: duckdb.DuckDBPyConnection, source: str, table: ProfiledTable) -> None:
    """Read numbers of seconds since 1970 as times. Texts with fractions may be identifiers, and get another column."""
    for name, column in list(table.columns.items()):
        numeric = column.look in ("integer", "number") or column.is_code
        if not numeric or not (unit := dates.epoch(con, source, name, column.value)):
            continue
        value = dates.of_epoch(column.value, unit)
        time = replace(column, kind="TIMESTAMP", look="date", value=value, is_code=False, floats=False)
        if column.look == "integer" or column.kind != "VARCHAR":
            table.columns[name] = time
            continue
        table.columns[name] = replace(column, look="text", is_code=True)
        if column.count == table.rows:
            own = "time" if "time" not in table.columns else unique([*table.columns, f"{name}_time"])[-1]
            table.columns[own] = replace(time, name=own)


def _merge(table: ProfiledTable, name: str, parts: Sequence[ProfiledColumn]) -> None:
    """Make one column of lists of the columns with the same name; texts to search and different numbers stay apart."""
    apart = any(part.look == "prose" for part in parts) or all(part.look in ("integer", "number") for part in parts)
    if len(parts) < _FEWEST or (apart and not names.is_id(name)):
        table.apart = {**table.apart, name: [part.name for part in parts[1:]]} if len(parts) >= _FEWEST else table.apart
        return
    values = ", ".join(f"{part.value}::VARCHAR" for part in parts)
    value = f"nullif(list_filter([{values}], lambda x: x IS NOT NULL), [])"
    count, distinct = (max(getattr(part, one) for part in parts) for one in ("count", "distinct"))
    length = max(part.length for part in parts)
    column = ProfiledColumn(name, "VARCHAR[]", count, distinct, "list", value=value, length=length)
    for part in parts[1:]:
        del table.columns[part.name]
    table.columns[name] = column


def _counts(con: duckdb.DuckDBPyConnection, source: str, fields: Sequence[TableField]) -> dict[str, tuple[int, int]]:
    if not fields:
        return {}
    parts = ", ".join(f"count({one.value}), approx_count_distinct({one.value})" for one in fields)
    row = con.execute(f"SELECT {parts} FROM {source}").fetchone()
    assert row is not None
    return {one.name: (row[2 * i], min(row[2 * i], row[2 * i + 1])) for i, one in enumerate(fields)}
