"""Everything that the suite can run: areas, who runs in each, and the goals that compare kbkit with its peers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from kbkit.search.settings import MODES
from tests.performance.calls import IDS
from tests.performance.graph import ALGORITHMS, CHAINS
from tests.performance.metapaths import NAMES, TWO_HOPS
from tests.performance.report import Goal
from tests.performance.runner import Job
from tests.performance.social import LOAD, QUERIES


def resolved(call: str) -> Callable[[float, str], Any]:
    """The function of a Job: ``module:name`` below this package."""
    module, _, name = call.partition(":")
    return getattr(importlib.import_module(f"tests.performance.{module}"), name)  # type: ignore[no-any-return]


GRAPH = ("data:graph",)
LOADED = ("data:graph", "engines:load")
TEXTS = ("data:documents_kb",)
INDEXED = ("data:documents_kb", "peer_search:build")

LANCE = ("lancedb, IVF_FLAT", "lancedb, IVF_RQ")

PEERS = (
    ("ladybug", LOADED, ("ladybug",), 1.0),
    ("duckdb", LOADED, (), 1.0),
    ("oxigraph", GRAPH, (), 1.0),
    ("networkx", GRAPH, ("networkx",), 0.1),
    ("rdflib", GRAPH, ("rdflib",), 0.01),
    ("torch", GRAPH, ("torch",), 1.0),
)
"""Graph engines beside kbkit: what they read, what they need, and the largest scale they hold in 6 GB or load in 3
minutes."""


def _graph_peers(call: str, leave_out: tuple[str, ...] = ()) -> tuple[Job, ...]:
    return tuple(
        Job(engine, call, prepare, needs, limit, peak=("peak memory", None))
        for engine, prepare, needs, limit in PEERS
        if engine not in leave_out
    )


def _small(name: str) -> tuple[Job, ...]:
    return (Job("kbkit", f"small:{name}", scaled=False),)


def _ingest(shape: str) -> tuple[Job, ...]:
    return (Job("kbkit", f"ingest:{shape}"),)


AREAS: dict[str, tuple[Job, ...]] = {
    "build": _small("build"),
    "start": _small("start"),
    "open": (
        Job("kbkit", "opening:kbkit", ("data:whole_kb",)),
        Job("ladybug", "opening:peer", LOADED, ("ladybug",)),
        Job("duckdb", "opening:peer", LOADED),
        Job("oxigraph", "opening:peer", GRAPH),
    ),
    "shell": (Job("kbkit", "shell:kbkit", ("data:text_kb",), ("pexpect",)),),
    "sql": _small("sql"),
    "memory": _small("memory"),
    "ingest": (
        *_ingest("mag"),
        Job("ladybug", "ingest:peer", GRAPH, ("ladybug",)),
        Job("duckdb", "ingest:peer", GRAPH),
        Job("oxigraph", "ingest:oxigraph", ("data:ntriples",)),
        Job("kbkit rdf", "ingest:columns", ("data:ntriples",)),
    ),
    "ingest_amazon": _ingest("amazon"),
    "ingest_prime": _ingest("prime"),
    "calls": (
        Job("kbkit", "calls:kbkit", ("calls:prepare",), peak=("peak memory", None)),
        Job("ladybug", "calls:peer", ("calls:prepare", "engines:load"), ("ladybug",)),
        Job("duckdb", "calls:peer", ("calls:prepare", "engines:load")),
    ),
    "answers": (
        Job("kbkit", "answers:kbkit", GRAPH, peak=("peak memory", None)),
        *(Job(f"kbkit {way}", "answers:as_called", GRAPH) for way in ("answers", "sql", "sparql")),
        *_graph_peers("answers:one_start"),
    ),
    "groundings": (
        Job("kbkit", "answers:kbkit_groundings", GRAPH, peak=("peak memory", 2000.0)),
        Job("kbkit answers_many", "answers:answers_many", GRAPH, peak=("peak memory", None)),
        *_graph_peers("answers:groundings", leave_out=("torch",)),
    ),
    "social": (
        Job("kbkit", "social:kbkit", ("social:prepare",), peak=("peak memory", None)),
        Job("ladybug", "social:ladybug", ("social:prepare",), ("ladybug",), peak=("peak memory", None)),
        Job("duckdb", "social:duckdb", ("social:prepare",), peak=("peak memory", None)),
    ),
    "graph": (
        Job("kbkit", "graph:kbkit", ("graph:prepare",), peak=("peak memory", None)),
        Job("ladybug", "graph:ladybug", ("graph:prepare", "engines:load"), ("ladybug",), peak=("peak memory", None)),
        Job("duckdb", "graph:duckdb", ("graph:prepare",), peak=("peak memory", None)),
        Job("networkx", "graph:networkx", ("graph:prepare",), ("networkx",), 0.1, peak=("peak memory", None)),
        Job("kbkit", "graph:kbkit_routes", ("graph:prepare_weights",), (), 0.1, peak=("peak memory, weights", None)),
        Job("networkx", "graph:networkx_routes", ("graph:prepare_weights",), ("networkx",), 0.1),
        Job("rustworkx", "graph:rustworkx", ("graph:prepare",), ("rustworkx",), 0.1, peak=("peak memory", None)),
    ),
    "search": (
        Job("kbkit", "search:bm25", TEXTS, peak=("peak memory, BM25", None)),
        Job("bm25s", "peer_search:bm25s", INDEXED, ("bm25s", "numba"), peak=("peak memory, BM25", None)),
        Job("rank_bm25", "peer_search:rank_bm25", INDEXED, ("rank_bm25",), 0.1, peak=("peak memory, BM25", None)),
        Job("kbkit", "search:dense", TEXTS, peak=("peak memory, dense", None)),
        Job("numpy", "peer_search:exact", TEXTS, peak=("peak memory, dense", None)),
        Job("kbkit", "search:hybrid", TEXTS, peak=("peak memory, hybrid", 1500.0)),
        *(Job(name, "peer_search:lancedb", INDEXED, peak=("peak memory, dense", None)) for name in LANCE),
        *(Job(name, "peer_search:lancedb_hybrid", INDEXED, peak=("peak memory, hybrid", None)) for name in LANCE),
        Job("kbkit", "search:stores", TEXTS),
        *(
            Job(f"kbkit {mode}", "search:whole", TEXTS, peak=("peak memory, kb.search", None))
            for mode in (*MODES, "learned")
        ),
        Job("kbkit", "search:more", TEXTS),
    ),
    "sparql": (
        Job("kbkit", "sparql:twenty", ("sparql:prepare",), peak=("peak memory", None)),
        Job("oxigraph", "sparql:twenty", ("sparql:prepare",)),
        Job("SQL", "sparql:twenty", ("sparql:prepare",)),
        Job("maplib", "sparql:twenty", ("sparql:prepare",)),
    ),
    "sparql_generated": (
        Job("kbkit", "sparql:hundred", ("sparql:prepare",), peak=("peak memory", None)),
        Job("oxigraph", "sparql:hundred", ("sparql:prepare",)),
        Job("maplib", "sparql:hundred", ("sparql:prepare",)),
    ),
    "evaluation": (
        Job("kbkit", "evaluation:kbkit", ("evaluation:prepare",), peak=("peak memory", None)),
        Job("torch", "evaluation:torch", ("evaluation:prepare",), ("torch",), peak=("peak memory", None)),
        Job("torch, tensors", "evaluation:torch", ("evaluation:prepare",), ("torch",), peak=("peak memory", None)),
    ),
    "measures": _small("measures"),
    "known_items": _small("known_items"),
    "retrieval": (
        Job("kbkit", "retrieval:kbkit", scaled=False),
        Job("kbkit", "retrieval:few", scaled=False),
        Job("bm25s", "retrieval:bm25s", needs=("bm25s",), scaled=False),
        Job("kbkit", "dataset_documents:quality", needs=("bm25s",), scaled=False),
    ),
    "questions": (Job("kbkit", "questions:kbkit", scaled=False), Job("kbkit", "questions:mag", GRAPH)),
    "table_questions": (Job("kbkit", "table_questions:kbkit", scaled=False),),
    "embeddings": (
        Job("kbkit", "embeddings:build", ("data:graph_kb",)),
        Job("kbkit", "embeddings:quality", scaled=False),
        Job("kbkit", "embedders:kbkit", scaled=False),
    ),
    "benchmarks": (Job("kbkit", "benchmarks:small", scaled=False),),
    "benchmarks_mag": (Job("kbkit", "benchmarks:mag", ("data:whole_kb",)),),
}

LONG = (
    "ingest_amazon", "ingest_prime", "known_items", "retrieval", "questions", "embeddings", "benchmarks",
    "benchmarks_mag", "sparql_generated",
)  # fmt: skip
"""Run only when named."""

GROWTH = ("open", "ingest", "answers", "groundings", "search", "evaluation")
"""What ``growth`` runs, at the scales 0.01, 0.1 and 1.0."""

GOALS = (
    Goal("the nine queries of graph-benchmark: level with Ladybug", "social", QUERIES, 1, ("ladybug",)),
    Goal("load of the social graph: level with Ladybug", "social", (LOAD,), 1, ("ladybug",)),
    Goal("numbers of paths: level with DuckDB", "graph", tuple(CHAINS), 1, ("duckdb",)),
    Goal("PageRank and components: level with rustworkx", "graph", ALGORITHMS[:2], 1, ("rustworkx",)),
    Goal("a call with a new key, ids out: 5 times faster", "calls", IDS, 5, ("ladybug",)),
    Goal("two hops, and arms that meet: 5 times faster", "answers", TWO_HOPS, 5),
    Goal("the same against databases", "answers", TWO_HOPS, 5, ("ladybug", "duckdb", "oxigraph")),
    Goal("10,000 groundings: 10 times faster than ladybug", "groundings", NAMES, 10, ("ladybug",)),
    Goal("10,000 groundings: twice as fast as DuckDB's best", "groundings", NAMES, 2, ("duckdb",)),
    Goal("edges to tables and adjacency: twice as fast as COPY", "ingest", ("nodes and edges",), 2, ("ladybug",)),
    Goal("triples: 90% of Oxigraph's own bulk rate", "ingest", ("triples",), 0.9, ("oxigraph",)),
    Goal("BM25: level with bm25s", "search", ("BM25, top 100",), 1, ("bm25s",)),
    Goal("BM25: a fifth of bm25s' memory", "search", ("peak memory, BM25",), 5, ("bm25s",)),
    Goal("hybrid: faster than LanceDB's, finding as much", "search", ("hybrid, top 100",), 1, LANCE, "found"),
    Goal("evaluation: 100 times faster than stark-qa's way", "evaluation", ("2,665 queries",), 100, ("torch",)),
)
