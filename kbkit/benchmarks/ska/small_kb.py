"""A small KB of the units of an instance: triples are nodes and edges, rows are nodes, passages are texts.

Building one takes about 0.15 s, whether of 100 units or of 1,200: it has tables, adjacency arrays and full text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.ska.instances import PASSAGE, ROW, TRIPLE
from kbkit.directory.temporary import TemporaryFolder
from kbkit.english.dictionary import dictionary
from kbkit.ingestion.build import ingest
from kbkit.ingestion.request import Identity, IngestRequest
from kbkit.kb import KnowledgeBase
from kbkit.measures.lists import normalize

_STORES = ("tables", "adjacency", "text")
_RESERVED = frozenset({"key", "type", "name", "aliases", "types", "id"})
_SUFFIX = re.compile(r"(.+\S)\s*\([^()]*\)$")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_KIND = "row"
"""Node type of rows whose key column has no usable name."""
_GENERAL = frozenset({"", "name", "names", "title", "label", "item", "entity"})
_SHORT = 3
"""Number of words up to which the title of a table names its rows."""
_MAX_LINK = 60
"""Characters of a cell up to which it can be the name of a node."""


@dataclass(frozen=True)
class BareUnit:
    """A unit as the baseline sees it: without its id, and without what is known about its origin.

    ``nodes`` are the nodes (``type#key``) of the ends of a triple or of a passage.
    """

    kind: str
    content: tuple[str, ...]
    nodes: tuple[str, ...] = ()


@dataclass
class _Graph:
    """The rows of the tables of a KB; nodes are (type, key)."""

    names: dict[tuple[str, str], str] = field(default_factory=dict)
    values: dict[tuple[str, str], dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    edges: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    texts: list[tuple[str, str, str]] = field(default_factory=list)
    rows: set[tuple[str, str]] = field(default_factory=set)
    """The nodes that are rows of a table."""

    def node(self, type_: str, key: str, name: str) -> tuple[str, str]:
        """Add a node, unless it is known."""
        node = (type_ or "thing", key or name)
        self.names.setdefault(node, name)
        return node

    def add(self, node: tuple[str, str], attribute: str, value: str) -> None:
        """Add a value of an attribute."""
        column = attribute if attribute.casefold() not in _RESERVED else f"{attribute} value"
        self.values[node].setdefault(column, []).append(value)


@dataclass(frozen=True)
class SmallKb:
    """The KB of some units, and the ``texts`` of its nodes (type, key); those of a row include its cells' texts."""

    kb: KnowledgeBase
    texts: dict[tuple[str, str], list[str]]


@contextmanager
def small_kb(facts: Sequence[BareUnit], header: Sequence[str], title: str = "") -> Iterator[SmallKb | None]:
    """Build a KB of units in a temporary folder and open it; None without nodes."""
    graph = _Graph()
    _add_triples(graph, [fact for fact in facts if fact.kind == TRIPLE])
    rows = [fact.content for fact in facts if fact.kind == ROW]
    if rows:
        _add_rows(graph, header, rows, title)
    _add_passages(graph, [fact for fact in facts if fact.kind == PASSAGE])
    if not graph.names:
        yield None
        return
    with TemporaryFolder() as folder:
        _write(graph, folder)
        ingest(IngestRequest("table", [folder], identity=Identity("table"), stores=_STORES), folder / "units.kb")
        with KnowledgeBase(folder / "units.kb") as kb:
            yield SmallKb(kb, _texts(graph))


def _texts(graph: _Graph) -> dict[tuple[str, str], list[str]]:
    """Return the texts of each node, and for a row also those of the nodes that its cells link to."""
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for type_, key, text in graph.texts:
        texts[type_, key].append(text)
    own = {node: list(node_texts) for node, node_texts in texts.items()}
    for head_type, head, _, tail_type, tail in graph.edges:
        if (head_type, head) in graph.rows:
            texts[head_type, head] += own.get((tail_type, tail), ())
    return dict(texts)


# -- units to nodes ---------------------------------------------------------------------------------------------------


def _add_triples(graph: _Graph, facts: Sequence[BareUnit]) -> None:
    for fact in facts:
        head, relation, tail = fact.content
        first = graph.node(*_named(fact.nodes[0]), head)
        if fact.nodes[-1]:
            second = graph.node(*_named(fact.nodes[-1]), tail)
            graph.edges.append((*first, relation, *second))
        else:
            graph.add(first, relation, tail)


def _named(reference: str) -> tuple[str, str]:
    """Return the type and the key of ``type#key``; anything else is a key."""
    type_, sign, key = reference.partition("#")
    return (type_, key) if sign else ("", reference)


def key_column(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the column that names the rows: the first of the most distinct text, else the first column."""
    columns = list(zip(*rows, strict=True))
    best, most = 0, -1.0
    for position in range(len(header)):
        texts = [cell for cell in columns[position] if cell and not _NUMBER.fullmatch(cell)]
        distinct = len(set(texts)) / len(rows)
        if distinct > most + 0.1:
            best, most = position, distinct
    return best


def _add_rows(graph: _Graph, header: Sequence[str], rows: Sequence[tuple[str, ...]], title: str) -> None:
    """Add rows as nodes: numbers and distinct texts are attributes, repeated short texts are nodes of their own."""
    main = key_column(header, rows)
    kind = _kind(header[main], title)
    links = {at for at in range(len(header)) if at != main and _links([row[at] for row in rows])}
    seen: Counter[str] = Counter()
    for number, row in enumerate(sorted(rows)):
        name = row[main] or f"{_KIND} {number}"
        seen[name] += 1
        node = graph.node(kind, f"{name} {seen[name]}" if seen[name] > 1 else name, name)
        graph.rows.add(node)
        for at, cell in enumerate(row):
            column = header[at].strip()
            if at == main or not cell:
                continue
            if at in links:
                graph.edges.append((*node, column, *graph.node(column.casefold(), cell, cell)))
            else:
                graph.add(node, column, cell)


def _kind(column: str, title: str) -> str:
    """Return the node type of rows: the key column's name, or if that is general, the noun of a short title."""
    name = column.strip().casefold()
    words = title.casefold().split()
    if name in _GENERAL and 0 < len(words) <= _SHORT and words[-1].isalpha():
        return " ".join([*words[:-1], dictionary().getLemma(words[-1], "NOUN")[0]])
    return name or _KIND


def _links(cells: Sequence[str]) -> bool:
    """Return whether the cells of a column are nodes: short texts, many of them repeated, few of them numbers."""
    texts = [cell for cell in cells if cell]
    numbers = sum(bool(_NUMBER.fullmatch(cell)) for cell in texts)
    return (
        bool(texts) and 2 * numbers < len(texts) and len(set(texts)) < len(texts) and max(map(len, texts)) <= _MAX_LINK
    )


def _add_passages(graph: _Graph, facts: Sequence[BareUnit]) -> None:
    """Add passages to their nodes, or to those of their title."""
    titled: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for node, name in graph.names.items():
        titled[normalize(name)].append(node)
    for fact in facts:
        title, text = fact.content
        own = _named(fact.nodes[0]) if fact.nodes and fact.nodes[0] else ("text", title)
        nodes = [own] if own in graph.names else titled.get(normalize(title)) or [graph.node(*own, title)]
        graph.texts += [(*node, text) for node in nodes]


# -- files ------------------------------------------------------------------------------------------------------------


def _write(graph: _Graph, folder: Path) -> None:
    attributes = sorted({name for values in graph.values.values() for name in values})
    columns: dict[str, Any] = {
        "type": [type_ for type_, _ in graph.names],
        "key": [key for _, key in graph.names],
        "name": list(graph.names.values()),
        "aliases": [_aliases(name) for name in graph.names.values()],
    }
    taken = {name.casefold() for name in columns}
    for attribute in attributes:
        if attribute.casefold() in taken:
            continue
        taken.add(attribute.casefold())
        columns[attribute] = _column([graph.values[node].get(attribute) for node in graph.names])
    pl.DataFrame(columns, schema_overrides={"aliases": pl.List(pl.String)}, strict=False).write_parquet(
        folder / "nodes.parquet"
    )
    edge = ("head_type", "head", "relation", "tail_type", "tail")
    edges = pl.DataFrame(graph.edges, dict.fromkeys(edge, pl.String), orient="row").unique(maintain_order=True)
    edges.write_parquet(folder / "edges.parquet")
    if graph.texts:
        text = ("type", "key", "text")
        pl.DataFrame(graph.texts, dict.fromkeys(text, pl.String), orient="row").write_parquet(folder / "texts.parquet")


def _aliases(name: str) -> list[str] | None:
    """Return the name without what tells it from others: ``Georgia (country)``."""
    shorter = _SUFFIX.fullmatch(name)
    return [shorter[1]] if shorter else None


def _column(values: Sequence[list[str] | None]) -> pl.Series:
    """Return the values of an attribute as numbers, if all are, else as text; lists if a node has several."""
    flat = [value for cell_values in values for value in cell_values or ()]
    numbers = all(_NUMBER.fullmatch(value) for value in flat)
    whole = numbers and not any("." in value for value in flat)

    def one(value: str) -> Any:
        plain = value.replace(",", "")
        return int(plain) if whole and len(plain) < 18 else float(plain) if numbers else value

    dtype = pl.Int64 if whole and all(len(value) < 18 for value in flat) else pl.Float64 if numbers else pl.String
    single = all(cell_values is None or len(cell_values) == 1 for cell_values in values)
    if single:
        return pl.Series(
            [None if cell_values is None else one(cell_values[0]) for cell_values in values], dtype=dtype, strict=False
        )
    kind = pl.List(dtype)
    return pl.Series(
        [None if cell_values is None else [one(v) for v in cell_values] for cell_values in values],
        dtype=kind,
        strict=False,
    )
