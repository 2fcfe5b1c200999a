"""KB text in drawings: valid in XML, on one line, shortened."""

from __future__ import annotations

import re
import unicodedata

from kbkit.display.render import clean

_UNFIT = re.compile("[\ufffe\uffff\ud800-\udfff]")
"""Characters other than control characters that are invalid in XML, on which vl-convert aborts the process."""

_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def fit(text: str) -> str:
    """Return text valid in every format, keeping line breaks."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", clean(text))


def line(text: str) -> str:
    """Return text on one line, without characters that change the writing direction."""
    return " ".join(_TURNING.sub("", fit(text)).split())


def short(text: str, limit: int) -> str:
    """Return one line of at most ``limit`` characters, cut at a word boundary if that loses little."""
    text = line(text)
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    words = cut.rpartition(" ")[0]
    return (words if len(words) > 0.65 * limit else cut).rstrip(" ,;:-") + "…"


def middle(text: str, limit: int) -> str:
    """Return one line of at most ``limit`` characters for a label, without its middle: names that begin alike often
    differ at the end.
    """
    text = line(text)
    if len(text) <= limit:
        return text
    end = (limit - 1) * 2 // 5
    return f"{text[: limit - 1 - end].rstrip(' ,;:-')}…{text[-end:].lstrip(' ,;:-')}"


def width(text: str, size: float) -> float:
    """Estimate the width of text in a sans-serif font, rather too wide than too narrow."""
    return size * sum(_em(letter) for letter in text)


def _em(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Cf"):
        return 0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    if letter in "iljtfrI.,;:'!|()[] ":
        return 0.34
    return 0.72 if letter.isupper() or letter in "mw%@" else 0.57
