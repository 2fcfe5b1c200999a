"""kbkit: an embedded toolkit for knowledge graphs whose nodes carry text.

    import kbkit

    with kbkit.open("world.kb") as kb:
        kb.sql("SELECT name, area_km2 FROM country ORDER BY area_km2 DESC LIMIT 5")
        kb.sparql("SELECT ?name { country:FRA rel:borders ?c . ?c rdfs:label ?name }")
        kb.answers('country:"France" -> [borders] -> country').nodes()
        kb.search("landlocked and mountainous", type="country")

Importing this module loads no engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.errors import KbError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from kbkit.display.progress import Listener
    from kbkit.kb import KnowledgeBase

__version__ = "0.1.0"
__all__ = [
    "KbError",
    "__version__",
    "from_frames",
    "from_networkx",
    "ingest",
    "merge",
    "open",
    "update",
]  # without KnowledgeBase, whose import is slow

PathLike = str | os.PathLike[str]


def __dir__() -> list[str]:
    """List the public API only, for completion."""
    return sorted([*__all__, "KnowledgeBase"])


def __getattr__(name: str) -> Any:
    """Load ``KnowledgeBase`` on first use."""
    if name == "KnowledgeBase":
        from kbkit.kb import KnowledgeBase

        return KnowledgeBase
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def open(path: PathLike) -> KnowledgeBase:  # noqa: A001 - kbkit.open, as gzip.open
    """Open a KB directory for reading. Raises :class:`kbkit.errors.NotAKbError` for any other path."""
    from kbkit.kb import KnowledgeBase

    return KnowledgeBase(path)


def ingest(
    source: PathLike,
    *paths: PathLike,
    out: PathLike,
    options: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    files: Mapping[str, PathLike] | None = None,
    name: str = "",
    title: str = "",
    licence: str = "",
    base: str = "",
    symmetric: Sequence[str] = (),
    keys: Mapping[str, Sequence[str]] | None = None,
    links: Mapping[str, str] | None = None,
    nodes: Sequence[str] = (),
    texts: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    named: Mapping[str, str] | None = None,
    omit: Sequence[str] = (),
    date_order: str = "",
    dates: Mapping[str, str] | None = None,
    relation_names: Mapping[str, str] | None = None,
    no_header: bool = False,
    embedder: str = "static",
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    analyzer: str = "english",
    relations: bool = False,
    chunk_words: int = 256,
    chunk_overlap: int | None = None,
    chunk_characters: int = 0,
    stores: Sequence[str] | None = None,
    replace: bool = False,
    sync: bool = False,
    skip_dangling: bool = False,
    merge_duplicates: bool = False,
    progress: Listener | None = None,
) -> KnowledgeBase:
    """Build a KB from ``paths`` with a recipe, and open it.

    ``source`` is the recipe's name or folder, or the first file: then a recipe is recognized, or inferred and written
    next to the KB (``my.recipe`` for ``my.kb``). ``options`` are the recipe's options. ``columns`` maps its column
    names to those of the files (``{"head": "subject"}``); ``files`` maps the recipe's file names to paths. ``name``,
    ``title``, ``licence`` and ``base`` (of IRIs) describe the KB in place of the recipe. Edges of ``symmetric``
    relations are stored in both directions. ``replace`` builds the next generation of an existing KB.
    With ``sync``, the KB is kept in step with its files: if it exists, they are read with its own recipe, and a
    generation is built only if nodes, edges or texts changed.
    ``skip_dangling`` skips edges and texts of unknown nodes, and ``merge_duplicates`` merges nodes with the same key;
    otherwise both are errors.

    Eleven parameters correct an inferred recipe. Tables are named like their files without the ending. ``keys`` gives
    the columns of a table's key (none: the number of the row), ``links`` the table that a column ``table.column``
    refers to (``""``: none), ``nodes`` columns whose values become nodes, ``texts`` columns of prose, ``types`` the
    node type of a table, or of the values of a column, ``named`` the column of its names (``""``: none), and ``omit``
    columns to leave out; ``date_order`` says whether 3/4/2024 is in April (``"dmy"``) or in March (``"mdy"``).
    ``dates`` makes dates (``"dmy"``, ``"mdy"``) or years (``"year"``) of columns with several forms of dates;
    ``relation_names`` gives the relation of a table of edges (after ``^``, they run the other way). With
    ``no_header``, the first lines of delimited files are data. A warning names what is skipped, such as empty sheets,
    and columns with texts that mean missing values.

    ``embedder`` is the embedding model; ``query_prefix`` and ``document_prefix`` are prepended to its input (default:
    the model's known prefixes). Documents longer than ``chunk_words`` are also embedded in chunks that overlap by
    ``chunk_overlap`` words (default: a quarter; ``chunk_words=0``: no chunks), or in chunks of ``chunk_characters``.
    ``relations`` adds the names of neighbours to a node's document in full text and vectors. ``analyzer`` is the
    language of full text. ``stores`` limits the stores that are built; ``kbkit build`` adds others later.

    ``progress`` is called with a :class:`kbkit.display.progress.Event`, one at a time, from any thread.
    """
    given = locals()
    from kbkit.assets import arguments

    arguments.check_arguments(ingest, given)
    _build(os.fspath(source), [Path(path) for path in paths], Path(out), given)
    return open(out)


def _build(source: str, paths: Sequence[Path], out: Path, given: Mapping[str, Any]) -> None:
    """Build a KB with the arguments of :func:`ingest`; warn of what the inference of a recipe leaves out."""
    import warnings
    from dataclasses import replace

    from kbkit.assets import operations
    from kbkit.ingestion.build import ingest as build
    from kbkit.ingestion.inference.source import resolved
    from kbkit.ingestion.request import IngestRequest
    from kbkit.ingestion.sync import is_started, sync

    values = {name: value for name, value in given.items() if value is not None}
    values["files"] = {file: Path(path) for file, path in (given["files"] or {}).items()}
    request = operations.build(IngestRequest, values, source=source, paths=paths)
    if is_started(out, request):
        for note in sync(source, paths, out, request, given["progress"]).notes:
            warnings.warn(note, stacklevel=3)
        return
    with resolved(source, request.paths, out, request.corrections, sync=request.sync) as recognized:
        for note in recognized.inferred.notes if recognized.inferred else ():
            warnings.warn(note, stacklevel=3)
        inferred = recognized.inferred is not None
        request = replace(request, source=recognized.recipe, paths=recognized.paths, inferred=inferred)
        build(request, out, given["progress"])


def from_frames(nodes: Any, edges: Any = None, texts: Any = None, *, out: PathLike, **settings: Any) -> KnowledgeBase:
    """Build a KB from polars, pandas or Arrow tables, and open it.

    A table has the columns of the recipe ``table``: ``key`` (and ``type``, ``name``, ``aliases``, attributes) for
    nodes, ``head``, ``relation``, ``tail`` for edges, ``key``, ``field``, ``text`` for texts. Instead of one table,
    ``nodes`` can be a mapping of node types, ``edges`` of relations or of ``(head_type, relation, tail_type)``, and
    ``texts`` of fields, to tables without that column. The index of a pandas frame is a column if it has a name. Values
    of columns that have the same name in several tables get one type. Numbers in the columns of keys become text.

    ``settings`` are arguments of :func:`ingest`; by default, the KB has the name of its directory. Raises
    :class:`KbError` for other tables, and the errors of :func:`ingest`.
    """
    from kbkit.directory.temporary import TemporaryFolder
    from kbkit.ingestion.frames import named, write_frames

    with TemporaryFolder() as folder:
        files = write_frames(folder, nodes, edges, texts)
        with named(files):
            return ingest(
                "table", out=out, files=files, **{"name": Path(out).stem, "title": Path(out).stem, **settings}
            )


def from_networkx(graph: Any, *, out: PathLike, relation: str = "relation", **settings: Any) -> KnowledgeBase:
    """Build a KB from a networkx graph, and open it.

    The key of a node is the networkx node as text. Its attributes ``type``, ``name`` (or ``label``), ``aliases`` and
    ``types`` have the meaning of the recipe ``table``, others are attributes. The relation of an edge is its attribute
    ``relation``, otherwise its key in a multigraph if that is text, otherwise ``link``. The relations of an undirected
    graph are symmetric. Sets become sorted lists. ``settings`` are arguments of :func:`ingest`. Raises
    :class:`KbError` for other values that no table holds, and for different nodes with the same text.
    """
    from kbkit.readers.graphs.model import networkx_tables

    nodes, edges = networkx_tables(graph, relation, merge=bool(settings.get("merge_duplicates")))
    both = () if graph.is_directed() else tuple(edges["relation"].unique(maintain_order=True))
    return from_frames(nodes, edges, out=out, **{"symmetric": both, **settings})


def update(
    path: PathLike,
    *,
    nodes: Sequence[PathLike] | PathLike = (),
    edges: Sequence[PathLike] | PathLike = (),
    texts: Sequence[PathLike] | PathLike = (),
    delete: Sequence[PathLike] | PathLike = (),
    entities: Sequence[PathLike] | PathLike = (),
    columns: Mapping[str, str] | None = None,
    skip_dangling: bool = False,
    progress: Listener | None = None,
) -> KnowledgeBase:
    """Change the KB at ``path`` without its source: build the next generation and open it.

    The files have the format of the recipe ``table``: ``nodes`` to add or change (empty values leave the old ones),
    ``edges`` to add, ``texts`` that replace those with the same node and field. ``delete`` lists nodes (``key``,
    ``type``), edges (``head``, ``relation``, ``tail``) and texts (``key``, ``field``) to delete first. A
    Wikidata KB takes changed ``entities`` in JSON instead, and ``delete`` lists ids. See :func:`ingest` for the other
    arguments.
    """
    given = locals()
    from kbkit.assets import arguments, operations

    arguments.check_arguments(update, given)
    from kbkit.ingestion.request import Delta
    from kbkit.ingestion.update import update as build

    def listed(paths: Sequence[PathLike] | PathLike) -> list[Path]:
        return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(p) for p in paths]

    files = {name: listed(given[name]) for name in ("nodes", "edges", "texts", "delete", "entities")}
    delta = operations.build(Delta, {**given, **files, "columns": columns or {}})
    build(Path(path), delta, progress)
    return open(path)


def merge(path: PathLike, decisions: Any, *, progress: Listener | None = None) -> KnowledgeBase:
    """Merge nodes of the KB at ``path`` that are the same thing: build the next generation and open it.

    ``decisions`` is the frame of :meth:`kbkit.kb.KnowledgeBase.duplicates`, or a file of it, with ``merge`` in the
    column ``decision`` of the pairs to merge; pairs with ``apart`` or nothing stay. The node ``key`` gets the names and
    the key of ``other_key`` as aliases, its texts and edges, and its attributes where it has none. Raises
    :class:`KbError` for other decisions, for pairs that contradict each other, and for unknown nodes.
    """
    from kbkit.ingestion.merge_file import decided, read_decisions
    from kbkit.ingestion.update import merge as build

    is_path = isinstance(decisions, str | os.PathLike)
    file = Path(decisions) if is_path else None
    build(Path(path), read_decisions(file) if file else decided(decisions, "the frame"), file, progress)
    return open(path)


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the magic ``%kb``; IPython calls this for ``%load_ext kbkit``."""
    _magic().load(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Close the KB that ``%kb`` opened, and unregister the magic."""
    _magic().unload(ipython)


def _magic() -> Any:
    import importlib

    # By name, so that importing kbkit does not make every module depend on the front ends.
    return importlib.import_module("kbkit.notebook.magic")
