"""Parse full-text queries (required phrases, stop words), and make snippets of their hits. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kbkit.errors import KbError, check_unicode

STOP_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "for", "from", "had", "has", "have", "he",
        "her", "his", "if", "in", "into", "is", "it", "its", "no", "not", "of", "on", "or", "our", "she", "such",
        "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "we", "were", "which", "will",
        "with",
    )
)  # fmt: skip
"""Words dropped from English queries that have other words; they are indexed, for names such as "The The"."""

_GRADED = frozenset(
    (
        "big", "bright", "busi", "cold", "dark", "deep", "dri", "earli", "fast", "flat", "great", "hard", "heavi",
        "high", "holi", "hot", "larg", "late", "light", "long", "loud", "low", "narrow", "near", "new", "old", "poor",
        "quick", "rich", "short", "slow", "small", "steep", "strong", "tall", "thick", "thin", "warm", "weak", "wet",
        "wide", "young",
    )
)  # fmt: skip
"""Stems of adjectives. The English stemmer does not reduce their superlatives."""
_DOUBLED = frozenset(("big", "flat", "hot", "thin", "wet"))

_MAX_PHRASES = 32
# A quotation mark opens before a word and closes after one, so that `a 5" pipe` has no phrase.
_QUOTED = re.compile(r'(?<!\w)"(?=\S)([^"]+)(?<=\S)"(?!\w)')


@dataclass(frozen=True)
class TextQuery:
    """A query: its ``text``, and the ``required`` phrases that must occur word for word.

    ``words``, if any, are the index words to search instead of those of the text.
    """

    text: str
    required: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def parse(text: str, quotes: bool = True) -> TextQuery:
    """Parse a query: ``"..."`` is a required phrase, all other operators are punctuation.

    Without ``quotes``, quotation marks are punctuation too, as for questions read from a file.
    """
    if not quotes:
        return TextQuery(text)
    straight = text.translate({ord(mark): '"' for mark in "“”„‟«»"})
    phrases = dict.fromkeys(match.strip() for match in _QUOTED.findall(straight))
    return TextQuery(straight, tuple(phrases)[:_MAX_PHRASES])


def superlative(stem: str) -> str:
    """Return the stem of the superlative of a common English adjective; of other words, an empty string."""
    if stem not in _GRADED:
        return ""
    return (stem + stem[-1] if stem in _DOUBLED else stem.removesuffix("e")) + "est"


def check_query_text(text: str) -> None:
    """Raise :class:`KbError` for an empty query or invalid Unicode."""
    if not text.strip():
        raise KbError("Empty query", "Enter at least one word")
    check_unicode(text, "the query")


Token = tuple[int, int, str]
"""Start and end of a word in its document, in characters, and its index word."""


def snippet(document: str, hits: Sequence[Token] = (), characters: int = 160) -> str:
    """Return about ``characters`` of the document with the most distinct words of ``hits``, each between ``**``."""
    start, end = _window(document, hits, characters)
    parts, at = ["…" if start else ""], start
    for first, last, _ in hits:
        if first >= start and last <= end:
            parts += [document[at:first], "**", document[first:last], "**"]
            at = last
    return "".join(parts) + document[at:end] + ("…" if end < len(document) else "")


def _window(document: str, hits: Sequence[Token], characters: int) -> tuple[int, int]:
    """Return start and end, at spaces, of the first window with the most distinct words."""
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
