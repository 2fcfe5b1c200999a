"""STaRK's own package reads what kbkit writes, and its evaluator gives the scores of kbkit.

The package needs other versions of libraries than kbkit. Install it in an environment of its own, and name that
environment's Python in the variable ``STARK_QA_PYTHON``; without it, these tests are skipped.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.stark import human, make
from kbkit.benchmarks.stark.evaluate import official
from kbkit.kb import KnowledgeBase
from kbkit.measures import files
from kbkit.measures.frames import Gold
from tests.conftest import Run
from tests.samples import stark as samples

PYTHON = os.environ.get("STARK_QA_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="STARK_QA_PYTHON names no Python with the package stark-qa")
SCRIPT = Path(__file__).with_name("stark_package.py")
METRICS = ("hit@1", "hit@5", "recall@20", "mrr")
Case = dict[str, Any]


def ask(request: str, **arguments: Any) -> Any:
    """Ask the package, in a process of its own."""
    text = json.dumps({"request": request, **arguments})
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [PYTHON, str(SCRIPT)], input=text, capture_output=True, encoding="utf-8", check=False, env=clean
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def world(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as kb:
        yield kb


@pytest.fixture(scope="module")
def exported(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stark") / "world"
    world.export("stark", out)
    return out


@pytest.fixture(scope="module")
def made(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stark") / "made"
    make.make(world, folder, make.RequirementSettings(40, seed=3))
    for key in ("FRA", "BTN"):
        human.append(world, folder, f"one like {key}", world.node(f"country#{key}"), 0)
    return folder


# -- the graph --------------------------------------------------------------------------------------------------------


def test_the_class_skb_has_the_nodes_and_edges(world: KnowledgeBase, exported: Path) -> None:
    found = ask("graph", processed=str(exported / "processed"))
    nodes = world.sql("SELECT id, type, key, name FROM nodes ORDER BY id")
    assert found["nodes"] == [list(row) for row in nodes.rows()]
    edges = world.sql("SELECT head, tail, relation FROM edges ORDER BY ALL").rows()
    assert sorted(zip(*found["edges"], strict=True)) == edges
    assert found["candidates"] == nodes["id"].to_list()
    for relation, neighbors in found["neighbors"].items():
        assert set(neighbors) == {tail for head, tail, name in edges if head == 0 and name == relation}


def test_documents_show_attributes_and_texts(world: KnowledgeBase, exported: Path) -> None:
    found = ask("documents", root=str(exported), types=["country", "city"])
    ids = world.sql("SELECT id FROM nodes WHERE type IN ('country', 'city')")["id"].to_list()
    assert sorted(map(int, found)) == sorted(ids)
    node = world.node("country:Portugal")
    document = found[str(node.id)]
    assert document.startswith("- name: Portugal\n- type: country\n- source: world\n")
    for name, value in node.attributes.items():
        assert f"  - {name}: {value}\n" in document
    for field, text in node.texts:
        assert f"  - {field}: {text}\n" in document
    assert "borders: {country: (Spain)," in document


@pytest.mark.parametrize("kb", ["amazon", "mag", "prime"])
def test_numbers_are_the_keys_of_published_graphs(kb: str, tmp_path: Path) -> None:
    archive = samples.sample(kb)
    source = archive.write_folder(tmp_path / "in")
    with kbkit.ingest("stark", source, out=tmp_path / "a.kb", stores=["tables"]) as opened:
        opened.export("stark", tmp_path / "out")
    found = ask("graph", processed=str(tmp_path / "out" / "processed"))
    types = [samples.TYPES[kb][number] for number in archive.node_types]
    assert [row[:2] for row in found["nodes"]] == [[n, kind] for n, kind in enumerate(types)]
    edges = {(head, tail, samples.RELATIONS[kb][number]) for head, tail, number in archive.edges}
    assert set(zip(*found["edges"], strict=True)) == edges
    if kb == "prime":
        assert [row[2] for row in found["nodes"]] == [archive.node_info[n]["id"] for n in range(len(types))]


def test_load_skb_reads_an_export_of_prime(tmp_path: Path) -> None:
    archive = samples.sample("prime")
    source = archive.write_folder(tmp_path / "in")
    with kbkit.ingest("stark", source, out=tmp_path / "a.kb", stores=["tables"]) as opened:
        opened.export("stark", tmp_path / "prime")
    found = ask("published", root=str(tmp_path), name="prime")
    starts = [
        f"- name: {n['name']}\n- type: {n['type']}\n- source: {n['source']}\n" for n in archive.node_info.values()
    ]
    assert [document.startswith(start) for document, start in zip(found, starts, strict=True)] == [True] * len(starts)


# -- the questions ----------------------------------------------------------------------------------------------------


def test_the_loader_makes_tensors_of_answers(exported: Path, made: Path) -> None:
    nodes = {n: (kind, key) for n, kind, key, _ in ask("graph", processed=str(exported / "processed"))["nodes"]}
    found = ask("questions", folder=str(made.parent), name=made.name, human=False)
    records = {r["id"]: r for r in map(json.loads, (made / "queries.jsonl").read_text("utf-8").splitlines())}
    assert [(str(number), query) for query, number, _ in found["rows"]] == [
        (r["id"], r["query"]) for r in records.values()
    ]
    for _, number, answers in found["rows"]:
        assert [nodes[n] for n in answers] == [(a["type"], a["key"]) for a in records[str(number)]["answers"]]
    assert {name: len(places) for name, places in found["splits"].items()} == {
        "train": 24, "val": 8, "test": 8, "test-0.1": 1,
    }  # fmt: skip
    assert {records[str(found["rows"][place][1])]["split"] for place in found["splits"]["val"]} == {"val"}


def test_the_loader_reads_queries_of_people(world: KnowledgeBase, made: Path) -> None:
    found = ask("questions", folder=str(made.parent), name=made.name, human=True)
    assert found["splits"] == {"human_generated_eval": [0, 1]}
    assert [[world.node(n).name for n in answers] for _, _, answers in found["rows"]] == [["France"], ["Bhutan"]]


# -- the evaluator ----------------------------------------------------------------------------------------------------


def random_case(rng: random.Random) -> Case:
    """Candidates, results and answers, both of them also other nodes; scores are distinct and positive."""
    candidates = sorted(rng.sample(range(120), rng.randint(1, 100)))
    nodes = range(candidates[-1] + 1)  # the evaluator fails for larger ones
    results = rng.sample(nodes, rng.randint(1, len(nodes)))
    scores = rng.sample(range(1000, 2000), len(results))
    return {
        "candidates": candidates,
        "results": list(zip(results, (score / 8 for score in scores), strict=True)),  # exact in 32 bits
        "answers": rng.sample(nodes, rng.randint(0, min(25, len(nodes)))),
    }


def test_scores_are_those_of_the_evaluator() -> None:
    """Except that it gives ranks to answers that are not returned, after all results and in any order."""
    rng = random.Random(0)
    cases = [random_case(rng) for _ in range(3_000)]
    complete = 0
    for case, expected in zip(cases, ask("scores", cases=cases), strict=True):
        names = pl.Series([str(n) for n in case["candidates"]])
        found = official(run_of(case), gold_of(case), names, METRICS).select(METRICS).row(0, named=True)
        returned = {node for node, _ in case["results"]} & {*case["candidates"]}
        missed = {*case["answers"]} & {*case["candidates"]} - returned
        for name, cut in zip(METRICS, (1, 5, 20, 10**6), strict=True):
            if not missed or len(returned) >= cut or (name != "recall@20" and found[name]):
                assert found[name] == pytest.approx(expected[name], abs=1e-6), (name, case)
                complete += 1
            else:
                bound = 1 / (len(returned) + 1) if name == "mrr" else 1
                assert found[name] - 1e-6 <= expected[name] <= bound + 1e-6, (name, case)
    assert complete > 9_000


def run_of(case: Case) -> pl.DataFrame:
    nodes, scores = zip(*case["results"], strict=True)
    return pl.DataFrame({"query": ["q"] * len(nodes), "node": [str(n) for n in nodes], "score": scores})


def gold_of(case: Case) -> Gold:
    answers = pl.DataFrame({"node": [str(n) for n in case["answers"]]}, schema={"node": pl.String})
    judged = answers.select(query=pl.lit("q"), node="node", relevance=pl.lit(1, pl.Int64))
    return Gold(judged, pl.DataFrame({"query": ["q"], "text": [""]}))


def test_commands_give_the_scores_of_the_evaluator(
    run: Run, world_kb: Path, world: KnowledgeBase, made: Path, tmp_path: Path
) -> None:
    """Candidates are nodes of three types, all of which are returned; answers of other types are left out."""
    lines = (made / "queries.jsonl").read_text("utf-8").splitlines()
    counts = Counter(answer["type"] for line in lines for answer in json.loads(line)["answers"])
    # Nodes of the type year have the largest numbers: the evaluator fails for answers beyond the candidates.
    types = (*(name for name, _ in counts.most_common(2)), "year")
    assert len(counts) > 2
    candidates = world.sql(f"SELECT id FROM nodes WHERE type IN {types} ORDER BY id")["id"].to_list()
    arguments = (*(f"--type={name}" for name in types), "--split", "train", "-f", "csv")
    more = ("--mode=dense", "-k", len(candidates), "--latency", 0, "--runs", tmp_path)
    done = run("-q", "stark", "run", world_kb, made, *arguments, *more)
    assert done.returncode == 0, done.stderr
    again = run("-q", "stark", "eval", made, tmp_path / "dense.trec", "--kb", world_kb, *arguments)
    assert again.returncode == 0, again.stderr
    loaded = ask("questions", folder=str(made.parent), name=made.name, human=False)
    rows = [loaded["rows"][place] for place in loaded["splits"]["train"]]
    found = {query: hits for (query,), hits in files.read_run(tmp_path / "dense.trec").group_by("query")}
    cases = [
        {
            "candidates": candidates,
            # Ranks instead of scores: the evaluator rounds scores to 32 bits, so that some become equal.
            "results": [(int(node), float(5000 - place)) for place, node in enumerate(found[str(number)]["node"])],
            "answers": answers,
        }
        for _, number, answers in rows
    ]
    scores = ask("scores", cases=cases)
    means = [100 * float(np.mean([score[name] for score in scores])) for name in METRICS]
    assert any(0 < mean < 100 for mean in means)
    for printed in (done.stdout, again.stdout):
        [row] = csv.DictReader(printed.splitlines())
        assert [float(row[name]) for name in ("Hit@1", "Hit@5", "R@20", "MRR")] == pytest.approx(means, abs=0.006)
