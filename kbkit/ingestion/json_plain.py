"""What is read instead of the fields of records, before the records inside of them are looked for.

- a wrapper of the fields (``{"id": 1, "fields": {"name": "A"}}``): the fields;
- names in several languages: the English one;
- pairs of the name and the value of an attribute (``[{"name": "colour", "value": "red"}]``): the attribute;
- a name in a list of its own: the name;
- a text or number alone, where most records have a list of them: a list;
- objects that hold nothing but another one and its name again (``{"name": "A", "artist": {"id": 1, "name": "A"}}``) in
  lists: the other one;
- an identifier or a name alone, where others have the whole object: an object.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from kbkit.ingestion import json_markers
from kbkit.ingestion.json_objects import IDS, NAMES, Row, are_named

_WRAPPERS = ("fields", "attributes", "properties", "_source")
"""Fields with the fields of a record, beside its identifier."""
_MOST_BESIDE = 20
"""Fields beside a wrapper: the id, the type, the address of a record."""
_PAIRS = (
    *((name, value) for name in ("key", "k", "name", "type", "property", "attribute", "field", "label", "trait_type")
      for value in ("value", "v", "val", "content", "text")),
    ("type", "identifier"), ("type", "number"), ("type", "id"),
)  # fmt: skip
"""Fields with the name and the value of an attribute."""
_MOST_ATTRIBUTES = 50
_SCALARS = (str, int, float)
_PAIR = 2


def plain_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return records as they are read; see above."""
    wrapped = Counter(_wrapper(row) for row in rows)
    found = [_unwrapped(json_markers.plain(row)) for row in rows]
    for wrapper in (name for name, count in wrapped.items() if name and count == len(rows)):
        found = [{name: _all_unwrapped(value, wrapper) for name, value in row.items()} for row in found]
    found = _with_single_names(_with_whole_lists(found))
    return _with_objects([_with_named_objects(row) for row in _with_lists(found)])


def _with_whole_lists(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with a list of one for each text or number alone in a field of which most are lists of these."""
    lists, alone = Counter[str](), Counter[str]()
    for row in rows:
        lists.update(name for name, value in row.items() if isinstance(value, list) and _are_scalars(value))
        alone.update(name for name, value in row.items() if isinstance(value, _SCALARS))
    mixed = {name for name, count in alone.items() if count < lists[name]}
    if not mixed:
        return rows
    changed = ({name: [row[name]] for name in mixed if isinstance(row.get(name), _SCALARS)} for row in rows)
    return [{**row, **one} for row, one in zip(rows, changed, strict=True)]


def _are_scalars(values: Sequence[Any]) -> bool:
    return all(isinstance(one, _SCALARS) for one in values)


def _with_single_names(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with the text of each name that is a list of one text in all of them (``{"title": ["A"]}``)."""
    lists = [name for name in NAMES if any(isinstance(row.get(name), list) for row in rows)]
    single = [name for name in lists if all(_is_single(row.get(name)) for row in rows)]
    if not single:
        return rows
    return [{name: (value[0] if value else None) if name in single and value is not None else value
             for name, value in row.items()} for row in rows]  # fmt: skip


def _is_single(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) <= 1 and all(isinstance(one, str) for one in value))


def _with_named_objects(row: dict[str, Any]) -> dict[str, Any]:
    """Return a record with an object for each name alone in a list of objects with names."""
    changed = {}
    for name, value in row.items():
        if isinstance(value, list) and {str, dict} == set(map(type, value)):
            objects = [one for one in value if isinstance(one, dict)]
            if are_named(objects):
                changed[name] = [{"name": one} if isinstance(one, str) else one for one in value]
    return {**row, **changed} if changed else row


def _with_objects(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with an object for an identifier alone, in a field that has the whole object in other records."""
    whole: dict[str, list[dict[str, Any]]] = {}
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, dict):
                whole.setdefault(name, []).append(value)
            if value is not None:
                kinds.setdefault(name, set()).add(type(value))
    keys: dict[str, str] = {}
    for name in (name for name in whole if kinds[name] == {dict, str}):
        key = next((one for one in IDS if all(isinstance(each.get(one), str) for each in whole[name])), "")
        keys |= {name: key} if key else {}
    alone = ({name: {keys[name]: row[name]} for name in keys if isinstance(row.get(name), str)} for row in rows)
    return [{**row, **objects} for row, objects in zip(rows, alone, strict=True)] if keys else rows


def _wrapper(row: Row) -> str:
    """Return the field that holds the fields of a record, empty without one."""
    wrapper = next((name for name in _WRAPPERS if isinstance(row.get(name), dict)), "")
    others = {name: value for name, value in row.items() if name != wrapper}
    return wrapper if wrapper and not set(others) & set(row[wrapper]) and len(others) <= _MOST_BESIDE else ""


def _unwrapped(row: Row) -> dict[str, Any]:
    """Return a record with the fields of its only wrapper as its own, unless it has such fields."""
    wrapper = _wrapper(row)
    return _translated({**{n: v for n, v in row.items() if n != wrapper}, **row[wrapper]} if wrapper else row)


def _all_unwrapped(value: Any, wrapper: str) -> Any:
    """Return a value with the objects in it that have the wrapper of the records, and an identifier, without it."""
    if isinstance(value, list):
        return [_all_unwrapped(one, wrapper) for one in value]
    if not isinstance(value, dict):
        return value
    is_record = _wrapper(value) == wrapper and any(name in value for name in IDS)
    return {name: _all_unwrapped(one, wrapper) for name, one in (_unwrapped(value) if is_record else value).items()}


def _translated(row: Row) -> dict[str, Any]:
    """Return a record with the English name in place of an object of names in several languages."""
    result: dict[str, Any] = {}
    for name, value in row.items():
        is_one = isinstance(value, dict) and name in NAMES and isinstance(value.get("en"), str) and len(value) > 1
        if is_one and all(len(code) == len("en") for code in value) and f"{name}_languages" not in row:
            result |= {name: value["en"], f"{name}_languages": value}
        else:
            result[name] = value
    return result


# -- attributes -------------------------------------------------------------------------------------------------------

_Path = tuple[str, ...]


def _with_lists(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with attributes in place of lists of pairs, and objects in place of those around them, at any
    depth.
    """
    places: dict[_Path, list[list[Any]]] = defaultdict(list)
    for row in rows:
        _find_lists(row, (), places)
    pairs = {path: pair for path, lists in places.items() if (pair := _pair_of(lists))}
    around = {path: name for path, lists in places.items() if (name := _inner_of(lists))}
    return [_folded(row, (), pairs, around) for row in rows] if pairs or around else rows


def _find_lists(value: Any, path: _Path, places: dict[_Path, list[list[Any]]]) -> None:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        places[path].append(value)
        for one in value:
            _find_lists(one, path, places)
    elif isinstance(value, dict):
        for name, one in value.items():
            _find_lists(one, (*path, name), places)


def _pair_of(lists: Sequence[list[Any]]) -> tuple[str, str] | None:
    """Return the fields with the names and the values of attributes in lists; None if they are no attributes.

    The names of a list differ, and those of all lists are few: they say something about the records, and are no data.
    """
    first = lists[0][0]
    pair = next((pair for pair in _PAIRS if first.keys() == {*pair}), None)
    if pair is None or any(not isinstance(one, dict) or one.keys() != {*pair} for each in lists for one in each):
        return None
    names = [[one[pair[0]] for one in each] for each in lists]
    known = Counter(name for each in names for name in each if isinstance(name, str) and name)
    values = all(isinstance(one[pair[1]], _SCALARS) or one[pair[1]] is None for each in lists for one in each)
    few = len(known) <= min(_MOST_ATTRIBUTES, known.total() / _PAIR)
    differ = all(len({*each}) == len(each) for each in names) and known.total() == sum(map(len, names))
    return pair if values and few and differ else None


def _inner_of(lists: Sequence[list[Any]]) -> str:
    """Return the field of objects in lists with an object that they say nothing more about; empty if there is none."""
    objects = [one for each in lists for one in each]
    first = objects[0]
    inner = [name for name, value in first.items() if isinstance(value, dict) and any(key in value for key in IDS)]
    name: str = inner[0] if len(inner) == 1 else ""
    if not name or len(first) < _PAIR or not all(isinstance(one, dict) for one in objects):
        return ""
    for one in objects:
        of = one.get(name)
        known = {of.get(field) for field in NAMES} if isinstance(of, dict) else set()
        others = [value for field, value in one.items() if field != name]
        if not known or not all(value in (None, "") or (isinstance(value, str) and value in known) for value in others):
            return ""
    return name


def _folded(value: Any, path: _Path, pairs: dict[_Path, tuple[str, str]], around: dict[_Path, str]) -> Any:
    if isinstance(value, list):
        inner = around.get(path)
        found = [one[inner] for one in value] if inner else value
        own = (*path, inner) if inner else path
        return [_folded(one, own, pairs, around) if isinstance(one, dict | list) else one for one in found]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    added: dict[str, Any] = {}
    for name, one in value.items():
        if (pair := pairs.get((*path, name))) and isinstance(one, list):
            for each in one:
                of = str(each[pair[0]])
                added[of if of not in value and of not in added else f"{name}_{of}"] = each[pair[1]]
        else:
            inner = around.get((*path, name), "")
            result[inner if inner and inner not in value else name] = _folded(one, (*path, name), pairs, around)
    return {**result, **added}
