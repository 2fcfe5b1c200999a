"""Build the full-text index of a generation; see :mod:`kbkit.stores.text` for its fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tantivy

from kbkit.schema import Schema, TextField, literal, quote
from kbkit.stores import documents
from kbkit.stores.text import (
    DOCUMENT,
    MAX_NAME_LENGTH,
    NAME,
    PLAIN,
    RELATIONS,
    STEMMED_NAME,
    WHOLE_NAME,
    TextSettings,
    analyzer,
    field_name,
)

if TYPE_CHECKING:
    import pyarrow as pa

_WRITER_BYTES = 256_000_000


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    settings: TextSettings,
    progress: Callable[[int, int], None],
) -> dict[str, int]:
    """Index all nodes; ``batches`` runs SQL over the tables. Returns ``{"documents": ...}``."""
    words = analyzer(settings.analyzer)
    folder.mkdir()
    index = tantivy.Index(_index_schema(schema.text_fields, settings), path=str(folder))
    index.register_tokenizer("kb", words)
    writer = index.writer(_WRITER_BYTES, 1)
    left_out = {field_name(field.name) for field in schema.text_fields if not field.weight}
    done = 0
    try:
        step = documents.step(schema)
        for first in range(0, schema.nodes, step):
            for batch in batches(_documents_sql(schema, settings, first, first + step - 1)):
                _add(writer, batch, words, left_out)
                done += batch.num_rows
                progress(done, schema.nodes)
        writer.commit()
    finally:
        writer.wait_merging_threads()  # on failure too, since the folder is removed next
    index.reload()
    return {"documents": index.searcher().num_docs}


def _index_schema(fields: Sequence[TextField], settings: TextSettings) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("id", stored=False, indexed=True, fast=True)
    for name in (WHOLE_NAME, STEMMED_NAME):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    parts = (NAME, *(field_name(f.name) for f in fields), *((RELATIONS,) if settings.relations else ()))
    for name in (DOCUMENT, *parts):
        builder.add_text_field(name, tokenizer_name="kb", index_option="position")
    return builder.build()


def _documents_sql(schema: Schema, settings: TextSettings, first: int, last: int) -> str:
    """Return a query of id, names, texts by field, and relations, for the nodes from ``first`` to ``last``."""
    among, fields = f"BETWEEN {first} AND {last}", schema.text_fields
    ids = f"WHERE id {among}"
    columns = "".join(
        f", list(text ORDER BY position) FILTER (field = {literal(f.name)}) AS f{i}" for i, f in enumerate(fields)
    )
    joined = f" LEFT JOIN (SELECT id{columns} FROM texts {ids} GROUP BY id) x USING (id)" if fields else ""
    texts = "".join(f", x.f{i} AS {quote(field_name(f.name))}" for i, f in enumerate(fields))
    if settings.relations:
        joined += f" LEFT JOIN ({documents.relations_sql(schema, among)}) r USING (id)"
        texts += f", r.relations AS {RELATIONS}"
    return f"SELECT n.id, list_concat([n.name], coalesce(n.aliases, [])) AS {NAME}{texts} FROM nodes n{joined} {ids}"


def _add(
    writer: tantivy.IndexWriter, batch: pa.RecordBatch, words: tantivy.TextAnalyzer, left_out: Collection[str]
) -> None:
    """Add the documents of a batch; Tantivy takes them one by one. Fields ``left_out`` are not ranked by default."""
    fields = batch.schema.names[1:]
    for number, *columns in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        document = tantivy.Document()
        document.add_unsigned("id", number)  # Document(id=...) would write a signed field and fail at commit
        for field, values in zip(fields, columns, strict=True):
            for value in values or ():
                document.add_text(field, value)
                if field not in left_out:
                    document.add_text(DOCUMENT, value)
        for name in columns[0]:
            document.add_text(WHOLE_NAME, _joined(PLAIN, name))
            document.add_text(STEMMED_NAME, _joined(words, name))
        writer.add_document(document)


def _joined(words: tantivy.TextAnalyzer, name: str) -> str:
    return " ".join(words.analyze(name))[:MAX_NAME_LENGTH]
