"""JSON as typed values: dataclasses, typed dictionaries, lists and tuples, to and from JSON data.

Everything that kbkit reads back from its own JSON goes through :func:`from_json`: the manifest, the rows of the
benchmarks' stages, and parts of records. A reader is made once for each type, and words only what does not fit.

Own code, because the libraries do less or cost more: msgspec 0.22 drops unknown fields of dataclasses and rejects
unions of two of them; pydantic 2.14 reads 10**400 as infinity and needs 0.12 s more to open a KB (its import and the
validator of the manifest); cattrs 26.2 converts "1" to 1.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Union

from kbkit.errors import BadInputError, clipped

_HINT = "Correct the value, or delete the line to recompute it"

_LARGEST = 2**1023
"""Bound of the integers that are read as floating-point numbers."""
_MAX_PLANS = 100

_Reader = Callable[[Any], Any]


class _MisfitError(Exception):
    """A value that does not fit its type. ``path`` leads to it, ``reason`` follows the place."""

    def __init__(self, what: str, reason: str = "") -> None:
        super().__init__(what)
        self.what, self.reason, self.path = what, reason, list[str]()


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
    try:
        return _reader(kind)(value)
    except _MisfitError as misfit:
        place = ", ".join([where, *reversed(misfit.path)])
        raise BadInputError(f"{misfit.what} in {place}{misfit.reason}", _HINT) from None


@cache
def _reader(kind: Any) -> _Reader:
    """Return the function that converts JSON data to a type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints, own = typing.get_type_hints(kind), _fields(kind)
        required = [f.name for f in own if _default(f) is dataclasses.MISSING]
        return _object_reader({f.name: hints[f.name] for f in own}, required, kind)
    if typing.is_typeddict(kind):
        return _object_reader(typing.get_type_hints(kind), sorted(kind.__required_keys__), dict)
    if origin in (Union, types.UnionType):
        return _optional_reader(arguments)
    if origin in (list, tuple):
        return _sequence_reader(origin, arguments)
    return _mapping_reader(arguments[1]) if origin is dict else _scalar_reader(kind)


def _scalar_reader(kind: Any) -> _Reader:
    def read(value: Any) -> Any:
        if kind is Any or type(value) is kind or (kind is float and type(value) is int and abs(value) < _LARGEST):
            return value
        raise _MisfitError(f"Invalid value {shortened(value)}")

    return read


def _optional_reader(arguments: tuple[Any, ...]) -> _Reader:
    kinds = [one for one in arguments if one is not type(None)]
    inner, may_be_null = [_reader(one) for one in kinds], len(kinds) < len(arguments)

    def read(value: Any) -> Any:
        if value is None and may_be_null:
            return None
        for number, reader in enumerate(inner, 1):
            try:
                return reader(value)
            except _MisfitError:
                if number == len(inner):
                    raise
        raise AssertionError

    return read


def _sequence_reader(origin: type, arguments: tuple[Any, ...]) -> _Reader:
    if origin is tuple and arguments[-1] is not Ellipsis:
        members = [_reader(one) for one in arguments]

        def read_tuple(value: Any) -> Any:
            if type(value) is not list or len(value) != len(members):
                raise _MisfitError(f"Invalid value {shortened(value)}", f": expected {len(members)} values")
            return tuple(reader(one) for reader, one in zip(members, value, strict=True))

        return read_tuple
    inner = _reader(arguments[0])

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise _MisfitError(f"Invalid value {shortened(value)}")
        return origin(map(inner, value))

    return read


def _mapping_reader(kind: Any) -> _Reader:
    inner = _reader(kind)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _MisfitError(f"Invalid value {shortened(value)}", ": expected an object")
        return {key: _within(key, inner, one) for key, one in value.items()}

    return read


def _object_reader(kinds: Mapping[str, Any], required: Collection[str], make: Callable[..., Any]) -> _Reader:
    readers = {name: _reader(kind) for name, kind in kinds.items()}
    plans: dict[tuple[Any, ...], list[tuple[str, _Reader]]] = {}

    def plan(value: dict[str, Any]) -> list[tuple[str, _Reader]]:
        """Check the names of the fields, and return those whose type does not fit without a call."""
        if unknown := value.keys() - readers.keys():
            raise _MisfitError(f"Unknown field {min(unknown)!r}")
        if absent := next((name for name in required if name not in value), ""):
            raise _MisfitError(f"Missing field {absent!r}")
        return [(name, readers[name]) for name, one in value.items() if type(one) is not kinds[name]]

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _MisfitError(f"Invalid value {shortened(value)}", ": expected an object")
        shape = (*value, *map(type, value.values()))  # most objects of a list have the same
        parts = plans.get(shape)
        if parts is None:
            parts = plan(value)
            if len(plans) < _MAX_PLANS:
                plans[shape] = parts
        if not parts:
            return make(**value)
        return make(**(value | {name: _within(name, reader, value[name]) for name, reader in parts}))

    return read


def _within(name: str, reader: _Reader, value: Any) -> Any:
    """Read a part, with its name in the place of an error."""
    try:
        return reader(value)
    except _MisfitError as misfit:
        misfit.path.append(name)
        raise


@cache
def _fields(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a dataclass, keyword-only ones (``dropped``) last."""
    return tuple(sorted(dataclasses.fields(kind), key=lambda f: bool(f.kw_only)))


def _default(f: dataclasses.Field[Any]) -> Any:
    return f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default


def shortened(value: Any) -> str:
    """Return a value as JSON, cut to 60 characters."""
    return clipped(json.dumps(value, ensure_ascii=False))
