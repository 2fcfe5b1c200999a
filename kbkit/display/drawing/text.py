"""Text of a KB in a drawing: on one line, without what no XML may hold, shortened where room is scarce."""

from __future__ import annotations

import re
import unicodedata

from kbkit.display.render import clean

_UNFIT = re.compile("[\ufffe\uffff\ud800-\udfff]")
"""What no XML may hold, beside control characters: vl-convert aborts the whole process at it."""

_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def fit(text: str) -> str:
    """Text that every format can hold; its lines stay."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", clean(text))


def line(text: str) -> str:
    """The same on one line, without what turns the direction of all that follows."""
    return " ".join(_TURNING.sub("", fit(text)).split())


def short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, cut at a word where that does not lose too much."""
    text = line(text)
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    words = cut.rpartition(" ")[0]
    return (words if len(words) > 0.65 * limit else cut).rstrip(" ,;:-") + "…"


def width(text: str, size: float) -> float:
    """About how wide text is in a sans-serif font of ``size``; rather too wide than too narrow."""
    return size * sum(_em(letter) for letter in text)


def _em(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Cf"):
        return 0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    if letter in "iljtfrI.,;:'!|()[] ":
        return 0.34
    return 0.72 if letter.isupper() or letter in "mw%@" else 0.57
