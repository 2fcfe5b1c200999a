"""QUEST's retrieval over the documents of a dataset, made from imdb, beside bm25s over the same file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kbkit.benchmarks.document_index import document_index
from kbkit.benchmarks.quest import dataset as quest
from kbkit.benchmarks.quest.bench import Bench
from kbkit.benchmarks.quest.dataset import Example, QuestDataset
from kbkit.kb import KnowledgeBase
from kbkit.measures import ranking
from kbkit.measures.frames import RUN
from tests.performance import data
from tests.performance.report import Figure
from tests.performance.small import SHARED

K = 100
SPLIT = "test"
MODES = ("bm25", "dense", "hybrid")


def recalls(kb: KnowledgeBase, dataset: QuestDataset, folder: Path, modes: Sequence[str] = MODES) -> dict[str, float]:
    """Return recall@20 of each mode."""
    with document_index(dataset.folder, folder, kb, modes) as index:
        bench = Bench.of(kb, dataset, K, index)
        part = bench.part(SPLIT)
        gold = quest.gold(part.examples)
        runs = {mode: bench.searched.named(part.ranking(mode)).select(RUN.names()) for mode in modes}
        return {
            mode: _mean(ranking.measure(run, gold, ["recall@20"])["recall@20"].mean()) for mode, run in runs.items()
        }


def _mean(value: object) -> float:
    assert isinstance(value, float)
    return value


def peer_recall(dataset: QuestDataset) -> float:
    """Return recall@20 of bm25s over title and text, with its defaults for English: stop words, no stemmer."""
    import bm25s

    lazy = dataset.documents()
    assert lazy is not None
    documents = dataset.collect(lazy.select("title", "text"))
    texts = [f"{title} {text or ''}" for title, text in documents.iter_rows()]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    examples: list[Example] = dataset.read(SPLIT)
    asked = bm25s.tokenize([example.text for example in examples], show_progress=False)
    found, _ = index.retrieve(asked, k=20, show_progress=False)
    titles = documents["title"].to_list()
    shares = [
        len(set(example.docs) & {titles[place] for place in places}) / len(example.docs)
        for example, places in zip(examples, found, strict=True)
    ]
    return sum(shares) / len(shares)


def quality(scale: float, engine: str) -> Iterator[Figure]:
    """Recall@20 over 175 queries and 4,919 documents."""
    import kbkit
    from kbkit.benchmarks.quest.make import make
    from kbkit.benchmarks.quest.settings import QuestSettings

    path = data.made(data.folder() / "imdb.kb", lambda out: kbkit.ingest("imdb", SHARED / "imdb", out=out).close())
    with kbkit.open(path) as kb, tempfile.TemporaryDirectory() as folder:
        make(kb, Path(folder) / "made", QuestSettings(count=350, seed=1))
        dataset = QuestDataset.open(Path(folder) / "made")
        found = recalls(kb, dataset, Path(folder))
        peer = peer_recall(dataset)
    for mode, recall in found.items():
        yield Figure(f"QUEST on imdb, {mode}, recall@20", recall, "")
    yield Figure("QUEST on imdb, bm25s, recall@20", peer, "")
