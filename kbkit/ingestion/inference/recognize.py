"""Recognize files that a shipped recipe reads: by their endings and the names of their columns."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kbkit.errors import KbError
from kbkit.ingestion import archives, source_files, sources
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.inference import dialect

_RDF = frozenset({".nt", ".nq", ".ttl", ".trig", ".rdf", ".owl", ".n3", ".jsonld"})
_GRAPHS = frozenset({".graphml", ".gexf", ".gml"})
_BY_COLUMNS = ("kgtk", "kgx", "table")
"""Recipes whose files have columns of fixed names."""


_SPLITS = ("train", "valid", "dev", "test")
_QUERIES = frozenset({"train.jsonl", "val.jsonl", "test.jsonl"})
"""Files of QUEST's queries, which lie beside its documents."""
_TEXT = (".tsv", ".txt")
_VAGUE = frozenset({"type", "label"})
"""Alternative names of the relation which mean something else in exports of other programs (Gephi: ``Undirected``)."""


def recognize(paths: Sequence[Path]) -> str | None:
    """Return the name of the recipe for files and folders, or None if their columns must be looked at."""
    listed = [path for path in paths if path.is_file() and not archives.is_archive(path)]
    inside = [member for path in paths if path not in listed for member in _files(path)]
    endings = {"" if _has_context_elsewhere(path) else source_files.suffix(path) for path in (listed or inside)}
    if endings and (endings <= _RDF or (not listed and endings & _RDF)):
        return "rdf"
    if endings and endings <= _GRAPHS:
        return "graph"
    splits = [path for path in (*listed, *inside) if path.stem in _SPLITS and path.is_file()]
    texts = all(source_files.suffix(path) in _TEXT for path in splits)
    if len(splits) > 1 and texts and all(dialect.detect(path).columns == dialect.TRIPLE for path in splits):
        return "triples"
    if any(path.name == "documents.jsonl" for path in inside) and {path.name for path in inside} & _QUERIES:
        return "quest"
    known = {_by_content(path) for path in (*listed, *inside) if path.is_file()} - {""}
    if len(known) == 1:
        return known.pop()
    return next((name for name in _BY_COLUMNS if _fits(name, paths)), None)


def _has_context_elsewhere(path: Path) -> bool:
    """Return whether a file is JSON-LD whose terms are defined at an address, so that it is read as other JSON."""
    if source_files.suffix(path) != ".jsonld":
        return False
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as handle:
            return bool(_REMOTE_CONTEXT.search(handle.read(_START)))
    except (OSError, EOFError, zlib.error):
        return False


def _by_content(path: Path) -> str:
    """Return the recipe for a file by its beginning, empty if that does not tell."""
    if source_files.suffix(path) not in _MARKS:
        return ""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as handle:
            start = handle.read(_START).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError, zlib.error):
        return ""  # loading it reports the reason
    return next((name for name, mark in _MARKS[source_files.suffix(path)] if mark.search(start)), "")


_START = 1 << 16
_REMOTE_CONTEXT = re.compile(rb'"@context"\s*:\s*(\[[^]{}]*)?"https?://')
_NEO4J_COLUMNS = r"^[^\n]*(?<![\w:]):(ID|START_ID|END_ID)\b|^[^\n]*:ID(\(|\b)|^\W?_id\W[^\n]*\b_labels\b"
_NEO4J_JSON = r'"type"\s*:\s*"(node"[^}]*"(labels?|properties)|relationship"[^}]*"(labels?|start|id))"\s*:'
_NODE_LINK = r'^\s*\{\s*"(directed|multigraph|graph|nodes|links|elements)"\s*:(?![\s\S]*"(category|subject)"\s*:)'
_CSV = [("neo4j", re.compile(_NEO4J_COLUMNS))]
_JSON = [("neo4j", re.compile(_NEO4J_JSON)), ("graph", re.compile(_NODE_LINK))]
_XML = [("rdf", re.compile(r"<rdf:RDF[\s>]")), ("graph", re.compile(r"<(graphml|gexf)[\s>]"))]
_MARKS = {
    ".xml": _XML,
    **dict.fromkeys((".csv", ".tsv"), _CSV),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _JSON),
}


def _files(folder: Path) -> Iterator[Path]:
    yield from archives.members(folder) if archives.is_archive(folder) else sorted(folder.iterdir())


def _fits(name: str, paths: Sequence[Path]) -> bool:
    """Return whether the recipe reads all the files, and they have the columns that it requires, edges among them."""
    recipe = recipes.load(name)
    try:
        files = source_files.find_files(recipe, paths, {})
        every = source_files.tables_in(paths)
    except KbError:
        return False
    taken = [path for part in files.values() for path in part]
    if set(taken) != set(every) or any(not path.is_file() for path in taken) or not files.get("edges"):
        return False
    for spec in recipe.files:
        for path in files[spec.name]:
            columns = {name.casefold() for name in _columns(path)}
            for column in spec.required:
                others = () if name == "kgtk" else spec.names.get(column, ())  # which fit other lists of edges too
                if not columns & {other.casefold() for other in (column, *others) if other not in _VAGUE}:
                    return False
    return True


def _columns(path: Path) -> Collection[str]:
    """Return the names of the columns of a delimited file or a Parquet file; none of another format."""
    kind = source_files.format_of(path)
    if kind in ("csv", "tsv"):
        detected = dialect.detect(path)
        standard = detected.delimiter == ("," if kind == "csv" else "\t") and detected.encoding == "utf-8"
        return (
            sources.header(path, detected.delimiter, detected.quote)
            if standard and not detected.columns and not detected.skip
            else ()
        )
    if kind == "parquet":
        import pyarrow.parquet

        try:
            return list(pyarrow.parquet.read_schema(path).names)
        except (OSError, ValueError):  # loading it reports the reason
            return ()
    return ()
