"""Names in SQL that people read: quoted only where they need it."""

from __future__ import annotations

import re

from kbkit.schema import quote

RESERVED = frozenset(
    """all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
    collate collation column concurrently constraint create cross default deferrable desc describe distinct do else end
    except false fetch for foreign freeze from full glob group having ilike in initially inner intersect into is isnull
    join lambda lateral leading left like limit natural not notnull null offset on only or order outer overlaps pivot
    pivot_longer pivot_wider placing positional primary qualify references returning right select semi show similar some
    summarize symmetric table tablesample then to trailing true union unique unpack unpivot using variadic verbose when
    where window with""".split()  # noqa: SIM905
)
"""Words that need quotes as names of tables and columns (duckdb_keywords(), reserved and type_function)."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def identifier(name: str) -> str:
    """Return the name of a table or column, in quotes if it needs them."""
    return name if _PLAIN.fullmatch(name) and name.casefold() not in RESERVED else quote(name)
