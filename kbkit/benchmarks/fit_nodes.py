"""Which nodes are fit for questions, and whether a question may say what a node is not: rules for all benchmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kbkit.english.markers import is_marker, untelling
from kbkit.english.types import WORKS, type_noun
from kbkit.english.verbs import GRADES
from kbkit.english.words import YEARS
from kbkit.kb import KnowledgeBase
from kbkit.schema import quote

AMBIGUOUS = "a label with the name of something else"
MERGED = "an answer is several things in one node"
_SEVERAL, _MEAN = 0.05, 1.5
"""A list is not whole if more than that fraction of its nodes have several values, but the mean is below this."""
_TWO_TEXTS = r"(?:\S+ ){4}\S+ +/ +(?:\S+ ){4}"
"""Two sentences joined by a slash."""


def left_out_markers(kb: KnowledgeBase) -> dict[int, str]:
    """Return the labels and grades that no question names, with the reason.

    A tag *joe dante* names a person, a tag *english* a language: what a thing with it has to do with them is a matter
    of opinion. Titles of works are names of anything, so they do not count.
    """
    types = [kind.name for kind in kb.schema.node_types if is_marker(kind.name)]
    graded = [kind.name for kind in kb.schema.node_types if _last_word(kind.name) in GRADES]
    if not types and not graded:
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
    return reasons


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
    return frozenset(ids)


def _are_years(kb: KnowledgeBase, node_type: str) -> bool:
    sql = (
        "SELECT coalesce(bool_and(TRY_CAST(name AS INTEGER) BETWEEN $low AND $high), false) FROM nodes WHERE type = $t"
    )
    return bool(kb.tables.rows(sql, {"low": YEARS[0], "high": YEARS[1], "t": node_type})[0][0])


def _last_word(node_type: str) -> str:
    return type_noun(node_type).rpartition(" ")[2]


def are_whole(counts: NDArray[np.int64]) -> bool:
    """Return whether nodes with these numbers of values (1 or more each) have all values that they should have.

    With one value each, or with some more each, they may. Where most have one and some have several, as genres of which
    a source notes the first, a missing one says little.
    """
    return not len(counts) or (counts > 1).mean() <= _SEVERAL or bool(counts.mean() >= _MEAN)
