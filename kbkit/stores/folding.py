"""Fold names, so that lookups ignore case, accents and punctuation.

:func:`caseless` decides whether two names are equal except for case. :func:`words` is coarser: it is the form under
which the node directory indexes names, and what completion compares. Both depend on Python's version of Unicode: after
an upgrade that folds a letter in another way, ``kbkit check`` reports the names that the index no longer finds.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_ACCENTS = re.compile("[\u0300-\u036f]+")
"""Combining marks of Latin, Greek and Cyrillic letters; marks of other scripts are part of the letters."""
_LETTERS = str.maketrans({**dict(zip("øłđıðħŧŋƒɖɛɔʋ", "oldidhtnfdeov", strict=True)), "æ": "ae", "œ": "oe", "þ": "th"})
"""Letters that Unicode does not decompose."""
_SEPARATORS = re.compile(r"[\W_]+")
_ASCII_WORDS = re.compile("[^0-9a-z]+")


def caseless(text: str) -> str:
    """Return the form in which equal texts differ only in case: full case folding of the NFC form, in NFC."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def words(text: str) -> str:
    """Return the words of a text in lower case and without accents, joined by one space.

    A text without letters and digits is returned caseless. Texts that are equal under :func:`caseless` have the same
    words.
    """
    if text.isascii():
        return _ASCII_WORDS.sub(" ", text.lower()).strip() or text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", caseless(text))).casefold().translate(_LETTERS)
    return _SEPARATORS.sub(_separator, plain).strip() or plain


def ends_word(text: str) -> bool:
    """Return whether the last word of a text is complete, because a separator follows it."""
    return words(text + "x") == words(text) + " x"


def _separator(found: re.Match[str]) -> str:
    """Keep the marks of a script (Devanagari vowels) and replace everything else by a space."""
    text = found[0]
    if text.isascii():
        return " "
    return re.sub(" +", " ", "".join(c if unicodedata.category(c)[0] == "M" else " " for c in text))


def words_of(names: pl.Series) -> pl.Series:
    """Return :func:`words` of each name; ASCII names, which most are, all at once."""
    import polars as pl

    lower = pl.col("name").str.to_lowercase()
    ascii_words = lower.str.replace_all("[^0-9a-z]+", " ").str.strip_chars(" ")
    frame = pl.DataFrame({"name": names}).select(
        "name",
        plain=pl.when(ascii_words == "").then(lower).otherwise(ascii_words),
        other=pl.col("name").str.len_bytes() != pl.col("name").str.len_chars(),
    )
    other = frame["other"].arg_true()
    if not len(other):
        return frame["plain"]
    folded = pl.Series(list(map(words, names.gather(other).to_list())), dtype=pl.String)
    return frame["plain"].scatter(other, folded)
