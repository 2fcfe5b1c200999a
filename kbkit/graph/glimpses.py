"""What a list shows of nodes: some of their attributes and neighbours, in words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kbkit.answers import members
from kbkit.display.render import cell
from kbkit.english.headings import attribute_heading, figure, relation_heading
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.words import lemmas_of, singular
from kbkit.graph.titles import titles
from kbkit.stores.folding import caseless

if TYPE_CHECKING:
    from kbkit.schema import Relation
    from kbkit.stores import Stores
    from kbkit.stores.node_directory import NodeRow

_GROUPS, _NAMES = 2, 3
"""Maximum number of relations of a node, and of names of each."""
_MORE_GROUPS, _ATTRIBUTES, _SHORT = 8, 4, 60
"""Maximum number of relations and of attributes among the facts of a node, and of characters of a value."""
_NAMED, _ASKED, _OTHER = range(3)
"""Ranks of groups of neighbours."""
_QUERY_WORDS, _NAME_WORDS = 60, 6
"""Maximum number of words of a query among which names are looked for, and of words of a name."""


class _Neighbours(NamedTuple):
    """The first neighbours of a node by a relation, and the number of all."""

    relation: Relation
    of_head: bool
    heading: str
    ids: list[int]
    total: int


class _Mentioned(NamedTuple):
    """What a query mentions: the stems of its words, nodes by their names, and the types of these."""

    stems: frozenset[str] = frozenset()
    nodes: frozenset[int] = frozenset()
    types: frozenset[str] = frozenset()

    def in_heading(self, heading: str) -> bool:
        return not self.stems.isdisjoint(_stems(heading))


def facts(stores: Stores, nodes: Mapping[int, str], query: str = "") -> dict[int, str]:
    """Return for each node short attributes and neighbours: *year 1992; was directed by: Clint Eastwood*.

    ``nodes`` have the texts that are shown beside them: what these contain is left out. First come neighbours that a
    ``query`` names, then attributes and relations that it mentions, one attribute, the other relations and attributes.
    """
    listed, mentioned = list(nodes), _mentioned(stores, query)
    near = _described(stores, nodes, _MORE_GROUPS, mentioned) if stores.has("adjacency") else {}
    own = _attributes(stores, listed, mentioned)
    found = {}
    for node in listed:
        asked, others = own.get(node, ((), ()))
        named, first, rest = near.get(node, ([], [], []))
        found[node] = "; ".join([*named, *asked, *first, *others[:1], *rest, *others[1:]])
    return found


def _attributes(stores: Stores, nodes: list[int], mentioned: _Mentioned) -> dict[int, tuple[list[str], list[str]]]:
    """Return for each node its first attributes that have short values: those that are mentioned, and others."""
    by_type: dict[str, list[int]] = {}
    for node, found in stores.nodes.rows(nodes).items():
        by_type.setdefault(found.type, []).append(node)
    result: dict[int, tuple[list[str], list[str]]] = {}
    for kind, own in by_type.items():
        known = [(one.name, attribute_heading(one.label or one.name)) for one in stores.schema.type(kind).attributes]
        if not known:
            continue
        asked = {name for name, heading in known if mentioned.in_heading(heading)}
        for row in members.frame(stores, np.array(sorted(own), np.int32), kind).iter_rows(named=True):
            shown = [
                (name in asked or caseless(str(row[name])) in mentioned.stems, f"{heading} {text}")
                for name, heading in known
                if row[name] is not None and len(text := cell(figure(name, row[name]))) <= _SHORT
            ]
            first = [text for is_asked, text in shown if is_asked][:_ATTRIBUTES]
            others = [text for is_asked, text in shown if not is_asked]
            result[row["id"]] = (first, others[: _ATTRIBUTES - len(first)])
    return result


def _mentioned(stores: Stores, query: str) -> _Mentioned:
    """Return what a query mentions: of names, the longest ones from the left."""
    words = [word for word in re.split(r"[^\w'.&-]+", query) if word][:_QUERY_WORDS]
    found: list[int] = []
    at = 0
    while at < len(words):
        lengths = range(min(_NAME_WORDS, len(words) - at), 0, -1)
        names = [" ".join(words[at : at + length]).strip("'.-") for length in lengths]
        names = [name if caseless(name) not in FUNCTION_WORDS else "" for name in names]
        same = [_called(stores, name) if name else [] for name in names]
        best = next((place for place, rows in enumerate(same) if rows), None)
        if best is not None:
            found += [row.id for row in same[best]]
        at += 1 if best is None else lengths[best]
    types = {row.type for row in stores.nodes.rows(found).values()}
    return _Mentioned(_stems(query), frozenset(found), frozenset(types))


def _called(stores: Stores, name: str) -> list[NodeRow]:
    """Return the nodes with a name, or else with its singular: *thrillers*."""
    one = singular(name)
    found = stores.nodes.by_name(None, [name])[0]
    return found or (stores.nodes.by_name(None, [one])[0] if one != name else [])


def _stems(text: str) -> frozenset[str]:
    """Return the words of a text, and their base forms, without those that say nothing."""
    own = {caseless(word) for word in re.findall(r"\w+", text)} - FUNCTION_WORDS
    return frozenset(own | {lemma for word in own for lemmas in lemmas_of(word).values() for lemma in lemmas})


def glimpses(stores: Stores, nodes: Iterable[int]) -> dict[int, str]:
    """Return for each node with neighbours the first of them: *directed: Larry Crowne; acted in: Toy Story 3, ...*.

    They are those of the first relations that have some.
    """
    found = _described(stores, dict.fromkeys(nodes, ""), _GROUPS, _Mentioned())
    return {node: "; ".join(itertools.chain(*parts)) for node, parts in found.items()}


def _described(
    stores: Stores, nodes: Mapping[int, str], groups: int, mentioned: _Mentioned
) -> dict[int, tuple[list[str], list[str], list[str]]]:
    """Return for each node the neighbours in words: named ones, by relations that are mentioned, and others."""
    rows = stores.nodes.rows(nodes)
    found = {node: _neighbours(stores, node, row.type, groups, mentioned) for node, row in rows.items()}
    others = stores.nodes.rows({other for own in found.values() for _, group in own for other in group.ids})
    titled = titles(stores, others)
    result = {}
    for node, own in found.items():
        text = caseless(nodes[node])
        parts: tuple[list[str], list[str], list[str]] = ([], [], [])
        for rank, group in own:
            names = [titled.get(other, others[other].name or others[other].key) for other in group.ids]
            is_told = len(names) > 1 and all(
                caseless(name) in text for name in names
            )  # one name may be there by chance
            if rank == _NAMED or not is_told:
                listed = ", ".join(names)
                more = group.total > len(names)
                parts[rank].append(
                    f"{group.heading} ({group.total:,}): {listed}, …" if more else f"{group.heading}: {listed}"
                )
        if any(parts):
            result[node] = parts
    return result


def _neighbours(
    stores: Stores, node: int, kind: str, limit: int, mentioned: _Mentioned
) -> list[tuple[int, _Neighbours]]:
    """Return the first groups of neighbours of a node with their ranks: named, mentioned, and other ones."""
    groups: list[tuple[int, _Neighbours]] = []
    schema, named = stores.schema, np.array(sorted(mentioned.nodes), np.int32)
    for relation in schema.relations:
        sides = [(True, stores.adjacency.forward, [(one.head, one.tail) for one in relation.signatures])]
        if not relation.symmetric:
            backward = [(one.tail, one.head) for one in relation.signatures]
            sides.append((False, stores.adjacency.backward, backward))
        for of_head, rows, kinds in sides:
            if all(kind != own for own, _ in kinds) or (len(groups) >= limit and not mentioned.stems):
                continue
            ids = rows(relation.name).neighbors(node)
            if not len(ids):
                continue
            same = ids[np.isin(ids, named)]
            ordered = list(dict.fromkeys([*same.tolist(), *ids[:_NAMES].tolist()]))[:_NAMES]
            other = stores.nodes.row(ordered[0]).type
            heading = relation_heading(schema, relation.name, kind, other, of_head=of_head)
            is_asked = other in mentioned.types or mentioned.in_heading(heading)
            rank = _NAMED if len(same) else _ASKED if is_asked else _OTHER
            groups.append((rank, _Neighbours(relation, of_head, heading, ordered, len(ids))))
    return sorted(groups, key=lambda pair: pair[0])[:limit]
