"""Queries that people write in the browser, their grades, and what reads them."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ir_measures
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.benchmarks.people.judged import judged
from kbkit.benchmarks.people.labels import Labels
from kbkit.benchmarks.people.pools import POOLED
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.measures.files import read_gold, read_run
from tests.console import here
from tests.explorer import opened
from tests.places import TESTS

QUERY = "long rivers in Asia"


@pytest.fixture
def kb(world_kb: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A copy of the world KB, whose workspace is written."""
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "world.kb")) as known:
        yield known


@pytest.mark.core
def test_the_pool_has_the_first_hits_of_every_retriever(kb: KnowledgeBase) -> None:
    query = Labels(kb).write(QUERY, "ann", k=5)
    hits = {mode: kb.search(QUERY, 5, mode, include_weak=True) for mode in POOLED}
    found = {f"{kind}#{key}" for frame in hits.values() for kind, key in frame.select("type", "key").iter_rows()}
    assert set(query.pool) == found
    assert len(query.pool) == len(found)
    assert Labels(kb).write(QUERY, "bob", k=5).pool == query.pool  # both see the same order
    assert query.pool != sorted(query.pool)
    assert [one.reference for one in Labels(kb).candidates(query)] == query.pool


def test_grades_are_kept_and_the_last_one_counts(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    query = labels.write("gas fields off Australia", "ann", "Timor Sea", "for the sea")
    assert query.pool.count("sea#timor-sea") == 1
    assert labels.grades("ann")[query.id, "sea#timor-sea"].mark == 2  # it was written for it
    other = next(node for node in query.pool if node != "sea#timor-sea")
    labels.grade(query.id, other, 1, "ann")
    labels.grade(query.id, other, 0, "ann", "far away")
    again = Labels(kb).grades("ann")[query.id, other]
    assert (again.mark, again.note) == (0, "far away")
    labels.grade(query.id, other, None, "ann")
    assert Labels(kb).judgements().select("key", "grade", "annotators").rows() == [("timor-sea", 2, 1)]
    assert Labels(kb).progress().rows() == [(query.id, query.text, "", "ann", 1, len(query.pool))]


@given(st.lists(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=5), min_size=1, max_size=4))
def test_a_judgement_is_the_median_rounded_down(grades: list[list[int]]) -> None:
    raters = {
        f"rater{at}": {("1", f"a#{node}"): own[at] for node, own in enumerate(grades) if at < len(own)}
        for at in range(5)
    }
    rows = judged(raters, {"1": "x"}).select("key", "grade", "annotators").rows()
    found = {key: (grade, count) for key, grade, count in rows}
    for node, own in enumerate(grades):
        grade, count = found[str(node)]
        assert count == len(own)
        assert grade == math.floor(statistics.median(own))


def test_annotators_agree_as_by_hand(kb: KnowledgeBase) -> None:
    """Cohen's kappa of 2 2 0 0 and 2 0 0 0: equal in 3 of 4, by chance (1/2 * 1/4 + 1/2 * 3/4) = 1/2."""
    labels = Labels(kb)
    query = labels.write(QUERY, "ann")
    for name, grades in {"ann": (2, 2, 0, 0), "bob": (2, 0, 0, 0)}.items():
        for node, grade in zip(query.pool, grades, strict=False):
            labels.grade(query.id, node, grade, name)
    assert labels.agreement().rows() == [("ann, bob", "cohen", 4, 0.75, pytest.approx(0.5))]


def test_writers_at_once_lose_nothing(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    query = labels.write(QUERY, "ann")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda node: Labels(kb).grade(query.id, node, 1, "ann"), query.pool))
        more = list(pool.map(lambda i: labels.write(f"{QUERY} {i}", "ann").id, range(6)))
    assert len(labels.grades("ann")) == len(query.pool)
    assert sorted(map(int, more)) == [2, 3, 4, 5, 6, 7]


def test_an_unfinished_line_is_skipped_and_a_damaged_one_is_named(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    query = labels.write(QUERY, "ann")
    labels.grade(query.id, query.pool[0], 2, "ann")
    path = kb.workspace.folder / "labels" / "grades" / "ann.jsonl"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole + '{"who": "ann", "it', encoding="utf-8")
    assert len(labels.grades("ann")) == 1
    labels.grade(query.id, query.pool[1], 0, "ann")
    assert len(labels.grades("ann")) == 2
    path.write_text(whole + '{"who": "ann", "item": ["1", "x"], "question": "grade", "mark": 7}\n', encoding="utf-8")
    with pytest.raises(BadInputError, match="line 2: grade 7 is not 2, 1, 0"):
        labels.grades("ann")


def test_invalid_input_is_refused(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    for text, annotator, node, wrong in (
        ("", "ann", "", "query is empty"),
        ("x" * 2001, "ann", "", "too long"),
        ("x", "../ann", "", "Invalid rater"),
        ("the timor sea gas", "ann", "sea#timor-sea", "contains the name Timor Sea"),
        ("x", "ann", "sea#nowhere", "nowhere"),
    ):
        with pytest.raises(KbError, match=wrong):
            labels.write(text, annotator, node)
    assert labels.queries() == []
    query = labels.write(QUERY, "ann")
    with pytest.raises(UnknownNameError):
        labels.grade("9", query.pool[0], 2, "ann")
    with pytest.raises(KbError, match="not in the pool"):
        labels.grade(query.id, "river#nowhere", 2, "ann")
    with pytest.raises(KbError, match="Invalid grade"):
        labels.grade(query.id, query.pool[0], 3, "ann")
    tiny, out = TESTS / "tiny", kb.folder.parent / "bare.kb"
    with (
        kbkit.ingest("table", tiny, out=out, stores=["tables"]) as bare,
        pytest.raises(KbError, match="neither full text nor vectors"),
    ):
        Labels(bare).write("x", "ann")


@pytest.mark.core
def test_others_read_the_labels(kb: KnowledgeBase, tmp_path: Path) -> None:
    """TREC judgements with ir_measures and with our own reader; a STaRK dataset with several answers."""
    labels = Labels(kb)
    query = labels.write(QUERY, "ann")
    for node, grade in zip(query.pool, (2, 2, 1, 0), strict=False):
        labels.grade(query.id, node, grade, "ann")
    path = kb.directory.path
    assert here("stark", "labels", path, "-o", tmp_path / "l.qrels").returncode == 0
    trec = {(one.doc_id, one.relevance) for one in ir_measures.read_trec_qrels(str(tmp_path / "l.qrels"))}
    keys = [node.partition("#")[2] for node in query.pool[:4]]
    assert trec == set(zip(keys, (2, 2, 1, 0), strict=True))
    assert read_gold(tmp_path / "l.qrels").relevant.height == 3
    shown = here("stark", "labels", path, "-f", "csv")
    assert pl.read_csv(shown.stdout.encode())["grade"].to_list() == [2, 2, 1, 0]
    for expected in ("1 labelled query added", "0 labelled queries added"):
        done = here("stark", "write", path, "-o", tmp_path / "mine", "--labels")
        assert (done.returncode, expected in done.stderr) == (0, True), done.stderr
    with (tmp_path / "mine/stark_qa/stark_qa_human_generated_eval.csv").open() as file:
        [row] = csv.DictReader(file)
    assert row["query"] == QUERY
    assert set(json.loads(row["answer_ids"])) == {kb.find(node) for node in query.pool[:2]}
    done = here(
        "stark", "run", path, tmp_path / "mine", "--split", "human_generated_eval", "--mode", "bm25", "--latency", "0"
    )
    assert done.returncode == 0, done.stderr


def test_runs_and_judgements_name_nodes_alike(kb: KnowledgeBase, tmp_path: Path) -> None:
    """A country and its currency have the key BTN: both files tell them apart."""
    labels, client = Labels(kb), opened(kb)
    query = labels.write("money of Bhutan", "ann", nodes=["country#BTN", "currency#BTN", "country#NPL"])
    for node, grade in (("currency#BTN", 2), ("country#BTN", 0), ("country#NPL", 0)):
        labels.grade(query.id, node, grade, "ann")
    for kind in ("qrels", "tsv", "jsonl"):
        (tmp_path / f"l.{kind}").write_bytes(client.get("/label/file", params={"format": kind}).content)
    expected = {("1", "currency#BTN", 2), ("1", "country#BTN", 0), ("1", "NPL", 0)}
    assert set(read_gold(tmp_path / "l.qrels").judgements.rows()) == expected
    assert set(read_gold(tmp_path / "l.jsonl").judgements.rows()) == expected
    assert (tmp_path / "l.tsv").read_text() == "1\tmoney of Bhutan\n"
    runs = []
    for queries in ("l.tsv", "l.jsonl"):
        done = here("run", kb.directory.path, tmp_path / queries, "-m", "bm25", "-o", tmp_path / "r.trec")
        assert "2 nodes written as type#key" in done.stderr
        runs.append(read_run(tmp_path / "r.trec").filter(pl.col("node").str.contains("BTN|NPL")).rows())
    assert runs[0] == runs[1]
    assert {node for _, node, _ in runs[0]} >= {"currency#BTN", "country#BTN"}


def test_suggested_nodes_have_the_type_of_the_answers(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    drawn = {labels.draw(seed, kind).partition("#")[0] for kind in ("river", "currency") for seed in range(5)}
    assert drawn == {"river", "currency"}
    assert labels.draw(1) == labels.draw(1) != labels.draw(2)
    with pytest.raises(UnknownNameError):
        labels.draw(1, "rivr")
    with pytest.raises(KbError, match="river#nile is not of the type country"):
        labels.write("long water", "ann", "river#nile", type="country")


def test_the_next_query_to_grade(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    one, two = labels.write("long rivers", "ann", k=2), labels.write("high peaks", "ann", k=2)
    assert [labels.next_open("ann", after) for after in ("", "1", "2")] == [one, two, one]
    for node in two.pool:
        labels.grade(two.id, node, 0, "ann")
    assert (labels.next_open("ann", "1"), labels.next_open("bob", "1")) == (None, two)


def test_known_answers_join_the_pool(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    question = "Which countries border Nepal?"
    assert kb.ask(question).is_sure
    assert {"country#CHN", "country#IND"} <= set(labels.write(question, "ann", k=1).pool)
    typed = labels.write("long rivers", "ann", type="river", nodes=["country#NPL"])
    assert {node.partition("#")[0] for node in typed.pool if node != "country#NPL"} == {"river"}
    assert labels.query(typed.id).type == "river"
    with pytest.raises(UnknownNameError):
        labels.write("long rivers", "ann", type="rivr")
    nodes, count = labels.answers("country")
    assert (len(nodes), count) == (100, 197)
    added = labels.add(typed.id, ["country#FRA", typed.pool[0], "country#FRA"])
    assert added.pool == [*typed.pool, "country#FRA"]
    for unknown in ("country#XXX", "France"):
        with pytest.raises(KbError):
            labels.add(typed.id, [unknown])
    labels.grade(typed.id, "country#FRA", 2, "ann")
    assert labels.query(typed.id) == added
    assert Labels(kb).judgements()["key"].to_list() == ["FRA"]


def test_queries_are_edited_and_deleted(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    query, other = labels.write(QUERY, "ann", "river#yangtze", k=5), labels.write("high peaks", "ann", k=5)
    labels.grade(other.id, other.pool[0], 1, "bob", "a note")
    same = labels.edit(query.id, QUERY, "in Asia only")
    assert (same.note, same.pool, same.written) == ("in Asia only", query.pool, query.written)
    edited = labels.edit(query.id, "rivers of Siberia", "", k=5)
    assert edited.pool[: len(query.pool)] == query.pool
    assert len(edited.pool) > len(query.pool)
    assert labels.grades("ann")[query.id, "river#yangtze"].mark == 2
    with pytest.raises(KbError, match="contains the name Yangtze"):
        labels.edit(query.id, "the yangtze", "")
    assert labels.judgements().height == 2
    labels.delete(query.id)
    assert [one.id for one in labels.queries()] == [other.id]
    assert labels.judgements()["key"].to_list() == [other.pool[0].partition("#")[2]]
    assert labels.progress()["query"].unique().to_list() == [other.id]
    assert labels.agreement().filter(pl.col("items") > 0).is_empty()
    for act in (labels.delete, labels.query):
        with pytest.raises(UnknownNameError):
            act(query.id)
    assert labels.write("deep lakes", "ann").id == "3"  # ids are not used again


def test_every_grade_is_listed_with_names_and_notes(kb: KnowledgeBase) -> None:
    labels = Labels(kb)
    assert labels.table().is_empty()
    query = labels.write("gas fields off Australia", "ann", "Timor Sea")
    labels.grade(query.id, "sea#timor-sea", 1, "bob", "only a part")
    labels.decide(query.id, "sea#timor-sea", 2, "carl", "read again")
    assert labels.table().row(-1)[5:] == ("carl", 2, "read again", labels.table()["when"][-1], 2, "decision")
    labels.decide(query.id, "sea#timor-sea", None, "carl")
    assert labels.table()["kind"].to_list() == ["grade", "grade"]
    rows = labels.table().select("key", "name", "annotator", "grade", "note", "counts").rows()
    assert rows == [("timor-sea", "Timor Sea", "ann", 2, "", 1), ("timor-sea", "Timor Sea", "bob", 1, "only a part", 1)]
    shown = here("stark", "labels", kb.directory.path, "--each", "-f", "csv")
    assert pl.read_csv(shown.stdout.encode())["note"].to_list() == ["", "only a part"]


def test_the_screen_saves_what_it_shows(kb: KnowledgeBase) -> None:
    client = opened(kb)
    drawn = client.get("/label/draw", params={"annotator": "ann"}, follow_redirects=False)
    assert drawn.headers["location"].startswith("/label?node=")
    saved = client.post("/label", data={"q": QUERY, "annotator": "ann", "k": "10"}, follow_redirects=False)
    assert saved.headers["location"] == "/label/1"
    assert "Annotator ann" in client.get("/label/1").text  # who returns is known
    page = client.get("/label/1?annotator=ann").text
    assert not re.search("bm25|relational|score", page)  # the source is hidden
    [node, *_] = Labels(kb).query("1").pool
    part: Any = {"HX-Request": "true"}
    graded = client.post("/label/1", data={"node": node, "annotator": "ann", "grade": "2", "note": "<b>"}, headers=part)
    assert 'aria-pressed="true">2 answer' in graded.text
    assert "&lt;b&gt;" in graded.text
    assert 'data-grade="2"' in graded.text
    assert Labels(kb).grades("ann")["1", node].note == "<b>"
    for data in ({}, {"node": node, "annotator": "", "grade": "2"}, {"node": node, "annotator": "ann", "grade": "9"}):
        assert client.post("/label/1", data=data, headers=part).status_code == 400
    assert client.post("/label", data={"q": "", "annotator": "ann"}).status_code == 400
    assert client.post("/label/1", content=b"\xff=%zz").status_code == 400
    assert client.get("/label/9").status_code == 404
    assert (
        client.post("/label", data={"q": "x", "annotator": "a"}, headers={"Origin": "https://evil.example"}).status_code
        == 403
    )
    assert len(Labels(kb).queries()) == 1
