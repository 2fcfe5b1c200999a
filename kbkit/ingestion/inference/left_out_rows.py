"""Rows that are left out or become one: further headers, totals, blank and repeated rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import dates, names
from kbkit.ingestion.inference.looks import GROUPED, MISSING
from kbkit.ingestion.inference.profile import ProfiledTable, profile
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_FEWEST, _MOST_COLUMNS = 2, 20

_NEARLY = 0.9
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
        or len(others) > _MOST_COLUMNS
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
    table.merged = f"{table.rows - row[0]:,} with the same {by}, whose {varying[0]} is a list"
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
    if len(raw) < _FEWEST or len(raw) > _MOST_COLUMNS or table.declared_key:
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
