"""The full-text store: Tantivy, one document per node, a field for the name and one for each text field.

Scores are BM25 (k1 1.2, b 0.75, Tantivy's constants), summed over words and fields, which weigh what the recipe
says. Texts are not stored here: they are in the tables. Two more fields hold each name as a whole, as
written and stemmed, so that the names in a question are found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from kbkit.directory import systems
from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Schema, TextField
from kbkit.stores import documents, text_names
from kbkit.stores.ids import Within, is_within
from kbkit.stores.snippets import Token, snippet
from kbkit.stores.stop_words import STOP_WORDS
from kbkit.stores.text_query import TextQuery

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "text"
ANALYZERS = (
    "english", "simple", "arabic", "danish", "dutch", "finnish", "french", "german", "greek", "hungarian", "italian",
    "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish",
)  # fmt: skip
"""Languages whose words are stemmed; ``simple`` only splits, lower-cases and drops accents."""

NAME, RELATIONS = "name", "relations"
"""The index's fields for names, and for what a node is joined to."""
RELATIONS_WEIGHT = 1.0

_WHOLE_NAME, _STEMMED_NAME = "whole_name", "stemmed_name"
_LONGEST_NAME = 1_000
_FEW = 1_000
"""Up to so many candidates a filter names each; beyond, looking deeper is tried first, where that may be enough."""
_DEEP = 20_000

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


_PLAIN = analyzer("simple")


@dataclass(frozen=True)
class Settings:
    """How an index is built; the manifest records it. ``relations`` adds the names of what each node is joined to."""

    analyzer: str = "english"
    relations: bool = False

    @staticmethod
    def recorded(record: Mapping[str, Any]) -> Settings:
        """The settings that a manifest holds, among others."""
        return Settings(**{field.name: record[field.name] for field in fields(Settings)})


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    settings: Settings,
    progress: Callable[[int, int], None],
) -> dict[str, int]:
    """Index every node; ``batches`` runs SQL over the tables. Returns ``{"documents": ...}``."""
    words = analyzer(settings.analyzer)
    folder.mkdir()
    index = tantivy.Index(_index_schema(schema.text_fields, settings), path=str(folder))
    index.register_tokenizer("kb", words)
    writer = index.writer(_WRITER_BYTES, 1)
    done = 0
    try:
        step = documents.step(schema)
        for first in range(0, schema.nodes, step):
            for batch in batches(_documents_sql(schema, settings, first, first + step - 1)):
                _add(writer, batch, words)
                done += batch.num_rows
                progress(done, schema.nodes)
        writer.commit()
    finally:
        writer.wait_merging_threads()  # also when the build fails, whose folder is removed next
    index.reload()
    return {"documents": index.searcher().num_docs}


def _index_schema(fields: Sequence[TextField], settings: Settings) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("id", stored=False, indexed=True, fast=True)
    for name in (_WHOLE_NAME, _STEMMED_NAME):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in (NAME, *(field_name(f.name) for f in fields), *((RELATIONS,) if settings.relations else ())):
        builder.add_text_field(name, tokenizer_name="kb", index_option="position")
    return builder.build()


def _documents_sql(schema: Schema, settings: Settings, first: int, last: int) -> str:
    """One row for each node from ``first`` to ``last``: id, names, its texts of each field, its relations."""
    among, fields = f"BETWEEN {first} AND {last}", schema.text_fields
    ids = f"WHERE id {among}"
    columns = "".join(
        f", list(text ORDER BY position) FILTER (field = '{_sql(f.name)}') AS f{i}" for i, f in enumerate(fields)
    )
    joined = f" LEFT JOIN (SELECT id{columns} FROM texts {ids} GROUP BY id) x USING (id)" if fields else ""
    shown = "".join(f', x.f{i} AS "{_identifier(field_name(f.name))}"' for i, f in enumerate(fields))
    if settings.relations:
        joined += f" LEFT JOIN ({documents.relations_sql(schema, among)}) r USING (id)"
        shown += f", r.relations AS {RELATIONS}"
    return f"SELECT n.id, list_concat([n.name], coalesce(n.aliases, [])) AS {NAME}{shown} FROM nodes n{joined} {ids}"


def _sql(text: str) -> str:
    return text.replace("'", "''")


def _identifier(text: str) -> str:
    return text.replace('"', '""')


def _add(writer: tantivy.IndexWriter, batch: pa.RecordBatch, words: tantivy.TextAnalyzer) -> None:
    """Tantivy takes documents one by one; everything before this loop is columns."""
    fields = batch.schema.names[1:]
    for number, *columns in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        document = tantivy.Document()
        document.add_unsigned("id", number)  # Document(id=...) would write a signed field and fail at commit
        for field, values in zip(fields, columns, strict=True):
            for value in values or ():
                document.add_text(field, value)
        for name in columns[0]:
            document.add_text(_WHOLE_NAME, _joined(_PLAIN, name))
            document.add_text(_STEMMED_NAME, _joined(words, name))
        writer.add_document(document)


def _joined(words: tantivy.TextAnalyzer, name: str) -> str:
    return " ".join(words.analyze(name))[:_LONGEST_NAME]


class Word(NamedTuple):
    """A word of a text: where it stands, its letters without case and accents, and its stem."""

    start: int
    end: int
    plain: str
    stem: str


class Text:
    """A generation's full-text index."""

    def __init__(self, folder: Path, schema: Schema, settings: Settings) -> None:
        self._links: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._index = self._opened(folder)
        except (ValueError, OSError) as error:
            self.close()
            raise KbError(f"{folder} cannot be opened: {error}", "kbkit check says more") from error
        self._analyzer = analyzer(settings.analyzer)
        # An index forgets its analyzers when it is opened again.
        self._index.register_tokenizer("kb", self._analyzer)
        self._unstemmed = _PLAIN if settings.analyzer == "english" else None
        self._schema, self._relations = schema, settings.relations
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
            systems.symlink_or_copy(path, Path(self._links.name) / path.name)
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

    @property
    def weights(self) -> dict[str, float]:
        """What a match weighs in each of the index's fields: names, each text field, relations where they are kept."""
        own = {NAME: self._schema.name_weight, **{field_name(f.name): f.weight for f in self._schema.text_fields}}
        return {**own, RELATIONS: RELATIONS_WEIGHT} if self._relations else own

    @property
    def fields(self) -> dict[str, list[str]]:
        """What a user calls the fields, and the index's own names: a text field may be called ``name`` too."""
        result: dict[str, list[str]] = {}
        for field in self.weights:
            result.setdefault(field.removeprefix(field_name("")), []).append(field)
        return result

    def search(
        self, query: TextQuery, k: int, within: Within = None, weights: Mapping[str, float] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ``k`` best nodes for any of the words: ids and BM25 scores, best first, ties by id.

        ``within`` (sorted ids, or a range) filters before the best are chosen, exactly, at any size; ``weights`` names
        the fields to search and what they weigh.
        """
        return self._best(self._scored(query, weights or self.weights), min(k, self.documents), within)

    def matching(self, query: TextQuery, weights: Mapping[str, float] | None = None) -> Within:
        """All nodes that hold what the query requires, sorted by id; None where it requires no word."""
        required = self._required(query, weights or self.weights)
        if required is None:
            return None
        return np.sort(self._hits(tantivy.Query.const_score_query(required, 0.0), self.documents)[0])

    def named(self, words: Sequence[str], *, stemmed: bool, limit: int) -> NDArray[np.int64]:
        """Up to ``limit`` nodes whose whole name or alias is these words, plain or stemmed, and nothing else."""
        field = _STEMMED_NAME if stemmed else _WHOLE_NAME
        term = tantivy.Query.term_query(self._index.schema, field, " ".join(words)[:_LONGEST_NAME], "basic")
        return np.sort(self._hits(tantivy.Query.const_score_query(term, 0.0), limit)[0])

    def named_like(self, words: Sequence[str], distance: int, limit: int) -> NDArray[np.int64]:
        """Up to ``limit`` nodes with a name at most ``distance`` letters (1 or 2) away from these plain words."""
        phrase = " ".join(words)[:_LONGEST_NAME]
        close = tantivy.Query.fuzzy_term_query(self._index.schema, _WHOLE_NAME, phrase, distance, True, False)
        return np.sort(self._hits(tantivy.Query.const_score_query(close, 0.0), limit)[0])

    def names_starting(self, prefix: str, within: Within = None, limit: int = 1_000) -> NDArray[np.int64]:
        """Up to ``limit`` nodes with a name or alias that starts with ``prefix``, by id; case and accents do not count.

        The last word may be cut. Of the many names that start with one or two letters these are some, always the same.
        """
        return text_names.starting(self._look, _WHOLE_NAME, _joined(_PLAIN, prefix), prefix, within, limit)

    def names_holding(self, prefix: str, within: Within = None, limit: int = 1_000) -> NDArray[np.int64]:
        """Up to ``limit`` nodes with these words one after another anywhere in a name, by id; the last may be cut.

        Words are compared as the index has them: as stems, where it was built so.
        """
        words = self._analyzer.analyze(prefix), _PLAIN.analyze(prefix)
        return text_names.holding(self._look, NAME, *words, within, limit)

    @property
    def _look(self) -> text_names.Look:
        return text_names.Look(self._index.schema, lambda *given: self._hits(*given)[0], self._only, self.documents)

    def frequency(self, word: str, fields: Iterable[str] | None = None) -> int:
        """Documents that hold an index word, in the field where they are most."""
        return max(self._searcher.doc_freq(field, word) for field in fields or self.weights)

    def vocabulary(self, prefix: str, fields: Iterable[str] | None = None) -> list[tuple[str, int]]:
        """Index words that start with ``prefix``, with the number of documents (of each field) that hold them."""
        return [entry for field in fields or self.weights for entry in self._searcher.terms_with_prefix(field, prefix)]

    def _scored(self, query: TextQuery, weights: Mapping[str, float]) -> tantivy.Query | None:
        """Any of the words, and all that is required; None where there is nothing to look for."""
        words = query.words or self.words(query.text)
        if not words:
            return None
        parts = [self._term(word, field, weight) for word in words for field, weight in weights.items()]
        any_word = tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])
        required = self._required(query, weights)
        if required is None:
            return any_word
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, required), (tantivy.Occur.Should, any_word)])

    def _term(self, word: str, field: str, weight: float) -> tantivy.Query:
        term = tantivy.Query.term_query(self._index.schema, field, word, "freq")
        return tantivy.Query.boost_query(term, weight) if weight != 1 else term

    def _required(self, query: TextQuery, weights: Mapping[str, float]) -> tantivy.Query | None:
        """Each quotation in some field, word after word."""
        phrases = [words for words in map(self._analyzer.analyze, query.required) if words]
        if not phrases:
            return None
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, self._phrase(words, weights)) for words in phrases])

    def _phrase(self, words: Sequence[str], weights: Mapping[str, float]) -> tantivy.Query:
        if len(words) == 1:
            parts = [self._term(words[0], field, weight) for field, weight in weights.items()]
        else:
            phrase = tantivy.Query.phrase_query
            parts = [
                tantivy.Query.boost_query(phrase(self._index.schema, field, list(words)), weight)
                for field, weight in weights.items()
            ]
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])

    # -- the best of a query, within candidates ------------------------------------------------------------------------

    def _best(
        self, query: tantivy.Query | None, k: int, within: Within
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ``k`` best hits of ``query`` that are ``within``, ties by id."""
        if query is None or k < 1 or (within is not None and not len(within)):
            return np.empty(0, np.int64), np.empty(0)
        if within is not None:
            depth = 2 * k * self.documents // len(within) + 100
            if len(within) > _FEW and depth <= _DEEP:
                # Enough of the best hits should be candidates: looking deeper costs less than a filter.
                found = self._settled(query, k, depth, within, deepest=_DEEP)
                if found is not None:
                    return found
            both = [(tantivy.Occur.Must, query), (tantivy.Occur.Must, self._only(within))]
            query = tantivy.Query.boolean_query(both)
        found = self._settled(query, k, k + 1, None, deepest=self.documents)
        assert found is not None
        return found

    def _settled(
        self, query: tantivy.Query, k: int, depth: int, within: Within, deepest: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """The ``k`` best hits ``within``, looking deeper while what is below may be one; None beyond ``deepest``."""
        while True:
            ids, scores = self._hits(query, depth)
            ended, last = len(ids) < depth or depth >= self.documents, scores[-1] if len(scores) else 0.0
            kept = is_within(ids, within)
            ids, scores = ids[kept], scores[kept]
            order = np.lexsort((ids, -scores))[:k]
            if ended or (len(order) == k and scores[order[-1]] > last):  # a hit below may tie with the last one
                return ids[order], scores[order]
            if depth >= deepest:
                return None
            depth = min(4 * depth, self.documents)

    def _hits(self, query: tantivy.Query, depth: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        hits = self._searcher.search(query, limit=depth, count=False).hits
        ids = np.array(self._searcher.fast_field_values("id", [address for _, address in hits]), np.int64).reshape(-1)
        return ids, np.array([score for score, _ in hits], np.float64)

    def _only(self, within: NDArray[np.int64] | range) -> tantivy.Query:
        """A filter that adds nothing to the score, the cheapest of three that do the same."""
        schema = self._index.schema
        if isinstance(within, range):
            only = tantivy.Query.range_query(schema, "id", tantivy.FieldType.Unsigned, within.start, within.stop - 1)
        elif len(within) <= _FEW:
            terms = [tantivy.Query.term_query(schema, "id", node, "basic") for node in within.tolist()]
            only = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        else:
            only = tantivy.Query.term_set_query(schema, "id", within.tolist())
        return tantivy.Query.const_score_query(only, 0.0)

    def snippets(self, words: Collection[str], documents: Sequence[str]) -> list[str]:
        """The part of each document that shows most of the index words, with these between ``**``."""
        return [snippet(document, self._tokens(document), words) for document in documents]

    def _tokens(self, document: str) -> list[Token]:
        tokens = self._analyzer.pre_tokenize(document[:_SNIPPET_DEPTH]).tokens
        return [(t.char_offset_from, t.char_offset_to, t.text) for t in tokens]

    def tokens(self, text: str) -> list[Word]:
        """The words of a text as they stand in it, plain and stemmed; the first 256."""
        plain, stems = _PLAIN.pre_tokenize(text).tokens, self._analyzer.analyze(text)
        words = zip(plain, stems, strict=True)
        return [Word(t.char_offset_from, t.char_offset_to, t.text, stem) for t, stem in words][:_MAX_QUERY_WORDS]
