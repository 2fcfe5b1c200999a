"""The manifest of a generation: schema, sources, settings and checksums, stored as ``manifest.json``."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.errors import KbError, NotAKbError
from kbkit.schema import Schema

FORMAT = 3
"""Version of the directory format; incremented by every incompatible change."""

STORES = ("tables", "adjacency", "triples", "text", "vectors")


@dataclass
class StoreRecord:
    """What the manifest says of one store: what it counted, how long it took, its settings."""

    counts: dict[str, int]
    """Of what it holds, which ``check`` counts again."""
    seconds: float
    """That building it took."""
    settings: dict[str, Any] = field(default_factory=dict)
    """With which it was built: the analyzer; the embedder, its dimension and prefixes, chunks."""


@dataclass
class Manifest:
    """Everything about a generation that is not in its stores; ``manifest.json``."""

    schema: Schema
    """See below."""
    generation: str
    """Its name, that of its folder."""
    created: str
    """When, UTC, ISO 8601."""
    recipe: dict[str, Any]
    """The ``name``, ``title`` and ``licence`` of the recipe, its ``options``, and which relations are ``symmetric``."""
    sources: list[dict[str, Any]]
    """The files that were read: ``name``, ``bytes``, ``sha256``."""
    report: dict[str, Any]
    """How many rows were merged, dropped or left out, by reason."""
    versions: dict[str, str]
    """Of kbkit and of what it built with."""
    stores: dict[str, StoreRecord] = field(default_factory=dict)
    """By name, those that were built."""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By path in the generation: ``bytes`` and ``sha256``."""
    format: int = FORMAT
    """Of the directory: another one was written by a newer or an older kbkit."""

    def store(self, name: str) -> StoreRecord:
        """The record of a store; raises :class:`KbError` where the KB was built without it."""
        if name not in self.stores:
            raise KbError(f"this KB has no store {name!r}", f"kbkit build DIR {name} adds it")
        return self.stores[name]

    def write(self, folder: Path) -> None:
        """Write ``manifest.json`` into ``folder``."""
        text = json.dumps({**dataclasses.asdict(self), "schema": self.schema.to_json()}, indent=1, ensure_ascii=False)
        (folder / "manifest.json").write_text(text + "\n", encoding="utf-8", newline="\n")

    @staticmethod
    def read(folder: Path) -> Manifest:
        """Read ``manifest.json``; raises :class:`NotAKbError` when it is missing, broken or of another format."""
        path = folder / "manifest.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise NotAKbError(
                    f"{folder} has format {data['format']}, and this kbkit reads {FORMAT}",
                    f"{'upgrade kbkit, or ' if data['format'] > FORMAT else ''}ingest the source again",
                )
            stores = {name: StoreRecord(**record) for name, record in data["stores"].items()}
            return Manifest(**{**data, "schema": Schema.from_json(data["schema"]), "stores": stores})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NotAKbError(f"{path} cannot be read: {error}", "restore it, or ingest the source again") from error
