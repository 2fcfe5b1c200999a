"""Whether two names share a stem (*Moldovan leu* and *Moldova*), and whether a sentence is English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from kbkit.english.words import is_common


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text between spaces."""
    return frozenset(text.split())


_WORD = re.compile(r"[^\W\d_]+")
_MIN, _TAIL = 4, 5
"""Letters that two words of a stem begin with, and the most letters after them."""
_GENERIC = words_of(
    """
    about after area basin bank battle before board book capital central century channel city class club coast college
    commission committee common community company cooperation council country county department development district
    east eastern economic federal federation film first force free from great group gulf house international institute
    into island islands kingdom lake language league life love lower market middle monetary mount mountain mountains
    movie national nations north northern ocean office organisation organization party people peoples person point
    province republic region river saint school season second series shared society south southern state states street
    system team that their they third this through time treaty union united university upper western west with work
    world year years young
    """
)
"""Words that names share by chance."""
PEOPLES = {
    "danish": "denmark", "dane": "denmark", "dutch": "netherlands", "english": "england", "finnish": "finland",
    "french": "france", "greek": "greece", "irish": "ireland", "polish": "poland", "scottish": "scotland",
    "spanish": "spain", "swiss": "switzerland", "welsh": "wales", "thai": "thailand", "turkish": "turkiye",
    "czech": "czechia", "lao": "laos", "iraqi": "iraq", "omani": "oman", "filipino": "philippines",
    "philippine": "philippines", "british": "britain", "belgian": "belgium", "burmese": "myanmar", "uae": "emirates",
    "emirati": "emirates", "us": "america", "american": "america", "afghan": "afghanistan", "uzbek": "uzbekistan",
    "norwegian": "norway", "portuguese": "portugal", "swede": "sweden", "icelandic": "iceland", "slovak": "slovakia",
    "slovene": "slovenia",
    "cypriot": "cyprus", "peruvian": "peru", "argentine": "argentina",
    "kazakh": "kazakhstan", "turkmen": "turkmenistan", "tajik": "tajikistan", "kyrgyz": "kyrgyzstan",
}  # fmt: skip
"""Peoples whose word begins otherwise than their country's."""
_FOREIGN = words_of(
    """de la le les des du et en un une l d der die das und ein eine von im zu el los las y del por que een het di il
    della da do dos e i na w z og av och"""
)
_ENGLISH = words_of(
    """the a an of in and or to for with by on at from is was are were that which who as its his her their into one"""
)

_SHARED = words_of("an as at by for in is or that was")
"""English words that other languages have too."""
_KNOWN = 0.7
"""Fraction of the words in lower case of an English text that are in the dictionary."""


def shares_stem(name: str, others: Iterable[str]) -> bool:
    """Return whether a word of a name and one of other names have a stem in common, so that one tells the other."""
    words = _telling(name)
    if not words:
        return False
    return any(_alike(word, other) for text in others for other in _telling(text) for word in words)


def is_english(sentence: str) -> bool:
    """Return whether a sentence is surely English: it has function words of English, and most of its words in lower
    case are in the dictionary, since *in* is German too (*Staat in Mitteleuropa*).
    """
    found = _WORD.findall(sentence)
    words = {word.casefold() for word in found}
    is_like = not words.isdisjoint(_ENGLISH - _FOREIGN)
    plain = [word for word in found if word.islower() and len(word) >= _MIN and word not in _ENGLISH]
    known = sum(map(is_common, plain))
    is_told = not words.isdisjoint(_ENGLISH - _FOREIGN - _SHARED) or bool(known)
    return is_like and is_told and known >= _KNOWN * len(plain)


@lru_cache(100_000)
def _telling(text: str) -> frozenset[str]:
    plain = text.casefold()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain.replace("ı", "i"))
        plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    words = set(_WORD.findall(plain))
    told = {PEOPLES[word] for word in words if word in PEOPLES}
    return frozenset(told | {word for word in words if len(word) >= _MIN and word not in _GENERIC})


def _alike(one: str, other: str) -> bool:
    shortest = min(len(one), len(other))
    same = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    longest = max(len(one), len(other))
    return same >= _MIN and longest - same <= _TAIL and 2 * same >= longest
