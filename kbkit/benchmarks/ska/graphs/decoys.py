"""Nodes that a reader of the texts alone would take for answers: rule 5 of the annotation (section 3.2.2 of the paper).

A question over a graph and texts is fit if the texts alone leave a choice: other nodes of the answers' type have texts
that mention its phrases, and the relations exclude those.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl

from kbkit.benchmarks.evidence import leaks, padded_words
from kbkit.benchmarks.requirements.phrases import is_list_field
from kbkit.kb import KnowledgeBase
from kbkit.stores.adjacency import Ids

BY_TEXT = "its texts alone give the answer"
PASSAGES = {"node": pl.Int32, "field": pl.String, "position": pl.Int64, "text": pl.String}
WORD = re.compile(r"[^\W_]+")
_SEARCHED, _KEPT = 60, 8
"""Nodes that are looked at, and decoys that are kept."""


def mentions(column: str, words: Sequence[str]) -> pl.Expr:
    """Return whether the texts of a column have some words in this order; as the queries of instances have it."""
    return padded_words(column).str.contains(f" {' '.join(words).lower()} ", literal=True)


def mentioning(passages: pl.DataFrame, phrases: Sequence[Sequence[str]]) -> set[int]:
    """Return the nodes whose passages mention all phrases, each given as words."""
    return set.intersection(*(set(passages.filter(mentions("text", words))["node"].to_list()) for words in phrases))


class Passages:
    """The texts of a KB's nodes, each read once: many questions and instances share nodes.

    Lists of labels, such as keywords, are no passages: the graph has what they say, or could have.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._known: dict[int, list[tuple[Any, ...]]] = {}

    def __call__(self, nodes: Ids) -> pl.DataFrame:
        """Return the texts of nodes (node, field, position, text), in the order of ``nodes``."""
        wanted = nodes.tolist()
        unknown = [node for node in dict.fromkeys(wanted) if node not in self._known]
        if unknown:
            self._known |= {node: [] for node in unknown}
            sql = """
                SELECT id, field::VARCHAR, position, text FROM texts
                WHERE id IN (SELECT node FROM kbkit_wanted) ORDER BY 1, 2, 3"""
            frame = pl.DataFrame({"node": unknown}, {"node": pl.Int32})
            for row in self._kb.tables.lookup(sql, frames={"kbkit_wanted": frame}).iter_rows():
                if not is_list_field(row[1]):
                    self._known[row[0]].append(row)
        return pl.DataFrame([row for node in wanted for row in self._known[node]], PASSAGES, orient="row")


def decoys(
    kb: KnowledgeBase, passages: Passages, phrases: Sequence[str], node_type: str | None, answers: Collection[int]
) -> Ids:
    """Return nodes of a type that are no answers, but whose texts mention all phrases."""
    quoted = " ".join(f'"{" ".join(WORD.findall(phrase))}"' for phrase in phrases)
    hits = kb.search(quoted, _SEARCHED + len(answers), mode="bm25", type=node_type)["id"].to_list()
    nodes = np.array([node for node in hits if node not in answers], np.int32)
    if not len(nodes):
        return nodes
    kept = mentioning(passages(nodes), [WORD.findall(phrase) for phrase in phrases])
    return np.array([node for node in nodes.tolist() if node in kept][:_KEPT], np.int32)


def told(passages: pl.DataFrame, names: Sequence[str], answers: Collection[int]) -> bool:
    """Return whether passages tell answers apart from decoys because only those name what the question names."""
    naming = {node for node, text in passages.select("node", "text").iter_rows() if leaks(text, names)}
    return bool(naming) and naming <= set(answers)
