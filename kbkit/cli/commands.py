"""Classes of commands and groups: help that fits the screen, and old names that keep working for one release."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

OPTIONS: dict[str, dict[str, str]] = {
    "": {"--out": "--output"},
    "fetch": {"--to": "--output"},
    "export": {"--to": "--format"},
    "path": {"--max": "--max-steps"},
    "answers": {"--print": "--compile"},
    "sparql": {"--max-rows": "--limit"},
    "ask": {"--max-rows": "--limit"},
    "mcp": {"--max-rows": "--limit"},
    "shell": {"--mode": "--language"},
    "template sample": {"--min": "--min-answers", "--max": "--max-answers", "--weight": "--sampling"},
    "measure ranking": {"-m": "--measure"},
    "measure compare": {"-m": "--measure", "-n": "--resamples"},
    "stark generate": {"--texts": ""},
    "stark run": {"--out": "--runs"},
    "stark make": {"--templates": "--template", "--weight": "--sampling"},
    "quest make": {
        "--domain": "--type", "-d": "--type", "--min": "--min-answers", "--max": "--max-answers",
        "--without-field": "--exclude-field",
    },
    "quest documents": {"--domain": "--type", "-d": "--type", "--without-field": "--exclude-field"},
    "quest run": {"--retriever": "--mode", "-r": "--mode"},
    "spinach check": {"--out": "--details", "--max-rows": "--row-limit"},
    "spinach run": {"--max-rows": "--row-limit", "--total": "--max-total-actions", "--actions": "--max-actions"},
    "spinach eval": {"--max-rows": "--row-limit"},
}  # fmt: skip
"""Old option -> new option (empty: none), by command; "" for all commands that have the new one."""

CHANGED: dict[str, dict[str, str]] = {
    "answers": {"-t": "--template"},
    "template sample": {"-t": "--template"},
    "stark make": {"-t": "--template"},
}
"""Options that were removed because their name has another meaning now, and the replacement to use."""

COMMANDS = ("recipes", "queries", "templates", "sample", "generate")
"""Old names of commands; :func:`new_command` maps them."""

PANELS = {
    "Build": ("demo", "fetch", "ingest", "build", "update", "export", "recipe"),
    "Query": ("shell", "sql", "sparql", "answers", "search", "ask", "query", "template", "sets", "serve", "mcp"),
    "Explore": ("explore", "info", "show", "path", "around", "docs"),
    "Evaluate": ("run", "measure", "stark", "quest", "ska", "spinach", "conv"),
    "Maintain": ("check", "gc", "llm", "completion"),
}
"""The commands in the order of the help."""

_WITH_VALUE = ("-f", "--format", "-o", "--output", "--from", "--part", "-n", "--limit")


def new_command(args: Sequence[str]) -> list[str]:
    """Return the words of a command line that starts with one of ``COMMANDS``, in new terms.

    >>> new_command(["recipes"]), new_command(["queries", "-f", "csv", "counts"])
    (['recipe', 'list'], ['query', 'show', '-f', 'csv', 'counts'])
    """
    name, *rest = args
    if name == "generate":
        return ["stark", "generate", *rest]
    if name == "sample":
        return ["template", "sample", *rest]
    if name == "templates":
        if "suggest" in rest:
            rest.remove("suggest")
            return ["template", "suggest", *rest]
        position = next((rest.index(option) for option in ("-t", "--template") if option in rest), None)
        if position is not None:
            del rest[position]
            return ["template", "show", *rest]
        return ["template", "list", *rest]
    words = iter(rest)
    positional = [word for word in words if not (word in _WITH_VALUE and next(words, "")) and word[:1] != "-"]
    return ["recipe" if name == "recipes" else "query", "show" if positional else "list", *rest]


def _note(context: Any, text: str) -> None:
    root = context.find_root()
    if not (root.params.get("quiet") or context.resilient_parsing):
        typer.echo(f"kbkit: {text}; the old name will be removed in the next release", err=True)


class Command(TyperCommand):
    """A command that accepts old names of its options and writes its help without Python types."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace old names of options, then parse."""
        return super().parse_args(ctx, self._renamed(ctx, args))

    def _renamed(self, ctx: Any, args: list[str]) -> list[str]:
        path = ctx.command_path.split(" ", 1)[-1]
        own = {name: param for param in self.params for name in [*param.opts, *param.secondary_opts]}
        renamed = OPTIONS[""] | OPTIONS.get(path, {})
        changed = CHANGED.get(path, {})
        result: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--":
                return [*result, word, *words]
            name, sign, value = word.partition("=")
            if name not in own and (old := next((old for old in changed if name[:2] == old), None)):
                ctx.fail(f"{old} has another meaning in other commands. Use {changed[old]} here.")
            new = name if name in own else renamed.get(name, name)
            if new != name and (new in own or not new):
                _note(ctx, f"{name} is now {new}" if new else f"{name} is the default now")
            else:
                new = name
            if new or not word:
                result.append(new + sign + value)
            if new in own and not sign and not getattr(own[new], "is_flag", True):
                result += [following for following in [next(words, None)] if following is not None]
        return result

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the pieces of the usage line: ``[OPTIONS] KB [QUERY]``."""
        pieces = ["[OPTIONS]"]
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                name = param.metavar or str(param.name).upper()
                pieces.append((name if param.required else f"[{name}]") + ("..." if param.nargs != 1 else ""))
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options with metavars in the place of types."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        param: Any
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                rows["Arguments"].append((param.metavar or str(param.name).upper(), param.help or ""))
            elif record := param.get_help_record(ctx):
                rows["Options"].append(record)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class Group(TyperGroup):
    """A group of commands."""


class Program(Group):
    """The program: its help fits one screen, and it accepts old names of commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the old name of a command, then find the command."""
        if args and args[0] in COMMANDS:
            new = new_command(args)
            _note(ctx, f"kbkit {args[0]} is now kbkit {' '.join(new[:2])}")
            args = new
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, panel by panel."""
        return [name for names in PANELS.values() for name in names if name in self.commands]

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
        formatter.write_paragraph()
        for panel, name, text in rows:
            formatter.write(f"{panel:<10}{name:<{width}}{text}\n")


def group(help: str) -> typer.Typer:
    """Return a group of commands that prints its help when called without a command."""
    return typer.Typer(cls=Group, help=help, no_args_is_help=True)


def add(app: typer.Typer, function: Callable[..., None], name: str | None = None, **settings: Any) -> None:
    """Add a command to the program or to a group."""
    app.command(name, cls=Command, **settings)(function)


def branch(app: typer.Typer, args: Sequence[str]) -> typer.Typer:
    """Return the part of the program that a command line needs: one command or group, or the names of all.

    Building all commands takes longer than most commands run.
    """
    name = next((word for word in args if word and not word.startswith("-")), "")
    if name in COMMANDS:
        name = new_command([name])[0]
    part = copy.copy(app)
    for info in app.registered_commands:
        info.name = info.name or getattr(info.callback, "__name__", "")
    part.registered_commands = [info for info in app.registered_commands if info.name == name]
    part.registered_groups = [info for info in app.registered_groups if info.name == name]
    if not (part.registered_commands or part.registered_groups):
        part.registered_commands = [copy.copy(info) for info in app.registered_commands]
        for command in part.registered_commands:
            command.help, command.callback = inspect.getdoc(command.callback), _nothing
        part.registered_groups = [copy.copy(info) for info in app.registered_groups]
        for child in part.registered_groups:
            child.typer_instance = copy.copy(child.typer_instance)
            assert child.typer_instance is not None
            child.typer_instance.registered_commands = []
    return part


def _nothing() -> None:
    """Do nothing: a command without parameters."""
