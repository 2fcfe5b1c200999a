"""The columns of RDF sources: the quads that they hold are those of the triplestore of the same KB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import kbkit
from kbkit.kb import KnowledgeBase

XSD = "http://www.w3.org/2001/XMLSchema#"
VALUES = {
    "integer": ["01", "+1", "-0", "0", "99999999999999999999", "abc", " 1 ", "1.0", ""],
    "decimal": ["1.50", "1", "+1.", "-.5", "1e3", "123456789012345678901234567890", "0.0000000000000000001", "-0.0"],
    "double": ["1e2", "INF", "-INF", "+INF", "NaN", "1.0", "0.1", "1E400", "x", "-0"],
    "float": ["1e2", "0.1", "INF", "16777217", "NaN"],
    "boolean": ["1", "0", "true", "TRUE", "yes"],
    "dateTime": [
        "2020-01-01T00:00:00.000Z", "2020-01-01T24:00:00", "2020-01-01T00:00:00+00:00", "2020-1-1",
        "-0043-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "13798000000-01-01T00:00:00Z",
    ],
    "dateTimeStamp": ["2020-01-01T00:00:00+00:00", "2020-01-01T00:00:00"],
    "date": ["2020-01-01Z", "2020-01-01+00:00", "2020-01-01", "-0001-01-01", "0000-01-01"],
    "time": ["00:00:00.0", "24:00:00", "12:30:00-14:00"],
    "gYear": ["2020", "2020Z", "2020+00:00"],
    "gYearMonth": ["2020-01+00:00"],
    "gMonth": ["--01+00:00", "--13"],
    "gDay": ["---01+00:00"],
    "gMonthDay": ["--01-01+00:00"],
    "duration": ["P1Y", "P12M", "PT60S", "-P0D"],
    "dayTimeDuration": ["PT24H", "P1D", "P1M"],
    "yearMonthDuration": ["P12M", "P1D"],
    **{kind: ["007", "-5", "1000", "z"] for kind in ("int", "long", "short", "byte", "unsignedInt", "unsignedByte")},
    **{kind: ["01", "-01", "0"] for kind in ("nonNegativeInteger", "positiveInteger", "negativeInteger")},
    **{kind: ["", " a ", 'say \\"a\\"'] for kind in ("string", "normalizedString", "token", "anyURI", "Name")},
    "hexBinary": ["0a", "0A"],
    "base64Binary": ["YQ=="],
    "unknown": ["1", "01"],
}  # fmt: skip
TEXTS = [
    '""', '"a"', '"a"@en', '"a"@EN', '"a"@en-GB-x-private', '"a"@ar--rtl', '"@en"', '" "', '"a "@de', '"^^"', '"<a>"',
    r'"\""', r'"\\"', r'"\\\\n"', r'"\\\n"', r'"\\u0041"', r'"\u0041\U0001F600"', r'"\u0000\u0001\u007F\t\b\n\r\f\'"',
    r'"\" <http://e.org/g> ."', r'"\" _:b"@en', r'"ends in a \\"@en', r'"_:b1 ."', '"one <http://e.org/x>"@en',
    '"chat"^^<http://e.org/t>', '"CHAT"^^<http://e.org/T\\u00E9>',
    '"POINT( 1 2)"^^<http://www.opengis.net/ont/geosparql#wktLiteral>',
    '"<b>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML>', '"  \u0085 \u2028 \ufeff é e\u0301 \U0001f600 \uffff"',
    '"\t raw tab \x01 \x7f"', f'"1^^<{XSD}integer>"', rf'"\"^^<{XSD}integer>"',
    rf'"1\"^^<{XSD}integer"^^<{XSD}integer>',
]  # fmt: skip
IRIS = [
    "<http://e.org/a>", "<http://e.org/\\u00E9>", "<http://e.org/é>", "<urn:x>", "<http://e.org/a%20b>",
    "<http://e.org/a'b>", "<http://e.org/\U0001f600?q=1&a#f>", "_:b1", "_:b2", "<http://e.org/>",
]  # fmt: skip


def hostile() -> bytes:
    """N-Quads with every kind of term, in the default graph and in named ones."""
    objects = [*IRIS, *TEXTS, *(f'"{v}"^^<{XSD}{kind}>' for kind, values in VALUES.items() for v in values)]
    lines = []
    for number, value in enumerate(objects):
        subject, graph = IRIS[number % len(IRIS)], IRIS[number % 3]
        lines += [f"<http://e.org/s{number}> <http://e.org/p> {value} .", f"{subject} <http://e.org/q> {value} ."]
        lines += [
            f"<http://e.org/all> <http://e.org/p> {value} {graph} .",
            f"{subject} <http://e.org/r> {value} _:b1 .",
        ]
    return "".join(f"{line}\n" for line in lines).encode()


Quad = tuple[str, str, str, str]


def stored(kb: KnowledgeBase) -> Counter[Quad]:
    """Return the quads of the triplestore in the internal text of the columns, as the documentation has it."""

    def text(term: Any) -> str:
        match term:
            case ox.DefaultGraph():
                return ""
            case ox.NamedNode():
                return f"<{term.value}"
            case ox.BlankNode():
                return f"_{term.value}"
        if term.language:
            tag = f"@{term.language}{f'--{term.direction}' if term.direction else ''}"
        else:
            tag = "" if term.datatype.value == f"{XSD}string" else f"^{term.datatype.value}"
        return f'"{tag}"{term.value}'

    store = ox.Store.read_only(str(kb.folder / "triples"))
    return Counter(
        tuple(text(term) for term in (q.subject, q.predicate, q.object, q.graph_name))  # type: ignore[misc]
        for q in store
    )


def decoded(kb: KnowledgeBase, table: str = "quads") -> Counter[Quad]:
    """Return the quads of the columns."""
    assert kb.stores.columns.counts()["quads"]
    joins = " ".join(f"JOIN columns.terms {name} ON {name}.id = q.{name}" for name in "spog")
    return Counter(kb.tables.rows(f"SELECT s.term, p.term, o.term, g.term FROM columns.{table} q {joins}"))


def ingested(folder: Path, data: bytes, stores: Sequence[str] = ("triples", "columns"), name: str = "a.nq") -> Path:
    """Ingest RDF and return the KB."""
    (folder / name).write_bytes(data)
    kbkit.ingest("rdf", folder / name, out=folder / "a.kb", stores=stores).close()
    return folder / "a.kb"


@pytest.mark.parametrize("table", ["quads", "quads_by_object"])
def test_hostile_rdf_has_the_quads_of_the_triplestore(tmp_path: Path, table: str) -> None:
    with kbkit.open(ingested(tmp_path, hostile())) as kb:
        expected = stored(kb)
        found = decoded(kb, table)
        assert found - expected == expected - found == Counter()
        assert len(expected) > 500
        assert kb.check() == [(what, "") for what in ("files", "tables", "nodes", "triples", "columns")]
