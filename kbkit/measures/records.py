"""JSON records of files (a list, JSON lines or a single object), with errors that name file and line."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from kbkit.directory.files import whole_lines
from kbkit.errors import BadInputError, Command, clipped
from kbkit.measures.frames import series

ENDINGS = (".jsonl", ".ndjson", ".json")
IDS = ("id", "question", "query")
"""The fields that identify a record, in order of preference."""

Scalar: TypeAlias = str | int | float | bool | None


# -- text and JSON ----------------------------------------------------------------------------------------------------


def content(path: Path, *, whole: bool = False, empty: bool = False) -> bytes:
    """Read a file without its byte order mark; raise :class:`BadInputError` if it is empty or not UTF-8.

    ``whole``: without an incomplete last line of JSON, which a killed writer left. ``empty``: the file may be empty.
    """
    text = before = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if whole:
        text = whole_lines(text)  # before it is decoded, because the line may end within a character
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise BadInputError(
            f"Invalid UTF-8 in {path}, line {line}", "Convert it to UTF-8, for example with iconv"
        ) from None
    if not (empty or before.strip()):
        raise BadInputError(f"{path} is empty")
    return text


def load_json(text: str, where: str) -> Any:
    """Parse JSON; raise :class:`BadInputError` that names ``where`` (file, or file and line)."""
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise BadInputError(f"Invalid JSON in {where}, {position}: {error.msg}") from None
    except RecursionError:
        raise BadInputError(f"JSON nested too deeply in {where}") from None
    except UnicodeEncodeError:
        raise BadInputError(f"Invalid Unicode (unpaired surrogate) in {where}") from None
    except ValueError as error:
        raise BadInputError(f"Invalid JSON in {where}: {str(error).partition(':')[0]}") from None
    return value


def describe(value: object) -> str:
    """Return a JSON value as it appears in an error: short text, or ``an object``, ``a list``."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return clipped(json.dumps(value, ensure_ascii=False), 43)


# -- records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JsonRecord:
    """An object of a file; ``position`` is its line or its number in the list, from 1, ``where`` names it."""

    fields: dict[str, Any]
    where: str
    position: int = 1

    def error(self, problem: str, hint: str = "") -> BadInputError:
        """Return an error in this record."""
        return BadInputError(f"{problem} in {self.where}", *([hint] if hint else []))

    def first(self, *names: str) -> str:
        """Return the first of these fields that is present; raise :class:`BadInputError` if none is."""
        for name in names:
            if name in self.fields:
                return name
        raise self.error(f"Missing field '{names[0]}'", "A record needs one of " + ", ".join(names))

    def groups(self, query: str, excluded: Collection[str]) -> dict[str, Scalar]:
        """Return the scalar fields other than the ids of ``query`` and those ``excluded``."""
        return {
            name: value
            for name, value in self.fields.items()
            if (value is None or isinstance(value, (str, int, float, bool)))
            and not (name in ("id", "query") or name in excluded or (name == "question" and value == query))
        }


def unit(path: Path) -> str:
    """Return how positions of a file are called: ``record`` in a ``.json`` list, else ``line``."""
    return "record" if path.suffix.lower() == ".json" else "line"


def records(path: Path, text: bytes) -> Iterator[JsonRecord]:
    """Yield the records of a JSON list (``.json``) or of JSON lines (other endings)."""
    if path.suffix.lower() == ".json":
        value = load_json(text.decode(), str(path))
        if is_sparql(value):
            raise BadInputError(f"{path} contains SPARQL results", "Use ", Command("measure rows"), " to score them")
        if not isinstance(value, list):
            raise BadInputError(
                f"{path} contains {describe(value)}, not a list of records", "Use .jsonl for JSON lines"
            )
        yield from (_record(path, *row) for row in enumerate(value, 1))
    else:
        yield from (_record(path, *row) for row in _lines(path, text.decode()))


def _lines(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, load_json(line, f"{path}, line {number}")


def _record(path: Path, position: int, value: Any, kind: str = "") -> JsonRecord:
    where = f"{path}, {kind or unit(path)} {position}"
    if not isinstance(value, dict):
        raise BadInputError(f"{describe(value).capitalize()} instead of a record in {where}", "A record is an object")
    return JsonRecord(value, where, position)


def load_records(path: Path) -> list[JsonRecord] | dict[str, Any]:
    """Return the records of a JSON list, of JSON lines of any ending, or of one object with an id.

    A single object without id, or with ``head`` (SPARQL results), is returned itself. Raises :class:`BadInputError`
    that names the line.
    """
    try:
        text = content(path).decode()
    except OSError as error:
        raise BadInputError(f"Cannot read {path}: {error.strerror}") from None
    return records_of(path, text)


def records_of(path: Path, text: str) -> list[JsonRecord] | dict[str, Any]:
    """Return the records of the text of a file; see :func:`load_records`."""
    lines = [line for line in text.split("\n") if line.strip()]
    if path.suffix.lower() in (".jsonl", ".ndjson") or (len(lines) > 1 and _is_object(lines[0])):
        all_records = [_record(path, *row, kind="line") for row in _lines(path, text)]
    else:
        value = load_json(text, str(path))
        if isinstance(value, dict) and ("head" in value or not any(name in value for name in IDS)):
            return value
        values = value if isinstance(value, list) else [value]
        all_records = [_record(path, number, value, "record") for number, value in enumerate(values, 1)]
    if not all_records:
        raise BadInputError(f"No records in {path}")
    return all_records


def items(path: Path) -> list[JsonRecord]:
    """Return the records of a file; a single object is one record."""
    loaded = load_records(path)
    return [JsonRecord(loaded, f"{path}, record 1")] if isinstance(loaded, dict) else loaded


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def invalid(where: str, value: object, hint: str) -> BadInputError:
    """Return an error for a value of the wrong type."""
    return BadInputError(f"Invalid value {describe(value)} in {where}", hint)


# -- ids and pairs ----------------------------------------------------------------------------------------------------


def names(all_records: Sequence[JsonRecord]) -> list[str]:
    """Return the id of each record: its id, question or query, or its position. Raise if two are equal."""
    return _distinct(all_records, [_name(record, IDS) or str(number) for number, record in enumerate(all_records, 1)])


def _name(record: JsonRecord, fields: Sequence[str]) -> str:
    """Return the first non-null of the fields as text (empty: none)."""
    for field in fields:
        value = record.fields.get(field)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise invalid(f"{record.where}, {field}", value, "Use a string or an integer")
        return str(value)
    return ""


def _distinct(all_records: Sequence[JsonRecord], ids: list[str]) -> list[str]:
    seen: dict[str, str] = {}
    for record, name in zip(all_records, ids, strict=True):
        if name in seen:
            raise record.error(f"Duplicate record {describe(name)}", f"The first is in {seen[name]}")
        seen[name] = record.where
    return ids


def join(
    predicted: Sequence[JsonRecord], gold: Sequence[JsonRecord]
) -> list[tuple[str, JsonRecord | None, JsonRecord]]:
    """Return (id, prediction or None, gold) for each gold record.

    Records match by the first of id, question and query that all of them have, or by position if none has any. Raises
    :class:`BadInputError` if only some have an id, and if nothing matches.
    """
    both = [*predicted, *gold]
    field = next((f for f in IDS if all(_name(record, [f]) for record in both)), "")
    ids = names(gold)
    if not field:
        return list(zip(ids, _by_position(predicted, gold), gold, strict=True))
    theirs = dict(zip(_distinct(predicted, [_name(r, [field]) for r in predicted]), predicted, strict=True))
    ours = _distinct(gold, [_name(record, [field]) for record in gold])
    if not theirs.keys() & set(ours):
        a, b = describe(next(iter(theirs))), describe(ours[0])
        message = f"No prediction matches a gold record by {field}: predictions have {a}, gold has {b}"
        raise BadInputError(message, f"Use the same {field} in both files")
    return [(name, theirs.get(key), record) for name, key, record in zip(ids, ours, gold, strict=True)]


def _by_position(predicted: Sequence[JsonRecord], gold: Sequence[JsonRecord]) -> Sequence[JsonRecord]:
    for record in [*gold, *predicted]:
        if name := _name(record, IDS):
            message = f"Only some records have an id: {describe(name)} in {record.where}"
            raise BadInputError(message, f"Use one of {', '.join(IDS)} in all records of both files, or in none")
    if len(predicted) != len(gold):
        message = f"{len(predicted)} predictions and {len(gold)} gold records, without ids to match them"
        raise BadInputError(message, f"Add one of {', '.join(IDS)} to each record")
    return predicted


def frame(queries: Sequence[str], groups: Sequence[dict[str, Scalar]]) -> pl.DataFrame:
    """Return a row per query: ``query``, and a column per group field (text if its values differ in type)."""
    columns = {"query": pl.Series("query", list(queries), dtype=pl.String)}
    for name in dict.fromkeys(name for group in groups for name in group):
        columns[name] = series(name, [group.get(name) for group in groups])
    return pl.DataFrame(columns)


# -- SPARQL results ---------------------------------------------------------------------------------------------------


def is_sparql(value: Any) -> bool:
    """Return whether a JSON value has the form of SPARQL results."""
    if not isinstance(value, dict):
        return False
    results = value.get("results")
    return "boolean" in value or (isinstance(results, dict) and "bindings" in results)


def read_bindings(path: Path) -> list[dict[str, dict[str, str]]] | bool:
    """Read SPARQL 1.1 results in JSON: a row per solution, from variables to terms; a boolean for ASK."""
    value = load_json(content(path).decode(), str(path))
    if not is_sparql(value):
        hint = 'Expected {"head": ..., "results": {"bindings": [...]}}'
        raise BadInputError(f"{path} does not contain SPARQL results", hint)
    if "boolean" in value:
        if not isinstance(value["boolean"], bool):
            raise invalid(f"{path}, boolean", value["boolean"], "Use true or false")
        return value["boolean"]
    rows = value["results"]["bindings"]
    if not isinstance(rows, list):
        raise invalid(f"{path}, bindings", rows, "Use a list of solutions")
    for position, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not all(map(_is_term, row.values())):
            raise BadInputError(f"Invalid term in {path}, solution {position}", 'Write {"type": "uri", "value": "..."}')
    return rows


def _is_term(term: Any) -> bool:
    return isinstance(term, dict) and {"type", "value"} <= set(term) and all(isinstance(v, str) for v in term.values())
