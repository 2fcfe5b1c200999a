"""Results with their terms: frames of RDF terms, the published formats read by other libraries, and drawings."""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError, QueryError
from kbkit.kb import KnowledgeBase
from kbkit.sparql.view import VIEWS, wanted
from kbkit.stores import sparql_formats
from kbkit.stores.sparql_results import terms
from tests.console import good, one_line
from tests.examples import examples
from tests.wording import Wording

rdflib = pytest.importorskip("rdflib")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")

XSD = "http://www.w3.org/2001/XMLSchema#"
MIXED = """SELECT ?x ?y { VALUES (?x ?y) {
  (1 "a") (1.50 "b"@en) (2e3 "c\\td\\n\\"e\\"") (true <http://e/1>) ("2020-01-02"^^xsd:date UNDEF) (UNDEF "")
  ("Point(1 2)"^^<http://www.opengis.net/ont/geosparql#wktLiteral> "d"@de-AT)
} } ORDER BY ?y"""
GRAPH = "CONSTRUCT { ?x rdfs:label ?n ; a ?t } WHERE { ?x a ?t ; rdfs:label ?n } ORDER BY ?x LIMIT 40"
READERS = {"turtle": "turtle", "ntriples": "nt", "jsonld": "json-ld", "rdfxml": "xml"}


@pytest.fixture(autouse=True)
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rdflib keep numbers as they are written."""
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)


@pytest.fixture(scope="module")
def wikidata(wikidata_kb: Path) -> Any:
    with kbkit.open(wikidata_kb) as kb:
        yield kb


def as_term(value: Any) -> dict[str, str | None] | None:
    """A term of rdflib in our words."""
    if value is None:
        return None
    if isinstance(value, rdflib.URIRef):
        return {"type": "uri", "value": str(value), "datatype": None, "language": None}
    datatype = str(value.datatype) if value.datatype else None
    return {"type": "literal", "value": str(value), "datatype": datatype, "language": value.language}


# -- frames of terms --------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
LITERALS = st.one_of(
    st.builds(ox.Literal, TEXT),
    st.builds(ox.Literal, TEXT, language=st.sampled_from(["en", "de-at", "zh-hans"])),
    st.builds(ox.Literal, TEXT, datatype=st.sampled_from([ox.NamedNode("urn:t"), ox.NamedNode(XSD + "anyURI")])),
    st.builds(ox.Literal, st.integers()),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda d: ox.Literal(str(d), datatype=DECIMAL)),
    st.builds(ox.Literal, st.floats()),
    st.builds(ox.Literal, st.booleans()),
    st.sampled_from([ox.NamedNode("http://a/b#c"), ox.BlankNode("b1")]),
)
DECIMAL = ox.NamedNode(XSD + "decimal")


@examples(20)
@given(values=st.lists(st.one_of(st.none(), LITERALS), min_size=1, max_size=6))
def test_a_term_is_that_of_sparql_json(values: list[Any]) -> None:
    """The frame has what the engine's own JSON says, whatever the values."""
    store, subjects = ox.Store(), ox.NamedNode("urn:p")
    for number, value in enumerate(values):
        node = ox.NamedNode(f"urn:{number:03}")
        store.add(ox.Quad(node, ox.NamedNode("urn:n"), ox.Literal(number)))
        if value is not None:
            store.add(ox.Quad(node, subjects, value))
    query = "SELECT ?v { ?s <urn:n> ?n OPTIONAL { ?s <urn:p> ?v } } ORDER BY ?n"
    body = store.query(query).serialize(format=ox.QueryResultsFormat.TSV)
    told = json.loads(store.query(query).serialize(format=ox.QueryResultsFormat.JSON))["results"]["bindings"]
    expected = [
        {"type": t["type"], "value": t["value"], "datatype": t.get("datatype"), "language": t.get("xml:lang")}
        if (t := row.get("v"))
        else None
        for row in told
    ]
    assert terms("select", body)["v"].to_list() == expected


@pytest.mark.core
def test_a_frame_of_terms(world: KnowledgeBase) -> None:
    found = world.sparql_terms(
        "SELECT ?d ?t { VALUES (?d ?t) { (0.1234567890123456789012345 'x'@en) (UNDEF <urn:a>) } }"
    )
    assert Decimal(found["d"].struct.field("value")[0]) == Decimal("0.1234567890123456789012345")
    assert found["d"].struct.field("datatype").to_list() == [XSD + "decimal", None]
    assert found["t"].to_list() == [
        {"type": "literal", "value": "x", "datatype": None, "language": "en"},
        {"type": "uri", "value": "urn:a", "datatype": None, "language": None},
    ]
    [triple] = world.sparql_terms("SELECT (TRIPLE(<urn:a>, <urn:b>, 'c\\n') AS ?t) {}")["t"]
    assert (triple["type"], triple["value"]) == ("triple", '<<( <urn:a> <urn:b> "c\\n" )>>')
    [asked] = world.sparql_terms("ASK {}")["ask"]
    assert (asked["value"], asked["datatype"]) == ("true", XSD + "boolean")
    assert world.sparql_terms("SELECT ?x { ?x a <urn:none> }").schema == {"x": terms("ask", b"true").dtypes[0]}
    assert world.sparql_terms(GRAPH, max_rows=3).columns == ["subject", "predicate", "object"]


# -- published formats ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sparql-json", "sparql-xml", "sparql-tsv"])
def test_rdflib_reads_the_terms_of_rows(world: KnowledgeBase, form: str) -> None:
    with world.sparql_results(MIXED, form) as found:
        assert (found.kind, found.format.name) == ("select", form)
        body = found.read()
    if form == "sparql-tsv":
        body = body.replace(b"\\t", b" ")  # rdflib does not read this escape
    result = rdflib.query.Result.parse(io.BytesIO(body), format=form.removeprefix("sparql-"))
    got = [{str(name): as_term(row.get(name)) for name in result.vars} for row in result.bindings]
    rows = world.sparql_terms(MIXED).to_dicts()
    if form == "sparql-tsv":
        rows = [{k: v and {**v, "value": v["value"].replace("\t", " ")} for k, v in row.items()} for row in rows]
    assert got == rows


def test_csv_is_that_of_the_specification(world: KnowledgeBase) -> None:
    with world.sparql_results(MIXED, "sparql-csv") as found:
        body = found.read()
    assert body.startswith(b"x,y\r\n")
    result = rdflib.query.Result.parse(io.BytesIO(body), format="csv")
    got = [[str(row[name]) if name in row else "" for name in result.vars] for row in result.bindings]
    rows = [[term["value"] if term else "" for term in row] for row in world.sparql_terms(MIXED).rows()]
    assert got == rows


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("query", [GRAPH, "DESCRIBE country:FRA"])
def test_rdflib_reads_graphs(world: KnowledgeBase, form: str, query: str) -> None:
    with world.sparql_results(query, form) as found:
        graph = rdflib.Graph().parse(data=found.read(), format=READERS[form])
    rows = world.sparql(query).unique()
    assert {tuple(map(str, triple)) for triple in graph} == set(rows.rows())


def test_ask_and_the_defaults(world: KnowledgeBase) -> None:
    for form, reader in (("sparql-json", "json"), ("sparql-xml", "xml")):
        with world.sparql_results("ASK {}", form) as found:
            assert rdflib.query.Result.parse(io.BytesIO(found.read()), format=reader).askAnswer is True
    with world.sparql_results("ASK {}") as found:
        assert found.format.name == "sparql-json"
    with world.sparql_results(GRAPH) as found:
        assert found.format.name == "turtle"


def test_a_result_left_early_ends_its_query(tiny_kb: Path) -> None:
    """Its process is gone; others go on, and a result can be read while another is open."""
    huge = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    with kbkit.open(tiny_kb) as kb:
        with kb.sparql_results(huge, "sparql-csv", engine="oxigraph") as found:
            chunks = iter(found)
            assert next(chunks).startswith(b"a,b,c,")
            [process] = kb.triples.pool.processes
            assert kb.sparql("ASK {}", engine="oxigraph")["ask"].to_list() == [True]
        assert process.poll() is not None
        with pytest.raises(QueryError, match="cancelled"), found:
            pass
        assert len(kb.triples.pool.processes) == 1


def test_limits_and_dialects_apply(wikidata: KnowledgeBase) -> None:
    query = 'SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 SERVICE wikibase:label { bd:serviceParam wikibase:language "de" } }'
    with wikidata.sparql_results(query, "sparql-json", max_rows=3) as found:
        rows = json.loads(found.read())["results"]["bindings"]
    assert [row["xLabel"]["xml:lang"] for row in rows] == ["de"] * 3
    with pytest.raises(QueryError, match="cannot be limited"):
        wikidata.sparql_results("SELECT * { ?s ?p <<( ?a ?b ?c )>> }", dialect="sparql", max_rows=3)


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", sparql_formats.ALL, ids=lambda known: known.name)
def test_formats_and_suffixes_of_the_command(here, world: KnowledgeBase, world_kb: Path, tmp_path: Path, known) -> None:
    is_graph = known.holds == sparql_formats.GRAPH
    query = GRAPH if is_graph else MIXED

    def written(text: bytes) -> Any:
        """Triples have no order."""
        return set(rdflib.Graph().parse(data=text, format=READERS[known.name])) if is_graph else text

    with world.sparql_results(query, known.name) as found:
        body = found.read()
    has_suffix = known.suffix in sparql_formats.SUFFIXES
    name = known.suffix[1:] if has_suffix else known.name
    assert written(good(here("sparql", world_kb, query, "-f", name)).encode()) == written(body)
    out = tmp_path / f"out{known.suffix}"
    chosen = () if has_suffix else ("-f", known.name)
    assert good(here("sparql", world_kb, query, "-o", out, *chosen)) == ""
    assert written(out.read_bytes()) == written(body)


def test_rows_for_a_terminal_end_in_one_sign(here, world_kb: Path) -> None:
    for name in ("csv", "sparql-csv", "tsv", "srj"):
        assert "\r" not in good(here("sparql", world_kb, MIXED, "-f", name, terminal=True))


@pytest.mark.parametrize(
    "args",
    [
        ("SELECT * { ?s ?p ?o } LIMIT 1", "-f", "turtle"),
        ("ASK {}", "-f", "jsonld"),
        ("DESCRIBE country:FRA", "-f", "sparql-json"),
        ("ASK {}", "-f", "srq"),
        ("ASK {}", "-o", "out.foo"),
        ("ASK {}", "-o", "nowhere/out.srj"),
        ("#defaultView:Map\nSELECT * { ?s ?p ?o } LIMIT 1", "--plot", "map.svg"),
        ("#defaultView:BarChart\nSELECT * { ?s a ?o } LIMIT 1", "--plot", "bar.svg"),
        ("#defaultView:Graph\nSELECT * { ?s rdfs:label ?o } LIMIT 1", "--plot", "graph.svg"),
        ("#defaultView:Globe\nASK {}", "--plot", "map.svg"),
        ("#defaultView:Map{hide}\nASK {}", "--plot", "map.svg"),
        ("#defaultView:Map\nASK {}", "--plot", "map.pdf"),
        ("SELECT * { ?s ?p ?o } LIMIT 1", "--plot", "table.svg"),
        ("#defaultView:Map\nASK {}", "--plot", "map.svg", "-f", "sparql-json"),
    ],
)
def test_errors_of_the_command(here, world_kb: Path, tmp_path: Path, wording: Wording, args: tuple[str, ...]) -> None:
    wording(one_line(here("sparql", world_kb, *args, cwd=tmp_path)), "cli")
    assert list(tmp_path.iterdir()) == []


# -- drawings ---------------------------------------------------------------------------------------------------------

LABELS = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "en" }'
DRAWN = {
    "Map": ('{"hide": ["?c"], "layer": "?tLabel"}', "?x ?xLabel ?c ?tLabel", "?x wdt:P625 ?c ; wdt:P31 ?t"),
    "Timeline": ("", "?xLabel ?b ?d", "?x wdt:P569 ?b OPTIONAL { ?x wdt:P570 ?d }"),
    "BarChart": ("", "?xLabel ?n", "?x wdt:P2048 ?n"),
    "LineChart": ("", "?b ?n", "?x wdt:P569 ?b ; wdt:P2048 ?n"),
    "ScatterChart": ("", "?n ?m ?xLabel", "?x wdt:P1082 ?n ; wdt:P2046 ?m"),
    "Graph": ("", "?x ?xLabel ?type ?typeLabel", "?x wdt:P31 ?type"),
    "Tree": ("", "?type ?typeLabel ?x ?xLabel", "?x wdt:P31 ?type"),
    "ImageGrid": ("", "?xLabel ?image", "?x wdt:P18 ?image"),
    "Table": ("", "?xLabel", "?x wdt:P31 wd:Q5"),
}


def viewed(name: str) -> str:
    """A query of the Wikidata sample for a view."""
    options, columns, pattern = DRAWN[name]
    return f"#defaultView:{name}{options}\nSELECT {columns} {{ {pattern} {LABELS} }} ORDER BY ?xLabel LIMIT 60"


FIRST = ("Table", "BarChart", "Graph")
"""Views that a default run draws; each picture is drawn by another program."""


@pytest.mark.parametrize(
    "name", [*FIRST, *(pytest.param(name, marks=pytest.mark.system) for name in VIEWS if name not in FIRST)]
)
def test_views(wikidata: KnowledgeBase, tmp_path: Path, name: str) -> None:
    view = wikidata.sparql_view(viewed(name))
    page = name in ("Table", "ImageGrid")
    out = tmp_path / ("view.html" if page else "view.svg")
    view.write(out)
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>" if page else "<svg")
    assert view.rows.height
    if name == "ImageGrid":
        assert 'href="http://commons.wikimedia.org/' in text
    if name in ("Table", "ImageGrid", "Timeline", "BarChart", "Graph", "Tree"):
        assert sum(str(label) in text for label in view.rows["xLabel"]) >= min(3, view.rows.height)


@pytest.mark.system
@pytest.mark.core
def test_the_command_draws_beside_the_table(here, wikidata_kb: Path, tmp_path: Path) -> None:
    query = viewed("Map")
    page = tmp_path / "map.html"
    rows = good(here("sparql", wikidata_kb, query, "-f", "csv"))
    assert good(here("sparql", wikidata_kb, query, "-f", "csv", "--plot", page), f"{page}: Map\n") == rows
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Warsaw" in text


def test_a_map_has_equal_axes_and_only_earth(wikidata: KnowledgeBase) -> None:
    query = "#defaultView:Map\nSELECT ?x ?c { ?x wdt:P625 ?c }"
    view = wikidata.sparql_view(query)
    drawn = view._chart()
    on_earth = view.rows.filter(~pl.col("c").str.starts_with("<"))
    assert drawn.equal
    assert 0 < drawn.frame.height == on_earth.height < view.rows.height
    found = dict(zip(drawn.frame["label"], zip(drawn.frame["x"], drawn.frame["y"], strict=True), strict=True))
    [place] = wikidata.sparql("SELECT ?c { wd:Q270 wdt:P625 ?c }")["c"]
    assert found["Q270"] == tuple(map(float, re.findall(r"[-\d.]+", place)))


def test_a_graph_of_triples(world: KnowledgeBase, tmp_path: Path) -> None:
    view = world.sparql_view(
        "CONSTRUCT { ?a rel:borders ?b ; rdfs:label ?n } WHERE { ?a rel:borders ?b ; rdfs:label ?n }"
    )
    drawn = view._graph()
    pairs = world.sparql("SELECT DISTINCT ?a ?b { ?a rel:borders ?b }")
    assert drawn.edges.height == pairs.height
    assert drawn.nodes.height == pl.concat([pairs["a"], pairs["b"]]).n_unique()
    assert drawn.nodes["id"][0] == drawn.center
    view.write(tmp_path / "graph.graphml")
    assert (tmp_path / "graph.graphml").read_text(encoding="utf-8").count("<edge ") == pairs.height


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("SELECT * {}", "", {}),
        ("#defaultView:Map\nSELECT * {}", "Map", {}),
        ("# defaultview : map \nSELECT * {}", "Map", {}),
        ('SELECT * {} #defaultView:Map{"hide":"?c"}', "Map", {"hide": "?c"}),
        ("#defaultView:AreaChart\n#defaultView:Map\nASK {}", "LineChart", {}),
        ("SELECT ('#defaultView:Map' AS ?x) {}", "", {}),
    ],
)
def test_the_comment(text: str, name: str, options: dict[str, Any]) -> None:
    found = wanted(text)
    assert (found.name, found.options) == (name, options)


def test_an_address_is_a_link_only_on_the_web(tmp_path: Path, world: KnowledgeBase) -> None:
    query = "SELECT ?x { VALUES ?x { <javascript:alert(1)> 'http://a/\"onclick=\"x' <http://a/b?c=d&e> '<script>' } }"
    world.sparql_view(query).write(tmp_path / "table.html")
    text = (tmp_path / "table.html").read_text(encoding="utf-8")
    assert re.findall("href=[^ ]*", text) == ['href="http://a/b?c=d&amp;e"']
    assert "<script" not in text
    with pytest.raises(KbError, match="does not exist"):
        world.sparql_view(query).write(tmp_path / "nowhere" / "table.html")
