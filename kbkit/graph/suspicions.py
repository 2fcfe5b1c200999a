"""Data of a KB that may be wrong, with the SQL statement that lists the nodes of each finding.

Everything is counted by DuckDB, in a few statements for each type and two for all edges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from kbkit.errors import plural
from kbkit.graph import contradictions
from kbkit.schema import Attribute, NodeType, Schema, literal
from kbkit.stores import Stores
from kbkit.stores.sql_names import identifier
from kbkit.stores.tables import Tables

if TYPE_CHECKING:
    import polars as pl

KINDS = {
    "contradiction": "Contradictions",
    "extreme": "Values far from the others",
    "spelling": "Values that occur once and are spelled almost like another",
    "equal names": "Nodes of one type with equal names",
    "isolated": "Nodes without edges",
    "missing": "Missing values",
    "without": "Nodes without a relation that most nodes of their type have",
    "cardinality": "Edges per node",
}
"""The kinds of findings in order, each with a heading."""

_TYPES, _ATTRIBUTES = 200, 60
"""Maximum number of types (the largest) and of attributes of a type that are looked at."""
_FAR, _FAR_LOG = 10, 3
"""Interquartile ranges beyond the quartiles from which a value is far out, and those of logarithms."""
_TAIL = 0.01
"""Fraction of values far out from which the values have a long tail: their logarithms are compared."""
_VALUES = 500
"""Maximum number of distinct values among which spellings are compared."""
_USUAL = 0.5
"""Fraction of the nodes that have a relation from which the lack of it is listed."""
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "REAL", "DECIMAL")
_TIMES = ("DATE", "TIMESTAMP")


class Suspicion(NamedTuple):
    """A finding about the nodes of a ``type``: in an ``attribute`` or a ``relation``, or in the nodes themselves."""

    kind: str
    type: str
    part: str
    finding: str
    number: int
    sql: str


def suspicions(stores: Stores) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.suspicions`."""
    import polars as pl

    tables, schema = stores.tables, stores.schema
    types = sorted((t for t in schema.node_types if t.members), key=lambda t: -t.members)[:_TYPES]
    found = [*_contradictions(tables, schema)]
    for kind in types:
        found += _of_attributes(tables, kind)
    found += [*_equal_names(tables, types), *_isolated(tables, types), *_cardinalities(tables, schema)]
    places = {kind: place for place, kind in enumerate(KINDS)}
    found.sort(key=lambda one: places[one.kind])
    kinds = {name: pl.Int64 if name == "number" else pl.String for name in Suspicion._fields}
    return pl.DataFrame(found, kinds, orient="row")


def _contradictions(tables: Tables, schema: Schema) -> Iterator[Suspicion]:
    for title, sql in contradictions.statements(schema):
        if count := tables.rows(f"SELECT count(*) FROM ({sql})")[0][0]:
            most = " or more" if count == contradictions.LIMIT else ""
            yield Suspicion("contradiction", "", "", f"{title}: {count:,}{most}", count, sql)


# -- attributes -------------------------------------------------------------------------------------------------------


def _of_attributes(tables: Tables, kind: NodeType) -> Iterator[Suspicion]:
    attributes = kind.attributes[:_ATTRIBUTES]
    if not attributes:
        return
    table = identifier(kind.table)
    parts = [
        f"count({identifier(a.name)}), "
        + (f"quantile_cont({value}, [0.25, 0.75])" if (value := _value(a)) else "NULL")
        + (f", approx_count_distinct({identifier(a.name)})" if a.type == "VARCHAR" else ", 0")
        for a in attributes
    ]
    row = tables.rows(f"SELECT count(*), {', '.join(parts)} FROM {table}")[0]
    total, counted = row[0], list(zip(attributes, row[1::3], row[2::3], row[3::3], strict=True))
    yield from _extremes(
        tables, kind, [(a, count, *ends) for a, count, ends, _ in counted if ends and ends[0] < ends[1]]
    )
    for attribute, count, _, distinct in counted:
        name = identifier(attribute.name)
        if 0 < distinct <= _VALUES and distinct < count:
            yield from _spellings(tables, kind, name, attribute.name)
        if 0 < count < total:
            missing = total - count
            finding = f"{missing:,} of {total:,} are missing ({_percent(missing / total)})"
            sql = f"SELECT *\nFROM {table}\nWHERE {name} IS NULL"
            yield Suspicion("missing", kind.name, attribute.name, finding, missing, sql)


def _value(attribute: Attribute) -> str:
    """Return SQL for the values of an attribute as numbers; nothing if they are none."""
    if attribute.type.endswith("[]"):
        return ""
    name = identifier(attribute.name)
    if any(word in attribute.type for word in _NUMBERS):
        return f"CAST({name} AS DOUBLE)"
    return f"epoch(CAST({name} AS TIMESTAMP))" if attribute.type.startswith(_TIMES) else ""


def _extremes(tables: Tables, kind: NodeType, ranges: list[tuple[Attribute, int, float, float]]) -> Iterator[Suspicion]:
    """Yield attributes with values far beyond the quartiles: many times their distance.

    The logarithms decide where more than a few values are beyond: incomes and populations have a long tail.
    """
    limits = [[_limits(low, high, _FAR), _log_limits(low, high)] for _, _, low, high in ranges]
    conditions = [
        [_beyond(_value(a), *bounds) for bounds in both] for (a, *_), both in zip(ranges, limits, strict=True)
    ]
    if not conditions:
        return
    parts = [
        f"count(*) FILTER ({condition}), arg_max({identifier(a.name)}, abs({_value(a)} - {high})) FILTER ({condition})"
        for (a, _, _, high), both in zip(ranges, conditions, strict=True)
        for condition in both
    ]
    row = iter(tables.rows(f"SELECT {', '.join(parts)} FROM {identifier(kind.table)}")[0])
    for (attribute, known, low, high), (linear, log) in zip(ranges, conditions, strict=True):
        count, farthest, count_of_logs, farthest_of_logs = (next(row) for _ in range(4))
        condition = linear
        if count > max(1, _TAIL * known):
            count, farthest, condition = count_of_logs, farthest_of_logs, log
        if 0 < count <= max(1, _TAIL * known):
            number = isinstance(farthest, int | float | Decimal)
            usual = f"; half of all values are from {_short(low)} to {_short(high)}" if number else ""
            most = _short(float(farthest)) if number else farthest
            finding = f"{most} is far out" if count == 1 else f"{plural(count, 'value')} far out, such as {most}"
            shown = ", ".join(dict.fromkeys(map(identifier, ("id", "name", attribute.name))))
            sql = (
                f"SELECT {shown}\nFROM {identifier(kind.table)}\nWHERE {condition}\n"
                f"ORDER BY {identifier(attribute.name)} DESC"
            )
            yield Suspicion("extreme", kind.name, attribute.name, finding + usual, count, sql)


def _limits(low: float, high: float, factor: float) -> tuple[float, float]:
    return low - factor * (high - low), high + factor * (high - low)


def _log_limits(low: float, high: float) -> tuple[float, float]:
    """Return the limits of the logarithms as values; none if some quartile is not above 0."""
    if low <= 0:
        return -math.inf, math.inf
    least, most = _limits(math.log(low), math.log(high), _FAR_LOG)
    return math.exp(least), math.exp(min(most, 700))


def _beyond(value: str, least: float, most: float) -> str:
    bounds = ((f"{value} < {least!r}", least), (f"{value} > {most!r}", most))
    return " OR ".join(condition for condition, bound in bounds if math.isfinite(bound)) or "false"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 or float(value).is_integer() else f"{value:,.4g}"


def _spellings(tables: Tables, kind: NodeType, name: str, attribute: str) -> Iterator[Suspicion]:
    """Yield an attribute with values that occur once and differ from a frequent one by a letter or two.

    Values with other digits are others: ``R12``, ``R13``.
    """
    table = identifier(kind.table)
    pairs = (
        f"WITH v AS (SELECT {name} AS value, lower(trim({name})) AS folded, count(*) AS n FROM {table}\n"
        f"  WHERE {name} IS NOT NULL GROUP BY ALL)\n"
        f"SELECT a.value AS once, b.value AS usual, b.n AS times\n"
        f"FROM v a JOIN v b ON a.n = 1 AND b.n > 2 AND length(a.folded) > 3\n"
        f"  AND levenshtein(a.folded, b.folded) <= if(length(a.folded) > 8, 2, 1)\n"
        f"  AND regexp_replace(a.folded, '\\D', '', 'g') = regexp_replace(b.folded, '\\D', '', 'g')"
    )
    found = tables.rows(pairs)
    if found:
        once, usual, times = found[0]
        values = len({value for value, *_ in found})
        finding = f"{plural(values, 'value')}, such as {once!r}: {usual!r} occurs {times:,} times"
        joined = f"({pairs}) p JOIN {table} t ON t.{name} = p.once"
        sql = f"SELECT t.id, t.name, once, usual, times\nFROM {joined}\nORDER BY once"
        yield Suspicion("spelling", kind.name, attribute, finding, values, sql)


# -- nodes and edges --------------------------------------------------------------------------------------------------


def _equal_names(tables: Tables, types: list[NodeType]) -> Iterator[Suspicion]:
    rows = tables.rows(
        "SELECT type, count(*), sum(n) FROM (SELECT type, name, count(*) AS n FROM nodes WHERE name <> ''"
        " GROUP BY type, name HAVING n > 1) GROUP BY type"
    )
    counts = {kind: (names, nodes) for kind, names, nodes in rows}
    for kind in types:
        if kind.name in counts:
            names, nodes = counts[kind.name]
            finding = f"{int(nodes):,} of {kind.count:,} share {plural(names, 'name')}; see kbkit duplicates"
            sql = (
                f"SELECT id, name, key\nFROM nodes\nWHERE type = {literal(kind.name)} AND name <> ''\n"
                "QUALIFY count(*) OVER (PARTITION BY name) > 1\nORDER BY name, id"
            )
            yield Suspicion("equal names", kind.name, "", finding, int(nodes), sql)


def _isolated(tables: Tables, types: list[NodeType]) -> Iterator[Suspicion]:
    """Yield the types with nodes that have no edge, and those without any relation."""
    joined = "SELECT head FROM edges UNION ALL SELECT tail FROM edges"
    rows = tables.rows(f"SELECT type, count(*) FROM nodes WHERE id NOT IN ({joined}) GROUP BY type")
    counts: dict[str, int] = dict(rows)
    for kind in types:
        if count := counts.get(kind.name, 0):
            finding = f"{count:,} of {kind.count:,} have no edge ({_percent(count / kind.count)})"
            if count == kind.count:
                finding = f"No node of this type has an edge: {plural(count, 'node')}"
            where = f"type = {literal(kind.name)} AND id NOT IN ({joined})"
            sql = f"SELECT id, name, key\nFROM nodes\nWHERE {where}\nORDER BY name"
            yield Suspicion("isolated", kind.name, "", finding, count, sql)


def _cardinalities(tables: Tables, schema: Schema) -> Iterator[Suspicion]:
    """Yield for each relation and type of its ends the least and most edges per node, and the nodes without one."""
    known = {t.name: t for t in schema.node_types}
    largest = {r.name: r for r in sorted(schema.relations, key=lambda r: -r.edges)[:_TYPES]}
    heads = {(r.name, s.head) for r in schema.relations for s in r.signatures}
    for end, other in (("head", "tail"), ("tail", "head")):
        rows = tables.rows(
            f"SELECT relation, type, min(n), max(n), count(*) FROM (SELECT relation, {end} AS id, count(*) AS n"
            " FROM edges GROUP BY ALL) JOIN nodes USING (id) GROUP BY ALL"
        )
        found = {(relation, kind): counts for relation, kind, *counts in rows}
        others = Counter(relation for relation, _ in found)
        for (name, type_name), (least, most, having) in sorted(found.items(), key=lambda one: -one[1][2]):
            relation = largest.get(name)
            if relation is None or (relation.symmetric and end == "tail"):
                continue
            kind, table = known[type_name], identifier(relation.table)
            lacking = kind.count - having
            number = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            way = " as its end" if end == "tail" and (name, type_name) in heads else ""
            finding = f"{number} per {type_name}{way}" + (f", {lacking:,} without" if lacking else "")
            where = f"\nWHERE n.type = {literal(type_name)}" if others[name] > 1 else ""
            sql = (
                f"SELECT n.id, n.name, count(*) AS {identifier(f'{other}s')}\n"
                f"FROM {table} r JOIN nodes n ON n.id = r.{end}{where}\nGROUP BY ALL\nORDER BY 3 DESC, 2"
            )
            yield Suspicion("cardinality", type_name, name, finding, having, sql)
            if lacking and having >= _USUAL * kind.count:
                finding = f"{lacking:,} of {kind.count:,} without{way} ({_percent(lacking / kind.count)})"
                sql = (
                    f"SELECT id, name, key\nFROM nodes\nWHERE type = {literal(type_name)}"
                    f" AND id NOT IN (SELECT {end} FROM {table})\nORDER BY name"
                )
                yield Suspicion("without", type_name, name, finding, lacking, sql)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.001 else "under 0.1%"
