"""Read the keys of tables in SQL of any dialect: ``CREATE TABLE``, and ``ALTER TABLE`` as dumps have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

NAME = r'(?:[\w$]+|"[^"]+"|`[^`]+`|\[[^\]]+\])'
TABLE = rf"((?:{NAME}\s*\.\s*)*{NAME})"
_COLUMNS = r"\(([^()]*)\)"
_IGNORED = re.compile(r"--[^\n]*|/\*(?:.*?\*/|.*)|'(?:[^'\\]|''|\\.?)*(?:'|\Z)", re.DOTALL)
_STATEMENT = re.compile(r";|(?=\bCREATE\b)|(?=\bALTER\b)", re.IGNORECASE)
"""Ends of statements; a script with ``GO`` has no semicolons."""
_CREATE = re.compile(
    rf"\s*CREATE\s+(?:(?:TEMP|TEMPORARY|UNLOGGED)\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{TABLE}\s*\(", re.IGNORECASE
)
_ALTER = re.compile(rf"\s*ALTER\s+TABLE\s+(?:ONLY\s+)?(?:IF\s+EXISTS\s+)?{TABLE}\s+(.*\bADD\b.*)", re.I | re.DOTALL)
_PRIMARY = re.compile(rf"\bPRIMARY\s+KEY\s*(?:(?:NON)?CLUSTERED\s*)?{_COLUMNS}", re.IGNORECASE)
_FOREIGN = re.compile(
    rf"\bFOREIGN\s+KEY\s*(?:{NAME}\s*)?{_COLUMNS}\s*REFERENCES\s+{TABLE}\s*(?:{_COLUMNS})?", re.IGNORECASE
)
_OWN_PRIMARY = re.compile(r"\bPRIMARY\s+KEY\b", re.IGNORECASE)
_OWN_FOREIGN = re.compile(rf"\bREFERENCES\s+{TABLE}\s*(?:{_COLUMNS})?", re.IGNORECASE)
_TYPE = re.compile(r"\s*([\w ]+)")
_NO_COLUMN = re.compile(r"(CONSTRAINT|PRIMARY|FOREIGN|UNIQUE|KEY|INDEX|CHECK|EXCLUDE|LIKE|FULLTEXT|PERIOD)\b", re.I)


class SqlTable(NamedTuple):
    """The keys of a table: the columns of its primary key; columns, tables and their columns (none: their keys).

    ``columns`` are all columns as they are written, with their types; ``name`` is that of the table.
    """

    primary: tuple[str, ...] = ()
    foreign: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    name: str = ""


def created_tables(text: str) -> dict[str, SqlTable]:
    """Return the tables that SQL creates, by their names without schemas, in lower case."""
    plain = _IGNORED.sub(lambda found: "''" if found[0].startswith("'") else " ", text)
    statements = _STATEMENT.split(plain)  # one by one: a hostile script costs no more than its length
    created = filter(None, map(_CREATE.match, statements))
    parts = ((found[1], _table(_inside(found.string, found.end()))) for found in created)
    result = {_last(name): table._replace(name=unquoted(name)) for name, table in parts}
    for found in filter(None, map(_ALTER.match, statements)):
        name, more = _last(found[1]), _constraints(found[2])
        if name in result:
            old = result[name]
            result[name] = old._replace(primary=old.primary or more.primary, foreign=(*old.foreign, *more.foreign))
    return result


def _inside(text: str, start: int) -> str:
    """Return the text up to the bracket that closes the one before ``start``."""
    depth = 1
    for found in re.finditer(r"[()]", text[start:]):
        depth += 1 if found[0] == "(" else -1
        if not depth:
            return text[start : start + found.start()]
    return ""


def _parts(body: str) -> Iterator[str]:
    depth, start = 0, 0
    for found in re.finditer(r"[(),]", body):
        depth += {"(": 1, ")": -1, ",": 0}[found[0]]
        if found[0] == "," and not depth:
            yield body[start : found.start()].strip()
            start = found.end()
    yield body[start:].strip()


def _table(body: str) -> SqlTable:
    primary: tuple[str, ...] = ()
    foreign: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = []
    columns: list[tuple[str, str]] = []
    for part in _parts(body):
        if _NO_COLUMN.match(part):
            more = _constraints(part)
            primary, foreign = primary or more.primary, [*foreign, *more.foreign]
        elif named := re.match(NAME, part):
            column = (_last(named[0]),)
            kind = _TYPE.match(part, named.end())
            columns.append((unquoted(named[0]), kind[1].casefold() if kind else ""))
            primary = column if _OWN_PRIMARY.search(part) else primary
            to = _OWN_FOREIGN.search(part)
            foreign += [(column, _last(to[1]), _columns(to[2]))] if to else []
    return SqlTable(primary, tuple(foreign), tuple(columns))


def _constraints(text: str) -> SqlTable:
    key = _PRIMARY.search(text)
    links = [(_columns(one[1]), _last(one[2]), _columns(one[3])) for one in _FOREIGN.finditer(text)]
    return SqlTable(_columns(key[1]) if key else (), tuple(links))


def _columns(text: str | None) -> tuple[str, ...]:
    names = (re.match(NAME, part.strip()) for part in (text or "").split(","))
    return tuple(_last(one[0]) for one in names if one)


def unquoted(name: str) -> str:
    """Return the last part of a name without its quotes."""
    return str(re.findall(NAME, name)[-1]).strip('"`[]')


def _last(name: str) -> str:
    return unquoted(name).casefold()
