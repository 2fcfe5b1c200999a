"""SQLite and DuckDB databases, Excel workbooks and other files with parts: writers, other readers, and damage.

Random bytes seldom get past the checks of such a file. Its damage is therefore made where the check does not look:
in values and declarations, in the header and the directory of a page, in a block whose checksum is written again, and
in a part of a workbook that is packed again.
"""

from __future__ import annotations

import contextlib
import decimal
import io
import random
import sqlite3
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]
ENDINGS = ("sqlite", "duckdb", "xlsx")
_BLOCK = 16_384
"""Size of a block of the DuckDB files that are written."""


@contextlib.contextmanager
def _file(data: bytes, ending: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stored-") as folder:
        path = Path(folder, f"x.{ending}")
        if data:
            path.write_bytes(data)
        yield path


@contextlib.contextmanager
def _database(path: Path) -> Iterator[Any]:
    """Open a database to change it."""
    if path.suffix == ".sqlite":
        con: Any = sqlite3.connect(path, isolation_level=None)
        con.execute("PRAGMA writable_schema = ON")
    else:
        con = duckdb.connect()
        con.execute(f"ATTACH '{path}' AS f (BLOCK_SIZE {_BLOCK})" if not path.exists() else f"ATTACH '{path}' AS f")
        con.execute("USE f")
    try:
        yield con
    finally:
        con.close()


# -- writers and readers ----------------------------------------------------------------------------------------------


def written(rows: Sequence[Row], ending: str) -> bytes:
    """Return rows as the only table of a file."""
    names = list(rows[0])
    with _file(b"", ending) as path:
        if ending == "xlsx":
            book = openpyxl.Workbook()
            for cells in (names, *(list(row.values()) for row in rows)):
                book.active.append(cells)
            book.save(path)
        else:
            with _database(path) as con:
                con.execute(f"CREATE TABLE t({', '.join(f'{_quoted(n)} {_type(rows, n)}' for n in names)})")
                con.executemany(
                    f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", [list(row.values()) for row in rows]
                )
        return path.read_bytes()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type(rows: Sequence[Row], name: str) -> str:
    value = next((row[name] for row in rows if row[name] is not None), "")
    return {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}.get(type(value), "TEXT")


def read(path: Path) -> list[Row]:
    """Read the only table of a file with the module that wrote it; raise what that module raises."""
    if path.suffix == ".xlsx":
        sheets = [sheet for sheet in openpyxl.load_workbook(path, data_only=True).worksheets if sheet.max_row > 1]
        header, *rest = (list(row) for row in sheets[0].iter_rows(values_only=True) if any(v is not None for v in row))
        names = [" ".join(str(name).split()) if name is not None else f"column{i}" for i, name in enumerate(header)]
        return [dict(zip(names, row, strict=True)) for row in rest]
    with _database(path) as con:
        [(table,)] = con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage"
            if path.suffix == ".sqlite"
            else "SELECT table_name FROM duckdb_tables() WHERE database_name = 'f'"
        ).fetchall()
        found = con.execute(f"SELECT * FROM {_quoted(table)}")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


# -- damage -----------------------------------------------------------------------------------------------------------

_VALUES = (
    "''", "' '", "'null'", "'x' || char(0) || 'y'", "char(8238) || 'evil'", "x'ff00'", "CAST(x'ff' AS TEXT)", "9e999",
    "-9e999", "9223372036854775807", "1e300", "NULL", "'007'", "zeroblob(300000)",
    "replace(hex(zeroblob(200)), '0', 'x')",
    "'[1,2]'", "true", "0.1 + 0.2", "-0.0", "CAST(x'eda080' AS TEXT)",
)  # fmt: skip
_DUCK_VALUES = (
    "''", "'null'", "chr(0)", "chr(8238) || 'evil'", "'nan'", "'inf'", "repeat('x', 300000)", "NULL",
    "'007'", "'[1,2]'",
    "'9e999'", "'9223372036854775808'", "' lead'", "repeat(chr(128512), 3000)",
)  # fmt: skip
_SQLITE = (
    "UPDATE sqlite_master SET sql = replace(sql, '{c}', '{h}') WHERE name = 't'",
    "UPDATE sqlite_master SET sql = 'CREATE TABLE t({h})' WHERE name = 't'",
    "UPDATE sqlite_master SET rootpage = {n}",
    "UPDATE sqlite_master SET name = '{h}', tbl_name = '{h}'",
    "UPDATE sqlite_master SET type = '{h}'",
    "UPDATE sqlite_master SET sql = NULL",
    "UPDATE sqlite_master SET sql = x'ff'",
    "INSERT INTO sqlite_master VALUES ('table', '{h}', '{h}', {n}, 'CREATE TABLE x(a)')",
    "INSERT INTO sqlite_master VALUES ('view', 'v', 'v', 0, 'CREATE VIEW v AS SELECT load_extension(''x'')')",
    "INSERT INTO sqlite_master VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING {h}')",
    "ALTER TABLE t ADD COLUMN g TEXT GENERATED ALWAYS AS (hex(zeroblob({n})))",
    "ALTER TABLE t ADD COLUMN g INT GENERATED ALWAYS AS (abs(-9223372036854775807 - 1))",
    "ALTER TABLE t ADD COLUMN \"{h}\" {h}",
    "ALTER TABLE t RENAME TO \"{h}\"",
    "CREATE TABLE u(a REFERENCES t({c}), b REFERENCES nothing(x), FOREIGN KEY (a, b) REFERENCES t(\"{h}\"))",
    "CREATE INDEX i ON t({c}); UPDATE sqlite_master SET rootpage = 2 WHERE name = 'i'",
    "CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO w VALUES ('a', x'00')",
    "PRAGMA page_size = 512; VACUUM",
    "PRAGMA user_version = {n}; PRAGMA application_id = {n}",
    "DELETE FROM t",
    "DROP TABLE t",
    "PRAGMA auto_vacuum = 1; VACUUM",
)  # fmt: skip
_DUCKDB = (
    "ALTER TABLE t ADD COLUMN x {type} DEFAULT {default}",
    "ALTER TABLE t ADD COLUMN x {type} DEFAULT {default}",
    "ALTER TABLE t ADD COLUMN x {type} DEFAULT {default}",
    "CREATE OR REPLACE TABLE t AS SELECT *, {default}::{type} AS x FROM t",
    "ALTER TABLE t RENAME TO \"{h}\"",
    "ALTER TABLE t RENAME COLUMN {c} TO \"{h}\"",
    "ALTER TABLE t ALTER {c} TYPE {type} USING {default}",
    "CREATE VIEW v AS SELECT * FROM read_text('/etc/hostname')",
    "CREATE MACRO strlen(x) AS error('macro'); CREATE MACRO to_base64(x) AS 'macro'",
    "CREATE TABLE u(a INT DEFAULT (error('default')), b INT GENERATED ALWAYS AS (a // 0))",
    "CREATE TABLE u(a INT PRIMARY KEY, b INT REFERENCES u(a)); INSERT INTO u VALUES (1, 1)",
    "CREATE SCHEMA \"{h}\"; CREATE TABLE \"{h}\".\"{h}\"(a INT)",
    "CREATE SCHEMA source; CREATE TABLE source.t(a INT)",
    "CREATE SEQUENCE q; ALTER TABLE t ALTER {c} SET DEFAULT nextval('q')",
    "CREATE TYPE varchar2 AS ENUM ('a', '{h}'); ALTER TABLE t ADD COLUMN x varchar2 DEFAULT 'a'",
    "DELETE FROM t",
    "DROP TABLE t",
)  # fmt: skip
_TYPES = {
    "UNION(a INT, b TEXT)": "1", "MAP(TEXT, INT)": "MAP {'a': 1}",
    "STRUCT(a INT, \"b c\" TEXT[])": "{'a': 1, 'b c': ['x']}",
    "INTERVAL": "INTERVAL '1 month'", "UUID": "uuid()", "HUGEINT": "-170141183460469231731687303715884105728",
    "UHUGEINT": "340282366920938463463374607431768211455", "BIT": "'0101'::BIT", "TIMETZ": "'10:00:00+02'::TIMETZ",
    "TIMESTAMPTZ": "'2020-01-01'::TIMESTAMPTZ", "BLOB": "'\\xFF'::BLOB", "DOUBLE": "'nan'::DOUBLE",
    "INT[3]": "[1, 2, 3]",
    "DECIMAL(38, 10)": "1.5", "DATE": "'infinity'::DATE", "TIMESTAMP": "'-infinity'::TIMESTAMP",
    "TEXT[][]": "[['a'], NULL]",
    "FLOAT": "'inf'::FLOAT", "TIMESTAMP_NS": "'2020-01-01'::TIMESTAMP_NS", "JSON": "'{\"a\": 1}'",
    "TIME": "'24:00:00'::TIME",
    "DATE ": "'5874897-12-31'::DATE", "STRUCT(a STRUCT(a STRUCT(a BLOB)))": "{'a': {'a': {'a': '\\xFF'::BLOB}}}",
    "BLOB[]": "['\\xFF'::BLOB]", "UUID[]": "[uuid()]", "INTERVAL[]": "[INTERVAL '1 day']",
    "UBIGINT": "18446744073709551615",
}  # fmt: skip
_HOSTILE = ("", "a b", "'; --", "select", "é", "\u202e", "x" * 300, "key", "KEY", "a.b", "%s", "sqlite_x", "a, b, c, b")


def _edit(data: bytes, rng: random.Random, ending: str, statements: Sequence[str], values: Sequence[str]) -> bytes:
    """Change a value or a declaration with SQL; the file stays as it is if the engine refuses that."""
    with _file(data, ending) as path:
        with contextlib.suppress(sqlite3.Error, sqlite3.Warning, duckdb.Error, UnicodeError), _database(path) as con:
            table = "t"
            names = [column[0] for column in con.execute(f"SELECT * FROM {table} LIMIT 0").description]
            column, kind = rng.choice(names), rng.choice(sorted(_TYPES))
            hostile = rng.choice(_HOSTILE).replace("'", "''")
            if rng.random() < 0.5:
                statement = (
                    f"UPDATE {table} SET {_quoted(column)} = {rng.choice(values)} WHERE rowid < {rng.randrange(5)}"
                )
            else:
                statement = rng.choice(statements).format(
                    c=column, h=hostile, n=rng.choice((0, 1, 2, 3, -1, 2**31)), type=kind, default=_TYPES[kind]
                )
            for one in statement.split("; "):
                con.execute(one)
        return path.read_bytes()


def sqlite_sql(data: bytes, rng: random.Random) -> bytes:
    """Change a value or a declaration of a SQLite file."""
    return _edit(data, rng, "sqlite", _SQLITE, _VALUES)


def sqlite_page(data: bytes, rng: random.Random) -> bytes:
    """Change the header of a SQLite file, or the header and the directory of a page."""
    changed = bytearray(data)
    if rng.random() < 0.3:
        at, size = rng.choice(
            ((16, 2), (18, 1), (19, 1), (20, 1), (21, 1), (28, 4), (32, 4), (36, 4), (44, 4), (52, 4), (56, 4))
        )
        changed[at : at + size] = rng.choice((b"\0", b"\xff", b"\x01", b"\x03", rng.randbytes(1))) * size
        return bytes(changed)
    page = int.from_bytes(data[16:18], "big") or 512
    number = rng.randrange(max(1, len(data) // max(page, 1)))
    start = number * page + (100 if number == 0 else 0)
    at = start + rng.choice((0, 1, 3, 5, 7, *range(8, 24)))
    if at < len(changed):
        changed[at] = rng.choice((0, 1, 2, 5, 10, 13, 255, rng.randrange(256)))
    return bytes(changed)


def duckdb_sql(data: bytes, rng: random.Random) -> bytes:
    """Change a value or a declaration of a DuckDB file."""
    return _edit(data, rng, "duckdb", _DUCKDB, _DUCK_VALUES)


def duckdb_block(data: bytes, rng: random.Random) -> bytes:
    """Change bytes of a block, or of a header, of a DuckDB file, and write its checksum again."""
    headers, size = 4096, _BLOCK
    starts = [0, headers, 2 * headers, *range(3 * headers, len(data) - size + 1, size)]
    starts = [start for start in starts if start + headers <= len(data)]
    if not starts:
        return data
    start = rng.choice(starts)
    end = start + (headers if start < 3 * headers else size)
    block = bytearray(data[start + 8 : end])
    used = len(bytes(block).rstrip(b"\0")) or 1
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(min(used, 400) if rng.random() < 0.5 else used)
        if rng.random() < 0.2:
            block[at : at + 8] = struct.pack("<q", rng.choice((-1, 0, 1, 2**31, 2**62)))[: len(block) - at]
        else:
            block[at] = rng.choice((0, 255, block[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))
    return data[:start] + struct.pack("<Q", checksum(bytes(block))) + bytes(block) + data[end:]


def checksum(block: bytes) -> int:
    """Return the checksum of a block of DuckDB, whose length is a multiple of eight (src/common/checksum.cpp)."""
    words = np.frombuffer(block, "<u8") * np.uint64(0xBF58476D1CE4E5B9)
    return 5381 ^ int(np.bitwise_xor.reduce(words))


def packed_part(
    data: bytes, rng: random.Random, mutated: Callable[[bytes, random.Random, str], tuple[bytes, str]]
) -> bytes:
    """Damage, remove or rename a part of a workbook, or of another archive, and pack it again."""
    packed = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w", rng.choice((0, 8))) as new:
            names = old.namelist()
            sheets = [name for name in names if "sheet" in name or "shared" in name.lower()]
            chosen, kind = rng.choice(sheets if rng.random() < 0.6 and sheets else names), rng.random()
            for name in names:
                content = old.read(name)
                if name != chosen:
                    new.writestr(name, content)
                elif kind < 0.5:
                    new.writestr(name, mutated(content, rng, "x")[0])
                elif kind < 0.9:
                    new.writestr(name, _xml(content, rng))
                elif kind < 0.95:
                    new.writestr(name.upper(), content)
    except (zipfile.BadZipFile, ValueError, KeyError, OSError):
        return data
    return packed.getvalue()


_CELLS = (
    (b'r="A', b'r="ZZZ'), (b'r="A2"', b'r="A1048577"'), (b'r="B', b'r="A'), (b'r="2"', b'r="x"'), (b'r="3"', b'r="2"'),
    (b't="n"', b't="s"'), (b't="s"', b't="n"'), (b't="n"', b't="d"'), (b't="n"', b't="b"'), (b't="n"', b't="e"'),
    (b"<v>", b"<v>9"), (b"<v>", b"<v>-"), (b"<v>", b"<v>1e"), (b"<v>", b"<f>A1</f><v>"),
    (b"<v>", b"<v>NaN"), (b"<v>", b""),
    (b"</v>", b""), (b"</row>", b"</row><row/>"), (b"</sheetData>", b"</sheetData><sheetData/>"), (b"<sheetData>", b""),
    (b'name="', b'name="\xe2\x80\xae'), (b'sheetId="1"', b'sheetId=""'), (b'r:id="rId1"', b'r:id="rId9"'),
    (b"<?xml", b"<!DOCTYPE x [<!ENTITY e 'v'>]><?xml"), (b"Target=\"", b"Target=\"../../"), (b"date1904", b"date"),
    (b'numFmtId="0"', b'numFmtId="14"'), (b'<c ', b'<c s="99" '), (b"<si>", b"<si><r>"), (b"count=\"", b"count=\"-"),
    (b'ref="', b'ref="A1:XFD1048576'), (b"worksheets", b"chartsheets"), (b"<t>", b"<t xml:space='preserve'> \n"),
)  # fmt: skip


def _xml(content: bytes, rng: random.Random) -> bytes:
    """Replace something that a sheet declares, once or everywhere."""
    known = [pair for pair in _CELLS if pair[0] in content]
    old, new = rng.choice(known or [(b"<", b"<<")])
    return content.replace(old, new, rng.choice((1, -1)))


_ARROW: tuple[Callable[[int], pa.Array], ...] = (
    pa.nulls,
    lambda n: pa.array([b"\xff\0"] * n),
    lambda n: pa.array(["\0"] * n),
    lambda n: pa.array([[["x"], None]] * n),
    lambda n: pa.array([{"a": {"b c": [1]}, "": None}] * n),
    lambda n: pa.array([[("k", 1), ("k", 2)]] * n, pa.map_(pa.string(), pa.int64())),
    lambda n: pa.array(["x"] * n).dictionary_encode(),
    lambda n: pa.array([decimal.Decimal("9" * 38)] * n, pa.decimal128(38, 0)),
    lambda n: pa.array([decimal.Decimal("9" * 76)] * n, pa.decimal256(76, 0)),
    lambda n: pa.array([2**64 - 1] * n, pa.uint64()),
    lambda n: pa.array([-(2**63)] * n, pa.timestamp("us", "Europe/Paris")),
    lambda n: pa.array([2**63 - 1] * n, pa.timestamp("ns")),
    lambda n: pa.array([2**31 - 1] * n, pa.int32()).cast(pa.date32()),
    lambda n: pa.array([86_400_000_000 - 1] * n, pa.time64("us")),
    lambda n: pa.array([float("nan"), float("inf")] * n, pa.float64())[:n],
    lambda n: pa.array([1.5] * n, pa.float16()),
    lambda n: pa.array([1] * n, pa.duration("s")),
    lambda n: pa.array([b"x" * 16] * n, pa.binary(16)),
    lambda n: pa.array(["x" * 1_000_000] * n),
    lambda n: pa.array([[1.5, 2.5]] * n, pa.list_(pa.float32(), 2)),
)


def parquet_column(data: bytes, rng: random.Random) -> bytes:
    """Replace or add a column of an unusual type, or rename one."""
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError):
        return data
    name = rng.choice(table.column_names or ["x"])
    column = rng.choice(_ARROW)(table.num_rows)
    if rng.random() < 0.3:
        names = [rng.choice(_HOSTILE) if one == name else one for one in table.column_names]
        table = table.rename_columns(names)
    elif rng.random() < 0.5:
        table = table.append_column(rng.choice(_HOSTILE), column)
    elif name in table.column_names:
        table = table.set_column(table.column_names.index(name), name, column)
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, compression=rng.choice(("none", "snappy", "zstd", "gzip")))
    except (pa.ArrowException, ValueError):  # a type that Parquet lacks
        return data
    return sink.getvalue()
