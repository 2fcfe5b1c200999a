"""Graphs in one file: the recipe graph reads GraphML, GEXF, GML and node-link JSON of networkx and other programs."""

from __future__ import annotations

import datetime
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from kbkit.readers import graphs
from tests.conftest import Run
from tests.examples import examples

STORES = ("tables", "adjacency")


def node_link(graph: nx.Graph, path: Path, edges: str = "edges") -> None:
    path.write_text(json.dumps(nx.node_link_data(graph, edges=edges)), encoding="utf-8")


WRITERS = {
    "graphml": nx.write_graphml_xml,
    "gexf": nx.write_gexf,
    "gml": nx.write_gml,
    "json": node_link,
}


def ingest(path: Path, out: Path, **settings_: Any) -> KnowledgeBase:
    return kbkit.ingest("graph", path, out=out, stores=STORES, replace=True, **settings_)


def edges(graph: nx.MultiDiGraph) -> Counter[tuple[Any, ...]]:
    """Return the edges with their attributes; an undirected graph has each in both directions, loops once."""
    return Counter(
        (head, tail, *sorted((name, repr(value)) for name, value in data.items() if name not in ("id", "id_")))
        for head, tail, data in graph.edges(data=True)
    )


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)
NODE = st.fixed_dictionaries(
    {"type": st.sampled_from(["x", "y z"]), "name": TEXT},
    optional={"size": st.integers(-(2**31), 2**31 - 1), "part": st.floats(-9, 9).map(lambda x: x + 0.5), "tag": TEXT},
)
EDGE = st.fixed_dictionaries(
    {"relation": st.sampled_from(["r", "is in"]), "weight": st.floats(0.25, 9)}, optional={"note": TEXT}
)


@examples(4)
@given(data=st.data(), kind=st.sampled_from(sorted(WRITERS)), multi=st.booleans(), directed=st.booleans())
def test_graphs_of_networkx_come_back(
    tmp_path: Path, data: st.DataObject, kind: str, multi: bool, directed: bool
) -> None:
    """Without loss, except that equal parallel edges are one, and parallel ones have the file's id of the edge."""
    kinds = {(0, 0): nx.Graph, (0, 1): nx.DiGraph, (1, 0): nx.MultiGraph, (1, 1): nx.MultiDiGraph}
    graph = kinds[multi, directed]()
    nodes = data.draw(st.dictionaries(TEXT, NODE, min_size=1, max_size=6))
    for node, attributes in nodes.items():
        graph.add_node(node, **attributes)
    ends = st.sampled_from(sorted(nodes))
    for head, tail, attributes in data.draw(st.lists(st.tuples(ends, ends, EDGE), max_size=8)):
        graph.add_edge(head, tail, **attributes)
    path = tmp_path / f"graph.{kind}"
    WRITERS[kind](graph, path)
    with ingest(path, tmp_path / "x.kb") as kb:
        back = kb.to_networkx()
    assert dict(back.nodes(data=True)) == nodes
    both = graph if directed else nx.MultiDiGraph(graph)
    found, expected = edges(back), edges(both)
    assert set(found) == set(expected)
    assert multi or found == expected


@pytest.mark.core
@pytest.mark.parametrize("name", ["les.graphml", "les.gexf.gz", "les.gml", "les.json"])
def test_a_graph_of_networkx_itself(tmp_path: Path, name: str) -> None:
    """The four formats give the same KB: symmetric, keyed by name, with numbers as weights."""
    graph = nx.les_miserables_graph()
    plain = tmp_path / name.removesuffix(".gz")
    WRITERS[plain.suffix[1:]](graph, plain)
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(plain.read_bytes()))
    with ingest(tmp_path / name, tmp_path / "x.kb") as kb:
        [relation] = kb.relations().to_dicts()
        assert (relation["relation"], relation["edges"], relation["symmetric"]) == ("link", 508, True)
        assert kb.manifest.recipe["symmetric"] == ["link"]
        back = kb.to_networkx()
    assert set(back) == set(graph)
    assert all(back[a][b]["link"]["weight"] == data["weight"] for a, b, data in graph.edges(data=True))


def test_what_around_writes_comes_back(here: Run, world_kb: Path, tmp_path: Path) -> None:
    """The keys of the nodes are those of the KB that wrote the file."""
    done = here("around", world_kb, "Switzerland", "--output", tmp_path / "x.graphml")
    assert done.returncode == 0, done.stderr
    with ingest(tmp_path / "x.graphml", tmp_path / "x.kb") as kb, kbkit.open(world_kb) as world:
        back, whole = kb.to_networkx(), world.to_networkx()
        for node, data in back.nodes(data=True):
            found = whole.nodes[node if node in whole else f"{data['type']}#{node}"]
            assert (found["name"], found["type"]) == (data["name"], data["type"])
        assert {one["relation"] for *_, one in back.edges(data=True)} <= set(world.relations()["relation"])


# -- files of other programs ------------------------------------------------------------------------------------------

YED = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
 <key for="node" id="d1" yfiles.type="nodegraphics"/><key for="edge" id="d2" yfiles.type="edgegraphics"/>
 <key for="node" id="d3" attr.name="size" attr.type="int"><default>7</default></key>
 <graph edgedefault="directed" id="G">
  <node id="n0"><data key="d1"><y:ShapeNode><y:NodeLabel>Start <y:x/></y:NodeLabel></y:ShapeNode></data></node>
  <node id="n1" yfiles.foldertype="group"><data key="d3">8</data>
   <graph edgedefault="directed" id="n1:"><node id="n1::n0"/></graph></node>
  <edge id="e0" source="n0" target="n1"><data key="d2"><y:PolyLineEdge><y:EdgeLabel>leads to</y:EdgeLabel>
   </y:PolyLineEdge></data></edge>
  <edge id="e1" directed="false" source="n1" target="n1::n0"/>
 </graph></graphml>"""
GEPHI = """<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">
 <graph defaultedgetype="undirected"><attributes class="node"><attribute id="0" title="year" type="integer"/>
 <attribute id="1" title="kind" type="string"/></attributes><nodes>
 <node id="a" label="Ann"><attvalues><attvalue for="0" value="1980"/><attvalue for="1" value="person"/></attvalues>
 <viz:size value="3"/></node><node id="b" label="Ben"><attvalues><attvalue for="1" value="person"/></attvalues></node>
 </nodes><edges><edge id="0" source="a" target="b" weight="2" label="knows"/></edges></graph></gexf>"""
NEWMAN = """Creator "Mark Newman on Sat Jul 22 05:32:16 2006"
# a comment
graph
[
  directed 1
  node [ id 0 label "Zürich" value 1 source "a
b" ]
  node [ id 1 label "K&#246;ln" value 2.5 ]
  edge [ source 0 target 1 ]
  edge [ source 0 target 1 ]
]"""


def read(tmp_path: Path, name: str, text: str) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of a file; None stands for no value."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    tables = {table: graphs.read(tmp_path / name, table).read_all().to_pylist() for table in graphs.TABLES}
    return {name: [{k: v for k, v in row.items() if v is not None} for row in rows] for name, rows in tables.items()}


def test_a_file_of_yed(tmp_path: Path) -> None:
    """Labels in drawings, defaults, groups, and an edge without direction among others."""
    found = read(tmp_path, "x.graphml", YED)
    assert found["nodes"] == [
        {"key": "n0", "size": 7, "label": "Start"}, {"key": "n1", "size": 8}, {"key": "n1::n0", "size": 7},
    ]  # fmt: skip
    ends = [(row["head"], row["relation"], row["tail"]) for row in found["edges"]]
    assert ends == [("n0", "leads to", "n1"), ("n1", "link", "n1::n0")]
    assert found["undirected"] == [{"relation": "link"}]


def test_a_file_of_gephi(tmp_path: Path) -> None:
    found = read(tmp_path, "x.gexf", GEPHI)
    assert found["nodes"] == [
        {"key": "a", "label": "Ann", "year": 1980, "type": "person"}, {"key": "b", "label": "Ben", "type": "person"},
    ]  # fmt: skip
    assert found["edges"] == [{"head": "a", "relation": "knows", "tail": "b", "weight": 2.0}]


def test_gml_with_parallel_edges_and_other_letters(tmp_path: Path) -> None:
    """networkx refuses this file."""
    found = read(tmp_path, "x.gml", NEWMAN)
    assert [row["key"] for row in found["nodes"]] == ["Zürich", "Köln"]
    assert [row["value"] for row in found["nodes"]] == [1.0, 2.5]
    assert len(found["edges"]) == 2
    assert found["undirected"] == []


D3 = {
    "ids": {"nodes": [{"id": 1, "name": "A", "group": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, "w": 3}]},
    "positions": {"nodes": [{"name": "A", "group": 1}, {"name": "B"}], "links": [{"source": 0, "target": 1}]},
    "drawn": {"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": {"id": "a", "x": 1.5}, "target": {"id": "b"}}]},
    "cytoscape": {
        "elements": {
            "nodes": [{"data": {"id": "a"}}, {"data": {"id": "b"}}],
            "edges": [{"data": {"source": "a", "target": "b"}}],
        }
    },
}  # fmt: skip
KEYS = {"ids": ["1", "2"], "positions": ["0", "1"], "drawn": ["a", "b"], "cytoscape": ["a", "b"]}


@pytest.mark.parametrize("name", D3)
def test_json_of_other_programs(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, "x.json", json.dumps(D3[name]))
    assert [row["key"] for row in found["nodes"]] == KEYS[name]
    assert [(row["head"], row["tail"]) for row in found["edges"]] == [tuple(KEYS[name])]
    assert found["undirected"] == [{"relation": "link"}]


# -- hostile and damaged files ----------------------------------------------------------------------------------------

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
LAUGHS = "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]>"
BAD = {
    "bomb.graphml": (LAUGHS + HEAD + "<node id='&b;'/></graph></graphml>", "Unsupported entity"),
    "file.gexf": ("<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><gexf/>", "Unsupported entity"),
    "deep.graphml": (HEAD + "<a>" * 100_000, "nested deeper"),
    "cut.graphml": (HEAD + "<node id='a'/>", "Invalid XML: no element found"),
    "other.graphml": ("<html/>", "Element <html> instead of <graphml>"),
    "key.graphml": (HEAD + "<node id='a'><data key='d'/></node></graph></graphml>", "unknown key 'd'"),
    "ends.graphml": (HEAD + "<edge source='a'/></graph></graphml>", "Missing attribute or unknown key 'target'"),
    "deep.gml": ("graph [ " + "a [ " * 100_000, "nested deeper"),
    "cut.gml": ("graph [ node [ id 1 ]", "Unexpected end in .*, line 1"),
    "value.gml": ("graph [\n 5 ]", "Value without a key in .*, line 2"),
    "none.gml": ("Creator 1", "has 0 graphs"),
    "deep.json": ('{"nodes": ' + "[" * 100_000, "nested too deeply"),
    "half.json": ('{"nodes": [{"id": "\\ud800"}], "links": []}', "unpaired surrogate"),
    "list.json": ("[]", "not node-link JSON"),
    "id.json": ('{"nodes": [{}, {}], "links": []}', "have no id"),
    "ends.json": ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "Link 1 without source and target"),
}


@pytest.mark.parametrize("name", BAD)
def test_other_files_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(BadInputError, match=message) as error:
        ingest(tmp_path / name, tmp_path / "x.kb")
    assert name in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "x.kb").exists()


def test_unknown_ends_and_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"nodes": ["a", "a"], "links": [["a", "b"]]}', encoding="utf-8")
    with pytest.raises(KbError, match="Duplicate key: entity 'a'"):
        ingest(path, tmp_path / "x.kb")
    with pytest.raises(KbError, match="unknown nodes"):
        ingest(path, tmp_path / "x.kb", merge_duplicates=True)


def test_dates_get_their_type_and_other_texts_stay(tmp_path: Path) -> None:
    graph = nx.MultiDiGraph()
    graph.add_node("a", type="person", name="Ann", born="1980-05-01", code="7")
    graph.add_node("b", type="person", name="Bo", born="1991-12-31", code="8")
    graph.add_edge("a", "b", relation="knows", since="2001-02-03")
    nx.write_graphml_xml(graph, tmp_path / "people.graphml")
    with ingest(tmp_path / "people.graphml", tmp_path / "x.kb") as kb:
        types = {one.name: one.type for one in kb.schema.type("person").attributes}
        assert types == {"born": "DATE", "code": "VARCHAR"}
        assert kb.sql("SELECT since FROM edges").to_dicts() == [{"since": datetime.date(2001, 2, 3)}]
