"""New names that look like the names of a column: parts of several names, put together."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

_VOWELS = "aeiouyáéíóúàèìòùäëïöüâêîôûãõåæø"
_OTHER = rf"[^\W\d_{_VOWELS}]"
_SYLLABLE = re.compile(
    rf"(?<=[{_VOWELS}])(?={_OTHER}[{_VOWELS}])|(?<=[{_VOWELS}]{_OTHER})(?={_OTHER}[{_VOWELS}])", re.IGNORECASE
)
"""Places where a word can be divided."""
_CONSONANTS = "bcdfghklmnprstvw"
_TRIES = 30
_EARLY = 4
"""Attempts per name after which letters are changed as well, because few more names can be put together."""
_CODE = 7
_MANY = 40
"""Names below which new words are also spelled, because few can be put together."""
_LONG = 16
_SMALL = frozenset(
    (
        "of", "the", "and", "de", "la", "le", "du", "von", "van", "der", "den", "in", "on", "at", "to", "for", "a",
        "an", "&", "del", "da", "di", "y", "et", "el", "al", "with", "by", "from",
    )
)  # fmt: skip


def _quotes(names: Sequence[str]) -> str:
    """Return the quotation mark around most of some names, or ""."""
    marked = sum(len(name) > 2 and name[0] == name[-1] == '"' for name in names)
    return '"' if marked > 0.8 * len(names) else ""


def _is_plausible(name: str) -> bool:
    """Return whether a name has no word twice, and no long run of consonants or vowels."""
    words = [word.casefold() for word in name.split(" ") if word.casefold() not in _SMALL or word == "&"]
    if len(set(words)) < len(words) or len(name) < 3:
        return False
    if name.isupper() and len(words) == 1:
        return True
    letters = name.casefold()
    if re.search(rf"[^\W\d_{_VOWELS}]{{5}}|[{_VOWELS}]{{4}}|(.)\1\1|(.{{3,}})\2", letters):
        return False
    return all(len(word) < _LONG for word in words)


class NameMaker:
    """Makes names like ``names``; none of them is made again, nor one of the ``existing`` names of other things."""

    def __init__(self, names: Sequence[str], existing: Iterable[str] = ()) -> None:
        self._mark = _quotes(names)
        names = [name.strip(self._mark) for name in names]
        self._taken = {name.casefold() for name in (*names, *existing)}
        self._names = list(dict.fromkeys(name for name in names if name))
        self._words = [name.split(" ") for name in self._names]
        self._letters: dict[str, list[str]] = defaultdict(list)
        self._of_size: dict[int, list[list[str]]] = defaultdict(list)
        for words in self._words:
            self._of_size[len(words)].append(words)

    def make(self, count: int, rng: np.random.Generator) -> list[str]:
        """Return up to ``count`` distinct names in random order."""
        made: list[str] = []
        taken = set(self._taken)
        for number in range(count * _TRIES):
            if len(made) >= count:
                break
            name = self._one(rng, spells=number > 2 * count or len(self._names) < _MANY)
            if number > _EARLY * count:
                name = self._mutated(name, rng)
            folded = name.casefold()
            if folded not in taken and _is_plausible(name):
                taken.add(folded)
                made.append(name)
        return [self._mark + made[i] + self._mark for i in rng.permutation(len(made)).tolist()]

    def _mutated(self, name: str, rng: np.random.Generator) -> str:
        """Return a name with one or two letters changed, vowels into vowels and consonants into consonants."""
        letters = list(name)
        places = [i for i, letter in enumerate(letters) if letter.isascii() and letter.isalpha()]
        for at in rng.permutation(places)[: 1 + int(rng.integers(2))].tolist():
            pool = _VOWELS[:5] if letters[at].lower() in _VOWELS[:6] else _CONSONANTS
            letter = pool[int(rng.integers(len(pool)))]
            letters[at] = letter.upper() if letters[at].isupper() else letter
        return "".join(letters)

    def _one(self, rng: np.random.Generator, *, spells: bool) -> str:
        words = list(self._names[int(rng.integers(len(self._names)))].split(" "))
        alike = self._of_size[len(words)]
        if len(words) > 1 and len(alike) > 1:
            # Keep the frame of a name (of, the, Jr.) and take its end from a name of the same length.
            other = alike[int(rng.integers(len(alike)))]
            at = int(rng.integers(1, len(words)))
            if words[at].casefold() not in _SMALL and other[at].casefold() not in _SMALL:
                words[at:] = other[at:]
        if rng.random() < (0.8 if spells else 0.4) or len(alike) < 2 or len(words) == 1:
            content = [i for i, word in enumerate(words) if word.casefold() not in _SMALL and word[:1].isalpha()]
            if content:
                at = content[int(rng.integers(len(content)))]
                words[at] = self._new_word(words[at], at, len(words), rng, spells=spells)
        return " ".join(words)

    def _new_word(self, word: str, at: int, size: int, rng: np.random.Generator, *, spells: bool) -> str:
        if word.isupper() and word.isascii() and word.isalpha() and 2 < len(word) < _CODE:
            return self._mutated(word, rng)
        if spells and rng.random() < 0.5 and word[1:].islower():
            return self._spelled(word, rng) or word
        return self._blended(word, self._word(at, size, rng), rng)

    def _spelled(self, like: str, rng: np.random.Generator) -> str:
        """Return a word whose groups of three letters occur in the words of the names, about as long as ``like``."""
        if not self._letters:
            for word in {word for words in self._words for word in words if word.isalpha() and len(word) > 2}:
                padded = f"  {word.lower()} "
                for at in range(len(padded) - 2):
                    self._letters[padded[at : at + 2]].append(padded[at + 2])
            for letters in self._letters.values():
                letters.sort()  # sets of strings have no fixed order
        text = "  "
        while len(text) < len(like) + 6:
            letters = self._letters.get(text[-2:], [])
            if not letters:
                break
            letter = letters[int(rng.integers(len(letters)))]
            if letter == " ":
                break
            text += letter
        made = text.strip()
        return made[:1].upper() + made[1:] if min(3, len(like) - 1) < len(made) < len(like) + 4 else ""

    def _word(self, at: int, size: int, rng: np.random.Generator) -> str:
        """Return a word from the same place of a name with as many words, or from any name."""
        alike = self._of_size[size] if len(self._of_size[size]) > 2 else self._words
        words = alike[int(rng.integers(len(alike)))]
        return words[min(at, len(words) - 1)]

    @staticmethod
    def _blended(first: str, second: str, rng: np.random.Generator) -> str:
        """Return the first syllables of a word and the last ones of another: *Zam-bia* and *Ca-na-da*: *Zamda*."""
        ends = [match.start() for match in _SYLLABLE.finditer(first)]
        starts = [match.start() for match in _SYLLABLE.finditer(second)]
        if not ends or not starts:
            return second
        head = first[: ends[int(rng.integers(len(ends)))]]
        tail = second[starts[int(rng.integers(len(starts)))] :]
        return head + (tail.lower() if not head.isupper() else tail)
