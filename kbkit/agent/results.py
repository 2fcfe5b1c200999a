"""Results of the actions: as text, as JSON (for the agent's model), and folded to one line."""

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
"""Number of rows of a result shown from its start and from its end (SPINACH paper, section 4.1)."""

_LONGEST_CELL = 160
_LONGEST_LINE = 240
Edges = dict[str, Any]
"""Property -> value, list of values, or value -> qualifiers, as in the SPINACH paper's listings."""


class Hit(NamedTuple):
    """A search hit."""

    id: str
    name: str
    description: str

    @property
    def line(self) -> str:
        """The hit on one line."""
        about = line(self.description)
        return titled(self.name, self.id) + (f": {about}" if about else "")


@dataclass(frozen=True)
class SearchHits:
    """The hits of a search, best first."""

    entities: list[Hit]
    properties: list[Hit]

    def to_json(self) -> dict[str, Any]:
        """Lines of ``label (id): description``."""
        return {"entities": [hit.line for hit in self.entities], "properties": [hit.line for hit in self.properties]}

    @property
    def text(self) -> str:
        """The hits as text."""
        parts = []
        for name, hits in (("Entities", self.entities), ("Properties", self.properties)):
            parts += [f"{name}:", *(f"- {hit.line}" for hit in hits)] if hits else [f"{name}: none"]
        return "\n".join(parts)

    @property
    def folded(self) -> str:
        """The names of the hits, on one line."""
        names = [titled(hit.name, hit.id) for hit in (*self.entities, *self.properties)]
        return _short("found " + "; ".join(names) if names else "found nothing")


@dataclass(frozen=True)
class Entry:
    """The entry of a node or property. ``omitted`` is the number of omitted properties."""

    id: str
    name: str
    description: str
    edges: Edges
    omitted: int = 0

    @property
    def title(self) -> str:
        """The entry's name and description."""
        return Hit(self.id, self.name, self.description).line

    def to_json(self) -> dict[str, Any]:
        """The title and the edges."""
        more = {"left out": f"{self.omitted} properties"} if self.omitted else {}
        return {"entry": self.title, "edges": self.edges, **more}

    @property
    def text(self) -> str:
        """The entry as text."""
        more = f"\n({self.omitted} properties are left out)" if self.omitted else ""
        return f"{self.title}\n{json.dumps(self.edges, ensure_ascii=False, indent=1)}{more}"

    @property
    def folded(self) -> str:
        """The entry on one line."""
        return _short(f"{titled(self.name, self.id)} has {', '.join(self.edges) or 'nothing'}")

    def kept(self, names: Sequence[str]) -> Entry:
        """Return the entry with only these properties."""
        wanted = set(names)
        edges = {name: value for name, value in self.edges.items() if name in wanted}
        return replace(self, edges=edges, omitted=self.omitted + len(self.edges) - len(edges))

    @property
    def size(self) -> int:
        """The size of the edges' JSON in characters."""
        return len(json.dumps(self.edges, ensure_ascii=False))

    def within(self, limit: int) -> Entry:
        """Return the entry with its first properties, at least one, up to a size of JSON in characters."""
        sizes = (len(json.dumps([name, value], ensure_ascii=False)) for name, value in self.edges.items())
        places = [place for place, size in enumerate(itertools.accumulate(sizes)) if place == 0 or size <= limit]
        return self.kept(list(self.edges)[: len(places)])


@dataclass(frozen=True)
class Examples:
    """The use of a property: its description, and examples with ``subject``, ``value`` and, if any, ``Qualifiers`` and
    ``References``.
    """

    id: str
    name: str
    about: str
    examples: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """The property and its description."""
        return Hit(self.id, self.name, self.about).line

    def to_json(self) -> dict[str, Any]:
        """The title and the examples."""
        return {"property": self.title, "examples": self.examples}

    @property
    def text(self) -> str:
        """The examples as text."""
        lines = [f"- {_example(example)}" for example in self.examples] or ["no examples"]
        return "\n".join([self.title, *lines])

    @property
    def folded(self) -> str:
        """The examples on one line."""
        return _short(f"{self.title}; e.g. {_example(self.examples[0])}" if self.examples else self.title)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a query: ``kind`` is ``results``, ``empty``, ``syntax``, ``timeout`` or ``error``.

    ``frame`` holds the rows, up to the limit (then ``cut`` is true); ``shown`` is a table of its first and last rows,
    with IRIs as prefixed names; ``why`` says why there are none, and which names are unknown. ``message`` describes an
    error. ``terms`` are the rows as
    RDF terms.
    """

    kind: str
    query: str
    frame: pl.DataFrame | None = None
    shown: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    message: str = ""
    cut: bool = False
    terms: pl.DataFrame | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return 0 if self.frame is None else self.frame.height

    @property
    def count(self) -> str:
        """The number of rows as text."""
        more = "more than " if self.cut else ""
        return more + plural(self.rows, "row")

    @property
    def said(self) -> str:
        """The outcome on one line."""
        part = f"; the first and last {SHOWN_ROWS} are shown" if self.rows > 2 * SHOWN_ROWS else ""
        return {
            "results": f"results: {self.count}{part}",
            "empty": "empty: the query ran, and gave no rows",
            "syntax": f"syntax error: {self.message}",
            "timeout": f"timeout: {self.message}",
        }.get(self.kind, f"error: {self.message}")

    def to_json(self) -> dict[str, Any]:
        """The outcome, the lines of the table, and those of the explanation of a result without values."""
        parts = {"rows": self.shown, "why": self.why}
        return {"outcome": self.said, **{name: lines for name, lines in parts.items() if lines}}

    @property
    def text(self) -> str:
        """The outcome as text."""
        return "\n".join([self.said, *self.shown, *self.why])

    @property
    def folded(self) -> str:
        """The outcome folded to one line."""
        columns = ", ".join(self.frame.columns) if self.frame is not None else ""
        if self.kind == "empty":
            return _short(" ".join([self.said, *self.why[:3]]))
        return _short(f"results: {self.count} of {columns}" if self.kind == "results" else self.said)


Result = SearchHits | Entry | Examples | Outcome


def table(frame: pl.DataFrame, shortened: Any, limit: int = 2 * SHOWN_ROWS) -> list[str]:
    """Return the lines of a Markdown table: all rows up to ``limit``, else the first and last ``limit / 2``."""
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
    source = "; ".join(f"{name}: {said}" for name, said in (example.get("References") or {}).items())
    return shown + (f"  [{more}]" if more else "") + (f"  (reference: {source})" if source else "")


def _short(text: str) -> str:
    return line(clean(text), _LONGEST_LINE)
