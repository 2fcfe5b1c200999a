"""The columns of a table, and the fields of its objects as columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kbkit.ingestion.inference.looks import TableField
from kbkit.readers.columns import unique
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_MOST_FIELDS = 500
"""Objects in a record, or fields in an object, up to which the fields are columns: more stay JSON."""
_MAP_FIELDS = 4
"""Fields from which an object may be a map."""


def table_fields(con: duckdb.DuckDBPyConnection, source: str) -> list[TableField]:
    """Return the columns of a table, with the fields of objects (``address.city``) as columns (``address_city``)."""
    described = con.execute(f"DESCRIBE {source}").fetchall()
    columns = [TableField(name, kind, identifier(name)) for name, kind, *_ in described]
    columns = [  # author.name is a column of the table author, and not a field of its column author
        one._replace(value=f"({one.value})") if one.value.casefold() == source.casefold() else one for one in columns
    ]
    objects = [one for one in columns if _outer(one.kind) == "STRUCT"]
    whole = {one.name for one in objects} if len(objects) > _MOST_FIELDS else set()
    fields = [
        one
        for column in columns
        for one in ([_json(column)] if column.name in whole else _expanded(con, source, column))
    ]
    own = unique([one.name for one in fields])
    return [one._replace(name=name) for one, name in zip(fields, own, strict=True)]


def _expanded(con: duckdb.DuckDBPyConnection, source: str, one: TableField) -> Iterator[TableField]:
    """Yield a column, or those of the fields of its objects."""
    name, kind, value = one
    if kind.startswith("STRUCT(") and not kind.endswith("[]"):
        described = con.execute(f"DESCRIBE SELECT unnest({value}) FROM {source}").fetchall()
        fields = [TableField(f"{name}_{inner}", of, f"{value}.{identifier(inner)}") for inner, of, *_ in described]
        if len(fields) > _MOST_FIELDS:
            yield _json(one)
        elif _is_map(con, source, fields):
            yield from _map(one, of_words=_are_words(con, source, fields))
        else:
            for field in fields:
                yield from _expanded(con, source, field)
    elif kind.startswith(("MAP(", "STRUCT(", "JSON", "UNION(")) or kind.endswith("][]"):
        yield _json(one)
    elif kind == "VARCHAR" and "," in name:
        yield from _joined(con, source, one) or [one]
    else:
        yield one


def _joined(con: duckdb.DuckDBPyConnection, source: str, one: TableField) -> list[TableField]:
    """Return the columns of one whose header is several names with commas between them, as its values are: ``freq,geo``
    has ``A,BE``. A name after a backslash is that of the other columns, as offices for statistics write it.
    """
    parts = [part.partition("\\")[0].strip() for part in one.name.split(",")]
    if not all(map(_JOINED_NAME.fullmatch, parts)):
        return []
    split = f"string_split({one.value}, ',')"
    query = f"SELECT count(*) > 1 AND bool_and(len({split}) = {len(parts)}) FROM {source} WHERE {one.value} IS NOT NULL"
    if con.execute(query).fetchall() != [(True,)]:
        return []
    return [TableField(part, one.kind, f"nullif(trim({split}[{i}]), '')") for i, part in enumerate(parts, 1)]


_JOINED_NAME = re.compile(r"[^\W\d]\w*")


def _json(one: TableField) -> TableField:
    return TableField(one.name, "JSON", f"to_json({one.value})::VARCHAR")


def _is_map(con: duckdb.DuckDBPyConnection, source: str, fields: Sequence[TableField]) -> bool:
    """Return whether the names of fields are data, such as codes of currencies: all alike, and few in each object."""
    if len(fields) < _MAP_FIELDS or len({_outer(one.kind) for one in fields}) > 1:
        return False
    counts = ", ".join(f"count({one.value})" for one in fields)
    objects = " OR ".join(f"{one.value} IS NOT NULL" for one in fields)
    row = con.execute(f"SELECT count(*), {counts} FROM {source} WHERE {objects}").fetchone()
    return row is not None and 2 * sum(row[1:]) < row[0] * len(fields)


def _outer(kind: str) -> str:
    return "STRUCT" if kind.startswith("STRUCT(") and not kind.endswith("[]") else kind


def _are_words(con: duckdb.DuckDBPyConnection, source: str, fields: Sequence[TableField]) -> bool:
    """Return whether most values of the fields of a map are words, and not numbers, versions or objects."""
    if any(one.kind != "VARCHAR" for one in fields):
        return False
    values = f"SELECT unnest([{', '.join(one.value for one in fields)}]) AS v FROM {source}"
    query = f"SELECT 2 * count_if(regexp_matches(v, '^[[:alpha:]]')) > count(v) FROM ({values})"
    return con.execute(query).fetchall() == [(True,)]


def _map(one: TableField, *, of_words: bool) -> Iterator[TableField]:
    """Yield two columns of a map: a list of its values, or of its keys if the values are no words; and the whole."""
    entries = f"[e for e in map_entries(to_json({one.value})::MAP(VARCHAR, JSON)) if e.value::VARCHAR <> 'null']"
    shown = "(e.value ->> '$')" if of_words else "e.key"
    listed = f"[{shown} for e in {entries}]"
    yield TableField(one.name, "VARCHAR[]", f"CASE WHEN {one.value} IS NOT NULL THEN {listed} END")
    yield TableField(f"{one.name}_json", "JSON", f"map_from_entries({entries})::JSON::VARCHAR")
