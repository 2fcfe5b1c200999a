"""Ten types of disfluencies, as in spontaneous speech, applied to a template.

Types: filled pause, repeated word, repeated phrase, cut-off word, abandoned start, self-correction, discourse marker,
hesitation, apology, interjection or thanks. Placeholders and alternatives in brackets are never split.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from kbkit.english.frames import pool

_TOKEN = re.compile(r"(?:\[[^\[\]]*\]|[^\s\[\]])+")
_WRONG = {
    "how": ("where", "when"), "where": ("when", "how"), "when": ("where", "how"), "who": ("what", "when"),
    "what": ("when", "who"), "which": ("how many", "where"), "until": ("since when",), "since": ("until when",),
    "whose": ("who",), "in": ("when",), "on": ("where",), "at": ("where",),
}  # fmt: skip
"""Interrogatives that a speaker may begin with by mistake."""
_STARTS = tuple(_WRONG)
_NO_PAUSE = frozenset(("it", "there", "[they]", "[them]", "birth", "death"))
"""Words before which a speaker does not pause: without stress, or the end of *date of birth*."""
_AUXILIARIES = frozenset(("is", "are", "was", "were", "does", "do", "did", "has", "have"))
_THANKS = 0.5
"""Probability that an interjection is thanks."""
_CONNECTIVE = re.compile(r"(?:OK, and|Now,|Next,|Also,|Moving on,|And) ")
_AFTER_CONNECTIVE = frozenset(("repeated word", "repeated phrase", "abandoned start", "self-correction"))
"""Types that concern the start of a question, which follows the connective."""


def _filled_pause(words: list[str], rng: random.Random) -> list[str]:
    filler = rng.choice(pool("conversations", "fillers"))
    position = _inner(words, rng)
    return [*words[: position - 1], f"{words[position - 1].rstrip(',')},", f"{filler},", *words[position:]]


def _repeated_word(words: list[str], rng: random.Random) -> list[str]:
    position = next(
        (
            i
            for i, word in enumerate(words)
            if re.fullmatch(r"(?i)the|is|was|does|did|of|which|what|how|who|when|where", word)
        ),
        -1,
    )
    if position < 0:
        return _filled_pause(words, rng)
    return [*words[:position], f"{words[position]},", _lowered(words[position]), *words[position + 1 :]]


def _repeated_phrase(words: list[str], rng: random.Random) -> list[str]:
    size = 3 if len(words) > 5 and not any("[" in word for word in words[:3]) else 2
    start = words[:size]
    if any("[" in word for word in start):
        return _repeated_word(words, rng)
    return [*start[:-1], f"{start[-1]},", _lowered(start[0]), *start[1:], *words[size:]]


def _cut_off(words: list[str], rng: random.Random) -> list[str]:
    long = [i for i, word in enumerate(words) if re.fullmatch(r"[A-Za-z]{4,}", word)]
    if not long:
        return _filled_pause(words, rng)
    position = rng.choice(long[:4])
    word = words[position]
    cut = word[: max(1, len(word) // 2 - 1)]
    return [*words[:position], f"{cut}-", _lowered(word) if position == 0 else word, *words[position + 1 :]]


def _abandoned(words: list[str], rng: random.Random) -> list[str]:
    return [rng.choice(pool("conversations", "restarts")), _lowered(words[0]), *words[1:]]


def _self_correction(words: list[str], rng: random.Random) -> list[str]:
    position = next((i for i, word in enumerate(words) if word.casefold() in _STARTS), -1)
    if position < 0:
        return _filled_pause(words, rng)
    right = words[position]
    wrong = rng.choice(_WRONG[right.casefold()])
    wrong = wrong[0].upper() + wrong[1:] if position == 0 else wrong
    return [
        *words[:position],
        f"{wrong},",
        rng.choice(pool("conversations", "edits")),
        _lowered(right),
        *words[position + 1 :],
    ]


def _marker(words: list[str], rng: random.Random) -> list[str]:
    marker = rng.choice(pool("conversations", "markers"))
    position = _inner(words, rng)
    return [*words[: position - 1], f"{words[position - 1].rstrip(',')},", f"{marker},", *words[position:]]


def _hesitation(words: list[str], rng: random.Random) -> list[str]:
    position = _inner(words, rng)
    return [*words[: position - 1], f"{words[position - 1]}...", *words[position:]]


def _apology(words: list[str], rng: random.Random) -> list[str]:
    apology = rng.choice(pool("conversations", "apologies"))
    return [f"{apology[0].upper()}{apology[1:]},", _lowered(words[0]), *words[1:]]


def _interjection(words: list[str], rng: random.Random) -> list[str]:
    return [
        rng.choice(pool("conversations", "interjections")),
        rng.choice(("um,", "uh,", "er,")),
        _lowered(words[0]),
        *words[1:],
    ]


TYPES: dict[str, Callable[[list[str], random.Random], list[str]]] = {
    "filled pause": _filled_pause,
    "repeated word": _repeated_word,
    "repeated phrase": _repeated_phrase,
    "cut-off word": _cut_off,
    "abandoned start": _abandoned,
    "self-correction": _self_correction,
    "discourse marker": _marker,
    "hesitation": _hesitation,
    "apology": _apology,
    "interjection": _interjection,
}


def disfluent(question: str, kind: str, rng: random.Random, *, is_later: bool = False) -> str:
    """Return a question with a disfluency of a type (see ``TYPES``); with ``is_later`` it may begin with thanks.

    ``is_later``: the question is never the first one of a conversation.
    """
    if is_later and kind == "interjection" and rng.random() < _THANKS:
        return f"{rng.choice(pool('conversations', 'thanks'))} {question}"
    match = _CONNECTIVE.match(question) if kind in _AFTER_CONNECTIVE else None
    connective = match[0] if match else ""
    words = _TOKEN.findall(question[len(connective) :])
    said = " ".join(TYPES[kind](words, rng) if len(words) > 2 else _abandoned(words, rng))
    return connective + _lowered(said) if connective else said


def _inner(words: Sequence[str], rng: random.Random) -> int:
    """Return a position between two words where a speaker may pause: before the subject or after the first words."""
    good = [
        i
        for i in range(1, len(words))
        if (i < len(words) - 1 or re.match(r"\[[^~+/]*\]", words[i]))
        and (
            words[i].startswith("[")
            or words[i - 1].casefold() in ("is", "was", "does", "did", "of", "know", "me", "up", "out", "the")
        )
        and words[i].strip("?.,").casefold() not in _NO_PAUSE
        and not words[i - 1].endswith((",", ".", "...", "-"))
        and not re.search(r"\]$|'s$|^year$", words[i - 1])
    ]
    before_verb = (i for i in range(1, len(words) - 1) if words[i] in _AUXILIARIES)
    return rng.choice(good) if good else next(before_verb, 1)


def _lowered(word: str) -> str:
    if word.startswith(("I", "[")) and word[:2] not in ("In", "Is"):
        return word
    is_acronym = len(word.strip(",.?")) > 1 and word.isupper()  # OK, and
    return word if is_acronym else word[0].lower() + word[1:]
