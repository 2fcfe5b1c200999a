"""Arrays for graph neural networks: NumPy files, and ``HeteroData`` of PyTorch Geometric.

    nodes/type=TYPE/id.npy          ids in the KB, int32; their order is that of all arrays of the type
    nodes/type=TYPE/x.npy           embeddings of the documents, float32, if the KB has vectors
    nodes/type=TYPE/ATTRIBUTE.npy   numbers and booleans: float32, NaN for missing values
    edges/head=TYPE/relation=RELATION/tail=TYPE/edge_index.npy   int64, (2, edges): positions in the types of both ends
    edges/head=TYPE/relation=RELATION/tail=TYPE/ATTRIBUTE.npy    as for nodes

The names follow ``torch_geometric.data.HeteroData``
(https://pytorch-geometric.readthedocs.io/en/latest/advanced/heterogeneous.html).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import MissingExtraError
from kbkit.export.folder import partition
from kbkit.schema import Attribute, NodeType, Relation, Signature, quote

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

    from kbkit.stores import Stores
    from kbkit.stores.tables import Tables

Arrays = dict[str, NDArray[Any]]

_NUMERIC = ("BIGINT", "DOUBLE", "BOOLEAN")


def write(stores: Stores, tables: Tables, place: Path, progress: Callable[[str, int, int], None]) -> None:
    """Write the files into the folder ``place``."""
    types = [kind for kind in stores.schema.node_types if kind.count]
    for number, kind in enumerate(types):
        progress("nodes", number, len(types))
        _save(place / "nodes" / partition("type", kind.name), node_arrays(stores, tables, kind))
    signatures = list(_signatures(stores))
    for number, (relation, ends) in enumerate(signatures):
        progress("edges", number, len(signatures))
        folder = place / "edges" / partition("head", ends.head) / partition("relation", relation.name)
        _save(folder / partition("tail", ends.tail), edge_arrays(stores, tables, relation, ends))
    progress("edges", len(signatures), len(signatures))


def hetero_data(stores: Stores) -> HeteroData:
    """Return the same arrays as tensors; see :meth:`kbkit.kb.KnowledgeBase.to_pyg`."""
    try:
        import torch
        from torch_geometric.data import HeteroData
    except ImportError:
        raise MissingExtraError("HeteroData", "pyg") from None

    data = HeteroData()
    for kind in (kind for kind in stores.schema.node_types if kind.count):
        data[kind.name].num_nodes = kind.count
        for name, array in node_arrays(stores, stores.tables, kind).items():
            data[kind.name][name] = torch.from_numpy(np.array(array))
    for relation, ends in _signatures(stores):
        for name, array in edge_arrays(stores, stores.tables, relation, ends).items():
            data[ends.head, relation.name, ends.tail][name] = torch.from_numpy(array)
    return data


def node_arrays(stores: Stores, tables: Tables, kind: NodeType) -> Arrays:
    """Return the arrays of a type by name; an attribute that is called like one of ours gets an underscore."""
    arrays: Arrays = {"id": np.arange(kind.first, kind.last + 1, dtype=np.int32)}
    if "vectors" in stores.manifest.stores:
        arrays["x"] = np.asarray(stores.vectors.matrix.between(kind.first, kind.last + 1))
    numbers = _numbers(kind.attributes)
    if numbers and kind.table:
        columns = ", ".join(f"{quote(attribute.name)}::FLOAT AS {quote(attribute.name)}" for attribute in numbers)
        arrays |= _columns(tables, f"SELECT {columns} FROM {quote(kind.table)} WHERE id BETWEEN {kind.first} AND"
                                   f" {kind.last} ORDER BY id", numbers, arrays)  # fmt: skip
    return arrays


def edge_arrays(stores: Stores, tables: Tables, relation: Relation, ends: Signature) -> Arrays:
    """Return the arrays of the edges of a relation between two types, sorted by head and tail."""
    head, tail = stores.schema.type(ends.head), stores.schema.type(ends.tail)
    numbers = _numbers(relation.attributes)
    columns = "".join(f", {quote(attribute.name)}::FLOAT AS {quote(attribute.name)}" for attribute in numbers)
    query = (
        f"SELECT head, tail{columns} FROM {quote(relation.table)}"
        f" WHERE head BETWEEN {head.first} AND {head.last} AND tail BETWEEN {tail.first} AND {tail.last} ORDER BY ALL"
    )
    edges = tables.arrow(query)
    pairs = np.stack([edges.column(0).to_numpy(), edges.column(1).to_numpy()]).astype(np.int64)
    arrays: Arrays = {"edge_index": pairs - np.array([[head.first], [tail.first]])}
    for attribute in numbers:
        arrays[_free(attribute.name, arrays)] = _floats(edges.column(attribute.name))
    return arrays


def _signatures(stores: Stores) -> Iterator[tuple[Relation, Signature]]:
    return ((relation, ends) for relation in stores.schema.relations for ends in relation.signatures)


def _numbers(attributes: Sequence[Attribute]) -> list[Attribute]:
    return [attribute for attribute in attributes if attribute.type in _NUMERIC]


def _columns(tables: Tables, query: str, numbers: Sequence[Attribute], taken: Arrays) -> Arrays:
    table = tables.arrow(query)
    return {_free(attribute.name, taken): _floats(table.column(attribute.name)) for attribute in numbers}


def _floats(column: Any) -> NDArray[np.float32]:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float32)


def _free(name: str, taken: Arrays) -> str:
    while name in taken:
        name += "_"
    return name


def _save(folder: Path, arrays: Arrays) -> None:
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(folder / f"{partition('', name)[1:]}.npy", array)
