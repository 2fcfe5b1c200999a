"""The full-text store: Tantivy, one document per node, a field for the name and one for each text field.

Scores are BM25 (k1 1.2, b 0.75, Tantivy's constants), summed over words and fields; names weigh double unless the
recipe says otherwise. Texts are not stored here: they are in the tables.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tantivy
from numpy.typing import NDArray

from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import NodeType, Schema, TextField

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "text"
ANALYZERS = (
    "english",
    "simple",
    "arabic",
    "danish",
    "dutch",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
)
"""Languages whose words are stemmed; ``simple`` only splits, lower-cases and drops accents."""

STOP_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "for", "from", "had", "has", "have", "he",
        "her", "his", "if", "in", "into", "is", "it", "its", "no", "not", "of", "on", "or", "our", "she", "such",
        "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "we", "were", "which", "will",
        "with",
    )
)  # fmt: skip
"""Left out of English queries unless nothing else is left; they stay in the index, for names such as "The The"."""

_RANGE = 100_000
_WRITER_BYTES = 256_000_000
_MAX_QUERY_WORDS = 256
_SNIPPET_DEPTH = 100_000


def field_name(text_field: str) -> str:
    """The index's name for a text field; ``name`` is the node's own."""
    return "text_" + text_field


def check_analyzer(name: str) -> None:
    """Raise :class:`UnknownNameError` for an analyzer that does not exist."""
    if name not in ANALYZERS:
        raise UnknownNameError("analyzer", name, ANALYZERS)


def analyzer(name: str) -> tantivy.TextAnalyzer:
    """The analyzer called ``name``; raises :class:`UnknownNameError` for others."""
    check_analyzer(name)
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.remove_long(60))
    builder = builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold())
    if name != "simple":
        builder = builder.filter(tantivy.Filter.stemmer(name))
    return builder.build()


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    analyzer_name: str,
    progress: Callable[[int, int], None],
) -> dict[str, int]:
    """Index every node; ``batches`` runs SQL over the tables. Returns ``{"documents": ...}``."""
    words = analyzer(analyzer_name)
    folder.mkdir()
    index = tantivy.Index(_index_schema(schema.text_fields), path=str(folder))
    index.register_tokenizer("kb", words)
    writer = index.writer(_WRITER_BYTES, 1)
    done = 0
    for first in range(0, schema.nodes, _RANGE):  # the texts of a range are held in memory, not those of the KB
        for batch in batches(_documents_sql(schema.text_fields, first, first + _RANGE - 1)):
            _add(writer, batch)
            done += batch.num_rows
            progress(done, schema.nodes)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return {"documents": index.searcher().num_docs}


def _index_schema(fields: Sequence[TextField]) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("id", stored=False, indexed=True, fast=True)
    builder.add_text_field("type", tokenizer_name="raw", index_option="basic")
    for name in ("name", *(field_name(f.name) for f in fields)):
        builder.add_text_field(name, tokenizer_name="kb", index_option="position")
    return builder.build()


def _documents_sql(fields: Sequence[TextField], first: int, last: int) -> str:
    """One row for each node from ``first`` to ``last``: id, types, names, and its texts of each field."""
    ids = f"WHERE id BETWEEN {first} AND {last}"
    columns = "".join(
        f", list(text ORDER BY position) FILTER (field = '{_sql(f.name)}') AS f{i}" for i, f in enumerate(fields)
    )
    texts = f" LEFT JOIN (SELECT id{columns} FROM texts {ids} GROUP BY id) x USING (id)" if fields else ""
    shown = "".join(f', x.f{i} AS "{_identifier(field_name(f.name))}"' for i, f in enumerate(fields))
    return (
        "SELECT n.id, list_concat([n.type::VARCHAR], coalesce(o.types, [])) AS type,"
        f" list_concat([n.name], coalesce(n.aliases, [])) AS name{shown} FROM nodes n{texts}"
        f" LEFT JOIN (SELECT id, list(type::VARCHAR) AS types FROM node_types {ids} GROUP BY id) o USING (id) {ids}"
    )


def _sql(text: str) -> str:
    return text.replace("'", "''")


def _identifier(text: str) -> str:
    return text.replace('"', '""')


def _add(writer: tantivy.IndexWriter, batch: pa.RecordBatch) -> None:
    """Tantivy takes documents one by one; everything before this loop is columns."""
    names = batch.schema.names[1:]
    for number, *fields in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        document = tantivy.Document()
        document.add_unsigned("id", number)  # Document(id=...) would write a signed field and fail at commit
        for name, values in zip(names, fields, strict=True):
            for value in values or ():
                document.add_text(name, value)
        writer.add_document(document)


class Text:
    """A generation's full-text index."""

    def __init__(self, folder: Path, schema: Schema, analyzer_name: str) -> None:
        self._links: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._index = self._opened(folder)
        except (ValueError, OSError) as error:
            self.close()
            raise KbError(f"{folder} cannot be opened: {error}", "kbkit check says more") from error
        self._analyzer = analyzer(analyzer_name)
        # An index forgets its analyzers when it is opened again.
        self._index.register_tokenizer("kb", self._analyzer)
        self._unstemmed = analyzer("simple") if analyzer_name == "english" else None
        self._schema = schema
        self._searcher = self._index.searcher()

    def _opened(self, folder: Path) -> tantivy.Index:
        try:
            return tantivy.Index.open(str(folder))
        except (ValueError, OSError) as error:
            if "lockfile" not in str(error).lower():
                raise
        # Tantivy wants to write a lock file beside the index; on media that refuse, beside links to it.
        self._links = tempfile.TemporaryDirectory(prefix="kbkit-")
        for path in (path for path in folder.iterdir() if path.suffix != ".lock"):
            (Path(self._links.name) / path.name).symlink_to(path.resolve())
        return tantivy.Index.open(self._links.name)

    @property
    def documents(self) -> int:
        """Number of documents, one a node."""
        return int(self._searcher.num_docs)

    def close(self) -> None:
        """Let go of the index."""
        self.__dict__.pop("_searcher", None)
        self.__dict__.pop("_index", None)
        if self._links:
            self._links.cleanup()

    def words(self, text: str) -> list[str]:
        """The distinct index words of a query, in order; stop words only when there is nothing else."""
        words = self._analyzer.analyze(text)
        # Stop words are known by how they are written: "being" and "Ares" share their stems with "be" and "are".
        written = self._unstemmed.analyze(text) if self._unstemmed else words
        telling = [word for word, whole in zip(words, written, strict=True) if whole not in STOP_WORDS]
        chosen = telling if self._unstemmed and telling else words
        return list(dict.fromkeys(chosen))[:_MAX_QUERY_WORDS]

    def search(
        self, text: str, k: int, node_type: NodeType | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ``k`` best nodes for any of the words: ids and BM25 scores, best first, ties by id.

        ``node_type`` keeps only nodes that have the type, before the best are chosen.
        """
        words = self.words(text)
        k = min(k, self.documents)
        if not words or k < 1:
            return np.empty(0, np.int64), np.empty(0)
        query = self._any_word(words)
        if node_type is not None:
            both = [(tantivy.Occur.Must, query), (tantivy.Occur.Must, self._of_type(node_type))]
            query = tantivy.Query.boolean_query(both)
        hits = self._searcher.search(query, limit=k, count=False).hits
        ids = np.array(self._searcher.fast_field_values("id", [address for _, address in hits]), np.int64).reshape(-1)
        scores = np.array([score for score, _ in hits], np.float64)
        order = np.lexsort((ids, -scores))
        return ids[order], scores[order]

    def _any_word(self, words: Iterable[str]) -> tantivy.Query:
        weights = {"name": self._schema.name_weight, **{field_name(f.name): f.weight for f in self._schema.text_fields}}
        parts = []
        for word in words:
            for field, weight in weights.items():
                term = tantivy.Query.term_query(self._index.schema, field, word, "freq")
                parts.append((tantivy.Occur.Should, tantivy.Query.boost_query(term, weight) if weight != 1 else term))
        return tantivy.Query.boolean_query(parts)

    def _of_type(self, node_type: NodeType) -> tantivy.Query:
        term = tantivy.Query.term_query(self._index.schema, "type", node_type.name, "basic")
        return tantivy.Query.const_score_query(term, 0.0)

    def snippets(self, text: str, documents: Sequence[str], characters: int = 160) -> list[str]:
        """The part of each document that shows most words of the query, with the words between ``**``."""
        words = set(self.words(text))
        return [self._snippet(document, words, characters) for document in documents]

    def _snippet(self, document: str, words: set[str], characters: int) -> str:
        document = document[:_SNIPPET_DEPTH]
        tokens = self._analyzer.pre_tokenize(document).tokens
        hits = [(t.char_offset_from, t.char_offset_to, t.text) for t in tokens if t.text in words]
        start, end = _window(document, hits, characters)
        parts, at = ["…" if start else ""], start
        for first, last, _ in hits:
            if first >= start and last <= end:
                parts += [document[at:first], "**", document[first:last], "**"]
                at = last
        return "".join(parts) + document[at:end] + ("…" if end < len(document) else "")


def _window(document: str, hits: Sequence[tuple[int, int, str]], characters: int) -> tuple[int, int]:
    """Where to cut a document: about ``characters`` long, at spaces, around the most distinct words; the first such."""
    best, begin, last = 0, 0, 0
    for number, (start, _, _) in enumerate(hits):
        inside = [hit for hit in hits[number : number + 50] if hit[1] <= start + characters]
        if len({word for _, _, word in inside}) > best:
            best, begin, last = len({word for _, _, word in inside}), start, inside[-1][1]
    begin = max(0, begin - (characters - (last - begin)) // 3) if last > characters else 0
    if begin:
        space = document.find(" ", begin, begin + 20)
        begin = space + 1 if space >= 0 else begin
    end = begin + characters
    if end >= len(document):
        return begin, len(document)
    space = document.rfind(" ", max(last, begin + 1), end)
    return begin, space if space > begin else end
