"""Attributes as columns: their order, and the SQL that gives each a form that the files can hold. Pure text."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kbkit.schema import Attribute, quote

Value = Callable[[str, str], str]
"""An SQL expression for what a file holds of a column (its SQL name, its type)."""

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
"""Types that Parquet lacks, or that DuckDB writes as another (HUGEINT as DOUBLE): they go as text."""


def as_parquet(column: str, kind: str) -> str:
    """A column in Parquet: itself, or text."""
    return f"{column}::VARCHAR" if is_text(kind) else column


def as_csv(column: str, kind: str) -> str:
    """A column in CSV: itself, or JSON."""
    return f"to_json({column})::VARCHAR" if is_nested(kind) else column


def is_text(kind: str) -> bool:
    """Whether a type goes into Parquet as text."""
    return any(name in kind for name in _UNSPEAKABLE)


def is_nested(kind: str) -> bool:
    """Whether a type goes into CSV as JSON."""
    return any(sign in kind for sign in _NESTED)


def present(attribute: Attribute, owned: Collection[Attribute], alias: str, value: Value, name: str = "") -> str:
    """The attribute as the table ``alias`` has it, or NULL where it is not among ``owned``; called ``name``."""
    column = f"{alias}.{quote(attribute.name)}" if attribute in owned else f"NULL::{attribute.type}"
    return f"{value(column, attribute.type)} AS {quote(name or attribute.name)}"
