"""Terms of texts that a query can ask for: common nouns, names, and items of lists; and which texts mention a term.

A term is stated in the words of a person who has not seen the text: *a detective*, *bounty hunters*, *the Caucasus*; it
is no quotation. A text mentions a term if it has the same words in the same order, compared without case and with nouns
in the singular. Other words for the same thing would make the answer a matter of opinion: a term is *uncertain* for a
text that does not mention it but has, for each of its words, that word or one of nearly the same meaning (by the
vectors of the shipped model). So is one for a text that has it only within a name or a longer noun: *Reunion Island*
is no reunion, and the keyword *college professor* no college.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.documents import Document, Span, TextPassage
from kbkit.benchmarks.evidence import Matcher, contains, leaks
from kbkit.benchmarks.requirements import other_forms
from kbkit.benchmarks.requirements.terms import EMPTY, items, stands_alone, terms, topics
from kbkit.english.descriptions import statements
from kbkit.english.leads import story_lead
from kbkit.english.markers import is_crude, untelling
from kbkit.english.reputations import KNOWN, head_of, reputations
from kbkit.english.sentences import sentences
from kbkit.english.stems import is_english, shares_stem
from kbkit.english.types import STORIES, WORKS, text_noun
from kbkit.english.words import PREPOSITIONS, is_plural, lemmas_of, with_article
from kbkit.schema import Role
from kbkit.stores.text_query import STOP_WORDS

_MAX_SENTENCES = 80
_TELLING = 0.5
"""Mean rarity (BM25's weight) of a term's words, relative to that of a word of one document."""
_NEAR = 0.6
"""Cosine of the vectors of two words from which they may mean the same."""
_TOKEN = re.compile(r"[^\W_]+")
_OF_CLAUSE = 100.0
"""Score of a clause, above that of all other terms."""
_PLACED = re.compile(
    rf"(?:is|are|was|were) (?:{'|'.join(sorted(PREPOSITIONS))}|(?:north|south)-?(?:east|west)?|east|west) "
)
"""Statements of where a thing is: other things are there too, of which the texts do not say so."""
_REMARKS = frozenset(("comments", "details", "notes", "observations", "remarks"))
"""Plurals that are names of fields with sentences."""
_TITLES = frozenset(("name", "title"))
"""Fields that are no sentences."""
DESCRIPTIONS = frozenset(("description", "definition", "gloss", "summary", "text"))
"""Fields that say in short what a thing is: a common noun in one, such as *museums*, is there by chance."""


@dataclass(frozen=True)
class Phrase:
    """A term with its ``forms`` (its words as they are compared), its ``span`` in a text, the ``sentence`` around it,
    and a ``score`` (rarity).

    ``said`` is the term in a query: with its article, or in quotes for an item of a list. ``repeats``: it contains the
    name of a neighbour of the node. ``predicates`` are given for a clause that describes the node, for one node, for
    several and after a noun: *is known for music*, *are known for music*, *known for music*. ``head``: the form of the
    noun of what a node is known for, or of whom a story is about.
    """

    forms: tuple[str, ...]
    span: Span
    sentence: str
    score: float
    said: str
    repeats: bool = False
    predicates: tuple[str, str, str] | None = None
    head: str = ""

    @property
    def is_reputation(self) -> bool:
        """Whether it is what a node is known for."""
        return bool(self.head and self.predicates)

    @property
    def is_kind(self) -> bool:
        """Whether it says of what kind a node is: *is a salt lake*."""
        return self.predicates is not None and self.predicates[0] == f"is {with_article(self.span.text)}"


@lru_cache(200_000)
def _singular(word: str) -> str:
    folded = word.casefold()
    if folded.endswith("ss"):
        return folded
    return min(lemmas_of(folded).get("NOUN", ()), key=len, default=folded)


class Mentions:
    """Which of some documents mention a term, and where."""

    def __init__(self, matcher: Matcher, documents: Iterable[Document]) -> None:
        self._matcher = matcher
        self._documents = {document.id: document for document in documents}
        self._texts: dict[int, str] = {}
        self._near = lru_cache(None)(self._near_nodes)
        self._runs = lru_cache(None)(lambda node: other_forms.runs(self._documents[node].text))

    def stem(self, word: str) -> str:
        """Return the stem of a word by the full-text index, which several nouns may share: *colony* and *colonial*."""
        folded = word.casefold()
        stems = () if folded in STOP_WORDS else self._matcher.words(word)
        return stems[0] if stems else folded

    def forms(self, text: str) -> tuple[str, ...]:
        """Return all words of a text, in order, each as it is compared: nouns in the singular, without case."""
        return tuple(map(_singular, _TOKEN.findall(text)))

    @cached_property
    def _words(self) -> dict[str, set[int]]:
        """The lower-case words of all documents, each with the documents that have it."""
        words: dict[str, set[int]] = {}
        for node, document in self._documents.items():
            for word in set(_TOKEN.findall(document.text.casefold())):
                words.setdefault(word, set()).add(node)
        return words

    @cached_property
    def _vectors(self) -> tuple[list[str], NDArray[np.float32]]:
        words = [word for word in self._words if word.isalpha() and word not in EMPTY]
        return words, self._matcher.embed(words)

    def _near_nodes(self, word: str) -> frozenset[int]:
        """Return the documents that have a word, or one of nearly the same meaning."""
        words, vectors = self._vectors
        nodes = set(self._words.get(word, ()))
        near = vectors @ self._matcher.embed([word])[0] >= _NEAR if words else np.empty(0, bool)
        for position in np.flatnonzero(near).tolist():
            nodes |= self._words[words[position]]
        return frozenset(nodes)

    def uncertain(self, phrase: Phrase, nodes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of some nodes have other words for all that a term says, or have it within another term."""
        mask = self.mask(phrase.forms, nodes)
        if phrase.is_kind and (head := self.mask(phrase.forms[-1:], nodes) & ~mask).any():
            return head  # an active volcano: what about a volcano?
        if phrase.head:  # a text may say of a thing, or of a person, what is not asked
            named = np.array([has and self._states(phrase, node) for node, has in zip(nodes, mask, strict=True)], bool)
            lacking = np.array([not self._documents[node].passages for node in nodes], bool)
            mentioned = self.mask((phrase.head,), nodes) | self._reworded(head_of(phrase.span.text), nodes)
            unclear: NDArray[np.bool_] = lacking | (mentioned & ~named)
            return unclear
        inside = np.array([has and self.is_inside(phrase, node) for node, has in zip(nodes, mask, strict=True)], bool)
        return inside | ((self._reworded(phrase.span.text, nodes) | self._respelled(phrase.span.text, nodes)) & ~mask)

    def _states(self, phrase: Phrase, node: int) -> bool:
        """Return whether a node's texts say what a phrase with a head says, in the same words."""
        of_node = (
            one
            for passage in self._documents[node].passages
            for one in _heads(passage, self._documents[node].names, self.forms)
        )
        return phrase.forms in of_node

    def is_inside(self, phrase: Phrase, node: int) -> bool:
        """Return whether a node's texts have a common noun, a listed item or a clause only as part of a longer one."""
        is_listed, is_clause = is_item(phrase), phrase.predicates is not None
        if not is_listed and not is_clause and (_is_listed(phrase) or not phrase.span.text.islower()):
            return False
        for passage in self._documents[node].passages:
            for before, after in _around(passage.text, phrase.forms, is_list=is_listed):
                if not (before or after) if is_listed else stands_alone("" if is_clause else before, after):
                    return False
        return True

    def _reworded(self, term: str, nodes: Sequence[int]) -> NDArray[np.bool_]:
        parts = [word for word in _TOKEN.findall(term.casefold()) if word not in EMPTY]
        uncertain = np.ones(len(nodes), bool)
        for part in parts:
            near = self._near(part)
            uncertain &= np.fromiter((node in near for node in nodes), bool, len(nodes))
        return uncertain

    def _respelled(self, term: str, nodes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of some nodes have a term in another form, such as *PPARγ* for *PPAR-gamma*."""
        forms = other_forms.spellings(term) if other_forms.is_symbol(term) else set()
        forms |= self._short_forms.get(other_forms.squashed(term), set())
        found = (not forms.isdisjoint(self._runs(node)) for node in nodes) if forms else (False for _ in nodes)
        return np.fromiter(found, bool, len(nodes))

    @cached_property
    def _short_forms(self) -> dict[str, set[str]]:
        return other_forms.short_forms(document.text for document in self._documents.values())

    def _text(self, node: int) -> str:
        """Return the forms of a document's words, with a space around each and a line for each passage."""
        if node not in self._texts:
            passages = self._documents[node].passages
            self._texts[node] = "\n".join(f" {' '.join(self.forms(passage.text))} " for passage in passages)
        return self._texts[node]

    def mask(self, phrase: Sequence[str], nodes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of some nodes mention a term, given by its forms."""
        wanted = f" {' '.join(phrase)} "
        return np.fromiter((wanted in self._text(node) for node in nodes), bool, len(nodes))

    def find(self, phrase: Sequence[str], node: int) -> Span | None:
        """Return the first place where a node's texts mention a term."""
        for passage in self._documents[node].passages:
            for words, first, last in _places(passage.text, tuple(phrase)):
                start, end = words[first][0], words[last][1]
                return Span(passage.field, start, end, passage.text[start:end])
        return None


@lru_cache(5_000)
def _words_of(text: str) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """Return the places of the words of a text, and the words as they are compared."""
    words = [(m.start(), m.end()) for m in _TOKEN.finditer(text)]
    return words, tuple(_singular(text[start:end]) for start, end in words)


def _places(text: str, wanted: tuple[str, ...]) -> Iterator[tuple[list[tuple[int, int]], int, int]]:
    """Yield the places of all words of a text, and the first and the last word of each mention of a term."""
    words, forms = _words_of(text)
    for first in range(len(forms) - len(wanted) + 1):
        if forms[first] == wanted[0] and forms[first : first + len(wanted)] == wanted:
            yield words, first, first + len(wanted) - 1


def _around(text: str, wanted: tuple[str, ...], *, is_list: bool) -> Iterator[tuple[str, str]]:
    """Yield the words before and after each mention of a term, "" where punctuation or nothing is there.

    The first word of a text is in lower case.
    """
    for words, first, last in _places(text, wanted):
        before = text[slice(*words[first - 1])] if first and _joins(text, words, first - 1) else ""
        after = text[slice(*words[last + 1])] if last + 1 < len(words) and _joins(text, words, last) else ""
        if is_plural(text[slice(*words[last])]) and not is_list:
            after = ""  # detectives meet: a plural rarely precedes a noun
        yield before.lower() if first == 1 else before, after


def _joins(text: str, words: Sequence[tuple[int, int]], at: int) -> bool:
    """Return whether nothing but a space or a hyphen is between a word and the next one."""
    return text[words[at][1] : words[at + 1][0]] in (" ", "-")


def telling_phrases(
    document: Document,
    role: Role,
    mentions: Mentions,
    matcher: Matcher,
    avoid: frozenset[str],
    hidden: Sequence[str],
    neighbors: frozenset[str],
    noun: str = "",
) -> list[Phrase]:
    """Return the terms of a document that a query can ask for, the rarest first.

    No term has a stem of ``avoid`` (the node's own name, its type, its relations) or contains a name of ``hidden``.
    Those that contain one of ``neighbors`` (see :func:`kbkit.benchmarks.evidence.folded`) would give the answer away
    (*currency of Pakistan*); they are left out, unless they are items of a list: keywords that are nodes too. Frequent
    words are left out if there are others. Of a story only its lead is a term: it has others by chance. With ``noun``,
    the type of the node in words, the clauses that describe it are terms as well, before all others: they say what is
    asked, not that a text mentions it.
    """
    phrases: dict[tuple[str, ...], Phrase] = {}
    is_story = tells_story(document, noun)

    def is_taken(text: str) -> bool:
        has_stem = not avoid.isdisjoint(map(mentions.stem, _TOKEN.findall(text)))
        return has_stem or is_crude(text) or bool(leaks(text, hidden))

    for sentence in _sentences(document, role) if not is_story else ():
        field = sentence.field.partition("#")[0]
        is_list = is_list_field(field)
        if is_list:
            candidates = items(sentence.text)
        elif field in _TITLES:
            candidates = topics(sentence.text)
        elif is_english(sentence.text):
            candidates = terms(sentence.text)
        else:
            continue  # names cannot be told from nouns
        for start, end, said in candidates:
            text = sentence.text[start:end]
            forms = mentions.forms(text)
            if forms in phrases or is_taken(text):
                continue
            is_repeated = contains(text, neighbors)
            if is_list and (untelling(text, "keyword") or text.casefold() in matcher.untold):
                continue
            is_chance = field in DESCRIPTIONS
            is_of_name = field != "name" and shares_stem(text, document.names)
            if (text.islower() and is_chance and not is_list) or is_of_name or (is_repeated and not is_list):
                continue
            weights = [matcher.weight(stem) for stem in matcher.words(text)]
            is_frequent = not weights or sum(weights) < _TELLING * matcher.weight("") * len(weights)
            span = Span(sentence.field, sentence.start + start, sentence.start + end, text)
            score = 0.0 if is_frequent else sum(weights) / (1 + len(forms))
            phrases[forms] = Phrase(forms, span, sentence.text, score, said, is_repeated)
    clauses = (
        _leads(document, mentions)
        if is_story
        else _clauses(document, mentions, noun)
        if noun and noun not in WORKS
        else ()
    )
    for phrase in clauses:
        text = phrase.span.text.removesuffix(noun.rpartition(" ")[2])  # a salt lake
        if not (is_taken(text) or shares_stem(text, document.names) or contains(text, neighbors)):
            phrases[phrase.forms] = phrase
    ranked = sorted(phrases.values(), key=lambda phrase: (-phrase.score, phrase.span.field, phrase.span.start))
    return [phrase for phrase in ranked if phrase.score] or [phrase for phrase in ranked if _is_listed(phrase)]


def tells_story(document: Document, noun: str) -> bool:
    """Return whether the text of a work, which is called ``noun``, is a plot."""
    fields = {passage.field.partition("#")[0] for passage in document.passages}
    return noun.rpartition(" ")[2] in WORKS and text_noun(noun, sorted(fields)) in STORIES


def _leads(document: Document, mentions: Mentions) -> Iterator[Phrase]:
    """Yield whom a story is about; nothing if its texts tell of several."""
    leads = [(passage, lead) for passage in document.passages if (lead := story_lead(passage.text))]
    for passage, lead in leads if len(document.passages) == 1 else ():
        text = passage.text[lead.start : lead.end]
        span = Span(passage.field, lead.start, lead.end, text)
        forms = mentions.forms(text)
        yield Phrase(forms, span, passage.text, _OF_CLAUSE, lead.said, head=forms[-1])


def _heads(
    passage: TextPassage, names: Sequence[str], forms: Callable[[str], tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    """Yield the forms of what a text says that a node is known for, or whom its story is about."""
    lead = story_lead(passage.text)
    spans = [*reputations(passage.text, names), *([(lead.start, lead.end)] if lead else ())]
    return (forms(passage.text[start:end]) for start, end in spans)


def _around_span(text: str, at: int) -> str:
    """Return the sentence of a text that has a character."""
    return next(text[start:end] for start, end in sentences(text) if start <= at < end)


def _clauses(document: Document, mentions: Mentions, noun: str) -> Iterator[Phrase]:
    """Yield what the description of a node states of it: *known for music*, *on the Danube*."""
    for passage in document.passages:
        if passage.field.partition("#")[0] in DESCRIPTIONS and is_english(passage.text):
            for start, end in reputations(passage.text, document.names):
                text = passage.text[start:end]
                words = (f"is known for {text}", f"are known for {text}", f"known for {text}")
                forms = mentions.forms(text)
                head = mentions.forms(head_of(text))[-1]
                span = Span(passage.field, start, end, text)
                yield Phrase(forms, span, _around_span(passage.text, start), _OF_CLAUSE, text, False, words, head)
            for one in statements(passage.text, noun, document.name):
                if KNOWN.search(one.one):
                    continue
                text = passage.text[one.start : one.end]
                span = Span(passage.field, one.start, one.end, text)
                phrase = Phrase(mentions.forms(text), span, text, _OF_CLAUSE, text, False, one[2:])
                # A freshwater lake: other lakes have fresh water, of which the texts do not say so.
                is_open = phrase.is_kind and phrase.forms[-1:] == mentions.forms(noun)[-1:]
                if not is_open and not _PLACED.match(one.one):
                    yield phrase


def is_mention(phrase: Phrase) -> bool:
    """Return whether a phrase is what a description only mentions, not what it states of its subject: no one asks for
    drugs whose description mentions Australia.
    """
    return phrase.predicates is None and not phrase.head and phrase.span.field.partition("#")[0] in DESCRIPTIONS


def is_item(phrase: Phrase) -> bool:
    """Return whether a phrase is an item of a list, such as a keyword."""
    return is_list_field(phrase.span.field.partition("#")[0])


def is_list_field(field: str) -> bool:
    """Return whether the texts of a field are lists of labels, such as keywords or tags, by its name."""
    return is_plural(field) and field.rpartition("_")[2].casefold() not in _REMARKS


def _is_listed(phrase: Phrase) -> bool:
    """Return whether a term is from a list or a title rather than from a sentence, where frequent words say little."""
    return is_item(phrase) or phrase.span.field.partition("#")[0] in _TITLES


def _sentences(document: Document, role: Role) -> list[Span]:
    """Return the first sentences of the fields that the role reads, or else of all fields."""
    preferred = [s for s in document.sentences if s.field.partition("#")[0] in role.fields]
    return (preferred or document.sentences)[:_MAX_SENTENCES]


def avoided(mentions: Mentions, texts: Iterable[str]) -> frozenset[str]:
    """Return the stems of the content words of names and labels."""
    words = (word for text in texts for word in _TOKEN.findall(text.replace("_", " ")))
    return frozenset(stem for word in words if (stem := mentions.stem(word)) not in EMPTY)
