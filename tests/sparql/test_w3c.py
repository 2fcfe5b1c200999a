"""The W3C's tests of SPARQL: expected results, through every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.errors import QuerySyntaxError
from kbkit.sparql.rewrite import check_query
from tests.sparql import w3c
from tests.sparql.engines import Dataset, UnsupportedQueryError, columns, oxigraph, rewritten
from tests.sparql.solutions import Answer, canonical, difference

CANONICAL = "literals are stored in canonical form"
GRAPH = "GRAPH ?g binds ?g only where the pattern matches triples of a named graph"
ALTERNATIVES = {
    "sparql10/distinct/distinct-1": CANONICAL,
    "sparql10/distinct/distinct-9": CANONICAL,
    "sparql10/expr-builtin/dawg-str-1": CANONICAL,
    "sparql10/expr-builtin/dawg-str-2": CANONICAL,
    "sparql10/expr-builtin/sameTerm-simple": CANONICAL,
    "sparql10/expr-builtin/sameTerm-eq": CANONICAL,
    "sparql10/expr-builtin/sameTerm-not-eq": CANONICAL,
    "sparql10/expr-equals/eq-graph-1": CANONICAL,
    "sparql10/expr-equals/eq-graph-2": CANONICAL,
    "sparql10/open-world/open-eq-01": CANONICAL,
    "sparql10/open-world/date-2": "dates with and without a zone are compared",
    "sparql10/sort/dawg-sort-8": "IRIs and literals are in another order",
    "sparql10/graph/graph-variable-scope": GRAPH,
    "sparql10/graph/graph-optional": GRAPH,
    "sparql11/aggregates/agg-empty-group-count-graph": GRAPH,
    "sparql11/bindings/graph": GRAPH,
    "sparql11/negation/graph-minus": GRAPH,
    "sparql11/functions/bnode01": "BNODE of a string is the same in all solutions",
    "sparql11/aggregates/agg-groupconcat-04": "the order of GROUP_CONCAT, which the specification leaves open",
    "sparql11/aggregates/agg-groupconcat-06": "the order of GROUP_CONCAT, which the specification leaves open",
    "sparql11/property-path/zero_or_more_set_start": "paths of length zero from constants that no triple has",
    "sparql11/property-path/zero_or_more_set_end": "paths of length zero from constants that no triple has",
    "sparql11/property-path/zero_or_one_set_start": "paths of length zero from constants that no triple has",
    "sparql11/property-path/zero_or_one_set_end": "paths of length zero from constants that no triple has",
}
"""Tests whose published result is not Oxigraph's, and how Oxigraph's differs."""
UNSUPPORTED = {"sparql10/expr-builtin/case-insensitive-booleans"}
"""Tests that Oxigraph refuses."""
EVALUATED = 517
"""Evaluation tests with a result of Oxigraph."""
ACCEPTED = 0.93
"""Share of them that columns answer, at least."""


@pytest.fixture(scope="module")
def tests(shared_data: Path) -> Path:
    folder = shared_data / "w3c_sparql"
    if not folder.is_dir():
        pytest.skip(f"the W3C's tests are not at {folder}")
    return folder


@pytest.fixture(scope="module")
def evaluated(tests: Path) -> list[tuple[w3c.Case, Dataset, Answer]]:
    """Return the evaluation tests with their data and Oxigraph's answer."""
    data: dict[tuple[object, ...], Dataset] = {}
    found = []
    for case in w3c.cases(tests, *w3c.EVALUATION):
        if case.name not in UNSUPPORTED:
            key = (case.data, case.graphs) if case.data or case.graphs else (case.query,)
            if key not in data:
                data[key] = Dataset(case.quads())
            found.append((case, data[key], oxigraph(data[key], case.text())))
    return found


def unlike(case: w3c.Case, wanted: Answer | list[list[str]], found: Answer) -> str:
    """Return how an answer differs from the published result, empty if it does not."""
    if isinstance(wanted, list):
        header, *rows = wanted
        names = [name for name in header if name in found.variables]
        order = [found.variables.index(name) for name in names]
        mine = [[row[at] for at in order] for row in w3c.as_csv(found)]
        same = sorted(map(_values, [names, *rows])) == sorted(map(_values, mine))
        return "" if same else f"{mine} instead of {wanted}"
    if case.lax:  # REDUCED may drop duplicates
        wanted, found = (Answer(a.kind, a.variables, tuple(dict.fromkeys(a.rows))) for a in (wanted, found))
    problem = difference(canonical(wanted), canonical(found))
    if not problem and case.is_ordered() and canonical(wanted).rows != canonical(found).rows:
        return f"in another order:\n{found.show()}\ninstead of\n{wanted.show()}"
    return problem


def _values(row: list[str]) -> list[str]:
    """Return values of CSV; Oxigraph writes numbers in canonical form, and blank nodes have no fixed name."""

    def value(text: str) -> str:
        try:
            return str(float(text))
        except ValueError:
            return "_:" if text.startswith("_:") else text

    return [value(text) for text in row]


def test_oxigraph_returns_the_published_results(evaluated: list[tuple[w3c.Case, Dataset, Answer]]) -> None:
    problems = {case.name: unlike(case, case.expected(), found) for case, _, found in evaluated}
    assert len(problems) == EVALUATED
    unexpected = [f"{name}: {text}" for name, text in problems.items() if text and name not in ALTERNATIVES]
    assert not unexpected, "\n".join(unexpected)
    assert not [name for name in ALTERNATIVES if not problems[name]], "Oxigraph has changed"


def test_rewritten_queries_return_the_same(evaluated: list[tuple[w3c.Case, Dataset, Answer]]) -> None:
    """The result of Oxigraph or, where that is not the published one, either."""
    problems = []
    for case, data, wanted in evaluated:
        found = rewritten(data, case.text())
        problem = difference(wanted, found)
        if problem and case.name in ALTERNATIVES:
            problem = unlike(case, case.expected(), found)
        problems += [f"{case.name}: {problem}"] if problem else []
    assert not problems, "\n".join(problems)


def test_columns_return_the_same(evaluated: list[tuple[w3c.Case, Dataset, Answer]]) -> None:
    """Columns return Oxigraph's result or, where that is not the published one, the published one."""
    accepted, problems = 0, []
    for case, data, wanted in evaluated:
        try:
            found = columns(data, case.text())
        except UnsupportedQueryError:
            continue
        accepted += 1
        problem = "" if case.lax else difference(wanted, found, inexact=True)
        known = case.name in ALTERNATIVES
        if case.lax or (known and problem) or (not known and not problem and case.is_ordered()):
            problem = unlike(case, case.expected(), found)
        if problem:
            problems.append(f"{case.name}: {problem}")
    assert not problems, "\n".join(problems)
    assert accepted >= ACCEPTED * EVALUATED, f"columns answer {accepted} of {EVALUATED}"


def test_valid_queries_are_accepted(tests: Path) -> None:
    cases = w3c.cases(tests, *w3c.POSITIVE)
    assert len(cases) == 215
    for case in cases:
        check_query(case.text(), {})


def test_invalid_queries_are_refused(tests: Path) -> None:
    cases = w3c.cases(tests, *w3c.NEGATIVE)
    assert len(cases) == 90
    accepted = []
    for case in cases:
        try:
            check_query(case.text(), {})
            accepted.append(case.name)
        except QuerySyntaxError:
            pass
    assert not accepted
