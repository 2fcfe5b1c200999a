"""The error of an answer expression, with its position."""

from __future__ import annotations

from kbkit.errors import KbError, Part


class ExpressionError(KbError):
    """An answer expression with a syntax error, or one that does not fit the KB; ``at`` is the position from 0."""

    def __init__(self, message: str, *hints: Part, text: str = "", at: int = 0) -> None:
        super().__init__(f"{position(text, at)}: {' '.join(message.split())}", *hints)
        self.problem, self.at = message, at


def position(text: str, at: int) -> str:
    """Return ``Column 7``, or ``Line 2, column 3`` if the text has several lines."""
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    return f"Line {line}, column {column}" if "\n" in text.strip() else f"Column {column}"


def relation_alone(at: int, text: str = "") -> ExpressionError:
    """Return the error for a relation that is not between two types."""
    return ExpressionError("A relation is not a set of nodes", "Write type -> [relation] -> type", text=text, at=at)


FUNCTIONS = ("count", "sum", "avg", "min", "max")
"""Functions of the nodes that a path reaches from a node."""

TOTALS = {
    "exists": "Write exists(expression)",
    "count": "In braces, write count(-> type)",
    "values": "Write values(expression, attribute)",
    "sum": "Write sum(expression, attribute)",
    "avg": "Write avg(expression, attribute)",
    "min": "Write min(expression, attribute), or {min attribute} for nodes",
    "max": "Write max(expression, attribute), or {max attribute} for nodes",
    "fraction": "Write fraction(part of whole)",
    "percentage": "Write percentage(part of whole)",
}
"""Functions of whole expressions, with a hint for one that is misplaced."""


def not_whole(word: str, text: str, at: int) -> ExpressionError:
    """Return the error for a function of :data:`TOTALS` inside another expression."""
    beside = "" if word in ("fraction", "percentage") else " or the right side of a comparison"
    message = f"{word}(...) must be the whole expression{beside}"
    return ExpressionError(message, TOTALS[word], text=text, at=at)
