"""Fusion against a plain Python one, and what hybrid search makes of its legs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.search.ranking import EMPTY, Ranking, fuse, scaled
from kbkit.search.settings import SearchSettings
from tests.examples import examples
from tests.wording import Wording

QUERY = "far south of Africa"  # names no type, and has no adjective with another form
Listed = Sequence[tuple[int, float]]


@pytest.fixture(scope="module")
def kb(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as opened:
        yield opened


def plain(
    rankings: Sequence[Listed], weights: Sequence[float], method: str, constant: float = 60
) -> list[tuple[int, float]]:
    """All nodes and their fused scores, best first, ties by id."""
    totals: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        scores = [score for _, score in ranking]
        for rank, (node, score) in enumerate(ranking, 1):
            if method == "rrf":
                part = 1 / (constant + rank)
            elif max(scores) == min(scores):
                part = 1.0
            else:
                part = (score - min(scores)) / (max(scores) - min(scores))
            totals[node] = totals.get(node, 0.0) + weight * part
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))


def ranking_of(listed: Listed) -> Ranking:
    return Ranking(np.array([n for n, _ in listed], np.int64), np.array([s for _, s in listed], np.float64))


LISTED = st.dictionaries(st.integers(0, 15), st.integers(-8, 8).map(lambda n: n / 4), max_size=10).map(
    lambda scores: sorted(scores.items(), key=lambda item: (-item[1], item[0]))
)


@examples(20)
@given(
    st.lists(st.tuples(LISTED, st.sampled_from([0.0, 0.25, 1.0, 3.0]) | st.floats(0, 10)), min_size=1, max_size=4),
    st.integers(1, 20),
    st.sampled_from(["rrf", "minmax"]),
    st.sampled_from([0.0, 1.0, 60.0, 1000.0]),
)
@example([([], 1.0), ([], 1.0)], 3, "rrf", 60.0)
@example([([(1, 0.5)], 2.0), ([], 1.0)], 3, "minmax", 60.0)
def test_fusion(legs: list[tuple[Listed, float]], k: int, method: str, constant: float) -> None:
    rankings, weights = [leg for leg, _ in legs], [weight for _, weight in legs]
    expected = plain(rankings, weights, method, constant)
    fused = fuse([ranking_of(ranking) for ranking in rankings], weights, k, method, constant)
    totals = dict(expected)
    assert fused.scores.tolist() == pytest.approx([score for _, score in expected[:k]])
    assert [totals[node] for node in fused.ids.tolist()] == pytest.approx(fused.scores.tolist())
    assert len(set(fused.ids.tolist())) == len(fused.ids)
    pairs = list(zip((-fused.scores).tolist(), fused.ids.tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert fused.ids.dtype == np.int64
    assert fused.scores.dtype == np.float64


@pytest.mark.core
def test_a_fusion_by_hand() -> None:
    words, meaning = ranking_of([(7, 9.0), (3, 6.0), (5, 3.0)]), ranking_of([(3, 0.8), (9, 0.8), (7, 0.4)])
    fused = fuse([words, meaning], [1, 2], 3, "rrf")
    assert fused.ids.tolist() == [3, 7, 9]
    assert fused.scores.tolist() == pytest.approx([1 / 62 + 2 / 61, 1 / 61 + 2 / 63, 2 / 62])
    fused = fuse([words, meaning], [1, 2], 9, "minmax")
    assert fused.ids.tolist() == [3, 9, 7, 5]
    assert fused.scores.tolist() == pytest.approx([0.5 + 2, 2, 1, 0])


def test_scaled() -> None:
    assert scaled(np.array([5.0, 2.0, 1.0])).tolist() == [1.0, 0.25, 0.0]
    assert scaled(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]
    assert scaled(np.array([])).tolist() == []


def test_scores_of_ids() -> None:
    ranking = Ranking(np.array([5, 2]), np.array([1.5, 0.5]))
    np.testing.assert_array_equal(ranking.score_of(np.array([2, 3, 5, 9, 0])), [0.5, np.nan, 1.5, np.nan, np.nan])
    assert np.isnan(EMPTY.score_of(np.array([1, 2]))).all()


# -- hybrid -----------------------------------------------------------------------------------------------------------


def listed(frame: pl.DataFrame) -> list[tuple[int, float]]:
    return list(frame.select("id", "score").iter_rows())


@pytest.mark.parametrize("type_name", [None, "country", "lake"])
@pytest.mark.parametrize(
    ("k", "options", "weights"),
    [
        (1, {}, {"bm25": 1, "dense": 1}),
        (150, {"fusion": "rrf"}, {"bm25": 1, "dense": 1}),
        (10, {"fusion": "rrf", "rrf_k": 0, "depth": 12}, {"bm25": 0.3, "dense": 2.5}),
        (10, {}, {"bm25": 1, "dense": 1}),
        (120, {"fusion": "minmax", "depth": 7}, {"bm25": 0.3, "dense": 2.5}),
        (10, {"depth": 1}, {"bm25": 1, "dense": 1}),
        (10, {"fusion": "rrf"}, {"bm25": 1, "multivector": 0.5}),
        (10, {}, {"multivector": 1, "dense": 1, "bm25": 2}),
        (10, {}, {"bm25": 1, "dense": 0}),
        (10, {"fusion": "rrf"}, {"dense": 1}),
    ],
)
def test_hybrid_is_the_fusion_of_its_retrievers(
    kb: KnowledgeBase, k: int, options: Mapping[str, float | str], weights: dict[str, float], type_name: str | None
) -> None:
    depth = max(k, int(options.get("depth", 100)))
    used = {leg: weight for leg, weight in weights.items() if weight}
    legs = {leg: listed(kb.search(QUERY, k=depth, mode=leg, type=type_name)) for leg in used}
    method, constant = str(options.get("fusion", "minmax")), float(options.get("rrf_k", 60))
    rankings = list(legs.values())
    if method == "minmax":  # each retriever also scores what only the others found; full text gives 0 without a word
        union = {node for ranking in rankings for node, _ in ranking}
        everything = [dict(listed(kb.search(QUERY, k=5_000, mode=leg, type=type_name))) for leg in used]
        rankings = [[(node, known.get(node, 0.0)) for node in union] for known in everything]
    expected = plain(rankings, list(used.values()), method, constant)[:k]
    frame = kb.search(QUERY, k=k, type=type_name, weights=weights, **options)
    assert frame["id"].to_list() == [node for node, _ in expected]
    assert frame["score"].to_list() == pytest.approx([score for _, score in expected])
    assert frame.columns == ["rank", "id", "key", "type", "name", "score", *used, "snippet", "weak"]
    for leg, hits in legs.items():
        known = dict(hits)
        for node, score in frame.select("id", leg).iter_rows():
            assert (score is None) == (node not in known)
            assert score is None or score == pytest.approx(known[node], rel=1e-5)


def test_components_are_null_for_nodes_a_retriever_did_not_return(kb: KnowledgeBase) -> None:
    frame = kb.search("nile", k=400, mode="hybrid")
    assert frame["dense"].null_count() == 0 < frame["bm25"].null_count() < 400
    relational = kb.search("rivers of Egypt", k=50, mode="relational")
    assert relational.columns[6:-2] == ["bm25", "dense", "relational"]
    assert 0 < relational["relational"].null_count() < 50
    assert not any(frame[leg].is_nan().any() for leg in ("bm25", "dense", "score"))
    nothing = kb.search("nile", k=5, mode="hybrid", within=[kb.find("country#FRA")])
    assert nothing["bm25"].to_list() == [None]


def test_a_leg_that_finds_nothing_adds_nothing(kb: KnowledgeBase) -> None:
    frame = kb.search("?!", k=10, include_weak=True)
    dense = kb.search("?!", k=10, mode="dense", include_weak=True)
    assert frame["id"].to_list() == dense["id"].to_list()
    assert frame["bm25"].to_list() == [None] * 10
    by_rank = kb.search("?!", k=10, include_weak=True, fusion="rrf")
    assert by_rank["score"].to_list() == pytest.approx([1 / (60 + rank) for rank in range(1, 11)])


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "facts"),
    [
        ({"bm25": -1}, ["1", "0"]),
        ({"bm25": 1, "dense": -0.5}, ["-0.5"]),
        ({"dense": math.nan}, ["0"]),
        ({"dense": math.inf}, ["0"]),
        ({"dense": -math.inf}, ["0"]),
        ({"bm25": 0, "dense": 0}, ["0", "1"]),
        ({}, ["0", "1"]),
        ({"bm52": 1}, ["'bm52'", "'bm25'"]),
        ({"hybrid": 1}, ["'hybrid'"]),
    ],
)
def test_weights_that_are_none(
    kb: KnowledgeBase, weights: dict[str, float], facts: list[str], wording: Wording
) -> None:
    with pytest.raises(KbError) as caught:
        kb.search(QUERY, weights=weights)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"fusion": "rff"}, ["'rff'", "'rrf'"]),
        ({"rrf_k": -1}, ["rrf_k", "1", "0", "1,000,000"]),
        ({"rrf_k": math.nan}, ["rrf_k", "0", "1,000,000"]),
        ({"rrf_k": math.inf}, ["rrf_k", "0", "1,000,000"]),
        ({"depth": 0}, ["0", "1", "1,000,000"]),
        ({"depth": 10**9}, ["1000000000", "1,000,000"]),
        ({"average": -1}, ["-1", "0", "1,000,000"]),
        ({"rerank_depth": 0}, ["rerank_depth", "0", "1", "1,000,000"]),
    ],
)
def test_options_out_of_range(
    kb: KnowledgeBase, options: dict[str, float | str], facts: list[str], wording: Wording
) -> None:
    with pytest.raises(KbError) as caught:
        kb.search(QUERY, **options)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_which_legs_a_mode_runs(wording: Wording) -> None:
    assert SearchSettings("hybrid").retrievers == ("bm25", "dense")
    assert SearchSettings("relational", weights={"bm25": 0, "multivector": 2}).retrievers == ("multivector",)
    assert SearchSettings("dense", weights={"bm25": 1}).retrievers == ("dense",)
    with pytest.raises(UnknownNameError) as caught:
        SearchSettings("bm26")
    message = str(caught.value)
    assert [fact for fact in ["'bm26'", "'bm25'"] if fact not in message] == []
    wording(message)


@pytest.mark.parametrize(
    "options", [{"k": 2.5}, {"k": "10"}, {"weights": {"bm25": "1"}}, {"fields": {"name": "2"}}], ids=str
)
def test_numbers_of_another_kind(kb: KnowledgeBase, options: dict[str, object]) -> None:
    with pytest.raises(KbError):
        kb.search(QUERY, **options)
