"""Builds the node directory, ``nodes/``, from the tables; :mod:`kbkit.stores.node_directory` reads it.

For n nodes and a aliases it takes 32 n + 20 a bytes in addition to the strings (with more than 2 GB of keys, names or
aliases, 4 more for each): positions of the strings, hash indexes, and two sorted orders for prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.schema import Schema
from kbkit.stores import node_values
from kbkit.stores.folding import words_of
from kbkit.stores.hash_index import hashes, write_index
from kbkit.stores.strings import StringsWriter

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    progress: Callable[[int, int], None],
) -> dict[str, int]:
    """Write the directory from the tables.

    Strings are copied batch by batch. Sorting holds the words of all names in memory. Returns the numbers of ``nodes``
    and ``aliases``.
    """
    import polars as pl

    folder.mkdir()
    words: list[pl.Series] = []
    alias_words: list[pl.Series] = []
    key_hashes: list[NDArray[np.uint32]] = []
    alias_counts: list[NDArray[np.int32]] = []
    steps, done = schema.nodes + schema.nodes // 2, 0  # sorting takes about half as long as copying
    with (
        StringsWriter(folder, "keys") as keys,
        StringsWriter(folder, "names") as names,
        StringsWriter(folder, "aliases") as aliases,
    ):
        # The table is sorted by id, and DuckDB preserves that order.
        for batch in batches("SELECT key, name, aliases FROM nodes"):
            key, name, lists = batch.columns
            keys.append(key)
            names.append(name)
            alias_counts.append(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32))
            alias = lists.drop_null().flatten()
            aliases.append(alias)
            key_hashes.append(hashes(_encoded(pl.Series(key, dtype=pl.String))))
            words.append(words_of(pl.Series(name, dtype=pl.String)))
            alias_words.append(words_of(pl.Series(alias, dtype=pl.String)))
            done += len(key)
            progress(done, steps)
    write_index(folder, "keys", key_hashes)
    names_by_entry = pl.concat([pl.Series(dtype=pl.String), *words, *alias_words])
    write_index(folder, "names", [hashes(_encoded(names_by_entry))])
    counts = np.concatenate([np.zeros(0, np.int32), *alias_counts])
    np.save(folder / "alias_nodes.npy", np.repeat(np.arange(len(counts), dtype=np.int32), counts))
    np.save(folder / "names_order.npy", _order(names_by_entry))
    ordered = [batch.column(0) for batch in batches("SELECT id FROM nodes ORDER BY key, id")]
    np.save(folder / "keys_order.npy", np.concatenate([np.zeros(0, np.int32), *(np.asarray(ids) for ids in ordered)]))
    _write_secondary(
        folder, batches("SELECT enum_code(type) AS type, id FROM node_types ORDER BY 1, 2"), len(schema.node_types)
    )
    node_values.write(batches, folder, schema)
    progress(steps, steps)
    return {"nodes": len(counts), "aliases": int(counts.sum())}


def _encoded(texts: pl.Series) -> Sequence[bytes]:
    import polars as pl

    encoded: list[bytes] = texts.cast(pl.Binary).to_list()
    return encoded


def _order(texts: pl.Series) -> NDArray[np.int32]:
    """Return the positions of the texts in sorted order, equal ones by position."""
    frame = texts.to_frame("text").with_row_index("position").sort("text", maintain_order=True)
    return frame["position"].to_numpy().astype(np.int32)


def _write_secondary(folder: Path, rows: Iterable[Any], types: int) -> None:
    """Write the ids of the nodes of each type that have it as a secondary type, type by type."""
    table = [(np.asarray(batch.column(0)), np.asarray(batch.column(1))) for batch in rows]
    numbers = np.concatenate([np.zeros(0, np.int64), *(number for number, _ in table)])
    ids = np.concatenate([np.zeros(0, np.int32), *(nodes for _, nodes in table)]).astype(np.int32)
    np.save(folder / "secondary_offsets.npy", np.searchsorted(numbers, np.arange(types + 1)))
    np.save(folder / "secondary.npy", ids)
