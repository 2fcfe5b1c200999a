"""The elements of the readings about one KB, which of them can follow which, and their labels.

:mod:`kbkit.questions.element_lists` says what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.english.question_words import BIRTH, LOCATING, PARTICIPLES, PASTS
from kbkit.english.types import type_noun
from kbkit.english.words import YEARS, may_be_person, singular
from kbkit.questions.element_lists import (
    HOP,
    Element,
    attribute_texts,
    counting_elements,
    elements_of_attributes,
    ends_in_preposition,
    hops_of,
    mutual_relations,
    names_head,
    numeric,
    phrased_words,
    relations_to_people,
)
from kbkit.questions.lexicon import LITERAL, KindLabels, alternatives, label_words, stem
from kbkit.questions.taught import Taught
from kbkit.schema import NodeType, quote
from kbkit.stores import Stores
from kbkit.stores.adjacency import Csr
from kbkit.stores.arrays import common_members, distinct, expand_ranges

MAX_HOPS = 3
MAX_PATHS = 50
"""Limit on the paths of relations from one type to another."""
MAX_CHAINS = 4_000
"""Limit on the chains from one node; with more, only the hops that words of the question express are followed."""
_SAMPLE = 50_000
"""Nodes of a hop's ends that are compared, to see which hop can follow which."""
_MIN_OVERLAP = 0.02
"""Least fraction of the smaller end that two hops must share to follow each other."""
_SAME_CLASS = 0.3
"""Least overlap of the ends of two hops that belong to one class."""
_INFERRED = 0.75
"""Similarity of a word to an inferred class, relative to that to a relation that leads to it."""
_OWN_NAME = 0.95
"""Least similarity of a word to the name of the only type of a KB that it means."""
_SINCE = ("since", "from", "until", "start", "end")
_CENTURY = (1900, 2100)
"""Integers between which all values of a column lie that has years only, whatever it is called."""
_MOST_YEARS = 0.9
"""Share of the values of an attribute that may be years, if it holds years."""
_MAX_DENSE = 2_000
_MAX_STARTS = 4_096
"""Nodes whose hops are kept."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Elements:
    """The elements of a KB, which of them can follow which, and the labels that words are compared with."""

    def __init__(self, stores: Stores) -> None:
        self.session = Session.of(stores)
        schema = stores.schema
        self.types = schema.primary_types
        relations = [[relation.label or relation.name, relation.name] for relation in schema.relations]
        attributes = attribute_texts(self.types)
        hops = hops_of(schema)
        self.hops = len(hops)
        self.all = [*hops, *elements_of_attributes(self.types, attributes, len(relations)), *counting_elements(hops)]
        self.kind, self.label = _column(self.all, "kind"), _column(self.all, "label")
        self.source, self.target = _column(self.all, "source"), _column(self.all, "target")
        self.forward = _column(self.all, "forward") > 0
        self.hop = _column(self.all, "hop")
        """The hop whose neighbours an element counts; -1 for other elements."""
        self.described = np.where(self.hop >= 0, self.target[self.hop], self.target)
        """The type that an element names: of neighbours that are counted, or else its target."""
        texts = [*relations, *attributes.values()]
        names = [relation.name for relation in schema.relations] + list(attributes)
        words = {relation.name: [*relation.words, *of] for relation, of in phrased_words(schema, texts).items()}
        taught = Taught.of(stores).synonyms
        synonyms = {n: [*words.get(name, ()), *taught.get(name, ())] for n, name in enumerate(names)}
        self.labels = KindLabels(texts, synonyms)
        self.is_verbal = [
            any(w.endswith("ed") or w in PARTICIPLES | PASTS for w in label_words(text[0])) for text in texts
        ]
        """Whether a label has a verb in the past, as *directed by* and *took part in* do."""
        self.ends_in_preposition = np.array([ends_in_preposition(one) for one in texts], bool)
        self.type_labels = KindLabels(
            [(t.name, *alternatives(t.name), *[t.name_label] * bool(t.name_label)) for t in self.types]
        )
        self._called = _types_by_stem(self.types)
        self.of_one_node = [number for number, t in enumerate(self.types) if t.count == 1]
        """The types of one node each."""
        self.people = _types_of_people(self.types)
        """The types of people, to judge by their names; else those whose nodes have a first and a last name."""
        self.mutual = mutual_relations(schema)
        """Relations that hold in both directions, as their labels say, though each edge is stored in one."""
        self.inverse = self._inverses()
        self._from = [np.flatnonzero(self.source[: self.hops] == number) for number in range(len(self.types))]
        self._follow, overlap = self._following()
        self.reversible = overlap[np.arange(self.hops), self.inverse] > _MIN_OVERLAP
        """Hops whose two ends overlap, so that only words tell the direction (``parents``)."""
        self._classes(overlap)
        self._chains: dict[tuple[int, ...], Ints] = {}
        self.starts = lru_cache(_MAX_STARTS)(self._starts)
        self.is_yearly = lru_cache(_MAX_STARTS)(self._yearly)
        """Whether an attribute holds dates or years, by the type and the name."""
        self.span = lru_cache(_MAX_STARTS)(self._span)
        """The least and the greatest value of a number or date, by the type and the name; None where none is known."""
        self.own_date = lru_cache(_MAX_STARTS)(self._own_date)
        """The date of a type that is the date of its nodes; see :meth:`_own_date`."""
        self.is_single = lru_cache(_MAX_STARTS)(self._single)
        """Whether each node has one neighbour at most, by the position of a hop."""
        self.paths = lru_cache(_MAX_STARTS)(self._paths)
        """The shortest paths from one type to another; see :meth:`_paths`."""

    @cached_property
    def expressed(self) -> dict[str, tuple[Floats, Floats]]:
        """How well words express each label and each type, see :func:`kbkit.questions.alignment.similarities`."""
        return {}

    @cached_property
    def names_head(self) -> NDArray[np.bool_]:
        """Whether each label says what the head of a relation is of the tail, as *sequel of* does."""
        relations = [names_head(one.label or one.name) for one in self.session.schema.relations]
        return np.array([*relations, *[False] * (self.labels.count - len(relations))], bool)

    @cached_property
    def locates(self) -> NDArray[np.bool_]:
        """Whether each element is a hop that says no more than where something is: *in state*, *located in*."""
        said = [{*label_words(one.name)} - {*label_words(self.types[one.target].name)} for one in self.all]
        hops = (self.kind == HOP) & self.forward
        found: NDArray[np.bool_] = hops & np.array([bool(words) and words <= LOCATING for words in said], bool)
        return found

    def _classes(self, overlap: Floats) -> None:
        """Set the class of the nodes that each element reaches, and which relations name which class.

        Classes are the types. In a KB of one type that has relations they are inferred: the ends of two hops belong to
        one class if they overlap, and a class is named by the relations that lead to it.
        """
        self.typed = len(self.types) > 1 or not self.hops
        self.certainty = 1.0 if self.typed else _INFERRED
        self.classes, self.class_of, self.class_before = len(self.types), self.described, self.source
        self._named_by = np.zeros((0, 0), bool)
        self.of_people: NDArray[np.bool_] = np.zeros(self.classes, bool)
        """Which inferred classes are of people, as relations say that lead to them."""
        if self.typed:
            return
        from scipy.sparse.csgraph import connected_components

        count, starts = connected_components(overlap > _SAME_CLASS, directed=False)
        of_hop = starts[self.inverse]  # the class where a hop ends is the class where the hop back starts
        self.classes = int(count)
        self.class_of = np.where(self.hop >= 0, of_hop[self.hop], 0)
        self.class_of[: self.hops] = of_hop
        self.class_before = np.where(self.hop >= 0, starts[self.hop], 0)
        self.class_before[: self.hops] = starts
        self._named_by = np.zeros((self.classes, self.labels.count), bool)
        forward = np.flatnonzero(self.forward[: self.hops])
        self._named_by[of_hop[forward], self.label[forward]] = True
        agents = relations_to_people(self.session.schema)
        self.of_people = np.asarray(self._named_by[:, : len(agents)][:, agents].any(axis=1), bool)

    @property
    def unnamed(self) -> NDArray[np.bool_]:
        """Which inferred classes no relation leads to by its name, such as films, in a KB about films."""
        return np.logical_not(self._named_by.any(axis=1))

    def class_similarity(self, word: str) -> Floats:
        """Return the similarity of a word to the name of each class."""
        if self.typed:
            return self.type_labels.similarity(word)
        found: Floats = _INFERRED * np.where(self._named_by, self.labels.similarity(word), 0).max(1)
        own = self.type_labels.similarity(word).max(initial=0.0)  # the name of the only type is a name of all classes
        return np.maximum(found, own) if own >= _OWN_NAME else found

    def types_called(self, word: str) -> set[int]:
        """Return the types whose name is one word with this stem."""
        return self._called.get(word, set())

    def people_called(self, word: str) -> set[int]:
        """Return the types of people that a noun stands for by what they do: directors are those who directed."""
        hops = self.role_hops(word) if self.people and may_be_person(singular(word)) else []
        return {self.all[hop].target for hop in hops} & self.people

    def role_hops(self, word: str) -> list[int]:
        """Return the hops to the nodes that a noun stands for by a relation: directors of films, capitals of states."""
        return np.flatnonzero(self.labels.similarity(word)[self.label[: self.hops]] >= LITERAL).tolist()

    def relation_label(self, hop: int) -> str:
        """Return what the relation of a hop is called."""
        relation = self.session.schema.relation(self.all[hop].name)
        return relation.label or relation.name

    def class_of_nodes(self, nodes: tuple[int, ...], node_type: int) -> int:
        """Return the class of a topic: of the hops that start at its nodes."""
        if self.typed:
            return node_type
        hops = np.concatenate([self.starts(node) for node in nodes]) if nodes else np.arange(self.hops)
        return int(np.bincount(self.class_before[hops]).argmax()) if len(hops) else 0

    def move(self, hop: int) -> Csr:
        """Return the adjacency of a hop."""
        return self.session.move(self.all[hop].name, self.all[hop].forward)

    def has_other_ways(self, hop: int) -> bool:
        """Return whether another relation joins nodes of the same classes as a hop does."""
        of, before = self.class_of[: self.hops], self.class_before[: self.hops]
        same = (of == of[hop]) & (before == before[hop]) & (self.label[: self.hops] != self.label[hop])
        return bool(same.any())

    def of_kind(self, kind: int, node_type: int) -> Ints:
        """Return the elements of a kind that start at a type."""
        return np.flatnonzero((self.kind == kind) & (self.source == node_type))

    def type_number(self, node: int) -> int:
        """Return the position of a node's primary type."""
        return int(np.searchsorted([t.last for t in self.types], node))

    def degree(self, node: int) -> int:
        """Return the number of neighbours of a node."""
        hops = self.from_type(self.type_number(node)).tolist()
        return sum(len(self.move(hop).neighbors(node)) for hop in hops)

    def _starts(self, node: int) -> Ints:
        """Return the hops for which a node has neighbours."""
        move = self.session.move
        hops = self._from[self.type_number(node)].tolist()
        return np.array([h for h in hops if len(move(self.all[h].name, self.all[h].forward).neighbors(node))], np.int64)

    def from_type(self, number: int) -> Ints:
        """Return the hops from nodes of a type."""
        return self._from[number]

    def _yearly(self, number: int, attribute: str) -> bool:
        """Return whether an attribute of a type holds dates, or numbers that are all years: *opened*, 1901 to 2004."""
        node_type = self.types[number]
        known = next((one for one in node_type.attributes if one.name == attribute), None)
        if known is None or not numeric(known.type):
            return False
        if known.type.startswith(("DATE", "TIMESTAMP")):
            return True
        said = label_words(attribute)
        is_said = any(word in _SINCE or word.endswith("ed") or word in PARTICIPLES or "year" in word for word in said)
        if not is_said and not known.type.endswith(("INT", "INTEGER")):
            return False
        low, high = self.span(number, attribute)
        if low is None or low < 0 or high > YEARS[1] or low != int(low):
            return False
        if not is_said:  # a season, or yr: called otherwise, but hardly anything else
            return bool(low < high and low >= _CENTURY[0] and high <= _CENTURY[1])
        return low >= YEARS[0] or self._are_mostly_years(number, attribute)

    def _are_mostly_years(self, number: int, attribute: str) -> bool:
        """Return whether all but a few values of an attribute may be years: a lighthouse lit in 110, others later."""
        column = quote(attribute)
        sql = f"SELECT avg(({column} >= {YEARS[0]})::INTEGER) AS share FROM {quote(self.types[number].table)}"
        [(share,)] = self.session.stores.tables.rows(f"{sql} WHERE {column} IS NOT NULL")
        return float(share) >= _MOST_YEARS

    def _span(self, number: int, attribute: str) -> tuple[Any, Any]:
        column = quote(attribute)
        sql = f"SELECT min({column}) AS low, max({column}) AS high FROM {quote(self.types[number].table)}"
        [span] = self.session.stores.tables.rows(sql)
        return span

    def _own_date(self, number: int) -> str:
        """Return the date or year that all nodes of a type have and that no other precedes: an invoice's date of issue.

        It is empty if there is none. People have none: what they were born before says nothing of when they joined.
        """
        if number in self.people:
            return ""
        node_type = self.types[number]
        dates, kind = [a.name for a in node_type.attributes if a.type.startswith(("DATE", "TIMESTAMP"))], "DATE"
        if not dates:
            dates, kind = [a.name for a in node_type.attributes if self.is_yearly(number, a.name)], "DOUBLE"
        first = f"least({', '.join(f'{quote(name)}::{kind}' for name in dates)})"
        whole = ", ".join(f"count(*) FILTER ({quote(name)}::{kind} = {first})" for name in dates)
        if len(dates) < 2:
            return ""
        [counts] = self.session.stores.tables.rows(f"SELECT {whole} FROM {quote(node_type.table)}")
        return next((name for name, count in zip(dates, counts, strict=True) if count == node_type.count), "")

    def has_flags(self, number: int, attribute: str) -> bool:
        """Return whether an attribute of numbers has zeros and ones only: *paid*."""
        return self.span(number, attribute) == (0, 1)

    def is_optional(self, number: int, attribute: str) -> bool:
        """Return whether some nodes of a type lack an attribute, and others have it."""
        column = quote(attribute)
        sql = f"SELECT count({column}) AS known FROM {quote(self.types[number].table)}"
        [(known,)] = self.session.stores.tables.rows(sql)
        return 0 < int(known) < self.types[number].count

    def _single(self, hop: int) -> bool:
        """Return whether each node of the source of a hop has one neighbour at most."""
        one = self.all[hop]
        csr = self.session.move(one.name, one.forward)
        first, count = self.types[one.source].first, self.types[one.source].count
        if csr.heads is not None:
            start, end = np.searchsorted(csr.heads, (first, first + count)).tolist()
        else:
            rows = len(csr.offsets) - 1
            start, end = min(max(0, first - csr.first), rows), min(max(0, first + count - csr.first), rows)
        degrees = csr.degrees()[start:end]
        if (degrees <= 1).all():
            return True
        low, many = self.types[one.target].first, self.types[one.target].count
        targets = csr.targets[csr.offsets[start] : csr.offsets[end]]
        rows_of = np.repeat(np.arange(end - start), degrees)[(targets >= low) & (targets < low + many)]
        return bool((np.diff(rows_of) > 0).all())

    def _paths(self, source: int, target: int) -> tuple[tuple[int, ...], ...]:
        """Return the shortest paths from one type to another as hops, ``MAX_PATHS`` of them at most.

        There is none longer than ``MAX_HOPS``; from a type to itself, there is the empty one.
        """
        paths: list[tuple[int, ...]] = [()]
        reached = {source}
        for _ in range(MAX_HOPS):
            ended = tuple(path for path in paths if (int(self.target[path[-1]]) if path else source) == target)
            if ended or not paths:
                return ended[:MAX_PATHS]
            longer = [
                (*path, hop)
                for path in paths
                for hop in self._from[int(self.target[path[-1]]) if path else source].tolist()
                if int(self.target[hop]) not in reached
            ]
            reached |= {int(self.target[path[-1]]) for path in longer}
            paths = longer[:_MAX_DENSE]
        return tuple(path for path in paths if int(self.target[path[-1]]) == target)[:MAX_PATHS]

    def chains(self, starts: Ints, expressed: Ints, most: int = MAX_HOPS) -> Ints:
        """Return all chains of 1 to ``most`` hops from ``starts``, as rows padded with -1.

        If there are too many, all hops after the first are ones of ``expressed``, and if need be the first too.
        """
        key = (most, *starts.tolist())
        if key not in self._chains:
            estimate = len(starts) * (1 + (len(self._follow[1]) / max(1, self.hops))) ** (most - 1)
            if estimate > MAX_CHAINS:
                if len(starts) > 200:
                    starts = np.intersect1d(starts, expressed)
                allowed = np.zeros(self.hops, bool)
                allowed[expressed] = True
                return self._extended(starts, most, allowed)
            if len(self._chains) >= 1_000:
                self._chains.clear()
            self._chains[key] = self._extended(starts, most, np.ones(self.hops, bool))
        return self._chains[key]

    def _extended(self, starts: Ints, most: int, allowed: NDArray[np.bool_]) -> Ints:
        rows = np.full((len(starts), most), -1, np.int64)
        rows[:, 0] = starts
        found, last = [rows], rows
        for at in range(1, most):
            offsets, following = self._follow
            first = offsets[last[:, at - 1]]
            counts = offsets[last[:, at - 1] + 1] - first
            hops = following[expand_ranges(first, counts)]
            parents = np.repeat(np.arange(len(last)), counts)
            keep = allowed[hops]
            if keep.sum() > MAX_CHAINS:
                break
            last = last[parents[keep]]
            last[:, at] = hops[keep]
            found.append(last)
        return np.concatenate(found)

    def _inverses(self) -> Ints:
        """Return for each hop the hop that leads back."""
        where = {(e.name, e.forward, e.source, e.target): n for n, e in enumerate(self.all[: self.hops])}
        symmetric = {r.name for r in self.session.schema.relations if r.symmetric}
        keys = ((e.name, (e.name in symmetric) or not e.forward, e.target, e.source) for e in self.all[: self.hops])
        return np.array([where.get(key, number) for number, key in enumerate(keys)], np.int64)

    def _following(self) -> tuple[tuple[Ints, Ints], Floats]:
        """Return which hops can follow which, and how far the nodes that hops start from overlap.

        A hop can follow another if it starts where that one ends: those that follow a hop are a range of the second
        array, between offsets in the first. Overlaps are fractions of the smaller set.
        """
        starts = [self._nodes_with(element) for element in self.all[: self.hops]]
        lengths = np.array([len(nodes) for nodes in starts], np.int64)
        pairs = [(np.zeros(0, np.int64),) * 3]
        for hops in self._from:
            rows, columns, common = common_members([starts[hop] for hop in hops.tolist()])
            pairs.append((hops[rows], hops[columns], common))
        row, column, common = map(np.concatenate, zip(*pairs, strict=True))
        overlap = common / np.maximum(1, np.minimum(lengths[row], lengths[column]))
        keep = overlap > _MIN_OVERLAP
        ends = self.inverse[row[keep]]  # the hop that ends where its inverse starts
        follow = distinct(ends * self.hops + column[keep])
        offsets = np.searchsorted(follow, np.arange(self.hops + 1) * self.hops)
        dense = np.zeros((self.hops, self.hops))
        if self.hops <= _MAX_DENSE:
            dense[row, column] = overlap
        return (offsets, follow % max(1, self.hops)), dense

    def _nodes_with(self, element: Element) -> Ints:
        """Return the nodes of the source type for which a hop has neighbours: all of them, or a sample."""
        csr = self.session.move(element.name, element.forward)
        ids = csr.first + np.flatnonzero(np.diff(csr.offsets) > 0) if csr.heads is None else csr.heads
        known = self.types[element.source]
        ids = ids[(ids >= known.first) & (ids <= known.last)].astype(np.int64)
        # The same nodes of each hop, so that samples overlap as the ends do.
        return ids if known.count <= _SAMPLE else ids[(ids * 2654435761) % known.count < _SAMPLE]


def _types_by_stem(types: Sequence[NodeType]) -> dict[str, set[int]]:
    """Return the positions of the types that are called by one word, by its stem."""
    found: dict[str, set[int]] = {}
    for number, node_type in enumerate(types):
        for parts in map(label_words, (node_type.name, *alternatives(node_type.name))):
            if len(parts) == 1:
                found.setdefault(stem(parts[0]), set()).add(number)
    return found


def _types_of_people(types: Sequence[NodeType]) -> frozenset[int]:
    """Return the positions of the types of people by their names, or else of those with first and last names.

    Those who were born and are paid are people, too: a crew.
    """
    named = [number for number, one in enumerate(types) if may_be_person(type_noun(one.name))]
    paid = [number for number, one in enumerate(types) if _are_born_and_paid(one)]
    return frozenset([*named, *paid] or [number for number, one in enumerate(types) if _has_full_names(one)])


def _are_born_and_paid(node_type: NodeType) -> bool:
    """Return whether the nodes of a type have a date of birth and a salary."""
    words = {word for attribute in node_type.attributes for word in label_words(attribute.name)}
    return not words.isdisjoint(BIRTH) and not words.isdisjoint(("salary", "wage", "pay"))


def _has_full_names(node_type: NodeType) -> bool:
    """Return whether the nodes of a type have first and last names, as guests of a table of bookings do."""
    names = [label_words(attribute.name) for attribute in node_type.attributes]
    return ["first", "name"] in names and ["last", "name"] in names


def _column(elements: list[Element], name: str) -> Ints:
    return np.array([getattr(element, name) for element in elements], np.int64)
