"""The paper's cheap baselines with a scripted model, and their scores."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kbkit.benchmarks.spinach import evaluate, run_files
from tests.conftest import Run
from tests.llm_server import Seen, Server, by

QUESTIONS = [
    {"id": "1", "question": "Which countries border Andorra?",
     "sparql": "SELECT ?c { country:AND rel:borders ?c }"},
    {"id": "2", "question": "Which long rivers does Austria have?",
     "sparql": "SELECT ?r ?km { ?r rel:flows_through country:AUT ; attr:length_km ?km FILTER(?km > 2000) }"},
    {"id": "3", "question": "Is Bern Switzerland's capital?", "sparql": "ASK { country:CHE rel:capital city:bern }"},
]  # fmt: skip
ROWS = {"1": [["France"], ["Spain"]], "2": [["Danube", "2850"], ["Inn", "517"]], "3": [["Yes"]]}
QUERIES = {
    "1": "SELECT ?x { country:AND rel:borders ?x }",
    "2": "SELECT ?r { ?r rel:flows_through }",
    "3": "ASK { country:CHE rel:capital city:geneva }",
}


def reply(seen: Seen) -> str:
    [name] = [one["id"] for one in QUESTIONS if one["question"] == seen.inputs["question"]]
    return json.dumps({"sparql": QUERIES[name]} if "kb" in seen.inputs else {"rows": ROWS[name]})


@pytest.fixture
def asked(here: Run, world_kb: Path, tmp_path: Path) -> Any:
    """Run a baseline and return its records, the scores and the requests."""
    kb = Path(shutil.copytree(world_kb, tmp_path / "world.kb"))
    file = tmp_path / "spinach_dev.json"
    file.write_text(json.dumps(QUESTIONS), encoding="utf-8")

    def call(option: str) -> tuple[dict[str, Any], str, list[Seen]]:
        out = tmp_path / f"{option}.jsonl"
        with Server(otherwise=by(reply)) as server:
            done = here("spinach", "run", kb, file, "-o", out, option, "--llm", f"m@{server.url}")
        assert done.returncode == 0, done.stderr
        settings, *records = map(json.loads, out.read_text(encoding="utf-8").splitlines())
        assert settings["settings"]["baseline"] == option.removeprefix("--")
        [scored] = evaluate.score_all([run_files.read_agent_run(out)])
        scores = {query: (em, round(f1, 1)) for query, em, f1 in scored.scores.iter_rows()}
        return {"records": {one["id"]: one for one in records}, "scores": scores}, done.stdout, server.requests

    return call


def test_direct_answers_are_compared_with_names(asked: Any) -> None:
    found, shown, requests = asked("--direct")
    [first, second, third] = (found["records"][name] for name in "123")
    assert {cell["value"] for row in first["gold_answer_tuple"] for cell in row.values()} == {"France", "Spain"}
    assert [cell["value"] for row in second["gold_answer_tuple"] for cell in row.values()] == ["Danube", "2850"]
    assert (third["gold_answer_tuple"], third["predicted_answer_tuple"]) == (True, True)
    # The second has a row too many: tp 1, fp 1.
    assert found["scores"] == {"1": (100, 100), "2": (0, 66.7), "3": (100, 100)}
    assert all("kb" not in seen.inputs for seen in requests)
    assert "paper" in shown
    assert "3.9" in shown  # F1 of GPT-4o on dev


def test_one_shot_runs_the_query_of_the_model(asked: Any) -> None:
    found, shown, requests = asked("--one-shot")
    assert found["scores"] == {"1": (100, 100), "2": (0, 0), "3": (0, 0)}
    assert found["records"]["1"]["predicted_sparql"] == QUERIES["1"]
    assert "syntax" in found["records"]["2"]["error"].lower() or found["records"]["2"]["error"]
    assert all(seen.inputs["kb"]["prefixes"]["rel"] for seen in requests)
    assert "5.4" in shown


def test_one_baseline_at_a_time(here: Run, world_kb: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    file.write_text(json.dumps(QUESTIONS), encoding="utf-8")
    done = here("spinach", "run", world_kb, file, "-o", tmp_path / "o.jsonl", "--direct", "--one-shot")
    assert (done.returncode, done.stderr) == (1, "kbkit: Both baselines are given. Use --direct or --one-shot.\n")
