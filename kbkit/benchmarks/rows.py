"""Dataclasses to and from JSON: the rows of the stages, and parts of records."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from functools import cache
from typing import Any, Union

from kbkit.errors import BadInputError

_HINT = "Correct the value, or delete the line to recompute it"


def to_json(value: Any) -> Any:
    """Return a row as JSON data, without the fields that have their default value."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is not type and dataclasses.is_dataclass(kind):
        changed = ((name, getattr(value, name), default) for name, default in _defaults(kind))
        return {name: to_json(content) for name, content, default in changed if content != default}
    if isinstance(value, list | tuple):
        return [one if type(one) is str else to_json(one) for one in value]
    return {key: to_json(one) for key, one in value.items()} if isinstance(value, dict) else value


_SCALARS = frozenset((str, int, float, bool, type(None)))


@cache
def _defaults(kind: type) -> list[tuple[str, Any]]:
    """Return the names of the fields of a dataclass with their default values."""
    return [(field.name, _default(field)) for field in _fields(kind)]


def from_json(kind: Any, value: Any, where: str) -> Any:
    """Convert JSON data to a value of type ``kind``. Raises :class:`BadInputError` if it does not fit."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _row_from_json(typing.cast("type", kind), value, where)
    if origin in (Union, types.UnionType):
        inner = next(one for one in arguments if one is not type(None))
        return None if value is None else from_json(inner, value, where)
    if origin in (list, tuple) and isinstance(value, list):
        return origin(from_json(arguments[0], one, where) for one in value)
    if origin is dict and isinstance(value, dict):
        return {key: from_json(arguments[1], one, where) for key, one in value.items()}
    if kind is Any or (type(value) is kind) or (kind is float and type(value) is int):
        return value
    raise BadInputError(f"Invalid value {shortened(value)} in {where}", _HINT)


def _row_from_json(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise BadInputError(f"Invalid value {shortened(value)} in {where}: expected an object", _HINT)
    hints, fields = _hints(kind), {f.name: f for f in _fields(kind)}
    if unknown := value.keys() - fields.keys():
        raise BadInputError(f"Unknown field {min(unknown)!r} in {where}", _HINT)
    missing = (name for name, f in fields.items() if name not in value and _default(f) is dataclasses.MISSING)
    if name := next(missing, ""):
        raise BadInputError(f"Missing field {name!r} in {where}", _HINT)
    return kind(**{name: from_json(hints[name], one, f"{where}, {name}") for name, one in value.items()})


@cache
def _fields(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a dataclass, keyword-only ones (``dropped``) last."""
    return tuple(sorted(dataclasses.fields(kind), key=lambda f: bool(f.kw_only)))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _default(f: dataclasses.Field[Any]) -> Any:
    return f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default


def shortened(value: Any) -> str:
    """Return a value as JSON, cut to 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
