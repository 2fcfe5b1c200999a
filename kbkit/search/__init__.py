"""Retrieval: retrievers, fusion, reranking, hits.

A retriever takes a batch of queries and returns a :class:`~kbkit.search.ranking.Ranking` for each. Filters apply before
the top k are selected. To add a retriever, write a function in ``retrievers``, and list it in ``retrievers.build`` and
``settings.RETRIEVERS``.
"""
