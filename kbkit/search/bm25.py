"""Full-text retrieval."""

from __future__ import annotations

from kbkit.schema import NodeType
from kbkit.search.ranking import Ranking
from kbkit.stores.text import Text


def bm25(text: Text, query: str, k: int, node_type: NodeType | None = None) -> Ranking:
    """The ``k`` nodes whose name and texts match the words of ``query`` best, by BM25."""
    return Ranking(*text.search(query, k, node_type))
