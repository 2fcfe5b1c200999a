"""Find the nodes and types that a question names: exact names and aliases, the longest first; else similar ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kbkit.english.question_words import FUNCTION_WORDS, INTERROGATIVES
from kbkit.english.words import singular
from kbkit.questions.lexicon import indexed_stem, label_words, stem
from kbkit.questions.question import Question
from kbkit.stores import Stores
from kbkit.stores.folding import words

if TYPE_CHECKING:
    import polars as pl

MAX_WORDS = 16
"""Limit on the words of a name."""
MAX_NODES = 5
"""Nodes of a name that are tried as its meaning, the best connected first."""
MAX_MENTIONS = 8
_MAX_COMPARED = 1_000
"""Nodes of a name that are looked at more closely."""
_MARKS = re.compile(r"[!?.]+")
"""Marks that may end a name."""
DERIVED = ("ian", "ean", "an", "n", "ese", "ish", "i")
"""Endings of words derived from names."""
MAX_FUZZY_WORDS, MAX_FUZZY_LOOKUPS = 4, 100
"""Limits on the words of a misspelled name, and on fuzzy lookups, which take about a millisecond each."""


@dataclass(frozen=True)
class Mention:
    """Tokens ``first`` to ``last`` (exclusive) and the nodes of that name.

    ``how`` is exact, derived, stemmed or fuzzy. ``same_case`` are the nodes whose name is written as in the question.
    ``is_ambiguous`` if more nodes have the name than are tried.
    """

    first: int
    last: int
    text: str
    nodes: tuple[int, ...]
    how: str
    same_case: frozenset[int] = frozenset()
    is_ambiguous: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether it is hardly a common word: several content words, or written with the capitals of the name."""
        content = [word for word in words(self.text).split() if word not in FUNCTION_WORDS]
        has_capitals = bool(self.same_case) and self.text != self.text.lower()
        return self.how == "exact" and (len(content) > 1 or has_capitals)

    @property
    def tokens(self) -> range:
        """Positions of the tokens."""
        return range(self.first, self.last)

    def overlaps(self, other: Mention) -> bool:
        """Return whether two mentions share a token."""
        return self.first < other.last and other.first < self.last


def mentions(stores: Stores, question: Question) -> list[Mention]:
    """Return the names in a question, from left to right; see :class:`Mention`.

    Stemmed and misspelled names are looked up only in a question without an exact name.
    """
    found = exact_mentions(stores, question)
    if not found and stores.has("text"):
        found = _similar(stores, question)[:MAX_MENTIONS]
    return found


def exact_mentions(stores: Stores, question: Question) -> list[Mention]:
    """Return the exact names in a question, and those of words derived from names, from left to right."""
    found = _exact(stores, question)
    content = [m for m in found if _has_content(question, m) or _is_title(question, m)]
    return (content or [m for m in found if m.same_case])[:MAX_MENTIONS]


def _has_content(question: Question, mention: Mention) -> bool:
    return any(question.tokens[at].word not in FUNCTION_WORDS for at in mention.tokens)


def _is_title(question: Question, mention: Mention) -> bool:
    """Return whether function words inside a question are written like a name: *the director of One on One*."""
    is_plain = question.text.isupper() or question.text.istitle() or mention.text == "I"
    return mention.is_sure and mention.first > 0 and not is_plain


def _exact(stores: Stores, question: Question) -> list[Mention]:
    """Return the longest exact names, and after each the names in it without its first or last word."""
    tokens = question.tokens
    starts, stops = [token.start for token in tokens], [token.end for token in tokens]
    spans = [(a, b) for a in range(len(tokens)) for b in range(a + 1, min(len(tokens), a + MAX_WORDS) + 1)]
    possible = stores.nodes.may_name([question.text[starts[a] : stops[b - 1]] for a, b in spans])
    names = {span for span, is_possible in zip(spans, possible, strict=True) if is_possible}
    result: list[Mention] = []
    covered = 0  # where the longest name so far ends: spans up to there are parts of it
    for first in range(len(tokens)):
        for last in range(min(len(tokens), first + MAX_WORDS), max(first, covered), -1):
            found = _named(stores, question, first, last) if (first, last) in names else None
            if found and last == first + 1 and not found.same_case and (more := _derived(stores, question, first)):
                both = tuple(dict.fromkeys((*found.nodes, *more.nodes)))  # vampires: the film, or the keyword vampire
                found = replace(found, nodes=both[:MAX_NODES], how="derived")
            if found:
                result.append(found)
                shorter = [(first, last - 1), (first + 1, last)] if last - first > 1 else []
                result += [one for span in shorter if span in names and (one := _named(stores, question, *span))]
                covered = last
                break
        else:
            if first >= covered and (derived := _derived(stores, question, first)):
                result.append(derived)
    return result


def _derived(stores: Stores, question: Question, at: int) -> Mention | None:
    """Return the mention of a name in a word derived from it (``African``: Africa), or from its plural."""
    token = question.tokens[at]
    text = question.text[token.start : token.end]
    endings = ("s", "es", *DERIVED) if text[:1].isupper() else ("s", "es")
    stripped = (text.removesuffix(suffix) for suffix in endings if text.endswith(suffix))
    for name in dict.fromkeys((*stripped, singular(text))):  # comedies: Comedy
        if name != text and len(name) >= 4:
            ids = stores.nodes.named(name)
            if len(ids):
                return Mention(at, at + 1, text, _best_connected(stores, ids.tolist()), "derived")
    return None


def _named(stores: Stores, question: Question, first: int, last: int) -> Mention | None:
    """Return the mention of the tokens ``first`` to ``last``, if they are a name."""
    text = question.text[question.tokens[first].start : question.tokens[last - 1].end]
    ids = stores.nodes.named(text)
    if not len(ids) or (text.isdigit() and _is_nameless(stores, question, first, ids.tolist()[:MAX_NODES])):
        return None
    chosen = _best_connected(stores, _as_written(stores, text, ids.tolist()))
    marks = _MARKS.match(question.text, question.tokens[last - 1].end)
    forms = {text, text + marks[0] if marks else text}
    same = frozenset(n for n in chosen if not forms.isdisjoint((stores.nodes.name(n), *stores.nodes.aliases(n))))
    return Mention(first, last, text, chosen, "exact", same, len(ids) > MAX_NODES)


def _as_written(stores: Stores, text: str, ids: list[int]) -> list[int]:
    """Return the nodes whose name is written so, if there are such, else those whose capitals only differ.

    *Denmark* is hardly the keyword *denmark*, nor *horror* the film *#Horror*.
    """
    known = ids[:_MAX_COMPARED]
    names = [{stores.nodes.name(node), *stores.nodes.aliases(node)} for node in known]
    same = [node for node, own in zip(known, names, strict=True) if text in own]
    if same and text != text.lower():
        return same
    folded = text.casefold()
    return [node for node, own in zip(known, names, strict=True) if folded in {*map(str.casefold, own)}] or ids


def _is_nameless(stores: Stores, question: Question, first: int, ids: list[int]) -> bool:
    """Return whether a number is the key of nodes without names, which only their type before it would select."""
    before = stem(question.tokens[first - 1].word) if first else ""
    return all(
        stores.nodes.name(node) == stores.nodes.row(node).key
        and before not in map(stem, label_words(stores.schema.type_of(node).name))
        for node in ids
    )


def _best_connected(stores: Stores, ids: list[int]) -> tuple[int, ...]:
    """Return up to ``MAX_NODES`` nodes, those with the most relations first."""
    if len(ids) <= MAX_NODES:
        return tuple(ids)
    schema = stores.schema
    degrees = dict.fromkeys(ids[:_MAX_COMPARED], 0)
    for node in degrees:
        for relation, forward in schema.relations_from(schema.type_of(node).name)[:50]:
            csr = stores.adjacency.forward(relation.name) if forward else stores.adjacency.backward(relation.name)
            degrees[node] += len(csr.neighbors(node))
    return tuple(sorted(degrees, key=lambda node: (-degrees[node], node))[:MAX_NODES])


def _similar(stores: Stores, question: Question) -> list[Mention]:
    """Return the longest spans with the stems of a name, or else a name at edit distance 1 or 2."""
    free = np.ones(len(question.tokens), bool)
    found: list[Mention] = []

    def take(first: int, last: int, ids: list[int], how: str) -> None:
        if ids:
            free[first:last] = False
            text = question.text[question.tokens[first].start : question.tokens[last - 1].end]
            found.append(Mention(first, last, text, _best_connected(stores, ids), how))

    unknown = np.array([not stores.text.frequency(indexed_stem(token.word)) for token in question.tokens], bool)
    content = np.array([token.word not in FUNCTION_WORDS for token in question.tokens], bool)
    foreign = unknown & content  # in no name
    for first, last in _spans(question, 8, free):
        if not foreign[first:last].any():
            stems = [indexed_stem(token.word) for token in question.tokens[first:last]]
            take(first, last, stores.text.named(stems, 50).tolist(), "stemmed")
    misspelled = ((a, b) for a, b in _spans(question, MAX_FUZZY_WORDS, free) if unknown[a:b].any())
    for first, last in islice(misspelled, MAX_FUZZY_LOOKUPS):
        phrase = [token.word for token in question.tokens[first:last]]
        letters = sum(map(len, phrase))
        if letters >= 5 and not {phrase[0], phrase[-1]} & (FUNCTION_WORDS | INTERROGATIVES):
            take(first, last, stores.text.named_like(phrase, 2 if letters >= 9 else 1, 50).tolist(), "fuzzy")
    return sorted(found, key=lambda mention: mention.first)


def _spans(question: Question, limit: int, free: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield spans of unassigned tokens, the longest first, then from the left, except spans of function words."""
    for size in range(min(limit, len(question.tokens)), 0, -1):
        for first in range(len(question.tokens) - size + 1):
            last = first + size
            has_content = any(token.word not in FUNCTION_WORDS for token in question.tokens[first:last])
            if has_content and free[first:last].all():
                yield first, last


def linked(stores: Stores, text: str) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.linked`."""
    import polars as pl

    weights = {"exact": 1.0, "derived": 0.9, "stemmed": 0.9, "fuzzy": 0.7}
    found = [(m.text, m.how, weights[m.how], n) for m in mentions(stores, Question.of(text)) for n in m.nodes]
    schema = {"text": pl.String, "how": pl.String, "weight": pl.Float64, "id": pl.Int32}
    frame = pl.DataFrame(found, schema=schema, orient="row")
    return frame.join(stores.nodes.frame(frame["id"]), on="id", how="left", maintain_order="left")
