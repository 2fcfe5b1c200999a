"""Queries that ask the same: with equal words, almost the same sequences of words, or almost the same answers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import NamedTuple

NEAR = 0.7
"""Least similarity of near duplicates: the fraction of the sequences of three words that two texts share (Jaccard)."""
_SEQUENCE = 3
_SAME, _SAME_OF_OTHERS = 0.5, 0.6
"""Fraction of the answers that two queries have in common: that name the same thing, and that do not."""
_COMMON = 60
"""Sequences in more texts than this find no candidates: they belong to a frame such as "Could you give me"."""
_WORD = re.compile(r"\w+")


class Duplicate(NamedTuple):
    """Two texts by their positions, ``first`` before ``second``; ``similarity`` is 1 for equal words."""

    first: int
    second: int
    similarity: float


def normalized(text: str) -> str:
    """Return the words of a text in lower case."""
    return " ".join(_WORD.findall(text.casefold()))


def duplicates(texts: Sequence[str], near: float = NEAR) -> list[Duplicate]:
    """Return all pairs of texts with equal words, and those with a similarity of at least ``near``.

    Near duplicates are found among the texts that share a sequence of words with at most 59 others.
    """
    plain = [normalized(text) for text in texts]
    shingles = [_sequences(text) for text in plain]
    counts = Counter(shingle for of_text in shingles for shingle in of_text)
    pairs = []
    for first, second in sorted({*_equal(plain), *_candidates(shingles, counts)}):
        similarity = 1.0 if plain[first] == plain[second] else _similarity(shingles[first], shingles[second])
        if similarity >= near:
            pairs.append(Duplicate(first, second, similarity))
    return pairs


def distinct(asked: Sequence[tuple[Collection[Hashable], Collection[Hashable]]]) -> list[int]:
    """Return the positions of the queries that do not ask almost the same as an earlier one.

    A query is given by what it names and by its answers. A reader sees one question in two of a film with the same
    answers, and in two of people from one country with five answers each, four of them the same.
    """
    kept: list[tuple[frozenset[Hashable], frozenset[Hashable]]] = []
    positions = []
    for position, (names, answers) in enumerate(asked):
        own = frozenset(names), frozenset(answers)
        if not any(_is_same(own, other) for other in kept):
            kept.append(own)
            positions.append(position)
    return positions


def _is_same(
    one: tuple[frozenset[Hashable], frozenset[Hashable]], other: tuple[frozenset[Hashable], frozenset[Hashable]]
) -> bool:
    # Compatriots of Ann, and compatriots of one of them: with those that they name the sets are equal.
    if one[0] != other[0] and len(one[1] & other[1]) and one[0] | one[1] == other[0] | other[1]:
        return True
    common, every = len(one[1] & other[1]), len(one[1] | other[1])
    limit = _SAME if one[0] & other[0] else _SAME_OF_OTHERS
    return common > 0 and common >= limit * every and bool(one[0] & other[0] or common > 1)


def _sequences(text: str) -> frozenset[tuple[str, ...]]:
    words = text.split()
    return frozenset(tuple(words[at : at + _SEQUENCE]) for at in range(max(1, len(words) - _SEQUENCE + 1)))


def _similarity(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """Return the Jaccard index; a text that has other words is at most a near duplicate."""
    return min(len(one & other) / len(one | other), 0.999)


def _equal(plain: Sequence[str]) -> Iterator[tuple[int, int]]:
    seen: dict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(plain):
        yield from ((earlier, position) for earlier in seen[text])
        seen[text].append(position)


def _candidates(
    shingles: Sequence[frozenset[tuple[str, ...]]], counts: Counter[tuple[str, ...]]
) -> Iterator[tuple[int, int]]:
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, own in enumerate(shingles):
        for one in own:
            if 1 < counts[one] < _COMMON:
                yield from ((earlier, position) for earlier in holders[one])
                holders[one].append(position)
