"""Answers by number: the numbering of a KB, datasets that use it, and a KB that has changed since."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.stark import human, numbers
from kbkit.benchmarks.stark import run as running
from kbkit.benchmarks.stark import task as tasks
from kbkit.benchmarks.stark.make import RequirementSettings, make
from kbkit.errors import BadInputError, KbError
from kbkit.export.numbering import numbering
from kbkit.export.numbering import numbers as by_id
from kbkit.kb import KnowledgeBase
from kbkit.measures.files import read_gold
from tests.benchmarks.published import write_templates
from tests.conftest import Done
from tests.samples import stark as samples
from tests.wording import Wording

Here = Callable[..., Done]


def build(folder: Path, keys: list[str]) -> KnowledgeBase:
    folder.mkdir()
    rows = [f"{key},{'film' if place % 2 else 'person'},Name {key}\n" for place, key in enumerate(keys)]
    (folder / "nodes.csv").write_text("key,type,name\n" + "".join(rows), encoding="utf-8")
    (folder / "edges.csv").write_text("head,relation,tail\n", encoding="utf-8")
    return kbkit.ingest("table", folder, out=folder / "k.kb", stores=["tables"])


@pytest.mark.parametrize(
    ("keys", "are_keys"),
    [
        (["2", "0", "1"], True),
        (["0", "1", "3"], False),
        (["0", "1", "02"], False),
        (["0", "1", "-2"], False),
        (["0", "1", "٢"], False),
        (["a", "1", "2"], False),
    ],
)
def test_keys_are_numbers_only_if_they_count_all_nodes(keys: list[str], are_keys: bool, tmp_path: Path) -> None:
    with build(tmp_path / "s", keys) as kb:
        found = numbering(kb.tables)
        assert (found.keys, found.nodes) == (are_keys, 3)
        expected = kb.sql("SELECT key FROM nodes ORDER BY id")["key"].to_list() if are_keys else [0, 1, 2]
        assert by_id(kb.tables, found).tolist() == [int(number) for number in expected]


def test_the_digest_is_that_of_the_nodes(tmp_path: Path) -> None:
    keys = {"a": ["a", "b", "c"], "same": ["a", "b", "c"], "other": ["a", "b", "d"], "moved": ["c", "b", "a"]}
    digests = {}
    for name, these in keys.items():
        with build(tmp_path / name, these) as kb:
            digests[name] = numbering(kb.tables).digest
    assert digests["a"] == digests["same"]
    assert len(set(digests.values())) == 3


# -- a dataset --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers") / "made"
    make(world, folder, RequirementSettings(12, seed=4, templates=(write_templates(folder.parent / "t.toml"),)))
    human.append(world, folder, "wine?", world.node("country#FRA"), 0)
    return folder


@pytest.fixture(scope="module")
def world(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as kb:
        yield kb


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory, world: KnowledgeBase) -> Iterator[KnowledgeBase]:
    """The same KB, rebuilt with one more country and without France: almost all ids are others."""
    folder = tmp_path_factory.mktemp("changed")
    world.export("csv", folder / "flat", flat=True)
    nodes = pl.read_csv(folder / "flat" / "nodes.csv", infer_schema=False)
    new = nodes.filter(pl.col("key") == "PRT").with_columns(key=pl.lit("AAA"), name=pl.lit("Aaa"))
    kept = nodes.filter((pl.col("key") != "FRA") | (pl.col("type") != "country"))
    pl.concat([new, kept]).write_csv(folder / "flat" / "nodes.csv")
    stores = ["tables", "adjacency", "text"]
    with kbkit.ingest(str(folder / "flat"), out=folder / "k.kb", stores=stores, skip_dangling=True) as kb:
        yield kb


def records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]


def test_ids_and_answers_are_integers(made: Path, world: KnowledgeBase) -> None:
    with (made / "stark_qa" / "stark_qa.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == list(range(12))
    for row, record in zip(rows, records(made), strict=True):
        answers = [world.node(number) for number in json.loads(row["answer_ids"])]
        assert [(a.type, a.key) for a in answers] == [(a["type"], a["key"]) for a in record["answers"]]  # type: ignore[attr-defined]
    about = json.loads((made / "dataset.json").read_text("utf-8"))
    assert about["names"] == "number"
    assert about["numbers"] == {"by": "ids", "nodes": 1642, "digest": numbering(world.tables).digest}


@pytest.mark.system
def test_a_changed_kb_finds_the_same_answers(made: Path, world: KnowledgeBase, changed: KnowledgeBase) -> None:
    gold = running.questions(made, "train")
    known = numbers.read_numbers(made)
    old, new = (tasks.task(kb, gold, (), known) for kb in (world, changed))
    assert known is not None
    assert (known.fit(world), known.fit(changed)) == (True, False)
    assert (old.names, new.names, old.unknown) == ("number", "number", 0)
    assert len(new.remarks()) == len(old.remarks()) + 1 + bool(new.unknown)
    runs = [running.ModeRunner(kb, task, 2000, 0).result("bm25").run for kb, task in ((world, old), (changed, new))]
    # After the change only answers, of any split, have a number: the one of before.
    answers = gold.relevant["node"]
    hits = [{(q, n) for q, n, _ in run.iter_rows() if n in set(answers)} for run in runs]
    assert len(hits[0]) > 10
    gone = {(q, n) for q, n in hits[0] if world.node(int(n)).key == "FRA"}
    assert hits[0] - gone <= hits[1]
    assert all("#" in node for node in runs[1]["node"] if node not in set(known.known["node"]))


def test_numbers_that_cannot_be_resolved(
    made: Path, world: KnowledgeBase, changed: KnowledgeBase, tmp_path: Path, wording: Wording
) -> None:
    bare = shutil.copytree(made, tmp_path / "bare")
    (bare / "queries.jsonl").unlink()
    gold = read_gold(bare)
    assert tasks.task(world, gold, (), numbers.read_numbers(bare)).unknown == 0
    with pytest.raises(KbError) as caught:
        tasks.task(changed, gold, (), numbers.read_numbers(bare))
    wording(re.sub("Answer [0-9]+", "Answer N", str(caught.value)), replace={str(changed.directory.path): "KB"})


@pytest.mark.parametrize("about", ['{"names": "number"}', '{"names": "number", "numbers": {"digest": 3}}'])
def test_a_damaged_dataset_file(about: str, made: Path, tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(about, encoding="utf-8")
    with pytest.raises(BadInputError, match="digest"):
        numbers.read_numbers(tmp_path)


@pytest.mark.parametrize("about", ["{", "[1]", '{"names": "key"}', "é"])
def test_files_of_others_say_nothing(about: str, tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(about, encoding="latin-1")
    assert numbers.read_numbers(tmp_path) is None


def test_answers_without_the_dataset_file(made: Path, world: KnowledgeBase, tmp_path: Path) -> None:
    """They are not taken for keys."""
    bare = shutil.copytree(made, tmp_path / "bare")
    (bare / "dataset.json").unlink()
    known = numbers.read_numbers(bare / "stark_qa" / "stark_qa.csv")
    task = tasks.task(world, read_gold(bare), (), known)
    assert (task.names, task.unknown, task.types) == (
        "number",
        0,
        tasks.task(world, read_gold(made), (), numbers.read_numbers(made)).types,
    )


def test_answers_that_are_no_nodes(here: Here, made: Path, world_kb: Path, tmp_path: Path) -> None:
    bad = shutil.copytree(made, tmp_path / "bad")
    table = pl.read_csv(bad / "stark_qa" / "stark_qa.csv", infer_schema=False)
    odd = pl.when(pl.col("id") == "0").then(pl.lit('[999999, "x", -3, "1.5"]')).otherwise("answer_ids")
    table.with_columns(answer_ids=odd).write_csv(bad / "stark_qa" / "stark_qa.csv")
    done = here("stark", "run", world_kb, bad, "--split", "", "-m", "bm25", "--latency", 0, "-f", "ndjson")
    assert done.returncode == 0, done.stderr
    assert "4 of " in done.stderr
    assert json.loads(done.stdout)["queries"] == 12


def test_a_number_of_two_nodes(made: Path, tmp_path: Path) -> None:
    bad = shutil.copytree(made, tmp_path / "bad")
    lines = records(bad)
    lines[0]["answers"][0]["key"] = "other"  # type: ignore[index]
    (bad / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*lines, *records(made)]))
    with pytest.raises(BadInputError, match="Duplicate number"):
        numbers.read_numbers(bad)


def test_commands_after_a_change(
    here: Here, made: Path, changed: KnowledgeBase, tmp_path: Path, wording: Wording
) -> None:
    done = here(
        "stark", "run", changed.directory.path, made, "-m", "bm25", "--latency", 0, "--runs", tmp_path, "-f", "ndjson"
    )
    assert done.returncode == 0, done.stderr
    assert "numbers its nodes differently" in done.stderr
    again = here("stark", "eval", made, tmp_path / "bm25.trec", "-f", "ndjson")
    assert json.loads(again.stdout)["Hit@5"] == json.loads(done.stdout)["Hit@5"]
    # A run of another system has old numbers, of which few are known.
    refused = here("stark", "eval", made, tmp_path / "bm25.trec", "--kb", changed.directory.path)
    assert (refused.returncode, refused.stdout) == (1, "")
    wording(refused.stderr, "cli", replace={str(made): "FOLDER", str(changed.directory.path): "KB"})


def test_runs_by_type_and_key_are_scored_too(
    here: Here, world: KnowledgeBase, world_kb: Path, made: Path, tmp_path: Path
) -> None:
    number = {name: str(node) for node, name in world.sql("SELECT id, type::VARCHAR || '#' || key FROM nodes").rows()}
    runs, scores = [], []
    for names in ("number", "reference"):
        run = tmp_path / f"{names}.trec"
        done = here("-q", "run", world_kb, made, "--split", "train", "--names", names, "-m", "bm25", "-o", run)
        assert done.returncode == 0
        lines = [line.split() for line in run.read_text("utf-8").splitlines()]
        runs.append({(query, number.get(node, node), score): node for query, _, node, _, score, _ in lines})
        # Equal scores are ordered by the name of the node (guide measures), so that here each gets one of its own.
        ranked = [f"{hit[0]} Q0 {runs[-1][hit]} 1 {-at} x" for at, hit in enumerate(runs[0])]
        run.write_text("\n".join(ranked), "utf-8")
        done = here("stark", "eval", made, run, "--split", "train", "-f", "ndjson")
        scores.append({name: score for name, score in json.loads(done.stdout).items() if name != "run"})
    assert runs[0].keys() == runs[1].keys()
    assert scores[0] == scores[1]
    assert scores[0]["MRR"] > 0


def test_people_do_not_mix_numbers(
    here: Here, made: Path, changed: KnowledgeBase, tmp_path: Path, wording: Wording
) -> None:
    bare = shutil.copytree(made, tmp_path / "people")
    done = here("stark", "write", changed.directory.path, "-o", bare, stdin="one\n")
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli", replace={str(bare): "FOLDER", str(changed.directory.path): "KB"})


def test_queries_of_people_after_a_change(made: Path, world: KnowledgeBase, changed: KnowledgeBase) -> None:
    gold = running.questions(made, "human_generated_eval")
    known = numbers.read_numbers(made, "human_generated_eval")
    assert tasks.task(world, gold, (), known).types == ("country",)
    with pytest.raises(KbError, match="None of the 1 answers"):  # France is gone
        tasks.task(changed, gold, (), known)


@pytest.mark.parametrize("kb", ["mag", "prime"])
def test_published_graphs_keep_their_keys(kb: str, tmp_path: Path) -> None:
    source = samples.sample(kb).write_folder(tmp_path / "in")
    with kbkit.ingest("stark", source, out=tmp_path / "a.kb", stores=["tables", "adjacency"]) as opened:
        assert numbering(opened.tables).keys
        node = opened.node(opened.schema.candidate_types[0] + "#13" if kb == "mag" else "disease#1")
        human.append(opened, tmp_path / "out", "which?", node, 0)
        gold = running.questions(tmp_path / "out", "human_generated_eval")
        assert gold.relevant["node"].to_list() == [node.key]
        assert numbers.read_numbers(tmp_path / "out", "human_generated_eval") is None
        assert tasks.task(opened, gold).unknown == 0
