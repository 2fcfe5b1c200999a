"""Queries of the Wikidata Query Service, rewritten: the rows of each are those of a twin written by hand, or listed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import BadInputError, KbError, QuerySyntaxError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Wikibase
from kbkit.sparql.rewrite import Rewritten, check_query, rewrite
from kbkit.stores.sparql_worker import ValueLabels, functions
from tests.conftest import Run
from tests.console import records
from tests.wording import Wording

ENTITY = "http://www.wikidata.org/entity/"
EN = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "en" . }'
# Classes: Q515 city < Q486972 settlement, Q1549591 big city < Q515, Q5119 capital < Q515 and < Q99, Q99 < Q486972.
DATA = """
wd:Q515 wdt:P279 wd:Q486972 . wd:Q1549591 wdt:P279 wd:Q515 . wd:Q5119 wdt:P279 wd:Q515, wd:Q99 .
wd:Q99 wdt:P279 wd:Q486972 .
wd:Q90 wdt:P31 wd:Q5119, wd:Q1549591 ; wdt:P17 wd:Q142 ; wdt:P625 "Point(2.35 48.85)"^^geo:wktLiteral .
wd:Q64 wdt:P31 wd:Q5119 ; wdt:P17 wd:Q183 ; wdt:P625 "Point(13.38 52.52)"^^geo:wktLiteral .
wd:Q1055 wdt:P31 wd:Q1549591 ; wdt:P17 wd:Q183 ; wdt:P625 "Point(10 53.55)"^^geo:wktLiteral .
wd:Q712 wdt:P31 wd:Q6256 ; wdt:P625 "Point(178 -17.8)"^^geo:wktLiteral .
wd:Q683 wdt:P31 wd:Q6256 ; wdt:P625 "Point(-172.4 -13.7)"^^geo:wktLiteral .
wd:Q405 wdt:P625 "<http://www.wikidata.org/entity/Q405> Point(2.35 48.85)"^^geo:wktLiteral .
wd:Q142 wdt:P31 wd:Q6256 ; wdt:P36 wd:Q90 . wd:Q183 wdt:P31 wd:Q6256 ; wdt:P36 wd:Q64 .
wd:Q1 wdt:P31 wd:Q5 ; wdt:P19 wd:Q90 ; wdt:P569 "1970-03-01T00:00:00Z"^^xsd:dateTime ; wdt:P26 wd:Q2 ;
  wdt:P570 "1970-03-31T00:00:00Z"^^xsd:dateTime ; wdt:P2048 "1.8"^^xsd:decimal .
wd:Q2 wdt:P31 wd:Q5 ; wdt:P19 wd:Q64 ; wdt:P569 "1980-01-01T00:00:00Z"^^xsd:dateTime ; wdt:P1477 "Ann B"@en .
wd:Q3 wdt:P31 wd:Q5 ; wdt:P569 <http://www.wikidata.org/.well-known/genid/abc> .
wd:Q1 p:P39 wds:a . wds:a ps:P39 wd:Q30 ; pq:P580 "2001-01-01T00:00:00Z"^^xsd:dateTime .
wd:Q2 p:P39 wds:b . wds:b ps:P39 wd:Q30 ; pq:P580 "2011-01-01T00:00:00Z"^^xsd:dateTime .
wd:Q90 rdfs:label "Paris"@en, "Paris"@fr ; schema:description "capital of France"@en, "Stadt"@de ;
  skos:altLabel "City of Light"@en, "Ville Lumière"@fr .
wd:Q64 rdfs:label "Berlin"@de ; schema:description "Hauptstadt"@de ; skos:altLabel "Spree-Athen"@de .
wd:Q1055 rdfs:label "Hamburg"@mul .
wd:Q142 rdfs:label "France"@en . wd:Q183 rdfs:label "Germany"@en, "Deutschland"@de .
wd:Q1 rdfs:label "Adam"@en ; skos:altLabel "Ad"@en . wd:Q515 rdfs:label "city"@en .
"""
STORE = ox.Store()
STORE.update(f"INSERT DATA {{ {DATA} }}", prefixes=Wikibase.PREFIXES)


def results(text: str, store: ox.Store = STORE) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
    """The result of a query as it is."""
    return store.query(text, prefixes=Wikibase.PREFIXES, custom_functions=functions(ValueLabels(store)))


def plain(term: ox.Literal | ox.NamedNode | None) -> str | None:
    return None if term is None else term.value.removeprefix(ENTITY)


def run(text: str) -> list[tuple[str | None, ...]]:
    """The rows of a query as it is, in their order; numbers to six digits."""
    solutions = results(text)
    return [tuple(plain(term) for term in row) for row in solutions]  # type: ignore[union-attr, arg-type]


def ask(text: str, **options: object) -> list[tuple[str | None, ...]]:
    """The rows of a query after rewriting."""
    done = rewrite(text, "wikidata", **options)  # type: ignore[arg-type]
    assert "SERVICE" not in done.text.upper()
    return run(done.text)


def named(text: str) -> list[str]:
    """The rows with their columns by name, sorted: SELECT * leaves the order of columns open."""
    solutions = results(text)
    names = sorted(variable.value for variable in solutions.variables)  # type: ignore[union-attr]
    return sorted(str([(name, str(row[name])) for name in names]) for row in solutions)  # type: ignore[union-attr, arg-type]


def same(text: str, twin: str, count: int | None = None) -> None:
    """Rewritten, a query gives the rows of its twin, as often."""
    rows = named(rewrite(text, "wikidata").text)
    assert rows == named(twin)
    assert rows if count is None else len(rows) == count


# -- labels -----------------------------------------------------------------------------------------------------------


def label(languages: str, more: str = "") -> str:
    return f"SERVICE wikibase:label {{ bd:serviceParam wikibase:language {languages} . {more} }}"


@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        ('"en"', {"Q90": "Paris", "Q64": "Q64", "Q1055": "Q1055"}),
        ('"en,de"', {"Q90": "Paris", "Q64": "Berlin", "Q1055": "Q1055"}),
        ('"de, EN ,mul"', {"Q90": "Paris", "Q64": "Berlin", "Q1055": "Hamburg"}),
        ('"en","de"', {"Q90": "Paris", "Q64": "Berlin", "Q1055": "Q1055"}),
        ('"[AUTO_LANGUAGE],mul"', {"Q90": "Q90", "Q64": "Berlin", "Q1055": "Hamburg"}),
        ('"[AUTO_Language]"; wikibase:language "en"', {"Q90": "Paris", "Q64": "Berlin", "Q1055": "Q1055"}),
        ('"en".bd:serviceParam wikibase:language "mul"', {"Q90": "Paris", "Q64": "Q64", "Q1055": "Hamburg"}),
        ('""', {"Q90": "Q90", "Q64": "Berlin", "Q1055": "Q1055"}),
    ],
)
def test_labels_fall_back_through_the_languages_to_the_id(languages: str, expected: dict[str, str]) -> None:
    rows = ask(f"SELECT ?x ?xLabel {{ ?x wdt:P31/wdt:P279* wd:Q515 . {label(languages)} }}", languages=("de",))
    assert sorted(rows) == sorted([*expected.items(), ("Q90", expected["Q90"])])  # Q90 is one twice


def test_label_keeps_its_language_and_the_id_has_none() -> None:
    done = rewrite(f"SELECT ?xLabel {{ VALUES ?x {{ wd:Q90 wd:Q64 }} {EN} }}", "wikidata")
    labels = [row[0] for row in results(done.text)]  # type: ignore[union-attr]
    assert labels == [ox.Literal("Paris", language="en"), ox.Literal("Q64")]


def test_labels_of_values_other_than_entities() -> None:
    rows = ask(f'SELECT ?x ?xLabel {{ VALUES ?x {{ "text" 5 <http://a/b> UNDEF wd:Q90 }} {EN} }}')
    assert rows == [("text", "text"), ("5", "5"), ("http://a/b", "http://a/b"), (None, None), ("Q90", "Paris")]


@pytest.mark.core
def test_descriptions_and_aliases() -> None:
    query = f"SELECT ?x ?xDescription ?xAltLabel {{ VALUES ?x {{ wd:Q90 wd:Q64 wd:Q2 }} {label('LANGUAGES')} }}"
    assert ask(query.replace("LANGUAGES", '"en,de"')) == [
        ("Q90", "capital of France", "City of Light"),
        ("Q64", "Hauptstadt", "Spree-Athen"),
        ("Q2", None, None),
    ]
    assert ask(query.replace("LANGUAGES", '"fr,de"')) == [
        ("Q90", "Stadt", "Ville Lumière"),
        ("Q64", "Hauptstadt", "Spree-Athen"),
        ("Q2", None, None),
    ]


def test_several_aliases_are_one_string_and_rows_stay() -> None:
    store = ox.Store()
    store.update(
        'INSERT DATA { wd:Q1 wdt:P1 wd:Q2, wd:Q3 ; skos:altLabel "a"@en, "b"@en . _:x wdt:P1 wd:Q4 }',
        prefixes=Wikibase.PREFIXES,
    )
    done = rewrite(
        f"SELECT ?x ?xAltLabel {{ ?x wdt:P1 _:o FILTER(ISIRI(?x)) OPTIONAL {{ ?y wdt:P2 ?x }} {EN} }}", "wikidata"
    )
    rows = list(results(done.text, store))  # type: ignore[arg-type]
    assert [sorted(row["xAltLabel"].value.split(", ")) for row in rows] == [["a", "b"], ["a", "b"]]


def test_variables_that_may_be_unbound() -> None:
    rows = ask(
        f"SELECT ?x ?born ?bornLabel ?bornDescription {{ ?x wdt:P31 wd:Q5 OPTIONAL {{ ?x wdt:P19 ?born }} {EN} }}"
    )
    assert sorted(rows) == [
        ("Q1", "Q90", "Paris", "capital of France"),
        ("Q2", "Q64", "Q64", None),
        ("Q3", None, None, None),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?xLabel (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?xLabel",
        "SELECT (STR(?xLabel) AS ?name) (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?x ?xLabel",
        "SELECT (SAMPLE(STR(?xLabel)) AS ?name) (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?x",
        "SELECT ?name (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY (STR(?xLabel) AS ?name)",
    ],
)
def test_labels_in_expressions_and_groups(query: str) -> None:
    assert sorted(ask(query.replace("S", EN, 1) if query.startswith("S ") else query.replace(" S }", f" {EN} }}"))) == [
        ("France", "1"),
        ("Germany", "2"),
    ]


def test_labels_in_order_and_having_only() -> None:
    assert ask(f"SELECT ?x {{ ?x wdt:P36 ?y . {EN} }} ORDER BY DESC(?xLabel)") == [("Q183",), ("Q142",)]
    text = f"SELECT ?x {{ ?x wdt:P36 ?y . {EN} }} GROUP BY ?x HAVING(SAMPLE(?xLabel) = 'France'@en)"
    assert ask(text) == [("Q142",)]


def test_explicit_labels() -> None:
    service = label('"de,en"', "?x rdfs:label ?name . ?x schema:description ?about . wd:Q183 rdfs:label ?fixed")
    rows = ask(f"SELECT ?x ?name ?about ?fixed ?xLabel {{ VALUES ?x {{ wd:Q90 wd:Q1 }} {service} }}")
    assert rows == [("Q90", "Paris", "Stadt", "Deutschland", None), ("Q1", "Adam", None, "Deutschland", None)]


def test_labels_bound_by_the_pattern_are_unchanged() -> None:
    same(
        f"SELECT ?x ?xLabel {{ ?x wdt:P36 ?y . ?x rdfs:label ?xLabel . {EN} }}",
        "SELECT ?x ?xLabel { ?x wdt:P36 ?y . ?x rdfs:label ?xLabel }",
        3,
    )


def test_each_select_has_its_own_labels() -> None:
    rows = ask(
        "SELECT ?x ?xLabel ?yLabel { { SELECT ?x ?yLabel { ?x wdt:P36 ?y . "
        + label('"de"')
        + " } } ?x wdt:P31 wd:Q6256 . "
        + EN
        + " } ORDER BY ?x"
    )
    assert rows == [("Q142", "France", "Q90"), ("Q183", "Germany", "Berlin")]


def test_label_service_first_or_in_a_branch() -> None:
    assert ask(f"SELECT ?xLabel {{ {EN} ?x wdt:P36 wd:Q90 }}") == [("France",)]
    rows = ask(f"SELECT ?x ?xLabel {{ {{ ?x wdt:P36 wd:Q90 . {EN} }} UNION {{ ?x wdt:P36 wd:Q64 }} }} ORDER BY ?x")
    assert rows == [("Q142", "France"), ("Q183", None)]


def test_select_star_omits_new_variables() -> None:
    done = rewrite(
        f"SELECT * {{ ?x wdt:P36 ?y . {label(chr(34) + 'en' + chr(34), '?x rdfs:label ?name')} }}", "wikidata"
    )
    solutions = results(done.text)
    assert [variable.value for variable in solutions.variables] == ["x", "y", "name"]  # type: ignore[union-attr]


def test_labels_in_ask_and_construct() -> None:
    assert bool(results(rewrite(f"ASK {{ ?x wdt:P36 wd:Q90 . {EN} }}", "wikidata").text))
    done = rewrite(
        f"CONSTRUCT {{ ?x :name ?xLabel }} WHERE {{ ?x wdt:P36 wd:Q90 . {EN} }}".replace(":name", "rdfs:x"), "wikidata"
    )
    assert [triple.object.value for triple in results(done.text)] == ["France"]  # type: ignore[union-attr]


LOOKUP = (
    'OPTIONAL {{ ?{0} rdfs:label ?{0}_l FILTER(LANG(?{0}_l) = "en") }}'
    ' BIND(COALESCE(?{0}_l, STRAFTER(STR(?{0}), "entity/")) AS ?{0}Label)'
)


@pytest.mark.parametrize(
    ("query", "late"),
    [
        ("SELECT ?x ?xLabel (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?x ?xLabel ORDER BY DESC(?n)", True),
        ("SELECT ?x ?xLabel (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?x ?xLabel HAVING(COUNT(*) > 1)", True),
        ("SELECT ?xLabel (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?x ?xLabel ORDER BY ?xLabel LIMIT 1", True),
        ("SELECT ?xLabel (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?xLabel ORDER BY ?xLabel", False),
        ("SELECT ?x ?xLabel { ?y wdt:P17 ?x . S } GROUP BY ?x ?xLabel HAVING(?xLabel = 'France'@en)", False),
        ("SELECT ?x ?xLabel { ?y wdt:P17 ?x . S } GROUP BY ?x ?xLabel ORDER BY DESC(COUNT(?y))", False),
        ("SELECT ?x (SAMPLE(?xLabel) AS ?l) { ?y wdt:P17 ?x . S } GROUP BY ?x ORDER BY ?x", False),
        ("SELECT DISTINCT ?x ?xLabel { ?y wdt:P17 ?x . S } ORDER BY ?x", True),
        ("SELECT DISTINCT ?xLabel ?x { ?y wdt:P17 ?x . S } ORDER BY DESC(?xLabel) LIMIT 1", True),
        ("SELECT DISTINCT ?xLabel { ?x wdt:P31 wd:Q5 . S } ORDER BY ?xLabel", False),
        ("SELECT ?xLabel { ?x wdt:P31 wd:Q5 ; wdt:P569 ?d . S } ORDER BY ?d LIMIT 2 OFFSET 1", True),
        ("SELECT (YEAR(?d) AS ?y) ?xLabel { ?x wdt:P31 wd:Q5 ; wdt:P569 ?d . S } ORDER BY DESC(?y) LIMIT 2", True),
        ("SELECT ?xLabel { ?x wdt:P31 wd:Q5 OPTIONAL { ?x wdt:P19 ?p } S } ORDER BY DESC(?p) LIMIT 2", True),
        ("SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . S } ORDER BY ?xLabel LIMIT 2", False),
        ("SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . S } ORDER BY ?x LIMIT 2 VALUES ?x { wd:Q1 wd:Q3 }", False),
        ("SELECT DISTINCT ?x ?xLabel { ?x wdt:P17 ?c . S FILTER(CONTAINS(?xLabel, 'Ham') || ?x = wd:Q90) }", False),
        ("SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . S FILTER(?xLabel = 'Adam'@en) } GROUP BY ?x ?xLabel", False),
    ],
)
def test_labels_are_looked_up_last_if_the_rows_are_unchanged(query: str, late: bool) -> None:
    done = rewrite(query.replace(" S ", f" {EN} "), "wikidata").text
    assert run(done) == run(query.replace(" S ", f" {LOOKUP.format('x')} "))
    assert run(done)
    assert (done.count("SELECT") == 2) == late


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . S } ORDER BY ?x LIMIT 5", "x xLabel"),
        ("SELECT ?xLabel ?d { ?x wdt:P31 wd:Q5 ; wdt:P569 ?d . S }", "xLabel d"),
        ("SELECT DISTINCT ?xLabel ?x { ?y wdt:P17 ?x . S }", "xLabel x"),
        ("SELECT (YEAR(?d) AS ?y) ?xLabel { ?x wdt:P569 ?d . S } ORDER BY DESC(?y)", "y xLabel"),
        ("SELECT ?xLabel (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?x ?xLabel", "xLabel n"),
        ("SELECT DISTINCT ?xLabel { ?y wdt:P17 ?x . S }", ""),
        ("SELECT ?xLabel (COUNT(*) AS ?n) { ?y wdt:P17 ?x . S } GROUP BY ?xLabel", ""),
        ("SELECT (COUNT(?x) AS ?n) (SAMPLE(?xLabel) AS ?l) { ?x wdt:P31 wd:Q5 . S }", ""),
        ("SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . S } ORDER BY ?xLabel", ""),
        ("SELECT ?x ?xLabel (STR(?xLabel) AS ?l) { ?x wdt:P31 wd:Q5 . S }", ""),
        ("SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . S FILTER(STRLEN(?xLabel) > 1) }", ""),
        ("SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . S } VALUES ?x { wd:Q1 }", ""),
        ("SELECT ?x ?l { ?x wdt:P31 wd:Q5 . { SELECT ?x (?xLabel AS ?l) { ?x wdt:P31 wd:Q5 . S } } }", ""),
        ("SELECT ?x ?xLabel { GRAPH ?g { ?x wdt:P31 wd:Q5 . S } }", ""),
        ("SELECT ?x ?xLabel { { ?x wdt:P31 wd:Q5 . S } UNION { ?x wdt:P36 ?y } }", ""),
        ("ASK { ?x wdt:P31 wd:Q5 . S }", ""),
    ],
)
def test_labels_that_are_only_shown_are_columns_of_the_result(query: str, columns: str) -> None:
    done = rewrite(query.replace(" S ", f" {EN} "), "wikidata", add_columns=True)
    assert " ".join(column.name for column in done.columns) == columns
    if columns:
        assert "inLanguage" not in done.text
        assert not rewrite(query.replace(" S ", f" {EN} "), "wikidata").columns


def test_aliases_where_the_subject_may_be_unbound() -> None:
    rows = ask(f"SELECT ?x ?fAltLabel {{ ?x wdt:P31 wd:Q5 OPTIONAL {{ ?f wdt:P26 ?x }} {EN} }} ORDER BY ?x")
    assert rows == [("Q1", None), ("Q2", "Ad"), ("Q3", None)]


def test_two_label_services_one_for_aliases() -> None:
    rows = ask(
        "SELECT ?x ?xAltLabel ?name { ?x wdt:P31 wd:Q5 . "
        f"{EN} {label(chr(34) + 'en' + chr(34), '?x rdfs:label ?name')} }} ORDER BY ?x"
    )
    assert rows == [("Q1", "Ad", "Adam"), ("Q2", None, "Q2"), ("Q3", None, "Q3")]


def test_a_label_used_only_in_exists() -> None:
    service = label('"en"', "?c rdfs:label ?name")
    text = (
        f"SELECT ?x {{ ?x wdt:P31 wd:Q5119 FILTER EXISTS {{ ?x wdt:P17 ?c . {service} FILTER(?name = 'France'@en) }} }}"
    )
    assert ask(text) == [("Q90",)]


GRAPHS = ox.Store()
GRAPHS.update(
    "INSERT DATA { GRAPH <urn:1> { wd:Q1 wdt:P31 wd:Q515 ; skos:altLabel 'a'@en . wd:Q515 wdt:P279 wd:Q2 }"
    " GRAPH <urn:2> { wd:Q1 wdt:P31 wd:Q515 ; skos:altLabel 'b'@en } }",
    prefixes=Wikibase.PREFIXES,
)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT ?g ?xAltLabel { GRAPH ?g { ?x wdt:P31 wd:Q515 . S } }", [["urn:1", "a"], ["urn:2", "b"]]),
        (
            "SELECT DISTINCT ?g ?x ?xAltLabel { GRAPH ?g { ?x wdt:P31 wd:Q515 . S } }",
            [["urn:1", ENTITY + "Q1", "a"], ["urn:2", ENTITY + "Q1", "b"]],
        ),
        ("SELECT ?g { GRAPH ?g { ?x wdt:P31/wdt:P279* wd:Q2 } }", [["urn:1"]]),
    ],
)
def test_labels_in_named_graphs(query: str, rows: list[list[str]]) -> None:
    done = rewrite(query.replace(" S ", f" {EN} "), "wikidata")
    assert sorted([term.value for term in row] for row in results(done.text, GRAPHS)) == rows  # type: ignore[union-attr]


def test_a_column_computed_under_a_labels_name() -> None:
    same(
        f"SELECT ?x (SAMPLE(?y) AS ?xLabel) {{ ?x wdt:P36 ?y . {EN} }} GROUP BY ?x",
        "SELECT ?x (SAMPLE(?y) AS ?xLabel) { ?x wdt:P36 ?y } GROUP BY ?x",
        2,
    )


terms = st.sampled_from(["wd:Q90", "wd:Q64", "wd:Q1055", "wd:Q1", "wd:Q404", '"word"', "<http://a/b>", "UNDEF"])


@given(
    st.lists(terms, max_size=6),
    st.lists(st.sampled_from(["en", "de", "fr", "mul", "xx"]), min_size=1, max_size=4, unique=True),
    st.booleans(),
)
def test_labels_agree_with_a_plain_lookup(values: list[str], languages: list[str], nested: bool) -> None:
    """An oracle in Python; rows are neither lost nor multiplied, whatever may be unbound."""
    known = {
        (quad.subject.value, quad.object.language): quad.object.value
        for quad in STORE.quads_for_pattern(None, ox.NamedNode(Wikibase.PREFIXES["rdfs"] + "label"), None)
    }

    def name(term: str) -> str | None:
        if term == "UNDEF":
            return None
        iri = ENTITY + term.removeprefix("wd:") if term.startswith("wd:") else term.strip('<>"')
        return next((known[iri, code] for code in languages if (iri, code) in known), iri.removeprefix(ENTITY))

    inner = f"VALUES ?x {{ {' '.join(values)} }}"
    inner = f"{{ SELECT ?x {{ {inner} }} }}" if nested else inner
    text = f"SELECT ?x ?xLabel {{ {inner} {label(chr(34) + ','.join(languages) + chr(34))} }}"
    assert [row[1] for row in ask(text)] == [name(term) for term in values]


# -- named subqueries, hints, prefixes --------------------------------------------------------------------------------


def test_named_subqueries() -> None:
    same(
        "SELECT ?x ?n WITH { SELECT ?x { ?x wdt:P31 ?c } } AS %a WITH { SELECT ?x (COUNT(*) AS ?n) { INCLUDE %a ."
        " ?x wdt:P17 ?y } GROUP BY ?x } AS %b WITH { SELECT * {} } AS %unused WHERE { include %b INCLUDE %a . }",
        "SELECT ?x ?n { { SELECT ?x (COUNT(*) AS ?n) { { SELECT ?x { ?x wdt:P31 ?c } } ?x wdt:P17 ?y } GROUP BY ?x }"
        " { SELECT ?x { ?x wdt:P31 ?c } } }",
        5 - 1,
    )


def test_a_subquery_included_twice_has_blank_nodes_of_its_own() -> None:
    same(
        "SELECT ?x WITH { SELECT ?x { ?x wdt:P36 _:b . _:b wdt:P31 wd:Q5119 } } AS %a"
        " { { INCLUDE %a } UNION { INCLUDE %a } }",
        "SELECT ?x { VALUES ?i { 1 2 } ?x wdt:P36/wdt:P31 wd:Q5119 }",
        4,
    )


def test_exponential_subqueries_are_rejected(wording: Wording) -> None:
    steps = "".join(
        f"WITH {{ SELECT * {{ {{ INCLUDE %s{n} }} UNION {{ INCLUDE %s{n} }} }} }} AS %s{n + 1} " for n in range(40)
    )
    text = "SELECT * WITH { SELECT * { ?a ?b ?c } } AS %s0 " + steps + "{ INCLUDE %s40 }"
    with pytest.raises(QuerySyntaxError) as caught:
        rewrite(text, "wikidata")
    message = str(caught.value)
    assert [fact for fact in ["50,000"] if fact not in message] == []
    wording(message)


def test_hints_are_removed(wording: Wording) -> None:
    done = rewrite(
        "#defaultView:Map\nSELECT ?x { hint:Query hint:optimizer 'None' . ?x wdt:P36 wd:Q90 ."
        " hint:Prior hint:gearing 'forward' ."
        " OPTIONAL { ?x wdt:P1 ?y . hint:Prior <http://www.bigdata.com/queryHints#rangeSafe> true } }",
        "wikidata",
    )
    assert done.text == (
        "PREFIX wd: <http://www.wikidata.org/entity/>\nPREFIX wdt: <http://www.wikidata.org/prop/direct/>\n"
        "SELECT ?x\n{\n  ?x wdt:P36 wd:Q90 .\n  OPTIONAL { ?x wdt:P1 ?y . }\n}\n"
    )
    wording("\n".join(done.notes))


def test_other_properties_of_a_hint_subject_remain() -> None:
    text = "SELECT ?x { ?x wdt:P36 wd:Q90 ; hint:foo 'x' ; wdt:P31 wd:Q6256 . [ wdt:P36 wd:Q64 ] hint:a 1 }"
    same(text, "SELECT ?x { ?x wdt:P36 wd:Q90 ; wdt:P31 wd:Q6256 }", 1)
    short = "CONSTRUCT WHERE { ?x wdt:P31 wd:Q6256 . hint:Query hint:optimizer 'None' }"
    assert "hint" not in rewrite(short, "wikidata").text
    template = "CONSTRUCT { ?x hint:a ?y } WHERE { ?x wdt:P36 ?y }"
    assert "?x hint:a ?y" in rewrite(template, "wikidata").text


def test_declared_prefixes_take_precedence() -> None:
    done = rewrite(f"PREFIX rdfs: <http://mine/> SELECT ?x ?xLabel {{ ?x wdt:P36 ?y ; rdfs:a ?z . {EN} }}", "wikidata")
    assert 'kb:inLanguage(?x, <http://www.w3.org/2000/01/rdf-schema#label>, "en")' in done.text
    assert done.text.count("PREFIX rdfs:") == 1
    done = rewrite(
        "PREFIX l: <http://wikiba.se/ontology#> PREFIX wikibase: <http://mine/>"
        "SELECT ?xLabel { ?x wdt:P36 wd:Q90 SERVICE l:label { bd:serviceParam l:language 'en' } }",
        "wikidata",
    )
    assert run(done.text) == [("France",)]


# -- places -----------------------------------------------------------------------------------------------------------


def kilometres(a: tuple[float, float], b: tuple[float, float]) -> float:
    """By the angle between two vectors; an independent way to the great circle."""
    first, second = (
        (
            math.cos(math.radians(lat)) * math.cos(math.radians(lon)),
            math.cos(math.radians(lat)) * math.sin(math.radians(lon)),
            math.sin(math.radians(lat)),
        )
        for lon, lat in (a, b)
    )
    return 6371.0087714 * math.acos(max(-1.0, min(1.0, sum(x * y for x, y in zip(first, second, strict=True)))))


PARIS, BERLIN, HAMBURG = (2.35, 48.85), (13.38, 52.52), (10.0, 53.55)


def test_around_with_distance() -> None:
    rows = ask(
        "SELECT ?place ?d { wd:Q64 wdt:P625 ?here . SERVICE wikibase:around { ?place wdt:P625 ?l ."
        " bd:serviceParam wikibase:center ?here ; wikibase:radius '900' ; wikibase:distance ?d . } } ORDER BY ?d"
    )
    assert [row[0] for row in rows] == ["Q64", "Q1055", "Q90"]
    expected = [0, kilometres(BERLIN, HAMBURG), kilometres(BERLIN, PARIS)]
    assert [float(row[1] or "nan") for row in rows] == pytest.approx(expected, abs=1e-6)
    assert expected[2] == pytest.approx(877, abs=2)


def test_around_a_constant_and_a_centre_that_comes_later() -> None:
    around = (
        "SERVICE wikibase:around {{ ?place wdt:P625 ?l . bd:serviceParam wikibase:center {} ; wikibase:radius {} }}"
    )
    point = '"Point(10 53.5)"^^geo:wktLiteral'
    assert ask(f"SELECT ?place {{ {around.format(point, '30')} }}") == [("Q1055",)]
    text = f"SELECT ?place {{ {around.format('?here', '?r')} wd:Q64 wdt:P625 ?here . VALUES ?r {{ '300' }} }}"
    assert sorted(ask(text)) == [("Q1055",), ("Q64",)]


def test_around_a_centre_from_before_its_optional() -> None:
    text = (
        "SELECT ?p ?d { wd:Q64 wdt:P625 ?c . OPTIONAL { SERVICE wikibase:around { ?p wdt:P625 ?l . bd:serviceParam"
        " wikibase:center ?c ; wikibase:radius 300 DISTANCE } } } ORDER BY ?d"
    )
    rows = ask(text.replace("DISTANCE", "; wikibase:distance ?d"))
    assert [row[0] for row in rows] == ["Q64", "Q1055"]
    assert [float(row[1] or "nan") for row in rows] == pytest.approx([0, kilometres(BERLIN, HAMBURG)], abs=1e-6)
    assert sorted(ask(text.replace("DISTANCE", ""))) == [("Q1055", None), ("Q64", None)]
    assert ask(text.replace("DISTANCE", "; wikibase:distance ?d").replace("wd:Q64", "wd:Q712")) == [("Q712", "0")]


def test_a_distance_used_further_on() -> None:
    rows = ask(
        "SELECT ?place ?m { wd:Q64 wdt:P625 ?here . SERVICE wikibase:around { ?place wdt:P625 ?l . bd:serviceParam"
        " wikibase:center ?here ; wikibase:radius 300 ; wikibase:distance ?d }"
        " BIND(ROUND(?d) * 1000 AS ?m) } ORDER BY ?m"
    )
    assert [(place, float(metres or "nan")) for place, metres in rows] == [
        ("Q64", 0),
        ("Q1055", 1000 * round(kilometres(BERLIN, HAMBURG))),
    ]


def test_another_globe_has_places_of_its_own() -> None:
    text = (
        "SELECT ?place { SERVICE wikibase:around { ?place wdt:P625 ?l . bd:serviceParam wikibase:radius 1 ;"
        " wikibase:center '<http://www.wikidata.org/entity/Q405> Point(2.35 48.85)'^^geo:wktLiteral GLOBE } }"
    )
    assert ask(text.replace("GLOBE", "")) == []  # Earth
    assert ask(text.replace("GLOBE", "; wikibase:globe wd:Q405")) == [("Q405",)]
    assert ask(text.replace("GLOBE", "; wikibase:globe wd:Q2")) == []


@pytest.mark.core
@pytest.mark.parametrize(
    ("corners", "places"),
    [
        ("cornerSouthWest 'Point(0 40)' ; C:cornerNorthEast 'Point(12 60)'", ["Q1055", "Q90"]),
        ("cornerSouthWest 'Point(170 -20)' ; C:cornerNorthEast 'Point(-170 -10)'", ["Q683", "Q712"]),
        ("cornerSouthWest 'Point(170 -20)' ; C:cornerNorthEast 'Point(180 -10)'", ["Q712"]),
        ("cornerWest 'Point(0 60)' ; C:cornerEast 'Point(12 50)'", ["Q1055"]),
        ("cornerWest 'Point(0 50)' ; C:cornerEast 'Point(12 60)'", ["Q1055"]),
    ],
)
def test_box(corners: str, places: list[str]) -> None:
    service = f"SERVICE wikibase:box {{ ?place wdt:P625 ?l . bd:serviceParam C:{corners} . }}".replace(
        "C:", "wikibase:"
    )
    assert sorted(ask(f"SELECT ?place {{ {service} FILTER(?place != wd:Q405) }}")) == [(place,) for place in places]


def test_functions_of_places() -> None:
    rows = ask(
        "SELECT (geof:latitude(?l) AS ?a) (geof:longitude(?l) AS ?o) (geof:globe(?l) AS ?g)"
        " (wikibase:decodeUri('a%20b') AS ?u) (geof:distance(?l, 'nowhere') AS ?none)"
        " (geof:latitude('Point(1 91)') AS ?never) { wd:Q64 wdt:P625 ?l }"
    )
    assert rows == [("52.52", "13.38", "Q2", "a b", None, None)]


# -- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "?x wdt:P31/wdt:P279* wd:Q486972",
        "?x (wdt:P31/wdt:P279*) wd:Q515, wd:Q99",
        "?x wdt:P31/(wdt:P279/wdt:P279*) wd:Q486972 ; wdt:P17 ?c",
        "?x wdt:P17 ?c ; (wdt:P31|wdt:P17)/wdt:P279+ wd:Q486972 .",
        "?x wdt:P19 [ wdt:P31/wdt:P279* wd:Q515 ]",
        "?x wdt:P31/wdt:P279? wd:Q515",
        "_:b wdt:P36 ?x . OPTIONAL { ?x wdt:P99 ?z } ?x wdt:P31/wdt:P279* wd:Q515",
        "_:b wdt:P36 ?x . FILTER(?x != wd:Q1) ?x wdt:P31/wdt:P279* wd:Q515 . FILTER(?x != wd:Q2) _:b wdt:P31 ?k",
        "?x wdt:P31 wd:Q5 OPTIONAL { ?x wdt:P19/wdt:P31/wdt:P279* wd:Q515 . ?x wdt:P569 ?d }",
        "?x wdt:P31 ?t MINUS { ?x wdt:P31/wdt:P279* wd:Q515 }",
        "?x wdt:P31 ?t FILTER NOT EXISTS { ?x wdt:P31/wdt:P279* wd:Q515 }",
        "{ ?x wdt:P31/wdt:P279* wd:Q99 } UNION { ?x wdt:P31/wdt:P279* wd:Q1549591 }",
        "?x ^wdt:P36/wdt:P31/wdt:P279* wd:Q6256",
        "GRAPH ?g { ?x wdt:P31/wdt:P279* wd:Q515 }",
        "{ SELECT * { ?x wdt:P31/wdt:P279* wd:Q515 } }",
    ],
)
def test_split_paths_keep_the_rows(pattern: str) -> None:
    text = f"SELECT * {{ {pattern} }}"
    same(text, text, None if "GRAPH" not in pattern else 0)


def test_a_path_is_split_at_its_closure(wording: Wording) -> None:
    done = rewrite("SELECT ?x { ?x wdt:P31/wdt:P279* wd:Q515 ; wdt:P17 ?y }", "wikidata")
    assert done.text.partition("{\n")[2] == (
        "  {\n    SELECT ?class\n    WHERE {\n      ?class wdt:P279* wd:Q515 .\n    }\n  }\n"
        "  ?x wdt:P31 ?class ;\n      wdt:P17 ?y\n}\n"
    )
    wording(done.notes[0])


def test_a_split_path_adds_no_columns() -> None:
    pattern = "{ ?x wdt:P31/wdt:P279* wd:Q99 }"
    described = rewrite(f"DESCRIBE * {pattern}", "wikidata").text
    assert {str(triple) for triple in STORE.query(described)} == {  # type: ignore[union-attr]
        str(triple)
        for triple in STORE.query(f"DESCRIBE * {pattern}", prefixes=Wikibase.PREFIXES)  # type: ignore[union-attr]
    }
    solutions = STORE.query(rewrite("SELECT * { [] wdt:P31/wdt:P279* wd:Q99 }", "wikidata").text)
    assert list(solutions.variables) == []  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "pattern",
    [
        "?x wdt:P279* wd:Q515",
        "?x wdt:P31/wdt:P279* ?y",
        "wd:Q90 wdt:P31/wdt:P279* wd:Q515",
        "?x wdt:P31 ?y FILTER EXISTS { ?x wdt:P31/wdt:P279* wd:Q515 }",
        "?x wdt:P31 ?y OPTIONAL { ?x wdt:P31/wdt:P279* wd:Q515 }",
        "?x wdt:P31/wdt:P279* wd:Q515, ?y",
        "wd:Q515 ^wdt:P279*/^wdt:P31 ?x",
    ],
)
def test_other_paths_are_unchanged(pattern: str) -> None:
    assert [note for note in rewrite(f"SELECT * {{ {pattern} }}", "wikidata").notes if "wdt:P279*" in note] == []


# -- what Blazegraph takes --------------------------------------------------------------------------------------------


def test_a_column_that_is_also_grouped_by() -> None:
    same(
        "SELECT ?y (COUNT(DISTINCT ?x) AS ?count) { ?x wdt:P17 ?y } GROUP BY ?y ?count ?other",
        "SELECT ?y (COUNT(DISTINCT ?x) AS ?count) { ?x wdt:P17 ?y } GROUP BY ?y",
        2,
    )


def test_a_column_that_the_pattern_binds() -> None:
    same(
        "SELECT (YEAR(?d) AS ?d) (?x AS ?x) { ?x wdt:P569 ?d . FILTER(ISLITERAL(?d)) } ORDER BY ?d",
        "SELECT (YEAR(?e) AS ?d) ?x { ?x wdt:P569 ?e FILTER(ISLITERAL(?e)) } ORDER BY ?d",
        2,
    )


def test_aggregates_over_a_variable_that_a_column_is_called() -> None:
    text = "SELECT (STR(?x) AS ?x) (COUNT(?x) AS ?n) { VALUES ?x { 1 2 2 } } GROUP BY ?x"
    assert ask(text + " ORDER BY ?x") == [("1", "1"), ("2", "2")]
    assert ask(text + " HAVING(COUNT(?x) > 1)") == [("2", "2")]
    assert ask(text + " ORDER BY DESC(COUNT(?x))") == [("2", "2"), ("1", "1")]


def test_bind_to_a_bound_variable_is_a_join() -> None:
    same(
        "SELECT ?x ?y { ?x wdt:P17 ?y . BIND(wd:Q183 AS ?y) ?y wdt:P36 ?c }",
        "SELECT ?x ?y { ?x wdt:P17 ?y . ?y wdt:P36 ?c . FILTER(?y = wd:Q183) }",
        2,
    )
    rows = ask("SELECT ?x ?y { ?x wdt:P31 wd:Q5 OPTIONAL { ?x wdt:P19 ?y } BIND(wd:Q64 AS ?y) }")
    assert sorted(rows) == [("Q2", "Q64"), ("Q3", "Q64")]


def test_times_without_a_time_of_day(wording: Wording) -> None:
    twin = 'SELECT ?x { ?x wdt:P569 ?d FILTER(?d >= "1975-01-01T00:00:00Z"^^xsd:dateTime) }'
    for date in ('"1975-01-01"^^xsd:dateTime', '"1975-00-00"^^xsd:dateTime', '"1975-01-01"^^xsd:date'):
        same(twin.replace('"1975-01-01T00:00:00Z"^^xsd:dateTime', date), twin, 1)
    same(twin.replace('"1975-01-01T00:00:00Z"^^xsd:dateTime', "xsd:dateTime('1975-01-01')"), twin, 1)
    note = rewrite('SELECT * { FILTER(?d > "1975-01"^^xsd:dateTime) }', "wikidata").notes[0]
    message = note
    assert [fact for fact in ['"1975-01"', "xsd:dateTime", '"1975-01-01T00:00:00Z"'] if fact not in message] == []
    wording(message)


def test_dates_are_compared_with_dates() -> None:
    same(
        "SELECT ?x { ?x wdt:P31 wd:Q5 ; wdt:P569 ?d FILTER(xsd:date(?d) > '1975-01-01'^^xsd:date) }",
        "SELECT ?x { ?x wdt:P31 wd:Q5 ; wdt:P569 ?d FILTER(?d > '1975-01-01T00:00:00Z'^^xsd:dateTime) }",
        1,
    )


def test_the_difference_of_times_is_in_days() -> None:
    rows = ask("SELECT (?b - ?a AS ?days) (?a - ?b AS ?less) (?a - ?a AS ?none) { wd:Q1 wdt:P569 ?a ; wdt:P570 ?b }")
    assert rows == [("30", "-30", "0")]
    assert ask("SELECT (?h - ?h AS ?none) (?h - 1 AS ?rest) { wd:Q1 wdt:P2048 ?h }") == [("0", "0.8")]


def test_unknown_values() -> None:
    for test in ("wikibase:isSomeValue(?d)", "isBLANK(?d)", "!(!isBlank(?d))"):
        assert ask(f"SELECT ?x {{ ?x wdt:P569 ?d FILTER({test}) }}") == [("Q3",)]


def test_a_blank_node_without_its_underscore() -> None:
    text = "SELECT ?x ?s { ?x p:P39 _:a . _:a ps:P39 wd:Q30 . :a pq:P580 ?s } ORDER BY ?s"
    same(text, text.replace(" :a", " _:a"), 2)
    declared = rewrite("PREFIX : <http://e/> " + text, "wikidata")
    assert ":a pq:P580" in declared.text
    assert run(declared.text) == []


def test_having_over_a_column() -> None:
    same(
        "SELECT ?y (COUNT(*) AS ?n) (STR(?y) AS ?s) { ?x wdt:P17 ?y } GROUP BY ?y HAVING(?n > 1 && CONTAINS(?s, 'Q'))",
        "SELECT ?y ?n (STR(?y) AS ?s) { { SELECT ?y (COUNT(*) AS ?n) { ?x wdt:P17 ?y } GROUP BY ?y } FILTER(?n > 1) }",
        1,
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?y (COUNT(?x) AS ?x) { ?x wdt:P17 ?y } GROUP BY ?y HAVING(COUNT(?x) > 1)",
        "SELECT ?y (SAMPLE(?x) AS ?n) { ?x wdt:P17 ?y } GROUP BY ?y"
        " HAVING(EXISTS { ?y wdt:P36 ?n . ?n wdt:P31 wd:Q1549591 })",
    ],
)
def test_having_in_aggregates_and_exists_is_unchanged(query: str) -> None:
    same(query, query, 1)


def test_an_aggregate_named_as_its_argument() -> None:
    text = "SELECT ?y (COUNT(?x) AS ?x) { ?x wdt:P17 ?y } GROUP BY ?y HAVING(COUNT(?x) > 1) ORDER BY ?x"
    done = rewrite(text, "wikidata").text
    assert "(COUNT(?x_2) AS ?x)" in done  # the standard forbids the other, and so do columns
    assert "HAVING(COUNT(?x_2) > 1)" in done
    same(text, "SELECT ?y (COUNT(?z) AS ?x) { ?z wdt:P17 ?y } GROUP BY ?y HAVING(COUNT(?z) > 1)", 1)


def test_duplicate_columns_and_upper_case_booleans() -> None:
    same("SELECT ?x ?x { ?x wdt:P36 ?y FILTER(TRUE) }", "SELECT ?x { ?x wdt:P36 ?y }", 2)


def test_the_query_service_by_its_address() -> None:
    text = f"SELECT ?x ?xLabel {{ SERVICE <https://query.wikidata.org/sparql> {{ ?x wdt:P36 wd:Q90 {EN} }} }}"
    assert ask(text) == [("Q142", "France")]


# -- rows at most, full text, the other dialect -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "end", "noted"),
    [
        ("SELECT ?x { ?x ?y ?z }", "LIMIT 10", True),
        ("SELECT ?x { ?x ?y ?z } LIMIT 5", "LIMIT 5", False),
        ("SELECT ?x { ?x ?y ?z } limit 11 OFFSET 2", "limit 10 OFFSET 2", True),
        ("SELECT ?x { ?x ?y ?z } OFFSET 2", "LIMIT 10 OFFSET 2", True),
        (
            "SELECT ?x { { SELECT ?x { ?x ?y ?z } LIMIT 99 } } ORDER BY ?x VALUES ?x { 1 }",
            "LIMIT 10\nVALUES ?x { 1 }",
            True,
        ),
        ("CONSTRUCT { ?x ?y ?z } { ?x ?y ?z }", "LIMIT 10", True),
        ("ASK { ?x ?y ?z }", "}", False),
    ],
)
def test_limit(query: str, end: str, noted: bool, wording: Wording) -> None:
    for dialect in ("sparql", "wikidata"):
        done = rewrite(query, dialect, limit=10)
        assert done.text.rstrip().endswith(end)
        assert bool(done.notes) == noted
        if noted:
            wording("\n".join(done.notes))
        assert ("LIMIT 99" in done.text) == ("LIMIT 99" in query)
        if dialect == "sparql" and not noted:
            assert done.text == query


def finder(words: str, limit: int, mode: str, kind: str | None) -> list[tuple[str, float]]:
    """A search that finds two cities, and says what it was asked."""
    assert (words, limit, mode, kind) in [("big city", 100, "bm25", None), ("big city", 2, "dense", "city")]
    return [(ENTITY + "Q64", 2.5), (ENTITY + "Q90", 1.25), (ENTITY + "Q64", 0.5)]


@pytest.mark.parametrize("dialect", ["sparql", "wikidata"])
def test_full_text(dialect: str, wording: Wording) -> None:
    text = (
        "PREFIX wdt: <http://www.wikidata.org/prop/direct/> PREFIX kb: <urn:kbkit:> SELECT ?x ?s ?y {"
        " SERVICE kb:search { ?x kb:matches 'big city' ; kb:score ?s OPTIONS } ?x wdt:P17 ?y } ORDER BY DESC(?s)"
    )
    for options in ("", "; kb:limit 2 ; kb:mode 'dense' ; kb:type \"city\""):
        done = rewrite(text.replace("OPTIONS", options), dialect, search=finder)
        assert run(done.text) == [("Q64", "2.5", "Q183"), ("Q90", "1.25", "Q142")]
        assert "'big city': 2" in done.notes[0]
        wording(done.notes[0])
    assert run(rewrite(text.replace("OPTIONS", ""), dialect, search=lambda *_: []).text) == []


@pytest.mark.parametrize(
    "pattern", ["<<?s ?p ?o>> ?q ?z", "?s ?p <<( ?a ?b ?c )>>", "?s ?p ?o {| ?q ?z |}", "?s ?p ?o ~ ?r"]
)
def test_syntax_only_the_engine_knows_is_unchanged(pattern: str, wording: Wording) -> None:
    text = f"SELECT * {{ {pattern} }}"
    done = rewrite(text, "sparql", limit=3)
    assert done.text == text
    assert "line 1, column " in done.notes[0]
    wording(done.notes[0])
    STORE.query(text)
    with pytest.raises(QuerySyntaxError):
        rewrite(f"{text} # service", "sparql", limit=3)


def test_notes_are_one_line_each() -> None:
    assert str(Rewritten("ASK {}", ("one\n} two", "three"))) == "# one } two\n# three\nASK {}"


def test_the_dialect_sparql_changes_nothing_else() -> None:
    text = (
        "SELECT  ?x{?x <http://www.wikidata.org/prop/direct/P31>/<http://a/b>* <http://c/d> FILTER(TRUE)} # service\n"
    )
    assert rewrite(text, "sparql") == Rewritten(text, ())
    assert rewrite("not even SPARQL 1.1", "sparql") == Rewritten("not even SPARQL 1.1", ())


# -- errors -----------------------------------------------------------------------------------------------------------


def service(name: str, body: str = "") -> str:
    return f"SELECT * {{\n  SERVICE {name} {{ {body} }} }}"


def mwapi(api: str, more: str) -> str:
    return f'bd:serviceParam wikibase:endpoint "www.wikidata.org" ; wikibase:api "{api}" ; {more} .'


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("<https://dbpedia.org/sparql>", "network"),
        ("?any", "?any"),
        ("wikibase:mwapi", "wikibase:mwapi"),
        ("kb:search", "kb:search"),
    ],
)
@pytest.mark.parametrize("dialect", ["wikidata", "sparql"])
def test_a_silent_service_that_cannot_run_has_one_empty_solution(name: str, reason: str, dialect: str) -> None:
    text = f"SELECT * {{ VALUES ?x {{ 1 2 }} SERVICE SILENT {name} {{ ?x ?p ?y SERVICE SILENT ?other {{ }} }} }}"
    text = f"PREFIX wikibase: <{Wikibase.ONTOLOGY}> PREFIX kb: <urn:kbkit:> {text}"
    done = rewrite(text, dialect, search=lambda *_: [], prefixes={})
    assert [row[0].value for row in ox.Store().query(done.text)] == ["1", "2"]
    assert any(reason in note and "SILENT" in note for note in done.notes)


@pytest.mark.parametrize(
    "verb", ["ql:contains-word", "<http://www.bigdata.com/rdf/search#search>", "<http://jena.apache.org/text#query>"]
)
def test_text_searches_of_other_engines_are_refused(verb: str) -> None:
    for dialect in ("wikidata", "sparql"):
        with pytest.raises(QuerySyntaxError, match="kb:search"):
            rewrite(f"SELECT * {{ ?x {verb} 'a' }}", dialect)
    declared = "PREFIX bds: <http://www.bigdata.com/rdf/search#> SELECT * { ?x ?y 'ql:a' }"
    assert rewrite(declared, "sparql").text == declared


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            service("wikibase:mwapi", 'bd:serviceParam wikibase:api "EntitySearch"'),
            ["line 2", "column 3", "wikibase:mwapi", "kb:search"],
        ),
        (
            service("wikibase:mwapi", mwapi("Generator", 'mwapi:generator "search" ; mwapi:gsrsearch ?w')),
            ["line 2", "column 3", "mwapi:gsrsearch", "?w"],
        ),
        (
            service("wikibase:mwapi", mwapi("Search", 'mwapi:srsearch "insource:x"')),
            ["line 2", "column 3", "insource:", "haswbstatement"],
        ),
        (
            service("wikibase:mwapi", mwapi("Categories", 'mwapi:titles "x"')),
            ["line 2", "column 3", "Categories"],
        ),
        (
            service("wikibase:mwapi", mwapi("Search", 'mwapi:srsearch "x"').replace("www.wikidata", "da.wikipedia")),
            ["line 2", "column 3", "da.wikipedia.org"],
        ),
        (
            service("bd:sample"),
            ["line 2", "column 3", "bd:sample"],
        ),
        (
            service("bd:slice", "?x wdt:P31 ?y . bd:serviceParam bd:slice.limit ?n"),
            ["line 2", "column 3", "bd:slice.limit", "?n"],
        ),
        (
            service("gas:service"),
            ["line 2", "column 3", "gas:service", "gas:in"],
        ),
        (
            service("gas:service", 'gas:program gas:gasClass "a.PR" ; gas:in wd:Q1 ; gas:out ?x'),
            ["line 2", "column 3", "'PR'", "BFS"],
        ),
        (
            service("gas:service", 'gas:program gas:gasClass "a.BFS" ; gas:in ?start ; gas:out ?x'),
            ["line 2", "column 3", "gas:in", "?start"],
        ),
        (
            service("<https://dbpedia.org/sparql>"),
            ["line 2", "column 3"],
        ),
        (
            service("?any"),
            ["line 2", "column 3", "?any"],
        ),
        (
            "SELECT * WITH { SELECT * {} } AS %first { INCLUDE %frst }",
            ["line 1", "column 43", "'%first'"],
        ),
        (
            "SELECT * { INCLUDE %a }",
            ["line 1", "column 12"],
        ),
        (
            "SELECT * WITH { SELECT * { INCLUDE %b } } AS %a WITH { SELECT * { INCLUDE %a } } AS %b { INCLUDE %a }",
            ["line 1", "column 67"],
        ),
        (
            "SELECT * WITH { SELECT * {} } AS %a WITH { SELECT * {} } AS %a { INCLUDE %a }",
            ["line 1", "column 37"],
        ),
        (
            "SELECT * { FILTER(" + 30 * "isBLANK(" + "?x" + 30 * ")" + ") }",
            ["line 1", "column 219", "2,000"],
        ),
        (
            service("wikibase:around", "?x wdt:P625 ?l . bd:serviceParam wikibase:center ?c ; wikibase:radius 1"),
            ["line 2", "column 3", "wikibase:around", "?c"],
        ),
        (
            service("kb:search", "?x kb:matches 'a' . $x kb:score ?x"),
            ["line 2", "column 3", "kb:score", "kb:search"],
        ),
        (
            service("wikibase:label", "bd:serviceParam wikibase:language ?l"),
            ["line 2", "column 3", "?l", "wikibase:language"],
        ),
        (
            service("wikibase:label", '?x rdfs:label "name"'),
            ["line 2", "column 3", "a label", "?name"],
        ),
        (
            service("wikibase:label", "FILTER(1)"),
            ["line 2", "column 3", "wikibase:label"],
        ),
        (
            service("wikibase:around", "?x wdt:P625 ?l . bd:serviceParam wikibase:radius 1"),
            ["line 2", "column 3", "wikibase:around", "wikibase:center"],
        ),
        (
            service("wikibase:around", "?x wdt:P625 ?l . bd:serviceParam wikibase:center ?c ; wikibase:radius 'far'"),
            ["line 2", "column 3", "wikibase:radius", "'far'"],
        ),
        (
            service("wikibase:around", "bd:serviceParam wikibase:center ?c ; wikibase:radius 1"),
            ["line 2", "column 3", "wikibase:around", "?place"],
        ),
        (
            service("wikibase:box", "?x wdt:P625 ?l . bd:serviceParam wikibase:cornerWest ?c"),
            ["line 2", "column 3", "wikibase:box"],
        ),
        (
            service("wikibase:box", "?x wdt:P625 ?l . bd:serviceParam wikibase:radius 1"),
            ["line 2", "column 3", "wikibase:box", "wikibase:radius"],
        ),
        (
            service("kb:search", "?x kb:matches ?words"),
            ["line 2", "column 3", "kb:matches"],
        ),
        (
            service("kb:search", "?x kb:matches 'a' ; kb:limit 0"),
            ["line 2", "column 3", "kb:limit", "0"],
        ),
        (
            service("kb:search", "?x kb:match 'a'"),
            ["line 2", "column 3", "kb:search", "kb:match"],
        ),
        (
            service("kb:search", "?x kb:matches 'a', 'b'"),
            ["line 2", "column 3", "kb:search", "kb:matches"],
        ),
        (
            service("kb:search", "wd:Q1 kb:matches 'a'"),
            ["line 2", "column 3", "kb:search", "kb:matches"],
        ),
        (
            "SELECT * { ?x wdx:P31 ?y }",
            ["line 1", "column 15", "'wd'", "'wdv'"],
        ),
        (
            "SELECT * { ?x bds:search 'a' }",
            ["line 1", "column 15", "bds:search", "kb:search"],
        ),
    ],
)
def test_errors(text: str, facts: list[str], wording: Wording) -> None:
    with pytest.raises(QuerySyntaxError) as error:
        rewrite(text, "wikidata", search=lambda *_: [], prefixes={})
    message = str(error.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_errors_of_the_dialect_sparql_and_of_options(wording: Wording) -> None:
    with pytest.raises(QuerySyntaxError) as error:
        rewrite("PREFIX w: <http://wikiba.se/ontology#> SELECT * { SERVICE w:label { } }", "sparql")
    message = str(error.value)
    assert [fact for fact in ["line 1", "column 51", "w:label"] if fact not in message] == []
    wording(message)
    with pytest.raises(QuerySyntaxError) as caught:
        rewrite("SELECT * { SERVICE kb:search { ?x kb:matches 'a' } }", "sparql")
    message = str(caught.value)
    assert [fact for fact in ["kb:search"] if fact not in message] == []
    wording(message)
    with pytest.raises(UnknownNameError) as caught:
        rewrite("ASK {}", "wikipedia")
    message = str(caught.value)
    assert [fact for fact in ["'wikipedia'"] if fact not in message] == []
    wording(message)
    with pytest.raises(BadInputError) as caught:
        rewrite("ASK {}", "sparql", limit=-1)
    message = str(caught.value)
    assert [fact for fact in ["1"] if fact not in message] == []
    wording(message)


@given(st.text("?xywdt:P31{}[]()<>.;,/*+^|!&='\"@_ %\n", max_size=60))
def test_any_text_is_rewritten_or_rejected(text: str) -> None:
    try:
        rewrite(f"SELECT * WHERE {{ {text} }}", "wikidata", prefixes={})
    except KbError as error:
        assert "\n" not in error.message.replace(text, "")


# -- real queries and the command -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "count"), [("dev", 52), ("qald_9_plus_train", 124)])
def test_published_queries_are_rewritten(name: str, count: int, shared_data: Path) -> None:
    records = json.loads((shared_data / "spinach" / f"{name}.json").read_text(encoding="utf-8"))
    empty = ox.Store()
    taken = 0
    for record in records[::3]:
        done = rewrite(record["sparql"], "wikidata", prefixes={})
        empty.query(done.text, custom_functions=functions(ValueLabels(empty)))  # raises where the engine refuses it
        again = rewrite(done.text, "wikidata", prefixes={})
        assert again.text == done.text or "days" in str(done.notes) or "isBLANK" in str(done.notes)
        taken += 1
    assert taken == count


def test_the_command_prints_the_rewritten_query(world_kb: Path, here: Run, wording: Wording) -> None:
    text = f"SELECT ?x ?xLabel {{ ?x wdt:P31 ?y . hint:Query hint:a 1 . {EN} }}"
    sparql = ("sparql", world_kb, "--engine", "oxigraph", "--print")
    done = here(*sparql, "--dialect", "wikidata", "--limit", 5, "-c", text)
    assert done.returncode == 0
    wording("\n".join(done.stdout.splitlines()[:4]), "cli")
    assert done.stdout.endswith("}\nLIMIT 5\n")
    assert here(*sparql, "-c", "SELECT  * {?x ?y $z}", "-p", "z=1").stdout == "SELECT  * {?x ?y 1}\n"


def test_the_command_limits_rows_and_searches(world_kb: Path, here: Run) -> None:
    text = "SELECT ?x { ?x kb:type ?t }"
    assert here("sparql", world_kb, "--limit", 3, text, "-f", "ndjson").stdout.count("\n") == 3
    text = "SELECT ?x ?s { SERVICE kb:search { ?x kb:matches $words ; kb:score ?s ; kb:limit 2 ; kb:type 'river' } }"
    rows = records("sparql", world_kb, text, "-p", "words=river")
    assert [sorted(row) for row in rows] == [["s", "x"], ["s", "x"]]
    assert all("/river/" in row["x"] and row["s"] > 0 for row in rows)


def test_the_command_reports_the_position_of_an_error(world_kb: Path, here: Run, wording: Wording) -> None:
    done = here("sparql", world_kb, "--dialect", "wikidata", "-c", "SELECT ?x {\n ?x ?y }")
    assert (done.returncode, done.stdout) == (1, "")
    message = done.stderr
    assert [fact for fact in ["line 2", "column 8", "'}'", "'('"] if fact not in message] == []
    wording(message, "cli")
    done = here("sparql", world_kb, "--dialect", "wikipedia", "-c", "ASK {}")
    message = done.stderr
    assert [fact for fact in ["'wikipedia'", "'wikidata'"] if fact not in message] == []
    wording(message, "cli")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT ?x (COUNT(*) AS ?n)\n{ ?x wdt:P31 ?y } GROUP BY ?y", ("?x is neither grouped", 1, 8)),
        ("SELECT (COUNT(*) AS ?n)\n  ?x { ?x wdt:P31 ?y }", ("?x is neither grouped", 2, 3)),
        ("SELECT ?y (COUNT(?x) + STRLEN(?z) AS ?n) { ?x wdt:P31 ?y; wdt:P21 ?z } GROUP BY ?y", ("?z is", 1, 31)),
        ("SELECT * { { SELECT ?a (MAX(?b) AS ?c) { ?a ?p ?b } } }", ("?a is", 1, 21)),
        ("SELECT ?x { VALUES (?a ?b) { (1 2) (3) } }", ("A row of VALUES has 1 value, for 2 variables", 1, 36)),
        ("SELECT ?x { ?x ?y ?z } VALUES () { (1) }", ("A row of VALUES has 1 value, for 0 variables", 1, 36)),
    ],
)
def test_errors_of_the_engine_are_located_in_the_users_text(
    world: KnowledgeBase, query: str, found: tuple[str, int, int]
) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        world.sparql(query, dialect="wikidata")
    message, line, column = found
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "columns",
    [
        "?y (COUNT(?x) AS ?n) (?n * 2 AS ?m)",
        "(YEAR(?d) + ?k AS ?l) (MIN(?x) AS ?n)",
        "(EXISTS { ?y wdt:P21 ?free } AS ?e) (SAMPLE(?x) AS ?n)",
    ],
)
def test_columns_of_groups_that_are_not_refused(columns: str) -> None:
    """Nothing is said where the query is rejected for another reason."""
    check_query(f"SELECT {columns} {{ ?x wdt:P31 ?y }} GROUP BY ?y ?d (STR(?y) AS ?k)", Wikibase.PREFIXES)
