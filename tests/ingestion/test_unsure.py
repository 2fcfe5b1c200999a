"""Guesses that may be wrong are named, each with the option that changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.errors import Option
from kbkit.ingestion.inference import dates, infer
from kbkit.ingestion.inference.unsure import MOST
from kbkit.ingestion.request import Corrections
from tests.ingestion.test_exports import Files, written

ROWS = range(1, 9)
PEOPLE = "id,name,full name\n" + "".join(f"P{n},p{n},Person {'abcdefgh'[n - 1]}\n" for n in ROWS)
SHIPPERS = "shipperID,companyName\n1,Fast\n2,Far\n3,Sure\n"
ORDERS = "orderID,shipVia,desk,rating\n" + "".join(f"{n}{3 * f',{n % 3 + 1}'}\n" for n in range(200, 240))
VISITS = "id,person_id,day\n" + "".join(f"V{n},P{n if n < 8 else 99},{n}/{9 - n}/2024\n" for n in ROWS)


@pytest.mark.parametrize(
    ("files", "message", "option", "corrections"),
    [
        (
            {"visits.csv": VISITS},
            f"visits.day: {dates.UNCLEAR}, and stays text",
            Option("date_order", "dmy"),
            Corrections(date_order="dmy"),
        ),
        (
            {"people.csv": PEOPLE},
            "The names of people are in name, not in full name",
            Option("name_column", "people=full name"),
            Corrections(named={"people": "full name"}),
        ),
        (
            {"parts.csv": "id,weight,material\n" + "".join(f"X{n},{n},oak {'abcdefgh'[n - 1]} wood\n" for n in ROWS)},
            "parts has no column of names; material may be one",
            Option("name_column", "parts=material"),
            Corrections(named={"parts": ""}),
        ),
        (
            {"sites.csv": "spot,depth,permit_number\n" + "".join(f"spot {n},{n},C{n}x\n" for n in ROWS)},
            "The key of sites is spot, but permit_number identifies its rows, too",
            Option("keys", "sites=permit_number"),
            Corrections(keys={"sites": ("permit_number",)}),
        ),
        (
            {"shippers.csv": SHIPPERS, "orders.csv": ORDERS},
            "orders.desk has the keys of shippers, and may refer to it",
            Option("links", "orders.desk=shippers"),
            Corrections(links={"orders.desk": "shippers"}),
        ),
    ],
)
def test_an_unsure_guess_is_named_unless_the_user_decided(
    files: Files, message: str, option: Option, corrections: Corrections, tmp_path: Path
) -> None:
    folder = written(tmp_path, files)
    found = {guess.message: guess.option for guess in infer([folder], "x").unsure}
    assert found[message] == option
    assert message not in {guess.message for guess in infer([folder], "x", corrections).unsure}


FILMS = "film_id,title,director_id,genre\n" + "".join(
    f"f{n},Film {'abcde'[n - 1]},p{n % 4},drama\n" for n in (1, 2, 3, 4, 5)
)
PERSONS = "person_id,name\np1,Ann\np2,Bo\np3,Cy\np6,Di\n"


def test_a_repeated_identifier_and_a_link_that_lacks_a_row_are_named(tmp_path: Path) -> None:
    folder = written(tmp_path, {"films.csv": FILMS.replace("f4,", "f3,"), "people.csv": PERSONS})
    found = {guess.message: guess.option for guess in infer([folder], "x").unsure}
    repeated = "film_id looks like the key of films, but 'f3' is in rows 3 and 4; the key is title"
    link = "films.director_id may refer to people by person_id, but 1 of 4 values are not there: p0"
    assert found == {
        repeated: Option("keys", "films=film_id"),
        link: Option("links", "films.director_id=people"),
    }
    told = Corrections(keys={"films": ("film_id",)}, links={"films.director_id": ""})
    [guess] = infer([folder], "x", told).unsure
    assert guess == ("film_id is the key of films, but 'f3' is in rows 3 and 4", Option("merge_duplicates"))


def test_names_of_several_rows_are_told_and_not_linked(tmp_path: Path) -> None:
    rivers = [{"name": f"River {n}", "mouths": [f"River {n + 1}", f"River {n + 2}"]} for n in range(20)]
    rivers += [{"name": "River 20", "mouths": []}, {"name": "River 21", "mouths": []}]
    one = infer([written(tmp_path / "a", {"rivers.json": rivers})], "x")
    assert [link.target for nodes in one.plan.nodes for _, link in nodes.links] == ["rivers"]
    several = infer([written(tmp_path / "b", {"rivers.json": [*rivers, {"name": "River 7", "mouths": []}]})], "x")
    assert [link for nodes in several.plan.nodes for _, link in nodes.links] == []
    message = "rivers.mouths may refer to rivers by name, but several rows have 'River 7'"
    assert message in {guess.message for guess in several.unsure}


def test_five_guesses_are_named(tmp_path: Path) -> None:
    files = {f"{word}.csv": PEOPLE for word in ("cats", "dogs", "birds", "trees", "roads", "towns", "lakes")}
    assert len(infer([written(tmp_path, files)], "x").unsure) == MOST


def test_values_without_a_row_are_told_and_no_columns_of_figures_are_names(tmp_path: Path) -> None:
    figures = "code,2015,notes_1\n" + "".join(f"{n}.5,a{n} b,x\n" for n in ROWS)
    found = infer([written(tmp_path, {"people.csv": PEOPLE, "visits.csv": VISITS, "rates.csv": figures})], "x")
    told = "Made nodes without attributes for what no row describes: visits.person_id (1 of 8 values are not in people)"
    assert told in found.notes
    assert not any("2015" in guess.message or "person_id" in guess.message for guess in found.unsure)


def test_numbers_named_after_what_the_rows_of_a_table_do_refer_to_it(tmp_path: Path) -> None:
    folder = written(tmp_path, {"shippers.csv": SHIPPERS, "orders.csv": ORDERS})
    [orders] = [nodes for nodes in infer([folder], "x").plan.nodes if nodes.table.name == "orders"]
    assert [(relation, link.columns, link.target) for relation, link in orders.links] == [
        ("ship_via", ("shipVia",), "shippers")
    ]
