"""Categories: phrases from labels, families of a schema, sets of members against the algebra, files, documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.benchmarks import document_files
from kbkit.benchmarks.quest.categories import Categories, build
from kbkit.benchmarks.quest.draft import QueryDrafts
from kbkit.benchmarks.quest.families import families, read_patterns
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from tests.wording import Wording

FILMS = {  # key: name, year, length, tags
    "f1": ("Alba", 1990, 91, ["short", "sad"]),
    "f2": ("Bruma", 1990, 92, ["short"]),
    "f3": ("Cima", 1990, 93, ["sad"]),
    "f4": ("Duna", 1991, 94, ["short", "sad"]),
    "f5": ("Alba", 1991, 95, []),
    "f6": ("Fuga", 1991, 96, []),
    "f7": ("Gala", 1992, 97, []),
    "f8": ("Hora", 1992, 98, []),
    "f9": ("Isla", 1992, 99, []),
}
OTHERS = {  # p4 and Q4711 have no name but their key
    "person": {"p1": "Ann Lee", "p2": "Bo Li", "p3": "Bo Li", "p4": None},
    "topic": {"t1": "science", "t2": "biology", "t3": "moths", "Q4711": None},
}
EDGES = """head,relation,tail
p1,directed,f1
p1,directed,f2
p2,directed,f3
p2,directed,f4
p3,directed,f5
p3,directed,f6
p4,directed,f7
p4,directed,f8
t1,has_subtopic,t2
t2,has_subtopic,t3
f1,is_about,t1
f2,is_about,t2
f3,is_about,t3
f4,is_about,Q4711
f5,is_about,Q4711
f6,remake_of,f1
f7,remake_of,f1
"""
TEXTS = "key,field,text\nf1,plot,A dawn.\nf1,blurb,See it.\nf2,plot,Fog.\n"


BOTH_WAYS = """head,relation,tail
d1,"has as target, or is it",g1
d2,"has as target, or is it",g1
g1,"has as target, or is it",d1
g1,"has as target, or is it",d2
d1,"has as carrier, or is it",g1
g1,"has as carrier, or is it",d3
d1,goes with,g2
d2,goes with,g2
g2,goes with,d1
g2,goes with,d2
g1,parent-child,g2
g2,parent-child,g1
d2,part_of,d1
d3,part_of,d2
d4,part_of,d3
d1,cites,d2
d2,cites,d1
d1,cites,d3
a1,parent,a2
a2,parent,a3
a2,wrote,d1
"""
"""Drugs, genes and people; some relations hold each pair both ways, carrier and cites only some."""


@pytest.fixture(scope="module")
def drugs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("drugs")
    kinds = {"d": ("drug", 8), "g": ("gene", 3), "a": ("person", 3)}
    rows = [f"{kind},{letter}{n},{letter.upper()}{n}" for letter, (kind, end) in kinds.items() for n in range(1, end)]
    (folder / "nodes.csv").write_text("type,key,name\n" + "\n".join([*rows, "person,a3,A3"]), encoding="utf-8")
    (folder / "edges.csv").write_text(BOTH_WAYS, encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "drugs.kb", stores=["adjacency"]) as kb:
        yield kb


def test_mutual_relations_are_one_family(drugs: KnowledgeBase) -> None:
    found = {f.id: f.pattern for f in families(drugs, "drug")}
    assert found == {
        "gene:<gene> -> [^has as target, or is it] -> drug": "drugs linked to {name} as target",
        # not the same pairs: both
        "gene:<gene> -> [^has as carrier, or is it|has as carrier, or is it] -> drug": (
            "drugs linked to {name} as carrier"
        ),
        "gene:<gene> -> [^goes with] -> drug": "drugs that go with {name}",
        "drug:<drug> -> [^part_of+] -> drug": "drugs that are part of {name}",
        "drug:<drug> -> [part_of+] -> drug": "drugs that include {name}",
        "drug:<drug> -> [^cites] -> drug": "drugs that cite {name}",
        "drug:<drug> -> [cites] -> drug": "drugs cited by {name}",
        # a person's drugs are not those of their parents
        "person:<person> -> [wrote] -> drug": "drugs written by {name}",
    }
    assert "gene:<gene> -> [^parent-child] -> gene" in {f.id for f in families(drugs, "gene")}


def test_a_hierarchy_is_inherited_within_its_domain(drugs: KnowledgeBase) -> None:
    found = members(drugs, build(drugs, "drug"))
    assert found["drugs that are part of D1"] == {"d2", "d3", "d4"}
    assert found["drugs that are part of D2"] == {"d3", "d4"}
    assert found["drugs that include D4"] == {"d1", "d2", "d3"}
    assert found["drugs linked to G1 as carrier"] == {"d1", "d3"}
    assert found["drugs linked to G1 as target"] == {"d1", "d2"}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("films")
    rows = [("film", key, *values) for key, values in FILMS.items()]
    rows += [(kind, key, name, None, None, None) for kind, named in OTHERS.items() for key, name in named.items()]
    columns = ["type", "key", "name", "year", "length", "tags"]
    pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None).write_parquet(folder / "nodes.parquet")
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    (folder / "texts.csv").write_text(TEXTS, encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "films.kb") as kb:
        yield kb


def members(kb: KnowledgeBase, found: Categories) -> dict[str, set[str]]:
    """Phrase -> names of members, from the sets."""
    names = dict(kb.tables.lookup("SELECT id, key FROM nodes").iter_rows())
    matrix = found.sets.matrix
    assert matrix is not None
    return {
        item.phrase: {names[i] for i in matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()}
        for row, item in enumerate(found.items)
    }


def test_families_of_a_schema(films: KnowledgeBase) -> None:
    assert {f.id: f.pattern for f in families(films, "film")} == {
        "person:<person> -> [directed] -> film": "films directed by {name}",
        # topics form a hierarchy: what is about biology is about science
        "topic:<topic> -> [has_subtopic*] -> topic -> [is_about] -> film": "films about {name}",
        "film:<film> -> [^remake_of] -> film": "films that are remakes of {name}",
        "film:<film> -> [remake_of] -> film": "films of which {name} is a remake",
        "film{year = <value>}": "films from {name}",
        "film{tags = <value>}": "films whose tags include {name}",
    }  # lengths tell films apart, and are no family


def test_members_of_categories(films: KnowledgeBase) -> None:
    found = build(films, "film")
    assert members(films, found) == {
        "films directed by Ann Lee": {"f1", "f2"},
        "films about science": {"f1", "f2", "f3"},
        "films about biology": {"f2", "f3"},
        "films that are remakes of Alba": {"f6", "f7"},
        "films from 1990": {"f1", "f2", "f3"},
        "films from 1991": {"f4", "f5", "f6"},
        "films from 1992": {"f7", "f8", "f9"},
        "films whose tags include short": {"f1", "f2", "f4"},
        "films whose tags include sad": {"f1", "f3", "f4"},
    }
    assert found.left_out == {
        "without a name": 2,  # of p4, of Q4711
        "with a duplicate phrase": 2,  # of the two Bo Li
        "of one node, or of more than half of all": 3,  # about moths; what f6 and f7 are remakes of
    }
    same = dict(zip(members(films, found), found.same.tolist(), strict=True))
    assert same["films about science"] == same["films from 1990"]
    assert len(set(same.values())) == len(same) - 1


@pytest.mark.parametrize("domain", ["country", "river", "sea", "organisation"])
def test_every_category_is_its_expression(world: KnowledgeBase, domain: str) -> None:
    found = build(world, domain)
    matrix = found.sets.matrix
    assert matrix is not None
    for row, item in list(enumerate(found.items))[:: 1 + len(found.items) // 60]:
        ids = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
        assert ids == world.answers(item.expression).ids.tolist(), item
        assert item.size == len(ids)
    for item in found.items[:: len(found.items) // 4]:
        both = [world.answers(item.expression, engine=engine).ids.tolist() for engine in ("walk", "sparql")]
        assert both[0] == both[1], item


def draft(kb: KnowledgeBase, **options: object) -> dict[str, set[str]]:
    return members(kb, QueryDrafts(kb, QuestSettings(("film",), **options)).by_domain["film"])  # type: ignore[arg-type]


def test_own_expressions_and_phrases(films: KnowledgeBase) -> None:
    patterns = {"film{year = <value>}": "pictures of {name}"}
    own = ("person:<p> -> [directed] -> film -> [^remake_of] -> film",)
    found = draft(films, categories=own, patterns=patterns)
    assert found["films that belong to Ann Lee"] == {"f6", "f7"}  # remakes of what she directed
    assert found["pictures of 1990"] == {"f1", "f2", "f3"}
    assert "films from 1990" not in found
    with pytest.raises(KbError, match="person"):
        draft(films, categories=("film:<f> -> [^directed] -> person",))
    with pytest.raises(KbError, match="0 slots"):
        draft(films, categories=("film{year = <y>}",))
    with pytest.raises(UnknownNameError, match="'film'"):
        draft(films, patterns={"film": "{name}"})


def test_files_of_phrases(tmp_path: Path) -> None:
    path = tmp_path / "phrases.toml"
    path.write_text('"film{year = <value>}" = "pictures of {name}"\n', encoding="utf-8")
    assert read_patterns(path) == {"film{year = <value>}": "pictures of {name}"}
    path.write_text('"film{year = <value>}" = "pictures  of {name} "\n', encoding="utf-8")
    assert read_patterns(path) == {"film{year = <value>}": "pictures of {name}"}
    path.write_text('"film{year = <value>}" = "<mark>pictures of {name}"\n', encoding="utf-8")
    with pytest.raises(BadInputError, match=r"'film\{year = <value>\}' in .*phrases\.toml contains <mark>"):
        read_patterns(path)
    path.write_text('"film{year = <value>}" = "pictures"\n', encoding="utf-8")
    with pytest.raises(BadInputError, match=r"\{name\}"):
        read_patterns(path)
    path.write_text("film =", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"phrases\.toml"):
        read_patterns(path)


def test_phrases_that_differ_in_spaces_are_one(films: KnowledgeBase) -> None:
    """A category that another is worded like is left out, whatever its spaces and case."""
    known = {family.id: family for family in families(films, "film")}
    years, tags = known["film{year = <value>}"], known["film{tags = <value>}"]
    own = [replace(years, pattern="Films  of {name}"), replace(years, pattern="films of {name}"), tags]
    assert set(members(films, build(films, "film", own))) == {
        "films whose tags include short",
        "films whose tags include sad",
    }


def test_category_files(films: KnowledgeBase, tmp_path: Path) -> None:
    table, lines = tmp_path / "own.tsv", tmp_path / "own.jsonl"
    table.write_text("Foggy  films\tBruma\nFoggy  films\tf8\nFoggy  films\tAlba\nlost\tNowhere\n", encoding="utf-8")
    rows = [{"category": "Blue films", "title": "Cima"}, {"category": "Blue films", "key": "f5"}]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = draft(films, files=(table, lines))
    assert found["Foggy films"] == {"f2", "f8"}  # two films are called Alba
    assert found["Blue films"] == {"f3", "f5"}
    left_out = QueryDrafts(films, QuestSettings(("film",), files=(table,))).by_domain["film"].left_out
    assert left_out["rows of own.tsv that name no node"] == 2
    items = {i.name: i for i in QueryDrafts(films, QuestSettings(("film",), files=(table,))).by_domain["film"].items}
    assert items["Foggy films"].expression == 'film{key in ["f2", "f8"]}'
    assert films.answers(items["Foggy films"].expression).nodes()["key"].to_list() == ["f2", "f8"]


def test_names_in_category_files_that_differ_in_spaces_are_one(films: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("Foggy films\tBruma\nFoggy  films\tf8\n", encoding="utf-8")
    assert draft(films, files=(path,))["Foggy films"] == {"f2", "f8"}
    again = tmp_path / "." / "own.tsv"
    assert draft(films, files=(path, again))["Foggy films"] == {"f2", "f8"}  # one file, named twice


def test_a_category_file_of_duplicate_phrases(films: KnowledgeBase, tmp_path: Path) -> None:
    """It groups films, by a phrase that is there already: that is counted."""
    path = tmp_path / "own.tsv"
    path.write_text("films from 1990\tBruma\nfilms from 1990\tf8\n", encoding="utf-8")
    found = QueryDrafts(films, QuestSettings(("film",), files=(path,))).by_domain["film"]
    assert found.left_out["with a duplicate phrase"] == 2 + 2
    assert "films from 1990" not in members(films, found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.tsv", "a\tf1\nb\n"),
        ("own.tsv", "\n"),
        ("own.tsv", "a\tnothing\n"),
        ("own.jsonl", '{"category": "a", "title": "f1"}\n{"category"'),
        ("own.jsonl", '{"category": "a"}\n'),
    ],
)
def test_invalid_category_files(films: KnowledgeBase, tmp_path: Path, name: str, text: str, wording: Wording) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        draft(films, files=(tmp_path / name,))
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


def test_a_type_without_categories(films: KnowledgeBase) -> None:
    with pytest.raises(KbError, match="Type person has no categories"):
        build(films, "person")


def test_documents_have_unique_titles_and_no_relations(films: KnowledgeBase, tmp_path: Path) -> None:
    frame = document_files.titles(films, ["film"])
    assert frame["title"].to_list()[:6] == ["Alba (f1)", "Bruma", "Cima", "Duna", "Alba (f5)", "Fuga"]
    path = tmp_path / "deep" / "documents.jsonl"
    assert document_files.write_documents(films, frame, path) == 7
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {"title": "Alba (f1)", "text": "See it.\nA dawn."}
    assert rows[2] == {"title": "Cima", "text": ""}
    nodes = [json.loads(line) for line in path.with_name("documents.nodes.jsonl").read_text("utf-8").splitlines()]
    assert nodes[2] == {"title": "Cima", "type": "film", "key": "f3"}
    document_files.write_documents(films, frame, path, ["blurb"])
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0])["text"] == "A dawn."


def test_documents_need_texts(films: KnowledgeBase) -> None:
    document_files.check_types(films, ["film"], ["blurb"])
    document_files.check_types(films, ["topic"], [], texts=False)
    with pytest.raises(KbError, match=r"type topic .* film"):
        document_files.check_types(films, ["topic"], [])
    with pytest.raises(KbError, match="type film"):
        document_files.check_types(films, ["film"], ["plot", "blurb"])
    with pytest.raises(UnknownNameError, match="'plots'"):
        document_files.check_types(films, ["film"], ["plots"])
    with pytest.raises(UnknownNameError, match="'movie'"):
        document_files.check_types(films, ["movie"], [])
