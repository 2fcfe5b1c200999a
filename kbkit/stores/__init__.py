"""The stores of one generation of a KB. Each module is the only one that imports its engine.

============== ======================================== =======================
``nodes``      node lookup by key, name and alias       ``tables.duckdb``
``tables``     DuckDB: the store of record              ``tables.duckdb``
``adjacency``  NumPy: compressed sparse rows            ``adjacency/``
``triples``    Oxigraph: RDF, queried through a worker  ``triples/``
``text``       Tantivy: full text                       ``text/``
``vectors``    LanceDB and a memory-mapped matrix       ``vectors/``
============== ======================================== =======================
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import Manifest
from kbkit.errors import KbError
from kbkit.schema import Schema

if TYPE_CHECKING:
    from kbkit.directory.workspace import Workspace
    from kbkit.stores.adjacency import Adjacency
    from kbkit.stores.embedders import Embedder
    from kbkit.stores.nodes import Nodes
    from kbkit.stores.tables import Tables
    from kbkit.stores.text import Text
    from kbkit.stores.triples import Triples
    from kbkit.stores.vectors import Vectors

T = TypeVar("T")


class Stores:
    """The stores of the live generation of a KB, opened for reading.

    Each store opens on first use. The generation stays pinned, also after a build publishes the next one, until
    ``close``.

    Raises :class:`kbkit.errors.NotAKbError` if ``path`` is not a KB directory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.directory = KbDirectory(path)
        self._pin = self.directory.pin()
        try:
            self.manifest = Manifest.read(self._pin.folder)
        except KbError:
            self._pin.close()
            raise
        self.folder = self._pin.folder
        self._open: list[Any] = []
        self._shared: dict[Any, Any] = {}

    def __enter__(self) -> Stores:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all stores and release the generation. Closing twice is harmless."""
        for store in self._open:
            store.close()
        self._open.clear()
        self._shared.clear()
        for name in ("nodes", "tables", "adjacency", "triples", "text", "vectors", "embedder"):
            self.__dict__.pop(name, None)
        self._pin.close()

    @property
    def schema(self) -> Schema:
        """Node types, relations, attributes and text fields."""
        return self.manifest.schema

    def has(self, store: str) -> bool:
        """Return whether the KB was built with a store."""
        return store in self.manifest.stores

    def shared(self, make: Callable[[Stores], T]) -> T:
        """Return ``make(self)``, computed once: for caches that live as long as the stores are open."""
        if make not in self._shared:
            self._shared[make] = make(self)
        return cast("T", self._shared[make])

    @cached_property
    def tables(self) -> Tables:
        """The DuckDB store."""
        from kbkit.stores import tables

        return self._keep(tables.Tables(self.folder / tables.FILE, sets=self.workspace.frame))

    @cached_property
    def nodes(self) -> Nodes:
        """Node lookup by key, name and alias."""
        from kbkit.stores.nodes import Nodes

        return Nodes(self.tables, self.schema)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The adjacency arrays."""
        from kbkit.stores import adjacency

        self.manifest.store("adjacency")
        return self._keep(adjacency.Adjacency(self.folder / adjacency.FOLDER, [r.name for r in self.schema.relations]))

    @cached_property
    def triples(self) -> Triples:
        """The Oxigraph store."""
        from kbkit.stores import triples

        self.manifest.store("triples")
        return self._keep(triples.Triples(self.folder / triples.FOLDER, self.schema.prefixes()))

    @cached_property
    def text(self) -> Text:
        """The Tantivy index."""
        from kbkit.stores import text

        settings = text.Settings.recorded(self.manifest.store("text").settings)
        return self._keep(text.Text(self.folder / text.FOLDER, self.schema, settings))

    @cached_property
    def vectors(self) -> Vectors:
        """The embeddings of the nodes' documents."""
        from kbkit.stores import vectors

        self.manifest.store("vectors")
        return self._keep(vectors.Vectors(self.folder / vectors.FOLDER))

    @cached_property
    def embedder(self) -> Embedder:
        """The model that computed the vectors."""
        from kbkit.stores import embedders

        return self._checked(embedders.recorded(self.manifest.store("vectors").settings))

    def use_embedder(self, name: str) -> None:
        """Reach the recorded model under another name, such as a new endpoint. Raises :class:`KbError` for others."""
        from kbkit.stores import embedders

        settings = self.manifest.store("vectors").settings
        if not embedders.same_model(name, settings["embedder"]):
            raise KbError(
                f"the vectors of this KB were made with {settings['embedder']}, so queries cannot go to {name}",
                f"kbkit build DIR vectors --embedder {name} makes them anew",
            )
        if name != getattr(self.__dict__.get("embedder"), "name", settings["embedder"]):
            self.__dict__["embedder"] = self._checked(embedders.recorded({**settings, "embedder": name}))

    def _checked(self, model: Embedder) -> Embedder:
        dimension = self.manifest.store("vectors").settings["dimension"]
        if model.dimension != dimension:
            raise KbError(
                f"embedder {model.name} gives {model.dimension} dimensions, the KB was built with {dimension}",
                "kbkit build DIR vectors embeds it anew",
            )
        return model

    @property
    def workspace(self) -> Workspace:
        """The user's saved sets and runs."""
        from kbkit.directory.workspace import Workspace

        return Workspace(self.directory.path / "workspace")

    def _keep(self, store: T) -> T:
        self._open.append(store)
        return store
