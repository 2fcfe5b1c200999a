"""Read the rows of dumps in SQL: ``INSERT`` of any dialect (mysqldump, sqlite3), and ``COPY`` of pg_dump.

Nothing is executed: the text is split into statements and values by patterns whose time is linear. Values are texts;
expressions other than numbers, texts, NULL and truth values stay as they are written. Keys are those of
``CREATE TABLE`` and ``ALTER TABLE``; see :mod:`kbkit.readers.sql_tables`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError, UnknownNameError
from kbkit.readers.columns import unique
from kbkit.readers.sql_tables import NAME, TABLE, SqlTable, created_tables, unquoted
from kbkit.readers.stored import ForeignKey, Keys
from kbkit.readers.whole_files import content_of

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 256 << 20
"""Maximum bytes of a file, decompressed."""
_MOST_COLUMNS, _MOST_CELLS = 5_000, 50_000_000
_SPACE = re.compile(
    r"(?:\s++|--[^\n]*+|\#[^\n]*+|/\*(?:(?!\*/).)*+(?:\*/|\Z)|;|GO\b(?=\s)|DELIMITER[^\n]*+)*+", re.DOTALL
)
"""What is between statements."""
_TEXT = r"'(?:[^']|'')*+(?:'|\Z)"
_ESCAPED = r"'(?:[^'\\]|''|\\.)*+(?:'|\Z)"
"""A text, and one in which a backslash escapes the next sign."""
_OTHER = (
    r"""(?:[^;'"`$/\n\-]++|\n(?![ \t]*+GO\s)|{text}|"[^"]*+(?:"|\Z)|`[^`]*+(?:`|\Z)|--[^\n]*+"""
    r"""|/\*(?:(?!\*/).)*+(?:\*/|\Z)|[/$\-])*+"""
)
"""A statement without rows."""
_INSERT = re.compile(
    rf"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|HIGH_PRIORITY|DELAYED|IGNORE|OR\s+\w+)\s+)*+(?:INTO\s+)?{TABLE}\s*+"
    r"(?:\(([^()]*+)\)\s*+)?(?:OVERRIDING\s+\w+\s+VALUE\s+)?VALUES?\s*+(?=\()",
    re.IGNORECASE,
)
_COPY = re.compile(rf"COPY\s+{TABLE}\s*+(?:\(([^()]*+)\)\s*+)?FROM\s+stdin\b[^;]*+;[^\n]*+\n", re.IGNORECASE)
_END_OF_COPY = re.compile(r"^\\\.\s*?$", re.MULTILINE)
_VALUE = (
    r"\s*+(?:(?P<mark>[A-Za-z_]\w{{0,15}}\s*+)?(?P<text>{text})(?:::[\w\[\]. ]++(?:\([\d, ]*+\))?)?+"
    r"|(?P<plain>[^'(),]*+))\s*+(?P<end>[,)(])"
)
_INSIDE = re.compile(r"[^'()]++|'(?:[^'\\]|''|\\.)*+'|[()]", re.DOTALL)
_MYSQL = re.compile(r"\bENGINE\s*=|MySQL|MariaDB|phpMyAdmin|^INSERT INTO `", re.IGNORECASE | re.MULTILINE)
_START = 1 << 16
_WORDS = {"null": None, "true": "true", "false": "false", "default": None}
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "Z": ""}


@dataclass
class _Rows:
    """The columns and the rows of a table."""

    columns: list[str]
    rows: list[list[str | None]] = field(default_factory=list)


@dataclass
class _Dump:
    tables: dict[str, _Rows] = field(default_factory=dict)
    created: dict[str, SqlTable] = field(default_factory=dict)

    def named(self, table: str) -> str:
        """Return the name of a table as it was created."""
        return self.created[table].name if table in self.created else table


def has_rows(path: Path) -> bool:
    """Return whether a file has rows of tables; queries and schemas have none. Raises :class:`BadInputError`."""
    return bool(tables(path))


def tables(path: Path) -> list[str]:
    """Return the names of the tables with rows. Raises :class:`BadInputError` for damaged and large files."""
    dump = _dump(path)
    return [dump.named(name) for name in dump.tables]


def keys(path: Path) -> dict[str, Keys]:
    """Return the keys that the file declares, of tables with rows to others with rows."""
    dump, result = _dump(path), {}
    for name, own in dump.tables.items():
        created = dump.created.get(name, SqlTable())
        foreign = []
        for here, other, told in created.foreign:
            there = told or dump.created.get(other, SqlTable()).primary
            if other in dump.tables and len(here) == len(there):
                columns = _as_written(here, own), _as_written(there, dump.tables[other])
                foreign += [ForeignKey(columns[0], dump.named(other), columns[1])] if all(columns) else []
        texts = (column for column, kind in created.columns if re.search("char|text|uuid|clob|enum", kind))
        result[dump.named(name)] = Keys(_as_written(created.primary, own), tuple(foreign), frozenset(texts))
    return result


def read(path: Path, table: str = "") -> pa.RecordBatchReader:
    """Return the rows of a table, as texts."""
    import pyarrow as pa

    dump = _dump(path)
    names = {dump.named(name): name for name in dump.tables}
    found = names.get(table) if table else next(iter(dump.tables), None) if len(dump.tables) == 1 else None
    if found is None:
        raise UnknownNameError("table", table, list(names), str(path))
    own = dump.tables[found]
    values = zip(*own.rows, strict=True) if own.rows else [[] for _ in own.columns]
    arrays = [pa.array(column, pa.string()) for column in values]
    return pa.Table.from_arrays(arrays, names=own.columns).to_reader()


def _as_written(columns: Sequence[str], of: _Rows) -> tuple[str, ...]:
    """Return columns as a table has them; none if it lacks one."""
    folded = {name.casefold(): name for name in of.columns}
    return tuple(folded[name] for name in columns) if all(name in folded for name in columns) else ()


def _dump(path: Path) -> _Dump:
    status = path.stat()
    return _parsed(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(2)  # each table is asked for alone
def _parsed(path: Path, *_: int) -> _Dump:
    content = content_of(path, MAX_BYTES, "SQL", "Load it into SQLite")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        latin = b"latin1" in content[:_START].lower()
        text = content.decode("cp1252" if latin else "utf-8", errors="replace")
    return _Parser(path, text).dump()


class _Parser:
    """Splits the text of a file into statements, and those with rows into values."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        self._escapes = bool(_MYSQL.search(text[:_START]))
        string = _ESCAPED if self._escapes else _TEXT
        self._value = re.compile(_VALUE.format(text=rf"(?:(?<=[eE]){_ESCAPED}|{string})"), re.DOTALL)
        self._other = re.compile(_OTHER.format(text=string), re.DOTALL)
        self._dump = _Dump()
        self._rest: list[str] = []

    def dump(self) -> _Dump:
        """Return the tables with rows, and those created."""
        inserted: list[tuple[str, str | None, list[tuple[int, list[str | None]]]]] = []
        position = 0
        while (position := self._after(_SPACE, position)) < len(self._text):
            if found := _INSERT.match(self._text, position):
                rows, position = self._inserted(found.end())
            elif found := _COPY.match(self._text, position):
                rows, position = self._copied(found.end())
            else:
                end = max(self._after(self._other, position), position + 1)
                self._rest.append(self._text[position:end])
                position = end
                continue
            inserted.append((unquoted(found[1]).casefold(), found[2], rows))
        self._dump.created = created_tables(";\n".join(self._rest))
        for table, columns, rows in inserted:
            self._add(table, columns, rows)
        return self._dump

    def _after(self, pattern: re.Pattern[str], position: int) -> int:
        found = pattern.match(self._text, position)
        return found.end() if found else position

    def _inserted(self, position: int) -> tuple[list[tuple[int, list[str | None]]], int]:
        """Return the rows from a position on, with their places, and the position behind them."""
        rows = []
        while self._text.startswith("(", position):
            start, row, end = position, list[str | None](), ","
            position += 1
            while end == ",":
                value, end, position = self._one(position)
                row.append(value)
            rows.append((start, row))
            position = self._after(_BLANK, position)
            if not self._text.startswith(",", position):
                break
            position = self._after(_BLANK, position + 1)
        return rows, position

    def _one(self, position: int) -> tuple[str | None, str, int]:
        """Return a value, the sign behind it, and the position behind that."""
        found = self._value.match(self._text, position)
        if found is None or (found["text"] is not None and (len(found["text"]) < _QUOTES or found["text"][-1] != "'")):
            raise self._error("Unfinished value", position)
        if found["end"] == "(":  # an expression
            end = self._closing(found.end())
            after = _SIGN.match(self._text, end)
            if after is None:
                raise self._error("Unfinished value", position)
            return self._text[position:end].strip(), after[1], after.end()
        if found["text"] is None:
            word = found["plain"].strip()
            return _WORDS.get(word.casefold(), word), found["end"], found.end()
        value = found["text"][1:-1].replace("''", "'")
        escaped = self._escapes or (found["mark"] or "").strip().casefold() == "e"
        return _unescaped(value) if escaped else value, found["end"], found.end()

    def _closing(self, position: int) -> int:
        """Return the position behind the bracket that closes the one before."""
        depth = 1
        while depth:
            found = _INSIDE.match(self._text, position)
            if found is None:
                raise self._error("Unfinished value", position)
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            position = found.end()
        return position

    def _copied(self, position: int) -> tuple[list[tuple[int, list[str | None]]], int]:
        """Return the lines from a position on to the one that ends them."""
        end = _END_OF_COPY.search(self._text, position)
        if end is None:
            raise self._error("Rows without an end", position)
        rows, place = [], position
        for line in self._text[position : end.start()].split("\n")[:-1]:
            cells = line.removesuffix("\r").split("\t")
            rows.append((place, [None if cell == r"\N" else _unescaped(cell) for cell in cells]))
            place += len(line) + 1
        return rows, end.end()

    def _add(self, table: str, columns: str | None, rows: Sequence[tuple[int, list[str | None]]]) -> None:
        """Add rows to a table; ``columns`` are those that the statement names."""
        created = unique([name for name, _ in self._dump.created.get(table, SqlTable()).columns])
        named = unique([unquoted(name) for name in re.findall(NAME, columns or "")])
        width = len(rows[0][1]) if rows else 0
        own = self._dump.tables.setdefault(
            table, _Rows(created or named or [f"column{n}" for n in range(1, width + 1)])
        )
        folded = {name.casefold(): place for place, name in enumerate(own.columns)}
        names = named or own.columns
        new = [name for name in names if name.casefold() not in folded]
        own.columns = [*own.columns, *new]
        if len(own.columns) > _MOST_COLUMNS or len(own.columns) * (len(own.rows) + len(rows)) > _MOST_CELLS:
            raise BadInputError(f"Table {table} in {self._path} is too large", "Load the dump into SQLite")
        folded |= {name.casefold(): len(folded) + number for number, name in enumerate(new)}
        for known in own.rows if new else ():
            known.extend([None] * len(new))
        places = [folded[name.casefold()] for name in names]
        order = {at: number for number, at in enumerate(places)}
        plain = places == list(range(len(own.columns)))
        for place, row in rows:
            if len(row) != len(places):
                what = f"Row of {table} with {len(row):,} values for {len(places):,} columns"
                raise self._error(what, place)
            every = [order.get(at) for at in range(len(own.columns))] if not plain else []
            own.rows.append(row if plain else [None if at is None else row[at] for at in every])

    def _error(self, what: str, position: int) -> BadInputError:
        line = self._text.count("\n", 0, position) + 1
        return BadInputError(f"{what} in {self._path}, line {line:,}", "Dump the database again")


_BLANK = re.compile(r"\s*+")
_SIGN = re.compile(r"[^'(),]*+\s*+([,)])")
_QUOTES = 2
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)


def _unescaped(value: str) -> str:
    return _BACKSLASH.sub(lambda sign: _SIGNS.get(sign[1], sign[1]), value) if "\\" in value else value
