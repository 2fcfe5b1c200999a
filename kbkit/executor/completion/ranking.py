"""Which of many things fit what is typed, in what order, and how they look in a menu."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

MOST = 50
"""Candidates that are offered at once."""
_LONGEST = 80
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CUT = "\n"
_FUZZY = 3
"""Letters that may stand apart in a name; fewer do in too many."""


@dataclass(frozen=True)
class Candidate:
    """What may stand at the cursor.

    ``text`` is put in the place of the text from ``start`` to the cursor; a menu shows ``display`` (``text`` where
    that is empty) and ``meta`` beside it.
    """

    text: str
    start: int
    display: str = ""
    meta: str = ""


class Item(NamedTuple):
    """Something to choose: what is typed, how it is written, a line about it, how much it is used.

    ``label`` is another text whose words lead to it; ``seen`` is what a menu shows, where that is not the name.
    """

    name: str
    text: str = ""
    meta: str = ""
    weight: int = 0
    label: str = ""
    seen: str = ""

    @property
    def written(self) -> str:
        """What is put in the text."""
        return self.text or self.name


def shown(text: str) -> str:
    """Text as one line of a menu, without control characters."""
    flat = " ".join(_UNSEEN.sub(" ", text[: 4 * _LONGEST]).split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3].rstrip() + "..."


def candidate(text: str, start: int, display: str = "", meta: str = "") -> Candidate:
    """A candidate that is fit for a menu."""
    seen = shown(display or text)
    return Candidate(text, start, "" if seen == text else seen or "?", shown(meta))


def plainly(typed: str, items: Iterable[Item], start: int) -> list[Candidate]:
    """Those whose name starts with what is typed; as written before in another case. The order is kept."""
    known, folded = list(items), typed.casefold()
    exact = [item for item in known if item.name.startswith(typed)]
    others = [i for i in known if not i.name.startswith(typed) and i.name.casefold().startswith(folded)]
    return [candidate(item.written, start, item.seen or item.name, item.meta) for item in [*exact, *others][:MOST]]


class Pool:
    """Items in the order of their use, read for many words that may be typed."""

    def __init__(self, items: Iterable[Item], *, ordered: bool = False) -> None:
        listed = list(items)
        self.items = listed if ordered else sorted(listed, key=lambda item: (-item.weight, item.name))
        self._folded = [item.name.casefold() for item in self.items]

    def starting(self, typed: str) -> Iterator[Item]:
        """Those whose name starts so."""
        return (item for item in self.items if item.name.startswith(typed))

    def starting_folded(self, folded: str) -> Iterator[Item]:
        """Those whose name does in another case."""
        return (item for name, item in zip(self._folded, self.items, strict=True) if name.startswith(folded))

    @cached_property
    def _words(self) -> list[str]:
        """What a word is looked for in: the name, cut where a capital starts a word, and the label."""
        return [f"{_CAPITAL.sub(_CUT, item.name)}{_CUT}{item.label}".casefold() for item in self.items]

    def like(self, folded: str) -> Iterator[Item]:
        """Those with a word that starts so, then those with these letters one after another."""
        word = re.compile(rf"(?:\A|[\W_]){re.escape(folded)}")
        yield from (item for text, item in zip(self._words, self.items, strict=True) if word.search(text))
        if len(folded) >= _FUZZY:
            letters = re.compile(".*?".join(map(re.escape, folded[:_LONGEST])), re.S)
            yield from (item for name, item in zip(self._folded, self.items, strict=True) if letters.search(name))


Group = Pool | Iterable[Item]


def ranked(typed: str, items: Group, start: int) -> list[Candidate]:
    """Those that fit: names that start so, in another case, with a word inside or in the label, with these letters.

    Within each of these what is most used comes first, then the alphabet.
    """
    return layered(typed, start, items)


def layered(typed: str, start: int, *groups: Group, exact: Sequence[Group] = ()) -> list[Candidate]:
    """:func:`ranked` for several groups, each before the next, but what starts so before what is only like it.

    Of the groups of ``exact``, which come last, only what starts so, in the order given.
    """
    known = [group if isinstance(group, Pool) else Pool(group) for group in groups]
    pools = [*known, *(group if isinstance(group, Pool) else Pool(group, ordered=True) for group in exact)]
    folded = typed.casefold()
    fitting = itertools.chain.from_iterable(pool.starting(typed) for pool in pools)
    if typed:
        others = itertools.chain.from_iterable(pool.starting_folded(folded) for pool in pools)
        fitting = itertools.chain(fitting, others, itertools.chain.from_iterable(pool.like(folded) for pool in known))
    chosen: dict[str, Item] = {}
    for item in fitting:
        chosen.setdefault(item.written, item)
        if len(chosen) == MOST:
            break
    return [candidate(item.written, start, item.seen or item.name, item.meta) for item in chosen.values()]
