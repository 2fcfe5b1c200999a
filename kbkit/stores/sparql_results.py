"""Convert Oxigraph's serialized results to polars frames, without a Python loop over rows.

The work is done by Arrow, because polars would start threads, after which the process cannot fork.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = (
    "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong",
    "unsignedShort", "unsignedByte", "negativeInteger", "nonPositiveInteger",
)  # fmt: skip
_FLOATS = ("decimal", "double", "float")
_DIGITS = "[-+]?[0-9]+"
_REAL = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?INF|NaN"
_INTEGER = rf'^{_DIGITS}$|^"{_DIGITS}"\^\^<{_XSD}(?:{"|".join(_INTEGERS)})>$'
_NUMBER = rf'{_INTEGER}|^(?:{_REAL})$|^"(?:{_REAL})"\^\^<{_XSD}(?:{"|".join(_FLOATS)})>$'
_BOOLEAN = "^(?:true|false)$"
_TERM = r'(?s)^(?:"(.*)"(?:@[^"]*|\^\^<[^>"]*>)?|<(.*)>)$'
_TRIPLE = r"^(?P<subject>\S+) (?P<predicate>\S+) (?P<object>.+) \.$"
_ESCAPES = (("\\t", "\t"), ("\\n", "\n"), ("\\r", "\r"), ('\\"', '"'), ("\\b", "\b"), ("\\f", "\f"))

_FIRST = 100
_MAX_BLOCK = 2**31 - 1

Column = Any
"""An Arrow array; its stubs have no type for the results of most functions."""


def parse_select(body: bytes) -> pl.DataFrame:
    """Parse SPARQL TSV results: a column per variable, typed if all its values have one kind."""
    header, _, rows = body.partition(b"\n")
    names = [name.lstrip("?") for name in header.decode().split("\t")] if header else []
    if not names:
        return pl.DataFrame()
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    columns = [str(number) for number in range(len(names))]
    table = csv.read_csv(
        io.BytesIO(rows),
        read_options=csv.ReadOptions(use_threads=False, block_size=min(len(rows), _MAX_BLOCK), column_names=columns),
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.large_string()), strings_can_be_null=True, null_values=[""]
        ),
    ).combine_chunks()
    terms = (column.chunk(0) for column in table.columns)
    return pl.DataFrame([pl.Series(name, typed(column)) for name, column in zip(names, terms, strict=True)])


def parse_ask(body: bytes) -> pl.DataFrame:
    """Parse the SPARQL JSON result of ASK: one row with a boolean column ``ask``."""
    return pl.DataFrame({"ask": [bool(json.loads(body)["boolean"])]})


def parse_triples(body: bytes) -> pl.DataFrame:
    """Parse N-Triples into the columns ``subject``, ``predicate`` and ``object``."""
    # Only a line feed ends a line; a literal may contain other line breaks.
    lines = pa.array(body.decode().split("\n")[:-1], pa.large_string())
    parts = pc.extract_regex(lines, _TRIPLE)
    return pl.DataFrame(
        [pl.Series(name, plain(pc.struct_field(parts, name))) for name in ("subject", "predicate", "object")]
    )


def typed(column: Column) -> Column:
    """Convert RDF terms in Turtle syntax to numbers, booleans or strings."""
    filled = column.drop_null()
    if _all_match(filled, _INTEGER):
        return _cast(column, pa.int64())
    if _all_match(filled, _NUMBER):
        return _cast(column, pa.float64())
    if _all_match(filled, _BOOLEAN):
        return pc.equal(column, "true")
    return plain(column)


def _all_match(column: Column, pattern: str) -> bool:
    parts = (column[:_FIRST], column)  # the first values tell most columns apart
    return bool(len(column)) and all(pc.all(pc.match_substring_regex(part, pattern)).as_py() for part in parts)


def _cast(column: Column, kind: pa.DataType) -> Column:
    """Convert numbers, or return their text if one is beyond 64 bits."""
    text = _lexical(column)
    signed = pc.replace_substring(pc.replace_substring_regex(text, r"^\+", ""), "INF", "inf")
    try:
        return pc.cast(signed, kind)
    except pa.ArrowInvalid:
        return text


def plain(column: Column) -> Column:
    """Convert RDF terms to plain text: IRIs without brackets, literals without quotes, tags and escapes."""
    text = _lexical(column)
    if not _any(text, "\\"):
        return text
    if _any(text, r"\\[uU][0-9A-Fa-f]{4}", regex=True):  # control characters: rare
        return pa.array([None if value is None else _unescape(value) for value in text.to_pylist()], pa.large_string())
    pieces = pc.split_pattern(text, "\\\\")  # escaped backslashes first: the next character is not an escape
    values = pieces.values
    for old, new in _ESCAPES:
        values = pc.replace_substring(values, old, new)
    joined = pc.binary_join(type(pieces).from_arrays(pieces.offsets, values), pa.scalar("\\", values.type))
    return pc.if_else(pc.is_null(text), None, joined)


def _any(column: Column, pattern: str, *, regex: bool = False) -> bool:
    match = pc.match_substring_regex if regex else pc.match_substring
    return bool(pc.any(match(column, pattern)).as_py())


def _unescape(text: str) -> str:
    """Replace the escapes of N-Triples by their characters."""
    named = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

    def character(match: re.Match[str]) -> str:
        return named[match[3]] if match[3] else chr(int(match[1] or match[2], 16))

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tnrbf\"'\\]))", character, text)


def _lexical(column: Column) -> Column:
    return pc.replace_substring_regex(column, _TERM, r"\1\2")
