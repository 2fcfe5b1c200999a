"""Which texts are lists, and the sign between their elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import ADDRESS, FRAMED, LONG, SEPARATORS, WITHOUT_ADDRESS, TableField, named_prose
from kbkit.schema import literal

if TYPE_CHECKING:
    import duckdb

_PAIR = 2
_FEWEST_NAMES = 5
_SENTENCE = r".*\p{L}\S* \p{Ll}{3,}\."
"""The end of a sentence."""


def are_addressed_lists(con: duckdb.DuckDBPyConnection, source: str, one: TableField) -> bool:
    """Return whether some values of a column hold several names, each with the address of its page."""
    raw = one.value.removeprefix("regexp_replace(").removesuffix(WITHOUT_ADDRESS)
    query = f"SELECT bool_or(regexp_matches({raw}, '{ADDRESS}, ')) FROM {source}"
    return con.execute(query).fetchall() == [(True,)]


def separator_of(con: duckdb.DuckDBPyConnection, source: str, one: TableField, look: Mapping[str, float]) -> str:
    """Return the sign between the elements of lists, empty if the values are no lists."""
    total = look["values"]
    if total and look["arrays"] == total:
        return "["
    if total and look["printed"] == total:
        return "[]"
    if total and look["framed"] == total:
        return FRAMED
    if (
        look["arrays"]
        or look["braced"]
        or named_prose(one.name)
        or look["grouped"] == total
        or look["decimal_commas"] == total
    ):
        return ""
    # Where each text with a comma is one number, it separates no elements.
    numbers = look["sign ,"] == look["comma numbers"]
    signs = (sign for sign in SEPARATORS[3:] if look[f"sign {sign}"] and not (sign == "," and numbers))
    return next((sign for sign in signs if _splits(con, source, one, sign)), "")


def _splits(con: duckdb.DuckDBPyConnection, source: str, one: TableField, sign: str) -> bool:
    """Return whether a sign separates the elements of lists: short names, at least two of them in one value.

    Commas are also in texts: there, the elements must be names of up to 3 words, and the column be named in the plural,
    or each name be in several lists on average. Parts of sentences are no elements.
    """
    query = f"""
        SELECT count(*), count(DISTINCT x), max(length(x) - length(replace(x, ' ', ''))),
               count(*) FILTER (place = 1 AND size > 1), max(length(x)),
               bool_or(contains(x, chr(10)) OR regexp_full_match(x, '{_SENTENCE}')), max(size)
        FROM (SELECT trim(unnest(parts)) AS x, generate_subscripts(parts, 1) AS place, len(parts) AS size
              FROM (SELECT string_split(trim({one.value}, ' {sign}'), {literal(sign)}) AS parts FROM {source}))
        WHERE x <> '' OR place < size"""
    [(total, distinct, spaces, lists, longest, lines, most)] = con.execute(query).fetchall()
    twice = literal(rf"[{sign}]\s*[{sign}]")
    empty = f"SELECT count(*) FROM {source} WHERE regexp_matches({one.value}, {twice})"
    if lists < (1 if names.is_plural(one.name) else 2) or lines or con.execute(empty).fetchall() != [(0,)]:
        return False
    if sign == "," and most == _PAIR and not names.is_plural(one.name) and not _change_places(con, source, one):
        return False  # a name with its first name behind it
    if sign == ",":
        plural = names.is_plural(one.name)
        return bool(spaces <= 2 and (plural or (3 * distinct <= total and _recombine(con, source, one, distinct))))
    factor = 2 if 3 * distinct <= total and distinct >= _FEWEST_NAMES else 1  # long names, each in several lists
    return bool(spaces <= factor * 7 and longest <= factor * LONG)


def _change_places(con: duckdb.DuckDBPyConnection, source: str, one: TableField) -> bool:
    """Return whether most of the parts that are second in a text are alone or first in another one."""
    parts = f"SELECT string_split({one.value}, ',') AS parts FROM {source}"
    query = f"""
        SELECT 2 * count(DISTINCT x) FILTER (x IN (SELECT trim(parts[1]) FROM ({parts}))) > count(DISTINCT x)
        FROM (SELECT trim(parts[2]) AS x FROM ({parts}))"""
    return con.execute(query).fetchall() == [(True,)]


def _recombine(con: duckdb.DuckDBPyConnection, source: str, one: TableField, elements: int) -> bool:
    """Return whether the parts of texts are in different texts: those of ``New York, NY, USA`` are one place."""
    [(texts,)] = con.execute(f"SELECT count(DISTINCT {one.value}) FROM {source}").fetchall()
    return bool(elements <= texts)
