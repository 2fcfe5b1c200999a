"""Candidates of completion: matching items, their order, and their appearance in a menu."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kbkit.executor.vocabulary import NamedNode, Vocabulary

LIMIT = 50
"""Maximum number of candidates."""
NAMES = 30
"""Maximum number of node names, each of which takes a lookup."""
_LONGEST = 80
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CUT = "\n"
_FUZZY = 3
"""Minimum length of typed text whose letters may be scattered in a name."""


@dataclass(frozen=True)
class Candidate:
    """A completion.

    ``text`` replaces the text from ``start`` to the cursor; a menu shows ``display`` (default: ``text``) and ``meta``.
    """

    text: str
    start: int
    display: str = ""
    meta: str = ""


class CompletionItem(NamedTuple):
    """An item to complete: its name, the inserted text (default: the name), a description, and its frequency.

    ``label`` is another text whose words match; ``display`` is the text in the menu (default: the name).
    """

    name: str
    text: str = ""
    meta: str = ""
    weight: int = 0
    label: str = ""
    display: str = ""

    @property
    def inserted(self) -> str:
        """The inserted text."""
        return self.text or self.name


def one_line(text: str) -> str:
    """Return text as one line of a menu, without control characters."""
    flat = " ".join(_UNSEEN.sub(" ", text[: 4 * _LONGEST]).split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3].rstrip() + "..."


def candidate(text: str, start: int, display: str = "", meta: str = "") -> Candidate:
    """Return a candidate, its texts shortened to one line."""
    line = one_line(display or text)
    return Candidate(text, start, "" if line == text else line or "?", one_line(meta))


def starting(typed: str, items: Iterable[CompletionItem], start: int) -> list[Candidate]:
    """Return items whose name starts with the typed text, exact case first, in the given order."""
    known, folded = list(items), typed.casefold()
    exact = [item for item in known if item.name.startswith(typed)]
    others = [i for i in known if not i.name.startswith(typed) and i.name.casefold().startswith(folded)]
    return [candidate(item.inserted, start, item.display or item.name, item.meta) for item in [*exact, *others][:LIMIT]]


class ItemPool:
    """Items by decreasing frequency, indexed for repeated matching."""

    def __init__(self, items: Iterable[CompletionItem], *, ordered: bool = False) -> None:
        listed = list(items)
        self.items = listed if ordered else sorted(listed, key=lambda item: (-item.weight, item.name))
        self._folded = [item.name.casefold() for item in self.items]

    def starting(self, typed: str) -> Iterator[CompletionItem]:
        """Yield items whose name starts with the typed text."""
        return (item for item in self.items if item.name.startswith(typed))

    def starting_folded(self, folded: str) -> Iterator[CompletionItem]:
        """Yield items whose case-folded name starts with ``folded``."""
        return (item for name, item in zip(self._folded, self.items, strict=True) if name.startswith(folded))

    @cached_property
    def _words(self) -> list[str]:
        """The words of each item: the name, split at capitals, and the label."""
        return [f"{_CAPITAL.sub(_CUT, item.name)}{_CUT}{item.label}".casefold() for item in self.items]

    def like(self, folded: str) -> Iterator[CompletionItem]:
        """Yield items with a word that starts with ``folded``, then items with these letters in this order."""
        word = re.compile(rf"(?:\A|[\W_]){re.escape(folded)}")
        yield from (item for text, item in zip(self._words, self.items, strict=True) if word.search(text))
        if len(folded) >= _FUZZY:
            letters = re.compile(".*?".join(map(re.escape, folded[:_LONGEST])), re.S)
            yield from (item for name, item in zip(self._folded, self.items, strict=True) if letters.search(name))


Group = ItemPool | Iterable[CompletionItem]


def ranked(typed: str, items: Group, start: int) -> list[Candidate]:
    """Return matching items: by prefix, prefix in another case, prefix of a word, scattered letters.

    Within each group frequent items come first, then alphabetical order decides.
    """
    return layered(typed, start, items)


def layered(typed: str, start: int, *groups: Group, exact: Sequence[Group] = ()) -> list[Candidate]:
    """Return matching items of several groups in order, matches of the prefix before other matches.

    The groups of ``exact`` come last, in their own order, and match only by prefix.
    """
    known = [group if isinstance(group, ItemPool) else ItemPool(group) for group in groups]
    pools = [*known, *(group if isinstance(group, ItemPool) else ItemPool(group, ordered=True) for group in exact)]
    folded = typed.casefold()
    fitting = itertools.chain.from_iterable(pool.starting(typed) for pool in pools)
    if typed:
        others = itertools.chain.from_iterable(pool.starting_folded(folded) for pool in pools)
        fitting = itertools.chain(fitting, others, itertools.chain.from_iterable(pool.like(folded) for pool in known))
    chosen: dict[str, CompletionItem] = {}
    for item in fitting:
        chosen.setdefault(item.inserted, item)
        if len(chosen) == LIMIT:
            break
    return [candidate(item.inserted, start, item.display or item.name, item.meta) for item in chosen.values()]


# -- names of nodes ---------------------------------------------------------------------------------------------------


def named(
    vocabulary: Vocabulary, typed: str, node_type: str | None, start: int, write: Callable[[str], str]
) -> list[Candidate]:
    """Return names of nodes, each once, in the form that ``write`` returns."""
    nodes = vocabulary.names(typed, node_type, NAMES)
    counts = Counter(node.name for node in nodes)
    first = {node.name: node for node in reversed(nodes)}
    names = dict.fromkeys(node.name for node in nodes)
    return [candidate(write(name), start, name, about(first[name], counts[name])) for name in names]


def about(node: NamedNode, nodes: int = 1) -> str:
    """Return a line about a node, or about several nodes with one name."""
    if nodes > 1:
        return f"{nodes} nodes with this name"
    other = f" ({node.alias})" if node.alias else ""
    return f"{node.type}#{node.key}{other}"


def ambiguous(nodes: Sequence[NamedNode]) -> set[str]:
    """Return the names that several of these nodes have."""
    return {name for name, count in Counter(node.name for node in nodes).items() if count > 1}
