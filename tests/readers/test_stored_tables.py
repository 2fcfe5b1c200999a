"""Tables of SQLite and DuckDB files, sheets of workbooks, and text in other encodings, as recipes read them."""

from __future__ import annotations

import datetime
import gzip
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion.inference import source_notes
from kbkit.kb import KnowledgeBase
from kbkit.readers import databases, workbooks
from tests.conftest import Run
from tests.examples import examples, first_some
from tests.fuzz.bombs import workbook

SQL = """
CREATE TABLE nodes AS SELECT id::VARCHAR AS key, 'person' AS type, name, age FROM people;
CREATE TABLE edges AS SELECT a::VARCHAR AS head, 'knows' AS relation, b::VARCHAR AS tail FROM friends;
"""
PEOPLE = [(1, "Ann", 30.5), (2, "Bö", None), (3, "Cy", 12.0)]


def recipe(folder: Path, match: str, *, keys: str = "", tables: bool = True) -> Path:
    """Write a recipe of two tables: people and friends."""
    folder.mkdir(parents=True)
    files = "".join(
        f"[files.{name}]\nmatch = [{match!r}]\n{keys}" + (f"table = {name!r}\n" if tables else "")
        for name in ("people", "friends")
    )
    (folder / "recipe.toml").write_text(f'title = "People"\n{files}', encoding="utf-8")
    (folder / "load.sql").write_text(SQL, encoding="utf-8")
    return folder


def write(path: Path) -> Path:
    """Write the two tables in the format of the path."""
    ddl = (
        "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, age DOUBLE)",
        "CREATE TABLE friends(a INTEGER REFERENCES people(id), b INTEGER REFERENCES people(id))",
    )
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.title = "people"
        for row in (("id", "name", "age"), *PEOPLE):
            book.active.append(row)
        book.create_sheet("friends").append(("a", "b"))
        book["friends"].append((1, 2))
        book.save(path)
        return path
    con: Any = sqlite3.connect(path) if path.suffix == ".sqlite" else duckdb.connect(str(path))
    for statement in ddl:
        con.execute(statement)
    con.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE)
    con.execute("INSERT INTO friends VALUES (1, 2)")
    con.execute("CREATE VIEW spy AS SELECT * FROM people")
    con.commit()
    con.close()
    return path


@pytest.mark.core
@pytest.mark.parametrize("ending", [".sqlite", ".duckdb", ".xlsx"])
def test_a_file_serves_several_tables(tmp_path: Path, ending: str) -> None:
    """Types are kept, the file may have another name, be in an archive, and is not changed."""
    path = write(tmp_path / f"other{ending}")
    before = path.read_bytes()
    with zipfile.ZipFile(tmp_path / "source.zip", "w") as archive:
        archive.write(path, f"people{ending}")
    folder = recipe(tmp_path / "people", f"people{ending}")
    for number, source in enumerate((path, tmp_path / "source.zip")):
        with kbkit.ingest(str(folder), source, out=tmp_path / f"{number}.kb", stores=["adjacency"]) as kb:
            rows = kb.sql("SELECT n.key, n.name, age FROM person JOIN nodes n USING (id) ORDER BY n.key").rows()
            assert rows == [(str(key), name, age) for key, name, age in PEOPLE]
            assert kb.sql("SELECT count(*) FROM edges").item() == 1
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} == {path.name, "source.zip", "people", "0.kb", "1.kb"}


@pytest.mark.parametrize("ending", [".sqlite", ".duckdb"])
def test_tables_and_declared_keys(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"x{ending}")
    assert databases.tables(path) == ["people", "friends"]
    assert {name: keys[:2] for name, keys in databases.keys(path).items()} == {
        "people": (("id",), ()),
        "friends": ((), ((("a",), "people", ("id",)), (("b",), "people", ("id",)))),
    }


def test_keys_of_several_columns_and_implied_ones(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as con:
        con.executescript("""
            CREATE TABLE a(x, y, PRIMARY KEY (y, x)) WITHOUT ROWID;
            CREATE TABLE b(p, q, other REFERENCES gone(id), FOREIGN KEY (P, Q) REFERENCES A);
        """)
    con.close()
    assert {name: keys[:2] for name, keys in databases.keys(tmp_path / "x.db").items()} == {
        "a": (("y", "x"), ()),
        "b": ((), ((("p", "q"), "a", ("y", "x")),)),
    }


VALUE = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    st.binary(max_size=9),
)


@examples(20)
@given(st.lists(st.tuples(VALUE, st.one_of(st.none(), st.integers(-9, 9), st.floats(-9, 9))), max_size=30))
def test_values_of_sqlite_lose_nothing(tmp_path: Path, rows: list[tuple[Any, Any]]) -> None:
    path = tmp_path / "x.sqlite"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE t(a, b)")
        con.executemany("INSERT INTO t VALUES (?, ?)", rows)
    con.close()
    found = databases.read(path).read_all()
    for name, column in (("a", [a for a, _ in rows]), ("b", [b for _, b in rows])):
        for seen, value in zip(found[name].to_pylist(), column, strict=True):
            assert same(seen, value), (seen, value)


def same(seen: Any, value: Any) -> bool:
    """Whether a value is the one written, or its text."""
    if isinstance(value, bytes) or value is None or isinstance(value, str):
        return isinstance(value, bytes) or seen == value
    return type(value)(seen) == value


HOSTILE = {
    "virtual.sqlite": "CREATE VIRTUAL TABLE v USING fts5(x); INSERT INTO v VALUES ('a'); CREATE TABLE t(x)",
    "view.sqlite": "CREATE VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r) SELECT * FROM r;"
    "CREATE TABLE t(x)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_only_base_tables_are_read(tmp_path: Path, name: str) -> None:
    with sqlite3.connect(tmp_path / name) as con:
        con.executescript(HOSTILE[name])
    con.close()
    assert databases.tables(tmp_path / name) == ["t"]
    with pytest.raises(KbError, match=r"Unknown table 'v'"):
        databases.read(tmp_path / name, "v")


def test_damaged_and_unfinished_files(tmp_path: Path) -> None:
    """One line that names the file, whatever is wrong with it."""
    for ending in (".sqlite", ".duckdb", ".xlsx"):
        path = write(tmp_path / f"good{ending}")
        data = path.read_bytes()
        newer = re.sub(rb"(?s)(PK\x01\x02..)..", b"\\1\xff\0", data)  # of a version of zip that is not known yet
        for number, damaged in enumerate((b"x", data[:40], data[: len(data) // 2], data[:90] + b"\xff" * 900, newer)):
            bad = tmp_path / f"bad{number}{ending}"
            bad.write_bytes(damaged)
            module = workbooks if ending == ".xlsx" else databases
            try:
                for table in module.tables(bad):
                    module.read(bad, table).read_all()
            except BadInputError as error:
                assert bad.name in str(error)
                assert "\n" not in str(error)
    log = tmp_path / "good.sqlite-wal"
    log.write_bytes(b"x")
    with pytest.raises(BadInputError, match=r"has changes in good.sqlite-wal"):
        databases.tables(tmp_path / "good.sqlite")


def test_a_field_of_parquet_without_a_name(tmp_path: Path) -> None:
    """DuckDB cannot read it, and names no file."""
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table({"id": ["a"], "x": [{"y": [{"": 1}]}]}), path)
    with pytest.raises(BadInputError, match=r"^Field without a name in .*people\.parquet\. Name all fields"):
        kbkit.ingest(str(path), out=tmp_path / "x.kb", stores=["tables"])


def test_text_of_sqlite_that_is_not_utf8(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.sqlite") as con:
        con.execute("CREATE TABLE t(a)")
        con.execute("INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))")
    con.close()
    with pytest.raises(BadInputError, match=r"not UTF-8 in .*x.sqlite"):
        databases.read(tmp_path / "x.sqlite").read_all()


def test_cells_of_workbooks(tmp_path: Path) -> None:
    """Mixed columns are text, days are dates, errors are missing, empty rows and cells around the table are ignored."""
    book = openpyxl.Workbook()
    day = datetime.datetime(2020, 2, 29)
    for row in (
        (),
        ("id", "mixed", "day", "when", "flag", None, "n"),
        (1, 2**53 - 1, day, day, True, None, 1),
        (),
        (2, "x", None, day.replace(hour=5), False, "odd", 1.5),
        (3, 0.1, None, None, None, "#N/A", None),
    ):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    found = workbooks.read(tmp_path / "x.xlsx").read_all().to_pydict()
    assert found == {
        "id": [1, 2, 3],
        "mixed": ["9007199254740991", "x", "0.1"],
        "day": [day.date(), None, None],
        "when": [day, day.replace(hour=5), None],
        "flag": [True, False, None],
        "column5": [None, "odd", None],
        "n": [1.0, 1.5, None],
    }


NOTES: dict[str, list[tuple[Any, ...]]] = {
    "Sheet3": [],
    "prose": [("Notes",), ("Ages are in years.",), ("Ann counted them.",)],
    "a sentence": [("All of this was collected by Ann in the year 2024",), (), ("Ask her",)],
    "cells": [("by", "Ann"), ("version", 2, "a draft"), ("and", "so", "on", "!")],
}


@pytest.mark.parametrize("name", first_some(list(NOTES), 2))
def test_sheets_that_are_not_tables_are_skipped(
    tmp_path: Path, here: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A note names the sheet; the others are loaded."""
    monkeypatch.chdir(tmp_path)
    book = openpyxl.load_workbook(write(tmp_path / "x.xlsx"))
    extra = book.create_sheet(name)
    for row in NOTES[name]:
        extra.append(row)
    book.save(tmp_path / "x.xlsx")
    done = here("ingest", "x.xlsx", "-o", "x.kb", "--stores", "adjacency")
    assert done.returncode == 0, done.stderr
    skipped = [line for line in done.stderr.splitlines() if line.startswith("Skipped")]
    reasons = {"Sheet3": "it is empty", "prose": "it is free text", "a sentence": "it is free text"}
    reason = reasons.get(name, "its first row does not name its columns")
    assert skipped == [f"Skipped sheet {name!r} of x.xlsx: {reason}"]
    with kbkit.open("x.kb") as kb:
        assert sorted(one.name for one in kb.schema.node_types) == ["friend", "person"]


def test_a_skipped_sheet_is_a_warning_in_python(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(write(tmp_path / "x.xlsx"))
    book.create_sheet("Sheet3")
    book.save(tmp_path / "x.xlsx")
    with pytest.warns(UserWarning, match=r"Skipped sheet 'Sheet3' of .*x.xlsx: it is empty"):
        kbkit.ingest(str(tmp_path / "x.xlsx"), out=tmp_path / "y.kb", stores=["tables"]).close()


def test_sheets_with_a_stray_value_and_workbooks_without_a_table_are_refused(tmp_path: Path) -> None:
    """A table is not skipped for one mistake."""
    book = openpyxl.load_workbook(write(tmp_path / "x.xlsx"))
    book["people"].cell(3, book["people"].max_column + 1, "?")
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(BadInputError, match=r"Value without a column name in .*x.xlsx, sheet 'people', row 3"):
        kbkit.ingest(str(tmp_path / "x.xlsx"), out=tmp_path / "x.kb")
    openpyxl.Workbook().save(tmp_path / "y.xlsx")
    with pytest.raises(BadInputError, match=r"No rows in .*y.xlsx, sheet 'Sheet'"):
        kbkit.ingest(str(tmp_path / "y.xlsx"), out=tmp_path / "x.kb")
    assert not (tmp_path / "x.recipe").exists()


def test_notes_beside_a_table_are_skipped_and_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.xlsx")
    table = workbooks.read(path, "people").read_all()
    book = openpyxl.load_workbook(path)
    book["people"].cell(3, book["people"].max_column + 2, "?")
    book.save(path)
    assert workbooks.read(path, "people").read_all().equals(table)
    assert list(source_notes.skipped(path, path)) == [f"Skipped notes beside the table of sheet 'people' of {path}"]


def test_the_only_sheet_with_cells_needs_no_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(("id",))
    book.create_sheet("Sheet2")
    book.save(tmp_path / "x.xlsx")
    assert workbooks.read(tmp_path / "x.xlsx").schema.names == ["id"]


def test_a_sheet_that_claims_to_be_huge(tmp_path: Path) -> None:
    """Two distant cells, or a row far below, are an error or quick, and never fill the memory."""
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "id", "a note"
    book.save(tmp_path / "x.xlsx")
    table = workbooks.read(tmp_path / "x.xlsx").read_all()
    assert (table.column_names, table.num_rows) == (["id"], 1)
    del book.active["XFD1048576"]
    book.active["B1048576"] = "far"
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(BadInputError, match=r"Value without a column name in .*x.xlsx, sheet 'Sheet', row 1048576"):
        workbooks.read(tmp_path / "x.xlsx")
    with zipfile.ZipFile(tmp_path / "x.xlsx") as old, zipfile.ZipFile(tmp_path / "y.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"1048576", b"99999999999"))
    with pytest.raises(BadInputError, match=r"too large"):
        workbooks.read(tmp_path / "y.xlsx")


@pytest.mark.parametrize(
    ("rows", "limit", "problem"),
    [
        (3, 100_000_000, r"Row 2 after row 2 in .*y.xlsx, sheet 'Sheet'"),
        (2_000, 10_000, r"y.xlsx is too large: .*sheet1.xml' decompresses to [\d,]+ bytes"),
    ],
)
def test_a_sheet_of_many_rows_with_one_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, limit: int, problem: str
) -> None:
    monkeypatch.setattr(workbooks, "_LARGE", limit)
    book = openpyxl.Workbook()
    book.active.append(["id"])
    book.save(tmp_path / "x.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "x.xlsx") as old,
        zipfile.ZipFile(tmp_path / "y.xlsx", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            more = b'<row r="2"><c r="A2"><v>1</v></c></row>' * rows + b"</sheetData>"
            new.writestr(name, old.read(name).replace(b"</sheetData>", more))
    with pytest.raises(BadInputError, match=problem):
        workbooks.read(tmp_path / "y.xlsx")


@pytest.mark.parametrize(
    ("part", "end", "element", "message"),
    [
        ("xl/worksheets/sheet1.xml", b"</row>", b'<c r="B1"><v>%d</v></c>', "sheet 'Sheet', a row: too many XML tags"),
        ("xl/worksheets/sheet1.xml", b"</worksheet>", b"<x y='%d'/>", "sheet 'Sheet', a row: too many XML tags"),
        ("xl/sharedStrings.xml", b"</sst>", b"<si><t>%d</t></si>", "x.xlsx, texts: too many XML tags"),
        ("xl/styles.xml", b"</cellXfs>", b'<xf fontId="%d"/>', "x.xlsx, 'xl/styles.xml': too many XML tags"),
    ],
)
def test_parts_that_are_read_at_once_have_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, end: bytes, element: bytes, message: str
) -> None:
    workbook(tmp_path, random.Random(1), part, end, element, 20_000)
    assert workbooks.read(tmp_path / "x.xlsx").schema.names[0] == "id"
    for limit in ("_MAX_TAGS", "_MAX_STRING_TAGS", "_MAX_PART_TAGS"):
        monkeypatch.setattr(workbooks, limit, 16_000)
    with pytest.raises(BadInputError, match=re.escape(message)):
        workbooks.read(tmp_path / "x.xlsx")
    monkeypatch.setattr(workbooks, "_MAX_PART", 300)
    with pytest.raises(BadInputError, match=r"x.xlsx is too large: '.*' has [\d,]+ bytes"):
        workbooks.read(tmp_path / "x.xlsx")


@pytest.mark.system
def test_without_the_extra(tmp_path: Path) -> None:
    write(tmp_path / "x.xlsx")
    code = (
        "import sys; sys.modules['openpyxl'] = None\n"
        "from pathlib import Path; from kbkit.readers import workbooks\n"
        f"try: workbooks.tables(Path({str(tmp_path / 'x.xlsx')!r}))\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs the extra 'excel'" in done.stdout


# -- encodings --------------------------------------------------------------------------------------------------------

TEXT = "id;name;age\n1;Ann €;30.5\n2;Bö;\n"


def encoded(tmp_path: Path, data: bytes, encoding: str, name: str = "people.csv") -> KnowledgeBase:
    """Build a KB of a file of people in an encoding."""
    folder = recipe(tmp_path / "r", "friends.csv", tables=False, keys=f"encoding = {encoding!r}\ndelimiter = ';'\n")
    text = (folder / "recipe.toml").read_text(encoding="utf-8").replace("friends.csv", "people.csv", 1)
    (folder / "recipe.toml").write_text(text, encoding="utf-8")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(data)
    (tmp_path / "d" / "friends.csv").write_bytes("a;b\n1;2\n".encode(encoding))
    return kbkit.ingest(str(folder), tmp_path / "d", out=tmp_path / "x.kb", stores=["adjacency"])


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        *((encoding, "people.csv") for encoding in ("utf-16", "windows-1252", "iso-8859-15", "gb18030")),
        *((encoding, "people.csv.gz") for encoding in ("utf-8", "utf-16", "windows-1250")),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, name: str) -> None:
    data = TEXT.encode(encoding)
    with encoded(tmp_path, gzip.compress(data) if name.endswith("gz") else data, encoding, name) as kb:
        assert kb.sql("SELECT name FROM nodes ORDER BY key")["name"].to_list() == ["Ann €", "Bö"]


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (TEXT.encode("windows-1252"), "latin-1", r"people.csv, line 2. Try the encoding windows-1252"),
        (TEXT.encode("windows-1252") + b"3;\x81;\n", "windows-1252", r"Invalid windows-1252 in .*d.people.csv, line 4"),
        (TEXT.encode("utf-16")[:-1], "utf-16", r"Invalid utf-16 in .*people.csv"),
        (TEXT.encode() + b"3\n", "windows-1252", r"1 column instead of 3 in .*d.people.csv, line 4"),
    ],
)
def test_invalid_bytes(tmp_path: Path, data: bytes, encoding: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        encoded(tmp_path, data, encoding)
    assert not (tmp_path / "x.kb").exists()


def test_invalid_keys(tmp_path: Path) -> None:
    folder = recipe(tmp_path / "r", "x.db", keys="encoding = 'latin-1'\n")
    with pytest.raises(BadInputError, match=r"files.people has the keys table and encoding"):
        kbkit.ingest(str(folder), tmp_path, out=tmp_path / "x.kb")
    shutil.rmtree(folder)
    folder = recipe(tmp_path / "r", "x.db", keys="encoding = 'latin1'\n", tables=False)
    with pytest.raises(BadInputError, match=r"latin1"):
        kbkit.ingest(str(folder), tmp_path, out=tmp_path / "x.kb")
