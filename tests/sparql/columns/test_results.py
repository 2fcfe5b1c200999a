"""Results of compiled queries are those of Oxigraph: the same frames, and the same bytes in every published format."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kbkit.sparql.columns import ResultTerm
from kbkit.sparql.columns.results import terms, values
from kbkit.sparql.columns.writing import chunks
from kbkit.stores import sparql_formats, sparql_results
from tests.examples import examples

XSD = "http://www.w3.org/2001/XMLSchema#"
SOLUTIONS = [known for known in sparql_formats.ALL if known.holds == sparql_formats.SOLUTIONS]
GRAPHS = [known for known in sparql_formats.ALL if known.holds == sparql_formats.GRAPH]
NODE = ox.NamedNode("urn:p")


def typed(name: str) -> ox.NamedNode:
    return ox.NamedNode(XSD + name)


def internal(term: Any) -> str | None:
    """The internal text of a term."""
    if term is None:
        return None
    if isinstance(term, ox.NamedNode):
        return f"<{term.value}"
    if isinstance(term, ox.BlankNode):
        return f"_{term.value}"
    direction = f"--{term.direction}" if term.direction else ""
    plain = term.datatype.value in (XSD + "string",)
    tag = f"@{term.language}{direction}" if term.language else "" if plain else f"^{term.datatype.value}"
    return f'"{tag}"{term.value}'


def written(kind: str, columns: list[ResultTerm], table: pa.Table, form: sparql_formats.Format) -> bytes:
    return b"".join(chunks(kind, columns, table, form, {}))


def comparable(body: bytes) -> bytes:
    """The engine writes a carriage return in XML as it is, unless at the end of a text; readers then change it."""
    return body.replace(b"&#13;", b"\r") if body.startswith(b"<?xml") else body


class Both:
    """The same rows in Oxigraph and as a table: the values of ``x`` and ``y``, which may be unbound."""

    def __init__(self, rows: list[tuple[Any, Any]]) -> None:
        self.store = ox.Store()
        for number, row in enumerate(rows):
            node = ox.NamedNode(f"urn:{number:09}")
            self.store.add(ox.Quad(node, ox.NamedNode("urn:n"), ox.Literal(number)))
            for name, value in zip("xy", row, strict=True):
                if value is not None:
                    self.store.add(ox.Quad(node, ox.NamedNode(f"urn:{name}"), value))
        self.query = "SELECT ?x ?y { ?s <urn:n> ?n OPTIONAL { ?s <urn:x> ?x } OPTIONAL { ?s <urn:y> ?y } } ORDER BY ?n"
        found = [(row["x"], row["y"]) for row in self.store.query(self.query)]
        self.columns = [ResultTerm("x", "term"), ResultTerm("y", "term")]
        self.table = pa.table({f"c{at}": pa.array([internal(row[at]) for row in found], pa.string()) for at in (0, 1)})

    def engine(self, form: sparql_formats.Format) -> bytes:
        body = self.store.query(self.query).serialize(format=ox.QueryResultsFormat.from_extension(form.suffix[1:]))
        assert body is not None
        return body


def assert_same(rows: list[tuple[Any, Any]]) -> None:
    both = Both(rows)
    for form in SOLUTIONS:
        body = written("select", both.columns, both.table, form)
        expected = both.engine(form)
        assert comparable(body) == comparable(expected)
        if form.name != "sparql-csv":
            known = ox.QueryResultsFormat.from_extension(form.suffix[1:])
            read = [list(row) for row in ox.parse_query_results(body, known)]
            assert read == [list(row) for row in both.store.query(both.query)]
    body = both.engine(sparql_formats.named("sparql-tsv"))
    for ours, theirs in ((values, sparql_results.values), (terms, sparql_results.terms)):
        frame, expected = ours("select", both.columns, both.table), theirs("select", body)
        assert frame.schema == expected.schema
        assert frame.equals(expected)


TEXT = st.text(
    st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from("\"\\\n\r\t\0\x01\b\f\x0b\x7f,;<>&'\ufffe")),
    max_size=12,
)
NUMBERS = st.one_of(
    st.integers(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.decimals(-(10**9), 10**9, places=3), st.booleans()
)
IRIS = st.sampled_from([ox.NamedNode("http://a/b#c"), ox.NamedNode("urn:é&'"), ox.NamedNode("urn:x")])


def number(value: Any) -> ox.Literal:
    return ox.Literal(f"{value:f}", datatype=typed("decimal")) if isinstance(value, Decimal) else ox.Literal(value)


def column(one: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(st.none(), one), min_size=6, max_size=6)


DATATYPES = ["integer", "int", "decimal", "double", "float", "boolean", "date", "dateTime", "string"]
TYPED = st.builds(
    ox.Literal,
    st.one_of(
        TEXT, NUMBERS.map(str), st.sampled_from(["INF", "-INF", "NaN", "+5", "007", "1e400", "1E3", "true", "0"])
    ),
    datatype=st.sampled_from([ox.NamedNode("urn:a&b"), *map(typed, DATATYPES)]),
)
TAGGED = st.one_of(
    st.builds(ox.Literal, TEXT, language=st.sampled_from(["en", "de-at", "zh-hans"])),
    st.builds(ox.Literal, TEXT, language=st.just("ar"), direction=st.just(ox.BaseDirection.RTL)),
)
NODES = st.one_of(IRIS, st.sampled_from([ox.BlankNode("b1"), ox.BlankNode("c2")]))
STRINGS = st.builds(ox.Literal, TEXT)
COLUMNS = st.one_of(
    column(NODES),
    column(IRIS),
    column(STRINGS),
    column(st.integers().map(ox.Literal)),
    column(st.floats().map(ox.Literal)),
    column(st.booleans().map(ox.Literal)),
    column(NUMBERS.map(number)),
    column(TYPED),
    column(st.one_of(NODES, STRINGS, TAGGED, TYPED, NUMBERS.map(number))),
    st.just([None] * 6),
)


@examples(25)
@given(x=COLUMNS, y=COLUMNS)
@example(x=[ox.Literal("")] * 6, y=[None, ox.Literal("a,b"), None, None, ox.Literal('"'), ox.Literal("\r\n")])
@example(x=[ox.Literal("".join(map(chr, range(0x20))) + "\x7f\x80\ufffe\uffff")] * 6, y=[None] * 6)
@example(x=[ox.Literal(2**63), ox.Literal(1), None, None, None, None], y=[ox.Literal(1), ox.Literal(0.5)] + [None] * 4)
def test_terms_are_those_of_the_engine(x: list[Any], y: list[Any]) -> None:
    assert_same(list(zip(x, y, strict=True)))


@pytest.mark.core
def test_many_rows_are_written_in_chunks() -> None:
    rows = [(ox.NamedNode(f"urn:{n}") if n % 3 else None, ox.Literal(n) if n % 5 else None) for n in range(15_000)]
    assert_same(rows[:9_000])
    both = Both(rows)
    assert len(list(chunks("select", both.columns, both.table, sparql_formats.named("sparql-json"), {}))) > 1


def test_no_rows_and_no_columns() -> None:
    assert_same([])
    empty = Both([])
    assert values("select", empty.columns, empty.table).schema == {"x": pl.String, "y": pl.String}
    for form in SOLUTIONS:
        known = ox.QueryResultsFormat.from_extension(form.suffix[1:])
        expected = ox.Store().query("SELECT * {}").serialize(format=known)
        assert written("select", [], pa.table({"c0": [1]}), form) == expected


@pytest.mark.parametrize("answer", [True, False])
def test_ask(answer: bool) -> None:
    table = pa.table({"ask": [answer]})
    query = f"ASK {{ FILTER({str(answer).lower()}) }}"
    for form in SOLUTIONS:
        known = ox.QueryResultsFormat.from_extension(form.suffix[1:])
        assert written("ask", [], table, form) == ox.Store().query(query).serialize(format=known)
    told = str(answer).lower().encode()
    for ours, theirs in ((values, sparql_results.values), (terms, sparql_results.terms)):
        assert ours("ask", [], table).equals(theirs("ask", told))


# -- typed columns ----------------------------------------------------------------------------------------------------


def assert_typed(representation: str, array: pa.Array, literals: list[Any]) -> None:
    """Assert that a typed column gives what the engine gives for these terms, and frames of the types that it has."""
    both = Both([(literal, None) for literal in literals])
    columns = [ResultTerm("x", representation), ResultTerm("y", "string")]
    table = pa.table({"c0": array, "c1": pa.nulls(len(array), pa.string())})
    for form in SOLUTIONS:
        assert comparable(written("select", columns, table, form)) == comparable(both.engine(form))
    body = both.engine(sparql_formats.named("sparql-tsv"))
    for ours, theirs in ((values, sparql_results.values), (terms, sparql_results.terms)):
        frame, expected = ours("select", columns, table), theirs("select", body)
        assert frame.schema == expected.schema
        assert frame.equals(expected)


def either(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(st.none(), strategy), max_size=6)


@examples(20)
@given(either(st.integers(-(2**63), 2**63 - 1)))
def test_integers(numbers: list[int | None]) -> None:
    assert_typed("integer", pa.array(numbers, pa.int64()), [None if n is None else ox.Literal(n) for n in numbers])


EDGES = [10.0**n for n in range(-12, 26)] + [1234567890123456.7, 123456789012345.67, 9007199254740993.0, 5e-324, -0.0]


@examples(25)
@given(either(st.one_of(st.floats(), st.sampled_from(EDGES))))
@example([*EDGES, 1.7976931348623157e308, 1.5e15, -1.25e16, math.inf, -math.inf, math.nan])
def test_doubles(numbers: list[float | None]) -> None:
    assert_typed("double", pa.array(numbers, pa.float64()), [None if n is None else ox.Literal(n) for n in numbers])


@examples(25)
@given(either(st.one_of(st.decimals(-(10**19), 10**19, places=18), st.decimals(-(10**6), 10**6, places=2))))
@example([Decimal(1).scaleb(-n) for n in range(19)] + [Decimal("-5"), Decimal("0.10"), Decimal("100"), Decimal(0)])
def test_decimals(numbers: list[Decimal | None]) -> None:
    array = pa.array(numbers, pa.decimal128(38, 18))
    assert_typed("decimal", array, [None if n is None else number(n) for n in numbers])


@given(either(st.booleans()))
def test_booleans(numbers: list[bool | None]) -> None:
    assert_typed("boolean", pa.array(numbers, pa.bool_()), [None if n is None else ox.Literal(n) for n in numbers])


@examples(20)
@given(either(TEXT))
def test_strings(texts: list[str | None]) -> None:
    assert_typed("string", pa.array(texts, pa.string()), [None if t is None else ox.Literal(t) for t in texts])


def test_a_comma_in_an_iri_is_quoted_in_csv() -> None:
    """Oxigraph does not, so that readers find another column."""
    table = pa.table({"c0": ["http://a/b,c"]})
    form = sparql_formats.named("sparql-csv")
    assert written("select", [ResultTerm("x", "iri")], table, form) == b'x\r\n"http://a/b,c"\r\n'


@given(either(IRIS))
def test_iris(nodes: list[ox.NamedNode | None]) -> None:
    assert_typed("iri", pa.array([n and n.value for n in nodes], pa.string()), nodes)


@given(either(st.dates()))
def test_dates(dates: list[datetime.date | None]) -> None:
    literals = [d and ox.Literal(f"{d.year:04}-{d:%m-%d}", datatype=typed("date")) for d in dates]
    assert_typed("date", pa.array(dates, pa.date32()), literals)


@given(either(st.datetimes()))
def test_times(times: list[datetime.datetime | None]) -> None:
    literals = [t and ox.Literal(t.isoformat(), datatype=typed("dateTime")) for t in times]
    assert_typed("dateTime", pa.array(times, pa.timestamp("us")), literals)


def test_times_beyond_four_digits() -> None:
    """They are written as the tables' triples have them (``ntriples.py``)."""
    texts = ["-0043-03-15", "0000-01-01", "12345-01-01", "40000-02-03", "-40000-02-03"]
    days = np.array(texts, "datetime64[D]").astype("int32")
    column = pa.array([*days, 2**31 - 1, -(2**31) + 1], pa.int32()).cast(pa.date32())
    assert values("select", [ResultTerm("x", "date")], pa.table({"c": column}))["x"].to_list() == [
        *texts,
        "infinity",
        "-infinity",
    ]
    seconds = np.array([f"{text}T01:02:03.5" for text in texts], "datetime64[us]").astype("int64")
    column = pa.array([*seconds, 2**63 - 1, -(2**63) + 1], pa.int64()).cast(pa.timestamp("us"))
    assert values("select", [ResultTerm("x", "dateTime")], pa.table({"c": column}))["x"].to_list() == [
        *(f"{text}T01:02:03.5" for text in texts),
        "infinity",
        "-infinity",
    ]


# -- triples ----------------------------------------------------------------------------------------------------------


@examples(20)
@given(st.lists(st.tuples(NODES, IRIS, st.one_of(NODES, STRINGS, TAGGED, TYPED, NUMBERS.map(number))), max_size=6))
@example([(NODE, NODE, ox.Literal("".join(map(chr, range(0x20))) + "\x7f\x80\ufffe\uffff"))])
def test_triples(given_: list[tuple[Any, Any, Any]]) -> None:
    store = ox.Store()
    store.extend(ox.Quad(*triple) for triple in given_)
    query = "CONSTRUCT WHERE { ?s ?p ?o }"
    found = list(store.query(query))
    columns = [ResultTerm("subject", "term"), ResultTerm("predicate", "iri"), ResultTerm("object", "term")]
    parts = zip(*((internal(t.subject), t.predicate.value, internal(t.object)) for t in found), strict=True)
    arrays = [pa.array(part, pa.string()) for part in parts] or [pa.array([], pa.string())] * 3
    table = pa.table(arrays, names=[c.name for c in columns])
    body = store.query(query).serialize(format=ox.RdfFormat.N_TRIPLES)
    assert body is not None
    assert written("triples", columns, table, sparql_formats.named("ntriples")) == body
    for ours, theirs in ((values, sparql_results.values), (terms, sparql_results.terms)):
        assert ours("triples", columns, table).equals(theirs("triples", body))


@pytest.mark.parametrize("form", GRAPHS, ids=lambda form: form.name)
def test_formats_of_graphs(form: sparql_formats.Format) -> None:
    objects = [ox.Literal("a\n\"'é", language="en"), ox.Literal(5), ox.BlankNode("b1"), NODE]
    columns = [ResultTerm("subject", "iri"), ResultTerm("predicate", "iri"), ResultTerm("object", "term")]
    table = pa.table({"s": ["urn:s"] * 4, "p": ["urn:p"] * 4, "o": [internal(o) for o in objects]})
    body = b"".join(chunks("triples", columns, table, form, {"u": "urn:"}))
    known = ox.RdfFormat.from_extension(form.suffix[1:])
    assert {quad.object for quad in ox.parse(body, known)} == set(objects)
    assert (b"@prefix u: <urn:>" in body) == (form.name == "turtle")


def test_json_is_valid_for_other_readers() -> None:
    text = "".join(map(chr, range(0x20))) + '"\\\u2028é🤧'
    table = pa.table({"c0": [text]})
    body = written("select", [ResultTerm("é", "string")], table, sparql_formats.named("sparql-json"))
    [row] = json.loads(body)["results"]["bindings"]
    assert row["é"] == {"type": "literal", "value": text}
