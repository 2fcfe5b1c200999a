"""Shortest paths and neighbourhoods: against a search by hand, against SQL, and as commands."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.graph import path_search
from kbkit.graph import steps as graph
from kbkit.graph.neighbourhoods import neighbourhood
from kbkit.graph.nodes import degrees_of_all, hub_degree
from kbkit.graph.paths import Paths, paths
from kbkit.kb import KnowledgeBase
from kbkit.schema import Relation, Schema, Signature
from kbkit.stores import adjacency
from tests.console import records
from tests.wording import Wording

Edge = tuple[int, str, int]

TYPES = "aaaabbbccc"
"""The primary type of each of ten nodes; node 1 is also a c."""
RELATIONS = ("r", "s", "twin")
EDGES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(RELATIONS), st.integers(0, 9)), max_size=25)


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Ten nodes; the tests bring edges of their own."""
    folder = tmp_path_factory.mktemp("ten")
    rows = [f"k{i},{name},node {i},{'c' if i == 1 else ''}" for i, name in enumerate(TYPES)]
    (folder / "nodes.csv").write_text("\n".join(["key,type,name,types", *rows]) + "\n")
    (folder / "edges.csv").write_text("head,relation,tail\nk0,r,k1\n")
    with kbkit.ingest("table", folder, out=folder / "ten.kb", stores=["tables", "adjacency"]) as kb:
        yield kb


def both_ways(edges: list[Edge]) -> list[Edge]:
    """Distinct edges as a KB keeps them: the relation ``twin`` is symmetric."""
    turned = [(tail, relation, head) for head, relation, tail in edges if relation == "twin"]
    return sorted({*edges, *turned}, key=lambda edge: (RELATIONS.index(edge[1]), edge[0], edge[2]))


def built(folder: Path, edges: list[Edge], schema: Schema) -> tuple[adjacency.Adjacency, Schema]:
    """The arrays of ``edges``, and the schema with their relations."""

    def batches(_: str) -> pa.RecordBatchReader:
        ids = pa.schema([("head", pa.int32()), ("tail", pa.int32())])
        return pa.table({"head": [e[0] for e in edges], "tail": [e[2] for e in edges]}, ids).to_reader()

    counts = [sum(edge[1] == name for edge in edges) for name in RELATIONS]
    adjacency.build(batches, folder / "arrays", counts, lambda *_: None)
    relations = []
    for name, count in zip(RELATIONS, counts, strict=True):
        joined = sorted({(TYPES[head], TYPES[tail]) for head, relation, tail in edges if relation == name})
        signatures = tuple(Signature(head, tail, 1) for head, tail in joined)
        relations.append(Relation(name, name, name, count, count, signatures, name == "twin"))
    return adjacency.Adjacency(folder / "arrays", RELATIONS), dataclasses.replace(schema, relations=tuple(relations))


class Oracle:
    """The same graph as plain sets."""

    def __init__(self, edges: list[Edge], relations: list[str] | None, types: list[str] | None) -> None:
        self.edges = [edge for edge in edges if relations is None or edge[1] in relations]
        moves = {(head, tail, name, True) for head, name, tail in self.edges}
        moves |= {(tail, head, name, False) for head, name, tail in self.edges if name != "twin"}
        self.moves = moves
        self.near = {n: {there for here, there, *_ in moves if here == n} for n in range(10)}
        self.degree = {n: sum(move[0] == n for move in moves) for n in range(10)}
        self.open = {n for n in range(10) if types is None or TYPES[n] in types or (n == 1 and "c" in types)}

    def paths(self, start: int, end: int, longest: int) -> list[tuple[int, ...]]:
        """All shortest ones in order."""
        found: list[tuple[int, ...]] = [(start,)]
        for _ in range(longest):
            found = [(*p, n) for p in found for n in self.near[p[-1]] if n not in p and (n in self.open or n == end)]
            there = [p for p in found if p[-1] == end]
            if there:
                return sorted(there, key=lambda p: (sum(round(1000 * math.log2(self.degree[n])) for n in p[1:-1]), p))
        return []

    def hops(self, center: int, longest: int) -> dict[int, int]:
        """How far each node is."""
        hops = {center: 0}
        for hop in range(1, longest + 1):
            border = {there for here in hops for there in self.near[here] if there in self.open}
            hops |= dict.fromkeys(sorted(border - set(hops)), hop)
        return hops


NARROWED = st.one_of(st.none(), st.lists(st.sampled_from(RELATIONS), min_size=1, max_size=2))
TYPED = st.one_of(st.none(), st.lists(st.sampled_from("abc"), min_size=1, max_size=2))


@pytest.fixture(scope="module", params=["whole", "pieces"])
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Also with pieces and long rows as small as can be."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "pieces":
            patch.setattr(graph, "_PIECE", 2)
            patch.setattr(graph, "_LONG_ROW", 0)
            patch.setattr(graph, "_MANY_MOVES", 0)
        yield


@given(edges=EDGES, ends=st.permutations(range(10)), longest=st.integers(1, 6), limit=st.integers(1, 6),
       relations=NARROWED, types=TYPED)  # fmt: skip
def test_random_paths(
    ten: KnowledgeBase, sizes: None, edges: list[Edge], ends: list[int], longest: int, limit: int,
    relations: list[str] | None, types: list[str] | None,
) -> None:  # fmt: skip
    edges = both_ways(edges)
    start, end = ends[:2]
    oracle = Oracle(edges, relations, types)
    expected = oracle.paths(start, end, longest)
    with TemporaryDirectory() as folder:
        arrays, schema = built(Path(folder), edges, ten.schema)
        stores = SimpleNamespace(tables=ten.tables, nodes=ten.stores.nodes, adjacency=arrays, schema=schema)
        found = paths(stores, start, end, longest, limit, relations, types)
    assert [tuple(node.id for node in path.nodes) for path in found] == expected[:limit]
    assert found.total == len(expected)
    if found.separate:
        assert not oracle.paths(start, end, 10)
    for path in found:
        for before, step in zip(path.nodes, path.steps, strict=False):
            joining = {move[2:] for move in oracle.moves if move[:2] == (before.id, step.node.id)}
            assert {move[:2] for move in step.relations} == joining
            assert len(step.relations) == len(joining)


@given(edges=EDGES, ends=st.permutations(range(10)), longest=st.integers(1, 5))
def test_longer_paths_are_all_that_there_are(
    ten: KnowledgeBase, sizes: None, edges: list[Edge], ends: list[int], longest: int
) -> None:
    """Without a limit: every path that passes no node twice, by weight; no node of so few is a hub."""
    edges = both_ways(edges)
    oracle = Oracle(edges, None, None)
    every = [(ends[0],)]
    for _ in range(longest):
        grown = [(*p, n) for p in every if p[-1] != ends[1] for n in oracle.near[p[-1]] - set(p)]
        every += [path for path in grown if path not in every]
    expected = {path for path in every if path[-1] == ends[1]}
    with TemporaryDirectory() as folder:
        arrays, schema = built(Path(folder), edges, ten.schema)
        stores: Any = SimpleNamespace(tables=ten.tables, nodes=ten.stores.nodes, adjacency=arrays, schema=schema)
        stores.shared = lambda counted: counted(stores)
        found = paths(stores, *ends[:2], longest, 10_000, longer=True)
    assert {tuple(node.id for node in path.nodes) for path in found} == expected
    assert len(found) == len(expected)
    assert [path.weight for path in found] == sorted(path.weight for path in found)
    assert found.unsearched == 0


def test_too_many_longer_paths_are_not_searched(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    shortest = world.paths("country#BRA", "country#AGO", 6, 25)
    assert shortest.unsearched == 3
    assert shortest.summary.endswith("of 2 steps; paths of 3 or more steps were not searched")
    found = world.paths("country#BRA", "country#AGO", 6, 25, longer=True)
    assert len(found) == 25
    assert found.unsearched == 0
    assert len({path.nodes for path in found}) == 25
    degrees = world.stores.shared(degrees_of_all)
    inner = [node.id for path in found for node in path.nodes[1:-1]]
    assert int(degrees[inner].max()) <= hub_degree(world.stores)
    monkeypatch.setattr(path_search, "_MOST_NEIGHBOURS", 10)
    few = world.paths("country#BRA", "country#AGO", 6, 25, longer=True)
    assert len(few) < 25
    assert few.summary.endswith("; paths of 3 or more steps were not searched")


@given(edges=EDGES, center=st.integers(0, 9), hops=st.integers(1, 4), limit=st.integers(1, 12),
       relations=NARROWED, types=TYPED)  # fmt: skip
def test_random_neighbourhoods(
    ten: KnowledgeBase, sizes: None, edges: list[Edge], center: int, hops: int, limit: int,
    relations: list[str] | None, types: list[str] | None,
) -> None:  # fmt: skip
    edges = both_ways(edges)
    oracle = Oracle(edges, relations, types)
    within = oracle.hops(center, hops)
    with TemporaryDirectory() as folder:
        arrays, schema = built(Path(folder), edges, ten.schema)
        stores = SimpleNamespace(
            tables=ten.tables,
            nodes=ten.stores.nodes,
            adjacency=arrays,
            schema=schema,
            directory=ten.stores.directory,
            has=ten.stores.has,
        )
        found = neighbourhood(stores, center, hops, limit, relations, types)
        again = neighbourhood(stores, center, hops, limit, relations, types)
    kept = dict(found.nodes.select("id", "hop").iter_rows())
    assert kept.items() <= within.items()
    assert len(kept) == min(limit, len(within))
    assert sorted(kept.values()) == sorted(within.values())[:limit]  # the nearest
    among = {(h, r, t) for h, r, t in oracle.edges if h in kept and t in kept}
    assert sorted(found.edges.iter_rows()) == sorted(among)
    counted = {(hop, TYPES[n]) for n, hop in within.items()}
    assert set(found.found.select("hop", "type").iter_rows()) == counted
    assert (found.found["nodes"].sum(), found.found["kept"].sum()) == (len(within), len(kept))
    assert found.omitted == len(within) - len(kept)
    assert found.nodes.equals(again.nodes)


# -- paths by hand ----------------------------------------------------------------------------------------------------


def test_paths_of_the_world(world: KnowledgeBase) -> None:
    found = world.paths("Moselle", "Aare")
    assert str(found) == (
        "Moselle  (river#moselle)\n"
        "  -> [flows_into] -> Rhine  (river#rhine)\n"
        "  <- [flows_into] <- Aare  (river#aare)\n"
        "\n"
        "1 shortest path of 2 steps; paths of 3 or more steps were not searched"
    )
    assert (found.steps, len(found), found.total, found.separate) == (2, 1, 1, False)
    assert [node.reference for node in found[0].nodes] == ["river#moselle", "river#rhine", "river#aare"]
    assert "<pre>Moselle  (river#moselle)\n  -&gt; [" in found._repr_html_()


def test_hubs_come_last_and_the_rest_is_counted(world: KnowledgeBase) -> None:
    found = world.paths("France", "Japan", limit=3)
    sql = "SELECT count(*) AS n FROM member_of m JOIN organisation o ON m.tail = o.id WHERE o.key = $key"
    degree = {key: world.sql(sql, key=key)["n"][0] for key in ("oecd", "g7", "g20")}
    assert [path.nodes[1].key for path in found] == sorted(degree, key=degree.__getitem__)
    assert found.summary == "9 shortest paths of 2 steps; the first 3 are shown"
    assert str(found[:1][0]).startswith("France  (country#FRA)\n  -> [member_of] -> Group of Seven")


def test_longer_paths_through_less_linked_nodes_compete_with_the_shortest(tmp_path: Path) -> None:
    """Two films of a genre that all films have, and an actor of both who is linked by a third film."""
    films = [f"f{n}" for n in range(200)]
    nodes = [*(f"{film},film,{film}" for film in films), "drama,genre,Drama", "ann,person,Ann", "bob,person,Bob"]
    acts = ["ann,acts_in,f0", "ann,acts_in,f7", "bob,acts_in,f7", "bob,acts_in,f1"]
    (tmp_path / "nodes.csv").write_text("\n".join(["key,type,name", *nodes, ""]))
    edges = [*(f"{film},has_genre,drama" for film in films), *acts]
    (tmp_path / "edges.csv").write_text("\n".join(["head,relation,tail", *edges, ""]))
    with kbkit.ingest("table", tmp_path, out=tmp_path / "k.kb", stores=["tables", "adjacency"]) as kb:
        assert [len(path) for path in kb.paths("film#f0", "film#f1")] == [2]
        found = kb.paths("film#f0", "film#f1", longer=True)
        assert [[node.name for node in path.nodes] for path in found] == [
            ["f0", "Ann", "f7", "Bob", "f1"],
            ["f0", "Drama", "f1"],
        ]
        assert [path.weight for path in found] == pytest.approx([math.log2(2 * 3 * 2), math.log2(200)], abs=0.01)
        assert found.summary == "2 paths: the 1 shortest path of 2 steps, and 1 longer without hubs"
        assert found.drawing().nodes.sort("hop")["name"].to_list()[-1] == "f1"
        assert len(kb.paths("film#f0", "film#f1", limit=1, longer=True)) == 1
        assert len(kb.paths("film#f0", "person#ann", longer=True)[0]) == 1


def test_several_relations_are_one_step(small: KnowledgeBase) -> None:
    [path] = small.paths("person#1", "drug#1")
    assert [(m.relation, m.forward) for m in path.steps[0].relations] == [("order", True), ("takes", True)]
    assert path.steps[0].label == "-> [order|takes] ->"
    [back] = small.paths("drug#1", "person#1")
    assert back.steps[0].label == "<- [order|takes] <-"


def test_relations_that_run_both_ways(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,t,A\nb,t,B\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,likes,b\nb,likes,a\nb,owes,a\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["tables", "adjacency"]) as kb:
        assert not kb.schema.relation("owes").symmetric
        [path] = kb.paths("a", "b")
        likes = "likes" if kb.schema.relation("likes").symmetric else "likes|^likes"
        assert path.steps[0].label == f"-> [{likes}|^owes] ->"


@pytest.mark.core
def test_frame(world: KnowledgeBase) -> None:
    frame = world.paths("Moselle", "Aare").frame()
    assert frame.columns == ["path", "step", "relation", "direction", "id", "key", "type", "name"]
    assert frame.drop("id", "name").rows() == [
        (1, 0, None, None, "moselle", "river"),
        (1, 1, "flows_into", "out", "rhine", "river"),
        (1, 2, "flows_into", "in", "aare", "river"),
    ]
    assert world.paths("Moselle", "Aare", max_steps=1).frame().columns == frame.columns


def test_restricted_paths(world: KnowledgeBase) -> None:
    found = world.paths("France", "Germany", relations=["flows_through"])
    assert {path.nodes[1].key for path in found} == {"moselle", "rhine"}
    over = world.paths("France", "Japan", types=["year"])
    assert {path.nodes[1].type for path in over} == {"year"}
    assert len(over) == 2  # the ends need not be years
    none = world.paths("France", "Japan", relations=["lies_in"])
    assert (len(none), none.separate, none.summary, bool(none)) == (0, True, "no path", False)
    assert not world.paths("France", "Japan", max_steps=1).separate


@pytest.mark.parametrize(
    "given_",
    [
        {"end": "france"},
        {"max_steps": 0},
        {"max_steps": 101},
        {"limit": 0},
    ],
)
def test_invalid_path_arguments(world: KnowledgeBase, given_: dict[str, Any], wording: Wording) -> None:
    with pytest.raises(BadInputError) as caught:
        world.paths("France", **{"end": "Japan", **given_})
    wording(str(caught.value))


def test_unknown_names(world: KnowledgeBase, wording: Wording) -> None:
    for call in (lambda **how: world.paths("France", "Japan", **how), lambda **how: world.around("France", **how)):
        with pytest.raises(UnknownNameError) as caught:
            call(relations=["border"])
        wording(str(caught.value))
        with pytest.raises(UnknownNameError) as caught:
            call(types=["contry"])
        wording(str(caught.value))


def test_a_path_longer_than_a_byte_counts_for_one_side(tmp_path: Path) -> None:
    nodes = range(203)
    (tmp_path / "nodes.csv").write_text("key,type,name\n" + "".join(f"k{i},t,{i}\n" for i in nodes))
    lines = "".join(f"k{a},next,k{b}\n" for a, b in itertools.pairwise(nodes))
    (tmp_path / "edges.csv").write_text("head,relation,tail\n" + lines)
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["tables", "adjacency"]) as kb:
        assert kb.paths("k0", "k100", max_steps=100).steps == 100
        assert not kb.paths("k0", "k101", max_steps=100)
        assert kb.around("k0", hops=100).nodes.height == 101


# -- neighbourhoods by hand -------------------------------------------------------------------------------------------


def test_edges_are_what_sql_says(world: KnowledgeBase) -> None:
    found = world.around("France", limit=1000)
    ids = found.nodes["id"].to_list()
    sql = "SELECT tail AS id FROM edges WHERE head = $n UNION SELECT head FROM edges WHERE tail = $n"
    near = world.sql(sql, n=ids[0])
    assert sorted(ids[1:]) == sorted(near["id"])
    sql = "SELECT DISTINCT head, relation::VARCHAR, tail FROM edges"
    sql += " WHERE list_contains($ids, head) AND list_contains($ids, tail)"
    assert sorted(found.edges.iter_rows()) == sorted(world.sql(sql, ids=ids).iter_rows())
    assert "borders" in found.symmetric
    france = found.nodes.row(0, named=True)
    assert (france["key"], france["hop"], found.center) == ("FRA", 0, world.find("France"))
    text = world.node("France").texts[0][1]
    assert france["line"]
    assert text.startswith(france["line"])


def test_a_choice_is_fair_to_relations(world: KnowledgeBase) -> None:
    relations = {(relation.name, side): count for relation, side, count in world.degrees("France")}
    found = world.around("France", limit=1 + len(relations))
    rows = world.neighbors("France").filter(pl.col("id").is_in(found.nodes["id"].to_list()))
    assert set(rows.select("relation", "direction").unique().iter_rows()) == set(relations)
    left = f"{found.omitted} more nodes omitted"
    assert found.summary == f"{1 + len(relations)} nodes, {found.edges.height} edges; {left}"


def test_a_neighbourhood_in_lines(world: KnowledgeBase) -> None:
    found = world.around("Moselle", 2, types=["river", "sea"], limit=3)
    assert found.lines() == [
        "Moselle: neighbourhood within 2 steps",
        f"  1 step: {steps(found, 1)}",
        f"  2 steps: {steps(found, 2)}",
        f"shown: {found.summary}",
    ]
    assert str(found) == f"Moselle: neighbourhood within 2 steps: {found.summary}"


def steps(found: Any, hop: int) -> str:
    rows = [(name, count) for h, name, count, _ in found.found.iter_rows() if h == hop]
    return f"{sum(count for _, count in rows)} nodes: " + ", ".join(f"{count} {name}" for name, count in rows)


def test_a_lonely_node(small: KnowledgeBase) -> None:
    found = small.around("p3", 3)
    assert found.nodes["key"].to_list() == ["p3"]
    assert found.edges.columns == ["head", "relation", "tail"]
    assert found.summary == "1 node, 0 edges"
    assert small.paths("p3", "person#1").separate


@pytest.mark.parametrize(
    "given_",
    [
        {"hops": 0},
        {"hops": 101},
        {"limit": 0},
    ],
)
def test_invalid_neighbourhood_arguments(world: KnowledgeBase, given_: dict[str, Any], wording: Wording) -> None:
    with pytest.raises(BadInputError) as caught:
        world.around("France", **given_)
    wording(str(caught.value))


# -- the commands -----------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_path_on_a_terminal(here, world_kb: Path) -> None:
    done = here("path", world_kb, "France", "Japan", "-r", "member_of", "-n", 3, terminal=True, env={"COLUMNS": "60"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[-1] == "7 shortest paths of 2 steps; the first 3 are shown"
    assert lines[8:12] == [
        "France  (country#FRA)",
        "  -> [member_of] -> Organisation for Economic Co-operation",
        "      and Development  (organisation#oecd)",
        "  <- [member_of] <- Japan  (country#JPN)",
    ]


def test_path_in_other_formats(here, world_kb: Path, tmp_path: Path) -> None:
    first = here("path", world_kb, "Moselle", "river#aare", "-f", "ndjson")
    rows = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(r["path"], r["step"], r["relation"], r["direction"], r["key"]) for r in rows] == [
        (1, 0, None, None, "moselle"),
        (1, 1, "flows_into", "out", "rhine"),
        (1, 2, "flows_into", "in", "aare"),
    ]
    by_id = here("path", world_kb, f"#{rows[0]['id']}", f"#{rows[2]['id']}", "-f", "csv")
    assert [row["key"] for row in csv.DictReader(io.StringIO(by_id.stdout))] == ["moselle", "rhine", "aare"]
    assert here("path", world_kb, "Moselle", "Aare", "-o", tmp_path / "x.json").stdout == ""
    assert len(json.loads((tmp_path / "x.json").read_text())) == 3


@pytest.mark.parametrize(
    "given_",
    [
        ("France", "FRANCE"),
        ("France", "Japan", "--max-steps", 1),
        ("France", "Japan", "--max-steps", 1, "-t", "sea"),
        ("France", "Japan", "-r", "lies_in"),
        ("France", "Japan", "-r", "lies"),
        ("France", "Japan", "-f", "xml"),
    ],
)  # fmt: skip
def test_no_path_found(here, world_kb: Path, given_: tuple[object, ...], wording: Wording) -> None:
    done = here("path", world_kb, *given_)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli")


def test_separate_parts(here, tiny_kb: Path, wording: Wording) -> None:
    done = here("path", tiny_kb, "p3", "p2")
    assert done.returncode == 1
    wording(done.stderr, "cli")


def test_around_in_words(here, world_kb: Path, wording: Wording) -> None:
    done = here("around", world_kb, "Moselle", terminal=True)
    assert done.stdout.splitlines()[0] == "Moselle: neighbourhood within 1 step"
    assert done.stdout.splitlines()[-1].startswith("shown: ")
    wording(done.stderr, "cli")
    assert here("--quiet", "around", world_kb, "Moselle", terminal=True).stderr == ""
    rows = records("around", world_kb, "Moselle", "--hops", 2)
    assert list(rows[0]) == ["hop", "type", "nodes", "kept"]
    assert {row["hop"] for row in rows} == {0, 1, 2}


def test_around_writes_a_graph(here, world_kb: Path, tmp_path: Path) -> None:
    done = here("around", world_kb, "France", "--limit", 40, "-o", "x.dot", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("x.dot: 40 nodes, ")
    assert done.stderr.endswith(" more nodes omitted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.dot"]


def test_names_cannot_steer_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text('key,type,name\na,t,"red \x1b[31m\nsecond"\nb,t,B\n')
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,to\x07,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["tables", "adjacency"]) as kb:
        found = kb.paths("b", "a")
        assert isinstance(found, Paths)
        assert found.lines() == [
            "B  (t#b)", "  <- [to\ufffd] <- red \ufffd[31m second  (t#a)", "",
                "1 shortest path of 1 step; paths of 2 or more steps were not searched",
        ]  # fmt: skip
        assert all(line.isprintable() for line in kb.around("a").lines())


def test_no_kb(here, tmp_path: Path, wording: Wording) -> None:
    assert here("path", tmp_path, "a", "b").returncode == 1
    wording(here("around", tmp_path, "a", "-o", tmp_path / "none" / "x.dot").stderr, "cli")


def test_counts_are_exact_up_to_the_precision_of_a_double(tmp_path: Path, wording: Wording) -> None:
    """Twenty diamonds in a row: 2 ** 20 paths, of which few are looked at."""
    nodes = ["n0"] + [f"{side}{i}" for i in range(20) for side in ("a", "b", "n")]
    nodes[3::3] = [f"n{i + 1}" for i in range(20)]
    edges = [line for i in range(20) for side in "ab" for line in (f"n{i},to,{side}{i}", f"{side}{i},to,n{i + 1}")]
    (tmp_path / "nodes.csv").write_text("key,type,name\n" + "".join(f"{n},t,{n}\n" for n in nodes))
    (tmp_path / "edges.csv").write_text("head,relation,tail\n" + "\n".join(edges) + "\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["tables", "adjacency"]) as kb:
        found = kb.paths("n0", "n20", max_steps=40, limit=4)
        assert (found.total, found.steps) == (2**20, 40)
        assert math.prod(len(path) for path in found) == 40**4
        assert len({tuple(node.key for node in path.nodes) for path in found}) == 4
        with pytest.raises(KbError) as caught:
            kb.paths(99, 0)
        wording(str(caught.value))
