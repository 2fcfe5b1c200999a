"""Statements that look for contradictory data: each finds what was planted, and nothing else."""

from __future__ import annotations

from pathlib import Path

import kbkit
from kbkit.graph import contradictions

FILES = {
    "persons.csv": "id,name,born,died,parent\np1,Ann,1900-01-01,1980-01-01,\np2,Bo,1930-01-01,1920-05-05,p1\n"
    "p3,Cy,1925-01-01,1999-01-01,p2\np4,Di,1960-01-01,2001-01-01,p3\n",
    "countries.csv": "id,name\nc1,Estria\nc2,Vesta\n",
    "cities.csv": "id,name\nt1,Aldby\nt2,Brenn\nt3,Corva\n",
    "capitals.csv": "country,city\nc1,t1\nc2,t2\nc2,t3\n",
}


def test_planted_contradictions_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with kbkit.ingest(str(folder), out=tmp_path / "my.kb", stores=["tables"]) as kb:
        found = {title: [row[1:] for row in kb.sql(sql).rows()] for title, sql in contradictions.statements(kb.schema)}
    rows = {title: [[str(value) for value in row] for row in rows] for title, rows in found.items()}
    assert rows == {
        "person with died before born": [["Bo", "1930-01-01", "1920-05-05"]],
        "person born before their parent": [["Cy", "1925-01-01", "Bo", "1930-01-01"]],
        "country with several values of capitals": [["Vesta", "['Brenn', 'Corva']"]],
    }
