"""Measures of ranked runs: worked by hand, against a plain oracle, and against ir_measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import ir_measures
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import KbError, UnknownNameError
from kbkit.measures import ranking
from kbkit.measures.frames import Gold, ordered
from kbkit.measures.ranking import DEFAULT, measure, parse_measure, remarks
from kbkit.measures.scores import summary, undefined
from tests.examples import examples
from tests.loops import each
from tests.wording import Wording

RUN = {"query": pl.String, "node": pl.String, "score": pl.Float64}
ALL = ("hit@1", "hit@3", "recall@2", "recall@20", "mrr", "mrr@2", "map", "ndcg", "ndcg@3", "precision@3", "r-precision")


def run_of(rankings: Mapping[str, Mapping[str, float]]) -> pl.DataFrame:
    rows = [(query, node, score) for query, scores in rankings.items() for node, score in scores.items()]
    return pl.DataFrame(rows, schema=RUN, orient="row")


def best_first(query: str, nodes: Iterable[str]) -> dict[str, dict[str, float]]:
    return {query: {node: -float(rank) for rank, node in enumerate(nodes)}}


def gold_of(judged: Mapping[str, Mapping[str, int]], **groups: list[str | None]) -> Gold:
    rows = [(query, node, relevance) for query, levels in judged.items() for node, relevance in levels.items()]
    schema = {"query": pl.String, "node": pl.String, "relevance": pl.Int64}
    queries = pl.DataFrame({"query": list(judged), "text": None, **groups}, schema_overrides={"text": pl.String})
    return Gold(pl.DataFrame(rows, schema=schema, orient="row"), queries)


def only(scores: pl.DataFrame) -> dict[str, float | None]:
    [row] = scores.drop("query").to_dicts()
    return row


# -- worked by hand ---------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_one_ranking() -> None:
    # Relevant: b and d of four, and z, which is not found.
    scores = measure(run_of(best_first("q", "abcd")), gold_of({"q": {"b": 1, "d": 1, "z": 1, "a": 0}}), ALL)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert scores.columns == ["query", *ALL]
    assert only(scores) == pytest.approx(
        {
            "hit@1": 0,
            "hit@3": 1,
            "recall@2": 1 / 3,
            "recall@20": 2 / 3,
            "mrr": 1 / 2,
            "mrr@2": 1 / 2,
            "map": (1 / 2 + 2 / 4) / 3,
            "ndcg": (1 / math.log2(3) + 1 / math.log2(5)) / ideal,
            "ndcg@3": (1 / math.log2(3)) / ideal,
            "precision@3": 1 / 3,
            "r-precision": 1 / 3,
        }
    )


def test_recall_at_20_of_21_answers() -> None:
    answers = {str(i): 1 for i in range(21)}
    scores = only(measure(run_of(best_first("q", answers)), gold_of({"q": answers})))
    assert scores["recall@20"] == pytest.approx(20 / 21)
    assert (scores["hit@1"], scores["mrr"], scores["map"], scores["ndcg@10"]) == (1, 1, 1, 1)


def test_gain_is_the_relevance() -> None:
    gold = gold_of({"q": {"a": 1, "b": 3, "c": 2, "d": 0, "e": -2}})
    found = only(measure(run_of(best_first("q", "eabx")), gold, ["ndcg@3", "ndcg", "recall@3"]))
    ideal = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    gained = 1 / math.log2(3) + 3 / math.log2(4)
    assert found == pytest.approx({"ndcg@3": gained / ideal, "ndcg": gained / ideal, "recall@3": 2 / 3})


@pytest.mark.parametrize(("cut", "expected"), [(1, 0.0), (2, 0.0), (3, 1 / 3), (4, 1 / 3), (1_000_000, 1 / 3)])
def test_mrr_is_cut(cut: int, expected: float) -> None:
    scores = measure(run_of(best_first("q", "abcd")), gold_of({"q": {"c": 1}}), [f"mrr@{cut}"])
    assert only(scores) == {f"mrr@{cut}": pytest.approx(expected)}


def test_mrr_is_cut_at_every_rank() -> None:
    nodes = [str(i) for i in range(1, 301)]
    for rank in (7, 49, 98, 103, 300):
        names = [f"mrr@{rank - 1}", f"mrr@{rank}"]
        found = only(measure(run_of(best_first("q", nodes)), gold_of({"q": {str(rank): 1}}), names))
        assert list(found.values()) == [0.0, pytest.approx(1 / rank)]


def test_missing_results_missing_answers_and_unknown_queries(wording: Wording) -> None:
    gold = gold_of({"silent": {"a": 1}, "unjudged": {}, "no": {"a": 0}, "good": {"a": 1}})
    run = run_of({"good": {"a": 1.0}, "unjudged": {"a": 1.0}, "stranger": {"a": 1.0}})
    scores = measure(run, gold, ["mrr", "recall@5"])
    assert scores.rows() == [("silent", 0, 0), ("unjudged", None, None), ("no", None, None), ("good", 1, 1)]
    notes = remarks(run, gold)
    assert len(notes) == 3
    wording("\n".join(notes))
    notes = undefined(scores)
    assert len(notes) == 1
    wording("\n".join(notes))
    assert summary(scores).rows() == [(4, 0.5, 0.5)]


def test_no_remarks() -> None:
    assert remarks(run_of(best_first("q", "a")), gold_of({"q": {"a": 1}})) == []


def test_a_run_without_results_is_a_run() -> None:
    scores = measure(run_of({}), gold_of({"q": {"a": 1}}), ["mrr"])
    assert scores.rows() == [("q", 0.0)]


def test_no_query_in_common(wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        measure(run_of(best_first("q1", "a")), gold_of({"1": {"a": 1}}))
    assert [fact for fact in ["'q1'", "'1'"] if fact not in caught.value.message] == []
    wording(str(caught.value))


def test_no_node_in_common(wording: Wording) -> None:
    run, gold = run_of({"q": {"product#12": 1.0}}), gold_of({"q": {"12": 1}})
    assert only(measure(run, gold)) == dict.fromkeys(DEFAULT, 0.0)
    notes = remarks(run, gold)
    assert len(notes) == 1
    wording("\n".join(notes))


def test_duplicate_nodes(wording: Wording) -> None:
    run = pl.DataFrame([("q", "a", 2.0), ("q", "a", 1.0)], schema=RUN, orient="row")
    with pytest.raises(KbError) as caught:
        measure(run, gold_of({"q": {"a": 1}}))
    message = str(caught.value)
    assert [fact for fact in ["'a'", "'q'"] if fact not in message] == []
    wording(message)


@pytest.mark.parametrize(("score", "shown"), [(None, "None"), (math.nan, "nan"), (math.inf, "inf")])
def test_scores_that_are_not_finite(score: float | None, shown: str, wording: Wording) -> None:
    run = pl.DataFrame([("q", "a", 2.0), ("q", "b", score)], schema=RUN, orient="row")
    with pytest.raises(KbError) as caught:
        measure(run, gold_of({"q": {"a": 1}}))
    message = str(caught.value)
    assert [fact for fact in ["'b'", "'q'"] if fact not in message] == []
    wording(message)


def test_names_that_c_would_cut() -> None:
    run = run_of({"q\0a": {"x\0a": 2.0, "x\0b": 1.0}, "q\0b": {"x\0a": 2.0, "x\0b": 1.0}})
    scores = measure(run, gold_of({"q\0a": {"x\0a": 1}, "q\0b": {"x\0b": 1}}), ["mrr"])
    assert scores.rows() == [("q\0a", 1.0), ("q\0b", 0.5)]


# -- ties -------------------------------------------------------------------------------------------------------------


def test_ties_stand_in_the_order_of_nodes() -> None:
    names = ["b", "10", "a", "9", "é", "z", "007", "7", "1a", "🤧", "\uffff"]
    run = run_of({"q2": dict.fromkeys(names, 0.5), "q1": {"x": -0.0, "w": 0.0, "top": 1e-9}})
    assert ordered(run)["node"].to_list()[: len(names)] == [
        *("007", "7", "9", "10"),
        *("1a", "a", "b", "z", "é", "\uffff", "🤧"),
    ]
    assert ordered(run)["node"].to_list()[len(names) :] == ["top", "w", "x"]
    assert ordered(run)["query"].unique(maintain_order=True).to_list() == ["q2", "q1"]


def test_queries_that_alternate_are_put_together() -> None:
    rows = [("b", "1", 1.0), ("a", "1", 1.0), ("b", "2", 2.0), ("a", "2", 0.5)]
    assert ordered(pl.DataFrame(rows, schema=RUN, orient="row")).rows() == [
        *(("b", "2", 2.0), ("b", "1", 1.0)),
        *(("a", "1", 1.0), ("a", "2", 0.5)),
    ]


def rank_key(node: str, score: float) -> tuple[float, bool, int, str, str]:
    digits = node.isascii() and node.isdigit()
    return (-score, not digits, int(node) if digits else 0, "" if digits else node, node)


def plain_scores(scores: Mapping[str, float], levels: Mapping[str, int]) -> dict[str, float | None]:
    """The measures of one query from their definitions."""
    ranked = sorted(scores, key=lambda node: rank_key(node, scores[node]))
    gains = [max(0, levels.get(node, 0)) for node in ranked]
    ideal = sorted((level for level in levels.values() if level > 0), reverse=True)
    answers = len(ideal)
    if not answers:
        return dict.fromkeys(ALL)
    hits = [gain > 0 for gain in gains]
    first = hits.index(True) + 1 if any(hits) else math.inf

    def dcg(values: list[int], cut: int | None = None) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(values[:cut], 1))

    return {
        "hit@1": float(any(hits[:1])),
        "hit@3": float(any(hits[:3])),
        "recall@2": sum(hits[:2]) / answers,
        "recall@20": sum(hits[:20]) / answers,
        "mrr": 1 / first,
        "mrr@2": 1 / first if first <= 2 else 0.0,
        "map": sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, 1) if hit) / answers,
        "ndcg": dcg(gains) / dcg(ideal),
        "ndcg@3": dcg(gains, 3) / dcg(ideal, 3),
        "precision@3": sum(hits[:3]) / 3,
        "r-precision": sum(hits[:answers]) / answers,
    }


NODES = st.sampled_from(["1", "2", "10", "010", "a", "b", "ab", "Z", "é", "x1", "1x", "00"])
RANKED = st.dictionaries(NODES, st.sampled_from([0.0, -0.0, 0.5, 1.0, 1e-300, -3.0]), min_size=1)
JUDGED = st.dictionaries(NODES, st.integers(-1, 3))


@examples(20)
@given(st.lists(st.tuples(RANKED, JUDGED), min_size=1, max_size=5))
def test_scores_are_those_of_the_definitions(queries: list[tuple[dict[str, float], dict[str, int]]]) -> None:
    names = [f"q{i}" for i in range(len(queries))]
    run = run_of({name: scores for name, (scores, _) in zip(names, queries, strict=True)})
    gold = gold_of({name: levels for name, (_, levels) in zip(names, queries, strict=True)})
    rows = measure(run.sample(fraction=1, shuffle=True, seed=1), gold, ALL).to_dicts()
    for row, (scores, levels) in zip(rows, queries, strict=True):
        expected = plain_scores(scores, levels)
        assert {name: row[name] for name in ALL} == pytest.approx(expected), (scores, levels)


# -- properties -------------------------------------------------------------------------------------------------------


@given(RANKED, JUDGED)
def test_bounds_and_growth(scores: dict[str, float], levels: dict[str, int]) -> None:
    names = [f"{base}@{k}" for base in ("recall", "hit", "mrr") for k in (1, 2, 3, 5, 20)]
    found = only(measure(run_of({"q": scores}), gold_of({"q": levels}), [*names, *ALL]))
    if not any(level > 0 for level in levels.values()):
        assert set(found.values()) == {None}
        return
    assert all(value is not None and 0 <= value <= 1 + 1e-9 for value in found.values())
    for base in ("recall", "hit", "mrr"):
        grown = [found[f"{base}@{k}"] for k in (1, 2, 3, 5, 20)]
        assert grown == sorted(grown, key=float)


@given(st.permutations("abcdefgh"), st.sets(st.sampled_from("abcdefgh"), min_size=1), st.data())
def test_a_relevant_node_that_moves_up_never_harms(order: list[str], answers: set[str], data: st.DataObject) -> None:
    places = [place for place, node in enumerate(order) if node in answers and place]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    better = [*order]
    better[place - 1], better[place] = better[place], better[place - 1]
    gold = gold_of({"q": dict.fromkeys(answers, 1)})
    before, after = (only(measure(run_of(best_first("q", o)), gold, ALL)) for o in (order, better))
    assert all(float(after[name] or 0) >= float(before[name] or 0) - 1e-12 for name in ALL)


# -- the reference ----------------------------------------------------------------------------------------------------

THEIRS = {
    "hit@1": "Success@1",
    "hit@5": "Success@5",
    "recall@20": "R@20",
    "mrr": "RR",
    "mrr@10": "RR@10",
    "map": "AP",
    "ndcg": "nDCG",
    "ndcg@10": "nDCG@10",
    "precision@5": "P@5",
    "precision@100": "P@100",
    "r-precision": "Rprec",
}


@pytest.mark.parametrize("seed", range(3))
def test_ir_measures_agrees(seed: int) -> None:
    import random

    draw = random.Random(seed)
    run, judged = {}, {}
    for query in map(str, range(30)):
        nodes = [f"d{i}" for i in range(draw.randrange(1, 80))]
        run[query] = dict(zip(nodes, draw.sample(range(1000), len(nodes)), strict=True))  # no ties
        judged[query] = {f"d{i}": draw.choice([0, 1, 1, 2, 3]) for i in draw.sample(range(120), 15)}
        judged[query]["d0"] = 1
    reference = [ir_measures.parse_measure(name) for name in THEIRS.values()]
    expected = {
        (value.query_id, str(value.measure)): value.value
        for value in ir_measures.iter_calc(
            reference, judged, {q: {n: float(s) for n, s in r.items()} for q, r in run.items()}
        )
    }
    found = measure(run_of(run), gold_of(judged), THEIRS)
    for row in each(found.to_dicts()):
        for ours, theirs in THEIRS.items():
            assert row[ours] == pytest.approx(expected[row["query"], theirs], abs=1e-6), (row["query"], ours)


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("Hit@1", "hit@1"),
        ("success@05", "hit@5"),
        ("R@20", "recall@20"),
        ("MRR", "mrr"),
        ("mrr@10", "mrr@10"),
        ("P@5", "precision@5"),
        ("nDCG@10", "ndcg@10"),
        ("NDCG", "ndcg"),
        ("MAP", "map"),
        ("Rprec", "r-precision"),
        ("r-precision", "r-precision"),
        (" recall@1000000 ", "recall@1000000"),
    ],
)
def test_names(given_name: str, name: str) -> None:
    assert parse_measure(given_name).name == name


@pytest.mark.parametrize(
    "name", ["", "hit", "map@5", "recall@", "recall@-1", "recall@1.5", "recall@٣", "f1", "recall@x", "@5"]
)
def test_unknown_names(name: str, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse_measure(name)
    message = str(caught.value)
    wording(message)
    message = caught.value.hint
    assert [fact for fact in ["hit@K", "recall@K", "mrr@K", "ndcg@K"] if fact not in message] == []
    wording(message)


@pytest.mark.parametrize("k", [0, 1_000_001, 10**19])
def test_invalid_cutoffs(k: int, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        parse_measure(f"hit@{k}")
    message = str(caught.value)
    assert [fact for fact in ["1", "1,000,000"] if fact not in message] == []
    wording(message)


def test_duplicate_measures_and_no_measure(wording: Wording) -> None:
    run, gold = run_of(best_first("q", "a")), gold_of({"q": {"a": 1}})
    assert measure(run, gold, ["mrr", "R@5", "MRR", "recall@5"]).columns == ["query", "mrr", "recall@5"]
    with pytest.raises(KbError) as caught:
        measure(run, gold, [])
    message = str(caught.value)
    assert [fact for fact in ["hit@K"] if fact not in message] == []
    wording(message)


def test_default_measures_are_starks_and_two() -> None:
    assert ranking.DEFAULT == ("hit@1", "hit@5", "recall@20", "mrr", "map", "ndcg@10")


# -- means ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def scored() -> tuple[pl.DataFrame, pl.DataFrame]:
    scores = pl.DataFrame({"query": list("abcd"), "f1": [1.0, 0.0, None, 0.25], "p": [None, None, None, 0.5]})
    queries = pl.DataFrame({"query": list("dcba"), "kind": ["y", "x", None, "x"], "level": [2, 1, 1, 1]})
    return scores, queries


def test_summary_is_one_row(scored: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    assert summary(*scored).to_dicts() == [{"queries": 4, "f1": pytest.approx(1.25 / 3), "p": 0.5}]


def test_summary_by_a_column(scored: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    found = summary(*scored, by=["kind"])
    assert found.columns == ["kind", "queries", "f1", "p"]
    assert found.rows() == [
        ("x", 2, 1.0, None),
        ("y", 1, 0.25, 0.5),
        (None, 1, 0.0, None),
        ("all", 4, pytest.approx(1.25 / 3), 0.5),
    ]


def test_summary_by_numbers_and_by_two(scored: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    assert summary(*scored, by=["level"])["level"].to_list() == [1, 2, None]
    found = summary(*scored, by=["level", "kind", "level"])
    assert found.select("level", "kind", "queries").rows() == [(1, "x", 2), (1, None, 1), (2, "y", 1), (None, "all", 4)]


def test_summary_errors(scored: tuple[pl.DataFrame, pl.DataFrame], wording: Wording) -> None:
    scores, queries = scored
    with pytest.raises(UnknownNameError) as caught:
        summary(scores, queries, ["kin"])
    message = str(caught.value)
    assert [fact for fact in ["'kin'", "'kind'"] if fact not in message] == []
    wording(message)
    with pytest.raises(KbError) as caught:
        summary(scores, queries.rename({"kind": "f1"}), ["f1"])
    message = str(caught.value)
    assert [fact for fact in ["'f1'"] if fact not in message] == []
    wording(message)


def test_undefined(scored: tuple[pl.DataFrame, pl.DataFrame], wording: Wording) -> None:
    notes = undefined(scored[0])
    assert len(notes) == 2
    wording("\n".join(notes))
