"""Search of entities as the box of Wikidata does it: by the beginning of a label or alias, then by text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kbkit.search.run import search
from kbkit.stores.folding import words

if TYPE_CHECKING:
    from kbkit.stores import Stores

_MOST = 2_000
"""Maximum number of names with a beginning that are ranked."""


def entities(stores: Stores, text: str, limit: int, letter: str = "") -> list[int]:
    """Return the ids of nodes by a text, best first; ``letter`` is that of their keys (Q, P or L; empty: any).

    A key comes first, then labels of the same words, aliases of the same words, labels and aliases that start with
    them, each with the most edges first, and then descriptions and other texts that match.
    """
    nodes, wanted = stores.nodes, words(text)
    exact = np.union1d(nodes.called(text), nodes.named(text)).tolist()
    longer = nodes.starting(text, None)[:_MOST].tolist()
    ids = np.array(list(dict.fromkeys([*exact, *longer])), np.int32)
    rows = nodes.rows_of(ids, ("id", "key", "name")).rows()
    candidates = [row for row in rows if row[1].startswith(letter)]
    count = degrees(stores, [node for node, _, _ in candidates])
    same = set(exact)

    def rank(row: tuple[int, str, str]) -> tuple[bool, bool, bool, int, int]:
        node, key, name = row
        is_name = words(name) == wanted if node in same else words(name).startswith(wanted)
        return key.casefold() != text.strip().casefold(), node not in same, not is_name, -count.get(node, 0), node

    best = [node for node, _, _ in sorted(candidates, key=rank)][:limit]
    if len(best) < limit and stores.has("text"):
        hits = search(stores, "bm25", limit * 2, node_type="property" if letter == "P" else None).one(text)
        more = [node for node, key in hits.select("id", "key").iter_rows() if key.startswith(letter)]
        best = list(dict.fromkeys([*best, *more]))[:limit]
    return best


def degrees(stores: Stores, ids: Sequence[int]) -> dict[int, int]:
    """Return the number of edges of each node that has any."""
    sql = (
        "SELECT id, count(*) FROM (SELECT head AS id FROM edges UNION ALL SELECT tail FROM edges)"
        " WHERE id IN (SELECT unnest($ids)) GROUP BY id"
    )
    return dict(stores.tables.rows(sql, {"ids": list(ids)})) if ids else {}
