"""Facets: the values of attributes that some nodes share, with the expressions that filter by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbkit.answers.syntax import identifier, quoted
from kbkit.schema import Attribute, quote
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

_WORDS, _NUMBERS = ("VARCHAR", "BOOLEAN"), ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_MOST_ATTRIBUTES, _MOST_VALUES = 20, 12
"""Attributes that are counted, and distinct values up to which an attribute is a facet."""


def facets(stores: Stores, nodes: Sequence[int], node_type: str, limit: int, timeout: float | None) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.facets`."""
    import polars as pl

    known = stores.schema.type(node_type)
    chosen = [a for a in known.attributes if a.type.upper() in (*_WORDS, *_NUMBERS)][:_MOST_ATTRIBUTES]
    kinds = {"attribute": pl.String, "value": pl.String, "nodes": pl.Int64, "expression": pl.String}
    if not chosen or not len(nodes):
        return pl.DataFrame(schema=kinds)
    parts = [
        f"SELECT {place} AS place, CAST({quote(a.name)} AS VARCHAR) AS value, count(*) AS nodes FROM mine"
        f" WHERE {quote(a.name)} IS NOT NULL GROUP BY ALL"
        for place, a in enumerate(chosen)
    ]
    members = f"SELECT * FROM {quote(known.table)} WHERE id IN (SELECT unnest($ids))"
    sql = f"WITH mine AS MATERIALIZED ({members}) {' UNION ALL '.join(parts)} ORDER BY place, nodes DESC, value"
    counts = stores.tables.frame(sql, {"ids": list(nodes)}, timeout)
    several = pl.len().over("place").is_between(2, _MOST_VALUES) & (pl.col("nodes").max().over("place") > 1)
    rows = [
        (chosen[place].name, value, count, _filter(known.name, chosen[place], value))
        for place, value, count in counts.filter(several).group_by("place", maintain_order=True).head(limit).iter_rows()
    ]
    return pl.DataFrame(rows, kinds, orient="row")


def _filter(node_type: str, attribute: Attribute, value: str) -> str:
    text = quoted(value) if attribute.type.upper() == "VARCHAR" else value
    return f"{identifier(node_type)}{{{identifier(attribute.name)} = {text}}}"
