"""Results of columns in published formats: the bytes of Oxigraph, its result if columns fail, limits, cancellation."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kbkit.errors import QueryError, QueryTimeoutError
from kbkit.kb import KnowledgeBase
from kbkit.sparql import columns, engines
from kbkit.sparql.run import query
from kbkit.stores.sparql_formats import DEFAULT, only
from kbkit.stores.sparql_process import WrongFormatError
from tests.console import good, one_line

COUNTS = "SELECT ?t (COUNT(?x) AS ?n) { ?x a ?t ; rel:borders ?y } GROUP BY ?t ORDER BY ?t"
NAMES = "SELECT ?x ?n { ?x rel:borders ?y . ?y rdfs:label ?n } ORDER BY ?x ?n"
UNSUPPORTED = (
    "SELECT ?d { ?x rdfs:label ?n BIND(<http://www.opengis.net/def/function/geosparql/distance>(?n, ?n) AS ?d) }"
)


@pytest.mark.core
@pytest.mark.parametrize("text", [COUNTS, NAMES, "ASK { ?x rel:borders ?y }"])
def test_engines_agree(world: KnowledgeBase, text: str) -> None:
    for method in (world.sparql, world.sparql_terms):
        expected = method(text, engine="oxigraph")
        assert method(text, engine="columns").equals(expected)
        assert method(text).equals(expected)
    for form in ("sparql-json", "sparql-xml", "sparql-csv", "sparql-tsv"):
        bodies = []
        for engine in ("oxigraph", "columns", "auto"):
            with world.sparql_results(text, form, engine=engine) as found:
                assert found.format.name == form
                bodies.append(found.read())
        assert bodies[0] == bodies[1] == bodies[2]
    assert world.sparql_view(text, engine="columns").rows.equals(world.sparql(text, engine="oxigraph"))


def test_what_columns_lack_goes_to_oxigraph(world: KnowledgeBase) -> None:
    assert world.sparql(UNSUPPORTED).equals(world.sparql(UNSUPPORTED, engine="oxigraph"))
    with pytest.raises(QueryError, match="Not supported on columns"):
        world.sparql(UNSUPPORTED, engine="columns")
    with pytest.raises(QueryError, match="Updates are not allowed"):
        world.sparql("DELETE WHERE { ?x ?y ?z }", engine="columns")


def failing(message: str) -> Any:
    """The compiler, whose SQL fails when it runs."""
    compile_query = columns.compile_query

    def compiled(*args: Any, **options: Any) -> columns.Compiled:
        found = compile_query(*args, **options)
        return replace(found, sql=f"SELECT * FROM ({found.sql}) WHERE error('{message}') IS NULL", quick="")

    return compiled


def test_a_value_beyond_sql_sends_the_whole_query(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = world.sparql(NAMES, engine="oxigraph")
    monkeypatch.setattr(columns, "compile_query", failing("kbkit:columns a large number"))
    assert world.sparql(NAMES).equals(expected)
    with world.sparql_results(NAMES, "sparql-json") as found:
        body = found.read()
    with world.sparql_results(NAMES, "sparql-json", engine="oxigraph") as found:
        assert found.read() == body
    with pytest.raises(QueryError, match="Not supported on columns: a large number"):
        world.sparql(NAMES, engine="columns")
    with pytest.raises(QueryError, match="a large number"), world.sparql_results(NAMES, engine="columns"):
        pass


def test_large_results_are_streamed_by_oxigraph(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_MOST_ROWS", 10)
    with world.sparql_results(NAMES, "sparql-csv") as found:
        assert found._instead is not None  # type: ignore[attr-defined]
        body = found.read()
    with world.sparql_results(NAMES, "sparql-csv", engine="columns") as found:
        assert found.read() == body


def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "SELECT sum(a.range * b.range)::BIGINT AS c0 FROM range(1000000) a, range(1000000) b"
    made = columns.Compiled("select", sql, (columns.ResultTerm("x", "integer"),))
    monkeypatch.setattr(columns, "compile_query", lambda *_, **__: made)


def test_timeouts_and_cancellation(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch)
    with pytest.raises(QueryTimeoutError, match=r"^SPARQL query cancelled after 0\.3 s"):
        world.sparql(NAMES, timeout=0.3)
    results = query(world.stores, NAMES, 60).results(DEFAULT)
    timer = threading.Timer(0.3, results.close)
    timer.start()
    with pytest.raises(QueryError, match="The query was cancelled"):
        results.start()
    timer.join()
    with pytest.raises(QueryError, match="The query was cancelled"):
        results.start()


def test_a_format_that_cannot_hold_the_result(world: KnowledgeBase) -> None:
    with pytest.raises(WrongFormatError), query(world.stores, NAMES, engine="columns").results(only("turtle")):
        pass


@pytest.mark.core
def test_the_words_of_the_command(here, world_kb: Path, wording: Any) -> None:
    wording(good(here("sparql", world_kb, COUNTS, "--explain", "--engine", "oxigraph")), "cli")
    wording(one_line(here("sparql", world_kb, COUNTS, "--engine", "sqlite")), "cli")
    wording(one_line(here("sparql", world_kb, UNSUPPORTED, "--engine", "columns")), "cli")
