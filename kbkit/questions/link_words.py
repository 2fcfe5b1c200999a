"""What single words and spans of a question are: numbers, participles, adjectives of names, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from kbkit.english.question_words import (
    MONTHS,
    NUMBERS,
    PARTICIPLES,
    SCALES,
)
from kbkit.english.stems import PEOPLES
from kbkit.english.thesaurus import related_words
from kbkit.english.words import lemmas_of
from kbkit.questions.lexicon import related
from kbkit.questions.mentions import DERIVED, Mention

_SHORT_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kKM])")
"""A number in thousands or millions: ``70k``."""
_NUMERIC = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_YEAR = re.compile("1[0-9]{3}|20[0-9]{2}")
_DAY = re.compile("([0-9]{1,2})(?:st|nd|rd|th)?")
_ISO_DAY = re.compile("[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
_ENDINGS = ("a", "y", "o", "e", "en", "ia", "al")
"""Endings of names that adjectives lose: Italian, Swedish, Chinese."""

_LEAST_DENIED = 5
"""Letters from which a word may be another one with *un*."""
DERIVED_LABEL = 0.85
"""Score of a word derived from a label."""


def bases(text: str, *, is_first: bool) -> Iterator[str]:
    """Yield the names that an adjective may be derived from: ``Italian``: Italy.

    The first word of a question has a capital in any case, so that endings of one letter are no sign of an adjective.
    """
    if text.lower() in PEOPLES:
        yield PEOPLES[text.lower()]
    if text.lower().endswith(("ist", "ists")):
        yield f"{text.lower().removesuffix('s').removesuffix('ist')}ism"  # surrealists, of surrealism
    for suffix in DERIVED:
        if text.endswith(suffix) and len(text) - len(suffix) >= 4 and len(suffix) > is_first:
            base = text[: -len(suffix)]
            yield base
            if len(suffix) > 1:
                yield from (base + ending for ending in _ENDINGS)
    yield f"{text}y"


def link_number(words: Sequence[str], text: str) -> str:  # noqa: PLR0911
    """Return the number that words stand for, in digits: ``three``, ``1,000``, ``2 million``; empty if none."""
    if len(words) == 2 and words[0] in MONTHS and _YEAR.fullmatch(words[1]):
        return f"{words[1]}-{MONTHS[words[0]]:02}"
    if len(words) in (3, 4):
        return _day(words, text)
    if len(words) == 2 and words[1] in SCALES and _NUMERIC.fullmatch(text.split(maxsplit=1)[0]):
        number = float(text.split(maxsplit=1)[0].replace(",", "")) * SCALES[words[1]]
        return str(int(number) if number.is_integer() else number)
    if len(words) == 2 and words[0] in ("a", "one") and words[1] in SCALES:
        return str(SCALES[words[1]])
    if len(words) > 1:
        return ""
    if short := _SHORT_NUMBER.fullmatch(text):  # 70k
        return str(int(Decimal(short[1]) * (1_000 if short[2] in "kK" else 1_000_000)))
    return NUMBERS.get(words[0], text.replace(",", "") if _NUMERIC.fullmatch(text) else "")


def _day(words: Sequence[str], text: str) -> str:
    """Return the date that words stand for, ``15 August 2024`` or ``August 15th, 2024``; empty if none."""
    if _ISO_DAY.fullmatch(text):
        return text
    plain = [word for word in words if word != "of"]
    if len(plain) != 3 or not _YEAR.fullmatch(plain[2]):
        return ""
    day, month = (plain[1], plain[0]) if plain[0] in MONTHS else (plain[0], plain[1])
    found = _DAY.fullmatch(day)
    if month not in MONTHS or found is None or not 1 <= int(found[1]) <= 31:
        return ""
    return f"{plain[2]}-{MONTHS[month]:02}-{int(found[1]):02}"


def denied_root(word: str) -> str:
    """Return the word that a word denies: *paid*, of unpaid, *active*, of inactive; empty if it denies none."""
    prefix = next((one for one in ("non", "un", "in", "im") if word.startswith(one)), "")
    return word[len(prefix) :] if prefix and len(word) >= _LEAST_DENIED else ""


def is_participle(word: str) -> bool:
    """Return whether a word may be the participle of a verb, without a dictionary, which takes long to load."""
    return word.endswith("ed") or word in PARTICIPLES


def is_of_people(word: str) -> bool:
    """Return whether a word is for a people and its place: *japanese*."""
    return word in PEOPLES or bool(related_words(word).places)


def is_misspelled(mention: Mention) -> bool:
    """Return whether a mention is a name with a wrong letter, rather than another word."""
    if mention.how != "fuzzy":
        return False
    return mention.text[:1].isupper() or not all(lemmas_of(word) for word in mention.text.split())


def overlap(stems: tuple[str, ...], label: tuple[str, ...], is_plain: bool) -> float:
    """Return how well some stems express a label: 1 for all words in order, less for another order or some of them."""
    if not stems or not is_plain:
        return 0.0
    if len(stems) == len(label):
        is_derived = len(stems) == 1 and related(stems[0], label[0])
        return 1.0 if stems == label else 0.97 if set(stems) == set(label) else DERIVED_LABEL if is_derived else 0.0
    if len(stems) < len(label):
        for at in range(len(label) - len(stems) + 1):
            if label[at : at + len(stems)] == stems:
                share = len(stems) / len(label)
                return (0.6 if at + len(stems) == len(label) else 0.5) + 0.3 * share
    return 0.0
