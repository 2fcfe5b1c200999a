"""What a prompt says about a question that is not answered. Pure functions of the result."""

from __future__ import annotations

from collections.abc import Sequence

_CHOICE = "Enter a number to run a reading"


def note(refusal: str, readings: Sequence[str]) -> str:
    """Return the remark on hits that are shown instead of answers."""
    return "\n".join([refusal, *(["Did you mean"] if readings else []), *(f"  {reading}" for reading in readings)])


def choices(refusal: str, readings: Sequence[str]) -> str:
    """Return the refusal with numbered readings to choose from."""
    lines = [f"  {number}  {reading}" for number, reading in enumerate(readings, 1)]
    return "\n".join([refusal, *(["", "Did you mean", *lines, "", _CHOICE] if lines else [])])
