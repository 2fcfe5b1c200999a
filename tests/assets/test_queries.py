"""Query files: headers, parameters, and how they are found."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.assets import queries
from kbkit.assets.queries import QueryFile, QueryParameter
from kbkit.errors import BadInputError, KbError, UnknownNameError
from tests.wording import Wording

SQL = """-- Neighbours of a node.
-- One row for each.
-- $node (node): a node
-- $limit (integer, default 20): rows at most
-- $share (number, default 0.5): a share
-- $word (text, default two words, and a comma): text
-- $link (iri, default ): an IRI
SELECT $node AS node, $limit AS n, $share AS share, $word AS word, $link AS link
-- $no (text): parameter, for it stands after the header
"""


def test_the_header() -> None:
    query = queries.parse("sql", "x.sql", SQL)
    assert (query.title, query.description) == ("Neighbours of a node.", "One row for each.")
    assert query.parameters == (
        QueryParameter("node", "node", None, "a node"),
        QueryParameter("limit", "integer", "20", "rows at most"),
        QueryParameter("share", "number", "0.5", "a share"),
        QueryParameter("word", "text", "two words, and a comma", "text"),
        QueryParameter("link", "iri", "", "an IRI"),
    )
    assert query.text == SQL


def test_a_sparql_header() -> None:
    query = queries.parse("sparql", "x.rq", "# Title.\n# $a (iri): one\nASK {}")
    assert (query.title, [p.name for p in query.parameters]) == ("Title.", ["a"])
    assert queries.parse("sparql", "x.rq", "ASK {}").title == "x.rq"


@pytest.mark.core
def test_values(wording: Wording) -> None:
    query = queries.parse("sql", "x.sql", SQL)
    assert query.typed_values({"node": "BRCA1", "limit": "3"}) == {
        "node": ("node", "BRCA1"),
        "limit": ("integer", "3"),
        "share": ("number", "0.5"),
        "word": ("text", "two words, and a comma"),
        "link": ("iri", ""),
    }
    with pytest.raises(KbError, match=r"x\.sql.*node \(a node\)") as caught:
        query.typed_values({})
    wording(str(caught.value))
    with pytest.raises(UnknownNameError, match=r"'limits' in query x\.sql.*'limit'"):
        query.typed_values({"node": "x", "limits": "3"})


def test_an_unknown_parameter_type() -> None:
    with pytest.raises(UnknownNameError, match=r"parameter type 'int' in x\.sql.*'integer'"):
        queries.parse("sql", "x.sql", "-- T.\n-- $a (int): one\nSELECT $a")


BOM = "\ufeff-- T.\n-- $a (text): one\nSELECT $a AS a"


@pytest.mark.parametrize("text", ["-- T.\r\n-- $a (text): one\r\nSELECT $a AS a\r\n", BOM])
def test_files_of_other_editors(tiny_kb: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "q.sql"
    path.write_bytes(text.encode())
    query = queries.load("sql", str(path))
    assert (query.title, [p.name for p in query.parameters]) == ("T.", ["a"])
    with kbkit.open(tiny_kb) as kb:
        assert kb.run(query, {"a": "x"})["a"].to_list() == ["x"]


def test_typed_parameters_reach_the_engines(tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as kb:
        query = queries.parse("sql", "x.sql", SQL)
        [row] = kb.run(query, {"node": "BRCA1", "limit": "7", "word": "5"}).to_dicts()
        assert row == {"node": kb.find("BRCA1"), "n": 7, "share": 0.5, "word": "5", "link": ""}
        ask = queries.parse("sparql", "x.rq", "# T.\n# $a (node): one\nSELECT ?l { $a rdfs:label ?l }")
        assert kb.run(ask, {"a": "gene/protein#g1"})["l"].to_list() == ["BRCA1"]
        for name, text, kind in (("limit", "many", "integer"), ("share", "half", "number")):
            with pytest.raises(KbError, match=f"{kind} '{text}' for parameter {name}"):
                kb.run(query, {"node": "BRCA1", name: text})
        with pytest.raises(UnknownNameError, match="node 'BRCA9'"):
            kb.run(query, {"node": "BRCA9"})


def test_text_given_with_c_has_no_declared_parameters(tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as kb:
        free = QueryFile("sql", "-c", "", "", (), "SELECT $a AS a, $b AS b, $c AS c")
        assert kb.run(free, {"a": "7", "b": "1.5", "c": "x"}).rows() == [(7, 1.5, "x")]


def test_files_of_the_other_language(tmp_path: Path) -> None:
    path = tmp_path / "q.rq"
    path.write_text("ASK {}", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"q\.rq is not a \.sql file. Run it with kbkit sparql"):
        queries.load("sql", str(path))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_bytes(b"SELECT '\xff'")
    with pytest.raises(BadInputError, match=r"q\.sql"):
        queries.load("sql", str(path))
    with pytest.raises(UnknownNameError, match="Unknown SQL query"):
        queries.load("sql", str(tmp_path / "none.sql"))


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_shipped_queries_are_found_by_name(kind: str) -> None:
    known = queries.shipped(kind)
    assert known
    stems = [name.split("/")[1] for name in known]
    for name in known:
        assert queries.load(kind, name).name == name
        stem = name.split("/")[1]
        if stems.count(stem) == 1:
            assert queries.load(kind, stem).name == name


def test_unknown_queries_come_with_the_closest() -> None:
    name = next(iter(queries.shipped("sql")))
    with pytest.raises(UnknownNameError) as caught:
        queries.load("sql", name + "z")
    assert repr(name) in caught.value.hint
