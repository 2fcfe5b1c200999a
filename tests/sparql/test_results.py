"""What SPARQL results look like as frames: typed where all values are of one kind, and never changed on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kbkit
from kbkit.kb import KnowledgeBase
from kbkit.stores.sparql_results import parse_select, parse_triples
from tests.examples import examples

XSD = "http://www.w3.org/2001/XMLSchema#"
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


def select(values: str, variables: str = "?x") -> pl.DataFrame:
    """The frame of a table of values, through the raw engine."""
    query = f"PREFIX xsd: <{XSD}> SELECT {variables} {{ VALUES ({variables}) {{ {values} }} }}"
    body = ox.Store().query(query).serialize(format=ox.QueryResultsFormat.TSV)
    assert body is not None
    return parse_select(body)


def construct(*objects: ox.Literal | ox.NamedNode) -> pl.DataFrame:
    """The frame of a CONSTRUCT that gives these objects."""
    store = ox.Store()
    node = ox.NamedNode("urn:a")
    store.extend(ox.Quad(node, node, value) for value in objects)
    body = store.query("CONSTRUCT WHERE { ?s ?p ?o }").serialize(format=ox.RdfFormat.N_TRIPLES)
    assert body is not None
    return parse_triples(body)


@pytest.mark.parametrize(
    ("terms", "dtype", "values"),
    [
        ("(1) (-2) (+3)", pl.Int64, [1, -2, 3]),
        ("(1) (UNDEF)", pl.Int64, [1, None]),
        ('("0042"^^xsd:integer)', pl.Int64, [42]),
        ('("7"^^xsd:int) (8)', pl.Int64, [7, 8]),
        ("(9223372036854775807)", pl.Int64, [2**63 - 1]),
        ("(1.5) (.5) (-2.0)", pl.Float64, [1.5, 0.5, -2.0]),
        ("(1) (2.5)", pl.Float64, [1.0, 2.5]),
        ("(1e3) (1.5E-2)", pl.Float64, [1000.0, 0.015]),
        ('("INF"^^xsd:double) ("-INF"^^xsd:double) (1)', pl.Float64, [math.inf, -math.inf, 1.0]),
        ("(true) (false) (UNDEF)", pl.Boolean, [True, False, None]),
        ("(1) (true)", pl.String, ["1", "true"]),
        ("(1) ('1')", pl.String, ["1", "1"]),
        ("('5') ('6')", pl.String, ["5", "6"]),
        ("('true')", pl.String, ["true"]),
        ("('NaN') ('null') ('')", pl.String, ["NaN", "null", ""]),
        ("('') (UNDEF)", pl.String, ["", None]),
        ("(UNDEF) (UNDEF)", pl.String, [None, None]),
        ('("2020-01-02"^^xsd:date)', pl.String, ["2020-01-02"]),
        ('("2020-01-02T03:04:05Z"^^xsd:dateTime)', pl.String, ["2020-01-02T03:04:05Z"]),
        ("('chat'@fr) ('cat'@en-GB) ('x'@en--ltr)", pl.String, ["chat", "cat", "x"]),
        ("('x'^^<urn:own>)", pl.String, ["x"]),
        ("(<urn:x>) (<http://x/y?z#a>)", pl.String, ["urn:x", "http://x/y?z#a"]),
        ("('<urn:x>')", pl.String, ["<urn:x>"]),
        ("('_:b')", pl.String, ["_:b"]),
        ("('#x') ('?x') (' x ')", pl.String, ["#x", "?x", " x "]),
        (r"('a\tb\nc\rd') ('\\t') ('\\\\n') ('\"')", pl.String, ["a\tb\nc\rd", "\\t", "\\\\n", '"']),
        (r"('\u0000\u0001\b\f\u007f\u0085\u2028') ('é🤧')", pl.String, ["\0\1\b\f\x7f\x85\u2028", "é🤧"]),
        ("""('a"@en') ('"^^<urn:x>')""", pl.String, ['a"@en', '"^^<urn:x>']),
        ("(xsd:integer)", pl.String, [XSD + "integer"]),
    ],
)
def test_columns_are_typed(terms: str, dtype: pl.DataType, values: list[object]) -> None:
    frame = select(terms)
    assert frame.schema == {"x": dtype}
    assert frame["x"].to_list() == values


def test_nan() -> None:
    frame = select('("NaN"^^xsd:double) (1.5)')
    assert frame.schema == {"x": pl.Float64}
    assert math.isnan(frame["x"][0])


@pytest.mark.parametrize(
    ("terms", "values"),
    [
        ('("abc"^^xsd:integer)', ["abc"]),
        ('("abc"^^xsd:double) (1)', ["abc", "1"]),
        ('(" 1 "^^xsd:integer)', [" 1 "]),
        ('("1,5"^^xsd:decimal)', ["1,5"]),
    ],
)
def test_ill_typed_numbers_are_not_lost(terms: str, values: list[str]) -> None:
    assert select(terms)["x"].cast(pl.String).to_list() == values


def test_large_integers_are_not_rounded() -> None:
    assert [int(v) for v in select("(18446744073709551617)")["x"].to_list()] == [18446744073709551617]


def test_empty_results_keep_their_columns() -> None:
    frame = select("", "?x ?y")
    assert frame.shape == (0, 2)
    assert frame.schema == {"x": pl.String, "y": pl.String}


def test_no_variables() -> None:
    assert parse_select(b"\n\n").shape[1] == 0


def test_several_columns_keep_their_rows() -> None:
    frame = select("(1 'a' UNDEF) (UNDEF UNDEF UNDEF) (3 UNDEF <urn:x>)", "?x ?y ?z")
    assert frame.rows() == [(1, "a", None), (None, None, None), (3, None, "urn:x")]


@examples(20)
@given(st.lists(st.one_of(TEXT, st.sampled_from(['"', "\\", "\\n", "\t", "\n", "", "<x>", "5", "true"])), min_size=1))
@example(["\\", '\\"', "\\\\\n"])
def test_strings_come_back_equal(texts: list[str]) -> None:
    store = ox.Store()
    for number, text in enumerate(texts):
        store.add(ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode(f"urn:{number}"), ox.Literal(text)))
    body = store.query("SELECT ?p ?o { ?s ?p ?o }").serialize(format=ox.QueryResultsFormat.TSV)
    assert body is not None
    frame = parse_select(body)
    assert frame["o"].dtype == pl.String
    assert dict(zip(frame["p"], frame["o"], strict=True)) == {f"urn:{n}": t for n, t in enumerate(texts)}


@pytest.mark.parametrize("text", ["\ue000\\", "a\\\ue000"])
def test_the_private_character_comes_back_equal(text: str) -> None:
    [value] = select('("' + text.replace("\\", "\\\\") + '")')["x"].to_list()
    assert value == text


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_integers_come_back_equal(numbers: list[int]) -> None:
    frame = select(" ".join(f"({n})" for n in numbers))
    assert frame.schema == {"x": pl.Int64}
    assert frame["x"].to_list() == numbers


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_doubles_come_back_equal(numbers: list[float]) -> None:
    shown = {math.inf: "INF", -math.inf: "-INF"}
    frame = select(" ".join(f'("{shown.get(n, repr(n))}"^^xsd:double)' for n in numbers))
    assert frame.schema == {"x": pl.Float64}
    assert frame["x"].to_list() == numbers


# -- CONSTRUCT and DESCRIBE -------------------------------------------------------------------------------------------


def test_triples_are_three_columns_of_text() -> None:
    frame = construct(ox.Literal(5), ox.Literal("x", language="en"), ox.NamedNode("urn:b"), ox.Literal('a"\\\n\t'))
    assert frame.schema == {"subject": pl.String, "predicate": pl.String, "object": pl.String}
    assert frame["subject"].to_list() == ["urn:a"] * 4
    assert sorted(frame["object"].to_list()) == sorted(["5", "x", "urn:b", 'a"\\\n\t'])


def test_no_triples() -> None:
    frame = construct()
    assert frame.schema == {"subject": pl.String, "predicate": pl.String, "object": pl.String}
    assert frame.height == 0


CONTROLS = "".join(map(chr, [*range(8), 0xB, *range(0xE, 0x20), 0x7F]))
LINE_BREAKS = "\x85\u2028\u2029"


@examples(20)
@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters=CONTROLS + LINE_BREAKS + "\ue000")))
def test_objects_come_back_equal(text: str) -> None:
    assert construct(ox.Literal(text))["object"].to_list() == [text]


@pytest.mark.parametrize("sign", LINE_BREAKS)
def test_objects_with_other_line_breaks_come_back_equal(sign: str) -> None:
    assert construct(ox.Literal(f"a{sign}b"))["object"].to_list() == [f"a{sign}b"]


@pytest.mark.parametrize("sign", CONTROLS)
def test_objects_with_control_characters_come_back_equal(sign: str) -> None:
    assert construct(ox.Literal(f"a{sign}b"))["object"].to_list() == [f"a{sign}b"]


# -- through a KB -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(tiny_kb) as opened:
        yield opened


def test_attributes_have_their_types(kb: KnowledgeBase) -> None:
    frame = kb.sparql(
        "SELECT ?year ?weight ?approved ?seen ?code { ?n rdfs:label 'insulin' ; attr:year ?year ; attr:weight ?weight ;"
        " attr:approved ?approved ; attr:first_seen ?seen ; attr:code ?code }"
    )
    assert frame.to_dicts() == [{"year": 1921, "weight": 5.8, "approved": True, "seen": "1921-07-27", "code": "3630"}]


def test_ask_is_one_boolean(kb: KnowledgeBase) -> None:
    assert kb.sparql("ASK { ?s rdfs:label 'BRCA1' }").to_dict(as_series=False) == {"ask": [True]}
    assert kb.sparql("ASK { ?s rdfs:label 'BRCA2' }").to_dict(as_series=False) == {"ask": [False]}


def test_construct_and_describe(kb: KnowledgeBase) -> None:
    made = kb.sparql("CONSTRUCT { ?n kb:is ?l } { ?n a type:person ; rdfs:label ?l }")
    assert made.columns == ["subject", "predicate", "object"]
    # Two people share a name, and N-Triples is a set only within a subject.
    assert sorted(made["object"].to_list()) == ["Nobody, Known", "Zoë Müller", "Zoë Müller"]
    described = kb.sparql("DESCRIBE person:p3")
    assert set(described["subject"]) == {kb.iri("person#p3")}
    assert "Nobody, Known" in described["object"].to_list()


def test_counts_and_groups(kb: KnowledgeBase) -> None:
    frame = kb.sparql("SELECT ?t (COUNT(*) AS ?n) { ?x kb:type ?t } GROUP BY ?t ORDER BY ?t")
    assert frame.schema == {"t": pl.String, "n": pl.Int64}
    assert sum(frame["n"].to_list()) == 12 + 3


@given(TEXT)
def test_parameters_of_a_kb_come_back_equal(tiny_kb: Path, text: str) -> None:
    if text.startswith("<") and text.endswith(">"):
        return
    if not _OPEN:
        _OPEN.append(kbkit.open(tiny_kb))
    frame = _OPEN[0].sparql(
        "SELECT ?v (COUNT(?n) AS ?nodes) { ?n kb:type ?t BIND($value AS ?v) } GROUP BY ?v", value=text
    )
    assert frame["v"].to_list() == [text]


_OPEN: list[KnowledgeBase] = []


@pytest.fixture(scope="module", autouse=True)
def _close() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()
