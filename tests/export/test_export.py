"""Exports hold what the KB holds: read back by other programs, and built again."""

from __future__ import annotations

import ast
import csv
import gzip
import json
import os
import pickle
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.dataset
import pyoxigraph as ox
import pytest

import kbkit
from kbkit.directory import systems
from kbkit.directory.typed_json import from_json
from kbkit.display.progress import Event
from kbkit.errors import KbError
from kbkit.export import export
from kbkit.export.folder import partition
from kbkit.export.kgtk import symbol
from kbkit.export.numbering import numbering
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, Schema, merged_attributes, quote
from tests import kbs
from tests.conftest import Run
from tests.ingestion.test_recipes import content
from tests.samples import stark
from tests.wording import Wording

HOSTILE = r"""
CREATE TABLE nodes AS SELECT * FROM (VALUES
 (E'a\tb"c', 'gene/protein', E'na\nme|\\', ['x', 'y"z'], ['a=b', '100%'], ' ', 1::HUGEINT << 100, INTERVAL 3 DAY,
  [DATE '2020-01-31', DATE '1999-12-31'], 1.5::DECIMAL(10, 2), {'p': 1, 'q': 'z "z"'},
  TIMESTAMP '2001-02-03 04:05:06.5', true, 0.1::DOUBLE, '\xAB'::BLOB),
 ('1', 'a=b', NULL, NULL, NULL, 'v', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'inf'::DOUBLE, NULL),
 ('1', '100%', 'nul' || chr(0) || 'x', NULL, NULL, NULL, -1, NULL, [], 2.25, NULL, NULL, false, NULL, NULL),
 ('True', E'new\nline', 'é', NULL, ['only other'], '007', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 ('7', '2020', 'seven', NULL, NULL, '8', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 ('8', '2020', 'eight', NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
) t(key, type, name, aliases, types, "say ""empty"" text",
    huge, span, dates, price, struct, moment, flag, number, bytes);
CREATE TABLE edges AS SELECT * FROM (VALUES
 ('gene/protein', E'a\tb"c', 'r/1=%', 'a=b', '1', 3, 'w|'),
 ('gene/protein', E'a\tb"c', 'r/1=%', 'a=b', '1', 4, ''),
 ('a=b', '1', E'2 r\n', '2020', '7', NULL, NULL),
 ('100%', '1', 'type', '100%', '1', NULL, NULL),
 ('2020', '8', 'both ways', '2020', '7', 5, NULL),
 ('2020', '7', 'both ways', '2020', '7', 6, NULL)
) t(head_type, head, relation, tail_type, tail, head_key, "a ""note"" b");
CREATE TABLE texts AS SELECT * FROM (VALUES
 ('gene/protein', E'a\tb"c', 'f/1', E'line\r\nline "two", tab\t | \\ ''q'''),
 ('gene/protein', E'a\tb"c', 'f/1', 'another'),
 ('2020', '7', NULL, 'plain ' || chr(0))
) t(type, key, field, text);
CREATE TABLE type_iris AS SELECT '2020' AS type, 'http://e.org/twenty' AS iri;
CREATE TABLE candidate_types AS SELECT '2020' AS type;
"""

HOSTILE_TOML = """title = "the title\\u007f"
licence = 'a "licence"'
base = "http://e.org/"
name_weight = 2.5
[files.any]
match = ["any.csv"]
[types."2020"]
description = "said \\"so\\""
[relations."both ways"]
label = "goes\\nboth ways"
symmetric = true
iri = "http://e.org/both"
[texts."f/1"]
weight = 3
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "recipe.toml").write_text(HOSTILE_TOML, encoding="utf-8")
    (folder / "load.sql").write_text(HOSTILE, encoding="utf-8")
    (folder / "any.csv").write_text("a\n1\n", encoding="utf-8")
    with kbkit.ingest(str(folder), folder / "any.csv", out=folder / "kb", stores=["adjacency", "triples"]) as kb:
        yield kb


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Nodes only: no type, no edge, no text."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "nodes.csv").write_text("key\na\nb\n", encoding="utf-8")
    (folder / "edges.csv").write_text("head,relation,tail\n", encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "kb", stores=["adjacency", "triples"]) as kb:
        yield kb


@pytest.fixture(params=["hostile", "world", "bare"])
def kb(request: pytest.FixtureRequest) -> KnowledgeBase:
    return request.getfixturevalue(request.param)


def rows(kb: KnowledgeBase, query: str) -> list[tuple[Any, ...]]:
    return sorted(kb.tables.rows(query), key=repr)


def owned(kb: KnowledgeBase) -> str:
    """All attributes of all nodes by (id, name): value as text."""
    parts = [
        f"SELECT id, '{a.name}' AS name, {quote(a.name)}::VARCHAR AS value FROM {quote(t.table)}"
        f" WHERE id BETWEEN {t.first} AND {t.last} AND {quote(a.name)} IS NOT NULL"
        for t in kb.schema.node_types
        for a in t.attributes
    ]
    return " UNION ALL ".join(parts) or "SELECT 0, '', '' WHERE false"


# -- partitions -------------------------------------------------------------------------------------------------------


def test_parquet_partitions_hold_the_tables(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, "parquet", tmp_path / "out")
    con = duckdb.connect()

    def read(query: str, table: str, column: str) -> list[tuple[Any, ...]]:
        hive = f", hive_types = {{'{column}': VARCHAR}}" if column else ""
        source = f"read_parquet('{tmp_path}/out/{table}/**'{hive})"
        return sorted(con.execute(query.replace("FILES", source)).fetchall(), key=repr)

    assert read("SELECT id, type, key, name, aliases FROM FILES", "nodes", "type") == rows(
        kb, "SELECT id, type::VARCHAR, key, name, aliases FROM nodes"
    )
    assert read("SELECT id, unnest(types) FROM FILES", "nodes", "type") == rows(
        kb, "SELECT id, type::VARCHAR FROM node_types"
    )
    assert read("SELECT id, type FROM FILES", "node_types", "") == rows(kb, "SELECT id, type::VARCHAR FROM node_types")
    assert read("SELECT id, type, key, field, position, text FROM FILES", "texts", "") == rows(
        kb, "SELECT id, type::VARCHAR, key, field, position, text FROM texts JOIN nodes USING (id)"
    )
    attributes = {a.name for t in kb.schema.node_types for a in t.attributes}
    values = " UNION ALL ".join(
        f"SELECT id, '{name}', {quote(name)}::VARCHAR FROM FILES WHERE {quote(name)} IS NOT NULL" for name in attributes
    )
    if attributes:
        assert read(values, "nodes", "type") == rows(kb, owned(kb))
    if kb.schema.relations:
        ends = "head, relation, tail, head_type, head_key, tail_type, tail_key"
        expected = """SELECT head, relation::VARCHAR, tail, h.type::VARCHAR, h.key, t.type::VARCHAR, t.key FROM edges e
            JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"""
        assert read(f"SELECT {ends} FROM FILES", "edges", "relation") == rows(kb, expected)
    written = json.loads((tmp_path / "out" / "schema.json").read_text(encoding="utf-8"))
    assert from_json(Schema, written["schema"], "") == kb.schema
    assert (written["format"], written["layout"]) == ("parquet", "partitioned")


def test_edge_attributes_keep_their_types_and_give_way_to_columns_of_ours(
    hostile: KnowledgeBase, tmp_path: Path
) -> None:
    export(hostile, "parquet", tmp_path / "out")
    source = f"read_parquet('{tmp_path}/out/edges/*/*')"
    assert duckdb.execute(
        f'SELECT relation, head_key_, "a ""note"" b" FROM {source} WHERE relation <> \'type\' ORDER BY ALL'
    ).fetchall() == [
        ("2 r\n", None, None),
        *[("both ways", n, None) for n in (5, 5, 6)],
        ("r/1=%", 3, "w|"),
        ("r/1=%", 4, ""),
    ]


def test_polars_and_arrow_read_the_partitions(hostile: KnowledgeBase, tmp_path: Path) -> None:
    export(hostile, "parquet", tmp_path / "out")
    expected = Counter(t for (t,) in rows(hostile, "SELECT type::VARCHAR FROM nodes"))
    frame = pl.scan_parquet(tmp_path / "out" / "nodes", hive_schema={"type": pl.String}).collect()
    assert Counter(frame["type"]) == expected
    relations = Counter(r for (r,) in rows(hostile, "SELECT relation::VARCHAR FROM edges"))
    dataset = pyarrow.dataset.dataset(tmp_path / "out" / "edges", partitioning="hive")
    assert Counter(dataset.to_table()["relation"].to_pylist()) == relations


def test_row_groups_are_small_enough_to_hold(world: KnowledgeBase, tmp_path: Path) -> None:
    export(world, "parquet", tmp_path / "out")
    about = duckdb.execute(
        "SELECT DISTINCT compression, row_group_num_rows <= 122880"
        f" FROM parquet_metadata('{tmp_path}/out/**/*.parquet')"
    )
    assert about.fetchall() == [("ZSTD", True)]


def test_partitions_are_named_as_hive_names_them() -> None:
    assert partition("type", "gene/protein") == "type=gene%2Fprotein"
    assert partition("type", "a=b %\n'#:?*\\[x]{y}^\"") == "type=a%3Db %25%0A%27%23%3A%3F%2A%5C%5Bx%5D%7By%7D%5E%22"
    assert partition("relation", "étude-1.2_糖") == "relation=étude-1.2_糖"


EXPRESSIONS = (
    'gene/protein:"BRCA1" -> [associated_with] -> disease',
    "disease <- [is treated by] <- drug",
    'drug{year > 1900, approved = true} | (disease:"flu 🤧" -> [is treated by] -> drug)',
    "hormone",
    'gene/protein:"BRCA1" -> [interacts|associated_with] -> gene/protein',
    "gene/protein#g2 -> [interacts+] -> gene/protein",
    "* - drug",
)


def test_compiled_sql_runs_over_the_parquet(small: KnowledgeBase, tmp_path: Path) -> None:
    """What another SQL engine needs is there: views of the tables, types and relations, and no KB."""
    export(small, "parquet", tmp_path / "out")
    con = duckdb.connect()
    for table in ("nodes", "edges", "texts", "node_types"):
        con.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{tmp_path}/out/{table}/**')")
    written = json.loads((tmp_path / "out" / "schema.json").read_text(encoding="utf-8"))
    schema = from_json(Schema, written["schema"], "")
    for node_type in schema.node_types:
        con.execute(
            f"CREATE VIEW {quote(node_type.table)} AS SELECT * FROM nodes WHERE type = '{node_type.name}'"
            f" OR id IN (SELECT id FROM node_types WHERE type = '{node_type.name}')"
        )
    for relation in schema.relations:
        con.execute(f"CREATE VIEW {quote(relation.table)} AS SELECT * FROM edges WHERE relation = '{relation.name}'")
    for expression in EXPRESSIONS:
        answers = small.answers(expression)
        expected = sorted(answers.ids)
        assert expected
        assert [row[0] for row in con.execute(answers.sql).fetchall()] == expected, expression


# -- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kb", "form"),
    [
        ("small", "parquet"),
        ("hostile", "parquet"),
        ("hostile", "csv"),
        ("world", "csv"),
        ("bare", "csv"),
    ],
    indirect=["kb"],
)
def test_a_flat_export_builds_the_same_kb_again(kb: KnowledgeBase, tmp_path: Path, form: str) -> None:
    export(kb, form, tmp_path / "out", flat=True, gzip=form == "csv" and bool(kb.schema.text_fields))
    before = content(kb)
    with kbkit.ingest(str(tmp_path / "out"), out=tmp_path / "again", stores=["tables"]) as again:
        after = content(again)
        assert again.manifest.recipe["licence"] == kb.manifest.recipe["licence"]
        assert again.manifest.report == {**again.manifest.report, "duplicate_edges": 0, "merged_nodes": 0}
    if form == "csv":  # what is empty in CSV is nothing to the reader
        before, after = forgetful(before), forgetful(after)
    assert after["schema"] == before["schema"]
    assert after == before


def forgetful(tables: dict[str, Any]) -> dict[str, Any]:
    def forget(value: Any) -> Any:
        return tuple(None if cell == "" else cell for cell in value)

    return {
        name: value if name == "schema" else (value[0], sorted(map(forget, value[1]), key=repr))
        for name, value in tables.items()
    }


@pytest.mark.parametrize("kb", ["small"], indirect=True)
def test_recipe_table_reads_flat_parquet(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, "parquet", tmp_path / "out", flat=True)
    with kbkit.ingest("table", tmp_path / "out", out=tmp_path / "again", stores=["tables"]) as again:
        for query in (
            "SELECT type::VARCHAR, key, name, aliases FROM nodes",
            "SELECT n.type::VARCHAR, key, t.type::VARCHAR FROM node_types t JOIN nodes n USING (id)",
            "SELECT n.type::VARCHAR, key, field, position, text FROM texts JOIN nodes n USING (id)",
            """SELECT h.type::VARCHAR, h.key, relation::VARCHAR, t.type::VARCHAR, t.key FROM edges
               JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail""",
        ):
            assert rows(again, query) == rows(kb, query)


def test_attributes_keep_an_order_that_suits_every_type() -> None:
    a, b, c, d = (Attribute(name, "VARCHAR") for name in "abcd")
    assert merged_attributes([(a, c), (c, d), (), (b, c), (a, b, d)]) == [a, b, c, d]
    assert merged_attributes([(a, c), (a, b, c)]) == [a, b, c]
    assert merged_attributes([]) == []


# -- csv --------------------------------------------------------------------------------------------------------------


def test_csv_is_rfc_4180_with_lists_as_json(hostile: KnowledgeBase, tmp_path: Path) -> None:
    export(hostile, "csv", tmp_path / "out")
    folder = tmp_path / "out" / "nodes"
    with (folder / "type=gene%2Fprotein" / "part-0.csv").open(encoding="utf-8", newline="") as handle:
        (row,) = csv.DictReader(handle)
    assert (row["id"], row["key"], row["name"]) == ("2", 'a\tb"c', "na\nme|\\")
    assert json.loads(row["aliases"]) == ["x", 'y"z']
    assert json.loads(row["dates"]) == ["2020-01-31", "1999-12-31"]
    assert json.loads(row["struct"]) == {"p": 1, "q": 'z "z"'}
    assert (row["huge"], row["price"], row["moment"]) == (str(1 << 100), "1.50", "2001-02-03 04:05:06.5")
    # Empty is quoted, nothing is not.
    assert (folder / "type=2020" / "part-0.csv").read_bytes().splitlines()[2] == b'1,8,eight,,,""' + b"," * 9
    with (tmp_path / "out" / "texts" / "part-0.csv").open(encoding="utf-8", newline="") as handle:
        assert {line["text"] for line in csv.DictReader(handle)} >= {"line\r\nline \"two\", tab\t | \\ 'q'", "another"}


def test_csv_may_be_compressed(small: KnowledgeBase, tmp_path: Path) -> None:
    export(small, "csv", tmp_path / "plain")
    export(small, "csv", tmp_path / "packed", gzip=True)
    names = sorted(p.relative_to(tmp_path / "plain") for p in (tmp_path / "plain").rglob("*.csv"))
    assert names
    for name in names:
        packed = (tmp_path / "packed" / name).with_name(name.name + ".gz")
        assert sorted(gzip.decompress(packed.read_bytes()).splitlines()) == sorted(
            (tmp_path / "plain" / name).read_bytes().splitlines()
        )


# -- ntriples ---------------------------------------------------------------------------------------------------------


def stored(kb: KnowledgeBase) -> set[ox.Quad]:
    """All that the KB's own triplestore holds."""
    return set(ox.Store.read_only(str(kb.folder / "triples")))


def loaded(path: Path, syntax: ox.RdfFormat) -> set[ox.Quad]:
    """What a fresh store holds after loading a file."""
    store = ox.Store()
    data = path.read_bytes()
    store.load(input=gzip.decompress(data) if path.suffix == ".gz" else data, format=syntax)
    return set(store)


@pytest.mark.parametrize(
    ("kb", "ending"), [("hostile", "nt"), ("small", "nt.gz"), ("world", "nt"), ("bare", "nt.gz")], indirect=["kb"]
)
def test_ntriples_are_the_triplestore(kb: KnowledgeBase, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    export(kb, "ntriples", path)
    found = loaded(path, ox.RdfFormat.N_TRIPLES)
    assert found == stored(kb)
    count = kb.sparql("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")["n"][0]
    text = gzip.decompress(path.read_bytes()) if ending.endswith("gz") else path.read_bytes()
    assert len(found) == count == text.count(b"\n")


def test_the_same_kb_gives_the_same_bytes(small: KnowledgeBase, tmp_path: Path) -> None:
    for form, name in (("ntriples", "x.nt.gz"), ("kgtk", "x.tsv.gz")):
        written = []
        for _ in range(2):
            export(small, form, tmp_path / name, replace=True)
            written.append((tmp_path / name).read_bytes())
        assert written[0] == written[1]


TRIG = """@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a a :Thing ; rdfs:label "A"@en , "Ä \\"x\\" . <http://e.org/no>"@de ; :n 1 ; :knows :b .
:g { :b :knows :a ; rdfs:label "B" ; :n 2 ; :note "at \\n http://e.org/x> <http://e.org/y> ." . :c :knows [ :n 3 ] }
:h { :b :knows :a . :a :knows :b }
"""


def test_an_rdf_source_comes_out_as_its_own_quads(tmp_path: Path) -> None:
    (tmp_path / "in.trig").write_text(TRIG, encoding="utf-8")
    with kbkit.ingest("rdf", tmp_path / "in.trig", out=tmp_path / "kb", stores=["triples"]) as kb:
        export(kb, "ntriples", tmp_path / "out.nq.gz")
        found = loaded(tmp_path / "out.nq.gz", ox.RdfFormat.N_QUADS)
        own = {q for q in stored(kb) if q.predicate.value != "urn:kbkit:type" and q.graph_name != TABLES}
    # Every statement of a named graph is in the store's default graph too; in the file it is there once.
    assert {ox.Quad(q.subject, q.predicate, q.object) for q in found} == {q for q in own if q.graph_name == DEFAULT}
    assert {q for q in found if q.graph_name != DEFAULT} == {q for q in own if q.graph_name != DEFAULT}
    named = {(q.subject, q.predicate, q.object) for q in found if q.graph_name != DEFAULT}
    assert not any((q.subject, q.predicate, q.object) in named for q in found if q.graph_name == DEFAULT)
    assert len(found) == gzip.decompress((tmp_path / "out.nq.gz").read_bytes()).count(b"\n") == 12


TABLES = ox.NamedNode("urn:kbkit:tables")
DEFAULT = ox.DefaultGraph()


def test_quads_build_the_same_kb_again(rdf_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(rdf_kb) as kb:
        export(kb, "ntriples", tmp_path / "out.nq")
        before, statements = content(kb), stored(kb)
    with kbkit.ingest("rdf", tmp_path / "out.nq", out=tmp_path / "kb", name="rdf", stores=["triples"]) as again:
        after = content(again)
        assert stored(again) == statements
    # Ids and aliases follow the order of the statements, which a graph has none of: compare without it.
    assert after["schema"]["text_fields"] == before["schema"]["text_fields"]
    for name in ("nodes", "texts"):
        assert without_order(after[name][1]) == without_order(before[name][1])


def without_order(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows without their ids, sorted, lists in them too."""
    return sorted([sorted(cell) if isinstance(cell, list) else cell for cell in row[1:]] for row in rows)


def test_a_flat_export_of_an_rdf_source_keeps_the_tables(rdf_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(rdf_kb) as kb:
        export(kb, "parquet", tmp_path / "out", flat=True)
        before = content(kb)
    with kbkit.ingest(str(tmp_path / "out"), out=tmp_path / "again", stores=["tables"]) as again:
        after = content(again)
    assert {**after, "schema": None} == {**before, "schema": None}
    rest = {"rdf_source": True, "types_apart": True, "source_prefixes": before["schema"]["source_prefixes"]}
    assert {**after["schema"], **rest} == before["schema"]


# -- kgtk -------------------------------------------------------------------------------------------------------------

STRING = re.compile(r'"(?:[^"\\\t\n\r|]|\\.)*"')
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
MOMENT = re.compile(r"\^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)/(11|14)")
SYMBOL = re.compile(r"[^\s0-9+\-.\"'^@!|\\#][^\t\n\r|\\]*")


def value(field: str) -> tuple[str, Any]:
    """A field by KGTK's rules: its first character says what it is."""
    if STRING.fullmatch(field):
        return "string", ast.literal_eval(field.replace("\\|", "|"))
    if NUMBER.fullmatch(field):
        return "number", float(field)
    if moment := MOMENT.fullmatch(field):
        return "moment", moment[1]
    assert SYMBOL.fullmatch(field), f"{field!r} is nothing that KGTK knows"
    return ("boolean", field == "True") if field in ("True", "False") else ("symbol", field)


def parsed(path: Path) -> list[tuple[str, str, str, tuple[str, Any]]]:
    """The edges of a file: id, node1, label, node2."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    head, *body = text.removesuffix("\n").split("\n")
    assert head == "id\tnode1\tlabel\tnode2"
    edges = []
    for line in body:
        edge, first, label, second = line.split("\t")
        assert value(first)[0] == value(label)[0] == value(edge)[0] == "symbol", line
        edges.append((edge, first, label, value(second)))
    assert len({edge for edge, *_ in edges}) == len(edges), "ids differ"
    return edges


def test_kgtk_holds_names_types_texts_and_edges(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, "kgtk", tmp_path / "out.tsv.gz")
    edges = parsed(tmp_path / "out.tsv.gz")
    by_label: dict[str, Counter[Any]] = {}
    for edge, first, label, second in edges:
        own = re.match(r"kb:([a-z])", edge)
        assert own
        by_label.setdefault(own[1], Counter())[(first, label, second[1])] += 1
    names = dict(kb.tables.rows("SELECT id, name FROM nodes"))
    symbols = {int(edge.removeprefix("kb:l")): first for edge, first, label, _ in edges if edge.startswith("kb:l")}
    assert len(symbols) == len(set(symbols.values())) == kb.schema.nodes
    assert by_label["l"] == Counter((symbols[i], "label", name) for i, name in names.items())
    aliases = kb.tables.rows("SELECT id, unnest(aliases) FROM nodes")
    assert by_label.get("a", Counter()) == Counter((symbols[i], "alias", alias) for i, alias in aliases)
    texts = kb.tables.rows("SELECT id, field, text FROM texts")
    assert by_label.get("x", Counter()) == Counter((symbols[i], symbol(field), text) for i, field, text in texts)
    joined = kb.tables.rows("SELECT head, relation::VARCHAR, tail FROM edges")
    ends = Counter((first, label, v) for e, first, label, (_, v) in edges if re.fullmatch(r"kb:e\d+", e))
    assert ends == Counter((symbols[h], symbol(r), symbols[t]) for h, r, t in joined)
    kinds = kb.tables.rows("SELECT id, type::VARCHAR FROM nodes UNION ALL SELECT id, type::VARCHAR FROM node_types")
    assert sum(by_label["t"].values()) == len(kinds)


def test_kgtk_values_and_qualifiers(hostile: KnowledgeBase, tmp_path: Path) -> None:
    export(hostile, "kgtk", tmp_path / "out.tsv")
    edges = parsed(tmp_path / "out.tsv")
    node = "gene%2Fprotein/a%09b%22c"
    assert [second for _, first, label, second in edges if (first, label) == (node, "label")] == [
        ("string", "na\nme|\\")
    ]
    found = {(label, second) for edge, first, label, second in edges if edge.startswith("kb:p") and first == node}
    assert found == {
        ('say "empty" text', ("string", " ")),
        ("huge", ("number", float(1 << 100))),
        ("span", ("string", "3 days")),
        ("dates", ("moment", "2020-01-31T00:00:00")),
        ("dates", ("moment", "1999-12-31T00:00:00")),
        ("price", ("number", 1.5)),
        ("struct", ("string", """{'p': 1, 'q': 'z "z"'}""")),
        ("moment", ("moment", "2001-02-03T04:05:06.5")),
        ("flag", ("boolean", True)),
        ("number", ("number", 0.1)),
        ("bytes", ("string", r"\xAB")),
    }
    assert {s for _, f, label, s in edges if label == "number" and f != node} == {("string", "inf")}
    ids = [edge for edge, first, label, _ in edges if (first, label) == (node, "r/1=%25")]
    said = [{(label, second[1]) for _, first, label, second in edges if first == edge} for edge in ids]
    assert len(said) == 2
    assert {("head_key", 3.0), ('a "note" b', "w|")} in said
    assert {("head_key", 4.0), ('a "note" b', "")} in said
    assert {second[1] for _, _, label, second in edges if label == "type"} >= {"%32020", "%3100%25", "new%0Aline"}


def test_kgtk_takes_keys_that_are_symbols_as_they_are(tmp_path: Path) -> None:
    folder = kbs.source(tmp_path / "source", 1)
    with kbkit.ingest("table", folder, out=tmp_path / "kb", stores=["tables"]) as kb:
        export(kb, "kgtk", tmp_path / "out.tsv")
    edges = parsed(tmp_path / "out.tsv")
    assert ("a", "lives_in", ("symbol", "c")) in {edge[1:] for edge in edges}
    assert ("a", "label", ("string", "Ada v1")) in {edge[1:] for edge in edges}
    assert ("c", "type", ("symbol", "city")) in {edge[1:] for edge in edges}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("side effect", "side effect"), ("2nd", "%32nd"), ("-x", "%2Dx"), ("a|b\\c\td", "a%7Cb%5Cc%09d"),
        ("^x", "%5Ex"),
        ("é", "é"), ('"q"', '%22q"'), ("<http://x>", "<http://x>"), ("50%", "%350%25"), (" a ", "%20a%20"),
    ],
)  # fmt: skip
def test_symbols(name: str, expected: str) -> None:
    assert symbol(name) == expected
    assert value(expected)[0] == "symbol"


# -- STaRK's processed format ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["world", "hostile", "prime"])
def test_stark_comes_back_as_the_same_graph(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kb = request.getfixturevalue(name)
    numbered = numbering(kb.tables)
    assert numbered.keys == (name == "prime")
    done = kb.export("stark", tmp_path / "out")
    assert (done.nodes, done.edges) == (kb.schema.nodes, kb.schema.edges)
    with kbkit.ingest("stark", tmp_path / "out", out=tmp_path / "again.kb", stores=["tables"]) as again:
        nodes = f"SELECT {numbered.column} AS number, type, coalesce(nullif(name, ''), key) AS name FROM nodes"
        edges = (
            "SELECT h.{0} AS head, relation, t.{0} AS tail FROM edges"
            " JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        )
        kept = again.sql("SELECT key::BIGINT AS number, type, name FROM nodes ORDER BY number")
        assert kept.rows() == kb.sql(f"{nodes} ORDER BY number").rows()
        found = again.sql(edges.format("key::BIGINT")).rows()
        # Without attributes, parallel edges are duplicates.
        assert sorted(found) == sorted(set(kb.sql(edges.format(numbered.column)).rows()))
        texts = "SELECT {} AS number, text FROM texts JOIN nodes USING (id) WHERE text <> '' ORDER BY ALL"
        documents: dict[int, str] = defaultdict(str)
        for number, text in again.sql(texts.format("key::BIGINT")).rows():
            documents[number] += text
        for number, text in kb.sql(texts.format(numbered.column)).rows():
            assert text.strip() in documents[number]


def test_stark_files(tmp_path: Path, hostile: KnowledgeBase) -> None:
    """The pickles are plain dicts; values of types that pickles of STaRK lack are text."""
    hostile.export("stark", tmp_path / "out")
    folder = tmp_path / "out" / "processed"
    assert {path.name for path in folder.iterdir()} == {
        "node_info.pkl", "node_types.pt", "node_type_dict.pkl", "edge_index.pt", "edge_types.pt", "edge_type_dict.pkl",
    }  # fmt: skip
    info = pickle.loads((folder / "node_info.pkl").read_bytes())
    assert list(info) == list(range(hostile.schema.nodes))
    [first] = [node for node in info.values() if node["type"] == "gene/protein"]
    details = first["details"]
    assert (first["id"], first["name"]) == ('a\tb"c', "na\nme|\\")
    assert details["aliases"] == ["x", 'y"z']
    assert details["dates"] == ["2020-01-31", "1999-12-31"]
    assert (details["price"], details["flag"], details["number"]) == (1.5, True, 0.1)
    assert details["struct"] == {"p": 1, "q": 'z "z"'}
    assert details["huge"] == str(1 << 100)
    assert details["f/1"] == "line\r\nline \"two\", tab\t | \\ 'q'\nanother"
    infinite = next(node for node in info.values() if node["id"] == "1" and node["type"] == "a=b")
    assert "number" not in infinite["details"]
    before = kbs.tree(tmp_path / "out")
    hostile.export("stark", tmp_path / "out", replace=True)
    assert kbs.tree(tmp_path / "out") == before


@pytest.fixture(scope="module")
def prime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("prime")
    source = stark.sample("prime").write_folder(folder / "in")
    with kbkit.ingest("stark", source, out=folder / "p.kb", stores=["tables"]) as kb:
        yield kb


# -- what stands in the way -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("to", "out", "options"),
    [
        ("spark", "x", {}),
        ("ntriples", "x.ttl", {}),
        ("kgtk", "x.nt", {}),
        ("ntriples", "x.nt", {"flat": True}),
        ("parquet", "x", {"gzip": True}),
        ("parquet", "file.nt", {}),
        ("ntriples", "file.nt", {}),
        ("ntriples", "folder.nt", {}),
        ("csv", "full", {}),
        ("csv", "full", {"replace": True}),
        ("csv", "posing", {"replace": True}),
        ("csv", "none/x", {}),
    ],
)
def test_what_is_refused(
    small: KnowledgeBase, tmp_path: Path, to: str, out: str, options: dict[str, bool], wording: Wording
) -> None:
    (tmp_path / "file.nt").write_text("mine", encoding="utf-8")
    (tmp_path / "folder.nt").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "posing").mkdir()
    (tmp_path / "posing" / "schema.json").write_text('{"a": 1}', encoding="utf-8")
    before = kbs.tree(tmp_path)
    with pytest.raises(KbError) as caught:
        export(small, to, tmp_path / out, **options)
    wording(str(caught.value))
    assert kbs.tree(tmp_path) == before


def test_an_rdf_source_is_not_n_triples(rdf_kb: Path, tmp_path: Path, wording: Wording) -> None:
    with kbkit.open(rdf_kb) as kb, pytest.raises(KbError) as caught:
        export(kb, "ntriples", tmp_path / "x.nt")
    wording(str(caught.value))


def test_nothing_is_written_into_a_kb(small: KnowledgeBase, wording: Wording) -> None:
    place = small.directory.path / "export"
    with pytest.raises(KbError) as caught:
        export(small, "parquet", place)
    wording(str(caught.value))
    assert not place.exists()


@pytest.mark.parametrize("form", ["csv", "kgtk"])
def test_the_root_is_no_place_for_an_export(small: KnowledgeBase, form: str) -> None:
    with pytest.raises(KbError, match=r"^/ contains other files. Use a new or empty folder"):
        export(small, form, "/")


def test_a_former_export_is_replaced_when_asked_and_an_empty_folder_taken(
    small: KnowledgeBase, tmp_path: Path, wording: Wording
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    export(small, "csv", out)
    with pytest.raises(KbError) as caught:
        export(small, "parquet", out)
    wording(str(caught.value))
    export(small, "parquet", out, replace=True)
    assert not list(out.rglob("*.csv"))
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(KbError) as caught:
        export(small, "parquet", out, replace=True)
    wording(str(caught.value))
    assert (out / "notes.txt").exists()


@pytest.mark.parametrize(
    ("to", "name"), [("parquet", "out"), ("csv", "out"), ("ntriples", "out.nt"), ("kgtk", "out.tsv.gz")]
)
def test_an_export_that_is_stopped_leaves_what_was_there(
    small: KnowledgeBase, tmp_path: Path, to: str, name: str
) -> None:
    seen: list[Event] = []
    export(small, to, tmp_path / name, progress=seen.append)
    assert seen[-1].done == seen[-1].total > 0
    assert all(isinstance(event.stage, str) and event.done <= event.total for event in seen)
    before = kbs.tree(tmp_path)
    for stop in range(1, len(seen) + 1, max(1, len(seen) // 2)):
        heard: list[Event] = []

        def listen(event: Event, heard: list[Event] = heard, stop: int = stop) -> None:
            heard.append(event)
            if len(heard) == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            export(small, to, tmp_path / name, replace=True, progress=listen)
        assert kbs.tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_the_command(here: Run, tiny_kb: Path, tmp_path: Path, wording: Wording) -> None:
    done = here("export", tiny_kb, "-f", "csv", "--flat", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"out: 12 nodes, 18 edges, \d+ texts; 0\.0 MB in \d+\.\d s;"
        r" to build a KB from it: kbkit ingest \./out -o again\.kb\n",
        done.stderr,
    )
    assert done.stdout == ""
    again = here("export", tiny_kb, "-f", "csv", "-o", "out", cwd=tmp_path)
    assert again.returncode == 1
    wording(again.stderr, "cli")


def test_statements_to_standard_output(here: Run, tiny_kb: Path, small: KnowledgeBase, tmp_path: Path) -> None:
    done = here("export", tiny_kb, "-f", "ntriples", "-o", "-", cwd=tmp_path)
    export(small, "ntriples", tmp_path / "out.nt")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (tmp_path / "out.nt").read_text(encoding="utf-8")


FILL = """
mount -t tmpfs -o size=256k none "$DISK"
code=0
"$KBKIT" export "$KB" -f $TO -o "$DISK/$NAME" || code=$?
echo "exit $code"
ls -A "$DISK"
"""


@pytest.mark.system
@pytest.mark.parametrize(("to", "name"), [("csv", "out"), ("ntriples", "out.nt")])
def test_a_full_disk(world_kb: Path, tmp_path: Path, to: str, name: str, wording: Wording) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = kbs.in_namespace(FILL, DISK=disk, KB=world_kb, TO=to, NAME=name)
    wording(done.stderr, "cli")
    assert done.stdout == "exit 1\n"


# -- killed exports ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_export_replaces_another_in_one_step(
    tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    """At every call that changes the disk, a killed process leaves the old export or the new one."""
    out = tmp_path / "out"
    with kbkit.open(tiny_kb) as kb:
        kb.export("csv", out)
        (out / "texts" / "old").write_text("x", encoding="utf-8")
    calls = []

    class KilledError(BaseException):
        pass

    def killing(name: str, at: int) -> Any:
        real = getattr(systems, name)

        def call(*paths: Path) -> Any:
            calls.append(name)
            if len(calls) == at:
                raise KilledError
            return real(*paths)

        return call

    if not can_exchange:
        monkeypatch.setattr(systems, "exchange", lambda *_: False)
    for at in range(1, 30):
        calls.clear()
        with monkeypatch.context() as patch, kbkit.open(tiny_kb) as kb:
            for name in ("rename", "replace", "remove_tree"):
                patch.setattr(systems, name, killing(name, at))
            try:
                kb.export("csv", out, replace=True)
            except KilledError:
                patch.undo()
                if out.exists():
                    assert (out / "schema.json").exists()
                else:  # only where folders cannot be exchanged, until the next export
                    assert not can_exchange
                    assert list(tmp_path.glob(".out.*.former"))
            else:
                break
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert not (out / "texts" / "old").exists()


@pytest.mark.system
def test_leftovers_of_killed_exports_are_removed(tiny_kb: Path, tmp_path: Path) -> None:
    dead = _dead_process()
    for name in (f".out.{dead}.exporting", f".out.{dead}.exporting.former", f".other.{dead}.exporting"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").write_text("x", encoding="utf-8")
    running = tmp_path / f".out.{os.getppid()}.exporting"
    running.mkdir()
    with kbkit.open(tiny_kb) as kb:
        kb.export("csv", tmp_path / "out", replace=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["out", f".other.{dead}.exporting", running.name])


def _dead_process() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid
