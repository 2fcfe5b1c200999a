"""Counts of distinct pairs on columns: by SQL and by products of matrices, both against Oxigraph."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.errors import QueryTimeoutError
from kbkit.kb import KnowledgeBase
from kbkit.sparql.columns import compile_query, pairs

STAR = "?s rel:speaks ?o . ?s rel:borders ?x"
CHAIN = "?o rel:borders ?s . ?s rel:in_continent ?x"
PER_LANGUAGE = f"SELECT ?o (COUNT(DISTINCT ?x) AS ?n) {{ {STAR} }} GROUP BY ?o"
QUERIES = [
    f"SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?o ?x {{ {STAR} }} }} }}",
    f"SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?x ?o {{ {CHAIN} FILTER(?o != country:FRA) }} }} }}",
    f"SELECT (COUNT(*) AS ?n) (COUNT(*) + 1 AS ?m) {{ {{ SELECT DISTINCT ?o ?x {{ {STAR} . ?o rdfs:label ?l }} }} }}",
    f"{PER_LANGUAGE} HAVING(COUNT(DISTINCT ?x) > 3) ORDER BY DESC(?n) ?o",
    f"SELECT ?x (COUNT(DISTINCT ?o) AS ?n) {{ {STAR} }} GROUP BY ?x ORDER BY DESC(?n) ?x LIMIT 5",
    f"SELECT ?n (COUNT(*) AS ?k) {{ {{ {PER_LANGUAGE} }} }} GROUP BY ?n ORDER BY ?n",
]
OTHERS = [
    f"SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?x ?o {{ {CHAIN} FILTER(STR(?x) > STR(?o)) }} }} }}",
    f"SELECT ?o ?x (COUNT(DISTINCT ?o) AS ?n) {{ {STAR} }} GROUP BY ?o ?x ORDER BY ?o ?x",
    f"SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?o ?x {{ {STAR} }} LIMIT 7 }} }}",
    "SELECT (COUNT(*) AS ?n) { { SELECT DISTINCT ?s ?x { ?s rel:speaks ?o . ?s rel:borders ?x } } }",
    "SELECT (COUNT(*) AS ?n) { { SELECT DISTINCT ?k ?x { ?s attr:area_km2 ?k . ?s rel:borders ?x } } }",
]


@pytest.mark.parametrize("many", [0, pairs.MANY])
@pytest.mark.parametrize("query", [*QUERIES, *OTHERS])
def test_counts_are_those_of_oxigraph(
    world: KnowledgeBase, query: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "MANY", many)
    found = world.sparql(query, engine="columns")
    assert found.height > 0
    assert found.equals(world.sparql(query, engine="oxigraph"))


def test_which_queries_count_pairs(world: KnowledgeBase) -> None:
    counted = [len(compile_query(world.stores, query).pair_counts) for query in [*QUERIES, *OTHERS]]
    assert counted == [1] * len(QUERIES) + [0] * len(OTHERS)


def test_statements_of_rdf(rdf_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MANY", 0)
    query = "SELECT ?o (COUNT(DISTINCT ?p) AS ?n) { ?s a ?o . ?s ?p ?x } GROUP BY ?o ORDER BY DESC(?n) ?o"
    with kbkit.open(rdf_kb) as kb:
        assert len(compile_query(kb.stores, query).pair_counts) == 1
        found = kb.sparql(query, engine="columns")
        assert found.height > 2
        assert found.equals(kb.sparql(query, engine="oxigraph"))


def test_the_time_limit(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MANY", 0)
    with pytest.raises(QueryTimeoutError, match="after 1e-05 s"):
        world.sparql(QUERIES[0], engine="columns", timeout=1e-5)
