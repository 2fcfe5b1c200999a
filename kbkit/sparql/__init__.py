"""SPARQL 1.1: grammar and syntax tree, rewriting of the Wikidata dialect, execution.

``run`` is the entry point. ``grammar.lark`` and ``parse`` build trees, ``tree`` reads and changes them, ``printing``
prints them. ``rewrite`` applies the steps in ``blazegraph``, ``services``, ``geo``, ``labels`` (``shown_labels``,
``late_labels``) and ``paths``, which share a ``context``. To add a step, write a function that changes a tree and call
it in ``rewrite``.
"""
