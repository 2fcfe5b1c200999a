"""Why a query has no rows: the patterns that exclude each other, as few as possible, and the counts of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import QueryTimeoutError
from kbkit.kb import KnowledgeBase
from kbkit.sparql.run import query
from kbkit.sparql.why_empty import EmptyResult, explain

FRANCE = "?x rel:borders country:FRA"


@pytest.fixture(scope="module")
def wikidata(wikidata_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(wikidata_kb) as kb:
        yield kb


def why(kb: KnowledgeBase, text: str) -> EmptyResult | None:
    return query(kb.stores, text).why_empty()


def conflict(kb: KnowledgeBase, where: str) -> list[str]:
    """Return the patterns in conflict."""
    found = why(kb, f"SELECT * {{ {where} }}")
    assert found is not None
    return [part.text for part in found.conflict]


@pytest.mark.parametrize(
    ("where", "patterns"),
    [
        (f"{FRANCE} ; a type:country ; rel:borders country:NZL", ["?x rel:borders country:NZL"]),
        (f"{FRANCE} ; a type:country . ?x rel:borders country:NPL", [FRANCE, "?x rel:borders country:NPL"]),
        (f"{FRANCE} ; rdfs:label ?l FILTER(?l = 'Nepal')", [FRANCE, "?x rdfs:label ?l", "FILTER(?l = 'Nepal')"]),
        (f"{FRANCE} FILTER NOT EXISTS {{ ?x a type:country }}", [FRANCE, "FILTER NOT EXISTS { ?x a type:country }"]),
        (f"?y a type:city . {FRANCE} MINUS {{ ?x a ?c }}", [FRANCE, "MINUS { ?x a ?c }"]),
        (f"{FRANCE} VALUES ?x {{ country:NPL }}", [FRANCE, "VALUES ?x { country:NPL }"]),
        (f"{FRANCE} OPTIONAL {{ ?x rdfs:label ?l }} FILTER(!BOUND(?l))",
         [FRANCE, "OPTIONAL { ?x rdfs:label ?l }", "FILTER(!BOUND(?l))"]),
        (f"BIND(1 AS ?n) {FRANCE} FILTER(?n > 1)", ["BIND(1 AS ?n)", "FILTER(?n > 1)"]),
        (f"{{ SELECT ?x {{ {FRANCE} ; rel:borders country:NPL }} }}", [FRANCE, "?x rel:borders country:NPL"]),
        (f"OPTIONAL {{ ?x rel:none ?y }} {{ {FRANCE} ; rel:borders country:NPL }}",
         [FRANCE, "?x rel:borders country:NPL"]),
        (f"{FRANCE} {{ ?x a type:city }} UNION {{ ?x a type:river }}",
         [FRANCE, "{ ?x a type:city } UNION { ?x a type:river }"]),
    ],
)  # fmt: skip
def test_patterns_in_conflict(world: KnowledgeBase, where: str, patterns: list[str]) -> None:
    assert conflict(world, where) == patterns


def test_the_whole_explanation(world: KnowledgeBase) -> None:
    found = why(world, f"SELECT ?x {{ {FRANCE} ; rel:borders country:NPL ; rdfs:label ?l }}")
    assert found is not None
    assert found.lines == [
        "Each pattern has solutions, but ?x rel:borders country:NPL has none in common with the pattern before it:",
        "  ?x rel:borders country:FRA  (11 solutions)",
        "  ?x rel:borders country:NPL  (2 solutions)",
        "The other patterns alone:",
        "  ?x rdfs:label ?l  (1,642 solutions)",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"SELECT ?x {{ {FRANCE} }} GROUP BY ?x HAVING (COUNT(*) > 9)", "HAVING excludes every group"),
        (f"SELECT ?x {{ {FRANCE} }} OFFSET 99", "LIMIT and OFFSET leave no row: OFFSET 99"),
        (f"CONSTRUCT {{ ?x a ?x }} {{ {FRANCE} ; a type:city }}", "none in common"),
        (f"SELECT ?x {{ {FRANCE} }} VALUES ?x {{ country:NPL }}", "VALUES ?x { country:NPL } has none in common"),
    ],
)
def test_other_reasons(world: KnowledgeBase, text: str, reason: str) -> None:
    found = why(world, text)
    assert found is not None
    assert reason in found.reason


def test_queries_of_the_service(wikidata: KnowledgeBase) -> None:
    labels = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "en" }'
    person = "?x wdt:P31 wd:Q5"
    assert conflict(wikidata, f"{person} ; wdt:P36 ?c . ?x wdt:P31 ?class . {labels}") == [person, "?x wdt:P36 ?c"]
    found = why(wikidata, f"SELECT ?x WITH {{ SELECT ?x {{ {person} }} }} AS %a {{ INCLUDE %a ?x wdt:P36 ?c }}")
    assert found is not None
    assert [part.count for part in found.conflict] == [48, 9]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('SELECT ?x { ?x rdfs:label "douglas adams" }',
         'Values that occur in place of "douglas adams": "Douglas Adams"@de, "Douglas Adams"@en, "Douglas Adams"@fr'),
        ('SELECT ?x { ?x wdt:P569 "1952-03-11" }',
         'Values that occur in place of "1952-03-11": "1952-03-11T00:00:00Z"^^xsd:dateTime'),
        ("SELECT ?x { ?x wdt:P36 wd:Q42 }", "Values that occur in place of wd:Q42: wd:Q"),
        ("SELECT ?x { wd:Q42 ps:P69 ?x }", "Subjects that occur in place of wd:Q42: wds:Q"),
        ("SELECT ?x { wd:Q42 wdt:P569 ?t FILTER(YEAR(?t) = 1980) }",
         'Values of ?t without it: "1952-03-11T00:00:00Z"^^xsd:dateTime'),
        ("SELECT (COUNT(?x) AS ?n) { ?x wdt:P36 wd:Q42 }", "This pattern alone has no solutions:"),
        ("ASK { wd:Q42 wdt:P69 wd:Q11942 }", "Values that occur in place of wd:Q11942: wd:Q691283 (St John's "),
        ("SELECT ?x { ?x wdt:P36 wd:Q42 ; wdt:P19 wd:Q5 }", "Each of these patterns alone has no solutions:"),
        ('SELECT ?x { SERVICE kb:search { ?x kb:matches "zzzqqq" } }', "  SERVICE kb:search { ?x kb:matches"),
    ],
)  # fmt: skip
def test_examples_of_what_would_match(wikidata: KnowledgeBase, text: str, line: str) -> None:
    found = why(wikidata, text)
    assert found is not None
    assert any(shown.startswith(line) for shown in found.lines), found.lines


def test_rows_of_values_are_not_explained(wikidata: KnowledgeBase) -> None:
    for text in ("ASK { wd:Q42 wdt:P31 wd:Q5 }", "SELECT (0 AS ?n) {}", "SELECT (COUNT(*) AS ?n) { ?x wdt:P36 ?y }"):
        assert why(wikidata, text) is None


def test_results_that_are_not_empty_or_not_explained(world: KnowledgeBase) -> None:
    assert why(world, f"SELECT ?x {{ {FRANCE} }}") is None

    def late(text: str, seconds: float) -> int:
        raise QueryTimeoutError(f"no result after {seconds} s")

    for text in (f"SELECT ?x {{ {FRANCE} }}", "DESCRIBE <x>", "no query", "SELECT * {}"):
        assert explain(text, late, world.schema.prefixes()) is None
