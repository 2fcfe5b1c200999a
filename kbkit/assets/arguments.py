"""Check the arguments of the Python API by their annotations, before any engine sees them.

Own code, because beartype 0.23 checks one item of a list chosen at random (it found 4 of 200 lists with one bad item in
100), typeguard 4.6 adds 0.13 s to the import of a KB, and neither checks Unicode, 64 bits, paths, or says a remedy.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

from kbkit.directory.files import NAME_LENGTH, is_path
from kbkit.errors import INVALID_UNICODE, INVALID_UNICODE_HINT, BadInputError, clipped, unpaired_surrogate

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_BITS = 63
_DEPTH = 2
"""Levels of lists and mappings that are looked into."""
_PLAIN: dict[str, tuple[Any, str]] = {
    "None": (type(None), ""),
    "str": (str, "text"),
    "int": (Integral, "an integer"),
    "float": (Real, "a number"),
    "os.PathLike[str]": (os.PathLike, "a path"),
}
_GENERIC: dict[str, tuple[Any, str]] = {
    "Mapping": (Mapping, "a mapping"),
    "Sequence": (Sequence, "a list"),
    "Iterable": (Iterable, "a list"),
    "Callable": (Callable, "a function"),
}
_ALIASES = {"PathLike": "str | os.PathLike[str]", "Listener": "Callable[...]", "SparqlEngine": "str"}
_UNION = re.compile(r"\s*\|\s*(?![^\[]*\])")
_ITEMS = re.compile(r"(?:Sequence|Iterable)\[(str|int|PathLike)\]")


def checked(cls: type[T]) -> type[T]:
    """Make the public methods of a class check their arguments; see :func:`check_arguments`."""
    for name, member in list(vars(cls).items()):
        if inspect.isfunction(member) and (name[0] != "_" or name == "__init__"):
            setattr(cls, name, _checking(member))
    return cls


def check_arguments(function: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Raise :class:`BadInputError` for arguments of ``function`` that no engine accepts.

    Types are checked where the annotation has Python's own types and paths only. Integers have at most 64 bits, text is
    valid Unicode, also in lists and mappings, and paths are valid on this system.
    """
    rules = _rules(function)
    for name, value in values.items():
        rules.get(name, _ANY).check(name, value)


def _checking(function: F) -> F:
    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        rules = _rules(function)
        for (name, rule), value in zip(rules.items(), given, strict=False):
            rule.check(name, value)
        check_arguments(function, named)
        return function(*given, **named)

    return call  # type: ignore[return-value]


@functools.cache
def _rules(function: Callable[..., Any]) -> dict[str, _Rule]:
    """Return the rules of the parameters in their order."""
    parameters = inspect.signature(function).parameters.values()
    several = inspect.Parameter.VAR_POSITIONAL
    return {p.name: _Rule(f"Sequence[{p.annotation}]" if p.kind == several else str(p.annotation)) for p in parameters}


class _Rule:
    """What the annotation of a parameter allows; without ``kinds`` every type."""

    def __init__(self, annotation: str) -> None:
        parts = [part for joined in _UNION.split(annotation) for part in _UNION.split(_ALIASES.get(joined, joined))]
        known = [_PLAIN.get(part) or _GENERIC.get(part.partition("[")[0]) for part in parts]
        found = [one for one in known if one is not None] if all(known) else []
        self.kinds = tuple(kind for kind, _ in found)
        self.hint = "Use " + " or ".join(dict.fromkeys(word for _, word in found if word))
        self.is_path = "os.PathLike[str]" in parts
        items = next(filter(None, map(_ITEMS.fullmatch, parts)), None)
        self.item = None if items is None else _Rule(items[1])

    def check(self, name: str, value: Any) -> None:
        """Raise :class:`BadInputError` for a value that is not allowed."""
        if self.kinds and (not isinstance(value, self.kinds) or (isinstance(value, bool) and Real not in self.kinds)):
            raise invalid(name, value, self.hint)
        if self.item is not None and isinstance(value, Collection) and not isinstance(value, str):
            for item in value:
                self.item.check(name, item)
        if self.is_path and isinstance(value, (str, os.PathLike)):
            as_path(name, value)
        if isinstance(value, int) and Integral in self.kinds and value.bit_length() > _BITS:
            raise invalid(name, value, f"Use an integer of at most {_BITS + 1} bits")
        _check_text(name, value)


_ANY = _Rule("Any")


def _check_text(name: str, value: Any, depth: int = 0) -> None:
    """Raise :class:`BadInputError` for invalid Unicode in a value, or in lists and mappings in it."""
    if isinstance(value, (str, os.PathLike)):
        if unpaired_surrogate(str(value)) is not None:
            raise BadInputError(f"{INVALID_UNICODE} in {name}: {_shown(value)}", INVALID_UNICODE_HINT)
    elif depth < _DEPTH and isinstance(value, (list, tuple, set, frozenset, dict)):
        for item in itertools.chain(value, value.values() if isinstance(value, dict) else ()):
            _check_text(name, item, depth + 1)


def as_path(name: str, value: str | os.PathLike[str]) -> Path:
    """Return a path; raise :class:`BadInputError` for a text that no system accepts as one."""
    if not is_path(os.fspath(value)):
        raise invalid(name, value, f"Use a path without NUL characters, of names up to {NAME_LENGTH} bytes")
    return Path(value)


def check_range(name: str, value: float, least: int = 1, most: int | None = None) -> None:
    """Raise :class:`BadInputError` for a number outside of a range."""
    if not least <= value or (most is not None and value > most):  # NaN is outside
        raise invalid(name, value, f"Use {least} or more" if most is None else f"Use {least} to {most:,}")


def invalid(name: str, value: object, hint: str) -> BadInputError:
    """Return an error for the argument ``name``."""
    return BadInputError(f"Invalid {name}: {_shown(value)}", hint)


def _shown(value: object) -> str:
    """Return a value as Python writes it, shortened; of a value that cannot be written, its type."""
    try:
        text = " ".join(repr(value).split())
    except (RecursionError, ValueError):  # nested too deeply, or too many digits
        text = f"{type(value).__name__} that is too long to show"
    return clipped(text)
