"""Delimited files as offices and programs write them: marks of missing numbers, notes below, rows without an end."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.ingestion.inference import Inferred, infer
from tests.ingestion.test_exports import written

COMMAS = [f"{'-' * (n % 3 == 0)}{n},{n % 9 + 1}" for n in range(24)]
POINTS = [one.replace(",", ".") for one in COMMAS]


def looks(found: Inferred) -> dict[str, str]:
    return {name: column.look for table in found.tables for name, column in table.columns.items()}


def marked(values: list[str], marks: str) -> str:
    """Return a table whose values are marks in several rows."""
    rows = [marks.split()[n % len(marks.split())] if n % 4 == 1 else one for n, one in enumerate(values)]
    return "id;size\n" + "".join(f"{n + 1};{one}\n" for n, one in enumerate(rows))


@pytest.mark.parametrize("marks", [".", "/", "x", "...", ". -", ". / x ..."])
@pytest.mark.parametrize("values", [COMMAS, POINTS])
def test_marks_among_numbers_are_missing_values(values: list[str], marks: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"a.csv": marked(values, marks)})
    found = infer([folder], "x")
    assert looks(found)["size"] == "number"
    assert "Read N/A and the like as missing: a.size (6)" in found.notes
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT count(size), min(size) FROM a").row(0) == (18, -18.1)


@pytest.mark.parametrize(
    ("values", "look"),
    [
        (["1", "2", "3", "4", "5", "6", "X", "Y"], "text"),
        (["1,2", "3,4", "5,6,7", "2,3", "1,7", "2,6"], "list"),
        (["1,5", "2,5", "several", "3,5", "some more", "4,5"], "text"),
    ],
    ids=["codes", "lists", "words"],
)
def test_letters_among_whole_numbers_and_lists_stay(values: list[str], look: str, tmp_path: Path) -> None:
    text = "id;tags\n" + "".join(f"{n};{one}\n" for n, one in enumerate(values * 3))
    assert looks(infer([written(tmp_path, {"a.csv": text})], "x"))["tags"] == look


TABLE = "id;size;place\n" + "".join(f"{n};{n},5;Elm {n}\n" for n in range(1, 6))


@pytest.mark.parametrize("below", ["Source: office", '\n____\n"Values ""."": unknown"\n(c) Office, 2024\nAs of: 1/2\n'])
def test_lines_below_the_rows_are_left_out(below: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"a.csv": TABLE + below})
    assert "Left out the lines below the rows: a" in infer([folder], "x").notes
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT key, size FROM a ORDER BY key").rows() == [(f"{n}", n + 0.5) for n in range(1, 6)]


def test_a_row_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="1 column instead of 3"):
        infer([written(tmp_path, {"a.csv": TABLE + "17"})], "x")


def test_rows_may_lack_their_last_fields(tmp_path: Path) -> None:
    rows = [f"{n}.10,Name {n},2020-01-0{n}" + (f",2021-01-0{n},2022-01-0{n}" if n > 6 else "") for n in range(1, 10)]
    folder = written(tmp_path / "in", {"a.csv": "version,title,made,used,ended\n" + "\n".join(rows)})
    assert "Some rows lack the last fields, which are missing values: a" in infer([folder], "x").notes
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT count(*), count(made), count(ended) FROM a").row(0) == (9, 9, 3)


def test_rows_that_lack_other_fields_are_an_error(tmp_path: Path) -> None:
    rows = [f"{n},Name {n},2020-01-0{n}" if n % 2 else f"Name {n},2020-01-0{n}" for n in range(1, 10)]
    with pytest.raises(BadInputError, match="2 columns instead of 3"):
        infer([written(tmp_path, {"a.csv": "no,title,made\n" + "\n".join(rows)})], "x")


def test_comments_are_above_the_header(tmp_path: Path) -> None:
    rows = "".join(f"G{n:03}\tGene {n}\tG{n // 2:03}\n" for n in range(9))
    text = "# made, on Monday\n" * 15 + f"#id\tname\tpart of\n{rows}"
    [nodes] = infer([written(tmp_path, {"a.tsv": text})], "x").plan.nodes
    assert (nodes.table.rows, nodes.key) == (9, ("#id",))


def test_codes_of_digits_only_refer_to_rows_of_their_table(tmp_path: Path) -> None:
    rows = [f"00{n}0,Hall {n}," for n in range(1, 5)]
    rows += [f"00{n}1{side},Door {n}{side},00{n}0" for n in range(1, 5) for side in "AB"]
    found = infer([written(tmp_path, {"stops.csv": "stop_id,stop_name,parent_hall\n" + "\n".join(rows)})], "x")
    [nodes] = found.plan.nodes
    assert [(link.columns, link.target, link.missing) for _, link in nodes.links] == [(("parent_hall",), "stops", 0)]


COPIED = "".join(
    f"{n}\t{n:08x}-672b-44e6-8078-22aa27ff51b7\tTitle {n}\\tB side\t{'N/A' if n % 2 else 'x'}\t\\N\t{n % 4 + 1}\n"
    for n in range(1, 31)
)


def test_files_without_an_ending_are_tables_if_they_have_columns(tmp_path: Path) -> None:
    places = "".join(f"{n}\tPlace {n}\t\\N\tf\n" for n in range(1, 5))
    files = {"dump/album": COPIED, "dump/place": places, "dump/STAMP": "2024-01-01\n", "dump/LICENSE": "Free,\nfree,\n"}
    folder = written(tmp_path / "in", files)
    found = infer([folder], "x")
    assert {nodes.table.name: (nodes.key, nodes.named) for nodes in found.plan.nodes} == {
        "album": (("column1",), ("column3",)),
        "place": (("column1",), ("column2",)),
    }
    assert "Not read: dump/LICENSE, dump/STAMP (document, not a table)" in found.notes
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.node("album#3").name == "Title 3\tB side"


TOWNS = "id,name\n" + "".join(f"{n},Town {n}\n" for n in range(9))


def test_short_notes_beside_tables_are_not_read(tmp_path: Path) -> None:
    notes = "Exported from the board, 12 March 2024.\nThe yellow label has no name.\n"
    found = infer([written(tmp_path, {"towns.csv": TOWNS, "notes.txt": notes})], "x")
    assert [table.name for table in found.tables] == ["towns"]
    assert "Not read: notes.txt (document, not a table)" in found.notes


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"towns.csv": TOWNS, "posts.xml": '<posts><row Id="1"/><row Id="2"'}, "Invalid XML.*posts.xml"),
        ({"a.csv": TOWNS, "A.CSV": TOWNS}, "A.CSV and a.csv .* differ in capitals only"),
        ({"towns.csv": TOWNS, "inv\udcff.csv": TOWNS}, "inv.* is not UTF-8"),
        ({"settings.xml": "<a><b>1</b></a>"}, "No list of records in .*settings.xml"),
        ({"towns.csv": "id,name\n"}, "No rows in towns.csv"),
    ],
    ids=["damaged", "capitals", "name", "settings", "header"],
)
def test_errors_name_the_file(files: dict[str, str], message: str, tmp_path: Path) -> None:
    try:
        folder = written(tmp_path, files)
    except (OSError, UnicodeError):
        pytest.skip("the file system has no such names")
    if len([*folder.iterdir()]) < len(files):
        pytest.skip("the file system knows no capitals")
    with pytest.raises(BadInputError, match=message):
        infer([folder], "x")


def test_a_file_of_rows_of_another_one_is_left_out(tmp_path: Path) -> None:
    header, rows = "Key,Title,Year,Pages\n", [f"K{n}Q,Title {n},20{n},{n}\n" for n in range(10, 22)]
    others = "".join(f"{n},Talk {n},20{n},{n}\n" for n in range(10, 14))
    files = {"all.csv": header + "".join(rows), "some.csv": header + "".join(rows[3:8]), "talks.csv": header + others}
    folder = written(tmp_path / "in", files)
    found = infer([folder], "x")
    assert {table.name: table.rows for table in found.tables} == {"all": 12, "talks": 4}
    assert "Left out some: all has all of its rows" in found.notes
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert {one.members for one in kb.schema.node_types} == {12, 4}
    assert len(infer([folder / "all.csv", folder / "some.csv"], "x").tables) == 2
