"""Tables for questions: those that a KB holds, and node types as tables with the texts of their nodes as passages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kbkit.answers import english
from kbkit.answers.english import YEARS
from kbkit.benchmarks.ska.tables.columns import KEY, Column, columns_of
from kbkit.benchmarks.stark.sentences import text_noun
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, Join, NodeType, quote

MIN_COLUMNS, MIN_ROWS = 6, 8
"""Size of the smallest table (section 3.2.1 of the paper)."""
_SMALL = f"tables of fewer than {MIN_COLUMNS} columns or {MIN_ROWS} rows"
SAMPLE = 1_500
"""Rows of a node type; of larger types a sample is taken."""
_COVERED, _SINGLE, _FEW = 0.5, 0.75, 0.97
"""A relation is a column if that many nodes have a value, that many of these one, and that many of these at most 3."""
_MAX_VALUES = 3
_MAX_COLUMNS = 8
"""Columns up to which a type with few columns gets columns of the nodes that its cells name."""
_ROUNDED = 10_000
"""Attributes with values of that size are shown without decimals."""
_MAX_PASSAGE = 6_000
"""Characters of a passage."""
_NUMBERING = re.compile(
    r"#|no\.?|nr\.?|rank|ranking|pos\.?|position|place|standing|column \d+|s\.? ?no\.?", re.IGNORECASE
)
_SUMMARY = re.compile(r"(?:grand |sub)?totals?:?|averages?|sum|overall|all|mean", re.IGNORECASE)
_ORDERED = re.compile(
    r"(?:win.loss )?record|cumulative.*|running.*|streak|previous.*|next|predecessor|successor|change.*|series record",
    re.IGNORECASE,
)
"""Columns whose values refer to the rows before or after."""


class Linked(NamedTuple):
    """A text that a cell links to: its row and column, the node (``type#key``), field, title, and text."""

    row: int
    column: int
    node: str
    field: str
    title: str
    text: str


@dataclass(frozen=True)
class TableData:
    """A table of text: ``rows`` have as many cells as the header; ``places`` are their positions in the source.

    ``noun`` is what a row is about (``movie``; "" if unknown), ``text_noun`` what its passages are called.
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

    @cached_property
    def columns(self) -> list[Column]:
        """The columns with their kinds."""
        return columns_of(self.header, self.rows)

    @cached_property
    def texts(self) -> list[Linked]:
        """The passages, each once, at the first cell that links to it."""
        return list({(link.node, link.field): link for link in reversed(self.passages)}.values())[::-1]

    @property
    def key(self) -> Column | None:
        """The column that names the rows, if there is one."""
        return next((column for column in self.columns if column.kind == KEY), None)


def tables(kb: KnowledgeBase, reasons: Counter[str] | None = None) -> Iterator[TableData]:
    """Yield the tables of a KB: its own tables if it holds any, then node types. ``reasons`` counts those left out."""
    reasons = Counter() if reasons is None else reasons
    if {"tables", "table_rows"} <= set(kb.schema.extra_tables):
        for table in stored(kb):
            if not (reason := problem(table)):
                yield without_numbering(table)
            else:
                reasons[reason] += 1
        return
    for node_type in kb.schema.node_types:
        if node_type.count < MIN_ROWS:
            reasons[_SMALL] += 1
            continue
        table = of_type(kb, node_type)
        if not (reason := problem(table)):
            yield table
        else:
            reasons[reason] += 1


def problem(table: TableData) -> str:
    """Return why a table is left out: too small, no key, or dependent on the order of its rows; "" if it is fit."""
    is_small = len(table.header) < MIN_COLUMNS
    table = without_numbering(table)
    if is_small or len(table.rows) < MIN_ROWS:
        return _SMALL
    folded = [name.casefold() for name in table.header]
    if len(set(folded)) < len(folded):
        return "tables in which two headers differ only in case"
    if any(_ORDERED.fullmatch(name.strip()) for name in table.header):
        return "tables in which the order of the rows matters"
    if any(cell.strip() in ('"', "″", "''", "〃", "do.", "ditto") for row in table.rows for cell in row):
        return "tables whose cells repeat the row above"
    if table.key is None:
        return "tables without a column that names the rows"
    return ""


def without_numbering(table: TableData) -> TableData:
    """Return a table without columns that number its rows, which further rows would break, and without totals."""
    kept = [i for i, name in enumerate(table.header) if not _numbers(name, [row[i] for row in table.rows])]
    good = [n for n, row in enumerate(table.rows) if not any(_SUMMARY.fullmatch(cell.strip()) for cell in row[:2])]
    if len(kept) == len(table.header) and len(good) == len(table.rows):
        return table
    column, row_at = {old: new for new, old in enumerate(kept)}, {old: new for new, old in enumerate(good)}
    passages = [
        link._replace(row=row_at[link.row], column=column[link.column])
        for link in table.passages
        if link.row in row_at and link.column in column
    ]
    return TableData(
        table.id,
        table.title,
        [table.header[i] for i in kept],
        [[table.rows[n][i] for i in kept] for n in good],
        [table.places[n] for n in good],
        passages,
        table.noun,
        table.text_noun,
        table.node_type,
        table.article,
    )


def _numbers(name: str, cells: Sequence[str]) -> bool:
    """Return whether a column numbers the rows: 1, 2, 3, or 1st, 2nd, =3rd."""
    if not _NUMBERING.fullmatch(name.strip()):
        return False
    found = [re.match(r"\W?T?(\d+)", cell) for cell in cells]
    known = [int(one[1]) for one in found if one]
    return len(known) >= 0.6 * len(cells) and known == sorted(known) and bool(known) and known[-1] > known[0]


# -- tables of the KB -------------------------------------------------------------------------------------------------


def stored(kb: KnowledgeBase) -> Iterator[TableData]:
    """Yield the tables that a KB holds, with the passages that their cells link to, ordered by id."""
    heads = kb.tables.rows("SELECT table_id, title, header FROM tables ORDER BY table_id")
    cells: dict[str, list[tuple[int, list[str]]]] = {}
    for name, position, row in kb.tables.rows(
        "SELECT table_id, position, cells FROM table_rows ORDER BY table_id, position"
    ):
        cells.setdefault(name, []).append((position, row))
    links: dict[str, list[tuple[Any, ...]]] = {}
    if "passages" in kb.schema.extra_tables:
        for name, *link in kb.tables.rows(
            "SELECT table_id, position, column_number, node, field, title, text FROM passages"
            " ORDER BY table_id, position, column_number, node, field"
        ):
            links.setdefault(name, []).append(tuple(link))
    for name, title, header in heads:
        rows = cells.get(name, [])
        places = [position for position, _ in rows]
        row_at = {position: number for number, position in enumerate(places)}
        passages = [Linked(row_at[p], *rest) for p, *rest in links.get(name, ()) if p in row_at]
        yield TableData(name, title, list(header), [row for _, row in rows], places, passages, "", "article")


# -- node types -------------------------------------------------------------------------------------------------------


def of_type(kb: KnowledgeBase, node_type: NodeType, sample: int = SAMPLE) -> TableData:
    """Return a node type as a table: name, attributes, and relations with mostly one value per node.

    A type with few columns also has those of a node that each row names: *Continent of the country*.
    """
    every = np.arange(node_type.first, node_type.last + 1)
    if len(every) > sample:
        every = np.sort(np.random.default_rng(0).choice(every, sample, replace=False))
    ids: list[int] = every.tolist()
    wanted = _ids(ids)
    attributes = [(_header(a.label or a.name), _values(kb, node_type, a, wanted)) for a in node_type.attributes]
    related = [(name, values) for name, values, _ in _related(kb, node_type, wanted)]
    if 1 + len(attributes) + len(related) < MIN_COLUMNS:
        further = list(_further(kb, node_type, wanted))[: _MAX_COLUMNS - 1 - len(attributes) - len(related)]
        related += [(name, values) for name, values in further if isinstance(values, dict)]
        attributes += [(name, values) for name, values in further if isinstance(values, list)]
    names = _shown(kb, wanted, [nodes for _, nodes in related])
    taken = {name.casefold() for name, _ in (*attributes, *related)}
    header = ["Name" if "name" not in taken else "Name of the node", *(name for name, _ in attributes)]
    columns = [[names[node] for node in ids], *(cells for _, cells in attributes)]
    nodes: list[tuple[int, Mapping[int, Sequence[int]]]] = [(0, {node: [node] for node in ids})]
    for name, values in related:
        nodes.append((len(header), values))
        header.append(name if name.casefold() not in {h.casefold() for h in header} else f"{name} {len(header)}")
        columns.append([", ".join(names[other] for other in values.get(node, ())) for node in ids])
    fields = kb.tables.rows(
        "SELECT DISTINCT t.field::VARCHAR FROM texts t JOIN nodes n USING (id) WHERE n.type = $type ORDER BY 1",
        {"type": node_type.name},
    )
    noun = english.spoken(node_type.name)
    title = english.plural(noun)
    return TableData(
        f"type/{node_type.name}",
        title[:1].upper() + title[1:],
        header,
        [list(row) for row in zip(*columns, strict=True)],
        list(range(len(ids))),
        _passages(kb, ids, nodes, names),
        noun,
        text_noun(node_type.name, [name for (name,) in fields]),
        node_type.name,
        node_type.article,
    )


def _ids(nodes: Sequence[int]) -> pl.DataFrame:
    return pl.DataFrame({"id": pl.Series(list(nodes), dtype=pl.Int32)})


def _further(
    kb: KnowledgeBase, node_type: NodeType, wanted: pl.DataFrame
) -> Iterator[tuple[str, list[str] | dict[int, list[int]]]]:
    """Yield the columns of the nodes that rows name; cells of rows that name no node or several are empty."""
    for name, values, target in _related(kb, node_type, wanted):
        if not target or target == node_type.name:
            continue
        one = {node: found[0] for node, found in values.items() if len(found) == 1}
        others = _ids(sorted(set(one.values())))
        kind = kb.schema.type(target)
        whose = f"of the {name[:1].lower()}{name[1:]}"
        for header, found, last in _related(kb, kind, others):
            if last != node_type.name:
                yield f"{header} {whose}", {node: found[other] for node, other in one.items() if other in found}
        for attribute in kind.attributes:
            cells = dict(zip(others["id"].to_list(), _values(kb, kind, attribute, others), strict=True))
            header = _header(attribute.label or attribute.name)
            found_unit = re.fullmatch(r"(.+)( \(.+\))", header)
            header = f"{found_unit[1]} {whose}{found_unit[2]}" if found_unit else f"{header} {whose}"
            yield header, [cells[one[node]] if node in one else "" for node in wanted["id"].to_list()]


def _header(name: str) -> str:
    text = english.spoken(name) if "/" in name else " ".join(name.replace("_", " ").split())
    found = re.fullmatch(r"(.+) (km2|m2|km|m|cm|mm|kg|g|minutes|seconds|hours|days|usd|eur|gbp|percent)", text)
    if found:
        text = f"{found[1]} ({found[2].replace('2', '²').replace('usd', 'US$')})"
    return text[:1].upper() + text[1:]


def _values(kb: KnowledgeBase, node_type: NodeType, attribute: Attribute, wanted: pl.DataFrame) -> list[str]:
    """Return an attribute of nodes as text: large numbers with separators, lists joined by commas."""
    name = quote(attribute.name)
    if attribute.type.endswith("[]"):
        text = f"array_to_string({name}, ', ')"
    elif re.fullmatch(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|DECIMAL.*", attribute.type):
        table = quote(node_type.table)
        whole, low, high = kb.tables.rows(
            f"SELECT bool_and({name} = floor({name})), min({name}), max({name}) FROM {table}"
            f" WHERE isfinite({name}::DOUBLE)"
        )[0]
        are_years = low is not None and YEARS[0] <= low and high <= YEARS[1]
        if low is None or (not whole and high < _ROUNDED):
            text = f"{name}::VARCHAR"
        elif are_years or "id" in attribute.name.split("_"):
            text = f"{name}::BIGINT::VARCHAR"
        else:
            large = f"format('{{:,}}', round({name})::BIGINT)"
            text = f"CASE WHEN abs({name}) < 100 AND {name} <> floor({name}) THEN {name}::VARCHAR ELSE {large} END"
    else:
        text = f"{name}::VARCHAR"
    sql = (
        f"SELECT coalesce({text}, '') FROM kbkit_wanted w LEFT JOIN {quote(node_type.table)} t USING (id) ORDER BY w.id"
    )
    return [
        " ".join(cell.split()) for cell in kb.tables.lookup(sql, frames={"kbkit_wanted": wanted}).to_series().to_list()
    ]


def _related(
    kb: KnowledgeBase, node_type: NodeType, wanted: pl.DataFrame
) -> Iterator[tuple[str, dict[int, list[int]], str]]:
    """Yield relations with mostly one neighbour per node: header, neighbours of each node, their type ("": several)."""
    groups: dict[tuple[str, bool], list[Join]] = {}
    for relation in kb.schema.relations:
        for join in relation.joins():
            if join.source == node_type.name and (join.forward or not relation.symmetric):
                groups.setdefault((relation.name, join.forward), []).append(join)
    for joins in groups.values():
        source, other = ("head", "tail") if joins[0].forward else ("tail", "head")
        sql = (
            f"SELECT DISTINCT {source} AS id, {other} AS other FROM {quote(joins[0].relation.table)}"
            f" WHERE {source} IN (SELECT id FROM kbkit_wanted) ORDER BY 1, 2"
        )
        grouped = kb.tables.lookup(sql, frames={"kbkit_wanted": wanted}).group_by("id", maintain_order=True).all()
        values = dict(grouped.iter_rows())
        sizes = np.array([len(found) for found in values.values()])
        is_covered = len(values) >= _COVERED * wanted.height and bool(values)
        if is_covered and (sizes == 1).mean() >= _SINGLE and (sizes <= _MAX_VALUES).mean() >= _FEW:
            targets = {join.target for join in joins}
            yield _relation_header(joins, node_type), values, targets.pop() if len(targets) == 1 else ""


def _relation_header(joins: Sequence[Join], node_type: NodeType) -> str:
    """Return a header for a relation: a noun, *Directed by*, or the type of the neighbours."""
    relation, forward = joins[0].relation, joins[0].forward
    label = relation.label or relation.name
    verb = english.verb_phrase(label)
    if (
        not forward
        and verb is not None
        and (passive := verb.inverse())
        and re.fullmatch(r"was \w+ by", passive.singular)
    ):
        return passive.singular.removeprefix("was ").capitalize()
    if forward and english.of_noun(relation.name):
        return _header(relation.name)
    targets = {join.target for join in joins}
    if len(targets) == 1 and node_type.name not in targets:
        return _header(targets.pop())
    return _header(label)


def _shown(kb: KnowledgeBase, wanted: pl.DataFrame, related: Sequence[Mapping[int, Sequence[int]]]) -> dict[int, str]:
    """Return a name for each node that is unique in the table: with its type or key if others have the same name."""
    others = {node for values in related for found in values.values() for node in found}
    frame = _ids(sorted({*wanted["id"].to_list(), *others}))
    sql = (
        "SELECT n.id, n.type::VARCHAR AS type, n.key, coalesce(nullif(trim(n.name), ''), n.key) AS name"
        " FROM nodes n JOIN kbkit_wanted w USING (id) ORDER BY n.id"
    )
    rows = kb.tables.lookup(sql, frames={"kbkit_wanted": frame}).rows()
    names = {node: " ".join(name.replace(", ", " ").split()) if node in others else " ".join(name.split())
             for node, _, _, name in rows}  # fmt: skip
    shared = Counter(name.casefold() for name in names.values())
    of_type = Counter((names[node].casefold(), kind) for node, kind, _, _ in rows)
    for node, kind, key, _ in rows:
        name = names[node]
        if shared[name.casefold()] > 1:
            is_unique = of_type[name.casefold(), kind] == 1
            names[node] = f"{name} ({english.spoken(kind) if is_unique else key})"
    return names


def _passages(
    kb: KnowledgeBase,
    ids: Sequence[int],
    nodes: Sequence[tuple[int, Mapping[int, Sequence[int]]]],
    names: Mapping[int, str],
) -> list[Linked]:
    """Return the texts of the nodes in the cells, each at the first cell that shows its node."""
    first: dict[int, tuple[int, int]] = {}
    for column, values in nodes:
        for row, node in enumerate(ids):
            for other in values.get(node, ()):
                first.setdefault(other, (row, column))
    wanted = _ids(sorted(first))
    sql = (
        "SELECT n.id, n.type::VARCHAR || '#' || n.key, t.field::VARCHAR,"
        " row_number() OVER (PARTITION BY t.id, t.field ORDER BY t.position), t.text"
        " FROM texts t JOIN nodes n USING (id) JOIN kbkit_wanted w USING (id) ORDER BY 1, 3, 4"
    )
    found = []
    for node, reference, name, number, text in kb.tables.lookup(sql, frames={"kbkit_wanted": wanted}).iter_rows():
        if text.strip():
            shown = name if number == 1 else f"{name}#{number}"
            found.append(Linked(*first[node], reference, shown, names[node], text[:_MAX_PASSAGE]))
    return found
