"""Read exports of Neo4j: CSV files for ``neo4j-admin import``, and JSON and CSV of APOC.

Formats: https://neo4j.com/docs/operations-manual/current/import/ (header), https://neo4j.com/docs/apoc/current/export/.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as pa_csv

from kbkit.errors import BadInputError, UnknownNameError, reason
from kbkit.readers.columns import text
from kbkit.readers.delimited import parsed
from kbkit.readers.graphs.model import free, records

NODES = pa.schema([("space", pa.string()), ("key", pa.string()), ("labels", pa.list_(pa.string()))])
EDGES = pa.schema([(name, pa.string()) for name in ("head_space", "head", "relation", "tail_space", "tail")])
"""The fixed columns. ``space`` is the id space, empty if there is none; further columns are the properties."""

_RESERVED = {
    "nodes": (*NODES.names, "type", "types", "aliases"),
    "edges": (*EDGES.names, "head_type", "tail_type"),
}
_NAMES = ("name", "title", "label", "displayName")
"""Properties of names, in order of preference."""
_TYPES = {
    **dict.fromkeys(("int", "long", "short", "byte"), pa.int64()),
    **dict.fromkeys(("float", "double"), pa.float64()),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "localdatetime": pa.timestamp("us"),
}
"""Types of values; the others (string, char, point, time, datetime, duration) are text."""
_FIELD = re.compile(
    r"(?P<name>[^:]*)(?::(?P<type>[A-Za-z_]+)(?P<list>\[\])?(?:\((?P<space>.*?)\))?(?P<options>\{.*\})?)?"
)
_ROLES = {"ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE"}
_APOC = {"_id": ":ID", "_labels": ":LABEL", "_start": ":START_ID", "_end": ":END_ID", "_type": ":TYPE"}
_JSON = (".json", ".jsonl", ".ndjson")
_HINT = "The header needs a field :ID, or :START_ID and :END_ID"
_BATCH = 20_000


def read(paths: Sequence[Path], table: str) -> pa.RecordBatchReader:
    """Stream the ``nodes`` or ``edges`` of ``paths``; raise :class:`BadInputError` with file and line or row."""
    if table not in _RESERVED:
        raise UnknownNameError("table", table, _RESERVED)
    documents = [path for path in paths if _plain(path).suffix in _JSON]
    sources: list[_Csv | _ApocJson] = [_ApocJson(path, table) for path in documents]
    sources += [_Csv(*file, table) for file in _csv_files([path for path in paths if path not in documents])]
    parts = [source for source in sources if source.schema is not None]
    schema = _united([part.schema for part in parts if part.schema is not None], NODES if table == "nodes" else EDGES)
    return pa.RecordBatchReader.from_batches(schema, _batches(parts, schema))


def _batches(parts: Sequence[_Csv | _ApocJson], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for part in parts:
        for batch in part.batches():
            yield pa.record_batch(
                [
                    _cast(batch[field.name], field.type) if field.name in batch.schema.names
                    else pa.nulls(len(batch), field.type)
                    for field in schema
                ],
                schema=schema,
            )  # fmt: skip


def _united(schemas: Sequence[pa.Schema], fixed: pa.Schema) -> pa.Schema:
    """Return the columns of all files; a column of several types is text, or a number if all are numbers."""
    kinds: dict[str, pa.DataType] = {field.name: field.type for field in fixed}
    for field in itertools.chain.from_iterable(schemas):
        known = kinds.setdefault(field.name, field.type)
        if known != field.type and pa.null() in (known, field.type):
            kinds[field.name] = known if field.type == pa.null() else field.type
        elif known != field.type:
            numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (known, field.type))
            kinds[field.name] = pa.float64() if numbers else pa.string()
    return pa.schema([(name, pa.string() if kind == pa.null() else kind) for name, kind in kinds.items()])


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if kind == pa.string() and not pa.types.is_string(column.type):
        return pa.array([None if value is None else _shown(value) for value in column.to_pylist()], kind)
    return column.cast(kind, safe=False)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else text(value)


def _named(names: Iterable[str], table: str) -> dict[str, str]:
    """Return names of columns for properties: none is reserved, and none differs from another in case only."""
    columns: dict[str, str] = {}
    taken = {name.casefold() for name in _RESERVED[table]}
    for name in names:
        column = name
        while column.casefold() in taken:
            column += "_"
        taken.add(column.casefold())
        columns[name] = column
    if table == "nodes" and "name" not in columns and (title := next((n for n in _NAMES if n in columns), "")):
        columns[title] = "name"
    return columns


def _plain(path: Path) -> Path:
    """Return a path without ``.gz``, in lower case."""
    return Path(path.name.lower().removesuffix(".gz"))


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


# -- CSV --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    """The fields of a header: (name, role or type, whether it is a list, id space), and the delimiter."""

    path: Path
    fields: tuple[tuple[str, str, bool, str], ...]
    delimiter: str
    label: str = ""

    def position(self, role: str) -> int | None:
        """Return the position of the first field with a role."""
        return next((i for i, field in enumerate(self.fields) if field[1] == role), None)


def _header(path: Path) -> tuple[_Header | None, bool]:
    """Return the header in the first line of a file, if it is one, and whether there are further lines."""
    try:
        with _opened(path) as handle:
            first = handle.readline(1 << 20).decode("utf-8-sig").rstrip("\r\n")
            more = bool(handle.readline(1 << 10).strip())
    except UnicodeDecodeError:
        raise BadInputError(f"Invalid UTF-8 in {path}, line 1", "Convert it to UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    delimiter = max(",\t;|", key=first.count)
    cells = [cell.strip() for cell in next(parsed(csv.reader([first], delimiter=delimiter), path), [])]
    if "_id" in cells or "_start" in cells:
        cells = [_APOC.get(cell, cell) for cell in cells]
    fields, label = [], ""
    for cell in cells:
        match = _FIELD.fullmatch(cell)
        if match is None:
            fields.append((cell, "string", False, ""))
            continue
        kind = match["type"] or "string"
        role = kind.upper() if kind.upper() in _ROLES else kind.lower()
        fields.append((match["name"], role, bool(match["list"]), match["space"] or ""))
        label = label or next(iter(re.findall(r"label:\s*([^,}]+)", match["options"] or "")), "").strip()
    header = _Header(path, tuple(fields), delimiter, label)
    roles = {role for _, role, _, _ in fields}
    return (header if "ID" in roles or {"START_ID", "END_ID"} <= roles else None), more


def _csv_files(paths: Sequence[Path]) -> list[tuple[Path, _Header, bool]]:
    """Return data files with their headers, and whether the header is their first line.

    A header in a file of its own is called like the data, with ``header`` at the end: ``movies_header.csv``.
    """
    headers = {path: _header(path) for path in paths}
    alone = {
        re.sub(r"[-_. ]?headers?$", "", _plain(path).stem): header
        for path, (header, more) in headers.items()
        if header is not None and not more and "header" in _plain(path).stem
    }
    files = []
    for path, (header, _) in headers.items():
        if header is not None:
            if "header" not in _plain(path).stem or headers[path][1]:
                files.append((path, header, True))
            continue
        prefix = max((name for name in alone if _plain(path).stem.startswith(name)), key=len, default=None)
        if prefix is None:
            raise BadInputError(f"Missing header in {path}, line 1", _HINT)
        files.append((path, alone[prefix], False))
    return files


class _Csv:
    """The nodes or edges of a CSV file; ``schema`` is None if it has none."""

    def __init__(self, path: Path, header: _Header, own: bool, table: str) -> None:
        self._path, self._header, self._own, self._table = path, header, own, table
        self._lists = "|" if header.delimiter == ";" else ";"
        roles = ("ID",) if table == "nodes" else ("START_ID", "END_ID")
        present = all(header.position(role) is not None for role in roles)
        properties = [field for field in header.fields if field[1] not in _ROLES and field[0]]
        self._columns = _named(dict.fromkeys(field[0] for field in properties), table)
        fields = [(self._columns[name], _type(kind, is_list)) for name, kind, is_list, _ in properties]
        self.schema = pa.schema(fields) if present else None
        names = [name for name, *_ in properties]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise BadInputError(f"Duplicate column {twice!r} in {path}, line 1", "Rename one of them")

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows with fixed columns and properties."""
        names = [str(number) for number in range(len(self._header.fields))]
        try:
            with pa.input_stream(
                str(self._path), compression="gzip" if self._path.suffix.lower() == ".gz" else None
            ) as raw:
                reader = pa_csv.open_csv(
                    raw,
                    read_options=pa_csv.ReadOptions(
                        column_names=names, skip_rows=0, skip_rows_after_names=int(self._own), block_size=1 << 24
                    ),
                    parse_options=pa_csv.ParseOptions(delimiter=self._header.delimiter, newlines_in_values=True),
                    convert_options=pa_csv.ConvertOptions(
                        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
                    ),
                )
                for batch in reader:
                    yield self._converted(batch)
        except (pa.ArrowException, OSError, EOFError) as error:
            problem = " ".join(str(error).removeprefix("CSV parse error: ").split())[:200]
            header = "" if self._own else f" (header in {self._header.path})"
            hint = "Double the quotes inside a quoted field"
            raise BadInputError(f"Cannot read {self._path}{header}: {problem}", hint) from None

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._header.position("ID") is not None and self._header.position("START_ID") is not None:
            part = batch.column(self._header.position("ID" if self._table == "nodes" else "START_ID"))
            batch = batch.filter(pc.is_valid(part))  # APOC writes both to one file
        columns = dict(self._fixed(batch))
        for number, (name, kind, is_list, _) in enumerate(self._header.fields):
            if name in self._columns and kind not in _ROLES:
                columns[self._columns[name]] = self._values(batch.column(number), name, _type(kind, is_list))
        return pa.record_batch(columns)

    def _fixed(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
        def column(role: str) -> pa.Array | None:
            at = self._header.position(role)
            return None if at is None else batch.column(at)

        def constant(value: str) -> pa.Array:
            return pa.repeat(pa.scalar(value), len(batch))

        def space(role: str) -> pa.Array:
            return constant(self._header.fields[self._header.position(role) or 0][3])

        stem = re.sub(r"[-_ .]?(part)?[-_ .]?\d*$", "", _plain(self._path).stem, flags=re.IGNORECASE) or "entity"
        if self._table == "edges":
            yield from (("head_space", space("START_ID")), ("tail_space", space("END_ID")))
            yield from (("head", column("START_ID")), ("tail", column("END_ID")))
            kinds = column("TYPE")
            yield "relation", constant(stem) if kinds is None else pc.fill_null(kinds, stem)
            return
        yield from (("space", space("ID")), ("key", column("ID")))
        labels = column("LABEL")
        if labels is None:
            default = self._header.label or self._header.fields[self._header.position("ID") or 0][3] or stem
            yield "labels", pc.split_pattern(constant(default), "\0")
        else:  # APOC writes :Person:Actor
            parts = pc.replace_substring(pc.utf8_ltrim(labels, ":"), ":", self._lists)
            yield "labels", pc.split_pattern(parts, self._lists)

    def _values(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        if pa.types.is_list(kind):
            parts = pc.split_pattern(column, self._lists)
            values = self._values(parts.flatten(), name, kind.value_type)
            return (
                pa.ListArray.from_arrays(parts.offsets, values, mask=pc.is_null(parts))
                if len(parts)
                else parts.cast(kind)
            )
        if kind == pa.string():
            return column
        trimmed = pc.utf8_trim_whitespace(column)
        trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
        if kind == pa.bool_():  # everything else is false
            return pc.equal(pc.utf8_lower(trimmed), "true")
        try:
            return trimmed.cast(kind)
        except pa.ArrowInvalid as error:
            problem = " ".join(str(error).split())[:120]
            raise BadInputError(
                f"Invalid value of {name!r} in {self._path}: {problem}", "Correct the type in the header"
            ) from None


def _type(kind: str, is_list: bool) -> pa.DataType:
    type_ = _TYPES.get(kind, pa.string())
    return pa.list_(type_) if is_list else type_


# -- JSON -------------------------------------------------------------------------------------------------------------


class _ApocJson:
    """The nodes or edges of a JSON file of APOC: a line each, an array, or an object with ``nodes`` and ``rels``."""

    def __init__(self, path: Path, table: str) -> None:
        rows = [_row(one, where, table) for where, one in _objects(path) if _is_of(one, table)]
        columns = _named(dict.fromkeys(name for _, data in rows for name in data), table)
        frame = records(
            ({**fixed, **{columns[name]: value for name, value in data.items()}} for fixed, data in rows),
            (NODES if table == "nodes" else EDGES).names,
        )
        self.schema: pa.Schema | None = None
        if rows:
            arrow = frame.to_arrow()
            self._arrow = pa.table({name: _plain_strings(arrow[name]) for name in arrow.column_names})
            self.schema = self._arrow.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows with fixed columns and properties."""
        yield from self._arrow.to_batches(max_chunksize=_BATCH)


def _plain_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts in the type that other readers use."""
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_large_list(kind):
        inner = kind.value_type
        plain = pa.string() if pa.types.is_string_view(inner) or pa.types.is_large_string(inner) else inner
        return column.cast(pa.list_(plain))
    return column


def _is_of(one: Any, table: str) -> bool:
    return isinstance(one, dict) and one.get("type") == ("node" if table == "nodes" else "relationship")


def _row(one: Mapping[str, Any], where: str, table: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fixed columns and the properties of a node or relationship."""
    data = one.get("properties") or {}
    ends = [one.get("start"), one.get("end")] if table == "edges" else [one]
    if not isinstance(data, dict) or not all(isinstance(end, dict) and end.get("id") is not None for end in ends):
        raise BadInputError(
            f"Invalid node or relationship in {where}", "Each needs an id, a relationship start and end"
        )
    if table == "nodes":
        labels = one.get("labels") or []
        name = next((name for name in _NAMES if data.get(name) is not None), "")
        if name and name != "name":  # a movie has a title, a person a name
            data = {"name": data[name], **{key: value for key, value in data.items() if key != name}}
        return {"space": "", "key": text(one["id"]), "labels": [text(label) for label in labels] or None}, data
    head, tail = (text(end["id"]) for end in ends if end is not None)
    relation = text(one.get("label") or "link")
    return {"head_space": "", "head": head, "relation": relation, "tail_space": "", "tail": tail}, free(data, ())


def _objects(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the place of each node and relationship, and it."""
    try:
        with _opened(path) as handle:
            start = handle.read(1 << 16).lstrip()
            handle.seek(0)
            whole = start[:1] == b"[" or re.match(rb'\{\s*"(nodes|rels)"', start) is not None
            if whole:
                yield from ((str(path), one) for one in _listed(_loaded(handle.read())))
                return
            for number, line in enumerate(handle, 1):
                if line.strip():
                    where = f"{path}, line {number}"
                    try:
                        yield where, _loaded(line)
                    except (ValueError, RecursionError):
                        raise BadInputError(
                            f"Invalid JSON in {where}", "Write one object per line, or one array"
                        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    except (ValueError, RecursionError):
        raise BadInputError(f"Invalid JSON in {path}", "Write one object per line, or one array") from None


def _loaded(content: bytes) -> Any:
    """Parse JSON; raise ``ValueError`` also for unpaired surrogates."""
    data = json.loads(content)
    if b"\\u" in content:
        json.dumps(data, ensure_ascii=False).encode()
    return data


def _listed(data: Any) -> list[Any]:
    if isinstance(data, dict):
        parts = [data.get("nodes") or [], data.get("rels") or []]
        return [one for part in parts for one in (part.values() if isinstance(part, dict) else part)]
    return data if isinstance(data, list) else []
