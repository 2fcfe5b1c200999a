"""DuckDB's errors in one line, with the place in the user's SQL and the names that would be right."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import duckdb

from kbkit.errors import QueryError, suggest


def first_line(error: Exception) -> str:
    """DuckDB's message without its dump of settings, on one line."""
    text = str(error)
    said = _said(text)
    if said:
        text = f"{said['exception_type']} Error: {said['exception_message']}"
    text = re.split(r"\n\s*\n|\nPossible|\nLINE |\nCandidate|\nDid you mean|\n\tCandidate", text, maxsplit=1)[0]
    return " ".join(text.split())


def _said(message: str) -> dict[str, str]:
    """What an error of a connection with ``errors_as_json`` says of itself; nothing for other errors."""
    try:
        said = json.loads(message.partition(" Error: ")[2])
    except ValueError:
        return {}
    return said if isinstance(said, dict) and "exception_message" in said else {}


def placed(cursor: duckdb.DuckDBPyConnection, text: str, params: Mapping[str, Any], error: Exception) -> Exception:
    """The error that says where it is: relations do not say where a name is unknown, statements do."""
    if not isinstance(error, (duckdb.BinderException, duckdb.CatalogException)) or "position" in _said(str(error)):
        return error
    try:
        cursor.execute("EXPLAIN " + text, dict(params))
    except duckdb.Error as again:
        said = _said(str(again))
        if first_line(again) == first_line(error) and said.get("position", "").isdecimal():
            said["position"] = str(int(said["position"]) - len("EXPLAIN "))
            return type(error)(f"{said['exception_type']} Error: {json.dumps(said)}")
    return error


def refusal(error: Exception, text: str) -> QueryError:
    """DuckDB's error as the user's, with the place in ``text`` and the names that would be right."""
    said = _said(str(error))
    known = [name for name in said.get("candidates", "").split(",") if name]
    hint = suggest(said["name"], known) if known and "name" in said else ""
    if not said.get("position", "").isdecimal():
        return QueryError(first_line(error), hint)
    before = text.encode()[: int(said["position"])].decode(errors="ignore")  # DuckDB counts bytes
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return QueryError(first_line(error), hint, line=line, column=column)
