"""Folders as people keep them: types by plain nouns, keys that say something, lists of names, trees of folders."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import kbkit
from kbkit.ingestion.inference import infer
from tests.ingestion.test_exports import Files, written

SPRINGS = "".join(f"{n},Spring {n},{n % 3}\n" for n in range(8))


@pytest.mark.parametrize(
    ("file", "header", "kind"),
    [
        ("springs-1980s.csv", "no,name,level", "spring"),
        ("springs_2010-2020.csv", "no,name,level", "spring"),
        ("My springs final.csv", "no,name,level", "spring"),
        ("list_of_springs.csv", "no,name,level", "spring"),
        ("spring database.csv", "no,name,level", "spring"),
        ("springs_list3.csv", "no,name,level", "spring"),
        ("Springs-All springs.csv", "no,name,level", "spring"),
        ("My Library.csv", "key,Item Type,level", "item"),
        ("library.csv", "key,name,level", "library"),
        ("data.csv", "no,Boat Name,level", "boat"),
        ("level.csv", "spring_id,name,level", "spring"),
    ],
)
def test_types_are_plain_nouns(tmp_path: Path, file: str, header: str, kind: str) -> None:
    [nodes] = infer([written(tmp_path, {file: f"{header}\n{SPRINGS}"})], "x").plan.nodes
    assert nodes.table.type == kind


def test_views_and_parts_that_tell_tables_apart_stay(tmp_path: Path) -> None:
    files: Files = {f"{name}.csv": "no,name,level\n" + SPRINGS for name in ("Wells-Grid view", "Wells-Deep ones")}
    files["Boats-Main.csv"] = "no,boat,length\n" + SPRINGS
    types = {nodes.table.type for nodes in infer([written(tmp_path, files)], "x").plan.nodes}
    assert "boat" in types
    assert len(types) == 3


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ('X1\t"cork\tlung"\tb', "cork\tlung"),
        ('X1\t"says ""no"" twice"\tb', 'says "no" twice'),
        ('X1\t"Heroes"\tb', '"Heroes"'),
        ('X1\t12" deep\tb', '12" deep'),
        ('X1\t"alone\tb', '"alone'),
    ],
)
def test_quotes_in_a_late_row_of_a_file_with_tabs(tmp_path: Path, line: str, read: str) -> None:
    lines = ["code\tname\tlevel", *(f"X{n}\tSpring {n}\t{n}" for n in range(2, 3000)), line, "X0\tlast\tc"]
    folder = written(tmp_path / "in", {"springs.tsv": "\n".join(lines) + "\n"})
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.node("spring#X1").name == read
        assert kb.schema.nodes == 3000


def test_a_key_of_integral_floats_is_referred_to_by_integers(tmp_path: Path) -> None:
    modes = "mode,pixels\n" + "".join(f"{n}.0,{n}40\n" for n in range(7))
    phones = "maker,Model_name,screen,mode\n" + "".join(
        f"M{n % 2},Phone {chr(65 + n)},S{n % 2},{n % 5}\n" for n in range(9)
    )
    plan = infer([written(tmp_path, {"mode.csv": modes, "phone.csv": phones})], "x").plan
    assert {nodes.table.type: nodes.key for nodes in plan.nodes} == {"mode": ("mode",), "phone": ("Model_name",)}
    assert [link.target for nodes in plan.nodes for _, link in nodes.links] == ["mode"]


def test_names_in_lists_become_nodes_where_nothing_else_relates_rows(tmp_path: Path) -> None:
    people = ["Ann Lee", "Bo Oak", "Cy Elm", "Di Ash", "Ed Fir", "Flo Yew"]
    pairs = [*itertools.combinations(people, 2)]
    rows = [{"title": f"Tale {n}", "heroes": [*pair], "codes": [f"x{n}1", f"x{n}2"]} for n, pair in enumerate(pairs)]
    folder = written(tmp_path, {"tales.json": rows})
    found = infer([folder], "x")
    [nodes] = found.plan.nodes
    assert [(name, link.lists) for name, link in nodes.links] == [("hero", True)]
    assert any("tales.heroes" in note for note in found.notes)
    told = kbkit.ingestion.request.Corrections(links={"tales.heroes": ""})
    assert not infer([folder], "x", told).plan.nodes[0].links


def test_folders_that_only_divide_files_are_one_table(tmp_path: Path) -> None:
    for n in range(12):
        place = tmp_path / "works" / "at"[n % 2] / f"{n % 3:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"w{n}.json").write_text(json.dumps({"id": 100 + n, "title": f"Work {n}", "year": 1900 + n}))
        makers = tmp_path / "makers" / "k"
        makers.mkdir(parents=True, exist_ok=True)
        maker = {"id": 30 + n, "fc": f"Ann {'ABCDEFGHIJKL'[n]}lm", "born": 1800 + n}
        (makers / f"m{n}.json").write_text(json.dumps(maker))
    found = {nodes.table.type: nodes for nodes in infer([tmp_path], "x").plan.nodes}
    assert {kind: nodes.table.rows for kind, nodes in found.items()} == {"work": 12, "maker": 12}
    assert found["maker"].named == ("fc",)


def test_paths_and_objects_are_no_texts_and_units_are_told(tmp_path: Path) -> None:
    rows = "".join(
        f"s{n},/home/me/some files/a long name of a file with many words {n}.pdf,"
        f"\"[{{zone:'Long/Name of {n}',offset:16200,abbreviation:'AFT and more words'}}]\",{n}%\n"
        for n in range(9)
    )
    found = infer([written(tmp_path, {"springs.csv": "code,File,Zones,Share\n" + rows})], "x")
    assert [nodes.texts for nodes in found.plan.nodes] == [[]]
    assert {c.name: c.look for c in found.tables[0].columns.values()}["Zones"] == "text"
    assert any("springs.Share" in note for note in found.notes)


LINKS = {
    "relations": ([{"source": "a", "target": "b", "relation": "feeds"}], 1),
    "types": ([{"source": "a", "target": "b"}, {"source": "c", "target": "b"}], 2),
    "mixed": ([{"source": "a", "target": "b"}, {"source": "b", "target": "c"}], 4),
    "one type": ([{"source": "a", "target": "c"}], 2),
}


@pytest.mark.parametrize("case", LINKS)
def test_links_of_d3_have_a_direction_if_they_show_one(tmp_path: Path, case: str) -> None:
    links, stored = LINKS[case]
    nodes = [{"id": "a", "type": "spring"}, {"id": "b", "type": "pond"}, {"id": "c", "type": "spring"}]
    written(tmp_path / "in", {"graph.json": json.dumps({"nodes": nodes, "links": links})})
    with kbkit.ingest("graph", str(tmp_path / "in"), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.schema.edges == stored


def test_a_part_of_the_things_of_another_table_is_linked_to_them(tmp_path: Path) -> None:
    codes = [f"TERM:{n:05}" for n in range(60)]
    files: Files = {
        "term.tsv": "term_id\tname\n" + "".join(f"{one}\tterm {one[-2:]}\n" for one in codes),
        "chosen.tsv": "code\tname\tsource\n"
        + "".join(f"{one}\tterm {one[-2:]}\ts\n" for one in [*codes[:40], "TERM:99999"]),
        "uses.tsv": "code_id\tpage\tline\n" + "".join(f"{codes[n % 40]}\t{n}\t{n % 7}\n" for n in range(80)),
    }
    links = {
        (nodes.table.name, link.target)
        for nodes in infer([written(tmp_path, files)], "x").plan.nodes
        for _, link in nodes.links
    }
    assert ("chosen", "term") in links
    assert len([target for name, target in links if name == "uses"]) == 1
