"""How the command line writes the options and commands of hints."""

from __future__ import annotations

from kbkit.errors import Command, Option

NAMES = {"params": "--param", "slots": "--param", "columns": "--column", "files": "--file", "options": "--set"}
"""Options whose Python name differs from that of the command line."""


class CliSpeller:
    """Options as flags, commands as typed in a terminal."""

    def option(self, option: Option) -> str:
        """Spell ``--timeout``, or ``--timeout 5``."""
        flag = NAMES.get(option.name, f"--{option.name.replace('_', '-')}")
        return f"{flag} {option.value}" if option.value else flag

    def command(self, command: Command) -> str:
        """Spell ``kbkit build KB text``."""
        return f"kbkit {command.words}"


SPELLER = CliSpeller()
