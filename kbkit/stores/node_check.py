"""Compare the node directory with the tables: strings, types, indexes, sorted orders, secondary types, values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.schema import Schema
from kbkit.stores.folding import words_of
from kbkit.stores.hash_index import HashIndex, hashes
from kbkit.stores.node_values import MAX_VALUES, text_attributes, values_sql
from kbkit.stores.nodes import Nodes
from kbkit.stores.strings import Strings
from kbkit.stores.tables import Tables

_BATCH = 50_000


def differences(nodes: Nodes, tables: Tables, schema: Schema) -> list[str]:
    """Return the differences between the node directory and the tables, with their numbers."""
    wrong: Counter[str] = Counter()
    first = first_alias = 0
    for batch in tables.batches("SELECT key, name, type::VARCHAR AS type, aliases FROM nodes", _BATCH):
        key, name, kind = (pl.Series(column, dtype=pl.String) for column in batch.columns[:3])
        lists = pl.Series(batch.column(3), dtype=pl.List(pl.String))
        alias, counts = lists.explode(empty_as_null=False, keep_nulls=False), lists.list.len().fill_null(0).to_numpy()
        ids = np.arange(first, first + len(key), dtype=np.int32)
        numbers = np.arange(first_alias, first_alias + len(alias), dtype=np.int32)
        first, first_alias = first + len(key), first_alias + len(alias)
        if first > nodes.count or first_alias > len(nodes.alias_nodes):
            break  # the counts differ
        wrong["types"] += int((nodes.rows_of(ids, ["type"])["type"] != kind).sum())
        wrong["nodes of aliases"] += int((nodes.alias_nodes[numbers] != np.repeat(ids, counts)).sum())
        for what, column, positions, texts in (
            ("keys", nodes.keys, ids, key),
            ("names", nodes.names, ids, name),
            ("aliases", nodes.alias_names, numbers, alias),
        ):
            wrong[what] += int((pl.Series(column.take(positions), dtype=pl.String) != texts).sum())
        wrong["keys in the index"] += _missing(nodes.key_index, key, ids)
        wrong["names in the index"] += _missing(nodes.name_index, words_of(name), ids)
        wrong["aliases in the index"] += _missing(nodes.name_index, words_of(alias), numbers + nodes.count)
    wrong["nodes"] += abs(nodes.count - first)
    wrong["aliases"] += abs(len(nodes.alias_nodes) - first_alias)
    wrong["keys out of order"] += _unsorted([nodes.keys], nodes.key_order, fold=False)
    wrong["names out of order"] += _unsorted([nodes.names, nodes.alias_names], nodes.name_order, fold=True)
    members = tables.lookup("SELECT type::VARCHAR AS type, id FROM node_types ORDER BY enum_code(type), id")
    known = [(name, node) for name in members["type"].unique() for node in nodes.secondary(name).tolist()]
    wrong["secondary types"] += len({*known} ^ {*members.iter_rows()})
    if nodes.values is not None:
        for node_type, attribute in text_attributes(schema):
            expected = tables.lookup(values_sql(node_type, attribute))["value"].to_list()
            listed = [] if len(expected) > MAX_VALUES else sorted(expected)
            wrong["values of attributes"] += len({*listed} ^ {*(nodes.values.of(node_type.name, attribute.name) or ())})
    return [f"{count:,} different {what}" for what, count in wrong.items() if count]


def _missing(index: HashIndex, texts: pl.Series, entries: NDArray[np.int32]) -> int:
    """Return the number of texts that the index does not lead to."""
    queries, found = index.many(hashes(texts.cast(pl.Binary).to_list()))
    return len(texts) - int((found == entries[queries]).sum())


def _unsorted(columns: Sequence[Strings], order: NDArray[Any], *, fold: bool) -> int:
    """Return the number of entries of a sorted order that are missing, or sort before their predecessor."""
    total = sum(map(len, columns))
    seen = np.zeros(total, bool)
    seen[order[(order >= 0) & (order < total)]] = True
    problems = int((~seen).sum()) + abs(len(order) - total)
    last = ""
    for start in range(0, 0 if problems else total, _BATCH):
        entries = order[start : start + _BATCH]
        texts = _texts(columns, entries)
        texts = words_of(texts) if fold else texts
        before = pl.concat([pl.Series([last], dtype=pl.String), texts[:-1]])
        problems += int((before > texts).sum())
        last = texts[-1]
    return problems


def _texts(columns: Sequence[Strings], entries: NDArray[Any]) -> pl.Series:
    """Return the texts of entries, which number several columns consecutively."""
    own = entries < len(columns[0])
    texts = pl.Series(columns[0].take(np.where(own, entries, 0)), dtype=pl.String) if len(columns[0]) else None
    if own.all() or len(columns) == 1:
        assert texts is not None
        return texts
    others = pl.Series(columns[1].take(entries[~own] - len(columns[0])), dtype=pl.String)
    assert texts is not None
    return texts.scatter(np.flatnonzero(~own), others)
