"""Builds the vector store: embeddings of documents and of their chunks.

Vectors of unchanged documents are copied from an earlier build, which their hashes identify.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.directory import systems
from kbkit.errors import KbError
from kbkit.schema import Schema
from kbkit.stores import documents, lance_table, vectors
from kbkit.stores.arrays import GrowingArray, expand_ranges, mapped
from kbkit.stores.lance_table import Matrix, VectorRows

if TYPE_CHECKING:
    import pyarrow as pa

_EMBEDDED = "embedded.npy"
"""The vectors until all are embedded and in LanceDB."""
_ROWS = 100_000
"""Rows per batch, and maximum number of rows sampled for the principal components."""

Embed = Callable[[Sequence[str]], Matrix]


@dataclass(frozen=True)
class VectorSettings:
    """How vectors are built; recorded in the manifest.

    ``relations`` adds the names of neighbours to each document. ``chunk_words`` is the length of a chunk (0: no
    chunks), ``chunk_overlap`` the overlap of two chunks (default: a quarter of a chunk), both in words. With
    ``chunk_characters`` chunks have that many characters instead, and the overlap is in characters (default: a fifth),
    as in STaRK's multi-vector retriever (256 and 51).
    """

    relations: bool = False
    chunk_words: int = 256
    chunk_overlap: int | None = None
    chunk_characters: int = 0

    def __post_init__(self) -> None:
        size, unit, part = self.chunk_words, "words", 4
        if self.chunk_characters:
            size, unit, part = self.chunk_characters, "characters", 5
        if self.chunk_characters < 0:
            raise KbError(f"Invalid number of characters of a chunk: {self.chunk_characters}", "Use 0 or more")
        if self.chunk_overlap is None:
            object.__setattr__(self, "chunk_overlap", size // part)
        if size and not 0 <= (self.chunk_overlap or 0) < size:
            raise KbError(
                f"Invalid chunk overlap: {self.chunk_overlap} for chunks of {size} {unit}",
                "Use an overlap from 0 to less than the chunk length, or 0 words for no chunks",
            )


class _Batch(NamedTuple):
    """Vectors and hashes of a batch of documents; ``chunk_nodes`` are positions in it, ``copied`` is a count."""

    rows: Matrix
    hashes: NDArray[np.uint64]
    chunks: Matrix
    chunk_nodes: NDArray[np.int64]
    copied: int


class _Known(NamedTuple):
    """The vectors of an earlier build by the hashes of their documents; ``order`` sorts the hashes."""

    matrix: VectorRows
    chunks: Matrix
    chunk_nodes: NDArray[Any]
    hashes: NDArray[np.uint64]
    order: NDArray[np.int64]

    @staticmethod
    def load(folder: Path) -> _Known:
        """Load the vectors in ``folder``."""
        chunks, chunk_nodes, hashes = (mapped(folder / f"{name}.npy") for name in ("chunks", "chunk_nodes", "hashes"))
        rows = lance_table.mapped_rows(folder)
        return _Known(rows, chunks, chunk_nodes, hashes, np.argsort(hashes[:, 0], kind="stable"))

    @staticmethod
    def empty(dimension: int) -> _Known:
        """Return no vectors, so that all documents are embedded."""
        none = np.empty((0, dimension), np.float32)
        hashes = np.empty((0, 2), np.uint64)
        return _Known(VectorRows([none]), none, np.empty(0, np.int32), hashes, np.empty(0, np.int64))

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each document, -1 if unknown."""
        if not len(self.order):
            return np.full(len(hashes), -1)
        position = np.searchsorted(self.hashes[:, 0], hashes[:, 0], sorter=self.order)
        row = self.order[np.minimum(position, len(self.order) - 1)]
        return np.where((self.hashes[row] == hashes).all(axis=1), row, -1)


def _hashed(texts: Sequence[str]) -> NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in texts)
    return np.frombuffer(digests, "<u8").reshape(-1, 2)


def _embedded(texts: Sequence[str], settings: VectorSettings, embed: Embed, known: _Known) -> _Batch:
    """Embed a batch of documents, and the chunks of those longer than one chunk."""
    hashes = _hashed(texts)
    row = known.find(hashes)
    old, new = np.flatnonzero(row >= 0), np.flatnonzero(row < 0)
    rows = np.empty((len(texts), known.matrix.shape[1]), np.float32)
    rows[old] = known.matrix.take(row[old])
    if len(new):
        rows[new] = embed([texts[position] for position in new.tolist()])
    pieces, owners = _chunks([(position, texts[position]) for position in new.tolist()], settings)
    low, high = (np.searchsorted(known.chunk_nodes, row[old], side) for side in ("left", "right"))
    chunks = [known.chunks[expand_ranges(low, high - low)], *([embed(pieces)] if pieces else [])]
    nodes = np.concatenate((np.repeat(old, high - low), np.array(owners, np.int64)))
    order = np.argsort(nodes, kind="stable")
    return _Batch(rows, hashes, np.concatenate(chunks)[order], nodes[order], len(old))


def _chunks(texts: Sequence[tuple[int, str]], settings: VectorSettings) -> tuple[list[str], list[int]]:
    """Return the chunks of the texts longer than one chunk, and the number of each chunk's text."""
    shortest = settings.chunk_characters or 2 * settings.chunk_words
    if not shortest:
        return [], []
    several = [(number, chunked(text, settings)) for number, text in texts if len(text) > shortest]
    several = [(number, parts) for number, parts in several if len(parts) > 1]
    return [part for _, parts in several for part in parts], [number for number, parts in several for _ in parts]


def chunked(text: str, settings: VectorSettings) -> list[str]:
    """Split a text into chunks of ``chunk_words`` words or ``chunk_characters`` characters that overlap."""
    words = text.split()
    overlap = settings.chunk_overlap or 0
    if settings.chunk_characters:
        return list(_by_characters(words, settings.chunk_characters, overlap))
    starts = range(0, max(1, len(words) - overlap), settings.chunk_words - overlap)
    return [" ".join(words[start : start + settings.chunk_words]) for start in starts]


def _by_characters(words: Sequence[str], size: int, overlap: int) -> Iterator[str]:
    """Yield chunks of whole words of up to ``size`` characters; each begins with up to ``overlap`` of the last one.

    These are the chunks of LangChain's RecursiveCharacterTextSplitter, which STaRK's code calls, for a text on one line
    with shorter words than a chunk; a longer word is cut in pieces that overlap. As there, each word but the first
    counts with the space before it.
    """
    pieces = [piece for word in words for piece in _cut(word, size - 2, size - overlap)]
    before = np.cumsum([0, *(len(piece) + 1 for piece in pieces)])  # the characters before each piece
    before[1:] -= 1
    marks: list[int] = before.tolist()
    first = 0
    while first < len(pieces):
        stop = max(first + 1, bisect.bisect_right(marks, marks[first] + size) - 1)
        yield " ".join(pieces[first:stop])
        if stop >= len(pieces):
            return
        # The repeated words fit in the overlap, and leave room for the next word.
        first = min(stop, bisect.bisect_left(marks, max(marks[stop] - overlap, marks[stop + 1] - size), lo=first + 1))


def _cut(word: str, size: int, step: int) -> list[str]:
    return [word] if len(word) <= size else [word[at : at + max(1, size)] for at in range(0, len(word), max(1, step))]


def build(
    batches: Callable[[str, int], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    embed: Embed,
    dimension: int,
    settings: VectorSettings,
    progress: Callable[[int, int], None],
    known: Path | None = None,
) -> dict[str, int]:
    """Embed all nodes and their chunks, and write the store to ``folder``.

    ``batches`` runs SQL over the tables, ``known`` is the folder of an earlier build, whose vectors of unchanged
    documents are copied. Returns ``{"vectors": ..., "chunks": ..., "taken_over": ...}``, the last in nodes.
    """
    folder.mkdir()
    done = chunks = copied = 0
    old = _Known.load(known) if known is not None else _Known.empty(dimension)
    with (
        GrowingArray(folder / _EMBEDDED, np.float32, dimension) as embedded,
        GrowingArray(folder / "chunks.npy", np.float32, dimension) as chunk_rows,
        GrowingArray(folder / "chunk_nodes.npy", np.int32) as chunk_nodes,
        GrowingArray(folder / "hashes.npy", np.uint64, 2) as hashes,
    ):
        step = documents.step(schema)
        for first in range(0, schema.nodes, step):
            sql = documents.documents_sql(schema, first, first + step - 1, relations=settings.relations)
            for batch in batches(sql, 10_000):
                part = _embedded(batch.column("document").to_pylist(), settings, embed, old)
                embedded.append(part.rows)
                hashes.append(part.hashes)
                chunk_rows.append(part.chunks)
                chunk_nodes.append(part.chunk_nodes + done)
                chunks, copied = chunks + len(part.chunks), copied + part.copied
                done += batch.num_rows
                progress(done, schema.nodes)
    rows = lance_table.create(folder, mapped(folder / _EMBEDDED), index=schema.nodes > vectors.COARSE_LIMIT)
    systems.remove(folder / _EMBEDDED)
    _write_coarse(folder, rows)
    return {"vectors": done, "chunks": chunks, "taken_over": copied}


def _write_coarse(folder: Path, rows: VectorRows) -> None:
    """Project the rows onto a third of the principal components, computed from up to 100,000 rows."""
    nodes, dimension = rows.shape
    needed = vectors.EXACT_LIMIT < nodes <= vectors.COARSE_LIMIT
    directions = _directions(rows) if needed else np.empty((dimension, 0), np.float32)
    np.save(folder / "directions.npy", directions)
    with GrowingArray(folder / "coarse.npy", np.float32, directions.shape[1]) as coarse:
        for start in range(0, nodes if needed else 0, _ROWS):
            coarse.append(np.asarray(rows.between(start, start + _ROWS)) @ directions)


def _directions(rows: VectorRows) -> Matrix:
    nodes, dimension = rows.shape
    sample = rows.take(np.arange(0, nodes, nodes // _ROWS + 1)).astype(np.float64)
    _, components = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(components[:, ::-1][:, : max(1, dimension // 3)], np.float32)
