"""Find duplicate queries: by equal words, by similar sequences of words, or by similar answers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Annotated, NamedTuple

from kbkit.assets.operations import Setting

NEAR = 0.7
"""Least similarity of near duplicates: the fraction of the sequences of three words that two texts share (Jaccard)."""
_SEQUENCE = 3
_SAME, _SAME_OF_OTHERS = 0.5, 0.6
"""Minimum Jaccard similarity of the answers of near duplicates: of queries that name a common entity, and of others."""
_ALIKE, _FEW = 25, 2
"""One in so many queries has one mould, or names one thing; small datasets have up to two."""
_TOLD, _FEW_TOLD = 5, 3
"""The same for the moulds of queries on texts, which say different things."""
_LOOKUPS = 10
"""One in so many queries has a single condition."""
_COMMON = 60
"""Sequences in more texts than this find no candidates: they belong to a frame such as "Could you give me"."""
_WORD = re.compile(r"\w+")
_LIST = re.compile(r"\([\s,]+\)")
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|#\S+|\b\d[\d.,]*')
_SQL_VALUE = re.compile(r"'(?:[^']|'')*'|\b\d[\d.,]*")


Alike = Annotated[
    int,
    Setting(
        "Maximum number that differ in what they name alone (default: 2, or one in 25).",
        least=1,
        name="max_alike",
        noun="number of like questions",
        rare=True,
    ),
]
"""The setting of all makers."""


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
    """Return the positions of queries, without near duplicates of an earlier one.

    A query is given as (named entities, answers). Two queries that name the same film are near duplicates if they share
    half of their answers, or two things if they name others too. Two that name no common entity, such as two for the
    compatriots of a person, must share more.
    """
    known = DistinctQueries()
    return [position for position, (names, answers) in enumerate(asked) if known.add(names, answers)]


class DistinctQueries:
    """Queries of which none is a near duplicate of another, as :func:`distinct` says."""

    def __init__(self) -> None:
        self._kept: list[tuple[frozenset[Hashable], frozenset[Hashable]]] = []
        self._by_answer: defaultdict[Hashable, list[int]] = defaultdict(list)

    def add(self, names: Collection[Hashable], answers: Collection[Hashable]) -> bool:
        """Add a query, given by its named entities and its answers; return False for a near duplicate."""
        own = frozenset(names), frozenset(answers)
        others = {at for answer in own[1] for at in self._by_answer[answer]}
        if any(_are_near(own, self._kept[at]) for at in others):
            return False
        for answer in own[1]:
            self._by_answer[answer].append(len(self._kept))
        self._kept.append(own)
        return True


class Spread:
    """Bounds on what the queries of a dataset have in common, so that no reader sees one of them again and again.

    Of ``count`` queries, at most 2 (of large datasets, one in 25), or ``most``, have one mould: a shape and its
    relations, so that they differ in what they name alone. As many name the same thing. A fifth may have one mould if
    they are on texts, too, and a tenth have a single condition.
    """

    def __init__(self, count: int, most: int | None = None) -> None:
        self.of_mould = most or max(_FEW, count // _ALIKE)
        self.of_text = max(self.of_mould, _FEW_TOLD, -(-count // _TOLD))
        self.of_lookups = max(self.of_mould, count // _LOOKUPS)
        self._of_name = max(_FEW, count // _ALIKE)
        self._moulds: Counter[Hashable] = Counter()
        self._names: Counter[Hashable] = Counter()
        self._lookups = 0

    def fits(
        self, mould: Hashable, names: Collection[Hashable], *, on_text: bool = False, is_lookup: bool = False
    ) -> bool:
        """Return whether there are not yet enough queries of a kind."""
        most = self.of_text if on_text else self.of_mould
        is_full = self._moulds[mould] >= most or any(self._names[name] >= self._of_name for name in names)
        return not is_full and not (is_lookup and self._lookups >= self.of_lookups)

    def add(
        self, mould: Hashable, names: Collection[Hashable], *, on_text: bool = False, is_lookup: bool = False
    ) -> bool:
        """Add a query; return False if there are enough of its kind."""
        if not self.fits(mould, names, on_text=on_text, is_lookup=is_lookup):
            return False
        self._moulds[mould] += 1
        self._names.update(names)
        self._lookups += is_lookup
        return True

    def about(self) -> dict[str, int]:
        """Return the number of moulds of the queries, and how many may have one, for a report."""
        return {"moulds": len(self._moulds), "most": self.of_mould}


def mould_of(query: str, *, is_sql: bool = False) -> str:
    """Return an expression, or a query in SQL, without its names and numbers: what questions have in common that differ
    in these alone.
    """
    return _LIST.sub("()", (_SQL_VALUE if is_sql else _VALUE).sub("", query))


def _are_near(
    one: tuple[frozenset[Hashable], frozenset[Hashable]], other: tuple[frozenset[Hashable], frozenset[Hashable]]
) -> bool:
    """Return whether two queries with a common answer, each as (named entities, answers), are near duplicates."""
    (names, answers), (other_names, other_answers) = one, other
    # Compatriots of Ann (Bob, Carl), and compatriots of Bob (Ann, Carl).
    if names != other_names and names | answers == other_names | other_answers:
        return True
    common, every = len(answers & other_answers), len(answers | other_answers)
    if len(names & other_names) > 1 and names != other_names:
        return True  # members of A or B, and of A, B or C
    if names & other_names:
        return common >= _SAME * every
    return common > 1 and common >= _SAME_OF_OTHERS * every


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
