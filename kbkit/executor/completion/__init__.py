"""What may stand at the cursor: a pure function of the text and of what is known of the KB.

A module for each language reads what stands before the cursor, as far as it goes: a statement that is being typed is
seldom whole. ``ranking`` chooses and orders.
"""

from __future__ import annotations

from kbkit.executor.completion import answers, commands, search, sparql, sql
from kbkit.executor.completion.ranking import MOST, Candidate
from kbkit.executor.vocabulary import Vocabulary

__all__ = ["LANGUAGES", "MOST", "Candidate", "complete", "prepare"]

LANGUAGES = ("sql", "sparql", "answers", "search")

_LONGEST = 20_000
"""Letters of a statement, before and after the cursor, that are read."""

_COMPLETE = {
    "sql": sql.complete,
    "sparql": sparql.complete,
    "answers": answers.complete,
    "search": search.complete,
    "command": commands.complete,
}


_PREPARED = {
    "sql": ("FROM zzz", "SELECT zzz"),
    "sparql": ("SELECT * { ?s zzz", "SELECT * { ?s a zzz"),
    "answers": ("zzz", "* -> zzz", "* -> [zzz", '*:"zzz', "@zzz"),
}


def prepare(vocabulary: Vocabulary) -> None:
    """Open what completion looks into, and make its lists: for a thread, before the first word is typed.

    Without this the first candidates take some 0.3 s.
    """
    for language, texts in _PREPARED.items():
        for text in texts:
            complete(text, len(text), vocabulary, language)
    for node_type in vocabulary.schema.node_types[:1]:
        vocabulary.schema.joins_between(node_type.name, None)


def complete(text: str, at: int, vocabulary: Vocabulary, language: str) -> list[Candidate]:
    """What may stand at the place ``at`` of a statement, the likeliest first; at most 50.

    ``language`` is one of ``LANGUAGES`` or ``command``; a text that starts with a dot is a command in any case. There
    is no text that raises an error, and nothing for a language that is not known.
    """
    at = max(0, min(at, len(text)))
    cut = max(0, at - _LONGEST)
    if cut and language in ("answers", "command"):
        return []  # what stands before decides
    window, place = text[cut : at + _LONGEST], at - cut
    if text.lstrip().startswith("."):
        language = "command"
    if language not in _COMPLETE:
        return []
    found = {(c.text, c.start): c for c in reversed(_COMPLETE[language](window, place, vocabulary))}
    chosen = [*reversed(found.values())][:MOST]
    return [Candidate(c.text, c.start + cut, c.display, c.meta) for c in chosen] if cut else chosen
