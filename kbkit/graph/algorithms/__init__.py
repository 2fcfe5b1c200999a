"""Algorithms on the graph of a KB.

``table`` lists them as data; ``settings`` has their parameters, ``run`` executes one and names the nodes of its result.
``network`` is the part of the graph that an algorithm works on. The other modules have the algorithms: ``ranks``,
``components``, ``communities``, ``centrality``, ``triangles``, ``pairs``, ``routes``, ``trees``, ``orders``.
"""
