"""The full-text store: Tantivy, one document per node.

Nodes are ranked by one field that holds all of a node's words, names and texts together, with one length and one set of
document frequencies; a small weight of the names alone is added, and a larger one if they hold the whole query. Scores
are BM25 (k1 1.2, b 0.75, Tantivy's constants, which keep a length in one byte). Scores of separate fields are not
summed, because each would have its own frequencies and lengths, and short fields would dominate. Names and each text
field are also indexed by themselves, for searches restricted to fields, whose scores are summed with the weights of the
recipe.

Texts are stored in the tables only. Two more fields index each name as one term, plain and stemmed, for lookup of the
names in a question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from kbkit.directory import systems
from kbkit.directory.damage import damaged, reading
from kbkit.directory.temporary import TemporaryFolder
from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Schema
from kbkit.stores.arrays import Within, is_within
from kbkit.stores.text_query import STOP_WORDS, TextQuery, Token, snippet, superlative

if TYPE_CHECKING:
    pass

FOLDER = "text"
ANALYZERS = (
    "english", "simple", "arabic", "danish", "dutch", "finnish", "french", "german", "greek", "hungarian", "italian",
    "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish",
)  # fmt: skip
"""Analyzers: stemmers by language; ``simple`` only splits, lower-cases and removes accents."""

DOCUMENT, NAME, RELATIONS = "document", "name", "relations"
"""The index fields for all words of a node, for its names, and for the names of its neighbours."""
NAME_WEIGHT, WHOLE_WEIGHT = 0.15, 1.0
"""Weight of the BM25 score of the names, which is added to that of the whole document; a second one is added for names
that hold all words of the query, which may be part of a name that somebody is looking for.
"""
_MAX_NAME_WORDS = 8
RELATIONS_WEIGHT = 1.0

WHOLE_NAME, STEMMED_NAME = "whole_name", "stemmed_name"
"""The index fields for each name as one term, plain and stemmed."""
MAX_NAME_LENGTH = 1_000
_FEW = 1_000
"""Up to this many candidates, a filter lists them; with more, a deeper search is tried first, up to ``_MAX_DEPTH``."""
_MAX_DEPTH = 20_000

_MAX_QUERY_WORDS = 256
_MAX_ANALYZED = 1_024
"""Number of texts whose words are kept: queries, and names that are compared with one."""
_SNIPPET_DEPTH = 100_000
_STEM_ENDINGS = 4
"""Letters by which a stem may be shorter than an incomplete word."""


def field_name(text_field: str) -> str:
    """Return the index field of a text field."""
    return "text_" + text_field


def check_analyzer(name: str) -> None:
    """Raise :class:`UnknownNameError` for an unknown analyzer."""
    if name not in ANALYZERS:
        raise UnknownNameError("analyzer", name, ANALYZERS)


def analyzer(name: str) -> tantivy.TextAnalyzer:
    """Return the analyzer ``name``, or raise :class:`UnknownNameError`."""
    check_analyzer(name)
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.remove_long(60))
    builder = builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold())
    if name != "simple":
        builder = builder.filter(tantivy.Filter.stemmer(name))
    return builder.build()


PLAIN = analyzer("simple")


@dataclass(frozen=True)
class TextSettings:
    """How an index is built; recorded in the manifest. ``relations`` indexes the names of neighbours too."""

    analyzer: str = "english"
    relations: bool = False


class Word(NamedTuple):
    """A word of a text: start and end, its lower-case form without accents, and its stem."""

    start: int
    end: int
    plain: str
    stem: str


class Text:
    """A generation's full-text index."""

    def __init__(self, folder: Path, schema: Schema, settings: TextSettings) -> None:
        self._links: TemporaryFolder | None = None
        self._folder = folder
        try:
            with reading(FOLDER, folder):
                self._index = self._opened(folder)
        except KbError:
            self.close()
            raise
        self._analyzer = analyzer(settings.analyzer)
        # Analyzers are not stored in the index.
        self._index.register_tokenizer("kb", self._analyzer)
        self._unstemmed = PLAIN if settings.analyzer == "english" else None
        self._schema, self._relations = schema, settings.relations
        # A search analyzes its query several times: to find, to name, to explain.
        # Functions rather than methods, which would keep the index open until the next garbage collection.
        self._words = lru_cache(_MAX_ANALYZED)(partial(_words_of, self._analyzer, self._unstemmed))
        self._known_tokens = lru_cache(_MAX_ANALYZED)(partial(_tokens_of, self._analyzer))
        self._searcher = self._index.searcher()

    def _opened(self, folder: Path) -> tantivy.Index:
        try:
            return tantivy.Index.open(str(folder))
        except (ValueError, OSError) as error:
            if "lockfile" not in str(error).lower():
                raise
        # Tantivy creates a lock file next to the index; on read-only media it opens links in a temporary folder.
        self._links = TemporaryFolder()
        for path in (path for path in folder.iterdir() if path.suffix != ".lock"):
            systems.symlink_or_copy(path, self._links.path / path.name)
        return tantivy.Index.open(str(self._links.path))

    @property
    def documents(self) -> int:
        """Number of documents: one per node."""
        return int(self._searcher.num_docs)

    def close(self) -> None:
        """Close the index."""
        self.__dict__.pop("_searcher", None)
        self.__dict__.pop("_index", None)
        if self._links:
            self._links.close()

    def words(self, text: str) -> list[str]:
        """Return the distinct index words of a query, in order; stop words only if there are no others."""
        return list(self._words(text))

    @property
    def ranked(self) -> dict[str, float]:
        """The index fields by which nodes are ranked by default, with their weights."""
        return {DOCUMENT: 1.0, NAME: NAME_WEIGHT}

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each field in searches restricted to fields: names, text fields, and relations if indexed."""
        own = {NAME: self._schema.name_weight, **{field_name(f.name): f.weight for f in self._schema.text_fields}}
        return {**own, RELATIONS: RELATIONS_WEIGHT} if self._relations else own

    @property
    def fields(self) -> dict[str, list[str]]:
        """The index fields by the name that users see; a text field may be called ``name`` too."""
        result: dict[str, list[str]] = {}
        for field in self.weights:
            result.setdefault(field.removeprefix(field_name("")), []).append(field)
        return result

    def search(
        self,
        query: TextQuery,
        k: int,
        within: Within = None,
        weights: Mapping[str, float] | None = None,
        superlatives: bool = False,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the ``k`` best nodes for any of the words: ids and BM25 scores, best first, ties by id.

        ``within`` filters exactly, before the best are chosen; ``weights`` are the weights of the fields to search
        (default: the whole document, see :attr:`ranked`).
        With ``superlatives``, adjectives of an English query match theirs too: "high" matches "highest".
        """
        scored = self._scored(query, weights or self.ranked, superlatives)
        return self._best(scored, min(k, self.documents), within)

    def matching(self, query: TextQuery, weights: Mapping[str, float] | None = None) -> Within:
        """Return the sorted ids of the nodes with all required phrases; None if the query has none."""
        required = self._required(query, weights or self.ranked)
        if required is None:
            return None
        return np.sort(self._hits(tantivy.Query.const_score_query(required, 0.0), self.documents)[0])

    def named(self, stems: Sequence[str], limit: int) -> NDArray[np.int64]:
        """Return up to ``limit`` nodes whose entire name or alias has these stems."""
        stemmed = " ".join(stems)[:MAX_NAME_LENGTH]
        if not self.frequency(stemmed, [STEMMED_NAME]):  # much faster than a search
            return np.empty(0, np.int64)
        term = tantivy.Query.term_query(self._index.schema, STEMMED_NAME, stemmed, "basic")
        return np.sort(self._hits(tantivy.Query.const_score_query(term, 0.0), limit)[0])

    def named_like(self, words: Sequence[str], distance: int, limit: int) -> NDArray[np.int64]:
        """Return up to ``limit`` nodes with a name within edit distance ``distance`` (1 or 2) of these plain words."""
        phrase = " ".join(words)[:MAX_NAME_LENGTH]
        close = tantivy.Query.fuzzy_term_query(self._index.schema, WHOLE_NAME, phrase, distance, True, False)
        return np.sort(self._hits(tantivy.Query.const_score_query(close, 0.0), limit)[0])

    def names_holding(self, prefix: str, within: Within = None, limit: int = 1_000) -> NDArray[np.int64]:
        """Return up to ``limit`` nodes, by id, with these consecutive words in a name; the last may be incomplete.

        Words are compared in their indexed form, that is stemmed if the analyzer stems. Stems may be shorter than an
        incomplete word (no stem starts with ``universi``), so the last word is also tried with up to four letters
        removed.
        """
        words, written = self._analyzer.analyze(prefix), PLAIN.analyze(prefix)
        if not words or limit < 1 or (within is not None and not len(within)):
            return np.empty(0, np.int64)
        before, last = words[:-1], written[-1]
        shorter = [last[:end] for end in range(len(last), max(3, len(last) - _STEM_ENDINGS), -1)]
        parts = [tantivy.Query.phrase_prefix_query(self._index.schema, NAME, [*before, last])]
        for word in dict.fromkeys([words[-1], *shorter]):
            parts.append(self._phrase([*before, word], {NAME: 1.0}))
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])
        filters = [query] if within is None else [query, self._only(within)]
        both = tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in filters])
        return np.sort(self._hits(tantivy.Query.const_score_query(both, 0.0), limit)[0])

    def frequency(self, word: str, fields: Iterable[str] | None = None) -> int:
        """Return the number of documents with an index word, in the field with the most."""
        with reading(FOLDER, self._folder):
            return max(self._searcher.doc_freq(field, word) for field in fields or (DOCUMENT,))

    def vocabulary(self, prefix: str, fields: Iterable[str] | None = None) -> list[tuple[str, int]]:
        """Return the index words that start with ``prefix``, with their document frequency, field by field."""
        searched = fields or (DOCUMENT,)
        with reading(FOLDER, self._folder):
            return [entry for field in searched for entry in self._searcher.terms_with_prefix(field, prefix)]

    def _scored(self, query: TextQuery, weights: Mapping[str, float], superlatives: bool) -> tantivy.Query | None:
        """Return a query for any of the words and all required phrases; None if there are no words."""
        words = query.words or self.words(query.text)
        if not words:
            return None
        if superlatives and self._unstemmed:
            words = list(dict.fromkeys([*words, *self._superlatives(query.text)]))
        parts = [self._term(word, field, weight) for word in words for field, weight in weights.items()]
        if DOCUMENT in weights and len(words) <= _MAX_NAME_WORDS:
            whole = [(tantivy.Occur.Must, self._term(word, NAME, WHOLE_WEIGHT)) for word in words]
            parts.append(tantivy.Query.boolean_query(whole))
        any_word = tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])
        required = self._required(query, weights)
        if required is None:
            return any_word
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, required), (tantivy.Occur.Should, any_word)])

    def _superlatives(self, text: str) -> list[str]:
        """Return the superlatives of the adjectives of a text, without capitalized words, which may be names."""
        small = [word.stem for word in self.tokens(text) if text[word.start].islower()]
        return [form for form in map(superlative, small) if form]

    def _term(self, word: str, field: str, weight: float) -> tantivy.Query:
        term = tantivy.Query.term_query(self._index.schema, field, word, "freq")
        return tantivy.Query.boost_query(term, weight) if weight != 1 else term

    def _required(self, query: TextQuery, weights: Mapping[str, float]) -> tantivy.Query | None:
        """Return a query for each required phrase in any field; None if there are none."""
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
        """Return the ``k`` best hits of ``query`` among the candidates, ties by id."""
        if query is None or k < 1 or (within is not None and not len(within)):
            return np.empty(0, np.int64), np.empty(0)
        if within is not None:
            depth = 2 * k * self.documents // len(within) + 100
            if len(within) > _FEW and depth <= _MAX_DEPTH:
                # Enough of the best hits should be candidates: a deeper search is cheaper than a filter.
                hits = self._settled(query, k, depth, within, max_depth=_MAX_DEPTH)
                if hits is not None:
                    return hits
            both = [(tantivy.Occur.Must, query), (tantivy.Occur.Must, self._only(within))]
            query = tantivy.Query.boolean_query(both)
        hits = self._settled(query, k, k + 1, None, max_depth=self.documents)
        assert hits is not None
        return hits

    def _settled(
        self, query: tantivy.Query, k: int, depth: int, within: Within, max_depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Return the ``k`` best hits among the candidates, searching deeper until ties are resolved.

        Returns None if that takes more than ``max_depth`` hits.
        """
        while True:
            ids, scores = self._hits(query, depth)
            exhausted, last = len(ids) < depth or depth >= self.documents, scores[-1] if len(scores) else 0.0
            mask = is_within(ids, within)
            ids, scores = ids[mask], scores[mask]
            order = np.lexsort((ids, -scores))[:k]
            if exhausted or (len(order) == k and scores[order[-1]] > last):  # a hit below may tie with the last one
                return ids[order], scores[order]
            if depth >= max_depth:
                return None
            depth = min(4 * depth, self.documents)

    def _hits(self, query: tantivy.Query, depth: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        with reading(FOLDER, self._folder):
            hits = self._searcher.search(query, limit=depth, count=False).hits
            found = self._searcher.fast_field_values("id", [address for _, address in hits])
            ids = np.array(found, np.int64).reshape(-1)
        if len(ids) and not (ids.min() >= 0 and ids.max() < self._schema.nodes):
            raise damaged(self._folder, "a document is of no node", FOLDER)
        return ids, np.array([score for score, _ in hits], np.float64)

    def _only(self, within: NDArray[np.int64] | range) -> tantivy.Query:
        """Return the cheapest of three equivalent filters, which add nothing to the score."""
        schema = self._index.schema
        if isinstance(within, range):
            only = tantivy.Query.range_query(schema, "id", tantivy.FieldType.Unsigned, within.start, within.stop - 1)
        elif len(within) <= _FEW:
            terms = [tantivy.Query.term_query(schema, "id", node, "basic") for node in within.tolist()]
            only = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        else:
            only = tantivy.Query.term_set_query(schema, "id", within.tolist())
        return tantivy.Query.const_score_query(only, 0.0)

    def snippets(self, words: Collection[str], documents: Sequence[str], characters: int = 160) -> list[str]:
        """Return the part of each document with the most index words, each between ``**``; about ``characters``."""
        if self._unstemmed:
            words = {*words, *filter(None, map(superlative, words))}
        # Most nodes of many KBs have no texts.
        return [snippet(text, self._found(words, text), characters) if text else "" for text in documents]

    def _found(self, words: Collection[str], document: str) -> list[Token]:
        """Return the tokens of a document that are among some words."""
        tokens = self._analyzer.pre_tokenize(document[:_SNIPPET_DEPTH]).tokens
        return [(t.char_offset_from, t.char_offset_to, text) for t in tokens if (text := t.text) in words]

    def tokens(self, text: str) -> list[Word]:
        """Return the first 256 words of a text with their positions, plain and stemmed."""
        return list(self._known_tokens(text))


def _words_of(analyzer: tantivy.TextAnalyzer, unstemmed: tantivy.TextAnalyzer | None, text: str) -> tuple[str, ...]:
    words = analyzer.analyze(text)
    if unstemmed:
        # Stop words are compared unstemmed: "being" and "Ares" have the stems "be" and "are".
        plain = unstemmed.analyze(text)
        words = [word for word, form in zip(words, plain, strict=True) if form not in STOP_WORDS] or words
    return tuple(dict.fromkeys(words))[:_MAX_QUERY_WORDS]


def _tokens_of(analyzer: tantivy.TextAnalyzer, text: str) -> tuple[Word, ...]:
    plain, stems = PLAIN.pre_tokenize(text).tokens, analyzer.analyze(text)
    words = zip(plain, stems, strict=True)
    return tuple(Word(t.char_offset_from, t.char_offset_to, t.text, stem) for t, stem in words)[:_MAX_QUERY_WORDS]
