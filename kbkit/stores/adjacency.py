"""The adjacency store: compressed sparse rows (CSR) in memory-mapped NumPy files, for fast traversal.

Each relation and direction is a block: the sorted distinct neighbours of each node. All blocks share four files:

* ``targets.npy``  int32: neighbours, block after block
* ``offsets.npy``  int64: for each block, ``rows + 1`` positions in its part of ``targets``
* ``heads.npy``    int32: for sparse blocks, the sorted ids of the nodes with neighbours
* ``index.npy``    one record per block: the positions of its parts

A block is *dense* (one offset per id from the smallest to the largest head) if that is no larger than *sparse* (sorted
distinct heads, found by binary search). Thousands of relations therefore need neither thousands of files nor gigabytes
of zeros.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.directory.damage import damaged, reading
from kbkit.stores.arrays import GrowingArray, distinct, expand_ranges, mapped

if TYPE_CHECKING:
    import pyarrow as pa

Ids = NDArray[np.int32]

FOLDER = "adjacency"
_BLOCK = np.dtype(
    [
        ("first", "<i4"),
        ("rows", "<i4"),
        ("dense", "?"),
        ("heads", "<i8"),
        ("offsets", "<i8"),
        ("targets", "<i8"),
        ("pairs", "<i8"),
    ]
)
_GROUP_EDGES = 20_000_000
_MAX_HEAVY = 8
"""Maximum number of :class:`Heavy` objects in memory."""
_EMPTY: Ids = np.empty(0, np.int32)


@dataclass(frozen=True)
class Csr:
    """The distinct neighbours of each node under one relation, in one direction.

    ``offsets`` are ``rows + 1`` positions in ``targets``. Row ``i`` is the node ``first + i`` in a dense block
    (``heads`` is None), and ``heads[i]`` in a sparse one. ``nodes`` is the number of nodes of the KB, which targets in
    a damaged file of ``folder`` may exceed.
    """

    first: int
    heads: Ids | None
    offsets: NDArray[np.int64]
    targets: Ids
    nodes: int = 2**31 - 1
    folder: Path = Path(FOLDER)

    def neighbors(self, node: int) -> Ids:
        """Return the sorted neighbours of ``node``, a view into the file."""
        row = node - self.first
        if self.heads is not None:
            row = int(np.searchsorted(self.heads, node))
            if row == len(self.heads) or self.heads[row] != node:
                return _EMPTY
        elif row < 0 or row >= len(self.offsets) - 1:
            return _EMPTY
        return self.targets[self.offsets[row] : self.offsets[row + 1]]

    def degrees(self) -> NDArray[np.int64]:
        """Return the number of neighbours of each row."""
        return np.diff(self.offsets)

    def ranges(self, nodes: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return start (in ``targets``) and number of the neighbours of each of ``nodes``."""
        if not len(nodes):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = len(self.offsets) - 1
        if self.heads is None:
            row = nodes - self.first
            if row.min() >= 0 and row.max() < rows:
                return self.spans(row)
            known = (row >= 0) & (row < rows)
        else:
            row = np.searchsorted(self.heads, nodes).astype(np.int32)
            known = row < rows
            known[known] = self.heads[row[known]] == nodes[known]
        start, count = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        start[known], count[known] = self.spans(row[known])
        return start, count

    def spans(self, rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return start and number of the neighbours of rows, by their positions."""
        start, end = self.offsets[rows], self.offsets[rows + 1]
        count = end - start
        if len(rows) and not (start.min() >= 0 and count.min() >= 0 and end.max() <= len(self.targets)):
            raise damaged(self.folder, "an offset lies outside the neighbours", FOLDER)
        return start, count

    def expand(self, start: NDArray[np.int64], count: NDArray[np.int64]) -> Ids:
        """Return the neighbours at :meth:`ranges`, concatenated, with duplicates."""
        if len(start) <= 24:  # for few nodes, slices are cheaper than an index
            parts = [self.targets[s : s + n] for s, n in zip(start.tolist(), count.tolist(), strict=True)]
            found = np.concatenate(parts) if parts else _EMPTY
        else:
            found = self.targets[expand_ranges(start, count)]
        if len(found) and found.view(np.uint32).max() >= self.nodes:  # a negative one is a large one
            raise damaged(self.folder, "a neighbour does not exist", FOLDER)
        return found


@dataclass(frozen=True)
class Heavy:
    """Bitmaps of the up to 512 nodes with the most neighbours under one relation, in one direction.

    A few nodes often have most of the edges (a field of study with a third of all papers), so that expanding them costs
    more than all other nodes together. Here each has a bit: ``words[w][n - first]`` tells which of the 64 heavy nodes
    of word ``w`` have the neighbour ``n``; the first word has the heaviest. ``nodes`` are sorted, ``numbers`` are their
    bits.
    """

    nodes: Ids
    numbers: NDArray[np.int64]
    first: int
    words: list[NDArray[np.uint64]]

    @staticmethod
    def of(csr: Csr, limit: int = 512) -> Heavy:
        """Build the bitmaps; they take ``limit / 8`` bytes per id between the smallest and the largest neighbour."""
        rows = np.argsort(-csr.degrees(), kind="stable")[:limit]
        nodes = (rows + csr.first).astype(np.int32) if csr.heads is None else csr.heads[rows]
        low = int(csr.targets.min()) if len(csr.targets) else 0
        span = int(csr.targets.max()) - low + 1 if len(csr.targets) else 1
        if low < 0 or low + span > csr.nodes:
            raise damaged(csr.folder, "a neighbour does not exist", FOLDER)
        words = [np.zeros(span, np.uint64) for _ in range(-(-len(nodes) // 64))]
        for number, row in enumerate(rows.tolist()):  # at most `limit` iterations
            near = csr.targets[csr.offsets[row] : csr.offsets[row + 1]] - low
            words[number // 64][near] |= np.uint64(1 << number % 64)
        order = np.argsort(nodes)
        return Heavy(nodes[order], order, low, words)

    def number(self, nodes: Ids) -> NDArray[np.int64]:
        """Return the number of each node's bit, -1 if the node is not heavy."""
        if not len(self.nodes):
            return np.full(len(nodes), -1)
        position = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        return np.where(self.nodes[position] == nodes, self.numbers[position], -1)

    def meet(
        self, rows: NDArray[np.int64], neighbors: Ids, of: NDArray[np.int64], nodes: Ids, count: int
    ) -> NDArray[np.bool_]:
        """Return, for each (row, neighbour), whether a heavy node of that row has the neighbour.

        ``of`` and ``nodes`` are the pairs (row, heavy node), in any order; rows are below ``count``. Works word by
        word, heaviest nodes first, so that most pairs are decided early.
        """
        if len(rows) > 256 * count:
            return self._meet_by_row(rows, neighbors, of, nodes)
        numbers = self.number(nodes)
        masks = np.zeros((len(self.words), count), np.uint64)
        np.bitwise_or.at(masks, (numbers // 64, of), np.uint64(1) << (numbers % 64).astype(np.uint64))
        found = np.zeros(len(rows), bool)
        position = neighbors.astype(np.intp) - self.first
        pending = (
            np.flatnonzero((position >= 0) & (position < len(self.words[0]))) if self.words else np.empty(0, np.int64)
        )
        row, position = rows[pending], position[pending]
        for word, mask in zip(self.words, masks, strict=True):
            if mask.any():
                hits = (word[position] & mask[row]) != 0
                found[pending[hits]] = True
                rest = ~hits
                pending, row, position = pending[rest], row[rest], position[rest]
        return found

    def _meet_by_row(
        self, rows: NDArray[np.int64], neighbors: Ids, of: NDArray[np.int64], nodes: Ids
    ) -> NDArray[np.bool_]:
        """Like :meth:`meet`, for long rows in ascending order: one mask per row."""
        found = np.zeros(len(rows), bool)
        position = neighbors.astype(np.intp) - self.first
        inside = bool(position.min() >= 0 and position.max() < len(self.words[0]))
        numbers = self.number(nodes)
        masks: dict[int, dict[int, int]] = {}
        for row, number in zip(of.tolist(), numbers.tolist(), strict=True):
            mine = masks.setdefault(row, {})
            mine[number // 64] = mine.get(number // 64, 0) | 1 << number % 64
        ends = [*(np.flatnonzero(rows[1:] != rows[:-1]) + 1).tolist(), len(rows)]
        start = 0
        for end in ends:
            here = position[start:end]
            pending = np.flatnonzero((here >= 0) & (here < len(self.words[0]))) if not inside else None
            for word, mask in sorted(masks.get(int(rows[start]), {}).items()):
                near = here if pending is None else here[pending]
                hits = (self.words[word][near] & np.uint64(mask)) != 0
                if pending is None:
                    found[start:end], pending = hits, np.flatnonzero(~hits)
                else:
                    found[pending[hits] + start] = True
                    pending = pending[~hits]
            start = end
        return found


class Adjacency:
    """A generation's adjacency arrays, memory-mapped; forward and backward for each relation."""

    def __init__(self, folder: Path, relations: Sequence[str], nodes: int = 2**31 - 1) -> None:
        with reading(FOLDER, folder):
            kinds = {"index": _BLOCK, "heads": np.int32, "offsets": np.int64, "targets": np.int32}
            self._index, self._heads, self._offsets, self._targets = (
                mapped(folder / f"{name}.npy", kind) for name, kind in kinds.items()
            )
            self._check_index(len(relations))
        self._folder, self._nodes = folder, nodes
        self._position = {name: i for i, name in enumerate(relations)}
        self._blocks: dict[int, Csr] = {}
        self._heavy: dict[tuple[str, bool], Heavy] = {}
        self._guard = threading.Lock()

    def _check_index(self, relations: int) -> None:
        """Raise :class:`ValueError` if a block lies outside its file."""
        index, files = self._index, {"heads": self._heads, "offsets": self._offsets, "targets": self._targets}
        lengths = {
            "heads": np.where(index["dense"], 0, index["rows"]),
            "offsets": index["rows"].astype(np.int64) + 1,
            "targets": index["pairs"],
        }
        outside = (
            (length < 0) | (index[name] < 0) | (index[name] > len(files[name]) - length)
            for name, length in lengths.items()
        )
        if len(index) != 2 * relations or np.logical_or.reduce([*outside]).any():
            raise ValueError("index.npy does not belong to the other files")

    def forward(self, relation: str) -> Csr:
        """Return the tails of each head."""
        return self._block(2 * self._position[relation])

    def backward(self, relation: str) -> Csr:
        """Return the heads of each tail."""
        return self._block(2 * self._position[relation] + 1)

    def heavy(self, relation: str, forward: bool) -> Heavy:
        """Return bitmaps of the nodes with the most neighbours under a relation, built on first use and cached."""
        with self._guard:  # slow to build, and requested by several threads at once
            if (relation, forward) not in self._heavy:
                if len(self._heavy) >= _MAX_HEAVY:
                    del self._heavy[next(iter(self._heavy))]
                self._heavy[relation, forward] = Heavy.of(
                    self.forward(relation) if forward else self.backward(relation)
                )
            return self._heavy[relation, forward]

    def pairs(self) -> dict[str, tuple[int, int]]:
        """Return the number of distinct (head, tail) of each relation, counted forward and backward."""
        counts = self._index["pairs"]
        return {name: (int(counts[2 * i]), int(counts[2 * i + 1])) for name, i in self._position.items()}

    def close(self) -> None:
        """Close the files; arrays returned before remain valid."""
        self._blocks.clear()
        self._heavy.clear()
        del self._index, self._heads, self._offsets, self._targets

    def _block(self, number: int) -> Csr:
        known = self._blocks.get(number)
        if known is not None:
            return known
        block = self._index[number]
        rows, heads, offsets, targets = (int(block[name]) for name in ("rows", "heads", "offsets", "targets"))
        self._blocks[number] = Csr(
            first=int(block["first"]),
            heads=None if block["dense"] else self._heads[heads : heads + rows],
            offsets=self._offsets[offsets : offsets + rows + 1],
            targets=self._targets[targets : targets + int(block["pairs"])],
            nodes=self._nodes,
            folder=self._folder,
        )
        return self._blocks[number]


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    edges_by_relation: Sequence[int],
    progress: Callable[[int, int], None],
) -> dict[str, int]:
    """Write the arrays from the ``edges`` table; ``edges_by_relation`` are its row counts in the order of the ENUM.

    Reads groups of relations with at most 20M edges (or one larger relation), so that memory is bounded by the largest
    relation: about 30 bytes per edge. Returns ``{"pairs": ...}``, the number of distinct (head, relation, tail).
    """
    folder.mkdir()
    index = np.zeros(2 * len(edges_by_relation), _BLOCK)
    done, total = 0, sum(edges_by_relation)
    with (
        GrowingArray(folder / "targets.npy", np.int32) as targets,
        GrowingArray(folder / "offsets.npy", np.int64) as offsets,
        GrowingArray(folder / "heads.npy", np.int32) as heads,
    ):
        for group in relation_groups(edges_by_relation):
            start = 0
            table = batches(_group_sql(group)).read_all()
            head, tail = (table.column(name).to_numpy() for name in ("head", "tail"))
            for relation in group:
                part = slice(start, start + edges_by_relation[relation])
                start = part.stop
                for direction, pair in enumerate(((head, tail), (tail, head))):
                    source, target = distinct_pairs(pair[0][part], pair[1][part])
                    index[2 * relation + direction] = _write_block(source, target, heads, offsets, targets)
            done += start
            progress(done, total)
    np.save(folder / "index.npy", index)
    return {"pairs": int(index["pairs"][::2].sum())}


def distinct_pairs(source: Ids, target: Ids) -> tuple[Ids, Ids]:
    """Return the sorted distinct (source, target), by packing each pair into one int64."""
    packed = (source.astype(np.int64) << 32) | target.astype(np.int64)
    if not np.all(packed[1:] > packed[:-1]):  # the table is sorted in one direction
        packed = distinct(packed)
    return (packed >> 32).astype(np.int32), (packed & 0xFFFFFFFF).astype(np.int32)


def relation_groups(edges: Sequence[int]) -> Iterator[range]:
    """Yield ranges of relations to read at once: at most 20M edges together, or one larger relation."""
    start, size = 0, 0
    for relation, count in enumerate(edges):
        if size and size + count > _GROUP_EDGES:
            yield range(start, relation)
            start, size = relation, 0
        size += count
    if start < len(edges):
        yield range(start, len(edges))


def _group_sql(group: range) -> str:
    # The table is sorted by relation, and DuckDB preserves that order; enum_code is the position in the ENUM.
    return f"SELECT head, tail FROM edges WHERE enum_code(relation) BETWEEN {group.start} AND {group.stop - 1}"


def _write_block(source: Ids, target: Ids, heads: GrowingArray, offsets: GrowingArray, targets: GrowingArray) -> Any:
    """Append a block of sorted distinct pairs, and return its index record."""
    first, heads_of_rows, row_offsets = _rows(source)
    at_heads = 0 if heads_of_rows is None else heads.append(heads_of_rows)
    dense, rows = heads_of_rows is None, len(row_offsets) - 1
    at_offsets = offsets.append(row_offsets)
    at_targets = targets.append(target) if len(target) else 0
    return np.array((first, rows, dense, at_heads, at_offsets, at_targets, len(target)), _BLOCK)


def _rows(source: Ids) -> tuple[int, Ids | None, NDArray[np.int64]]:
    """Return the first node, the heads (None for a dense block) and the offsets of sorted pairs, by their sources."""
    if not len(source):
        return 0, None, np.zeros(1, np.int64)
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    first, span = int(source[0]), int(source[-1]) - int(source[0]) + 1
    if 8 * span <= 12 * len(starts):
        return first, None, np.concatenate(([0], np.cumsum(np.bincount(source - first, minlength=span))))
    return first, source[starts], np.append(starts, len(source))


def csr_of(source: Ids, target: Ids, nodes: int) -> Csr:
    """Return the arrays of pairs of nodes, in memory; pairs may be repeated and in any order."""
    source, target = distinct_pairs(source, target)
    first, heads, offsets = _rows(source)
    return Csr(first, heads, offsets, target, nodes)
