"""One algebra of answers: which nodes are the answer, and why.

Text goes down this list: ``parse`` (grammar.lark) makes a tree (``syntax``), ``resolve`` with a schema a plan of
operators (``algebra``), ``bind`` looks the names up; then ``walk``, ``to_sql`` or ``to_sparql`` runs it, and ``why``
proves it. ``answer_set`` offers all that as one object; ``walk_many`` runs a table of bindings at once, for ``sample``
too. ``catalogue`` holds templates, ``compiled`` writes them as query files, ``suggest`` makes them from a schema.
"""

from __future__ import annotations

from kbkit.answers.parse import ExpressionError, parse

__all__ = ["ExpressionError", "parse"]
