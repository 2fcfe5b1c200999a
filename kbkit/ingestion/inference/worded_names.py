"""Names of nodes in columns whose header does not say so: words that tell the rows apart, beside a bare identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.keys import is_unique
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.roles import NodeTable, TablePlan
from kbkit.ingestion.inference.unsure import may_be_name
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_FEWEST_ROWS = 5
"""Rows from which texts that all differ are no coincidence."""
_MOST = 0.9
_WORDS = r"\p{Lu}[\p{L}\p{M}.,''’&() -]*\p{L}[\p{L}\p{M}.,''’&() -]*"
"""What names look like: words, the first with a capital letter."""


def settle(con: duckdb.DuckDBPyConnection, plan: TablePlan) -> None:
    """Name the nodes that have only an identifier by the column of words that tells them apart, if there is one; best
    without commas: *Ann Lee* rather than *Lee, Ann*.
    """
    for nodes in plan.nodes:
        bare = not nodes.named and nodes.table.named is None and (not nodes.key or names.is_id(nodes.key[0]))
        if bare and not nodes.table.of and nodes.table.rows >= _FEWEST_ROWS:
            columns = [nodes.table.columns[name] for name in nodes.values]
            found = [c for c in columns if may_be_name(c, nodes) and _are_words(con, nodes, c)]
            if found:
                best = min(found, key=lambda column: "," in column.signs)
                nodes.named = (best.name,)
                nodes.values.remove(best.name)


def _are_words(con: duckdb.DuckDBPyConnection, nodes: NodeTable, column: ProfiledColumn) -> bool:
    if names.is_file(column.name) or not is_unique(con, nodes.table, [column.name]):
        return False
    query = f"SELECT count_if(regexp_full_match({column.value}, '{_WORDS}')) FROM {identifier(nodes.table.name)}"
    [(worded,)] = con.execute(query).fetchall()
    return bool(worded >= _MOST * nodes.table.rows)
