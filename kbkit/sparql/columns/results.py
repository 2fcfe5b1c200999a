"""The result of a compiled query: a frame of Python values, a frame of RDF terms, or bytes in a published format.

Frames and formats are those that Oxigraph's results have (:mod:`kbkit.stores.sparql_results`), without a Python loop
over rows. A result is an Arrow table with a column for each name; of ASK it has one boolean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from kbkit.sparql.columns.lexical import BLANK_NODE, IRI, XSD, Coded, Column, coded, whole
from kbkit.stores.sparql_results import DIGITS, FLOATS, INTEGERS, REAL, TERM, cast
from kbkit.stores.sparql_results import terms as parsed_terms

if TYPE_CHECKING:
    from kbkit.sparql.columns.compiler import ResultTerm

_TEXT = pa.large_string()


def values(kind: str, columns: Sequence[ResultTerm], table: pa.Table) -> pl.DataFrame:
    """Return a result as Python values, typed if all values of a column have one kind; ASK has one column ``ask``."""
    if kind == "ask":
        return pl.DataFrame({"ask": [table.column(0)[0].as_py()]})
    read = _plain if kind == "triples" else _typed
    return pl.DataFrame([pl.Series(name, read(*column)) for name, column in _named(columns, table)])


def terms(kind: str, columns: Sequence[ResultTerm], table: pa.Table) -> pl.DataFrame:
    """Return a result as RDF terms, structures of the type :data:`kbkit.stores.sparql_results.TERM`."""
    if kind == "ask":
        return parsed_terms(kind, b"true" if table.column(0)[0].as_py() else b"false")
    return pl.DataFrame([_structures(name, coded(*column)) for name, column in _named(columns, table)])


def _named(columns: Sequence[ResultTerm], table: pa.Table) -> Iterator[tuple[str, tuple[Column, str]]]:
    for column, values in zip(columns, table.columns[: len(columns)], strict=True):
        yield column.name, (values, column.representation)


def _typed(column: Column, representation: str) -> Column:
    """Return a column of numbers or booleans if all terms are, else their text."""
    if len(column) == column.null_count:
        return pa.nulls(len(column), _TEXT)
    if representation in _NATIVE:
        return whole(pc.cast(column, _NATIVE[representation]))
    by_code = coded(column, representation)
    if representation == "decimal":
        return cast(by_code.values, pa.float64())  # Arrow's own conversion is not exact to the last bit
    return by_code.values if representation != "term" else _typed_terms(by_code)


def _typed_terms(coded_terms: Coded) -> Column:
    kinds = {_KIND.get(head, "") for head in coded_terms.heads}
    if kinds == {"integer"} and _match(coded_terms, DIGITS):
        return cast(coded_terms.values, pa.int64())
    if kinds <= {"integer", "float"} and _match(coded_terms, DIGITS, "integer") and _match(coded_terms, REAL, "float"):
        return cast(coded_terms.values, pa.float64())
    if kinds == {"boolean"} and _match(coded_terms, "true|false"):
        return pc.equal(coded_terms.values, "true")
    return _labelled(coded_terms)


_NATIVE = {"integer": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
_KIND = {
    **dict.fromkeys((f"^{XSD}{name}" for name in INTEGERS), "integer"),
    **dict.fromkeys((f"^{XSD}{name}" for name in FLOATS), "float"),
    f"^{XSD}boolean": "boolean",
}
"""The kinds of literals that a frame has as numbers or booleans, by their heads."""


def _match(coded_terms: Coded, pattern: str, kind: str = "") -> bool:
    """Return whether all terms (of a kind) match a pattern."""
    right = pc.match_substring_regex(coded_terms.values, f"^(?:{pattern})$")
    if kind:
        right = pc.or_(right, pc.invert(coded_terms.holds(lambda head: _KIND.get(head) == kind)))
    return bool(pc.all(right).as_py())


def _plain(column: Column, representation: str) -> Column:
    return _labelled(coded(column, representation))


def _labelled(coded_terms: Coded) -> Column:
    """Return the text of terms, in which a blank node is ``_:label``."""
    if BLANK_NODE not in coded_terms.heads:
        return coded_terms.values
    signs = coded_terms.spread(lambda head: "_:" if head == BLANK_NODE else "")
    return pc.binary_join_element_wise(signs, coded_terms.values, pa.scalar("", _TEXT))


def _structures(name: str, coded_terms: Coded) -> pl.Series:
    count = len(coded_terms.values)
    parts = [
        coded_terms.spread(_type),
        coded_terms.values,
        coded_terms.spread(_datatype),
        coded_terms.spread(_language),
    ]
    known = coded_terms.values.is_valid()
    arrays = [part if isinstance(part, pa.Array) else pa.repeat(part, count) for part in parts]
    empty = pa.nulls(count, _TEXT)
    arrays = [pc.if_else(known, part, empty) for part in arrays]
    names = [field.name for field in TERM.fields]
    return pl.Series(name, pa.StructArray.from_arrays(arrays, names, mask=pc.invert(known)), dtype=TERM)


def _type(head: str) -> str:
    return {IRI: "uri", BLANK_NODE: "bnode"}.get(head, "literal")


def _datatype(head: str) -> str | None:
    return head[1:] if head.startswith("^") else None


def _language(head: str) -> str | None:
    return head[1:] if head.startswith("@") else None
