"""Convert Oxigraph's serialized results to polars frames, without a Python loop over rows.

The work is done by Arrow, because polars would start threads, after which the process cannot fork.
"""

from __future__ import annotations

import io
import re
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

_XSD = "http://www.w3.org/2001/XMLSchema#"
INTEGERS = (
    "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong",
    "unsignedShort", "unsignedByte", "negativeInteger", "nonPositiveInteger",
)  # fmt: skip
FLOATS = ("decimal", "double", "float")
"""The types of XML Schema, by local name, that frames have as integers and as floats."""
DIGITS = "[-+]?[0-9]+"
REAL = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?INF|NaN"
"""What such a value looks like: regular expressions."""
_INTEGER = rf'^{DIGITS}$|^"{DIGITS}"\^\^<{_XSD}(?:{"|".join(INTEGERS)})>$'
_NUMBER = rf'{_INTEGER}|^(?:{REAL})$|^"(?:{REAL})"\^\^<{_XSD}(?:{"|".join(FLOATS)})>$'
_BOOLEAN = "^(?:true|false)$"
_TERM = r'(?s)^(?:"(.*)"(?:@[^"]*|\^\^<[^>"]*>)?|<(.*)>)$'
_TRIPLE = r"^(?P<subject>\S+) (?P<predicate>\S+) (?P<object>.+) \.$"
_ESCAPES = (("\\t", "\t"), ("\\n", "\n"), ("\\r", "\r"), ('\\"', '"'), ("\\b", "\b"), ("\\f", "\f"))

_FIRST = 100
_MAX_BLOCK = 2**31 - 1

Column = Any
"""An Arrow array; its stubs have no type for the results of most functions."""


Columns = dict[str, Column]

TERM = pl.Struct({"type": pl.String, "value": pl.String, "datatype": pl.String, "language": pl.String})
"""An RDF term, in the words of SPARQL Results JSON: ``type`` is uri, literal, bnode or triple."""


def values(kind: str, body: bytes) -> pl.DataFrame:
    """Return the result of a query of a kind, in TSV or N-Triples, as Python values; ASK has one column ``ask``."""
    if kind == "ask":
        return pl.DataFrame({"ask": [body == b"true"]})
    return parse_triples(body) if kind == "triples" else parse_select(body)


def terms(kind: str, body: bytes) -> pl.DataFrame:
    """Return the same result as RDF terms, structures of the type :data:`TERM`."""
    if kind == "ask":
        columns: Columns = {"ask": pa.array([body.decode()], pa.large_string())}
    else:
        columns = _triples(body) if kind == "triples" else _select(body)
    return pl.DataFrame([_terms(name, column) for name, column in columns.items()])


def parse_select(body: bytes) -> pl.DataFrame:
    """Parse SPARQL TSV results: a column per variable, typed if all its values have one kind."""
    return pl.DataFrame([pl.Series(name, typed(column)) for name, column in _select(body).items()])


def _select(body: bytes) -> Columns:
    """Return the terms of SPARQL TSV results in Turtle syntax, by variable."""
    header, _, rows = body.partition(b"\n")
    names = [name.lstrip("?") for name in header.decode().split("\t")] if header else []
    if not names or not rows:
        return dict.fromkeys(names, pa.array([], pa.large_string()))
    columns = [str(number) for number in range(len(names))]
    table = csv.read_csv(
        io.BytesIO(rows),
        read_options=csv.ReadOptions(use_threads=False, block_size=min(len(rows), _MAX_BLOCK), column_names=columns),
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.large_string()), strings_can_be_null=True, null_values=[""]
        ),
    ).combine_chunks()
    return dict(zip(names, (column.chunk(0) for column in table.columns), strict=True))


def parse_triples(body: bytes) -> pl.DataFrame:
    """Parse N-Triples into the columns ``subject``, ``predicate`` and ``object``."""
    return pl.DataFrame([pl.Series(name, plain(column)) for name, column in _triples(body).items()])


def _triples(body: bytes) -> Columns:
    """Return the terms of N-Triples, by ``subject``, ``predicate`` and ``object``."""
    # Only a line feed ends a line; a literal may contain other line breaks.
    lines = pa.array(body.decode().split("\n")[:-1], pa.large_string())
    parts = pc.extract_regex(lines, _TRIPLE)
    return {name: pc.struct_field(parts, name) for name in ("subject", "predicate", "object")}


def typed(column: Column) -> Column:
    """Convert RDF terms in Turtle syntax to numbers, booleans or strings."""
    filled = column.drop_null()
    if _all_match(filled, _INTEGER):
        return cast(_lexical(column), pa.int64())
    if _all_match(filled, _NUMBER):
        return cast(_lexical(column), pa.float64())
    if _all_match(filled, _BOOLEAN):
        return pc.equal(column, "true")
    return plain(column)


def _all_match(column: Column, pattern: str) -> bool:
    parts = (column[:_FIRST], column)  # the first values tell most columns apart
    return bool(len(column)) and all(pc.all(pc.match_substring_regex(part, pattern)).as_py() for part in parts)


def cast(text: Column, kind: pa.DataType) -> Column:
    """Convert the text of numbers, or return it if one is beyond 64 bits."""
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


def _terms(name: str, column: Column) -> pl.Series:
    """Convert RDF terms in Turtle syntax to structures of the type :data:`TERM`."""
    text = pl.col("text")
    datatype = text.str.extract(r'(?s)^".*"\^\^<([^>"]*)>$')
    language = text.str.extract(r'(?s)^".*"@([^"]*)$')
    written = [(_BOOLEAN, "boolean"), (f"^{DIGITS}$", "integer"), (r"^[-+]?[0-9]*\.[0-9]+$", "decimal")]
    short = pl.coalesce(  # in Turtle, such literals need no quotes
        *(pl.when(text.str.contains(form)).then(pl.lit(_XSD + name)) for form, name in written),
        pl.when(text.str.contains(f"^(?:{REAL})$")).then(pl.lit(_XSD + "double")),
    )
    kind = (
        pl.when(text.str.starts_with("<<")).then(pl.lit("triple"))
        .when(text.str.starts_with("<")).then(pl.lit("uri"))
        .when(text.str.starts_with("_:")).then(pl.lit("bnode"))
        .when(text.is_not_null()).then(pl.lit("literal"))
    )  # fmt: skip
    value = plain(pc.replace_substring_regex(column, "^_:", ""))
    frame = pl.DataFrame([pl.Series("text", column), pl.Series("value", value)])
    plain_value = pl.when(text.str.starts_with("<<")).then(text).otherwise("value")
    parts = frame.select(
        type=kind, value=plain_value, datatype=pl.coalesce(datatype, short), language=language, known=text.is_not_null()
    )
    whole = pl.when("known").then(pl.struct("type", "value", "datatype", "language").cast(TERM))
    return parts.select(whole.alias(name)).to_series()


def _unescape(text: str) -> str:
    """Replace the escapes of N-Triples by their characters."""
    named = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

    def character(match: re.Match[str]) -> str:
        return named[match[3]] if match[3] else chr(int(match[1] or match[2], 16))

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tnrbf\"'\\]))", character, text)


def _lexical(column: Column) -> Column:
    return pc.replace_substring_regex(column, _TERM, r"\1\2")
