"""What the RDF store holds equals the statements that the tables call for, one by one."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pyoxigraph as ox
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import QueryError
from kbkit.export import export
from kbkit.kb import KnowledgeBase
from tests.examples import examples

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
XSD = "http://www.w3.org/2001/XMLSchema#"

Statement = tuple[str, str, object]

NASTY = [
    "plain", 'quote"', "back\\slash", "\\", '\\"', "\\n", "tab\t", "line\nbreak", "return\r", "\x01\x1f\x7f", "é糖🤧",
    "> . <urn:a> <urn:b> <urn:c", '" . <urn:a> <urn:b> "c', "a b", "a/b", "a#b", "a%20b", "'; DROP TABLE nodes; --",
    "<x>", "{$x}", "\u2028", "\u0085", "_:b", "ünïcode", " lead", ".",
]  # fmt: skip
TEXT = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=20),
)


def stored(kb: KnowledgeBase) -> Counter[Statement]:
    """All statements of the RDF store, literals as Python values. Statement nodes are told by what they say."""
    store = ox.Store.read_only(str(kb.folder / "triples"))
    return Counter((q.subject.value, q.predicate.value, plain(q.object)) for q in store)


def plain(term: Any) -> object:
    """A comparable value of an RDF term."""
    if not isinstance(term, ox.Literal):
        return ("node", term.value)
    kind = term.datatype.value.removeprefix(XSD)
    read: dict[str, Any] = {
        "integer": int,
        "double": lambda v: v if math.isnan(float(v)) else float(v),
        "boolean": {"true": True, "false": False}.get,
        "date": date.fromisoformat,
        "dateTime": datetime.fromisoformat,
        "string": str,
    }
    return (kind, read[kind](term.value))


def literal(value: Any) -> object:
    """What :func:`plain` makes of the literal of a table's value."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int):
        return ("integer", value)
    if isinstance(value, float):
        return ("double", "NaN" if math.isnan(value) else value)
    if isinstance(value, datetime):
        return ("dateTime", value)
    if isinstance(value, date):
        return ("date", value)
    return ("string", value)


def identifiers(names: list[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def expected(kb: KnowledgeBase) -> Counter[Statement]:
    """The statements that the tables call for, row by row."""
    schema, rows = kb.schema, kb.tables.rows
    iris, result = {}, set()

    def add(subject: str, predicate: str, value: object) -> None:
        result.add((subject, predicate, value))

    def escaped(text: str) -> str:
        return quote(text, safe="")

    def node_type(node: int, name: str) -> None:
        for predicate in ("urn:kbkit:type", RDF + "type"):
            add(iris[node], predicate, ("node", f"{schema.base}type/{escaped(name)}"))

    for node, kind, key, name, aliases in rows("SELECT id, type, key, name, aliases FROM nodes"):
        iris[node] = f"{schema.base}{escaped(kind)}/{escaped(key)}"
        node_type(node, kind)
        add(iris[node], RDFS + "label", literal(name))
        add(iris[node], "urn:kbkit:key", literal(key))
        for alias in aliases or []:
            add(iris[node], SKOS + "altLabel", literal(alias))
    for node, kind in rows("SELECT id, type FROM node_types"):
        node_type(node, kind)
    for owner in schema.node_types:
        if not owner.attributes:
            continue
        names = [a.name for a in owner.attributes]
        mine = {"first": owner.first, "last": owner.last}
        for node, *values in rows(
            f"SELECT id, {identifiers(names)} FROM {identifiers([owner.table])} WHERE id BETWEEN $first AND $last", mine
        ):
            for name, value in zip(names, values, strict=True):
                for item in value if isinstance(value, list) else [value]:
                    if item is not None:
                        add(iris[node], f"{schema.base}attr/{escaped(name)}", literal(item))
    for node, field, text in rows("SELECT id, field, text FROM texts"):
        add(iris[node], f"{schema.base}text/{escaped(field)}", literal(text))
    for head, relation, tail in rows("SELECT DISTINCT head, relation, tail FROM edges"):
        add(iris[head], f"{schema.base}rel/{escaped(relation)}", ("node", iris[tail]))
    return Counter(result)


def statements(found: Counter[Statement], kb: KnowledgeBase) -> list[frozenset[tuple[str, object]]]:
    """Take the statement nodes out of ``found``: what each says."""
    about: dict[str, set[tuple[str, object]]] = {}
    for subject, predicate, value in list(found):
        if subject.startswith(f"{kb.schema.base}statement/"):
            about.setdefault(subject, set()).add((predicate, value))
            del found[subject, predicate, value]
    return [frozenset(said) for said in about.values()]


def expected_statements(kb: KnowledgeBase) -> list[frozenset[tuple[str, object]]]:
    """One for each row of a relation with attributes."""
    result, base = [], kb.schema.base
    iris = {
        node: f"{base}{quote(kind, safe='')}/{quote(key, safe='')}"
        for node, kind, key in kb.tables.rows("SELECT id, type, key FROM nodes")
    }
    for relation in kb.schema.relations:
        if not relation.attributes:
            continue
        names = [a.name for a in relation.attributes]
        for head, tail, *values in kb.tables.rows(
            f"SELECT head, tail, {identifiers(names)} FROM edges WHERE relation = $relation",
            {"relation": relation.name},
        ):
            said: set[tuple[str, object]] = {
                (RDF + "type", ("node", RDF + "Statement")),
                (RDF + "subject", ("node", iris[head])),
                (RDF + "predicate", ("node", relation.iri)),
                (RDF + "object", ("node", iris[tail])),
            }
            said |= {
                (f"{base}attr/{quote(name, safe='')}", literal(value))
                for name, value in zip(names, values, strict=True)
                if value is not None
            }
            result.append(frozenset(said))
    return result


def assert_whole(kb: KnowledgeBase) -> None:
    found = stored(kb)
    assert Counter(statements(found, kb)) == Counter(expected_statements(kb))
    assert found == expected(kb)


MAYBE = {
    "whole": st.integers(-(2**63), 2**63 - 1),
    "fraction": st.floats(width=64),
    "flag": st.booleans(),
    "day": st.dates(date(1, 1, 1)),
    "moment": st.datetimes(datetime(1, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
    "word": TEXT,
    "words": st.lists(TEXT | st.none(), max_size=4),
    "numbers": st.lists(st.integers(-9, 9) | st.none(), max_size=4),
    'odd "name" > . <urn:x>': st.integers(0, 9),
}
TYPES = {
    "whole": pl.Int64,
    "fraction": pl.Float64,
    "flag": pl.Boolean,
    "day": pl.Date,
    "moment": pl.Datetime("us"),
    "word": pl.String,
    "words": pl.List(pl.String),
    "numbers": pl.List(pl.Int64),
    'odd "name" > . <urn:x>': pl.Int64,
}


@examples(3, phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_the_store_holds_what_the_tables_call_for(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    keys = data.draw(st.lists(TEXT, min_size=2, max_size=12, unique=True))
    kinds = [data.draw(st.sampled_from(["plain", "gene/protein", 'a > . <urn:b> "c', "two words"])) for _ in keys]
    columns: dict[str, list[Any]] = {name: [data.draw(st.none() | some) for _ in keys] for name, some in MAYBE.items()}
    nodes = pl.DataFrame(
        {
            "key": keys,
            "type": kinds,
            "name": [data.draw(TEXT) for _ in keys],
            "aliases": [data.draw(st.lists(TEXT, max_size=3)) for _ in keys],
            "types": [data.draw(st.lists(st.sampled_from(["plain", "other > type"]), max_size=2)) for _ in keys],
            **columns,
        },
        schema={"key": pl.String, "type": pl.String, "name": pl.String, "aliases": pl.List(pl.String),
                "types": pl.List(pl.String), **TYPES},
    )  # fmt: skip
    end = st.sampled_from(keys)
    relation = st.sampled_from(["knows", "order", "is part of", 'x> . <urn:a> <urn:b> "c" . <', "ключ"])
    edges = data.draw(
        st.lists(st.tuples(end, relation, end, st.none() | st.integers(0, 3), st.none() | TEXT), min_size=1)
    )
    texts = data.draw(
        st.lists(st.tuples(end, st.sampled_from(["summary", "odd > field"]), TEXT), min_size=1, max_size=20)
    )
    source = tmp_path_factory.mktemp("source")
    nodes.write_parquet(source / "nodes.parquet")
    edge_columns = {"head": pl.String, "relation": pl.String, "tail": pl.String, "times": pl.Int64, "note": pl.String}
    pl.DataFrame(edges, schema=edge_columns, orient="row").write_parquet(source / "edges.parquet")
    pl.DataFrame(texts, schema=["key", "field", "text"], orient="row").write_parquet(source / "texts.parquet")
    with kbkit.ingest("table", source, out=source / "out.kb", stores=["triples"]) as kb:
        assert kb.schema.nodes == len(keys)
        assert_whole(kb)


@pytest.mark.core
def test_the_tiny_graph(tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as kb:
        assert_whole(kb)


def test_the_sample(world_kb: Path) -> None:
    with kbkit.open(world_kb) as kb:
        assert_whole(kb)


def test_an_edge_with_attributes_is_a_statement_node(tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as kb:
        frame = kb.sparql(
            "SELECT ?quantity ?since { ?s a rdf:Statement ; rdf:subject person:1 ; rdf:predicate rel:order ;"
            " rdf:object drug:1 ; attr:quantity ?quantity ; attr:since ?since } ORDER BY ?quantity"
        )
        assert frame.rows() == [(2, "2020-01-15"), (3, "2021-06-30")]
        assert kb.sparql("SELECT * { person:1 rel:order drug:1 }").height <= 1
        assert kb.sparql("ASK { person:1 rel:order drug:1 }")["ask"].to_list() == [True]


def test_names_cannot_write_statements(tmp_path: Path) -> None:
    evil = 'x" . <urn:evil> <urn:evil> "x'
    iri = "x> . <urn:evil> <urn:evil> <urn:x"
    pl.DataFrame(
        {"key": [evil, iri], "type": [iri, evil], "name": [evil, iri], "note": [evil, iri], iri: [1, 2]}
    ).write_parquet(tmp_path / "nodes.parquet")
    pl.DataFrame({"head": [evil], "relation": [iri], "tail": [iri], evil: [1]}).write_parquet(
        tmp_path / "edges.parquet"
    )
    pl.DataFrame({"key": [evil], "field": [iri], "text": [evil]}).write_parquet(tmp_path / "texts.parquet")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "out.kb", stores=["triples"]) as kb:
        assert kb.sparql("ASK { <urn:evil> ?p ?o }")["ask"].to_list() == [False]
        assert kb.sparql("SELECT ?l { ?s rdfs:label ?l }")["l"].sort().to_list() == sorted([evil, iri])
        assert_whole(kb)


def test_moments_keep_their_fraction(tmp_path: Path) -> None:
    moment = datetime(2020, 1, 2, 3, 4, 5, 678_000)
    pl.DataFrame({"key": ["a"], "at": [moment]}).write_parquet(tmp_path / "nodes.parquet")
    pl.DataFrame({"head": ["a"], "relation": ["is"], "tail": ["a"]}).write_parquet(tmp_path / "edges.parquet")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "out.kb", stores=["triples"]) as kb:
        [found] = kb.sparql("SELECT ?at { ?s attr:at ?at }")["at"].to_list()
        assert datetime.fromisoformat(found) == moment


def test_a_table_of_more_columns_than_an_expression_may_nest(tmp_path: Path) -> None:
    columns = [f"c{number}" for number in range(1_100)]
    rows = [",".join(["id", *columns]), *(",".join([key, *("7" for _ in columns)]) for key in ("a", "b"))]
    (tmp_path / "nodes.csv").write_text("\n".join(rows))
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,next,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["tables", "triples"]) as kb:
        assert {attribute.type for attribute in kb.schema.node_types[0].attributes} == {"BIGINT"}
        assert len(kb.sparql("SELECT ?p { ?s ?p 7 }")) == 2 * len(columns)  # on Oxigraph
        with pytest.raises(QueryError, match="reads more than 1,000 columns or types"):
            kb.sparql("SELECT ?p { ?s ?p 7 }", engine="columns")
        export(kb, "kgtk", tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_text().count("\tc1099\t7") == 2
