"""Tables as text, with the passages that their cells link to, and the tables that a KB holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from kbkit.benchmarks.ska.instances import PASSAGE, KnowledgeUnit
from kbkit.benchmarks.ska.tables.columns import KEY, WebColumn, columns_of
from kbkit.kb import KnowledgeBase

_BATCH = 500
"""Tables that are read at once."""


class Linked(NamedTuple):
    """A text that a cell links to: its row and column, the node (``type#key``), field, title, and text."""

    row: int
    column: int
    node: str
    field: str
    title: str
    text: str

    def unit(self, name: str = "") -> KnowledgeUnit:
        """Return the text as a unit."""
        return KnowledgeUnit(name, PASSAGE, [self.title, self.text], [self.node, self.field, ""])


@dataclass(frozen=True)
class TableData:
    """A table of text: ``rows`` have as many cells as the header; ``places`` are their positions in the source.

    ``noun`` is what a row is about (``movie``; "" if unknown), ``text_noun`` what its passages are called. ``is_part``:
    the source has further rows; ``is_sample``: it has only some of the things that there are, such as the mountains of
    an atlas of countries. No question may rely on all rows that meet a condition then.
    """

    id: str
    title: str
    header: list[str]
    rows: list[list[str]]
    places: list[int]
    passages: list[Linked] = field(default_factory=list)
    noun: str = ""
    text_noun: str = "text"
    node_type: str = ""
    article: str = ""
    is_part: bool = False
    is_sample: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the rows are all things of their kind."""
        return not (self.is_part or self.is_sample)

    @cached_property
    def columns(self) -> list[WebColumn]:
        """The columns with their kinds."""
        return columns_of(self.header, self.rows)

    @cached_property
    def texts(self) -> list[Linked]:
        """The passages, each once, at the first cell that links to it."""
        return list({(link.node, link.field): link for link in reversed(self.passages)}.values())[::-1]

    @property
    def key(self) -> WebColumn | None:
        """The column that names the rows, if there is one."""
        return next((column for column in self.columns if column.kind == KEY), None)


def holds_tables(kb: KnowledgeBase) -> bool:
    """Return whether a KB was built by a recipe for tables."""
    return "table_rows" in kb.schema.extra_tables


def stored(kb: KnowledgeBase, ids: Collection[str] | None = None) -> Iterator[TableData]:
    """Yield the tables that a KB holds, or those with some ids, with the passages of their cells, ordered by id."""
    heads = kb.tables.rows("SELECT table_id, title, header FROM tables ORDER BY table_id")
    heads = [head for head in heads if ids is None or head[0] in ids]
    for start in range(0, len(heads), _BATCH):
        yield from _stored(kb, heads[start : start + _BATCH])


def _stored(kb: KnowledgeBase, heads: Sequence[tuple[Any, ...]]) -> Iterator[TableData]:
    wanted = {"kbkit_wanted": pl.DataFrame({"table_id": [name for name, _, _ in heads]})}
    cells: dict[str, list[tuple[int, list[str]]]] = {}
    sql = "SELECT table_id, position, cells FROM table_rows SEMI JOIN kbkit_wanted USING (table_id) ORDER BY 1, 2"
    for name, position, row in kb.tables.lookup(sql, frames=wanted).iter_rows():
        cells.setdefault(name, []).append((position, row))
    links: dict[str, list[Any]] = {}
    sql = (
        "SELECT table_id, position, column_number, node, field, title, text FROM passages"
        " SEMI JOIN kbkit_wanted USING (table_id) ORDER BY 1, 2, 3, 4, 5"
    )
    for name, *link in kb.tables.lookup(sql, frames=wanted).iter_rows():
        links.setdefault(name, []).append(link)
    for name, title, header in heads:
        rows = cells.get(name, [])
        places = [position for position, _ in rows]
        row_at = {position: number for number, position in enumerate(places)}
        passages = [Linked(row_at[p], *rest) for p, *rest in links.get(name, ()) if p in row_at]
        yield TableData(name, title, list(header), [row for _, row in rows], places, passages, "", "article")
