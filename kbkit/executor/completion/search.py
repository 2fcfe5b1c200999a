"""Completion of plain words: names of nodes, and for the first word the keywords of other languages."""

from __future__ import annotations

import re

from kbkit.answers.syntax import identifier
from kbkit.executor.completion import sql
from kbkit.executor.completion.ranking import Candidate, CompletionItem, layered, named
from kbkit.executor.completion.sql_words import START, cased
from kbkit.executor.vocabulary import Vocabulary

_WORD = re.compile(r"\S+")
_MAX_WORDS = 4
_MIN_LETTERS = 2
_TABLE_NEXT = re.compile(r"\s*(?:FROM|from|DESCRIBE|describe|SUMMARIZE|summarize)\s+\w*")
_SPARQL_START = ("PREFIX", "ASK", "CONSTRUCT")


def complete(text: str, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Return names of nodes that start with the last one to four words, preferably more."""
    before = text[:at]
    starts = [word.start() for word in _WORD.finditer(before)]
    if _TABLE_NEXT.fullmatch(before):
        return [*sql.complete(text, at, vocabulary), *_names(before, starts, vocabulary)]
    if len(starts) == 1 and not before[-1].isspace():
        return [*_first(before[starts[0] :], starts[0], vocabulary), *_names(before, starts, vocabulary)]
    return _names(before, starts, vocabulary)


def _first(typed: str, start: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Return the first words of other languages."""
    types = sorted(vocabulary.schema.node_types, key=lambda t: (-t.members, t.name))
    known = [CompletionItem(t.name, identifier(t.name), f"type, {t.members:,} nodes") for t in types]
    keywords = [CompletionItem(word, cased(word, typed, ""), "SQL") for word in START]
    keywords += [CompletionItem(word, cased(word, typed, ""), "SPARQL") for word in _SPARQL_START]
    return layered(typed, start, exact=[known, keywords])


def _names(before: str, starts: list[int], vocabulary: Vocabulary) -> list[Candidate]:
    for start in starts[-_MAX_WORDS:]:
        typed = before[start:].lstrip("\"'(")
        if len(typed.strip()) < _MIN_LETTERS:
            continue
        found = named(vocabulary, typed, None, len(before) - len(typed), str)
        if found:
            return found
    return []
