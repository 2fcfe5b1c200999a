"""Casts to dates and times on columns beside Oxigraph: the same value, or the query is left to it."""

from __future__ import annotations

from itertools import product

import pyoxigraph as ox
import pytest

from tests.sparql.engines import Dataset, UnsupportedQueryError, columns, oxigraph

DATES = (
    ["2001-02-03", "2001-02-03Z", "2001-02-03+02:00", "2001-02-30", "0000-01-01", "-0001-02-03", "12001-02-03", "2001"],
    ["2001-2-3", " 2001-02-03 ", "x", "", "2001-02-03T04:05:06", "2001-02-03T04:05:06Z", "2001-02-03T04:05:06.5Z"],
    ["2001-02-03T04:05:06.500+01:00", "2001-02-03T24:00:00", "2001-02-03T04:05:60", "2001-02-03T04:05"],
    ["2001-02-03T04:05:06+00:00", "2001-02-03T04:05:06.1234567", "9999-12-31T23:59:59.999999"],
)
TYPED = [
    *(("date", text) for text in ("2001-02-03", "2001-02-03Z", "12001-02-03", "2001-13-03")),
    *(("dateTime", text) for text in ("2001-02-03T04:05:06", "2001-02-03T04:05:06-05:00")),
    *(("gYear", "2001"), ("integer", "5"), ("boolean", "true")),
]
TERMS = [
    *(ox.Literal(text) for texts in DATES for text in texts),
    *(ox.Literal(text, datatype=ox.NamedNode(f"http://www.w3.org/2001/XMLSchema#{kind}")) for kind, text in TYPED),
    *(ox.Literal("2001-02-03", language="en"), ox.NamedNode("http://e/x")),
]
LEFT = 13
"""Casts of texts in another form than Oxigraph writes, and of years and fractions that DuckDB has no value for."""


@pytest.fixture(scope="module")
def data() -> Dataset:
    place = ox.NamedNode("http://e/p")
    return Dataset(ox.Quad(ox.NamedNode(f"http://e/{n}"), place, term) for n, term in enumerate(TERMS))


def test_casts_to_dates_and_times(data: Dataset) -> None:
    left = 0
    for (number, term), kind in product(enumerate(TERMS), ("date", "dateTime")):
        is_text = isinstance(term, ox.Literal) and term.datatype.value.endswith("#string")
        for value in ("?o", str(term)) if is_text else ("?o", "STR(?o)", str(term)):
            text = f"SELECT (xsd:{kind}({value}) AS ?c) {{ <http://e/{number}> <http://e/p> ?o }}"
            text = f"PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {text}"
            try:
                found = columns(data, text).rows
            except UnsupportedQueryError:
                left += 1
                assert value != str(term)
                continue
            assert found == oxigraph(data, text).rows, text
    assert left == LEFT
