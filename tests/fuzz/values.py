"""Hostile values, and a watchdog for calls that do not end."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

LIMIT = 30
"""Seconds that a call or command may take."""

INTEGERS = (-1, 0, 1, 2, -(2**31), 2**31 - 1, 2**31, 2**32, -(2**63), 2**63 - 1, 2**63, 2**64, 2**70, -(2**70), 10**400)
FLOATS = (0.0, -0.0, -1.0, 0.5, 1e-320, 1e308, float("nan"), float("inf"), float("-inf"))
WRONG = (None, 3, 2.5, True, b"bytes", [], ["x"], {}, {"a": 1}, object, (), {1, 2}, range(3))
"""Values that are of a wrong type in most places."""
TEXTS = (
    "",
    " ",
    "\n",
    "x",
    "\ud800",
    "a\udfffb",
    "\0",
    "a\0b",
    "\x1b[2J\x1b]0;evil\x07",
    "\u202eevil\u2066",
    "e\u0301\u200d\U0001f468",
    "\ufeffx",
    "ﬀ İ ß ſ",
    "'",
    '"',
    "`",
    "\\",
    "$x",
    "<x>",
    "%",
    "../../x",
    "/dev/null/x",
    "-1",
    "1e400",
    "9" * 5_000,
    "#0",
    "#" + "9" * 30,
    "(" * 10_000,
    "[" * 10_000 + "]" * 10_000,
    "{" * 10_000,
    "(" * 10_000 + "x" + ")" * 10_000,
    "!" * 10_000,
    "a -> " * 3_000 + "a",
    "a & " * 3_000 + "a",
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "null",
    "true",
)
LONG = ("x" * 1_000_000, "many words " * 90_000, "é\n" * 400_000, "a," * 500_000)


class HangError(BaseException):
    """A call that exceeded its time; not an ``Exception``, so that nothing swallows it."""


@contextlib.contextmanager
def watched(seconds: int = LIMIT) -> Iterator[None]:
    """Interrupt the block after ``seconds``, more on a machine that does other work.

    What holds the interpreter is only noticed when it ends.
    """
    seconds = round(seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))

    def ring(number: int, frame: FrameType | None) -> None:
        raise HangError

    before, begun = signal.signal(signal.SIGALRM, ring), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if time.monotonic() - begun > seconds:
        raise HangError


def text(rng: random.Random) -> str:
    """Return a hostile text: seldom a long one, sometimes two joined."""
    if rng.random() < 0.04:
        return rng.choice(LONG)
    if rng.random() < 0.2:
        return "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0x3000), 0xD800))) for _ in range(9))
    return "".join(rng.choices(TEXTS, k=rng.choice((1, 1, 1, 2))))


def cycle() -> list[Any]:
    """Return a list that contains itself."""
    found: list[Any] = []
    found.append(found)
    return found


def deep(levels: int = 2_000) -> list[Any]:
    """Return nested lists."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def shown(value: object, limit: int = 120) -> str:
    """Return a value as Python source, shortened."""
    try:
        written = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or too many digits
        written = f"<{type(value).__name__}>"
    written = written.encode("utf-8", "backslashreplace").decode()
    return written if len(written) <= limit else f"{written[:limit]}... ({len(written):,} characters)"
