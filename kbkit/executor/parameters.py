"""The parameters that a statement names: ``$name`` in SQL and SPARQL, ``<slot>`` in answer expressions."""

from __future__ import annotations

import re

from kbkit.executor.languages import masked

_NAMES = {
    "sql": re.compile(r"\$([^\W\d]\w*+)(?!\$)"),
    "sparql": re.compile(r"\$([^\W\d]\w*+)(?!\$)"),
    "answers": re.compile(r"(?<!-)<\s*([^\W\d][\w/]*)\s*>"),
}


def named(statement: str, language: str) -> list[str]:
    """The names of a statement's parameters, each once; none in a language that has none."""
    if language not in _NAMES:
        return []
    return list(dict.fromkeys(_NAMES[language].findall(masked(statement, language))))
