"""Superlatives inside questions, verbs for others of one meaning, and places that all nodes are in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.questions.golds import answers, check_refused

NODES = """key,type,name,area,length,height
l,land,Everland,,,
r1,region,Asten,50,,
r2,region,Borl,20,,
r3,region,Cadry,90,,
r4,region,Doven,70,,
t1,trail,Ridge Way,,300,
t2,trail,Long Way,,500,
t3,trail,Borl,,100,
p1,peak,Alm,,,1200
p2,peak,Bem,,,900
"""
EDGES = """head,relation,tail
t1,traverses,r1
t1,traverses,r3
t2,traverses,r2
t2,traverses,r3
t3,traverses,r3
t3,traverses,r4
r1,borders,r3
r3,borders,r1
r2,borders,r3
r3,borders,r2
r3,borders,r4
r4,borders,r3
r1,highest_point,p1
r2,highest_point,p2
r1,in_land,l
r2,in_land,l
r3,in_land,l
r4,in_land,l
"""
READ: dict[str, object] = {
    "Which regions surround Cadry?": {"Asten", "Borl", "Doven"},
    "Which regions are adjacent to Cadry?": {"Asten", "Borl", "Doven"},
    "Which trails run through Doven?": {"Borl"},
    "Which regions does the Borl trail go through?": {"Cadry", "Doven"},
    "Which regions border the region that borders the most regions?": {"Asten", "Borl", "Doven"},
    "How many regions border the region that borders the most regions?": 3,
    "What is the longest trail that flows through the smallest region?": {"Long Way"},
    "How long is the shortest trail in Everland?": [100],
    "What is the highest point in Asten?": {"Alm"},
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("land")
    (folder / "nodes.csv").write_text(NODES)
    (folder / "edges.csv").write_text(EDGES)
    with kbkit.ingest("table", folder, out=folder / "land.kb") as opened:
        yield opened


@pytest.mark.parametrize("question", READ)
def test_what_is_read(kb: KnowledgeBase, question: str) -> None:
    result = kb.ask(question)
    assert answers(kb, question) == READ[question], (result.expression, result.refusal)


def test_the_highest_of_several_is_not_all_of_them(kb: KnowledgeBase) -> None:
    check_refused(kb, "What is the highest point in Everland?", "highest point")
