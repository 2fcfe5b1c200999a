"""BM25 scores against bm25s, and against the same formula with lengths in one byte, as Tantivy keeps them."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from kbkit.stores.text import DOCUMENT, analyzer
from kbkit.stores.text_query import TextQuery

K1, B = 1.2, 0.75
STEMS = analyzer("english").analyze
LONG = (
    "a large salt lake far below the level of the sea that swells and shrinks with seasons",
    "which long river of Egypt flows through deserts towards the sea past old cities and temples",
    "languages spoken in western Africa by many people of several countries near the coast",
)
"""Queries of more than eight words: for shorter ones, a name that has all of them counts once more."""


def _rounded(length: int) -> int:
    """The largest length of one byte that is not larger: exact up to 40, then three significant bits above 24."""
    below = max(n for n in range(256) if _decoded(n) <= length)
    return _decoded(below)


def _decoded(byte: int) -> int:
    if byte < 24:
        return byte
    rest = byte - 24
    return 24 + (rest if rest < 8 else (rest & 7 | 8) << (rest >> 3) - 1)


class Reference:
    """BM25 in plain Python."""

    def __init__(self, documents: Sequence[list[str]], *, rounded: bool) -> None:
        self.counts = [Counter(words) for words in documents]
        lengths = [len(words) for words in documents]
        self.mean = sum(lengths) / len(lengths)
        table = {length: _rounded(length) if rounded else length for length in set(lengths)}
        self.lengths = [table[length] for length in lengths]
        self.frequencies = Counter(word for count in self.counts for word in count)

    def scores(self, words: Sequence[str]) -> np.ndarray:
        n = len(self.counts)
        found = np.zeros(n)
        for word in words:
            df = self.frequencies[word]
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            for at, count in enumerate(self.counts):
                if tf := count[word]:
                    found[at] += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * self.lengths[at] / self.mean))
        return found


def _documents(kb: KnowledgeBase) -> list[list[str]]:
    rows = kb.sql(
        "SELECT list_concat([any_value(n.name)], coalesce(any_value(n.aliases), []),"
        " coalesce(list(t.text ORDER BY t.field, t.position) FILTER (t.text IS NOT NULL), [])) AS texts"
        " FROM nodes n LEFT JOIN texts t USING (id) GROUP BY n.id ORDER BY n.id"
    )
    return [[stem for text in texts for stem in STEMS(text)] for texts in rows["texts"].to_list()]


@pytest.fixture(scope="module")
def cranfield(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KnowledgeBase, list[str]]]:
    """Cranfield's 1,400 abstracts, and its queries."""
    folder = tmp_path_factory.mktemp("cranfield")
    with (shared_data / "cranfield" / "documents.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, columns in (("nodes", ("type", "key", "name")), ("texts", ("type", "key", "text"))):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(columns)
            for row in rows:
                text = row["title"].strip() or row["id"] if name == "nodes" else row["abstract"].strip()
                if text:
                    out.writerow(("paper", row["id"], text))
    (folder / "edges.csv").write_text("head_type,head,relation,tail_type,tail\n")
    files = {name: folder / f"{name}.csv" for name in ("nodes", "edges", "texts")}
    asked = re.split(r"\.I \d+\s*\n\.W\n", (shared_data / "cranfield" / "queries.txt").read_text("utf-8"))[1:]
    with kbkit.ingest("table", out=folder / "c.kb", files=files, name="c") as kb:
        yield kb, [" ".join(text.split()) for text in asked]


def _check(kb: KnowledgeBase, queries: Sequence[str], documents: Sequence[list[str]]) -> None:
    exact, rounded = (Reference(documents, rounded=flag) for flag in (False, True))
    peer = bm25s.BM25(method="lucene", k1=K1, b=B)
    peer.index([list(words) for words in documents], show_progress=False)
    for query in queries:
        words = kb.text.words(query)
        ids, scores = kb.text.search(TextQuery(query), len(documents), weights={DOCUMENT: 1.0})
        expected = rounded.scores(words)
        found = np.zeros(len(documents))
        found[ids] = scores
        np.testing.assert_allclose(found, expected, atol=1e-4)
        known = [word for word in words if exact.frequencies[word]]
        if known:  # bm25s leaves out the constant factor k1 + 1
            np.testing.assert_allclose(peer.get_scores(known) * (K1 + 1), exact.scores(words), atol=1e-4)


def test_lengths_are_rounded_like_one_byte_floats() -> None:
    assert [_rounded(n) for n in (0, 1, 39, 40, 41, 42, 55, 56, 59, 60, 88, 95, 96)] == [
        0, 1, 39, 40, 40, 42, 54, 56, 56, 60, 88, 88, 96,
    ]  # fmt: skip


def test_scores_of_the_sample(world: KnowledgeBase) -> None:
    _check(world, LONG, _documents(world))


def test_scores_of_cranfield(cranfield: tuple[KnowledgeBase, list[str]]) -> None:
    kb, queries = cranfield
    long = [query for query in queries if len(kb.text.words(query)) > 8]
    assert len(long) > 100
    _check(kb, long, _documents(kb))
