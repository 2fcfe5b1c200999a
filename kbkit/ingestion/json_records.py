"""Records inside the records of JSON: each kind is a table of its own, which the records refer to.

An issue has the object of a user, a list of objects of labels, and perhaps a list of ingredients with quantities:

- objects with an identifier that always have the same fields are rows of one table, wherever they are; a record has
  their identifiers in their place;
- other objects in lists are rows of a table of their own, with the identifier of their record.

Objects without an identifier that are not in lists stay in their record, as columns. Before, :mod:`json_markers` reads
what formats of exports wrap around records, lists and values.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kbkit.ingestion import json_markers
from kbkit.ingestion.json_objects import (
    DEEPEST,
    IDS,
    NAMES,
    Path,
    RecordObjects,
    RecordTable,
    Row,
    free_name,
    has_more,
    identifiers,
    is_functional,
    is_in_all,
    is_scalar,
    join_group,
    key_of,
    kinds_of,
    merged,
    name_of,
    name_persons,
    named_pair,
    names_things,
    refers_to,
    same_fields,
    shared_name,
)
from kbkit.ingestion.json_plain import plain_rows
from kbkit.ingestion.json_same import linked
from kbkit.ingestion.json_stubs import OUTERMOST, KnownRecords, Stubs, is_part, named_stubs, stubs
from kbkit.ingestion.json_trees import field_of_tree, tree

MAIN = ""
"""The name of the table of the records themselves."""
_ALIASES = ("aliases", "alternateNames", "alternate_names", "synonyms", "otherNames", "other_names")
_MOST_KINDS = 200
"""Places of objects in a record: the names of more are data, such as keys of a map, and the objects stay."""
_FEWEST_NAMES = 2
"""Names of fields that are those of records, from which this is no coincidence."""


def split(rows: Sequence[Row], name: str, *, elements: bool = False) -> dict[str, RecordTable]:
    """Return the tables of records, which are called ``name``: :data:`MAIN` first; none if it is the only one.

    ``elements``: the records are of XML, where things are in elements with a text rather than objects with a name.
    """
    if models := json_markers.models(rows):
        return {one: RecordTable(of_model, json_markers.MODEL_KEY) for one, of_model in models.items()}
    plain = plain_rows(rows)
    of_tree = tree(plain, inside) if (inside := field_of_tree(plain, name)) else None
    found = _Splitter(of_tree.rows if of_tree else plain, name, elements=elements).tables()
    if of_tree:
        main, parent = found[MAIN], {of_tree.parent: (MAIN, of_tree.key)}
        found[MAIN] = dataclasses.replace(main, key=of_tree.key, links={**main.links, **parent})
    return found if len(found) > 1 or found[MAIN].rows != list(rows) else {}


def records_of_kind(rows: Sequence[dict[str, Any]], name: str, taken: Iterable[str]) -> dict[str, RecordTable]:
    """Return the tables of records of one kind, :data:`MAIN` first, with names that are not ``taken``."""
    return _Splitter(list(rows), name, taken).tables()


def _common_parts(path: str, other: str) -> int:
    """Return how many parts two paths have in common at their start."""
    pairs = zip(path.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


class _Splitter:
    """Splits the records called ``name``; ``above`` are the names of tables outside of them, ``level`` how deep they
    are in other records; ``known`` are the records outside, for which objects may stand.
    """

    def __init__(
        self,
        rows: list[dict[str, Any]],
        name: str,
        above: Iterable[str] = (),
        level: int = 0,
        *,
        elements: bool = False,
        known: Sequence[KnownRecords] = (),
    ) -> None:
        self._elements = elements
        self._rows, self._name, self._above, self._level = rows, name, frozenset(above), level
        self._ids, self._id_values = identifiers(rows)
        self._tables: dict[str, RecordTable] = {}
        self._replaced: dict[Path, str | None] = {}
        self._renamed: dict[Path, str] = {}
        self._as_text: set[Path] = set()
        self._kept: set[Path] = set()
        self._links: dict[str, tuple[str, str]] = {}
        self._by_name: dict[str, list[Any]] = {}
        self._known = [KnownRecords.of(MAIN, rows), *known]
        self._parts: set[Path] = set()

    def tables(self) -> dict[str, RecordTable]:
        """Return the tables, that of the records first."""
        kinds = self._kinds()
        if len(kinds) > _MOST_KINDS:
            return {MAIN: RecordTable(self._rows)}
        entities: list[tuple[list[RecordObjects], str]] = []
        done = {one.path for one in self._of_one_kind(kinds)}
        for kind in (kind for kind in kinds if kind.path not in done):
            key = key_of(kind)
            if len({name.casefold() for name in kind.fields}) < len(kind.fields) and not key:
                self._as_text.add(kind.path)  # whose names are data; DuckDB's columns do not differ in case
                continue
            if not kind.listed and self._refers_by_names(kind):
                self._edges_of_names(kind)
            elif key and (own := stubs(kind, key, self._known)):
                self._stand_for(kind, own)
            elif key and is_functional([kind], key) and len(kind.fields) > 1:
                join_group(entities, kind, key)
            elif kind.listed:
                self._children(kind)
        for group, key in entities:
            name = self._free(name_of(group))
            self._add(name, list(merged(group, key).values()), key)
            for kind in group:
                self._replace(kind, key, name, key)
        main = [self._reduced(row) for row in self._rows]
        found = {MAIN: RecordTable(main, "", self._links), **self._tables}
        return {name: linked(table, OUTERMOST, MAIN) for name, table in found.items()} if not self._level else found

    def _kinds(self) -> list[RecordObjects]:
        """Return the objects inside of the records, without those that are parts of their record."""
        while True:
            kinds = [kind for kind in kinds_of(self._rows, self._parts) if kind.objects]
            parts = {kind.path for kind in kinds if kind.path not in self._parts and self._is_part(kind, kinds)}
            if not parts:
                return [kind for kind in kinds if kind.path not in self._parts]
            self._parts |= parts

    def _is_part(self, kind: RecordObjects, kinds: Sequence[RecordObjects]) -> bool:
        key = key_of(kind)
        return is_part(kind, kinds) and not (key and stubs(kind, key, self._known))

    def _add(
        self, name: str, rows: list[dict[str, Any]], key: str, links: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Add the table of objects, and those of the objects inside of them."""
        self._tables[name] = RecordTable(rows, key, links or {})
        if self._level >= DEEPEST:
            return
        above = {*self._above, self._name, *self._tables}
        outside = [
            dataclasses.replace(one, table=(one.table or self._name) if self._level else one.table or OUTERMOST)
            for one in self._known
        ]
        inside = _Splitter(rows, name, above, self._level + 1, elements=self._elements, known=outside).tables()
        main = inside.pop(MAIN)
        own = {column: (to or name, by) for column, (to, by) in main.links.items()}
        self._tables[name] = RecordTable(main.rows, key, {**own, **(links or {})})
        for part, table in inside.items():
            known = {column: (to or name, by) for column, (to, by) in table.links.items()}
            self._tables[part] = RecordTable(table.rows, table.key, known)

    def _stand_for(self, kind: RecordObjects, of: Stubs) -> None:
        """Replace objects by references to the records for which they stand."""
        if of.new and of.table == MAIN and of.by == self._ids:
            rows = ({name: value for name, value in one.items() if name not in of.own} for one in of.new)
            self._rows = [*self._rows, *rows]
            self._id_values = [*self._id_values, *(one[of.by] for one in of.new)]
            self._known[0] = KnownRecords.of(MAIN, self._rows)
        if of.own and self._ids:
            self._edges(kind, of.by, (of.table, of.by), {*of.own}, self._free(kind.path[-1]))
        else:
            self._replace(kind, of.by, of.table, of.by)

    def _children(self, kind: RecordObjects) -> None:
        """Make a table of the objects of lists, which belong to their record."""
        name = kind.path[-1]
        are_persons = name_persons(kind)
        by = next((one for one in (*NAMES, *IDS) if is_in_all(kind, one)), "")
        by = by or (shared_name(kind) if self._elements else "")
        only = next(iter(kind.fields)) if len(kind.fields) == 1 else ""
        by = by or (only if only and is_scalar(kind, only) else "")  # <ProductRef sku="A1"/>
        by_id = next((one for one in IDS if is_in_all(kind, one)), "")
        if not by and (pair := named_pair(kind)):
            self._named_entities(kind, *pair)
            return
        if by and (kind.fields == {by} or name in _ALIASES):
            self._replaced[kind.path] = by  # a list of names
            if by == only and by not in (*NAMES, *IDS) and not (self._elements and by.isalpha()):
                self._renamed[kind.path] = f"{name}_{by}"
            return
        inside = [one for one in kind.fields if refers_to(kind, one)]
        is_name = by != "" and by not in IDS
        numbered = by_id != "" and by in same_fields(kind, by_id)
        of_record = named_stubs(kind, self._known[0]) if is_name and not numbered else ""
        if by and not of_record and not (inside and is_name) and is_functional([kind], by):
            table = self._free(name)
            self._add(table, list(merged([kind], by).values()), by)
            self._replace(kind, by, table, by)
            return
        if not self._ids or (not inside and sum(is_scalar(kind, one) for one in kind.fields) < 2):
            return
        if by_id and (same := same_fields(kind, by_id)) & set(NAMES):
            self._entities_and_edges([kind], by_id, same)
            return
        if are_persons and by == "name" and not inside and not of_record:
            self._entities_and_edges([kind], by, same_fields(kind, by))
            return
        of, table = free_name(self._name, kind.fields), self._free(name)
        plain = all(is_scalar(kind, one) for one in kind.fields)
        is_thing = is_name and plain and (of_record != "" or names_things(kind, by))
        item = free_name(name, {*kind.fields, of}) if is_thing else by
        rows = [
            {of: self._id_values[number], **{item if n == by else n: value for n, value in one.items()}}
            for number, one in kind.objects
        ]
        links = {of: (MAIN, self._ids), **({item: (MAIN, of_record)} if is_thing else {})}
        self._add(table, rows, "", links)
        self._replaced[kind.path] = None

    def _named_entities(self, kind: RecordObjects, key: str, named: str, of: str) -> None:
        """Make a table of the things ``of`` that objects of lists name by identifier; the whole list stays as text."""
        same = same_fields(kind, key)
        rows = {str(one[key]): {field: one.get(field) for field in (key, *sorted(same))} for _, one in kind.objects}
        table = self._free(of)
        self._add(table, list(rows.values()), key)
        self._tables[table] = dataclasses.replace(self._tables[table], named=named)
        self._replace(kind, key, table, key)
        if kind.fields - same - {key}:
            self._kept.add(kind.path)

    def _entities_and_edges(self, kinds: Sequence[RecordObjects], key: str, same: set[str]) -> None:
        """Make a table of objects of lists, and tables of what differs between records that have the same object."""
        table = self._free(name_of(kinds))
        objects = [one for kind in kinds for _, one in kind.objects]
        rows = {str(one[key]): {field: one.get(field) for field in (key, *sorted(same))} for one in objects}
        self._add(table, list(rows.values()), key)
        for kind in kinds:
            own = self._free(f"{self._name}_{kind.path[-1]}")
            self._edges(kind, key, (table, key), kind.fields - same - {key}, own)

    def _of_one_kind(self, kinds: Sequence[RecordObjects]) -> list[RecordObjects]:
        """Return the kinds of objects of which tables are made as one: some objects differ between records that have
        the same one, such as the role of an actor, and other lists have some of the same, such as the crew.
        """
        for kind in (kind for kind in kinds if kind.listed and self._ids):
            key = next((one for one in IDS if is_in_all(kind, one)), "")
            same = same_fields(kind, key) if key and not is_functional([kind], key) else set()
            if not same & {*NAMES}:
                continue
            known = [KnownRecords.of(MAIN, [{name: one.get(name) for name in (key, *same)} for one in
                                            merged([kind], key).values()])]  # fmt: skip
            others = [one for one in kinds if one.listed and one is not kind and is_in_all(one, key)]
            alike = [one for one in others if same <= one.fields and stubs(one, key, known)]
            if alike:
                same = same.intersection(*(same_fields(one, key) for one in alike))
                self._entities_and_edges([kind, *alike], key, same)
                return [kind, *alike]
        return []

    def _edges(self, kind: RecordObjects, key: str, target: tuple[str, str], fields: set[str], table: str) -> None:
        """Make a table of the records and what their objects in lists refer to, with fields of these."""
        name = kind.path[-1]
        of, to = free_name(self._name, kind.fields), free_name(f"{name}_{key}", kind.fields)
        rows = [
            {of: self._id_values[number], to: one[key]} | {field: v for field, v in one.items() if field in fields}
            for number, one in kind.objects
        ]
        self._add(table, rows, "", {of: (MAIN, self._ids), to: target})
        self._replaced[kind.path] = None

    def _of_name(self, name: str, near: str = "") -> Any:
        """Return the identifier of the record with a name, or with the path nearest to another one that ends in it;
        None without one.
        """
        if not self._by_name:
            paths = [(str(one), one) for one in self._id_values]
            for path, one in sorted(paths, key=lambda pair: len(pair[0])):
                parts = path.split("/")
                for start in range(len(parts)):
                    self._by_name.setdefault("/".join(parts[start:]), []).append(one)
            named = [row for row in self._rows if self._ids not in NAMES and isinstance(row.get("name"), str)]
            for called, count in Counter(row["name"] for row in named).items():
                if count == 1 and called not in self._by_name:
                    of = next(
                        one for row, one in zip(self._rows, self._id_values, strict=True) if row.get("name") == called
                    )
                    self._by_name[called] = [of]
        found = self._by_name.get(name, [None])
        exact = [one for one in found if str(one) == name]
        return (exact or [max(found, key=lambda one: _common_parts(str(one), near))])[0]

    def _refers_by_names(self, kind: RecordObjects) -> bool:
        """Return whether the names of the fields of objects are those of records, as in maps of dependencies."""
        values = (value for _, one in kind.objects for value in one.values())
        if not self._ids or not all(isinstance(value, str | int | float) for value in values):
            return False
        known = sum(self._of_name(name) is not None for name in kind.fields)
        return known >= _FEWEST_NAMES and known * 2 > len(kind.fields)

    def _edges_of_names(self, kind: RecordObjects) -> None:
        """Make a table of the records to which the names of fields refer, with the values of the fields."""
        of, table = free_name(self._name, ("value",)), self._free(kind.path[-1])
        to = free_name("to", (of, "value"))
        rows = [
            {of: own, to: name if (known := self._of_name(name, str(own))) is None else known, "value": value}
            for own, one in ((self._id_values[number], one) for number, one in kind.objects)
            for name, value in one.items()
        ]
        self._tables[table] = RecordTable(rows, "", {of: (MAIN, self._ids), to: (MAIN, self._ids)})
        self._replaced[kind.path] = None

    def _replace(self, kind: RecordObjects, key: str, table: str, by: str) -> None:
        self._replaced[kind.path] = key
        self._links["_".join(kind.path)] = (table, by)

    def _free(self, name: str) -> str:
        return free_name(name, {MAIN, self._name, *self._above, *self._tables})

    def _reduced(self, row: Row, path: Path = ()) -> dict[str, Any]:
        """Return a record with identifiers in place of the objects that are rows of other tables."""
        result = {}
        for name, value in row.items():
            place = (*path, name)
            if place in self._replaced:
                key = self._replaced[place]
                if place in self._kept:
                    result[free_name(f"{name}_records", row)] = value and json.dumps(value, ensure_ascii=False)
                if key is not None:
                    result[self._renamed.get(place, name)] = (
                        [one[key] for one in value] if isinstance(value, list) else value and value[key]
                    )
            elif place in self._as_text:
                result[name] = value and json.dumps(value, ensure_ascii=False)
            elif isinstance(value, dict) and (has_more(value, path) or place in self._parts):
                if (inside := self._reduced(value, place)) or not value:
                    result[name] = inside
            else:
                result[name] = value
        return result
