"""Readings of parts of a question by themselves, from which the reading of the whole is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kbkit.errors import KbError
from kbkit.questions.elements import Elements
from kbkit.questions.read import Read


@dataclass
class PartReading:
    """Reads questions of several parts; ``read_part`` reads a part by itself."""

    elements: Elements
    read_part: Callable[[str], Read]

    def _sure(self, text: str) -> Read | None:
        """Return the reading of a part that is sure."""
        try:
            read = self.read_part(text)
        except KbError:
            return None
        return read if read.is_sure else None
