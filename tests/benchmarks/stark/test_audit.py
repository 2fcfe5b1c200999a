"""The audit of a dataset: each finding on a small graph, and samples on real data against plain SQL."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.duplicates import duplicates, normalized
from kbkit.benchmarks.stark import audit as auditing
from kbkit.benchmarks.stark import numbers
from kbkit.benchmarks.stark import run as running
from kbkit.benchmarks.stark import task as tasks
from kbkit.benchmarks.stark.audit import StarkAudit
from kbkit.display import reports
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run

NODES = {
    "drug": ["Alphazol", "Betamab", "Gammacin", "Deltanol"],
    "gene": ["GENE1", "GENE2"],
    "disease": ["Grey fever", "Red rash"],
}
EDGES = [
    ("drug", "Alphazol", "target", "gene", "GENE1"),
    ("drug", "Betamab", "target", "gene", "GENE2"),
    ("drug", "Betamab", "treats", "disease", "Grey fever"),
    ("gene", "GENE1", "causes", "disease", "Grey fever"),
]
TEXTS = {
    "Alphazol": "It is swallowed with water.",
    "Betamab": "It is injected under the skin once a month.",
    "Gammacin": "Yellow powder from a fungus.",
    "Deltanol": "It is inhaled.",
}
QUESTIONS = [
    ("proved", "test", "Which drugs target GENE2 and treat Grey fever?", ["Betamab"]),
    ("two steps", "test", "Which drugs act on the gene behind Grey fever?", ["Alphazol"]),
    ("in part", "test", "Which drugs target GENE1 and treat Red rash?", ["Alphazol"]),
    ("unproved", "test", "Which drugs are used against Red rash?", ["Deltanol"]),
    ("topic", "val", "Does Alphazol target GENE1?", ["Alphazol"]),
    ("text", "val", "Which yellow powder is made by a fungus?", ["Gammacin"]),
    ("gone", "val", "Which drugs are lost?", ["Omegavir"]),
    ("leak", "train", "which drugs target gene2 and treat grey fever", ["Betamab"]),
    ("near", "train", "Which drugs act on the gene behind Grey fever, please?", ["Deltanol"]),
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    nodes = pl.DataFrame([{"type": t, "key": n, "name": n} for t, names in NODES.items() for n in names])
    edges = pl.DataFrame(EDGES, schema=["head_type", "head", "relation", "tail_type", "tail"], orient="row")
    texts = pl.DataFrame([{"type": "drug", "key": name, "text": text} for name, text in TEXTS.items()])
    out = tmp_path_factory.mktemp("audit") / "drugs.kb"
    with kbkit.from_frames(nodes, edges, texts, out=out, stores=["adjacency", "text"]) as opened:
        yield opened


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("audit") / "questions", QUESTIONS)


def write(folder: Path, questions: list[tuple[str, str, str, list[Any]]]) -> Path:
    (folder / "stark_qa").mkdir(parents=True)
    (folder / "split").mkdir()
    with (folder / "stark_qa" / "stark_qa.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "query", "answer_ids"])
        rows.writerows((name, text, json.dumps(answers)) for name, _, text, answers in questions)
    for split in {split for _, split, _, _ in questions}:
        ids = [name for name, own, _, _ in questions if own == split]
        (folder / "split" / f"{split}.index").write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
    return folder


def audited(kb: KnowledgeBase, dataset: Path) -> StarkAudit:
    gold = running.questions(dataset, "")
    return auditing.audit(kb, dataset, tasks.task(kb, gold, (), numbers.read_numbers(dataset)))


@pytest.fixture(scope="module")
def found(kb: KnowledgeBase, dataset: Path) -> StarkAudit:
    return audited(kb, dataset)


def column(found: StarkAudit, name: str) -> dict[str, Any]:
    return dict(found.rows.select("query", name).iter_rows())


# -- findings ---------------------------------------------------------------------------------------------------------


def test_relations_are_proved_by_paths_to_all_named_nodes(found: StarkAudit) -> None:
    statuses = dict(found.answers.select("query", "status").iter_rows())
    assert statuses == {
        "proved": auditing.PROVED,
        "two steps": auditing.PROVED,
        "in part": auditing.PARTLY,
        "unproved": auditing.UNPROVED,
        "topic": auditing.PROVED,  # by the gene, not by its own name
        "text": auditing.UNNAMED,
        "gone": auditing.UNKNOWN,
        "leak": auditing.PROVED,
        "near": auditing.UNPROVED,
    }
    proofs = dict(found.answers.select("query", "proof").iter_rows())
    assert proofs["proved"] == ["GENE2 <- [target] <- Betamab", "Grey fever <- [treats] <- Betamab"]
    assert proofs["two steps"] == ["Grey fever <- [causes] <- GENE1 <- [target] <- Alphazol"]
    assert dict(found.answers.select("query", "unrelated").iter_rows())["in part"] == ["Red rash"]


def test_an_answer_that_the_query_names_is_found(found: StarkAudit) -> None:
    assert {query for query, count in column(found, "named_answers").items() if count} == {"topic"}


def test_duplicates_and_leaks(found: StarkAudit) -> None:
    assert column(found, "duplicates")["proved"] == ["leak"]
    assert column(found, "near_duplicates")["two steps"] == ["near"]
    # A near duplicate with other answers does not give them away.
    leaks = {query: own for query, own in column(found, "leaks").items() if own}
    assert leaks == {"proved": ["leak"], "leak": ["proved"]}
    assert column(found, "twins")["leak"] == ["proved"]
    assert found.is_faulty


def test_what_text_alone_decides(found: StarkAudit) -> None:
    # A name in the query is text, too.
    assert [query for query, decides in column(found, "text_decides").items() if decides] == ["topic", "text"]
    assert column(found, "text_rank")["text"] == 1
    assert column(found, "text_rank")["gone"] is None
    assert column(found, "relations_decide")["text"] is None  # there are no expressions


def test_expressions_of_made_datasets_decide(kb: KnowledgeBase, tmp_path: Path) -> None:
    questions = [("0", "test", "What targets it?", ["Betamab"]), ("1", "test", "What treats it?", ["Alphazol"])]
    folder = write(tmp_path / "made", questions)
    expressions = ['gene:"GENE2" -> [target] -> drug', 'disease:"Grey fever" -> [treats] -> drug']
    records = [{"id": str(at), "expression": text, "relational_words": 1, "textual_words": 1}
               for at, text in enumerate(expressions)]  # fmt: skip
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    found = audited(kb, folder)
    assert found.answers["status"].to_list() == [auditing.PROVED, auditing.UNPROVED]
    assert found.answers["proof"].to_list() == [["Betamab -> [target] -> GENE2"], []]
    assert found.rows["relations_decide"].to_list() == [True, False]
    assert found.is_faulty


# -- one query in two runs --------------------------------------------------------------------------------------------


def run_of(path: Path, *rankings: tuple[str, list[str]]) -> Path:
    lines = [
        f"{query.replace(' ', '_')} Q0 {node} {place} {10 - place} x"
        for query, nodes in rankings
        for place, node in enumerate(nodes, 1)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_case_is_the_query_that_the_second_run_improves_most(here: Run, kb: KnowledgeBase, tmp_path: Path) -> None:
    """Figure 6: hits that repeat the words rank first, then answers that have the relations."""
    asked = [
        ("0", "test", "Which drugs target GENE2, under the skin?", ["Betamab"]),
        ("1", "test", "What is inhaled?", ["Deltanol"]),
    ]
    folder = write(tmp_path / "questions", asked)
    first = run_of(tmp_path / "a.trec", ("0", ["Alphazol", "Gammacin", "Betamab"]), ("1", ["Gammacin", "Deltanol"]))
    second = run_of(tmp_path / "b.trec", ("0", ["Betamab", "Gammacin"]), ("1", ["Deltanol"]))
    command = ("stark", "case", kb.directory.path, folder, first, second, "-f", "json")
    done = here(*command, "-k", 1)
    assert done.returncode == 0, done.stderr
    assert "Query 0: Which drugs target GENE2, under the skin?" in done.stderr
    assert "0.333 in" in done.stderr
    hits = {row["node"]: row for row in json.loads(done.stdout)}
    assert {node: (row["first_rank"], row["second_rank"]) for node, row in hits.items()} == {
        "Alphazol": (1, None), "Betamab": (3, 1), "Gammacin": (2, 2),
    }  # fmt: skip
    assert hits["Betamab"]["is_answer"]
    assert hits["Betamab"]["repeated"] == ["under 1", "skin 1"]
    assert hits["Betamab"]["proof"] == ["GENE2 <- [target] <- Betamab"]
    assert hits["Alphazol"]["relations"] == auditing.UNPROVED
    chosen = here(*command, "--query", "1")
    assert "Query 1: What is inhaled?" in chosen.stderr
    unknown = here(*command, "--query", "2")
    assert unknown.stderr == f"kbkit: Unknown query '2' in {folder}. Valid names: 0, 1.\n"
    worse = here("stark", "case", kb.directory.path, folder, second, first)
    assert "ranks no answer above" in worse.stderr


# -- duplicates -------------------------------------------------------------------------------------------------------


def test_words_decide_not_punctuation() -> None:
    assert normalized("  What's  NEW?") == "what s new"
    texts = ["What is new?", "what is: new", "Something else entirely", "What is it?"]
    assert [tuple(one) for one in duplicates(texts)] == [(0, 1, 1.0)]


def test_similarity_is_that_of_all_pairs() -> None:
    """Against every pair compared."""
    words = ["a", "b", "c", "d", "e", "f", "g", "h"]
    texts = [" ".join(words[start:stop]) for start in range(4) for stop in range(start + 1, 9)]

    def shingles(text: str) -> set[tuple[str, ...]]:
        own = text.split()
        return {tuple(own[at : at + 3]) for at in range(max(1, len(own) - 2))}

    for near in (0.5, 0.7):
        expected = [
            (i, j)
            for i in range(len(texts))
            for j in range(i + 1, len(texts))
            if len(shingles(texts[i]) & shingles(texts[j])) / len(shingles(texts[i]) | shingles(texts[j])) >= near
        ]
        assert [(one.first, one.second) for one in duplicates(texts, near)] == expected


# -- pages and the command --------------------------------------------------------------------------------------------


def test_the_command_shows_the_checks_writes_a_page_and_fails(
    here: Run, kb: KnowledgeBase, dataset: Path, tmp_path: Path
) -> None:
    for name in ("page.html", "page.md"):
        done = here("stark", "audit", kb.directory.path, dataset, "-f", "json", "--page", tmp_path / name)
        assert done.returncode == 1, done.stderr  # a query leaks
    checks = {row["check"]: row for row in json.loads(done.stdout)}
    assert checks["relations: proved"]["count"] == 4
    assert checks["leaks into another split"]["examples"] == ["proved", "leak"]
    assert checks["an answer is named in the query"]["percent"] == 11.11
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "# Audit of questions\n" in page
    assert "| topic | Does Alphazol target GENE1? | Alphazol, GENE1 | 1 |" in page
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h2>Leaks into another split</h2>" in html
    assert "<script" not in html
    rows = here("stark", "audit", kb.directory.path, dataset, "--split", "val", "--per-query", "-f", "ndjson")
    assert rows.returncode == 0, rows.stderr  # without the other splits nothing leaks
    assert [json.loads(line)["query"] for line in rows.stdout.splitlines()] == ["topic", "text", "gone"]


def test_pages_have_two_formats_and_escape(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": ["<b>", "x|y"], "n": [1, 2]})
    report = reports.ReportPage(
        "T & U", ["r < s"], [reports.PageSection("One", "note", table), reports.PageSection("No", "-", table.clear())]
    )
    assert report.to_markdown() == (
        "# T & U\n- r < s\n\n## One\n\nnote\n\n| a | n |\n| --- | ---: |\n| <b> | 1 |\n| x\\|y | 2 |\n\n## No\n\n-\n"
    )
    assert "<h1>T &amp; U</h1>" in report.to_html()
    assert "&lt;b&gt;" in report.to_html()
    with pytest.raises(KbError, match=r"\.md, \.html"):
        reports.check(tmp_path / "x.txt")


# -- real data, against SQL -------------------------------------------------------------------------------------------

_PATHS = """
WITH links AS (SELECT head AS a, tail AS b FROM edges UNION SELECT tail, head FROM edges)
SELECT count(*) FROM links one LEFT JOIN links two ON two.a = one.b
WHERE one.a IN (SELECT unnest($starts)) AND (one.b = $node OR two.b = $node)"""


def test_statuses_of_published_questions_agree_with_sql(shared_data: Path, tmp_path: Path) -> None:
    """The Prime subset: whether a path of two edges exists, by one join, for each answer and named node."""
    from tests.performance.question_sets import PRIME, prime_kb

    if not PRIME.is_dir():
        pytest.skip("no data")
    lines = (PRIME / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines][::4]
    folder = write(tmp_path / "prime", [(str(q["id"]), q["split"], q["query"], q["answer_ids"]) for q in asked])
    with kbkit.open(prime_kb()) as prime:
        found = audited(prime, folder)
        names = column(found, "names")
        checked = 0
        for query, node, status, unrelated in found.answers.select("query", "node", "status", "unrelated").iter_rows():
            [gold] = prime.sql("SELECT id FROM nodes WHERE key = $key", key=node)["id"]
            for text in names[query]:
                lookup = "SELECT id FROM nodes WHERE lower(name) = lower($text) OR list_contains(aliases, $text)"
                starts = prime.sql(lookup, text=text)["id"].to_list()
                if gold in starts or len(starts) != 1:
                    continue
                linked = prime.sql(_PATHS, starts=starts, node=gold).item() > 0
                assert linked == (text not in unrelated), (query, node, text)
                assert not (linked and status == auditing.UNPROVED)
                checked += 1
        assert checked > 30
        # An answer that a query names, by its name in the text.
        for query, text, count in found.rows.select("query", "text", "named_answers").iter_rows():
            golds = found.answers.filter(pl.col("query") == query)["name"].to_list()
            if count:
                assert any(name.casefold() in text.casefold() for name in golds), query
