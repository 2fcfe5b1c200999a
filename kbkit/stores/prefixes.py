"""Text prepended to queries and to documents before they are embedded."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Prefixes:
    """Text prepended to queries and to documents; None: the model's known prefix."""

    query: str | None = None
    document: str | None = None

    def over(self, other: Prefixes) -> Prefixes:
        """Return these prefixes, with those of ``other`` for None."""
        return Prefixes(
            other.query if self.query is None else self.query,
            other.document if self.document is None else self.document,
        )


NO_PREFIXES = Prefixes("", "")


_TASK = "Given a web search query, retrieve relevant passages that answer the query"
_INSTRUCT = "Instruct: {}\nQuery: "
_INSTRUCTED = (
    (r"\be5-.*instruct", _INSTRUCT, _TASK, ""),
    (r"\bqwen3-embedding", _INSTRUCT, _TASK, ""),
    (r"\bgritlm", "<|user|>\n{}\n<|embed|>\n", "", "<|embed|>\n"),
)
"""Families of models that take an instruction, from their model cards: the query's prefix, the instruction that it has
by default (empty: none), the document's prefix."""
_FAMILIES = (
    (r"\be5-", Prefixes("query: ", "passage: ")),
    (r"\bbge-\w+-en", Prefixes("Represent this sentence for searching relevant passages: ", "")),
    (r"\bnomic-embed", Prefixes("search_query: ", "search_document: ")),
)
"""Prefixes of well-known model families, from their model cards."""


def known_prefixes(model: str) -> Prefixes:
    """Return the known prefixes of a model's family, by its name."""
    for family, query, task, document in _INSTRUCTED:
        if re.search(family, model, re.IGNORECASE):
            return Prefixes(query.format(task) if task else document, document)
    return next((prefixes for family, prefixes in _FAMILIES if re.search(family, model, re.IGNORECASE)), NO_PREFIXES)


def instructed(model: str, instruction: str) -> Prefixes:
    """Return the prefixes of queries with an instruction, in the form of the model's family (default: that of E5)."""
    for family, query, _, document in _INSTRUCTED:
        if re.search(family, model, re.IGNORECASE):
            return Prefixes(query.format(instruction), document)
    return Prefixes(_INSTRUCT.format(instruction), "")
