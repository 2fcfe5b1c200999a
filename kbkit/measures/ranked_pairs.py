"""Examples from which a ranking is learned, read from the files of queries and answers that evaluations use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kbkit.errors import KbError, Option
from kbkit.measures.files import read_gold, read_queries
from kbkit.measures.frames import Gold
from kbkit.measures.stark import numbered_answers
from kbkit.search.learn import RankedPair
from kbkit.stores import Stores

_Path = str | os.PathLike[str]


class RankedPairs(NamedTuple):
    """Pairs of a query and its relevant nodes, and the number of names in the file that no node of the KB has."""

    pairs: list[RankedPair]
    unknown: int


def read_pairs(stores: Stores, path: _Path, queries: _Path | None = None, split: str = "") -> RankedPairs:
    """Read pairs from JSON lines with ``query`` and ``relevant``, STaRK's or QUEST's files, or TREC judgements.

    ``queries`` is the file of the texts of TREC judgements. Nodes are named by key, ``type#key`` or name. Raises
    :class:`KbError` if texts are missing, or if the KB has none of the nodes.
    """
    gold = _with_keys(read_gold(path, split), Path(path))
    texts = gold.queries if queries is None else read_queries(queries, split)
    if texts["text"].null_count() == texts.height and not any(" " in name for name in texts["query"]):
        raise KbError(f"{path} has no texts of queries", "Name their file: ", Option("learn_queries", "FILE"))
    return pairs(stores, gold, texts)


def _with_keys(gold: Gold, path: Path) -> Gold:
    """Name the nodes that a dataset of kbkit numbers by type and key."""
    known = numbered_answers(path / "queries.jsonl").select("node", reference=pl.format("{}#{}", "type", "key"))
    named = gold.judgements.join(known, on="node", how="left", maintain_order="left")
    return Gold(named.with_columns(node=pl.coalesce("reference", "node")).drop("reference"), gold.queries)


def pairs(stores: Stores, gold: Gold, texts: pl.DataFrame) -> RankedPairs:
    """Return the pairs of judgements of relevance 1 or more, for queries with a text."""
    named = texts.select("query", pl.coalesce("text", "query").alias("text"))
    rows = gold.relevant.join(named, on="query", how="inner", maintain_order="left")
    known: dict[str, frozenset[int]] = {}
    for name in rows["node"].unique().to_list():
        known[name] = _nodes(stores, name)
    if rows.height and not any(known.values()):
        raise KbError(
            f"No node of the KB is named {rows['node'][0]!r} or as any other", "Name nodes by key or type#key"
        )
    answers: dict[str, set[int]] = {}
    words = dict(named.iter_rows())
    for query, node in rows.select("query", "node").iter_rows():
        answers.setdefault(query, set()).update(known[node])
    usable = [RankedPair(words[query], frozenset(ids), query) for query, ids in answers.items() if words[query].strip()]
    return RankedPairs(usable, sum(not nodes for nodes in known.values()))


def _nodes(stores: Stores, name: str) -> frozenset[int]:
    """Return the nodes with a key; failing that, the one of ``type#key``; failing that, those with a name."""
    [rows] = stores.nodes.by_key(None, [name])
    if not rows and "#" in name:
        kind, _, key = name.partition("#")
        if any(known.name == kind for known in stores.schema.node_types):
            [rows] = stores.nodes.by_key(kind, [key])
    if not rows:
        [rows] = stores.nodes.by_name(None, [name])
    return frozenset(row.id for row in rows)
