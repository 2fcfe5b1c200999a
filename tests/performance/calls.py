"""Whole calls, as a user of the library makes them: a key in, ids or names out; nodes by name; completion; search.

Nothing is resolved beforehand, and each key is new. Ladybug and DuckDB run prepared statements that return the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from kbkit.kb import KnowledgeBase
from kbkit.search.learn import RankedPair, learn
from kbkit.search.learned import SessionRanking
from kbkit.search.settings import LEARNED
from tests.performance import data
from tests.performance.engines import engine_class
from tests.performance.metapaths import ARMS, expected
from tests.performance.question_sets import metaqa, metaqa_kb
from tests.performance.report import Figure
from tests.performance.small import SHARED
from tests.performance.timing import times

NAMES = ("author", "institution", "same_author", "institution_and_field")
IDS, ROWS = tuple(f"{name}, ids" for name in NAMES), tuple(f"{name}, names" for name in NAMES)
STARTS = 300
SEARCHES, EXAMPLES = 300, 100
GOALS = {"bm25": 1.0, "hybrid": 2.5, "relational": 3.0}
"""Milliseconds of a whole search."""


def prepare(scale: float, engine: str = "") -> None:
    """Make the KB without texts, and for each template the keys of 300 groundings; 20 of them with their answers."""
    import kbkit

    def draw(path: Any) -> None:
        path.mkdir()
        edges = pl.scan_parquet(data.source(scale) / "edges.parquet")
        with kbkit.open(data.graph_kb(scale)) as kb:
            for name in NAMES:
                drawn = kb.sample(f"mag/{name}", STARTS, seed=7, max_answers=10**9)
                slots = [slot for slot, _ in ARMS[name]]
                table = drawn.select(pl.col(slots).str.strip_prefix("#").cast(pl.Int64))
                answers = expected(name, table.head(data.CHECKED), edges)
                table.with_row_index("row").join(answers, on="row", how="left", maintain_order="left").drop(
                    "row"
                ).write_parquet(path / f"{name}.parquet")

    data.made(data.folder() / f"mag-{scale}.calls", draw)


def starts(scale: float, name: str) -> pl.DataFrame:
    return pl.read_parquet(data.folder() / f"mag-{scale}.calls" / f"{name}.parquet")


def peer(scale: float, engine: str) -> Iterator[Figure]:
    """A prepared statement that takes keys and returns keys, or keys and names."""
    opened = engine_class(engine)(scale)
    for name in NAMES:
        table = starts(scale, name)
        rows = table.drop("answers").to_dicts()
        found = [sorted(opened.ids(name, row)) for row in rows[: data.CHECKED]]
        if found != table["answers"].head(data.CHECKED).to_list():
            yield Figure(f"{name}, ids", note="wrong answers")
            continue
        for what, call in (("ids", opened.ids), ("names", opened.rows)):
            median, high, _ = times(lambda row, n=name, c=call: c(n, row), rows)
            yield Figure(f"{name}, {what}", median, p95=high)
    opened.close()


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """``kb.answers(template, slot="#key").ids`` and ``.nodes()``, ``kb.find``, completion, and ``kb.search``."""
    import kbkit as package

    with package.open(data.graph_kb(scale)) as kb:
        for name in NAMES:
            yield from _answers(kb, scale, name)
        yield from _nodes(kb)
    yield from _searches()


def _answers(kb: Any, scale: float, name: str) -> Iterator[Figure]:
    table = starts(scale, name)
    rows = [{slot: f"#{key}" for slot, key in row.items()} for row in table.drop("answers").to_dicts()]
    for row, answers in zip(rows, table["answers"].head(data.CHECKED).to_list(), strict=False):
        if sorted(map(int, kb.answers(f"mag/{name}", **row).nodes()["key"].to_list())) != answers:
            yield Figure(f"{name}, ids", note="wrong answers")
            return
    calls: tuple[tuple[str, float | None, Callable[[Any], Any]], ...] = (
        ("ids", 0.3, lambda row: kb.answers(f"mag/{name}", **row).ids),
        ("names", None, lambda row: kb.answers(f"mag/{name}", **row).nodes()),
    )
    for what, goal, call in calls:
        kb.session.lookup.cache_clear()  # each key is new
        median, high, _ = times(call, rows)
        size = table["answers"].list.len().head(data.CHECKED).median()
        yield Figure(f"{name}, {what}", median, p95=high, goal=goal, extra={"answers each": float(size)})  # type: ignore[arg-type]


def _nodes(kb: Any) -> Iterator[Figure]:
    rows = kb.tables.rows("SELECT key, name, type FROM nodes USING SAMPLE 1000 ROWS (reservoir, 7)")
    unique = kb.tables.rows("SELECT any_value(name) FROM nodes GROUP BY name HAVING count(*) = 1 LIMIT 1000")
    named = [name for (name,) in unique]
    yield _figure("find by key", kb.find, [f"{kind}#{key}" for key, _, kind in rows], 0.05)
    yield _figure("find by name", kb.find, named, 0.05)
    yield _figure("find by name in capitals", kb.find, [name.upper() for name in named], 0.05)
    papers = kb.stores.nodes.members("paper")
    size = min(1_400, len(papers))
    some = papers[: min(100, len(papers) // size) * size].reshape(-1, size)
    yield _figure(f"nodes of {size:,} ids", kb.stores.nodes.frame, list(some), 1.0)
    from kbkit.executor.lookups import Lookups

    look = Lookups(kb)
    prefixes = [name[: 1 + i % 10] for i, (_, name, _) in enumerate(rows)]
    found = times(lambda prefix: look.names(prefix, None, 20), prefixes)
    yield Figure("completion of a name, 1 to 10 letters, p95", found.p95, goal=5.0)
    found = times(lambda prefix: look.names(prefix, "author", 20), prefixes)
    yield Figure("completion of a name of a type, p95", found.p95, goal=5.0)


def _searches() -> Iterator[Figure]:
    """Search with the hits and snippets, each query new: names of imdb's nodes, and questions about MetaQA's films.

    ``CPU ms`` is the mean CPU time of a query in all threads; a matrix product may wait in one.
    """
    import kbkit as package

    if not (SHARED / "imdb").is_dir():
        yield Figure("search bm25, imdb", note="no data")
        return
    out = data.made(data.folder() / "imdb.kb", lambda path: package.ingest("imdb", SHARED / "imdb", out=path).close())
    with package.open(out) as kb:
        rows = kb.tables.rows(f"SELECT name FROM nodes USING SAMPLE {SEARCHES} ROWS (reservoir, 7)")
        yield from _searched(kb, "imdb", [name for (name,) in rows], GOALS)
    with package.open(metaqa_kb(typed=True)) as kb:
        asked = [one.question for hops in (1, 2) for one in metaqa(True, hops)[:SEARCHES]]
        kb.stores.shared(SessionRanking).ranking = learn(kb.stores, _pairs(kb), keep=False)
        yield from _searched(kb, "questions about 43,234 nodes", asked, {**GOALS, LEARNED: 5.0})


def _pairs(kb: KnowledgeBase) -> list[RankedPair]:
    """Return other questions about films with their answers, from which mode ``learned`` learns."""
    asked = [one for hops in (1, 2) for one in metaqa(True, hops)[-EXAMPLES:]]
    ids = dict(kb.sql("SELECT name, list(id) FROM nodes GROUP BY name").rows())
    return [RankedPair(one.question, frozenset(node for name in one.answers for node in ids[name])) for one in asked]


def _searched(kb: KnowledgeBase, what: str, queries: list[str], goals: dict[str, float]) -> Iterator[Figure]:
    for mode, goal in goals.items():
        kb.search(queries[0], mode=mode)
        used = time.process_time()
        median, high, runs = times(lambda query, mode=mode: kb.search(query, mode=mode), queries[1:])
        extra = {"CPU ms": 1000 * (time.process_time() - used) / (runs + 1)}
        yield Figure(f"search {mode}, {what}", median, p95=high, goal=goal, extra=extra)


def _figure(what: str, call: Callable[[Any], Any], arguments: Sequence[Any], goal: float | None) -> Figure:
    median, high, _ = times(call, arguments)
    return Figure(what, median, p95=high, goal=goal)
