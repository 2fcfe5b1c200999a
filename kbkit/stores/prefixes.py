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


_FAMILIES = (
    (r"\be5-", Prefixes("query: ", "passage: ")),
    (r"\bbge-\w+-en", Prefixes("Represent this sentence for searching relevant passages: ", "")),
    (r"\bnomic-embed", Prefixes("search_query: ", "search_document: ")),
)
"""Prefixes of well-known model families, from their model cards."""


def known_prefixes(model: str) -> Prefixes:
    """Return the known prefixes of a model's family, by its name."""
    return next((prefixes for family, prefixes in _FAMILIES if re.search(family, model, re.IGNORECASE)), NO_PREFIXES)
