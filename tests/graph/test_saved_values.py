"""Values of algorithms as attributes: in SQL, expressions and SPARQL, saved again, over many types, and as commands."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.errors import KbError
from kbkit.graph.algorithms.table import ALGORITHMS
from kbkit.ingestion.build import rebuild
from tests.conftest import Run
from tests.kbs import KBKIT, source


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """A KB of two persons and two cities, one of them without edges."""
    stores = ["adjacency", "triples", "text"]
    kbkit.ingest("table", source(tmp_path / "source", 1), out=tmp_path / "four.kb", stores=stores).close()
    return tmp_path / "four.kb"


def test_saved_values_are_attributes(four: Path) -> None:
    with kbkit.open(four) as kb:
        found = kb.graph.pagerank(save=True)
        assert "pagerank" not in kb.sql("FROM person").columns  # the open KB keeps its generation
        with pytest.raises(KbError, match="The KB has a new generation since it was opened"):
            kb.graph.degree(save=True)
    with kbkit.open(four) as kb:
        expected = dict(zip(found["key"], found["value"], strict=True))
        assert (
            dict(kb.sql("SELECT key, pagerank FROM person UNION ALL SELECT key, pagerank FROM city").rows()) == expected
        )
        assert kb.answers("person{pagerank > .25}").nodes()["key"].to_list() == [
            key for key in "ab" if expected[key] > 0.25
        ]
        rows = kb.sparql("SELECT ?n ?p { ?n attr:pagerank ?p }")
        assert sorted(rows["p"]) == pytest.approx(sorted(expected.values()))
        assert kb.search("Nile", within="city{pagerank > 0}", k=1)["key"].to_list() == ["c"]
        assert kb.node("person#a").attributes["pagerank"] == expected["a"]
        assert kb.check() == [(name, "") for name in ("files", "tables", "nodes", "adjacency", "triples", "text")]
        kb.graph.degree(relations=["lives_in"], within=[0, 2, 3], save="pagerank")
    with kbkit.open(four) as kb:  # computed values are replaced, and types without any have no column
        assert kb.sql("SELECT key, pagerank FROM person").rows() == [("a", 1.0), ("b", None)]
        kb.graph.components(relations=["lives_in"], within="city", save="pagerank")
    with kbkit.open(four) as kb:
        assert kb.sql("SELECT key, pagerank FROM city").rows() == [("c", 0), ("d", 1)]
        assert "pagerank" not in kb.sql("FROM person").columns
        assert kb.manifest.derived == {"pagerank": "graph components"}
        assert [problem for _, problem in kb.check() if problem] == []
    kbkit.update(four, nodes=[_csv(four.parent / "new.csv", "key,type,name\ne,city,Essen\n")]).close()
    with kbkit.open(four) as kb:
        assert kb.sql("SELECT key, pagerank FROM city").rows() == [("c", 0), ("d", 1), ("e", None)]


def _csv(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def test_names_of_attributes(four: Path) -> None:
    folder = four.parent / "year"
    nodes = pl.DataFrame({"key": ["a", "b"], "type": "t", "year": [1, 2]})
    edges = pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": ["b"]})
    with kbkit.from_frames(nodes, edges, out=folder, stores=["adjacency"]) as kb:
        for name, message in [
            ("year", "The KB's source has an attribute 'year'. Save under another name"),
            ("Name", "Invalid name of an attribute: 'Name'"),
            (" ", "Invalid name of an attribute: ' '"),
        ]:
            with pytest.raises(KbError, match=message):
                kb.graph.degree(save=name)
        with pytest.raises(KbError, match="The result of similarity is a table of edges"):
            kb.graph.similarity(save=True)


@pytest.mark.parametrize("attributes", [True, pytest.param(False, marks=pytest.mark.system)])
def test_many_types(tmp_path: Path, attributes: bool) -> None:
    """More types than get tables of their own: one table has the attributes of all."""
    n = 130
    nodes = pl.DataFrame({"key": [f"k{i}" for i in range(n)], "type": [f"t{i}" for i in range(n)]})
    if attributes:
        nodes = nodes.with_columns(pl.int_range(n).alias("x"))
    edges = pl.DataFrame({"head": ["k0"] * (n - 1), "relation": "r", "tail": [f"k{i}" for i in range(1, n)]})
    kbkit.from_frames(nodes, edges, out=tmp_path / "m.kb", stores=["adjacency"]).close()
    for _ in range(2):
        with kbkit.open(tmp_path / "m.kb") as kb:
            kb.graph.degree(save=True)
    with kbkit.open(tmp_path / "m.kb") as kb:
        assert kb.sql("SELECT degree FROM t0").item() == n - 1
        assert kb.sql("SELECT degree FROM t129").item() == 1
        assert kb.answers("t0{degree > 5}").ids.tolist() == [0]
        assert not attributes or kb.sql("SELECT x FROM t129").item() == n - 1
        assert [problem for _, problem in kb.check() if problem] == []


def test_a_kb_from_rdf(tmp_path: Path) -> None:
    """The graph of tables has the values, in both stores of statements; rebuilding either changes nothing."""
    rows = (f"<http://e/{a}> <http://e/knows> <http://e/{b}> .\n" for a, b in ("ab", "bc", "cb"))
    path = _csv(tmp_path / "t.nt", "".join(rows))
    kbkit.ingest("rdf", path, out=tmp_path / "t.kb", stores=["adjacency", "triples", "columns"]).close()
    with kbkit.open(tmp_path / "t.kb") as kb:
        kb.graph.degree(direction="in", save=True)
    query = "SELECT ?n ?d { GRAPH <urn:kbkit:tables> { ?n attr:degree ?d } } ORDER BY ?n"
    with kbkit.open(tmp_path / "t.kb") as kb:
        for engine in ("columns", "oxigraph"):
            assert kb.sparql(query, engine=engine)["d"].to_list() == [0.0, 2.0, 1.0]
        before = kb.manifest.stores["triples"].counts
    rebuild(tmp_path / "t.kb", "triples")
    with kbkit.open(tmp_path / "t.kb") as kb:
        assert kb.manifest.stores["triples"].counts == before
        assert [problem for _, problem in kb.check() if problem] == []


@pytest.mark.core
def test_the_commands(four: Path, here: Run) -> None:
    done = here("graph", "pagerank", str(four), "-r", "knows", "--save", "fame", "-k", "1", "-f", "csv")
    assert (done.returncode, done.stdout) == (0, "id,key,type,name,value\n0,a,person,Ada v1,0.5\n")
    assert "Saved the attribute fame of 2 nodes" in done.stderr
    done = here("answers", str(four), "person{fame > .4} -> [knows] -> person", "--count-paths")
    assert done.stdout == "2\n"
    done = here("answers", str(four), "person -> [knows] -> person", "--paths-by", "1", "-f", "csv")
    assert done.stdout == "id,key,type,name,paths\n0,a,person,Ada v1,1\n1,b,person,Bob,1\n"
    done = here("graph", "shortest-paths", str(four), "--start", "b", "--end", "c", "-f", "csv")
    assert done.stdout.splitlines()[1:] == [
        "1,1,1,b,person,Bob,0,a,person,Ada v1,1.0,2.0", "1,2,0,a,person,Ada v1,2,c,city,Cairo,1.0,2.0"
    ]  # fmt: skip
    done = here("graph", "pagerank", str(four), "--edge-weight", "km")
    assert done.returncode == 1
    assert "kbkit: Unknown attribute of edges 'km'" in done.stderr
    done = here("graph", "--help")
    assert [one.name for one in ALGORITHMS if f"\n  {one.name} " not in done.stdout] == []


@pytest.mark.system
def test_ctrl_c_ends_a_computation(tmp_path: Path) -> None:
    """Betweenness of 20,000 nodes takes minutes."""
    n = 20_000
    nodes = pl.DataFrame({"key": [f"k{i}" for i in range(n)], "type": "t"})
    edges = pl.DataFrame({"head": [f"k{i}" for i in range(n)], "relation": "r",
                          "tail": [f"k{(7 * i + 1) % n}" for i in range(n)]})  # fmt: skip
    kbkit.from_frames(nodes, edges, out=tmp_path / "big.kb", stores=["adjacency"]).close()
    command = [KBKIT, "graph", "betweenness", str(tmp_path / "big.kb"), "--save", "between"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)
        os.kill(process.pid, signal.SIGINT)
        started = time.monotonic()
        assert process.wait(20) == 130
        assert time.monotonic() - started < 10
        assert process.stderr is not None
        assert process.stderr.read() == "kbkit: Interrupted.\n"
    with kbkit.open(tmp_path / "big.kb") as kb:
        assert kb.folder.name == "0001"
