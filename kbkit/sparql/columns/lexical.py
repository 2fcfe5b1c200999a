"""Arrow columns of a compiled query as terms: text as SPARQL writes it, and what kind of term each is.

The work is done by Arrow, because polars would start threads, after which the process cannot fork.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

XSD = "http://www.w3.org/2001/XMLSchema#"
IRI, BLANK_NODE = "<", "_"
"""Heads of IRIs and blank nodes. That of a literal is its tag: empty for plain strings, ``@en`` or ``^DATATYPE``."""

Column = Any
"""An Arrow array; its stubs have no type for the results of most functions."""

_TEXT = pa.large_string()


class Coded(NamedTuple):
    """A column of terms: their text without brackets, quotes and tags (null: unbound), and their heads.

    ``codes`` are positions in ``heads``; None if all terms have the only one.
    """

    values: Column
    heads: tuple[str, ...]
    codes: Column | None = None

    def spread(self, text: Callable[[str], str | None]) -> Column:
        """Return ``text(head)`` of each term: a scalar if there is one head, else a column."""
        if self.codes is None:
            return pa.scalar(text(self.heads[0]), _TEXT)
        return pa.array(map(text, self.heads), _TEXT).take(self.codes)

    def holds(self, test: Callable[[str], bool]) -> Column:
        """Return whether ``test(head)`` is true of each term, as a scalar or a column; null for unbound ones."""
        if self.codes is None:
            return pa.scalar(test(self.heads[0]))
        return pa.array(map(test, self.heads), pa.bool_()).take(self.codes)


def coded(column: Column, representation: str) -> Coded:
    """Return the terms of a column in one of the representations of a result."""
    if representation == "term":
        return _terms(as_text(column))
    head = {"iri": IRI, "string": ""}.get(representation, f"^{XSD}{representation}")
    return Coded(_LEXICAL.get(representation, as_text)(column), (head,))


def as_text(column: Column) -> Column:
    """Return a column of strings as one array."""
    return whole(pc.cast(column, _TEXT))


def whole(column: Column) -> Column:
    """Return a column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _terms(column: Column) -> Coded:
    """Split internal text: ``<IRI``, ``_label`` or ``"TAG"LEXICAL``."""
    is_literal = pc.starts_with(column, '"')
    if not pc.any(is_literal).as_py():  # a column of nodes
        return _coded(pc.utf8_slice_codeunits(column, 1), pc.utf8_slice_codeunits(column, 0, 1))
    literals = column.filter(is_literal)
    parts = pc.split_pattern(literals, '"', max_splits=2)  # the text before the first quote is empty
    tags, texts = pc.list_element(parts, 1), pc.list_element(parts, 2)
    if len(literals) == len(column):
        return _coded(texts, tags)
    mask = is_literal.fill_null(False)
    values, heads = pc.utf8_slice_codeunits(column, 1), pc.utf8_slice_codeunits(column, 0, 1)
    return _coded(pc.replace_with_mask(values, mask, texts), pc.replace_with_mask(heads, mask, tags))


def _coded(values: Column, heads: Column) -> Coded:
    encoded = heads.dictionary_encode()
    known = tuple(encoded.dictionary.to_pylist())
    return Coded(values, known, encoded.indices) if len(known) > 1 else Coded(values, known or ("",))


# -- lexical forms ----------------------------------------------------------------------------------------------------


def _double(column: Column) -> Column:
    """Return doubles as the engine writes them: shortest digits, without exponents."""
    text = _expanded(as_text(column))
    for written, name in (("^inf$", "INF"), ("^-inf$", "-INF"), ("^-?nan$", "NaN")):
        text = pc.replace_substring_regex(text, written, name)
    return text


def _decimal(column: Column) -> Column:
    """Return decimals as the engine writes them, without zeros at the end."""
    text = _expanded(as_text(column))
    return pc.replace_substring_regex(pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1"), r"\.$", "")


def _expanded(text: Column) -> Column:
    """Return numbers such as ``1.5e-7`` without exponents."""
    has_exponent = pc.match_substring_regex(text, "[0-9][eE]").fill_null(False)
    if not pc.any(has_exponent).as_py():
        return text
    parts = pc.extract_regex(
        text.filter(has_exponent),
        r"^(?P<sign>-?)(?P<whole>[0-9])(?:\.(?P<fraction>[0-9]*))?[eE](?P<exponent>[-+]?[0-9]+)$",
    )
    sign, first, fraction = (pc.struct_field(parts, name) for name in ("sign", "whole", "fraction"))
    exponent = pc.cast(pc.replace_substring(pc.struct_field(parts, "exponent"), "+", ""), pa.int64())
    digits = pc.binary_join_element_wise(first, fraction, _plain(""))
    small = pc.binary_join_element_wise(_plain("0."), _zeros(pc.subtract(pc.negate(exponent), 1)), digits, _plain(""))
    missing = pc.subtract(exponent, pc.utf8_length(fraction))
    large = pc.binary_join_element_wise(digits, _zeros(missing), _plain(""))
    inside = pc.and_(pc.less(missing, 0), pc.greater_equal(exponent, 0))
    for number in pc.unique(exponent.filter(inside)).to_pylist():  # few: a double has at most 17 digits
        pointed = pc.replace_substring_regex(large, f"^([0-9]{{{number + 1}}})", r"\1.")
        large = pc.if_else(pc.and_(inside, pc.equal(exponent, number)), pointed, large)
    numbers = pc.binary_join_element_wise(sign, pc.if_else(pc.less(exponent, 0), small, large), _plain(""))
    return pc.replace_with_mask(text, has_exponent, numbers)


def _zeros(counts: Column) -> Column:
    return pc.binary_repeat(_plain("0"), pc.max_element_wise(counts, 0))


def _plain(text: str) -> Any:
    return pa.scalar(text, _TEXT)


def _date(column: Column) -> Column:
    return _calendar(pc.cast(column, pa.date32()), pa.int32(), "D", 2**31 - 1)


def _date_time(column: Column) -> Column:
    text = _calendar(pc.cast(column, pa.timestamp("us")), pa.int64(), "us", 2**63 - 1)
    text = pc.replace_substring(text, " ", "T")
    return pc.replace_substring_regex(pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1"), r"\.$", "")


def _calendar(column: Column, kind: pa.DataType, unit: str, infinity: int) -> Column:
    """Return dates or times as text; years before 1 are astronomical, as in XML Schema."""
    text, numbers = as_text(column), whole(pc.cast(column, kind))
    beyond = pc.starts_with(text, "<").fill_null(False)
    if pc.any(beyond).as_py():  # Arrow's years have 16 bits
        import numpy as np

        years = np.datetime_as_string(numbers.filter(beyond).to_numpy().astype(f"datetime64[{unit}]"))
        text = pc.replace_with_mask(text, beyond, pa.array(years.astype(object), _TEXT))
        for name, number in (("infinity", infinity), ("-infinity", -infinity)):
            text = pc.if_else(pc.equal(numbers, number), name, text)
    return text


_LEXICAL: dict[str, Callable[[Column], Column]] = {
    "double": _double,
    "decimal": _decimal,
    "date": _date,
    "dateTime": _date_time,
}
