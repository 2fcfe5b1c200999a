"""Objects inside of records that stand for whole records, as the manager of an employee does: decided by their values.

The identifiers of such objects are those of records, and their other fields have the values of these records: numbers
from 1 identify things of many kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kbkit.ingestion.json_objects import ID, IDS, NAMES, RecordObjects, Row, identifier_in, is_in_all

OUTERMOST = "\0"
"""Stands for the name of the table of the outermost records in links of the tables inside of them."""
_SCALARS = (str, int, float)
_AGREEING = 0.8
"""Fraction of the values of objects that must be those of the records: some were changed since."""
_KNOWN = 0.5
"""Fraction of the objects whose records must be there, if the others are further records of the same kind."""
_FEWEST = 2


@dataclass(frozen=True)
class KnownRecords:
    """The records of a table, which objects may stand for; ``by`` has them by the values of fields."""

    table: str
    rows: Sequence[Row]
    fields: frozenset[str]
    by: dict[str, Mapping[str, Row]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: str, rows: Sequence[Row]) -> KnownRecords:
        """Return the records of a table."""
        return cls(table, rows, frozenset(name for row in rows for name in row))

    def identified(self, name: str) -> Mapping[str, Row]:
        """Return the records by the value of a field; none if records share one."""
        if name not in self.by:
            found = {one: row for row in self.rows if (one := identifier_in(row.get(name))) is not None}
            self.by[name] = found if len(found) == sum(row.get(name) is not None for row in self.rows) else {}
        return self.by[name]


@dataclass(frozen=True)
class Stubs:
    """Objects that stand for records: those of a table, by a field. ``own`` are the fields that the records lack, and
    ``new`` the objects that no record describes.
    """

    table: str
    by: str
    own: Sequence[str] = ()
    new: Sequence[Row] = ()


def stubs(kind: RecordObjects, key: str, known: Iterable[KnownRecords]) -> Stubs | None:
    """Return the records for which objects stand; None if they are things of their own."""
    for records in known:
        of = records.identified(key)
        pairs = [(one, of.get(identifier_in(one[key]) or "")) for _, one in kind.objects]
        there = [(one, row) for one, row in pairs if row is not None]
        new = {str(one[key]): one for one, row in pairs if row is None}
        own = sorted(kind.fields - records.fields)
        same = agreeing(there, {key, *own})
        if not there or same is False or len(new) > _KNOWN * len({str(one[key]) for one, _ in pairs}):
            continue
        if (new or own) and (not same or len(there) < _FEWEST):
            continue
        if own and not (kind.listed and set(NAMES) & (kind.fields - set(own))):
            continue
        return Stubs(records.table, key, own, [*new.values()])
    return None


def named_stubs(kind: RecordObjects, known: KnownRecords) -> str:
    """Return the field with the names of records in all objects; empty if they are no names of records."""
    for name in (name for name in NAMES if is_in_all(kind, name)):
        names = {str(one[name]) for _, one in kind.objects}
        if len(names) >= _FEWEST and names <= known.identified(name).keys():
            return name
    return ""


def agreeing(pairs: Iterable[tuple[Row, Row]], but: Iterable[str]) -> bool | None:
    """Return whether objects have the values of their records; None if they share no values."""
    out = {*but}
    same = [
        value == row[name]
        for one, row in pairs
        for name, value in one.items()
        if name not in out and isinstance(value, _SCALARS) and isinstance(row.get(name), _SCALARS)
    ]
    return sum(same) >= _AGREEING * len(same) if same else None


def is_part(kind: RecordObjects, others: Iterable[RecordObjects]) -> bool:
    """Return whether each record has an object of its own, without a name: its fields are those of the record."""
    key = next((one for one in IDS if is_in_all(kind, one)), "")
    ids = {str(one[key]) for _, one in kind.objects} if key else set()
    if kind.listed or not key or not _FEWEST < len(kind.objects) == len(ids) or set(NAMES) & kind.fields:
        return False
    if any(str(one.get(key)) in ids for each in others if each is not kind for _, one in each.objects):
        return False
    fields = [name for name in kind.fields if name != key]
    values = ((name, one.get(name)) for _, one in kind.objects for name in fields)
    return not any(identifier_in(value) in ids for name, value in values if isinstance(value, str) or ID.search(name))
