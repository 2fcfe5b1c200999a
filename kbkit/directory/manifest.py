"""The manifest of a generation: schema, sources, settings and checksums, stored as ``manifest.json``."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.errors import Command, KbError, NotAKbError
from kbkit.schema import Schema

FORMAT = 3
"""Version of the directory format; incremented by every incompatible change."""

STORES = ("tables", "nodes", "adjacency", "triples", "text", "vectors")
"""The stores that an ingest builds by default."""
ALL_STORES = (*STORES, "embeddings")


@dataclass
class StoreRecord:
    """The manifest's record of one store."""

    counts: dict[str, int]
    """Numbers of its rows, triples, documents or vectors, which ``kbkit check`` verifies."""
    seconds: float
    """Build time."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Build settings: the analyzer; the embedder with its dimension and prefixes, and chunks; the method of graph
    embeddings."""


@dataclass
class Manifest:
    """The metadata of a generation, stored in ``manifest.json``."""

    schema: Schema
    """Schema of the KB."""
    generation: str
    """Name of the generation and of its folder."""
    created: str
    """Time of the build, UTC, ISO 8601."""
    recipe: dict[str, Any]
    """The ``name``, ``title`` and ``licence`` of the recipe, its ``options``, and its ``symmetric`` relations."""
    sources: list[dict[str, Any]]
    """The source files: ``name``, ``bytes``, ``sha256``."""
    report: dict[str, Any]
    """Numbers of merged, dropped and skipped rows, by reason."""
    versions: dict[str, str]
    """Versions of kbkit and of its engines."""
    stores: dict[str, StoreRecord] = field(default_factory=dict)
    """The stores that were built, by name."""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The ``bytes`` and ``sha256`` of each file, by path in the generation."""
    format: int = FORMAT
    """Version of the directory format."""

    def store(self, name: str) -> StoreRecord:
        """Return the record of a store; raise :class:`KbError` if the KB was built without it."""
        if name not in self.stores:
            raise KbError(f"This KB has no store {name!r}", "Run ", Command(f"build KB {name}"), " to add it")
        return self.stores[name]

    def write(self, folder: Path) -> None:
        """Write ``manifest.json`` into ``folder``."""
        text = json.dumps({**dataclasses.asdict(self), "schema": self.schema.to_json()}, indent=1, ensure_ascii=False)
        (folder / "manifest.json").write_text(text + "\n", encoding="utf-8", newline="\n")

    @staticmethod
    def read(folder: Path) -> Manifest:
        """Read ``manifest.json``; raise :class:`NotAKbError` if it is missing, invalid or has another format."""
        path = folder / "manifest.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise NotAKbError(
                    f"{folder} has format {data['format']}, but this version of kbkit reads format {FORMAT}",
                    f"{'Upgrade kbkit, or ingest' if data['format'] > FORMAT else 'Ingest'} the source again",
                )
            stores = {name: StoreRecord(**record) for name, record in data["stores"].items()}
            return Manifest(**{**data, "schema": Schema.from_json(data["schema"]), "stores": stores})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NotAKbError(f"Cannot read {path}: {error}", "Restore it, or ingest the source again") from error
