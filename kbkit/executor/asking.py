"""What a prompt says about a question that is not answered. Pure functions of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbkit.questions.ask import AskResult
    from kbkit.questions.understood import ReadingInWords

_CHOICE = "Enter a number to answer with a reading, which is remembered"


def note(result: AskResult, offered: Sequence[ReadingInWords]) -> str:
    """Return the remark on hits that are shown instead of answers."""
    lines = [f"  {one.text}" for one in offered]
    return "\n".join([*_refused(result), *(["Did you mean"] if lines else []), *lines])


def choices(result: AskResult, offered: Sequence[ReadingInWords]) -> str:
    """Return the refusal with numbered readings to choose from."""
    lines: list[str] = []
    for number, one in enumerate(offered, 1):
        lines.append(f"  {number}  {one.text}")
        lines += [f"     {one.expression}"] * (one.text != one.expression)
    return "\n".join([*_refused(result), *(["", "Did you mean", *lines, "", _CHOICE] if lines else [])])


def _refused(result: AskResult) -> list[str]:
    return [result.refusal, *([result.unused_choice] if result.unused_choice else [])]
