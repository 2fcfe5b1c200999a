"""Records inside the records of JSON: each kind is a table of its own, which the records refer to.

An issue has the object of a user, a list of objects of labels, and perhaps a list of ingredients with quantities:

- objects with an identifier that always have the same fields are rows of one table, wherever they are; a record has
  their identifiers in their place;
- other objects in lists are rows of a table of their own, with the identifier of their record.

Objects without an identifier that are not in lists stay in their record, as columns. Before, :mod:`json_markers` reads
what formats of exports wrap around records, lists and values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kbkit.ingestion import json_markers

MAIN = ""
"""The name of the table of the records themselves."""
_IDS = ("id", "_id", "@id", "uuid", "guid", "key", "accountId", "account_id", "userId", "user_id", "code", "slug")
_NAMES = ("name", "title", "label", "displayName", "display_name", "login", "username")
_WRAPPERS = ("fields", "attributes", "properties", "_source")
"""Fields with the fields of a record, beside its identifier."""
_ALIASES = ("aliases", "alternateNames", "alternate_names", "synonyms", "otherNames", "other_names")
_OF_PERSONS = {"login", "email", "emailAddress", "username", "displayName", "accountId"}
_ROLES = {"assignee", "assignees", "author", "authors", "creator", "owner", "reporter", "reviewer", "sender", "editor"}
_SAME = 0.8
"""Fraction of the fields of two kinds of objects that must be the same, if they are of one kind."""
_FEW = 3
"""Fields up to which kinds of objects are of one kind only if they share an identifier: many have an id and a name."""
_SCALARS = (str, int, float)
_DEEPEST = 4
_MOST_KINDS = 200
"""Places of objects in a record: the names of more are data, such as keys of a map, and the objects stay."""
_MOST_BESIDE = 6
"""Fields beside a wrapper: the id, the type, the address of a record."""

Row = Mapping[str, Any]
Path = tuple[str, ...]


@dataclass(frozen=True)
class RecordTable:
    """Rows of one kind. ``key`` is the column that identifies them, empty if none does.

    ``links`` maps columns to the table and the column of the rows that they refer to; without a table, no row has them.
    ``named`` is the column of names, if it is known.
    """

    rows: Sequence[dict[str, Any]]
    key: str = ""
    links: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    named: str = ""


def split(rows: Sequence[Row], name: str) -> dict[str, RecordTable]:
    """Return the tables of records, which are called ``name``: :data:`MAIN` first; none if it is the only one."""
    if models := json_markers.models(rows):
        return {one: RecordTable(of_model, json_markers.MODEL_KEY) for one, of_model in models.items()}
    plain = [_unwrapped(json_markers.plain(row)) for row in rows]
    found = _Splitter(plain, name).tables()
    return found if len(found) > 1 or found[MAIN].rows != list(rows) else {}


def records_of_kind(rows: Sequence[dict[str, Any]], name: str, taken: Iterable[str]) -> dict[str, RecordTable]:
    """Return the tables of records of one kind, :data:`MAIN` first, with names that are not ``taken``."""
    return _Splitter(list(rows), name, taken).tables()


def _unwrapped(row: Row) -> dict[str, Any]:
    """Return a record with the fields of its only wrapper as its own, unless it has such fields."""
    wrapper = next((name for name in _WRAPPERS if isinstance(row.get(name), dict)), "")
    others = {name: value for name, value in row.items() if name != wrapper}
    if not wrapper or set(others) & set(row[wrapper]) or len(others) > _MOST_BESIDE:
        return _translated(row)
    return _translated({**others, **row[wrapper]})


def _translated(row: Row) -> dict[str, Any]:
    """Return a record with the English name in place of an object of names in several languages."""
    result: dict[str, Any] = {}
    for name, value in row.items():
        is_one = isinstance(value, dict) and name in _NAMES and isinstance(value.get("en"), str) and len(value) > 1
        if is_one and all(len(code) == len("en") for code in value) and f"{name}_languages" not in row:
            result |= {name: value["en"], f"{name}_languages": value}
        else:
            result[name] = value
    return result


@dataclass
class _Objects:
    """Objects at one path of the records, each with the number of its record."""

    path: Path
    listed: bool
    objects: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def fields(self) -> set[str]:
        return {name for _, one in self.objects for name in one}


class _Splitter:
    """Splits the records called ``name``; ``above`` are the names of tables outside of them, ``level`` how deep they
    are in other records.
    """

    def __init__(self, rows: list[dict[str, Any]], name: str, above: Iterable[str] = (), level: int = 0) -> None:
        self._rows, self._name, self._above, self._level = rows, name, frozenset(above), level
        self._ids = _unique_field(rows)
        self._tables: dict[str, RecordTable] = {}
        self._replaced: dict[Path, str | None] = {}
        self._as_text: set[Path] = set()
        self._links: dict[str, tuple[str, str]] = {}

    def tables(self) -> dict[str, RecordTable]:
        """Return the tables, that of the records first."""
        kinds = [kind for kind in _kinds(self._rows) if kind.objects]
        if len(kinds) > _MOST_KINDS:
            return {MAIN: RecordTable(self._rows)}
        entities: list[tuple[list[_Objects], str]] = []
        for kind in kinds:
            key = _key_of(kind)
            if len({name.casefold() for name in kind.fields}) < len(kind.fields) and not key:
                self._as_text.add(kind.path)  # whose names are data; DuckDB's columns do not differ in case
                continue
            if key and self._is_own(kind, key):
                self._replace(kind, key, MAIN, key)
            elif key and _is_functional([kind], key) and len(kind.fields) > 1:
                _join(entities, kind, key)
            elif kind.listed:
                self._children(kind)
        for group, key in entities:
            name = self._free(_name_of(group))
            self._add(name, list(_merged(group, key).values()), key)
            for kind in group:
                self._replace(kind, key, name, key)
        main = [self._reduced(row) for row in self._rows]
        return {MAIN: RecordTable(main, "", self._links), **self._tables}

    def _add(
        self, name: str, rows: list[dict[str, Any]], key: str, links: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Add the table of objects, and those of the objects inside of them."""
        self._tables[name] = RecordTable(rows, key, links or {})
        if self._level >= _DEEPEST:
            return
        inside = _Splitter(rows, name, {*self._above, self._name, *self._tables}, self._level + 1).tables()
        main = inside.pop(MAIN)
        own = {column: (to or name, by) for column, (to, by) in main.links.items()}
        self._tables[name] = RecordTable(main.rows, key, {**own, **(links or {})})
        for part, table in inside.items():
            known = {column: (to or name, by) for column, (to, by) in table.links.items()}
            self._tables[part] = RecordTable(table.rows, table.key, known)

    def _is_own(self, kind: _Objects, key: str) -> bool:
        """Return whether objects are records themselves, such as the parent of an issue."""
        own = {_value(row.get(key)) for row in self._rows}
        fields = {name for row in self._rows for name in row}
        return kind.fields <= fields and all(_value(one[key]) in own for _, one in kind.objects)

    def _children(self, kind: _Objects) -> None:
        """Make a table of the objects of lists, which belong to their record."""
        name = kind.path[-1]
        by = next((one for one in (*_NAMES, *_IDS) if _is_in_all(kind, one)), "")
        by_id = next((one for one in _IDS if _is_in_all(kind, one)), "")
        if by and (kind.fields == {by} or name in _ALIASES):
            self._replaced[kind.path] = by  # a list of names
            return
        if by and _is_functional([kind], by):
            table = self._free(name)
            self._add(table, list(_merged([kind], by).values()), by)
            self._replace(kind, by, table, by)
            return
        if not self._ids or sum(_is_scalar(kind, one) for one in kind.fields) < 2:
            return
        if by_id and (same := _same_fields(kind, by_id)) & set(_NAMES):
            self._entities_and_edges(kind, by_id, same)
            return
        of, table = _free(self._name, kind.fields), self._free(name)
        item = _free(name, {*kind.fields, of}) if by in _NAMES else by
        rows = [
            {of: self._rows[number][self._ids], **{item if n == by else n: value for n, value in one.items()}}
            for number, one in kind.objects
        ]
        links = {of: (MAIN, self._ids), **({item: (MAIN, "")} if by in _NAMES else {})}
        self._add(table, rows, "", links)
        self._replaced[kind.path] = None

    def _entities_and_edges(self, kind: _Objects, key: str, same: set[str]) -> None:
        """Make a table of objects of lists, and one of what differs between the records that have the same object."""
        name = kind.path[-1]
        table = self._free(name)
        rows = {str(one[key]): {field: one.get(field) for field in (key, *sorted(same))} for _, one in kind.objects}
        self._add(table, list(rows.values()), key)
        of, to = _free(self._name, kind.fields), _free(f"{name}_{key}", kind.fields)
        edges = [
            {of: self._rows[number][self._ids], to: one[key]}
            | {field: value for field, value in one.items() if field not in (key, *same)}
            for number, one in kind.objects
        ]
        links = {of: (MAIN, self._ids), to: (table, key)}
        self._tables[self._free(f"{self._name}_{name}")] = RecordTable(edges, "", links)
        self._replaced[kind.path] = None

    def _replace(self, kind: _Objects, key: str, table: str, by: str) -> None:
        self._replaced[kind.path] = key
        self._links["_".join(kind.path)] = (table, by)

    def _free(self, name: str) -> str:
        return _free(name, {MAIN, self._name, *self._above, *self._tables})

    def _reduced(self, row: Row, path: Path = ()) -> dict[str, Any]:
        """Return a record with identifiers in place of the objects that are rows of other tables."""
        result = {}
        for name, value in row.items():
            place = (*path, name)
            if place in self._replaced:
                key = self._replaced[place]
                if key is not None:
                    result[name] = [one[key] for one in value] if isinstance(value, list) else value and value[key]
            elif place in self._as_text:
                result[name] = value and json.dumps(value, ensure_ascii=False)
            elif isinstance(value, dict) and _has_more(value, path):
                result[name] = self._reduced(value, place)
            else:
                result[name] = value
        return result


def _kinds(rows: Iterable[Row]) -> list[_Objects]:
    """Return the objects of all records by their path; paths at which there is anything else are left out."""
    found: dict[Path, _Objects] = {}
    mixed: set[Path] = set()
    for number, row in enumerate(rows):
        for path, value in _fields(row):
            if value is None or value == []:
                continue
            listed = isinstance(value, list)
            objects = value if isinstance(value, list) else [value]
            kind = found.setdefault(path, _Objects(path, listed))
            if kind.listed != listed or not all(isinstance(one, dict) and one for one in objects):
                mixed.add(path)
            else:
                kind.objects += [(number, one) for one in objects]
    return [kind for path, kind in found.items() if path not in mixed]


def _fields(row: Row, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in row.items():
        yield (*path, name), value
        if isinstance(value, dict) and _has_more(value, path):
            yield from _fields(value, (*path, name))


def _has_more(one: Row, path: Path) -> bool:
    """Return whether the objects inside of an object, which is in one at ``path``, are looked for."""
    return len(path) < _DEEPEST and _key_in(one) == ""


def _key_in(one: Row) -> str:
    return next((name for name in _IDS if _value(one.get(name)) is not None), "")


def _key_of(kind: _Objects) -> str:
    """Return the field that identifies objects, empty if none does."""
    if sum(_is_scalar(kind, name) for name in kind.fields) < 2:
        return ""
    own = [name for name in sorted(kind.fields) if _is_own_id(name, kind.path[-1])]
    return next((name for name in (*_IDS, *own) if _is_in_all(kind, name)), "")


def _is_own_id(field: str, kind: str) -> bool:
    """Return whether a field is named as an id of objects: ``trackUri`` of ``track``, ``user_id`` of ``users``."""
    of, _, word = field.replace("_", "").lower().rpartition(kind.replace("_", "").lower().removesuffix("s"))
    return not of and word in ("id", "uri", "uuid", "code", "key")


def _is_in_all(kind: _Objects, name: str) -> bool:
    return all(_value(one.get(name)) is not None for _, one in kind.objects)


def _is_scalar(kind: _Objects, name: str) -> bool:
    return all(one.get(name) is None or isinstance(one[name], _SCALARS) for _, one in kind.objects)


def _value(value: Any) -> str | None:
    """Return an identifier as text, None for what is no identifier."""
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


def _is_functional(kinds: Sequence[_Objects], key: str) -> bool:
    """Return whether objects with the same identifier never differ in a field that both have."""
    known: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        for _, one in kind.objects:
            same = known.setdefault(str(one[key]), {})
            if any(same.get(name) not in (None, value) for name, value in one.items() if value is not None):
                return False
            same.update({name: value for name, value in one.items() if value is not None})
    return True


def _same_fields(kind: _Objects, key: str) -> set[str]:
    """Return the fields that never differ between objects with the same identifier."""
    known: dict[str, dict[str, Any]] = {}
    same = kind.fields - {key}
    for _, one in kind.objects:
        first = known.setdefault(str(one[key]), one)
        same -= {name for name in same if one.get(name) != first.get(name)}
    return same


def _merged(kinds: Sequence[_Objects], key: str) -> dict[str, dict[str, Any]]:
    """Return one object for each identifier, with the fields of all with it."""
    rows: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        for _, one in kind.objects:
            row = rows.setdefault(str(one[key]), {})
            row.update({name: value for name, value in one.items() if value is not None or name not in row})
    return rows


def _join(groups: list[tuple[list[_Objects], str]], kind: _Objects, key: str) -> None:
    """Add objects to the group of the same kind, or make a new one of them."""
    for group in (group for group, other in groups if other == key):
        fields = set().union(*(one.fields for one in group))
        alike = len(fields & kind.fields) >= _SAME * len(fields | kind.fields)
        known, new = ({str(one[key]) for each in kinds for _, one in each.objects} for kinds in (group, [kind]))
        if alike and (len(fields) > _FEW or known & new) and _is_functional([*group, kind], key):
            group.append(kind)
            return
    groups.append(([kind], key))


def _name_of(group: Sequence[_Objects]) -> str:
    """Return the name of a kind of objects: of the fields that hold them, one that is no role of a person."""
    listed = [kind.path[-1] for kind in group]
    plain = next((name for name in listed if name not in _ROLES), "")
    if plain or len(group) == 1:
        return plain or listed[0]
    return "user" if any(kind.fields & _OF_PERSONS for kind in group) else listed[0]


def _unique_field(rows: Sequence[Row]) -> str:
    """Return the field that identifies records, empty if none does."""
    for name in (*_IDS, *_NAMES):
        values = {_value(row.get(name)) for row in rows}
        if None not in values and len(values) == len(rows):
            return name
    return ""


def _free(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "_"
    return name
