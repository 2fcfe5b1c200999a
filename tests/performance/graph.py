"""Graph analytics on MAG's shape: numbers of paths, PageRank, components, communities, paths by weight.

kbkit runs as called, with the names of the nodes; the peers hold the graph in memory, and the time that they take to
build it from the arrays is a figure of its own. Answers are compared: numbers of paths and of components, and the ids
of the nodes with the highest PageRank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from tests.performance import data
from tests.performance.report import Figure

CITES = "paper" + " -> [cites] -> paper"
CHAINS = {
    "paths of 2 steps": "institution -> author -> paper",
    "paths of 3 steps": "institution -> author -> paper -> [has_topic] -> field_of_study",
    "paths of 4 steps": "institution -> author -> paper -> [cites] -> paper -> [has_topic] -> field_of_study",
    "paths of 4 citations": "paper" + " -> [cites] -> paper" * 4,
}
ALGORITHMS = ("PageRank", "components", "communities")
GOALS = {"PageRank": 5.0, "components": 2.0, "communities": 60.0}
TOP = 20
RELATIONS = ("affiliated_with", "cites", "has_topic", "writes")


def prepare(scale: float, engine: str = "") -> None:
    data.graph_kb(scale)


def _timed(what: str, call: Callable[[], Any], answer: Callable[[Any], int | None], **more: Any) -> Figure:
    """The better of two runs; a long one runs once."""
    best, found = float("inf"), None
    for _ in range(2):
        started = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - started)
        if best > 10:
            break
    return Figure(what, best, "s", answers=answer(found), **more)


def _top(ranks: np.ndarray) -> int:
    """The sum of the ids of the nodes with the highest ranks."""
    return int(np.argpartition(-ranks, TOP)[:TOP].sum())


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    import kbkit as package

    with package.open(data.graph_kb(scale)) as kb:
        for what, expression in CHAINS.items():
            yield _timed(what, lambda e=expression: kb.answers(e).paths(), int, goal=1.0 if scale <= 1 else None)

        def by_id(frame: pl.DataFrame) -> np.ndarray:
            return frame.sort("id")["value"].to_numpy()

        calls: dict[str, tuple[Callable[[], Any], Callable[[Any], int | None]]] = {
            "PageRank": (kb.graph.pagerank, lambda frame: _top(by_id(frame))),
            "components": (kb.graph.components, lambda frame: frame["value"].max() + 1),
            "communities": (kb.graph.communities, lambda _: None),
        }
        for what, (call, answer) in calls.items():
            try:
                yield _timed(what, call, answer, goal=GOALS[what] if scale <= 1 else None)
            except package.KbError as error:
                yield Figure(what, note=str(error)[:100])


def _edges(scale: float) -> tuple[int, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The number of nodes, and (heads, tails) of each relation, from the Parquet file; ids are those of the KB."""
    import kbkit as package

    with package.open(data.graph_kb(scale)) as kb:
        found = {}
        for name in RELATIONS:
            frame = kb.sql(f"SELECT DISTINCT head, tail FROM {name}")
            found[name] = (frame["head"].to_numpy(), frame["tail"].to_numpy())
        return kb.schema.nodes, found


def networkx(scale: float, engine: str) -> Iterator[Figure]:
    import networkx as nx

    n, edges = _edges(scale)
    started = time.perf_counter()
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for heads, tails in edges.values():
        graph.add_edges_from(zip(heads.tolist(), tails.tolist(), strict=True))
    yield Figure("graph in memory", time.perf_counter() - started, "s")

    def ranked() -> np.ndarray:
        found = nx.pagerank(graph, tol=1e-6 / n)
        return np.array([found[i] for i in range(n)])

    yield _timed("PageRank", ranked, _top)
    yield _timed("components", lambda: nx.number_weakly_connected_components(graph), int)


def rustworkx(scale: float, engine: str) -> Iterator[Figure]:
    import rustworkx as rx

    n, edges = _edges(scale)
    started = time.perf_counter()
    graph = rx.PyDiGraph(multigraph=True)
    graph.add_nodes_from([None] * n)
    for heads, tails in edges.values():
        graph.add_edges_from_no_data(list(zip(heads.tolist(), tails.tolist(), strict=True)))
    yield Figure("graph in memory", time.perf_counter() - started, "s")

    def ranked() -> np.ndarray:
        found = rx.pagerank(graph, tol=1e-6)
        return np.array([found[i] for i in range(n)])

    yield _timed("PageRank", ranked, _top)
    yield _timed("components", lambda: rx.number_weakly_connected_components(graph), int)


def duckdb(scale: float, engine: str) -> Iterator[Figure]:
    """Joins that group by the last node, so that no step has more rows than nodes."""
    import duckdb as package

    _, edges = _edges(scale)
    con = package.connect(config={"threads": 2, "memory_limit": "6GB"})
    for name, (head, tail) in edges.items():
        con.register("rows_of", pl.DataFrame({"head": head, "tail": tail}).to_arrow())
        con.execute(f"CREATE TABLE {name} AS FROM rows_of")
        con.unregister("rows_of")
    institution = ("affiliated_with", "tail", "head"), ("writes", "head", "tail")
    steps = {
        "paths of 2 steps": institution,
        "paths of 3 steps": (*institution, ("has_topic", "head", "tail")),
        "paths of 4 steps": (*institution, ("cites", "head", "tail"), ("has_topic", "head", "tail")),
        "paths of 4 citations": (("cites", "head", "tail"),) * 4,
    }
    for what, chain in steps.items():
        (first, _, end), *rest = chain
        sql = f"SELECT {end} AS node, count(*)::HUGEINT AS n FROM {first} GROUP BY ALL"
        for table, start, end in rest:
            sql = (
                f"SELECT t.{end} AS node, sum(n) AS n FROM ({sql}) f JOIN {table} t ON t.{start} = f.node GROUP BY ALL"
            )
        yield _timed(what, lambda s=sql: con.execute(f"SELECT sum(n) FROM ({s})").fetchone()[0], int)
    con.close()


def ladybug(scale: float, engine: str) -> Iterator[Figure]:
    """Cypher, on the database of the other areas; stopped after a minute."""
    from tests.performance.engines import engine_class

    opened = engine_class("ladybug")(scale)
    chains = {
        "paths of 2 steps": "(:institution)<-[:affiliated_with]-(:author)-[:writes]->(:paper)",
        "paths of 3 steps": "(:institution)<-[:affiliated_with]-(:author)-[:writes]->(:paper)-[:has_topic]->"
        "(:field_of_study)",
        "paths of 4 steps": "(:institution)<-[:affiliated_with]-(:author)-[:writes]->(:paper)-[:cites]->(:paper)"
        "-[:has_topic]->(:field_of_study)",
        "paths of 4 citations": "(:paper)" + "-[:cites]->(:paper)" * 4,
    }
    for what, chain in chains.items():
        try:
            yield _timed(what, lambda c=chain: opened.con.execute(f"MATCH {c} RETURN count(*)").get_next()[0], int)
        except RuntimeError as error:
            yield Figure(what, 60, "s", least=True, note=str(error).splitlines()[0][:60])
    opened.close()


# -- paths by weight --------------------------------------------------------------------------------------------------

ROUTE = "weighted shortest path"
PAIRS = 30


def prepare_weights(scale: float, engine: str = "") -> None:
    """The KB with a random weight from 1 to 10 for each edge."""
    import subprocess

    from tests.performance.timing import KBKIT

    def write(path: Any) -> None:
        path.mkdir()
        (path / "nodes.parquet").symlink_to((data.source(scale) / "nodes.parquet").resolve())
        edges = pl.read_parquet(data.source(scale) / "edges.parquet")
        weights = np.random.default_rng(3).integers(10, 101, edges.height) / 10
        edges.with_columns(pl.Series("w", weights)).write_parquet(path / "edges.parquet")

    files = data.made(data.folder() / f"mag-{scale}-weights", write)
    out = data.folder() / f"mag-{scale}-weights.kb"
    if not (out / "CURRENT").is_file():
        subprocess.run([KBKIT, "ingest", "table", str(files), "-o", str(out), "--stores", "adjacency"], check=True)


def _ends(nodes: int) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in np.random.default_rng(5).integers(0, nodes, (PAIRS, 2)) if a != b]


def kbkit_routes(scale: float, engine: str) -> Iterator[Figure]:
    """Whole calls, ids in, a table out; the first loads the weights."""
    import kbkit as package
    from tests.performance.timing import times

    with package.open(data.folder() / f"mag-{scale}-weights.kb") as kb:
        lengths = []

        def call(pair: tuple[int, int]) -> None:
            frame = kb.graph.shortest_paths(start=pair[0], end=pair[1], weight="w")
            lengths.append(round(10 * frame["weight"][0]) if frame.height else 0)

        ends = _ends(kb.schema.nodes)
        started = time.perf_counter()
        call(ends[0])
        yield Figure("weights in memory", time.perf_counter() - started, "s")
        median, high, _ = times(call, ends)
        yield Figure(ROUTE, median, p95=high, goal=100.0 if scale <= 1 else None, answers=sum(lengths[2:]))


def networkx_routes(scale: float, engine: str) -> Iterator[Figure]:
    import networkx as nx

    import kbkit as package
    from tests.performance.timing import times

    with package.open(data.folder() / f"mag-{scale}-weights.kb") as kb:
        n = kb.schema.nodes
        frame = kb.sql("SELECT least(head, tail) AS a, greatest(head, tail) AS b, min(w) AS w FROM edges GROUP BY ALL")
    started = time.perf_counter()
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(frame.iter_rows())
    yield Figure("weights in memory", time.perf_counter() - started, "s")
    lengths = []

    def call(pair: tuple[int, int]) -> None:
        try:
            lengths.append(round(10 * nx.bidirectional_dijkstra(graph, *pair)[0]))
        except nx.NetworkXNoPath:
            lengths.append(0)

    median, high, _ = times(call, _ends(n))
    yield Figure(ROUTE, median, p95=high, answers=sum(lengths[1:]))
