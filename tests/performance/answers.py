"""Answers over MAG's shape, beside Ladybug and DuckDB in the same run: ``python -m tests.performance answers``.

The graph is generated and built in ``$KBKIT_BENCH`` (by default below the temporary folder) when it is not there;
``$KBKIT_BENCH_SCALE`` is 1.0 by default (1.9M nodes, 39.8M edges: building it takes a quarter of an hour).
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

import kbkit
from kbkit.answers.bind import Node
from kbkit.answers.catalogue import find
from kbkit.answers.many import share
from kbkit.answers.parse import parse
from kbkit.answers.walk import walk
from kbkit.answers.walk_many import count_many
from kbkit.kb import KnowledgeBase

Row = tuple[str, str, str]

NAMES = ("author", "cited", "field", "institution", "same_author", "same_author_and_field", "institution_and_field")
KBKIT = str(Path(sys.executable).with_name("kbkit"))
MANY = 10_000
_ANY = 10**9


def folder() -> Path:
    """Where graphs and databases of the benchmarks are kept."""
    path = Path(os.environ.get("KBKIT_BENCH") or Path(tempfile.gettempdir()) / "kbkit-bench")
    path.mkdir(parents=True, exist_ok=True)
    return path


def scale() -> str:
    return os.environ.get("KBKIT_BENCH_SCALE", "1.0")


def mag() -> Path:
    """The KB, built when it is not there."""
    source, out = folder() / f"mag-{scale()}", folder() / f"mag-{scale()}.kb"
    if not (source / "edges.parquet").is_file():
        subprocess.run([KBKIT, "generate", "mag", "--scale", scale(), "--out", str(source)], check=True)
    if not (out / "CURRENT").is_file():
        subprocess.run([KBKIT, "ingest", "table", str(source), "--out", str(out)], check=True)
    return out


def times(action: Callable[[Any], object], arguments: list[Any]) -> tuple[float, float]:
    """Median and 95th percentile in ms, after one warm-up."""
    action(arguments[0])
    taken = []
    for argument in arguments:
        started = time.perf_counter()
        action(argument)
        taken.append(1000 * (time.perf_counter() - started))
    return statistics.median(taken), float(np.percentile(taken, 95))


def answers() -> Iterator[Row]:
    """One start, 10,000 starts and sampling, for the seven templates of STaRK-MAG, by each engine."""
    with kbkit.open(mag()) as kb:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        yield from planning(kb)
        groundings = {name: grounded(kb, name) for name in NAMES}
        for name in NAMES:
            yield from many_starts(kb, name, groundings[name], [])
            started = time.perf_counter()
            drawn = kb.sample(f"mag/{name}", 1000, seed=1).height
            yield f"{name}: sampling {drawn:,} groundings", f"{time.perf_counter() - started:.1f} s", "10 s"
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
        yield "memory of all that over the open KB", f"{peak:.1f} GB", "2 GB"
        peers = [Peer for Peer in (Ladybug, Duck) if Peer.available()]
        opened = [Peer(kb) for Peer in peers]
        for name in NAMES:
            yield from one_start(kb, name, groundings[name], opened)
        for name in NAMES:
            yield from many_starts(kb, name, groundings[name], opened)
        for peer in opened:
            peer.close()


def planning(kb: KnowledgeBase) -> Iterator[Row]:
    template = find("mag/institution_and_field")
    text = str(template.tree())
    kb.session.resolved(parse(text), text)
    median, _ = times(lambda t: kb.session.resolved(parse(t), t), [text] * 1000)
    yield "parse and plan, known template", f"{median:.3f} ms", "0.5 ms"
    parse.cache_clear()
    kb.session.plan.cache_clear()
    median, _ = times(lambda t: kb.session.resolved(parse(t), t), [text + " " * i for i in range(200)])
    yield "parse and plan, new text", f"{median:.3f} ms", ""


def grounded(kb: KnowledgeBase, name: str) -> pl.DataFrame:
    """Up to 10,000 groundings with at least one answer, uniform: a column of ids per slot."""
    from kbkit.answers.constraints import Request
    from kbkit.answers.sample import draw

    template = find(f"mag/{name}")
    drawn = draw(kb.session, kb.session.resolved(template.tree()), Request(MANY, 7, 1, _ANY))
    return pl.DataFrame({slot: drawn.values[:, i] for i, slot in enumerate(drawn.slots)})


def one_start(kb: KnowledgeBase, name: str, groundings: pl.DataFrame, peers: list[Any]) -> Iterator[Row]:
    tree = find(f"mag/{name}").tree()
    plan = kb.session.resolved(tree)
    known = {p.given.name: p.name for p in plan.parameters}
    rows = groundings.head(300).to_dicts()
    bounds = [{known[s]: (Node(i, "", "", ""),) for s, i in row.items()} for row in rows]
    sizes = [len(walk(plan, kb.session, bound)) for bound in bounds]
    median, high = times(lambda bound: len(walk(plan, kb.session, bound)), bounds)
    yield f"{name}: walk, median answers {statistics.median(sizes):.0f}", f"{median:.3f}/{high:.2f} ms", "1 ms"
    keys = [{s: f"#{kb.node(i).key}" for s, i in row.items()} for row in rows[:20]]
    sets = [kb.answers(find(f"mag/{name}"), **key) for key in keys]
    median, high = times(lambda found: len(kb.tables.frame(found.sql)), sets)
    yield f"{name}: sql", f"{median:.0f}/{high:.0f} ms", "150 ms"
    median, high = times(lambda found: len(kb.triples.frame(found.sparql)), sets[:5])
    yield f"{name}: sparql", f"{median:.0f}/{high:.0f} ms", ""
    for peer in peers:
        try:
            assert [peer.one(name, row) for row in rows[:10]] == sizes[:10], (peer.label, name)
            median, high = times(lambda row, peer=peer: peer.one(name, row), rows[:50])
            yield f"{name}: {peer.label}", f"{median:.2f}/{high:.1f} ms", ""
        except RuntimeError as error:
            yield f"{name}: {peer.label}", str(error).splitlines()[0][:40], ""


def many_starts(kb: KnowledgeBase, name: str, groundings: pl.DataFrame, peers: list[Any]) -> Iterator[Row]:
    plan = kb.session.resolved(find(f"mag/{name}").tree())
    table = groundings.sample(MANY, with_replacement=True, seed=3) if groundings.height < MANY else groundings
    columns = {p.name: table[p.given.name].to_numpy() for p in plan.parameters}
    started = time.perf_counter()
    counts = count_many(plan, kb.session, share(kb.session, plan), columns, table.height)
    ours = time.perf_counter() - started
    yield f"{name}: {table.height:,} at once, {counts.sum():,} answers", f"{ours:.2f} s", "2 s"
    for peer in peers:
        found, seconds = peer.many(name, table)
        said = f"{seconds:.2f} s ({seconds / ours:.0f}x)" if found == int(counts.sum()) else f"{found}"
        yield f"{name}: {table.height:,} at once, {peer.label}", said, ""


class Ladybug:
    """Prepared Cypher on one table a type and a relation."""

    label = "Ladybug"
    limit = 60_000
    one_of: ClassVar = {
        "author": "MATCH (x:author {id: $author})-[:writes]->(p:paper) RETURN count(DISTINCT p.id)",
        "cited": "MATCH (x:paper {id: $paper})-[:cites]->(p:paper) WHERE p.id <> $paper RETURN count(DISTINCT p.id)",
        "field": "MATCH (x:field_of_study {id: $field_of_study})<-[:has_topic]-(p:paper) RETURN count(DISTINCT p.id)",
        "institution": "MATCH (x:institution {id: $institution})<-[:affiliated_with]-(:author)-[:writes]->(p:paper)"
        " RETURN count(DISTINCT p.id)",
        "same_author": "MATCH (x:paper {id: $paper})<-[:writes]-(:author)-[:writes]->(p:paper) WHERE p.id <> $paper"
        " RETURN count(DISTINCT p.id)",
        "same_author_and_field": "MATCH (x:paper {id: $paper})<-[:writes]-(:author)-[:writes]->(p:paper)"
        " WHERE p.id <> $paper WITH DISTINCT x, p WHERE EXISTS { MATCH (x)-[:has_topic]->(:field_of_study)"
        "<-[:has_topic]-(p) } RETURN count(DISTINCT p.id)",
        "institution_and_field": "MATCH (x:institution {id: $institution})<-[:affiliated_with]-(:author)-[:writes]->"
        "(p:paper)-[:has_topic]->(:field_of_study {id: $field_of_study}) RETURN count(DISTINCT p.id)",
    }

    @staticmethod
    def available() -> bool:
        try:
            import ladybug  # noqa: F401
        except ImportError:
            print("ladybug is not installed: pip install ladybug", file=sys.stderr)
            return False
        return True

    def __init__(self, kb: KnowledgeBase) -> None:
        import ladybug

        path = folder() / f"mag-{scale()}.lbug"
        fresh = not path.exists()
        self.database = ladybug.Database(str(path), buffer_pool_size=8 << 30)
        self.con = ladybug.Connection(self.database, num_threads=2)
        if fresh:
            self.load(kb)
        self.con.set_query_timeout(self.limit)
        self.prepared = {name: self.con.prepare(text) for name, text in self.one_of.items()}

    def load(self, kb: KnowledgeBase) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            for t in kb.schema.node_types:
                ids = pl.DataFrame({"id": np.arange(t.first, t.last + 1, dtype=np.int64)})
                ids.write_parquet(f"{scratch}/n.parquet")
                self.con.execute(f"CREATE NODE TABLE {t.name}(id INT64, PRIMARY KEY(id))")
                self.con.execute(f"COPY {t.name} FROM '{scratch}/n.parquet'")
            for r in kb.schema.relations:
                [s] = r.signatures
                frame = kb.tables.lookup(f"SELECT head::BIGINT AS head, tail::BIGINT AS tail FROM {r.table}")
                frame.write_parquet(f"{scratch}/e.parquet")
                self.con.execute(f"CREATE REL TABLE {r.name}(FROM {s.head} TO {s.tail})")
                self.con.execute(f"COPY {r.name} FROM '{scratch}/e.parquet'")

    def one(self, name: str, row: dict[str, int]) -> int:
        return int(self.con.execute(self.prepared[name], row).get_next()[0])

    def many(self, name: str, table: pl.DataFrame) -> tuple[Any, float]:
        """One statement over all bindings, or what stopped it."""
        text = self.one_of[name]
        for slot in table.columns:
            text = text.replace(f"${slot}", f"b.{slot}")
        text = "UNWIND $bindings AS b " + text.replace("WITH DISTINCT x, p", "WITH DISTINCT b, x, p").replace(
            "RETURN count(DISTINCT p.id)", "RETURN b, count(DISTINCT p.id)"
        )
        started = time.perf_counter()
        try:
            distinct = table.with_row_index("row").to_dicts()
            found = self.con.execute(text, {"bindings": distinct})
            return int(sum(row[1] for row in found)), time.perf_counter() - started
        except RuntimeError as error:
            return f"stopped after {time.perf_counter() - started:.0f} s ({str(error).splitlines()[0][:40]})", 0.0

    def close(self) -> None:
        self.con.close()
        self.database.close()


class Duck:
    """DuckDB with a sorted table for each relation and direction, and SEMI JOIN where sets meet."""

    label = "DuckDB, sorted both ways"
    hops: ClassVar = {
        "author": "SELECT {row}tail AS id FROM {start:author} JOIN writes_out ON head = {author}",
        "cited": "SELECT {row}tail AS id FROM {start:paper} JOIN cites_out ON head = {paper} WHERE tail <> {paper}",
        "field": "SELECT {row}head AS id FROM {start:field_of_study} JOIN has_topic_in ON tail = {field_of_study}",
        "institution": "SELECT {row}w.tail AS id FROM {start:institution} JOIN affiliated_with_in f"
        " ON f.tail = {institution} JOIN writes_out w ON w.head = f.head",
        "same_author": "SELECT {row}w.tail AS id FROM {start:paper} JOIN writes_in f ON f.tail = {paper}"
        " JOIN writes_out w ON w.head = f.head WHERE w.tail <> {paper}",
        "same_author_and_field": "WITH c AS (SELECT DISTINCT {row}{paper} AS x, w.tail AS id FROM {start:paper}"
        " JOIN writes_in f ON f.tail = {paper} JOIN writes_out w ON w.head = f.head WHERE w.tail <> {paper})"
        " SELECT {crow}c.id FROM c SEMI JOIN (SELECT a.head AS x, b.head AS id FROM has_topic_out a"
        " JOIN has_topic_in b ON a.tail = b.tail WHERE a.head IN (SELECT x FROM c) AND b.head IN (SELECT id FROM c)) m"
        " ON m.x = c.x AND m.id = c.id",
        "institution_and_field": "WITH c AS (SELECT DISTINCT {row}{field_of_study} AS x, w.tail AS id FROM"
        " {start:institution} JOIN affiliated_with_in f ON f.tail = {institution} JOIN writes_out w"
        " ON w.head = f.head) SELECT {crow}c.id FROM c SEMI JOIN has_topic_out t ON t.head = c.id AND t.tail = c.x",
    }

    @staticmethod
    def available() -> bool:
        return True

    def __init__(self, kb: KnowledgeBase) -> None:
        import duckdb

        path = folder() / f"mag-{scale()}.duckdb"
        fresh = not path.exists()
        self.con = duckdb.connect(str(path), config={"threads": 2, "memory_limit": "8GB"})
        if fresh:
            self.con.execute(f"ATTACH '{kb.folder}/tables.duckdb' AS kb (READ_ONLY)")
            for r in kb.schema.relations:
                for side, order in (("out", "head, tail"), ("in", "tail, head")):
                    self.con.execute(
                        f"CREATE TABLE {r.table}_{side} AS SELECT head, tail FROM kb.{r.table} ORDER BY {order}"
                    )
            self.con.execute("DETACH kb")

    def text(self, name: str, many: bool, slots: list[str]) -> str:
        text = self.hops[name]
        for slot in slots:
            text = text.replace(f"{{start:{slot}}}", "b" if many else "(SELECT 1)")
            text = text.replace(f"{{{slot}}}", f"b.{slot}" if many else f"${slot}::INTEGER")
        return text.replace("{row}", "b.row, " if many else "").replace("{crow}", "c.row, " if many else "")

    def one(self, name: str, row: dict[str, int]) -> int:
        sql = f"SELECT count(DISTINCT id) FROM ({self.text(name, False, list(row))})"
        [(count,)] = self.con.execute(sql, row).fetchall()
        return int(count)

    def many(self, name: str, table: pl.DataFrame) -> tuple[Any, float]:
        self.con.register("b", table.with_row_index("row").to_arrow())
        started = time.perf_counter()
        sql = f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({self.text(name, True, table.columns)}))"
        [(count,)] = self.con.execute(sql).fetchall()
        return int(count), time.perf_counter() - started

    def close(self) -> None:
        self.con.close()
