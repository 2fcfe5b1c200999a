"""Tables that name other things in columns of their own: which columns become nodes with attributes, and which stay."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.ingestion.inference import infer
from kbkit.ingestion.inference.dependent import dependents
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.recipe import FileSpec
from kbkit.ingestion.request import Corrections
from tests.examples import examples
from tests.ingestion.test_exports import Files, Nodes, check_export, written

COUNTRIES = [("Kenya", "KE", "Africa"), ("Peru", "PE", "America"), ("Nepal", "NP", "Asia"), ("Chad", "TD", "Africa")]
TEAMS = [(1, "Ely"), (2, "Oak"), (3, "Ash"), (4, "Fir"), (5, "Elm")]
PEOPLE = [("K1", "Ann", "a@x"), ("K2", "Bo", "b@x"), ("K3", "Cy", "c@x"), ("K4", "Di", "d@x")]
GOODS = [(11, "Lamp", 12.5), (12, "Desk", 80.0), (13, "Chair", 33.0)]


def table(header: str, rows: Sequence[Sequence[object]]) -> str:
    """Return a CSV file."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header.split(","), *rows])
    return out.getvalue()


CITIES: Files = {
    "cities.csv": table(
        "city_id,name,country,country_code,continent,people",
        [(n, f"City{n}", *COUNTRIES[n % 4], n * 7919 % 100) for n in range(1, 25)],
    )
}
ORDERS: Files = {
    "orders.csv": table(
        "order_id,day,customer_id,customer_name,customer_email,product_id,product_name,product_price,amount,status",
        [(n, f"2024-03-{n % 28 + 1:02}", *PEOPLE[n * 7 % 4], *GOODS[n % 3], n % 5, "new") for n in range(1, 41)],
    )
}
MATCHES: Files = {
    "matches.csv": table(
        "match_id,day,home_team_id,home_team_name,home_team_city,away_team_id,away_team_name,goals,referee",
        [
            (n, f"2024-01-{n % 28 + 1:02}", *TEAMS[n % 5], f"{TEAMS[n % 5][1]}ton", *TEAMS[(n * n + 1) % 5], n % 4, "")
            for n in range(30)
        ],
    )
}
PAINTINGS: Files = {
    "paintings.csv": table(
        "No,Title,Artist,ArtistBio,Born,Height",
        [(f"P-{n}", f"Untitled {n}", f"Artist {n % 6}", f"Born in {n % 6}ton", 1900 + n % 6, n) for n in range(30)],
    )
}
VISITS: Files = {
    "visits.csv": table(
        "visit_id,day,doctor_id,doctor_first_name,doctor_last_name,doctor_field,ward_code,ward_name",
        [
            (n, f"2024-03-{n % 28 + 1:02}", 900 + n % 4, f"Ann{n % 4}", f"Lee{n % 4}", ["Heart", "Skin"][n % 2],
             *[("E", "East"), ("W", "West")][n * 7 // 3 % 2])
            for n in range(40)
        ],
    )
}  # fmt: skip
CATEGORIES: Files = {
    "categories.csv": table(
        "category_id,category_name,parent_id,parent_name",
        [(n, f"Group {n}", *((n % 3 + 1, f"Group {n % 3 + 1}") if n > 3 else ("", ""))) for n in range(1, 20)],
    )
}


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            ORDERS, {"order": 40, "customer": 4, "product": 3},
            {"order customer customer 40", "order product product 40"},
            {"customer#K1": {"name": "Ann", "email": "a@x"}, "product#12": {"name": "Desk", "price": 80.0}},
            id="orders",
        ),
        pytest.param(
            VISITS, {"visit": 40, "doctor": 4, "ward": 2}, {"visit doctor doctor 40", "visit ward ward 40"},
            {"doctor#902": {"name": "Ann2 Lee2", "field": "Heart"}, "ward#E": {"name": "East"}}, id="visits",
        ),
        pytest.param(
            PAINTINGS, {"painting": 30, "artist": 6}, {"painting artist artist 30"},
            {"artist#Artist 2": {"bio": "Born in 2ton"}, "painting#P-7": {"Born": 1901}}, id="paintings",
        ),
        pytest.param(
            CATEGORIES, {"category": 19}, {"category parent category 16"}, {"category#9": {"name": "Group 9"}},
            id="categories",
        ),
    ],
)  # fmt: skip
def test_things_that_a_wide_table_names_become_nodes(
    files: Files, types: dict[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_a_second_identifier_is_an_attribute(tmp_path: Path) -> None:
    rows = [(n, 70 + n % 4, f"C-{n % 4}", f"Ann {n % 4}", n * 7) for n in range(40)]
    files = {"sales.csv": table("sale_id,customer_key,customer_id,customer_name,total", rows)}
    with kbkit.ingest(str(written(tmp_path / "in", files)), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        customers = {t.name: t.members for t in kb.schema.node_types}["customer"]
        values = kb.sql("SELECT * FROM customer").to_dicts()
    assert customers == 4
    assert all({"Ann 1", "C-1"} <= set(one.values()) for one in values if one["name"] == "Ann 1")
    assert [one["name"] for one in values] == [f"Ann {n}" for n in range(4)]


def test_things_in_two_columns_are_of_one_type(tmp_path: Path) -> None:
    with kbkit.ingest(str(written(tmp_path / "in", MATCHES)), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert {one.name: one.members for one in kb.schema.node_types if one.members} == {"team": 5}
        assert {name: kb.node(f"team#{name}").attributes["city"] for name in ("1", "5")} == {
            "1": "Elyton",
            "5": "Elmton",
        }


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(n, n % 4, f"N{n % 4}{n // 20}") for n in range(30)], id="two names"),
        pytest.param([(n, n, f"N{n}") for n in range(30)], id="no repetition"),
        pytest.param([(n, n % 2, f"N{n % 2}") for n in range(4)], id="few rows"),
        pytest.param([(n, n % 4, "N") for n in range(30)], id="one name"),
    ],
)
def test_weak_evidence_makes_no_nodes(rows: Sequence[Sequence[object]], tmp_path: Path) -> None:
    folder = written(tmp_path, {"visits.csv": table("visit_id,shop_id,shop_name", rows)})
    assert [one.table.type for one in infer([folder], "x").plan.nodes] == ["visit"]


def test_what_depends_on_a_column_of_nodes_goes_with_it(tmp_path: Path) -> None:
    source = written(tmp_path / "in", CITIES)
    told: dict[str, Any] = {"nodes": ["cities.country"]}
    with kbkit.ingest(str(source), out=tmp_path / "x.kb", stores=["tables"], **told) as kb:
        assert kb.node("country#Peru").attributes == {"country_code": "PE", "continent": "America"}
        assert set(kb.node("city#1").attributes) == {"people"}
        assert kb.sql("SELECT count(*) AS n FROM country").rows() == [(4,)]


@pytest.mark.parametrize(
    ("told", "country", "city"),
    [
        ({"texts": ("cities.continent",)}, ["country_code"], ["people"]),
        ({"omit": ("cities.continent",)}, ["country_code"], ["people"]),
        ({"nodes": ("cities.country", "cities.continent")}, ["country_code"], ["people"]),
        ({"named": {"cities": "country_code"}}, ["continent"], ["name", "people"]),
    ],
)
def test_columns_that_the_user_names_stay(
    told: dict[str, tuple[str, ...]], country: list[str], city: list[str], tmp_path: Path
) -> None:
    corrections = Corrections(**{"nodes": ("cities.country",), **told})  # type: ignore[arg-type]
    plan = infer([written(tmp_path, CITIES)], "x", corrections).plan
    values = {one.table.type: one.values for one in plan.nodes}
    assert values == {"country": country, "city": city}


def test_the_same_column_of_two_tables_makes_one_type(tmp_path: Path) -> None:
    rivers = table("river_id,name,country", [(n, f"River{n}", ["Peru", "Oman"][n % 2]) for n in range(1, 9)])
    source = written(tmp_path / "in", {**CITIES, "rivers.csv": rivers})
    told: dict[str, Any] = {"nodes": ["cities.country", "rivers.country"]}
    with kbkit.ingest(str(source), out=tmp_path / "x.kb", stores=["tables"], **told) as kb:
        assert {one.name: one.members for one in kb.schema.node_types} == {"city": 24, "river": 8, "country": 5}
        assert kb.node("country#Oman").attributes == {}


def test_more_columns_go_to_things_that_were_found(tmp_path: Path) -> None:
    told: dict[str, Any] = {"nodes": ["paintings.Artist"]}
    source = str(written(tmp_path / "in", PAINTINGS))
    with kbkit.ingest(source, out=tmp_path / "x.kb", stores=["tables"], **told) as kb:
        assert kb.node("artist#Artist 2").attributes == {"bio": "Born in 2ton", "Born": 1902}


@examples(30)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from([None, "x", "y", "z"]), st.integers(0, 3).map(str)),
        min_size=1,
        max_size=40,
    )
)
def test_a_column_depends_on_another_only_without_exception(rows: list[tuple[str, str | None, str]]) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (k VARCHAR, v VARCHAR, w VARCHAR, u VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, upper(?))", [(*row, row[0]) for row in rows])
        columns = {name: ProfiledColumn(name, "VARCHAR", len(rows), 3, "text", value=name) for name in "kvwu"}
        profiled = ProfiledTable("t", FileSpec("t", ("",)), rows=len(rows), columns=columns)
        found = {one.name for one in dependents(con, profiled, columns["k"], list(columns.values()))}
    values = {name: {k: {row[n] for row in rows if row[0] == k} for k in "abc"} for name, n in (("v", 1), ("w", 2))}
    exact = {name for name, of in values.items() if all(len(some) <= 1 for some in of.values())}
    assert found <= {*exact, "u"}
    assert ("u" in found) >= (len(rows) >= 35 and len({row[0] for row in rows}) == 3 and _balanced(rows))


def _balanced(rows: Sequence[tuple[str, str | None, str]]) -> bool:
    """Return whether no first value is in most of the rows."""
    return all(2 * sum(row[0] == k for row in rows) <= len(rows) for k in "abc")
