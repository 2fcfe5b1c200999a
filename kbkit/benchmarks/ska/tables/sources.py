"""Tables for questions: the tables of a KB, and node types as tables with the texts of their nodes as passages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from kbkit import english
from kbkit.benchmarks.fit_nodes import mixed_types, nameless_types
from kbkit.benchmarks.incomplete import fragments, subject_type
from kbkit.benchmarks.predicates import technical, unfit_type
from kbkit.benchmarks.ska.tables.data import Linked, TableData, holds_tables, stored
from kbkit.benchmarks.ska.tables.fit import MIN_COLUMNS, MIN_ROWS, MIXED, NO_KEY, SMALL, problem, without_numbering
from kbkit.english.attributes import ACRONYMS, words_of_name
from kbkit.english.names import article_of
from kbkit.english.relations import Link
from kbkit.english.types import text_noun, type_noun
from kbkit.english.words import YEARS
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, Join, NodeType, quote

MOST_ROWS = 20_000
"""Rows of a node type; of larger types a sample is taken."""
_SAMPLE = 1_500
"""Rows of a sample."""
_COVERED, _SINGLE, _FEW = 0.5, 0.75, 0.97
"""A relation is a column if that many nodes have a value, that many of these one, and that many of these at most 3."""
_MAX_VALUES = 3
_MAX_COLUMNS = 8
"""Columns up to which a type with few columns gets columns of the nodes that its cells name."""
_ROUNDED = 10_000
"""Attributes with values of that size are shown without decimals."""
_MAX_PASSAGE = 6_000
"""Characters of a passage."""


_MEASURED = re.compile(
    r"(.+) (km2|m2|km|m|cm|mm|kg|g|feet|miles|inches|minutes|seconds|hours|days|usd|eur|gbp|percent)"
)


def tables(kb: KnowledgeBase, reasons: Counter[str] | None = None) -> Iterator[TableData]:
    """Yield the tables of a KB: its own tables if it holds any, then node types. ``reasons`` counts those left out."""
    reasons = Counter() if reasons is None else reasons
    if holds_tables(kb):
        for table in stored(kb):
            if reason := problem(table):
                reasons[reason] += 1
            else:
                yield without_numbering(table)
        return
    nameless, mixed = nameless_types(kb), mixed_types(kb)
    for node_type in kb.schema.node_types:
        if unfit_type(node_type):
            continue
        if node_type.name in nameless:
            reasons[NO_KEY] += 1
            continue
        if node_type.name in mixed:
            reasons[MIXED] += 1
            continue
        if node_type.count < MIN_ROWS:
            reasons[SMALL] += 1
            continue
        table = of_type(kb, node_type)
        if reason := problem(table):
            reasons[reason] += 1
        else:
            yield table


def of_type(kb: KnowledgeBase, node_type: NodeType, most: int = MOST_ROWS) -> TableData:
    """Return a node type as a table: name, attributes, and relations with mostly one value per node.

    A type with few columns also has those of a node that each row names: *Continent of the country*. Of a type with
    more than ``most`` nodes, the table is a part.
    """
    every = np.arange(node_type.first, node_type.last + 1)
    is_part = len(every) > most
    if is_part:
        every = np.sort(np.random.default_rng(0).choice(every, min(most, _SAMPLE), replace=False))
    ids: list[int] = [node for node in every.tolist() if node not in fragments(kb)]
    wanted = _ids(ids)
    own = [a for a in node_type.attributes if not technical(a)]
    attributes = [(_header(a.label or a.name), _values(kb, node_type, a, wanted)) for a in own]
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
    noun = type_noun(node_type.name)
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
        article_of(node_type),
        is_part,
        subject_type(kb) not in ("", node_type.name),
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
        one = {node: neighbors[0] for node, neighbors in values.items() if len(neighbors) == 1}
        others = _ids(sorted(set(one.values())))
        kind = kb.schema.type(target)
        whose = f"of the {name[:1].lower()}{name[1:]}"
        for header, further, last in _related(kb, kind, others):
            if last != node_type.name:
                yield f"{header} {whose}", {node: further[other] for node, other in one.items() if other in further}
        for attribute in kind.attributes:
            if technical(attribute):
                continue
            cells = dict(zip(others["id"].to_list(), _values(kb, kind, attribute, others), strict=True))
            header = _header(attribute.label or attribute.name)
            found_unit = re.fullmatch(r"(.+)( \(.+\))", header)
            header = f"{found_unit[1]} {whose}{found_unit[2]}" if found_unit else f"{header} {whose}"
            yield header, [cells[one[node]] if node in one else "" for node in wanted["id"].to_list()]


def _header(name: str) -> str:
    text = english.spoken(name) if "/" in name else " ".join(name.replace("_", " ").split())
    match = _MEASURED.fullmatch(text)
    if match:
        text = f"{match[1]} ({match[2].replace('2', '²').replace('usd', 'US$')})"
    elif (unit := words_of_name(name).unit) and text.casefold().endswith(" min"):  # duration_min
        text = f"{text[:-4]} ({unit.words})"
    text = " ".join(word.upper() if word in ACRONYMS else word for word in text.split(" "))
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
    elif attribute.type == "DATE" or attribute.type.startswith("TIMESTAMP"):
        text = _date_sql(name)
    else:
        text = f"{name}::VARCHAR"
    sql = (
        f"SELECT coalesce({text}, '') FROM kbkit_wanted w LEFT JOIN {quote(node_type.table)} t USING (id) ORDER BY w.id"
    )
    return [
        " ".join(cell.split()) for cell in kb.tables.lookup(sql, frames={"kbkit_wanted": wanted}).to_series().to_list()
    ]


def _date_sql(name: str) -> str:
    """Return SQL for a date as text: before the Gregorian calendar the year alone, as days were converted.

    An early date on 1 January may be any day of a year or of a century, so it is left out.
    """
    year = f"year({name}::DATE)"
    early = f"CASE WHEN {year} > 0 THEN {year}::VARCHAR ELSE (1 - {year})::VARCHAR || ' BC' END"
    is_first = f"month({name}::DATE) = 1 AND day({name}::DATE) = 1"
    return f"CASE WHEN {year} >= 1583 THEN {name}::DATE::VARCHAR WHEN {is_first} THEN '' ELSE {early} END"


def _related(
    kb: KnowledgeBase, node_type: NodeType, wanted: pl.DataFrame
) -> Iterator[tuple[str, dict[int, list[int]], str]]:
    """Yield relations with mostly one neighbour per node: header, neighbours of each node, their type ("": several)."""
    groups: dict[tuple[str, bool], list[Join]] = {}
    for relation in kb.schema.relations:
        if technical(relation):
            continue
        for join in relation.joins():
            link = Link(relation, node_type.name, join.target, of_head=join.forward)
            if join.source == node_type.name and (join.forward or not relation.symmetric) and not link.is_record:
                groups.setdefault((relation.name, join.forward), []).append(join)
    for joins in groups.values():
        source, other = ("head", "tail") if joins[0].forward else ("tail", "head")
        sql = (
            f"SELECT DISTINCT {source} AS id, {other} AS other FROM {quote(joins[0].relation.table)}"
            f" WHERE {source} IN (SELECT id FROM kbkit_wanted) ORDER BY 1, 2"
        )
        grouped = kb.tables.lookup(sql, frames={"kbkit_wanted": wanted}).group_by("id", maintain_order=True).all()
        values = dict(grouped.iter_rows())
        sizes = np.array([len(neighbors) for neighbors in values.values()])
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
    """Return a name for each node that is unique in its type: with its key if others have the same name."""
    others = {node for values in related for neighbors in values.values() for node in neighbors}
    frame = _ids(sorted({*wanted["id"].to_list(), *others}))
    sql = (
        "SELECT n.id, n.type::VARCHAR AS type, n.key, coalesce(nullif(trim(n.name), ''), n.key) AS name"
        " FROM nodes n JOIN kbkit_wanted w USING (id) ORDER BY n.id"
    )
    rows = kb.tables.lookup(sql, frames={"kbkit_wanted": frame}).rows()
    names = {node: " ".join(name.replace(", ", " ").split()) if node in others else " ".join(name.split())
             for node, _, _, name in rows}  # fmt: skip
    of_type = Counter((names[node].casefold(), kind) for node, kind, _, _ in rows)
    for node, kind, key, _ in rows:
        if of_type[names[node].casefold(), kind] > 1 and key != names[node]:
            names[node] += f" ({key})"
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
    linked = []
    for node, reference, name, number, text in kb.tables.lookup(sql, frames={"kbkit_wanted": wanted}).iter_rows():
        if text.strip():
            shown = name if number == 1 else f"{name}#{number}"
            linked.append(Linked(*first[node], reference, shown, names[node], text[:_MAX_PASSAGE]))
    return linked
