"""Duplicates: which names are candidates, what speaks for a pair, and what a merge keeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.people.same_nodes import decisions
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.ingestion.test_update import said
from tests.wording import Wording

STORES = ["tables", "adjacency", "text"]
ALIKE = [
    ("IBM", "I.B.M. Corp"),
    ("Ridley Scott", "Scott, Ridley"),
    ("Ridley Scott", "R. Scott"),
    ("William Macy", "William H. Macy"),
    ("J. R. R. Tolkien", "J.R.R. Tolkien"),
    ("Johnson & Johnson", "Johnson and Johnson"),
    ("Müller GmbH", "MUELLER"),
    ("Acetaminophen", "Acetominophen"),
    ("The Godfather", "Godfather"),
    ("Ёлки", "Елки"),
    ("Saint-Étienne", "Saint Etienne"),
    ("Jean-Claude Van Damme", "Jean Claude van Dame"),
]
APART = [
    ("Rocky II", "Rocky III"),
    ("Hepatitis A", "Hepatitis B"),
    ("SMAD3", "SMAD4"),
    ("Peter H. Hunt", "Peter R. Hunt"),
    ("Apollo 11", "Apollo 13"),
    ("John Smith", "Jane Smith"),
    ("Boston", "Austin"),
]


def frames(names: Mapping[str, str]) -> pl.DataFrame:
    return pl.DataFrame({"key": list(names), "name": list(names.values()), "type": "thing"})


def test_names_of_one_thing_and_of_two(tmp_path: Path) -> None:
    pairs = [*ALIKE, *APART]
    names = {
        f"{number}{side}": name for number, pair in enumerate(pairs) for side, name in zip("ab", pair, strict=True)
    }
    with kbkit.from_frames(frames(names), out=tmp_path / "names.kb", stores=STORES) as kb:
        found = kb.duplicates()
    candidates = {frozenset(pair) for pair in found.select("name", "other_name").iter_rows()}
    assert not [pair for pair in ALIKE if frozenset(pair) not in candidates]
    assert not [pair for pair in APART if frozenset(pair) in candidates]
    assert found["score"].is_sorted(descending=True)
    assert found["decision"].null_count() == found.height


def test_names_that_say_something_else_do_not_score_near_1(tmp_path: Path) -> None:
    """Another order, an opposite, one more word, an abbreviation that two nodes share, and values that differ."""
    rows = [
        ("a", "man slaps a woman", "", 1), ("b", "woman slaps a man", "", 2), ("c", "Northern Ndebele", "Ndebele", 3),
        ("d", "Southern Ndebele", "Ndebele", 4), ("e", "toy", "", 5), ("f", "toy company", "", 6),
        ("g", "b movie", "", 7), ("h", "baseball movie", "", 8), ("i", "The Savages", "", 9), ("j", "Savages", "", 10),
    ]  # fmt: skip
    names = pl.DataFrame(rows, ["key", "name", "aliases", "year"], orient="row").with_columns(
        pl.lit("thing").alias("type"), pl.col("aliases").str.split("|")
    )
    with kbkit.from_frames(names, out=tmp_path / "names.kb", stores=STORES) as kb:
        found = {(one["key"], one["other_key"]): one for one in kb.duplicates(threshold=0.5).iter_rows(named=True)}
    assert {pair: one["score"] for pair, one in found.items()} == pytest.approx(
        {("a", "b"): 0.71, ("c", "d"): 0.65, ("i", "j"): 0.8}
    )
    assert found["i", "j"]["differ"] == "year: 9 / 10"
    assert found["i", "j"]["same"] == ""


def test_values_are_in_the_order_of_the_nodes(tmp_path: Path) -> None:
    """The node with more neighbours is the first, also where it is the later one in the KB."""
    films = pl.DataFrame(
        [("a", "Evil Dead", 2013), ("b", "The Evil Dead", 1981), ("c", "Host", 2006), ("d", "The Host", 2013)],
        ["key", "name", "year"], orient="row",
    ).with_columns(type=pl.lit("film"))  # fmt: skip
    person = pl.DataFrame({"key": ["p"], "name": ["Ann"], "type": ["person"]})
    edges = pl.DataFrame({"head": ["b", "c"], "relation": "with", "tail": "p"})
    nodes = pl.concat([films, person], how="diagonal")
    with kbkit.from_frames(nodes, edges, out=tmp_path / "films.kb", stores=STORES) as kb:
        found = {one["key"]: one for one in kb.duplicates(threshold=0.5).iter_rows(named=True)}
    assert {key: (one["other_key"], one["differ"]) for key, one in found.items()} == {
        "b": ("a", "year: 1981 / 2013"), "c": ("d", "year: 2006 / 2013"),
    }  # fmt: skip


def test_equal_values_that_many_nodes_have_are_no_evidence(tmp_path: Path) -> None:
    """Two languages of one family and script are not the same, two companies of one city and year may be."""
    slavic = [(f"s{n}", f"Language {chr(65 + n)}{chr(75 - n)}", "Slavic", "Latin") for n in range(8)]
    alike = [("x", "Slovak", "Slavic", "Latin"), ("y", "Slovac", "Slavic", "Latin")]
    rare = [("v", "Elamitic", "Isolate", "Cuneiform"), ("w", "Elametic", "Isolate", "Cuneiform")]
    names = pl.DataFrame([*slavic, *alike, *rare], ["key", "name", "family", "script"], orient="row")
    with kbkit.from_frames(names.with_columns(type=pl.lit("t")), out=tmp_path / "n.kb", stores=STORES) as kb:
        found = {one["key"]: one for one in kb.duplicates(threshold=0.8).iter_rows(named=True)}
    assert found["x"]["same"] == "family: Slavic; script: Latin"
    assert found["x"]["score"] == found["x"]["name_score"]
    assert found["v"]["score"] > found["v"]["name_score"]


COMPANIES = """id,name,city,founded,website
c1,IBM,Armonk,1911,
c2,I.B.M. Corp,Armonk,,ibm.com
c3,Apple Inc.,Cupertino,1976,
c4,Aple Inc,Cupertino,1976,
c5,SAP,Walldorf,1972,
c6,Siemens,Munich,1847,
"""
PRODUCTS = """id,name,maker
p1,Watson,c1
p2,AIX,c2
p3,iPhone,c3
p4,Mac,c4
p5,R/3,c5
"""
HISTORIES = """company,history
c1,Once upon a time there was a company that made machines that count holes in cards.
c2,Much later the company made machines that answer questions in a game that is shown on television.
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "co"
    folder.mkdir()
    for name, text in (("companies", COMPANIES), ("products", PRODUCTS), ("histories", HISTORIES)):
        (folder / f"{name}.csv").write_text(text)
    kbkit.ingest(str(folder), out=tmp_path / "co.kb", sync=True, stores=STORES).close()
    return tmp_path


def test_evidence_decides_on_close_names(base: Path) -> None:
    with KnowledgeBase(base / "co.kb") as kb:
        found = kb.duplicates("company")
        assert found.select("key", "other_key", "same", "differ").rows() == [
            ("c1", "c2", "city: Armonk", ""), ("c3", "c4", "city: Cupertino; founded: 1976", "")
        ]  # fmt: skip
        assert kb.duplicates("product").is_empty()
        assert kb.duplicates(k=1)["key"].to_list() == ["c1"]
        with pytest.raises(KbError, match="threshold"):
            kb.duplicates(threshold=0.2)


def decided(base: Path, *rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame([("company", *row) for row in rows], ["type", "key", "other_key", "decision"], orient="row")


def test_a_merge_keeps_all_that_both_say(base: Path) -> None:
    with kbkit.merge(base / "co.kb", decided(base, ("c1", "c2", "merge"), ("c3", "c4", "apart"))) as kb:
        row = kb.sql("SELECT name, city, founded, website FROM company WHERE key = 'c1'").row(0)
        assert row == ("IBM", "Armonk", 1911, "ibm.com")
        assert kb.sql("SELECT aliases FROM nodes WHERE key = 'c1'").item().to_list() == ["I.B.M. Corp", "c2"]
        assert sorted(kb.answers("company#c1 -> [maker] -> product").nodes()["name"]) == ["AIX", "Watson"]
        assert kb.sql("SELECT count(*) FROM texts JOIN nodes USING (id) WHERE key = 'c1'").item() == 2
        assert kb.sql("FROM merged").rows() == [("company", "c2", "c1")]
        assert kb.schema.type("company").count == 5
        assert [problem for _, problem in kb.check() if problem] == []
        before = said(kb)
    # The folder still has both; what it changes later arrives at the node that is left.
    with (base / "co" / "products.csv").open("a") as handle:
        handle.write("p6,z/OS,c2\n")
    with kbkit.ingest(str(base / "co"), out=base / "co.kb", sync=True) as kb:
        assert sorted(kb.answers("company#c1 -> [maker] -> product").nodes()["name"]) == ["AIX", "Watson", "z/OS"]
        assert said(kb)["type company"] == before["type company"]
        assert kb.sql("SELECT count(*) FROM provenance WHERE file = 'companies.csv'").item() == 5


def test_merges_are_combined(base: Path) -> None:
    with kbkit.merge(base / "co.kb", decided(base, ("c2", "c3", "merge"), ("c1", "c2", "merge"))) as kb:
        assert kb.sql("SELECT key, into_key FROM merged ORDER BY key").rows() == [("c2", "c1"), ("c3", "c1")]
    with kbkit.merge(base / "co.kb", decided(base, ("c5", "c1", "merge"))) as kb:
        merged = [("c1", "c5"), ("c2", "c5"), ("c3", "c5")]
        assert kb.sql("SELECT key, into_key FROM merged ORDER BY key").rows() == merged
        assert kb.find("IBM") == kb.find("Apple Inc.") == kb.find("company#c5")


BAD = {
    "another decision": ([("c1", "c2", "yes")], ["'yes'", "row 1"]),
    "no merge": ([("c1", "c2", "apart")], ["merge"]),
    "a contradiction": ([("c1", "c2", "merge"), ("c2", "c3", "merge"), ("c1", "c3", "apart")], ["'c1'", "'c3'"]),
    "an unknown node": ([("c1", "c99", "merge")], ["'c99'"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_decisions_change_nothing(base: Path, wording: Wording, case: str) -> None:
    rows, facts = BAD[case]
    with pytest.raises(KbError) as raised:
        kbkit.merge(base / "co.kb", decided(base, *rows))
    assert all(fact in str(raised.value) for fact in facts)
    wording(str(raised.value))
    assert (base / "co.kb" / "CURRENT").read_text() == "0001\n"


def test_a_file_goes_through_a_spreadsheet_and_back(base: Path, here: Run) -> None:
    table = base / "pairs.csv"
    assert here("duplicates", base / "co.kb", "-o", table).returncode == 0
    rows = pl.read_csv(table).with_columns(decision=pl.Series(["merge", ""]))
    rows.write_csv(table)
    assert "1 pair merged" in here("duplicates", base / "co.kb", "--merge", table).stderr
    with pytest.raises(BadInputError, match="merged already"):
        kbkit.merge(base / "co.kb", table)
    (base / "pairs.xls").write_text("")
    with pytest.raises(BadInputError, match="Unsupported file type"):
        kbkit.merge(base / "co.kb", base / "pairs.xls")


def test_pairs_are_reviewed_in_the_terminal(base: Path, here: Run, wording: Wording) -> None:
    file = base / "decisions.jsonl"
    done = here("duplicates", base / "co.kb", "--decide", file, stdin="2\nq\n")
    wording(done.stdout, "cli")
    again = here("duplicates", base / "co.kb", "--decide", file, stdin="n\n")
    assert "Apple Inc." in again.stdout
    assert "IBM" not in again.stdout
    assert [(one.key, one.other_key, one.decision) for one in decisions(file)] == [
        ("c2", "c1", "merge"), ("c3", "c4", "apart")
    ]  # fmt: skip
