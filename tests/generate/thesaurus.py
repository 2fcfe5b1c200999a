"""Generates the thesaurus of :mod:`kbkit.english.thesaurus` from WordNet 3.0.

``python -m tests.generate.thesaurus FOLDER`` reads the database files of WordNet (``data.noun``, ``cntlist.rev``, ...)
in a folder, and writes ``words.txt.gz``. Each line is a word, its synonyms and the nouns that are more general, each
with the rank of the senses, and the countries and regions of an adjective, between tabs.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from kbkit.english.thesaurus import FILE

_SENSES = 4
"""Senses of a word that are read, the most frequent ones."""
_MAX_RANK = 4
_HIGHEST = 2
"""Steps to a more general noun."""
_WORD = re.compile("[a-z]+")
_PLACES = 15
"""The lexicographer file of places."""


class Synset(NamedTuple):
    """A synset: its words, its pointers as (symbol, part of speech, offset), and its lexicographer file."""

    words: list[str]
    pointers: list[tuple[str, str, str]]
    file: int


def synsets(folder: Path, part: str) -> dict[str, Synset]:
    """Return the synsets of a data file by their offsets."""
    found = {}
    for line in (folder / f"data.{part}").read_text("latin-1").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split("|", 1)[0].split()
        count = int(fields[3], 16)
        words = [re.sub(r"\(.*\)", "", fields[4 + 2 * at]) for at in range(count)]
        first = 5 + 2 * count
        pointers = [tuple(fields[first + 4 * at : first + 4 * at + 3]) for at in range(int(fields[first - 1]))]
        found[fields[0]] = Synset(words, [(kind, pos, to) for kind, to, pos in pointers], int(fields[1]))
    return found


def senses(folder: Path, part: str) -> dict[str, list[str]]:
    """Return the offsets of the synsets of each word, the most frequent first."""
    lines = (folder / f"index.{part}").read_text("latin-1").splitlines()
    rows = (line.split() for line in lines if not line.startswith(" "))
    return {row[0]: row[-int(row[2]) :][:_SENSES] for row in rows}


def frequent(folder: Path) -> set[str]:
    """Return the words that texts with senses have at least once."""
    lines = (folder / "cntlist.rev").read_text("latin-1").splitlines()
    return {line.split("%", 1)[0] for line in lines}


def thesaurus(folder: Path) -> list[str]:
    """Return the lines of the thesaurus, sorted by word."""
    nouns, known = synsets(folder, "noun"), senses(folder, "noun")
    common = frequent(folder)
    ranks = {(word, offset): rank for word, offsets in known.items() for rank, offset in enumerate(offsets)}
    entries: dict[str, list[dict[str, int]]] = defaultdict(lambda: [{}, {}])
    for word, offsets in known.items():
        if not _WORD.fullmatch(word):
            continue
        for rank, offset in enumerate(offsets):
            level = [offset]
            for step in range(_HIGHEST + 1):
                for at in level:
                    for other in nouns[at].words:
                        total = rank + ranks.get((other.lower(), at), _SENSES) + 3 * (step > 1)
                        is_plain = _WORD.fullmatch(other) and other != word
                        known = {word, other} & common
                        is_known = word in known and (len(known) > 1 or total <= 1) if step else bool(known)
                        if is_plain and is_known and total <= _MAX_RANK:
                            kept = entries[word][min(step, 1)]
                            kept[other] = min(total, kept.get(other, total))
                level = [to for at in level for kind, pos, to in nouns[at].pointers if kind == "@" and pos == "n"]
    places = _places(folder, nouns)
    lines = []
    for word in sorted({*entries, *places}):
        synonyms, general = entries.get(word, [{}, {}])
        general = {other: rank for other, rank in general.items() if other not in synonyms}
        parts = [" ".join(f"{other}:{rank}" for other, rank in sorted(one.items())) for one in (synonyms, general)]
        if any(parts) or word in places:
            lines.append("\t".join([word, *parts, ",".join(places.get(word, []))]))
    return lines


def _places(folder: Path, nouns: dict[str, Synset]) -> dict[str, list[str]]:
    """Return the names of the places that adjectives pertain to: *german*, of Germany."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for synset in synsets(folder, "adj").values():
        for kind, pos, to in synset.pointers:
            if kind != "\\" or pos != "n" or nouns[to].file != _PLACES:
                continue
            for word in synset.words:
                if re.fullmatch("[A-Za-z]+", word):
                    found[word.lower()] |= dict.fromkeys(name.replace("_", " ").lower() for name in nouns[to].words)
    return {word: list(names) for word, names in found.items()}


if __name__ == "__main__":
    text = "\n".join(thesaurus(Path(sys.argv[1]))) + "\n"
    FILE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{FILE}: {text.count(chr(10))} words, {FILE.stat().st_size} bytes")
