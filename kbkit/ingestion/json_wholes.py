"""The object of a whole JSON file with several lists of records: a record of its own, and one of several alike files.

A file of a board has its name and address beside the lists of its cards and columns, which refer to it (``idBoard``).
Such files in one folder, one for each board, are read as one: with the records of all of them in each list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kbkit.ingestion.json_markers import LISTS
from kbkit.ingestion.json_objects import IDS, NAMES

_SCALARS = (str, int, float)
_FEWEST_LISTS = 2
_ALIKE = 0.8
"""Fraction of the members of two objects that both must have."""
_MOST_OWN = 8
"""Texts and numbers beside the object with the lists of a file: its state, how many there are."""
_FEWEST_ROWS, _NEARLY = 3, 0.7
"""Objects of an object from which they are rows, and the fraction of them that have a field in common."""
KEYS = ("key", "code", "entry")
"""Names of the column of the members' names: the first that no row has."""
_OF_OTHER = re.compile(r"(?:fk_?|id_?)([A-Z][A-Za-z]*|[a-z_]{2,})|([A-Za-z][A-Za-z_]*?)_?(?:[iI]d|ID|uuid)")
"""Names of fields with the identifier of something else: ``idBoard``, ``board_id``."""


def lists_in(top: Mapping[str, Any]) -> dict[str, int]:
    """Return the members that are lists of objects, with their lengths."""
    return {
        name: len(value)
        for name, value in top.items()
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    }


def with_inner_lists(top: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the members of its only object that holds lists of records, if it has none itself
    (``{"meta": {...}, "data": {"authors": [...], "books": [...]}}``), and is no record with an identifier or a name.
    """
    own = [value for value in top.values() if isinstance(value, _SCALARS)]
    is_record = any(isinstance(top.get(name), _SCALARS) for name in (*IDS, *NAMES))
    if lists_in(top) or is_record or len(own) > _MOST_OWN or any(isinstance(one, list) and one for one in top.values()):
        return top
    inside = {name: one for name, one in top.items() if isinstance(one, dict)}
    holders = [name for name, one in inside.items() if _holds_lists(one)]
    if len(holders) != 1 or (len(inside) > 1 and holders[0] not in LISTS and not _is_like_meta(inside, holders[0])):
        return top
    inner = with_inner_lists(inside[holders[0]])
    return {**{name: one for name, one in top.items() if name != holders[0] and name not in inner}, **inner}


def _holds_lists(one: Mapping[str, Any]) -> bool:
    return lists_in(one) != {} or any(isinstance(value, dict) and _holds_lists(value) for value in one.values())


def _is_like_meta(inside: Mapping[str, dict[str, Any]], holder: str) -> bool:
    """Return whether the objects beside the one with lists hold nothing but texts and numbers."""
    others = [value for name, one in inside.items() if name != holder for value in one.values()]
    return all(value is None or isinstance(value, _SCALARS) for value in others)


def with_listed_members(top: dict[str, Any]) -> dict[str, Any]:
    """Return an object with lists of rows in place of its objects of alike objects: the packages of a lock file, beside
    its version. A member without a name is what the whole is about.
    """
    maps = [name for name, one in top.items() if isinstance(one, dict) and _are_members_alike(one)]
    members = [one for one in top.values() if isinstance(one, dict)]
    if not maps or len(top) < _FEWEST_LISTS or (len(members) == len(top) and set.intersection(*map(set, members))):
        return top
    result = dict(top)
    for name in maps:
        rows = top[name]
        key = next((one for one in KEYS if not any(one in row for row in rows.values())), "")
        listed = [{key: own or top.get("name"), **row} for own, row in rows.items()]
        result[name] = listed if key else rows
    return result


def _are_members_alike(one: Mapping[str, Any]) -> bool:
    """Return whether an object has several objects and nothing else, most of which have a field in common."""
    rows = [row for row in one.values() if isinstance(row, dict)]
    fields = Counter(name for row in rows for name in row)
    return _FEWEST_ROWS <= len(rows) == len(one) and max(fields.values(), default=0) >= _NEARLY * len(rows)


def names_alone(value: Any) -> dict[str, list[dict[str, Any]]]:
    """Return a row with a name for each text of a list of different texts: the whole file, or the only list of an
    object that has no name itself (``{"description": "Planets", "planets": ["1 Ceres", "2 Pallas"]}``).
    """
    top = {"rows": value} if isinstance(value, list) else value
    lists = {name: one for name, one in top.items() if isinstance(one, list | dict)}
    only = next(iter(lists), "")
    texts = lists.get(only, [])
    own = len(lists) == 1 and len(top) - 1 <= _MOST_OWN and not any(name in top for name in (*NAMES, *IDS))
    if not own or isinstance(texts, dict) or not all(isinstance(one, str) and one for one in texts):
        return {}
    alike = _FEWEST_TEXTS <= len(texts) == len({*texts}) and max(map(len, texts)) <= _LONGEST_NAME
    return {only: [{"name": one} for one in texts]} if alike else {}


_FEWEST_TEXTS, _LONGEST_NAME = 10, 100


def with_own_record(top: dict[str, Any]) -> dict[str, Any]:
    """Return the object of a file with a list of itself, without its lists and objects, if its records refer to it.

    The list has the name of the fields that refer to it.
    """
    lists = lists_in(top)
    key = next((name for name in IDS if isinstance(top.get(name), str | int)), "")
    if len(lists) < _FEWEST_LISTS or not key or not top[key]:
        return top
    own, counts = str(top[key]), Counter[str]()
    for rows in (top[name] for name in lists):
        for row in rows:
            counts.update({name for name, value in row.items() if _OF_OTHER.fullmatch(name) and str(value) == own})
    for name, _ in counts.most_common():
        found = _OF_OTHER.fullmatch(name)
        noun = (found[1] or found[2]).strip("_") if found else ""
        noun = noun[:1].lower() + noun[1:]
        if noun and not any(one.casefold() in (noun.casefold(), f"{noun}s".casefold()) for one in top):
            return {**top, noun: [{field: value for field, value in top.items() if isinstance(value, _SCALARS)}]}
    return top


def own_fields(top: Mapping[str, Any]) -> set[str]:
    """Return the members that are in the list that :func:`with_own_record` adds; none without it."""
    key = next((name for name in IDS if isinstance(top.get(name), str | int)), "")
    rows = [top[name][0] for name, length in lists_in(top).items() if key and length == 1]
    own = [row for row in rows if row.get(key) == top[key] and all(top.get(name) == row[name] for name in row)]
    return set(own[0]) if own else set()


def are_alike(tops: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether objects of files have several lists of records each, nearly the same members, and no identifier
    in common but of the same records.
    """
    every: set[str] = set().union(*tops)
    common = set(tops[0]).intersection(*tops[1:]) if tops else set()
    shared = [name for name in common if all(isinstance(top[name], list) for top in tops)]
    several = all(len(lists_in(top)) >= _FEWEST_LISTS for top in tops) and len(shared) >= _FEWEST_LISTS
    return several and len(common) >= _ALIKE * len(every) and not any(_clash(tops, name) for name in shared)


def _clash(tops: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Return whether most records of a list with an identifier in common are different ones, such as number 1 of each
    file.
    """
    rows = [row for top in tops for row in top[name] if isinstance(row, dict)]
    key, known, same = _key(rows), dict[str, Mapping[str, Any]](), Counter[bool]()
    for row in rows if key else ():
        own = known.setdefault(str(row[key]), row)
        fields = [one for one in row if one != key and isinstance(row[one], _SCALARS) and own.get(one) is not None]
        equal = sum(own[one] == row[one] for one in fields)
        same[2 * equal >= len(fields)] += own is not row
    return same[False] > same[True]


def together(tops: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return one object with the lists of all: records with the same identifier are one record."""
    result: dict[str, list[dict[str, Any]]] = {}
    for top in tops:
        for name in lists_in(top):
            result.setdefault(name, []).extend(top[name])
    return {name: _merged(rows) for name, rows in result.items()}


def _key(rows: Sequence[Mapping[str, Any]]) -> str:
    return next((name for name in IDS if all(isinstance(row.get(name), str | int) for row in rows)), "")


def _merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records of which those with the same identifier are one, with the first value of each field."""
    key, found = _key(rows), dict[str, dict[str, Any]]()
    for row in rows:
        own = found.get(str(row[key]), {}) if key else {}
        given = {name: value for name, value in own.items() if value is not None}
        found[str(row[key]) if key else str(len(found))] = {**row, **given}
    return list(found.values())
