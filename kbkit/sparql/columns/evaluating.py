"""What the functions of SPARQL share: where arguments are evaluated, and how results are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kbkit.sparql.columns.algebra import Expression
from kbkit.sparql.columns.parts import parts_of
from kbkit.sparql.columns.rows import SqlRows
from kbkit.sparql.columns.terms import SqlValue

UNBOUND = SqlValue("NULL", "term")


class Evaluating(Protocol):
    """Where arguments are evaluated, :class:`kbkit.sparql.columns.expressions.ExpressionScope`."""

    rows: SqlRows

    def value(self, expression: Expression) -> SqlValue:
        """Return the value of an expression; it may add columns to the relation."""

    def plain(self, expression: Expression) -> SqlValue:
        """Return the value of an expression as a column that is neither ``id`` nor ``node``."""


Function = Callable[[Evaluating, tuple[Expression, ...]], SqlValue]


def string_value(sql: str) -> SqlValue:
    """Return an xsd:string."""
    return SqlValue(sql, "string")


def boolean_value(sql: str) -> SqlValue:
    """Return an xsd:boolean."""
    return SqlValue(f"({sql})", "boolean")


def simple_text(rows: SqlRows, value: SqlValue) -> str:
    """Return the text of an xsd:string, NULL for other values."""
    if value.kind == "string":
        return value.sql
    return parts_of(rows, value).simple if value.kind == "term" else "NULL::VARCHAR"
