"""Completion: a pure function of the text, the cursor and the KB's vocabulary.

Each language has a module that reads the unfinished statement before the cursor; ``ranking`` selects and orders the
candidates.
"""

from __future__ import annotations

from kbkit.executor.completion import answers, commands, search, sparql, sql
from kbkit.executor.completion.ranking import LIMIT, Candidate
from kbkit.executor.vocabulary import Vocabulary

__all__ = ["LIMIT", "Candidate", "complete", "prepare"]

_LONGEST = 20_000
"""Characters of a statement that are read on each side of the cursor."""

_COMPLETE = {
    "sql": sql.complete,
    "sparql": sparql.complete,
    "answers": answers.complete,
    "search": search.complete,
    "ask": search.complete,
    "command": commands.complete,
}


_PREPARED = {
    "sql": ("FROM zzz", "SELECT zzz"),
    "sparql": ("SELECT * { ?s zzz", "SELECT * { ?s a zzz"),
    "answers": ("zzz", "* -> zzz", "* -> [zzz", '*:"zzz', "@zzz"),
}


def prepare(vocabulary: Vocabulary) -> None:
    """Open the stores and build the lists that completion needs, so that the first candidates come fast (0.3 s)."""
    for language, texts in _PREPARED.items():
        for text in texts:
            complete(text, len(text), vocabulary, language)
    for node_type in vocabulary.schema.node_types[:1]:
        vocabulary.schema.joins_between(node_type.name, None)


def complete(text: str, at: int, vocabulary: Vocabulary, language: str) -> list[Candidate]:
    """Return the candidates at position ``at`` of a statement, the most likely first, at most 50.

    ``language`` is one of ``languages.LANGUAGES`` or ``command``; text that starts with a dot is always a command. No
    text raises an error, and unknown languages have no candidates.
    """
    at = max(0, min(at, len(text)))
    cut = max(0, at - _LONGEST)
    if cut and language in ("answers", "command"):
        return []  # the text before decides
    window, position = text[cut : at + _LONGEST], at - cut
    if text.lstrip().startswith("."):
        language = "command"
    if language not in _COMPLETE:
        return []
    found = {(c.text, c.start): c for c in reversed(_COMPLETE[language](window, position, vocabulary))}
    chosen = [*reversed(found.values())][:LIMIT]
    return [Candidate(c.text, c.start + cut, c.display, c.meta) for c in chosen] if cut else chosen
