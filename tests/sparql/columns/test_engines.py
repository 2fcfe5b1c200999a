"""The choice between columns and Oxigraph, in Python and in the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import kbkit
from kbkit.errors import QueryError, QueryTimeoutError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.sparql.engines import choose
from kbkit.sparql.run import query
from tests.conftest import Run
from tests.console import good

GROUPS = "SELECT ?t (COUNT(*) AS ?n) (AVG(?x) AS ?m) { ?c a ?t ; attr:area_km2 ?x } GROUP BY ?t ORDER BY DESC(?n) ?t"
OPTIONALS = (
    "SELECT ?n ?k { ?c a type:country ; rdfs:label ?n OPTIONAL { ?c rel:capital/rdfs:label ?k } } ORDER BY ?n ?k"
)
UNKNOWN = "SELECT (SHA512(?n) AS ?h) { country:NPL rdfs:label ?n }"
INEXACT = "SELECT (xsd:decimal(?x) AS ?y) { VALUES ?x { 1e30 1e0 } }"
"""Columns find out only when they run that they cannot answer."""
FAILING = "SELECT (COUNT(IF(?x, ?x, ?x)) AS ?n) {}"
"""An error in a row, which Oxigraph counts as nothing."""


@pytest.mark.parametrize("text", [GROUPS, OPTIONALS])
def test_the_engines_agree_in_frames_and_terms(world: KnowledgeBase, text: str) -> None:
    assert query(world.stores, text).explained().count("Table Scan")
    for run in (world.sparql, world.sparql_terms):
        found = run(text, engine="columns")
        assert found.height > 3
        assert_frame_equal(found, run(text, engine="oxigraph"), rel_tol=1e-12)
        assert_frame_equal(found, run(text))


@pytest.mark.parametrize("text", [UNKNOWN, INEXACT, FAILING])
def test_what_columns_lack_runs_on_oxigraph(world: KnowledgeBase, text: str) -> None:
    with pytest.raises(QueryError, match="Not supported on columns"):
        world.sparql(text, engine="columns")
    assert_frame_equal(world.sparql(text), world.sparql(text, engine="oxigraph"))
    with (
        world.sparql_results(text, "sparql-tsv") as found,
        world.sparql_results(text, "sparql-tsv", engine="oxigraph") as other,
    ):
        assert found.read() == other.read()


def test_exists_sees_variables_from_outside(world: KnowledgeBase) -> None:
    """In its own filters; deep inside it, where SPARQL substitutes them too, columns leave the query to Oxigraph."""
    country = "SELECT ?n { ?c a type:country ; rdfs:label ?n FILTER EXISTS { ?c rel:borders ?x"
    plain = f"{country} . ?x rdfs:label ?l FILTER(?l > ?n) }} }}"
    found = world.sparql(plain, engine="columns")
    assert 50 < found.height < 197
    assert sorted(found["n"]) == sorted(world.sparql(plain, engine="oxigraph")["n"])
    deep = f"{country} OPTIONAL {{ ?x rdfs:label ?l FILTER(?l > ?n) }} FILTER(BOUND(?l)) }} }}"
    with pytest.raises(QueryError, match="deep inside"):
        world.sparql(deep, engine="columns")
    assert sorted(world.sparql(deep)["n"]) == sorted(found["n"])


LOOKUP, FIRST_ROWS, OTHER = "The query is a lookup", "It asks for the first rows of a pattern", ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT ?n { country:NPL rel:borders/rdfs:label ?n }", LOOKUP),
        ("SELECT ?p ?o { ?s rdfs:label 'Nepal' ; ?p ?o }", LOOKUP),
        ("SELECT ?s { ?s attr:continent 'Asia' }", OTHER),
        ("SELECT * { ?s ?p ?o } LIMIT 10", FIRST_ROWS),
        ("ASK { ?s ?p ?o }", FIRST_ROWS),
        ("CONSTRUCT WHERE { ?s ?p ?o } LIMIT 10", FIRST_ROWS),
        ("SELECT * { ?s a type:city ; rdfs:label ?n ; ?p ?o } LIMIT 10", FIRST_ROWS),
        ("SELECT * { ?s rel:borders ?t . ?t ?p ?o } LIMIT 10 OFFSET 990", FIRST_ROWS),
        ("SELECT * { ?s rel:borders ?t . ?t ?p ?o } LIMIT 10 OFFSET 991", OTHER),
        ("SELECT * { ?s rel:borders ?t . ?t rel:borders ?u ; ?p ?o } LIMIT 10", OTHER),  # joins that may lose rows
        ("SELECT * { ?s ?p ?o . ?t ?q ?u } LIMIT 10", OTHER),
        ("SELECT * { ?s ?p ?o } ORDER BY ?o LIMIT 10", OTHER),
        ("SELECT DISTINCT ?p { ?s ?p ?o } LIMIT 10", OTHER),
        ("SELECT * { ?s ?p ?o FILTER(?o > 3) } LIMIT 10", OTHER),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o } LIMIT 10", OTHER),
    ],
)
def test_quick_queries_go_to_oxigraph(world: KnowledgeBase, text: str, reason: str) -> None:
    choice = choose(world.stores, "auto", text, (None, None))
    assert (choice.compiled is None, choice.reason) == (bool(reason), reason)
    assert choose(world.stores, "columns", text, (None, None)).compiled


def test_the_first_rows_are_right_on_columns(world: KnowledgeBase) -> None:
    everything = set(world.sparql("SELECT * { ?s ?p ?o }", engine="columns").rows())
    for text, height in (("SELECT * { ?s ?p ?o } LIMIT 40 OFFSET 7", 40), ("SELECT * { ?s ?p ?s } LIMIT 4", 0)):
        found = world.sparql(text, engine="columns").rows()
        assert len(set(found)) == height and set(found) <= everything


def test_a_kb_without_triples_answers(tiny: Path, tmp_path: Path) -> None:
    with kbkit.ingest("table", tiny, out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.sparql("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")["n"].item() > 50
        assert kb.sparql("ASK { ?s rdfs:label 'nowhere' }")["ask"].item() is False
        with pytest.raises(QueryError, match="triples"):
            kb.sparql("DESCRIBE ?s { ?s rdfs:label 'nowhere' }")


def test_limits_names_and_time_limits(world: KnowledgeBase) -> None:
    with pytest.raises(UnknownNameError, match="columns"):
        world.sparql(GROUPS, engine="column")  # type: ignore[arg-type]
    assert world.sparql(OPTIONALS, max_rows=3, engine="columns").height == 3
    endless = (
        "SELECT (COUNT(?x) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i BIND(CONCAT(STR(?a), STR(?d), STR(?g)) AS ?x) }"
    )
    with pytest.raises(QueryTimeoutError):
        world.sparql(endless, timeout=0.5, engine="columns")


def test_the_command_prints_and_explains(here: Run, world_kb: Path) -> None:
    assert good(here("sparql", world_kb, "--print", GROUPS)).startswith("SELECT ")
    assert "GROUP BY ?t" in good(here("sparql", world_kb, "--print", "--engine", "oxigraph", GROUPS))
    assert "Table Scan" in good(here("sparql", world_kb, "--explain", GROUPS))
    refused = here("sparql", world_kb, "--engine", "columns", UNKNOWN)
    assert refused.returncode == 1
    assert "Use --engine oxigraph" in refused.stderr
