"""The values of predicates as SQL, one row each: from attributes, relations or Wikidata's statements.

An answer is a structure of text, aliases, node and value, with whether it has a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kbkit.english.attributes import attribute_words
from kbkit.english.words import spoken
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, NodeType, Relation, literal, quote

_NUMBERS = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL.*)")
COLUMNS = "entity, node, value, precision, unit, statement"
"""The columns of every query here: ids of nodes; value as text; the precision of a date as in Wikidata (9: a year)."""


@dataclass(frozen=True)
class Source:
    """Where a predicate's values are.

    ``name``: an attribute, a relation, ``^relation`` from tail to head (with ``:type``
    for heads of one type), or a property; ``sql`` yields ``COLUMNS`` and
    one column per edge attribute. ``types``: the types that may have it (empty: any).
    """

    name: str
    label: str
    kind: str
    sql: str
    origin: str
    unit: str = ""
    types: tuple[str, ...] = ()
    qualifiers: tuple[Attribute, ...] = ()
    relation: Relation | None = None


def is_wikidata(kb: KnowledgeBase) -> bool:
    """Return whether a KB has Wikidata's statements and their qualifiers."""
    return {"statements", "qualifiers"} <= set(kb.schema.extra_tables)


def sources(kb: KnowledgeBase) -> Iterator[Source]:
    """Yield the predicates of a KB, except those of Wikidata's statements (see :func:`statements`)."""
    for node_type in kb.schema.node_types:
        yield from (_attribute(node_type, attribute) for attribute in node_type.attributes)
    for relation in kb.schema.relations:
        yield _relation(relation, forward=True)
        if is_mutual(relation):
            continue
        heads = list(dict.fromkeys(s.head for s in relation.signatures))
        for head in heads:  # which mountains, and which lakes, lie in a country are two questions
            yield _relation(relation, forward=False, head=kb.schema.type(head) if len(heads) > 1 else None)


def is_mutual(relation: Relation) -> bool:
    """Return whether a relation has its pairs in both directions, so that tails are heads too."""
    edges = {(s.head, s.tail): s.edges for s in relation.signatures}
    between = any(head != tail for head, tail in edges)
    return relation.symmetric or (between and all(edges.get((t, h)) == n for (h, t), n in edges.items()))


def _attribute(node_type: NodeType, attribute: Attribute) -> Source:
    label, measured, counts = attribute_words(attribute)
    unit = measured.symbol if measured else ""
    kind, is_list = attribute.type.removesuffix("[]"), attribute.type.endswith("[]")
    column = quote(attribute.name)
    listed = column if is_list else f"string_split({column}, '|')"  # some sources join several values
    value = f"unnest({listed})" if is_list or kind == "VARCHAR" else column
    rows = f"SELECT id AS entity, {value} AS v FROM {quote(node_type.table)} WHERE {column} IS NOT NULL"
    shown = value_sql(kind, "v")
    precision = "11" if kind == "DATE" else "NULL"
    sql = (
        f"SELECT entity, NULL::INTEGER AS node, {shown} AS value, {precision}::INTEGER AS precision,"
        f" {literal(unit)} AS unit, NULL::VARCHAR AS statement FROM ({rows}) WHERE v IS NOT NULL"
    )
    return Source(attribute.name, counts or label, kind_of(kind), sql, "attribute", unit, (node_type.name,))


def value_sql(kind: str, column: str) -> str:
    """Return SQL for a value as text: dates as ISO, whole numbers without a fraction."""
    if kind in ("DOUBLE", "FLOAT", "REAL") or kind.startswith("DECIMAL"):
        is_whole = f"{column} = round({column}) AND abs({column}) < 1e15"
        return f"CASE WHEN {is_whole} THEN {column}::BIGINT::VARCHAR ELSE {column}::VARCHAR END"
    if kind.startswith("TIMESTAMP"):
        return f"{column}::DATE::VARCHAR"
    return f"{column}::VARCHAR"


def kind_of(sql_type: str) -> str:
    """Return the kind of values of an SQL type; "" for types that are no answers (BOOLEAN, BLOB, structures)."""
    if sql_type in ("DATE",) or sql_type.startswith("TIMESTAMP"):
        return "date"
    if _NUMBERS.fullmatch(sql_type):
        return "number"
    return "text" if sql_type == "VARCHAR" else ""


def _relation(relation: Relation, *, forward: bool, head: NodeType | None = None) -> Source:
    near, far = ("head", "tail") if forward else ("tail", "head")
    extra = "".join(f", {value_sql(a.type, quote(a.name))} AS {quote(a.name)}" for a in relation.attributes)
    sql = (
        f"SELECT {near} AS entity, {far} AS node, NULL::VARCHAR AS value, NULL::INTEGER AS precision, '' AS unit,"
        f" NULL::VARCHAR AS statement{extra} FROM {quote(relation.table)}"
        + ("" if head is None else f" WHERE head BETWEEN {head.first} AND {head.last}")
    )
    own = [s for s in relation.signatures if head is None or s.head == head.name]
    types = tuple(dict.fromkeys(s.head if forward else s.tail for s in own))
    label = spoken(relation.label or relation.name)
    name = relation.name if forward else f"^{relation.name}" + (f":{head.name}" if head else "")
    origin = "forward" if forward else "backward"
    return Source(name, label, "entity", sql, origin, "", types, relation.attributes, relation)


# -- Wikidata ---------------------------------------------------------------------------------------------------------

_PRECISION = (
    "CASE WHEN s.precision > 9 AND (s.calendar = 'Q1985786' OR s.value < '1582-10-15') THEN 9 ELSE s.precision END"
)
"""The precision of a date: of one in the Julian calendar, which the KB has as Gregorian, only the year is known."""
_DATATYPES = ("wikibase-item", "time", "quantity", "string", "monolingualtext")


def statements() -> str:
    """Return SQL for all values of Wikidata's statements: ``COLUMNS``, property and datatype.

    Deprecated statements and other datatypes (identifiers, media, links, coordinates) are left out.
    """
    listed = ", ".join(map(literal, _DATATYPES))
    return (
        "SELECT n.id AS entity, t.id AS node, CASE s.datatype WHEN 'time' THEN split_part(s.value, 'T', 1)"
        f" WHEN 'quantity' THEN {value_sql('DOUBLE', 's.amount')} WHEN 'wikibase-item' THEN NULL"
        " ELSE s.value END AS value,"
        f" {_PRECISION} AS precision, coalesce(u.name, '') AS unit, s.id AS statement, s.property, s.datatype,"
        " s.best, s.language"
        " FROM statements s JOIN nodes n ON n.key = s.subject LEFT JOIN nodes t ON t.key = s.target"
        " LEFT JOIN nodes u ON u.key = regexp_extract(s.unit, '[^/]*$')"
        f" WHERE s.snak = 'value' AND s.rank <> 'deprecated' AND s.datatype IN ({listed})"
        " AND (s.target IS NULL OR t.name <> '')"
    )


def qualifiers() -> str:
    """Return SQL for the qualifiers of statements: statement, qualifier, node, value, precision, datatype."""
    listed = ", ".join(map(literal, _DATATYPES))
    return (
        "SELECT q.statement, q.property AS qualifier, t.id AS node, CASE q.datatype WHEN 'time' THEN"
        f" split_part(q.value, 'T', 1) WHEN 'quantity' THEN {value_sql('DOUBLE', 'q.amount')}"
        " WHEN 'wikibase-item' THEN NULL ELSE q.value END AS value, q.precision, q.datatype FROM qualifiers q"
        " LEFT JOIN nodes t ON t.key = q.target"
        f" WHERE q.snak = 'value' AND q.datatype IN ({listed})"
    )


KINDS = {"wikibase-item": "entity", "time": "date", "quantity": "number"}
"""Kinds of values by datatype; others are texts."""


# -- answers ----------------------------------------------------------------------------------------------------------

UNITS = {
    "kilometre": "km", "square kilometre": "km²", "metre": "m", "kilogram": "kg", "minute": "minutes",
    "second": "seconds", "hour": "hours", "year": "years", "degree Celsius": "°C", "United States dollar": "US dollars",
    "1": "",
}  # fmt: skip
"""Names of Wikidata's units, and how they are written after a number."""
NODE = "LEFT JOIN nodes n ON n.id = v.node"
"""The join that :func:`answer_columns` needs after ``FROM ... v``."""
_UNNAMED = "regexp_full_match({}, '[QPLE][0-9]+(-[FS][0-9]+)?')"
_EMPTY = "[]::VARCHAR[]"


def is_unnamed(column: str) -> str:
    """Return SQL for whether a name is only an id of Wikidata."""
    return _UNNAMED.format(column)


def answer_columns(kind: str) -> str:
    """Return SQL for the columns ``answer`` and ``named`` of rows ``v`` (see ``COLUMNS``)."""
    text, aliases, node, value, named = {
        "entity": _entity, "date": _date, "number": _number, "text": _text,
    }[kind]()  # fmt: skip
    answer = f"{{'text': {text}, 'aliases': {aliases}, 'node': {node}, 'value': {value}}}"
    return f"{answer} AS answer, coalesce({named}, false) AS named"


Parts = tuple[str, str, str, str, str]
"""SQL for text, aliases, node, value, and whether the text is a name."""


def _entity() -> Parts:
    return (
        "coalesce(n.name, v.value)",
        f"coalesce(n.aliases, {_EMPTY})",
        "CASE WHEN n.id IS NULL THEN '' ELSE concat(n.type::VARCHAR, '#', n.key) END",
        "''",
        f"coalesce(n.name <> '' AND NOT {is_unnamed('n.name')}, v.value <> '')",
    )


def _date() -> Parts:
    """Return years as they are, other dates by their precision: 9 a year, 10 a month, 11 a day."""
    precision, date = "coalesce(v.precision, 11)", "TRY_CAST(v.value AS DATE)"
    year = "regexp_full_match(v.value, '-?[0-9]{1,4}')"
    before_christ = "concat(ltrim(split_part(v.value[2:], '-', 1), '0')::BIGINT + 1, ' BC')"
    text = (
        f"CASE WHEN {year} THEN v.value WHEN v.value[1] = '-' THEN {before_christ}"
        f" WHEN {precision} >= 11 THEN strftime({date}, '%-d %B %Y')"
        f" WHEN {precision} = 10 THEN strftime({date}, '%B %Y') ELSE ltrim(strftime({date}, '%Y'), '0') END"
    )
    iso = (
        f"CASE WHEN {year} OR v.value[1] = '-' OR {precision} >= 11 THEN v.value"
        f" WHEN {precision} = 10 THEN left(v.value, 7) ELSE left(v.value, 4) END"
    )
    return text, f"CASE WHEN {year} THEN {_EMPTY} ELSE [{iso}] END", "''", iso, f"{text} <> ''"


def _number() -> Parts:
    """Return numbers with separators of thousands and their unit."""
    number = "TRY_CAST(v.value AS DOUBLE)"
    whole = f"{number} = round({number}) AND abs({number}) < 1e15"
    decimal = "regexp_full_match(v.value, '-?[0-9]{4,15}\\.[0-9]+')"
    split = "concat(format('{:,}', split_part(v.value, '.', 1)::BIGINT), '.', split_part(v.value, '.', 2))"
    shown = f"CASE WHEN {whole} THEN format('{{:,}}', {number}::BIGINT) WHEN {decimal} THEN {split} ELSE v.value END"
    cases = "".join(f" WHEN {literal(long)} THEN {literal(short)}" for long, short in UNITS.items())
    unit = f"CASE coalesce(v.unit, ''){cases} ELSE coalesce(v.unit, '') END"
    text = f"trim(concat({shown}, ' ', {unit}))"
    return text, f"list_distinct([{shown}, v.value])", "''", "v.value", "v.value <> ''"


def _text() -> Parts:
    return "coalesce(v.value, n.name)", f"coalesce(n.aliases, {_EMPTY})", "''", "''", "coalesce(v.value, n.name) <> ''"
