"""Texts of nodes as benchmarks read them: passages by field, and their sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from kbkit.english.sentences import sentences
from kbkit.kb import KnowledgeBase


class TextPassage(NamedTuple):
    """A text of a node. Further texts of a ``field`` are numbered: ``review#2``, ``review#3``."""

    field: str
    text: str


class Span(NamedTuple):
    """A part of a passage: characters ``start`` to ``end`` of the text of ``field``."""

    field: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Document:
    """A node with its texts, sorted by field."""

    id: int
    type: str
    key: str
    name: str
    passages: tuple[TextPassage, ...]
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)

    @property
    def text(self) -> str:
        """All texts, one per line."""
        return "\n".join(passage.text for passage in self.passages)

    @cached_property
    def sentences(self) -> list[Span]:
        """The sentences of all passages."""
        return [
            Span(passage.field, start, end, passage.text[start:end])
            for passage in self.passages
            for start, end in sentences(passage.text)
        ]


_DOCUMENTS = """
SELECT n.id, n.type::VARCHAR AS type, n.key, n.name, coalesce(n.aliases, []) AS aliases,
       coalesce(list({'field': t.field::VARCHAR, 'text': t.text} ORDER BY t.field, t.position)
                FILTER (t.text IS NOT NULL), []) AS texts
FROM nodes n LEFT JOIN texts t ON t.id = n.id
WHERE n.id IN (SELECT id FROM kbkit_wanted)
GROUP BY ALL
"""


def read_documents(kb: KnowledgeBase, ids: Iterable[int], without: Collection[str] = ()) -> dict[int, Document]:
    """Return the documents of nodes by id, leaving out the text fields ``without``."""
    wanted = pl.DataFrame({"id": pl.Series(sorted(set(ids)), dtype=pl.Int32)})
    rows = kb.tables.lookup(_DOCUMENTS, frames={"kbkit_wanted": wanted})
    return {
        node: Document(node, kind, key, name or key, _passages(texts, without), tuple(aliases))
        for node, kind, key, name, aliases, texts in rows.sort("id").iter_rows()
    }


def types_with_text(kb: KnowledgeBase) -> set[str]:
    """Return the primary types of the nodes that have a text."""
    return set(kb.tables.lookup("SELECT DISTINCT n.type::VARCHAR FROM texts t JOIN nodes n USING (id)").to_series())


def _passages(texts: list[dict[str, str]], without: Collection[str]) -> tuple[TextPassage, ...]:
    seen: dict[str, int] = {}
    passages = []
    for text in texts:
        field = text["field"]
        if field not in without:
            seen[field] = seen.get(field, 0) + 1
            passages.append(TextPassage(field if seen[field] == 1 else f"{field}#{seen[field]}", text["text"]))
    return tuple(passages)
