"""Vector search equals brute force, exactly or (beyond EXACT_LIMIT) nearly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import NodeType, Schema
from kbkit.search import retrievers
from kbkit.stores import lance_table, vector_build, vectors
from kbkit.stores.arrays import Within
from kbkit.stores.embedders import load, unit
from kbkit.stores.vector_build import VectorSettings, chunked
from kbkit.stores.vectors import Vectors, mean_of_top, top
from tests.examples import examples


def schema_of(nodes: int) -> Schema:
    """A schema of so many nodes of one type, and nothing else."""
    return Schema("vectors", "urn:vectors:", (NodeType("t", 0, nodes, 0, "t", "urn:vectors:t"),), (), ())


def build(folder: Path, matrix: np.ndarray) -> Path:
    """Write the store of these vectors, batch by batch; the texts are numbers of rows."""
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
    made = vector_build.build(
        batches, folder, schema_of(len(matrix)), lambda texts: matrix[[int(text) for text in texts]], matrix.shape[1],
        VectorSettings(), lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert made == {"vectors": len(matrix), "chunks": 0, "taken_over": 0}
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


def one(store: Vectors, query: np.ndarray, k: int, within: Within = None) -> tuple[np.ndarray, np.ndarray]:
    """The best of one query."""
    [found] = store.search(query[None], k, within)
    return found


def brute(matrix: np.ndarray, query: np.ndarray, k: int, ids: list[int]) -> list[int]:
    """The best ids by a Python sort."""
    scores = np.add.reduce(matrix.astype(np.float64) * query, axis=1)  # one row as the other: copies tie
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


@given(row=st.integers(0, 499), k=st.integers(1, 600), noise=st.integers(0, 2**32 - 1))
def test_search_is_brute_force(store: Vectors, matrix: np.ndarray, row: int, k: int, noise: int) -> None:
    query = unit(matrix[[row]] + 0.1 * np.random.default_rng(noise).normal(size=(1, 24)))[0]
    ids, scores = one(store, query, k)
    assert ids.dtype == np.int64
    assert scores.dtype == np.float64
    assert ids.tolist() == brute(matrix, query, k, list(range(500)))
    np.testing.assert_allclose(scores, (matrix @ query)[ids], atol=1e-6)


@given(row=st.integers(0, 499), k=st.integers(1, 20), first=st.integers(0, 500), count=st.integers(0, 500))
def test_within_a_range(store: Vectors, matrix: np.ndarray, row: int, k: int, first: int, count: int) -> None:
    ids, scores = one(store, matrix[row], k, range(first, first + count))
    assert ids.tolist() == brute(matrix, matrix[row], k, list(range(first, min(first + count, 500))))
    assert np.all(np.diff(scores) <= 0)


@given(row=st.integers(0, 499), k=st.integers(1, 20), within=st.sets(st.integers(0, 499), max_size=60))
def test_within_ids(store: Vectors, matrix: np.ndarray, row: int, k: int, within: set[int]) -> None:
    chosen = np.array(sorted(within), np.int64)
    ids, scores = one(store, matrix[row], k, chosen)
    # The product of a few rows may differ from that of all in the last bit, so ties are compared by score.
    np.testing.assert_allclose(scores, np.sort((matrix @ matrix[row])[chosen])[::-1][:k], atol=1e-6)
    assert set(ids.tolist()) <= within
    assert len(set(ids.tolist())) == len(ids) == min(k, len(within))


def test_ties_are_by_id(store: Vectors, matrix: np.ndarray) -> None:
    ids, scores = one(store, matrix[4], 4)
    assert ids.tolist() == [4, 10, 77, 300]
    assert len(set(scores.tolist())) == 1
    assert one(store, matrix[4], 2)[0].tolist() == [4, 10]
    assert one(store, matrix[4], 2, np.array([10, 42, 300]))[0].tolist() == [10, 300]
    assert one(store, matrix[4], 2, range(5, 400))[0].tolist() == [10, 77]


def test_a_vector_of_zeros_is_like_all_alike(store: Vectors) -> None:
    ids, scores = one(store, np.zeros(24, np.float32), 3)
    assert ids.tolist() == [0, 1, 2]
    assert scores.tolist() == [0, 0, 0]


def test_nobody_within(store: Vectors, matrix: np.ndarray) -> None:
    for within in (range(7, 7), np.empty(0, np.int64)):
        ids, scores = one(store, matrix[0], 5, within)
        assert (len(ids), len(scores)) == (0, 0)


def test_the_lance_table_is_the_matrix(store: Vectors, matrix: np.ndarray) -> None:
    assert store.rows() == 500
    table = lancedb.connect(str(store._folder / "lance")).open_table("nodes").to_arrow().sort_by("id")
    assert table.column("id").to_pylist() == list(range(500))
    found = np.array(table.column("vector").to_pylist(), np.float32)
    np.testing.assert_array_equal(found, matrix)
    np.testing.assert_array_equal(np.asarray(store.matrix), matrix)
    assert np.asarray(store.matrix).dtype == np.float32


def test_there_is_one_copy_of_the_vectors(store: Vectors, matrix: np.ndarray) -> None:
    sizes = [path.stat().st_size for path in store._folder.rglob("*") if path.is_file()]
    assert matrix.nbytes <= sum(sizes) < 1.5 * matrix.nbytes
    mapped = np.asarray(store.matrix)
    assert not mapped.flags.writeable
    assert mapped.base is not None  # of a file, not of memory


def test_a_missing_file_is_one_line(tmp_path: Path, matrix: np.ndarray) -> None:
    folder = build(tmp_path / "v", matrix[:20])
    (folder / "chunks.npy").unlink()
    with pytest.raises(KbError, match=r"chunks\.npy.*kbkit check KB"):
        Vectors(folder)


def test_a_store_of_an_earlier_version_is_built_again(tmp_path: Path) -> None:
    np.save(tmp_path / "matrix.npy", np.zeros((3, 4), np.float32))
    with pytest.raises(KbError, match=r"earlier version.*kbkit build KB vectors"):
        Vectors(tmp_path)


@pytest.mark.parametrize("name", ["../../../../other.lance", "/etc/passwd", "missing.lance"])
def test_a_layout_that_names_other_files(tmp_path: Path, matrix: np.ndarray, name: str) -> None:
    folder = build(tmp_path / "v", matrix[:20])
    layout = json.loads((folder / "layout.json").read_text())
    (folder / "layout.json").write_text(json.dumps({**layout, "files": {name: 20}}))
    with pytest.raises(KbError, match="is damaged"):
        Vectors(folder)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 3), (100, 5), (1_000, 33), (0, 4)])
def test_all_shapes_are_mapped(tmp_path: Path, rows: int, columns: int) -> None:
    wanted = np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32)
    made = lance_table.create(tmp_path, wanted, index=False)
    assert made.shape == (rows, columns)
    np.testing.assert_array_equal(np.asarray(made), wanted)
    read = lance_table.open_table(tmp_path).to_arrow().column("vector").to_pylist()
    assert np.array_equal(np.array(read, np.float32).reshape(rows, columns), wanted)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[lance_table.VectorRows, np.ndarray]]:
    """Rows in four files, written in several batches, and the same rows in memory."""
    wanted = random_matrix(1_000, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lance_table, "_FILE_ROWS", 300)
        patch.setattr(lance_table, "_BATCH_ROWS", 32)
        made = lance_table.create(tmp_path_factory.mktemp("several"), wanted, index=False)
    yield made, wanted


def test_rows_of_several_files(several: tuple[lance_table.VectorRows, np.ndarray]) -> None:
    made, wanted = several
    assert len(made._arrays) == 4
    assert made.shape == wanted.shape
    np.testing.assert_array_equal(np.asarray(made), wanted)
    assert np.asarray(made, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        np.array(made, copy=False)


def test_files_in_another_order_are_inconsistent(tmp_path: Path, matrix: np.ndarray, monkeypatch: Any) -> None:
    monkeypatch.setattr(lance_table, "_FILE_ROWS", 250)
    folder = build(tmp_path / "v", matrix)
    assert Vectors(folder).is_consistent()
    layout = json.loads((folder / "layout.json").read_text())
    layout["files"] = dict(reversed(layout["files"].items()))
    (folder / "layout.json").write_text(json.dumps(layout))
    assert not Vectors(folder).is_consistent()


@given(first=st.integers(0, 1_001), last=st.integers(0, 1_200), positions=st.lists(st.integers(0, 999), max_size=20))
def test_parts_of_several_files(
    several: tuple[lance_table.VectorRows, np.ndarray], first: int, last: int, positions: list[int]
) -> None:
    made, wanted = several
    np.testing.assert_array_equal(np.asarray(made.between(first, last)), wanted[first:last])
    np.testing.assert_array_equal(made.take(np.array(positions, np.int64)), wanted[positions])
    products = made.between(first, last).products(wanted[:3])
    np.testing.assert_allclose(products, wanted[:3] @ wanted[first:last].T, atol=1e-6)


def test_search_over_several_files_is_brute_force(tmp_path: Path, matrix: np.ndarray, monkeypatch: Any) -> None:
    monkeypatch.setattr(lance_table, "_FILE_ROWS", 128)
    monkeypatch.setattr(vectors, "EXACT_LIMIT", 400)
    monkeypatch.setattr(vectors, "COARSE_LIMIT", 450)
    monkeypatch.setattr(vectors, "_COARSE_DEPTH", 20)
    opened = Vectors(build(tmp_path / "v", matrix))
    assert len(opened.matrix._arrays) == 4
    for row in (3, 200, 499):
        for within in (range(100, 300), np.arange(0, 500, 3), np.array([5, 130, 490])):
            assert one(opened, matrix[row], 9, within)[0].tolist() == brute(matrix, matrix[row], 9, list(within))
        [first] = one(opened, matrix[row], 1)[0].tolist()  # by LanceDB's index
        assert first == row
    opened.close()


def test_another_layout_is_refused(tmp_path: Path, matrix: np.ndarray, monkeypatch: Any) -> None:
    monkeypatch.setattr(lance_table, "_ENCODING", {"lance-encoding:structural-encoding": "miniblock"})
    with pytest.raises(KbError, match="unexpected layout"):
        lance_table.create(tmp_path, matrix, index=False)


@given(rows=st.lists(st.integers(0, 499), max_size=12), k=st.integers(1, 600), step=st.sampled_from([1, 1_100, 10**6]))
def test_many_queries_at_once(store: Vectors, matrix: np.ndarray, rows: list[int], k: int, step: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_MAX_SCORES", step)  # cosines in memory: of one query, of two, of all
        found = list(store.search(matrix[rows], k, range(3, 490)))
    assert len(found) == len(rows)
    for row, (ids, scores) in zip(rows, found, strict=True):
        cosines = matrix @ matrix[row]
        np.testing.assert_allclose(scores, np.sort(cosines[3:490])[::-1][:k], atol=1e-6)
        np.testing.assert_allclose(scores, cosines[ids], atol=1e-6)
        assert len(set(ids.tolist())) == min(k, 487)
        assert set(ids.tolist()) <= set(range(3, 490))


# -- chunks -----------------------------------------------------------------------------------------------------------


@given(words=st.integers(0, 60), size=st.integers(1, 20), overlap=st.integers(0, 19))
def test_chunks_cover_every_word_and_overlap(words: int, size: int, overlap: int) -> None:
    overlap %= size
    text = [f"w{n}" for n in range(words)]
    chosen = VectorSettings(chunk_words=size, chunk_overlap=overlap)
    chunks = [chunk.split() for chunk in chunked("  ".join(text), chosen)]
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert len(chunks[-1]) <= size
    rebuilt = chunks[0] + [word for chunk in chunks[1:] for word in chunk[overlap:]]
    assert rebuilt == text
    for before, after in pairwise(chunks):
        assert after[:overlap] == before[size - overlap :]
        assert len(after) > overlap  # or it would say nothing of its own
    assert (len(chunks) == 1) == (words <= size)


def greedy(words: list[str], size: int, overlap: int) -> list[str]:
    """What LangChain's splitter does, word by word; a word but the text's first counts with the space before it."""
    lengths = [len(word) + (place > 0) for place, word in enumerate(words)]
    found, kept = [], []
    for place, length in enumerate(lengths):
        if kept and sum(lengths[n] for n in kept) + length > size:
            found.append(" ".join(words[n] for n in kept))
            while kept and (sum(lengths[n] for n in kept) > overlap or sum(lengths[n] for n in kept) + length > size):
                kept.pop(0)
        kept.append(place)
    return [*found, " ".join(words[n] for n in kept)]


@given(st.lists(st.integers(1, 15), min_size=1, max_size=120), st.sampled_from([(20, 4), (50, 0), (50, 10), (256, 51)]))
def test_chunks_of_characters_are_those_of_starks_splitter(lengths: list[int], sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    words = [chr(97 + place % 26) * length for place, length in enumerate(lengths)]
    chosen = VectorSettings(chunk_characters=size, chunk_overlap=overlap)
    assert chunked("  ".join(words), chosen) == greedy(words, size, overlap)


def test_a_word_longer_than_a_chunk_is_cut() -> None:
    chunks = chunked("ab " + "x" * 100 + " cd", VectorSettings(chunk_characters=20))
    assert all(len(chunk) <= 20 for chunk in chunks)
    assert "".join(chunks).count("x") >= 100 and chunks[0].startswith("ab") and chunks[-1].endswith("cd")
    assert VectorSettings(chunk_characters=256).chunk_overlap == 51
    for wrong in ({"chunk_characters": -1}, {"chunk_characters": 10, "chunk_overlap": 10}):
        with pytest.raises(KbError, match="Invalid"):
            VectorSettings(**wrong)


@given(st.integers(1, 30), st.sampled_from([1, 3, 0]), st.integers(0, 299))
def test_chunks_of_the_best_nodes_alone(chunks: Chunked, depth: int, average: int, row: int) -> None:
    """STaRK's protocol: the best nodes by their vectors, ordered by the mean of their best chunks, or of all."""
    query = chunks.matrix[row]
    [found] = retrievers.multivector(chunks.store, query[None], 50, None, average, depth)
    near = np.lexsort((np.arange(300), -(chunks.matrix @ query)))[:depth]
    scores = chunks.brute(query, average or 1000)
    assert set(found.ids.tolist()) == set(near.tolist())
    np.testing.assert_allclose(found.scores, scores[found.ids], atol=1e-5)
    assert (np.diff(found.scores) <= 1e-6).all()


def test_a_chunk_overlaps_by_a_quarter_unless_told() -> None:
    assert (VectorSettings().chunk_words, VectorSettings().chunk_overlap) == (256, 64)
    assert VectorSettings(chunk_words=10).chunk_overlap == 2
    assert chunked("a b c d e f g", VectorSettings(chunk_words=4)) == ["a b c d", "d e f g"]


@pytest.mark.parametrize(("words", "overlap"), [(4, 4), (4, -1), (-5, -1)])
def test_invalid_overlaps(words: int, overlap: int) -> None:
    with pytest.raises(KbError, match=f"overlap: {overlap} .*{words} words"):
        VectorSettings(chunk_words=words, chunk_overlap=overlap)


SEGMENTS = st.lists(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]) | st.floats(-1, 1, width=32), min_size=1, max_size=7),
    min_size=1,
    max_size=9,
)


@given(SEGMENTS, st.integers(1, 9))
@example([[0.5, 0.5, 0.5, 0.25], [0.5]], 2)
def test_mean_of_top(segments: list[list[float]], limit: int) -> None:
    scores = np.array([score for segment in segments for score in segment], np.float32)
    starts = np.cumsum([0, *map(len, segments[:-1])])
    before = scores.copy()
    expected = [sum(best) / len(best) for segment in segments if (best := sorted(segment, reverse=True)[:limit])]
    np.testing.assert_allclose(mean_of_top(scores, starts, limit), expected, atol=1e-6)
    np.testing.assert_array_equal(scores, before)


class Chunked(NamedTuple):
    store: Vectors
    matrix: np.ndarray
    chunks: np.ndarray
    owners: np.ndarray

    def brute(self, query: np.ndarray, average: int) -> np.ndarray:
        """Every node's score: the mean of its best chunks, or the cosine of the whole where it has none."""
        scores = (self.matrix @ query).astype(np.float64)
        for node in set(self.owners.tolist()):
            own = sorted((self.chunks[self.owners == node] @ query).tolist(), reverse=True)[:average]
            scores[node] = sum(own) / len(own)
        return scores


@pytest.fixture(scope="module")
def chunks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chunked]:
    """300 nodes, each third in 2 to 6 chunks, but none of the last hundred."""
    folder = tmp_path_factory.mktemp("chunks") / "v"
    matrix, random = random_matrix(300, 16, seed=5), np.random.default_rng(6)
    owners = np.repeat(np.arange(0, 200, 3), random.integers(2, 7, 67)).astype(np.int32)
    rows = random_matrix(len(owners), 16, seed=7)
    build(folder, matrix)
    np.save(folder / "chunks.npy", rows)
    np.save(folder / "chunk_nodes.npy", owners)
    opened = Vectors(folder)
    yield Chunked(opened, matrix, rows, owners)
    opened.close()


WITHIN = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 300), st.integers(0, 300)).map(lambda ends: range(min(ends), max(ends))),
    st.sets(st.integers(0, 299), max_size=80).map(lambda ids: np.array(sorted(ids), np.int64)),
)


@pytest.mark.core
@examples(20)
@given(WITHIN, st.integers(1, 320), st.integers(1, 8), st.lists(st.integers(0, 299), min_size=1, max_size=3))
@example(np.arange(200, 300), 5, 3, [0])  # nobody in chunks
@example(range(200, 300), 5, 3, [0])
@example(range(5, 5), 5, 3, [0])
def test_search_chunks(chunks: Chunked, within: Within, k: int, average: int, rows: list[int]) -> None:
    members = list(range(300) if within is None else map(int, within))
    found = list(chunks.store.search_chunks(chunks.matrix[rows], k, within, average))
    for row, (ids, scores) in zip(rows, found, strict=True):
        expected = chunks.brute(chunks.matrix[row], average)
        assert set(ids.tolist()) <= set(members)
        assert len(set(ids.tolist())) == len(ids)
        np.testing.assert_allclose(scores, expected[ids], atol=1e-6)
        np.testing.assert_allclose(scores, np.sort(expected[members])[::-1][:k], atol=1e-6)


def test_a_node_of_one_chunk_scores_as_a_whole(chunks: Chunked) -> None:
    whole = dict(zip(*(part.tolist() for part in one(chunks.store, chunks.matrix[9], 300)), strict=True))
    [(ids, scores)] = chunks.store.search_chunks(chunks.matrix[[9]], 300)
    by_chunks = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    owners = set(chunks.owners.tolist())
    assert {node for node in whole if by_chunks[node] == whole[node]} == set(range(300)) - owners


# -- beyond the limit -------------------------------------------------------------------------------------------------


@pytest.mark.system
@pytest.mark.parametrize("way", ["coarse", "index"])
def test_nearly_all_are_found_and_filters_stay_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(vectors, "EXACT_LIMIT", 1_000)
    monkeypatch.setattr(vectors, "COARSE_LIMIT", 10_000 if way == "coarse" else 2_000)
    monkeypatch.setattr(vectors, "_COARSE_DEPTH", 300)
    matrix = random_matrix(3_000, 32, seed=2)
    store = Vectors(build(tmp_path / "v", matrix))
    indices = lancedb.connect(str(tmp_path / "v" / "lance")).open_table("nodes").list_indices()
    assert [index.columns for index in indices] == ([["vector"]] if way == "index" else [])
    assert store._coarse.shape == ((3_000, 10) if way == "coarse" else (0, 0))
    taken: list[str] = []
    for name in ("_from_coarse", "_indexed"):
        own = getattr(Vectors, name)
        monkeypatch.setattr(Vectors, name, lambda *a, name=name, own=own: (taken.append(name), own(*a))[1])
    random = np.random.default_rng(3)
    found = 0
    for row in random.integers(0, 3_000, 20):
        query = unit(matrix[[row]] + 0.05 * random.normal(size=(1, 32)))[0]
        ids, scores = one(store, query, 10)
        assert len(ids) == 10
        assert ids.dtype == np.int64
        assert scores.dtype == np.float64
        assert np.all(np.diff(scores) <= 0)
        np.testing.assert_allclose(scores, (matrix @ query)[ids], atol=1e-4)
        found += len(set(ids.tolist()) & set(brute(matrix, query, 10, list(range(3_000)))))
        within = np.sort(random.choice(3_000, 1_500, replace=False))
        assert one(store, query, 10, within)[0].tolist() == brute(matrix, query, 10, within.tolist())
        assert one(store, query, 10, range(100, 2_900))[0].tolist() == brute(matrix, query, 10, list(range(100, 2_900)))
        assert one(store, query, 1_000)[0].tolist() == brute(matrix, query, 1_000, list(range(3_000)))
        for ids, _ in store.search(np.stack([query, matrix[row]]), 10):  # more than one query at once
            assert ids.tolist() in (brute(matrix, q, 10, list(range(3_000))) for q in (query, matrix[row]))
    assert found / 200 > 0.9
    assert taken == [{"coarse": "_from_coarse", "index": "_indexed"}[way]] * 20
    store.close()


# -- a KB's own -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as opened:
        yield opened


def test_every_node_has_a_vector_of_its_name_and_texts(kb: KnowledgeBase) -> None:
    lengths = np.linalg.norm(np.asarray(kb.vectors.matrix), axis=1)
    assert kb.vectors.matrix.shape == (kb.schema.nodes, 192)
    np.testing.assert_allclose(lengths[lengths > 0], 1, atol=1e-5)
    node = kb.node("river#nile")
    [vector] = load("static").embed([f"{node.name}: {node.texts[0][1]}"])
    np.testing.assert_allclose(kb.vectors.matrix.take(np.array([node.id]))[0], vector, atol=1e-6)
    assert one(kb.vectors, vector, 1)[0].tolist() == [node.id]


def test_long_documents_are_embedded_in_chunks_too(tmp_path: Path) -> None:
    long = " ".join(f"word{n}" for n in range(23))
    (tmp_path / "nodes.csv").write_text("key,type,name\na,t,one\nb,t,two\nc,t,three\n")
    (tmp_path / "texts.csv").write_text(f"key,text\na,short\nb,{long}\nc,of ten words with the name and all\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,is,b\n")
    embed = load("static").embed
    out = tmp_path / "x.kb"
    with kbkit.ingest("table", tmp_path, out=out, chunk_words=10, chunk_overlap=3, stores=["vectors"]) as kb:
        assert kb.vectors.chunk_nodes.tolist() == [1, 1, 1]
        document = f"two: {long}".split()
        expected = embed([" ".join(document[start : start + 10]) for start in (0, 7, 14)])
        np.testing.assert_allclose(kb.vectors.chunks, expected, atol=1e-6)
        query = embed(["word9 word22"])[0]
        [(ids, scores)] = kb.vectors.search_chunks(query[None], 3, None, 2)
        mean = np.sort(expected @ query)[::-1][:2].mean()
        assert scores[ids == 1] == pytest.approx(mean, abs=1e-6)
        assert kb.search("word9 word22", mode="multivector", average=2, k=3)["id"].to_list() == ids.tolist()
    with kbkit.ingest("table", tmp_path, out=tmp_path / "none.kb", chunk_words=0, stores=["vectors"]) as kb:
        assert kb.vectors.chunks.shape == (0, 192)
        assert kb.vectors.chunk_nodes.shape == (0,)
        dense, parts = (kb.search("word9 word22", mode=mode) for mode in ("dense", "multivector"))
        assert dense["id"].to_list() == parts["id"].to_list()
        assert dense["score"].to_list() == parts["score"].to_list()
