"""Errors of SQL about a column of a table that has an alias."""

from __future__ import annotations

import re

import duckdb

from kbkit.errors import QueryError, suggest

_ERROR = re.compile(r'(?:Referenced table|Table|Values list) "([^"]+)" (?:not found|does not have a column)')
_COLUMN = re.compile(r'"?(\w+)"?\s*\.\s*"?(\w+)"?')
_NAME = r'("(?:[^"]|"")+"|[\w.]+)'


def unknown_column(cursor: duckdb.DuckDBPyConnection, error: QueryError, text: str) -> QueryError | None:
    """Return the error about an unknown column that an alias qualifies (``d.movie``), with the columns of the table.

    None for other errors. In a subquery, DuckDB says that the table is unknown.
    """
    found = _ERROR.search(error.message)
    if found is None or not error.line:
        return None
    start = sum(len(line) for line in text.splitlines(keepends=True)[: error.line - 1]) + error.column - 1
    alias, column = re.escape(found[1]), _COLUMN.match(text, start)
    named = re.search(rf'(?i)(?:\bFROM\s|\bJOIN\s|,)\s*{_NAME}\s+(?:AS\s+)?"?{alias}\b', text)
    if column is None or named is None or column[1].lower() != found[1].lower():
        return None
    try:
        columns = [row[0] for row in cursor.execute(f"DESCRIBE {named[1]}").fetchall()]
    except duckdb.Error:  # not a table, but a subquery with this name
        return None
    if column[2].lower() in map(str.lower, columns):
        return None
    table = named[1].replace('"', "")
    message = f"Binder Error: The table {table} ({found[1]}) has no column {column[2]!r}."
    close = suggest(column[2], columns)
    hint = close if close.startswith("Did you mean") else f"Its columns: {', '.join(columns)}"
    return QueryError(message, hint, line=error.line, column=error.column)
