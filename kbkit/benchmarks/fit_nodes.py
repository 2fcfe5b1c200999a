"""Rules for all benchmarks: which nodes and values questions may use, and whether a question may deny a value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.english.frames import frame_file
from kbkit.english.markers import is_marker, untelling
from kbkit.english.readable import name_problem
from kbkit.english.relations import Link
from kbkit.english.roles import is_untyped
from kbkit.english.thesaurus import are_co_hyponyms
from kbkit.english.types import WORKS, are_people, type_noun
from kbkit.english.verbs import GRADES
from kbkit.english.words import YEARS
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Relation, quote
from kbkit.stores.once import once

AMBIGUOUS = "a label with the name of something else"
RARE = "a label of too few things"
SCATTERED = "a label of things of all kinds"
MERGED = "an answer is several things in one node"
_SEVERAL, _MEAN = 0.05, 1.5
"""Values are incomplete if more than this fraction of the nodes have several, but the mean number is below this."""
_KNOWN = 50
"""Minimum number of nodes whose numbers of values are compared."""
_AT_CUT = 0.2
"""Fraction of the nodes that have as many values as a source lists at most."""
_COVERED = 0.5
"""Minimum fraction of the nodes of a type that have a value of a relation."""
COVERED_HEADS = 0.8
"""The same of nodes without a type that are of one kind, such as films: what else they may lack, nothing tells."""
MISSING = 0.1
"""Maximum fraction of a group of nodes, such as the films of a director, without a value, such as a genre; of nodes
with several where nearly all have one; and of those of a type that are named as another kind."""
_LABELLED, _HOLDERS, _KINDS = 500, 5, 100
"""Minimum number of labelled things and of things with a label, and maximum number of their kinds, to judge labels."""
_FEW_GRADED, _FEW_OF_GENRE = 0.01, 0.001
"""Fraction of all graded things that must have a grade, and of those with genres that must be of one."""
_SHARE, _LIFT, _DEVIATION = 0.4, 1.8, 4.0
"""A label names a topic if this fraction of its things are of one kind, this many times as many as of all things, and
that many standard deviations more."""
_DOWN = re.compile(
    r"(has_?)?(sub(category|class|field|topic|genre|type|part)?|narrower|child|hyponym)\w*|has_part|contains"
)
_UP = re.compile(
    r"(has_?)?(super\w*|parent|broader|hypernym)\w*|part_of|(sub_?(class|category|field|topic)_of)|is_?a|kind_of"
)
_NEARLY_ALL = 0.98
_CODE = re.compile(r"[A-Z][A-Z0-9]{1,3}|#[0-9a-fA-F]+|[A-Z]{0,3}\d+[A-Z]?")
_SEPARATOR = re.compile(r"[|;,/]| and ")
_TWO_TEXTS = r"(?:\S+ ){4}\S+ +/ +(?:\S+ ){4}"
"""Two sentences joined by a slash."""


def left_out_markers(kb: KnowledgeBase) -> dict[int, str]:
    """Return the labels and grades that no question names, with the reason.

    A tag *joe dante* names a person, a tag *english* a language: what a thing with it has to do with them is a matter
    of opinion. Titles of works are names of anything, so they do not count. In a large KB, labels of very few things
    and labels of things of all kinds (*ambiguity*, *song*) are left out too.
    """
    types = [kind.name for kind in kb.schema.node_types if is_marker(kind.name)]
    graded = [kind.name for kind in kb.schema.node_types if _last_word(kind.name) in GRADES]
    genres = [kind.name for kind in kb.schema.node_types if _last_word(kind.name) == "genre"]
    if not types and not graded and not genres:
        return {}
    works = [kind.name for kind in kb.schema.node_types if _last_word(kind.name) in WORKS]
    own = "SELECT id, type, name FROM nodes WHERE name <> '' AND list_contains($types, type::VARCHAR)"
    reasons = {
        node: reason
        for node, kind, name in kb.tables.rows(own, {"types": [*types, *graded]})
        if (reason := untelling(name, kind))
    }
    shared = f"""
        SELECT DISTINCT m.id FROM ({own}) m JOIN nodes o ON lower(o.name) = lower(m.name)
        WHERE NOT list_contains($others, o.type::VARCHAR) ORDER BY 1"""
    for (node,) in kb.tables.rows(shared, {"types": types, "others": [*types, *works]}):
        reasons.setdefault(node, AMBIGUOUS)
    for kind in types:
        for node, reason in _scattered(kb, kind):
            reasons.setdefault(node, reason)
    for kind in graded:
        reasons |= dict.fromkeys(_rare(kb, kind, _FEW_GRADED), RARE)
    for kind in genres:
        reasons |= dict.fromkeys(_rare(kb, kind, _FEW_OF_GENRE), RARE)
    return reasons


def _rare(kb: KnowledgeBase, node_type: str, least: float) -> list[int]:
    """Return the nodes of a type of grades or genres that very few things have: often errors, or of another kind, such
    as *short* among genres. ``least``: fraction of all such facts.
    """
    counts = np.zeros(len(members := kb.session.members(node_type)), np.int64)
    for relation in kb.schema.relations:
        if any(one.tail == node_type for one in relation.signatures):
            counts += kb.session.move(relation.name, False).ranges(members)[1]
    rare: list[int] = members[counts < least * counts.sum()].tolist()
    return rare if counts.sum() >= _LABELLED else []


def _scattered(kb: KnowledgeBase, label: str) -> list[tuple[int, str]]:
    """Return the labels of a type that are on too few things, or on things of all kinds, such as of all genres.

    Empty if the KB has too few things with labels, or no relation to their kinds.
    """
    labelled, kinds = [], []
    for relation in kb.schema.relations:
        ends = [(s.head, s.tail, "head", "tail") for s in relation.signatures]
        for thing, other, own, far in [*ends, *((tail, head, "tail", "head") for head, tail, *_ in ends)]:
            pairs = f"SELECT {own} AS thing, {far} AS other FROM {quote(relation.table)}"
            if other == label:
                labelled.append((thing, pairs))
            elif not is_marker(other) and 1 < kb.schema.type(other).members <= _KINDS and thing != other:
                kinds.append((thing, pairs))
    untold: dict[int, str] = {}
    for thing, pairs in labelled:
        of_thing = [text for kind, text in kinds if kind == thing]
        sql = f"""
            WITH labelled AS (SELECT DISTINCT l.thing, l.other AS label FROM ({pairs}) l JOIN nodes n ON n.id = l.other
                              WHERE n.type = $label),
            kinds AS (SELECT DISTINCT thing, other AS kind FROM ({" UNION ALL ".join(of_thing)})
                      WHERE thing IN (SELECT thing FROM labelled)),
            things AS (SELECT count(DISTINCT thing) AS n FROM kinds),
            usual AS (SELECT kind, count(*) / max(n) AS share FROM kinds, things GROUP BY kind),
            own AS (SELECT label, count(*) AS n FROM labelled GROUP BY label),
            shares AS (SELECT label, kind, count(*) / max(own.n) AS share
                       FROM labelled JOIN kinds USING (thing) JOIN own USING (label) GROUP BY label, kind)
            SELECT own.label, own.n, coalesce(bool_or(
                s.share >= {_SHARE} AND s.share >= {_LIFT} * u.share AND
                s.share - u.share >= {_DEVIATION} * sqrt(u.share * (1 - u.share) / own.n)), false)
            FROM own LEFT JOIN shares s USING (label) LEFT JOIN usual u USING (kind)
            WHERE (SELECT n FROM things) >= {_LABELLED} GROUP BY ALL ORDER BY 1"""
        for node, count, is_told in kb.tables.rows(sql, {"label": label}) if of_thing else ():
            if count < _HOLDERS or not is_told:
                untold[node] = RARE if count < _HOLDERS else SCATTERED
    return sorted(untold.items())


@once
def merged_nodes(kb: KnowledgeBase) -> frozenset[int]:
    """Return the nodes that are several things with one name: facts of both would be mixed.

    They have two years where nearly all others have one, or a text of two sentences with a slash between them.
    """
    joined = f"SELECT DISTINCT id FROM texts WHERE contains(text, ' / ') AND regexp_matches(text, '{_TWO_TEXTS}')"
    ids = {node for (node,) in kb.tables.rows(joined)}
    for relation in kb.schema.relations:
        heads = f"SELECT head, count(DISTINCT tail) AS years FROM {quote(relation.table)} GROUP BY head"
        for signature in relation.signatures:
            if type_noun(signature.tail) != "year" or not _are_years(kb, signature.tail):
                continue
            several = kb.tables.rows(f"SELECT head FROM ({heads}) WHERE years > 1")
            [(dated,)] = kb.tables.rows(f"SELECT count(*) FROM ({heads})")
            if len(several) <= _SEVERAL * dated:
                ids.update(node for (node,) in several)
    ids |= _of_two_kinds(kb)
    return frozenset(ids)


def _of_two_kinds(kb: KnowledgeBase) -> set[int]:
    """Return the nodes without a type that are at both ends of relations: a film with the name of a director."""
    tables = [quote(kb.schema.relation(name).table) for name in head_nouns(kb) or {}]
    if not tables:
        return set()
    heads, tails = (" UNION ".join(f"SELECT {end} FROM {table}" for table in tables) for end in ("head", "tail"))
    return {node for (node,) in kb.tables.rows(f"({heads}) INTERSECT ({tails})")}


@once
def head_nouns(kb: KnowledgeBase) -> dict[str, str] | None:
    """Return what the heads of each relation are, where nodes have no types; None if all relations have typed ends.

    All relations that say it must be there, and nearly all heads of a relation must have one of them.
    """
    untyped = [
        relation
        for relation in kb.schema.relations
        if all(is_untyped(one.head) and is_untyped(one.tail) for one in relation.signatures)
    ]
    if not untyped:
        return None
    nouns: dict[str, str] = {}
    kinds: Mapping[str, list[str]] = frame_file("relations")["heads"]
    verbs = {relation.name: Link(relation, "", None, of_head=True).verb for relation in untyped}
    said = {name: verb.singular for name, verb in verbs.items() if verb is not None}
    for noun, wanted in kinds.items():
        telling = [relation for relation in untyped if said.get(relation.name) in wanted]
        if len({said[relation.name] for relation in telling}) < len(wanted):
            continue
        known = " UNION ".join(f"SELECT head FROM {quote(relation.table)}" for relation in telling)
        for relation in untyped:
            sql = (
                f"SELECT count(DISTINCT head), count(DISTINCT head) FILTER (head IN ({known}))"
                f" FROM {quote(relation.table)}"
            )
            [(heads, of_kind)] = kb.tables.rows(sql)
            if of_kind >= _NEARLY_ALL * heads > 0:
                nouns.setdefault(relation.name, noun)
    return nouns


def unnamed(kb: KnowledgeBase, nodes: Iterable[int]) -> frozenset[int]:
    """Return the nodes whose name tells no reader what they are: a number that is no year, an id, or nothing."""
    rows = kb.stores.nodes.rows(list(nodes))
    return frozenset(
        node
        for node, row in rows.items()
        if name_problem(row.name or row.key, row.key)
        or (not any(map(str.isalpha, row.name or row.key)) and "year" not in row.type and not _is_year(row.name))
    )


def nameless_types(kb: KnowledgeBase) -> frozenset[str]:
    """Return the types most of whose nodes have no name but a number, as rows of a table have."""
    sql = """
        SELECT type::VARCHAR FROM nodes GROUP BY type
        HAVING 2 * count(*) FILTER (NOT regexp_matches(coalesce(nullif(trim(name), ''), key), '\\pL')) > count(*)"""
    numbers = {name for (name,) in kb.tables.rows(sql)}
    return frozenset(name for name in numbers if "year" not in name and not _are_years(kb, name))


def check_named(kb: KnowledgeBase, types: Iterable[str], *alternative: Any) -> None:
    """Raise :class:`KbError` if one of the types is nameless; its hint ends with an ``alternative``."""
    if nameless := sorted(nameless_types(kb).intersection(types)):
        message = f"Nodes of type {nameless[0]} have no names but numbers, so no question can ask for them"
        raise KbError(
            message,
            f"Give them names in the recipe (column 'name' of load.sql){', or use ' * bool(alternative)}",
            *alternative,
        )


def _is_year(name: str) -> bool:
    return name.isdecimal() and YEARS[0] <= int(name) <= YEARS[1]


def _are_years(kb: KnowledgeBase, node_type: str) -> bool:
    sql = (
        "SELECT coalesce(bool_and(TRY_CAST(name AS INTEGER) BETWEEN $low AND $high), false) FROM nodes WHERE type = $t"
    )
    return bool(kb.tables.rows(sql, {"low": YEARS[0], "high": YEARS[1], "t": node_type})[0][0])


def _last_word(node_type: str) -> str:
    return type_noun(node_type).rpartition(" ")[2]


def below(kb: KnowledgeBase, relation: Relation, node_type: str) -> bool | None:
    """Return whether a relation leads from a node to those below it forward (True) or backward (False).

    None if it is no hierarchy of the type: it must join the type to itself and be named like one. A mutual relation is
    not a hierarchy, and neither is one between people.
    """
    name = relation.name.casefold().replace(" ", "_").replace("-", "_")
    down, up = _DOWN.fullmatch(name), _UP.fullmatch(name)
    if not (down or up) or not runs(relation, node_type, node_type) or are_people(node_type):
        return None
    return None if is_mutual(kb, relation) else not up


def runs(relation: Relation, head: str, tail: str) -> bool:
    """Return whether a relation joins two types in this direction."""
    return any((s.head, s.tail) == (head, tail) for s in relation.signatures)


def is_mutual(kb: KnowledgeBase, relation: Relation) -> bool:
    """Return whether a relation has each of its pairs in both directions, as a symmetric one does."""
    if relation.symmetric:
        return True
    if not all(runs(relation, s.tail, s.head) for s in relation.signatures):
        return False
    there, back = (kb.session.move(relation.name, forward) for forward in (True, False))
    heads = [np.array([]) if c.heads is None else c.heads for c in (there, back)]
    same = (there.offsets, back.offsets), (there.targets, back.targets), heads
    return there.first == back.first and all(np.array_equal(one, other) for one, other in same)


def wholes(kb: KnowledgeBase, node_type: str, except_for: Collection[str] = ()) -> frozenset[int]:
    """Return the nodes of a type that have parts or special kinds in the KB; none if ``except_for`` has their relation.

    What a relation says of them may hold for their parts alone: a coast on the Gulf of Guinea is one on the Atlantic.
    """
    known = {relation.name: below(kb, relation, node_type) for relation in kb.schema.relations}
    ways = {name: forward for name, forward in known.items() if forward is not None}
    if not ways or not ways.keys().isdisjoint(except_for):
        return frozenset()
    members = kb.session.members(node_type)
    have = np.any([kb.session.move(name, forward).ranges(members)[1] > 0 for name, forward in ways.items()], axis=0)
    return frozenset(members[have].tolist())


def coverage(kb: KnowledgeBase, node_type: str, moves: Iterable[tuple[str, bool]]) -> float:
    """Return the fraction of the nodes of a type that at least one move leads to; moves are (relation, forward)."""
    members = kb.session.members(node_type)
    counts = [kb.session.move(relation, not forward).ranges(members)[1] for relation, forward in moves]
    return float(np.any([count > 0 for count in counts], axis=0).mean()) if len(members) and counts else 1.0


def is_function(kb: KnowledgeBase, node_type: str | None, moves: Iterable[tuple[str, bool]]) -> bool:
    """Return whether moves lead from nearly every node of a type to one node alone, as from countries to capitals."""
    members = kb.session.members(node_type)
    counts = np.sum([kb.session.move(relation, forward).ranges(members)[1] for relation, forward in moves], axis=0)
    return bool((counts > 0).any()) and (counts > 1).sum() <= MISSING * (counts > 0).sum()


@once
def mixed_types(kb: KnowledgeBase) -> frozenset[str]:
    """Return the types a tenth or more of whose nodes are named as another kind: seas with *Gulf of Oman* among them.

    Works are left out, whose titles say nothing of their kind.
    """
    sql = """
        SELECT type::VARCHAR, regexp_extract(lower(split_part(name, ' of ', 1)), '\\pL+$') AS head, count(*),
            sum(count(*)) OVER (PARTITION BY type)
        FROM nodes WHERE name IS NOT NULL GROUP BY type, head"""
    others: Counter[str] = Counter()
    sizes: dict[str, int] = {}
    for kind, head, count, size in kb.tables.rows(sql):
        sizes[kind] = size
        others[kind] += count * are_co_hyponyms(_last_word(kind), head)
    return frozenset(
        kind
        for kind, count in others.items()
        if count
        and count >= MISSING * sizes[kind]
        and not is_untyped(kind)
        and _last_word(kind) not in WORKS
        and not are_people(kind)
    )


def is_sparse(node_type: str, other: str, fraction: float) -> bool:
    """Return whether too few nodes of a type have a value of a relation or attribute for a condition on it.

    ``fraction`` is the fraction of the nodes with a value, ``other`` the type of the values ("" for an attribute).
    Optional values (:func:`is_optional`) are never sparse.
    """
    return fraction < (COVERED_HEADS if is_untyped(node_type) else _COVERED) and not is_optional(node_type, other)


def describes(kb: KnowledgeBase, node_type: str, other: str) -> bool:
    """Return whether a type is a kind of value of another one, as currencies and languages are of countries.

    Its nodes are joined with nodes of the other type alone, and there are fewer of them. *Currencies that are used in a
    country that the Nile flows through* asks for a value of things that the query does not name.
    """
    if node_type == other:
        return False
    joined = {
        signature.tail if signature.head == node_type else signature.head
        for relation in kb.schema.relations
        for signature in relation.signatures
        if node_type in (signature.head, signature.tail)
    }
    return joined <= {other, node_type} and len(kb.session.members(node_type)) < len(kb.session.members(other))


def is_optional(node_type: str, other: str) -> bool:
    """Return whether a node without a value of the type ``other`` is complete.

    This holds for tags, for the works of people (not everyone acts in films), and for values of the same type (not
    every film is a remake of a film).
    """
    is_role = are_people(node_type) and type_noun(other).rpartition(" ")[2] in WORKS
    return is_role or node_type == other or is_marker(node_type) or is_marker(other)


def are_lists(values: Sequence[str]) -> bool:
    """Return whether some values of an attribute list other values, such as *Latin|Arabic* beside *Latin*.

    The condition ``script = "Latin"`` would miss the nodes with *Latin|Arabic*.
    """
    known = {value.strip().casefold() for value in values}
    parts = ([part.strip().casefold() for part in _SEPARATOR.split(value)] for value in values)
    return any(len(items) > 1 and not known.isdisjoint(items) for items in parts)


def are_codes(values: Sequence[str]) -> bool:
    """Return whether most of some values are codes that nothing explains, such as *HEX*, *ORC* or *#ff0d0d*."""
    return bool(values) and 2 * sum(bool(_CODE.fullmatch(value)) for value in values) > len(values)


def are_whole(counts: NDArray[np.int64]) -> bool:
    """Return whether the values of nodes are probably complete; ``counts`` are their numbers of values, at least 1.

    They are if nearly all nodes have one value, or if several are common. If most nodes have one value and some have
    several, the source may list only the first, such as the main genre of a film. Nor are lists that are cut.
    """
    if not len(counts) or (counts > 1).mean() <= _SEVERAL:
        return True
    return bool(counts.mean() >= _MEAN) and not cut_at(counts)


def cut_at(counts: NDArray[np.int64]) -> int:
    """Return how many values of a node a source lists at most, such as the first three actors of a film; 0: all.

    Many nodes have that number, as many as have one less or nearly so, and hardly any have more.
    """
    sizes = np.bincount(counts)
    total = len(counts)
    cuts = (
        most
        for most in range(2, len(sizes))
        if sizes[most] >= _AT_CUT * total
        and 2 * sizes[most] >= sizes[most - 1]
        and sizes[most + 1 :].sum() <= _SEVERAL * total
    )
    return next(cuts, 0) if total >= _KNOWN else 0


def lists_cut(kb: KnowledgeBase, node_type: str | None, moves: Iterable[tuple[str, bool]]) -> bool:
    """Return whether moves from nodes of a type lead to the first few of their values (:func:`cut_at`)."""
    members = kb.session.members(node_type)
    counts = np.sum([kb.session.move(relation, forward).ranges(members)[1] for relation, forward in moves], axis=0)
    return cut_at(counts[counts > 0]) > 0
