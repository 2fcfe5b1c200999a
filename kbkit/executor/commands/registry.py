"""The registry of dot-commands: one decorated function each, which dispatch, help and completion all read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from kbkit.errors import KbError, UnknownNameError
from kbkit.executor.executor import Executor, Outcome
from kbkit.executor.vocabulary import Argument, CommandWords

Function = Callable[[Executor, str], Outcome]


@dataclass(frozen=True)
class Command:
    """A dot-command: ``usage`` is what follows its name, ``help`` its first line of help, ``detail`` the rest."""

    name: str
    usage: str
    arguments: tuple[Argument, ...]
    help: str
    detail: str
    function: Function


COMMANDS: dict[str, Command] = {}
"""All dot-commands by name, in the order of help."""
_SHORT = {"exit": "quit", "q": "quit", "h": "help", "tables": "schema", "timer": "timing"}
"""What other shells call some of them."""


def command(usage: str = "", *arguments: Argument) -> Callable[[Function], Function]:
    """Register a function as the dot-command of its name; its docstring is the help."""

    def register(function: Function) -> Function:
        name = function.__name__.rstrip("_")
        first, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n")
        COMMANDS[name] = Command(name, usage, arguments, first, rest.strip(), function)
        return function

    return register


def words() -> dict[str, CommandWords]:
    """What completion is to know of the commands."""
    return {name: CommandWords(name, entry.arguments, entry.help) for name, entry in COMMANDS.items()}


def find(name: str) -> Command:
    """The command called ``name``, or the only one that starts so. Raises :class:`UnknownNameError`."""
    name = name.lower()
    known = _SHORT.get(name, name)
    if known in COMMANDS:
        return COMMANDS[known]
    starting = [command for command in COMMANDS.values() if name and command.name.startswith(name)]
    if len(starting) == 1:
        return starting[0]
    choices = [command.name for command in starting or COMMANDS.values()]
    hint = f"there are .{', .'.join(choices)}" if starting else ""
    raise UnknownNameError("command", f".{name}", [f".{name}" for name in choices], "", hint)


def run(executor: Executor, statement: str) -> Outcome:
    """Run a dot-command, as it was typed."""
    name, _, argument = statement.strip().removeprefix(".").partition(" ")
    wanted = find(name)
    if argument.strip() and not wanted.usage:
        raise KbError(f".{wanted.name} takes no argument", f".help {wanted.name} tells what it does")
    return wanted.function(executor, argument.strip())
