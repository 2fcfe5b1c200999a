"""Rankings of texts by every mode of search and by a peer, on queries that others wrote or that a seed draws.

Sets: STaRK-Prime's subset and STaRK-Amazon, if its KB is there (real questions; the train and validation splits are the
two halves), Cranfield (abstracts with graded judgements), plots of MetaQA's films (the first half of a plot, without
the title, finds the film whose text is the second half) and known items of WordNet and UMLS (five words of a name and
its text). The weights of fusion were chosen on all queries of Prime, Cranfield and plots; the others were not looked
at. Figures are given for both halves of each set: ``held`` is the second one, which settings are to be judged on from
now on. Mode ``learned`` is fitted to the first half, its figures are of the second.

Each mode that combines legs is compared with its best leg in each measure, on each half, by a paired bootstrap (95 %
intervals); the last figure of a set is the number of comparisons in which a mode is below its best leg, beyond noise.
"""

from __future__ import annotations

import csv
import functools
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.measures import ranking, scores
from kbkit.measures.files import Gold, read_gold
from kbkit.search import learned
from kbkit.search.learn import RankedPair, learn
from tests.performance import data, question_sets
from tests.performance.known_items import known_items
from tests.performance.question_sets import METAQA, prime, prime_kb
from tests.performance.report import Figure
from tests.performance.small import SHARED
from tests.performance.timing import times

CRANFIELD = SHARED / "cranfield"
LEGS, COMBINED = ("bm25", "dense", "multivector"), ("hybrid", "relational", "auto")
MEASURES = ("hit@1", "hit@5", "hit@10", "recall@20", "mrr", "ndcg@10")
HELD = "held "
FILMS, ASKED, DEPTH, TIMED = 6_000, 400, 100, 100
FEW, DRAWS = (30, 50, 100), 5


class Set(NamedTuple):
    """Queries (query, text), judgements (query, node: a key, relevance) and the queries of the first half."""

    queries: pl.DataFrame
    judgements: pl.DataFrame
    first: frozenset[str]

    def of(self, names: frozenset[str] | None) -> Gold:
        """Return the gold of some queries (None: all)."""
        chosen = pl.lit(True) if names is None else pl.col("query").is_in(list(names))
        return Gold(self.judgements.filter(chosen), self.queries.filter(chosen))


def _halved(names: list[str]) -> frozenset[str]:
    order = sorted(names)
    random.Random(0).shuffle(order)
    return frozenset(order[: len(order) // 2])


def _set(rows: list[tuple[str, str, dict[str, int]]]) -> Set:
    queries = pl.DataFrame([row[:2] for row in rows], schema=["query", "text"], orient="row")
    judged = [(query, node, grade) for query, _, gold in rows for node, grade in gold.items()]
    judgements = pl.DataFrame(judged, schema=["query", "node", "relevance"], orient="row")
    return Set(queries, judgements, _halved(queries["query"].to_list()))


def _prime() -> tuple[Path, Set]:
    parts = {split: prime(split) for split in ("train", "val")}
    rows = [
        (f"{split} {query}", text, dict.fromkeys(answers, 1))
        for split, part in parts.items()
        for query, text, answers in part.rows()
    ]
    found = _set(rows)
    return prime_kb(), found._replace(first=frozenset(row[0] for row in rows if row[0].startswith("train")))


def _cranfield() -> tuple[Path, Set]:
    with (CRANFIELD / "documents.csv").open(encoding="utf-8", newline="") as file:
        documents = list(csv.DictReader(file))
    nodes = [{"type": "paper", "key": one["id"], "name": one["title"].strip() or one["id"]} for one in documents]
    texts = [("paper", one["id"], one["abstract"]) for one in documents if one["abstract"].strip()]
    asked = re.split(r"\.I \d+\s*\n\.W\n", (CRANFIELD / "queries.txt").read_text(encoding="utf-8"))[1:]
    known = {one["id"] for one in documents}
    gold: list[dict[str, int]] = [{} for _ in asked]
    for line in (CRANFIELD / "qrels.txt").read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split()[:3]
        if grade in "1234" and document in known:
            gold[int(query) - 1][document] = 5 - int(grade)
    rows = [(str(n), " ".join(text.split()), own) for n, (text, own) in enumerate(zip(asked, gold, strict=True), 1)]
    return question_sets.made_kb("cranfield", nodes, [], texts), _set([row for row in rows if row[2]])


def _plots() -> tuple[Path, Set]:
    lines = (METAQA / "plots.tsv").read_text(encoding="utf-8").splitlines()
    plots = dict(line.split("\t", 1) for line in lines)
    films = random.Random(1).sample([film for film, plot in plots.items() if len(plot.split()) >= 24], FILMS)
    halves = {film: plots[film].split() for film in films}
    nodes = [{"type": "film", "key": film, "name": film} for film in films]
    texts = [("film", film, " ".join(words[len(words) // 2 :])) for film, words in halves.items()]
    rows = []
    for film in films[:ASKED]:
        begun = " ".join(halves[film][: len(halves[film]) // 2])
        rows.append((film, re.sub(re.escape(film), "", begun, flags=re.IGNORECASE), {film: 1}))
    return question_sets.made_kb("plots", nodes, [], texts), _set(rows)


def _known(name: str) -> tuple[Path, Set]:
    """Known items of a graph in the format of recipe ``triples``."""
    import kbkit

    source = SHARED / name
    path = data.made(data.folder() / f"{name}.kb", lambda out: kbkit.ingest("triples", source, out=out).close())
    with kbkit.open(path) as kb:
        asked = known_items(kb, kb.schema.node_types[0].name, ASKED, 5)
        keys = {node: kb.stores.nodes.row(node).key for [node] in asked["answers"].to_list()}
    return path, _set([(query, text, {keys[node]: 1}) for query, text, [node] in asked.rows()])


def _amazon() -> tuple[Path, Set]:
    import kbkit

    first, held = (read_gold(SHARED / "stark_qa" / "amazon", split) for split in ("train", "val"))
    queries = pl.concat([first.queries, held.queries])
    found = Set(queries, pl.concat([first.judgements, held.judgements]), frozenset(first.queries["query"]))
    source = SHARED / "stark_skb" / "amazon"
    path = data.made(data.folder() / "stark-amazon.kb", lambda out: kbkit.ingest("stark", source, out=out).close())
    with kbkit.open(path) as kb:
        missing = set(found.judgements["node"]) - set(kb.sql("SELECT key FROM nodes")["key"])
        if missing:
            raise FileNotFoundError(f"{source} is not the KB of the questions: {len(missing):,} answers are not in it")
    return path, found


SETS: dict[str, Callable[[], tuple[Path, Set]]] = {
    "Prime's subset": _prime,
    "Cranfield": _cranfield,
    "plots": _plots,
    "WordNet": functools.partial(_known, "wn18rr"),
    "UMLS": functools.partial(_known, "umls"),
    "STaRK-Amazon": _amazon,
}


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """Every mode on every set: milliseconds a query, and the measures of both halves."""
    import kbkit as package

    for name, make in SETS.items():
        try:
            path, asked = make()
        except (OSError, KbError) as error:
            yield Figure(name, note=f"no data: {error}")
            continue
        with package.open(path) as kb:
            per_query = {
                mode: scored(kb.search_many(asked.queries, k=DEPTH, mode=mode, quotes=False), asked)
                for mode in (*LEGS, *COMBINED)
            }
            texts = asked.queries["text"].to_list()[:TIMED]
            for mode, own in per_query.items():
                median, high, _ = times(functools.partial(kb.search, mode=mode, quotes=False), texts)
                extra = _rounded(_means(own, asked))
                yield Figure(f"{name}, {mode}", median, p95=high, answers=own.height, extra=extra)
            figure, per_query["learned"] = _learned(kb, name, asked)
            yield figure
        below = list(_below(per_query, asked))
        yield Figure(f"{name}, below the best leg", len(below), "comparisons", goal=0, note="; ".join(below))


def _below(per_query: dict[str, pl.DataFrame], asked: Set) -> Iterator[str]:
    """Compare each mode that combines legs with its best leg, in each measure and half; yield those that are below."""
    for mode, legs in (*((one, LEGS) for one in COMBINED), ("learned", (*LEGS, "hybrid"))):
        for half, names in _halves(asked).items():
            of_half = {one: per_query[one].filter(pl.col("query").is_in(names)) for one in (*legs, mode)}
            for measure in MEASURES if of_half[mode].height else ():
                best = max(legs, key=lambda leg: of_half[leg][measure].mean() or 0.0)
                before, after = (of_half[one].select("query", measure) for one in (best, mode))
                [row] = scores.compare(before, after).to_dicts()
                if row["high"] < 0:
                    yield "{}{} of {} {difference:+.3f} ({low:+.3f} to {high:+.3f}) beside {}".format(
                        half, measure, mode, best, **row
                    )


def _learned(kb: KnowledgeBase, name: str, asked: Set) -> tuple[Figure, pl.DataFrame]:
    """Learn from the first half, whether it is kept or not, and measure on the second; return the measures, too."""
    started = time.perf_counter()
    found = learn(kb.stores, pairs := _pairs(kb, asked), keep=False)
    seconds = time.perf_counter() - started
    learned.write_ranking(kb.stores, found)
    held = asked.queries.filter(pl.col("query").is_in(_halves(asked)[HELD]))
    own = _held(kb, asked, "learned")
    median, high, _ = times(functools.partial(kb.search, mode="learned", quotes=False), held["text"].to_list()[:TIMED])
    learned.forget(kb.stores)
    extra: dict[str, Any] = {f"{HELD}{measure}": own[measure].mean() for measure in MEASURES}
    extra |= {"examples": len(pairs), "fit s": seconds, "kept": found.is_better}
    extra |= {"cross-validated mrr": found.after, "from": found.before}
    return Figure(f"{name}, learned", median, p95=high, answers=own.height, extra=_rounded(extra)), own


def _pairs(kb: KnowledgeBase, asked: Set) -> list[RankedPair]:
    """Return the first half as examples."""
    ids = dict(kb.sql("SELECT key, id FROM nodes").rows())
    gold: dict[str, set[int]] = {}
    for query, node, _ in asked.judgements.filter(pl.col("relevance") > 0).rows():
        if node in ids:
            gold.setdefault(query, set()).add(ids[node])
    return [RankedPair(text, frozenset(gold[q])) for q, text in asked.queries.rows() if q in asked.first & gold.keys()]


def _held(kb: KnowledgeBase, asked: Set, mode: str) -> pl.DataFrame:
    """Return the measures of the queries of the second half."""
    names = _halves(asked)[HELD]
    run = kb.search_many(asked.queries.filter(pl.col("query").is_in(names)), k=DEPTH, mode=mode, quotes=False)
    return scored(run, asked).filter(pl.col("query").is_in(names))


def few(scale: float, engine: str) -> Iterator[Figure]:
    """Mode ``learned`` after some examples of the first half, drawn by five seeds: MRR on the second half.

    The value is the mean difference from ``hybrid``, whether the rankings would be kept or not.
    """
    import kbkit as package

    for name in ("Prime's subset", "Cranfield"):
        path, asked = SETS[name]()
        with package.open(path) as kb:
            pairs, before = _pairs(kb, asked), _held(kb, asked, "hybrid")["mrr"].to_numpy().mean()
            for number in FEW:
                kept, gains = 0, []
                for seed in range(DRAWS):
                    found = learn(kb.stores, random.Random(seed).sample(pairs, number), keep=False)
                    learned.write_ranking(kb.stores, found)
                    gains.append(float(_held(kb, asked, "learned")["mrr"].to_numpy().mean() - before))
                    learned.forget(kb.stores)
                    kept += found.is_better
                extra = _rounded({"kept": kept, "of": DRAWS, "least": min(gains), "most": max(gains)})
                yield Figure(f"{name}, learned from {number}", round(sum(gains) / DRAWS, 4), "MRR", extra=extra)


def bm25s(scale: float, engine: str) -> Iterator[Figure]:
    """The peer: bm25s over name and text in one string, with the same stems, k1 1.2 and b 0.75."""
    import kbkit as package

    for name, make in SETS.items():
        try:
            path, asked = make()
        except (OSError, KbError) as error:
            yield Figure(name, note=f"no data: {error}")
            continue
        with package.open(path) as kb:
            search = _peer(kb)
            rows = [(query, key, float(score)) for query, text in asked.queries.rows() for key, score in search(text)]
            run = pl.DataFrame(rows, schema=["query", "key", "score"], orient="row")
            median, high, _ = times(search, asked.queries["text"].to_list()[:TIMED])
            own = scored(run, asked)
            yield Figure(f"{name}, bm25", median, p95=high, answers=own.height, extra=_rounded(_means(own, asked)))


def _peer(kb: KnowledgeBase) -> Callable[[str], list[tuple[str, float]]]:
    """Return a function that gives the keys of the best nodes of a query, with their scores."""
    import bm25s as peer

    documents = kb.sql(
        "SELECT n.key, n.name || ' ' || coalesce(string_agg(t.text, ' ' ORDER BY t.field, t.position), '') AS text"
        " FROM nodes n LEFT JOIN texts t USING (id) GROUP BY n.id, n.key, n.name ORDER BY n.id"
    )
    index = peer.BM25(method="lucene", k1=1.2, b=0.75)
    tokens = [[word.stem for word in kb.text.tokens(text)] for text in documents["text"]]
    index.index(tokens, show_progress=False)
    keys = documents["key"].to_list()

    def search(text: str) -> list[tuple[str, float]]:
        found, values = index.retrieve([kb.text.words(text)], k=min(DEPTH, len(keys)), show_progress=False)
        return [(keys[node], float(score)) for node, score in zip(found[0], values[0], strict=True) if score > 0]

    return search


def scored(run: pl.DataFrame, asked: Set) -> pl.DataFrame:
    """Return the measures of each query."""
    named = run.select("query", pl.col("key").alias("node"), "score")
    return ranking.measure(named, asked.of(None), MEASURES)


def _halves(asked: Set) -> dict[str, list[str]]:
    """Return the queries of each half by the prefix of its measures."""
    names = asked.queries["query"].to_list()
    return {"": [n for n in names if n in asked.first], HELD: [n for n in names if n not in asked.first]}


def _means(own: pl.DataFrame, asked: Set) -> dict[str, Any]:
    return {
        f"{half}{measure}": own.filter(pl.col("query").is_in(names))[measure].mean()
        for half, names in _halves(asked).items()
        for measure in MEASURES
    }


def _rounded(measured: dict[str, Any]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in measured.items() if value is not None}


if __name__ == "__main__":
    for figure in (*kbkit(0, "kbkit"), *bm25s(0, "bm25s")):
        print(json.dumps({"what": figure.what, "ms": figure.value, **figure.extra}))
