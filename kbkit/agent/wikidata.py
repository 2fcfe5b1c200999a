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
    found = describe(stores, node)
    rows = stores.tables.lookup(
        f"SELECT {_COLUMNS} FROM (SELECT *, count(*) OVER (PARTITION BY property) AS count, row_number() OVER"
        f" (PARTITION BY property ORDER BY {_RANKED}, rowid) AS place FROM statements"
        " WHERE subject = $key AND rank <> 'deprecated') WHERE place <= $limit",
        {"key": found.key, "limit": VALUES},
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
    return Entry(found.key, found.name, _about(stores, found.key, found.texts), edges)


def examples(stores: Stores, node: int) -> Examples:
    """Return the examples on a property's page, or else a fixed sample of its statements."""
    found = describe(stores, node)
    given = _of(stores, f"subject = $key AND property = '{_EXAMPLE}'", "rowid", found.key)
    rows = given or _of(stores, "property = $key", "best DESC, hash(id), id", found.key)
    qualifiers = _qualifiers_of(stores, rows)
    labels = _labels(stores, [*rows, *(q for held in qualifiers.values() for q in held)])
    labels |= _names(stores, {row["subject"] for row in rows})
    shown = []
    for row in rows:
        held = qualifiers.get(row["id"], [])
        if given:
            own = [written(q, labels) for q in held if q["property"] == found.key]
            subject, value = written(row, labels), own[0] if len(own) == 1 else own
            held = [q for q in held if q["property"] != found.key]
        else:
            subject, value = titled(labels.get(row["subject"], ""), row["subject"]), written(row, labels)
        said = _said(held, labels)
        shown.append({"subject": subject, "value": value} | ({"Qualifiers": said} if said else {}))
    return Examples(found.key, found.name, _about(stores, found.key, found.texts), shown)


def _of(stores: Stores, where: str, order: str, key: str) -> list[Row]:
    sql = (
        f"SELECT {_COLUMNS} FROM (SELECT *, 1 AS count FROM statements WHERE {where} AND rank <> 'deprecated'"
        f" ORDER BY {order} LIMIT {EXAMPLES}) ORDER BY id"
    )
    return stores.tables.lookup(sql, {"key": key}).rows(named=True)


def _qualifiers_of(stores: Stores, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the qualifiers by statement."""
    sql = (
        f"SELECT {_QUALIFIER_COLUMNS} FROM qualifiers WHERE subject IN (SELECT unnest($subjects))"
        " AND statement IN (SELECT unnest($ids)) ORDER BY statement, position"
    )
    subjects = list({row["subject"] for row in rows})
    frame = stores.tables.lookup(sql, {"ids": [row["id"] for row in rows], "subjects": subjects})
    result: dict[str, list[Row]] = {}
    for row in frame.rows(named=True):
        result.setdefault(row["statement"], []).append(row)
    return result


def _said(qualifiers: Iterable[Row], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return one statement's qualifiers: property -> value, or a list of values."""
    result: dict[str, Any] = {}
    for row in qualifiers:
        result.setdefault(titled(labels.get(row["property"], ""), row["property"]), []).append(written(row, labels))
    return {name: values[0] if len(values) == 1 else values for name, values in result.items()}


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
