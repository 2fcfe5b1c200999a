"""The recipe neo4j: CSV files of neo4j-admin as in Neo4j's documentation, and what APOC exports."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase

MOVIES = """movieId:ID,title,year:int,:LABEL
tt0133093,"The Matrix",1999,Movie
tt0234215,"The Matrix Reloaded",2003,Movie;Sequel
tt0242653,"The Matrix Revolutions",2003,Movie;Sequel
"""
ACTORS = """personId:ID,name,:LABEL
keanu,"Keanu Reeves",Actor
laurence,"Laurence Fishburne",Actor
"""
ROLES = """:START_ID,role,:END_ID,:TYPE
keanu,"Neo",tt0133093,ACTED_IN
keanu,"Neo",tt0234215,ACTED_IN
laurence,"Morpheus",tt0242653,ACTED_IN
"""
APOC = """{"type":"node","id":"0","labels":["User"],"properties":{"name":"Adam","age":42,"kids":["Sam","Anna"],\
"place":{"crs":"wgs-84","latitude":33.5},"type":"x"}}
{"type":"node","id":"1","labels":["Admin","User"],"properties":{"title":"Jim","age":41}}
{"type":"node","id":"2","properties":{"age":12}}
{"id":"0","type":"relationship","label":"KNOWS","properties":{"since":1993},"start":{"id":"0"},"end":{"id":"1"}}
"""


def ingest(folder: Path, files: dict[str, str], **options: Any) -> KnowledgeBase:
    """Build a KB of files; a name that ends in .gz is compressed."""
    source = folder / "source"
    source.mkdir()
    for name, content in files.items():
        data = content.encode()
        (source / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return kbkit.ingest("neo4j", source, out=folder / "x.kb", stores=["adjacency"], **options)


@pytest.mark.core
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_movies_of_the_documentation(tmp_path: Path, ending: str) -> None:
    """The first label is the type, the others are secondary types; a title is a name."""
    files = {f"{name}.csv{ending}": text for name, text in (("movies", MOVIES), ("actors", ACTORS), ("roles", ROLES))}
    with ingest(tmp_path, files) as kb:
        assert kb.sql("SELECT type, key, name FROM nodes ORDER BY type, key").rows() == [
            ("Actor", "keanu", "Keanu Reeves"), ("Actor", "laurence", "Laurence Fishburne"),
            ("Movie", "tt0133093", "The Matrix"), ("Movie", "tt0234215", "The Matrix Reloaded"),
            ("Movie", "tt0242653", "The Matrix Revolutions"),
        ]  # fmt: skip
        assert [t.name for t in kb.schema.node_types] == ["Actor", "Movie", "Sequel"]
        assert kb.answers("Sequel").nodes()["name"].to_list() == ["The Matrix Reloaded", "The Matrix Revolutions"]
        keys = kb.answers('Actor:"Keanu Reeves" -> [ACTED_IN] -> Movie').nodes()["key"].to_list()
        assert keys == ["tt0133093", "tt0234215"]
        assert kb.sql("SELECT DISTINCT role FROM ACTED_IN ORDER BY role")["role"].to_list() == ["Morpheus", "Neo"]


def test_the_rarest_label_as_the_type(tmp_path: Path) -> None:
    with ingest(tmp_path, {"movies.csv": MOVIES}, options={"primary": "rarest"}) as kb:
        assert kb.sql("SELECT type FROM nodes ORDER BY key")["type"].to_list() == ["Movie", "Sequel", "Sequel"]
        assert len(kb.answers("Movie")) == 3


def test_headers_in_their_own_files_id_spaces_and_types(tmp_path: Path) -> None:
    """Another delimiter, quotes and line breaks in fields, ignored columns, lists, and one id in two spaces."""
    files = {
        "movies_header.csv": ":ID(F){label:Film}|title|released:date|votes:int[]|s:IGNORE|tags:string[]|cut:boolean\n",
        "movies-part1.csv": '1|"The ""Matrix"""|1999-03-31|1;2|x|a;b|true\n2|Two|||x||\n',
        "movies-part2.csv": '3|"Three\nlines"|2003-01-01||x|c|no\n',
        "persons.csv": ":ID(Person),name,born:int,height:float,key\n1,Keanu,1964,1.86,k\n2,Ann,,,\n",
        "ACTED_IN.csv": ":START_ID(Person),:END_ID(F),since:long\n1,1,1999\n1,3,\n",
    }
    with ingest(tmp_path, files) as kb:
        assert [(t.name, t.count) for t in kb.schema.node_types] == [("Film", 3), ("Person", 2)]
        films = kb.answers("Film").to_polars().sort("key").to_dicts()
        assert [film["name"] for film in films] == ['The "Matrix"', "Two", "Three\nlines"]
        assert (films[0]["released"], films[0]["votes"], films[0]["tags"]) == (
            datetime.date(1999, 3, 31),
            [1, 2],
            ["a", "b"],
        )
        assert [film["cut"] for film in films] == [True, None, False]
        assert "s" not in films[0]
        person = kb.answers('Person:"Keanu"').to_polars().to_dicts()[0]
        assert (person["born"], person["height"], person["key_"]) == (1964, 1.86, "k")
        assert kb.answers('Person:"Keanu" -> [ACTED_IN] -> Film').nodes()["key"].to_list() == ["1", "3"]


def test_one_file_of_apoc_export_csv(tmp_path: Path) -> None:
    text = (
        "_id,_labels,name,born,_start,_end,_type,since\n"
        "0,:Person:Actor,Keanu,1964,,,,\n1,:Person,Ann,,,,,\n,,,,0,1,KNOWS,1993\n"
    )
    with ingest(tmp_path, {"all.csv": text}) as kb:
        assert kb.sql("SELECT type, key, name FROM nodes ORDER BY key").rows() == [
            ("Person", "0", "Keanu"), ("Person", "1", "Ann"),
        ]  # fmt: skip
        assert len(kb.answers("Actor")) == 1
        assert kb.sql("SELECT relation, since FROM edges").rows() == [("KNOWS", "1993")]


NODES = '{"type":"node","id":"0","labels":["A"],"properties":{}}'
LINK = '{"id":"9","type":"relationship","label":"L","start":{"id":"0"},"end":{"id":"0"}}'


@pytest.mark.parametrize(
    "text",
    [
        f"{NODES}\n{LINK}\n",
        f"[{NODES},\n{LINK}]",
        f'{{"nodes":[{NODES}],"rels":[{LINK}]}}',
        f'{{"nodes":{{"0":{NODES}}},"rels":{{"9":{LINK}}}}}',
    ],
)
def test_the_four_formats_of_apoc_export_json(tmp_path: Path, text: str) -> None:
    with ingest(tmp_path, {"all.json": text}) as kb:
        assert (kb.schema.nodes, kb.schema.edges) == (1, 1)


def test_a_list_of_integers_of_more_than_64_bits_is_text(tmp_path: Path) -> None:
    with ingest(tmp_path, {"all.json": NODES.replace("{}", f'{{"n": [1, {10**30}]}}')}) as kb:
        assert kb.sql("SELECT n FROM A").item() == f"[1, {10**30}]"


def test_properties_of_apoc_keep_their_types(tmp_path: Path) -> None:
    """A property called like a column of the KB gets an underscore; maps are JSON."""
    with ingest(tmp_path, {"all.jsonl": APOC}) as kb:
        assert kb.sql("SELECT type, key, name FROM nodes ORDER BY key").rows() == [
            ("User", "0", "Adam"), ("Admin", "1", "Jim"), ("entity", "2", "2"),
        ]  # fmt: skip
        [adam] = kb.answers('User:"Adam"').to_polars().to_dicts()
        assert (adam["age"], adam["kids"], adam["type_"]) == (42, ["Sam", "Anna"], "x")
        assert adam["place"] == {"crs": "wgs-84", "latitude": 33.5}
        assert kb.sql("SELECT since FROM edges")["since"].to_list() == [1993]
        assert len(kb.answers("User")) == 2


BAD = {
    "no header": ({"x.csv": "a,b\n1,2\n"}, r"Missing header in .*x.csv, line 1. The header needs a field :ID"),
    "number": ({"x.csv": ":ID,n:int\n1,x\n"}, r"Invalid value of 'n' in .*x.csv"),
    "columns": ({"x.csv": ":ID,n\n1,x,y\n"}, r"Cannot read .*x.csv: .*Expected 2 columns, got 3"),
    "line end": ({"x.csv": ":I\rD,n\n1,x\n"}, r"Invalid CSV in .*x.csv, line 1: new-line character"),
    "twice": ({"x.csv": ":ID,n,n\n1,x,y\n"}, r"Duplicate column 'n' in .*x.csv, line 1"),
    "utf-8": ({"x.csv": ":ID,n\n1,\udcff\n"}, r"Cannot read .*x.csv: .*UTF8"),
    "edges only": ({"x.csv": ROLES}, r"No nodes in these files"),
    "ends": ({"m.csv": MOVIES, "r.csv": ROLES}, r"unknown nodes"),
    "json": ({"x.json": NODES + "\n{"}, r"Invalid JSON in .*x.json, line 2"),
    "half": ({"x.json": NODES.replace('"A"', '"\\ud800"')}, r"Invalid JSON in .*x.json, line 1"),
    "deep": ({"x.json": "[" * 100_000}, r"Invalid JSON in .*x.json"),
    "no end": ({"x.json": NODES + '\n{"type":"relationship"}'}, r"Invalid node or relationship in .*x.json, line 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_other_files_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    files, message = BAD[name]
    if name == "utf-8":
        (tmp_path / "source").mkdir()
        (tmp_path / "source" / "x.csv").write_bytes(files["x.csv"].encode("utf-8", "surrogateescape"))
        with pytest.raises(BadInputError, match=message):
            kbkit.ingest("neo4j", tmp_path / "source", out=tmp_path / "x.kb")
        return
    with pytest.raises(KbError, match=message) as error:
        ingest(tmp_path, files)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "x.kb").exists()
