"""Search within candidates is exact in every mode and at every size: rank everything, drop the rest.

The large corpus is adversarial: tens of thousands of nodes that are no candidates outrank those that are, and most
nodes tie with thousands of others. Its vectors hold only 1/4 and -1/4, so that cosines are exact and ties are ties.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kbkit
from kbkit.answers.session import Session
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import NodeType, Schema
from kbkit.search.hybrid import Search
from kbkit.search.settings import MODES, RETRIEVERS, WEIGHTS, SearchSettings
from kbkit.stores import text, text_build, vectors
from kbkit.stores.arrays import Within, both, compact, is_in, is_within
from kbkit.stores.embedders import Prefixes
from kbkit.stores.text import NAME_WEIGHT, WHOLE_WEIGHT, Text
from kbkit.stores.text_query import TextQuery
from kbkit.stores.vectors import Vectors
from tests.stores.test_text_store import bm25
from tests.stores.test_vectors import build as build_vectors
from tests.wording import Wording

Order = list[tuple[int, float]]
"""Nodes and scores, best first, ties by id."""


# -- sets of ids ------------------------------------------------------------------------------------------------------

IDS = st.sets(st.integers(0, 40) | st.integers(0, 10_000), max_size=30)
GIVEN: st.SearchStrategy[Within] = st.one_of(
    st.none(),
    IDS.map(lambda ids: np.array(sorted(ids), np.int64)),
    st.tuples(st.integers(0, 50), st.integers(0, 30)).map(lambda pair: range(pair[0], pair[0] + pair[1])),
)


def as_set(within: Within, everything: int = 10_001) -> set[int]:
    return set(range(everything)) if within is None else set(map(int, within))


@given(IDS)
@example(set())
@example({0})
@example({3, 4, 5})
def test_compact(ids: set[int]) -> None:
    made = compact(np.array(sorted(ids), np.int64))
    assert list(made) == sorted(ids)
    assert isinstance(made, range) == (len(ids) > 0 and max(ids) - min(ids) + 1 == len(ids))


@given(GIVEN, GIVEN)
@example(range(0, 5), range(7, 9))
@example(range(7, 9), range(0, 5))
def test_both(a: Within, b: Within) -> None:
    made = both(a, b)
    assert as_set(made) == as_set(a) & as_set(b)
    assert (made is None) == (a is None and b is None)
    assert made is None or list(made) == sorted(set(made))


@given(st.lists(st.integers(-3, 60) | st.integers(-3, 10_003), max_size=40), GIVEN, st.integers(1, 300))
def test_is_within(ids: list[int], within: Within, copies: int) -> None:
    # Many copies make few candidates worth a bitmap.
    mask = is_within(np.array(ids * copies, np.int64), within)
    assert mask.dtype == bool
    members = None if within is None else as_set(within)
    assert mask.tolist() == [members is None or node in members for node in ids] * copies


def test_is_in_many() -> None:
    ids, among = np.arange(150_000)[::-1], np.arange(0, 10_000_000, 7)
    assert np.array_equal(is_in(ids, among), ids % 7 == 0)
    assert np.array_equal(is_in(ids.astype(np.int32), among), ids % 7 == 0)


# -- a large corpus ---------------------------------------------------------------------------------------------------

NODES, STRONG = 130_000, 20_000
"""Nodes below STRONG are the best of every query; so is every other one from 120,000 on."""
QUERY = "amber birch"
WEAK = ["ember", "amber cedar dune ember fjord grove", "dune birch cedar ember fjord grove harbour amber inlet",
        "cedar " * 12 + "amber", "birch dune dune dune dune", "fjord fjord"]  # fmt: skip
BEST = ["amber birch", "amber amber birch birch", "birch amber amber"]


class Fixed:
    """An embedder that knows one vector."""

    name, prefixes, dimension = "fixed", Prefixes(), 16

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.full((len(texts), 16), 0.25, np.float32)


@dataclass
class Part:
    """As much of a KB's stores as these modes need."""

    schema: Schema
    text: Text
    vectors: Vectors
    embedder: Fixed
    manifest: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(generation="1"))

    def has(self, store: str) -> bool:
        """No store that names or types are looked up in."""
        return False

    def shared(self, compute: Callable[[Any], Any]) -> Any:
        return compute(self)


@dataclass
class Corpus:
    session: Session
    orders: dict[str, Order]
    """The whole ranking of each leg."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    folder, random = tmp_path_factory.mktemp("corpus"), np.random.default_rng(3)
    strong = (np.arange(NODES) < STRONG) | ((np.arange(NODES) >= 120_000) & (np.arange(NODES) % 2 == 0))
    kinds = np.where(strong, random.integers(0, 3, NODES), 3 + random.integers(0, len(WEAK), NODES))
    schema = Schema("corpus", "urn:c:", (NodeType("t", 0, NODES, 0, "t", "urn:c:t"),), (), (), name_weight=1.0)
    index = text_index(folder, schema, [[*BEST, *WEAK][kind] for kind in kinds])
    rows, order = vector_files(folder, strong, random)
    orders = {"bm25": brute_text(kinds), "dense": order[0], "multivector": order[1]}
    session = Session(Part(schema, index, rows, Fixed()))  # type: ignore[arg-type]
    yield Corpus(session, orders)
    index.close()
    rows.close()


def text_index(folder: Path, schema: Schema, names: list[str]) -> Text:
    def batches(sql: str) -> pa.RecordBatchReader:
        first, last = map(int, re.findall(r"BETWEEN (\d+) AND (\d+)", sql)[0])
        part = names[first : last + 1]
        ids = pa.array(range(first, first + len(part)), pa.int32())
        table = pa.table({"id": ids, "name": [[name] for name in part]})
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(20_000))

    text_build.build(batches, folder / "text", schema, text.TextSettings("simple"), lambda done, total: None)
    return Text(folder / "text", schema, text.TextSettings("simple"))


def brute_text(kinds: np.ndarray) -> Order:
    """BM25 of each kind of name, for all nodes."""
    documents = [Counter(name.split()) for name in (*BEST, *WEAK)]
    counts = np.bincount(kinds, minlength=len(documents))
    words = QUERY.split()
    scores = np.array(bm25(documents, words, counts=counts.tolist()))  # of documents and of names, which are the same
    whole = np.array([document.keys() >= set(words) for document in documents])
    scores *= 1 + NAME_WEIGHT + WHOLE_WEIGHT * whole
    assert len(set(scores[scores > 0])) == sum(scores > 0), "kinds must not tie by chance"
    return ordered(scores[kinds], only=scores[kinds] > 0)


def vector_files(folder: Path, strong: np.ndarray, random: np.random.Generator) -> tuple[Vectors, tuple[Order, Order]]:
    """Vectors and chunks, and how all nodes rank by them: every fifth node is in two to four chunks."""
    signs = np.ones((64, 16), np.float32)
    for row, ones in enumerate(signs):  # the first are like the query, the others differ in 7 to 10 places
        ones[random.permutation(16)[: row % 3 if row < 8 else 7 + row % 4]] = -1
    pool, query = signs / 4, np.full(16, 0.25)

    def rows(strong: np.ndarray) -> np.ndarray:
        return pool[np.where(strong, random.integers(0, 8, len(strong)), random.integers(8, 64, len(strong)))]

    owners = np.repeat(np.arange(0, NODES, 5), random.integers(2, 5, NODES // 5)).astype(np.int32)
    matrix, chunks = rows(strong), rows(strong[owners])
    build_vectors(folder / "vectors", matrix)
    for name, array in (("chunks", chunks), ("chunk_nodes", owners)):
        np.save(folder / "vectors" / f"{name}.npy", array)
    whole = matrix.astype(np.float64) @ query
    of_chunks = pl.DataFrame({"node": owners, "score": chunks.astype(np.float64) @ query})
    best = of_chunks.group_by("node").agg(pl.col("score").sort(descending=True).head(3).mean())
    parts = whole.copy()
    parts[best["node"].to_numpy()] = best["score"].to_numpy()
    return Vectors(folder / "vectors"), (ordered(whole), ordered(parts))


def ordered(scores: np.ndarray, only: np.ndarray | None = None) -> Order:
    ids = np.arange(len(scores)) if only is None else np.flatnonzero(only)
    ids = ids[np.lexsort((ids, -scores[ids]))]
    return list(zip(ids.tolist(), scores[ids].tolist(), strict=True))


def fused(legs: dict[str, Order], depth: int) -> Order:
    """Scaled scores of the nodes that are among the best of a leg, weighted; no word gives a BM25 of 0."""
    union = {node for leg in legs.values() for node, _ in leg[:depth]}
    totals = dict.fromkeys(union, 0.0)
    for name, leg in legs.items():
        if not leg:
            continue
        known = dict(leg)
        scores = {node: known.get(node, 0.0) for node in union}
        low, high = min(scores.values()), max(scores.values())
        for node, score in scores.items():
            totals[node] += WEIGHTS["minmax"][name] * ((score - low) / (high - low) if high > low else 1.0)
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))


def expected(corpus: Corpus, mode: str, members: set[int], k: int) -> Order:
    needed = ("bm25", "dense") if mode == "hybrid" else (mode,)
    legs = {leg: [hit for hit in corpus.orders[leg] if hit[0] in members] for leg in needed}
    if mode != "hybrid":
        return legs[mode][:k]
    return fused(legs, max(k, 100))[:k]


def candidates(size: int, shape: str) -> Within:
    """Candidates that others outrank; ``scattered`` among them, or a run without a gap."""
    if shape == "contiguous":
        return range(STRONG, STRONG + size)
    # In the reach of all ids, but the strong ones.
    weak = np.concatenate((np.arange(STRONG, 120_000), np.arange(120_001, NODES, 2)))
    return np.sort(np.random.default_rng(size).choice(weak, size, replace=False))


WITHIN: list[tuple[int, str]] = [
    (1, "scattered"),
    (1_001, "contiguous"),
]


def check(corpus: Corpus, mode: str, within: Within, k: int) -> None:
    members = set(range(NODES)) if within is None else set(map(int, within))
    [ranked] = Search(corpus.session, SearchSettings(mode, k, within), None).retrieve([TextQuery(QUERY)])
    wanted = expected(corpus, mode, members, k)
    assert ranked.ranking.ids.tolist() == [node for node, _ in wanted]
    np.testing.assert_allclose(ranked.ranking.scores, [score for _, score in wanted], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("mode", [*RETRIEVERS, "hybrid"])
@pytest.mark.parametrize(
    ("size", "shape"), [*WITHIN, *(pytest.param(n, "scattered", marks=pytest.mark.system) for n in (1_000, 100_000))]
)
def test_within_is_exact(corpus: Corpus, size: int, shape: str, mode: str) -> None:
    within = candidates(size, shape)
    best = [node for node, _ in corpus.orders["bm25"][:STRONG]]
    assert within is not None
    assert not set(best) & set(map(int, within)), "candidates must be outranked"
    for k in (1, 700):
        check(corpus, mode, within, k)


@pytest.mark.parametrize("mode", [*RETRIEVERS, "hybrid"])
def test_within_everything(corpus: Corpus, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT_LIMIT", NODES)  # without a filter large KBs are searched nearly
    for k in (1, 700):
        check(corpus, mode, None, k)
    check(corpus, mode, range(NODES), 20)
    check(corpus, mode, np.arange(NODES, dtype=np.int64)[1:-1:3], 50)  # among the best, too


@pytest.mark.parametrize(("few", "deep"), [(0, 10**6), (0, 300), (10**6, 0), (20, 20_000), (0, 0)])
@pytest.mark.parametrize(("size", "shape"), [(30, "scattered"), (3_000, "scattered"), (3_000, "contiguous")])
def test_every_way_to_filter_gives_the_same(
    corpus: Corpus, size: int, shape: str, few: int, deep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_FEW", few)
    monkeypatch.setattr(text, "_MAX_DEPTH", deep)
    for k in (1, 40):
        check(corpus, "bm25", candidates(size, shape), k)
    if size == 30:
        check(corpus, "bm25", np.arange(3, NODES, 30), 40)


def test_filters_that_look_deeper_first_and_those_that_do_not(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which way is taken, so that the tests above are known to reach each."""
    taken: list[str] = []
    settled, only = Text._settled, Text._only
    monkeypatch.setattr(Text, "_settled", lambda self, *a, **kw: (taken.append("settled"), settled(self, *a, **kw))[1])
    monkeypatch.setattr(Text, "_only", lambda self, within: (taken.append("only"), only(self, within))[1])

    def ways(within: Within, k: int, deep: int = 20_000) -> list[str]:
        taken.clear()
        monkeypatch.setattr(text, "_MAX_DEPTH", deep)
        corpus.session.stores.text.search(TextQuery(QUERY), k, within)
        return list(taken)

    assert ways(None, 5) == ["settled"]
    assert ways(candidates(10, "scattered"), 5) == ["only", "settled"]
    assert ways(np.arange(0, NODES, 2), 5) == ["settled"]  # deep enough at once
    assert ways(candidates(100_000, "scattered"), 5, deep=3_000) == ["settled", "only", "settled"]  # not deep enough
    assert ways(candidates(3_000, "scattered"), 500) == ["only", "settled"]  # would have to look too deep


@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1, 3, 50, 999, 5_000, 60_000]),
    k=st.sampled_from([1, 2, 33, 400]),
    mode=st.sampled_from(["bm25", "dense", "multivector"]),
)
def test_within_anything(corpus: Corpus, seed: int, size: int, k: int, mode: str) -> None:
    check(corpus, mode, np.sort(np.random.default_rng(seed).choice(NODES, size, replace=False)), k)


# -- what a user may say ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as opened:
        yield opened


FORMS: dict[str, Callable[[KnowledgeBase, list[int]], object]] = {
    "list": lambda kb, ids: ids,
    "unsorted, twice": lambda kb, ids: [*ids[::-1], *ids],
    "tuple": lambda kb, ids: tuple(ids),
    "set": lambda kb, ids: set(ids),
    "generator": lambda kb, ids: (node for node in ids),
    "int64": lambda kb, ids: np.array(ids),
    "int32": lambda kb, ids: np.array(ids, np.int32),
    "uint16": lambda kb, ids: np.array(ids, np.uint16),
    "series": lambda kb, ids: pl.Series(ids),
    "column": lambda kb, ids: kb.answers("river").nodes()["id"],
    "numpy numbers": lambda kb, ids: list(np.array(ids)),
    "range": lambda kb, ids: range(ids[0], ids[-1] + 1),
    "answers": lambda kb, ids: kb.answers("river"),
    "answers by sql": lambda kb, ids: kb.answers("river", engine="sql"),
    "expression": lambda kb, ids: "river",
}


@pytest.mark.parametrize("mode", ["bm25", "dense"])
@pytest.mark.parametrize("form", FORMS)
def test_within_in_every_form(kb: KnowledgeBase, form: str, mode: str) -> None:
    ids = kb.answers("river").ids.tolist()
    assert ids == list(range(ids[0], ids[-1] + 1))
    frame = kb.search("countries of Africa", mode=mode, k=30, within=FORMS[form](kb, ids))
    assert frame.equals(kb.search("countries of Africa", mode=mode, k=30, type="river"))
    assert set(frame["type"]) == {"river"}
    assert frame.height == 30 or mode == "bm25"


@pytest.mark.parametrize("mode", MODES)
def test_within_and_type_together(kb: KnowledgeBase, mode: str) -> None:
    africa = 'continent:"Africa" <- country'
    ids = set(kb.answers(africa).ids.tolist())
    frame = kb.search("long river", mode=mode, k=400, within=[*range(900, 1_000), *sorted(ids)], type="country")
    wanted = sorted({*range(900, 1_000), *ids} & set(kb.session.members("country").tolist()))
    same = kb.search("long river", mode=mode, k=400, within=wanted)
    assert frame.equals(same)
    assert frame.height == len(wanted) or mode == "bm25"
    assert kb.search("long river", mode=mode, within="country", type="river").is_empty()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nobody", [[], np.array([]), range(5, 5), pl.Series([], dtype=pl.Int64)])
def test_within_nobody(kb: KnowledgeBase, mode: str, nobody: object) -> None:
    frame = kb.search("river", mode=mode, within=nobody)
    assert frame.is_empty()
    assert frame.schema == kb.search("river", mode=mode).schema
    many = kb.search_many(["river", "lake"], mode=mode, within=nobody)
    assert many.is_empty()
    assert many.schema == kb.search_many(["river"], mode=mode).schema


def test_within_answers_that_are_none(kb: KnowledgeBase) -> None:
    assert kb.search("river", within="river - river", explain=True).is_empty()
    assert kb.search("river", within=kb.answers("river") - kb.answers("river")).is_empty()


def test_within_a_saved_set(kb: KnowledgeBase, tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as small:
        small.answers("drug").save("within_drugs")
        try:
            drugs = small.answers("drug").ids.tolist()
            assert sorted(small.search("insulin", k=100, within="@within_drugs")["id"]) == drugs
        finally:
            small.workspace.drop("within_drugs")


@pytest.mark.parametrize(
    ("within", "facts"),
    [
        ([-1], ["-1", "1,641"]),
        ([0, 5, 1642], ["1642", "1,641"]),
        ([-(2**62), 2**62], ["1,641"]),
        ([1.0], ["within"]),
        ([float("nan")], ["within"]),
        (["1"], ["within"]),
        ([1, "a"], ["within"]),
        ([None], ["within"]),
        ([True], ["within"]),
        ([[1, 2]], ["within"]),
        (np.array([[1, 2]]), ["within"]),
        (np.array(3), ["within"]),
        (pl.Series([1, None]), ["within"]),
        (pl.DataFrame({"id": [1]}), ["within"]),
        ([np.datetime64("2020")], ["within"]),
        ({"river": 1}, ["within"]),
    ],
)
def test_invalid_ids_in_within(kb: KnowledgeBase, within: object, facts: list[str], wording: Wording) -> None:
    for ask in (lambda: kb.search("river", within=within), lambda: kb.search_many(["river"], within=within)):
        with pytest.raises(KbError) as caught:
            ask()
        message = str(caught.value)
        assert [fact for fact in facts if fact not in message] == []
        wording(message)


@pytest.mark.parametrize("within", [[[1], [2, 3]], 5, -1, 2.5, len], ids=str)
def test_within_what_is_no_list_of_ids(kb: KnowledgeBase, within: object) -> None:
    with pytest.raises(KbError):
        kb.search("river", within=within)


def test_an_id_beyond_64_bits_is_named_as_it_was_given(kb: KnowledgeBase, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        kb.search("river", within=[2**63])
    message = str(caught.value)
    wording(message)


def test_within_the_answers_of_another_kb(
    kb: KnowledgeBase, world: KnowledgeBase, small: KnowledgeBase, wording: Wording
) -> None:
    for other in (small.answers("drug"), world.answers("river")):
        with pytest.raises(KbError) as caught:
            kb.search("river", within=other)
        message = str(caught.value)
        wording(message)


def test_within_an_expression_that_is_wrong(kb: KnowledgeBase, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        kb.search("river", within="rivr")
    message = str(caught.value)
    assert [fact for fact in ["Column 1", "'rivr'", "'river'"] if fact not in message] == []
    wording(message)
    with pytest.raises(KbError) as caught:
        kb.search("river", within="")
    message = str(caught.value)
    wording(message)
    with pytest.raises(KbError, match="<"):
        kb.search("river", within="country:<c> <- river")
    with pytest.raises(KbError) as caught:
        kb.search("river", type="rivr")
    message = str(caught.value)
    assert [fact for fact in ["'rivr'", "'river'"] if fact not in message] == []
    wording(message)


# -- relational -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["rivers of Egypt", "Which countries border France?", "long river", "nile"])
@pytest.mark.parametrize("size", [1, 100, 1_642])
def test_relational_within(kb: KnowledgeBase, question: str, size: int) -> None:
    """Rank by the definition: the answers among the members, then the hybrid ranking of the members."""
    members = np.sort(np.random.default_rng(size).choice(1_642, size, replace=False)).tolist()
    result = kb.ask(question)
    everyone = kb.search(question, k=200, mode="relational")
    ids = result.answers.ids if result.answers is not None and everyone["relational"].count() else []
    answers = {*map(int, ids)} & {*members}
    for k in (1, 15, 200):
        frame = kb.search(question, k=k, mode="relational", within=members)
        found = frame["id"].to_list()
        first = min(k, len(answers))
        assert set(found[:first]) <= answers
        hybrid = kb.search(question, k, "hybrid", members)["id"].to_list()
        assert found[first:] == [node for node in hybrid if node not in answers][: k - first]
    if size == 1_642:
        assert frame.equals(everyone)
