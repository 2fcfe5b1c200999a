"""Classes of failures (section 5.4), lengths of conversations (Table 8) and page views (Table 9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kbkit.benchmarks.spinach import errors, files, sources
from kbkit.benchmarks.spinach.run_files import AgentRecord
from kbkit.errors import BadInputError
from kbkit.measures.rows import Result
from tests.conftest import Run

GOLD = "SELECT ?p { ?p wdt:P31 wd:Q5 ; p:P39 ?s . ?s ps:P39 wd:Q11696 ; pq:P580 ?when FILTER(YEAR(?when) = 1999) }"


def cells(*values: str) -> Result:
    return [{"x": {"type": "uri" if value.startswith("http") else "literal", "value": value}} for value in values]


def record(predicted: str, rows: Result = None, gold_rows: Result = None, **more: Any) -> AgentRecord:
    return AgentRecord("1", "?", predicted, rows, GOLD, gold_rows, "", asked=True, **more)


CASES = [
    (record(GOLD, cells("1999-05-01T00:00:00Z"), cells("1999")), errors.FORMATTING),
    (record(GOLD, cells("http://www.wikidata.org/entity/Q7"), cells("Q7")), errors.FORMATTING),
    (record("SELECT ?p { ?p wdt:P31 wd:Q5 }", outcome="limit"), errors.EXPLORATION),
    (record("SELECT ?p { ?p wdt:P31 wd:Q5 }", outcome="stopped"), errors.PROPERTIES),
    (record("SELECT ?p { ?p wdt:P31 wd:Q5 ; wdt:P39 ?s . ?s pq:P580 ?when }"), errors.PROPERTIES),
    (record(GOLD.replace("wd:Q5 ;", "wd:Q5 ; wdt:P21 wd:Q6581072 ;")), errors.PARSING),
    (record(GOLD.replace("FILTER(YEAR(?when) = 1999)", "")), errors.COMPLEXITY),
    (record(GOLD, error="timeout"), errors.COMPLEXITY),
    (record("SELECT ?p { ?p wdt:P31"), errors.COMPLEXITY),
    (record("", error="no query"), errors.COMPLEXITY),
]


@pytest.mark.parametrize(("failed", "kind"), CASES, ids=range(len(CASES)))
def test_classes(failed: AgentRecord, kind: str) -> None:
    found, reason = errors.classify(failed)
    assert found == kind
    assert reason


def test_reasons_name_the_properties() -> None:
    assert errors.classify(CASES[3][0])[1] == "missing: P39, P580"
    assert errors.classify(CASES[4][0])[1] == "used in another form: P39"
    assert errors.classify(CASES[5][0])[1] == "only in the predicted query: P21"


def run_file(path: Path, records: Sequence[AgentRecord]) -> Path:
    """Write records in the authors' form; their ids are their positions."""
    rows = [
        {"id": number, "question": "?", "predicted_sparql": one.predicted_sparql, "gold_sparql": one.gold_sparql,
         "predicted_answer_tuple": one.predicted_answer_tuple,
         "gold_answer_tuple": one.gold_answer_tuple or cells("Q1"),
         "outcome": one.outcome, "error": one.error}
        for number, one in enumerate(records)
    ]  # fmt: skip
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_the_command_counts_only_failures(here: Run, tmp_path: Path) -> None:
    right = record(GOLD, cells("Q1"), cells("Q1"))
    path = run_file(tmp_path / "run.json", [*(failed for failed, _ in CASES), right])
    done = here("spinach", "errors", path, "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    ours = {row["class"]: row["failures"] for row in rows if row["figures"] == "here"}
    assert ours == {"properties": 2, "complexity": 4, "exploration": 1, "parsing": 1, "formatting": 2}
    paper = {row["class"]: row["percent"] for row in rows if row["figures"] == "paper"}
    assert paper == {"properties": 40, "complexity": 30, "exploration": 15, "parsing": 10, "formatting": 5}
    listed = here("spinach", "errors", path, "-n", 4, "--seed", 1, "--per-query", "-f", "ndjson").stdout.splitlines()
    assert len(listed) == 4
    assert listed == sorted(listed, key=lambda line: int(json.loads(line)["query"]))


def test_lengths_of_conversations(tmp_path: Path) -> None:
    counts: list[Any] = [1, 3, 3, ["a", "b"], 12, 10]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"id": str(n), "sparql": "ASK {}", "responses": c} for n, c in enumerate(counts)]))
    frame = sources.lengths([files.read_questions(path)])
    own = {row["length"]: row["questions"] for row in frame.iter_rows(named=True) if row["figures"] == "here"}
    assert {length: count for length, count in own.items() if count} == {"1": 1, "2": 1, "3": 2, ">10": 2}
    printed = {row["length"]: row["percent"] for row in frame.iter_rows(named=True) if row["figures"] == "paper"}
    assert printed["3"] == 28.2
    path.write_text(json.dumps([{"id": "1", "sparql": "ASK {}", "responses": -1}]))
    with pytest.raises(BadInputError, match="responses"):
        sources.lengths([files.read_questions(path)])


def test_page_views_by_percentile(here: Run, tmp_path: Path) -> None:
    """Ten entities with 90, 80, ..., 10 views and one without: the value that p percent of them reach."""
    entities = [f"Q{number}" for number in range(1, 11)]
    path, views = tmp_path / "dev.json", tmp_path / "views.csv"
    rows = [{"id": e, "question": f"about {e}", "sparql": f"SELECT ?x {{ ?x wdt:P31 wd:{e} }}"} for e in entities]
    path.write_text(json.dumps(rows), encoding="utf-8")
    views.write_text("id,views\n" + "".join(f"{e},{100 - 10 * n}\n" for n, e in enumerate(entities[:9], 1)))
    done = here("spinach", "stats", path, "--table", 9, "--views", views, "-f", "json")
    assert done.returncode == 0, done.stderr
    ours = {row["percentile"]: row for row in json.loads(done.stdout) if row["figures"] == "here"}
    assert {p: row["views"] for p, row in ours.items()} == {10: 90, 25: 70, 50: 50, 75: 20, 90: 10}
    assert ours[25]["question"] == "about Q3"
    assert here("spinach", "stats", path, "--table", 9).returncode == 1
    views.write_text("a,b\n1,2\n")
    assert "columns id and views" in here("spinach", "stats", path, "--views", views).stderr
