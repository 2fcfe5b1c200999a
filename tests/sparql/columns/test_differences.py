"""Queries on which columns once differed from Oxigraph, found by random queries."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kbkit.sparql.columns import compile_query
from kbkit.stores.sparql_process import Graphs
from tests.fuzz.sparql import problem
from tests.fuzz.sparql_faults import corrected
from tests.sparql.engines import Dataset, UnsupportedQueryError, columns, external, oxigraph
from tests.sparql.solutions import difference

DATA = """
@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :p :b, "P1D"^^xsd:dayTimeDuration . :b :p :c . :c :q 1, 2.5 .
:q :p :c .
"""
QUERIES = [
    "SELECT (COUNT(?unbound) AS ?n) { ?a :p ?c . ?c :p ?d }",
    "SELECT (MAX(?c) AS ?m) { VALUES ?c { UNDEF :d } }",
    "SELECT (COUNT(DISTINCT *) AS ?n) { VALUES ?c { UNDEF :d } }",
    "SELECT (COUNT(DISTINCT *) AS ?n) { ?a :p ?c OPTIONAL { ?c :q ?d } }",
    "SELECT ?a (MIN(?d) AS ?m) { ?a :p ?c OPTIONAL { ?c :p ?d } } GROUP BY ?a",
    "SELECT (MIN(:d >= ?c) AS ?m) { ?a :p ?c }",
    "SELECT ?a { ?a :p ?c FILTER(?c != :b) }",
    "SELECT ?a { ?a :q ?c FILTER(?c != 'x') }",
    "SELECT ?a ?verb ?d { ?a ?verb ?c . ?verb :p? ?d }",
    "SELECT ?a ?verb ?d { ?a ?verb ?c . ?d :p* ?verb }",
    "SELECT ?x ?y { VALUES ?x { :z :a 1 } { ?x :p? ?y } }",
    "SELECT ?a ?verb ?d ?e { ?a ?verb ?c . ?d :p? ?verb . ?verb :p? ?e }",
    "SELECT ?c { :b !:x/!:x ?c }",
    "SELECT ?c { :b !:r ?c . ?c !:r ?d }",
    "CONSTRUCT { :a :p '01'^^<http://www.w3.org/2001/XMLSchema#int>, 1.50 } {}",
]


@pytest.mark.parametrize("text", QUERIES)
def test_the_engines_agree(text: str) -> None:
    data = Dataset(ox.parse(DATA, format=ox.RdfFormat.TURTLE))
    text = f"PREFIX : <http://e/> {text}"
    expected = sorted(oxigraph(data, text).rows, key=str)
    assert expected
    assert sorted(columns(data, text).rows, key=str) == expected


@pytest.mark.parametrize("sign", ["*", "?", "+"])
def test_a_path_from_a_node_that_is_not_there_finds_nothing(sign: str) -> None:
    data, path = Dataset(ox.parse(DATA, format=ox.RdfFormat.TURTLE)), f"<http://e/z> <http://e/p>{sign} ?x"
    assert not columns(data, f"SELECT ?x {{ {path} }}").rows
    assert not oxigraph(data, f"SELECT ?x {{ {path} }}").rows


@pytest.mark.parametrize(
    "call", ['REGEX("a", "(?=a)")', 'REGEX("a", "[")', 'REPLACE("a", "a", "$1")', "xsd:float(1.5e10)"]
)
def test_what_duckdb_rejects_or_writes_in_another_way_is_left_to_oxigraph(call: str) -> None:
    data = Dataset(ox.parse(DATA, format=ox.RdfFormat.TURTLE))
    text = f"PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT ({call} AS ?r) {{ ?s <http://e/q> 1 }}"
    with pytest.raises(UnsupportedQueryError):
        columns(data, text)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT * { ?a :p ?c FILTER EXISTS { FILTER EXISTS { ?x :q ?c } {} UNION { ?x :q ?c } } }", "outside EXISTS"),
        ("SELECT * { ?a :p ?c FILTER EXISTS { { FILTER(?c = :b) {} UNION { ?x :q ?c } } } }", "outside EXISTS"),
        ("SELECT * { ?a :p ?c FILTER EXISTS { {} UNION { ?x :q ?c } BIND(STR(?c) AS ?y) } }", "outside EXISTS"),
        ("SELECT (COUNT(?c) AS ?n) { ?a :p ?c } VALUES ?c { :z }", "VALUES after groups"),
    ],
)
def test_what_a_join_answers_in_another_way_is_left_to_oxigraph(query: str, reason: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=reason):
        columns(Dataset(ox.parse(DATA, format=ox.RdfFormat.TURTLE)), f"PREFIX : <http://e/> {query}")


GRAPHS = """
<http://e/a> <http://e/p> "1" <http://e/g> .
<http://e/a> <http://e/p> "2" <http://e/h> .
<http://e/c> <http://e/q> "x" <http://e/h> .
<http://e/a> <http://e/p> "x"^^<http://www.w3.org/2001/XMLSchema#double> .
<http://e/a> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#double> .
"""


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT (0 / 1.5 AS ?v) {}", 1),
        ("SELECT ?p FROM <http://e/g> FROM <http://e/g> { ?s ?p '1' }", 1),
        ("SELECT * { GRAPH ?d { ?s :p ?o { SELECT ?x { ?x :q ?y } } } }", 1),
        ("SELECT * { GRAPH ?d { VALUES ?d { :z } { SELECT * {} } } }", 0),
        ("SELECT * { ?s :p ?o FILTER NOT EXISTS { ?s :p ?o MINUS { GRAPH ?g { ?x :q ?y } } } }", 0),
    ],
)
def test_columns_are_right_where_oxigraph_is_not(query: str, rows: int) -> None:
    """Its faults are known to the comparison, which corrects these queries alone."""
    data, text = Dataset(ox.parse(GRAPHS, format=ox.RdfFormat.N_QUADS)), f"PREFIX : <http://e/> {query}"
    assert difference(oxigraph(data, text), columns(data, text))
    assert not difference(oxigraph(*corrected(data, text)), columns(data, text))
    assert len(columns(data, text).rows) == rows


def test_graphs_that_oxigraph_would_not_merge_are_no_lookup() -> None:
    data, where = Dataset(ox.parse(GRAPHS, format=ox.RdfFormat.N_QUADS)), "{ <http://e/a> <http://e/p> ?o }"
    assert compile_query(data.stores, f"SELECT ?o FROM <http://e/g> {where}").quick
    assert not compile_query(data.stores, f"SELECT ?o FROM <http://e/g> FROM <http://e/h> {where}").quick


@pytest.mark.parametrize(
    ("graphs", "found"),
    [
        ((["http://e/g"], None), ["1"]),
        ((None, ["http://e/h"]), ["2"]),
        ((["http://e/g"], ["http://e/h"]), ["1", "2"]),
    ],
)
def test_graphs_of_a_request_are_the_dataset(graphs: Graphs, found: list[str]) -> None:
    data = Dataset(ox.parse(GRAPHS, format=ox.RdfFormat.N_QUADS))
    text = "SELECT ?o FROM <http://e/h> { { ?s <http://e/p> ?o } UNION { GRAPH ?g { ?s <http://e/p> ?o } } }"
    rows = data.stores.tables.rows(compile_query(data.stores, text, graphs).sql)
    assert sorted(external(value).value for [value] in rows) == found


def test_the_comparison_reads_invalid_numbers() -> None:
    data = Dataset(ox.parse(GRAPHS, format=ox.RdfFormat.N_QUADS))
    assert not problem(data, "SELECT ?o { ?s <http://e/p> ?o } LIMIT 5")
