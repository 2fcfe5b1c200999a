"""Retrieval: retrievers, fusion, reranking, hits. ``run`` is the entry point.

A retriever takes a batch of queries and returns a :class:`~kbkit.search.ranking.Ranking` for each. Filters apply before
the top k are selected. Nodes that the query names rank first (``names``), types that it names are preferred
(``type_words``), and hits without evidence are marked (``weak``).

``system_kinds`` lists all systems: search modes of the KB's own stores, retrievers with a model and an index of their
own (``indexed``, ``model_index``), and rerankers. ``training`` trains those with a model.

To add a retriever over the KB's stores, write a function in ``retrievers``, and list it in ``retrievers.build`` and
``settings.RETRIEVERS``; for one with a model, see ``system_kinds``.
"""
