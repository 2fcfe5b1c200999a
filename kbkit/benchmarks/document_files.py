"""Files of documents: ``documents.jsonl`` (title, text) and ``documents.nodes.jsonl`` (title, type, key)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from kbkit.benchmarks.documents import types_with_text
from kbkit.directory.files import replacing
from kbkit.errors import BadInputError, KbError, Option, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.measures.records import content, load_json

DOCUMENTS = "documents.jsonl"
NODES = "documents.nodes.jsonl"
"""The node of each document: title, type, key."""
DOCUMENT_HINT = 'Each line is {"title": ..., "text": ...}'
_NODE = pl.Schema(dict.fromkeys(("title", "type", "key"), pl.String))
_DOCUMENT = pl.Schema(dict.fromkeys(("title", "text", "type", "key"), pl.String))
_MARK = b"\xef\xbb\xbf"
"""A byte order mark, which polars cannot read."""
_BATCH = 100_000
"""Documents whose texts are held in memory at once when they are written."""

# -- reading ----------------------------------------------------------------------------------------------------------


def scan(folder: Path) -> pl.LazyFrame | None:
    """Return the documents of a dataset, evaluated lazily: title, text, type, key (null if unknown).

    Returns None without a file of documents.
    """
    path = folder / DOCUMENTS
    if not path.exists():
        return None
    documents = _scan(path, _DOCUMENT)
    path_of_nodes = folder / NODES
    if not path_of_nodes.exists():
        return documents
    nodes = _scan(path_of_nodes, _NODE).unique("title", keep="first")
    both = documents.join(nodes, on="title", how="left", suffix="_node", maintain_order="left")
    own = (pl.coalesce(name, f"{name}_node").alias(name) for name in ("type", "key"))
    return both.with_columns(*own).select(_DOCUMENT.names())


def collect(folder: Path, documents: pl.LazyFrame) -> pl.DataFrame:
    """Evaluate a query on :func:`scan`. Raises :class:`BadInputError` that names an invalid line."""
    path = folder / DOCUMENTS
    try:
        return documents.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                _check_document(line.removeprefix(_MARK), f"{path}, line {number}")
        raise BadInputError(f"Cannot read {path}: {error}", DOCUMENT_HINT) from None


def listed(folder: Path) -> pl.DataFrame | None:
    """Return title, type, key of the documents of a dataset, in order; None without a file of documents.

    Raises :class:`BadInputError` for a file without documents, and for a document without a title of its own.
    """
    lazy = scan(folder)
    if lazy is None:
        return None
    documents = collect(folder, lazy.select(_NODE.names()))
    path = folder / DOCUMENTS
    if documents.is_empty():
        raise BadInputError(f"{path} is empty")
    untitled = documents["title"].is_null().arg_true()
    if len(untitled):
        raise BadInputError(f"Missing title in {path}, document {untitled[0] + 1}", DOCUMENT_HINT)
    for (title,) in documents.filter(pl.col("title").is_duplicated()).select("title").head(1).iter_rows():
        raise BadInputError(f"Duplicate title {title!r} in {path}", "Each document needs its own title")
    return documents


def _scan(path: Path, schema: pl.Schema) -> pl.LazyFrame:
    with path.open("rb") as file:
        marked = file.read(len(_MARK)) == _MARK
    return pl.scan_ndjson(io.BytesIO(content(path)) if marked else path, schema=schema)


def _check_document(line: bytes, where: str) -> None:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise BadInputError(f"Invalid UTF-8 in {where}", "Convert it to UTF-8, for example with iconv") from None
    if text.strip() and not isinstance(load_json(text, where), dict):
        raise BadInputError(f"Invalid document in {where}: not a JSON object", DOCUMENT_HINT)


# -- writing ----------------------------------------------------------------------------------------------------------

_TITLES = """
WITH t AS (SELECT id, type::VARCHAR AS type, key, coalesce(nullif(trim(name), ''), key) AS name FROM nodes
           WHERE id IN (SELECT id FROM kbkit_wanted))
SELECT id, type, key, name,
       CASE WHEN count(*) OVER (PARTITION BY name) = 1 THEN name
            WHEN count(*) OVER (PARTITION BY name, type) = 1 THEN name || ' (' || replace(type, '_', ' ') || ')'
            ELSE name || ' (' || key || ')' END AS title
FROM t ORDER BY id"""

_HAS_TEXT = """
SELECT 1 FROM texts WHERE id IN (SELECT id FROM kbkit_wanted) AND NOT list_contains($without::VARCHAR[], field::VARCHAR)
LIMIT 1"""

_TEXTS = """
SELECT w.title, w.type, w.key,
       coalesce(string_agg(t.text, chr(10) ORDER BY t.field::VARCHAR, t.position)
                FILTER (NOT list_contains($without::VARCHAR[], t.field::VARCHAR)), '') AS text
FROM kbkit_wanted w LEFT JOIN texts t USING (id) GROUP BY ALL ORDER BY any_value(w.position)"""


def titles(kb: KnowledgeBase, types: Sequence[str]) -> pl.DataFrame:
    """Return the nodes of some types, sorted by id: id, type, key, name, title.

    A title is unique. It is the name; if several nodes or titles have that name, name and type; or name and key.
    """
    frame = kb.tables.lookup(_TITLES, frames={"kbkit_wanted": _members(kb, types)})
    return frame.with_columns(
        pl.when(pl.col("title").is_duplicated())
        .then(pl.format("{} ({} {})", "name", "type", "key"))
        .otherwise("title")
        .alias("title")
    )


def _members(kb: KnowledgeBase, types: Sequence[str]) -> pl.DataFrame:
    """Return the ids of the nodes that have any of the types."""
    return pl.concat([pl.DataFrame({"id": kb.session.members(name)}) for name in types]).unique()


def check_types(kb: KnowledgeBase, types: Sequence[str], without: Sequence[str], *, texts: bool = True) -> None:
    """Raise :class:`KbError` for unknown types and text fields, and with ``texts`` for types without any text."""
    for name in types:
        kb.schema.type(name)
    fields = [field.name for field in kb.schema.text_fields]
    for name in without:
        if name not in fields:
            raise UnknownNameError("text field", name, fields)
    for name in types if texts else ():
        if not kb.tables.lookup(_HAS_TEXT, {"without": list(without)}, {"kbkit_wanted": _members(kb, [name])}).height:
            known = sorted(types_with_text(kb) - (set() if without else {name}))
            others = f", or a type with texts: {', '.join(known)}" if known else ""
            hint = ("Use ", Option("no_evidence"), others)
            raise KbError(f"Nodes of type {name} have no texts{' in other fields' * bool(without)}", *hint)


def write_documents(
    kb: KnowledgeBase,
    frame: pl.DataFrame,
    path: Path,
    without: Sequence[str] = (),
    further: pl.DataFrame | None = None,
) -> int:
    """Write the documents of :func:`titles` as JSON lines (title, text); return the number of documents without text.

    ``further`` (id, further) holds text that follows the KB's texts of a node.
    ``documents.nodes.jsonl`` in the same folder has their nodes (title, type, key).
    """
    nodes = path.with_name(f"{path.stem}.nodes.jsonl")
    empty = 0
    with replacing(path) as aside:
        with aside.open("w", encoding="utf-8", newline="\n") as file:
            for start in range(0, frame.height, _BATCH):
                wanted = frame.slice(start, _BATCH)
                texts = document_texts(kb, wanted, without)
                if further is not None:
                    texts = _extended(texts, wanted, further)
                empty += texts.filter(pl.col("text") == "").height
                file.write(texts.select("title", "text").write_ndjson())
        frame.select("title", "type", "key").write_ndjson(nodes)
    return empty


def document_texts(kb: KnowledgeBase, frame: pl.DataFrame, without: Sequence[str] = ()) -> pl.DataFrame:
    """Return the documents of :func:`titles` in the same order: title, type, key, text (the KB's texts of a node)."""
    wanted = {"kbkit_wanted": frame.with_row_index("position")}
    return kb.tables.lookup(_TEXTS, {"without": list(without)}, wanted)


def _extended(texts: pl.DataFrame, wanted: pl.DataFrame, further: pl.DataFrame) -> pl.DataFrame:
    ids = wanted.select("title", pl.col("id").cast(pl.Int64)).join(further, on="id", how="left")
    both = pl.concat_str(pl.when(pl.col("text") != "").then("text"), "further", separator="\n", ignore_nulls=True)
    return texts.join(ids, on="title", how="left", maintain_order="left").with_columns(text=both)
