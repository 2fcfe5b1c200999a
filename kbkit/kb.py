"""KnowledgeBase: opens a KB directory, owns its stores, offers everything else as methods."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import Manifest
from kbkit.schema import Relation, Schema
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

    from kbkit.agent.actions import Explorer
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.engines import Engine
    from kbkit.answers.session import Session
    from kbkit.answers.syntax import Value
    from kbkit.answers.templates import Template
    from kbkit.assets.queries import Query
    from kbkit.directory.workspace import Workspace
    from kbkit.display.progress import Listener
    from kbkit.export import Written
    from kbkit.graph.neighbourhoods import Neighbourhood
    from kbkit.graph.nodes import Node
    from kbkit.graph.pages import Page
    from kbkit.graph.paths import Paths
    from kbkit.search.filters import Given
    from kbkit.search.hits import SearchResults
    from kbkit.search.rerank import Reranker
    from kbkit.search.run import Queries, Search
    from kbkit.search.settings import Options
    from kbkit.sparql.rewrite import Rewritten
    from kbkit.stores.adjacency import Adjacency
    from kbkit.stores.embedders import Embedder
    from kbkit.stores.tables import Tables
    from kbkit.stores.text import Text
    from kbkit.stores.triples import Triples
    from kbkit.stores.vectors import Vectors

S = TypeVar("S")


class KnowledgeBase:
    """A KB, open for reading. Stores open on first use; ``close`` (or ``with``) closes all of them.

    It keeps the generation that was live when it was opened, also when a build publishes the next one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.stores = Stores(path)

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every store and release the generation. Closing twice is harmless."""
        self.stores.close()

    def __repr__(self) -> str:
        return (
            f"<KnowledgeBase {self.schema.name!r} at {str(self.directory.path)!r}: {self.schema.nodes:,} nodes,"
            f" {self.schema.edges:,} edges>"
        )

    def _repr_html_(self) -> str:
        from kbkit.display import html as html_pages
        from kbkit.graph.overview import relations, types

        schema = self.schema
        texts = sum(field.texts for field in schema.text_fields)
        counts = [f"{schema.nodes:,} nodes", f"{schema.edges:,} edges", f"{texts:,} texts", str(self.directory.path)]
        shown = {
            "types": types(schema).drop("sql_name"),
            "relations": relations(schema).drop("sql_name", "symmetric"),
        }
        tables = {caption: (frame.columns, frame.rows()) for caption, frame in shown.items()}
        return html_pages.overview(schema.name, self.manifest.recipe["title"], counts, tables)

    def has(self, store: str) -> bool:
        """Return whether the KB was built with a store."""
        return self.stores.has(store)

    # -- stores -------------------------------------------------------------------------------------------------------

    @property
    def directory(self) -> KbDirectory:
        """The KB directory."""
        return self.stores.directory

    @property
    def folder(self) -> Path:
        """The folder of the open generation."""
        return self.stores.folder

    @property
    def manifest(self) -> Manifest:
        """The manifest of the open generation."""
        return self.stores.manifest

    @property
    def tables(self) -> Tables:
        """The DuckDB store."""
        return self.stores.tables

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency arrays."""
        return self.stores.adjacency

    @property
    def triples(self) -> Triples:
        """The Oxigraph store."""
        return self.stores.triples

    @property
    def text(self) -> Text:
        """The Tantivy index."""
        return self.stores.text

    @property
    def vectors(self) -> Vectors:
        """The embeddings of the nodes' documents."""
        return self.stores.vectors

    @property
    def embedder(self) -> Embedder:
        """The model that computed the vectors."""
        return self.stores.embedder

    @property
    def workspace(self) -> Workspace:
        """The user's saved sets and runs."""
        return self.stores.workspace

    @property
    def session(self) -> Session:
        """The state that answer expressions share."""
        from kbkit.answers.session import Session

        return Session.of(self.stores)

    # -- look ---------------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """Node types, relations, attributes, text fields."""
        return self.stores.schema

    def info(self) -> dict[str, Any]:
        """The KB as plain data: counts, average degree (2 edges / nodes), tokens, sizes, times, versions."""
        from kbkit.graph.overview import info

        return info(self.schema, self.manifest, self.folder)

    def types(self) -> pl.DataFrame:
        """Node types: type, nodes, other_nodes (with another primary type), attributes, sql_name, description."""
        from kbkit.graph.overview import types

        return types(self.schema)

    def relations(self) -> pl.DataFrame:
        """Relations by signature: relation, head_type, tail_type, edges, symmetric, attributes, sql_name, label."""
        from kbkit.graph.overview import relations

        return relations(self.schema)

    def find(self, reference: str | int) -> int:
        """The id of a node: an id, ``type#key``, ``type:name``, a key, a name or an alias.

        Tried in that order, names first as written, then without regard to case. Raises :class:`UnknownNameError` with
        the closest names, and :class:`KbError` when several nodes fit.
        """
        return self.stores.nodes.find(reference)

    def node(self, reference: str | int) -> Node:
        """A node with its attributes and texts; see :meth:`find` for ``reference``."""
        from kbkit.graph.nodes import describe

        return describe(self.stores, reference)

    def page(self, reference: str | int, limit: int = 5) -> Page:
        """Return a node's page: attributes, texts, and ``limit`` neighbours by relation, direction, type."""
        from kbkit.graph.pages import page

        return page(self.stores, reference, limit)

    def neighbors(self, reference: str | int, relation: str | None = None, limit: int | None = None) -> pl.DataFrame:
        """A node's neighbours: relation, direction (out or in), id, key, type, name, and the edge's attributes.

        ``limit`` limits each relation and direction. A symmetric relation shows as out only. Parallel edges that differ
        in their attributes are rows of their own.
        """
        from kbkit.graph.nodes import neighbors

        return neighbors(self.stores, reference, relation, limit)

    def paths(
        self,
        start: str | int,
        end: str | int,
        max_steps: int = 4,
        limit: int = 10,
        relations: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
    ) -> Paths:
        """The shortest paths between two nodes, whichever way edges run: a sequence, empty where none is short enough.

        At most ``limit``, those through nodes of few neighbours first (:mod:`kbkit.graph.paths`); only by
        ``relations``, and between the ends only through nodes of ``types``, where these are given.
        """
        from kbkit.graph.paths import paths

        return paths(self.stores, start, end, max_steps, limit, relations, types)

    def around(
        self,
        node: str | int,
        hops: int = 1,
        limit: int = 150,
        relations: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
    ) -> Neighbourhood:
        """What lies within ``hops`` steps of a node, whichever way edges run; ``.write("graph.html")`` draws it.

        At most ``limit`` nodes are kept: the nearest, and where a hop has too many, some in turn from each relation and
        node before. Only by ``relations`` and over nodes of ``types``, where these are given.
        """
        from kbkit.graph.neighbourhoods import neighbourhood

        return neighbourhood(self.stores, node, hops, limit, relations, types)

    def degrees(self, reference: str | int) -> list[tuple[Relation, str, int]]:
        """(relation, direction, number of neighbours) for every relation that the node has."""
        from kbkit.graph.nodes import degrees

        return degrees(self.stores, reference)

    # -- ask ----------------------------------------------------------------------------------------------------------

    def sql(self, text: str, timeout: float | None = None, **params: Any) -> pl.DataFrame:
        """Run SQL; ``$name`` stands for the keyword argument ``name``. It reads the KB and no file."""
        return self.tables.frame(text, params, timeout)

    def sparql(
        self,
        text: str,
        timeout: float | None = 60.0,
        *,
        dialect: str | None = None,
        limit: int | None = None,
        **params: Any,
    ) -> pl.DataFrame:
        """Run SPARQL with the KB's prefixes; ``$name`` stands for the keyword argument ``name``.

        A string between ``<`` and ``>`` is an IRI, any other a literal. ``timeout`` is in seconds; None waits for ever.
        ``dialect`` is ``sparql``, or ``wikidata`` for queries of the Wikidata Query Service; by default that of the KB.
        ``limit`` caps the rows. Raises :class:`QuerySyntaxError` with line and column, :class:`QueryTimeoutError`, and
        :class:`QueryError`.
        """
        from kbkit.questions.run import sparql

        return sparql(self.stores, text, timeout, dialect, limit, params)

    def rewrite(self, text: str, dialect: str | None = None, limit: int | None = None, **params: Any) -> Rewritten:
        """The query as the engine gets it (``text``), and what was changed in words (``notes``); see :meth:`sparql`."""
        from kbkit.questions.run import rewrite

        return rewrite(self.stores, text, dialect, limit, params)

    @cached_property
    def explore(self) -> Explorer:
        """The actions by which a person, or a model, finds its way: search, entry, examples, sparql."""
        from kbkit.agent.actions import Explorer

        return Explorer(self.stores)

    def run(
        self,
        query: Query,
        given: Mapping[str, str] | None = None,
        timeout: float | None = 60.0,
        *,
        allow_files: bool = False,
    ) -> pl.DataFrame:
        """Run a query file (:func:`kbkit.assets.queries.load`) with parameters as text, each read by its declared type.

        Where a query declares none, values that look like numbers are numbers. ``allow_files`` lets SQL read and write
        files.
        """
        from kbkit.assets.parameters import read_all

        params = read_all(self, query, given or {})
        if query.kind == "sparql":
            return self.sparql(query.text, timeout, **params)
        if not allow_files:
            return self.sql(query.text, timeout, **params)
        from kbkit.stores import tables

        opened = tables.Tables(self.folder / tables.FILE, files=True, sets=self.workspace.frame)
        try:
            return opened.frame(query.text, params, timeout)
        finally:
            opened.close()

    def iri(self, reference: str | int) -> str:
        """The IRI of a node."""
        node = self.node(reference)
        return self.schema.node_iri(node.type, node.key)

    def search(
        self,
        query: str,
        k: int = 20,
        mode: str = "hybrid",
        within: Given = None,
        type: str | None = None,  # noqa: A002
        explain: bool = False,
        *,
        rerank: str | Reranker | None = None,
        embedder: str | None = None,
        **options: Unpack[Options],
    ) -> SearchResults:
        """Search names and texts: rank, id, key, type, name, score, a score per component, snippet.

        ``mode`` is ``bm25`` (words; ``"quoted"`` ones must occur), ``dense`` (meaning), ``multivector`` (meaning, long
        documents by their best chunks), ``hybrid`` (words and meaning, fused) or ``relational`` (hybrid, and what the
        graph joins to the nodes that the query names). ``within`` (an answer expression, an answer set or ids) and
        ``type`` keep only these nodes, before the ``k`` best are chosen. ``explain`` adds a column ``why``, and
        ``linked`` in mode ``relational``.
        ``rerank`` (``cross-encoder:MODEL``, ``llm:MODEL@URL``, or a :class:`kbkit.search.rerank.Reranker`) orders the
        best anew. ``embedder`` is the model that queries are to go to, at its address of today; another than the KB was
        built with is refused. ``options`` are :class:`kbkit.search.settings.Options`.
        """
        return self._search(mode, k, within, type, rerank, embedder, options).one(query, explain)

    def search_many(
        self,
        queries: Queries | str | os.PathLike[str],
        k: int = 100,
        mode: str = "hybrid",
        within: Given = None,
        type: str | None = None,  # noqa: A002
        *,
        rerank: str | Reranker | None = None,
        embedder: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[Options],
    ) -> pl.DataFrame:
        """Search many queries with all cores: query, rank, id, key, type, name, score; see :meth:`search`.

        ``queries`` is a file (:func:`kbkit.measures.files.read_queries`), maps ids to texts, or is a list of texts
        (numbered from 1) or a frame with ``query`` and ``text``. Quotation marks are punctuation here, unless
        ``quotes=True``. ``progress`` hears how many are done, and of how many.
        """
        from kbkit.measures.files import read_queries

        options.setdefault("quotes", False)
        if isinstance(queries, str | os.PathLike):
            queries = read_queries(queries)
        return self._search(mode, k, within, type, rerank, embedder, options).many(queries, progress)

    def _search(
        self,
        mode: str,
        k: int,
        within: Given,
        type_name: str | None,
        rerank: str | Reranker | None,
        embedder: str | None,
        options: Options,
    ) -> Search:
        from kbkit.questions.run import search

        if embedder is not None:
            self.stores.use_embedder(embedder)
        return search(self.stores, mode, k, within, type_name, rerank, options)

    def linked(self, question: str) -> pl.DataFrame:
        """The nodes that a question names, as mode ``relational`` takes it: text, how (exact, stemmed, fuzzy), weight,
        id, key, type, name. A row a node; several nodes may bear one name.
        """
        from kbkit.questions.link import linked

        return linked(self.session, question)

    # -- answers ------------------------------------------------------------------------------------------------------

    def answers(
        self,
        expression: str | Template,
        engine: str | Engine = "walk",
        timeout: float | None = None,
        slots: Mapping[str, Value] | None = None,
        **named: Value,
    ) -> AnswerSet:
        """The nodes that an answer expression stands for, or a template (by its id too); nothing runs before members
        are asked for.

        Keywords fill its ``<slots>``, each with a name or ``#key``; ``slots`` is for those whose names are no Python
        identifiers, or are taken (``{"gene/protein": "BRCA1"}``). ``engine`` is ``walk`` (adjacency arrays), ``sql`` or
        ``sparql``; all give the same set.
        Raises :class:`kbkit.answers.ExpressionError`, which says where the expression is wrong.
        """
        from kbkit.answers.answer_set import answers

        return answers(self.stores, expression, engine, timeout, {**(slots or {}), **named})

    def answers_many(
        self, template: str | Template, bindings: pl.DataFrame | Mapping[str, Sequence[Any]]
    ) -> pl.DataFrame:
        """The answers of a template for a table of bindings, all at once: (binding, node), sorted.

        ``template`` is an expression with slots, or the id of a template; ``bindings`` has a column per slot, of names,
        ``#keys``, or ids (integers). ``binding`` is the row's number, from 0.
        """
        from kbkit.answers.answer_set import answers_many
        from kbkit.answers.templates import as_template

        chosen = as_template(template)
        return answers_many(self.session, self.session.resolved(chosen.tree(), chosen.expression), bindings)

    def sample(
        self,
        template: str | Template,
        n: int = 10,
        seed: int = 0,
        min_answers: int | None = None,
        max_answers: int = 20,
        weight: str = "uniform",
        parts: Sequence[str] = (),
        constraints: Mapping[str, float] | None = None,
    ) -> pl.DataFrame:
        """Draw ``n`` distinct groundings of a template with ``min_answers`` to ``max_answers`` answers, reproducibly.

        A column per slot (``#key``) and its name, expression, question, answers (their number). ``weight`` is
        ``uniform`` over groundings or ``popular`` (in proportion to the degrees of the slots' nodes). For templates
        with parts (QUEST's), ``parts`` says what a part may be, and ``min_answers`` is 2; ``constraints`` changes
        fields of :class:`kbkit.answers.sample_sets.Constraints`, which otherwise hold for these templates only.
        """
        from kbkit.answers.sample import sample
        from kbkit.answers.sample_sets import Constraints, Request
        from kbkit.answers.templates import as_template

        chosen = as_template(template)
        least = min_answers if min_answers is not None else 2 if chosen.letters else 1
        bounds = Constraints.of(dict(constraints or {})) if constraints or chosen.letters else None
        choices = [parts] if isinstance(parts, str) else list(parts)
        return sample(self.session, chosen, Request(n, seed, least, max_answers, weight, bounds), choices)

    def sets(self) -> pl.DataFrame:
        """The sets saved in the workspace: set, type, nodes, saved, generation, expression."""
        from kbkit.graph.overview import sets

        return sets(self.workspace)

    def templates(self) -> pl.DataFrame:
        """The templates that ship with kbkit: template, fits (this KB), answer, expression, question, problem."""
        from kbkit.answers.templates import listed, shipped

        return listed(shipped(), self.schema)

    def suggest_templates(self, limit: int = 20, seed: int = 0) -> pl.DataFrame:
        """One- and two-hop metapaths and meeting pairs of the schema, those first that have the most groundings with 1
        to 20 answers: template, expression, answer, question (to be edited), groundings (estimated).
        """
        from kbkit.answers.suggest import suggest

        return suggest(self.session, limit, seed)

    # -- export -------------------------------------------------------------------------------------------------------

    def export(
        self,
        to: str,
        out: str | os.PathLike[str],
        *,
        flat: bool = False,
        gzip: bool = False,
        replace: bool = False,
        progress: Listener | None = None,
    ) -> Written:
        """Write the KB as ``parquet``, ``csv``, ``ntriples`` or ``kgtk``; see :func:`kbkit.export.export`."""
        from kbkit.export import export

        return export(self.stores, to, out, flat=flat, gzip=gzip, replace=replace, progress=progress)

    # -- check --------------------------------------------------------------------------------------------------------

    def check(self, progress: Callable[[str, int, int], None] | None = None) -> list[tuple[str, str]]:
        """Compare the stores with each other and the files with their checksums: (what, problem or nothing)."""
        from kbkit.stores.check import check

        return check(self.stores, progress)
