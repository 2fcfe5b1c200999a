"""Dumps of databases in SQL: their rows and keys in several dialects; damaged and hostile files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.readers import sql_dumps
from tests.conftest import Run
from tests.readers.hostile import changed, check_linear

MYSQL = r"""-- MySQL dump 10.13
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS `author`;
CREATE TABLE `author` (
  `Id` int NOT NULL AUTO_INCREMENT, `name` varchar(60) DEFAULT 'x;y', `isbn` char(13), PRIMARY KEY (`Id`)
) ENGINE=InnoDB;
LOCK TABLES `author` WRITE;
INSERT INTO `author` VALUES (1,'O\'Neill; (Ann)','9788442896539'),(2,'a\\b\nc',NULL);
INSERT INTO `author` (`Id`, `isbn`) VALUES (3,'0000000000017');
UNLOCK TABLES;
CREATE TABLE `book` (`id` int PRIMARY KEY, `author_id` int, `made` datetime DEFAULT now(),
  CONSTRAINT `a` FOREIGN KEY (`author_id`) REFERENCES `author` (`Id`)) ENGINE=InnoDB;
INSERT INTO `book` VALUES (10,1,'2024-05-01 10:00:00'),(11,3,NULL),(12,1,_binary 'x');
"""
POSTGRES = """CREATE TABLE public.town (code text NOT NULL, name text, people integer);
COPY public.town (code, name, people) FROM stdin;
a\tElm\\tWood\t12
b\t\\N\t-3
\\.
ALTER TABLE ONLY public.town ADD CONSTRAINT k PRIMARY KEY (code);
INSERT INTO public.town (code, name) VALUES ('c', E'a\\nb'), ('d', 'a\\nb'), ('e'::text, lower('X('))
ON CONFLICT DO NOTHING;
SELECT pg_catalog.setval('x', 1, true);
"""
SERVER = """SET NOCOUNT ON
GO
INSERT [dbo].[Pay Day] ([Id], [Sum]) VALUES (1, N'it''s'), (2, CAST(4.5 AS Decimal(8, 2)))
GO
"""


def _rows(path: Path, table: str) -> list[tuple[str | None, ...]]:
    return [tuple(row.values()) for row in sql_dumps.read(path, table).read_all().to_pylist()]


@pytest.mark.parametrize(
    ("text", "table", "rows"),
    [
        (MYSQL, "author", [("1", "O'Neill; (Ann)", "9788442896539"), ("2", "a\\b\nc", None),
                           ("3", None, "0000000000017")]),
        (MYSQL, "book", [("10", "1", "2024-05-01 10:00:00"), ("11", "3", None), ("12", "1", "x")]),
        (POSTGRES, "town", [("a", "Elm\tWood", "12"), ("b", None, "-3"), ("c", "a\nb", None), ("d", "a\\nb", None),
                            ("e", "lower('X(')", None)]),
        (SERVER, "Pay Day", [("1", "it's"), ("2", "CAST(4.5 AS Decimal(8, 2))")]),
        ("insert into t values (1, 'a'), (2, 'b'); -- end", "t", [("1", "a"), ("2", "b")]),
    ],
)  # fmt: skip
def test_the_rows_of_a_dump_are_read(text: str, table: str, rows: list[tuple[str | None, ...]], tmp_path: Path) -> None:
    path = tmp_path / "x.sql"
    path.write_text(text, encoding="utf-8")
    assert table.casefold() in [name.casefold() for name in sql_dumps.tables(path)]
    assert _rows(path, table.casefold() if table == "Pay Day" else table) == rows


def test_the_keys_of_a_dump_are_those_that_it_declares(tmp_path: Path) -> None:
    path = tmp_path / "x.sql.gz"
    path.write_bytes(gzip.compress(MYSQL.encode()))
    found = sql_dumps.keys(path)
    assert found["author"].primary == ("Id",)
    assert found["book"].foreign == ((("author_id",), "author", ("Id",)),)
    assert found["author"].texts == {"name", "isbn"}


def test_a_dump_beside_a_table_is_part_of_the_kb(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "shop.sql").write_text(MYSQL, encoding="utf-8")
    (folder / "queries.sql").write_text("SELECT * FROM author; INSERT INTO a SELECT 1;", encoding="utf-8")
    (folder / "visits.csv").write_text(
        "author id,day,room\n1,2024-05-01,a\n3,2024-05-02,b\n1,2024-05-03,a\n", encoding="utf-8"
    )
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        found = {f"{s.head} {r.name} {s.tail} {s.edges}" for r in kb.schema.relations for s in r.signatures}
        assert found == {"book author author 3", "visit author author 3"}
        assert kb.node("author#3").attributes["isbn"] == "0000000000017"
        assert kb.node("author#1").attributes["isbn"] == "9788442896539"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO t VALUES (1, 'a'),\n(2);", r"Row of t with 1 values for 2 columns in .*x.sql, line 2"),
        ("\nINSERT INTO t VALUES (1, 'a", r"Unfinished value in .*x.sql, line 2"),
        ("INSERT INTO t VALUES (1, f(", r"Unfinished value in .*x.sql, line 1"),
        ("COPY t (a) FROM stdin;\n1\n2\n", r"Rows without an end in .*x.sql, line 2"),
    ],
)
def test_a_damaged_dump_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.sql"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=message):
        sql_dumps.tables(path)


def test_a_file_without_rows_is_refused(here: Run, tmp_path: Path) -> None:
    (tmp_path / "x.sql").write_text("SELECT 1;", encoding="utf-8")
    done = here("ingest", tmp_path / "x.sql", "-o", tmp_path / "x.kb")
    assert done.returncode == 1
    assert "No rows in" in done.stderr


@pytest.mark.parametrize(
    "part",
    ["'", "(", "/*", "--", "\\", "\n", "$$", "$a$", "INSERT INTO t VALUES ", "INSERT INTO t VALUES (",
     "COPY t FROM stdin;\n", "CREATE TABLE t (", "a,", "''", "E'", "((", "`", '"', "a.", ";", "INSERT INTO t (a",
     "REPLACE ", "N ", "\n\t "],
)  # fmt: skip
@pytest.mark.parametrize("start", ["", "INSERT INTO t VALUES (1,", "CREATE TABLE t (a int,"])
def test_hostile_dumps_take_time_that_grows_with_their_length(part: str, start: str, tmp_path: Path) -> None:
    check_linear(sql_dumps.tables, tmp_path / "x.sql", start + part * 100_000)


def test_changed_dumps_are_read_or_refused(tmp_path: Path) -> None:
    refused, parts = 0, (b"'", b"(", b")", b",", b";", b"\\", b"\0", "é".encode(), b"\n", b"")
    dumps = (
        one for seed, text in enumerate((MYSQL, POSTGRES, SERVER)) for one in changed(text.encode(), parts, seed, 200)
    )
    for number, content in enumerate(dumps):
        path = tmp_path / f"{number}.sql"
        path.write_bytes(content)
        try:
            for table in sql_dumps.tables(path):
                sql_dumps.read(path, table).read_all()
            sql_dumps.keys(path)
        except KbError:
            refused += 1
    assert 0 < refused < 600


def test_a_file_may_declare_tables_and_have_the_rows_of_others(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    text = "CREATE TABLE town (no int PRIMARY KEY, land int REFERENCES land (k));\n"
    text += "CREATE TABLE land (k int PRIMARY KEY, name text);\nINSERT INTO land VALUES (7, 'Elm'), (8, 'Oak');\n"
    (folder / "schema.sql").write_text(text, encoding="utf-8")
    (folder / "town.csv").write_text("no,land\n1,7\n2,8\n3,7\n", encoding="utf-8")
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert {one.name: one.members for one in kb.schema.node_types} == {"town": 3, "land": 2}
        assert [relation.edges for relation in kb.schema.relations] == [3]
