"""Facts of a KB that are doubtful, as it shows itself: it qualifies them, or they hardly go with others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.fit_nodes import is_function
from kbkit.english.roles import is_untyped
from kbkit.kb import KnowledgeBase
from kbkit.schema import Relation, quote
from kbkit.stores.once import once

_LEAST = 50
"""Minimum number of nodes of a type, and of pairs of values, that show what is usual."""
ODD = "an answer has facts that rarely go together"
_TELLS, _USUALLY, _AS_OFTEN, _FEW_VALUES = 0.3, 0.15, 0.9, 100
"""How much one value must say of another; fraction of the things with a value that have a usual other one, also
relative to that of all things; and maximum number of values."""
DOUBTED = "a fact that the KB itself qualifies"
_QUALIFIED = re.compile(
    r"(?i)(?:alleged|claimed|contested|de facto|deprecated|disputed|doubtful|former|pending|planned|possible|probable"
    r"|proposed|provisional|suspended|uncertain|unofficial|unrecogni[sz]ed|withdrawn)(?:ly)?\b.*"
)
"""Values of an attribute of an edge that qualify what it says."""
Ints = NDArray[np.int64]


@once
def doubted(kb: KnowledgeBase) -> dict[str, frozenset[tuple[int, int]]]:
    """Return for some relations the edges (head, tail) that an attribute of theirs qualifies: *claimed*, *de facto*.

    Whether a country with a *de facto* language has it *as an official language* is a matter of opinion.
    """
    return {one.name: edges for one in kb.schema.relations if (edges := _doubted(kb, one))}


def _doubted(kb: KnowledgeBase, relation: Relation) -> frozenset[tuple[int, int]]:
    edges: set[tuple[int, int]] = set()
    for attribute in relation.attributes:
        if attribute.type == "VARCHAR":
            column, table = quote(attribute.name), quote(relation.table)
            values = kb.tables.rows(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
            found = [value for (value,) in values if _QUALIFIED.fullmatch(value)]
            sql = f"SELECT head, tail FROM {table} WHERE list_contains($found, {column})"
            edges.update(kb.tables.rows(sql, {"found": found}) if found else ())
    return frozenset(edges)


def doubted_of(kb: KnowledgeBase, relations: Iterable[str], node: int) -> frozenset[int]:
    """Return the nodes that a qualified edge of some relations joins to a node."""
    edges = [edge for name in relations for edge in doubted(kb).get(name, ()) if node in edge]
    return frozenset(tail if head == node else head for head, tail in edges)


@once
def odd_nodes(kb: KnowledgeBase) -> dict[str, frozenset[int]]:
    """Return for some relations the nodes whose value goes with none of their others: *made in Japan* but in English.

    Two relations with few values, such as the country and the language of films, may nearly say each other. Where they
    do not, as in a film of several countries of which the KB has one, one of them is often wrong.
    """
    odd: dict[str, frozenset[int]] = {}
    for kind in kb.schema.node_types:
        known = [relation for relation in kb.schema.relations if _is_category(kb, relation, kind.name)]
        for one, other in permutations(known if kind.members >= _LEAST else (), 2):
            sql = f"SELECT a.head, a.tail, b.tail FROM {quote(one.table)} a JOIN {quote(other.table)} b USING (head)"
            nodes, values, others = np.array(kb.tables.rows(sql), np.int64).reshape(-1, 3).T
            if len(nodes) >= _LEAST and _says(values, others) >= _TELLS:
                found = frozenset(nodes[~_goes(values, others)].tolist())
                odd |= {name: odd.get(name, frozenset()) | found for name in (one.name, other.name)}
    return odd


def _is_category(kb: KnowledgeBase, relation: Relation, node_type: str) -> bool:
    """Return whether a relation gives nearly each node of a type one of a few values."""
    tails = {one.tail for one in relation.signatures if one.head == node_type}
    is_small = len(tails) == 1 and 1 < kb.schema.type(next(iter(tails))).members <= _FEW_VALUES
    has_one = is_small and is_function(kb, node_type, [(relation.name, True)])
    return has_one and not is_untyped(node_type) and tails != {node_type}


def _says(values: Ints, others: Ints) -> float:
    """Return how much of what is unknown of ``others`` the values say: 0 nothing, 1 all."""
    entropy = _entropy(others)
    joint = values * (others.max() + 1) + others
    return 1 - (_entropy(joint) - _entropy(values)) / entropy if entropy else 0.0


def _entropy(values: Ints) -> float:
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float(-(shares * np.log2(shares)).sum())


def _goes(values: Ints, others: Ints) -> NDArray[np.bool_]:
    """Return which of the others are usual with their value: often there, and as often as elsewhere."""
    joint = values * (others.max() + 1) + others
    of_pair, of_value, of_other = (
        np.unique(one, return_inverse=True, return_counts=True)[1:] for one in (joint, values, others)
    )
    pairs, alone, general = (counts[at] for at, counts in (of_pair, of_value, of_other))
    return (pairs >= _USUALLY * alone) & (pairs / alone >= _AS_OFTEN * general / len(values))
