"""The W3C's tests of SPARQL 1.0 and 1.1: manifests, data, expected results.

The data lie beside the project (``shared/data/w3c_sparql``); update, entailment, federation and protocol are left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from tests.sparql.solutions import Answer, Row, Term, answer

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_FORMATS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".nt": ox.RdfFormat.N_TRIPLES,
}
_RESULTS = {
    ".srx": ox.QueryResultsFormat.XML,
    ".srj": ox.QueryResultsFormat.JSON,
    ".tsv": ox.QueryResultsFormat.TSV,
}
EVALUATION = ("QueryEvaluationTest", "CSVResultFormatTest")
POSITIVE = ("PositiveSyntaxTest", "PositiveSyntaxTest11")
NEGATIVE = ("NegativeSyntaxTest", "NegativeSyntaxTest11")


@dataclass(frozen=True)
class Case:
    """One test of a manifest."""

    name: str
    """Its folder and the end of its IRI: ``sparql10/graph/dawg-graph-01``."""
    kind: str
    query: Path
    data: tuple[Path, ...] = ()
    graphs: tuple[Path, ...] = ()
    result: Path | None = None
    lax: bool = False
    """Whether a row may occur more or less often (REDUCED)."""

    def text(self) -> str:
        """Return the query with its base."""
        return f"BASE <{iri(self.query)}>\n{self.query.read_text('utf-8')}"

    def quads(self) -> list[ox.Quad]:
        """Return the data: default graph, named graphs, and the files that FROM names, as named graphs."""
        found = [quad for path in self.data for quad in _parsed(path)]
        for path in self.graphs:
            found += [ox.Quad(q.subject, q.predicate, q.object, ox.NamedNode(iri(path))) for q in _parsed(path)]
        if not self.data and not self.graphs:
            known = (path for path in sorted(self.query.parent.iterdir()) if f"<{path.name}>" in self.text())
            for path in known:
                found += [ox.Quad(q.subject, q.predicate, q.object, ox.NamedNode(iri(path))) for q in _parsed(path)]
        return found

    def expected(self) -> Answer | list[list[str]]:
        """Return the published result; for CSV, which has no terms, its rows of texts."""
        path = self.result
        assert path is not None
        if path.suffix == ".csv":
            return list(csv.reader(io.StringIO(path.read_text("utf-8"))))
        if path.suffix in _RESULTS:
            return answer(_solutions(path))
        triples = _parsed(path)
        return _result_set(triples) or Answer(
            "triples", ("subject", "predicate", "object"), tuple((q.subject, q.predicate, q.object) for q in triples)
        )

    def is_ordered(self) -> bool:
        """Return whether the published result numbers its rows."""
        path = self.result
        return path is not None and path.suffix in (".ttl", ".rdf") and "index" in path.read_text("utf-8")


def iri(path: Path) -> str:
    """Return the IRI of a file: that of its folder in the W3C's repository."""
    return f"http://www.w3.org/2009/sparql/tests/{path.parent.parent.name}/{path.parent.name}/{path.name}"


def cases(folder: Path, *kinds: str) -> list[Case]:
    """Return the tests of these kinds in all manifests of ``w3c_sparql``."""
    found = [case for path in sorted(folder.glob("*/*/manifest.ttl")) for case in _manifest(path)]
    return [case for case in found if case.kind in kinds]


def as_csv(found: Answer) -> list[list[str]]:
    """Return rows as SPARQL's CSV has them, without names of blank nodes."""
    return [list(found.variables), *([_plain(term) for term in row] for row in found.rows)]


def _plain(term: Term) -> str:
    return "" if term is None else "_:" if isinstance(term, ox.BlankNode) else str(term.value)


def _parsed(path: Path) -> list[ox.Quad]:
    """Return the triples of a file, whose blank nodes are its own."""
    form = _FORMATS[path.suffix]
    return list(ox.parse(path=str(path), format=form, base_iri=iri(path), rename_blank_nodes=True))


def _solutions(path: Path) -> Any:
    return ox.parse_query_results(path.read_bytes(), format=_RESULTS[path.suffix])


class _Graph:
    """Triples by subject and predicate."""

    def __init__(self, triples: list[ox.Quad]) -> None:
        self._objects: dict[tuple[Term, str], list[Term]] = {}
        for quad in triples:
            self._objects.setdefault((quad.subject, quad.predicate.value), []).append(quad.object)

    def all(self, subject: Term, verb: str) -> list[Term]:
        return self._objects.get((subject, verb), [])

    def one(self, subject: Term, verb: str) -> Term:
        return next(iter(self.all(subject, verb)), None)

    def list(self, head: Term) -> Iterator[Term]:
        while head is not None and head.value != _RDF + "nil":
            yield self.one(head, _RDF + "first")
            head = self.one(head, _RDF + "rest")


def _manifest(path: Path) -> Iterator[Case]:
    triples = _parsed(path)
    graph = _Graph(triples)
    entries = next(quad.object for quad in triples if quad.predicate.value == _MF + "entries")
    for entry in graph.list(entries):
        kind = graph.one(entry, _RDF + "type")
        action = graph.one(entry, _MF + "action")
        query = graph.one(action, _QT + "query") or action
        result = graph.one(entry, _MF + "result")
        local = entry.value.rpartition("#")[2].rpartition("/")[2]
        yield Case(
            f"{path.parent.parent.name}/{path.parent.name}/{local}",
            kind.value.rpartition("#")[2],
            _file(path, query),
            tuple(_file(path, one) for one in graph.all(action, _QT + "data")),
            tuple(_file(path, one) for one in graph.all(action, _QT + "graphData")),
            None if result is None else _file(path, result),
            graph.one(entry, _MF + "resultCardinality") is not None,
        )


def _file(manifest: Path, name: Any) -> Path:
    return manifest.parent / str(name.value).rpartition("/")[2]


def _result_set(triples: list[ox.Quad]) -> Answer | None:
    """Return the result that a graph describes, None if it describes none."""
    graph = _Graph(triples)
    root = next((q.subject for q in triples if q.object == ox.NamedNode(_RS + "ResultSet")), None)
    if root is None:
        return None
    boolean = graph.one(root, _RS + "boolean")
    if boolean is not None:
        return Answer("ask", ("ask",), ((boolean,),))
    variables = tuple(term.value for term in graph.all(root, _RS + "resultVariable"))
    solutions = graph.all(root, _RS + "solution")
    numbered = [(int(index.value) if (index := graph.one(one, _RS + "index")) else 0, one) for one in solutions]
    rows: list[Row] = []
    for _, solution in sorted(numbered, key=lambda pair: pair[0]):
        bindings = graph.all(solution, _RS + "binding")
        values = {graph.one(one, _RS + "variable").value: graph.one(one, _RS + "value") for one in bindings}
        rows.append(tuple(values.get(name) for name in variables))
    return Answer("select", variables, tuple(rows))
