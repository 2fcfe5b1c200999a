"""Random small graphs with every kind of term, and the terms that random queries name."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyoxigraph as ox

from tests.fuzz.sparql_expressions import Vocabulary

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
BASE = "http://e/"
PREFIXES = f"PREFIX : <{BASE}> PREFIX xsd: <{XSD}>\n"


def _typed(kind: str, *values: str) -> list[ox.Literal]:
    return [ox.Literal(value, datatype=ox.NamedNode(XSD + kind)) for value in values]


IRIS = [ox.NamedNode(BASE + name) for name in "abcde"]
PREDICATES = [ox.NamedNode(BASE + name) for name in "pqr"]
GRAPHS = [ox.NamedNode(BASE + name) for name in ("g", "h")]
BLANKS = [ox.BlankNode(name) for name in ("x", "y")]
NUMBERS = [
    *_typed("integer", "0", "1", "2", "-3", "10", "9007199254740993"),
    *_typed("decimal", "1.0", "0.5", "2.50", "-3.25", "1000000000.000000001"),
    *_typed("double", "1", "0.5", "1e3", "-3", "NaN", "INF", "-0.0", "1e-7"),
    *_typed("float", "1", "0.5", "0.1"),
    *_typed("int", "1"),
    *_typed("byte", "2"),
    *_typed("nonNegativeInteger", "3"),
    *_typed("integer", "+1", "007"),
    *_typed("decimal", "-0.0", "01.10"),
    *_typed("double", "1.0E2", "-INF"),
]
STRINGS = [
    ox.Literal(text)
    for text in ("", "a", "b", "abc", "ABC", "a b", "1", "été", "🤧x", 'q"\\', "http://e/a", "a\n\tb", "ß", "a.b")
]
TAGGED = [
    ox.Literal(t, language=g)
    for t, g in (("a", "en"), ("a", "de"), ("abc", "en-GB"), ("chat", "fr"), ("", "en"), ("ABC", "en"))
]
BOOLEANS = _typed("boolean", "true", "false", "1")
TIMES = [
    *_typed("date", "2020-01-15", "2020-01-15Z", "2019-12-31", "2020-01-15+02:00", "-0044-03-15"),
    *_typed("dateTime", "2020-01-15T10:30:00", "2020-01-15T10:30:00Z", "2020-01-15T12:30:00+02:00"),
    *_typed("dateTime", "2020-02-29T23:59:59.5", "0001-01-01T00:00:00Z"),
    *_typed("dateTime", "2020-01-15T00:00:00", "2019-12-31T24:00:00", "2020-01-15T10:30:00.000-05:30"),
    *_typed("time", "10:30:00", "10:30:00Z"),
    *_typed("gYear", "2020"),
    *_typed("dayTimeDuration", "P1D", "PT24H"),
    *_typed("yearMonthDuration", "P1Y"),
    *_typed("duration", "P1M1D"),
]
INVALID = [
    *_typed("integer", "abc", "99999999999999999999"),
    *_typed("date", "2020-13-01"),
    *_typed("boolean", "yes"),
    *_typed("double", "x"),
]
CUSTOM = [ox.Literal(text, datatype=ox.NamedNode(BASE + "type")) for text in ("a", "b")]
KINDS = [IRIS, BLANKS, NUMBERS, STRINGS, TAGGED, BOOLEANS, TIMES, INVALID, CUSTOM]
_WEIGHTS = [10, 3, 10, 6, 3, 2, 4, 2, 1]


def graph(rng: random.Random) -> list[ox.Quad]:
    """Return the quads of a default graph and up to two named graphs."""
    some = [rng.choices(KINDS, _WEIGHTS)[0] for _ in range(rng.choice((1, 2, 4, 9)))]  # few kinds make more joins
    quads = []
    for _ in range(rng.choice((0, 1, 6, 12, 20, 30, 30, 40))):
        subject = rng.choice(BLANKS if rng.random() < 0.15 else IRIS)
        value = rng.choice(rng.choice(some)) if rng.random() < 0.6 else rng.choice(IRIS)
        place = rng.choice(GRAPHS) if rng.random() < 0.25 else ox.DefaultGraph()
        quads.append(ox.Quad(subject, rng.choice(PREDICATES), value, place))
        if rng.random() < 0.1:
            quads.append(ox.Quad(subject, quads[-1].predicate, value, rng.choice(GRAPHS)))
    if quads and rng.random() < 0.2:
        cell, (first, rest, nil, kind) = (
            ox.BlankNode("z"),
            (ox.NamedNode(RDF + n) for n in ("first", "rest", "nil", "type")),
        )
        ends = [
            (IRIS[0], PREDICATES[0], cell),
            (cell, first, quads[0].object),
            (cell, rest, nil),
            (IRIS[0], kind, IRIS[1]),
        ]
        quads += [ox.Quad(*triple) for triple in ends]
    return quads


def vocabulary(quads: Sequence[ox.Quad]) -> Vocabulary:
    """Return the vocabulary of queries on a graph; most constants occur in it."""
    here = [str(quad.object) for quad in quads if not isinstance(quad.object, ox.BlankNode)]

    def draw(rng: random.Random) -> str:
        return rng.choice(here) if here and rng.random() < 0.7 else constant(rng)

    predicates, subjects, graphs = ([str(term) for term in terms] for terms in (PREDICATES, IRIS, GRAPHS))
    known = [q for q in quads if q.graph_name == ox.DefaultGraph()]
    facts = [(str(q.subject), str(q.predicate), str(q.object)) for q in known]
    return Vocabulary(PREFIXES, predicates, subjects, draw, graphs, facts)


def constant(rng: random.Random) -> str:
    """Return a literal or an IRI as a query has it."""
    return str(rng.choice(rng.choices([k for k in KINDS if k is not BLANKS], [10, 10, 6, 3, 2, 4, 2, 1])[0]))
