"""Convert Oxigraph's serialized results to polars frames, without a Python loop over rows."""

from __future__ import annotations

import io
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
        found = pl.DataFrame({"ask": [body.decode()]})
    else:
        found = _triples(body) if kind == "triples" else _select(body)
    return found.select(_terms(found[name]) for name in found.columns)


def parse_select(body: bytes) -> pl.DataFrame:
    """Parse SPARQL TSV results: a column per variable, typed if all its values have one kind."""
    frame = _select(body)
    return frame.select(typed(frame[name]) for name in frame.columns) if frame.height else frame


def _select(body: bytes) -> pl.DataFrame:
    """Return the terms of SPARQL TSV results in Turtle syntax."""
    header, _, rows = body.partition(b"\n")
    names = [name.lstrip("?") for name in header.decode().split("\t")] if header else []
    if not names:
        return pl.DataFrame()
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return pl.read_csv(
        io.BytesIO(rows), has_header=False, separator="\t", quote_char=None, new_columns=names, infer_schema=False
    )


def parse_triples(body: bytes) -> pl.DataFrame:
    """Parse N-Triples into the columns ``subject``, ``predicate`` and ``object``."""
    parts = _triples(body)
    return parts.select(plain(parts[name]) for name in parts.columns)


def _triples(body: bytes) -> pl.DataFrame:
    """Return the terms of N-Triples."""
    # Only a line feed ends a line; a literal may contain other line breaks.
    lines = pl.Series("line", body.decode().split("\n")[:-1], dtype=pl.String)
    return lines.str.extract_groups(_TRIPLE).struct.unnest()


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


def _terms(column: pl.Series) -> pl.Series:
    """Convert RDF terms in Turtle syntax to structures of the type :data:`TERM`."""
    text = pl.col("text")
    datatype = text.str.extract(r'(?s)^".*"\^\^<([^>"]*)>$')
    language = text.str.extract(r'(?s)^".*"@([^"]*)$')
    written = [(_BOOLEAN, "boolean"), (f"^{_DIGITS}$", "integer"), (r"^[-+]?[0-9]*\.[0-9]+$", "decimal")]
    short = pl.coalesce(  # in Turtle, such literals need no quotes
        *(pl.when(text.str.contains(form)).then(pl.lit(_XSD + name)) for form, name in written),
        pl.when(text.str.contains(f"^(?:{_REAL})$")).then(pl.lit(_XSD + "double")),
    )
    kind = (
        pl.when(text.str.starts_with("<<")).then(pl.lit("triple"))
        .when(text.str.starts_with("<")).then(pl.lit("uri"))
        .when(text.str.starts_with("_:")).then(pl.lit("bnode"))
        .when(text.is_not_null()).then(pl.lit("literal"))
    )  # fmt: skip
    name = column.name
    value = plain(column.str.strip_prefix("_:") if column.str.starts_with("_:").any() else column)
    frame = pl.DataFrame({"text": column, "value": value})
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


def _lexical(column: pl.Series) -> pl.Series:
    name = column.name
    literal = column.str.extract(r'(?s)^"(.*)"(?:@[^"]*|\^\^<[^>"]*>)?$')
    iri = column.str.extract("^<(.*)>$")
    return pl.select(pl.coalesce(literal, iri, column)).to_series().alias(name)
