"""Python variables as the parameters of a statement: only those that it names, as typed values and never as text."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Any

from kbkit.errors import KbError
from kbkit.executor.parameters import named
from kbkit.graph.nodes import Node
from kbkit.kb import KnowledgeBase

_PLAIN = (str, int, float, bool, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, bytes)


def values(kb: KnowledgeBase, statement: str, language: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """The values of ``$name`` (SQL and SPARQL) and ``<slot>`` (answers) that ``names``, the notebook's variables, have.

    A :class:`Node` is its id in SQL, its IRI in SPARQL, and its key in an expression. Raises :class:`KbError` for what
    is no value, and for a name that the notebook lacks; in SPARQL that one is a variable of the query.
    """
    wanted = named(statement, language)
    for name in wanted:
        if name not in names and language != "sparql":
            sign = f"<{name}>" if language == "answers" else f"${name}"
            raise KbError(f"there is no Python variable {name}, which {sign} stands for", f"{name} = ... makes it")
    return {name: _value(kb, name, names[name], language) for name in wanted if name in names}


def _value(kb: KnowledgeBase, name: str, given: Any, language: str) -> Any:
    if isinstance(given, Node):
        if language == "sparql":
            return f"<{kb.schema.node_iri(given.type, given.key)}>"
        return given.id if language == "sql" else f"#{given.key}"
    plain = getattr(given, "to_list", None) or getattr(given, "tolist", None)
    if plain is not None:  # a Series, or an array or number of NumPy
        given = plain()
    if isinstance(given, list | tuple) and language == "sql":
        return [_value(kb, name, value, language) for value in given]
    if given is None or isinstance(given, _PLAIN):
        return given
    kinds = "a number, a text, a date, a node" + (" or a list of them" if language == "sql" else "")
    raise KbError(f"the variable {name} is a {type(given).__name__}, which is no value for a query", f"give {kinds}")
