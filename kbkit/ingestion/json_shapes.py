"""JSON files whose rows are inside an object: a build reads a copy of them with one row a line.

Rows are the elements of a list (``{"data": [...]}``), one list of several (the table of the file), the features of
GeoJSON, or the members of an object of objects (``{"AD": {...}, "AE": {...}}``), each with its name as ``key``. Lists
of alike objects (``{"A": [...], "B": [...]}``) are one table, whose column ``group`` has the names of the lists.

Tables whose names start with ``$`` are those of :mod:`json_records`: ``$issues`` has the records of the list
``issues``, or of a file that has no such list, and ``$issues.user`` the objects inside of them; or those of
:mod:`json_resources`, which may be in several files. XML, YAML, OBO, GEDCOM and mailboxes are read as the
objects of JSON.
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.errors import INVALID_UNICODE, INVALID_UNICODE_HINT, BadInputError, NoRecordsError, UnknownNameError
from kbkit.ingestion import json_markers, json_resources
from kbkit.ingestion.json_documents import READERS, TAGGED, XML
from kbkit.ingestion.json_markers import LISTS
from kbkit.ingestion.json_objects import IDS, NAMES, RecordTable
from kbkit.ingestion.json_records import split
from kbkit.ingestion.json_resource_styles import may_have_resources
from kbkit.ingestion.json_same import linked, with_same_together
from kbkit.ingestion.json_trees import field_of_tree
from kbkit.ingestion.json_wholes import (
    KEYS,
    are_alike,
    lists_in,
    names_alone,
    own_fields,
    together,
    with_inner_lists,
    with_listed_members,
    with_own_record,
)
from kbkit.ingestion.recipe import FileSpec
from kbkit.ingestion.source_errors import MAX_LINE
from kbkit.ingestion.source_files import format_of, suffix
from kbkit.readers import bibliographies

_START, _MOST_BYTES = 1 << 16, 16 * MAX_LINE
_MOST_NESTED = 64 << 20
"""Bytes of a file in which objects inside of records are looked for."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LINES = (".jsonl", ".ndjson")
_GROUPS = ("group", "list", "section", "part")
"""Names of the column of the names of lists."""
_ALIKE = 0.7
"""Fraction of the fields of all lists that each must have, if they are one table."""
_MANY_LISTS, _NEARLY_ALL = 5, 0.8
"""Lists from which few values beside those of common fields are no other kind, and the fraction of the others."""
_FEWEST_FIELDS = _FEWEST_LISTS = 2
_MOST_BLANK = 1 << 10
"""Bytes at the start of a file in which its first two brackets are."""


def tables(path: Path) -> dict[str, int]:
    """Return the lists of objects in a file that holds one object, with their lengths; none if it has other rows."""
    return _tables(_object(path))


def ignored(path: Path) -> list[str]:
    """Return the members beside the lists of objects, which are in no table."""
    top = _object(path)
    found = _tables(top)
    if found and set(found) <= LISTS:  # of a page of records, which has numbers of pages beside them
        return [name for name, value in (top or {}).items() if isinstance(value, list | dict) and name not in found]
    own = own_fields(top or {})
    return [name for name in top or () if found and name not in found and name not in own]


def nested(path: Path, name: str) -> dict[str, RecordTable]:
    """Return the tables of the records of a file called ``name``, and of the objects inside of them, by their names in
    a recipe, to which their links lead; none if there are no such objects.
    """
    return _nested(path, name, path.stat().st_mtime_ns)


@functools.lru_cache(4)  # the inference asks twice, a build for each of the tables
def _nested(path: Path, name: str, _: int) -> dict[str, RecordTable]:
    lists = lists_in(top) if len(_tables(top := _object(path))) > 1 and top else {}
    result: dict[str, RecordTable] = {}
    plain: dict[str, RecordTable] = {}
    for of in lists or [name.replace(".", "_")]:
        found = {} if "." in of else _split(path, of)
        full = {part: f"${of}.{part}" if part else f"${of}" for part in found}
        for part, table in found.items():
            links = {column: (full[to] if by else "", by) for column, (to, by) in table.links.items()}
            result[full[part]] = dataclasses.replace(table, links=links)
        if not found and top and of in lists:
            plain[of] = RecordTable(top[of])
    same = with_same_together({**plain, **result})
    return _called(same, plain)


def _called(tables: Mapping[str, RecordTable], plain: Mapping[str, RecordTable]) -> dict[str, RecordTable]:
    """Return tables without lists that stay as they are, and with the ``$`` of records before changed ones."""
    changed = [name for name, table in tables.items() if name in plain and table.rows is not plain[name].rows]
    for name in changed:
        tables = {one if one != name else f"${name}": linked(table, name, f"${name}") for one, table in tables.items()}
    return {name: table for name, table in tables.items() if name not in plain}


def _split(path: Path, of: str) -> dict[str, RecordTable]:
    rows = _records(path, of)
    if suffix(path) == ".obo":
        known = {row["id"] for row in rows}
        lists = ((tag, value) for row in rows for tag, value in row.items() if isinstance(value, list))
        links = dict.fromkeys((tag for tag, value in lists if not known.isdisjoint(value)), ("", "id"))
        return {"": RecordTable([dict(row) for row in rows], "id", links, "name")}
    if suffix(path) == ".bib":
        links = {bibliographies.CROSSREF: ("", "key")} if any(bibliographies.CROSSREF in row for row in rows) else {}
        return {"": RecordTable([dict(row) for row in rows], "key", links, "title")}
    if suffix(path) in TAGGED and any("title" in row for row in rows):
        return {"": RecordTable([dict(row) for row in rows], named="title")}
    return json_resources.tables(json_resources.listed(rows)) or split(rows, of, elements=is_xml(path))


def _records(path: Path, of: str) -> Sequence[Mapping[str, Any]]:
    """Return the records of a file, or of one of its lists; none if they are too many, or no objects."""
    top = _object(path)
    rows = _parsed(path) if top is None else _rows(path, of if of in lists_in(top) else "")
    listed = list(rows) if rows is not None else [top] if top is not None else []
    return listed if all(isinstance(row, dict) for row in listed) else []


def _parsed(path: Path) -> list[Any] | None:
    """Return the content of a file with a list, or with an object a line."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as handle:
            content = handle.read(_MOST_NESTED + 1)
        if len(content) > _MOST_NESTED:
            return None
        text = content.decode("utf-8-sig")
        if text.lstrip().startswith("["):
            found = _loaded(text, path)
            return found if isinstance(found, list) else None
        return [_loaded(line, path) for line in text.splitlines() if line.strip()]
    except (OSError, EOFError, ValueError, RecursionError):  # which DuckDB reports, with the line
        return None


def _loaded(text: str, path: Path) -> Any:
    """Return the value of JSON. Raises :class:`BadInputError` for an unpaired surrogate, which no file can have."""
    found = json.loads(text)
    if _SURROGATE.search(text):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise BadInputError(f"{INVALID_UNICODE} in {path}", INVALID_UNICODE_HINT) from None
    return found


def _tables(top: Mapping[str, Any] | None) -> dict[str, int]:
    return {} if top is None or json_markers.is_geojson(top) or _are_groups(top) else lists_in(top)


def reshape(specs: Iterable[FileSpec], found: Mapping[str, Sequence[Path]], folder: Path) -> dict[str, list[Path]]:
    """Return the files with copies below ``folder`` in place of JSON files whose rows are inside an object.

    Raises :class:`UnknownNameError` if a file lacks the table of its specification.
    """
    result = {name: list(paths) for name, paths in found.items()}
    together: dict[tuple[object, ...], Path] = {}
    for spec in specs:
        if spec.reader or spec.converter:
            continue
        paths = result.get(spec.name, [])
        several = spec.folder or spec.file or (spec.many and spec.table)
        if several and paths and (spec.format or format_of(paths[0])) == "json":
            files = (*paths, spec.folder, spec.file)
            if files not in together:  # several tables are in the same files
                together[files] = _combined(spec, paths, folder / f"{spec.name}-combined")
            result[spec.name] = [together[files]]
        for number, path in enumerate(result.get(spec.name, [])):
            if (spec.format or format_of(path)) == "json" and (rows := _rows(path, spec.table)) is not None:
                result[spec.name][number] = copy_of(rows, folder / f"{spec.name}-{number}-rows" / path.name)
    return result


def _combined(spec: FileSpec, paths: Sequence[Path], folder: Path) -> Path:
    """Return a copy of the records of all files of a specification, or of their lists of records."""
    if spec.table and not (spec.folder or spec.file) and (top := one_of_alike(paths)):
        return copy_of_object(top, folder / f"{spec.name}.json")
    return copy_of(combined(paths, spec.folder, spec.file), folder / f"{spec.name}.jsonl")


def copy_of(rows: Iterable[Mapping[str, Any]], target: Path) -> Path:
    """Write rows to a new folder, one a line, and return the file."""
    target.parent.mkdir(parents=True)
    target = target.with_suffix("") if target.suffix.lower() == ".gz" else target
    with target.open("w", encoding="utf-8", newline="\n") as copy:
        copy.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return target


def one_of_alike(paths: Sequence[Path]) -> dict[str, list[dict[str, Any]]] | None:
    """Return the lists of all files together, None unless each holds an object with several lists, all alike."""
    tops = [top for top in map(_object, paths) if top]
    return together(tops) if len(tops) == len(paths) > 1 and are_alike(tops) else None


def copy_of_object(top: Mapping[str, Any], target: Path) -> Path:
    """Write an object to a new folder, and return the file."""
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(top, ensure_ascii=False), encoding="utf-8", newline="\n")
    return target


def _rows(path: Path, table: str) -> Iterable[Mapping[str, Any]] | None:
    """Return the rows inside the object of a file, None if DuckDB reads the file as it is."""
    top = _object(path)
    if table.startswith("$"):
        found = nested(path, table.removeprefix("$").partition(".")[0])
        if table not in found:
            raise UnknownNameError("table", table, list(found), str(path))
        return found[table].rows
    if top is None:
        if table:
            raise BadInputError(f"{path} has no tables to choose from")
        return None
    lists = lists_in(top)
    if table and table not in lists:
        raise UnknownNameError("table", table, list(lists), str(path))
    if json_markers.is_geojson(top):
        return map(json_markers.feature, top["features"])
    if not table and _are_groups(top):
        group = next(name for name in _GROUPS if not any(name in row for rows in top.values() for row in rows))
        return [{group: name, **row} for name, rows in top.items() for row in rows]
    if table or len(lists) == 1:
        rows: list[Mapping[str, Any]] = top[table or next(iter(lists))]
        return rows
    return _keyed(top)


def _object(path: Path) -> dict[str, Any] | None:
    """Return the content of a file that is one object; None for lists, lines of objects and what is no JSON."""
    if (reader := READERS.get(suffix(path))) is not None:
        top = reader(path, path.stat().st_mtime_ns)
        return with_listed_members(with_inner_lists(top))
    return None if suffix(path) in _LINES else _json_object(path)


def _json_object(path: Path) -> dict[str, Any] | None:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as handle:
            start = handle.read(_START)
            first = re.sub(rb"\s", b"", start.removeprefix(b"\xef\xbb\xbf")[:_MOST_BLANK])[:2]
            if not first.startswith((b"{", b"[[", b'["')) or _is_lines(start):
                return None
            rest = handle.read(_MOST_BYTES)
            if handle.read(1):  # DuckDB refuses it, with the limit
                return None
            top = _loaded((start + rest).decode("utf-8-sig"), path)
    except (OSError, EOFError, ValueError, RecursionError):  # which DuckDB reports, with the line
        return None
    if isinstance(top, list):
        return {"rows": rows} if (rows := json_markers.with_header(top)) else names_alone(top) or None
    return _with_resources(top) if isinstance(top, dict) else None


def _with_resources(top: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the list of its resources, or of its names; without any, with lists in place of their
    wrappers.
    """
    if named := names_alone(top):
        return {**top, **named}
    found = json_resources.listed(top) or json_markers.bindings(top) or json_markers.split_rows(top)
    found = found or json_markers.named_values(top)
    if not found and field_of_tree([top]) and any(isinstance(top.get(name), str) for name in (*NAMES, *IDS)):
        found = [top]  # the root of a tree
    return (
        {"records": found}
        if found
        else with_own_record(with_listed_members(with_inner_lists(json_markers.without_wrappers(top))))
    )


def is_xml(path: Path) -> bool:
    """Return whether a file is read as XML."""
    return suffix(path) in XML


def is_yaml(path: Path) -> bool:
    """Return whether a file is read as YAML."""
    return suffix(path) in (".yaml", ".yml")


def why_no_records(path: Path) -> str:
    """Return why an XML or YAML file has no records, empty if it has some: settings have none, or tags that only their
    program knows. Raises :class:`BadInputError` for damaged XML.
    """
    try:
        if is_yaml(path):
            top = _object(path) or {}
            found = bool(lists_in(top)) or _keyed(top) is not None
        else:
            found = not is_xml(path) or bool(_object(path))
    except NoRecordsError:
        found = False
    except BadInputError as error:
        if is_yaml(path):
            return error.message
        raise
    return "" if found else "no list of records"


def _is_lines(start: bytes) -> bool:
    """Return whether a file has an object a line, judged by its first line."""
    first, _, rest = start.strip().partition(b"\n")
    try:
        json.loads(first.decode("utf-8-sig"))
    except ValueError:
        return False
    return bool(rest.strip())


def _are_groups(top: Mapping[str, Any]) -> bool:
    """Return whether an object has nothing but lists of objects of one kind, some of which may be empty.

    Each list has most of the fields of all; or there are many lists, and the fields that all of them have hold nearly
    all values: those of some members of a committee, such as their office, are in few lists.
    """
    lists = lists_in(top)
    if len(lists) < _FEWEST_LISTS or any(value != [] for name, value in top.items() if name not in lists):
        return False
    fields = [{name for row in top[name] for name in row} for name in lists]
    every, common = set().union(*fields), set.intersection(*fields)
    if set(_GROUPS) <= every or len(every) <= _FEWEST_FIELDS:
        return False
    if all(len(one) >= _ALIKE * len(every) for one in fields):
        return True
    values = Counter(name in common for rows in top.values() for row in rows for name in row)
    return len(top) >= _MANY_LISTS and len(common) > _FEWEST_FIELDS and values[True] >= _NEARLY_ALL * values.total()


def _keyed(top: Mapping[str, Any]) -> Iterator[dict[str, Any]] | None:
    """Return the members of an object of objects that have a field in common, with their names; None for others."""
    members = [value for value in top.values() if isinstance(value, dict)]
    if len(members) < 2 or len(members) < len(top) or not set.intersection(*map(set, members)):
        return None
    key = next(name for name in (*KEYS, "\0") if not any(name in row for row in members))
    return ({key: name, **row} for name, row in top.items()) if key != "\0" else None


def resources(path: Path) -> Sequence[Mapping[str, Any]]:
    """Return the resources of :mod:`json_resources` in a file; none if it holds anything else."""
    try:
        with path.open("rb") as handle:
            start = handle.read(_START)
        rows = records(path) if may_have_resources(start) else []
    except (BadInputError, OSError):
        return []
    return rows if rows and json_resources.listed(rows) == rows else []


# -- several files ----------------------------------------------------------------------------------------------------


def records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON file: the objects of its list or lines, or its only object.

    Raises :class:`BadInputError` for another file.
    """
    hint = "Remove it, or name the files of a folder one by one"
    if path.stat().st_size > _MOST_NESTED:
        raise BadInputError(f"{path} is too large to be read with others", hint)
    if is_yaml(path) or suffix(path) in (".bib", ".obo"):
        top = _object(path) or {}
        return top["records"] if list(top) == ["records"] else [top]
    try:
        text = path.read_text(encoding="utf-8-sig")
        try:
            found = json.loads(text)
        except ValueError:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError, OSError) as error:
        raise BadInputError(f"{path} is not JSON: {str(error)[:100]}", hint) from None
    rows = json_resources.listed(found) or (found if isinstance(found, list) else [found])
    if not all(isinstance(row, dict) for row in rows):
        raise BadInputError(f"{path} does not hold records like the other files", hint)
    return rows


def combined(paths: Iterable[Path], folder: str, file: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of several files, with the columns of the names of their folders and files, if these are given.

    Raises the errors of :func:`records`.
    """
    for path in paths:
        names = {**({folder: path.parent.name} if folder else {}), **({file: path.stem} if file else {})}
        for row in records(path):
            yield {**names, **row}
