"""The nodes of findings about doubtful data, with the evidence, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbkit.display.render import cell
from kbkit.graph.suspicions import Suspicion
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

LISTED = 1_000
"""Maximum number of nodes of a finding."""


def suspicious_nodes(stores: Stores, found: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes of findings in one table: kind, type, part, finding, key, name, value.

    The value is that of the attribute; of other findings, what else their query tells about a node. Numbers of edges
    are no findings about nodes. The first 1,000 nodes of each finding are listed.
    """
    import polars as pl

    parts = []
    for one in map(Suspicion._make, found.filter(found["kind"] != "cardinality").iter_rows()):
        rows = stores.tables.lookup(f"SELECT * FROM ({one.sql}) LIMIT {LISTED}")
        names = stores.nodes.rows(rows["id"].to_list())
        shown = zip(rows["id"], _evidence(one, rows), strict=True)
        rows_of = ((names[node], value) for node, value in shown)
        parts += [(one.kind, row.type, *one[2:4], row.key, row.name, value) for row, value in rows_of]
    names_of = ("kind", "type", "part", "finding", "key", "name", "value")
    return pl.DataFrame(parts, dict.fromkeys(names_of, pl.String), orient="row")


def _evidence(one: Suspicion, rows: pl.DataFrame) -> list[str | None]:
    """Return for each row of a finding what it tells beside the name of the node, as text."""
    if one.kind == "missing":
        return [None] * rows.height
    told = [name for name in rows.columns if name not in ("id", "key", "name")]
    if one.kind in ("extreme", "spelling"):
        told = [one.part if one.kind == "extreme" else "once"]
        return [cell(value) for value in rows[told[0]]]
    texts = ("; ".join(f"{name}: {cell(row[name])}" for name in told) for row in rows.iter_rows(named=True))
    return [text or None for text in texts]
