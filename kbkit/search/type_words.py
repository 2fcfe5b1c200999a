"""Words of a query that say which type of node is wanted: "lakes in Kenya", "films by Christopher Nolan"."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from kbkit.answers.session import Session
from kbkit.search.ranking import Ranking
from kbkit.stores import Stores
from kbkit.stores.text_query import TextQuery

DEPTH = 100
"""Number of best hits that a type reorders."""
OTHER_TYPE = 0.5
"""Factor on the lead of hits of other types over the last of these."""

_MAX_SPAN = 4
_NOUNS = re.compile(r"(?:(?:an?|the)\s+)?(\w+(?:\s*,\s*\w+)*(?:,?\s+(?:and|or)\s+\w+)?)\s*(?:[;:.].*)?", re.DOTALL)
"""A description that is a list of nouns: "a film; its key is ...", "oceans, seas and straits"."""

Stems = tuple[str, ...]


class TypeWords:
    """The types of a schema by the stems of their names, so that singular and plural are the same."""

    def __init__(self, stores: Stores) -> None:
        self.types: dict[Stems, str] = {}
        types = stores.schema.node_types if stores.has("text") else ()
        for node_type in types if len(types) > 1 else ():
            self.types[tuple(word.stem for word in stores.text.tokens(node_type.name))] = node_type.name
        nouns = [(noun, node_type.name) for node_type in types for noun in nouns_of(node_type.description)]
        described = {(tuple(word.stem for word in stores.text.tokens(noun)), name) for noun, name in nouns}
        times = Counter(stems for stems, _ in described)
        for stems, name in described if self.types else ():
            if times[stems] == 1:
                self.types.setdefault(stems, name)
        self.types.pop((), None)
        self.longest = max(map(len, self.types), default=0)


def nouns_of(description: str) -> list[str]:
    """Return the nouns of a description that begins with a list of single words and nothing else.

    ``a director or actor; the source names them only`` has two, ``an organisation of states`` has none.
    """
    match = _NOUNS.fullmatch(description.strip())
    return [noun for noun in re.split(r"\W+|\b(?:and|or)\b", match[1]) if noun] if match else []


def named_types(session: Session, query: TextQuery) -> tuple[str, ...]:
    """Return the types that words of the query name, unless the word is part of a longer name ("Dead Sea")."""
    known = session.stores.shared(TypeWords)
    if not known.types:
        return ()
    words = session.stores.text.tokens(query.text)
    named: dict[str, None] = {}
    for size in range(known.longest, 0, -1):
        for first in range(len(words) - size + 1):
            name = known.types.get(tuple(word.stem for word in words[first : first + size]))
            if name is not None and name not in named and not _in_a_name(session, query.text, words, first, size):
                named[name] = None
    return tuple(named)


def _in_a_name(session: Session, text: str, words: list, first: int, size: int) -> bool:  # type: ignore[type-arg]
    """Return whether the words are part of a longer run of words that is the name of a node."""
    for longer in range(size + 1, _MAX_SPAN + 1):
        for start in range(max(0, first + size - longer), min(first, len(words) - longer) + 1):
            if len(session.stores.nodes.named(text[words[start].start : words[start + longer - 1].end])):
                return True
    return False


def prefer(session: Session, ranking: Ranking, types: tuple[str, ...]) -> Ranking:
    """Reorder the best hits: those of other types keep half of their lead over the last.

    This is a preference, not a filter: a much better hit of another type stays ahead.
    """
    top = ranking.cut(DEPTH)
    if not types or not len(top.ids):
        return ranking
    ids = top.ids.astype(np.int32)
    wanted = np.any([session.has_type(ids, name) for name in types], axis=0)
    if wanted.all() or not wanted.any():
        return ranking
    least = top.scores[-1]
    scores = np.where(wanted, top.scores, least + OTHER_TYPE * (top.scores - least))
    best = Ranking.of(top.ids, scores)
    rest = Ranking(ranking.ids[DEPTH:], ranking.scores[DEPTH:])
    return Ranking(np.concatenate([best.ids, rest.ids]), np.concatenate([best.scores, rest.scores]))
