"""STaRK's processed format: the files from which the class ``SKB`` of the package stark-qa is built, without torch.

    processed/node_info.pkl        number -> {id, type, name, source, details}, as in STaRK's Prime
    processed/edge_index.pt        [2, edges]: numbers of heads and tails
    processed/edge_types.pt        [edges]
    processed/node_types.pt        [nodes]
    processed/edge_type_dict.pkl   type number -> relation
    processed/node_type_dict.pkl   type number -> node type

``details`` has the attributes of a node, its aliases, and its texts by field, without empty ones. Attributes of edges
and secondary types are left out: the format has no place for them.

The format of tensors is a zip archive that holds a pickle and the raw numbers (see torch.serialization and
:mod:`kbkit.readers.tensors`). Pickles are written in parts: a dict's items may follow each other in any number of
SETITEMS.
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from kbkit.export.columns import is_nested
from kbkit.export.numbering import Numbering, numbering, numbers
from kbkit.schema import Attribute, NodeType, Schema, literal, quote
from kbkit.stores.tables import Tables

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""
FOLDER = "processed"
_NODES = 10_000
"""Nodes per part of node_info.pkl."""
_EDGES = 1_000_000
_KEPT = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_PROTOCOL = b"\x80\x02"
"""The pickle opcode that names protocol 2, which torch uses; later ones write lengths of frames."""
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_HUGE = 1 << 31
"""Bytes from which a member of an archive needs zip64."""


def write(tables: Tables, schema: Schema, place: Path, progress: Progress) -> Numbering:
    """Write the folder ``processed`` into ``place``; return the numbering of the nodes."""
    folder = place / FOLDER
    folder.mkdir()
    numbered = numbering(tables)
    by_id = numbers(tables, numbered)
    _write_dict(folder / "node_type_dict.pkl", [t.name for t in schema.node_types])
    _write_dict(folder / "edge_type_dict.pkl", [r.name for r in schema.relations])
    with (folder / "node_info.pkl").open("wb") as file:
        _write_items(file, _node_info(tables, schema, numbered, progress))
    types = np.empty(numbered.nodes, "<i8")
    for number, node_type in enumerate(schema.node_types):
        types[by_id[node_type.first : node_type.first + node_type.count]] = number
    _write_tensor(folder / "node_types.pt", types.shape, [types])
    _write_edges(tables, schema, by_id, folder, progress)
    return numbered


# -- nodes ------------------------------------------------------------------------------------------------------------


def _node_info(
    tables: Tables, schema: Schema, numbered: Numbering, progress: Progress
) -> Iterator[dict[int, dict[str, Any]]]:
    """Yield parts of node_info. JSON makes the dicts of a part at once, and drops values that are missing."""
    done = 0
    for node_type in schema.node_types:
        for first in range(node_type.first, node_type.last + 1, _NODES):
            progress("nodes", done, numbered.nodes)
            last = min(first + _NODES - 1, node_type.last)
            rows = tables.arrow(_nodes(node_type, schema, numbered, first, last))
            texts = ",".join(rows.column("info").to_pylist())
            yield dict(zip(rows.column("number").to_pylist(), json.loads(f"[{texts}]"), strict=True))
            done += last - first + 1
    progress("nodes", numbered.nodes, numbered.nodes)


def _nodes(node_type: NodeType, schema: Schema, numbered: Numbering, first: int, last: int) -> str:
    """Return SQL for the numbers and the JSON of the nodes of a type with the ids ``first`` to ``last``."""
    named = {a.name: a for a in node_type.attributes}
    # A KB built from STaRK's Prime has the identifier and the source of each node as attributes.
    identifier, source = (_text_of(named.get(name)) for name in ("source_id", "source"))
    details = [f"{literal(a.name)}, {_value(a)}" for a in node_type.attributes if a.name not in ("source_id", "source")]
    table = f" LEFT JOIN {quote(node_type.table)} a ON a.id = n.id" if node_type.attributes else ""
    aliases = "'aliases', CASE WHEN len(n.aliases) > 0 THEN n.aliases END"
    return f"""
        WITH passages AS (
          SELECT id, field, string_agg(text, chr(10) ORDER BY position) AS text
          FROM texts WHERE id BETWEEN {first} AND {last} GROUP BY id, field),
        documents AS (SELECT id, json_group_object(field, text) AS texts FROM passages GROUP BY id)
        SELECT n.{numbered.column} AS number, json_merge_patch('{{}}', json_object(
          'id', coalesce({identifier}, n.key), 'type', n.type::VARCHAR, 'name', coalesce(nullif(n.name, ''), n.key),
          'source', coalesce({source}, {literal(schema.name)}),
          'details', nullif(json_merge_patch('{{}}', json_object({", ".join([aliases, *details])}),
                                             coalesce(d.texts, '{{}}')), '{{}}')))::VARCHAR AS info
        FROM nodes n LEFT JOIN documents d ON d.id = n.id{table}
        WHERE n.id BETWEEN {first} AND {last} ORDER BY n.id"""


def _text_of(attribute: Attribute | None) -> str:
    return f"nullif(a.{quote(attribute.name)}::VARCHAR, '')" if attribute else "NULL"


def _value(attribute: Attribute) -> str:
    """Return SQL for an attribute's value: a number, a truth value, a list or structure, or else text."""
    column = f"a.{quote(attribute.name)}"
    if attribute.type in _KEPT or is_nested(attribute.type):
        return f"to_json({column})"
    if attribute.type in _FLOATS or attribute.type.startswith("DECIMAL"):
        return f"CASE WHEN isfinite({column}::DOUBLE) THEN {column}::DOUBLE END"
    return f"{column}::VARCHAR"


# -- edges ------------------------------------------------------------------------------------------------------------


def _write_edges(tables: Tables, schema: Schema, by_id: np.ndarray[Any, Any], folder: Path, progress: Progress) -> None:
    """Write the edges in one pass: heads at once, tails and types through files of raw numbers."""
    codes = ", ".join(f"({literal(r.name)}, {number})" for number, r in enumerate(schema.relations))
    query = (
        f"SELECT head, tail, r.number AS type FROM edges e JOIN (VALUES {codes}) r(name, number)"
        " ON e.relation::VARCHAR = r.name"
    )
    columns = ("head", "tail", "type")
    raw = {name: folder / f".{name}" for name in columns}
    done = 0
    files = {name: path.open("wb") for name, path in raw.items()}
    try:
        for batch in tables.batches(query, _EDGES) if schema.relations else ():
            progress("edges", done, schema.edges)
            for name in columns:
                column = _integers(batch.column(name))
                files[name].write((column if name == "type" else by_id[column]).astype("<i8").tobytes())
            done += batch.num_rows
    finally:
        for file in files.values():
            file.close()
    heads, tails, types = (_mapped(raw[name]) for name in columns)
    _write_tensor(folder / "edge_index.pt", (2, len(heads)), [heads, tails])
    _write_tensor(folder / "edge_types.pt", (len(types),), [types])
    del heads, tails, types  # Windows cannot remove a mapped file
    for path in raw.values():
        path.unlink()
    progress("edges", schema.edges, schema.edges)


def _integers(column: pa.Array) -> np.ndarray[Any, Any]:
    return np.asarray(column)


def _mapped(path: Path) -> np.ndarray[Any, Any]:
    return np.memmap(path, "<i8", "r") if path.stat().st_size else np.empty(0, "<i8")


# -- pickles and tensors ----------------------------------------------------------------------------------------------


def _write_dict(path: Path, names: Sequence[str]) -> None:
    path.write_bytes(pickle.dumps(dict(enumerate(names)), 4))


def _write_items(file: IO[bytes], parts: Iterator[dict[int, Any]]) -> None:
    """Pickle a dict that is given in parts. Without a memo, the pickles of its parts can be joined."""
    file.write(_PROTOCOL + b"}")
    for part in parts:
        file.write(_pickled(part)[1:])  # without EMPTY_DICT
    file.write(pickle.STOP)


def _write_tensor(path: Path, shape: tuple[int, ...], parts: Sequence[np.ndarray[Any, Any]]) -> None:
    """Write a contiguous tensor of 64-bit integers, given in parts, as ``torch.save`` does."""
    size = sum(part.nbytes for part in parts)
    strides = (shape[1], 1) if len(shape) == 2 else (1,)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (("data.pkl", _description(shape, strides)), ("byteorder", b"little")):
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}", _ZIP_DATE), content)
        with archive.open(
            zipfile.ZipInfo(f"{path.stem}/data/0", _ZIP_DATE), mode="w", force_zip64=size >= _HUGE
        ) as file:
            for part in parts:
                for start in range(0, len(part), _EDGES):
                    file.write(part[start : start + _EDGES].tobytes())
        archive.writestr(zipfile.ZipInfo(f"{path.stem}/version", _ZIP_DATE), b"3\n")


def _description(shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """Return the pickle of a tensor, ``_rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())``.

    Written opcode by opcode, because pickling the functions by name would need torch.
    """
    storage = [b"(", _pickled("storage"), b"ctorch\nLongStorage\n", _pickled("0"), _pickled("cpu")]
    storage += [_pickled(int(np.prod(shape))), b"tQ"]
    tensor = [_pickled(0), _pickled(shape), _pickled(strides), b"\x89", b"ccollections\nOrderedDict\n)R"]
    return b"".join([_PROTOCOL, b"ctorch._utils\n_rebuild_tensor_v2\n(", *storage, *tensor, b"tR."])


def _pickled(value: object) -> bytes:
    """Return the opcodes of a value, without a memo."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 2)
    pickler.fast = True
    pickler.dump(value)
    return buffer.getvalue()[len(_PROTOCOL) : -1]
