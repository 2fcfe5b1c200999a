"""Other spellings of a term in texts: *PPARγ* and *PPAR-gamma*, *NFkB* and *NF-kB*, *P-glycoprotein (P-gp)*."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

_PAIR = re.compile(r"((?:[^\s()]+ ){1,6})\(([^\s()]{2,12})\)")
"""Words, and what may be short for the last of them, in parentheses."""
_RUN = 4
"""Number of words that a term may be written as."""
_LETTERS = re.compile(r"[^\W_]+")
_SYMBOL = re.compile(r"[-\d/]|[^\W\d_a-z]|\w[A-Z]")


def is_symbol(term: str) -> bool:
    """Return whether a term may be written in several ways: it has a digit, a hyphen, a Greek letter or capitals."""
    return bool(_SYMBOL.search(term[1:])) or bool(_greek(term))


def squashed(text: str) -> str:
    """Return the letters and digits of a text in lower case, with the names of Greek letters."""
    named = "".join(f" {name} " if (name := _greek(one)) else one for one in text)
    return "".join(_LETTERS.findall(named.casefold()))


def _greek(text: str) -> str:
    """Return the name of the first Greek letter of a text, or ""."""
    names = (unicodedata.name(one, "") for one in text)
    return next((name.rpartition(" ")[2].casefold() for name in names if name.startswith("GREEK ")), "")


def spellings(term: str) -> set[str]:
    """Return a term as it may be written, squashed: with a Greek letter by its name, or by its first letter."""
    full = squashed(term)
    short = re.sub(r"(?<=\w\w)(alpha|beta|gamma|delta|kappa|lambda|sigma|omega)", lambda found: found[0][0], full)
    return {full, short}


def runs(text: str) -> frozenset[str]:
    """Return all runs of up to four words of a text, squashed."""
    words = [squashed(word) for word in text.split()]
    return frozenset(
        "".join(words[at : at + size]) for at in range(len(words)) for size in range(1, _RUN + 1) if words[at]
    )


def short_forms(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return what texts explain, as *P-glycoprotein (P-gp)* does: the other forms of a term, squashed."""
    others: defaultdict[str, set[str]] = defaultdict(set)
    for text in texts:
        for words, short in _PAIR.findall(text):
            listed = words.split()
            starts = [at for at, word in enumerate(listed) if word[:1].casefold() == short[:1].casefold()]
            if starts:
                pair = squashed(" ".join(listed[starts[-1] :])), squashed(short)
                others[pair[0]].add(pair[1])
                others[pair[1]].add(pair[0])
    return dict(others)
