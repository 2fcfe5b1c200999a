"""SPARQL as a syntax tree: read, rewritten, printed back.

``grammar.lark`` and ``parse`` read, ``printing`` prints, ``tree``, ``patterns``, ``scope`` and ``names`` look at trees.
``rewrite`` runs the steps of a dialect, a module each: ``named_subqueries``, ``services`` (hints, and what is refused),
``leniencies``, ``full_text``, ``geo``, ``labels`` and ``late_labels``, ``paths``, ``rebinding``. To add one: a function
from tree to tree, and a line in ``rewrite``.
"""

from kbkit.sparql_syntax.parse import parse
from kbkit.sparql_syntax.printing import to_text

__all__ = ["parse", "to_text"]
