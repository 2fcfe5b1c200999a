"""kbkit alone, at no particular scale: builds, start-up, SQL, memory as sources grow, measures, search quality."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.performance.report import Figure
from tests.performance.timing import KBKIT, seconds, times, watched_command

SHARED = Path(__file__).parents[3] / "shared" / "data"


def middle(action: Callable[[], object], runs: int) -> float:
    """The median of a call in ms."""
    return times(lambda _: action(), range(runs)).median


def _command(command: Sequence[str], runs: int = 15) -> float:
    """The median of a whole command in ms."""
    seconds(command)
    return 1000 * statistics.median(seconds(command) for _ in range(runs))


def build(scale: float, engine: str) -> Iterator[Figure]:
    """Whole commands: the demo, imdb, wn18rr and umls with all stores."""
    with tempfile.TemporaryDirectory() as folder:
        yield Figure("kbkit demo", seconds([KBKIT, "demo", "-o", f"{folder}/w.kb"]), "s", goal=30.0)
        for recipe, name, goal in (("imdb", "imdb", 20.0), ("triples", "wn18rr", 40.0), ("triples", "umls", None)):
            what = f"kbkit ingest {recipe} {name}, all stores"
            if not (SHARED / name).is_dir():
                yield Figure(what, note="no data")
                continue
            command = [KBKIT, "ingest", recipe, str(SHARED / name), "-o", f"{folder}/{name}.kb"]
            taken, memory = watched_command(command)
            yield Figure(what, taken, "s", goal=goal, **memory.figures())


def start(scale: float, engine: str) -> Iterator[Figure]:
    """Start-up above bare Python, medians of 15."""
    bare = _command([sys.executable, "-c", "pass"])
    for what, command in (
        ("import kbkit", [sys.executable, "-c", "import kbkit"]),
        ("kbkit --help", [KBKIT, "--help"]),
        ("kbkit ingest --help", [KBKIT, "ingest", "--help"]),
    ):
        yield Figure(f"{what}, above bare Python", _command(command) - bare, goal=150.0)


def sql(scale: float, engine: str) -> Iterator[Figure]:
    """One SQL query and one search on the demo's KB; DuckDB alone on the same file beside it."""
    import duckdb

    import kbkit

    with tempfile.TemporaryDirectory() as folder, kbkit.ingest("world", out=f"{folder}/w.kb") as kb:
        text = "SELECT name, area_km2 FROM country ORDER BY area_km2 DESC LIMIT 10"
        file = str(kb.folder / "tables.duckdb")
        alone = duckdb.connect(file, read_only=True)
        raw, ours = middle(lambda: alone.execute(text).fetchall(), 200), middle(lambda: kb.sql(text), 200)
        yield Figure("kb.sql, above DuckDB alone", ours - raw, goal=5.0)
        whole = _command([KBKIT, "sql", f"{folder}/w.kb", "-c", text, "-f", "csv"])
        script = (
            f"import duckdb, polars; print(duckdb.connect({file!r}, read_only=True).sql({text!r}).pl().write_csv())"
        )
        python = _command([sys.executable, "-c", script])
        yield Figure("kbkit sql, above a script with DuckDB and polars", whole - python)
        sparql = "SELECT ?name { country:FRA rel:borders ?c . ?c rdfs:label ?name }"
        yield Figure("kb.sparql, warm", middle(lambda: kb.sparql(sparql), 100))
        for mode in ("bm25", "dense", "hybrid"):
            taken = middle(lambda mode=mode: kb.search("landlocked mountain country", mode=mode), 50)
            yield Figure(f"kb.search {mode}, warm", taken)


def memory(scale: float, engine: str) -> Iterator[Figure]:
    """Peak memory and time of `ingest table` as the source grows tenfold."""
    import polars as pl

    for nodes in (10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            ids = pl.int_range(nodes, eager=True)
            pl.DataFrame(
                {"key": ids, "type": "thing", "name": "thing " + ids.cast(pl.String), "size": ids % 97}
            ).write_csv(f"{folder}/nodes.csv")
            heads = pl.int_range(5 * nodes, eager=True)
            pl.DataFrame({"head": heads % nodes, "relation": "links", "tail": (heads * 7919 + 13) % nodes}).write_csv(
                f"{folder}/edges.csv"
            )
            taken, used = watched_command([KBKIT, "ingest", "table", folder, "-o", f"{folder}/t.kb"])
            yield Figure(f"ingest {nodes:,} nodes, {5 * nodes:,} edges", taken, "s", **used.figures())


def measures(scale: float, engine: str) -> Iterator[Figure]:
    """2,000 queries of 100 results each: all default measures of a run."""
    import numpy as np
    import polars as pl

    from kbkit.measures import ranking
    from kbkit.measures.files import Gold

    drawn = np.random.default_rng(3)
    nodes = np.concatenate([drawn.choice(100_000, 100, replace=False) for _ in range(2000)])
    names = pl.Series([str(number) for number in range(2000)]).gather(np.repeat(np.arange(2000), 100))
    run = pl.DataFrame({"query": names, "node": nodes, "score": np.tile(np.arange(100, 0, -1.0), 2000)})
    run = run.cast({"node": pl.String})
    judgements = run.sample(fraction=0.05, seed=1).select("query", "node", relevance=pl.lit(1))
    gold = Gold(judgements, run.select("query", text=pl.lit("?")).unique(maintain_order=True))
    median, high, _ = times(lambda _: ranking.measure(run, gold), range(5))
    yield Figure("measures of 2,000 queries, 100 results each", median, p95=high, goal=200.0)


def known_items(scale: float, engine: str) -> Iterator[Figure]:
    """The table of the README: each mode's hit@1, hit@10, MRR and time, on wn18rr and imdb."""
    import kbkit
    from tests.performance import known_items as known

    if not (SHARED / "imdb").is_dir():
        yield Figure("known items", note="no data")
        return
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        wordnet = kbkit.ingest("triples", SHARED / "wn18rr", out=f"{place}/wn18rr.kb")
        films = kbkit.ingest("imdb", SHARED / "imdb", out=f"{place}/imdb.kb")
        yield Figure("building both", time.perf_counter() - started, "s")
        synsets = known.known_items(wordnet, wordnet.schema.node_types[0].name, 500, 5)
        kinds = (
            ("wn18rr, 5 words of a synset", wordnet, synsets, None),
            ("imdb, 3 keywords of a film", films, known.known_items(films, "movie", 500, 3), "movie"),
            ("imdb, films by D with A about K", films, known.questions(films, 300), "movie"),
        )
        for what, opened, asked, node_type in kinds:
            for mode in ("bm25", "dense", "multivector", "hybrid", "relational"):
                median, means = known.scored(opened, asked, mode, node_type)
                yield Figure(f"{what}: {mode}", median, extra=means)
