"""Queries in the shapes of the Wikidata Query Service (``wikidata_shapes.txt``), and rdflib as their judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kbkit.kb import KnowledgeBase
from kbkit.schema import Wikibase
from tests.sparql.solutions import Answer, Term

FILE = Path(__file__).with_suffix(".txt")


class Judged(NamedTuple):
    """A query, the same in standard SPARQL, and its number of rows where rdflib has another (0: it has not)."""

    text: str
    standard: str
    rows: int


def queries() -> Iterator[Judged]:
    """Yield the shapes with each of their values."""
    shape = standard = ""
    rows = 0
    for line in FILE.read_text(encoding="utf-8").splitlines():
        mark, rest = line[:1], line[2:]
        if mark == "=":
            for values in rest.split(" | "):
                yield Judged(_filled(shape, values), _filled(standard or shape, values), rows)
            shape, standard, rows = "", "", 0
        elif mark == "~":
            standard = rest
        elif mark == "!":
            rows = int(rest.partition(" ")[0])
        elif mark != "#":
            shape = line


def _filled(shape: str, values: str) -> str:
    a, _, b = values.partition(", ")
    return shape.replace("$a", a).replace("$b", b)


def asked(kb: KnowledgeBase, text: str, engine: Any) -> Answer:
    """Ask an engine of the KB."""
    found = kb.sparql_terms(text, engine=engine)
    if found.columns == ["ask"]:
        return Answer("ask", ("ask",), ((_term(found.item(0, 0)),),))
    return Answer("select", tuple(found.columns), tuple(tuple(map(_term, row)) for row in found.iter_rows()))


def _term(term: dict[str, str] | None) -> Term:
    if term is None:
        return None
    if term["type"] != "literal":
        return ox.NamedNode(term["value"]) if term["type"] == "uri" else ox.BlankNode(term["value"])
    return _literal(term["value"], term["language"], term["datatype"])


def _literal(text: str, language: str | None, datatype: object) -> Term:
    if language:
        return ox.Literal(text, language=language)
    return ox.Literal(text, datatype=ox.NamedNode(str(datatype))) if datatype else ox.Literal(text)


class Judge:
    """The triples of a KB in rdflib."""

    def __init__(self, kb: KnowledgeBase) -> None:
        import rdflib

        with kb.sparql_results("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "ntriples", dialect="sparql") as triples:
            self._graph = rdflib.Graph().parse(data=triples.read(), format="nt")
        self._names = {name: rdflib.Namespace(space) for name, space in Wikibase.PREFIXES.items()}

    def ask(self, text: str) -> Answer:
        """Ask rdflib."""
        found = self._graph.query(text, initNs=self._names)
        if found.type == "ASK":
            return Answer("ask", ("ask",), ((ox.Literal(bool(found.askAnswer)),),))
        rows = tuple(tuple(_of_rdflib(term) for term in row) for row in found)
        return Answer("select", tuple(str(name) for name in found.vars or ()), rows)


def _of_rdflib(term: Any) -> Term:
    import rdflib

    if term is None:
        return None
    if isinstance(term, rdflib.URIRef):
        return ox.NamedNode(str(term))
    if isinstance(term, rdflib.BNode):
        return ox.BlankNode(str(term))
    return _literal(str(term), term.language, term.datatype)
