"""Retrieval: one file per retriever, ``fuse`` joins rankings, ``retrieve`` runs a mode.

Retrievers take stores and return a :class:`~kbkit.search.ranking.Ranking`; a filter applies before the best are chosen.
"""
