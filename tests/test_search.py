"""Search: its modes, its frame, what it refuses, and the fusion of its legs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.embed import load
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.search.fuse import reciprocal_rank
from kbkit.search.ranking import Ranking

QUERY = "long river in Africa"
FIXED = {"rank": pl.Int64, "id": pl.Int32, "key": pl.String, "type": pl.String, "name": pl.String, "score": pl.Float64}
PARTS = {"bm25": ["bm25"], "dense": ["dense"], "hybrid": ["bm25", "dense"]}


@pytest.fixture(scope="module")
def kb(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as opened:
        yield opened


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("query", [QUERY, '"'])
def test_the_frame(kb: KnowledgeBase, mode: str, query: str) -> None:
    frame = kb.search(query, k=7, mode=mode)
    expected = {**FIXED, **dict.fromkeys(PARTS[mode], pl.Float64), "snippet": pl.String}
    assert list(frame.schema.items()) == list(expected.items())
    assert frame.height == (7 if query == QUERY else 0)
    assert frame["rank"].to_list() == list(range(1, frame.height + 1))
    for row in frame.iter_rows(named=True):
        node = kb.node(row["id"])
        assert (row["key"], row["type"], row["name"]) == (node.key, node.type, node.name)
        assert row["snippet"].replace("**", "").strip("…") in " ".join(text for _, text in node.texts)


@pytest.mark.parametrize("mode", PARTS)
def test_scores_fall_and_ties_are_by_id(kb: KnowledgeBase, mode: str) -> None:
    frame = kb.search("country", k=200, mode=mode)
    pairs = list(zip((-frame["score"]).to_list(), frame["id"].to_list(), strict=True))
    assert pairs == sorted(pairs)
    assert frame["id"].n_unique() == 200
    if mode != "hybrid":
        assert frame["score"].to_list() == frame[mode].to_list()


@pytest.mark.parametrize("type_name", [None, "country", "lake"])
@pytest.mark.parametrize("k", [1, 10, 150])
def test_hybrid_is_the_fusion_of_its_legs(kb: KnowledgeBase, k: int, type_name: str | None) -> None:
    depth = max(k, 100)
    legs = {mode: kb.search(QUERY, k=depth, mode=mode, type=type_name) for mode in ("bm25", "dense")}
    scores: dict[int, float] = {}
    for leg in legs.values():
        for rank, node in leg.select("rank", "id").iter_rows():
            scores[node] = scores.get(node, 0) + 1 / (60 + rank)
    best = sorted(scores, key=lambda node: (-scores[node], node))[:k]
    frame = kb.search(QUERY, k=k, mode="hybrid", type=type_name)
    assert frame["id"].to_list() == best
    assert frame["score"].to_list() == pytest.approx([scores[node] for node in best])
    for mode, leg in legs.items():
        known = dict(leg.select("id", "score").iter_rows())
        for node, score in frame.select("id", mode).iter_rows():
            assert (score is None) == (node not in known)
            assert score is None or score == pytest.approx(known[node], rel=1e-6)


def test_dense_is_the_cosine_with_the_query(kb: KnowledgeBase) -> None:
    [vector] = load("static").embed([QUERY])
    scores = kb.vectors.matrix @ vector
    frame = kb.search(QUERY, k=15, mode="dense")
    assert frame["id"].to_list() == np.lexsort((np.arange(len(scores)), -scores))[:15].tolist()
    assert frame["score"].to_list() == pytest.approx(np.sort(scores)[::-1][:15].tolist(), abs=1e-6)


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("type_name", ["country", "sea", "year", "Country"])
def test_types_filter_before_the_best_are_chosen(kb: KnowledgeBase, mode: str, type_name: str) -> None:
    frame = kb.search("river Nile", k=5, mode=mode, type=type_name)
    assert set(frame["type"]) <= {type_name.lower()}
    if mode != "bm25":
        assert frame.height == min(5, kb.schema.type(type_name).count)


@pytest.mark.parametrize("mode", PARTS)
def test_other_types_count(small: KnowledgeBase, mode: str) -> None:
    frame = small.search("hormone sugar blood", k=10, mode=mode, type="hormone")
    assert set(frame["key"]) <= {"g3", "a/b c"}
    assert frame["key"][0] == "g3"
    assert set(frame["type"]) <= {"gene/protein", "drug"}


def test_k_beyond_the_nodes(kb: KnowledgeBase) -> None:
    assert kb.search(QUERY, k=1_000_000, mode="dense").height == kb.schema.nodes
    assert kb.search(QUERY, k=1, mode="dense").height == 1


@pytest.mark.parametrize("k", [0, -1, 1_000_001, 10**9])
def test_k_out_of_range(kb: KnowledgeBase, k: int) -> None:
    with pytest.raises(KbError) as caught:
        kb.search(QUERY, k=k)
    assert str(caught.value) == f"k is {k}; it is from 1 to 1,000,000"


def test_names_that_do_not_exist(kb: KnowledgeBase) -> None:
    with pytest.raises(UnknownNameError) as caught:
        kb.search(QUERY, mode="bm26")
    assert str(caught.value) == "unknown mode 'bm26'; did you mean 'bm25'?"
    with pytest.raises(UnknownNameError) as caught:
        kb.search(QUERY, mode="zzz")
    assert str(caught.value) == "unknown mode 'zzz'; there are bm25, dense, hybrid"
    with pytest.raises(UnknownNameError) as caught:
        kb.search(QUERY, type="contry")
    assert str(caught.value).startswith("unknown type 'contry'; did you mean 'country'")


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
@pytest.mark.parametrize("mode", PARTS)
def test_an_empty_query(kb: KnowledgeBase, query: str, mode: str) -> None:
    with pytest.raises(KbError) as caught:
        kb.search(query, mode=mode)
    assert str(caught.value) == "the query is empty; give some words"


@pytest.mark.parametrize("mode", PARTS)
def test_a_query_that_is_no_unicode(kb: KnowledgeBase, mode: str) -> None:
    try:
        kb.search("nile \udcff", mode=mode)
    except KbError as error:
        assert "\n" not in str(error)


def test_a_node_is_found_by_its_name(kb: KnowledgeBase) -> None:
    for mode in PARTS:
        assert "Mount Kilimanjaro" in kb.search("mount kilimanjaro", k=3, mode=mode)["name"].to_list()
    assert kb.search("Deutschland", k=1, mode="bm25").height <= 1


# -- fusion -----------------------------------------------------------------------------------------------------------

RANKINGS = st.lists(
    st.lists(st.integers(0, 15), unique=True, max_size=10).map(
        lambda ids: Ranking(np.array(ids, np.int64), np.arange(len(ids), 0, -1, np.float64))
    ),
    min_size=1,
    max_size=4,
)


@given(RANKINGS, st.integers(1, 20), st.sampled_from([1, 60]))
def test_reciprocal_rank_fusion(rankings: list[Ranking], k: int, constant: int) -> None:
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, node in enumerate(ranking.ids.tolist(), 1):
            scores[node] = scores.get(node, 0) + 1 / (constant + rank)
    fused = reciprocal_rank(rankings, k, constant)
    assert set(fused.ids.tolist()) <= set(scores)
    assert fused.scores.tolist() == pytest.approx(sorted(scores.values(), reverse=True)[:k])
    assert [scores[node] for node in fused.ids.tolist()] == pytest.approx(fused.scores.tolist())
    pairs = list(zip((-fused.scores).tolist(), fused.ids.tolist(), strict=True))
    assert pairs == sorted(pairs)


def test_scores_of_ids() -> None:
    ranking = Ranking(np.array([5, 2]), np.array([1.5, 0.5]))
    assert ranking.score_of(np.array([2, 3, 5])) == [0.5, None, 1.5]
