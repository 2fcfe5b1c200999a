"""Read what a folder declares about its tables: keys, foreign keys, names of columns, and delimiters.

Such files lie beside the tables: ``datapackage.json`` (Frictionless), ``*-metadata.json`` (CSV on the Web),
``meta.xml`` (Darwin Core archives) and ``.sql`` with ``CREATE TABLE``. Their content is untrusted: it names files
below its own folder only, and :func:`check` drops what the rows contradict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from kbkit.errors import BadInputError
from kbkit.ingestion import archives, source_files, sources
from kbkit.ingestion.inference.keys import is_unique
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.recipe import FileSpec
from kbkit.readers import stored, xml_records
from kbkit.readers.sql_tables import SqlTable, created_tables

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_MOST_BYTES = 8 << 20
_DATA_PACKAGE, _METADATA, _ARCHIVE, _SQL = "datapackage.json", "-metadata.json", "meta.xml", ".sql"
Names = tuple[str | int, ...]
"""Columns by name, or by position where the declaration counts them."""


@dataclass(frozen=True)
class DeclaredTable:
    """What a file declares about a table: ``key``, and ``links`` (columns, file, its columns; none: its key).

    ``names`` are those of the columns of a file without a header line, ``spec`` are fields of its specification.
    """

    source: Path
    key: Names = ()
    links: tuple[tuple[Names, Path, Names], ...] = ()
    names: tuple[str, ...] = ()
    spec: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DeclaredData:
    """Tables by their files, and the files of declarations, which are no tables."""

    tables: Mapping[Path, DeclaredTable] = field(default_factory=dict)
    files: Sequence[Path] = ()
    contradicted: list[str] = field(default_factory=list)


def find(roots: Sequence[Path], listed: Sequence[Path], folder: Path) -> DeclaredData:
    """Return what files beside the tables ``listed`` declare. ``folder`` is for members of archives."""
    beside = {*(path.parent for path in listed), *roots}
    inside = [path for root in roots for path in source_files.beside(root)]
    found = [path for path in inside if path.parent in beside and _reader(path) is not None and path not in roots]
    tables: dict[Path, DeclaredTable] = {}
    files = []
    for given, path in zip(found, archives.unpack({"found": found}, folder)["found"], strict=True):
        reader = _reader(given)
        own = dict(reader(given, path, listed)) if reader and path.stat().st_size <= _MOST_BYTES else {}
        known = {one: table for one, table in own.items() if one in inside}
        tables = {**known, **tables}
        files += [given] if known and not _has_other_rows(path, known) else []
    beside_archives = [path.with_name("eml.xml") for path in files if path.name.casefold() == _ARCHIVE]
    return DeclaredData(tables, [*files, *(path for path in beside_archives if path in inside)])


def _has_other_rows(path: Path, files: Iterable[Path]) -> bool:
    """Return whether a file declares tables and has the rows of others."""
    if not path.name.casefold().endswith(_SQL):
        return False
    try:
        names = stored.tables("sql", path)
    except BadInputError:  # rows that cannot be read
        return False
    return any(not any(_is_called(file, name) for file in files) for name in names)


_Reader = Callable[[Path, Path, Sequence[Path]], Iterator[tuple[Path, DeclaredTable]]]


def _reader(path: Path) -> _Reader | None:
    name = path.name.casefold()
    readers: dict[str, _Reader] = {
        _DATA_PACKAGE: _data_package,
        _METADATA: _csv_on_the_web,
        _ARCHIVE: _darwin_core,
        _SQL: _sql,
    }
    exact = readers.get(name) if name in (_DATA_PACKAGE, _ARCHIVE) else None
    return exact or next((readers[end] for end in (_METADATA, _SQL) if name.endswith(end)), None)


def specified(spec: FileSpec, path: Path, declared: DeclaredTable) -> FileSpec:
    """Return the specification of a delimited file as declared."""
    kind = source_files.format_of(path)
    if kind not in sources.DELIMITERS:
        return spec
    usual = sources.DELIMITERS[kind]
    told = {name: value for name, value in declared.spec.items() if value != getattr(usual, name)}
    own = replace(spec, **{**dict.fromkeys(declared.spec, ""), **told})  # type: ignore[arg-type]
    own = own if "quote" in told or "quote" not in declared.spec else replace(own, quote=None)
    width = len(_header(own, path))
    if declared.names:
        return replace(own, columns=declared.names, skip=0) if width == len(declared.names) else spec
    return own


def _header(spec: FileSpec, path: Path) -> list[str]:
    usual = sources.DELIMITERS[source_files.format_of(path)]
    sign = usual.quote if spec.quote is None else spec.quote
    try:
        return list(sources.header(path, spec.delimiter or usual.delimiter, sign, skip=spec.skip))
    except BadInputError:  # of another encoding
        return []


def declare(tables: Mapping[Path, ProfiledTable], files: Mapping[Path, Path], declared: DeclaredData) -> None:
    """Set the keys and links of tables, by their files, to those declared. ``files`` are those on disk."""
    columns = {
        path: list(table.spec.columns) or _header(table.spec, files[path]) if _is_delimited(path) else []
        for path, table in tables.items()
        if path in declared.tables
    }
    for path, table in tables.items():
        told = declared.tables.get(path)
        if told is None:
            continue
        table.declared_key = _named(told.key, columns.get(path, []))
        table.declared_links = [
            (_named(here, columns.get(path, [])), tables[other].name, _named(there, columns.get(other, [])))
            for here, other, there in told.links
            if other in tables
        ]


def _is_delimited(path: Path) -> bool:
    return source_files.format_of(path) in sources.DELIMITERS


def _named(names: Names, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as the file has them."""
    folded = {column.casefold(): column for column in reversed(columns)}
    by_place = dict(enumerate(columns))
    return tuple(by_place.get(one, "") if isinstance(one, int) else folded.get(one.casefold(), one) for one in names)


def check(con: Connection, tables: Sequence[ProfiledTable], declared: DeclaredData, paths: Mapping[str, Path]) -> None:
    """Drop declared keys that are missing or repeat, and links of missing columns; remember them for a note."""
    by_name = {table.name: table for table in tables}
    for table in (table for table in tables if paths.get(table.name) in declared.tables):
        source, key = declared.tables[paths[table.name]].source.name, table.declared_key
        if key and table.rows and not (set(key) <= set(table.columns) and is_unique(con, table, key)):
            table.declared_key = ()
            declared.contradicted.append(f"{source}: {', '.join(key)} does not identify the rows of {table.name}")
        kept = []
        for here, other, there in table.declared_links:
            known = set(here) <= set(table.columns) and set(there) <= set(by_name[other].columns)
            kept += [(here, other, there)] if known else []
            if not known:
                declared.contradicted.append(f"{source}: {table.name} has no link by {', '.join(here)} to {other}")
        table.declared_links = kept


def notes(declared: DeclaredData) -> Iterator[str]:
    """Yield the notes on what was declared, and on what of it the rows contradict."""
    used = [one.source.name for one in declared.tables.values()]
    if used:
        yield f"Read what {', '.join(dict.fromkeys(used))} declares: keys, links and columns"
    for text in declared.contradicted:
        yield f"Not as declared in {text}"


# -- formats ----------------------------------------------------------------------------------------------------------


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _below(given: Path, name: Any) -> Path | None:
    """Return a file below the folder of a declaration, None for other addresses."""
    if not isinstance(name, str) or not name or ":" in name or "\0" in name:
        return None
    parts = PurePosixPath(name)
    return given.parent.joinpath(*parts.parts) if not parts.is_absolute() and ".." not in parts.parts else None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str) and one)


def _dialect(told: Any, delimiter: str = "delimiter", quote: str = "quoteChar") -> dict[str, str]:
    known = told if isinstance(told, dict) else {}
    pairs = {"delimiter": known.get(delimiter), "quote": known.get(quote)}
    return {name: value for name, value in pairs.items() if isinstance(value, str) and len(value) == 1}


def _data_package(given: Path, path: Path, _: Sequence[Path]) -> Iterator[tuple[Path, DeclaredTable]]:
    resources = _dicts(_json(path).get("resources"))
    paths = {_text(one.get("name")): _below(given, next(iter(_texts(one.get("path"))), "")) for one in resources}
    for one in (one for one in resources if len(_texts(one.get("path"))) == 1):
        own, schema, dialect = paths[_text(one.get("name"))], one.get("schema"), one.get("dialect")
        if isinstance(schema, str) and (beside := _below(path, schema)) is not None:
            schema = _json(beside)
        schema = schema if isinstance(schema, dict) else {}
        links = []
        for key in _dicts(schema.get("foreignKeys")):
            to = key["reference"] if isinstance(key.get("reference"), dict) else {}
            other = paths.get(_text(to.get("resource")) or _text(one.get("name")))
            if other is not None and (here := _texts(key.get("fields"))):
                links.append((here, other, _texts(to.get("fields"))))
        fields = tuple(str(each.get("name", "")) for each in _dicts(schema.get("fields")))
        headless = isinstance(dialect, dict) and dialect.get("header") is False and all(fields)
        if own is not None:
            key_of = _texts(schema.get("primaryKey"))
            yield own, DeclaredTable(given, key_of, tuple(links), fields if headless else (), _dialect(dialect))


def _csv_on_the_web(given: Path, path: Path, _: Sequence[Path]) -> Iterator[tuple[Path, DeclaredTable]]:
    top = _json(path)
    context = top.get("@context")
    if "http://www.w3.org/ns/csvw" not in (context if isinstance(context, list) else [context]):
        return
    tables = _dicts(top.get("tables", top))
    schemas = [one["tableSchema"] if isinstance(one.get("tableSchema"), dict) else {} for one in tables]
    files = [_below(given, one.get("url")) for one in tables]
    places: dict[Path, dict[str, int]] = {}
    names: dict[Path, tuple[str, ...]] = {}
    for file, schema in zip(files, schemas, strict=True):
        if file is not None:
            columns = [one for one in _dicts(schema.get("columns")) if not one.get("virtual")]
            names[file] = tuple(str(one.get("name", "")) for one in columns)
            places[file] = {name: place for place, name in enumerate(names[file])}
    ids = {_text(schema.get("@id")): file for schema, file in zip(schemas, files, strict=True)}
    for one, file, schema in zip(tables, files, schemas, strict=True):
        if file is None:
            continue

        def columns_of(value: Any, of: Path) -> Names:
            return tuple(places.get(of, {}).get(name, name) for name in _texts(value))

        links = []
        for key in _dicts(schema.get("foreignKeys")):
            to = key["reference"] if isinstance(key.get("reference"), dict) else {}
            told = _text(to.get("schemaReference"))
            other = _below(given, to.get("resource")) or (ids.get(told) if told else None)
            if other is not None and (here := columns_of(key.get("columnReference"), file)):
                links.append((here, other, columns_of(to.get("columnReference"), other)))
        dialect = one.get("dialect", top.get("dialect"))
        headless = isinstance(dialect, dict) and dialect.get("header") is False and all(names[file])
        own = names[file] if headless else ()
        yield (
            file,
            DeclaredTable(given, columns_of(schema.get("primaryKey"), file), tuple(links), own, _dialect(dialect)),
        )


def _darwin_core(given: Path, path: Path, _: Sequence[Path]) -> Iterator[tuple[Path, DeclaredTable]]:
    try:
        top = xml_records.read(path)
    except BadInputError:
        return
    core = next(iter(_dicts(top.get("core"))), {})
    main, key = _location(given, core), _place(core.get("id"))
    if main is None:
        return
    yield main, DeclaredTable(given, () if key is None else (key,), (), _terms(core, "id"), _separators(core))
    for one in _dicts(top.get("extension")):
        file, place = _location(given, one), _place(one.get("coreid"))
        links = () if place is None or key is None else (((place,), main, (key,)),)
        if file is not None:
            yield file, DeclaredTable(given, (), links, _terms(one, "coreid"), _separators(one))


def _location(given: Path, table: Mapping[str, Any]) -> Path | None:
    files = table.get("files")
    locations = _texts(files.get("location")) if isinstance(files, dict) else ()
    return _below(given, locations[0]) if len(locations) == 1 else None


def _place(value: Any) -> int | None:
    index = value.get("index") if isinstance(value, dict) else None
    return int(index) if isinstance(index, str) and index.isdecimal() and len(index) < 5 else None


def _terms(table: Mapping[str, Any], identifier: str) -> tuple[str, ...]:
    """Return the names of the columns of a file without a header line; none of one with it."""
    if str(table.get("ignoreHeaderLines") or "0") != "0":
        return ()
    named = {_place(table.get(identifier)): identifier}
    for one in _dicts(table.get("field")):
        named[_place(one)] = re.split(r"[/#:]", str(one.get("term", "")))[-1]
    places = [place for place in named if place is not None]
    return tuple(named.get(place) or f"column{place}" for place in range(max(places, default=-1) + 1))


def _separators(table: Mapping[str, Any]) -> dict[str, str]:
    sign, around = table.get("fieldsTerminatedBy", ","), table.get("fieldsEnclosedBy", '"')
    told = {"delimiter": "\t" if sign == "\\t" else sign, "quote": around}
    sizes = {"delimiter": (1,), "quote": (0, 1)}
    return {name: value for name, value in told.items() if isinstance(value, str) and len(value) in sizes[name]}


def _sql(given: Path, path: Path, listed: Sequence[Path]) -> Iterator[tuple[Path, DeclaredTable]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    tables = created_tables(text)
    below = [one for one in listed if given.parent in one.parents]
    files = {name: found[0] for name in tables if len(found := [one for one in below if _is_called(one, name)]) == 1}
    for name, file in files.items():
        links = [(here, files[to], there) for here, to, there in tables[name].foreign if to in files]
        whole = [(here, to, there or _key_of(tables, files, to)) for here, to, there in links]
        yield file, DeclaredTable(given, tables[name].primary, tuple(one for one in whole if one[2]))


def _key_of(tables: Mapping[str, SqlTable], files: Mapping[str, Path], file: Path) -> tuple[str, ...]:
    return next(tables[name].primary for name, one in files.items() if one == file)


def _is_called(path: Path, name: str) -> bool:
    stem = Path(source_files.plain_name(path)).stem
    return re.sub(r"\W+", "_", stem).casefold() == re.sub(r"\W+", "_", name).casefold()
