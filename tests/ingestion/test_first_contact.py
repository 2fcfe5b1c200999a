"""Folders as people have them: files of one kind beside each other, formats of other programs, names in columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kbkit.errors import BadInputError
from kbkit.ingestion.inference import infer
from tests.ingestion.test_exports import Files, Nodes, check_export, written


def _issues(project: str, first: int) -> str:
    rows = "".join(
        f"Mend part {n} of {project},{project}-{n},{900 + n + first},open,{project}-{n % 5 + 1},0{n % 9 + 1}/Jun/23\n"
        for n in range(1, 11)
    )
    return f"Summary,Issue key,Issue id,Status,Outward issue link (Blocks),Created\n{rows}"


ISSUES: Files = {
    "Tracker export - ELM 2024-11-02.csv": _issues("ELM", 0),
    "Tracker export - OAK 2024-11-02.csv": _issues("OAK", 50),
}
SAME_HEADERS: Files = {
    f"reedwood_{kind}.csv": "id,name,address,city,phone\n"
    + "".join(f"{kind[0]}{n},{kind} {n},Way {n},Elm,0{n}\n" for n in range(5))
    for kind in ("buyers", "sellers")
}


NUMBERED: Files = {
    "shop_orders.csv": "id,day,sum,state\n" + "".join(f"{n},2024-01-0{n},{n}5,open\n" for n in range(1, 7)),
    "web_orders.csv": "id,day,sum,state\n" + "".join(f"{n},2024-02-0{n},{n}7,open\n" for n in range(1, 7)),
    "parcels.csv": "parcel_id,web_order_id,weight\n" + "".join(f"P{n},{n},1.{n}\n" for n in range(1, 7)),
}


def _board(name: str, number: int) -> dict[str, Any]:
    """Return the export of a board whose members are those of other boards, too."""
    own = f"b0ard{number}"
    return {
        "id": own,
        "name": name,
        "desc": f"About {name}",
        "prefs": {"colour": "blue"},
        "lists": [{"id": f"l{number}{n}", "name": f"List {n}", "idBoard": own} for n in range(2)],
        "people": [{"id": f"p{n}", "fullName": f"Ann Lee {n}", "initials": f"A{n}"} for n in range(3)],
        "cards": [
            {"id": f"c{number}{n}", "name": f"Card {n}", "idBoard": own, "idList": f"l{number}{n % 2}",
             "idPeople": [f"p{n % 3}"]}
            for n in range(6)
        ],
    }  # fmt: skip


BOARDS: Files = {"Spring.json": _board("Spring", 1), "shed-roof.json": _board("Shed roof", 2)}

TIES: Files = {
    "nodes.csv": "Id,Label,Degree\n" + "".join(f"{n},Ann Lee {n},{n % 4}\n" for n in range(1, 13)),
    "edges.csv": "Source,Target,Type,Id,Label,Weight\n"
    + "".join(f"{n},{n % 12 + 1},Undirected,{n},{'met' if n % 2 else ''},{n}.5\n" for n in range(1, 13)),
    "seats.csv": "person_id,club_id,role\n" + "".join(f"{n % 12 + 1},c{n % 3},{'ab'[n % 2]}\n" for n in range(16)),
    "clubs.gexf": '<gexf><graph defaultedgetype="directed"><attributes class="node"><attribute id="0" title="founded"'
    ' type="integer"/></attributes><nodes>'
    + "".join(
        f'<node id="c{n}" label="Club {n}"><attvalues><attvalue for="0" value="199{n}"/></attvalues></node>'
        for n in range(3)
    )
    + '</nodes><edges><edge source="c0" target="c1" weight="2.0"/></edges></graph></gexf>',
}
SENSORS: Files = {
    "nodes.csv": "id,label\n" + "".join(f"{n},Node {n}\n" for n in range(1, 40)),
    "readings.csv": "no,sensor_id,value\n" + "".join(f"R{n},{n % 9 + 1},{n}.5\n" for n in range(40)),
}
CODES: Files = {
    f"lands.{language}.json": {code: f"{code} {language}" for code in ("AD", "AE", "AF", "AG", "AL", "AM", "AO")}
    for language in ("en", "de")
}
TASKS: Files = {
    "tasks.csv": "no,title,reporter,assignee,owner_name,author\n"
    + "".join(f"T{n},Mend {n},{'abcd'[n % 4]}.lee,{'abc'[n % 3]}.lee,{'xyz'[n % 3]},Ann {n}\n" for n in range(18)),
    "goods.csv": "sku,maker,seller,buyer\n" + "".join(f"S{n}A,m{n % 4},v{n % 4},w{n % 4}\n" for n in range(16)),
}

GOODS: Files = {
    "range.xml": "<shop><articles>"
    + "".join(
        f'<article sku="AR-20{n}"><name>Old {n}</name>'
        + (f'<also><articleRef sku="AR-20{n - 1}"/><articleRef sku="AR-20{n - 2}"/></also>' if n > 12 else "")
        + "</article>"
        for n in range(10, 20)
    )
    + "</articles></shop>",
    "moves.csv": "no,article,change,phone\n"
    + "".join(f"M{n},AR-201{n},{'+' if n % 3 else '-'}{n + 1},+4930123456{n}\n" for n in range(10)),
}
AREAS: Files = {
    "areas.geojson": {"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"no": n, "area_code": f"W0{n}", "title": f"Ward {'abcdefgh'[n]}"},
         "geometry": {"type": "Polygon", "coordinates": [[[1.5, 53.8], [1.6, 53.8], [1.6, 53.9], [1.5, 53.8]]]}}
        for n in range(1, 8)
    ]},
    "trees.geojson": {"type": "FeatureCollection", "features": [
        {"type": "Feature", "id": n, "properties": {"tree_ref": f"T-00{n}", "area_code": f"W0{n % 7 + 1}"},
         "geometry": {"type": "Point", "coordinates": [1.5, 53.8]}}
        for n in range(1, 30)
    ]},
    "checks.csv": "check id,tree ref\n" + "".join(f"C{n},T-00{n % 29 + 1}\n" for n in range(1, 40)),
}  # fmt: skip
TIMES: Files = {
    "people.json": [
        {"id": f"U0{n}", "name": "ann", "real_name": f"Ann Lee {n}", "updated": 1700786453 + n, "stars": 1700000000}
        for n in range(6)
    ],
    "posts.json": [
        {"ts": f"170954283{n}.349488", "people": f"U0{n % 6}", "thread_ts": f"170954283{n - n % 3}.349488",
         "edited_at": 1709542833123 if n else 0, "text": "Tea?"}
        for n in range(10)
    ],
    "staff.csv": "id,name,boss\n" + "".join(f"S0{n},Bo {n},S0{n if n == 3 else max(n // 2, 1)}\n" for n in range(1, 8)),
}  # fmt: skip
CLASHES: Files = {
    "books.csv": "id,title,date,size,phone\n"
    + "".join(
        f"B{n},Reeds {n},{'May 2009' if n % 2 else '2010-05-01'},{'big' if n % 2 else 'small'},0{n}a\n"
        for n in range(6)
    ),
    "talks.csv": "id,title,date,size,phone,book_id\n"
    + "".join(f"T{n},On reeds {n},1{n}/03/2024,{n}5,4930{n},B{n}\n" for n in range(6)),
    "games.csv": "no,date,home\n" + "".join(f"G{n},1{n}/08/{'23' if n == 3 else '2023'},Elm\n" for n in range(6)),
}


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            ISSUES, {"issue": 20}, {"issue blocks issue 20"},
            {"issue#ELM-3": {"Issue id": "903", "file": "Tracker export - ELM 2024-11-02"}}, id="issues",
        ),
        pytest.param(
            NUMBERED, {"shop_order": 6, "web_order": 6, "parcel": 6}, {"parcel web_order web_order 6"}, {},
            id="numbered",
        ),
        pytest.param(CODES, {"lands_en": 7, "lands_de": 7}, set(), {}, id="codes"),
        pytest.param(SENSORS, {"node": 39, "reading": 40}, set(), {}, id="sensors"),
        pytest.param(SAME_HEADERS, {"reedwood_buyer": 5, "reedwood_seller": 5}, set(), {}, id="same_headers"),
        pytest.param(
            BOARDS, {"board": 2, "list": 4, "person": 3, "card": 12},
            {"list board board 4", "card board board 12", "card list list 12", "card person person 12"},
            {"board#b0ard2": {"name": "Shed roof", "desc": "About Shed roof"}}, id="boards",
        ),
        pytest.param(
            {"Spring.json": BOARDS["Spring.json"]}, {"board": 1, "list": 2, "person": 3, "card": 6},
            {"list board board 2", "card board board 6", "card list list 6", "card person person 6"}, {}, id="board",
        ),
        pytest.param(
            TIES, {"person": 12, "club": 3}, {"person link person 12", "person seats club 12", "club link club 1"},
            {"person#1": {"name": "Ann Lee 1", "Degree": 1}, "club#c2": {"name": "Club 2", "founded": 1992}}, id="ties",
        ),
        pytest.param(
            TASKS, {"task": 18, "good": 16, "person": 4}, {"task reporter person 18", "task assignee person 18"},
            {"task#T1": {"author": "Ann 1", "owner_name": "y"}}, id="tasks",
        ),
        pytest.param(
            GOODS, {"article": 10, "move": 10}, {"article also_article article 14", "move article article 10"},
            {"move#M0": {"change": -1, "phone": "+49301234560"}, "move#M1": {"change": 2}}, id="goods",
        ),
        pytest.param(
            AREAS, {"area": 7, "tree": 29, "check": 39}, {"tree area area 29", "check tree tree 39"},
            {"area#W01": {"name": "Ward b"}, "tree#T-001": {"latitude": 53.8}}, id="areas",
        ),
        pytest.param(
            TIMES, {"person": 6, "post": 10, "staff": 7},
            {"post person person 10", "post thread post 6", "staff boss staff 7"},
            {"person#U01": {"name": "Ann Lee 1", "updated": "2023-11-24 00:40:54", "stars": 1700000000},
             "post#1709542830.349488": {"time": "2024-03-04 09:00:30.349000"},
             "post#1709542831.349488": {"edited_at": "2024-03-04 09:00:33.123000"}}, id="times",
        ),
        pytest.param(
            CLASHES, {"book": 6, "talk": 6, "game": 6}, {"talk book book 6"},
            {"book#B1": {"book_date": "May 2009", "book_size": "big"}, "game#G3": {"date": "2023-08-13"},
             "talk#T1": {"date": "2024-03-11", "size": 15, "phone": "49301"}}, id="clashes",
        ),
    ],
)  # fmt: skip
def test_a_folder_is_read_as_a_person_reads_it(
    files: Files, types: dict[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_files_with_the_same_numbers_of_different_records_stay_apart(tmp_path: Path) -> None:
    pages = {
        f"{word}.json": {
            "plants": [{"id": n, "name": f"{word} {n}", "size": n * factor} for n in range(1, 6)],
            "beds": [{"id": n, "title": f"{word} bed {n}", "plant_id": n} for n in range(1, 6)],
        }
        for factor, word in enumerate(("north", "south"), 2)
    }
    found = infer([written(tmp_path, pages)], "x")
    assert [table.rows for table in found.tables] == [5, 5, 5, 5]


def test_a_large_file_of_another_format_is_not_passed_over(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"notes.csv": "no,text\n1,a\n2,b\n"})
    (folder / "survey.sav").write_bytes(bytes(5000))
    with pytest.raises(
        BadInputError, match=r"survey.sav, the largest file, cannot be read: its format is .sav"
    ) as error:
        infer([folder], "x")
    assert "name the files to read instead of the folder" in str(error.value)
    assert infer([folder / "notes.csv"], "x").tables[0].rows == 2
    (folder / "survey.csv").write_text("id,age\n1,30\n", encoding="utf-8")  # the same in another format
    assert len(infer([folder], "x").tables) == 2


def test_columns_of_people_are_named(tmp_path: Path) -> None:
    films = "id,title,director,studio_id\n" + "".join(f"F{n},Film {n},Ann Lee {n % 3},S{n % 2}\n" for n in range(9))
    studios = "id,name\nS0,Elm\nS1,Oak\n"
    notes = infer([written(tmp_path, {"films.csv": films, "studios.csv": studios})], "x").notes
    assert notes == ["Columns of people that could be nodes (--node): films.director"]
