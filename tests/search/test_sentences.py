"""The best sentences of long texts: which hits they raise, and where they have no say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from kbkit.search import sentences
from kbkit.search.sentences import DEPTH, LONG, WEIGHT

WORDS = [
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "island", "jasper", "kelp", "lagoon",
    "maple", "nectar", "onyx", "pepper",
]  # fmt: skip
ASKED = "basalt lagoon cedar"
APART, TOGETHER = "apart", "together"


def make(folder: Path, texts: dict[str, str]) -> KnowledgeBase:
    folder.mkdir()
    keys = list(texts)
    pl.DataFrame({"id": keys, "type": "place", "name": keys}).write_parquet(folder / "nodes.parquet")
    pl.DataFrame({"id": keys, "field": "text", "text": list(texts.values())}).write_parquet(folder / "texts.parquet")
    edges = {"source": keys[:1], "relation": "near", "target": keys[1:2]}
    pl.DataFrame(edges).write_parquet(folder / "edges.parquet")
    return kbkit.ingest("table", folder, out=folder / "x.kb", stores=["text", "vectors"])


def text(drawn: random.Random, said: int, size: int = 12, of: int = 6) -> str:
    """Sentences, of which number ``said`` has the words that are asked for; -1: they are in three sentences."""
    plain = [[word for word in drawn.choices(WORDS, k=size) if word not in ASKED.split()] for _ in range(of)]
    for number, word in enumerate(ASKED.split()):
        plain[said if said >= 0 else 2 * number].append(word)
    return " ".join(" ".join(words).capitalize() + "." for words in plain)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    drawn = random.Random(3)
    texts = {f"{APART}{n}": text(drawn, -1) for n in range(30)} | {
        f"{TOGETHER}{n}": text(drawn, n % 6) for n in range(3)
    }
    with make(tmp_path_factory.mktemp("long") / "kb", texts) as opened:
        yield opened


def test_words_in_one_sentence_come_before_the_same_words_apart(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = kb.sql("SELECT id FROM nodes WHERE key NOT LIKE 'apart_%_'")["id"].to_list()

    def place() -> float:
        keys = kb.search(ASKED, mode="hybrid", within=few)["key"].to_list()
        assert len(keys) == len(few)
        return float(np.mean([n for n, key in enumerate(keys) if key.startswith(TOGETHER)]))

    after = place()
    monkeypatch.setattr(sentences, "LONG", 10_000)
    assert after < place()


def test_only_the_best_hits_are_raised_and_by_the_weight_at_most(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = dict(kb.search(ASKED, k=33, mode="hybrid")["key", "score"].rows())
    monkeypatch.setattr(sentences, "LONG", 10_000)
    before = kb.search(ASKED, k=33, mode="hybrid")["key", "score"].rows()
    gains = np.array([after[key] - score for key, score in before])
    assert len(gains) == 33
    assert gains[:DEPTH].max() == pytest.approx(WEIGHT)
    assert gains[:DEPTH].min() == pytest.approx(0)
    assert not gains[DEPTH:].any()


@pytest.mark.parametrize("k", [1, 5, DEPTH, 25])
def test_fewer_hits_are_the_first_of_more(kb: KnowledgeBase, k: int) -> None:
    few, more = (kb.search(ASKED, k=one, mode="hybrid")["key"].to_list() for one in (k, 33))
    assert few == more[:k]


def test_many_queries_are_ranked_like_one(kb: KnowledgeBase) -> None:
    queries = [ASKED, "onyx pepper", "cedar"]
    many = kb.search_many(queries, k=10, mode="hybrid")
    one = [kb.search(query, k=10, mode="hybrid")["key"].to_list() for query in queries]
    assert many["key"].to_list() == [key for keys in one for key in keys]


@pytest.mark.parametrize("options", [{"fusion": "rrf"}, {"fields": "text"}, {"weights": {"dense": 1.0}}])
def test_other_rankings_are_left_as_they_are(kb: KnowledgeBase, options: dict, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[type-arg]
    def refuse(*_: object) -> None:
        raise AssertionError

    expected = kb.search(ASKED, mode="hybrid", **options)
    monkeypatch.setattr(sentences.Occurrences, "of", refuse)
    assert kb.search(ASKED, mode="hybrid", **options).equals(expected)
    assert kb.search(ASKED, mode="bm25").height == 20
    with pytest.raises(AssertionError):
        kb.search(ASKED, mode="hybrid")


def test_texts_of_a_sentence_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(4)
    monkeypatch.setattr(sentences.Occurrences, "of", None)
    with make(tmp_path / "short", {f"n{n}": text(drawn, -1, 3, 5) for n in range(30)}) as kb:
        [field] = kb.schema.text_fields
        assert 0 < field.tokens < LONG * field.texts
        assert kb.search(ASKED, mode="hybrid").height == 20


def test_a_query_without_words_of_the_texts(kb: KnowledgeBase) -> None:
    assert kb.search("xqzvv blorptang", mode="hybrid", include_weak=True).height == 20
