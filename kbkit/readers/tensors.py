"""Read a tensor of integers, saved by torch 1.6 or later, as rows, without torch.

The format is a zip archive: ``NAME/data.pkl`` is a pickle with a storage, an offset, and sizes and strides of all
dimensions; ``NAME/data/KEY`` is the raw storage; ``NAME/byteorder`` its byte order (see torch.serialization).
"""

from __future__ import annotations

import io
import mmap
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kbkit.errors import BadInputError
from kbkit.readers.unpickle import DOWNLOAD_AGAIN, Call, RefusedError, load_pickle

_KINDS = {
    "LongStorage": "i8", "IntStorage": "i4", "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1",
    "BoolStorage": "u1", "DoubleStorage": "f8", "FloatStorage": "f4", "HalfStorage": "f2",
}  # fmt: skip
_OLD_FORMAT = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # magic number of files from torch before 1.6
_MAX_PICKLE = 1 << 20
_MAX_COLUMNS = 16
_MAX_REPEATED = 100_000_000
"""Maximum elements of a tensor with more elements than its storage, because strides overlap or are 0."""
_MAX_UNPACKED = 1 << 32
"""Maximum bytes of a compressed storage, which is loaded into memory; others are memory-mapped."""
_ROWS = 1 << 20

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class _Storage:
    kind: str
    key: str
    elements: int


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def read(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """Stream one tensor; raise :class:`BadInputError` for unsupported files.

    A tensor of shape [n] gives rows of ``position`` (from 0) and ``value``; one of shape [k, n] gives ``position`` and
    ``c0`` to ``c{k-1}``, so that an edge_index gives one row per edge. All are int64.
    """
    [path] = paths
    try:
        numbers = _numbers(path)
    except RefusedError as error:
        raise BadInputError(f"{path} {error}", DOWNLOAD_AGAIN) from None
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        if path.open("rb").read(len(_OLD_FORMAT)) == _OLD_FORMAT:
            raise BadInputError(
                f"Unsupported format in {path}: torch before 1.6", "Load it and save it again with torch 1.6 or later"
            ) from None
        raise BadInputError(f"Cannot read {path}: {error}", DOWNLOAD_AGAIN) from None
    names = ["value"] if numbers.ndim == 1 else [f"c{i}" for i in range(len(numbers))]
    schema = pa.schema([(name, pa.int64()) for name in ("position", *names)])
    return pa.RecordBatchReader.from_batches(schema, _batches(np.atleast_2d(numbers), schema, path))


def _batches(numbers: Numbers, schema: pa.Schema, path: Path) -> Iterator[pa.RecordBatch]:
    for start in range(0, numbers.shape[1], _ROWS):
        part = numbers[:, start : start + _ROWS]
        integers = part.astype(np.int64) if part.dtype.kind in "iu" else _to_integers(part, path)
        columns = [np.arange(start, start + part.shape[1]), *integers]
        yield pa.record_batch([pa.array(column, pa.int64()) for column in columns], schema=schema)


def _to_integers(part: Numbers, path: Path) -> Numbers:
    """Convert floats with integer values."""
    part = part.astype(np.float64)
    bad = part[~(np.abs(part) < 2**53) | (part != np.floor(part))]
    if bad.size:
        raise BadInputError(f"Unsupported number {bad.flat[0]} in {path}", "Use integers")
    return part.astype(np.int64)


def _numbers(path: Path) -> Numbers:
    """Return the tensor as a view of its storage."""
    with zipfile.ZipFile(path) as archive:
        inside = [info for info in archive.infolist() if info.filename.split("/")[-1] == "data.pkl"]
        if len(inside) != 1:
            raise RefusedError(f"contains {len(inside)} files data.pkl instead of one")
        folder = inside[0].filename.removesuffix("data.pkl")
        tensor = _description(archive, inside[0], path)
        order = _member(archive, folder + "byteorder", 16) or b"little"
        if order not in (b"little", b"big"):
            raise RefusedError(f"has an unknown byte order {order[:20]!r}")
        dtype = np.dtype((">" if order == b"big" else "<") + tensor.storage.kind)
        _check(tensor)
        infos = [info for info in archive.infolist() if info.filename == f"{folder}data/{tensor.storage.key}"]
        if len(infos) != 1:
            raise RefusedError(f"contains {len(infos)} files data/{tensor.storage.key[:50]} instead of one")
        storage = _storage(archive, infos[0], path, tensor.storage.elements, dtype)
    strides = [stride * dtype.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(storage[tensor.offset :], tensor.sizes, strides, writeable=False)


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return the content of a small member, empty if it is missing."""
    infos = [info for info in archive.infolist() if info.filename == name]
    if not infos:
        return b""
    if infos[0].file_size > limit:
        raise RefusedError(f"has {infos[0].file_size:,} bytes in {name}, more than {limit:,}")
    with archive.open(infos[0]) as handle:
        return handle.read(limit)


def _description(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> _Tensor:
    storages = {f"torch.{name}": _Kind(name) for name in _KINDS}
    names = {"torch._utils._rebuild_tensor_v2": Call(_rebuild), **storages}
    data = _member(archive, info.filename, _MAX_PICKLE)
    tensor = load_pickle(io.BytesIO(data), path, names, persistent=_persistent)
    if not isinstance(tensor, _Tensor):
        raise RefusedError(f"contains a {type(tensor).__name__.strip('_')} instead of a tensor")
    return tensor


class _Kind:
    """A class of torch's storages, by name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        raise RefusedError("modifies a class")


def _persistent(pid: object) -> _Storage:
    """Return a storage from torch's persistent id: ``("storage", class, key, device, elements)``."""
    if type(pid) is tuple and len(pid) == 5:
        tag, kind, key, device, elements = pid
        strings = type(key) is str and type(device) is str
        if tag == "storage" and type(kind) is _Kind and strings and _is_count(elements):
            return _Storage(_KINDS[kind.name], key, elements)
    raise RefusedError("refers to something other than the storage of a tensor")


def _rebuild(*arguments: object) -> _Tensor:
    """Stand in for ``torch._utils._rebuild_tensor_v2``; arguments after the strides matter only for training."""
    if len(arguments) >= 4 and not any(type(argument) is tuple for argument in arguments[4:]):
        storage, offset, sizes, strides = arguments[:4]
        if type(storage) is _Storage and _is_count(offset) and _are_counts(sizes) and _are_counts(strides):
            return _Tensor(storage, offset, sizes, strides)  # type: ignore[arg-type]
    raise RefusedError("describes a tensor in an unknown form")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def _are_counts(values: object) -> bool:
    return type(values) is tuple and all(map(_is_count, values))


def _check(tensor: _Tensor) -> None:
    """Raise for a shape that is not a table, or that exceeds the storage."""
    sizes, strides, limit = tensor.sizes, tensor.strides, tensor.storage.elements
    if len(sizes) != len(strides) or len(sizes) not in (1, 2) or (len(sizes) == 2 and not 0 < sizes[0] <= _MAX_COLUMNS):
        shape = ", ".join(map(str, sizes[:8]))
        raise RefusedError(
            f"contains a tensor of shape [{shape}]; supported are [n], and [k, n] with k up to {_MAX_COLUMNS}"
        )
    elements = sizes[0] * sizes[-1] if len(sizes) == 2 else sizes[0]
    last = tensor.offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if tensor.offset > limit or (elements and last >= limit):
        raise RefusedError("contains a tensor that exceeds its storage")
    if elements > max(limit, _MAX_REPEATED):
        raise RefusedError(f"contains a tensor that repeats its storage to {elements:,} elements")


def _storage(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, elements: int, dtype: Any) -> Numbers:
    """Return the storage: memory-mapped if uncompressed, else loaded into memory."""
    size = elements * dtype.itemsize
    if info.file_size != size:
        raise RefusedError(f"has {info.file_size:,} bytes of numbers instead of {size:,}")
    if size == 0:
        return np.empty(0, dtype)
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
        with archive.open(info):  # validates the local header before the data
            start = _start(path, info)
        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if info.compress_size != size or start + size > len(data):
                raise RefusedError("is truncated")
            check = 0
            for position in range(start, start + size, _ROWS):
                check = zlib.crc32(data[position : min(position + _ROWS, start + size)], check)
        if check != info.CRC:
            raise RefusedError(f"is corrupt: wrong checksum of {info.filename}")
        return np.memmap(path, dtype, "r", start, (elements,))
    if size > _MAX_UNPACKED:
        raise RefusedError(f"contains a compressed storage of {size:,} bytes, which is too large")
    with archive.open(info) as packed:
        content = packed.read()
    if len(content) != size:
        raise RefusedError(f"has {len(content):,} bytes of numbers instead of {size:,}")
    return np.frombuffer(content, dtype)


def _start(path: Path, info: zipfile.ZipInfo) -> int:
    """Return the offset of a member's data, after its local header: 30 bytes, the name and extra fields."""
    with path.open("rb") as handle:
        handle.seek(info.header_offset + 26)
        name, extra = handle.read(2), handle.read(2)
    return info.header_offset + 30 + int.from_bytes(name, "little") + int.from_bytes(extra, "little")
