"""Descriptions of operations: dataclasses of settings whose fields say what they mean and which values they take.

A field is described by a :class:`Setting` in its annotation::

    count: Annotated[int, Setting("Number of queries.", least=1)] = 100

Front ends derive options and forms from :func:`described`, and :func:`check_settings` validates the values for every
caller. A field whose type is such a dataclass contributes the settings of that dataclass.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar, cast

from kbkit.errors import BadInputError, UnknownNameError

T = TypeVar("T")
_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True)
class Setting:
    """What a setting means, and which values it takes.

    ``help`` is a noun phrase or an imperative, as a sentence. ``values`` says in capitals what a value is (``FILE``).
    Numbers are from ``least`` to ``most``; texts are one of ``choices``. ``rare`` settings are left out of short help.
    ``name`` is the name for users and ``noun`` that in messages, where they differ from that of the field. A list that
    is ``joined`` is written as one text with commas. ``example`` is a value, for messages.
    """

    help: str
    values: str = ""
    least: float | None = None
    most: float | None = None
    choices: Collection[str] = ()
    rare: bool = False
    name: str = ""
    noun: str = ""
    joined: bool = False
    example: str = ""


@dataclass(frozen=True)
class SettingField:
    """A described field: its name, its type without None, whether it may be None, its default, and the description."""

    name: str
    type: Any
    optional: bool
    default: Any
    about: Setting

    @property
    def required(self) -> bool:
        """Whether the setting has no default."""
        return self.default is MISSING

    @property
    def noun(self) -> str:
        """What messages call the setting."""
        return self.about.noun or self.name.replace("_", " ")


def is_described(kind: Any) -> bool:
    """Return whether a type is a dataclass with described fields, or made of such dataclasses."""
    return isinstance(kind, type) and is_dataclass(kind) and any(described(kind))


@functools.cache
def described(kind: type) -> tuple[SettingField, ...]:
    """Return the described fields of a dataclass, in order, with those of its fields that are such dataclasses."""
    return tuple(one for _, found in _members(kind) for one in (found if isinstance(found, tuple) else (found,)))


def build(kind: type[T], values: Mapping[str, Any], **further: Any) -> T:
    """Return a ``kind`` with the ``values`` of its settings; missing ones have their defaults.

    ``further`` are values of fields without a description.
    """
    given, described_kind = dict(further), cast(Hashable, kind)
    for name, found in _members(described_kind):
        if isinstance(found, SettingField):
            given |= {name: values[name]} if name in values else {}
        else:
            given[name] = build(_hints(described_kind)[name], values)
    return kind(**given)


def parse(kind: type[T], texts: Mapping[str, str]) -> T:
    """Return a ``kind`` whose settings are given as texts, by their names for users; a list has commas.

    Raises :class:`UnknownNameError` for an unknown setting, and :class:`BadInputError` for a text that is no number, or
    for a missing setting.
    """
    known = {field.about.name or field.name: field for field in described(cast(Hashable, kind))}
    for name in texts:
        if name not in known:
            raise UnknownNameError("setting", name, known)
    for name, field in known.items():
        if field.required and name not in texts:
            raise BadInputError(f"Missing setting {name}", f"Add {name}={field.about.values or 'VALUE'}")
    return build(kind, {known[name].name: _value(known[name], text) for name, text in texts.items()})


def _value(field: SettingField, text: str) -> Any:
    if field.type is bool:
        if text not in _SWITCH:
            raise UnknownNameError(field.noun, text, tuple(_SWITCH))
        return _SWITCH[text]
    if field.type in (int, float):
        try:
            return field.type(text)
        except ValueError:
            wanted = "an integer" if field.type is int else "a number"
            raise BadInputError(f"Invalid {field.noun}: {text!r}", f"Use {wanted}") from None
    return tuple(text.split(",")) if typing.get_origin(field.type) is not None else text


def check_settings(settings: Any) -> None:
    """Raise :class:`BadInputError` or :class:`UnknownNameError` for values that the description does not allow."""
    for name, found in _members(cast(Hashable, type(settings))):
        if isinstance(found, SettingField):
            _check(found, getattr(settings, name))


def _check(field: SettingField, value: Any) -> None:
    least, most = field.about.least, field.about.most
    if isinstance(value, (int, float)) and not (least is None and most is None):
        low = "" if least is None else f"{least:,}"
        high = "" if most is None else f"{most:,}"
        if not ((least is None or value >= least) and (most is None or value <= most)):  # NaN is outside
            allowed = f"{low} to {high}" if low and high else f"{low} or more" if low else f"{high} or less"
            shown = f"{value:g}" if isinstance(value, float) else value
            raise BadInputError(f"Invalid {field.noun}: {shown}", f"Use {allowed}")
    if field.about.choices and value is not None:
        for one in (value,) if isinstance(value, str) else value:
            if one not in field.about.choices:
                raise UnknownNameError(field.noun, one, field.about.choices)


@functools.cache
def _members(kind: Any) -> tuple[tuple[str, SettingField | tuple[SettingField, ...]], ...]:
    """Return the names of the fields that are described, or that are made of described fields."""
    hints = _hints(kind)
    found: list[tuple[str, SettingField | tuple[SettingField, ...]]] = []
    for field in fields(kind):
        hint = hints[field.name]
        about = next(_settings(hint), None)
        if about is not None:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            plain = [_plain(part) for part in _alternatives(hint)]
            kinds = [part for part in plain if part is not types.NoneType]
            found.append((field.name, SettingField(field.name, kinds[0], len(kinds) < len(plain), default, about)))
        elif isinstance(hint, type) and is_dataclass(hint) and (nested := described(hint)):
            found.append((field.name, nested))
    return tuple(found)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


def _settings(hint: Any) -> Iterator[Setting]:
    """Yield the descriptions in an annotation, also in one that may be None."""
    for part in (hint, *_alternatives(hint)):
        if typing.get_origin(part) is Annotated:
            yield from (extra for extra in part.__metadata__ if isinstance(extra, Setting))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, also of an annotated one, else the annotation itself."""
    plain = _plain(hint)
    return typing.get_args(plain) if typing.get_origin(plain) in (typing.Union, types.UnionType) else (hint,)


def _plain(hint: Any) -> Any:
    return hint.__origin__ if typing.get_origin(hint) is Annotated else hint


# -- settings that several operations have ----------------------------------------------------------------------------

SAMPLINGS = ("uniform", "popular")
Seed = Annotated[int, Setting("Random seed, for reproducible output.", least=0)]
Sampling = Annotated[
    str,
    Setting(
        "Sampling: uniform, or popular to prefer nodes of high degree.", values="HOW", choices=SAMPLINGS, noun="weight"
    ),
]
