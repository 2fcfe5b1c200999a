"""What a converter makes of a source: tables and RDF, in parts on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Converted:
    """``tables``: Parquet parts by table name, at least one each. ``quads``: gzipped N-Triples, what each entity says.
    ``shared``: Parquet parts with the one column ``line``, N-Triples that several entities may say, so that a line
    occurs more than once. ``counts``: what was found, by name (``entities``, ``duplicates``, ...).
    """

    tables: Mapping[str, Sequence[Path]]
    quads: Sequence[Path] = ()
    shared: Sequence[Path] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, int]:
        """What the KB's report is to tell: entities that came again, and ids that were asked for and not there."""
        told = {"repeated_entities": "duplicates", "unknown_ids": "unknown_ids"}
        return {name: self.counts[key] for name, key in told.items() if self.counts.get(key)}
