"""Tables of data in a KB: readers, the recipes that make them, typed views, search, and bad input."""

from __future__ import annotations

import csv
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError
from kbkit.ingestion.data_tables import unique_names
from kbkit.kb import KnowledgeBase
from kbkit.readers.wikitables import escape, read, unescape
from tests.conftest import Run
from tests.ingestion.test_recipes import assert_sound
from tests.places import TESTS

SAMPLES = TESTS / "samples"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\t"), max_size=20)


# -- readers and headers ----------------------------------------------------------------------------------------------


@given(st.text(max_size=40))
def test_escapes_of_tsv_round_trip(text: str) -> None:
    assert unescape(escape(text)) == text
    assert "\n" not in escape(text)
    assert "|" not in escape(text)


@given(
    st.lists(st.lists(TEXT, min_size=1, max_size=4), min_size=1, max_size=5).filter(lambda rows: all(map(any, rows)))
)
def test_both_files_of_a_table_have_the_same_rows(rows: list[list[str]]) -> None:
    """The CSV of WikiTableQuestions escapes quotes and backslashes, its TSV twin line breaks and bars."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        paths = Path(name, "7.csv"), Path(name, "7.tsv")
        quoted = [[cell.replace("\\", "\\\\").replace('"', '\\"') for cell in row] for row in rows]
        lines = [",".join(f'"{cell}"' for cell in row) for row in quoted]
        paths[0].write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
        lines = ["\t".join(map(escape, row)) for row in rows]
        paths[1].write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
        found = [read([path]).read_all()["cells"].to_pylist() for path in paths]
    assert found == [rows, rows]


@given(st.lists(st.sampled_from(["", " ", "a", "A", "a 2", "b", "Column 1", "column 3"]), max_size=8))
def test_names_of_columns_are_unique(header: list[str]) -> None:
    names = unique_names(header)
    assert len({name.casefold() for name in names}) == len(header)
    assert all(name.strip() for name in names)
    assert unique_names(names) == names


def test_names_of_columns() -> None:
    assert unique_names(["Name", "name", "", "Name 2", None, "Year\nof birth"]) == [
        "Name", "name 3", "Column 3", "Name 2", "Column 5", "Year of birth",
    ]  # fmt: skip


# -- WikiTableQuestions -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    out = tmp_path_factory.mktemp("wtq") / "wtq.kb"
    with kbkit.ingest("wikitablequestions", shared_data / "wikitablequestions", out=out, stores=["text"]) as kb:
        yield kb


def test_published_tables(published: KnowledgeBase) -> None:
    kb = published
    assert [(t.name, t.count) for t in kb.schema.node_types] == [("table", 120), ("row", 3_194)]
    assert kb.sql("SELECT count(*), sum(len(header)) FROM tables").rows() == [(120, 871)]
    assert kb.sql("SELECT bool_and(len(cells) = len(header)) FROM table_rows JOIN tables USING (table_id)").item()
    ids = kb.sql("SELECT table_id FROM tables")["table_id"].to_list()
    assert (ids[0], ids[-1]) == ("csv/204-csv/10.csv", "csv/204-csv/346.csv")
    first = kb.sql("SELECT cells FROM table_rows WHERE table_id = 'csv/204-csv/101.csv' AND position = 0").item()
    assert first.to_list() == [
        "1", '"Likwit"', "E-Swift, Tha Alkaholiks", "Tash, J-Ro, King Tee", '*"Ode To Billy Joe" by Lou Donaldson',
        "2:34",
    ]  # fmt: skip
    many_lines = "SELECT count(*) FROM table_rows WHERE array_to_string(cells, '') LIKE '%' || chr(10) || '%'"
    assert kb.sql(many_lines).item() > 0
    rows = kb.search("Raymond Roche Jerez", k=3, mode="bm25")["key"].to_list()
    assert {key.split("#")[0] for key in rows} == {"csv/204-csv/253.csv"}


def test_views_have_the_narrowest_types(published: KnowledgeBase) -> None:
    frame = published.sql('SELECT * FROM data."csv/204-csv/253.csv"')
    assert frame.columns[:4] == ["Round", "Round 2", "Circuit", "Date"]
    assert frame.schema["Round"] == pl.Int64
    assert frame.height == 26
    money = published.sql('SELECT * FROM data."csv/204-csv/10.csv"')
    assert money.schema["Area (km2)"] == pl.String, "numbers with separators stay text"


# -- the other recipes ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with kbkit.ingest("hybridqa", SAMPLES / "hybridqa", out=tmp_path_factory.mktemp("h") / "kb") as kb:
        yield kb


def test_hybridqa_links_rows_to_passages(hybrid: KnowledgeBase) -> None:
    assert_sound(hybrid)
    assert [(t.name, t.count) for t in hybrid.schema.node_types] == [("table", 1), ("row", 8), ("page", 8)]
    assert hybrid.sql("SELECT title, header FROM tables").rows() == [
        ("Ferries of Orland, In service", ["Ferry", "Water", "Year", "Passengers", "Home port", "Berth"])
    ]
    assert hybrid.sql("SELECT * EXCLUDE (text), text[:14] FROM passages WHERE position = 7").rows() == [
        ("Ferries_of_Orland_0", 7, 0, "page#/wiki/Heron_(ferry)", "text", "Heron (ferry)", "The Heron runs")
    ]
    assert hybrid.sql('SELECT DISTINCT "column" FROM links_to').item() == "Ferry"
    view = 'SELECT Ferry FROM data."Ferries_of_Orland_0" WHERE Year < 1940 AND Passengers > 100'
    assert hybrid.sql(view).rows() == [("Aster",)]
    pages = hybrid.answers('table#"Ferries_of_Orland_0" -> row -> page')
    assert len(pages) == 8
    for mode in ("bm25", "dense", "hybrid"):
        assert hybrid.search("floating library ice breaker", k=1, mode=mode)["name"].to_list() == ["Cygnet (ferry)"]


def test_tablebench_reads_tables_as_text_and_as_objects(tmp_path: Path) -> None:
    with kbkit.ingest("tablebench", SAMPLES / "tablebench", out=tmp_path / "kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT table_id, len(header) FROM tables ORDER BY 1").rows() == [("tb1", 6), ("tb5", 2)]
        assert kb.sql("SELECT cells FROM table_rows WHERE table_id = 'tb1' AND position = 2").item().to_list() == [
            "mill field", "Ash", "1933", "60", "russet", "",
        ]  # fmt: skip
        assert kb.sql('SELECT sum(trees), count("harvest (t)") FROM data.tb1').rows() == [(820, 7)]


@pytest.mark.parametrize("name", ["webqsp", "cwq"])
def test_subgraphs_as_one_graph(name: str, tmp_path: Path) -> None:
    lines = (SAMPLES / "rog" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    pl.DataFrame([json.loads(line) for line in lines]).write_parquet(tmp_path / "test.parquet")
    for given_, out in ((SAMPLES / "rog", tmp_path / "json.kb"), (tmp_path / "test.parquet", tmp_path / "parquet.kb")):
        with kbkit.ingest(name, given_, out=out, stores=["adjacency"]) as kb:
            assert_sound(kb)
            assert (kb.schema.nodes, kb.schema.edges) == (8, 12)
            assert kb.answers('entity:"Una Frey" -> [people.person.place_of_birth] -> entity').nodes()[
                "name"
            ].to_list() == ["Holm"]


# -- CSV files --------------------------------------------------------------------------------------------------------


def tables(folder: Path, **files: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_any_csv_files(tmp_path: Path) -> None:
    folder = tables(
        tmp_path / "given",
        films__csv='Title,Title,Year,\n"Moth, The",x,1999,\nB,"say ""hi""",,z\n',
        prices__csv="item;price\nSalt;1.5\nRye;12\n",
        tabs__tsv='a\tb\n"q\t2\n',
    )
    tables(folder / "more", prices__csv="item,price\nOats,7\n")
    with kbkit.ingest("csv", folder, out=tmp_path / "kb", stores=["tables"]) as kb:
        assert_sound(kb)
        assert kb.sql("SELECT table_id, title FROM tables ORDER BY 1").rows() == [
            ("films", "films"), ("given/prices", "prices"), ("more/prices", "prices"), ("tabs", "tabs"),
        ]  # fmt: skip
        frame = kb.sql("SELECT * FROM data.films")
        assert frame.columns == ["Title", "Title 2", "Year", "Column 4"]
        assert frame.rows() == [("Moth, The", "x", 1999, None), ("B", 'say "hi"', None, "z")]
        assert kb.sql('SELECT sum(price) FROM data."given/prices"').item() == 13.5
        assert kb.sql('SELECT * FROM DATA . "tabs"').rows() == [('"q', 2)]
        joined = 'SELECT a.price + b.price FROM data."given/prices" a, data."more/prices" b WHERE a.item = \'Rye\''
        assert kb.sql(joined).item() == 19


def test_an_archive_keeps_the_folders_of_its_tables(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        for folder in ("203", "204"):
            archive.writestr(f"WTQ/csv/{folder}-csv/7.csv", f'"a","b"\n"{folder}","\\"x\\""\n')
        archive.writestr("WTQ/csv/204-csv/7.tsv", "a\tb\n204\tone\\ntwo\\p\n")
        archive.writestr("WTQ/page/204-page/7.json", '{"title": "Sevens"}')
    with kbkit.ingest("wikitablequestions", tmp_path / "release.zip", out=tmp_path / "kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT table_id, title FROM tables ORDER BY 1").rows() == [
            ("csv/203-csv/7.csv", "csv/203-csv/7.csv"), ("csv/204-csv/7.csv", "Sevens"),
        ]  # fmt: skip
        assert kb.sql('SELECT * FROM data."csv/203-csv/7.csv"').rows() == [(203, '"x"')]
        assert kb.sql('SELECT b FROM data."csv/204-csv/7.csv"').item() == "one\ntwo|"


def test_tables_survive_an_update(hybrid: KnowledgeBase, tmp_path: Path, here: Run) -> None:
    out = tmp_path / "copy.kb"
    shutil.copytree(hybrid.directory.path, out)
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("key,type,name\n/wiki/Ibis,page,Ibis\n", encoding="utf-8")
    done = here("update", out, "--nodes", nodes)
    assert done.returncode == 0, done.stderr
    with kbkit.open(out) as kb:
        assert kb.sql('SELECT Ferry FROM data."Ferries_of_Orland_0" WHERE Berth = 8').item() == "Heron"
        assert kb.sql("SELECT count(*) FROM passages").item() == 8


BAD = {
    "The header of table 'a' has only numbers": {"a__csv": "1,2\n3,4\n"},
    "1 cell instead of 2 in row 1 of table 'a'. Use --set ragged=pad": {"a__csv": "x,y\n1\n"},
    "3 cells instead of 2 in row 2 of table 'a'. Quote cells": {"a__csv": "x,y\n1,2\n1,2,3\n"},
    "a.csv is empty": {"a__csv": ""},
    "a.csv has no rows": {"a__csv": "\n \n\n".replace(" ", "")},
    "Invalid UTF-8 in a.csv, line 3": {"a__csv": b"x,y\n1,2\n\xe9,3\n"},
    "a.csv is not a text file": {"a__csv": b"%PDF-1.4,\0\1\n"},
    "Invalid CSV in a.csv, line 2": {"a__csv": 'x,y\n"1,2\n'},
    "has no rows below its header": {"a__csv": '{"a": 1}\n'},
}


@pytest.mark.parametrize("problem", BAD)
def test_bad_files_are_named(problem: str, tmp_path: Path, here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tables(tmp_path, **BAD[problem]))
    done = here("ingest", "csv", "a.csv", "-o", "out.kb")
    assert done.returncode != 0
    assert problem in " ".join(done.stderr.split())
    assert not Path("out.kb").exists()


def test_options_for_files_without_header_and_with_short_rows(tmp_path: Path) -> None:
    folder = tables(tmp_path / "given", a__csv="1,2\n3\n")
    options = {"header": "none", "ragged": "pad"}
    with kbkit.ingest("csv", folder, out=tmp_path / "kb", stores=["tables"], options=options) as kb:
        assert kb.sql("SELECT * FROM data.a").rows() == [(1, 2), (3, None)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "Table 'T_0' is not valid JSON"),
        ("[]", "no header and data"),
        ('{"header": [], "data": []}', "Missing header"),
    ],
)
def test_bad_tables_of_hybridqa(text: str, problem: str, tmp_path: Path) -> None:
    tables(tmp_path / "tables_tok", T_0__json=text)
    with pytest.raises(BadInputError, match=problem):
        kbkit.ingest("hybridqa", tmp_path, out=tmp_path / "kb", stores=["tables"])


def test_a_record_without_a_table(tmp_path: Path) -> None:
    tables(tmp_path, q__jsonl='{"id": "x", "table": "{}", "question": "?"}\n')
    with pytest.raises(BadInputError, match="Question x has no table"):
        kbkit.ingest("tablebench", tmp_path, out=tmp_path / "kb", stores=["tables"])


def test_a_large_table_keeps_its_order(tmp_path: Path) -> None:
    with (tmp_path / "long.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([["n", "text"], *([i, f"row {i}"] for i in range(25_000))])
    with kbkit.ingest("csv", tmp_path / "long.csv", out=tmp_path / "kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT n FROM data.long")["n"].to_list() == list(range(25_000))
