"""Folders as other programs export them: what refers to what, whatever the columns are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.ingestion.inference import infer
from tests.ingestion.test_exports import Files, Nodes, check_export, written

PAGE = "https://x.example/"
BY_ADDRESS: Files = {
    "tickets.json": [
        {"url": f"{PAGE}tickets/{n}", "id": 100 + n, "title": f"Ticket {'abcd'[n]}", "page": f"{PAGE}t/{n}"}
        for n in range(4)
    ],
    "remarks.json": [
        {"url": f"{PAGE}remarks/{n}", "id": 500 + n, "ticket_url": f"{PAGE}tickets/{n % 3}", "body": "Yes"}
        for n in range(6)
    ],
}
BY_TEXT: Files = {
    "courses.csv": "code,subject matter,hours\nC1,Linear algebra,40\nC2,Topology of surfaces,20\nC3,Number theory,30\n"
    "C4,Measure theory,25\n",
    "bookings.csv": "no,taught,room\n1,Number theory,12\n2,Linear algebra,13\n3,Number theory,14\n"
    "4,Topology of surfaces,15\n",
}

HEADERS: Files = {
    "poll.csv": 'Sent,Id,Age,Zip\nSent at,Answer Id,"How old\nare you?",Where?\n'
    '"{""part"":""a""}","{""part"":""b""}","{""part"":""c""}","{""part"":""d""}"\n'
    + "".join(f"2024-03-0{n} 10:00:00,R_{n}x,3{n},0213{n}\n" for n in range(1, 7)),
    "water.csv": "time,station,level,flow\nUTC,,m,m3/s\n"
    + "".join(f"2024-03-0{n},Elm,1.{n},{n}0\n" for n in range(1, 7)),
}
OTHER_SHAPES: Files = {
    "papers.json": [
        {"id": "p1", "title": "Reeds", "author": [{"family": "Lee", "given": "Ann"}, {"literal": "Water Board"}],
         "issued": {"date-parts": [["2009", 5, 12]]}, "place": "York, Kent, UK"},
        {"id": "p2", "title": "Dunes", "author": [{"family": "Lee", "given": "Ann"}], "place": "York, Kent, UK",
         "editor": [{"family": "Chen", "given": "Bo"}], "issued": {"date-parts": [["2010", 6, 2]]}},
        {"id": "p3", "title": "Mud", "author": ["Water Board", {"family": "Chen", "given": "Bo"}],
         "issued": {"date-parts": [[2011, 1, 3]]}, "place": "York, Kent, UK"},
    ]
}  # fmt: skip

CHANNELS: Files = {
    "users.json": [{"id": "U01", "name": "ann"}, {"id": "U02", "name": "bo"}],
    "rooms.json": [{"id": "C01", "name": "hall", "seats": 9}, {"id": "C02", "name": "loft", "seats": 4}],
    "hall/2026-10-05.json": [
        {"type": "message", "user": "U01", "ts": "1709539200.000250", "text": "Hello"},
        {"type": "message", "user": "U02", "ts": "1709539201.000100", "text": "Yes", "thread_ts": "1709539200.000250"},
        {"type": "message", "user": "U01", "ts": "1709539207.000300", "text": "No", "thread_ts": "1709539201.000100"},
    ],
    "loft/2026-10-05.json": [
        {"type": "message", "user": "U02", "ts": "1709539202.000400", "text": "Tea?"},
        {"type": "message", "user": "U01", "ts": "1709539203.000500", "text": "Oh", "thread_ts": "1709539202.000400"},
    ],
}
SEEN = [("Dune", 1984), ("Dune", 2021), ("Ran", 1985), ("Reeds", 1990), ("Mud", 2012)]
ROLES: Files = {
    "seen.csv": "When,Name,Year,Page URI\n"
    + "".join(f"2022-01-0{n},{name},{year},https://x.example/{n}\n" for n, (name, year) in enumerate(SEEN)),
    "marks.csv": "When,Name,Year,Page URI,Mark\n"
    + "".join(f"2022-01-0{n},{name},{year},https://x.example/{n},{n}.5\n" for n, (name, year) in enumerate(SEEN[:4])),
    "diary.csv": "Entry Id,Name,Year,Mood\n"
    + "".join(f"E{n},{SEEN[n % 4][0]},{SEEN[n % 4][1]},good\n" for n in range(6)),
}
COURSE: Files = {
    "marks_AB101_20240304-1412.csv": "First name,Last name,ID number,Email address,Essay\n"
    + "".join(f"Ann,{name},00{n},{name.lower()}@x.example,8{n}.5\n" for n, name in enumerate(("Lee", "Chen", "Dow"))),
    "courseid_2417_people.csv": "First name,Last name,Email address,Groups\n"
    + "".join(f'Ann,{name},{name.lower()}@x.example,"a, b"\n' for name in ("Lee", "Chen", "Dow")),
}
GOODS: Files = {
    "goods.csv": "Item No.,Description,Note\n"
    + "".join(f"00{n},Acid {n} L,the same long text that is in all rows of this table and tells nothing\n"
              for n in range(1, 7)),
}  # fmt: skip

BLOCKS: Files = {
    "places.csv": "id,name\n" + "".join(f"P{n},Place {n}\n" for n in range(1, 5)),
    "best.csv": "List export v7\nMade,Name,Note\n2023-05-01,Best,mine\n\nRank,Place,Why\n"
    + "".join(f"{n},P{n},quiet\n" for n in range(1, 5)),
    "deals.csv": "no,type,supplier\n" + "".join(f"D{n},rent,{'ab'[n % 2]}\n" for n in range(1, 5)),
}

NUMBERED: Files = {
    "ships.csv": '"","imo","name"\n' + "".join(f'"{n}","IMO{n}99999","Ship {n}"\n' for n in range(1, 31)),
    "ports.csv": ",port,name\n" + "".join(f"{n},P{n}X,Port {n}\n" for n in range(6)),
    "calls.csv": "X,imo,origin,dest,tons\n"
    + "".join(f"{n},IMO{n}99999,P{n % 6}X,P{n % 8}X,{n}.5\n" for n in range(1, 61)),
}
FLAGGED: Files = {
    "yield.tsv": "crop,freq\\year\tin2014 \tin2015 \n"
    + "".join(
        f"{crop},A\t{10 + n}.{n} \t{f'{n + 1}5 p' if n < 3 else ': c' if n == 4 else f'{n}7 '}\n"
        for n, crop in enumerate(("oats", "rye", "maize", "hops", "beet", "kale", "leek", "peas"))
    ),
}
VESSELS = ("Red canoe", "Old kayak", "Blue sledge", "Grey sledge")
TRIPS: Files = {
    "trips.csv": "Trip ID,Trip Name,Length,Gear,Filename,Length\n"
    + "".join(f"{70 + n},Trip {n % 9},{n}.5,{VESSELS[n % 4]},a/{n}.gpx,{n}500.1\n" for n in range(1, 13)),
    "boats.csv": "Boat Name,Maker\nRed canoe,Elm\nOld kayak,Oak\n",
    "sledges.csv": "Sledge Name,Maker\nBlue sledge,Ash\nGrey sledge,Ash\n",
}
VOTES: Files = {
    "seats.csv": "seat_id,region_id,seat_name,voters\n" + "".join(f"E0{n},R{n % 2},Seat {n},9{n}0\n" for n in range(6)),
    "candidates.csv": "seat_id,region_id,seat_name,firstname,surname,votes\n"
    + "".join(f"E0{n % 6},R{n % 2},Seat {n % 6},Ann,Lee{'abcdefghijklmnopqr'[n]},{n + 1}7\n" for n in range(18)),
}
FOLDED: Files = {
    "FeedItems.csv": "id,title\n" + "".join(f"{n},Item {n}\n" for n in range(11, 21)),
    "Chapters.csv": "id,title,feeditem\n" + "".join(f"{n},Part {n},{11 + n % 10}\n" for n in range(1, 31)),
}

BANDS = ("Red Foxes", "Old Motel", "Grey Choir", "Late Parade", "Tin Tigers", "Elm Street", "Far Lights", "Low Tide",
         "Oak Road", "Blue Hour")  # fmt: skip
GUESTS: Files = {
    "bands.csv": "band_id,band,country\n" + "".join(f"b{n},{band},UK\n" for n, band in enumerate(BANDS)),
    "songs.csv": "song_id,name,band_id,featuring\n"
    + "".join(
        f"s{n:02},Song {n},b{n % 10},{f'{BANDS[n % 10]}; {BANDS[(n + 3) % 10]}' if n < 14 else ''}\n" for n in range(20)
    ),
}


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            BY_ADDRESS, {"ticket": 4, "remark": 6}, {"remark ticket ticket 6"}, {"ticket#101": {"name": "Ticket b"}},
            id="addresses",
        ),
        pytest.param(BY_TEXT, {"course": 4, "booking": 4}, {"booking taught course 4"}, {}, id="texts"),
        pytest.param(
            CHANNELS, {"user": 2, "room": 2, "message": 5},
            {"message user user 5", "message room room 5", "message thread message 3"},
            {"message#1709539200.000250": {"message_type": "message"}}, id="channels",
        ),
        pytest.param(
            BLOCKS, {"place": 4, "best": 4, "deal": 4}, {"best place place 4"}, {"deal#D1": {"deal_type": "rent"}},
            id="blocks",
        ),
        pytest.param(
            ROLES, {"seen": 5, "diary": 6}, {"diary seen seen 6"},
            {"seen#https://x.example/1": {"name": "Dune", "Mark": 1.5}, "diary#E1": {"name": "Dune", "Year": 2021}},
            id="roles",
        ),
        pytest.param(
            COURSE, {"mark": 3}, set(), {"mark#001": {"name": "Ann Chen", "Essay": 81.5, "Groups": ["a", "b"]}},
            id="course",
        ),
        pytest.param(
            GOODS, {"good": 6}, set(), {"good#003": {"name": "Acid 3 L", "Note": "the same long text that is in all"
             " rows of this table and tells nothing"}}, id="goods",
        ),
        pytest.param(
            NUMBERED, {"ship": 60, "port": 8, "call": 60},
            {"call imo ship 60", "call origin port 60", "call dest port 60"},
            {"ship#IMO199999": {"name": "Ship 1"}, "port#P0X": {"name": "Port 0"}}, id="numbered",
        ),
        pytest.param(
            FOLDED, {"feed_item": 10, "chapter": 30}, {"chapter feeditem feed_item 30"}, {}, id="folded",
        ),
        pytest.param(
            FLAGGED, {"yield": 8}, set(),
            {"yield#oats": {"freq": "A", "in2014": 10.0, "in2015": 15}, "yield#beet": {"freq": "A", "in2014": 14.4},
             "yield#peas": {"freq": "A", "in2014": 17.7, "in2015": 77}}, id="flagged",
        ),
        pytest.param(
            TRIPS, {"trip": 12, "boat": 2, "sledge": 2}, {"trip gear boat 6", "trip gear sledge 6"},
            {"trip#71": {"name": "Trip 1", "Length": 1.5, "Length_2": 1500.1}}, id="trips",
        ),
        pytest.param(
            GUESTS, {"band": 10, "song": 20}, {"song band band 20", "song featuring band 28"}, {}, id="guests",
        ),
        pytest.param(
            VOTES, {"seat": 6, "candidate": 18}, {"candidate seat seat 18"},
            {"candidate#E00/Leea": {"name": "Ann Leea", "votes": 17}}, id="votes",
        ),
        pytest.param(
            HEADERS, {"poll": 6, "water": 6}, set(),
            {"poll#R_1x": {"Age": 31, "Zip": "02131", "Sent": "2024-03-01 10:00:00"}}, id="headers",
        ),
        pytest.param(
            OTHER_SHAPES, {"paper": 3, "author": 3}, {"paper author author 5", "paper editor author 1"},
            {"author#Ann Lee": {"family": "Lee"}, "author#Water Board": {},
             "paper#p1": {"issued": "2009-05-12", "place": "York, Kent, UK"}}, id="other_shapes",
        ),
    ],
)  # fmt: skip
def test_a_foreign_folder_is_recognized(
    files: Files, types: dict[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_an_attribute_with_another_name_is_told(tmp_path: Path) -> None:
    notes = infer([written(tmp_path, BLOCKS)], "x").notes
    assert "Attributes with another name than their column: deals.type is deal_type" in notes


def test_headers_below_the_header_are_told(tmp_path: Path) -> None:
    notes = infer([written(tmp_path, {"water.csv": HEADERS["water.csv"]})], "x").notes
    assert notes[0] == "Left out a row below the header of water, with 'm'"


def test_numbers_of_rows_are_told_and_kept_if_something_refers_to_them(tmp_path: Path) -> None:
    notes = infer([written(tmp_path / "a", NUMBERED)], "x").notes
    assert "Left out numbers of rows: calls.X, ports.column0, ships.column0" in notes
    nodes = "index,label\n" + "".join(f"{n},Node {n}\n" for n in range(5))
    edges = "source,target,weight\n" + "".join(f"{n},{(n + 1) % 5},1.{n}\n" for n in range(5))
    found = infer([written(tmp_path / "b", {"points.csv": nodes, "ties.csv": edges})], "x")
    assert "index" in found.tables[0].columns


def test_letters_behind_numbers_are_told(tmp_path: Path) -> None:
    assert (
        "Left out letters behind numbers, as in 12 p: yield.in2015 (3)"
        in infer([written(tmp_path, FLAGGED)], "x").notes
    )
    units = "id,size\n" + "".join(f"{n},{n} cm\n" for n in range(9))
    assert infer([written(tmp_path / "b", {"nails.csv": units})], "x").tables[0].columns["size"].look == "text"
