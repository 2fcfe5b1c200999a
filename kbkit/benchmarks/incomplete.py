"""What a KB itself shows to be incomplete or doubtful, so that no question asks for it.

A reader knows more than the KB: of the films of an actor, of the lakes of a country. Where the KB holds all that it is
about, its answers are whole; where it holds only what that needs, they are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import Difference, Hop, Intersection, Operator
from kbkit.answers.operator_tree import operators
from kbkit.benchmarks.fit_nodes import (
    MISSING,
    are_whole,
    coverage,
    head_nouns,
    is_function,
    is_optional,
    is_sparse,
    lists_cut,
    merged_nodes,
)
from kbkit.english.markers import is_marker
from kbkit.english.relations import Link
from kbkit.english.roles import is_untyped, tail_noun
from kbkit.english.types import WORKS, are_people, type_noun
from kbkit.english.words import is_person
from kbkit.kb import KnowledgeBase
from kbkit.schema import Relation, quote
from kbkit.stores.once import once

FRAGMENT = "an answer lacks what nearly all of its type have"
_USUAL, _LACKS, _LEAST = 0.95, 2, 50
"""Fraction of the nodes of a type that have what is usual; number of usual things that nodes of another kind lack; and
minimum number of nodes of a type in which such nodes are looked for."""
_CENTRAL = 0.8
"""Fraction of all edges that join the nodes of the type that a KB is about."""
_EACH = 10
"""Mean number of things of a category, such as a genre."""
_SHORT_LIST = 3
"""Mean number of values up to which a list, such as the official languages of a country, is probably whole."""

_LISTED = 100
"""Minimum number of entities of a kind for a list of them."""
_CAST, _FEATURES = 5, frozenset(("features", "stars", "has {} as an actor", "has {} as a cast member"))
"""Mean number of actors of works up to which only the notable ones are known; and verb phrases of works with actors."""

_OFTEN = 0.1
"""Fraction of the things of a person that must be among the answers to suggest that another one is."""

Ints = NDArray[np.int64]


def doubtful_nodes(kb: KnowledgeBase) -> frozenset[int]:
    """Return the nodes that no question has as an answer: several things in one, and things of another kind."""
    return merged_nodes(kb) | fragments(kb)


@once
def fragments(kb: KnowledgeBase) -> frozenset[int]:
    """Return the nodes that lack two or more of what nearly all nodes of their type have.

    They are of another kind: among films that have a year and a director, those without both are television series.
    """
    kinds = [one for one in kb.schema.node_types if one.members >= _LEAST and not is_untyped(one.name)]
    return frozenset().union(*(_fragments(kb, one.name) for one in kinds))


def _fragments(kb: KnowledgeBase, node_type: str) -> frozenset[int]:
    table = quote(kb.schema.type(node_type).table)
    members = kb.session.members(node_type)
    lacking = np.zeros(len(members), np.int64)
    for attribute in kb.schema.type(node_type).attributes:
        rows = kb.tables.rows(f"SELECT id FROM {table} WHERE {quote(attribute.name)} IS NULL")
        lacks = np.isin(members, [node for (node,) in rows])
        lacking += lacks * (lacks.mean() <= 1 - _USUAL)
    for relation in kb.schema.relations:
        for forward in (True, False):
            ends = {one.head if forward else one.tail for one in relation.signatures}
            if node_type in ends:
                lacks = kb.session.move(relation.name, forward).ranges(members)[1] == 0
                lacking += lacks * (lacks.mean() <= 1 - _USUAL)
    return frozenset(members[lacking >= _LACKS].tolist())


@once
def subject_type(kb: KnowledgeBase) -> str:
    """Return the type that a KB is about: nearly all edges join its nodes; "" if there is none, or several."""
    edges: Counter[str] = Counter()
    for one in (one for relation in kb.schema.relations for one in relation.signatures):
        edges.update(dict.fromkeys((one.head, one.tail), one.edges))
    total = sum(one.edges for relation in kb.schema.relations for one in relation.signatures)
    central = [kind for kind, count in edges.items() if count >= _CENTRAL * total]
    return central[0] if len(central) == 1 and len(kb.schema.node_types) > 2 else ""


def is_sample(kb: KnowledgeBase, node_type: str) -> bool:
    """Return whether a KB has only some of the nodes of a type, and no node of its subject lists them.

    An atlas of countries has their capitals, and some of their lakes.
    """
    subject = subject_type(kb)
    return bool(subject) and node_type != subject and not _is_listed(kb, subject, node_type)


def _is_listed(kb: KnowledgeBase, subject: str, node_type: str) -> bool:
    """Return whether each node of the subject has a few nodes of a type as values of a relation."""
    members = kb.session.members(subject)
    for relation in kb.schema.relations:
        if any((one.head, one.tail) == (subject, node_type) for one in relation.signatures):
            counts = kb.session.move(relation.name, True).ranges(members)[1]
            if (counts > 0).mean() >= _USUAL and counts[counts > 0].mean() <= _SHORT_LIST:
                return True
    return False


def truncated(kb: KnowledgeBase, root: Operator) -> str:
    """Return a relation of an expression of which a source lists the first few values of a node only, or "".

    *Films that star X* would leave out those in which X is the fourth actor, and *actors in films by X* all but three
    of each; *dramas* would leave out those of which it lists the main genre only. A label may be named: *tagged
    'heist'* asks for the films with that tag, not for all films about one.
    """
    for hop in (operator for operator in operators(root) if isinstance(operator, Hop)):
        ways = [(move.relation, move.forward) for move in hop.moves]
        back = [(move.relation, not move.forward) for move in hop.moves]
        is_open = not open_properties(kb).isdisjoint(name for name, _ in ways)
        is_open |= _holds_some(kb, hop.type) and not all(forward for _, forward in ways)
        is_open |= _has_other_types(kb, hop.source.type, ways)
        if is_open or is_truncated(kb, hop.source.type, hop.type, ways) or _has_main_alone(kb, hop.type, back):
            return hop.moves[0].relation
    return ""


@once
def open_properties(kb: KnowledgeBase) -> frozenset[str]:
    """Return the properties of Wikidata's statements of which entities have several values, such as awards.

    Editors enter those that they know: a place of birth is one, but any number of the awards of a person may be
    missing. Properties that nearly all entities of a kind have may be complete.
    """
    if "statements" not in kb.schema.extra_tables:
        return frozenset()
    sql = f"""
        WITH counts AS (SELECT s.property, s.subject, count(DISTINCT s.target) AS n, any_value(n.type) AS kind
                        FROM statements s JOIN nodes n ON n.key = s.subject
                        WHERE s.best AND s.target IS NOT NULL GROUP BY ALL),
        kinds AS (SELECT type AS kind, count(*) AS members FROM nodes GROUP BY type)
        SELECT property FROM counts JOIN kinds USING (kind) GROUP BY property
        HAVING count(*) FILTER (n > 1) > {MISSING} * count(*) AND count(*) < {_USUAL} * max(members)"""
    return frozenset(name for (name,) in kb.tables.rows(sql))


def is_truncated(kb: KnowledgeBase, node_type: str | None, other: str | None, ways: Iterable[tuple[str, bool]]) -> bool:
    """Return whether steps from nodes of a type to those of another lead to the first few values of either.

    Those of a node that a label, such as a keyword, is on do not count where the label is given.
    """
    steps = list(ways)
    if any(_is_short_cast(kb, name) for name, _ in steps):
        return True
    back = [(relation, not forward) for relation, forward in steps]
    return lists_cut(kb, node_type, steps) or (not is_marker(node_type or "") and lists_cut(kb, other, back))


def _holds_some(kb: KnowledgeBase, node_type: str | None) -> bool:
    """Return whether a KB of statements, such as a part of Wikidata, has so few entities of a kind that it is no list
    of them: not all countries of Europe.
    """
    if node_type is None or "statements" not in kb.schema.extra_tables:
        return False
    return kb.schema.type(node_type).members < _LISTED


def few_listed(kb: KnowledgeBase) -> str:
    """Return what to do about a KB that holds some entities of each kind (:func:`_holds_some`), or ""."""
    if not any(_holds_some(kb, one.name) for one in kb.schema.node_types):
        return ""
    return f"Ingest more of Wikidata: of kinds with fewer than {_LISTED} entities, no list is complete"


def _has_other_types(kb: KnowledgeBase, node_type: str | None, ways: Sequence[tuple[str, bool]]) -> bool:
    """Return whether the values of statements about nodes of a type are of several types: some are left out."""
    if "statements" not in kb.schema.extra_tables or not all(forward for _, forward in ways):
        return False
    return len({end for name, _ in ways for end in _ends(kb.schema.relation(name), node_type, forward=True)}) > 1


def is_short_cast(verb: str, mean: float) -> bool:
    """Return whether the objects of a verb are the actors of works, with so few on average that they are the notable
    ones: a cast is longer.
    """
    return verb in _FEATURES and mean < _CAST


def _is_short_cast(kb: KnowledgeBase, name: str) -> bool:
    """Return whether a relation joins works to a few of their actors each."""
    relation = kb.schema.relation(name)
    for signature in relation.signatures:
        for forward, (one, other) in (
            (True, (signature.head, signature.tail)),
            (False, (signature.tail, signature.head)),
        ):
            verb = Link(relation, one, other, of_head=forward).verb
            if verb is not None and verb.singular in _FEATURES and (is_untyped(one) or not are_people(one)):
                counts = kb.session.move(name, forward).ranges(kb.session.members(one))[1]
                return is_short_cast(verb.singular, float(counts[counts > 0].mean())) if counts.any() else False
    return False


def uncategorized(kb: KnowledgeBase, node_type: str | None, ways: Iterable[tuple[str, bool]]) -> Ints:
    """Return the nodes of a type from which steps to a category, such as a genre, lead nowhere: each may be in any.

    Empty for other values: a country without a sea is complete.
    """
    counts = _categories_of(kb, node_type, list(ways))
    lacking: Ints = kb.session.members(node_type)[counts == 0].astype(np.int64) if len(counts) else counts
    return lacking


def is_known_in_part(kb: KnowledgeBase, node_type: str, other: str | None, ways: Iterable[tuple[str, bool]]) -> bool:
    """Return whether the values of a node, by steps from its type, may be fewer than a reader knows.

    They are the first few, or the main one, or too few nodes have any: a film in two languages is in the notable one.
    """
    steps = list(ways)
    if is_truncated(kb, node_type, other, steps) or _has_main_alone(kb, node_type, steps):
        return True
    is_forward = all(forward for _, forward in steps)
    back = [(name, not forward) for name, forward in steps]
    return is_forward and is_sparse(node_type, other or "", coverage(kb, node_type, back))


def _has_main_alone(kb: KnowledgeBase, node_type: str | None, ways: Iterable[tuple[str, bool]]) -> bool:
    """Return whether steps from nodes of a type lead to the main one of their categories only (:func:`are_whole`), as
    from films to one country each: some films have several.
    """
    steps = list(ways)
    counts = _categories_of(kb, node_type, steps)
    known = counts[counts > 0]
    ends = {end for name, forward in steps for end in _ends(kb.schema.relation(name), node_type, forward=forward)}
    is_work = type_noun(node_type or "").rpartition(" ")[2] in WORKS
    is_one = is_work and {type_noun(one) for one in ends} == {"country"} and len(known) >= _LEAST and known.max() == 1
    return is_one or not are_whole(known)


def _categories_of(kb: KnowledgeBase, node_type: str | None, ways: Sequence[tuple[str, bool]]) -> Ints:
    """Return the numbers of categories of the nodes of a type; empty if the steps lead to anything else."""
    ends = {end for name, forward in ways for end in _ends(kb.schema.relation(name), node_type, forward=forward)}
    are_untold = any(map(is_untyped, ends))  # of what type the values are, a source of statements does not say
    are_one_kind = are_untold or (len(ends) == 1 and _are_categories(kb, str(node_type), next(iter(ends))))
    if is_untyped(node_type) or not are_one_kind:
        return np.empty(0, np.int64)
    members = kb.session.members(node_type)
    counts: Ints = np.sum([kb.session.move(*way).ranges(members)[1] for way in ways], axis=0, dtype=np.int64)
    return counts


def is_gapped(kb: KnowledgeBase, node_type: str | None, lacking: Ints) -> bool:
    """Return whether so many nodes of a type lack a value that no list of all with one value is whole."""
    return len(lacking) > (1 - _USUAL) * len(kb.session.members(node_type))


def gapped(kb: KnowledgeBase, root: Operator) -> str:
    """Return a relation to a category by which alone an expression finds nodes, though many have none, or "".

    *Westerns* misses those without a genre; *Westerns by Jane Doe* can be whole (:func:`uncategorized`).
    """
    joined = [part for one in operators(root) if isinstance(one, Intersection) for part in one.parts]
    for hop in (one for one in operators(root) if isinstance(one, Hop) and one not in joined):
        lacking = uncategorized(kb, hop.type, [(move.relation, not move.forward) for move in hop.moves])
        if is_gapped(kb, hop.type, lacking):
            return hop.moves[0].relation
    return ""


def _ends(relation: Relation, node_type: str | None, *, forward: bool) -> set[str]:
    """Return the types that a step from nodes of a type leads to."""
    pairs = ((s.head, s.tail) if forward else (s.tail, s.head) for s in relation.signatures)
    return {end for start, end in pairs if start == node_type}


def _are_categories(kb: KnowledgeBase, node_type: str, other: str) -> bool:
    """Return whether a type is a few values that each thing of another has, and of which the KB says nothing else."""
    joined = {
        end
        for relation in kb.schema.relations
        for forward in (True, False)
        for end in _ends(relation, other, forward=forward)
    }
    is_small = _EACH * kb.schema.type(other).members <= kb.schema.type(node_type).members
    return is_small and joined == {node_type} and not are_people(other) and not is_optional(node_type, other)


def rivals(kb: KnowledgeBase, root: Operator) -> frozenset[int]:
    """Return the nodes that the last step of an expression reaches from a node with several values, if nearly all have
    one: which of two cities is the capital is a matter of opinion.
    """
    last = root.left if isinstance(root, Difference) else root
    if not isinstance(last, Hop) or not last.source.type:
        return frozenset()
    ways = [(move.relation, move.forward) for move in last.moves]
    if not is_function(kb, last.source.type, ways):
        return frozenset()
    members = kb.session.members(last.source.type)
    moves = [kb.session.move(*way) for way in ways]
    counts = np.sum([move.ranges(members)[1] for move in moves], axis=0)
    several = members[counts > 1].tolist()
    return frozenset(int(one) for node in several for move in moves for one in move.neighbors(node))


class Unlisted:
    """Things that may be answers of an expression though the KB does not say so, as it lacks their value.

    A film without a director that has an actor in common with the films of a director may be hers.
    """

    def __init__(self, kb: KnowledgeBase, root: Operator) -> None:
        self._kb = kb
        last = root.left if isinstance(root, Difference) else root
        self._ways: list[tuple[str, bool]] = []
        self._people = frozenset[int]()
        if isinstance(last, Hop) and len(last.moves) == 1:
            move = last.moves[0]
            own = (move.relation, not move.forward)
            if is_function(kb, last.type, [own]) and _is_of_people(kb, *own):
                self._ways = [way for way in _ways_to_people(kb, last.type) if way != own]
                self._people = frozenset(self._of(_lacking(kb, last.type, own)))

    def may_be_among(self, answers: Iterable[int]) -> bool:
        """Return whether such a thing shares a person with some answers who is often in them."""
        if not self._people:
            return False
        common = {person: n for person, n in self._of(answers).items() if person in self._people}
        people = np.array(list(common), np.int32)
        known = np.sum([self._kb.session.move(name, not f).ranges(people)[1] for name, f in self._ways], axis=0)
        counts = np.array(list(common.values()))
        return bool(((counts > 1) & (counts >= _OFTEN * known)).any()) if common else False

    def _of(self, nodes: Iterable[int]) -> Counter[int]:
        moves = [self._kb.session.move(*way) for way in self._ways]
        return Counter(int(person) for node in nodes for move in moves for person in move.neighbors(node))


def _is_of_people(kb: KnowledgeBase, name: str, forward: bool) -> bool:
    relation = kb.schema.relation(name)
    if all(is_untyped(one.tail) and is_untyped(one.head) for one in relation.signatures):
        return forward and is_person(tail_noun(relation))
    return all(are_people(one.tail if forward else one.head) for one in relation.signatures)


def _ways_to_people(kb: KnowledgeBase, node_type: str | None) -> list[tuple[str, bool]]:
    """Return the steps from nodes of a type to people."""
    ways = [(relation.name, forward) for relation in kb.schema.relations for forward in (True, False)]
    starts = {way: {one.head if way[1] else one.tail for one in kb.schema.relation(way[0]).signatures} for way in ways}
    return [way for way in ways if (node_type in starts[way] or is_untyped(node_type)) and _is_of_people(kb, *way)]


def _lacking(kb: KnowledgeBase, node_type: str | None, way: tuple[str, bool]) -> list[int]:
    """Return the nodes of a type, or of the kind that heads of a relation are, from which a step leads nowhere."""
    members = kb.session.members(node_type)
    known = kb.session.move(*way).ranges(members)[1] > 0
    if is_untyped(node_type):
        heads = head_nouns(kb) or {}
        like = [name for name, noun in heads.items() if noun == heads.get(way[0])]
        known |= ~np.any([kb.session.move(name, True).ranges(members)[1] > 0 for name in like], axis=0)
    lacking: list[int] = members[~known].tolist()
    return sorted(set(lacking) - fragments(kb))
