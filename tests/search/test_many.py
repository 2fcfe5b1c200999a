"""Many queries at once give what each gives alone, in their order; and what is no list of queries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.search.settings import MODES
from kbkit.stores import vectors
from tests.wording import Wording

QUERIES = {
    "q2": "long river in Africa",
    "q1": "rivers of Egypt",
    "Q 10": "Which countries border France?",
    "é": "the of and",
    "none": "?!",
    "typo": "kilimanjaro mountian",
    "typos": "kilimanjraoo xyzzyq",
    "unknown": "qqqqqqzzzzzz",
    "quoted": '"nile" river "in africa"',
    "inches": 'a 5" pipe',
    "NUL": "nile\0river",
    "long": "nile " * 300 + "lake",
    "中": "湖 озеро lago",
}
SCHEMA = {"query": pl.String, "rank": pl.Int64, "id": pl.Int32, "key": pl.String, "type": pl.String, "name": pl.String,
          "score": pl.Float64}  # fmt: skip


@pytest.fixture(scope="module")
def kb(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as opened:
        yield opened


def assert_each_is_as_alone(
    kb: KnowledgeBase, queries: Mapping[str, str], many: pl.DataFrame, **options: object
) -> None:
    assert dict(many.schema) == SCHEMA
    assert many["query"].unique(maintain_order=True).to_list() == [
        name for name in queries if name in set(many["query"])
    ]
    for name, text in queries.items():
        one, found = kb.search(text, quotes=False, include_weak=True, **options), many.filter(query=name)
        # Cosines differ in the last bit of float32; minmax divides them by the little that separates the best.
        least = 2e-5 if options.get("fusion") == "minmax" else 1e-6
        assert found["rank"].to_list() == list(range(1, one.height + 1))
        assert found["score"].to_list() == pytest.approx(one["score"].to_list(), abs=least), name
        columns = ["id", "key", "type", "name"]
        assert found.select(columns).rows() == one.select(columns).rows(), name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options",
    [
        {"k": 30, "within": 'continent:"Africa" <- country'},
        pytest.param({"k": 7, "type": "river"}, marks=pytest.mark.system),
    ],
)
def test_many_equal_single_searches(kb: KnowledgeBase, mode: str, options: dict[str, object]) -> None:
    many = kb.search_many(QUERIES, mode=mode, **options)
    assert_each_is_as_alone(kb, QUERIES, many, mode=mode, **options)
    assert many.height > 0


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "hybrid", "fusion": "minmax", "weights": {"bm25": 0.5, "multivector": 2}, "depth": 12},
        {"mode": "bm25", "fields": {"name": 3, "description": 1}},
        {"mode": "multivector", "average": 1},
        {"mode": "hybrid", "rrf_k": 1, "fields": ["name"]},
    ],
    ids=str,
)
def test_options_apply_to_many(kb: KnowledgeBase, options: dict[str, object]) -> None:
    assert_each_is_as_alone(kb, QUERIES, kb.search_many(QUERIES, k=9, **options), k=9, **options)


@pytest.mark.parametrize("mode", ["dense", "multivector", "hybrid"])
def test_batches_fit_in_memory(kb: KnowledgeBase, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_MAX_SCORES", 5_000)  # three queries of 1,642 nodes
    assert_each_is_as_alone(kb, QUERIES, kb.search_many(QUERIES, k=9, mode=mode), k=9, mode=mode)


@given(
    st.lists(st.sampled_from(["nile", "lake of Africa", "amazno", "?", "of", "big city", "qqqq"]), min_size=1),
    st.sampled_from(MODES),
)
def test_any_list_of_queries(world: KnowledgeBase, texts: list[str], mode: str) -> None:
    queries = {str(number): text for number, text in enumerate(texts, 1)}
    assert_each_is_as_alone(world, queries, world.search_many(texts, k=4, mode=mode), k=4, mode=mode)


def test_correcting_many_queries(kb: KnowledgeBase) -> None:
    names = kb.answers("country").nodes()["name"].to_list()[:60]
    texts = [f"{name[0]}{name[2:]}x" for name in names]  # corrected side by side
    many = kb.search_many(texts, k=3, mode="bm25")
    assert many["query"].n_unique() > 30
    some = {str(number): text for number, text in enumerate(texts, 1) if number % 9 == 0}
    assert_each_is_as_alone(kb, some, many.filter(pl.col("query").is_in(list(some))), k=3, mode="bm25")


@pytest.mark.core
def test_queries_in_every_form(kb: KnowledgeBase) -> None:
    texts = ["nile", "?!", "lake"]
    listed = kb.search_many(texts, k=3, mode="bm25")
    assert listed["query"].to_list() == ["1"] * 3 + ["3"] * 3
    for queries in (
        tuple(texts),
        {"1": "nile", "2": "?!", "3": "lake"},
        {1: "nile", 2: "?!", 3: "lake"},
        pl.DataFrame({"query": ["1", "2", "3"], "text": texts}),
        pl.DataFrame({"text": texts, "more": [0, 0, 0], "query": [1, 2, 3]}),
        pl.DataFrame({"query": pl.Series([1, 2, 3], dtype=pl.UInt8), "text": texts}),
    ):
        assert kb.search_many(queries, k=3, mode="bm25").equals(listed)


def test_the_order_is_that_of_the_queries(kb: KnowledgeBase) -> None:
    backwards = dict(reversed(QUERIES.items()))
    many, other = kb.search_many(QUERIES, k=2, mode="dense"), kb.search_many(backwards, k=2, mode="dense")
    found = [name for name in QUERIES if name in set(many["query"])]
    assert many["query"].unique(maintain_order=True).to_list() == found
    assert other["query"].unique(maintain_order=True).to_list() == found[::-1]
    assert sorted(many.select("query", "rank", "id").rows()) == sorted(other.select("query", "rank", "id").rows())


def test_marks_are_punctuation_unless_told(kb: KnowledgeBase) -> None:
    queries = {"all": '"lake chad" river', "none": '"nile africa amazon"', "plain": "river"}
    loose = kb.search_many(queries, k=50, mode="bm25")
    assert loose.equals(kb.search_many({name: text.replace('"', " ") for name, text in queries.items()}, 50, "bm25"))
    assert set(loose["query"]) == set(queries)
    for mode in MODES:
        strict = kb.search_many(queries, k=50, mode=mode, quotes=True)
        assert strict["query"].unique(maintain_order=True).to_list() == ["all", "plain"]
        for name in ("all", "plain"):
            one = kb.search(queries[name], k=50, mode=mode)
            assert strict.filter(query=name)["id"].to_list() == one["id"].to_list()
            assert strict.filter(query=name)["score"].to_list() == pytest.approx(one["score"].to_list(), abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_k_above_the_nodes(kb: KnowledgeBase, mode: str) -> None:
    many = kb.search_many(["nile", "africa"], k=1_000_000, mode=mode)
    counts = dict(many.group_by("query").len().rows())
    if mode != "bm25":
        assert counts == {"1": 1642, "2": 1642}
    assert all(many.filter(query=name)["id"].n_unique() == count for name, count in counts.items())


@pytest.mark.parametrize("mode", MODES)
def test_nothing_found_at_all(kb: KnowledgeBase, mode: str) -> None:
    many = kb.search_many(["\0", "\1"], mode=mode)
    assert many.is_empty()
    assert dict(many.schema) == SCHEMA


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queries", "facts"),
    [
        ({}, []),
        ([], []),
        (pl.DataFrame({"query": [], "text": []}), []),
        ([""], ["'1'"]),
        (["nile", " \n"], ["'2'"]),
        ({"a": "nile", 7: ""}, ["'7'"]),
        ({"a": None}, ["'a'"]),
        (pl.DataFrame({"query": ["a", "b"], "text": ["nile", None]}), ["'b'"]),
        ({1: "nile", "1": "lake"}, ["'1'"]),
        (pl.DataFrame({"query": ["b", "a", "a"], "text": ["x"] * 3}),
         ["'a'"]),
        (pl.DataFrame({"query": [1], "txt": ["x"]}),
         ["'text'"]),
        (pl.DataFrame({"id": [1], "text": ["x"]}),
         ["'query'"]),
    ],
    ids=str,
)  # fmt: skip
def test_invalid_queries(kb: KnowledgeBase, queries: object, facts: list[str], wording: Wording) -> None:
    with pytest.raises(BadInputError) as caught:
        kb.search_many(queries)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"k": 0}, ["0", "1", "1,000,000"]),
        ({"k": 10**9}, ["1000000000", "1,000,000"]),
        ({"mode": "bm26"}, ["'bm26'", "'bm25'"]),
        ({"type": "rivr"}, ["'rivr'", "'river'"]),
        ({"weights": {"bm25": math.nan}}, ["0"]),
        ({"fields": ["nam"]}, ["'nam'", "'name'"]),
        ({"within": [-1]}, ["-1", "1,641"]),
    ],
)
def test_invalid_search_many_options(
    kb: KnowledgeBase, options: dict[str, object], facts: list[str], wording: Wording
) -> None:
    with pytest.raises(KbError) as caught:
        kb.search_many(["nile"], **options)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_a_query_that_is_no_text(kb: KnowledgeBase, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        kb.search_many({"a": "nile", "b": "\udcff"})
    message = str(caught.value)
    assert [fact for fact in ["8"] if fact not in message] == []
    wording(message)


def test_which_query_is_no_text(kb: KnowledgeBase) -> None:
    with pytest.raises(KbError, match=r"in queries: '\\udcff'"):
        kb.search_many({"a": "nile", "b": "\udcff"})


def test_a_file_of_queries(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("a\tlong river\nb\tsalt lake\n")
    found = kb.search_many(tmp_path / "q.tsv", k=3)
    assert found.equals(kb.search_many({"a": "long river", "b": "salt lake"}, k=3))
    assert found.equals(kb.search_many(str(tmp_path / "q.tsv"), k=3))


def test_one_text_is_no_list(kb: KnowledgeBase) -> None:
    with pytest.raises(KbError):
        kb.search_many("nile")


@pytest.mark.parametrize(
    "queries",
    [
        pl.DataFrame({"query": [None, "a"], "text": ["nile", "lake"]}),
        pl.DataFrame({"query": [[1]], "text": ["nile"]}),
        {"\udcff": "nile"},
        None,
        5,
    ],
    ids=["an id is null", "an id is a list", "an id is no text", "None", "a number"],
)
def test_ids_and_queries_of_another_kind(kb: KnowledgeBase, queries: object) -> None:
    with pytest.raises(KbError):
        kb.search_many(queries)


def test_scores_are_numbers(kb: KnowledgeBase) -> None:
    for mode in MODES:
        scores = kb.search_many(QUERIES, k=50, mode=mode)["score"].to_numpy()
        assert np.isfinite(scores).all()


def test_queries_may_name_the_type_of_their_answers(kb: KnowledgeBase) -> None:
    texts = {"a": "Africa", "b": "Asia", "c": "Africa"}
    asked = pl.DataFrame({"query": list(texts), "text": list(texts.values()), "type": ["river", None, "lake"]})
    told: list[tuple[int, int]] = []
    found = kb.search_many(asked, 5, "bm25", progress=lambda *done: told.append(done))
    assert told[-1] == (3, 3)
    for query, kind in (("a", "river"), ("b", None), ("c", "lake")):
        alone = kb.search_many({query: texts[query]}, 5, "bm25", type=kind)
        assert found.filter(query=query).drop("score").rows() == alone.drop("score").rows()
        assert alone.height > 2
    assert found["query"].unique(maintain_order=True).to_list() == list(texts)
    of_seas = kb.search_many(asked, 5, "bm25", type="sea")  # an argument counts first
    assert set(of_seas["type"]) == {"sea"}
    other = asked.with_columns(type=pl.lit("bridge"))  # no type of the KB: another meaning
    assert kb.search_many(other, 5, "bm25").equals(kb.search_many(texts, 5, "bm25"))
    with pytest.raises(UnknownNameError, match="rivr"):
        kb.search_many(asked.with_columns(type=pl.Series(["rivr", "sea", None])), 5, "bm25")
