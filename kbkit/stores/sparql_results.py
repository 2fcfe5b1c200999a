"""Convert Oxigraph's serialized results to polars frames, without a Python loop over rows."""

from __future__ import annotations

import io
import json
import re

import polars as pl

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
_TRIPLE = r"^(?P<subject>\S+) (?P<predicate>\S+) (?P<object>.+) \.$"


def parse_select(body: bytes) -> pl.DataFrame:
    """Parse SPARQL TSV results: a column per variable, typed if all its values have one kind."""
    header, _, rows = body.partition(b"\n")
    names = [name.lstrip("?") for name in header.decode().split("\t")] if header else []
    if not names:
        return pl.DataFrame()
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    frame = pl.read_csv(
        io.BytesIO(rows), has_header=False, separator="\t", quote_char=None, new_columns=names, infer_schema=False
    )
    return frame.select(typed(frame[name]) for name in names)


def parse_ask(body: bytes) -> pl.DataFrame:
    """Parse the SPARQL JSON result of ASK: one row with a boolean column ``ask``."""
    return pl.DataFrame({"ask": [bool(json.loads(body)["boolean"])]})


def parse_triples(body: bytes) -> pl.DataFrame:
    """Parse N-Triples into the columns ``subject``, ``predicate`` and ``object``."""
    # Only a line feed ends a line; a literal may contain other line breaks.
    lines = pl.Series("line", body.decode().split("\n")[:-1], dtype=pl.String)
    parts = lines.str.extract_groups(_TRIPLE).struct.unnest()
    return parts.select(plain(parts[name]) for name in ("subject", "predicate", "object"))


def typed(column: pl.Series) -> pl.Series:
    """Convert RDF terms in Turtle syntax to numbers, booleans or strings."""
    filled = column.drop_nulls()
    if len(filled) and filled.str.contains(_INTEGER).all():
        numbers = _lexical(column).str.strip_prefix("+").cast(pl.Int64, strict=False)
        return numbers if numbers.null_count() == column.null_count() else _lexical(column)  # beyond 64 bits
    if len(filled) and filled.str.contains(_NUMBER).all():
        text = _lexical(column).str.strip_prefix("+").str.replace("INF", "inf", literal=True)
        return text.cast(pl.Float64, strict=False)
    if len(filled) and filled.str.contains(_BOOLEAN).all():
        return column == "true"
    return plain(column)


def plain(column: pl.Series) -> pl.Series:
    """Convert RDF terms to plain text: IRIs without brackets, literals without quotes, tags and escapes."""
    text = _lexical(column)
    if not text.str.contains("\\", literal=True).any():
        return text
    pieces = text.str.split("\\\\")  # escaped backslashes first: the next character is not an escape
    piece = pl.element()
    for old, new in (("\\t", "\t"), ("\\n", "\n"), ("\\r", "\r"), ('\\"', '"'), ("\\b", "\b"), ("\\f", "\f")):
        piece = piece.str.replace_all(old, new, literal=True)
    text = pieces.list.eval(piece).list.join("\\")
    if not column.str.contains(r"\\[uU][0-9A-Fa-f]{4}").any():
        return text
    return _lexical(column).map_elements(_unescape, return_dtype=pl.String)  # control characters: rare


def _unescape(text: str) -> str:
    """Replace the escapes of N-Triples by their characters."""
    named = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

    def character(match: re.Match[str]) -> str:
        return named[match[3]] if match[3] else chr(int(match[1] or match[2], 16))

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tnrbf\"'\\]))", character, text)


def _lexical(column: pl.Series) -> pl.Series:
    name = column.name
    literal = column.str.extract(r'(?s)^"(.*)"(?:@[^"]*|\^\^<[^>"]*>)?$')
    iri = column.str.extract("^<(.*)>$")
    return pl.select(pl.coalesce(literal, iri, column)).to_series().alias(name)
