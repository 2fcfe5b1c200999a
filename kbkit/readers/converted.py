"""The output of a converter: tables and RDF, in parts on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Converted:
    """The files of a converted source.

    ``tables``: Parquet files by table name, at least one each. ``quads``: gzipped N-Triples. ``shared``: Parquet files
    with the column ``line``, N-Triples that may occur several times. ``counts``: totals by name (``entities``,
    ``duplicates``, ...).
    """

    tables: Mapping[str, Sequence[Path]]
    quads: Sequence[Path] = ()
    shared: Sequence[Path] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, int]:
        """Numbers for the KB's report: repeated entities, and requested ids that the source does not have."""
        names = {"repeated_entities": "duplicates", "unknown_ids": "unknown_ids"}
        return {name: self.counts[key] for name, key in names.items() if self.counts.get(key)}
