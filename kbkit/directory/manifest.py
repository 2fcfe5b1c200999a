"""The manifest of a generation: schema, sources, settings and checksums, stored as ``manifest.json``."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from kbkit.directory.typed_json import from_json
from kbkit.errors import BadInputError, Command, KbError, NotAKbError, check_unicode, shortage
from kbkit.schema import Schema

T = TypeVar("T")

FORMAT = 4
"""Version of the directory format; incremented by every incompatible change."""

STORES = ("tables", "nodes", "adjacency", "triples", "columns", "text", "vectors")
"""The stores that an ingest builds by default; ``columns`` only from an RDF source."""
ALL_STORES = (*STORES, "embeddings")


class FileRecord(TypedDict):
    """Size and checksum of a file."""

    bytes: int
    sha256: str


class NamedFileRecord(FileRecord):
    """A file that is not part of the KB."""

    name: str


class SourceRecord(NamedFileRecord, total=False):
    """A source file; ``update`` is set for those of an update, ``merge`` for one of nodes that were merged."""

    update: bool
    merge: bool


class NamedRecipe(TypedDict):
    """A recipe with its options."""

    name: str
    title: str
    licence: str
    options: dict[str, Any]


class RecipeRecord(NamedRecipe, total=False):
    """The recipe of a KB; ``symmetric`` are its symmetric relations, which may have no edges."""

    symmetric: list[str]


Setting = str | int | float | bool | None
"""A value of a store's settings."""


@dataclass
class StoreRecord:
    """The manifest's record of one store."""

    counts: dict[str, int]
    """Numbers of its rows, triples, documents or vectors, which ``kbkit check`` verifies."""
    seconds: float
    """Build time."""
    settings: dict[str, Setting] = field(default_factory=dict)
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
    recipe: RecipeRecord
    """The recipe."""
    sources: list[SourceRecord]
    """The source files."""
    report: dict[str, int | str]
    """Numbers of merged, dropped and skipped rows, by reason."""
    versions: dict[str, str]
    """Versions of kbkit and of its engines."""
    stores: dict[str, StoreRecord] = field(default_factory=dict)
    """The stores that were built, by name."""
    files: dict[str, FileRecord] = field(default_factory=dict)
    """The ``bytes`` and ``sha256`` of each file, by path in the generation."""
    derived: dict[str, str] = field(default_factory=dict)
    """Attributes that were computed from the graph, with what computed them."""
    format: int = FORMAT
    """Version of the directory format."""
    sha256: str = field(default="", compare=False)
    """Checksum of the manifest, with an empty checksum (empty: written by an earlier version)."""

    def store(self, name: str) -> StoreRecord:
        """Return the record of a store; raise :class:`KbError` if the KB was built without it."""
        if name not in self.stores:
            raise KbError(f"This KB has no store {name!r}", "Run ", Command(f"build KB {name}"), " to add it")
        return self.stores[name]

    def settings(self, store: str, kind: type[T]) -> T:
        """Return those build settings of a store that are fields of the dataclass ``kind``.

        Raises :class:`NotAKbError` if one is missing or has another type.
        """
        recorded = self.store(store).settings
        own = {f.name: recorded[f.name] for f in dataclasses.fields(kind) if f.name in recorded}  # type: ignore[arg-type]
        try:
            settings: T = from_json(kind, own, f"manifest.json, stores, {store}, settings")
        except BadInputError as error:
            raise NotAKbError(error.message, *_RESTORE) from None
        return settings

    def write(self, folder: Path) -> None:
        """Write ``manifest.json`` into ``folder``."""
        data = {**dataclasses.asdict(self), "schema": self.schema.to_json(), "sha256": ""}
        text = _json(data)  # ends with the empty checksum
        whole = text.removesuffix('""\n}') + f'"{_sha256(text)}"\n}}\n'
        (folder / "manifest.json").write_text(whole, encoding="utf-8", newline="\n")

    @staticmethod
    def is_changed(folder: Path) -> bool:
        """Whether a valid ``manifest.json`` is not as it was written."""
        data = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        recorded = data.get("sha256", "")
        return recorded not in ("", _sha256(_json({**data, "sha256": ""})))

    @staticmethod
    def read(folder: Path) -> Manifest:
        """Read ``manifest.json``; raise :class:`NotAKbError` if it is missing, invalid or has another format."""
        path = folder / "manifest.json"
        try:
            text = path.read_text(encoding="utf-8")
            data = json.loads(text, parse_float=_number, parse_constant=_number)
            found = data["format"] if isinstance(data, dict) and type(data.get("format")) is int else FORMAT
            if found != FORMAT:
                raise NotAKbError(
                    f"{folder} has format {found}, but this version of kbkit reads format {FORMAT}",
                    f"{'Upgrade kbkit, or ingest' if found > FORMAT else 'Ingest'} the source again",
                )
            if "\\u" in text:  # surrogates have no other form
                check_unicode(json.dumps(data, ensure_ascii=False), "a text")
            manifest: Manifest = from_json(Manifest, data, "the manifest")
            if problem := manifest.schema.problem():
                raise ValueError(problem)
        except (OSError, ValueError, RecursionError, BadInputError) as error:
            reason = error.message if isinstance(error, BadInputError) else getattr(error, "strerror", None) or error
            short = shortage(error) if isinstance(error, OSError) else None
            raise short or NotAKbError(f"Cannot read {path}: {reason}", *_RESTORE) from error
        return manifest


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_RESTORE = ("Restore it, or ingest the source again",)


def _number(text: str) -> float:
    """Read a finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value
