"""SPARQL 1.1: grammar and syntax tree, rewriting of the Wikidata dialect, execution.

``run`` is the entry point. ``grammar.lark`` and ``parse`` build trees, ``printing`` prints them; ``tree``,
``patterns``, ``scope`` and ``names`` inspect them. ``rewrite`` runs the steps of a dialect, one module each:
``named_subqueries``, ``services``, ``leniencies``, ``full_text``, ``geo``, ``labels``, ``late_labels``, ``paths``,
``rebinding``. To add a step, write a function from tree to tree and list it in ``rewrite``.
"""
