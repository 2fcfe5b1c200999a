"""The registry of dot-commands, one decorated function each, and the parsing of their arguments.

Dispatch, ``.help``, completion and the generated reference all read the registry.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from kbkit.errors import KbError, UnknownNameError
from kbkit.executor.executor import Executor
from kbkit.executor.outcomes import StatementOutcome
from kbkit.executor.vocabulary import Argument, CommandWords

Function = Callable[[Executor, str], StatementOutcome]


@dataclass(frozen=True)
class DotCommand:
    """A dot-command: ``usage`` names its arguments, ``help`` is the first line of its help, ``detail`` the rest."""

    name: str
    usage: str
    arguments: tuple[Argument, ...]
    help: str
    detail: str
    function: Function


COMMANDS: dict[str, DotCommand] = {}
"""All dot-commands by name, in the order of ``.help``."""
ALIASES = {
    **{"exit": "quit", "q": "quit", "h": "help", "timer": "timing", "maxrows": "rows"},
    **{"shell": "system"},
}
"""Names of the same commands in sqlite3 and duckdb."""


def command(usage: str = "", *arguments: Argument) -> Callable[[Function], Function]:
    """Register a function as the dot-command of its name; its docstring is the help."""

    def register(function: Function) -> Function:
        name = function.__name__.rstrip("_").replace("_", "-")
        first, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n")
        COMMANDS[name] = DotCommand(name, usage, arguments, first, rest.strip(), function)
        return function

    return register


def words() -> dict[str, CommandWords]:
    """Return the commands as completion needs them."""
    aliases = {name: tuple(alias for alias, target in ALIASES.items() if target == name) for name in COMMANDS}
    return {name: CommandWords(name, entry.arguments, entry.help, aliases[name]) for name, entry in COMMANDS.items()}


def find(name: str) -> DotCommand:
    """Return the command with this name, or the only one that starts with it; raise :class:`UnknownNameError`."""
    name = name.lower()
    known = ALIASES.get(name, name)
    if known in COMMANDS:
        return COMMANDS[known]
    starting = [command for command in COMMANDS.values() if name and command.name.startswith(name)]
    if len(starting) == 1:
        return starting[0]
    choices = [command.name for command in starting or COMMANDS.values()]
    hint = f"Did you mean .{' or .'.join(choices)}?" if starting else ""
    raise UnknownNameError("command", f".{name}", [f".{name}" for name in choices], "", hint)


# -- arguments --------------------------------------------------------------------------------------------------------


def split_words(text: str) -> list[str]:
    """Split an argument into words; quotes protect spaces."""
    try:
        return shlex.split(text)
    except ValueError:
        raise KbError(f"Unclosed quote in {text!r}", "Close it, or escape it with a backslash") from None


def parse_word(text: str, what: str, example: str) -> str:
    """Return the only word of an argument."""
    found = split_words(text)
    if len(found) != 1:
        raise KbError(f"Expected one {what}, not {len(found)} words", f"Example: {example}")
    return found[0]


def parse_path(text: str, example: str) -> Path:
    """Return the path of a file or folder; ``~`` is the user's home."""
    return Path(parse_word(text, "path", example)).expanduser()


def parse_number(text: str, what: str, minimum: int = 1) -> int:
    """Return an integer of at least ``minimum``."""
    if not text.strip().isdecimal() or int(text) < minimum:
        raise KbError(f"Invalid {what} {text.strip()!r}", f"Use an integer of at least {minimum}")
    return int(text)


def parse_choice(text: str, kind: str, known: Collection[str]) -> str:
    """Return ``text`` if it is one of the known names."""
    if text not in known:
        raise UnknownNameError(kind, text, known)
    return text


def parse_switch(text: str, current: bool) -> bool:
    """Return whether the argument is ``on``; without an argument, toggle the current value."""
    return not current if not text else parse_choice(text.lower(), "value", ("on", "off")) == "on"


def parse_pairs(texts: list[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` words as a dictionary."""
    result = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise KbError(f"Expected NAME=VALUE, found {text!r}", "Quote values with spaces: name='New Zealand'")
        result[name] = value
    return result
