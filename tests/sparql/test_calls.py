"""387 calls of functions, operators and casts on both engines, beside the results of the standard (``calls.csv``).

``agrees`` says who else has the result: ``rdflib`` 7.6; only the ``standard``, from which rdflib deviates; or
``named``, a deviation that the guide ``sparql`` names. ``columns``: whether columns compile the call.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest

from kbkit.schema import STANDARD_PREFIXES
from kbkit.sparql.rewrite import rewrite
from tests.sparql.engines import Dataset, UnsupportedQueryError, columns, oxigraph
from tests.sparql.solutions import XSD, Engine

DATA = Dataset(ox.parse("<http://e/a> <http://e/p> 1 .", format=ox.RdfFormat.TURTLE))
PREFIXES = "".join(f"PREFIX {name}: <{STANDARD_PREFIXES[name]}> " for name in ("rdf", "xsd")) + "PREFIX : <http://e/> "
CALLS = tuple(csv.DictReader((Path(__file__).parent / "calls.csv").open(encoding="utf-8", newline="")))
"""An empty result is an error, which leaves the variable without a value."""


def results(engine: Engine, calls: Sequence[str]) -> dict[str, str]:
    """Return the result of each call, all of them in one query."""
    selected = " ".join(f"({call} AS ?r{number})" for number, call in enumerate(calls))
    text = rewrite(f"{PREFIXES} SELECT {selected} {{ ?s :p ?o }}", "sparql", prefixes={}).text
    [row] = engine(DATA, text).rows
    return {call: "" if term is None else str(term).replace(XSD, "xsd:") for call, term in zip(calls, row, strict=True)}


@pytest.mark.parametrize("first", range(0, len(CALLS), 40))
@pytest.mark.parametrize("engine", [oxigraph, columns])
def test_calls(engine: Engine, first: int) -> None:
    part = [row for row in CALLS[first : first + 40] if engine is oxigraph or row["columns"]]
    assert results(engine, [row["call"] for row in part]) == {row["call"]: row["result"] for row in part}


def test_other_calls_are_left_to_oxigraph() -> None:
    for row in CALLS:
        if not row["columns"]:
            with pytest.raises(UnsupportedQueryError):
                results(columns, [row["call"]])


def test_most_calls_are_confirmed_by_others() -> None:
    assert len(CALLS) == 387
    assert sum(row["agrees"] == "named" for row in CALLS) <= 24
