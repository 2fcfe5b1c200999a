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


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            BY_ADDRESS, {"ticket": 4, "remark": 6}, {"remark ticket ticket 6"}, {"ticket#101": {"name": "Ticket b"}},
            id="addresses",
        ),
        pytest.param(BY_TEXT, {"course": 4, "booking": 4}, {"booking taught course 4"}, {}, id="texts"),
    ],
)  # fmt: skip
def test_a_foreign_folder_is_recognized(
    files: Files, types: dict[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)
