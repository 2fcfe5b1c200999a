"""Records that state their kind and refer to others by kind and identifier: a table for each kind.

They are in one list or in several files, and are found by their shape; see :mod:`json_resource_styles`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kbkit.ingestion.json_objects import RecordTable
from kbkit.ingestion.json_records import MAIN, records_of_kind
from kbkit.ingestion.json_resource_styles import (
    STYLES,
    KnownResources,
    Resource,
    ResourceReference,
    ResourceStyle,
    Row,
)

KEY = "id"
"""The column with the identifiers of resources."""
Path = tuple[str, ...]


def listed(content: Any) -> list[dict[str, Any]]:
    """Return the resources in the content of a JSON file; none if it holds anything else."""
    rows = content if isinstance(content, list) else [content]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return []
    for style in STYLES:
        found = [one for row in rows for one in style.documents(row)]
        if found and all(isinstance(one, dict) and style.fits(one) for one in found):
            return found
    return []


def tables(rows: Sequence[Row]) -> dict[str, RecordTable]:
    """Return the tables of resources, by the names of their kinds; empty if the rows are not resources."""
    style = next((style for style in STYLES if rows and all(style.fits(row) for row in rows)), None)
    if style is None:
        return {}
    known = KnownResources()
    of_kind: dict[str, list[Resource]] = defaultdict(list)
    for one in _merged([style.read(row) for row in rows]):
        of_kind[one.kind].append(one)
        known.keys[one.kind].add(one.key)
        known.also |= dict.fromkeys(one.also, ResourceReference(one.kind, one.key))
    names = _table_names(list(of_kind))
    result: dict[str, RecordTable] = {}
    for kind, name in names.items():
        own = [_read_fields(one.fields, style, known) for one in of_kind[kind]]
        own = style.resolve(own, kind, known)
        own = _without_single_lists(own) if style.single else own
        table = _table([{KEY: one.key, **fields} for one, fields in zip(of_kind[kind], own, strict=True)], names)
        parts = records_of_kind(table.rows, name, {*names.values(), *result})
        for part, inside in parts.items():
            own_links = {column: (to or name, by) for column, (to, by) in inside.links.items()}
            if part == MAIN:
                result[name] = RecordTable(inside.rows, KEY, {**own_links, **table.links}, _name_field(inside.rows))
            else:
                result[part] = RecordTable(inside.rows, inside.key, own_links)
    return result


def _merged(resources: Sequence[Resource]) -> list[Resource]:
    """Return resources without repeated ones, which several documents have."""
    found: dict[tuple[str, str], Resource] = {}
    for one in resources:
        same = found.setdefault((one.kind, one.key), one)
        same.fields = {**one.fields, **{name: value for name, value in same.fields.items() if value is not None}}
    return list(found.values())


def _table_names(kinds: Sequence[str]) -> dict[str, str]:
    """Return the names of tables of kinds: ``tags`` of ``taxonomy_term--tags``, unless another kind is called so."""
    last = {kind: re.split(r"--|[./:]", kind)[-1] or kind for kind in kinds}
    folded = Counter(name.casefold() for name in last.values())
    whole = {kind: re.sub(r"\W+", "_", kind) for kind in kinds}
    return {kind: re.sub(r"\W+", "_", name) if folded[name.casefold()] == 1 else whole[kind]
            for kind, name in last.items()}  # fmt: skip


def _name_field(rows: Sequence[Row]) -> str:
    """Return the field with the meaning of a code, which is the name of resources without a name; empty if none is."""
    if any("name" in row or "title" in row for row in rows):
        return ""
    concepts = {name for row in rows for name in row if f"{name}_code" in row}
    ranked = sorted(name for name in concepts if re.search("[cC](ode|oncept)$", name))
    ranked += ["type"] if "type" in concepts else []
    return next((name for name in ranked if all(isinstance(row.get(name), str) for row in rows)), "")


# -- fields -----------------------------------------------------------------------------------------------------------


def _read_fields(fields: Row, style: ResourceStyle, known: KnownResources) -> dict[str, Any]:
    """Return the fields of a resource with references, names and meanings of codes in place of their objects."""
    result: dict[str, Any] = {}
    for name, value in fields.items():
        values = value if isinstance(value, list) else [value]
        concepts = [found for one in values if (found := style.concept(one))]
        if concepts and len(concepts) == len(values):
            texts, codes = ([one[place] for one in concepts] for place in (0, 1))
            result |= {name: texts if isinstance(value, list) else texts[0]}
            result |= {f"{name}_code": codes if isinstance(value, list) else codes[0]} if any(codes) else {}
        elif (read := _read(value, style, known)) not in _NOTHING:
            result[name] = read
    return result


def _read(value: Any, style: ResourceStyle, known: KnownResources) -> Any:
    if (reference := style.refer(value, known)) is not None:
        return reference
    if (simple := style.simplify(value)) is not None:
        return simple
    if isinstance(value, list):
        return [read for one in value if (read := _read(one, style, known)) not in _NOTHING]
    if not isinstance(value, dict):
        return value
    result = _read_fields(value, style, known)
    only = next(iter(result.values())) if len(result) == 1 else None
    return only if _are_references(only) else result


_NOTHING: tuple[Any, ...] = (None, "", {}, [])


def _without_single_lists(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows with the element of each list of which no row has several."""
    longest: Counter[Path] = Counter()

    def measure(value: Any, path: Path) -> None:
        if isinstance(value, list):
            longest[path] = max(longest[path], len(value))
        for name, one in ((n, o) for v in (value if isinstance(value, list) else [value]) for n, o in _members(v)):
            measure(one, (*path, name))

    def shortened(value: Any, path: Path) -> Any:
        if isinstance(value, list):
            each = [shortened(one, path) for one in value]
            return each if longest[path] > 1 else (each[0] if each else None)
        return {n: shortened(o, (*path, n)) for n, o in value.items()} if isinstance(value, dict) else value

    for row in rows:
        measure(row, ())
    return [shortened(row, ()) for row in rows]


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    yield from value.items() if isinstance(value, dict) else ()


# -- references -------------------------------------------------------------------------------------------------------


def _are_references(value: Any) -> bool:
    return isinstance(value, ResourceReference) or (
        isinstance(value, list) and value != [] and all(isinstance(one, ResourceReference) for one in value)
    )


def _table(rows: Sequence[Row], names: Mapping[str, str]) -> RecordTable:
    """Return rows with columns of keys in place of references: one for each kind that a field refers to."""
    taken = [_taken(row) for row in rows]
    kinds: dict[Path, dict[str, None]] = defaultdict(dict)
    many: set[tuple[Path, str]] = set()
    for _, found in taken:
        for path, references in found.items():
            counts = Counter(one.kind for one in references)
            kinds[path] |= dict.fromkeys(counts)
            many |= {(path, kind) for kind, count in counts.items() if count > 1}
    links: dict[str, tuple[str, str]] = {}
    result = [row for row, _ in taken]
    for path, of in kinds.items():
        for kind in of:
            column = "_".join(path if len(of) == 1 else (*path, names[kind]))
            links[column] = (names[kind], KEY)
            for row, found in taken:
                keys = [one.key for one in found.get(path, ()) if one.kind == kind]
                row[column] = keys if (path, kind) in many else next(iter(keys), None)
    return RecordTable(result, KEY, links)


def _taken(row: Row) -> tuple[dict[str, Any], dict[Path, list[ResourceReference]]]:
    """Return a row without references, and these by their path."""
    found: dict[Path, list[ResourceReference]] = defaultdict(list)

    def rest(value: Any, path: Path) -> Any:
        if isinstance(value, ResourceReference):
            found[path].append(value)
            return None
        if isinstance(value, list):
            each = [rest(one, path) for one in value]
            return [one for one in each if one not in (None, {})]
        if isinstance(value, dict):
            return {name: one for n, o in value.items() if (one := rest(o, (*path, (name := n)))) not in (None, [], {})}
        return value

    return rest(row, ()), found
