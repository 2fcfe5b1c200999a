"""Read graphs in one file: GraphML, GEXF, GML and node-link JSON, gzipped or not, as tables of nodes and edges."""

from __future__ import annotations

import functools
import gzip
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from kbkit.errors import BadInputError, UnknownNameError, reason
from kbkit.readers.graphs.gml import gml
from kbkit.readers.graphs.markup import Parse, gexf, graphml
from kbkit.readers.graphs.node_link import node_link
from kbkit.readers.stored import ForeignKey, Keys

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

TABLES = ("nodes", "edges", "undirected")
"""Nodes (``key``, attributes), edges (``head``, ``relation``, ``tail``, attributes), and the relations whose edges have
no direction (``relation``)."""

_PARSERS: dict[str, Parse] = {".graphml": graphml, ".xml": graphml, ".gexf": gexf, ".gml": gml, ".json": node_link}
_MAX_BYTES = 2 << 30


def tables(_: Path) -> list[str]:
    """Return the tables of a file that has rows of nodes and edges."""
    return list(TABLES[:2])


def keys(_: Path) -> dict[str, Keys]:
    """Return the keys of the tables of nodes and edges."""
    ends = tuple(ForeignKey((end,), "nodes", ("key",)) for end in ("head", "tail"))
    return {"nodes": Keys(("key",)), "edges": Keys((), ends)}


def read(path: Path, table: str) -> pa.RecordBatchReader:
    """Return one of :data:`TABLES` of a file, which is read into memory.

    Raises :class:`BadInputError` for a file that is damaged, or larger than 2 GiB without compression.
    """
    if table not in TABLES:
        raise UnknownNameError("table", table, TABLES, str(path))
    status = path.stat()
    frame = _parsed(path, status.st_mtime_ns, status.st_size)[table]
    if table == TABLES[-1]:
        _parsed.cache_clear()
    return frame.to_arrow(compat_level=_oldest()).to_reader()


def _oldest() -> pl.CompatLevel:
    import polars as pl

    return pl.CompatLevel.oldest()


@functools.lru_cache(maxsize=1)
def _parsed(path: Path, *_: int) -> dict[str, pl.DataFrame]:
    name = path.name.lower().removesuffix(".gz")
    parse = next((parse for ending, parse in _PARSERS.items() if name.endswith(ending)), None)
    if parse is None:
        raise BadInputError(f"Unsupported file type: {path}", "Use one of " + ", ".join(sorted(_PARSERS)))
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            return parse(cast("IO[bytes]", _Limited(cast("IO[bytes]", file), path)), path).tables()
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None


class _Limited:
    """A binary file that ends with an error when it is too large, such as a small one that decompresses to much."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path, self._left = file, path, _MAX_BYTES

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left + 1 if size < 0 else size)
        self._left -= len(data)
        if self._left < 0:
            raise BadInputError(f"{self._path} is too large", f"The maximum is {_MAX_BYTES:,} bytes")
        return data
