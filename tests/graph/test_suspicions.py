"""Data that may be wrong: what was planted is found, the statement of each finding lists its rows, and little else."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.graph.suspicions import KINDS
from kbkit.graph.suspicious_nodes import suspicious_nodes
from kbkit.kb import KnowledgeBase


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Films and studios with one mistake of each kind."""
    folder = tmp_path_factory.mktemp("planted")
    draw = random.Random(1)
    films = [
        f"f{i},Film {i},{draw.randint(80, 130)},{draw.choice(('Colour', 'Monochrome'))},s{i % 9}" for i in range(200)
    ]
    films[3] = "f3,Film 3,5110,Colour,s3"
    films[4] = "f4,Film 4,,Monochrone,s4"
    films[5] = "f5,Film 6,101,Colour,"
    (folder / "films.csv").write_text("\n".join(["id,name,minutes,look,studio", *films, ""]))
    studios = [f"s{i},Studio {i},{1900 + i},{1990 + i}" for i in range(10)]
    studios[2] = "s2,Studio 2,1902,1890"
    (folder / "studios.csv").write_text("\n".join(["id,name,founded,closed", *studios, ""]))
    (folder / "prizes.csv").write_text("id,name,euros\np1,Gold,5\np2,Silver,6\n")
    return kbkit.ingest(str(folder), out=folder / "films.kb", stores=["tables", "adjacency"])


def test_several_edges_where_others_have_one_are_found(tmp_path: Path) -> None:
    """A city is the capital of two of 40 countries; rivers flow through many of them."""
    countries = [f"n{i},Land {i},{'c0' if i == 1 else f'c{i}'},r{i % 3}" for i in range(40)]
    (tmp_path / "country.csv").write_text("\n".join(["id,name,capital,river", *countries, ""]))
    (tmp_path / "capital.csv").write_text("\n".join(["id,name", *(f"c{i},City {i}" for i in range(40)), ""]))
    (tmp_path / "river.csv").write_text("\n".join(["id,name", *(f"r{i},River {i}" for i in range(3)), ""]))
    with kbkit.ingest(str(tmp_path), out=tmp_path / "k.kb", stores=["tables", "adjacency"]) as kb:
        found = kb.suspicions().filter(kind="several")
        assert found.select("type", "part", "finding", "number").rows() == [
            ("capital", "capital", "1 of 39 are the end of several edges, the others of one", 1)
        ]
        assert kb.sql(found["sql"][0])["name"].to_list() == ["City 0"]
        [row] = suspicious_nodes(kb.stores, found).rows(named=True)
        assert (row["name"], row["value"]) == ("City 0", "countries: 2")


def test_planted_mistakes_are_found_with_their_rows(planted: KnowledgeBase) -> None:
    found = planted.suspicions()
    listed = {
        (kind, type_name, part): (finding, planted.sql(sql)["name"].to_list() if number < 20 else [])
        for kind, type_name, part, finding, number, sql in found.iter_rows()
        if kind != "cardinality"
    }
    assert {place: names for place, (_, names) in listed.items()} == {
        ("contradiction", "", ""): ["Studio 2"],
        ("extreme", "film", "minutes"): ["Film 3"],
        ("extreme", "studio", "closed"): ["Studio 2"],
        ("spelling", "film", "look"): ["Film 4"],
        ("equal names", "film", ""): ["Film 6", "Film 6"],
        ("isolated", "film", ""): ["Film 6"],
        ("isolated", "studio", ""): ["Studio 9"],
        ("isolated", "prize", ""): ["Gold", "Silver"],
        ("missing", "film", "minutes"): ["Film 4"],
        ("without", "film", "studio"): ["Film 6"],
        ("without", "studio", "studio"): ["Studio 9"],
    }
    assert listed["isolated", "prize", ""][0] == "No node of this type has an edge: 2 nodes"
    assert "'Monochrone': 'Monochrome' occurs" in listed["spelling", "film", "look"][0]
    counts = dict(found.filter(kind="cardinality").select("type", "finding").rows())
    nodes = suspicious_nodes(planted.stores, found)
    assert nodes.filter(kind="extreme").select("name", "value").rows() == [("Film 3", "5110"), ("Studio 2", "1890")]
    assert nodes.filter(kind="equal names")["key"].to_list() == ["f5", "f6"]
    assert counts == {"film": "1 per film, 1 without", "studio": "21 to 23 per studio, 1 without"}


def test_every_statement_lists_rows(world: KnowledgeBase) -> None:
    found = world.suspicions()
    assert set(found["kind"]) <= set(KINDS)
    assert found["kind"].n_unique() > 3
    rows = [world.sql(f"SELECT count(*) FROM ({sql})").item() for sql in found["sql"]]
    assert min(rows) > 0
    differ = [
        (kind, finding, number, count)
        for (kind, finding, number), count in zip(found.select("kind", "finding", "number").rows(), rows, strict=True)
        if number != count and kind != "spelling"
    ]
    assert differ == []


def test_limits_fit_the_values(tmp_path: Path) -> None:
    """Low values stand out on a logarithmic scale; long tails, popularity and limits below 0 are no findings."""
    draw = random.Random(2)
    films = [
        {
            "id": f"f{i}",
            "name": f"Film {i}",
            "minutes": max(60, round(draw.gauss(105, 15))),
            "budget": round(draw.lognormvariate(16, 1)),
            "population": round(draw.paretovariate(1) * 1000),
            "votes": round(draw.paretovariate(1) * 1000),
            "language": draw.choice(("English", "German", "None", "Thai")),
        }
        for i in range(1_500)
    ]
    films[7] |= {"minutes": 7, "budget": 90, "votes": 10**12}
    films[8] |= {"minutes": 2_000, "budget": 10**15, "name": "Unknown", "language": None}
    (tmp_path / "films.json").write_text(json.dumps(films))
    with kbkit.ingest(
        str(tmp_path / "films.json"), out=tmp_path / "k.kb", nodes=["films.language"], stores=["tables", "adjacency"]
    ) as kb:
        found = kb.suspicions().filter(pl.col("kind").is_in(["extreme", "placeholder"]))
        rows = {(part, kb.sql(sql)["name"].item()) for part, sql in found.select("part", "sql").rows()}
        assert rows == {
            ("minutes", "Film 7"),
            ("minutes", "Unknown"),
            ("budget", "Film 7"),
            ("budget", "Unknown"),
            ("", "None"),
        }
        assert found["finding"].str.contains("is far below").sum() == 2
        assert not found["sql"].str.contains("< -").any()
