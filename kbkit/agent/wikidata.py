"""Entries and examples of a Wikidata KB, from its tables ``statements`` and ``qualifiers``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kbkit.agent.entries import EXAMPLES, VALUES, came_in, gathered
from kbkit.agent.names import KbNames, line, titled
from kbkit.agent.results import Entry, Examples
from kbkit.agent.values import entities, written
from kbkit.graph.nodes import describe

if TYPE_CHECKING:
    from kbkit.stores import Stores

_CLASSES = ("P31", "P279")
_EXAMPLE = "P1855"
"""The property "Wikidata property example", whose qualifiers show the use of a property."""

_FULL = 3
"""Examples with qualifiers or references, where there are any."""
_SAMPLE = 300
"""Statements that examples are chosen from."""

_COLUMNS = (
    "id, subject, property, rank, best, snak, datatype, value, target, precision, calendar, unit, globe, language,"
    " count"
)
_QUALIFIER_COLUMNS = "statement, property, snak, datatype, value, target, precision, calendar, unit, globe, language"
_RANKED = "(rank = 'preferred') DESC"

Row = dict[str, Any]


def entry(stores: Stores, names: KbNames, node: int) -> Entry:
    """Return an item or property: statements, best rank first and without deprecated ones, with qualifiers (and the
    rank unless it is the best); and the number of incoming statements by property.
    """
    described = describe(stores, node)
    rows = stores.tables.lookup(
        f"SELECT {_COLUMNS} FROM (SELECT *, count(*) OVER (PARTITION BY property) AS count, row_number() OVER"
        f" (PARTITION BY property ORDER BY {_RANKED}, rowid) AS place FROM statements"
        " WHERE subject = $key AND rank <> 'deprecated') WHERE place <= $limit",
        {"key": described.key, "limit": VALUES},
    ).rows(named=True)
    rows.sort(key=lambda row: _place(row["property"], row["datatype"]))
    qualifiers = _qualifiers_of(stores, rows)
    labels = _labels(stores, [*rows, *(q for held in qualifiers.values() for q in held)])
    by_property: dict[str, list[Row]] = {}
    for row in rows:
        by_property.setdefault(row["property"], []).append(row)
    edges = {
        titled(labels.get(name, ""), name): gathered(
            [(written(row, labels), _said(qualifiers.get(row["id"], ()), labels) | _ranked(row)) for row in held],
            held[0]["count"],
        )
        for name, held in by_property.items()
    }
    incoming = came_in(stores, names, node, 0)
    if incoming:
        edges["incoming"] = incoming
    return Entry(described.key, described.name, _about(stores, described.key, described.texts), edges)


def examples(stores: Stores, node: int) -> Examples:
    """Return the examples on a property's page, and statements of its own that are unlike each other: until three have
    qualifiers and references, where there are any, or else a fixed sample.
    """
    described = describe(stores, node)
    given = _of(stores, f"subject = $key AND property = '{_EXAMPLE}'", "rowid", described.key, EXAMPLES)
    given_qualifiers = _qualifiers_of(stores, given)
    rows = _of(stores, "property = $key", "best DESC, hash(id), id", described.key, _SAMPLE)
    qualifiers, references = _qualifiers_of(stores, rows), _references_of(stores, rows)
    full = sum(len(given_qualifiers.get(row["id"], ())) > 1 for row in given)
    chosen = _varied(rows, qualifiers, references, max(_FULL - full, 0), EXAMPLES - len(given))
    held = {**qualifiers, **given_qualifiers}
    said = [
        row
        for statement in (*given, *chosen)
        for row in (*held.get(statement["id"], ()), *references.get(statement["id"], ()))
    ]
    labels = _labels(stores, [*given, *chosen, *said]) | _names(stores, {row["subject"] for row in (*given, *chosen)})
    shown = [_given(row, described.key, given_qualifiers.get(row["id"], []), labels) for row in given]
    for row in chosen:
        subject = titled(labels.get(row["subject"], ""), row["subject"])
        details = {"Qualifiers": qualifiers.get(row["id"], ()), "References": references.get(row["id"], ())}
        more = {name: _said(some, labels) for name, some in details.items() if some}
        example = {"subject": subject, "value": written(row, labels)} | more
        if more or not any(example.items() <= other.items() for other in shown):
            shown.append(example)
    shown = [example for example in shown if not any(example.items() < other.items() for other in shown)]
    return Examples(described.key, described.name, _about(stores, described.key, described.texts), shown)


def _given(row: Row, key: str, held: Sequence[Row], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return an example of a property's page: the value is among the qualifiers."""
    own = [written(one, labels) for one in held if one["property"] == key]
    said = _said([one for one in held if one["property"] != key], labels)
    example: dict[str, Any] = {"subject": written(row, labels), "value": own[0] if len(own) == 1 else own}
    return example | ({"Qualifiers": said} if said else {})


def _varied(
    rows: Sequence[Row],
    qualifiers: Mapping[str, Sequence[Row]],
    references: Mapping[str, Sequence[Row]],
    full: int,
    count: int,
) -> list[Row]:
    """Return statements that say more than those before: ``full`` of them with qualifiers or references, where there
    are any, and others up to ``count``.
    """
    seen: set[tuple[str, str]] = set()
    chosen: list[Row] = []
    rest = list(rows)

    def facts(row: Row) -> set[tuple[str, str]]:
        parts = (("qualifier", qualifiers), ("reference", references))
        held = {(kind, one["property"]) for kind, some in parts for one in some.get(row["id"], ())}
        return held | ({("value", row["value"] or row["target"] or "")} if held else set())

    while rest and len(chosen) < max(full, count):
        best = max(rest, key=lambda row: (len(facts(row) - seen), len(facts(row))))
        if len(chosen) >= count and not facts(best):
            break
        if len(chosen) >= full and not facts(best) - seen:
            best = rest[0]
        rest.remove(best)
        chosen.append(best)
        seen |= facts(best)
    return chosen


def _of(stores: Stores, where: str, order: str, key: str, limit: int) -> list[Row]:
    sql = (
        f"SELECT {_COLUMNS} FROM (SELECT *, 1 AS count FROM statements WHERE {where} AND rank <> 'deprecated'"
        f" ORDER BY {order} LIMIT {limit}) ORDER BY id"
    )
    return stores.tables.lookup(sql, {"key": key}).rows(named=True)


def _qualifiers_of(stores: Stores, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the qualifiers by statement."""
    return _by_statement(stores, rows, "qualifiers")


def _references_of(stores: Stores, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return what the first reference of each statement says; empty without the table."""
    tables = stores.tables.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'reference_snaks'")
    if not tables:
        return {}
    first = "QUALIFY reference = first(reference) OVER (PARTITION BY statement ORDER BY reference)"
    return _by_statement(stores, rows, "reference_snaks", first)


def _by_statement(stores: Stores, rows: Sequence[Row], table: str, clause: str = "") -> dict[str, list[Row]]:
    """Return the rows of a table about statements, by statement."""
    sql = (
        f"SELECT {_QUALIFIER_COLUMNS} FROM {table} WHERE subject IN (SELECT unnest($subjects))"
        f" AND statement IN (SELECT unnest($ids)) {clause} ORDER BY statement, position"
    )
    subjects = list({row["subject"] for row in rows})
    frame = stores.tables.lookup(sql, {"ids": [row["id"] for row in rows], "subjects": subjects})
    by_statement: dict[str, list[Row]] = {}
    for row in frame.rows(named=True):
        by_statement.setdefault(row["statement"], []).append(row)
    return by_statement


def _said(qualifiers: Iterable[Row], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return one statement's qualifiers: property -> value, or a list of values."""
    by_property: dict[str, Any] = {}
    for row in qualifiers:
        by_property.setdefault(titled(labels.get(row["property"], ""), row["property"]), []).append(
            written(row, labels)
        )
    return {name: values[0] if len(values) == 1 else values for name, values in by_property.items()}


def _ranked(row: Row) -> dict[str, str]:
    """Return notes for a statement that ``wdt:`` does not reach, because another has a higher rank."""
    return {} if row["best"] else {"rank": f"{row['rank']}; not in wdt:"}


def _labels(stores: Stores, rows: Iterable[Row]) -> dict[str, str]:
    return _names(stores, {name for row in rows for name in entities(row)})


def _names(stores: Stores, keys: set[str]) -> dict[str, str]:
    return {row.key: row.name for rows in stores.nodes.by_key(None, sorted(keys)) for row in rows}


def _about(stores: Stores, key: str, texts: Sequence[tuple[str, str]]) -> str:
    """Return the description, for a property with its datatype."""
    about = line(texts[0][1]) if texts else ""
    if not key.startswith("P"):
        return about
    sql = "SELECT datatype FROM statements WHERE property = $key LIMIT 1"
    kind = "".join(f"datatype {name}" for (name,) in stores.tables.rows(sql, {"key": key}))
    return "; ".join(part for part in (about, kind) if part)


def _place(name: str, datatype: str | None) -> tuple[bool, bool, int]:
    """Return the sort key of a property: class first, then by number, external identifiers last."""
    return datatype == "external-id", name not in _CLASSES, int(name[1:]) if name[1:].isdecimal() else 0
