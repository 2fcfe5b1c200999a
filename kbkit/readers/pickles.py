"""Read a pickled dict or list as rows of JSON, without running code from the pickle (see ``unpickle``)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kbkit.errors import BadInputError
from kbkit.readers.unpickle import DOWNLOAD_AGAIN, load_pickle

SCHEMA = pa.schema([("key", pa.string()), ("value", pa.string())])
"""``key`` is the dict's key, or the position in the list from 0, as text. ``value`` is JSON: NaN and infinities are
null, tuples and sets are lists, bytes are text.
"""

MAX_JSON = 64 << 20
"""Maximum characters of JSON for a value: a few shared lists can expand to any length."""
_CONTAINER = 64  # characters counted for a list or dict, so that one that contains itself is soon detected
_ROWS, _CHARACTERS = 20_000, 32 << 20  # maximum rows, and approximate characters, of a batch


def read(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """Stream the items of ``paths`` in order; raise :class:`BadInputError` for unsupported content.

    A file is loaded into memory at once; converted items are freed.
    """
    return pa.RecordBatchReader.from_batches(SCHEMA, (batch for path in paths for batch in _batches(path)))


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    try:
        with path.open("rb") as handle:
            content = load_pickle(handle, path, {})
    except OSError as error:
        raise BadInputError(f"Cannot read {path}: {error.strerror or error}") from None
    if not isinstance(content, (dict, list)):
        raise BadInputError(f"Unsupported content in {path}: {type(content).__name__}", "Use a dict or a list")
    keys: list[str] = []
    values: list[str] = []
    characters = 0
    for key, value in _items(content):
        keys.append(_key(key, path))
        values.append(_json(value, keys[-1], path))
        characters += len(values[-1])
        if len(keys) == _ROWS or characters > _CHARACTERS:
            yield _batch(keys, values)
            keys, values, characters = [], [], 0
    if keys:
        yield _batch(keys, values)


def _items(content: dict[Any, Any] | list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the items in order, removing each from ``content``."""
    if isinstance(content, list):
        content.reverse()
        for position in range(len(content)):
            yield position, content.pop()
    else:
        for key in list(content):
            yield key, content.pop(key)


def _key(key: object, path: Path) -> str:
    if type(key) not in (int, str):
        raise BadInputError(f"Unsupported key in {path}: {type(key).__name__}", "Use integers or strings")
    try:
        return str(key)
    except ValueError:
        raise BadInputError(f"Integer key of more than 4,000 digits in {path}", DOWNLOAD_AGAIN) from None


def _json(value: object, key: str, path: Path) -> str:
    if isinstance(value, float):
        value = _without_nan(value)
    try:
        _measure(value)
        # JSON strings contain no raw line breaks, so one after every separator tells a NaN from text.
        text = _ENCODER.encode(value)
        if any(f"[{number}" in text for number in _NOT_JSON):  # possibly in a string, where replacing is wrong
            text = _ENCODER.encode(_without_nan(value))
    except (RecursionError, _EndlessError):
        raise BadInputError(
            f"Value of {key[:50]!r} in {path} is too large or contains itself", DOWNLOAD_AGAIN
        ) from None
    except (TypeError, ValueError) as error:
        raise BadInputError(
            f"Value of {key[:50]!r} in {path} cannot be written as JSON: {error}", DOWNLOAD_AGAIN
        ) from None
    for number in _NOT_JSON:
        if number in text:
            text = text.replace(f"\n{number}", "\nnull")
    return text


class _EndlessError(Exception):
    pass


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, (list, tuple, set, frozenset)) else value


def _measure(value: Any) -> None:
    """Raise :class:`_EndlessError` for a value that contains itself, or whose JSON exceeds :data:`MAX_JSON`."""
    left: list[Any] = [value]
    length = 0
    while left:
        item = left.pop()
        kind = type(item)
        if kind is dict:
            length += _CONTAINER + 6 * len(item)
            try:
                length += sum(map(len, item))
            except TypeError:  # keys that are not strings
                left += item
            left += item.values()
        elif kind is str or kind is bytes:
            length += len(item)
        elif kind is list or kind is tuple or kind is set or kind is frozenset:
            length += _CONTAINER + 2 * len(item)
            left += item
        if length > MAX_JSON:
            raise _EndlessError


def _plain(item: object) -> object:
    """Return a JSON type for one that JSON lacks."""
    if isinstance(item, (set, frozenset)):
        return sorted(item, key=lambda member: (type(member).__name__, str(member)))
    if isinstance(item, (bytes, bytearray)):
        return item.decode("utf-8")
    raise TypeError(f"unsupported type {type(item).__name__.strip('_').lower()}")


_ENCODER = json.JSONEncoder(separators=(",\n", ":\n"), ensure_ascii=False, check_circular=False, default=_plain)
_NOT_JSON = ("NaN", "Infinity", "-Infinity")


def _batch(keys: list[str], values: list[str]) -> pa.RecordBatch:
    return pa.record_batch([_strings(keys), _strings(values)], schema=SCHEMA)


def _strings(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # an unpaired surrogate
        return pa.array([text.encode("utf-8", "replace").decode("utf-8") for text in texts], pa.string())
