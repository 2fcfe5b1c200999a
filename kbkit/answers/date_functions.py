"""The functions of attributes of one node: the year or month of a date, the days between two, and of two numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from kbkit.answers.written import identifier

NUMBER_FUNCTIONS = {"times": "*", "plus": "+", "minus": "-"}
"""The functions of two numbers, with their operators."""

DATE_FUNCTIONS = {"year": 1, "month": 1, "days": 2, **dict.fromkeys(NUMBER_FUNCTIONS, 2)}
"""The number of attributes that each takes."""

DATE_TYPES = {"year": "BIGINT", "month": "VARCHAR", "days": "BIGINT", **dict.fromkeys(NUMBER_FUNCTIONS, "DOUBLE")}
"""The DuckDB type of the value of each."""

USES = {"year": "year(date)", "month": "month(date)", "days": "days(from, to)"}
USES |= {name: f"{name}(number, number)" for name in NUMBER_FUNCTIONS}
"""How each is written."""


@dataclass(frozen=True)
class DateFunction:
    """A measure of a node: ``op`` (year, month or days) of its attributes ``dates``, or of two numbers.

    A month is a text such as 2022-03; days are whole ones from the first date to the second.
    """

    op: str
    dates: tuple[str, ...]
    at: int = field(default=0, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(identifier, self.dates))})"
