"""Derive the options of commands from dataclasses of settings.

A parameter of a command whose type is a dataclass stands for the options of its fields. A field has a
:class:`kbkit.assets.operations.Setting`, or is annotated with an option of Typer; others are not options. The command
is called with the dataclass, built from the values of the options.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo, ParameterInfo

from kbkit.assets import operations
from kbkit.assets.operations import SettingField
from kbkit.cli.options import RARE, number, option, pairs
from kbkit.cli.spelling import SHORT, flag

_MANY = 15
"""Commands with at most this many options list them all."""
HELP_ALL = "help_all"
"""Name of the option that shows them; the last line of the help mentions it."""
SHOW_ALL = "kbkit.help_all"
"""Key in the ``meta`` of a context: its help lists the rare options too."""

Command = Callable[..., None]
Convert = Callable[[Any], Any]


def expand(command: Command) -> Command:
    """Return the command with the options of its parameters that are dataclasses in their place.

    A command with many options, some of them rare, also gets ``--help-all``.
    """
    signature = inspect.signature(command, eval_str=True)
    options: dict[str, inspect.Parameter] = {}
    builders: dict[str, Callable[[dict[str, Any]], Any]] = {}
    for parameter in signature.parameters.values():
        kind: Any = parameter.annotation
        if dataclasses.is_dataclass(kind):
            own, builders[parameter.name] = _expanded(kind)
            options |= own
        else:
            options[parameter.name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    panels = [info.rich_help_panel for option in options.values() for info in _infos(option)]
    has_rare = len(panels) > _MANY and RARE in panels
    if not builders and not has_rare:
        return command
    if has_rare:
        options[HELP_ALL] = _parameter(HELP_ALL, _HelpAll, False)

    @functools.wraps(command)
    def expanded(**values: Any) -> None:
        values.pop(HELP_ALL, None)
        for name, build in builders.items():
            values[name] = build(values)
        command(**values)

    del expanded.__wrapped__
    expanded.__signature__ = signature.replace(parameters=list(options.values()))  # type: ignore[attr-defined]
    expanded.__annotations__ = {name: option.annotation for name, option in options.items()}
    return expanded


def _infos(option: inspect.Parameter) -> list[OptionInfo]:
    """Return the option settings of a parameter; empty for arguments and the context."""
    return [extra for extra in getattr(option.annotation, "__metadata__", ()) if isinstance(extra, OptionInfo)]


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[SHOW_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


_HelpAll = Annotated[
    bool,
    option("--help-all", "Show this message with all options and exit.", is_eager=True, callback=_show_all),
]


def _expanded(kind: Any) -> tuple[dict[str, inspect.Parameter], Callable[[dict[str, Any]], Any]]:
    """Return the options of a dataclass, and a function that takes their values out and builds the dataclass."""
    if not operations.is_described(kind):
        return _plain_options(kind)
    derived = [_option(field) for field in operations.described(kind)]
    fields = {option.name: (field.name, convert)
              for field, (option, convert) in zip(operations.described(kind), derived, strict=True)}  # fmt: skip

    def build(values: dict[str, Any]) -> Any:
        given = {name: (field, convert, values.pop(name)) for name, (field, convert) in fields.items()}
        return operations.build(kind, {f: convert(v) for f, convert, v in given.values() if v is not None})

    return {option.name: option for option, _ in derived}, build


def _plain_options(kind: Any) -> tuple[dict[str, inspect.Parameter], Callable[[dict[str, Any]], Any]]:
    """Return the options of a dataclass of this room, whose fields are annotated with them."""
    hints = typing.get_type_hints(kind, include_extras=True)
    options = {}
    for field in dataclasses.fields(kind):
        if any(isinstance(extra, ParameterInfo) for extra in getattr(hints[field.name], "__metadata__", ())):
            default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            options[field.name] = _parameter(field.name, hints[field.name], default)
    return options, lambda values: kind(**{name: values.pop(name) for name in options})


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


# -- one setting ------------------------------------------------------------------------------------------------------


def _option(field: SettingField) -> tuple[inspect.Parameter, Convert]:
    """Return the option of a setting, and the conversion of a value that was given."""
    about = field.about
    long = flag(about.name or field.name)
    kind, default, convert, metavar = _as_text(field)
    names = [long, *([SHORT[long]] if long in SHORT else [])]
    if kind is bool:
        names = _switches(long, default)
    repeated = typing.get_origin(kind) is list
    choices = list(about.choices)
    info = typer.Option(
        *names,
        help=about.help.removesuffix(".") + "; repeatable." if repeated else about.help,
        metavar=None if kind is bool else about.values or metavar,
        show_default="(default" not in about.help,
        autocompletion=(lambda incomplete: [c for c in choices if c.startswith(incomplete)]) if choices else None,
        rich_help_panel=RARE if about.rare else None,
    )
    annotation = kind if default is not None and not field.required else kind | None
    if field.required:
        annotation, default = kind, inspect.Parameter.empty
    return _parameter(long[2:].replace("-", "_"), Annotated[annotation, info], default), convert


def _switches(long: str, default: Any) -> list[str]:
    """Return the names of a switch; one that may be on by itself also has a name that turns it off."""
    if long.startswith("--with-"):
        return [f"{long}/{long.replace('--with-', '--without-')}"]
    return [long] if default is False else [f"{long}/{long.replace('--', '--no-', 1)}"]


def _as_text(field: SettingField) -> tuple[Any, Any, Convert, str]:
    """Return the type of an option, its default, the conversion of its value, and what a value is."""
    origin, inner = typing.get_origin(field.type), typing.get_args(field.type)
    if origin is None:
        values = {int: "N", float: "N", Path: "FILE"}.get(field.type, "TEXT")
        return field.type, field.default, lambda value: value, values
    if issubclass(origin, Mapping):
        return list[str], None, functools.partial(_mapping, field, inner[1]), "NAME=VALUE"
    assert issubclass(origin, Sequence), field.name
    if field.about.joined:
        return str, None, functools.partial(_joined, field, inner[0]), "NAMES"
    return list[Path] if inner[0] is Path else list[str], None, tuple, "NAME"


def _mapping(field: SettingField, kind: Any, values: list[str]) -> Mapping[str, Any]:
    """Return the mapping that ``NAME=VALUE`` texts give."""
    name, example = field.about.name or field.name, field.about.example or "NAME=VALUE"
    found = pairs(values, name, example)
    if kind is float:
        return {key: number(text, name, example) for key, text in found.items()}
    if typing.get_origin(kind) is not None:  # a list with commas
        return {key: tuple(part for part in text.split(",") if part) for key, text in found.items()}
    return {key: Path(text) for key, text in found.items()} if kind is not str else found


def _joined(field: SettingField, kind: Any, text: str) -> tuple[Any, ...]:
    """Return the items of a text with commas."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if kind is not float:
        return tuple(parts)
    name = field.about.name or field.name
    return tuple(number(part, name, field.about.example) for part in parts)
