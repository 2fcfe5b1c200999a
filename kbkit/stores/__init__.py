"""The stores of one generation of a KB. Each engine is imported by the modules of its store only.

============== ======================================== =======================
``tables``     DuckDB: the store of record              ``tables.duckdb``
``nodes``      node lookup by key, name and alias       ``nodes/``
``adjacency``  NumPy: compressed sparse rows            ``adjacency/``
``triples``    Oxigraph: RDF, queried through a worker  ``triples/``
``columns``    DuckDB: terms and quads of RDF sources   ``columns/``
``text``       Tantivy: full text                       ``text/``
``vectors``    LanceDB and a memory-mapped matrix       ``vectors/``
``embeddings`` graph embeddings, memory-mapped          ``embeddings/``
============== ======================================== =======================
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kbkit.directory import forks, systems
from kbkit.directory.damage import check_plain, check_sizes, reading
from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import Manifest
from kbkit.errors import Command, KbError, Option
from kbkit.schema import Schema

if TYPE_CHECKING:
    from kbkit.directory.workspace import Workspace
    from kbkit.stores import embedders
    from kbkit.stores.adjacency import Adjacency
    from kbkit.stores.columns import Columns
    from kbkit.stores.embedders import Embedder
    from kbkit.stores.embeddings import Embeddings
    from kbkit.stores.nodes import Nodes
    from kbkit.stores.tables import Tables
    from kbkit.stores.text import Text
    from kbkit.stores.triples import TripleStore
    from kbkit.stores.vectors import Vectors

T = TypeVar("T")

_OPENED = ("nodes", "tables", "adjacency", "triples", "columns", "text", "vectors", "embedder", "embeddings")
"""The properties of :class:`Stores` that keep what they opened."""
_ABSENT = object()


class Stores:
    """The stores of a generation of a KB, by default the live one, opened for reading.

    Each store opens on first use. The generation stays pinned, also after a build publishes the next one, until
    ``close``.

    Raises :class:`kbkit.errors.NotAKbError` if ``path`` is not a KB directory.
    """

    def __init__(self, path: str | os.PathLike[str], generation: str = "") -> None:
        self.directory = KbDirectory(path)
        self._pin = self.directory.pin(generation)
        try:
            self.manifest = Manifest.read(self._pin.folder)
        except KbError:
            self._pin.close()
            raise
        self.folder = self._pin.folder
        self._memory = ""
        self._open: list[Any] = []
        self._shared: dict[Any, Any] = {}
        forks.register(self)

    def __reduce__(self) -> tuple[type[Stores], tuple[str, str]]:
        """Pickle as the path and the generation, which are opened again."""
        return Stores, (str(self.directory.path.absolute()), self.folder.name)

    def __enter__(self) -> Stores:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all stores and release the generation; does nothing if already closed."""
        for store in self._open:
            store.close()
        self._shared.clear()
        self._forget()
        self._pin.close()

    def renew_after_fork(self) -> None:
        """Leave the open stores to the parent process; the child opens its own on first use.

        What was computed from them stays, and the lock of the generation is held by both processes.
        """
        if "triples" in self.__dict__:
            self.triples.leave()
        systems.never_destroy(*self._open, self.__dict__.get("embedder"))
        self._forget()

    def _forget(self) -> None:
        self._open.clear()
        for name in _OPENED:
            self.__dict__.pop(name, None)

    @property
    def schema(self) -> Schema:
        """Node types, relations, attributes and text fields."""
        return self.manifest.schema

    def has(self, store: str) -> bool:
        """Return whether the KB was built with a store."""
        return store in self.manifest.stores

    def shared(self, compute: Callable[[Stores], T]) -> T:
        """Return ``compute(self)``, cached until the stores are closed."""
        found = self._shared.get(compute, _ABSENT)  # another thread may discard it
        if found is _ABSENT:
            found = self._shared[compute] = compute(self)
        return cast("T", found)

    def renew(self, compute: Callable[[Stores], object]) -> None:
        """Discard the value of :meth:`shared`; the next access computes it again."""
        self._shared.pop(compute, None)

    @cached_property
    def tables(self) -> Tables:
        """The DuckDB store."""
        from kbkit.stores import tables

        sets, extra = self.workspace.frame, self.schema.extra_tables
        file, memory = self.columns_file, self._memory

        def open_store(path: Path) -> Tables:
            return tables.Tables(path, sets=sets, memory=memory, extra_tables=extra, columns=file)

        return self._opened(tables.FILE, open_store)

    def spare_memory(self) -> None:
        """Let SQL use a quarter of the machine's memory instead of most of it; does nothing after the first query.

        A server's clients may ask for values of any size, which DuckDB cannot write to disk as it does with rows.
        """
        self._memory = "25%"

    @property
    def columns_file(self) -> Path | None:
        """The file of the columns; None if the KB has none, or a damaged one, which the tables do not need."""
        from kbkit.stores import columns

        if not self.has("columns"):
            return None
        try:
            check_sizes(self.folder, columns.FILE, self.manifest.files)
        except KbError:
            return None
        return self.folder / columns.FILE

    @cached_property
    def nodes(self) -> Nodes:
        """Node lookup by key, name and alias."""
        from kbkit.stores import node_directory, nodes

        self.manifest.store("nodes")
        return self._opened(node_directory.FOLDER, lambda path: nodes.Nodes(path, self.schema, lambda: self.tables))

    @cached_property
    def adjacency(self) -> Adjacency:
        """The adjacency arrays."""
        from kbkit.stores import adjacency

        self.manifest.store("adjacency")
        relations = [r.name for r in self.schema.relations]
        return self._opened(adjacency.FOLDER, lambda path: adjacency.Adjacency(path, relations, self.schema.nodes))

    @cached_property
    def triples(self) -> TripleStore:
        """The Oxigraph store."""
        from kbkit.stores import triples

        self.manifest.store("triples")
        return self._opened(triples.FOLDER, lambda path: triples.TripleStore(path, self.schema.prefixes()))

    @cached_property
    def columns(self) -> Columns:
        """The terms and quads of an RDF source, which SQL on the tables sees as ``columns.NAME``."""
        from kbkit.stores import columns

        self.manifest.store("columns")
        return self._opened(
            columns.FILE, lambda path: columns.Columns(path, self.tables.rows, self.tables.columns_error)
        )

    @cached_property
    def text(self) -> Text:
        """The Tantivy index."""
        from kbkit.stores import text

        settings = self.manifest.settings("text", text.TextSettings)
        return self._opened(text.FOLDER, lambda path: text.Text(path, self.schema, settings))

    @cached_property
    def vectors(self) -> Vectors:
        """The embeddings of the nodes' documents."""
        from kbkit.stores import vectors

        self.manifest.store("vectors")
        return self._opened(vectors.FOLDER, vectors.Vectors)

    @cached_property
    def embeddings(self) -> Embeddings:
        """The graph embeddings."""
        from kbkit.stores import embeddings

        self.manifest.store("embeddings")
        return self._opened(embeddings.FOLDER, embeddings.Embeddings)

    @cached_property
    def embedder(self) -> Embedder:
        """The model that computed the vectors."""
        from kbkit.stores import embedders

        return self._checked(embedders.recorded(self._model))

    def use_embedder(self, name: str) -> None:
        """Use the recorded model under another name, such as a new endpoint.

        Raises :class:`KbError` for another model.
        """
        from kbkit.stores import embedders

        model = self._model
        if not embedders.same_model(name, model.embedder):
            raise KbError(
                f"The vectors of this KB were built with {model.embedder}, not with {name}",
                *("Run ", Command("build KB vectors"), " with ", Option("embedder", name), " to rebuild them"),
            )
        if name != getattr(self.__dict__.get("embedder"), "name", ""):
            self.__dict__["embedder"] = self._checked(embedders.recorded(model, name=name))

    @property
    def _model(self) -> embedders.ModelRecord:
        from kbkit.stores import embedders

        return self.manifest.settings("vectors", embedders.ModelRecord)

    def _checked(self, model: Embedder) -> Embedder:
        dimension = self._model.dimension
        if model.dimension != dimension:
            raise KbError(
                f"Embedder {model.name} returns {model.dimension} dimensions, but the KB was built with {dimension}",
                *("Run ", Command("build KB vectors"), " to rebuild the vectors"),
            )
        return model

    @property
    def workspace(self) -> Workspace:
        """The user's saved sets."""
        from kbkit.directory.workspace import Workspace

        forks.check()
        folder = self.directory.path / "workspace"
        check_plain(folder, *folder.glob("*"))
        return Workspace(folder)

    def _opened(self, name: str, open_store: Callable[[Path], T]) -> T:
        """Open a store, by its file or folder, if its files are those that the manifest lists."""
        forks.check()
        check_sizes(self.folder, name, self.manifest.files)
        with reading(name.partition(".")[0], self.folder / name):
            store = open_store(self.folder / name)
        self._open.append(store)
        return store
