"""How the arguments of dot-commands are read."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

from kbkit.errors import KbError, UnknownNameError


def words(text: str) -> list[str]:
    """An argument's words; quotes hold together what has spaces."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise KbError(f"{text!r} cannot be split into words: {str(error).lower()}", "quotes come in pairs") from None


def one(text: str, what: str, example: str) -> str:
    """The only word of an argument."""
    found = words(text)
    if len(found) != 1:
        raise KbError(f"{len(found) or 'no'} words, where one {what} is expected", f"e.g. {example}")
    return found[0]


def path(text: str, example: str) -> Path:
    """A file's or folder's path; ``~`` is the user's home."""
    return Path(one(text, "path", example)).expanduser()


def number(text: str, what: str, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if not text.strip().isdecimal() or int(text) < least:
        raise KbError(f"{text.strip()!r} is no {what}", f"give a whole number from {least} on")
    return int(text)


def choice(text: str, kind: str, known: Collection[str]) -> str:
    """One of some names."""
    if text not in known:
        raise UnknownNameError(kind, text, known)
    return text


def switch(text: str, now: bool) -> bool:
    """``on`` or ``off``; nothing turns it over."""
    return not now if not text else choice(text.lower(), "value", ("on", "off")) == "on"


def pairs(texts: list[str]) -> dict[str, str]:
    """``name=value`` words."""
    result = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise KbError(f"{text!r} is not NAME=VALUE", "e.g. limit=10; quote values that have spaces")
        result[name] = value
    return result
