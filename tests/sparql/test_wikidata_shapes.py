"""Queries in the shapes of the Wikidata Query Service: both engines have the results of rdflib, or of the standard."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import KbError
from tests.sparql.solutions import canonical, difference
from tests.sparql.wikidata_shapes import Judge, asked, queries

pytest.importorskip("rdflib", reason="rdflib is not installed")
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("ignore")]
BEYOND = "years beyond four digits"
"""What columns leave to Oxigraph here: times before the year 1."""


def test_both_engines_have_the_results_of_rdflib(wikidata_kb: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "rdflib")  # it logs each time before the year 1
    wrong, equal, refused = [], 0, 0
    with kbkit.open(wikidata_kb) as kb:
        judge = Judge(kb)
        for query in queries():
            oxigraph = canonical(asked(kb, query.text, "oxigraph"))
            right = oxigraph if query.rows else canonical(judge.ask(query.standard))
            if not right.rows:
                wrong.append(f"{query.text}: no rows")
            if query.rows not in (0, len(right.rows)):
                wrong.append(f"{query.text}: {len(right.rows)} rows")
            try:
                columns = [canonical(asked(kb, query.text, "columns"))]
            except KbError as error:
                assert BEYOND in str(error), query.text
                refused, columns = refused + 1, []
            differences = [difference(right, found, inexact=True) for found in (oxigraph, *columns)]
            wrong += [f"{query.text}: {told}" for told in differences if told]
            equal += not any(differences) and not query.rows
    assert wrong == []
    assert equal >= 200 and refused <= 5
