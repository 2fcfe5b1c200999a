"""What the actions give: each as text, as JSON (what an agent's model reads), and folded to one line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.agent.names import line, titled
from kbkit.display.render import cell, clean
from kbkit.errors import plural

if TYPE_CHECKING:
    import polars as pl

SHOWN_ROWS = 5
"""Rows of a result that are shown from its beginning, and from its end (the SPINACH paper, section 4.1)."""

_LONGEST_CELL = 160
_LONGEST_LINE = 240
Edges = dict[str, Any]
"""Property -> value, list of values, or value -> qualifiers, as the SPINACH paper's listings have it."""


class Hit(NamedTuple):
    """Something that a search found."""

    id: str
    name: str
    description: str

    @property
    def line(self) -> str:
        """All of it on one line."""
        about = line(self.description)
        return titled(self.name, self.id) + (f": {about}" if about else "")


@dataclass(frozen=True)
class Found:
    """What a search found, best first."""

    entities: list[Hit]
    properties: list[Hit]

    def to_json(self) -> dict[str, Any]:
        """Lines of ``label (id): description``."""
        return {"entities": [hit.line for hit in self.entities], "properties": [hit.line for hit in self.properties]}

    @property
    def text(self) -> str:
        """For reading."""
        parts = []
        for name, hits in (("Entities", self.entities), ("Properties", self.properties)):
            parts += [f"{name}:", *(f"- {hit.line}" for hit in hits)] if hits else [f"{name}: none"]
        return "\n".join(parts)

    @property
    def folded(self) -> str:
        """In a line: the names that were found."""
        names = [titled(hit.name, hit.id) for hit in (*self.entities, *self.properties)]
        return _short("found " + "; ".join(names) if names else "found nothing")


@dataclass(frozen=True)
class Entry:
    """A node's page or a property's. ``left_out`` counts properties that are not shown."""

    id: str
    name: str
    description: str
    edges: Edges
    left_out: int = 0

    @property
    def title(self) -> str:
        """The entry's name and description."""
        return Hit(self.id, self.name, self.description).line

    def to_json(self) -> dict[str, Any]:
        """The title and the edges."""
        more = {"left out": f"{self.left_out} properties"} if self.left_out else {}
        return {"entry": self.title, "edges": self.edges, **more}

    @property
    def text(self) -> str:
        """For reading."""
        more = f"\n({self.left_out} properties are left out)" if self.left_out else ""
        return f"{self.title}\n{json.dumps(self.edges, ensure_ascii=False, indent=1)}{more}"

    @property
    def folded(self) -> str:
        """In a line."""
        return _short(f"{titled(self.name, self.id)} has {', '.join(self.edges) or 'nothing'}")

    def kept(self, names: Sequence[str]) -> Entry:
        """The entry with these of its properties only."""
        wanted = set(names)
        edges = {name: value for name, value in self.edges.items() if name in wanted}
        return replace(self, edges=edges, left_out=self.left_out + len(self.edges) - len(edges))

    @property
    def size(self) -> int:
        """Letters of the edges' JSON."""
        return len(json.dumps(self.edges, ensure_ascii=False))

    def within(self, limit: int) -> Entry:
        """The entry with its first properties, at least one, up to so many letters of JSON."""
        sizes = (len(json.dumps([name, value], ensure_ascii=False)) for name, value in self.edges.items())
        places = [place for place, size in enumerate(itertools.accumulate(sizes)) if place == 0 or size <= limit]
        return self.kept(list(self.edges)[: len(places)])


@dataclass(frozen=True)
class Examples:
    """How a property is used: what it is, and examples, each ``subject``, ``value`` and perhaps ``Qualifiers``."""

    id: str
    name: str
    about: str
    examples: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """The property and what it is."""
        return Hit(self.id, self.name, self.about).line

    def to_json(self) -> dict[str, Any]:
        """The title and the examples."""
        return {"property": self.title, "examples": self.examples}

    @property
    def text(self) -> str:
        """For reading."""
        lines = [f"- {_example(example)}" for example in self.examples] or ["no examples"]
        return "\n".join([self.title, *lines])

    @property
    def folded(self) -> str:
        """In a line."""
        return _short(f"{self.title}; e.g. {_example(self.examples[0])}" if self.examples else self.title)


@dataclass(frozen=True)
class Outcome:
    """What became of a query: ``kind`` is ``results``, ``empty``, ``syntax``, ``timeout`` or ``error``.

    ``frame`` holds all rows, or as many as were wanted (then ``cut``); ``shown`` is its table for reading: its first
    and last rows, with IRIs as prefixed names. ``message`` says what went wrong.
    """

    kind: str
    query: str
    frame: pl.DataFrame | None = None
    shown: list[str] = field(default_factory=list)
    message: str = ""
    cut: bool = False

    @property
    def rows(self) -> int:
        """Rows that were given."""
        return 0 if self.frame is None else self.frame.height

    @property
    def count(self) -> str:
        """The number of rows in words."""
        more = "more than " if self.cut else ""
        return more + plural(self.rows, "row")

    @property
    def said(self) -> str:
        """In a line what became of the query."""
        part = f"; the first and last {SHOWN_ROWS} are shown" if self.rows > 2 * SHOWN_ROWS else ""
        return {
            "results": f"results: {self.count}{part}",
            "empty": "empty: the query ran, and gave no rows",
            "syntax": f"syntax error: {self.message}",
            "timeout": f"timeout: {self.message}",
        }.get(self.kind, f"error: {self.message}")

    def to_json(self) -> dict[str, Any]:
        """What became of it, and the table's lines."""
        return {"outcome": self.said, **({"rows": self.shown} if self.shown else {})}

    @property
    def text(self) -> str:
        """For reading."""
        return "\n".join([self.said, *self.shown])

    @property
    def folded(self) -> str:
        """In a line."""
        columns = ", ".join(self.frame.columns) if self.frame is not None else ""
        return _short(f"results: {self.count} of {columns}" if self.kind == "results" else self.said)


Result = Found | Entry | Examples | Outcome


def table(frame: pl.DataFrame, shortened: Any, limit: int = 2 * SHOWN_ROWS) -> list[str]:
    """A Markdown table's lines: all rows up to ``limit``, else the first and last ``most / 2`` with dots between."""
    rows = frame.rows() if frame.height <= limit else [*frame.head(limit // 2).rows(), *frame.tail(limit // 2).rows()]
    cells = [[_cell(shortened(value)) for value in row] for row in rows]
    if frame.height > limit:
        cells.insert(limit // 2, ["..."] * frame.width)
    head = [_cell(name) for name in frame.columns]
    return [_row(head), _row(["---"] * frame.width), *map(_row, cells)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    return line(cell(value), _LONGEST_CELL).replace("|", "\\|")


def _example(example: Mapping[str, Any]) -> str:
    value = example["value"]
    shown = f"{example['subject']}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
    qualifiers = example.get("Qualifiers") or {}
    more = "; ".join(f"{name}: {said}" for name, said in qualifiers.items())
    return f"{shown}  [{more}]" if more else shown


def _short(text: str) -> str:
    return line(clean(text), _LONGEST_LINE)
