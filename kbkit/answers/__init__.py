"""Answer expressions: which nodes are the answers, and why.

``parse`` turns text into a tree (``syntax``), ``resolve`` turns the tree into a plan of operators (``algebra``),
``bind`` looks up its names. ``evaluate`` and ``batch`` run a plan for one binding or many, ``to_sql`` and ``to_sparql``
compile it, ``why`` proves an answer, and ``answer_set`` combines all of this in one object. ``templates`` are
expressions with slots, ``suggest`` makes them from a schema, and ``sample`` draws groundings. ``engines`` run outside
the KB.
"""

from __future__ import annotations

from kbkit.answers.errors import ExpressionError
from kbkit.answers.parse import parse

__all__ = ["ExpressionError", "parse"]
