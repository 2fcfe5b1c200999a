"""Services and extensions of the Wikidata Query Service, on KBs: each query has the rows of a twin written by hand."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.directory.typed_json import from_json
from kbkit.errors import QuerySyntaxError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Schema
from kbkit.sparql.rewrite import rewrite
from kbkit.stores import ntriples
from kbkit.stores.sparql_worker import LabelIndex, ValueLabels, best
from tests.examples import examples
from tests.performance.wikidata_dump import Shape, make
from tests.sparql.test_rewrite import label

ENTITY = "http://www.wikidata.org/entity/"
SHAPE = Shape(
    statements=2,
    properties={
        "wikibase-item": ("P106", "P19", "P69", "P17"),
        "time": ("P569", "P570"),
        "globe-coordinate": ("P625",),
        "quantity": ("P1082",),
    },
    kinds=(("wikibase-item", 0.5), ("time", 0.4), ("globe-coordinate", 0.07), ("quantity", 0.03)),
    frequent=2,
    languages=("en", "de", "nl", "fr"),
    shuffled=True,
    precisions=(11, 11, 9, 10),
    qualified=0.05,
    referenced=0.05,
    classes=600,
)
"""People, places and classes with the properties that the queries below ask for."""


@pytest.fixture(scope="module")
def kb(wikidata_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(wikidata_kb) as opened:
        yield opened


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A KB of 4,000 made-up entities."""
    folder = tmp_path_factory.mktemp("made")
    make(folder / "dump.json", 4_000, SHAPE)
    options = {"language": "en,de,nl", "sitelinks": "no"}
    stores = ("adjacency", "triples")
    with kbkit.ingest("wikidata", folder / "dump.json", out=folder / "kb", options=options, stores=stores) as opened:
        yield opened


@pytest.fixture(scope="module", params=["kb", "made"])
def either(request: pytest.FixtureRequest) -> KnowledgeBase:
    """The sample, and the larger KB."""
    found: KnowledgeBase = request.getfixturevalue(request.param)
    return found


def rows(kb: KnowledgeBase, text: str, **options: Any) -> list[tuple[Any, ...]]:
    return kb.sparql(text, **options).rows()


def same(kb: KnowledgeBase, text: str, twin: str, least: int = 1) -> None:
    """The twin, in standard SPARQL, gives the same rows, in any order."""
    found, expected = kb.sparql(text), kb.sparql(twin, dialect="sparql")
    assert sorted(map(str, found.rows())) == sorted(map(str, expected.rows()))
    assert found.height >= least


def twin_of_label(name: str, *codes: str) -> str:
    """Labels by an OPTIONAL per language."""
    parts = [
        f'OPTIONAL {{ ?{name} rdfs:label ?{name}_{code} FILTER(LANG(?{name}_{code}) = "{code}") }}' for code in codes
    ]
    found = ", ".join(f"?{name}_{code}" for code in codes)
    iri = f"IF(STRSTARTS(STR(?{name}), STR(wd:)), STRAFTER(STR(?{name}), STR(wd:)), STR(?{name}))"
    return " ".join(parts) + f" BIND(COALESCE({found}, {iri}) AS ?{name}Label)"


# -- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "codes",
    [("nl", "mul", "en"), *(pytest.param(codes, marks=pytest.mark.system) for codes in (("en",), ("de", "fr")))],
)
@pytest.mark.parametrize(
    ("columns", "pattern", "name"),
    [
        ("?x ?xLabel", "?x wdt:P31 wd:Q5 .", "x"),
        ("?x ?cLabel", "?x wdt:P31/wdt:P279* wd:Q5 ; wdt:P19 ?c .", "c"),
        ("?x ?oLabel", "?x wdt:P31 wd:Q5 ; wdt:P106 ?o . FILTER(ISIRI(?o))", "o"),
    ],
)
def test_labels(either: KnowledgeBase, codes: tuple[str, ...], columns: str, pattern: str, name: str) -> None:
    service = label('"' + ",".join(codes) + '"')
    twin = f"SELECT {columns} {{ {pattern} {twin_of_label(name, *codes)} }}"
    same(either, f"SELECT {columns} {{ {pattern} {service} }}", twin, 15)


def test_labels_of_groups(either: KnowledgeBase) -> None:
    """They are looked up after grouping, in the same order."""
    columns, end = "?c ?cLabel (COUNT(?x) AS ?n)", "GROUP BY ?c ?cLabel ORDER BY DESC(?n) ?cLabel ?c LIMIT 30"
    service = label('"de,fr"')
    same(
        either,
        f"SELECT {columns} {{ ?x wdt:P31 ?c . {service} }} {end}",
        f"SELECT {columns} {{ ?x wdt:P31 ?c . {twin_of_label('c', 'de', 'fr')} }} {end}",
        25,
    )


def test_many_languages_and_variables_cost_no_more_patterns(kb: KnowledgeBase) -> None:
    """The query grows with the variables alone, by one pattern for each."""
    properties = ("P106", "P27", "P19", "P20", "P21", "P69", "P22", "P25", "P26", "P40", "P800", "P31")
    columns = " ".join(f"?{name}Label" for name in properties)
    pattern = "?x wdt:P31 wd:Q5 . " + " ".join(f"OPTIONAL {{ ?x wdt:{name} ?{name} }}" for name in properties)
    sizes = []
    for count in (1, 26):
        codes = ",".join(["en", *(f"x{number}" for number in range(count - 1))])
        text = kb.rewrite(f"SELECT ?x {columns} {{ {pattern} {label(chr(34) + codes + chr(34))} }}").text
        assert text.count("kb:inLanguage(") == len(properties)
        assert text.count("OPTIONAL") == len(properties)
        sizes.append(text.count("\n"))
    assert sizes[0] == sizes[1]


def terms_in_json(kb: KnowledgeBase, text: str) -> tuple[list[str], list[list[dict[str, str] | None]]]:
    """Columns and rows of a result in JSON, whose labels the engine looks up, row by row."""
    with kb.sparql_results(text, "sparql-json") as found:
        read = json.loads(found.read())
    names = read["head"]["vars"]
    return names, [[row.get(name) for name in names] for row in read["results"]["bindings"]]


def terms_in_frame(kb: KnowledgeBase, text: str) -> tuple[list[str], list[list[dict[str, str] | None]]]:
    """The same of a frame, to whose rows labels are added."""
    frame = kb.sparql_terms(text)
    renamed = {"language": "xml:lang"}
    as_json = [
        [value and {renamed.get(key, key): part for key, part in value.items() if part is not None} for value in row]
        for row in frame.rows()
    ]
    return frame.columns, as_json


PATTERNS = (
    "?x wdt:P31 ?o .",
    "VALUES ?x { wd:Q42 wd:Q5 wd:Q64 wd:Q937 wd:Q90 } ?x wdt:P31 ?o OPTIONAL { ?x wdt:P19 ?b }",
    "?x wdt:P31 wd:Q5 OPTIONAL { ?x wdt:P569 ?o } OPTIONAL { ?x wdt:P1477 ?b }",
    'VALUES (?x ?o) { (wd:Q42 "a\\t\\"b\\\\\\n"@de) (<urn:none> 5) (UNDEF UNDEF) (wd:Q64 true) }',
    "?x wdt:P625 ?o . BIND(BNODE() AS ?b)",
    "{ ?x wdt:P36 ?o } UNION { ?o wdt:P36 ?x } UNION { SELECT ?x (COUNT(*) AS ?o) { ?x wdt:P106 ?b } GROUP BY ?x }",
)
COLUMNS = ("?x", "?xLabel", "?o", "?oLabel", "?xDescription", "?xAltLabel", "?bLabel", "?n", "(STR(?o) AS ?text)")
ENDS = ("", "ORDER BY ?x ?o", "ORDER BY DESC(?o) ?x LIMIT 7 OFFSET 2", "ORDER BY ?xLabel ?x ?o LIMIT 5")


@examples(30)
@given(
    st.sampled_from(PATTERNS),
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=6, unique=True),
    st.sampled_from(("", "DISTINCT", "REDUCED")),
    st.sampled_from(("en", "[AUTO_LANGUAGE],mul", "zz,de,en", "fr,de,nl,it,es,pl,mul,ja,en-gb,en", "zz")),
    st.sampled_from(
        (
            "",
            "?x rdfs:label ?n . ?o skos:altLabel ?xLabel .",
            "?x wdt:P1477 ?n .",
            "?x rdfs:label ?n . ?o rdfs:label ?n .",
            "?x rdfs:label ?n . ?n rdfs:label ?xLabel .",
        )
    ),
    st.sampled_from(ENDS),
)
def test_labels_added_to_rows_are_those_of_the_engine(
    kb: KnowledgeBase, pattern: str, columns: list[str], kind: str, codes: str, more: str, end: str
) -> None:
    service = label(f'"{codes}"', more)
    text = f"SELECT {kind} {' '.join(columns)} {{ {pattern} {service} }} {end}"
    (names, found), (expected_names, expected) = terms_in_frame(kb, text), terms_in_json(kb, text)
    assert names == expected_names
    if "ORDER" in end:
        assert found == expected
    else:
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_labels_of_rows_in_several_chunks(made: KnowledgeBase) -> None:
    """Rows are sent in chunks, which end in the middle of a line."""
    text = f"SELECT ?xLabel ?o ?x {{ ?x wdt:P106|wdt:P19|wdt:P31 ?o . {label(chr(34) + 'nl,de' + chr(34))} }}"
    (names, found), (expected_names, expected) = terms_in_frame(made, text), terms_in_json(made, text)
    assert names == expected_names
    assert len(found) > 4_800
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


@pytest.mark.parametrize("codes", ["en", "fr,nl,de", "zz"])
def test_the_index_of_labels_holds_what_the_store_holds(either: KnowledgeBase, codes: str) -> None:
    folder = str(either.stores.triples.pool.folder)
    store, index = ox.Store.read_only(folder), LabelIndex(folder)
    properties = "VALUES ?p { rdfs:label skos:altLabel schema:description }"
    pairs = rows(either, f"SELECT DISTINCT ?x ?p {{ {properties} ?x ?p ?o }}", dialect="wikidata")
    left = 0
    for subject, verb in pairs:
        found, (language, values) = index.find(subject.encode(), verb, codes), best(store, subject, verb, codes)
        if found is None:
            left += 1
        else:
            assert (found[0].decode(), sorted(found[1])) == (language, sorted(value.encode() for value in values))
    assert left < len(pairs) / 20


def test_labels_without_an_index(kb: KnowledgeBase) -> None:
    """As in KBs of earlier versions."""
    store = ox.Store.read_only(str(kb.stores.triples.pool.folder))
    with_index, without = ValueLabels(store, LabelIndex(str(kb.stores.triples.pool.folder))), ValueLabels(store)
    cells = [f"<{ENTITY}{key}>".encode() for key in kb.sql("SELECT key FROM nodes")["key"]]
    for verb in ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#altLabel"):
        assert [with_index.cell(cell, verb, "fr,de") for cell in cells] == [
            without.cell(cell, verb, "fr,de") for cell in cells
        ]


def test_aliases_and_other_properties(kb: KnowledgeBase) -> None:
    service = label(
        '"[AUTO_LANGUAGE],en-gb"', "wd:Q42 skos:altLabel ?names . wd:Q42 wdt:P1477 ?born . wd:Q42 wdt:P18 ?none"
    )
    [(names, born, none)] = rows(kb, f"SELECT ?names ?born ?none {{ {service} }}")
    twin = 'SELECT ?name { wd:Q42 skos:altLabel ?name FILTER(LANG(?name) = "en") }'
    assert names.split(", ") == sorted(kb.sparql(twin)["name"])
    assert (born, none) == ("Douglas Noël Adams", None)


def test_a_label_that_the_pattern_may_bind(kb: KnowledgeBase) -> None:
    """The service leaves what is bound."""
    own = 'OPTIONAL { ?x rdfs:label ?xLabel FILTER(LANG(?xLabel) = "de" && STRSTARTS(?xLabel, "D")) }'
    found = dict(
        rows(kb, f"SELECT ?x ?xLabel {{ VALUES ?x {{ wd:Q183 wd:Q145 }} {own} {label(chr(34) + 'en' + chr(34))} }}")
    )
    assert found == {ENTITY + "Q183": "Deutschland", ENTITY + "Q145": "United Kingdom"}


def test_an_assignment_sees_a_label_that_comes_later_in_the_text(kb: KnowledgeBase) -> None:
    service = label('"en"', "?x rdfs:label ?name . ?c rdfs:label ?country")
    pattern = 'VALUES ?x { wd:Q64 } ?x wdt:P17 ?c . BIND(CONCAT(?name, ", ", ?country) AS ?both)'
    assert rows(kb, f"SELECT ?both {{ {pattern} {service} }}") == [("Berlin, Germany",)]


def test_the_users_language_anywhere(kb: KnowledgeBase) -> None:
    text = (
        'SELECT ?l ?site { wd:Q64 rdfs:label ?l FILTER(LANG(?l) = "[AUTO_LANGUAGE]") ?a schema:about wd:Q42 ;'
        " schema:isPartOf <https://[AUTO_LANGUAGE].wikipedia.org/>, ?site ; schema:inLanguage '[AUTO_LANGUAGE]' }"
    )
    assert rows(kb, text) == [("Berlin", "https://en.wikipedia.org/")]


# -- times ------------------------------------------------------------------------------------------------------------


def test_ages(kb: KnowledgeBase) -> None:
    text = "SELECT (FLOOR((NOW() - ?born) / 365.2425) AS ?age) { wd:Q42 wdt:P569 ?born }"
    twin = "SELECT (YEAR(NOW()) - 1952 AS ?age) {}"
    assert abs(rows(kb, text)[0][0] - rows(kb, twin)[0][0]) <= 1
    everybody = kb.sparql(
        "SELECT ?x (NOW() - ?born AS ?days) { ?x wdt:P31 wd:Q5 ; wdt:P569 ?born FILTER(ISLITERAL(?born)) }"
    )
    assert everybody["days"].null_count() == 0
    assert everybody.height > 40


@pytest.mark.parametrize(
    "expression",
    [
        "?d - ?b",
        "?end - ?b",
        "IF(BOUND(?d), ?d, NOW()) - ?b",
        "COALESCE(?none, ?d) - ?b",
        "xsd:date(?d) - ?b",
        "xsd:date(?d) - xsd:date(?b)",
        "?d - '1952-03-11'^^xsd:date",
    ],
)
def test_differences_of_times_are_days(kb: KnowledgeBase, expression: str) -> None:
    pattern = "wd:Q42 wdt:P569 ?b ; wdt:P570 ?d BIND(?d AS ?end)"
    assert rows(kb, f"SELECT ({expression} AS ?days) {{ {pattern} }}") == [(17958.0,)]
    assert rows(kb, f"SELECT (({expression}) / 365.2425 > 49 AS ?old) {{ {pattern} }}") == [(True,)]


def test_differences_between_all_times(either: KnowledgeBase) -> None:
    known = "?x wdt:P569 ?b ; wdt:P570 ?d FILTER(YEAR(?b) > 0 && YEAR(?d) > 0)"
    found = rows(either, f"SELECT ?b ?d (?d - ?b AS ?days) {{ {known} }}")
    assert len(found) > 10
    for born, died, days in found:
        assert days == (datetime.fromisoformat(died) - datetime.fromisoformat(born)).days


def test_aggregates_of_times(kb: KnowledgeBase) -> None:
    known = "?x wdt:P31 wd:Q5 ; wdt:P569 ?b ; wdt:P570 ?d FILTER(ISLITERAL(?b) && ISLITERAL(?d))"
    text = f"SELECT (MAX(?d) - MIN(?d) AS ?days) (AVG(?d - ?b) AS ?mean) {{ {known} }}"
    [(days, mean)] = rows(kb, text)
    assert days > mean > 0


@pytest.mark.parametrize(
    "test",
    [
        'FILTER(?b > "1900-01-01"^^xsd:date)',
        'BIND("1900-01-01"^^xsd:date AS ?since) FILTER(?b > ?since)',
        'BIND(IF(BOUND(?b), "1900-01-01"^^xsd:date, NOW()) AS ?since) FILTER(?b > ?since)',
        'VALUES ?since { "1900-01-01"^^xsd:date } FILTER(?since < ?b)',
        'FILTER(xsd:date(?b) > "1900-01-01T00:00:00Z"^^xsd:dateTime)',
    ],
)
def test_dates_are_compared_with_times(either: KnowledgeBase, test: str) -> None:
    same(
        either,
        f"SELECT ?x {{ ?x wdt:P31 wd:Q5 ; wdt:P569 ?b {test} }}",
        'SELECT ?x { ?x wdt:P31 wd:Q5 ; wdt:P569 ?b FILTER(?b > "1900-01-01T00:00:00Z"^^xsd:dateTime) }',
        5,
    )


# -- what no query sees -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT ?p { ?x ?p ?o }",
        "SELECT ?p { ?x ?p wd:Q5 }",
        "SELECT ?p { wd:Q42 !wdt:P31 ?o . wd:Q42 ?p ?o }",
        "SELECT ?p { { SELECT ?p (COUNT(*) AS ?n) { ?x ?p ?o } GROUP BY ?p } }",
    ],
)
def test_the_kbs_own_triples_are_private(kb: KnowledgeBase, query: str) -> None:
    found = kb.sparql(query)["p"]
    assert len(found)
    assert not found.str.starts_with("urn:kbkit:").any()


def test_described_and_constructed_triples_are_the_sources(kb: KnowledgeBase) -> None:
    for query in ("DESCRIBE wd:Q42", "CONSTRUCT { ?x ?p ?o } WHERE { VALUES ?x { wd:Q42 } ?x ?p ?o }"):
        found = kb.sparql(query)
        assert found.height > 10
        assert not found["predicate"].str.starts_with("urn:kbkit:").any()


def test_types_are_found_where_they_are_asked_for(kb: KnowledgeBase) -> None:
    tables = dict(kb.sql("SELECT type, count(*) FROM nodes GROUP BY type").rows())
    for text in (
        "SELECT ?x ?l { ?x kb:type wd:Q5 ; wdt:P31 ?l }",
        "PREFIX own: <urn:kbkit:> SELECT DISTINCT ?x { ?x wdt:P31 ?c . ?x own:type wd:Q5 }",
        "SELECT ?x { ?x wdt:P31 ?c FILTER EXISTS { ?x kb:type wd:Q5 } }",
    ):
        for dialect in ("wikidata", "sparql"):
            assert kb.sparql(text, dialect=dialect)["x"].n_unique() == tables["human"]


def test_kbs_built_before_keep_their_types_in_the_default_graph(kb: KnowledgeBase) -> None:
    """Their schema does not say otherwise: a rebuilt store and queries agree with it."""
    old = dataclasses.replace(kb.schema, types_apart=False)
    data = json.loads(json.dumps(old.to_json()))
    del data["types_apart"]
    assert from_json(Schema, data, "manifest") == old
    for schema, place in ((old, ntriples.queries), (kb.schema, ntriples.table_queries)):
        others = {ntriples.queries, ntriples.table_queries} - {place}
        assert any(ntriples.KB_TYPE in query for query in place(schema))
        assert not any(ntriples.KB_TYPE in query for other in others for query in other(schema))
    text = "SELECT ?x { ?x kb:type ?t }"
    assert rewrite(text, "sparql", types_apart=False).text == text
    assert "GRAPH kb:tables { ?x kb:type ?t }" in rewrite(text, "sparql", types_apart=True).text


# -- aggregates -------------------------------------------------------------------------------------------------------


def test_columns_computed_from_columns(either: KnowledgeBase) -> None:
    same(
        either,
        "SELECT ?c (COUNT(?x) AS ?n) (100 / ?n AS ?p) (?p + 1 AS ?q) { ?x wdt:P31 ?c } GROUP BY ?c",
        "SELECT ?c ?n ?p (?p + 1 AS ?q) {"
        " { SELECT ?c (COUNT(?x) AS ?n) { ?x wdt:P31 ?c } GROUP BY ?c } BIND(100 / ?n AS ?p) }",
        20,
    )
    same(
        either,
        "SELECT ?c ?d (MAX(?l) AS ?name) (IF(BOUND(?name), 1, 0) AS ?any) { ?c wdt:P279 ?d"
        " OPTIONAL { ?d rdfs:label ?l FILTER(LANG(?l) = 'en') } } GROUP BY ?c ?d",
        "SELECT ?c ?d ?name (IF(BOUND(?name), 1, 0) AS ?any) { { SELECT ?c ?d (MAX(?l) AS ?name) { ?c wdt:P279 ?d"
        " OPTIONAL { ?d rdfs:label ?l FILTER(LANG(?l) = 'en') } } GROUP BY ?c ?d } }",
        20,
    )


def test_aggregates_in_assignments(either: KnowledgeBase) -> None:
    same(
        either,
        "SELECT ?c ?share {"
        " { SELECT ?c (COUNT(?x) AS ?n) { ?x wdt:P31 ?c } GROUP BY ?c } BIND(?n / MAX(?n) AS ?share) }",
        "SELECT ?c ?share { { SELECT ?c (COUNT(?x) AS ?n) { ?x wdt:P31 ?c } GROUP BY ?c }"
        " { SELECT (MAX(?m) AS ?most) { { SELECT (COUNT(?x) AS ?m) { ?x wdt:P31 ?d } GROUP BY ?d } } }"
        " BIND(?n / ?most AS ?share) }",
        20,
    )


@pytest.mark.parametrize(
    ("pattern", "more"),
    [
        ("BIND(YEAR(?born) AS ?year) ?x wdt:P569 ?born .", ""),
        ("BIND(?a + 0 AS ?year) BIND(YEAR(?born) AS ?a) ?x wdt:P569 ?born .", ""),
        ("BIND(YEAR(?born) AS ?year) . FILTER(ISIRI(?x)) MORE { ?x wdt:P569 ?born . }", "OPTIONAL { ?x wdt:P19 ?p }"),
    ],
)
def test_assignments_before_their_variables(either: KnowledgeBase, pattern: str, more: str) -> None:
    twin = f"SELECT ?x ?year {{ ?x wdt:P31 wd:Q5 ; wdt:P569 ?born . {more} BIND(YEAR(?born) AS ?year) }}"
    same(either, f"SELECT ?x ?year {{ ?x wdt:P31 wd:Q5 . {pattern.replace('MORE', more)} }}", twin, 20)


# -- subgraphs, slices, traversals, searches --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "wdsubgraph:scholarly_articles",
        "wdsubgraph:wikidata_main",
        "<https://query-scholarly.wikidata.org/sparql>",
        "<https://query.wikidata.org/bigdata/namespace/wdq/sparql>",
    ],
)
def test_subgraphs_are_this_kb(either: KnowledgeBase, name: str) -> None:
    same(
        either,
        f"SELECT ?x {{ SERVICE {name} {{ ?x wdt:P31 wd:Q5 }} ?x wdt:P19 ?y }}",
        "SELECT ?x { ?x wdt:P31 wd:Q5 ; wdt:P19 ?y }",
        10,
    )


def test_slices_and_samples(either: KnowledgeBase) -> None:
    everything = rows(either, "SELECT ?x ?c { ?x wdt:P31 ?c }")
    size = len(everything) // 3
    slices = [
        either.sparql(
            "SELECT ?x ?c { SERVICE bd:slice { ?x wdt:P31 ?c . bd:serviceParam"
            f" bd:slice.offset {offset} ; bd:slice.limit {size} . }} }}"
        )
        for offset in range(0, len(everything), size)
    ]
    assert [part.height for part in slices[:3]] == [size] * 3
    assert sorted(pl.concat(slices).rows()) == sorted(everything)
    sample = 'SERVICE bd:sample { ?x wdt:P31 ?c . bd:serviceParam bd:sample.limit 7 ; bd:sample.sampleType "RANDOM" }'
    drawn = either.sparql(f"SELECT ?x ?c {{ {sample} }}")
    assert drawn.height == 7
    assert set(drawn.rows()) <= set(everything)


GAS = 'gas:program gas:gasClass "com.bigdata.rdf.graph.analytics.{0}" ; gas:in {1} ; gas:out ?x'


@pytest.mark.parametrize("program", ["BFS", "SSSP"])
@pytest.mark.parametrize(
    ("direction", "path"),
    [("Forward", "wdt:P279*"), ("Reverse", "(^wdt:P279)*"), ("Undirected", "(wdt:P279|^wdt:P279)*")],
)
def test_traversals_reach_what_a_path_reaches(either: KnowledgeBase, program: str, direction: str, path: str) -> None:
    more = f'; gas:traversalDirection "{direction}" ; gas:linkType wdt:P279 .'
    text = f"SELECT ?x {{ SERVICE gas:service {{ {GAS.format(program, 'wd:Q515')} {more} }} }}"
    same(either, text, f"SELECT DISTINCT ?x {{ wd:Q515 {path} ?x }}", 2)


def test_a_traversal_of_thousands_of_nodes(made: KnowledgeBase) -> None:
    more = '; gas:traversalDirection "Reverse" ; gas:linkType wdt:P31, wdt:P279 .'
    text = f"SELECT ?x {{ SERVICE gas:service {{ {GAS.format('BFS', 'wd:Q1')} {more} }} }}"
    same(made, text, "SELECT DISTINCT ?x { wd:Q1 (^wdt:P31|^wdt:P279)* ?x }", 2000)


def test_depths_and_predecessors_of_a_traversal(kb: KnowledgeBase) -> None:
    more = "; gas:linkType wdt:P69, wdt:P17 ; gas:out1 ?depth ; gas:out2 ?before"
    service = f"SERVICE gas:service {{ {GAS.format('SSSP', 'wd:Q42')} {more} LIMIT }}"
    text = f"SELECT ?x ?depth ?before {{ {service} }} ORDER BY ?x"
    found = {x.removeprefix(ENTITY): (depth, before) for x, depth, before in rows(kb, text.replace("LIMIT", ""))}
    assert found["Q42"] == (0, None)
    assert found["Q691283"] == (1, ENTITY + "Q42")
    assert found["Q145"][0] == 2
    once = rows(kb, text.replace("LIMIT", "; gas:maxIterations 1"))
    assert {depth for _, depth, _ in once} == {0, 1}
    assert len(rows(kb, text.replace("LIMIT", "; gas:maxVisited 1"))) == len(once)
    on_path = rows(kb, text.replace("LIMIT", "; gas:target wd:Q145"))
    assert [depth for _, depth, _ in sorted(on_path, key=lambda row: row[1])] == [0, 1, 2]
    assert rows(kb, text.replace("LIMIT", "").replace("wd:Q42", "wd:Q404404404")) == []


def mwapi(api: str, more: str, output: str = "?x wikibase:apiOutputItem mwapi:item") -> str:
    return (
        f'SERVICE wikibase:mwapi {{ bd:serviceParam wikibase:endpoint "www.wikidata.org" ; wikibase:api "{api}" ;'
        f" {more} . {output} }}"
    )


def test_entity_search(kb: KnowledgeBase) -> None:
    more = 'mwapi:search "Douglas Adams" ; mwapi:language "en" ; mwapi:limit "5"'
    output = (
        "?x wikibase:apiOutputItem mwapi:item . ?label wikibase:apiOutput mwapi:label . ?n wikibase:apiOrdinal true"
    )
    found = rows(kb, f"SELECT ?x ?label ?n {{ {mwapi('EntitySearch', more, output)} }} ORDER BY ?n LIMIT 1")
    assert found == [(ENTITY + "Q42", "Douglas Adams", 1)]
    text = (
        f"SELECT ?x {{ {mwapi('EntitySearch', more.replace('Douglas Adams', 'occupation') + ' ; mwapi:type TYPE')} }}"
    )
    assert {x[len(ENTITY)] for (x,) in rows(kb, text.replace("TYPE", '"property"'))} == {"P"}


@pytest.mark.parametrize(
    ("search", "twin"),
    [
        ("haswbstatement:P31=Q5", "?x wdt:P31 wd:Q5"),
        ("haswbstatement:P31=Q5 haswbstatement:P69", "?x wdt:P31 wd:Q5 ; wdt:P69 ?y"),
        ("haswbstatement:P31=Q5|P31=Q6256", "VALUES ?c { wd:Q5 wd:Q6256 } ?x wdt:P31 ?c"),
        ("haswbstatement:P31=Q5 -haswbstatement:P19", "?x wdt:P31 wd:Q5 FILTER NOT EXISTS { ?x wdt:P19 ?y }"),
    ],
)
def test_searches_for_statements(either: KnowledgeBase, search: str, twin: str) -> None:
    generator = f'mwapi:generator "search" ; mwapi:gsrsearch "{search}" ; mwapi:gsrlimit "max"'
    output = "?x wikibase:apiOutputItem mwapi:title"
    same(either, f"SELECT ?x {{ {mwapi('Generator', generator, output)} }}", f"SELECT DISTINCT ?x {{ {twin} }}", 1)


def test_words_and_statements(kb: KnowledgeBase) -> None:
    output = "?title wikibase:apiOutput mwapi:title"
    text = f"SELECT ?title {{ {mwapi('Search', 'mwapi:srsearch {0}', output)} }}"
    hits = {title for (title,) in rows(kb, text.replace("{0}", '"writer"'))}
    people = {title for (title,) in rows(kb, text.replace("{0}", '"inlabel:writer haswbstatement:P31=Q5"'))}
    assert people < hits
    humans = {x.removeprefix(ENTITY) for (x,) in rows(kb, "SELECT ?x { ?x wdt:P31 wd:Q5 }")}
    assert people == hits & humans
    best = text.replace("{0}", '"writer haswbstatement:P31=Q5" ; mwapi:srlimit "2"')
    assert len(rows(kb, best)) == 2  # not those of the two best hits


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ('VALUES ?w { "Douglas Adams" "Berlin"@en }', ["Berlin", "Douglas Adams"]),
        ('wd:Q42 rdfs:label ?w FILTER(LANG(?w) = "en")', ["Douglas Adams"]),
        ('wd:Q42 rdfs:label ?l FILTER(LANG(?l) = "en") BIND(UCASE(STR(?l)) AS ?w) ?x wdt:P31 ?c', ["DOUGLAS ADAMS"]),
        ("VALUES ?w { }", []),
    ],
)
def test_the_words_of_a_search_may_be_a_variable(kb: KnowledgeBase, before: str, words: list[str]) -> None:
    output = "?x wikibase:apiOutputItem mwapi:item . ?n wikibase:apiOrdinal true"
    call = mwapi("EntitySearch", 'mwapi:search ?w ; mwapi:limit "3"', output)
    found = rows(kb, f"SELECT ?w ?x ?n {{ {before} {call} }} ORDER BY ?w ?n")
    assert [w for w, _, n in found if n == 1] == words
    more = "?x wdt:P31 ?c" if "?c" in before else ""
    for w in words:
        alone = rows(kb, f"SELECT ?x ?n {{ {call.replace('?w', repr(w))} {more} }}")
        assert {(x, n) for one, x, n in found if one == w} == set(alone)


def test_statements_searched_for_in_a_variable(kb: KnowledgeBase) -> None:
    call = mwapi("Search", "mwapi:srsearch ?w", "?x wikibase:apiOutputItem mwapi:title")
    values = 'VALUES ?w { "haswbstatement:P31=Q5" "haswbstatement:P31=Q6256" }'
    found = rows(kb, f"SELECT ?w (COUNT(?x) AS ?n) {{ {values} {call} }} GROUP BY ?w")
    twin = "SELECT ?c (COUNT(DISTINCT ?x) AS ?n) { VALUES ?c { wd:Q5 wd:Q6256 } ?x wdt:P31 ?c } GROUP BY ?c"
    assert sorted(n for _, n in found) == sorted(n for _, n in rows(kb, twin))


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [("", "which no pattern binds"), ("?y rdfs:label ?w", "over 200 values"), ("?x ?p ?w", "no")],
)
def test_words_without_values_or_with_too_many(kb: KnowledgeBase, pattern: str, problem: str) -> None:
    with pytest.raises(QuerySyntaxError, match=problem):
        rows(kb, f"SELECT ?x {{ {pattern} {mwapi('EntitySearch', 'mwapi:search ?w')} }}")


def test_entity_search_ranks_labels_before_aliases_and_descriptions(kb: KnowledgeBase) -> None:
    """As the search box of Wikidata does: a label, then aliases, then longer labels, then texts."""
    limit = 'mwapi:search "{}" ; mwapi:limit "20"'
    output = "?x wikibase:apiOutputItem mwapi:item . ?n wikibase:apiOrdinal true"
    names = {}
    for words in ("city", "DNA", "write"):
        found = rows(
            kb,
            f"SELECT ?label {{ {mwapi('EntitySearch', limit.format(words), output)} ?x rdfs:label ?label"
            " FILTER(LANG(?label) = 'en') } ORDER BY ?n",
        )
        names[words] = [label for (label,) in found]
    assert names["city"][0] == "city" and len(names["city"]) > 3
    assert names["DNA"][0] == "Douglas Adams"
    assert names["write"][0] == "writer"


CENTER = '"Point(10 50)"^^geo:wktLiteral'
CORNERS = '"Point(-20 30)"^^geo:wktLiteral', '"Point(40 60)"^^geo:wktLiteral'


@pytest.mark.parametrize(
    ("name", "parameters", "test"),
    [
        ("around", f"wikibase:center {CENTER} ; wikibase:radius 2000", f"geof:distance(?at, {CENTER}) <= 2000"),
        (
            "box",
            f"wikibase:cornerSouthWest {CORNERS[0]} ; wikibase:cornerNorthEast {CORNERS[1]}",
            "geof:longitude(?at) >= -20 && geof:longitude(?at) <= 40"
            " && geof:latitude(?at) >= 30 && geof:latitude(?at) <= 60",
        ),
    ],
)
def test_places(either: KnowledgeBase, name: str, parameters: str, test: str) -> None:
    """The services, for the same rows as their definition."""
    service = f"SERVICE wikibase:{name} {{ ?x wdt:P625 ?at . bd:serviceParam {parameters} }}"
    twin = "PREFIX geo: <http://www.opengis.net/ont/geosparql#> PREFIX geof: <http://www.opengis.net/def/function/geosparql/>"
    same(either, f"SELECT ?x ?at {{ {service} }}", f"{twin} SELECT ?x ?at {{ ?x wdt:P625 ?at FILTER({test}) }}", 5)


# -- places, terms ----------------------------------------------------------------------------------------------------


def test_functions_in_either_namespace(kb: KnowledgeBase) -> None:
    text = (
        "SELECT (geof:northEast(?a, ?b) AS ?ne) (geof:southWest(?a, ?b) AS ?sw) (own:latitude(?a) AS ?lat)"
        ' { BIND("Point(1 2)"^^geo:wktLiteral AS ?a) BIND("Point(0.5 5)"^^geo:wktLiteral AS ?b) }'
    )
    own = "PREFIX own: <http://www.opengis.net/def/function/geosparql/> "
    assert rows(kb, own + text) == [("Point(1 5)", "Point(0.5 2)", 2)]
    service = rows(kb, "SELECT (<http://www.opengis.net/def/geosparql/function/latitude>('Point(1 2)') AS ?x) {}")
    assert service == [(2,)]


def test_units_of_distances(kb: KnowledgeBase) -> None:
    units = ("uom:metre", "uom:kilometre", "<http://qudt.org/vocab/unit/MI>", "uom:degree", "uom:furlong")
    ends = '"Point(0 0)"^^geo:wktLiteral, "Point(1 0)"^^geo:wktLiteral'
    columns = " ".join(f"(geof:distance({ends}, {unit}) AS ?d{n})" for n, unit in enumerate(units))
    [(metres, km, miles, degrees, unknown, plain)] = rows(kb, f"SELECT {columns} (geof:distance({ends}) AS ?d) {{}}")
    assert (metres / 1000, km, degrees, unknown) == pytest.approx((plain, plain, 1.0, None))
    assert miles == pytest.approx(69.09, abs=0.01)


def test_casts_to_derived_types(kb: KnowledgeBase) -> None:
    text = (
        'SELECT (xsd:int("5") AS ?a) (xsd:long(2.9) AS ?b) (xsd:unsignedByte(256) AS ?c) (xsd:short("x") AS ?d)'
        " (xsd:int(true) + xsd:byte(1) AS ?e) {}"
    )
    for dialect in ("wikidata", "sparql"):
        found = rows(kb, "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> " + text, dialect=dialect)
        assert found == [(5, 2, None, None, 2)]


def test_escapes_and_relative_iris(kb: KnowledgeBase) -> None:
    assert rows(kb, r"SELECT ?x { BIND(wd\u003AQ42 AS ?x) \u0023 a comment" + "\n}") == [(ENTITY + "Q42",)]
    assert rows(kb, "SELECT ?x { BIND(<Q42> AS ?x) }") == [("https://query.wikidata.org/Q42",)]
