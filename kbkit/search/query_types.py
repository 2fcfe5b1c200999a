"""Queries of a file that name the type of their answers in a field ``type``, as those of labels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from kbkit.search.hybrid import Search, pairs

if TYPE_CHECKING:
    from kbkit.schema import Schema


def types_of(queries: Any, schema: Schema) -> list[str | None]:
    """Return the type that each query names (None: any), or nothing if no query names a type of the KB.

    If none does, the field has another meaning. Raises :class:`UnknownNameError` if some types are unknown.
    """
    if not isinstance(queries, pl.DataFrame) or "type" not in queries.columns:
        return []
    types = [name or None for name in queries["type"].cast(pl.String).to_list()]
    if not {kind.name for kind in schema.node_types}.intersection(types):
        return []
    for name in dict.fromkeys(types):
        if name:
            schema.type(name)
    return types


def search_by_type(
    search: Callable[[str | None], Search],
    queries: pl.DataFrame,
    types: list[str | None],
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Return the hits of queries as :meth:`kbkit.search.hybrid.Search.many`, each restricted to its own type."""
    names, texts = pairs(queries)
    frame = pl.DataFrame({"query": names, "text": texts, "type": types}, schema_overrides={"type": pl.String})
    found, before = [], 0
    for (kind,), part in frame.group_by("type", maintain_order=True):

        def report(done: int, _: int, before: int = before) -> None:
            assert progress is not None
            progress(before + done, frame.height)

        found.append(search(kind if kind is None else str(kind)).many(part, report if progress else None))
        before += part.height
    return frame.select("query").join(pl.concat(found), on="query", maintain_order="left_right")
