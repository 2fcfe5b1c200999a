"""Retrieval: retrievers, fusion, reranking, hits. ``run`` is the entry point.

A retriever takes a batch of queries and returns a :class:`~kbkit.search.ranking.Ranking` for each. Filters apply before
the top k are selected. Nodes that the query names rank first (``names``), types that it names are preferred
(``type_words``), and hits without evidence are marked (``weak``).

To add a retriever, write a function in ``retrievers``, and list it in ``retrievers.build`` and ``settings.RETRIEVERS``.
"""
