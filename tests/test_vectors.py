"""Vector search equals brute force, exactly or (beyond EXACT_LIMIT) nearly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import kbkit
from kbkit.embed import load, unit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.stores import vectors
from kbkit.stores.vectors import Vectors, top


class Given:
    """An embedder whose texts are row numbers of a matrix."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._matrix, self.dimension = matrix, matrix.shape[1]

    def embed(self, texts: list[str]) -> np.ndarray:
        return self._matrix[[int(text) for text in texts]]


def build(folder: Path, matrix: np.ndarray) -> Path:
    """Write the store of these vectors, batch by batch."""
    numbers = [str(n) for n in range(len(matrix))]
    schema = pa.schema([("id", pa.int32()), ("document", pa.string())])

    def batches(sql: str, rows: int) -> pa.RecordBatchReader:
        first, last = map(int, re.findall(r"BETWEEN (\d+) AND (\d+)", sql)[0])
        wanted = numbers[first : last + 1]
        parts = [
            pa.record_batch([pa.array([int(n) for n in part], pa.int32()), part], schema)
            for part in (wanted[at : at + 700] for at in range(0, len(wanted), 700))
        ]
        return pa.RecordBatchReader.from_batches(schema, parts)

    seen: list[tuple[int, int]] = []
    made = vectors.build(batches, folder, len(matrix), Given(matrix), lambda done, total: seen.append((done, total)))
    assert made == {"vectors": len(matrix)}
    assert seen[-1] == (len(matrix), len(matrix))
    return folder


def random_matrix(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    """Unit vectors in clumps, as embeddings are."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(40, columns))
    return unit(centres[random.integers(0, 40, rows)] + 0.5 * random.normal(size=(rows, columns)))


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    made = random_matrix(500, 24)
    made[[10, 77, 300]] = made[4]  # ties
    made[42] = 0
    return made


@pytest.fixture(scope="module")
def store(matrix: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vectors]:
    opened = Vectors(build(tmp_path_factory.mktemp("vectors") / "v", matrix))
    yield opened
    opened.close()


def brute(matrix: np.ndarray, query: np.ndarray, k: int, ids: list[int]) -> list[int]:
    """The best ids by a Python sort."""
    scores = matrix @ query
    return sorted(ids, key=lambda i: (-scores[i], i))[:k]


# -- top --------------------------------------------------------------------------------------------------------------


@given(
    hnp.arrays(
        np.float32,
        st.integers(0, 40),
        elements=st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0]) | st.floats(-1, 1, width=32),
    ),
    st.integers(-2, 50),
)
def test_top_is_a_stable_sort(scores: np.ndarray, k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[: max(k, 0)]
    assert top(scores, k).tolist() == expected
    assert top(scores, k).dtype == np.int64


# -- exact ------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(row=st.integers(0, 499), k=st.integers(1, 600), noise=st.integers(0, 2**32 - 1))
def test_search_is_brute_force(store: Vectors, matrix: np.ndarray, row: int, k: int, noise: int) -> None:
    query = unit(matrix[[row]] + 0.1 * np.random.default_rng(noise).normal(size=(1, 24)))[0]
    ids, scores = store.search(query, k)
    assert ids.dtype == np.int64
    assert scores.dtype == np.float64
    assert ids.tolist() == brute(matrix, query, k, list(range(500)))
    np.testing.assert_allclose(scores, (matrix @ query)[ids], atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(row=st.integers(0, 499), k=st.integers(1, 20), first=st.integers(0, 500), count=st.integers(0, 500))
def test_within_a_range(store: Vectors, matrix: np.ndarray, row: int, k: int, first: int, count: int) -> None:
    ids, scores = store.search(matrix[row], k, slice(first, first + count))
    assert ids.tolist() == brute(matrix, matrix[row], k, list(range(first, min(first + count, 500))))
    assert np.all(np.diff(scores) <= 0)


@settings(max_examples=60, deadline=None)
@given(row=st.integers(0, 499), k=st.integers(1, 20), within=st.sets(st.integers(0, 499), max_size=60))
def test_within_ids(store: Vectors, matrix: np.ndarray, row: int, k: int, within: set[int]) -> None:
    chosen = np.array(sorted(within), np.int64)
    ids, scores = store.search(matrix[row], k, chosen)
    # The product of a few rows may differ from that of all in the last bit, so ties are compared by score.
    np.testing.assert_allclose(scores, np.sort((matrix @ matrix[row])[chosen])[::-1][:k], atol=1e-6)
    assert set(ids.tolist()) <= within
    assert len(set(ids.tolist())) == len(ids) == min(k, len(within))


def test_ties_are_by_id(store: Vectors, matrix: np.ndarray) -> None:
    ids, scores = store.search(matrix[4], 4)
    assert ids.tolist() == [4, 10, 77, 300]
    assert len(set(scores.tolist())) == 1
    assert store.search(matrix[4], 2)[0].tolist() == [4, 10]
    assert store.search(matrix[4], 2, np.array([10, 42, 300]))[0].tolist() == [10, 300]
    assert store.search(matrix[4], 2, slice(5, 400))[0].tolist() == [10, 77]


def test_a_vector_of_zeros_is_like_all_alike(store: Vectors) -> None:
    ids, scores = store.search(np.zeros(24, np.float32), 3)
    assert ids.tolist() == [0, 1, 2]
    assert scores.tolist() == [0, 0, 0]


def test_nobody_within(store: Vectors, matrix: np.ndarray) -> None:
    for within in (slice(7, 7), np.empty(0, np.int64)):
        ids, scores = store.search(matrix[0], 5, within)
        assert (len(ids), len(scores)) == (0, 0)


def test_the_lance_table_is_the_matrix(store: Vectors, matrix: np.ndarray) -> None:
    assert store.rows() == 500
    table = lancedb.connect(str(store._folder / "lance")).open_table("nodes").to_arrow().sort_by("id")
    assert table.column("id").to_pylist() == list(range(500))
    found = np.array(table.column("vector").to_pylist(), np.float32)
    np.testing.assert_array_equal(found, matrix)
    np.testing.assert_array_equal(store.matrix, matrix)
    assert store.matrix.dtype == np.float32


def test_a_missing_matrix_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(KbError, match=r"cannot be opened: .*; kbkit check says more$"):
        Vectors(tmp_path)


# -- beyond the limit -------------------------------------------------------------------------------------------------


def test_the_index_finds_nearly_all_and_filters_stay_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT_LIMIT", 1_000)
    matrix = random_matrix(3_000, 32, seed=2)
    store = Vectors(build(tmp_path / "v", matrix))
    assert [i.columns for i in lancedb.connect(str(tmp_path / "v" / "lance")).open_table("nodes").list_indices()] == [
        ["vector"]
    ]
    random = np.random.default_rng(3)
    found = 0
    for row in random.integers(0, 3_000, 50):
        query = unit(matrix[[row]] + 0.05 * random.normal(size=(1, 32)))[0]
        ids, scores = store.search(query, 10)
        assert len(ids) == 10
        assert ids.dtype == np.int64
        assert scores.dtype == np.float64
        assert np.all(np.diff(scores) <= 0)
        np.testing.assert_allclose(scores, (matrix @ query)[ids], atol=1e-4)
        found += len(set(ids.tolist()) & set(brute(matrix, query, 10, list(range(3_000)))))
        within = np.sort(random.choice(3_000, 1_500, replace=False))
        assert store.search(query, 10, within)[0].tolist() == brute(matrix, query, 10, within.tolist())
        assert store.search(query, 10, slice(100, 2_900))[0].tolist() == brute(
            matrix, query, 10, list(range(100, 2_900))
        )
    assert found / 500 > 0.9
    store.close()


# -- a KB's own -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as opened:
        yield opened


def test_every_node_has_a_vector_of_its_name_and_texts(kb: KnowledgeBase) -> None:
    lengths = np.linalg.norm(kb.vectors.matrix, axis=1)
    assert kb.vectors.matrix.shape == (kb.schema.nodes, 192)
    np.testing.assert_allclose(lengths[lengths > 0], 1, atol=1e-5)
    node = kb.node("river#nile")
    [vector] = load("static").embed([f"{node.name}: {node.texts[0][1]}"])
    np.testing.assert_allclose(kb.vectors.matrix[node.id], vector, atol=1e-6)
    assert kb.vectors.search(vector, 1)[0].tolist() == [node.id]
