"""The algorithms on graphs, each against networkx on random graphs: one KB has them all, a relation for each."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import networkx as nx
import polars as pl
import pytest

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.examples import some
from tests.loops import each

Edge = tuple[int, int, float]

NODES = 9


def drawn(seed: int) -> list[Edge]:
    """Random edges (head, tail, weight): sparse or dense, with parallel edges and loops, isolated nodes, or a DAG."""
    chance = random.Random(seed)
    n = chance.choice([2, 5, NODES])
    edges = []
    for _ in range(chance.choice([1, 4, 9, 25])):
        head, tail = chance.randrange(n), chance.randrange(n)
        if seed % 3 == 0 and head >= tail:
            head, tail = tail, head + (head == tail)
        if head < NODES and tail < NODES:
            edges.append((head, tail, chance.choice([0.0, 0.5, 1.0, 2.0, 3.5])))
    return list(dict.fromkeys(edges))


GRAPHS = {f"r{seed}": drawn(seed) for seed in range(24)} | {
    "loop": [(0, 0, 1.0)],
    "ring": [(i, (i + 1) % 5, 1.0) for i in range(5)],
    "parallel": [(0, 1, 1.0), (0, 1, 2.0), (1, 0, 4.0), (1, 2, 1.0)],
    "negative": [(0, 1, -2.0), (1, 2, 3.0), (0, 2, -1.0), (0, 2, 5.0)],
    "twin": [(0, 1, 1.0), (1, 2, 2.0), (3, 3, 1.0)],
}
SYMMETRIC = "twin"
DENSE = max(GRAPHS, key=lambda name: len({n for edge in GRAPHS[name] for n in edge[:2]}) * len(GRAPHS[name]))
NAMES = sorted(set(GRAPHS) - {f"r{n}" for n in range(24)}) + list(some([f"r{n}" for n in range(24)], 2))


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The KB; the ids of its nodes are 0 to 8, and a node of another type comes last."""
    rows = [(f"k{h}", name, f"k{t}", w) for name, edges in GRAPHS.items() for h, t, w in edges]
    edges = pl.DataFrame(rows, ["head", "relation", "tail", "w"], orient="row")
    bad = pl.DataFrame(
        {"head": ["k0", "k0"], "relation": ["gap"] * 2, "tail": ["k1", "k2"], "w": [None, 1.0]}, edges.schema
    )
    nodes = pl.DataFrame({"key": [f"k{i}" for i in range(NODES)] + ["x"], "type": ["n"] * NODES + ["other"]})
    folder = tmp_path_factory.mktemp("graphs")
    with kbkit.from_frames(nodes, pl.concat([edges, bad]), out=folder / "g.kb", stores=["adjacency", "triples"],
                           symmetric=[SYMMETRIC]) as kb:  # fmt: skip
        assert kb.sql("SELECT key FROM nodes ORDER BY id")["key"].to_list() == [*(f"k{i}" for i in range(NODES)), "x"]
        yield kb


def directed(name: str, direction: str = "out") -> nx.MultiDiGraph:
    """The graph of a relation, an edge for each (head, tail), whose weight is the sum of the parallel ones."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(NODES))
    for head, tail, weight in GRAPHS[name]:
        turned = [(tail, head)] if name == SYMMETRIC and head != tail else []
        for a, b in [(head, tail), *turned]:
            if direction in ("out", "both"):
                graph.add_edge(a, b, w=weight)
            if direction == "in" or (direction == "both" and name != SYMMETRIC):
                graph.add_edge(b, a, w=weight)
    return graph


def simple(name: str, direction: str = "out") -> nx.DiGraph:
    """One edge for each pair, loops too."""
    return nx.DiGraph(directed(name, direction))


def undirected(name: str) -> nx.Graph:
    """Without directions, parallel edges and loops."""
    graph = nx.Graph(directed(name))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def values(frame: pl.DataFrame) -> dict[int, float]:
    return dict(zip(frame["id"].to_list(), frame["value"].to_list(), strict=True))


def close(found: pl.DataFrame, expected: dict[int, float], within: float = 1e-9) -> bool:
    got = values(found)
    assert got.keys() == expected.keys()
    return all(math.isclose(got[i], expected[i], rel_tol=within, abs_tol=within) for i in got)


def partition(found: pl.DataFrame) -> set[frozenset[int]]:
    """The groups of equal values; groups are numbered by size."""
    groups = [frozenset(rows["id"].to_list()) for _, rows in sorted(found.group_by("value"), key=lambda g: g[0])]
    assert [len(g) for g in groups] == sorted((len(g) for g in groups), reverse=True)
    return set(groups)


@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_pagerank(graphs: KnowledgeBase, direction: str, weight: str | None) -> None:
    for name in NAMES:
        if name == "negative":
            continue
        graph = directed(name, direction)
        if weight is None:  # parallel edges of one relation are one
            found = dict.fromkeys(graph.edges(), 1.0)
            counted = directed(name, direction) if direction == "both" else None
            if counted is not None:  # an edge each way counts twice
                once = {(a, b) for a, b in nx.DiGraph(directed(name)).edges()}
                back = set() if name == SYMMETRIC else {(b, a) for a, b in once}
                found = {pair: float((pair in once) + (pair in back)) for pair in once | back}
            graph = nx.DiGraph()
            graph.add_nodes_from(range(NODES))
            graph.add_weighted_edges_from([(a, b, w) for (a, b), w in found.items()], weight="w")
        expected = nx.pagerank(graph, weight="w", tol=1e-12, max_iter=1000)
        found = graphs.graph.pagerank(
            relations=[name], direction=direction, weight=weight, tolerance=1e-12, iterations=1000
        )
        assert close(found, expected, 1e-8), name
        seeds = {0: 1.0, 3: 1.0}
        expected = nx.pagerank(graph, personalization=seeds, weight="w", tol=1e-12, max_iter=1000)
        found = graphs.graph.pagerank(
            relations=[name], direction=direction, weight=weight, seeds=[0, 3], tolerance=1e-12, iterations=1000
        )
        assert close(found, expected, 1e-8), name


def test_components_and_cores(graphs: KnowledgeBase) -> None:
    for name in NAMES:
        run, graph = graphs.graph, simple(name)
        assert partition(run.components(relations=[name])) == set(map(frozenset, nx.weakly_connected_components(graph)))
        strong = set(map(frozenset, nx.strongly_connected_components(graph)))
        assert partition(run.strong_components(relations=[name])) == strong, name
        assert close(run.k_core(relations=[name]), nx.core_number(undirected(name))), name


@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_centrality(graphs: KnowledgeBase, direction: str) -> None:
    for name in NAMES:
        graph = simple(name, direction)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        run = graphs.graph
        assert close(run.betweenness(relations=[name], direction=direction), nx.betweenness_centrality(graph)), name
        expected = nx.closeness_centrality(graph.reverse())
        assert close(run.closeness(relations=[name], direction=direction), expected), name
        assert close(run.closeness(relations=[name], direction=direction, samples=NODES), expected), name


def test_samples_estimate_centrality(graphs: KnowledgeBase) -> None:
    """The mean over all seeds approaches the exact values, which a sample of five of nine nodes has not."""
    exact = values(graphs.graph.betweenness(relations=[DENSE]))
    runs = [values(graphs.graph.betweenness(relations=[DENSE], samples=5, seed=seed)) for seed in range(60)]
    assert any(run != exact for run in runs)
    means = {i: sum(run[i] for run in runs) / len(runs) for i in exact}
    assert max(exact.values()) > 0
    assert all(abs(means[i] - exact[i]) < 0.05 for i in exact)


def test_triangles(graphs: KnowledgeBase) -> None:
    for name in NAMES:
        graph = undirected(name)
        assert close(graphs.graph.triangles(relations=[name]), nx.triangles(graph)), name
        assert close(graphs.graph.clustering(relations=[name]), nx.clustering(graph)), name


def test_pairs(graphs: KnowledgeBase) -> None:
    measures: dict[str, Any] = {
        "jaccard": nx.jaccard_coefficient,
        "adamic-adar": nx.adamic_adar_index,
        "common": lambda g, pairs: [(a, b, len([*nx.common_neighbors(g, a, b)])) for a, b in pairs],
    }
    for name, (measure, oracle) in each(itertools.product(NAMES, measures.items())):
        graph = undirected(name)
        scored = {(a, b): v for a, b, v in oracle(graph, [*itertools.combinations(range(NODES), 2)]) if v > 0}
        for run, wanted in (
            (graphs.graph.similarity, scored),
            (graphs.graph.link_prediction, {p: v for p, v in scored.items() if not graph.has_edge(*p)}),
        ):
            frame = run(relations=[name], score=measure)
            found = dict(zip(zip(frame["head"], frame["tail"], strict=True), frame["value"], strict=True))
            assert found == pytest.approx(wanted), (name, measure)
            best = list(frame["value"])
            assert best == sorted(best, reverse=True)
            mine = run(relations=[name], score=measure, of=0, pairs=3)
            expected = sorted((v for p, v in wanted.items() if 0 in p), reverse=True)[:3]
            assert mine["value"].to_list() == pytest.approx(expected)


def routes(frame: pl.DataFrame) -> list[tuple[float, tuple[int, ...]]]:
    """(weight, nodes) of each path; the weights of its edges add up to its own."""
    found = []
    for _, rows in frame.group_by("path", maintain_order=True):
        assert rows["value"].sum() == pytest.approx(rows["weight"][0])
        assert rows["tail"].to_list()[:-1] == rows["head"].to_list()[1:]
        found.append((rows["weight"][0], (rows["head"][0], *rows["tail"].to_list())))
    return found


@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_shortest_paths(graphs: KnowledgeBase, direction: str, weight: str | None) -> None:
    lengths = set()
    for name in NAMES:
        if name == "negative":
            continue
        graph = nx.DiGraph()
        graph.add_nodes_from(range(NODES))
        for a, b, data in sorted(directed(name, direction).edges(data=True), key=lambda e: -e[2]["w"]):
            graph.add_edge(a, b, w=data["w"] if weight else 1.0)  # the least is the last
        frame = graphs.graph.distances(relations=[name], direction=direction, weight=weight, start=0)
        known = {i: d for i, d in values(frame).items() if d is not None}
        assert known == pytest.approx(nx.single_source_dijkstra_path_length(graph, 0, weight="w")), name
        for start, end in ((0, 1), (2, 4), (1, 0)):
            frame = graphs.graph.shortest_paths(
                relations=[name], direction=direction, weight=weight, start=start, end=end, paths=8
            )
            found = routes(frame)
            paths = nx.shortest_simple_paths(graph, start, end, "w") if nx.has_path(graph, start, end) else ()
            expected = [*itertools.islice(paths, 8)]
            assert [w for w, _ in found] == pytest.approx([nx.path_weight(graph, p, "w") for p in expected]), name
            assert len({nodes for _, nodes in found}) == len(found)
            assert all(nx.is_simple_path(graph, nodes) for _, nodes in found)
            assert all(nx.path_weight(graph, nodes, "w") == pytest.approx(w) for w, nodes in found)
            lengths.add(len(found))
    assert {0, 1} < lengths  # no path, one, and several
    assert max(lengths) > 2


@pytest.mark.parametrize("maximum", [False, True])
def test_spanning_trees(graphs: KnowledgeBase, maximum: bool) -> None:
    for name in NAMES:
        graph = nx.MultiGraph(directed(name).edges(data=True))
        oracle = nx.maximum_spanning_edges if maximum else nx.minimum_spanning_edges
        expected = [d["w"] for *_, d in oracle(graph, weight="w", data=True)]
        frame = graphs.graph.spanning_tree(relations=[name], weight="w", heaviest=maximum)
        assert sum(frame["value"]) == pytest.approx(sum(expected)), name
        tree = nx.Graph(list(zip(frame["head"], frame["tail"], strict=True)))
        assert len(expected) == frame.height == tree.number_of_edges()
        assert frame.height == 0 or nx.is_forest(tree)


def test_orders_and_cycles(graphs: KnowledgeBase) -> None:
    kinds = set()
    for name in NAMES:
        graph = simple(name)
        frame = graphs.graph.cycles(relations=[name], cycles=100)
        found = [
            tuple(rows["head"]) for _, rows in sorted(frame.group_by("cycle", maintain_order=True), key=lambda g: g[0])
        ]
        for nodes in found:
            assert len(set(nodes)) == len(nodes)
            assert all(graph.has_edge(a, b) for a, b in itertools.pairwise([*nodes, nodes[0]]))
        on_cycles = {n for c in nx.strongly_connected_components(graph) if len(c) > 1 for n in c}
        on_cycles |= {a for a, b in graph.edges if a == b}
        assert {n for nodes in found for n in nodes} == on_cycles
        kinds.add(bool(found))
        if found:
            with pytest.raises(KbError, match=r"has a cycle: n#k\d -> "):
                graphs.graph.topological_order(relations=[name])
        else:
            level = {n: i for i, layer in enumerate(nx.topological_generations(graph)) for n in layer}
            assert values(graphs.graph.topological_order(relations=[name])) == level
    assert kinds == {True, False}


def test_degrees_and_parts(graphs: KnowledgeBase) -> None:
    """Without relations, all edges count; within a set, those between its nodes."""
    total = sum(values(graphs.graph.degree(direction="out")).values())
    assert total == graphs.sql("SELECT count(*) FROM (SELECT DISTINCT relation, head, tail FROM edges)").item()
    frame = graphs.graph.degree(direction="out", within='n{key = "k0"} | n{key = "k1"}', relations=["parallel"])
    assert values(frame) == {0: 1.0, 1: 1.0}
    weighted = graphs.graph.degree(direction="in", relations=["parallel"], weight="w")
    assert {i: v for i, v in values(weighted).items() if v} == {0: 4.0, 1: 3.0, 2: 1.0}
    assert graphs.graph.pagerank(within=[]).height == 0
    everything = graphs.graph.components()
    assert everything.height == NODES + 1
    part = graphs.graph.components(within=[0, 1, 4], relations=["ring"])
    assert partition(part) == {frozenset({0, 1, 4})}


@pytest.mark.parametrize("method", ["louvain", "leiden"])
def test_communities(tmp_path: object, graphs: KnowledgeBase, method: str) -> None:
    pytest.importorskip("sknetwork", reason="the extra graph is not installed")
    for name in NAMES:
        if name == "negative":
            continue
        found = partition(graphs.graph.communities(relations=[name], method=method))
        graph = directed(name, "both").to_undirected(as_view=False)
        assert set().union(*found) == set(range(NODES))
        plain = nx.Graph(simple(name).to_undirected())
        if plain.number_of_edges():
            best = nx.community.modularity(plain, nx.community.louvain_communities(plain, seed=1))
            assert nx.community.modularity(plain, found) >= best - 0.2, name
        assert graph.number_of_nodes() == NODES


def test_wrong_input_is_named(graphs: KnowledgeBase) -> None:
    run = graphs.graph
    with pytest.raises(KbError, match=r"Invalid w of n#k0 -> \[gap\] -> n#k1: missing"):
        run.pagerank(relations=["gap"], weight="w")
    with pytest.raises(KbError, match=r"Invalid w of n#k0 -> \[negative\] -> n#k1: -2\. PageRank needs weights"):
        run.pagerank(relations=["negative"], weight="w")
    with pytest.raises(KbError, match=r"Invalid w of n#k0 -> .negative. -> n#k1: -2\. A shortest path needs weights"):
        run.shortest_paths(relations=["negative"], weight="w", start=0, end=1)
    with pytest.raises(TypeError, match="needs the argument 'end'"):
        run.shortest_paths(start=0)
    with pytest.raises(KbError, match=r"Unknown attribute of edges 'x'"):
        run.pagerank(relations=["ring"], weight="x")
    with pytest.raises(KbError, match="did not converge in 1 iterations"):
        run.pagerank(relations=["parallel"], iterations=1)
    with pytest.raises(KbError, match="Invalid damping: 2"):
        run.pagerank(damping=2.0)
    with pytest.raises(KbError, match="Unknown direction 'up'"):
        run.degree(direction="up")
    with pytest.raises(KbError, match="Unknown relation 'nope'"):
        run.degree(relations=["nope"])
    with pytest.raises(KbError, match="Unknown algorithm 'page'"):
        run.page()
    with pytest.raises(KbError, match=r"x \(other#x\) is outside the graph"):
        run.similarity(relations=["ring"], of="other#x")
    with pytest.raises(TypeError, match=r"pagerank.. has no argument 'wieght'"):
        run.pagerank(wieght="w")
    assert "Value: probability" in (run.pagerank.__doc__ or "")
