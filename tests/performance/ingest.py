"""Building: kbkit's stores one by one, beside what others need for the same files. Everything is built anew."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import kbkit as kbkit_package
from tests.performance import data
from tests.performance.engines import engine_class
from tests.performance.report import Figure
from tests.performance.timing import KBKIT, Memory, disk_mb, watched_command

MOST_MEMORY = 6000.0
GRAPH = "nodes and edges"
"""What is built of the files without texts: kbkit's tables and adjacency, a peer's database."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder on the disk where the databases are kept."""
    with tempfile.TemporaryDirectory(dir=data.folder(), prefix="ingest-") as place:
        yield Path(place)


def mag(scale: float, engine: str) -> Iterator[Figure]:
    """The graph alone, all of it, and each store on its own."""
    with scratch() as place:
        yield _alone(scale, place / "graph.kb")
    yield from _all(scale, "mag", {"text": 120.0, "vectors": 600.0})


def amazon(scale: float, engine: str) -> Iterator[Figure]:
    yield from _all(scale, "amazon", {})


def prime(scale: float, engine: str) -> Iterator[Figure]:
    yield from _all(scale, "prime", {})


def _budget(scale: float, seconds: float | None) -> float | None:
    """Budgets are meant at scale 1.0, and hold below."""
    return seconds if scale <= 1 else None


def _alone(scale: float, out: Path) -> Figure:
    """Tables and adjacency of the files without texts."""
    command = [KBKIT, "ingest", "table", str(data.graph_only(scale)), "-o", str(out)]
    taken, memory = watched_command([*command, "--stores", "tables,adjacency"])
    return Figure(GRAPH, taken, "s", goal=_budget(scale, 90.0), disk_mb=disk_mb(out), **memory.figures())


def _all(scale: float, shape: str, budgets: dict[str, float]) -> Iterator[Figure]:
    with scratch() as place:
        out = place / "all.kb"
        command = [KBKIT, "ingest", "table", str(data.source(scale, shape)), "-o", str(out)]
        taken, memory = watched_command(command)
        yield Figure("all stores", taken, "s", disk_mb=disk_mb(out), **memory.figures())
        peak = memory.private or memory.resident
        yield Figure("all stores, peak memory", peak, "MB", goal=MOST_MEMORY)
        with kbkit_package.open(out) as kb:
            stores = kb.info()["stores"]
        for store in stores:
            yield Figure(f"{store['store']}, beside the others", store["seconds"], "s", disk_mb=store["bytes"] / 1e6)
        for store in ("adjacency", "triples", "text", "vectors"):
            yield _rebuilt(out, store, _budget(scale, budgets.get(store)))


def _rebuilt(out: Path, store: str, goal: float | None) -> Figure:
    """A store by itself, from the tables: the time that the manifest gives, without start-up and checksums."""
    whole, memory = watched_command([KBKIT, "build", str(out), store])
    with kbkit_package.open(out) as kb:
        [found] = [each for each in kb.info()["stores"] if each["store"] == store]
    return Figure(store, found["seconds"], "s", goal=goal, disk_mb=found["bytes"] / 1e6,
                  extra={"whole command s": whole}, **memory.figures())  # fmt: skip


def peer(scale: float, engine: str) -> Iterator[Figure]:
    """A graph engine's own bulk load of nodes and edges."""
    with scratch() as place:
        memory = Memory()
        with memory.watched():
            started = time.perf_counter()
            engine_class(engine).load(scale, place / "database")
            taken = time.perf_counter() - started
        size = disk_mb(*place.iterdir())
        yield Figure(GRAPH, taken, "s", disk_mb=size, **memory.figures())


def oxigraph(scale: float, engine: str) -> Iterator[Figure]:
    """The KB's statements, read by Oxigraph from one file of N-Triples."""
    from tests.performance.engines.oxigraph import bulk_load

    with scratch() as place:
        memory = Memory()
        with memory.watched():
            started = time.perf_counter()
            held = bulk_load(scale, place / "store")
            taken = time.perf_counter() - started
        size = disk_mb(place)
        yield Figure("triples", taken, "s", disk_mb=size, extra={"triples/s": held / taken}, **memory.figures())


def columns(scale: float, engine: str) -> Iterator[Figure]:
    """The same statements as an RDF source: kbkit's columns, each store by the time of the manifest."""
    with scratch() as place:
        out = place / "rdf.kb"
        command = [KBKIT, "ingest", "rdf", str(data.ntriples(scale)), "-o", str(out), "--stores", "columns,triples"]
        watched_command(command)
        for store, goal in (("columns", 2.0), ("triples", None)):
            yield _rate(out, store, goal)


def _rate(out: Path, store: str, goal: float | None) -> Figure:
    """Seconds a million statements of a store that is built by itself, and its bytes a statement."""
    _, memory = watched_command([KBKIT, "build", str(out), store])
    with kbkit_package.open(out) as kb:
        [found] = [each for each in kb.info()["stores"] if each["store"] == store]
        statements = kb.sparql("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")["n"].item()
    size = found["bytes"] / statements
    seconds = found["seconds"] / statements * 1e6
    return Figure(f"{store} of an RDF source, a million statements", seconds, "s", goal=goal,
                  extra={"bytes/statement": size}, **memory.figures())  # fmt: skip
