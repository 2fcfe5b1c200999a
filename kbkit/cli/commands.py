"""Classes of commands and groups, whose help fits the screen: ``--help-all`` adds the rare options."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo

from kbkit.cli.derive import HELP_ALL, SHOW_ALL, expand
from kbkit.cli.options import RARE
from kbkit.errors import KbError

PANELS = {
    "Build": ("demo", "fetch", "ingest", "build", "update", "duplicates", "export", "recipe"),
    "Query": ("shell", "sql", "sparql", "answers", "search", "ask", "query", "template", "sets", "serve", "mcp"),
    "Explore": ("explore", "info", "show", "path", "around", "graph", "docs"),
    "Evaluate": ("run", "train", "measure", "stark", "quest", "ska", "spinach", "conv", "publish"),
    "Maintain": ("check", "gc", "llm", "completion"),
}
"""The commands in the order of the help."""


class HelpCommand(TyperCommand):
    """A command that writes its help without Python types, and without its rare options unless asked to."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the pieces of the usage line: ``[OPTIONS] KB [QUERY]``."""
        pieces = ["[OPTIONS]"]
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                name = param.metavar or str(param.name).upper()
                pieces.append((name if param.required else f"[{name}]") + ("..." if param.nargs != 1 else ""))
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options with metavars in the place of types; count the options that are left out."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], RARE: []}
        can_hide = any(param.name == HELP_ALL for param in self.params)
        param: Any
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                rows["Arguments"].append((param.metavar or str(param.name).upper(), param.help or ""))
            elif param.name != HELP_ALL and (record := param.get_help_record(ctx)):
                rows[RARE if can_hide and param.rich_help_panel == RARE else "Options"].append(record)
        left_out = [] if ctx.meta.get(SHOW_ALL) else rows.pop(RARE)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write(f"--help-all lists {len(left_out)} more option{'s' * (len(left_out) > 1)}.\n")


class LazyCommandInfo(CommandInfo):
    """A command whose options are derived when it is built: few commands of a program are."""

    _function: Any
    _expanded: Any

    @property
    def callback(self) -> Any:
        """The function, with the options of its dataclasses."""
        if self._expanded is None:
            self._expanded = expand(self._function)
        return self._expanded

    @callback.setter
    def callback(self, function: Any) -> None:
        self._function = function
        self._expanded = None


class Program(TyperGroup):
    """The program: its help fits one screen."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises :class:`KbError` for an ``EOFError``, which Typer would report as an interrupt."""
        try:
            return super().invoke(ctx)
        except EOFError as error:
            what = f"Unexpected end of input: {error}" if str(error) else "Unexpected end of input"
            raise KbError(what, "A file may be incomplete; kbkit --debug shows the traceback") from error

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, panel by panel."""
        return [name for names in PANELS.values() for name in names if name in self.commands]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write what the program does right below the usage: the list of commands needs the line."""
        with formatter.indentation():
            formatter.write_text(self.help or "")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in panels, then the options: a line each."""
        rows = [
            (panel * (name == names[0]), name, self.commands[name].get_short_help_str(100))
            for panel, names in PANELS.items()
            for name in names
            if name in self.commands
        ]
        # Without --help, which readers of this text have just used, and two rare options the list fits one screen.
        known = [param for param in self.get_params(ctx) if not {"--help", "--version", "--debug"} & set(param.opts)]
        options = [param.get_help_record(ctx) for param in known]
        rows += [("Options" * (not place), *record) for place, record in enumerate(filter(None, options))]
        width = max(len(name) for _, name, _ in rows) + 2
        for panel, name, text in rows:  # without an empty line above, which the screen has no room for
            formatter.write(f"{panel:<10}{name:<{width}}{text}\n")


class LazyGroup(typer.Typer):
    """A group of commands whose modules are imported when its commands are built or listed."""

    _commands: list[CommandInfo] | None

    def __init__(self, help: str, load: Callable[[typer.Typer], None]) -> None:
        super().__init__(help=help, no_args_is_help=True)
        self._load = load
        self._commands = None

    @property
    def registered_commands(self) -> list[CommandInfo]:
        """The commands; the first access loads them."""
        if self._commands is None:
            self._commands = []
            self._load(self)
        return self._commands

    @registered_commands.setter
    def registered_commands(self, commands: list[CommandInfo]) -> None:
        self._commands = commands


def group(help: str) -> typer.Typer:
    """Return a group of commands that prints its help when called without a command."""
    return typer.Typer(help=help, no_args_is_help=True)


def add(app: typer.Typer, function: Callable[..., None], name: str | None = None, **settings: Any) -> None:
    """Add a command to the program or to a group; its parameters that are dataclasses become options."""
    name = name or function.__name__.replace("_", "-")
    help_ = inspect.getdoc(function)
    app.registered_commands.append(LazyCommandInfo(name, callback=function, cls=HelpCommand, help=help_, **settings))


def branch(app: typer.Typer, args: Sequence[str]) -> typer.Typer:
    """Return the part of the program that a command line needs: one command or group, or the names of all.

    Building all commands takes longer than most commands run.
    """
    name = next((word for word in args if word and not word.startswith("-")), "")
    part = copy.copy(app)
    part.registered_commands = [info for info in app.registered_commands if info.name == name]
    part.registered_groups = [info for info in app.registered_groups if info.name == name]
    if not (part.registered_commands or part.registered_groups):
        part.registered_commands = [copy.copy(info) for info in app.registered_commands]
        for command in part.registered_commands:
            command.callback = _nothing
        part.registered_groups = [copy.copy(info) for info in app.registered_groups]
        for child in part.registered_groups:
            child.typer_instance = copy.copy(child.typer_instance)
            assert child.typer_instance is not None
            child.typer_instance.registered_commands = []
    return part


def _nothing() -> None:
    """Do nothing: a command without parameters."""
