"""Attributes as columns of exported files: their order, and SQL that converts their values. Pure text."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kbkit.schema import Attribute, quote

Value = Callable[[str, str], str]
"""An SQL expression for the exported value of a column, given its SQL name and type."""

_NESTED = ("[]", "STRUCT(", "MAP(")
_UNSPEAKABLE = (
    "INTERVAL",
    "UNION",
    "BIT",
    "HUGEINT",
    "BIGNUM",
    "TIME WITH TIME ZONE",
    "GEOMETRY",
    "VARIANT",
    "TIME_NS",
)
"""Types that Parquet lacks, or that DuckDB converts (HUGEINT to DOUBLE); they are exported as text."""


def as_parquet(column: str, kind: str) -> str:
    """Return a column's value in Parquet: unchanged, or as text."""
    return f"{column}::VARCHAR" if is_text(kind) else column


def as_csv(column: str, kind: str) -> str:
    """Return a column's value in CSV: unchanged, or as JSON."""
    return f"to_json({column})::VARCHAR" if is_nested(kind) else column


def is_text(kind: str) -> bool:
    """Return whether a type is exported to Parquet as text."""
    return any(name in kind for name in _UNSPEAKABLE)


def is_nested(kind: str) -> bool:
    """Return whether a type is exported to CSV as JSON."""
    return any(sign in kind for sign in _NESTED)


def present(attribute: Attribute, owned: Collection[Attribute], alias: str, value: Value, name: str = "") -> str:
    """Return the attribute of the table ``alias`` as ``name``, or NULL if it is not among ``owned``."""
    column = f"{alias}.{quote(attribute.name)}" if attribute in owned else f"NULL::{attribute.type}"
    return f"{value(column, attribute.type)} AS {quote(name or attribute.name)}"
