"""What a word of a question may be called in a KB: a type, or an attribute of a type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabelOption:
    """A type (``attribute`` is empty), or an attribute of a type. ``name`` and ``key`` are attributes of every type.

    ``score`` is 1 for all words of the label, less for some of them or for similar words.
    """

    type: int
    attribute: str = ""
    score: float = 1.0
    is_number: bool = False
    is_boolean: bool = False
    is_date: bool = False
    is_optional: bool = False
    """Whether it is a date that some nodes lack, as of what has not happened yet."""
    is_year: bool = False
    """Whether it is a date, or a number that is a year to judge by the name and the values."""
