"""Tables as SKA-Bench uses them: kinds of columns, headers in words, tables of a KB, and node types as tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.benchmarks.ska.tables import columns, fit
from kbkit.benchmarks.ska.tables import sources as tables
from kbkit.benchmarks.ska.tables.columns import columns_of, kind_of, number_in, spoken
from kbkit.benchmarks.ska.tables.data import TableData
from kbkit.benchmarks.ska.tables.fit import problem, without_numbering
from kbkit.kb import KnowledgeBase

# -- columns ----------------------------------------------------------------------------------------------------------

CASES = [
    ("Nation", ["Chad", "Mali", "Niger", "Togo"], "key"),
    ("Nation", ["Chad", "Mali", "Mali", "Togo", "Togo", "Togo"], "category"),
    ("Winner", ["Ann", "Bob", "Cid", "Dan", "Eve", "Ann"], "name"),
    ("Population", ["1,204", "12,345,678", "", "900"], "number"),
    ("Change", ["+3", "-4", "−5", "0"], "number"),
    ("Share", ["12%", "7.5%", "100%"], "number"),
    ("Prize", ["$1,000", "$250", "$3,000,000"], "number"),
    ("Length", ["12 km", "3 km", "4 km"], "number"),
    ("Length", ["12 km", "3 mi", "4 km"], "code"),
    ("Score", ["8–4", "9–3", "10–2"], "code"),
    ("Rank", ["1", "2", "3"], "code"),
    ("Works number", ["283", "316", "317"], "code"),
    ("Founded", ["1850", "1999", "2010"], "year"),
    ("Season", ["1850", "1999", ""], "year"),
    ("Runs", ["1850", "1990", "325"], "number"),
    ("Established", ["8 November 1986", "24 April 1976", "1 May 1990"], "date"),
    ("Date", ["May 3", "June 4", "May 3"], "date"),
    ("Born", ["2010-04-12", "1999-12-31"], "date"),
    ("Notes", ["A long remark on what happened in that year", "Another long remark on a later year"], "text"),
    ("Guests", ["Ann Bell, Bob Crane", "Cid Dunn, Eve Fox"], "text"),
    ("Type", ["Primary", "Primary", "Primary"], "constant"),
    ("Web", ["", "", ""], "constant"),
]


@pytest.mark.parametrize(("name", "cells", "kind"), CASES)
def test_the_kind_of_a_column(name: str, cells: list[str], kind: str) -> None:
    assert kind_of(name, cells) == kind


def test_only_the_first_column_that_names_all_rows_is_the_key() -> None:
    rows = [["x", "Ann", "Roe", "Lyon"], ["y", "Bob", "Poe", "Nice"], ["x", "Cid", "Moe", "Metz"]]
    kinds = [column.kind for column in columns_of(["Group", "Player", "Coach", "Venue"], rows)]
    assert kinds[1:] == ["key", "name", "name"]
    assert columns_of(["Venue", "Player"], [["Lyon", "Ann"], ["Nice", "Bob"]])[1].kind == "key"


HEADERS = [
    ("area_km2", "area", "square kilometres"),
    ("Area (km²)", "area", "square kilometres"),
    ("Weight (lbs.)", "weight (lbs.)", ""),
    ("Winning team score", "winning team score", ""),
    ("Goals For", "goals scored", ""),
    ("FA Cup Apps", "FA cup appearances", ""),
    ("Producer(s)", "producer", ""),
    ("Win %", "win percentage", ""),
    ("Visitation (2009)", "visitation in 2009", ""),
    ("Number of Votes", "votes", ""),
    ("duration_minutes", "duration", "minutes"),
    ("Pts", "points", ""),
]


@pytest.mark.parametrize(("header", "noun", "unit"), HEADERS)
def test_headers_in_words(header: str, noun: str, unit: str) -> None:
    assert spoken(header) == (noun, unit)


@pytest.mark.parametrize("header", ["#", "2.05", "Time / behind", "W–L", "Wheel Arr.", "Notes", "A", "2nd Runner-up"])
def test_headers_that_no_question_can_use(header: str) -> None:
    [column] = columns_of([header], [["Ann"], ["Bob"], ["Ann"]])
    assert not column.noun


def test_medals_are_called_medals() -> None:
    found = columns_of(["Nation", "Gold", "Silver", "Bronze", "Total"], [["Chad", "1", "2", "3", "6"]])
    assert [column.noun for column in found][1:] == ["gold medals", "silver medals", "bronze medals", "medals"]


@given(st.lists(st.one_of(st.text(max_size=12), st.from_regex(r"[$€]?[+\-−–]?\d{1,3}(,\d{3})*(\.\d{1,2})?( km|%)?",
                                                               fullmatch=True)), max_size=8))  # fmt: skip
def test_sql_reads_the_numbers_that_we_read(cells: list[str]) -> None:
    cells = [cell for cell in cells if "\x00" not in cell]
    column = columns.WebColumn(0, "x", "number", tuple(cells))
    with duckdb.connect() as con:
        rows = con.execute(f"SELECT {column.number_sql} FROM (SELECT unnest($1::VARCHAR[]) AS x)", [cells]).fetchall()
    known = [number_in(cell) for cell in cells]
    assert [row[0] for row in rows] == pytest.approx(known, nan_ok=True) or [row[0] for row in rows] == known


# -- tables -----------------------------------------------------------------------------------------------------------


def table(header: list[str], rows: list[list[str]]) -> TableData:
    return TableData("t", "T", header, rows, list(range(len(rows))))


WIDE = ["Player", "Team", "Goals", "Wins", "Losses", "City"]


def rows(count: int, width: int = 6) -> list[list[str]]:
    first = ["Ann Roe", "Bob Poe", "Cid Moe", "Dan Loe", "Eve Koe", "Flo Joe", "Gus Hoe", "Hal Goe", "Ida Foe"]
    made = [[first[i], "Reds", str(i), str(2 * i), "3", "Lyon"][:width] for i in range(count)]
    return [row + ["x"] * (width - 6) for row in made]


def test_tables_that_are_left_out() -> None:
    assert not problem(table(WIDE, rows(9)))
    assert problem(table(WIDE[:5], rows(9, 5))) == fit.SMALL
    assert problem(table(WIDE, rows(7))) == fit.SMALL
    assert problem(table([*WIDE, "Record"], rows(9, 7))) == fit.ORDERED
    ditto = [*rows(8), ["Ida Foe", '"', "1", "2", "3", "Lyon"]]
    assert problem(table(WIDE, ditto)) == fit.DITTO
    assert problem(table(WIDE, [*rows(8), rows(1)[0]])) == fit.NO_KEY
    assert problem(table([*WIDE[:5], "goals"], rows(9))) == fit.CASE


def test_columns_that_number_the_rows_and_totals_are_left_out() -> None:
    numbered = [[f"{i}th", *row] for i, row in enumerate(rows(9), 4)]
    data = table(["Rank", *WIDE], [*numbered, ["", "Total", "", "36", "72", "27", ""]])
    found = without_numbering(data)
    assert found.header == WIDE
    assert found.rows == rows(9)
    assert found.places == list(range(9))
    shuffled = table(["Rank", *WIDE], [numbered[i] for i in (3, 1, 2, 0, 4, 5, 6, 7, 8)])
    assert without_numbering(shuffled).header[0] == "Rank"  # it does not say where the row stands


def test_links_follow_their_cells() -> None:
    numbered = [[str(i), *row] for i, row in enumerate(rows(9), 1)]
    links = [
        tables.Linked(8, 1, "person#9", "text", "Ida Foe", "Ida."),
        tables.Linked(0, 0, "n#1", "text", "1", "One."),
    ]
    data = TableData("t", "T", ["#", *WIDE], [["", "Total", *[""] * 5], *numbered[1:]], list(range(9)), links)
    found = without_numbering(data)
    assert [(link.row, link.column, found.rows[link.row][link.column]) for link in found.passages] == [
        (7, 0, "Ida Foe")
    ]


# -- node types -------------------------------------------------------------------------------------------------------


def test_a_node_type_as_a_table(world: KnowledgeBase) -> None:
    found = tables.of_type(world, world.schema.type("country"))
    assert found.title == "Countries"
    assert found.noun == "country"
    cells = {row[0]: dict(zip(found.header, row, strict=True)) for row in found.rows}
    assert len(cells) == len(found.rows) == world.schema.type("country").count
    assert cells["France"]["Area (km²)"] == "643,801"
    assert cells["France"]["Capital"] == "Paris"
    assert cells["France"]["Currency"] == "Euro"
    assert cells["South Africa"]["Capital"].count(", ") == 2
    assert cells["Vatican City"]["Area (km²)"] == "0.49"
    assert cells["Vatican City"]["Capital"] == "Vatican City"
    titles = {link.title for link in found.passages}
    shown = {cell for row in found.rows for text in row for cell in (text, *text.split(", "))}
    assert titles <= shown
    assert found.text_noun == "description"


def test_a_type_with_few_columns_has_those_of_what_it_names(world: KnowledgeBase) -> None:
    found = tables.of_type(world, world.schema.type("mountain"))
    cells = {row[0]: dict(zip(found.header, row, strict=True)) for row in found.rows}
    assert cells["Mount Kenya"]["Country"] == "Kenya"
    assert cells["Mount Kenya"]["Capital of the country"] == "Nairobi"
    assert cells["Mont Blanc"]["Country"] == "France, Italy"
    assert not cells["Mont Blanc"]["Capital of the country"]  # it would not say of which


def test_a_large_type_is_sampled(world: KnowledgeBase) -> None:
    country = world.schema.type("country")
    one, two = (tables.of_type(world, country, most=20) for _ in range(2))
    assert one == two
    assert len(one.rows) == 20


def test_types_that_are_too_small_are_counted(world: KnowledgeBase) -> None:
    reasons: Counter[str] = Counter()
    found = list(tables.tables(world, reasons))
    assert [one.id for one in found] == ["type/country", "type/city", "type/mountain"]
    assert reasons[fit.SMALL] == 7
    assert reasons[fit.MIXED] == 1  # seas: oceans, gulfs, bays and straits


# -- tables of a KB ---------------------------------------------------------------------------------------------------

LOAD = """
CREATE TABLE nodes AS SELECT 'person' AS type, 'p' || i AS key, 'P' || i AS name FROM range(3) t(i);
CREATE TABLE edges (head_type VARCHAR, head VARCHAR, relation VARCHAR, tail_type VARCHAR, tail VARCHAR);
CREATE TABLE texts AS SELECT 'person' AS type, 'p0' AS key, 'text' AS field, 'A text.' AS text;
CREATE TABLE tables AS
SELECT * FROM (VALUES ('b', 'Players', ['Player', 'Team', 'Goals', 'Wins', 'Losses', 'City']),
    ('a', 'Small', ['X', 'Y'])) t(table_id, title, header);
CREATE TABLE table_rows AS
SELECT 'b' AS table_id, i AS position, [['Ann', 'Bob', 'Cid', 'Dan', 'Eve', 'Flo', 'Gus', 'Hal', 'Ida'][i + 1], 'Reds',
    i::VARCHAR, '2', '', 'Lyon'] AS cells FROM range(9) t(i) ORDER BY i DESC;
CREATE TABLE passages AS
SELECT 'b' AS table_id, 2::BIGINT AS position, 0::BIGINT AS column_number, 'person#p0' AS node, 'text' AS field,
    'Cid' AS title, 'A text.' AS text;
"""


def test_the_tables_of_a_kb(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    files = '[files.people]\nmatch = ["people.csv"]\n'
    extra = 'extra_tables = ["tables", "table_rows", "passages"]'
    (recipe / "recipe.toml").write_text(f'title = "Tables"\n{extra}\n{files}')
    (tmp_path / "people.csv").write_text("name\nAnn\n")
    (recipe / "load.sql").write_text(LOAD)
    with kbkit.ingest(
        str(recipe), tmp_path / "people.csv", out=tmp_path / "t.kb", stores=("tables", "adjacency", "text")
    ) as kb:
        reasons: Counter[str] = Counter()
        [found] = tables.tables(kb, reasons)
    assert reasons == {fit.SMALL: 1}
    assert (found.id, found.title, found.header) == ("b", "Players", WIDE)
    assert [row[0] for row in found.rows] == ["Ann", "Bob", "Cid", "Dan", "Eve", "Flo", "Gus", "Hal", "Ida"]
    assert found.places == list(range(9))
    assert found.texts == [tables.Linked(2, 0, "person#p0", "text", "Cid", "A text.")]
