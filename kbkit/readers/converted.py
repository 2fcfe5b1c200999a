"""The output of a converter: tables and RDF, in parts on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Converted:
    """The files of a converted source.

    ``tables``: Parquet files by table name, at least one each. ``quads``: gzipped N-Triples. ``shared``: Parquet files
    with the column ``line``, N-Triples that may occur several times. ``counts``: totals by name (``entities``,
    ``duplicates``, ...). ``first_bad_line``: file, line and reason of the first line that was skipped, if any.
    ``kept``: gzipped files of the source's entities, for updates.
    """

    tables: Mapping[str, Sequence[Path]]
    quads: Sequence[Path] = ()
    shared: Sequence[Path] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    first_bad_line: str = ""
    kept: Sequence[Path] = ()

    @property
    def left_out(self) -> dict[str, Any]:
        """Entries of the KB's report: repeated entities, bad lines, and requested ids that the source does not have."""
        names = {"repeated_entities": "duplicates", "bad_lines": "bad_lines", "unknown_ids": "unknown_ids"}
        counts: dict[str, Any] = {name: self.counts[key] for name, key in names.items() if self.counts.get(key)}
        return {**counts, "first_bad_line": self.first_bad_line} if self.first_bad_line else counts
