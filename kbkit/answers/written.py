"""Names and texts as answer expressions have them."""

from __future__ import annotations

import re

_IDENTIFIER = re.compile(r"\w+(?:/\w+)*")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    """Return a text in double quotes with escapes."""
    return '"' + "".join(_ESCAPES.get(c, c) for c in text) + '"'


def identifier(name: str) -> str:
    """Return a type, attribute or set name, in backticks unless it is a plain identifier."""
    return name if _IDENTIFIER.fullmatch(name) else in_backticks(name)


def in_backticks(name: str) -> str:
    """Return a name in backticks."""
    return "`" + name.replace("`", "``") + "`"
