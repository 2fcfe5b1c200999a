"""The dot-commands, by topic. To add one, decorate a function with ``command`` in one of these files."""

from kbkit.executor.commands import look, answers, keep, settings, help  # noqa: A004, F401, I001 - the order of help
from kbkit.executor.commands.registry import COMMANDS, DotCommand, find, words

__all__ = ["COMMANDS", "DotCommand", "find", "words"]
