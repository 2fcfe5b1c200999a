"""Folders as other programs export them: what refers to what, whatever the columns are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingestion.test_exports import Files, Nodes, check_export

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
    "poll.csv": "Sent,Id,Age,Zip\nSent at,Answer Id,\"How old\nare you?\",Where?\n"
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


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            BY_ADDRESS, {"ticket": 4, "remark": 6}, {"remark ticket ticket 6"}, {"ticket#101": {"name": "Ticket b"}},
            id="addresses",
        ),
        pytest.param(BY_TEXT, {"course": 4, "booking": 4}, {"booking taught course 4"}, {}, id="texts"),
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
