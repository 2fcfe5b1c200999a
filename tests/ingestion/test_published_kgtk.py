"""The recipe `kgtk`, in the published format, on invented content."""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.ingestion import recipe as recipes
from kbkit.kb import KnowledgeBase
from tests.ingestion.test_published_graphs import SAMPLES, edges, refused, tables_of
from tests.ingestion.test_recipes import assert_sound
from tests.kbs import mentions


@pytest.fixture(scope="module")
def kgtk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with kbkit.ingest("kgtk", SAMPLES / "kgtk", out=tmp_path_factory.mktemp("kgtk") / "kb", stores=["adjacency"]) as kb:
        yield kb


def test_kgtk_nodes(kgtk: KnowledgeBase) -> None:
    assert_sound(kgtk)
    assert kgtk.sql("SELECT type, key, name, aliases FROM nodes ORDER BY id").rows() == [
        ("Q10", "Q1", "Tin Comet", ["The Tin|Comet"]),
        ("entity", "Q10", "Q10", None),
        ("entity", "Q5", "human", None),
        ("entity", "Q3", "Probeheim", None),  # no English name
        ("entity", "Q4", "Q4", None),
        ("human", "Q2", "Ada Sample", None),  # P161 names a relation and is no node; Q9 stands in a qualifier alone
    ]
    assert kgtk.node("Q1").attributes == {
        "P577": datetime.date(1961, 3, 30),
        "P2047": 108,
        "P2047_unit": "Q7727",
        "P345": "tt0000007",
    }
    assert kgtk.node("Q2").attributes == {"P569": 1930}
    assert kgtk.node("Q3").attributes == {"P625_latitude": 43.26193, "P625_longitude": -10.92708, "P1082": 1200}
    assert kgtk.sql("SELECT key, field, text FROM texts JOIN nodes USING (id)").rows() == [
        ("Q1", "description", "a film that nobody's made")
    ]


def test_kgtk_edges_and_qualifiers(kgtk: KnowledgeBase) -> None:
    assert edges(kgtk) == [
        ("Q1", "P161", "Q2"),
        ("Q1", "P161", "Q4"),
        ("Q1", "P31", "Q10"),
        ("Q2", "P19", "Q3"),
        ("Q2", "P31", "Q5"),
    ]
    assert {r.name: r.label for r in kgtk.schema.relations} == {"P161": "cast member", "P19": "", "P31": ""}
    assert kgtk.sql('SELECT id_, rank, "node2;wikidatatype", P453, P1545, P580 FROM P161 ORDER BY id_ DESC').rows() == [
        ("e6", ["normal"], "wikibase-item", "Q9", "1", None),
        ("e19", ["normal"], "wikibase-item", None, "2", "1960-05"),  # the qualifier of its qualifier is left out
    ]
    assert kgtk.sql("SELECT rank FROM P19").rows() == [(["normal", "preferred"],)]


def test_kgtk_options(tmp_path: Path) -> None:
    options = {"language": "de", "most_types": "0", "most_attributes": "1", "most_qualifiers": "1"}
    source = tmp_path / "source"
    source.mkdir()
    for path in (SAMPLES / "kgtk").iterdir():
        (source / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    with tables_of("kgtk", source, out=tmp_path / "kb", options=options) as kb:
        assert_sound(kb)
        assert [(t.name, t.count) for t in kb.schema.node_types] == [("entity", 6)]
        assert kb.node("Q1").name == "Blechkomet"
        assert (kb.node("Q1").aliases, kb.node("Q1").texts) == ([], [])
        # All labels are used once: the first by name is the column.
        assert kb.node("Q1").attributes == {
            "other_values": ["P577=1961-03-30", "P2047=108", "P2047_unit=Q7727", "P345=tt0000007"]
        }
        assert kb.node("Q3").attributes["P1082"] == 1200
        assert kb.sql("SELECT id_, P1545, qualifiers FROM P161 ORDER BY id_ DESC").rows() == [
            ("e6", "1", "P453=Q9"),  # a list that never holds two values is plain
            ("e19", "2", "P580=1960-05"),
        ]


def test_kgtk_with_other_column_names_and_a_node_file(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "edges.tsv").write_text(
        'object\trelation\tsubject\tsource\nN3\tbrotherOf\tN1\tWikipedia|"IM\\|DB"\n77\tdiedAtAge\tN1\t\n'
        '0xff\tcode\tN1\t\n"Zed"\tname\tN1\t\n"zed"\tName\tN1\t\n"Bed"\tkey\tN3\t\n\tbrotherOf\tN9\t\n'
    )
    (source / "nodes.tsv").write_text('id\tlabel\trdf:type\tweight\nN1\t"Moe"\tPerson|Clown\t1.5\nN2\t\t\t2\n')
    with tables_of("kgtk", source, out=tmp_path / "kb") as kb:
        assert_sound(kb)
        assert kb.sql("SELECT type, key, name FROM nodes ORDER BY key").rows() == [
            ("entity", "Clown", "Clown"),
            ("Clown", "N1", "Moe"),
            ("entity", "N2", "N2"),
            ("entity", "N3", "N3"),
            ("entity", "Person", "Person"),
        ]
        assert kb.node("N1").other_types == ["Person"]
        assert kb.node("N1").attributes == {
            "weight": 1.5,
            "diedAtAge": 77,
            "code": "0xff",
            "Name_": "zed",  # `Name` comes before `name`, and both would be the node's name
            "name__2": "Zed",
        }
        assert kb.node("N3").attributes == {"key_": "Bed"}
        assert kb.sql('SELECT source FROM "brotherOf"').rows() == [(["Wikipedia", "IM|DB"],)]


@pytest.fixture(scope="module")
def macros() -> duckdb.DuckDBPyConnection:
    """The macros that load.sql of kgtk begins with."""
    con = duckdb.connect()
    for statement in duckdb.extract_statements(recipes.load("kgtk").sql):
        if "MACRO" in statement.query and "query_table" not in statement.query:
            con.execute(statement.query)
    return con


@pytest.mark.parametrize(
    ("literal", "kind", "plain"),
    [
        ('"John Doe"', "string", "John Doe"),
        (r'"a \"weird\" st\|ring,\tno?\n"', "string", 'a "weird" st|ring,\tno?\n'),
        (r'"C:\\new"', "string", r"C:\new"),
        ("'Sprechen Sie?'@de", "language", "Sprechen Sie?"),
        ("'it''s at '@home'@en-gb", "language", "it''s at '@home"),
        (r"'a\'b'@en", "language", "a'b"),
        ("''@en", "language", ""),
        ("^1992-03-30T00:00:00Z/11", "date", "1992-03-30"),
        ("^1992-03-00T00:00:00Z/10", "date", "1992-03"),
        ("^1839-00-00T00:00:00Z/9", "date", "1839"),
        ("^1900-00-00T00:00:00Z/7", "date", "1900"),
        ("^-0044-03-15T00:00:00Z/11", "date", "-0044-03-15"),
        ("^2020-02-24T17:05:30", "date", "2020-02-24T17:05:30"),
        ("^2020-02-24T17:05:30Z/14", "date", "2020-02-24T17:05:30Z"),
        ("^2020-02-24T00:00:00", "date", "2020-02-24"),
        ("^10:30", "date", "10:30"),
        ("@043.26193/010.92708", "location", "043.26193/010.92708"),
        ("!1000^^dbpedia:USD", "other", "1000^^dbpedia:USD"),
        ("True", "other", "True"),
        ("42", "number", "42"),
        ("+10Q174728", "number", "10"),
        ("-1.2e+2[-1.0,+1.0]kg.m/s2", "number", "-1.2e+2"),
        ("10.2m/s2", "number", "10.2"),
        (".1", "number", ".1"),
        ("0xff", "number", "0xff"),
        ("-", "number", "-"),
        ("Node42", "symbol", "Node42"),
        (r"\0ob1", "symbol", "0ob1"),
    ],
)
def test_kgtk_literals(macros: duckdb.DuckDBPyConnection, literal: str, kind: str, plain: str) -> None:
    assert macros.execute("SELECT kind($v), plain($v)", {"v": literal}).fetchone() == (kind, plain)


# Control characters below tab stand for escapes while these are undone.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\1\2"), max_size=20)


def escaped(text: str) -> str:
    """A text as KGTK's specification writes it inside quotes."""
    table = {"\\": r"\\", "\n": r"\n", "\t": r"\t", "\r": r"\r", "|": r"\|", '"': r"\"", "'": r"\'"}
    return "".join(table.get(sign, sign) for sign in text)


@given(texts=st.lists(TEXTS, min_size=1, max_size=4), tag=st.sampled_from(["en", "de-at"]))
def test_kgtk_texts_come_back(macros: duckdb.DuckDBPyConnection, texts: list[str], tag: str) -> None:
    strings, tagged = [f'"{escaped(text)}"' for text in texts], f"'{escaped(texts[0])}'@{tag}"
    found = macros.execute(
        "SELECT plain_list($list), plain($one), plain($tagged), language_of($tagged)",
        {"list": "|".join(strings), "one": strings[0], "tagged": tagged},
    ).fetchone()
    assert found == (texts, texts[0], texts[0], tag)


@pytest.mark.parametrize(
    ("literal", "unit"),
    [
        ("+10Q174728", "Q174728"),
        ("-1.2e+2[-1.0,+1.0]kg.m/s2", "kg.m/s2"),
        ("10.2m/s2", "m/s2"),
        ("42", None),
        ("0xff", None),
    ],
)
def test_kgtk_units(macros: duckdb.DuckDBPyConnection, literal: str, unit: str | None) -> None:
    assert macros.execute("SELECT unit($v)", {"v": literal}).fetchone() == (unit,)


def test_kgtk_bad_input(tmp_path: Path) -> None:
    bad = tmp_path / "claims.tsv"
    bad.write_text("id\tnode1\tlabel\nx\ta\tb\n")
    message, hint = refused("kgtk", bad, out=tmp_path / "kb")
    mentions(message, f"{bad} | 'node2' or 'to' or 'object'")
    mentions(hint, 'id, node1, label | {"node2": "NAME"}')
    bad.write_text("node1\tlabel\tnode2\na\tr\tb\n# a comment\n")
    message, _ = refused("kgtk", bad, out=tmp_path / "kb")
    mentions(message, f"{bad}, line 3 | 1 | 3")
