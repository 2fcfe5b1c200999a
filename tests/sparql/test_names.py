"""Names in a SPARQL query: unknown ones are reported with the closest, columns keep the order of the query."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

import kbkit
from kbkit.errors import UnknownNameWarning
from kbkit.kb import KnowledgeBase
from kbkit.sparql import wikidata_names
from kbkit.sparql.names import star_columns, unknown_names
from tests.console import good
from tests.loops import each

RELATION = "Unknown relation 'bordres' in {}. Did you mean 'borders'?"
BASE = "http://example.org/world/"
UNKNOWN = {
    "SELECT ?s { ?s rel:bordres country:FRA }": [RELATION.format("rel:bordres")],
    "SELECT (COUNT(*) AS ?n) { ?s rel:bordres ?o }": [RELATION.format("rel:bordres")],
    "SELECT ?s { ?s rdfs:label ?l OPTIONAL { ?s rel:bordres ?o } } LIMIT 1": [RELATION.format("rel:bordres")],
    f"PREFIX r: <{BASE}rel/> SELECT * {{ ?s r:bordres ?o }}": [RELATION.format("r:bordres")],
    f"SELECT * {{ ?s <{BASE}rel/bordres>|^<{BASE}rel/bordres> ?o }}": [RELATION.format(f"<{BASE}rel/bordres>")],
    "SELECT ?s { ?s a type:contry }": ["Unknown type 'contry' in type:contry. Did you mean 'country' or 'city'?"],
    "SELECT ?s { ?s attr:area ?x }": ["Unknown attribute 'area' in attr:area. Did you mean 'area_km2'?"],
    "SELECT ?s { ?s text:descr ?x }": ["Unknown text field 'descr' in text:descr. Did you mean 'description'?"],
    "SELECT ?o { country:France rel:borders ?o }": [
        "Unknown country 'France' in country:France. Did you mean country:FRA (France)?"
    ],
    "SELECT ?o { country:FRX rel:borders ?o }": [
        "Unknown country 'FRX' in country:FRX. Did you mean country:FRA (France)?"
    ],
    "ASK { country:zzzzzzzzz ?p ?o }": ["Unknown country 'zzzzzzzzz' in country:zzzzzzzzz. No key is similar."],
}
SILENT = "SELECT ?s { SERVICE SILENT <https://dbpedia.org/sparql> { ?s ?p ?o } }"
KNOWN = [
    "SELECT ?s { ?s rel:borders country:FRA ; a type:country ; attr:area_km2 ?a ; text:description ?t }",
    "PREFIX rel: <http://elsewhere.org/> SELECT * { ?s rel:bordres ?o }",
    "SELECT * { BIND('rel:bordres' AS ?x) # rel:bordres\n}",
    "CONSTRUCT { ?a rel:bordres ?b . } { ?a rel:borders ?b } LIMIT 1",
    f"SELECT * {{ <{BASE}statement/speaks/1> ?p ?o }}",
    "SELECT * { ?s attr:since ?year }",  # of edges
    "SELECT * { ?s kb:type ?o ; rdfs:label ?l } LIMIT 1",
]


def test_services_that_are_left_out(world: KnowledgeBase) -> None:
    with pytest.warns(UnknownNameWarning, match="Skipped SERVICE SILENT: SERVICE <https://dbpedia.org/sparql>"):
        assert world.sparql(SILENT).height == 1


@pytest.mark.parametrize("dialect", ["sparql", "wikidata"])
@pytest.mark.parametrize(
    ("call", "is_invalid"),
    [
        ('REGEX(?l, "(?=F)")', True),
        ('REGEX(?l, "(F)\\\\1")', True),
        ('REGEX(?l, "F", "g")', True),
        ('REPLACE(?l, "(F", "")', True),
        ('REGEX(?l, "^F.*e$", "i")', False),
        ('REPLACE(?l, "(F)", "$1")', False),
    ],
)
def test_regular_expressions_that_match_nothing(
    world: KnowledgeBase, call: str, is_invalid: bool, dialect: str
) -> None:
    text = f"SELECT ({call} AS ?r) {{ country:FRA rdfs:label ?l }}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert world.sparql(text, dialect=dialect)["r"].null_count() == is_invalid
    assert [str(warning.message).startswith("Invalid regular expression ") for warning in caught] == [True] * is_invalid


@pytest.mark.parametrize("query", UNKNOWN)
def test_unknown_names(world: KnowledgeBase, query: str) -> None:
    assert unknown_names(world.stores, query) == UNKNOWN[query]
    with pytest.warns(UnknownNameWarning) as caught:
        world.sparql(query)
    assert [str(one.message) for one in caught] == UNKNOWN[query]
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize("query", KNOWN)
def test_known_names(world: KnowledgeBase, query: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.sparql(query)


def test_at_most_three_names_are_reported(world: KnowledgeBase) -> None:
    assert len(unknown_names(world.stores, " ".join(f"?s rel:x{number} ?o{number} ." for number in range(9)))) == 3


@pytest.mark.parametrize("query", ["?s rel:a\\>b ?o", "?s <http://example.org/world/rel/", "rel:", "x rel:%zz", "'"])
def test_texts_that_are_no_queries(world: KnowledgeBase, query: str) -> None:
    assert len(unknown_names(world.stores, query)) <= 1


def test_names_of_an_rdf_source(rdf_kb: Path, wikidata_kb: Path) -> None:
    """Its statements may have any IRI: only those that do not occur at all are reported."""
    for path in (rdf_kb, wikidata_kb):
        with kbkit.open(path) as kb:
            assert len(unknown_names(kb.stores, "SELECT * { ?s rel:bordres ?o }")) == 1
            [name, *_] = (attribute.name for t in kb.schema.node_types for attribute in t.attributes)
            assert unknown_names(kb.stores, f"SELECT * {{ ?s attr:{name} ?o }}") == []
            assert unknown_names(kb.stores, "SELECT * { ?s wdt:P31 wd:Q5 ; a <http://example.org/x> }") == []


def test_misspelled_predicates_of_wikidata(wikidata: KnowledgeBase) -> None:
    for written, meant in (("schema:descripton", "schema:description"), ("wikibase:rnk", "wikibase:rank")):
        message = f"Unknown predicate {written}. Did you mean {meant}?"
        assert unknown_names(wikidata.stores, f"SELECT * {{ ?x {written} ?y ; schema:zzz ?z }}") == [message]


@pytest.fixture(scope="module")
def wikidata(wikidata_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(wikidata_kb) as kb:
        yield kb


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("?x wdt:P99999 ?y", ["Unknown property 'P99999' in wdt:P99999"]),
        ("wd:Q99999999 wdt:P31 ?x", ["Unknown entity 'Q99999999' in wd:Q99999999", "a part of Wikidata"]),
        ("?x wd:P31 wd:Q5", ["wd:P31 is an entity, and never a predicate. Did you mean wdt:P31 or p:P31?"]),
        ("?x wd:P31/wdt:P279* wd:Q5", ["wd:P31", "wdt:P31"]),
        ("?x wdt:P31 wdt:Q5", ["wdt:Q5. Did you mean wd:Q5?"]),
        (
            "?x p:P1696 [ pq:P1696 ?y ]",
            ["No qualifier has pq:P1696 (inverse property)", "occurs as wdt:P1696, p:P1696, ps:P1696"],
        ),
        ("?s <http://www.wikidata.org/prop/qualifier/P1696> ?y", ["No qualifier", "(inverse property)"]),
        (
            "?x p:P69 wd:Q691283",
            ["p:P69 leads to statements, not to wd:Q691283. Did you mean wdt:P69 or p:P69/ps:P69?"],
        ),
        ("wd:Q42 ps:P69 ?x", ["ps:P69 belongs to statements, not to wd:Q42", "such as p:P69/ps:P69."]),
        ("wd:Q42 pr:P248 ?x", ["such as p:P69/prov:wasDerivedFrom/pr:P248."]),
        ("?x a wd:Q5", ["Nothing has the rdf:type wd:Q5. Did you mean wdt:P31 wd:Q5?"]),
        ("?x wdt:P31 ?c ; rdfs:label 'Douglas Adams' .", ["No rdfs:label", "such as 'Douglas Adams'@en"]),
        ("?x wdt:p31 ?c", ["Unknown id wdt:p31. Did you mean wdt:P31?"]),
    ],
)
@pytest.mark.parametrize("has_columns", [True, False])
def test_ids_of_wikidata(
    wikidata: KnowledgeBase, pattern: str, parts: list[str], has_columns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = wikidata.stores.has
    monkeypatch.setattr(type(wikidata.stores), "has", lambda _, name: has(name) and (has_columns or name != "columns"))
    monkeypatch.setattr(wikidata_names, "_KNOWN", WeakKeyDictionary())
    [message] = unknown_names(wikidata.stores, f"SELECT * {{ {pattern} }}")
    assert [part for part in each(parts) if part not in message] == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?x wdt:P31/wdt:P279* wd:Q5 ; p:P69 [ ps:P69 ?s ; pq:P580 ?t ; prov:wasDerivedFrom/pr:P854 ?u ] }",
        "SELECT * { VALUES ?p { wd:P31 wd:P279 wd:P69 } ?p wikibase:directClaim ?d . ?x ?d wd:Q5 }",
        "SELECT * { VALUES (?a ?b) { (p:P31 wd:Q5) } VALUES ?c { wdt:P31 p:P69 wd:Q5 } VALUES ?l { rdfs:label 'x' } }",
        "SELECT * { ?x p:P69/ps:P69 wd:Q691283 ; p:P69 [ ps:P69 wd:Q691283 ; pq:P580 ?t ] ; rdfs:label 'x'@en }",
        "SELECT * { ?x a ontolex:Form . ?y skos:altLabel ?x FILTER(?x = 'x') OPTIONAL { ?x bd:y ?z } }",
        "SELECT * { wd:P31 rdfs:label ?x FILTER(?y IN (wd:P31, wd:P279)) ?x ?p wd:P31 . ?z ?q wd:P279 }",
        "CONSTRUCT { ?x wd:P31 ?y } { ?x wdt:P31 ?y }",
        "PREFIX wd: <http://elsewhere.org/> SELECT * { ?x wd:P31 wd:Q99999999 }",
    ],
)
def test_ids_that_the_kb_has(wikidata: KnowledgeBase, text: str) -> None:
    assert unknown_names(wikidata.stores, text) == []


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * { ?s ?p ?o }", "s p o"),
        ("select distinct * { ?z rel:borders ?b . ?b rel:borders ?a }", "z b a"),
        ("# SELECT * ?x\nSELECT /*\n", ""),
        ("SELECT ?o ?s { { SELECT * { ?s ?p ?o } } }", ""),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", ""),
        ("ASK { ?s ?p ?o }", ""),
    ],
)
def test_star_columns(query: str, columns: str) -> None:
    assert star_columns(query) == columns.split()


def test_a_star_keeps_the_order_of_the_query(world: KnowledgeBase) -> None:
    query = "SELECT * { ?s rel:borders ?b FILTER(?b = country:FRA) OPTIONAL { ?s rdfs:label ?a } { SELECT ?s ?zz {} } }"
    for rows in (world.sparql(query), world.sparql_terms(query), world.sparql(query, max_rows=1)):
        assert rows.columns == ["s", "b", "a", "zz"]
    assert world.sparql_view("#defaultView:Table\n" + query).rows.columns == ["s", "b", "a", "zz"]
    construct = "CONSTRUCT { ?object rel:x ?subject } { SELECT * { ?object rel:borders ?subject } LIMIT 1 }"
    assert world.sparql(construct).columns == ["subject", "predicate", "object"]
    assert world.sparql("SELECT ?o ?s { ?s rel:borders ?o } LIMIT 1").columns == ["o", "s"]


def test_the_command_line_prints_a_warning(here, world_kb: Path) -> None:
    query = "SELECT * { ?s rel:bordres ?o }"
    warning = f"warning: {RELATION.format('rel:bordres')}\n"
    assert good(here("sparql", world_kb, query, "-f", "csv"), warning) == "s,o\n"
    assert good(here("-q", "sparql", world_kb, query, "-f", "csv")) == "s,o\n"
    good(here("sparql", world_kb, query, "-f", "sparql-json"), warning)
    assert "0 rows" in good(here("shell", world_kb, "-c", query), warning)
