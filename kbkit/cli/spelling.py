"""How the command line writes the options and commands of hints."""

from __future__ import annotations

from kbkit.errors import Command, Option

NAMES = {
    "k": "-k",
    "params": "--param",
    "slots": "--param",
    "bindings": "--param",
    "n": "--limit",
    "count": "--limit",
    "number": "--limit",
    "rows": "--limit",
    "max_rows": "--limit",
    "out": "--output",
    "path": "--output",
    "types": "--type",
    "domains": "--type",
    "domain": "--type",
    "relations": "--relation",
    "modes": "--mode",
    "retrievers": "--mode",
    "weights": "--weight",
    "weight": "--sampling",
    "parts": "--part",
    "constraints": "--constraint",
    "categories": "--category",
    "templates": "--template",
    "prompts": "--prompt",
    "prices": "--price",
    "price": "--price",
    "models": "--llm",
    "model": "--llm",
    "actions": "--max-actions",
    "total": "--max-total-actions",
    "steps": "--max-steps",
    "columns": "--column",
    "named": "--file",
    "files": "--file",
    "options": "--set",
    "min_count": "--min-answers",
    "minimum": "--min-answers",
    "keys": "--key",
    "links": "--link",
    "maximum": "--max-answers",
}
"""Flags of parameters whose Python name differs from that of the command line."""

SHORT = {
    "--limit": "-n",
    "--output": "-o",
    "--format": "-f",
    "--type": "-t",
    "--param": "-p",
    "--mode": "-m",
    "--relation": "-r",
    "--within": "-w",
}
"""Short flags, which mean the same in every command."""


def flag(name: str) -> str:
    """Return the flag of a parameter by its Python name.

    >>> flag("chunk_words"), flag("count")
    ('--chunk-words', '--limit')
    """
    return NAMES.get(name, f"--{name.replace('_', '-')}")


class CliSpeller:
    """Options as flags, commands as typed in a terminal."""

    def option(self, option: Option) -> str:
        """Spell ``--timeout``, or ``--timeout 5``."""
        return f"{flag(option.name)} {option.value}" if option.value else flag(option.name)

    def command(self, command: Command) -> str:
        """Spell ``kbkit build KB text``."""
        return f"kbkit {command.words}"


SPELLER = CliSpeller()
