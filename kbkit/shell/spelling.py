"""How the shell writes the options and commands of hints."""

from __future__ import annotations

from kbkit.errors import Command, Option

OPTIONS = {"timeout": ".timeout", "params": ".set", "slots": ".set", "limit": ".rows"}
"""Dot-commands that set what elsewhere is an option; any other option belongs to the command line."""
COMMANDS = ("search", "docs", "schema", "sets", "templates", "queries", "info")
"""Commands that are dot-commands too."""


class ShellSpeller:
    """Dot-commands where the shell has them, otherwise as on the command line."""

    def option(self, option: Option) -> str:
        """Spell ``.timeout``, or ``.set x=1``."""
        name = OPTIONS.get(option.name, f"--{option.name.replace('_', '-')}")
        return f"{name} {option.value}" if option.value else name

    def command(self, command: Command) -> str:
        """Spell ``.search``, or ``kbkit build KB text``."""
        first = command.words.partition(" ")[0]
        return f".{first}" if first in COMMANDS else f"kbkit {command.words}"


SPELLER = ShellSpeller()
