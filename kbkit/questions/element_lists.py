"""What the readings of a question are made of, on one KB: hops, attributes, superlatives and comparisons.

An element leads from nodes of a primary type to nodes of a primary type. A hop follows a relation; a value ends the
reading with an attribute of the nodes; the others keep some of the nodes: those with the greatest or least attribute or
number of neighbours (``MOST``, ``MOST_NEIGHBOURS``), or with an attribute or a number that compares with a constant
(``COMPARED``, ``COMPARED_NEIGHBOURS``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.english.agents import BOSSES, meant_verb
from kbkit.english.question_words import FUNCTION_WORDS, PARTICIPLES, PREPOSITIONS
from kbkit.english.words import may_be_person, singular
from kbkit.questions.lexicon import label_words, stem
from kbkit.schema import NodeType, Relation, Schema

HOP, VALUE, MOST, MOST_NEIGHBOURS, COMPARED, COMPARED_NEIGHBOURS = range(6)

MAX_ELEMENTS = 5_000
"""Limit on hops; a schema with more is read without the rarest."""
_NUMERIC = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP")


class Element(NamedTuple):
    """One element: ``label`` is its position among the labels of relations and attributes, ``name`` the relation or
    attribute, ``source`` and ``target`` are positions in ``schema.primary_types``.
    """

    kind: int
    name: str
    label: int
    forward: bool
    source: int
    target: int
    hop: int = -1
    """The hop whose neighbours are counted."""


def phrased_words(schema: Schema, labels: Sequence[Sequence[str]]) -> dict[Relation, list[str]]:
    """Return the words of each relation's phrases that its label lacks, and that say it alone: *stars*, of *acted in*.

    ``labels`` are those of all relations and attributes, in whose words no other relation may be phrased.
    """
    spoken = {relation: {w for _, text in relation.phrases for w in label_words(text)} for relation in schema.relations}
    used = Counter(word for words in spoken.values() for word in {stem(word) for word in words})
    known = {stem(word) for label in labels for text in label for word in label_words(text)}
    known |= {stem(word) for node_type in schema.primary_types for word in label_words(node_type.name)}
    plain = FUNCTION_WORDS | _PLAIN
    bosses = relations_to_bosses(schema)
    return {
        relation: [
            *sorted(word for word in words - plain if used[stem(word)] == 1 and stem(word) not in known),
            *filter(None, map(meant_verb, label_words(relation.name))),
            *(BOSSES - known if bosses == [relation] else ()),
        ]
        for relation, words in spoken.items()
    }


_PLAIN = frozenset(("carries", "comes", "contains", "counts", "ends", "falls", "has", "located", "shares", "under"))
"""Words of phrases that say nothing alone."""


def relations_to_bosses(schema: Schema) -> list[Relation]:
    """Return the relations from people to those whom they report to: ``manager``, ``line_mgr``, ``reports_to``."""
    return [
        relation
        for relation in schema.relations
        if all(signature.head == signature.tail for signature in relation.signatures)
        and (label_words(relation.name)[-1] in BOSSES or label_words(relation.name) == ["reports", "to"])
    ]


def hops_of(schema: Schema) -> list[Element]:
    """Return a hop for each signature of a relation and each direction, those with the most edges first."""
    position = {t.name: number for number, t in enumerate(schema.primary_types)}
    joins = [
        (join, number)
        for number, relation in enumerate(schema.relations)
        for join in relation.joins()
        if join.forward or not relation.symmetric
    ]
    most = sorted(joins, key=lambda pair: -pair[0].edges)[:MAX_ELEMENTS]
    return [Element(HOP, j.relation.name, n, j.forward, position[j.source], position[j.target]) for j, n in most]


def mutual_relations(schema: Schema) -> frozenset[str]:
    """Return the relations between nodes of one type whose label ends with *with*: ``appears with``, ``plays_with``."""
    return frozenset(
        relation.name
        for relation in schema.relations
        if not relation.symmetric
        and all(signature.head == signature.tail for signature in relation.signatures)
        and label_words(relation.label or relation.name)[-1:] == ["with"]
    )


def relations_to_people(schema: Schema) -> NDArray[np.bool_]:
    """Return which relations lead to people: to those who do what their label says, or who have a role: *written by*,
    *actors*.
    """
    last = [label_words(relation.label or relation.name)[-1] for relation in schema.relations]
    return np.array([word == "by" or may_be_person(singular(word)) for word in last], bool)


def ends_in_preposition(texts: Sequence[str]) -> bool:
    """Return whether one of the texts of a label ends with a preposition."""
    return any(not PREPOSITIONS.isdisjoint(label_words(text)[-1:]) for text in texts)


def names_head(text: str) -> bool:
    """Return whether a label says what the head of a relation is of the tail: *sequel of*, but not *consists of*."""
    words = label_words(text)
    return words[1:] == ["of"] and words[0] not in PARTICIPLES and not words[0].endswith(("ed", "s"))


def attribute_texts(types: Sequence[NodeType]) -> dict[str, list[str]]:
    """Return the name and the labels of each attribute, by its name."""
    texts: dict[str, list[str]] = {}
    for attribute in (attribute for node_type in types for attribute in node_type.attributes):
        texts.setdefault(attribute.name, [attribute.name]).append(attribute.label or attribute.name)
    return texts


def elements_of_attributes(types: Sequence[NodeType], attributes: Mapping[str, object], first: int) -> list[Element]:
    """Return the elements of attributes; ``first`` is the position of the first attribute among the labels."""
    position = {name: first + number for number, name in enumerate(attributes)}
    return [
        Element(kind, attribute.name, position[attribute.name], True, number, number)
        for kind in (VALUE, MOST, COMPARED)
        for number, node_type in enumerate(types)
        for attribute in node_type.attributes
        if kind == VALUE or numeric(attribute.type)
    ]


def counting_elements(hops: Sequence[Element]) -> list[Element]:
    """Return the elements that count the neighbours of hops."""
    kinds = (MOST_NEIGHBOURS, COMPARED_NEIGHBOURS)
    return [hop._replace(kind=kind, target=hop.source, hop=n) for kind in kinds for n, hop in enumerate(hops)]


def numeric(attribute_type: str) -> bool:
    """Return whether values of a DuckDB type are numbers or dates, not lists of them."""
    return attribute_type.startswith(_NUMERIC) and not attribute_type.endswith("]")
