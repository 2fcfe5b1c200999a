"""What the names of columns and of fields say: names of rows, parents, years, abbreviations, maps of records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.ingestion.inference import infer, names
from tests.examples import examples
from tests.ingestion.test_exports import Files, Nodes, check_export, written
from tests.ingestion.test_wide_tables import table

TICKETS: Files = {
    "tickets.csv": table(
        "Issue key,Issue id,Summary,Parent id,Parent summary",
        [(f"AB-{n}", 9000 + 3 * n, f"Do {n}", *((9003, "Do 1") if n > 3 else ("", ""))) for n in range(1, 11)],
    )
}
PARTS: Files = {
    "parts.csv": table(
        "no,part_code,what,part_code_of_parent",
        [(n, f"P{n}", "Bolt", f"P{n % 3 + 1}" if n > 3 else "") for n in range(1, 11)],
    )
}
SCHOOL: Files = {
    "departments.csv": table("code,name", [("CS", "Computing"), ("MA", "Mathematics"), ("PH", "Physics")]),
    "courses.csv": table("course_code,title,dept", [(f"X{n}", f"C{n}", ["CS", "MA", "PH"][n % 3]) for n in range(9)]),
    "rooms.csv": table(
        "room_no,name,home_dept,department",
        [(n, f"R{n}", ["CS", "MA", "PH"][n % 3], ["Computing", "Physics"][n % 2]) for n in range(9)],
    ),
}
PACKAGES: Files = {
    "packages.json": [
        {
            "name": f"p{n}",
            "license": "MIT",
            "dependencies": {f"p{(n + 1) % 6}": f"^{n}.1", f"p{(n + 2) % 6}": f"^{n}.2"},
        }
        for n in range(6)
    ]
}
LOCK: Files = {
    "lock.json": {
        "name": "app",
        "version": 3,
        "modules": {
            "": {"requires": {"left": "1", "right": "2"}},
            "lib/left": {"release": "0.0", "requires": {"@x/mid": "*"}},
            "lib/right": {"release": "1.0", "requires": {"@x/mid": "*"}},
            "lib/@x/mid": {"release": "1.10"},
            "lib/left/lib/@x/mid": {"release": "1.9"},
        },
    }
}
OTHERS: Files = {
    "tools.json": [
        {"name": f"t{n}", "needs": {f"other-{n}": f"^{n}.0", f"other-{n + 1}": ">=2", f"other-{n % 2}": "*"}}
        for n in range(6)
    ]
}


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(TICKETS, {"ticket": 10}, {"ticket parent ticket 7"}, {"ticket#AB-4": {"Parent summary": "Do 1"}},
                     id="own"),
        pytest.param(PARTS, {"part": 10}, {"part parent part 7"}, {"part#P4": {"what": "Bolt"}}, id="of parent"),
        pytest.param(
            SCHOOL, {"department": 3, "course": 9, "room": 9},
            {"course department department 9", "room home_department department 9", "room department department 9"},
            {}, id="abbreviations",
        ),
        pytest.param(
            PACKAGES, {"package": 6}, {"package dependencies package 12"}, {"package#p1": {"license": "MIT"}},
            id="dependencies",
        ),
        pytest.param(
            LOCK, {"module": 5}, {"module requires module 4"}, {"module#lib/@x/mid": {"release": "1.10"}}, id="lock",
        ),
        pytest.param(
            OTHERS, {"tool": 6}, set(), {"tool#t3": {"needs": ["other-1", "other-3", "other-4"]}}, id="others",
        ),
    ],
)  # fmt: skip
def test_names_say_what_is_meant(
    files: Files, types: dict[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_the_values_of_a_map_are_attributes_of_its_edges(tmp_path: Path) -> None:
    with kbkit.ingest(str(written(tmp_path / "in", PACKAGES)), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        query = "SELECT t.key, value FROM dependencies JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        assert sorted(kb.sql(f"{query} WHERE h.key = 'p5'").rows()) == [("p0", "^5.1"), ("p1", "^5.2")]


def test_a_name_in_a_map_is_that_of_the_nearest_path(tmp_path: Path) -> None:
    with kbkit.ingest(str(written(tmp_path / "in", LOCK)), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        query = "SELECT h.key, t.key FROM requires JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        assert sorted(kb.sql(query).rows()) == [
            ("app", "lib/left"), ("app", "lib/right"), ("lib/left", "lib/left/lib/@x/mid"), ("lib/right", "lib/@x/mid"),
        ]  # fmt: skip


@examples(6)
@given(st.data())
def test_no_map_makes_a_column_for_each_name(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    ids = [f"p{n}" for n in range(8)]
    maps = st.dictionaries(st.sampled_from(ids), st.sampled_from(["1.0", ">=2", "^3"]), min_size=2, max_size=4)
    rows = [{"name": one, "needs": data.draw(maps)} for one in ids]
    path = tmp_path_factory.mktemp("maps") / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    found = infer([path], "x")
    edges = {row["name"]: row["needs"] for row in rows}
    assert [one.values for one in found.plan.edges] == [["value"]]
    assert next(one for one in found.tables if one.name == "needs").rows == sum(map(len, edges.values()))


NAMED: dict[str, tuple[str, list[Any], tuple[str, ...]]] = {
    "station": ("station_id,station_name,docks", [(n, f"Pier {n // 2}", n) for n in range(9)], ("station_name",)),
    "title": ("ref,full_title,year", [(f"R{n}", f"On {n % 5}", 1990 + n) for n in range(9)], ("full_title",)),
    "official": ("iso,official_name,area", [(f"A{n}", f"State of {n % 5}", n) for n in range(9)], ("official_name",)),
    "site": ("code,site_name,depth", [(f"S{n}", f"Site {n}" if n > 2 else "", n) for n in range(9)], ("site_name",)),
    "event": ("id,on,event_title", [(n, "2020-01-01", f"Fair {n % 4}") for n in range(9)], ("event_title",)),
    "person": ("no,first_name,last_name", [(n, f"Ann{n}", f"Lee{n}") for n in range(9)], ("first_name", "last_name")),
    "german": ("nr,Vorname,Name", [(n, f"Ann{n}", f"Lee{n}") for n in range(9)], ("Vorname", "Name")),
    "visitor": ("visit_no,day,guest_name", [(n, f"2020-01-0{n + 1}", f"Ann{n % 3}") for n in range(9)], ()),
}


def test_a_first_name_is_no_key(tmp_path: Path) -> None:
    header, rows, _ = NAMED["person"]
    [nodes] = infer(
        [written(tmp_path, {"people.csv": table(header.removeprefix("no,"), [row[1:] for row in rows])})], "x"
    ).plan.nodes
    assert nodes.key == ()


@pytest.mark.parametrize("case", NAMED)
def test_names_of_rows_are_found_under_many_headers(case: str, tmp_path: Path) -> None:
    header, rows, columns = NAMED[case]
    [nodes] = infer([written(tmp_path, {f"{case}s.csv": table(header, rows)})], "x").plan.nodes
    assert nodes.named == columns


def test_integers_with_missing_ones_are_integers(tmp_path: Path) -> None:
    rows = [(n, "" if n % 4 == 0 else f"{1990 + n}.0", f"{n}.0", f"{n}.5", f"{2000 + n}.0") for n in range(9)]
    folder = written(tmp_path / "in", {"bands.csv": table("no,formed,price,score,birth_year", rows)})
    frame = pl.DataFrame({"no": [1, 2, 3], "floor": [1.0, None, float("nan")], "price": [1.0, 2.0, 3.0]})
    frame.write_parquet(folder / "shops.parquet")
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        kinds = {f"{t.name}.{a.name}": a.type for t in kb.schema.node_types for a in t.attributes}
        assert kb.node("band#1").attributes["formed"] == 1991
    assert {name: kind.upper() for name, kind in kinds.items()} == {
        "band.formed": "BIGINT", "band.price": "DOUBLE", "band.score": "DOUBLE", "band.birth_year": "BIGINT",
        "shop.floor": "BIGINT", "shop.price": "DOUBLE",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "whole", "expected"),
    [("dept", "department", True), ("org", "organization", True), ("mgr", "manager", True), ("kunde", "kunden", False),
     ("pet", "patient", False), ("at", "athlete", False), ("department", "department", False), ("rm", "room", False)],
)  # fmt: skip
def test_abbreviations_are_told_from_other_words(word: str, whole: str, *, expected: bool) -> None:
    assert names.is_abbreviation(word, whole) == expected


@pytest.mark.parametrize(
    ("column", "taught", "is_linked"),
    [
        ("Classroom", range(101, 113), True),
        ("Classroom", [*range(101, 112), 111], False),  # two teachers in a room: whose pupils are they?
        ("Classroom", range(102, 114), False),  # a room that no teacher has
        ("Year", range(2001, 2013), False),
    ],
)
def test_a_column_refers_to_the_only_one_of_its_name_that_never_repeats(
    tmp_path: Path, column: str, taught: range | list[int], is_linked: bool
) -> None:
    first = 2001 if column == "Year" else 101
    pupils = [(n, f"Pupil {n}", first + n % 12) for n in range(40)]
    teachers = [(f"Last{n}", f"First{n}", room) for n, room in enumerate(taught)]
    (tmp_path / "pupils.csv").write_text(table(f"PupilNo,PupilName,{column}", pupils))
    (tmp_path / "teachers.csv").write_text(table(f"LastName,FirstName,{column}", teachers))
    with kbkit.ingest(str(tmp_path), out=tmp_path / "school.kb") as kb:
        assert [relation.name for relation in kb.schema.relations] == [column.lower()] * is_linked


def test_nodes_of_a_known_type_are_the_rows_of_its_table(tmp_path: Path) -> None:
    persons = table("id,full_name", [(f"p{n}", f"Ann {n}") for n in range(4)])
    visits = table("visit,title,person", [(f"v{n}", f"Visit {n}", f"p{n % 5}") for n in range(9)])
    folder = written(tmp_path / "in", {"persons.csv": persons, "visits.csv": visits})
    with kbkit.ingest(folder, out=tmp_path / "out.kb", nodes=["visits.person"], stores=["tables"]) as kb:
        found = kb.sql("SELECT key, name FROM person ORDER BY key").rows()
    assert found == [*((f"p{n}", f"Ann {n}") for n in range(4)), ("p4", "p4")]
