"""KnowledgeBase: opens a KB directory, owns its stores, and exposes the other packages as methods."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from kbkit.assets.arguments import checked, invalid
from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import Manifest
from kbkit.errors import KbError
from kbkit.schema import Relation, Schema
from kbkit.stores import Stores

if TYPE_CHECKING:
    import networkx as nx
    import polars as pl
    from torch_geometric.data import HeteroData

    from kbkit.agent.actions import Explorer
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.engines import Engine
    from kbkit.answers.scope import Scope
    from kbkit.answers.session import Session
    from kbkit.answers.syntax import Value
    from kbkit.answers.templates import Template
    from kbkit.assets.queries import QueryFile
    from kbkit.directory.workspace import Workspace
    from kbkit.display.node_data import NeighborGroup
    from kbkit.display.progress import Listener
    from kbkit.export import ExportResult
    from kbkit.graph.algorithms.run import GraphAlgorithms
    from kbkit.graph.grown import GrownGraph
    from kbkit.graph.neighbourhoods import Neighbourhood
    from kbkit.graph.nodes import Node
    from kbkit.graph.pages import Page
    from kbkit.graph.paths import Paths
    from kbkit.questions.ask import AskResult
    from kbkit.search.hits import SearchResults
    from kbkit.search.hybrid import Queries, Search
    from kbkit.search.learned import LearnedRanking
    from kbkit.search.rerank import Reranker
    from kbkit.search.settings import SearchOptions
    from kbkit.sparql.engines import SparqlEngine
    from kbkit.sparql.rewrite import Rewritten
    from kbkit.sparql.view import View
    from kbkit.sparql.why_empty import EmptyResult
    from kbkit.stores.adjacency import Adjacency
    from kbkit.stores.embedders import Embedder
    from kbkit.stores.embeddings import Embeddings
    from kbkit.stores.sparql_process import Results
    from kbkit.stores.tables import Tables
    from kbkit.stores.text import Text
    from kbkit.stores.triples import TripleStore
    from kbkit.stores.vectors import Vectors

S = TypeVar("S")


Positional = Sequence[Any]
"""Values of ``?``. The annotation is not checked for types, because the method has a better hint."""


@checked
class KnowledgeBase:
    """A KB opened for reading.

    Stores open on first use; ``close`` (or ``with``) closes them. The generation that was live at opening stays in use,
    even after a build publishes a newer one. Threads can share the object. Pickling saves the path and the generation,
    which are opened again; a forked process opens its own stores.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.stores = Stores(path)

    def __reduce__(self) -> tuple[Callable[[Stores], KnowledgeBase], tuple[Stores]]:
        """Pickle as the stores, which are pickled as path and generation."""
        return _of_stores, (self.stores,)

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
    def triples(self) -> TripleStore:
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
    def embeddings(self) -> Embeddings:
        """The graph embeddings."""
        return self.stores.embeddings

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
        """The state shared by the answer expressions of this KB."""
        from kbkit.answers.session import Session

        return Session.of(self.stores)

    # -- overview -----------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """Node types, relations, attributes and text fields."""
        return self.stores.schema

    def info(self) -> dict[str, Any]:
        """Return counts, average degree (2 edges / nodes), tokens, sizes, build times and versions as plain data."""
        from kbkit.graph.overview import info

        return info(self.schema, self.manifest, self.folder)

    def types(self) -> pl.DataFrame:
        """Return node types: type, nodes, other_nodes (of another primary type), attributes, sql_name, description."""
        from kbkit.graph.overview import types

        return types(self.schema)

    def relations(self) -> pl.DataFrame:
        """Return signatures: relation, head_type, tail_type, edges, symmetric, attributes, sql_name, label."""
        from kbkit.graph.overview import relations

        return relations(self.schema)

    def find(self, reference: str | int) -> int:
        """Return the id of a node: an id, ``type#key``, ``type:name``, a key, a name or an alias, tried in that order.

        Names match exactly first, then case-insensitively. Raises :class:`UnknownNameError` with the closest names, and
        :class:`KbError` if several nodes match.
        """
        return self.stores.nodes.find(reference)

    def node(self, reference: str | int) -> Node:
        """Return a node with its attributes and texts; see :meth:`find` for ``reference``."""
        from kbkit.graph.nodes import describe

        return describe(self.stores, reference)

    def popular(self, type: str | None = None, limit: int = 10) -> pl.DataFrame:  # noqa: A002
        """Return the nodes (of a type) with the most neighbours: id, key, type, name, neighbours."""
        from kbkit.graph.nodes import popular

        return popular(self.stores, type, limit)

    def well_known(self, limit: int = 10) -> pl.DataFrame:
        """Return nodes to begin with: those with the most neighbours of each type in turn; columns as :meth:`popular`.

        Of a type with an attribute that counts people, such as votes, they are those with the most.
        Types whose nodes are values that many others share, such as years and genres, are left out.
        """
        from kbkit.graph.nodes import well_known

        return well_known(self.stores, limit)

    def page(self, reference: str | int, limit: int = 5) -> Page:
        """Return the page of a node: attributes, texts, and the first ``limit`` neighbours of each group.

        A group is a relation, a direction and the neighbours' type.
        """
        from kbkit.graph.pages import page

        return page(self.stores, reference, limit)

    def page_group(
        self,
        reference: str | int,
        relation: str,
        direction: str,
        type: str,  # noqa: A002
        limit: int = 50,
        offset: int = 0,
    ) -> NeighborGroup:
        """Return a group of a node's page with the ``limit`` neighbours after the first ``offset``.

        ``relation``, ``direction`` (out or in) and ``type`` are those of a group in :meth:`page`, and so is the result.
        """
        from kbkit.graph.pages import page_group

        return page_group(self.stores, reference, relation, direction, type, limit, offset)

    def neighbors(self, reference: str | int, relation: str | None = None, limit: int | None = None) -> pl.DataFrame:
        """Return neighbours: relation, direction (out or in), id, key, type, name, and the edge's attributes.

        ``limit`` applies to each relation and direction. Symmetric relations are listed as out only. Parallel edges
        with different attributes are separate rows.
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
        *,
        longer: bool = False,
        max_degree: int | None = None,
    ) -> Paths:
        """Return the shortest paths between two nodes, ignoring edge direction; empty if all are longer.

        Paths have at most ``max_steps`` edges. The first ``limit`` are returned, those through nodes of low degree
        first (:mod:`kbkit.graph.paths`). ``relations`` restricts the edges, ``types`` the nodes between the ends. With
        ``longer``, longer paths without hubs compete with them and fill up. With ``max_degree``, nodes with more
        neighbours are not passed through.
        """
        from kbkit.graph.paths import paths

        return paths(self.stores, start, end, max_steps, limit, relations, types, longer=longer, max_degree=max_degree)

    def around(
        self,
        node: str | int,
        hops: int = 1,
        limit: int = 150,
        relations: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
    ) -> Neighbourhood:
        """Return the neighbourhood of a node within ``hops`` steps, ignoring edge direction.

        ``.write("graph.html")`` draws it. At most ``limit`` nodes are included, nearest first; from a hop with too many
        nodes, a fair share of each relation and preceding node is taken. ``relations`` restricts the edges, ``types``
        the nodes.
        """
        from kbkit.graph.neighbourhoods import neighbourhood

        return neighbourhood(self.stores, node, hops, limit, relations, types)

    def grow(
        self,
        node: str | int,
        opened: Iterable[str | int] = (),
        limit: int = 25,
        more: Mapping[tuple[str | int, str, int], int] | None = None,
    ) -> GrownGraph:
        """Return a graph that grows node by node: a node with its neighbours, and those of the nodes in ``opened``.

        Of each relation and direction of an opened node, the ``limit`` neighbours with most neighbours are included.
        ``more`` adds to the limit by (node, relation, direction), where the direction is 1 (out), -1 (in) or 0
        (symmetric). Opened nodes that the graph does not reach are ignored. Raises :class:`KbError` for more than 1,000
        nodes.
        """
        from kbkit.graph.grown import grown

        find = self.stores.nodes.find
        for key, count in (more or {}).items():
            if not isinstance(key, tuple) or len(key) != 3 or key[2] not in (1, -1, 0) or not isinstance(count, int):
                hint = "Use numbers by (node, relation, direction), with direction 1, -1 or 0"
                raise invalid("more", {key: count}, hint)
        extra = {(find(end), relation, way): count for (end, relation, way), count in (more or {}).items()}
        return grown(self.stores, find(node), [find(end) for end in opened], limit, extra)

    def related(
        self,
        reference: str | int,
        k: int = 10,
        type: str | None = None,  # noqa: A002
        min_degree: int = 0,
    ) -> pl.DataFrame:
        """Return the nodes with the most similar graph embeddings: rank, id, key, type, name, degree, score.

        ``score`` is the inner product of the embeddings (a cosine); only nodes with a positive score are returned.
        ``type`` is the type of the results (default: that of the node), ``min_degree`` their minimum number of
        neighbours. Needs the store ``embeddings``, which ``kbkit build KB embeddings`` adds.
        """
        from kbkit.graph.related import related

        return related(self.stores, reference, k, type, min_degree)

    @property
    def graph(self) -> GraphAlgorithms:
        """Algorithms on the graph, such as ``kb.graph.pagerank()``; see :class:`kbkit.graph.algorithms.run`."""
        from kbkit.graph.algorithms.run import GraphAlgorithms

        return GraphAlgorithms(self.stores)

    def degrees(self, reference: str | int) -> list[tuple[Relation, str, int]]:
        """Return (relation, direction, number of neighbours) for every relation the node has."""
        from kbkit.graph.nodes import degrees

        return degrees(self.stores, reference)

    # -- query --------------------------------------------------------------------------------------------------------

    def sql(
        self, text: str, values: Positional | None = None, /, *, timeout: float | None = None, **params: Any
    ) -> pl.DataFrame:
        """Run SQL; ``$name`` is replaced by the keyword argument ``name``, each ``?`` or ``$1`` by the list ``values``.

        ``timeout`` is in seconds (None: no limit).
        The statement can read the KB but no files. Raises :class:`QueryError` and :class:`QueryTimeoutError`.
        """
        if values is None:
            return self.tables.frame(text, params, timeout)
        if params:
            raise KbError("SQL takes values by position or by name, not both", "Use $name for all of them, or ?")
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
            raise invalid("values", values, "Use a list for ?, or keywords for $k: kb.sql(text, k='a')")
        return self.tables.frame(text, list(values), timeout)

    def sparql(
        self,
        text: str,
        timeout: float | None = 60.0,
        *,
        dialect: str | None = None,
        max_rows: int | None = None,
        engine: SparqlEngine = "auto",
        **params: Any,
    ) -> pl.DataFrame:
        """Run SPARQL with the KB's prefixes; ``$name`` is replaced by the keyword argument ``name``.

        A string in ``<`` and ``>`` is an IRI, any other string a literal. ``timeout`` is in seconds (None: no limit).
        ``dialect`` is ``sparql`` or ``wikidata`` (queries of the Wikidata Query Service); default: the KB's dialect.
        ``max_rows`` limits the result. ``engine`` is ``columns`` (the query is compiled to SQL), ``oxigraph``, or
        ``auto``, which chooses by the query (:mod:`kbkit.sparql.engines`); all return the same result.
        Raises :class:`QuerySyntaxError` with line and column, :class:`QueryTimeoutError`, :class:`QueryError`.
        """
        from kbkit.sparql.run import query

        return query(self.stores, text, timeout, dialect, max_rows, params, engine=engine).warned().frame()

    def sparql_terms(
        self,
        text: str,
        timeout: float | None = 60.0,
        *,
        dialect: str | None = None,
        max_rows: int | None = None,
        engine: SparqlEngine = "auto",
        **params: Any,
    ) -> pl.DataFrame:
        """Run SPARQL as :meth:`sparql` does; each value is an RDF term.

        A term is a structure of ``type`` (uri, literal, bnode or triple), ``value`` (text, so that decimals are exact),
        ``datatype`` (an IRI; null for plain strings) and ``language`` (null: none), as in SPARQL Results JSON. A
        variable without a value is null.
        """
        from kbkit.sparql.run import query

        return query(self.stores, text, timeout, dialect, max_rows, params, engine=engine).warned().terms()

    def sparql_results(
        self,
        text: str,
        format: str | None = None,  # noqa: A002
        timeout: float | None = 60.0,
        *,
        dialect: str | None = None,
        max_rows: int | None = None,
        engine: SparqlEngine = "auto",
        **params: Any,
    ) -> Results:
        """Run SPARQL as :meth:`sparql` does; the result is bytes in a published format, for other libraries.

        ``format`` is ``sparql-json``, ``sparql-xml``, ``sparql-csv`` or ``sparql-tsv`` for SELECT and ASK, and
        ``turtle``, ``ntriples``, ``jsonld`` or ``rdfxml`` for CONSTRUCT and DESCRIBE (default: JSON and Turtle).
        The query runs inside ``with``, where ``read()`` returns all bytes and iteration returns chunks.
        """
        from kbkit.sparql.run import query
        from kbkit.stores.sparql_formats import DEFAULT, only

        formats = DEFAULT if format is None else only(format)
        return query(self.stores, text, timeout, dialect, max_rows, params, engine=engine).warned().results(formats)

    def sparql_view(
        self,
        text: str,
        timeout: float | None = 60.0,
        *,
        dialect: str | None = None,
        max_rows: int | None = None,
        engine: SparqlEngine = "auto",
        **params: Any,
    ) -> View:
        """Run SPARQL as :meth:`sparql` does; ``.write("map.svg")`` draws the result.

        A comment ``#defaultView:Map`` in the query chooses the view, as in the Wikidata Query Service: Table,
        ImageGrid, Map, Timeline, BarChart, LineChart, ScatterChart, Graph or Tree. Its options ``hide`` and ``layer``
        are used: ``#defaultView:Map{"hide": ["?coordinates"], "layer": "?kind"}``.
        """
        from kbkit.sparql.run import query

        return query(self.stores, text, timeout, dialect, max_rows, params, engine=engine).warned().view()

    def rewrite(self, text: str, dialect: str | None = None, max_rows: int | None = None, **params: Any) -> Rewritten:
        """Return the query as the engine receives it (``text``) and notes on the changes; see :meth:`sparql`."""
        from kbkit.sparql.run import query

        return query(self.stores, text, None, dialect, max_rows, params).rewritten()

    def why_empty(self, text: str, timeout: float | None = 60.0, **params: Any) -> EmptyResult | None:
        """Return why a SPARQL query has no rows: the patterns that exclude each other, and the solutions of each.

        ``.lines`` is the explanation as text. None: the query has rows, or the reason is unknown.
        """
        from kbkit.sparql.run import query

        return query(self.stores, text, timeout, params=params).why_empty()

    @cached_property
    def explore(self) -> Explorer:
        """Exploration actions for a person or a model: search, entry, examples, sparql."""
        from kbkit.agent.actions import Explorer

        return Explorer(self.stores)

    def run(
        self,
        query: QueryFile,
        values: Mapping[str, str] | None = None,
        timeout: float | None = 60.0,
        *,
        allow_files: bool = False,
    ) -> pl.DataFrame:
        """Run a query file (:func:`kbkit.assets.queries.load`) with parameter values as text.

        Values are converted to the types that the query declares; without declarations, values that look like numbers
        are numbers. ``allow_files`` lets SQL read and write files.
        """
        from kbkit.assets.arguments import invalid
        from kbkit.assets.parameters import convert_all
        from kbkit.assets.queries import QueryFile

        if not isinstance(query, QueryFile):
            raise invalid("query", query, "Use a query of kbkit.assets.queries.load")
        params = convert_all(self, query, values or {})
        if query.kind == "sparql":
            from kbkit.sparql.run import query as sparql_query

            return sparql_query(self.stores, query.text, timeout, params=params).frame()
        if not allow_files:
            return self.tables.frame(query.text, params, timeout)
        from kbkit.stores import tables

        opened = tables.Tables(
            self.folder / tables.FILE,
            files=True,
            sets=self.workspace.frame,
            extra_tables=self.schema.extra_tables,
            columns=self.stores.columns_file,
        )
        try:
            return opened.frame(query.text, params, timeout)
        finally:
            opened.close()

    def duplicates(
        self,
        type: str | None = None,  # noqa: A002
        k: int | None = None,
        threshold: float = 0.85,
    ) -> pl.DataFrame:
        """Find nodes of one type that may be the same thing, best ``k`` pairs first (None: all).

        Columns: ``score`` (0 to 1), ``type``, ``key`` and ``name``, ``other_key`` and ``other_name``, the evidence, the
        ids ``id`` and ``other_id``, and an empty ``decision``. ``name_score`` is the similarity of the most similar
        names or aliases; ``neighbors`` is the number of neighbours by the same relation in common, ``same`` and
        ``differ`` list attributes with their values. Half of the neighbours and at least two in common, or two equal
        values that few nodes have and no different one, raise the score by half of what is missing to 1; attributes
        that mostly differ lower it by up to 0.15. Names of the same words in another order, and aliases, score less
        than equal ones. Names with different numbers are no candidates. The node with more neighbours comes first.
        Nothing is merged: fill in the decisions, and use :func:`kbkit.merge`.
        """
        from kbkit.graph.duplicates import duplicates

        return duplicates(self.stores, type, k, threshold)

    def iri(self, reference: str | int) -> str:
        """Return the IRI of a node."""
        node = self.stores.nodes.row(self.find(reference))
        return self.schema.node_iri(node.type, node.key)

    def search(
        self,
        query: str,
        k: int = 20,
        mode: str = "auto",
        within: Scope = None,
        type: str | None = None,  # noqa: A002
        explain: bool = False,
        *,
        rerank: str | Reranker | None = None,
        embedder: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResults:
        """Search names and texts: rank, id, key, type, name, score, one score per component, snippet, weak.

        ``mode`` is ``bm25`` (words; ``"quoted"`` phrases must occur), ``dense`` (embeddings), ``multivector``
        (embeddings of chunks), ``hybrid`` (bm25 and dense, fused), ``relational`` (hybrid, with answers first if the
        query can be read as a question), ``learned`` (see :meth:`learn_ranking`) or ``auto`` (hybrid, bm25 in a KB
        without vectors, dense in one without text, the learned ranking if there is one, and relational for queries
        that are read with confidence). ``within`` (an answer expression, an answer set or
        ids) and ``type`` filter the candidates before the top ``k`` are chosen. Nodes that the query names rank first.
        ``weak`` hits have no word of the query and are no more similar than random queries; if no word of the query
        occurs in the KB, they are left out unless ``include_weak=True``. ``explain`` adds a column ``why``, and for a
        query that is read also ``linked``.
        ``rerank`` (``cross-encoder:MODEL``, ``llm:MODEL@URL`` or a :class:`kbkit.search.rerank.Reranker`) reorders the
        top results. ``embedder`` names the KB's embedding model at another endpoint; a different model is an error.
        ``options`` are :class:`kbkit.search.settings.SearchOptions`.
        """
        return self._search(mode, k, within, type, rerank, embedder, options).one(query, explain)

    def facets(
        self,
        nodes: Iterable[int],
        type: str,  # noqa: A002
        limit: int = 5,
        timeout: float | None = None,
    ) -> pl.DataFrame:
        """Count what nodes (ids), such as hits, have in common: attribute, heading, value, nodes, expression.

        These are the values of the attributes of ``type`` that have few distinct ones among the nodes, ranges of other
        numbers, and neighbours by each relation; the ``limit`` most frequent ones of each, and all ranges.
        ``attribute`` is that or the relation, ``heading`` says it in words, and ``expression`` is the filter to pass to
        :meth:`search` as ``within``. ``timeout`` is in seconds.
        """
        from kbkit.search.facets import facets

        return facets(self.stores, list(nodes), type, limit, timeout)

    def search_many(
        self,
        queries: Queries | str | os.PathLike[str],
        k: int = 100,
        mode: str = "hybrid",
        within: Scope = None,
        type: str | None = None,  # noqa: A002
        *,
        rerank: str | Reranker | None = None,
        embedder: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[SearchOptions],
    ) -> pl.DataFrame:
        """Search a batch of queries on all cores: query, rank, id, key, type, name, score; see :meth:`search`.

        ``queries`` is a file (:func:`kbkit.measures.files.read_queries`), a mapping from ids to texts, a list of texts
        (numbered from 1) or a frame with the columns ``query`` and ``text``. Without ``type``, the hits of a query are
        of the type in the column or field ``type``, if it has one. Quotation marks have no meaning unless
        ``quotes=True``. Rankings are complete: weak hits are not left out. ``progress`` is called with (done, total).
        """
        from kbkit.measures.files import read_queries
        from kbkit.search.query_types import search_by_type, types_of

        options.setdefault("quotes", False)
        if isinstance(queries, str | os.PathLike):
            queries = read_queries(queries)

        def searching(kind: str | None) -> Search:
            return self._search(mode, k, within, kind, rerank, embedder, options)

        own = [] if type else types_of(queries, self.schema)
        if own:
            return search_by_type(searching, queries, own, progress)  # type: ignore[arg-type] # a frame
        return searching(type).many(queries, progress)

    def learn_ranking(
        self,
        examples: str | os.PathLike[str],
        queries: str | os.PathLike[str] | None = None,
        split: str = "",
        *,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> LearnedRanking:
        """Learn from queries with their relevant nodes how to rank hits; kept if held-out queries are ranked better.

        ``examples`` are JSON lines of ``query`` and ``relevant`` (keys, ``type#key`` or names), STaRK's or QUEST's
        files, of which ``split`` selects some, or TREC judgements, the texts of which are in the file ``queries``.
        The result has the mean reciprocal rank of held-out queries ``before`` and ``after``, the 90% interval of the
        difference, ``low`` to ``high``, and ``is_better``: whether it was kept. Mode ``learned`` uses it, and ``auto``.
        ``progress`` is called with (done, total).
        """
        from kbkit.measures.ranked_pairs import read_pairs
        from kbkit.search.learn import learn

        return learn(self.stores, read_pairs(self.stores, examples, queries, split).pairs, progress, seed)

    def forget_ranking(self) -> bool:
        """Delete the learned ranking; return whether there was one."""
        from kbkit.search.learned import forget

        return forget(self.stores)

    def _search(
        self,
        mode: str,
        k: int,
        within: Scope,
        type_name: str | None,
        rerank: str | Reranker | None,
        embedder: str | None,
        options: SearchOptions,
    ) -> Search:
        from kbkit.search.run import search

        if embedder is not None:
            self.stores.use_embedder(embedder)
        return search(self.stores, mode, k, within, type_name, rerank, options)

    # -- questions ----------------------------------------------------------------------------------------------------

    def ask(self, question: str, alternatives: int = 5) -> AskResult:
        """Answer a question in plain English, without a language model.

        The result has the ``answers`` (an answer set), the ``expression`` that the question was read as, a
        ``confidence`` from 0 to 1, proofs (``why``), what the words were matched to, and other expressions it may mean.
        Raises :class:`KbError` for an empty question.
        """
        from kbkit.questions.ask import ask

        return ask(self.stores, question, alternatives)

    def choose(self, result: AskResult, reading: int | str, *, own: bool = False) -> AskResult:
        """Choose a reading of a question, remember it in the workspace, and return the result with its answers.

        ``reading`` is the number of one of ``result.offered(...)``, from 1, or its expression; with ``own``, it may be
        any other expression, such as a corrected reading. From now on,
        :meth:`ask` answers the question with it, whatever its case and punctuation. :meth:`choices` has all choices;
        :meth:`forget_choice` undoes one. Raises :class:`KbError` for a reading that the question does not have.
        """
        from kbkit.questions.ask import choose

        return choose(self.stores, result, reading, own=own)

    def choices(self) -> pl.DataFrame:
        """Return the chosen readings of questions, the last one first.

        Columns: question, expression, chosen (time, UTC), problem (why this generation cannot use it, or null).
        """
        from kbkit.questions.choices import choice_table

        return choice_table(self.stores)

    def forget_choice(self, question: str) -> bool:
        """Forget the reading that was chosen for a question; return whether there was one."""
        from kbkit.questions.choices import forget_choice

        return forget_choice(self.stores, question)

    def ask_many(
        self,
        questions: Queries | str | os.PathLike[str],
        k: int = 20,
        progress: Callable[[int, int], None] | None = None,
    ) -> pl.DataFrame:
        """Rank answers to a batch of questions: query, rank, id, key, type, name, score, expression, confidence.

        ``questions`` are as for :meth:`search_many`. Where :meth:`ask` is sure, its answers come first, with their
        ``expression``; the hits of a hybrid search follow, with a null ``expression``. ``confidence`` is that of
        :meth:`ask`, the same in all rows of a question. ``progress`` is called with (done, total).
        """
        from kbkit.measures.files import read_queries
        from kbkit.search.relational import ask_many

        if isinstance(questions, str | os.PathLike):
            questions = read_queries(questions)
        return ask_many(self.stores, questions, k, progress)

    def linked(self, question: str) -> pl.DataFrame:
        """Return the nodes a question names, as mode ``relational`` links them.

        Columns: text, how (exact, derived, stemmed or fuzzy), weight, id, key, type, name; one row per node. Several
        nodes can share a name.
        """
        from kbkit.questions.mentions import linked

        return linked(self.stores, question)

    def examples(self, limit: int = 6) -> pl.DataFrame:
        """Return questions that :meth:`ask` answers, about well-known nodes: question, expression, answers (number)."""
        from kbkit.questions.examples import examples

        return examples(self.stores, limit)

    # -- answers ------------------------------------------------------------------------------------------------------

    def answers(
        self,
        expression: str | Template,
        engine: str | Engine = "walk",
        timeout: float | None = None,
        slots: Mapping[str, Value] | None = None,
        **named: Value,
    ) -> AnswerSet:
        """Return the answers of an expression, of a template or of a template id. Evaluated lazily.

        Keyword arguments fill its ``<slots>`` with names or ``#keys``; use ``slots`` for slot names that are not valid
        keywords (``{"gene/protein": "BRCA1"}``). ``engine`` is ``walk`` (adjacency arrays), ``sql``, ``sparql`` or an
        :class:`kbkit.answers.engines.Engine`; all return the same set.
        Raises :class:`kbkit.answers.ExpressionError` with the position of the error.
        """
        from kbkit.answers.answer_set import answers

        return answers(self.stores, expression, engine, timeout, {**(slots or {}), **named})

    def answers_many(
        self, template: str | Template, bindings: pl.DataFrame | Mapping[str, Sequence[Any]]
    ) -> pl.DataFrame:
        """Return the answers of a template for a batch of bindings: (binding, node), sorted.

        ``template`` is an expression with slots, or a template id; ``bindings`` has one column per slot: names,
        ``#keys`` or integer ids. ``binding`` is the row number, from 0.
        """
        from kbkit.answers.many import answers_many
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
        distinct: bool = True,
    ) -> pl.DataFrame:
        """Draw ``n`` distinct groundings of a template that have ``min_answers`` to ``max_answers`` answers.

        Columns: each slot (``#key``) and its name, expression, question, answers (their number). ``weight`` is
        ``uniform`` over groundings or ``popular`` (proportional to the degrees of the slots' nodes). For templates with
        parts, as in QUEST, ``parts`` lists the candidates of a part and ``min_answers`` defaults to 2 instead of 1;
        ``constraints`` overrides fields of :class:`kbkit.answers.sample_sets.Constraints`. With ``distinct`` different
        slots name different nodes.
        """
        from kbkit.answers.sample import sample
        from kbkit.answers.sample_sets import Constraints, SampleRequest
        from kbkit.answers.templates import as_template

        chosen = as_template(template)
        least = min_answers if min_answers is not None else 2 if chosen.letters else 1
        bounds = Constraints.of(dict(constraints or {})) if constraints or chosen.letters else None
        choices = [parts] if isinstance(parts, str) else list(parts)
        return sample(
            self.session, chosen, SampleRequest(n, seed, least, max_answers, weight, bounds, distinct), choices
        )

    def to_networkx(self) -> nx.MultiDiGraph[str]:
        """Return all nodes and edges as a graph; see :func:`kbkit.answers.members.network`. For a part of the KB, use
        ``kb.answers(...).to_networkx()``.
        """
        return self.answers("*").to_networkx()

    def to_pyg(self) -> HeteroData:
        """Return the graph as ``HeteroData`` of PyTorch Geometric (extra ``pyg``).

        A node type has ``num_nodes``, ``id`` (in the KB), ``x`` (embeddings of the documents, if the KB has vectors)
        and its numeric attributes (float32, NaN for missing values); an edge type (head, relation, tail) has
        ``edge_index`` and its numeric attributes. ``kb.export("pyg", folder)`` writes the same arrays as NumPy files.
        """
        from kbkit.export.pyg import hetero_data

        return hetero_data(self.stores)

    def sets(self) -> pl.DataFrame:
        """Return the sets saved in the workspace: set, type, nodes, saved, generation, expression."""
        from kbkit.graph.overview import sets

        return sets(self.workspace)

    def templates(self) -> pl.DataFrame:
        """Return the shipped templates: template, fits (this KB), answer, expression, question, problem."""
        from kbkit.answers.templates import listed, shipped

        return listed(shipped(), self.schema)

    def suggest_templates(self, limit: int = 20, seed: int = 0) -> pl.DataFrame:
        """Suggest templates from the schema: metapaths of one and two hops, and pairs of paths that meet.

        Columns: template, expression, answer, question (a draft), groundings (the estimated number with 1 to 20
        answers, by which they are sorted).
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
    ) -> ExportResult:
        """Export in one of the formats ``parquet``, ``csv``, ``ntriples``, ``kgtk``, ``stark`` and ``pyg``; see
        :func:`kbkit.export.export`.
        """
        from kbkit.export import export

        return export(self.stores, to, out, flat=flat, gzip=gzip, replace=replace, progress=progress)

    # -- check --------------------------------------------------------------------------------------------------------

    def check(self, progress: Callable[[str, int, int], None] | None = None) -> list[tuple[str, str]]:
        """Compare the stores with each other and the files with their checksums: (store, problem or '')."""
        from kbkit.stores.check import check_stores

        return check_stores(self.stores, progress)

    def suspicions(self) -> pl.DataFrame:
        """Look for data that may be wrong: kind, type, part, finding, number, sql (lists the rows); of the kinds
        contradiction, extreme (values far below or above the others), spelling, placeholder (names such as *None*),
        equal names, isolated, missing, without (a relation that most nodes of the type have) and cardinality (edges per
        node).

        ``part`` is the attribute or relation. The 200 largest types and relations are looked at.
        """
        from kbkit.graph.suspicions import suspicions

        return suspicions(self.stores)


def _of_stores(stores: Stores) -> KnowledgeBase:
    kb = KnowledgeBase.__new__(KnowledgeBase)
    kb.stores = stores
    return kb
