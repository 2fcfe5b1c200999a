"""Data of a KB that may be wrong, with the SQL statement that lists the nodes of each finding.

Everything is counted by DuckDB, in a few statements for each type and two for all edges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from kbkit.english.attributes import attribute_words, is_popularity
from kbkit.english.readable import NO_NAMES
from kbkit.english.types import type_plural
from kbkit.errors import plural
from kbkit.graph import contradictions
from kbkit.schema import Attribute, NodeType, Relation, Schema, literal
from kbkit.stores import Stores
from kbkit.stores.sql_names import identifier
from kbkit.stores.tables import Tables

if TYPE_CHECKING:
    import polars as pl

KINDS = {
    "contradiction": "Contradictions",
    "several": "Nodes with several edges of a relation of which the others have one",
    "extreme": "Values far from the others",
    "spelling": "Values that occur once and are spelled almost like another",
    "placeholder": "Names that stand for a missing value",
    "equal names": "Nodes of one type with equal names",
    "isolated": "Nodes without edges",
    "missing": "Missing values",
    "without": "Nodes without a relation that most nodes of their type have",
    "cardinality": "Edges per node",
}
"""The kinds of findings in order, each with a heading."""

_TYPES, _ATTRIBUTES = 200, 60
"""Maximum number of types (the largest) and of attributes of a type that are looked at."""
_FAR, _FAR_LOG, _FAR_BELOW = 10, 3, 5
"""Interquartile ranges beyond the quartiles from which a value is far out; those of logarithms, above and below."""
_SPAN = 10
"""Ratio of the largest and the least of positive values from which their logarithms are compared."""
_TAIL = 0.01
"""Maximum fraction of values that are far out: where there are more, the values have a long tail."""
_ENOUGH, _RARE = 500, 20
"""Number of values from which the tail above them is estimated, and of tables of which one has a value beyond it."""
_TELLING = 4
"""Maximum number of attributes that tell nodes of equal names apart."""
_VALUES = 500
"""Maximum number of distinct values among which spellings are compared."""
_USUAL = 0.5
"""Fraction of the nodes that have a relation from which the lack of it is listed."""
_FEW_SEVERAL = 1.25
"""Edges per node up to which several values are contradictions, and no list."""
_ONE, _PROVED = 0.97, 30
"""Fraction of the nodes that have one edge from which several are listed, and number of nodes that prove it."""
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
    found += [
        *_placeholders(tables, types),
        *_equal_names(tables, types),
        *_isolated(tables, types),
        *_cardinalities(tables, schema),
    ]
    places = {kind: place for place, kind in enumerate(KINDS)}
    found.sort(key=lambda one: places[one.kind])
    kinds = {name: pl.Int64 if name == "number" else pl.String for name in Suspicion._fields}
    return pl.DataFrame(found, kinds, orient="row")


def _contradictions(tables: Tables, schema: Schema) -> Iterator[Suspicion]:
    for title, sql in contradictions.statements(schema, _FEW_SEVERAL):
        if count := tables.rows(f"SELECT count(*) FROM ({sql})")[0][0]:
            most = " or more" if count == contradictions.LIMIT else ""
            yield Suspicion("contradiction", "", "", f"{title}: {count:,}{most}", count, sql)


# -- attributes -------------------------------------------------------------------------------------------------------


class _Range(NamedTuple):
    """The values of an attribute as numbers: how many there are, and some quantiles."""

    attribute: Attribute
    known: int
    least: float
    low: float
    high: float
    top5: float
    top1: float
    most: float


def _of_attributes(tables: Tables, kind: NodeType) -> Iterator[Suspicion]:
    attributes = kind.attributes[:_ATTRIBUTES]
    if not attributes:
        return
    table = identifier(kind.table)
    parts = [
        f"count({identifier(a.name)}), "
        + (f"quantile_cont({value}, [0, 0.25, 0.75, 0.95, 0.99, 1])" if (value := _value(a)) else "NULL")
        + (f", approx_count_distinct({identifier(a.name)})" if a.type == "VARCHAR" else ", 0")
        for a in attributes
    ]
    row = tables.rows(f"SELECT count(*), {', '.join(parts)} FROM {table}")[0]
    total, counted = row[0], list(zip(attributes, row[1::3], row[2::3], row[3::3], strict=True))
    ranges = [_Range(a, count, *ends) for a, count, ends, _ in counted if ends and all(map(math.isfinite, ends))]
    yield from _extremes(tables, kind, [one for one in ranges if one.low < one.high])
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


def _extremes(tables: Tables, kind: NodeType, ranges: list[_Range]) -> Iterator[Suspicion]:
    """Yield attributes with values far below or far above the others, if these are few."""
    limits = [[side for side in (_too_low(one), _too_high(one)) if side] for one in ranges]
    sides = [(one, *side) for one, own in zip(ranges, limits, strict=True) for side in own]
    if not sides:
        return
    parts = []
    for one, word, conditions in sides:
        farthest_of = "min" if word == "below" else "max"
        for bound in conditions:
            where = f"FILTER ({bound})"
            parts.append(f"count(*) {where}, {farthest_of}({identifier(one.attribute.name)}) {where}")
    row = iter(tables.rows(f"SELECT {', '.join(parts)} FROM {identifier(kind.table)}")[0])
    for one, word, conditions in sides:
        counted = [(bound, next(row), next(row)) for bound in conditions]
        alone = [found for found in counted[:-1] if found[1] == 1]
        condition, count, farthest = [*alone, counted[-1]][0]
        if 0 < count <= max(1, _TAIL * one.known):
            number = isinstance(farthest, int | float | Decimal)
            usual = f"; half of all values are from {_short(one.low)} to {_short(one.high)}" if number else ""
            limit = f" ({'over' if word == 'above' else 'under'} {_short(_limit(condition))})" if number else ""
            most = _short(float(farthest)) if number else farthest
            several = f"{count:,} values are far {word}{limit}, such as {most}"
            finding = f"{most} is far {word}" if count == 1 else several
            name = identifier(one.attribute.name)
            shown = ", ".join(dict.fromkeys(("id", "name", name)))
            order = "" if word == "below" else " DESC"
            sql = f"SELECT {shown}\nFROM {identifier(kind.table)}\nWHERE {condition}\nORDER BY {name}{order}"
            yield Suspicion("extreme", kind.name, one.attribute.name, finding + usual, count, sql)


def _limit(condition: str) -> float:
    """Return the number that a condition compares with."""
    return float(condition.rpartition(" ")[2])


_Side = tuple[str, list[str]]
"""A direction, and conditions in it: the last counts if few values meet it, one before it only for a single value."""


def _too_low(one: _Range) -> _Side | None:
    """Return the limit below which values are far out: of logarithms where they span orders of magnitude."""
    value, limit = _value(one.attribute), one.low - _FAR * (one.high - one.low)
    if one.least < 0:
        return "below", [f"{value} < {_bound(one, limit)}"]
    if one.low <= 0 or one.attribute.type.startswith(_TIMES):
        return ("below", [f"{value} < {_bound(one, limit)}"]) if limit > 0 else None
    if one.most >= _SPAN * max(one.least, 1e-300):
        of_logs = one.low * (one.low / one.high) ** _FAR_BELOW
        return "below", [f"{value} > 0 AND {value} < {_bound(one, max(limit, of_logs))}"]
    return ("below", [f"{value} < {_bound(one, limit)}"]) if limit > 0 else None


def _too_high(one: _Range) -> _Side | None:
    """Return the limits above which values are far out.

    Where there are enough values, several are far out only beyond the tail of the others: incomes, populations and
    sales have a long one. Counts of people or things have one that says nothing.
    """
    value, limit = _value(one.attribute), one.high + _FAR * (one.high - one.low)
    words = attribute_words(one.attribute)
    is_positive = one.low > 0 and not one.attribute.type.startswith(_TIMES)
    if is_positive and (words.counts or is_popularity(words.noun)):
        return None
    if not is_positive or one.most < _SPAN * max(one.least, 1e-300):
        return "above", [f"{value} > {_bound(one, limit)}"]
    if one.known >= _ENOUGH and one.top5 < one.top1:
        # Of a tail that falls as a power, the largest value that one in _RARE tables of this size has.
        slope = math.log(one.top1 / one.top5) / math.log(5)
        tail = math.log(one.top1) + slope * math.log(_RARE * one.known / 100)
        return "above", [
            f"{value} > {_bound(one, limit)}",
            f"{value} > {_bound(one, max(limit, math.exp(min(tail, 700))))}",
        ]
    of_logs = math.log(one.high) + _FAR_LOG * math.log(one.high / one.low)
    return "above", [f"{value} > {_bound(one, limit)}", f"{value} > {_bound(one, math.exp(min(of_logs, 700)))}"]


def _bound(one: _Range, limit: float) -> str:
    """Return a limit as SQL: that of numbers with three digits, as people read it, and whole for whole numbers."""
    if one.attribute.type.startswith(_TIMES):
        return f"{limit:.9g}"
    near = float(f"{limit:.3g}")
    return f"{near:.0f}" if "INT" in one.attribute.type or 1_000 <= abs(near) < 1e15 else f"{near:g}"


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


def _placeholders(tables: Tables, types: list[NodeType]) -> Iterator[Suspicion]:
    """Yield the types with nodes that are called *None* or *unknown*: others are linked to them in place of nothing.

    A node with attributes is something of this name, such as a film.
    """
    named = f"rtrim(lower(trim(name)), '. ') IN ({', '.join(map(literal, NO_NAMES))})"
    found: dict[str, list[str]] = {}
    for kind_name, name in tables.rows(f"SELECT DISTINCT type, name FROM nodes WHERE {named} ORDER BY ALL"):
        found.setdefault(kind_name, []).append(name)
    for kind in types:
        if kind.name in found:
            bare = "".join(f" AND {identifier(a.name)} IS NULL" for a in kind.attributes)
            among = ", ".join(map(literal, found[kind.name]))
            where = f"FROM {identifier(kind.table)}\nWHERE name IN ({among}){bare}"
            [(count, name)] = tables.rows(f"SELECT count(*), min(name) {where}")
            if count:
                finding = f"{name!r}" if count == 1 else f"{plural(count, 'node')}, such as {name!r}"
                sql = f"SELECT id, name, key\n{where}\nORDER BY name"
                yield Suspicion("placeholder", kind.name, "", finding, count, sql)


def _equal_names(tables: Tables, types: list[NodeType]) -> Iterator[Suspicion]:
    """Yield the types with nodes of equal names, listed with the attributes in which these differ most often."""
    rows = tables.rows(
        "SELECT type, count(*), sum(n) FROM (SELECT type, name, count(*) AS n FROM nodes WHERE name <> ''"
        " GROUP BY type, name HAVING n > 1) GROUP BY type"
    )
    counts = {kind: (names, nodes) for kind, names, nodes in rows}
    for kind in types:
        if kind.name in counts:
            names, nodes = counts[kind.name]
            table = identifier(kind.table)
            same = "name <> ''\nQUALIFY count(*) OVER (PARTITION BY name) > 1"
            known = [a for a in kind.attributes[:_ATTRIBUTES] if a.name not in ("id", "key", "name")]
            told = [identifier(a.name) for a in known]
            finding = f"{int(nodes):,} of {kind.count:,} share {plural(names, 'name')}"
            if told:
                differ = ", ".join(f"count(DISTINCT {name})" for name in told)
                sums = ", ".join(f"sum(d[{at}])" for at in range(1, len(told) + 1))
                groups = f"SELECT [{differ}] AS d FROM (SELECT * FROM {table} WHERE {same}) GROUP BY name"
                apart = tables.rows(f"SELECT {sums} FROM ({groups})")[0]
                ranked = sorted(range(len(told)), key=lambda at: -(apart[at] or 0))[:_TELLING]
                told = [told[at] for at in sorted(ranked) if (apart[at] or 0) > names]
                finding += "" if told else " and all attributes"
            shown = ", ".join(["id", "name", "key", *told])
            sql = f"SELECT {shown}\nFROM {table}\nWHERE {same}\nORDER BY name, id"
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
    for end in ("head", "tail"):
        rows = tables.rows(
            "SELECT relation, type, min(n), max(n), count(*), count_if(n = 1)"
            f" FROM (SELECT relation, {end} AS id, count(*) AS n FROM edges GROUP BY ALL)"
            " JOIN nodes USING (id) GROUP BY ALL"
        )
        found = {(relation, kind): counts for relation, kind, *counts in rows}
        others = Counter(relation for relation, _ in found)
        for (name, type_name), (least, most, having, ones) in sorted(found.items(), key=lambda one: -one[1][2]):
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
                f"SELECT n.id, n.name, count(*) AS {identifier(_others(relation, type_name, end))}\n"
                f"FROM {table} r JOIN nodes n ON n.id = r.{end}{where}\nGROUP BY ALL\nORDER BY 3 DESC, 2"
            )
            yield Suspicion("cardinality", type_name, name, finding, having, sql)
            if end == "tail" and having >= _PROVED and _ONE * having <= ones < having:
                finding = f"{having - ones:,} of {having:,} are the end of several edges, the others of one"
                several = sql.replace("\nORDER BY", "\nHAVING count(*) > 1\nORDER BY")
                yield Suspicion("several", type_name, name, finding, having - ones, several)
            if lacking and having >= _USUAL * kind.count:
                finding = f"{lacking:,} of {kind.count:,} without ({_percent(lacking / kind.count)})"
                if end == "tail":
                    finding = f"no edge leads to {lacking:,} of {kind.count:,} ({_percent(lacking / kind.count)})"
                sql = (
                    f"SELECT id, name, key\nFROM nodes\nWHERE type = {literal(type_name)}"
                    f" AND id NOT IN (SELECT {end} FROM {table})\nORDER BY name"
                )
                yield Suspicion("without", type_name, name, finding, lacking, sql)


def _others(relation: Relation, kind: str, end: str) -> str:
    """Return a name for the number of nodes at the other end: their type in the plural, if they have one."""
    pairs = [(pair.head, pair.tail) for pair in relation.signatures]
    types = {tail if end == "head" else head for head, tail in pairs if (head if end == "head" else tail) == kind}
    return type_plural(types.pop()).replace(" ", "_") if len(types) == 1 else "edges"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.001 else "under 0.1%"
