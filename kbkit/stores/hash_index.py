"""Hash indexes in memory-mapped files: sorted CRC-32 values of texts, and the entry of each text.

CRC-32 is standard and in Python's library. Equal values are candidates, which must be compared with the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from kbkit.directory.damage import damaged
from kbkit.stores.arrays import expand_ranges, mapped

Ids = NDArray[np.int32]


def hashes(encoded: Iterable[bytes]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each text."""
    return np.fromiter(map(crc32, encoded), np.uint32)


def write_index(folder: Path, name: str, parts: Sequence[NDArray[np.uint32]]) -> None:
    """Write sorted hashes, and the position of each text in its column."""
    values = np.concatenate([np.zeros(0, np.uint32), *parts])
    packed = (values.astype(np.uint64) << 32) | np.arange(len(values), dtype=np.uint64)
    packed.sort()
    np.save(folder / f"{name}_hashes.npy", (packed >> 32).astype(np.uint32))
    np.save(folder / f"{name}_entries.npy", packed.astype(np.uint32).view(np.int32))


class HashIndex:
    """Sorted hashes of texts, with the entry of each: candidates, which must be compared."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}_entries.npy"
        self._hashes, self._entries = mapped(folder / f"{name}_hashes.npy"), mapped(self._path)
        kinds = self._hashes.dtype == np.uint32 and self._entries.dtype == np.int32
        if not kinds or self._hashes.ndim != 1 or self._hashes.shape != self._entries.shape:
            raise ValueError(f"{name}_hashes.npy and {name}_entries.npy do not belong together")

    def __len__(self) -> int:
        return len(self._entries)

    def close(self) -> None:
        """Unmap the files."""
        self._hashes, self._entries = np.empty(0, np.uint32), np.empty(0, np.int32)

    def candidates(self, text: bytes) -> list[int]:
        """Return the entries with the hash of a text, in ascending order."""
        value = np.uint32(crc32(text))  # of the same type, else NumPy would convert all hashes
        start = int(self._hashes.searchsorted(value))
        entries: list[int] = self._entries[start : int(self._hashes.searchsorted(value, "right"))].tolist()
        if entries and not (min(entries) >= 0 and max(entries) < len(self)):
            raise damaged(self._path)
        return entries

    def has(self, values: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return a mask of the hashes that the index has."""
        if not len(self):
            return np.zeros(len(values), bool)
        found: NDArray[np.bool_] = self._hashes[np.minimum(self._hashes.searchsorted(values), len(self) - 1)] == values
        return found

    def many(self, values: NDArray[np.uint32]) -> tuple[NDArray[np.int64], Ids]:
        """Return (position in ``values``, entry) for each hash, sorted."""
        start, end = self._hashes.searchsorted(values), self._hashes.searchsorted(values, "right")
        entries = self._entries[expand_ranges(start, end - start)]
        if len(entries) and not (entries.min() >= 0 and entries.max() < len(self)):
            raise damaged(self._path)
        return np.repeat(np.arange(len(values)), end - start), entries
