"""Objects in the records of JSON: what identifies and names them, and which ones are of one kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
Path = tuple[str, ...]
_PERSON_NAMES = (
    ("ForeName", "LastName"), ("FirstName", "LastName"), ("firstName", "lastName"), ("first_name", "last_name"),
    ("GivenName", "FamilyName"), ("givenName", "familyName"), ("given", "family"), ("forename", "surname"),
)  # fmt: skip
"""Fields with the first and the last name of a person."""
_PARTICLES = ("dropping-particle", "non-dropping-particle")
"""Fields with what is between both, such as *van*, in CSL."""
_SHORT_NAME = 60
"""Mean number of characters up to which a text may be a name."""
_SCALARS = (str, int, float)
_ADDRESS = re.compile(r"(https?:/)?/\S*$")
"""An address of another record, or its path."""
ID = re.compile(r"(?i:(^|[ _-])(id|doi|isbn|uri|uuid|guid|key|code|number|no|nr))$|[a-z](ID|Id)$")
"""Names of fields that may identify records, whatever these are."""
DEEPEST = 4
_SAME = 0.8
"""Fraction of the fields of two kinds of objects that must be the same, if they are of one kind."""
_FEW = 3
"""Fields up to which kinds of objects are of one kind only if they share an identifier: many have an id and a name."""
_REPEATED = 8
"""One of so many names of objects must be there before, if they are names of things that several records have."""
ROLES = {"assignee", "assignees", "author", "authors", "creator", "owner", "reporter", "reviewer", "sender", "editor"}
_OF_PERSONS = {"login", "email", "emailAddress", "username", "displayName", "accountId"}
IDS = ("id", "_id", "@id", "uuid", "guid", "key", "accountId", "account_id", "userId", "user_id", "code", "slug")
NAMES = ("name", "title", "label", "displayName", "display_name", "login", "username")


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


@dataclass
class RecordObjects:
    """Objects at one path of the records, each with the number of its record."""

    path: Path
    listed: bool
    objects: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def fields(self) -> set[str]:
        """The names of the fields that any of the objects has."""
        return {name for _, one in self.objects for name in one}


def kinds_of(rows: Iterable[Row], parts: Collection[Path] = ()) -> list[RecordObjects]:
    """Return the objects of all records by their path; paths at which there is anything else are left out.

    ``parts`` are the paths of objects with an identifier that are parts of their record.
    """
    found: dict[Path, RecordObjects] = {}
    mixed: set[Path] = set()
    for number, row in enumerate(rows):
        for path, value in _fields(row, parts):
            if value is None or value == []:
                continue
            listed = isinstance(value, list)
            objects = value if isinstance(value, list) else [value]
            kind = found.setdefault(path, RecordObjects(path, listed))
            if kind.listed != listed or not all(isinstance(one, dict) and one for one in objects):
                mixed.add(path)
            else:
                kind.objects += [(number, one) for one in objects]
    return [kind for path, kind in found.items() if path not in mixed]


def _fields(row: Row, parts: Collection[Path] = (), path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in row.items():
        yield (*path, name), value
        if isinstance(value, dict) and (has_more(value, path) or (*path, name) in parts):
            yield from _fields(value, parts, (*path, name))


def has_more(one: Row, path: Path) -> bool:
    """Return whether the objects inside of an object, which is in one at ``path``, are looked for."""
    return len(path) < DEEPEST and _key_in(one) == ""


def _key_in(one: Row) -> str:
    return next((name for name in IDS if identifier_in(one.get(name)) is not None), "")


def key_of(kind: RecordObjects) -> str:
    """Return the field that identifies objects, empty if none does."""
    if sum(is_scalar(kind, name) for name in kind.fields) < 2:
        return ""
    own = [name for name in sorted(kind.fields) if _is_own_id(name, kind.path[-1])]
    known = next((name for name in (*IDS, *own) if is_in_all(kind, name)), "")
    return known or addressed_field([one for _, one in kind.objects])


def addressed_field(objects: Sequence[Row]) -> str:
    """Return the field with which the address of each object ends (``{"index": "acid", "url": "/api/types/acid"}``);
    the name of objects that are nothing but a name and an address; empty if there is none.
    """
    common = set.intersection(*map(set, objects)) if objects else set()
    texts = {name for name in common if all(isinstance(one[name], str) and one[name] for one in objects)}
    addresses = {name for name in texts if all(_ADDRESS.match(one[name]) for one in objects)}
    for address in sorted(addresses):
        for name in sorted(texts - addresses):
            if all(one[address].rstrip("/").endswith(f"/{one[name]}") for one in objects):
                return name
    named = [name for name in NAMES if addresses and all(one.keys() == {name, *addresses} for one in objects)]
    return named[0] if named else ""


def refers_to(kind: RecordObjects, name: str) -> bool:
    """Return whether objects have in a field objects with an identifier."""
    inside = [one[name] for _, one in kind.objects if one.get(name) is not None]
    objects = bool(inside) and all(isinstance(one, dict) for one in inside)
    return objects and key_of(RecordObjects((name,), False, [(0, one) for one in inside])) != ""


def names_things(kind: RecordObjects, name: str) -> bool:
    """Return whether the names of objects in lists are those of things that several records have, as ingredients are,
    rather than of parts of each record, such as its chapters, or of things that are called alike by chance.
    """
    names = [(number, one[name]) for number, one in kind.objects]
    repeated = len(names) - len({of for _, of in names})
    return name != "title" and len({*names}) == len(names) and _REPEATED * repeated >= len(names)


def named_pair(kind: RecordObjects) -> tuple[str, str, str] | None:
    """Return the fields of the identifier and the name of a thing in all objects (``player_id``, ``player_name``), and
    what the thing is; None unless there is one such pair.
    """
    things = [field.removesuffix("_id") for field in kind.fields if field.endswith("_id")]
    pairs = [(f"{of}_id", f"{of}_name", of) for of in things if is_in_all(kind, f"{of}_id")]
    named = [pair for pair in pairs if pair[1] in kind.fields and pair[1] in same_fields(kind, pair[0])]
    return named[0] if len(named) == 1 else None


def _is_own_id(field: str, kind: str) -> bool:
    """Return whether a field is named as an id of objects: ``trackUri`` of ``track``, ``user_id`` of ``users``."""
    of, _, word = field.replace("_", "").lower().rpartition(kind.replace("_", "").lower().removesuffix("s"))
    return not of and word in ("id", "uri", "uuid", "code", "key")


def is_in_all(kind: RecordObjects, name: str) -> bool:
    """Return whether all objects have an identifier or a text in a field."""
    return all(identifier_in(one.get(name)) is not None for _, one in kind.objects)


def is_scalar(kind: RecordObjects, name: str) -> bool:
    """Return whether no object has a list or an object in a field."""
    return all(one.get(name) is None or isinstance(one[name], _SCALARS) for _, one in kind.objects)


def identifier_in(value: Any) -> str | None:
    """Return an identifier as text, None for what is no identifier."""
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


def is_functional(kinds: Sequence[RecordObjects], key: str) -> bool:
    """Return whether objects with the same identifier never differ in a field that both have."""
    known: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        for _, one in kind.objects:
            same = known.setdefault(str(one[key]), {})
            if any(same.get(name) not in (None, value) for name, value in one.items() if value is not None):
                return False
            same.update({name: value for name, value in one.items() if value is not None})
    return True


def same_fields(kind: RecordObjects, key: str) -> set[str]:
    """Return the fields that never differ between objects with the same identifier."""
    known: dict[str, dict[str, Any]] = {}
    same = kind.fields - {key}
    for _, one in kind.objects:
        first = known.setdefault(str(one[key]), one)
        same -= {name for name in same if one.get(name) != first.get(name)}
    return same


def merged(kinds: Sequence[RecordObjects], key: str) -> dict[str, dict[str, Any]]:
    """Return one object for each identifier, with the fields of all with it."""
    rows: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        for _, one in kind.objects:
            row = rows.setdefault(str(one[key]), {})
            row.update({name: value for name, value in one.items() if value is not None or name not in row})
    return rows


def join_group(groups: list[tuple[list[RecordObjects], str]], kind: RecordObjects, key: str) -> None:
    """Add objects to the group of the same kind, or make a new one of them."""
    for group in (group for group, other in groups if other == key):
        fields = set().union(*(one.fields for one in group))
        alike = len(fields & kind.fields) >= _SAME * len(fields | kind.fields)
        known, new = ({str(one[key]) for each in kinds for _, one in each.objects} for kinds in (group, [kind]))
        if alike and (len(fields) > _FEW or known & new) and is_functional([*group, kind], key):
            group.append(kind)
            return
    groups.append(([kind], key))


def name_of(group: Sequence[RecordObjects]) -> str:
    """Return the name of a kind of objects: of the fields that hold them, one that is no role of a person."""
    listed = [kind.path[-1] for kind in group]
    last = {name.rpartition("_")[2] for name in listed}
    if len(set(listed)) > 1 and len(last) == 1 and all("_" in name for name in listed):
        return last.pop()  # home_team and away_team
    plain = next((name for name in listed if name not in ROLES), "")
    if plain or len(group) == 1:
        return plain or listed[0]
    return "user" if any(kind.fields & _OF_PERSONS for kind in group) else listed[0]


def _unique_field(rows: Sequence[Row]) -> str:
    """Return the field that identifies records, empty if none does."""
    for name in (*IDS, *filter(None, [addressed_field(rows)]), *NAMES):
        values = {identifier_in(row.get(name)) for row in rows}
        if None not in values and len(values) == len(rows):
            return name
    common = [name for name in rows[0] if all(_is_code(row.get(name)) for row in rows)] if len(rows) > 1 else []
    unique = [name for name in common if len({str(row[name]) for row in rows}) == len(rows)]
    return next((name for name in unique if ID.search(name)), "")


def _is_code(value: Any) -> bool:
    return identifier_in(value) is not None and not re.search(r"\s", str(value))


def identifiers(rows: Sequence[Row]) -> tuple[str, list[Any]]:
    """Return the column that identifies records, which may be in an object of theirs, and its values; empty without."""
    if own := _unique_field(rows):
        return own, [row[own] for row in rows]
    paths = [path for path, value in _fields(rows[0]) if identifier_in(value) and len(path) > 1] if rows else []
    for path in (path for path in paths if path[-1].lower().endswith("id") or path[-2] in IDS):
        values = [_at(row, path) for row in rows]
        if None not in map(identifier_in, values) and len(set(map(str, values))) == len(rows):
            return "_".join(path), values
    return "", []


def _at(row: Any, path: Path) -> Any:
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row


def name_persons(kind: RecordObjects) -> bool:
    """Give objects with the first and the last names of persons, and no other name, a name; return whether they have
    such names.

    Most have a last name; the others may have a first name only, or the only text that such an object has, such as
    the name of an organization.
    """
    pair = next((pair for pair in _PERSON_NAMES if set(pair) <= kind.fields), None)
    if pair is None or kind.fields & set(IDS):
        return False
    found = [_person_name(one, pair) for _, one in kind.objects]
    last = sum(identifier_in(one.get(pair[1])) is not None for _, one in kind.objects)
    if None not in found and 2 * last >= len(found):
        for (_, one), name in zip(kind.objects, found, strict=True):
            one["name"] = name
        return True
    return False


def are_named(objects: Iterable[Row]) -> bool:
    """Return whether objects have names, or first and last names of persons."""
    return all(any(name in one for name in NAMES) or any(set(pair) & set(one) for pair in _PERSON_NAMES)
               for one in objects)  # fmt: skip


def _person_name(one: Row, pair: tuple[str, str]) -> str | None:
    """Return the name that an object has, of its parts, or its only text; None if there is none."""
    if identifier_in(one.get("name")) is not None:
        return str(one["name"])
    spoken = (pair[0], *_PARTICLES, pair[1])
    if parts := [str(one[part]) for part in spoken if identifier_in(one.get(part)) is not None]:
        return " ".join(parts)
    if named := [str(one[name]) for name in NAMES if identifier_in(one.get(name)) is not None]:
        return named[0]
    texts = [value for value in one.values() if isinstance(value, str) and value]
    return texts[0] if len(texts) == 1 else None


def shared_name(kind: RecordObjects) -> str:
    """Return the field with short texts that objects of several records share, and that is named as a name."""
    for name in sorted(kind.fields):
        if name == "text" or name.lower().endswith("name"):
            values = [str(one[name]) for _, one in kind.objects if identifier_in(one.get(name)) is not None]
            short = sum(map(len, values)) <= _SHORT_NAME * len(values)
            if len(values) == len(kind.objects) and short and 2 * len(set(values)) <= len(values):
                return name
    return ""


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return a name with as many ``_`` after it as it takes not to be one of those taken."""
    while name in taken:
        name += "_"
    return name
