"""Writes IRIs as prefixed names, for tables on a screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_LOCAL = r"(?:[\p{L}0-9_]|%[0-9A-Fa-f]{2})(?:(?:[\p{L}0-9_.-]|%[0-9A-Fa-f]{2})*(?:[\p{L}0-9_-]|%[0-9A-Fa-f]{2}))?"
"""Local names that need no escapes in SPARQL."""


def prefixed(frame: pl.DataFrame, prefixes: Mapping[str, str]) -> pl.DataFrame:
    """Return the rows with IRIs as ``country:FRA`` where a prefix fits; ``prefixes`` maps prefixes to namespaces.

    If two prefixes have the same namespace, the first is used; of two namespaces that fit, the longer one.
    """
    import polars as pl

    unique: dict[str, str] = {}
    for prefix, namespace in prefixes.items():
        unique.setdefault(namespace, prefix)
    spaces = sorted(unique, key=len, reverse=True)
    if not spaces or not frame.height:
        return frame

    def short(name: str) -> pl.Expr:
        """Look up all namespaces at once: they end with a sign that no local name contains, except for a few."""
        column, shown = pl.col(name), []
        for space in spaces:
            if space[-1:] not in "/#:":
                local = column.str.slice(len(space))
                fits = column.str.starts_with(space) & local.str.contains(f"^{_LOCAL}$")
                shown.append(pl.when(fits).then(pl.concat_str(pl.lit(f"{unique[space]}:"), local)))
        parts = column.str.extract_groups(rf"^(?P<space>.*[/#:])(?P<local>{_LOCAL})$").struct
        found = parts["space"].replace_strict(spaces, list(map(unique.get, spaces)), default=None)
        return pl.coalesce(*shown, pl.concat_str(found, pl.lit(":"), parts["local"]), column).alias(name)

    return frame.with_columns(short(name) for name, kind in frame.schema.items() if kind == pl.String)
