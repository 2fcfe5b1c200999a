"""The adjacency arrays against a dict of sets."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.stores import adjacency
from kbkit.stores.tables import Tables
from tests.examples import examples
from tests.wording import Wording

Edge = tuple[int, int, int]
"""head, relation, tail"""

# Close ids make dense blocks, scattered ones sparse blocks.
NODES = st.one_of(st.integers(0, 8), st.integers(0, 2**31 - 1))
EDGES = st.lists(st.tuples(NODES, st.integers(0, 3), NODES), max_size=60)


def reader(edges: list[Edge]) -> Callable[[str], pa.RecordBatchReader]:
    """What the tables answer: the edges of a range of relations, sorted by relation, head and tail."""
    rows = sorted(edges, key=lambda e: (e[1], e[0], e[2]))

    def batches(sql: str) -> pa.RecordBatchReader:
        found = re.search(r"BETWEEN (\d+) AND (\d+)", sql)
        assert found
        first, last = map(int, found.groups())
        chosen = [row for row in rows if first <= row[1] <= last]
        table = pa.table({"head": [r[0] for r in chosen], "tail": [r[2] for r in chosen]}, ONLY_IDS)
        return table.to_reader(max_chunksize=7)

    return batches


ONLY_IDS = pa.schema([("head", pa.int32()), ("tail", pa.int32())])


def write(folder: Path, edges: list[Edge], relations: int) -> adjacency.Adjacency:
    """Build the arrays and open them."""
    counts = [0] * relations
    for _, relation, _ in edges:
        counts[relation] += 1
    made = adjacency.build(reader(edges), folder, counts, lambda *_: None)
    assert made == {"pairs": len(set(edges))}
    return adjacency.Adjacency(folder, [f"r{i}" for i in range(relations)])


def assert_equal(opened: adjacency.Adjacency, edges: list[Edge], relations: int, others: set[int]) -> None:
    """Neighbours both ways of every node that has some, and of ``others``."""
    ahead: dict[tuple[int, int], set[int]] = defaultdict(set)
    back: dict[tuple[int, int], set[int]] = defaultdict(set)
    for head, relation, tail in edges:
        ahead[relation, head].add(tail)
        back[relation, tail].add(head)
    nodes = others | {head for head, _, _ in edges} | {tail for _, _, tail in edges}
    for relation in range(relations):
        for block, known in ((opened.forward(f"r{relation}"), ahead), (opened.backward(f"r{relation}"), back)):
            assert {n: block.neighbors(n).tolist() for n in nodes} == {
                n: sorted(known.get((relation, n), ())) for n in nodes
            }
            degrees = block.degrees().tolist()
            assert sorted(d for d in degrees if d) == sorted(len(v) for (r, _), v in known.items() if r == relation)
            assert block.neighbors(0).dtype == np.int32
    pairs = {f"r{r}": (len({(h, t) for h, s, t in edges if s == r}),) * 2 for r in range(relations)}
    assert opened.pairs() == pairs


@pytest.mark.core
@examples(20)
@given(EDGES)
def test_neighbours_equal_a_dict_of_sets(edges: list[Edge]) -> None:
    with TemporaryDirectory() as folder:
        opened = write(Path(folder) / "adjacency", edges, 4)
        others = {0, 9, 2**31 - 1} | {n + d for h, _, t in edges for n in (h, t) for d in (-1, 1) if 0 <= n + d < 2**31}
        assert_equal(opened, edges, 4, others)
        opened.close()


def test_close_ids_are_dense_and_scattered_ones_sparse(tmp_path: Path) -> None:
    close = [(head, 0, 7) for head in range(100, 130)]
    scattered = [(head * 1_000, 1, 7) for head in range(30)]
    opened = write(tmp_path / "adjacency", close + scattered, 2)
    dense, sparse = opened.forward("r0"), opened.forward("r1")
    assert dense.heads is None
    assert (dense.first, len(dense.offsets)) == (100, 31)
    assert sparse.heads is not None
    assert sparse.heads.tolist() == [head * 1_000 for head in range(30)]
    assert_equal(opened, close + scattered, 2, {0, 99, 130, 999, 1_001, 29_001})


def test_relations_without_edges(tmp_path: Path) -> None:
    edges = [(1, 1, 2), (2, 3, 1)]
    opened = write(tmp_path / "adjacency", edges, 5)
    assert_equal(opened, edges, 5, {0, 3})
    assert opened.forward("r0").degrees().tolist() == []


def test_no_edges_and_no_relations(tmp_path: Path) -> None:
    assert_equal(write(tmp_path / "none", [], 3), [], 3, {0, 1})
    assert write(tmp_path / "nothing", [], 0).pairs() == {}


def test_repeated_edges_count_once(tmp_path: Path) -> None:
    opened = write(tmp_path / "adjacency", [(1, 0, 2)] * 5 + [(1, 0, 3), (1, 0, 1)], 1)
    assert opened.forward("r0").neighbors(1).tolist() == [1, 2, 3]
    assert opened.forward("r0").degrees().tolist() == [3]
    assert opened.pairs() == {"r0": (3, 3)}


def test_thousands_of_relations_take_four_files_and_no_zeros(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    relations = 5_000
    edges = [
        (int(head), relation, int(tail))
        for relation in range(relations)
        for head, tail in random.integers(0, 10_000_000, (2, 2))
    ]
    opened = write(tmp_path / "adjacency", edges, relations)
    assert sorted(p.name for p in (tmp_path / "adjacency").iterdir()) == [
        "heads.npy",
        "index.npy",
        "offsets.npy",
        "targets.npy",
    ]
    assert sum(p.stat().st_size for p in (tmp_path / "adjacency").iterdir()) < 120 * len(edges)
    for head, relation, tail in edges[::97]:
        assert tail in opened.forward(f"r{relation}").neighbors(head)
        assert head in opened.backward(f"r{relation}").neighbors(tail)


def test_the_files_are_ordinary_npy_files(tmp_path: Path) -> None:
    write(tmp_path / "adjacency", [(1, 0, 2), (1, 0, 3), (5, 0, 2)], 1).close()
    targets = np.load(tmp_path / "adjacency" / "targets.npy")
    assert (targets.dtype, targets.tolist()) == (np.dtype(np.int32), [2, 3, 2, 1, 5, 1])
    assert np.load(tmp_path / "adjacency" / "offsets.npy").dtype == np.int64


def test_built_from_the_tables_of_a_kb(world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(world_kb) as kb:
        names = [r.name for r in kb.schema.relations]
        tables = Tables(kb.folder / "tables.duckdb")
        counts = [r.edges for r in kb.schema.relations]
        seen: list[tuple[int, int]] = []
        adjacency.build(tables.batches, tmp_path / "adjacency", counts, lambda *step: seen.append(step))
        rows = tables.rows("SELECT head, enum_code(relation), tail FROM edges")
        tables.close()
        assert seen[-1] == (kb.schema.edges, kb.schema.edges)
        edges = [(head, int(relation), tail) for head, relation, tail in rows]
    opened = adjacency.Adjacency(tmp_path / "adjacency", names)
    renamed = adjacency.Adjacency(tmp_path / "adjacency", [f"r{i}" for i in range(len(names))])
    assert_equal(renamed, edges, len(names), set(range(0, 1_000, 50)))
    assert opened.pairs() == {r.name: (r.pairs, r.pairs) for r in kb.schema.relations}


def test_a_missing_or_broken_file(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(kbkit.KbError, match=r"index\.npy") as error:
        adjacency.Adjacency(tmp_path, [])
    wording(str(error.value), replace={str(tmp_path): "DIR"})
    write(tmp_path / "adjacency", [(1, 0, 2)], 1).close()
    (tmp_path / "adjacency" / "targets.npy").write_bytes(b"not an array")
    with pytest.raises(kbkit.KbError, match=r"adjacency is damaged"):
        adjacency.Adjacency(tmp_path / "adjacency", ["r0"])
