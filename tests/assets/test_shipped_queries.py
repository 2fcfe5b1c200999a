"""The query files in sql/ and sparql/: each is well formed, runs on every kind of KB, and answers rightly.

The graph ``odd`` is small enough to work out every figure by hand, and its names are what breaks careless queries.
The topic ``stark`` runs on graphs of its own shapes only: test_templates.py has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.assets import queries
from kbkit.assets.queries import QueryFile
from kbkit.executor.lexers import parameters
from kbkit.kb import KnowledgeBase
from kbkit.schema import iri_escape
from tests.examples import first_some
from tests.loops import each

ALL = [(kind, name) for kind in queries.ENDINGS for name in queries.shipped(kind) if not name.startswith("stark/")]
GENERIC = [(kind, name) for kind, name in ALL if not name.startswith("world/")]
WORLD = [(kind, name) for kind, name in ALL if name.startswith("world/")]
BOTH = sorted(set(queries.shipped("sql")) & set(queries.shipped("sparql")))
LINKED = 'is "part" of/50% l\'é'  # a relation's name

# -- the KBs ----------------------------------------------------------------------------------------------------------

NODES = '''key,type,name,types,score
1,gene/protein,Alpha,,1.5
2,gene/protein,Beta,drug,
3,drug,Alpha,,2
4,"a 'quoted' ""type""",Delta,,
5,order,Epsilon,,
6,drug,Lone,,
7,gene/protein,Zeta,,
'''
EDGES = """head,relation,tail,since
1,order,2,2001
1,order,2,2002
2,order,1,
2,binds strongly to,3,
3,binds strongly to,3,
1,binds strongly to,2,
4,order,5,
5,"is ""part"" of/50% l'é",4,
"""
TEXTS = """key,field,text
1,long summary,Alpha talks of BETA.
2,note,Same words.
3,note,Same words.
3,long summary,More.
"""
QUADS = """<http://ex.org/a> <http://ex.org/likes> <http://ex.org/b> <http://ex.org/one> .
<http://ex.org/a> <http://ex.org/likes> <http://ex.org/b> <http://ex.org/two> .
<http://ex.org/b> <http://ex.org/likes> <http://ex.org/a> .
<http://ex.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/Thing> <http://ex.org/one> .
<http://ex.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/Thing> <http://ex.org/two> .
<http://ex.org/a> <http://ex.org/likes> <http://ex.org/Thing> .
<http://ex.org/Thing> <http://ex.org/likes> <http://ex.org/a> .
<http://ex.org/Thing> <http://www.w3.org/2000/01/rdf-schema#label> "thing" .
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def odd_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Types and relations whose names are keywords or full of quotes, parallel edges, several types, a loop."""
    folder = write(tmp_path_factory.mktemp("odd"), nodes_csv=NODES, edges_csv=EDGES, texts_csv=TEXTS)
    kbkit.ingest("table", folder, out=folder / "odd.kb", stores=["triples"]).close()
    return folder / "odd.kb"


@pytest.fixture(scope="session")
def bare_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nodes without type, edge, text or attribute."""
    folder = write(tmp_path_factory.mktemp("bare"), nodes_csv="key\na\nb\n", edges_csv="head,relation,tail\n")
    kbkit.ingest("table", folder, out=folder / "bare.kb", stores=["triples"]).close()
    return folder / "bare.kb"


@pytest.fixture(scope="session")
def quads_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RDF whose statements recur in several named graphs, and whose class is a node with edges too."""
    folder = write(tmp_path_factory.mktemp("quads"), quads_nq=QUADS)
    kbkit.ingest("rdf", folder / "quads.nq", out=folder / "quads.kb", stores=["triples"]).close()
    return folder / "quads.kb"


# Two nodes, a relation and a phrase for the queries that must be given some.
GIVEN = {
    "odd_kb": ("gene/protein#2", "drug#3", "order", "WORDS"),
    "bare_kb": ("a", "b", "none", "none"),
    "quads_kb": ("http://ex.org/a", "http://ex.org/b", "likes", "none"),
    "tiny_kb": ("gene/protein#g2", "drug#1", "associated_with", "THE"),
    "rdf_kb": ("http://example.org/tiny/gene/g2", "http://example.org/tiny/drug/1", "associated_with", "THE"),
    "world_kb": ("country#FRA", "country#DEU", "borders", "LANDlocked"),
}

Open = Callable[[str], KnowledgeBase]


@pytest.fixture(scope="module")
def open_kb(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Open the KB of a fixture, once."""
    opened: dict[str, KnowledgeBase] = {}

    def call(fixture: str) -> KnowledgeBase:
        if fixture not in opened:
            opened[fixture] = kbkit.open(request.getfixturevalue(fixture))
        return opened[fixture]

    yield call
    for kb in opened.values():
        kb.close()


def ask(kb: KnowledgeBase, kind: str, name: str, **given: object) -> pl.DataFrame:
    return kb.run(queries.load(kind, name), {key: str(value) for key, value in given.items()})


def arguments(kb: KnowledgeBase, fixture: str, query: QueryFile) -> dict[str, str]:
    """Something for every parameter without a default."""
    a, b, relation, phrase = GIVEN[fixture]
    iris = {r.name: r.iri for r in kb.schema.relations}
    kinds = {p.name: p.type for p in query.parameters}
    if query.kind == "sparql" and (kb.schema.rdf_source or kinds.get("relation") == "iri"):
        relation = iris.get(relation, "urn:none")
    known = {"node": a, "a": a, "b": b, "relation": relation, "phrase": phrase}
    return {p.name: known[p.name] for p in query.parameters if p.default is None}


# -- form -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_form(kind: str, name: str) -> None:
    path = queries.shipped(kind)[name]
    text = path.read_text(encoding="utf-8")
    query = queries.load(kind, name)
    assert query.name == name
    assert query.title.endswith(".")
    assert query.title != name
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 120
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    body = "\n".join(line for line in text.splitlines() if not line.startswith(("--", "#")))
    used = set(parameters(body, "sparql")) if kind == "sparql" else set(re.findall(r"\$([a-z]\w*)", body))
    assert used == {p.name for p in query.parameters}
    assert all(p.help for p in query.parameters)
    # A line that almost is a parameter would silently be prose.
    assert "$" not in query.title + query.description


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_topics_and_names(kind: str) -> None:
    """At least ten queries that run on every KB and ten (eight) on the sample; a name alone says which."""
    names = list(queries.shipped(kind))
    assert {name.split("/")[0] for name in names} == {"schema", "graph", "stark", "text", "world"}
    assert sum(k == kind for k, _ in GENERIC) >= 10
    assert sum(k == kind for k, _ in WORLD) >= 8
    assert not [stem for stem, count in Counter(name.split("/")[1] for name in names).items() if count > 1]


def test_twins_ask_the_same() -> None:
    """A query in both languages has the same title and the same parameters."""
    assert len(BOTH) > 30
    for name in BOTH:
        sql, sparql = (queries.load(kind, name) for kind in ("sql", "sparql"))
        assert [(p.name, p.default) for p in sql.parameters] == [(p.name, p.default) for p in sparql.parameters]
        if name != "schema/attributes":  # there SPARQL sees every literal
            assert sql.title == sparql.title


# -- every KB ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fixture", first_some(["odd_kb", "bare_kb", "quads_kb", "world_kb"], 2))
@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_runs_on_every_kb(open_kb: Open, fixture: str, kind: str) -> None:
    """Each query runs on each KB, and again on the graph ``odd`` with the same rows in the same order.

    The twins are compared on the larger ones below.
    """
    kb = open_kb(fixture)
    compared = TWINS if fixture in ("quads_kb", "world_kb") else {}
    for name in each([name for other, name in GENERIC if other == kind and name not in compared]):
        query = queries.load(kind, name)
        first = kb.run(query, arguments(kb, fixture, query))
        assert first.width >= 2, name
        if fixture == "odd_kb":
            assert first.equals(kb.run(query, arguments(kb, fixture, query))), name


@pytest.mark.parametrize(("kind", "name"), WORLD)
def test_world_runs_bare(open_kb: Open, kind: str, name: str) -> None:
    assert ask(open_kb("world_kb"), kind, name).height > 0


# Column of SPARQL -> where SQL has it: a column, or what is to be made of columns.
TWINS = {
    "schema/types": {"type": "type(type)", "nodes": "nodes"},
    "schema/relations": {"relation": "relation(relation)", "edges": "edges", "heads": "heads", "tails": "tails"},
    "schema/signatures": {
        "head_type": "type(head_type)",
        "relation": "relation(relation)",
        "tail_type": "type(tail_type)",
        "edges": "edges",
    },
    "schema/cardinality": {
        "relation": "relation(relation)",
        "cardinality": "cardinality",
        "tails_per_head": "tails_per_head",
        "most_tails": "most_tails",
        "heads_per_tail": "heads_per_tail",
        "most_heads": "most_heads",
    },
    "schema/edge_attributes": {
        "relation": "relation(relation)",
        "attribute": "attribute(attribute)",
        "filled": "filled",
    },
    "graph/degree_distribution": {"edges": "edges", "nodes": "nodes"},
    "graph/most_connected": {
        "node": "node(type, key)",
        "leaving": "leaving",
        "entering": "entering",
        "edges": "edges",
    },
    "graph/isolated": {"node": "node(type, key)"},
    "graph/shared_names": {"name": "name", "nodes": "nodes"},
    "graph/neighbours": {
        "relation": "relation(relation)",
        "direction": "direction",
        "neighbour": "node(type, key)",
    },
    "graph/shared_neighbours": {
        "node": "node(type, key)",
        "relation_a": "relation(relation_a)",
        "relation_b": "relation(relation_b)",
    },
    "graph/reachable": {"reached": "node(type, key)"},
    "graph/self_loops": {"relation": "relation(relation)", "node": "node(type, key)"},
    "graph/inverse_relations": {
        "relation": "relation(relation)",
        "reverse": "relation(reverse)",
        "mirrored": "mirrored",
        "share": "share",
    },
    "graph/common_tails": {"node": "node(type, key)", "heads": "heads"},
    "graph/linked_neighbours": {
        "head": "node(head_type, head)",
        "relation": "relation(relation)",
        "tail": "node(tail_type, tail)",
    },
    "text/fields": {
        "field": "field(field)",
        "nodes": "nodes",
        "texts": "texts",
        "mean_characters": "mean_characters",
        "most_characters": "most_characters",
    },
    "text/length_by_type": {
        "type": "type(type)",
        "texts": "texts",
        "mean_characters": "mean_characters",
        "least_characters": "least_characters",
        "most_characters": "most_characters",
    },
    "text/coverage": {"type": "type(type)", "nodes": "nodes", "with_text": "with_text", "share": "share"},
    "text/longest": {
        "node": "node(type, key)",
        "field": "field(field)",
        "characters": "characters",
        "text": "text",
    },
    "text/without_text": {"node": "node(type, key)"},
    "text/repeated": {"words": "text", "nodes": "nodes"},
    "text/containing": {"node": "node(type, key)", "field": "field(field)", "text": "text"},
    "text/mentions": {"mentioning": "node(type, key)", "linked": "linked"},
}
# In RDF a node may have texts and names in several languages; the tables keep one.
RDF = ("quads_kb", "rdf_kb")
DIFFERENT = ("odd_kb", "quads_kb", "world_kb")  # the others are much like these
LANGUAGES = {name for name in TWINS if name.startswith("text/")} | {"graph/shared_names"}


def translated(kb: KnowledgeBase, row: dict[str, Any], source: str) -> Any:
    """A value of SQL's ``row`` as SPARQL says it."""
    match = re.fullmatch(r"(\w+)\((.*)\)", source)
    if match is None:
        return row[source]
    values = [row[column] for column in match[2].split(", ")]
    if match[1] == "type":
        return kb.schema.type(values[0]).iri
    if match[1] == "relation":
        return kb.schema.relation(values[0]).iri
    if match[1] == "node":
        return values[1] if kb.schema.rdf_source else kb.schema.node_namespace(values[0]) + iri_escape(values[1])
    prefix = {"attribute": "attr", "field": "text"}[match[1]]
    return kb.schema.prefixes()[prefix] + iri_escape(values[0])


def plain(value: Any) -> Any:
    return round(float(value), 4) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def both(kb: KnowledgeBase, fixture: str, name: str) -> tuple[Counter[Any], Counter[Any]]:
    """What the two languages say, as bags of rows without order."""
    frames = {}
    for kind in ("sql", "sparql"):
        query = queries.load(kind, name)
        given = arguments(kb, fixture, query)
        if "limit" in {p.name for p in query.parameters}:
            given["limit"] = "1000000"
        frames[kind] = kb.run(query, given)
    columns = TWINS[name]
    sql = Counter(
        tuple(plain(translated(kb, row, source)) for source in columns.values())
        for row in frames["sql"].iter_rows(named=True)
    )
    sparql = Counter(tuple(plain(row[column]) for column in columns) for row in frames["sparql"].iter_rows(named=True))
    return sql, sparql


@pytest.mark.parametrize(
    ("name", "fixture"),
    [
        pytest.param(name, fixture, marks=() if fixture in DIFFERENT else pytest.mark.system)
        for name in TWINS
        for fixture in GIVEN
        if name not in LANGUAGES or fixture not in RDF
    ],
)
def test_twins_agree(open_kb: Open, fixture: str, name: str) -> None:
    kb = open_kb(fixture)
    sql, sparql = both(kb, fixture, name)
    assert sql == sparql
    # At least one comparison is of something: no two neighbours of a node are joined in the graph ``odd``.
    if fixture == ("world_kb" if name == "graph/linked_neighbours" else "odd_kb"):
        assert sql


@pytest.mark.parametrize("fixture", GIVEN)
def test_parallel_relations_agree(open_kb: Open, fixture: str) -> None:
    """The two languages may name a pair of relations in either order."""
    kb = open_kb(fixture)
    sql, sparql = (ask(kb, kind, "graph/parallel_relations") for kind in ("sql", "sparql"))
    iri = {r.name: r.iri for r in kb.schema.relations}
    assert {(frozenset((iri[a], iri[b])), n) for a, b, n in sql.iter_rows()} == {
        (frozenset((a, b)), n) for a, b, n in sparql.iter_rows()
    }


@pytest.mark.parametrize("fixture", ["odd_kb", "tiny_kb", "world_kb"])
def test_attributes_agree(open_kb: Open, fixture: str) -> None:
    """SPARQL has names and texts too; of the attributes it says what SQL says."""
    kb = open_kb(fixture)
    attr = kb.schema.prefixes()["attr"]
    sql, sparql = (ask(kb, kind, "schema/attributes") for kind in ("sql", "sparql"))
    wanted = {
        (kb.schema.type(row["type"]).iri, attr + row["attribute"], row["filled"], row["share"])
        for row in sql.iter_rows(named=True)
    }
    assert wanted
    found = sparql.filter(pl.col("attribute").str.starts_with(attr))
    assert {(t, a, n, round(float(share), 4)) for t, a, n, share in found.iter_rows()} == wanted


@pytest.mark.parametrize("name", ["graph/most_connected", "graph/isolated", "text/longest", "text/without_text"])
@pytest.mark.parametrize(("fixture", "type_"), [("odd_kb", "gene/protein"), ("world_kb", "city")])
def test_type_keeps_only_that_type(open_kb: Open, fixture: str, type_: str, name: str) -> None:
    """A type is primary or other, in both languages."""
    kb = open_kb(fixture)
    sql, sparql = (ask(kb, kind, name, type=type_, limit=100_000) for kind in ("sql", "sparql"))
    iris = [translated(kb, row, "node(type, key)") for row in sql.iter_rows(named=True)]
    assert sorted(iris) == sorted(sparql["node"].to_list())
    everything = ask(kb, "sql", name, limit=100_000)
    members = kb.sql(f'SELECT type, key FROM nodes JOIN "{kb.schema.type(type_).table}" USING (id, key)').rows()
    assert rows(sql, "type", "key") == [node for node in rows(everything, "type", "key") if node in members]


def test_type_of_an_rdf_source(open_kb: Open) -> None:
    """There a type is called by the end of its IRI, as in the tables."""
    kb = open_kb("quads_kb")
    assert ask(kb, "sparql", "graph/most_connected", type="Thing")["node"].to_list() == ["http://ex.org/a"]
    assert ask(kb, "sql", "graph/most_connected", type="Thing")["key"].to_list() == ["http://ex.org/a"]


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_limit(open_kb: Open, kind: str) -> None:
    kb = open_kb("odd_kb")
    assert ask(kb, kind, "graph/most_connected").height == 5
    assert ask(kb, kind, "graph/most_connected", limit=2).height == 2


# -- figures worked out by hand ---------------------------------------------------------------------------------------


def rows(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return frame.select(columns).rows()


def test_schema_of_odd(open_kb: Open) -> None:
    kb = open_kb("odd_kb")
    assert rows(ask(kb, "sql", "types"), "type", "nodes", "primary_nodes") == [
        ("drug", 3, 2),
        ("gene/protein", 3, 3),
        ("a 'quoted' \"type\"", 1, 1),
        ("order", 1, 1),
    ]
    assert sorted(rows(ask(kb, "sql", "relations"), "relation", "edges", "heads", "tails")) == [
        ("binds strongly to", 3, 3, 2),
        (LINKED, 1, 1, 1),
        ("order", 3, 3, 3),
    ]
    binds = ask(kb, "sql", "signatures").filter(pl.col("relation") == "binds strongly to")
    assert sorted(rows(binds, "head_type", "tail_type", "edges")) == [
        ("drug", "drug", 2),
        ("gene/protein", "drug", 2),
        ("gene/protein", "gene/protein", 1),
    ]
    assert rows(ask(kb, "sql", "attributes"), "type", "attribute", "filled", "share") == [
        ("drug", "score", 1, 0.3333),
        ("gene/protein", "score", 1, 0.3333),
    ]
    assert rows(ask(kb, "sql", "edge_attributes"), "relation", "attribute", "data_type", "filled", "share") == [
        ("order", "since", "BIGINT", 2, 0.5)
    ]
    assert ask(kb, "sql", "cardinality").filter(pl.col("relation") == "binds strongly to").rows() == [
        ("binds strongly to", "one to one", 1.0, 1, 1.5, 2)
    ]


@pytest.mark.core
def test_graph_of_odd(open_kb: Open) -> None:
    kb = open_kb("odd_kb")
    assert ask(kb, "sql", "degree_distribution").rows() == [(0, 2), (2, 2), (3, 2), (4, 1)]
    assert rows(ask(kb, "sql", "most_connected", limit=1), "name", "leaving", "entering") == [("Beta", 2, 2)]
    assert ask(kb, "sql", "isolated")["name"].to_list() == ["Zeta", "Lone"]
    assert ask(kb, "sql", "shared_names").rows() == [("Alpha", 2, "gene/protein#1, drug#3")]
    assert rows(ask(kb, "sql", "self_loops"), "relation", "key") == [("binds strongly to", "3")]
    assert sorted(ask(kb, "sql", "inverse_relations").rows()) == [
        ("binds strongly to", "order", 1, 0.5),
        (LINKED, "order", 1, 1.0),
        ("order", "binds strongly to", 1, 0.3333),
        ("order", LINKED, 1, 0.3333),
        ("order", "order", 2, 0.6667),
    ]
    parallel = ask(kb, "sql", "parallel_relations").rows()
    assert [(frozenset(pair), n) for *pair, n in parallel] == [(frozenset(("order", "binds strongly to")), 1)]
    binds = ask(kb, "sql", "common_tails", relation="binds strongly to")
    assert rows(binds, "key", "heads") == [("3", 2), ("2", 1)]
    assert ask(kb, "sql", "components").rows() == [
        (3, 1, "gene/protein#1"),
        (2, 1, "a 'quoted' \"type\"#4"),
        (1, 2, "gene/protein#7"),
    ]


@pytest.mark.parametrize("kind", queries.ENDINGS)
@pytest.mark.parametrize("relation", ["order", "binds strongly to", LINKED])
def test_relations_by_name(open_kb: Open, kind: str, relation: str) -> None:
    """A relation's name stands for it in both languages, whatever it is."""
    expected = {"order": [1, 1, 1], "binds strongly to": [2, 1], LINKED: [1]}[relation]
    assert ask(open_kb("odd_kb"), kind, "common_tails", relation=relation)["heads"].to_list() == expected


def test_around_a_node(open_kb: Open) -> None:
    kb = open_kb("odd_kb")
    assert rows(ask(kb, "sql", "neighbours", node="order#5"), "relation", "direction", "key") == [
        (LINKED, "out", "4"),
        ("order", "in", "4"),
    ]
    between = ask(kb, "sql", "shared_neighbours", a="gene/protein#1", b="drug#3")
    assert sorted(rows(between, "name", "relation_a", "relation_b")) == [
        ("Beta", "binds strongly to", "binds strongly to"),
        ("Beta", "order", "binds strongly to"),
    ]
    reached = ask(kb, "sql", "reachable", node="gene/protein#1", relation="order")
    assert rows(reached, "steps", "key") == [(1, "2"), (2, "1")]
    reached = ask(kb, "sparql", "reachable", node="gene/protein#1", relation=kb.schema.relation("order").iri)
    assert reached["name"].to_list() == ["Alpha", "Beta"]
    linked = ask(kb, "sql", "linked_neighbours", node="drug#3")
    assert linked.is_empty()  # its one neighbour beside itself has none to be linked with


def test_shortest_path(open_kb: Open) -> None:
    kb = open_kb("odd_kb")
    path = ask(kb, "sql", "shortest_path", a="drug#3", b="gene/protein#1")
    assert rows(path, "step", "key", "direction") == [(0, "3", None), (1, "2", "in"), (2, "1", path["direction"][2])]
    assert ask(kb, "sql", "shortest_path", a="drug#3", b="order#5").is_empty()
    assert ask(kb, "sql", "shortest_path", a="drug#3", b="gene/protein#1", steps=1).is_empty()
    assert rows(ask(kb, "sql", "shortest_path", a="drug#3", b="drug#3"), "step", "key") == [(0, "3")]


def test_text_of_odd(open_kb: Open) -> None:
    kb = open_kb("odd_kb")
    assert ask(kb, "sql", "fields").rows() == [("long summary", 2, 2, 12.5, 20), ("note", 2, 2, 11.0, 11)]
    coverage = {row["type"]: row for row in ask(kb, "sql", "coverage").iter_rows(named=True)}
    assert (coverage["drug"]["with_text"], coverage["drug"]["share"]) == (2, 0.6667)
    assert coverage["order"]["with_text"] == 0
    assert ask(kb, "sql", "repeated").rows() == [("Same words.", 2, "drug#3")]
    assert sorted(ask(kb, "sql", "without_text")["key"].to_list()) == ["4", "5", "6", "7"]
    assert rows(ask(kb, "sql", "longest", limit=1), "key", "characters") == [("1", 20)]
    assert ask(kb, "sql", "containing", phrase="same WORDS", type="gene/protein")["key"].to_list() == ["2"]
    assert rows(ask(kb, "sql", "mentions", node="gene/protein#2"), "key", "linked") == [("1", True)]


@pytest.mark.parametrize("kind", queries.ENDINGS)
@pytest.mark.parametrize("phrase", ["'", '"', "\\", "%_", "$limit", "} # {", "\n"])
def test_phrases_are_taken_literally(open_kb: Open, kind: str, phrase: str) -> None:
    """The texts of the graph ``odd`` hold none of these."""
    assert ask(open_kb("odd_kb"), kind, "containing", phrase=phrase).is_empty()


def test_statements_in_several_graphs_count_once(open_kb: Open) -> None:
    kb = open_kb("quads_kb")
    for kind in queries.ENDINGS:
        assert rows(ask(kb, kind, "relations"), "edges", "heads", "tails") == [(4, 3, 3)]
        assert ask(kb, kind, "degree_distribution").rows() == [(2, 2), (4, 1)]


# -- the sample: facts that no edit of it will change -----------------------------------------------------------------


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_world_seas(open_kb: Open, kind: str) -> None:
    kb = open_kb("world_kb")
    landlocked = set(ask(kb, kind, "landlocked")["name"])
    assert {"Nepal", "Bolivia", "Switzerland", "Mongolia", "Chad", "Kazakhstan"} <= landlocked
    assert not {"France", "Peru", "India", "Japan", "Belgium", "Iraq"} & landlocked
    doubly = ask(kb, kind, "doubly_landlocked")
    assert doubly["name"].to_list() == ["Liechtenstein", "Uzbekistan"]
    assert doubly["neighbours"][0] == "Austria, Switzerland"
    islands = set(ask(kb, kind, "islands")["name"])
    assert {"Iceland", "Japan", "Madagascar", "Australia", "Cuba"} <= islands
    assert not {"Ireland", "United Kingdom", "Haiti", "Indonesia", "Spain"} & islands
    drained = set(ask(kb, kind, "drainage")["name"])
    assert {"Danube", "Dnieper", "Don", "Sava"} <= drained
    assert not {"Nile", "Volga", "Rhine"} & drained
    assert "Rhine" in set(ask(kb, kind, "drainage", sea="sea#north-sea")["name"])


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_world_neighbours(open_kb: Open, kind: str) -> None:
    kb = open_kb("world_kb")
    assert rows(ask(kb, kind, "most_neighbours", limit=2), "name", "neighbours") == [("China", 14), ("Russia", 14)]
    pairs = set(rows(ask(kb, kind, "neighbours_without_shared_language"), "country", "neighbour"))
    assert ("France", "Spain") in pairs or ("Spain", "France") in pairs
    assert not {("Austria", "Germany"), ("Germany", "Austria"), ("Argentina", "Chile")} & pairs
    common = ask(kb, kind, "in_common")
    borders = common.filter(pl.col("relation").str.ends_with("borders"))
    names = set(borders["which"][0].split(", ")) if kind == "sql" else set(borders["name"])
    assert names == {"Belgium", "Luxembourg", "Switzerland"} or names == {
        "Belgium",
        "Luxembourg",
        "Netherlands",  # on Saint Martin
        "Switzerland",
    }


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_world_members_and_languages(open_kb: Open, kind: str) -> None:
    kb = open_kb("world_kb")
    members = ask(kb, kind, "members")
    joined = dict(zip(members["since"], members["members"], strict=True)) if kind == "sql" else {}
    if kind == "sql":
        assert joined[1973] == "Denmark, Ireland"
        assert joined[1995] == "Austria, Finland, Sweden"
    else:
        assert members.filter(pl.col("since") == 1986)["name"].to_list() == ["Portugal", "Spain"]
    spoken = set(ask(kb, kind, "spoken_in")["name"])
    assert {"Portugal", "Brazil", "Angola", "Mozambique"} <= spoken
    assert "Spain" not in spoken
    assert "Austria" in set(ask(kb, kind, "spoken_in", language="language#deu")["name"])
    shared = dict(rows(ask(kb, kind, "shared_currencies"), "name", "countries"))
    assert shared["Euro"] >= 20
    assert "Japanese yen" not in shared


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_world_rivers_and_people(open_kb: Open, kind: str) -> None:
    kb = open_kb("world_kb")
    assert rows(ask(kb, kind, "rivers_by_countries", limit=1), "name", "countries") == [("Danube", 10)]
    growth = ask(kb, kind, "population_growth", limit=1000)
    by_name = dict(rows(growth, "name", "growth_percent"))
    assert by_name["Qatar"] > 100
    assert by_name["Bulgaria"] < 0
    assert growth["growth_percent"].is_sorted(descending=True)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("landlocked", ["name", "area_km2"]),
        ("doubly_landlocked", ["name", "neighbours"]),
        ("most_neighbours", ["name", "neighbours"]),
        ("islands", ["name", "area_km2"]),
        ("rivers_by_countries", ["name", "length_km", "countries"]),
        ("population_growth", ["name", "people_2000", "people_2020", "growth_percent"]),
        ("spoken_in", ["name", "status"]),
        ("shared_currencies", ["name", "countries"]),
    ],
)
def test_world_twins_agree_in_order_too(open_kb: Open, name: str, columns: list[str]) -> None:
    kb = open_kb("world_kb")
    sql, sparql = (ask(kb, kind, name).select(columns).rows() for kind in ("sql", "sparql"))
    assert [tuple(map(plain, row)) for row in sql] == [tuple(map(plain, row)) for row in sparql]


def test_world_twins_agree_where_they_are_laid_out_differently(open_kb: Open) -> None:
    kb = open_kb("world_kb")
    sql, sparql = (ask(kb, kind, "neighbours_without_shared_language") for kind in ("sql", "sparql"))
    pairs = [set(map(frozenset, rows(frame, "country", "neighbour"))) for frame in (sql, sparql)]
    assert pairs[0] == pairs[1]
    sql, sparql = (ask(kb, kind, "drainage") for kind in ("sql", "sparql"))
    assert set(rows(sql, "name", "flows_into")) == set(rows(sparql, "name", "flows_into"))
    sql, sparql = (ask(kb, kind, "members") for kind in ("sql", "sparql"))
    assert sorted(", ".join(sql["members"]).split(", ")) == sorted(sparql["name"])
    sql, sparql = (ask(kb, kind, "in_common") for kind in ("sql", "sparql"))
    assert sql["number"].sum() == sparql.height


def test_world_in_sql_only(open_kb: Open) -> None:
    kb = open_kb("world_kb")
    way = ask(kb, "sql", "overland")
    assert way["name"].to_list()[:3] == ["Portugal", "Spain", "France"]
    assert rows(way[-1], "borders_crossed", "name") == [(6, "China")]
    assert ask(kb, "sql", "overland", a="country#ISL").is_empty()
    assert ask(kb, "sql", "overland", a="country#FRA", b="country#FRA")["name"].to_list() == ["France"]
    highest = dict(rows(ask(kb, "sql", "highest_mountains"), "country", "mountain"))
    assert highest["Nepal"] == highest["China"] == "Mount Everest"
    assert highest["Pakistan"] == "K2"
    africa = ask(kb, "sql", "highest_mountains", continent="Africa")
    assert africa["country"][0] == "Tanzania"
    assert "Nepal" not in set(africa["country"])
    north = ask(kb, "sql", "capitals_by_latitude", limit=1000)
    assert rows(north, "capital", "country")[0] == ("Reykjavík", "Iceland")
    assert rows(north, "capital", "country")[-1] == ("Wellington", "New Zealand")
    assert {"Monaco", "Singapore"} <= set(ask(kb, "sql", "density")["name"])


@pytest.mark.core
def test_a_query_by_its_name(here: Any, odd_kb: Path) -> None:
    """Through the console script: by topic and name, by name alone, and with a parameter missing."""
    done = here("sql", odd_kb, "graph/isolated", "-f", "csv")
    assert done.stdout == "type,key,name\ngene/protein,7,Zeta\ndrug,6,Lone\n"
    assert here("sql", odd_kb, "isolated", "-f", "csv").stdout == done.stdout
    done = here("sparql", odd_kb, "neighbours")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "graph/neighbours" in done.stderr
    assert "node" in done.stderr
