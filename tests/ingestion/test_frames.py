"""Data frames and networkx graphs as sources and results: nothing is lost on the way."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.ingestion.recipe import source_name
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.examples import examples

STORES = ("tables", "adjacency")


def test_tables_of_three_libraries_make_one_kb(tmp_path: Path) -> None:
    """Keys of two types can be equal; a column ``type`` or ``kind`` of a typed table is an attribute."""
    people = pl.DataFrame({"id": [1, 2], "name": ["Ada", "Bob"], "born": [datetime.date(1815, 12, 10), None]})
    cities = pd.DataFrame({"key": [1, 2], "name": ["London", "Delft"], "type": ["big", None], "kind": ["a", "b"]})
    lives = pa.table({"source": [1, 2], "target": [1, 2], "since": [1830, None]})
    texts = {"life": pl.DataFrame({"key": ["1"], "type": ["person"], "body": ["wrote the first programs"]}).lazy()}
    edges = {("person", "lives_in", "city"): lives}
    with kbkit.from_frames({"person": people, "city": cities}, edges, texts, out=tmp_path / "my.kb") as kb:
        assert (kb.schema.name, kb.manifest.recipe["title"], kb.schema.base) == ("my", "my", "http://example.org/my/")
        person = kb.answers("person").to_polars()
        assert person.to_dicts() == [
            {"id": 0, "type": "person", "key": "1", "name": "Ada", "born": datetime.date(1815, 12, 10)},
            {"id": 1, "type": "person", "key": "2", "name": "Bob", "born": None},
        ]
        assert kb.answers("city").to_pandas()["type_"].isna().to_list() == [False, True]
        assert kb.answers("city").to_arrow().column_names == ["id", "type", "key", "name", "type_", "kind"]
        assert kb.sql("SELECT since FROM lives_in ORDER BY head")["since"].to_list() == [1830, None]
        assert kb.search("programs", k=1)["name"].to_list() == ["Ada"]
        assert kb.answers('city:"London" -> [lives_in] -> person').nodes()["name"].to_list() == ["Ada"]


def test_one_table_of_nodes_and_no_edges(tmp_path: Path) -> None:
    frame = pd.DataFrame({"name": ["A", "B"], "kind": ["x", "y"]}, index=pd.Index([7.0, None], name="id"))
    with pytest.raises(KbError, match="without a key"):
        kbkit.from_frames(frame, out=tmp_path / "x.kb")
    with kbkit.from_frames(frame.head(1), out=tmp_path / "x.kb", stores=STORES) as kb:
        assert kb.sql("SELECT type, key, name FROM nodes").rows() == [("x", "7", "A")]


@pytest.mark.parametrize(
    ("nodes", "edges", "fact"),
    [
        ([{"key": "a"}], None, "Invalid nodes: list"),
        ({"t": {"key": ["a"]}}, None, "Invalid nodes['t']: dict"),
        ({1: pl.DataFrame({"key": ["a"]})}, None, "Invalid key of nodes: 1"),
        (pl.DataFrame({"key": ["a"]}), {("t", "r"): pl.DataFrame()}, "Invalid key of edges: ('t', 'r')"),
        (pl.DataFrame({"name": ["a"]}), None, 'in nodes. The columns are name. Use columns={"key": "NAME"} to choose'),
        (pl.DataFrame({"name": ["a"]}), None, "Missing column 'key'"),
        (pl.DataFrame({"key": [["a"]]}), None, "Unsupported values in column 'key' of nodes"),
        (pl.DataFrame({"key": ["a"]}), {"r": pl.DataFrame({"head": ["a"]})}, "Missing column 'tail'"),
        (pl.DataFrame({"key": ["a"]}), {"r": pl.DataFrame({"head": ["a"], "tail": ["b"]})}, "unknown nodes: 'a' [r]"),
        ({"t": pl.DataFrame({"key": ["a"], "x": [[1]]}), "u": pl.DataFrame({"key": ["a"], "x": [1]})}, None,
         "Columns of nodes have incompatible types"),
        (pd.DataFrame({"key": ["a", object()]}), None, "Cannot read nodes"),
        (pl.DataFrame({"key": ["a", "a"]}), None, "Duplicate key"),
    ],
)  # fmt: skip
def test_other_tables_are_refused(tmp_path: Path, nodes: Any, edges: Any, fact: str) -> None:
    with pytest.raises(KbError) as error:
        kbkit.from_frames(nodes, edges, out=tmp_path / "x.kb", stores=STORES)
    assert fact in str(error.value)
    assert ".parquet" not in str(error.value)  # a temporary file
    assert list(tmp_path.iterdir()) == []


_NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0|"), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)
_ROWS = st.dictionaries(
    _NAME, st.tuples(_NAME, st.none() | st.integers(-(2**62), 2**62), st.none() | st.booleans()), min_size=1
)


@examples(3)
@given(rows=_ROWS, pairs=st.data())
def test_frames_come_back(
    tmp_path: Path, rows: dict[str, tuple[str, int | None, bool | None]], pairs: st.DataObject
) -> None:
    keys = list(rows)
    names, numbers, flags = zip(*rows.values(), strict=True)
    attributes = {"number": pl.Series(numbers, dtype=pl.Int64), "flag": pl.Series(flags, dtype=pl.Boolean)}
    nodes = pl.DataFrame({"key": keys, "name": names, **attributes})
    ends = pairs.draw(st.sets(st.tuples(st.sampled_from(keys), st.sampled_from(keys))))
    edges = pl.DataFrame([(a, "r", b) for a, b in sorted(ends)], schema=["head", "relation", "tail"], orient="row")
    edges = edges.cast(pl.String)
    with kbkit.from_frames({"t": nodes}, edges, out=tmp_path / "x.kb", replace=True, stores=STORES) as kb:
        found = kb.answers("t").to_polars()
        present = [name for name in ("number", "flag") if nodes[name].null_count() < nodes.height]
        assert sorted(found.select("key", "name", *present).rows()) == sorted(
            nodes.select("key", "name", *present).rows()
        )
        links = "SELECT h.key, t.key FROM edges JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        assert set(kb.sql(links).rows()) == ends


@examples(3)
@given(data=st.data(), directed=st.booleans())
def test_graphs_come_back(tmp_path: Path, data: st.DataObject, directed: bool) -> None:
    """Also parallel edges of one relation, if their attributes differ, and loops."""
    graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
    for node in data.draw(st.sets(st.integers(0, 30), min_size=1)):
        graph.add_node(str(node), type=data.draw(st.sampled_from(["x", "y"])), name=f"N{node}", size=node)
    ends = st.sampled_from(sorted(graph))
    for head, tail, relation, weight in data.draw(
        st.lists(st.tuples(ends, ends, st.sampled_from("rs"), st.integers(0, 2)))
    ):
        graph.add_edge(head, tail, key=f"{relation}{weight}", relation=relation, weight=weight)
    with kbkit.from_networkx(graph, out=tmp_path / "x.kb", replace=True, stores=STORES) as kb:
        back = kb.to_networkx()
    both = graph if directed else nx.MultiDiGraph(graph)

    def edges(one: nx.MultiDiGraph) -> set[tuple[str, str, str, int]]:
        return {(head, tail, edge["relation"], edge["weight"]) for head, tail, edge in one.edges(data=True)}

    assert dict(back.nodes(data=True)) == dict(graph.nodes(data=True))
    assert edges(back) == edges(both)


def test_a_graph_of_networkx_itself(tmp_path: Path) -> None:
    """Integer nodes become text; an undirected graph is symmetric; an induced part has its edges only."""
    graph = nx.karate_club_graph()
    with kbkit.from_networkx(graph, out=tmp_path / "karate.kb", stores=STORES) as kb:
        [relation] = kb.relations().to_dicts()
        assert (relation["relation"], relation["edges"], relation["symmetric"]) == ("link", 156, True)
        assert nx.is_isomorphic(kb.to_networkx().to_undirected(), nx.MultiGraph(graph).to_directed().to_undirected())
        officers = kb.answers('entity{club = "Officer"}').to_networkx()
        expected = graph.subgraph(node for node, club in graph.nodes(data="club") if club == "Officer")
        assert (len(officers), officers.number_of_edges()) == (len(expected), 2 * expected.number_of_edges())
        assert officers["33"]["32"]["link"]["weight"] == graph[33][32]["weight"]


def test_a_kb_has_the_identity_that_its_maker_gives_it(here: Run, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "zoo.kb"
    words = ("--name", "zoo", "--title", "A zoo", "--licence", "ours", "--base", "https://zoo.org/", "--symmetric", "r")
    edges = tmp_path / "edges.csv"
    nodes = tmp_path / "nodes.csv"
    edges.write_text("head,relation,tail\na,r,b\n", encoding="utf-8")
    nodes.write_text("key\na\nb\n", encoding="utf-8")
    done = here("ingest", "table", nodes, edges, "-o", out, "--stores", "tables,triples", *words)
    assert done.returncode == 0, done.stderr
    with kbkit.open(out) as kb:
        assert kb.info()["name"] == "zoo"
        assert (kb.manifest.recipe["title"], kb.manifest.recipe["licence"]) == ("A zoo", "ours")
        assert kb.iri("a") == "https://zoo.org/entity/a"
        assert kb.sparql("SELECT ?x { ?x rel:r entity:a }").height == 1
    refused = here("ingest", "table", nodes, edges, "-o", tmp_path / "x.kb", "--base", "zoo")
    assert "Invalid base of IRIs: 'zoo'" in refused.stderr


def test_what_is_no_graph(tmp_path: Path) -> None:
    with pytest.raises(KbError, match="Not a networkx graph: dict"):
        kbkit.from_networkx({"a": ["b"]}, out=tmp_path / "x.kb")


def test_nodes_that_are_equal_as_text_are_refused(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_edge(1, "1")
    with pytest.raises(KbError, match=r"Duplicate key '1': the nodes 1 and '1' have the same text"):
        kbkit.from_networkx(graph, out=tmp_path / "x.kb")
    with kbkit.from_networkx(graph, out=tmp_path / "x.kb", merge_duplicates=True, stores=STORES) as kb:
        assert (kb.schema.nodes, kb.schema.edges) == (1, 1)


def test_sets_of_networkx_become_sorted_lists(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", tags={"y", "x"}, mixed={"b", 2, 10}, nested=[{3, 1}], none={})
    graph.add_node("b", tags=frozenset("z"), mixed=pd.NA, nested=np.array([[2], None], dtype=object))
    graph.add_edge("a", "b", years={2002, 1999})
    with kbkit.from_networkx(graph, out=tmp_path / "x.kb", stores=STORES) as kb:
        [found, other] = kb.sql("SELECT tags, mixed, nested FROM entity ORDER BY id").rows()
        assert (found[0], found[2], other[0]) == (["x", "y"], [[1, 3]], ["z"])
        assert other[1:] == (None, [[2], None])
        assert found[1] == '[2, 10, "b"]'  # as any list of several types
        assert kb.sql("SELECT years FROM edges").item().to_list() == [1999, 2002]


def test_values_that_no_table_holds_are_located(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", size=1, where=[1, Path()])
    with pytest.raises(KbError, match=r"Unsupported value in attribute 'where' of node 'a': PosixPath"):
        kbkit.from_networkx(graph, out=tmp_path / "x.kb")
    graph = nx.DiGraph([("a", "b", {"made_by": object()})])
    with pytest.raises(KbError, match=r"Unsupported value in attribute 'made_by' of edge \('a', 'b'\): object"):
        kbkit.from_networkx(graph, out=tmp_path / "x.kb")
    with pytest.raises(KbError, match=r"Unsupported values in column 'made_by' of nodes"):
        kbkit.from_frames(pl.DataFrame({"key": ["a"], "made_by": [object()]}), out=tmp_path / "x.kb")


def test_keys_that_types_share_are_told_apart(world: KnowledgeBase, small: KnowledgeBase) -> None:
    graph = world.to_networkx()
    assert (len(graph), graph.number_of_edges()) == (world.schema.nodes, world.schema.edges)
    assert all("relation" in edge for *_, edge in graph.edges(data=True))


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["zoo"], "zoo"),
        (["zoo/nodes.csv", "zoo/edges.csv"], "zoo"),
        (["animals v1.2.ttl.gz"], "animals v1.2"),
        (["les\nmis.graphml"], "les mis"),
        (["zoo/nodes.csv", "edges.csv"], ""),
        ([".hidden"], ".hidden"),
    ],
)
def test_a_source_has_a_name(tmp_path: Path, paths: list[str], name: str) -> None:
    (tmp_path / "zoo").mkdir()
    assert source_name([tmp_path / path for path in paths]) == name


def test_a_kb_is_called_like_its_source(here: Run, tmp_path: Path) -> None:
    """With a recipe for any files; a name and a title that are given win."""
    path = tmp_path / "my zoo.csv"
    path.write_text("key\na\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\n", encoding="utf-8")
    command = ("ingest", "table", "--file", f"nodes={path}", "--file", f"edges={tmp_path / 'edges.csv'}", "--stores")
    done = here(*command, "tables", "-o", tmp_path / "a.kb")
    assert done.returncode == 0, done.stderr
    with kbkit.open(tmp_path / "a.kb") as kb:
        assert (kb.schema.name, kb.manifest.recipe["title"]) == (tmp_path.name, tmp_path.name)
    assert here("info", tmp_path / "a.kb").stdout.splitlines()[0] == tmp_path.name
    assert here(*command, "tables", "-o", tmp_path / "b.kb", "--name", "b", "--title", "B").returncode == 0
    with kbkit.open(tmp_path / "b.kb") as kb:
        assert (kb.schema.name, kb.manifest.recipe["title"], kb.schema.base) == ("b", "B", "http://example.org/b/")
    graph = tmp_path / "my zoo.json"
    graph.write_text('{"nodes": ["a"], "links": []}', encoding="utf-8")
    with kbkit.ingest("graph", graph, out=tmp_path / "c.kb", stores=STORES) as kb:
        assert (kb.schema.name, kb.schema.base) == ("my zoo", "http://example.org/my%20zoo/")
