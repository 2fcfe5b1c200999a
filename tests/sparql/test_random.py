"""Random queries on columns beside Oxigraph: over random graphs with every kind of term, and over the tiny KB."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from tests.examples import thorough
from tests.fuzz import sparql
from tests.fuzz.sparql_queries import Queries
from tests.fuzz.sparql_tables import vocabulary
from tests.sparql.engines import KbDataset

pytestmark = pytest.mark.system

CASES = 250 if thorough() else 5
"""Graphs; each has 20 queries, and so have as many cases of the tiny KB."""


@pytest.fixture(scope="module")
def tables(tiny_kb: Path) -> Iterator[KbDataset]:
    with kbkit.open(tiny_kb) as kb:
        yield KbDataset(kb)


@pytest.mark.parametrize("seed", range(CASES))
def test_columns_return_what_oxigraph_returns(seed: int) -> None:
    broken = [f"{one.input}\n=> {one.found}" for one in sparql.case(None, seed)]
    assert not broken, "\n\n".join(broken)


@pytest.mark.parametrize("seed", range(CASES))
def test_tables_return_what_their_triples_return(seed: int, tables: KbDataset) -> None:
    queries = Queries(random.Random(seed), vocabulary(tables))
    broken = []
    for _ in range(sparql.QUERIES):
        text = sparql.worthwhile(queries, tables)
        if sparql.problem(tables, text):
            broken.append(sparql.smallest_query(tables, text))
    assert not broken, "\n\n".join(f"{one.input}\n=> {one.found}" for one in broken)


def test_most_queries_are_compared(tables: KbDataset) -> None:
    """A generator that draws queries which no engine accepts, or without rows, proves nothing."""
    sparql.happened.clear()
    for seed in range(3):
        assert not list(sparql.case(None, seed))
    drawn = 3 * sparql.QUERIES
    assert sparql.happened["same"] >= drawn / 2
    assert sparql.happened["without rows"] <= drawn / 2
    assert sparql.happened["refused by Oxigraph"] <= drawn / 10
