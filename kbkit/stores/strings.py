"""A column of strings in two memory-mapped files: the UTF-8 bytes, one string after another, and their positions."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.directory.damage import damaged
from kbkit.stores.arrays import mapped

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_SMALL = 2**31 - 1
"""Bytes up to which positions are stored in 32 bits."""


class StringsWriter:
    """Writes a column ``NAME.utf8`` and ``NAME.npy`` batch by batch; only the lengths stay in memory."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name, self._lengths = folder, name, [np.zeros(1, np.int32)]

    def __enter__(self) -> StringsWriter:
        self._file = (self._folder / f"{self._name}.utf8").open("wb")
        return self

    def append(self, strings: pa.Array) -> None:
        """Append an Arrow array of strings without nulls."""
        import pyarrow as pa

        strings = strings.cast(pa.large_binary())
        starts = np.frombuffer(strings.buffers()[1], np.int64)[strings.offset : strings.offset + len(strings) + 1]
        if len(strings):
            self._file.write(memoryview(strings.buffers()[2])[starts[0] : starts[-1]])
            self._lengths.append(np.diff(starts).astype(np.int32))

    def __exit__(self, *_: object) -> None:
        self._file.close()
        offsets = np.cumsum(np.concatenate(self._lengths), dtype=np.int64)
        np.save(self._folder / f"{self._name}.npy", offsets.astype(np.int32) if offsets[-1] <= _MAX_SMALL else offsets)


class Strings:
    """A column of strings, memory-mapped. Raises :class:`OSError` or :class:`ValueError` if the files are damaged."""

    def __init__(self, folder: Path, name: str) -> None:
        self.offsets = mapped(folder / f"{name}.npy")
        self._path = folder / f"{name}.utf8"
        with self._path.open("rb") as file:
            size = self._path.stat().st_size
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        offsets = self.offsets
        if offsets.dtype not in (np.int32, np.int64) or offsets.ndim != 1 or not len(offsets) or offsets[-1] != size:
            raise ValueError(f"{name}.npy and {name}.utf8 do not belong together")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, position: int) -> str:
        try:
            return self.encoded(position).decode()
        except UnicodeDecodeError:
            raise damaged(self._path) from None

    def encoded(self, position: int) -> bytes:
        """Return the UTF-8 bytes of a string; raise :class:`KbError` if a file is damaged."""
        if not 0 <= position < len(self):
            raise damaged(self._path)
        start, end = self.offsets[position], self.offsets[position + 1]
        if not 0 <= start <= end <= len(self._bytes):
            raise damaged(self._path)
        return self._bytes[start:end]

    def take(self, positions: NDArray[np.integer[Any]]) -> pa.Array:
        """Return the strings at ``positions`` as an Arrow array; raise :class:`KbError` if a file is damaged."""
        import pyarrow as pa

        if len(positions) and not (positions.min() >= 0 and positions.max() < len(self)):
            raise damaged(self._path)
        starts, ends = self.offsets[positions], self.offsets[positions + 1]
        if len(positions) and not (starts.min() >= 0 and (ends >= starts).all() and ends.max() <= len(self._bytes)):
            raise damaged(self._path)  # Arrow would read beyond the file
        kind = pa.StringArray if self.offsets.dtype == np.int32 else pa.LargeStringArray
        try:
            column = kind.from_buffers(len(self), pa.py_buffer(self.offsets), pa.py_buffer(self._bytes))
            taken = column.take(positions)
            taken.validate(full=True)  # that they are UTF-8
        except pa.ArrowInvalid:
            raise damaged(self._path) from None
        return taken

    def close(self) -> None:
        """Unmap the files."""
        self.offsets = np.zeros(1, np.int32)
        self._bytes = b""
