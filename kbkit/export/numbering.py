"""The numbers that name nodes in STaRK's files: in ``answer_ids``, and as positions in the tensors of an SKB.

STaRK numbers the nodes of a graph from 0. A KB whose keys are such numbers already, as one built from STaRK's own
archives, keeps them. In any other KB the numbers are the ids, which belong to a generation: a digest tells whether
another generation numbers its nodes in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kbkit.stores.once import once

if TYPE_CHECKING:
    import polars as pl

    from kbkit.stores.tables import Tables

IDS, KEYS = "ids", "keys"


class Numbering(NamedTuple):
    """How the nodes of a KB are numbered: by their ``keys`` or ids, 0 to ``nodes - 1``.

    ``digest`` is equal for two KBs if all nodes have the same number, type and key.
    """

    keys: bool
    nodes: int
    digest: str

    def as_json(self) -> dict[str, Any]:
        """Return what a file that uses the numbers should record."""
        return {"by": KEYS if self.keys else IDS, "nodes": self.nodes, "digest": self.digest}

    @property
    def column(self) -> str:
        """SQL for the number of a row of ``nodes``."""
        return "key::BIGINT" if self.keys else "id"


@once
def numbering(tables: Tables) -> Numbering:
    """Return the numbering of a KB."""
    by_keys, nodes = tables.rows(
        "SELECT count(DISTINCT number) FILTER (number BETWEEN 0 AND total - 1) = any_value(total), any_value(total)"
        " FROM (SELECT CASE WHEN TRY_CAST(key AS BIGINT)::VARCHAR = key THEN TRY_CAST(key AS BIGINT) END AS number,"
        " count(*) OVER () AS total FROM nodes)"
    )[0]
    plain = Numbering(bool(by_keys), nodes or 0, "")
    named = f"concat_ws(chr(31), {plain.column}, type::VARCHAR, key)"
    [(digest,)] = tables.rows(f"SELECT bit_xor(md5_number({named}))::VARCHAR FROM nodes")
    return plain._replace(digest=f"{int(digest or 0):032x}")


def numbers(tables: Tables, numbering: Numbering) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the number of each node, by id."""
    if not numbering.keys:
        return np.arange(numbering.nodes, dtype=np.int64)
    frame: pl.DataFrame = tables.lookup(f"SELECT id, {numbering.column} AS number FROM nodes ORDER BY id")
    return frame["number"].to_numpy().astype(np.int64)
