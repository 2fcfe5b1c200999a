"""Profiles of tables: what the values of each column look like. Computed by DuckDB, without a loop over rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kbkit.errors import UnknownNameError
from kbkit.ingestion.inference import dates, names
from kbkit.ingestion.inference.looks import (
    GROUPED,
    MISSING,
    WITHOUT_ADDRESS,
    ProfiledColumn,
    TableField,
    answered,
    column_of,
    dated,
    has_na,
    looks_of,
    unwrapped,
)
from kbkit.ingestion.inference.separators import are_addressed_lists, separator_of
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
_NEARLY = 0.9
_NO_DATES = dates.DateReading()
_HEADERS = (1, 2, 3)
"""Numbers of rows that may be further headers."""
_CELLS = 2 * len(_HEADERS) + 1
_LEAST_TYPED = 4
"""Values of a column that show that it holds numbers or dates only."""
_PEEKED = 20
"""First rows that are looked at before more are."""
_STARTS = re.compile(r"\s*([-+$€£]? ?\.?\d|true|false)", re.IGNORECASE)
_SHAPED = 2_000
"""First rows by which headers are told from data."""
_DATUM = rf"{GROUPED}|[$€£]? ?{GROUPED} ?%?|{dates.LOOSE}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}.*|(?i:true|false)"
_TOTAL = "(grand |sub)?-?totals?:?|totals? [a-z -]+:|sum:?|summe:?|gesamt:?|total general:?|totaal:?|totale:?"
_NOTE = r"([*†‡]|(foot)?notes?:|sources?:|remarks?:|quellen?:|hinweis:|anmerkung(en)?:|nota:|notes? :).*"
"""A line below a table that says something about it."""
_MOST_FIELDS = 500
"""Objects in a record, or fields in an object, up to which the fields are columns: more stay JSON."""
_MAP_FIELDS = 4
"""Fields from which an object may be a map."""


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
    ``declared_texts`` are columns that stay texts although their values look like numbers.
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
    fields = [one for one in _fields(con, source) if one.name != table.numbers]
    [(table.rows,)] = con.execute(f"SELECT count(*) FROM {source}").fetchall()
    sampled = source
    if table.rows > 2 * _SAMPLE:
        sampled = identifier(f"{table.name} sample")
        con.execute(f"CREATE TABLE {sampled} AS FROM {source} USING SAMPLE reservoir({_SAMPLE} ROWS) REPEATABLE (1)")
    together = max(_TOGETHER, _VALUES_TOGETHER // max(table.rows, 1))
    looks: dict[str, dict[str, float]] = {}
    counts: dict[str, tuple[int, int]] = {}
    columns: list[TableField] = []
    for start in range(0, len(fields), together):
        part = fields[start : start + together]
        counts |= _counts(con, source, part)
        looks |= looks_of(con, sampled, [one for one in part if one.kind == "VARCHAR"])
        clean = [unwrapped(one, looks.get(one.name)) for one in part]
        clean = [answered(con, sampled, one, looks[one.name]) if one.name in looks else one for one in clean]
        looks |= looks_of(con, sampled, [one for one, old in zip(clean, part, strict=True) if one != old])
        columns += clean
    german = any(map(_has_decimal_commas, looks.values()))
    na = any(has_na(look) for look in looks.values())
    for one, end in _ranges(con, sampled, columns, looks):
        columns[[old.name for old in columns].index(one.name)] = one
        columns.append(end)
        counts |= _counts(con, source, [one, end])
        looks |= looks_of(con, sampled, [one, end])
    date_like, numbered = dated(columns, looks)
    first = f"(FROM {source} LIMIT {_SAMPLE})"
    readings = dates.find(con, sampled, first, date_like, numbered, table.date_order)
    for one in columns:
        look = looks.get(one.name)
        if look and german and look["dotted"] == look["values"]:  # 12.500 beside 1,84
            look["numbers"] = look["grouped"] = 0
        if look and german and look["decimal_commas"] >= _present(look):  # 1,234 beside 1,84
            look["grouped"] = look["numbers"]
        if look and one.value.endswith(WITHOUT_ADDRESS) and are_addressed_lists(con, sampled, one):
            look[","] = 1
        elif look and (sign := separator_of(con, sampled, one, look)):
            look[sign] = 1
        reading = readings.get(one.name, _NO_DATES)
        column = column_of(one, counts[one.name], look, reading, na=na, rows=table.rows)
        is_code = one.kind == "VARCHAR" and (one.name in table.declared_texts or names.is_product_code(one.name))
        table.columns[one.name] = replace(column, is_code=True) if is_code and column.look == "integer" else column
        if one.kind == "VARCHAR[]" and _are_sentences(con, sampled, one):
            text, kept = f"array_to_string({one.value}, chr(10))", table.columns[one.name]
            table.columns[one.name] = replace(kept, kind="VARCHAR", look="prose", value=text)
        if one.kind in ("DOUBLE", "FLOAT") and _are_integers(con, source, one, table):
            kept, value = table.columns[one.name], f"TRY_CAST({one.value} AS BIGINT)"
            table.columns[one.name] = replace(kept, kind="BIGINT", look="integer", value=value)
    _read_times(con, sampled, table)
    for name, parts in table.same_named.items():
        _merge(table, name, [table.columns[part] for part in parts if part in table.columns])


def _ranges(
    con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[TableField], looks: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[TableField, TableField]]:
    """Yield two columns of each one in which some dates are the first and the last day of a time: see :data:`_TO`."""
    taken = [one.name for one in columns]
    for one in columns:
        look = looks.get(one.name)
        if look is None or not dates.looks_dated(look, _present(look)):
            continue
        for sign in _TO:
            start, end = (f"nullif(split_part({one.value}, {literal(sign)}, {part}), '')" for part in (1, 2))
            both = f"regexp_full_match({end}, {literal(dates.LOOSE)})"
            query = f"SELECT count_if({both}) > 0 AND bool_and({both}) FROM {source} WHERE {end} IS NOT NULL"
            if con.execute(query).fetchall() == [(True,)]:
                taken.append(unique([*taken, f"{one.name} end"])[-1])
                yield one._replace(value=start), one._replace(name=taken[-1], value=end)
                break


_TO = (" → ", " – ", " - ", " to ")
"""What is between the first and the last day of a time."""


def _has_decimal_commas(look: Mapping[str, float]) -> bool:
    """Return whether all numbers of a column may have a decimal comma, and some cannot be whole ones in groups."""
    alike = 0 < _present(look) == look["decimal_commas"] > look["numbers"]
    return alike and (look["grouped"] < look["decimal_commas"] or look["zero commas"] > 0)


def _present(look: Mapping[str, float]) -> float:
    return look["values"] - look["missing"] - look["empty"]


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


def fold(con: duckdb.DuckDBPyConnection, table: ProfiledTable) -> None:
    """Make one row of the rows with the same name, if they differ in one column only: its values become a list."""
    named = [c.name for c in table.columns.values() if c.look == "text" and names.is_own_name(c.name, table.type)]
    by = next((name for name in named if table.columns[name].count == table.rows), None)
    others = [name for name in table.columns if name != by]
    raw = {row[0] for row in con.execute(f"DESCRIBE {identifier(table.name)}").fetchall()}
    numbered = any(
        names.is_own_id(c.name, table.type) and 5 * c.distinct > 4 * table.rows for c in table.columns.values()
    )
    if (
        by is None
        or numbered
        or raw != set(table.columns)
        or len(others) < 2
        or len(others) > _TOGETHER
        or table.declared_key
    ):
        return
    counts = ", ".join(f"count(DISTINCT ({identifier(by)}, {identifier(name)}))" for name in others)
    row = con.execute(f"SELECT count(DISTINCT {identifier(by)}), {counts} FROM {identifier(table.name)}").fetchone()
    assert row is not None
    varying = [name for name, count in zip(others, row[1:], strict=True) if count > row[0]]
    many = table.columns[varying[0]] if len(varying) == 1 else None
    if many is None or row[0] == table.rows or many.look != "text" or many.distinct >= table.rows:
        return
    parts = [identifier(by)]
    for name in others:
        own = identifier(name)
        listed = f"list(DISTINCT {own} ORDER BY {own}) FILTER ({own} IS NOT NULL)"
        parts.append(f"{listed if name in varying else f'any_value({own})'} AS {own}")
    order = f'GROUP BY {identifier(by)} ORDER BY min("row number")'
    replace_rows(con, table, lambda source: f"SELECT {', '.join(parts)}\nFROM ({_numbered(source)})\n{order}")


def drop_header_rows(con: duckdb.DuckDBPyConnection, table: ProfiledTable) -> None:
    """Leave out the rows below the header that say more about the columns: questions, units, identifiers.

    Such a row has no number and no date in the columns of which all other rows have, and texts in most of these.
    """
    source = identifier(table.name)
    raw = [name for name, kind, *_ in con.execute(f"DESCRIBE {source}").fetchall() if kind == "VARCHAR"]
    if len(raw) < _FEWEST or table.declared_key or not _may_have_headers(con, source, raw):
        return
    values = ", ".join(f"nullif(trim({identifier(name)}), '')" for name in raw)
    after = ", ".join(
        f"count(*) FILTER (n > {count} AND v NOT IN ({MISSING})), count(*) FILTER (n > {count} AND is_datum)"
        for count in _HEADERS
    )
    own = ", ".join(f"any_value({one}) FILTER (n = {count})" for count in _HEADERS for one in ("v", "is_datum"))
    rows = con.execute(f"""
        WITH cells AS (SELECT n, unnest(range({len(raw)})) AS c, unnest(own) AS v
                       FROM (SELECT [{values}] AS own, row_number() OVER () AS n FROM {source} LIMIT {_SHAPED}))
        SELECT c, {after}, {own}
        FROM (SELECT *, regexp_full_match(v, {literal(_DATUM)}) AS is_datum FROM cells WHERE v IS NOT NULL)
        GROUP BY c ORDER BY c""").fetchall()
    for count in reversed(_HEADERS):
        typed = [row for row in rows if _LEAST_TYPED <= row[2 * count - 1] == row[2 * count]]
        cells = [[(row[0], *row[at : at + 2]) for row in typed] for at in range(_CELLS, _CELLS + 2 * count, 2)]
        if len(typed) >= _FEWEST and all(map(_is_header, cells)):
            break
    else:
        return
    shown = [sorted(((len(v), c, v) for c, v, _ in row if v), key=lambda one: one[:2])[:_FEWEST] for row in cells]
    conditions = [" AND ".join(f"{identifier(raw[c])} = {literal(v)}" for _, c, v in row) for row in shown]
    out = " OR ".join(f"({one})" for one in conditions)
    replace_rows(con, table, lambda rows: f"SELECT * FROM {rows}\nWHERE NOT coalesce({out}, false)")
    table.headers = [row[0][2] for row in shown]


def _may_have_headers(con: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str]) -> bool:
    """Return whether the first row has no digits at the start of some cells below which others have them: cheaply."""
    names_of = ", ".join(map(identifier, columns))
    first, *others = con.execute(f"SELECT {names_of} FROM {source} LIMIT {_PEEKED}").fetchall() or [()]
    below = [[row[place] for row in others[max(_HEADERS) :]] for place in range(len(first))]
    typed = [cell for cell, rest in zip(first, below, strict=True) if any(_STARTS.match(one or "") for one in rest)]
    return sum(bool(cell) and not _STARTS.match(cell) for cell in typed) >= _FEWEST


def _is_header(cells: Sequence[tuple[int, str | None, bool | None]]) -> bool:
    """Return whether a row has texts in most of the columns of numbers and dates, and a number or a date in none."""
    texts = sum(value is not None for _, value, _ in cells)
    return texts >= max(_FEWEST, len(cells) / 2) and not any(is_datum for *_, is_datum in cells)


def drop_totals(con: duckdb.DuckDBPyConnection, table: ProfiledTable) -> None:
    """Leave out rows without values and rows of totals, which sheets have below their data."""
    source = identifier(table.name)
    raw = [identifier(row[0]) for row in con.execute(f"DESCRIBE {source}").fetchall()]
    if len(raw) < _FEWEST or len(raw) > _TOGETHER or table.declared_key:
        return
    texts = [f"nullif(trim({name}::VARCHAR), '')" for name in raw]
    given = " + ".join(f"({text} IS NOT NULL)::INT" for text in texts)
    first = f"lower(coalesce({', '.join(texts)}))"
    alone = len(raw) > _FEWEST  # a label without its sums, which are formulas, or a note below the table
    total = f"regexp_full_match({first}, {literal(_TOTAL)}) AND 2 * ({given}) <= {len(raw) + 1}"
    total += "" if alone else f" AND ({given}) > 1"
    total += f" OR (({given}) = 1 AND regexp_full_match({first}, {literal(_NOTE)}))" if alone else ""
    query = f"SELECT count(*) FILTER (({given}) = 0), count(*) FILTER ({total}) FROM {source}"
    [(blank, totals)] = con.execute(query).fetchall()
    if not blank and not totals:
        return
    kept = f"({given}) > 0 AND NOT coalesce(({total}), false)"
    columns, order = ", ".join(raw), 'ORDER BY "row number"'
    replace_rows(con, table, lambda rows: f"SELECT {columns}\nFROM ({_numbered(rows)})\nWHERE {kept}\n{order}")
    table.blank, table.totals = blank, totals


def drop_duplicates(con: duckdb.DuckDBPyConnection, table: ProfiledTable) -> None:
    """Make one row of equal rows, if a column that is named as the identifier of the rows is one then."""
    full = [c for c in table.columns.values() if names.is_id(c.name) and c.count == table.rows]
    own = [c for c in full if (0.5 if names.is_own_id(c.name, table.type) else _NEARLY) * table.rows <= c.distinct]
    if not own or table.declared_key:
        return
    source = identifier(table.name)
    [(ids,)] = con.execute(f"SELECT count(DISTINCT {own[0].value}) FROM {source}").fetchall()
    if ids == table.rows:
        return
    [(rows,)] = con.execute(f"SELECT count(*) FROM (SELECT DISTINCT * FROM {source})").fetchall()
    if ids != rows:
        return
    raw = ", ".join(identifier(row[0]) for row in con.execute(f"DESCRIBE {source}").fetchall())
    table.repeated = table.rows - rows
    order = f'GROUP BY {raw} ORDER BY min("row number")'
    replace_rows(con, table, lambda rows: f"SELECT {raw}\nFROM ({_numbered(rows)})\n{order}")


def _numbered(rows: str) -> str:
    return f'SELECT *, row_number() OVER () AS "row number" FROM {rows}'


def replace_rows(con: duckdb.DuckDBPyConnection, table: ProfiledTable, query: Callable[[str], str]) -> None:
    """Replace the rows of a table by those of a query, which is given their source, and profile them."""
    con.execute(f"CREATE TABLE folded AS {query(identifier(table.name))}")
    table.folded = query(f"({table.folded})" if table.folded else identifier(table.name))
    con.execute(f"DROP TABLE {identifier(table.name)}")
    con.execute(f"ALTER TABLE folded RENAME TO {identifier(table.name)}")
    table.columns = {}
    profile(con, table)


def _fields(con: duckdb.DuckDBPyConnection, source: str) -> list[TableField]:
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


def _counts(con: duckdb.DuckDBPyConnection, source: str, fields: Sequence[TableField]) -> dict[str, tuple[int, int]]:
    parts = ", ".join(f"count({one.value}), approx_count_distinct({one.value})" for one in fields)
    row = con.execute(f"SELECT {parts} FROM {source}").fetchone()
    assert row is not None
    return {one.name: (row[2 * i], min(row[2 * i], row[2 * i + 1])) for i, one in enumerate(fields)}
