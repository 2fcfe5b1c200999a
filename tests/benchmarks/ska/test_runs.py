"""Whole commands of SKA-Bench: testbeds; runs of the oracle, the baseline and a model; scores and statistics."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kbkit.benchmarks.ska import baseline, evaluate, stats, testbeds
from kbkit.benchmarks.ska.instances import ROW, Instance, KnowledgeUnit, Provenance, read_instances, write_instances
from kbkit.benchmarks.ska.small_kb import BareUnit, _column, small_kb
from tests.benchmarks.ska import data as ska_data
from tests.conftest import Done
from tests.llm_server import Seen, Server, by
from tests.wording import Wording

Here = Callable[..., Done]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with its testbeds, which tests only read."""
    folder = ska_data.dataset(tmp_path_factory.mktemp("ska") / "world", 3)
    instances = read_instances(folder)
    testbeds.write_testbeds(folder / "testbeds", *testbeds.make(instances, evaluate_digest(folder)))
    return folder


def evaluate_digest(folder: Path) -> str:
    from kbkit.benchmarks.ska.run import digest

    return digest(folder)


@pytest.fixture
def dataset(prepared: Path, tmp_path: Path) -> Path:
    """A copy of it, for commands that write to its folder."""
    return shutil.copytree(prepared, tmp_path / "world")


def rows(done: Done) -> list[dict[str, str]]:
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


# -- the oracle -------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_from_instances_to_scores_without_a_model(here: Here, tmp_path: Path) -> None:
    folder = ska_data.dataset(tmp_path / "world", 2)
    made = here("ska", "testbed", folder, "--size", "64k", "--format", "csv")
    sizes = {(r["form"], r["size"]): r for r in rows(made) if r["figures"] == "here"}
    forms = ("kg", "table", "kg+text", "table+text")
    assert set(sizes) == {(form, size) for form in forms for size in testbeds.sizes_of(form, ["64k"])}
    assert "Tokens counted by" in made.stderr
    assert "Noise ends before 64k: 2 of 2 instances of table" in made.stderr
    ran = here("ska", "run", folder, "--oracle")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^oracle: [\d.]+ s$", ran.stderr, flags=re.MULTILINE)
    found = rows(here("ska", "eval", folder / "runs", "--no-paper", "--format", "csv"))
    assert {(r["system"], float(r["value"])) for r in found} == {("oracle", 100.0)}
    assert {r["testbed"] for r in found} == set(testbeds.TESTBEDS)
    table = rows(here("ska", "eval", folder / "runs", "--table", "3", "--format", "csv"))
    assert table[0]["system"] == "oracle"
    assert len(table) == 9
    assert table[-1]["table+text 24k"] == "56.97"


def test_the_oracle_finds_wrong_data(here: Here, tmp_path: Path) -> None:
    folder = tmp_path / "world"
    good, wrong, without = ska_data.kg(3)
    wrong = dataclasses.replace(wrong, answers=[*wrong.answers, "Atlantis"])
    lost = dataclasses.replace(without.provenance, sql="")
    write_instances(folder, [good, wrong, dataclasses.replace(without, provenance=lost)])
    assert here("ska", "testbed", folder).returncode == 0
    done = here("ska", "run", folder, "--oracle")
    assert "left out: the instance has no query" in done.stderr
    scores = rows(here("ska", "eval", folder / "runs" / "oracle.jsonl", "--per-query", "--format", "csv"))
    by_id = {r["id"]: float(r["value"]) for r in scores}
    assert by_id[f"noise/4k/{good.id}"] == 100
    assert 0 < by_id[f"noise/4k/{wrong.id}"] < 100
    assert not any(without.id in name for name in by_id)


def test_a_run_belongs_to_its_testbeds(here: Here, dataset: Path, wording: Wording) -> None:
    args = ("ska", "run", dataset, "--oracle", "--testbed", "noise", "--form", "kg")
    assert here(*args, "--limit", "1").returncode == 0
    path = dataset / "runs" / "oracle.jsonl"
    first = path.read_text(encoding="utf-8")
    assert here(*args).returncode == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith(first)
    instances = len([i for i in read_instances(dataset) if i.form == "kg"])
    assert len(text.splitlines()) == 1 + 4 * instances
    with (dataset / "instances.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    done = here(*args)
    assert done.returncode == 1
    wording(done.stderr, "cli")


# -- models -----------------------------------------------------------------------------------------------------------


def scripted(seen: Seen) -> str:
    """A model that reads its input: it knows the first cell of rows, and is wrong about all else."""
    data = seen.inputs
    knowledge, question = data["knowledge"], data["question"]
    rows = [row[1:-1].split("|") for row in knowledge.get("table", {}).get("rows", ())]
    known = [row[1] for row in rows if f" {row[0]}?" in question]
    if "yes" in seen.body["messages"][0]["content"].rsplit("\n", 1)[-1]:
        return 'Let me see.\n{"answer": "%s"}' % ("yes" if known else "no")
    return f"I looked.\n```json\n{json.dumps({'answer': known})}\n```" if known else "I don't know."


def test_a_model_and_its_recording(here: Here, dataset: Path, tmp_path: Path) -> None:
    args = ("--testbed", "noise", "--testbed", "order", "--testbed", "rejection", "--form", "table")
    with Server(otherwise=by(scripted)) as server:
        done = here("ska", "run", dataset, "--llm", f"m@{server.url}", *args)
        assert done.returncode == 0, done.stderr
        calls = len(server.requests)
    text = (dataset / "runs" / "m.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()[1:]]
    assert calls < len(records)  # order/original has the input of noise/4k
    scores = rows(here("ska", "eval", dataset / "runs", "--per-query", "--format", "csv"))
    heights = {
        i.id for i in read_instances(dataset) if i.form == "table" and i.question.startswith("What is the height")
    }
    for score in scores:
        expected = 100 if score["id"].split("/")[-1] in heights or score["testbed"] == "rejection" else 0
        assert float(score["value"]) == expected, score
    recording = tmp_path / "calls.jsonl"
    assert here("llm", "export", dataset, recording).returncode == 0
    again = here("ska", "run", dataset, "--llm", f"replay:{recording}", *args, "-o", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "m.jsonl").read_text(encoding="utf-8") == text


def test_replies_without_an_answer_count_as_wrong(here: Here, dataset: Path) -> None:
    args = (
        "--testbed",
        "rejection",
        "--testbed",
        "noise",
        "--setting",
        "4k",
        "--setting",
        "noise only",
        "--form",
        "kg",
    )
    with Server(otherwise=by(lambda _: '{"answer": []}')) as server:
        done = here("ska", "run", dataset, "--llm", f"m@{server.url}", *args, "--form", "kg")
    assert "scored 0: the reply has no answer" in done.stderr
    assert {float(r["value"]) for r in rows(here("ska", "eval", dataset / "runs", "--no-paper", "-f", "csv"))} == {0.0}


def test_messages_for_other_programs(here: Here, dataset: Path, tmp_path: Path) -> None:
    file = tmp_path / "messages.jsonl"
    done = here("ska", "prompt", dataset, "--testbed", "rejection", "--form", "kg+text", "-o", file)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(records) == len([i for i in read_instances(dataset) if i.form == "kg+text"])
    system, user = records[0]["messages"]
    assert system["content"].splitlines()[-1].endswith('{"answer": "yes"} or {"answer": "no"}.')
    assert set(json.loads(user["content"])["knowledge"]) == {"triples", "texts"}
    shown = here("ska", "prompt", dataset, "table-0", "--testbed", "noise").stdout
    assert "[Mountain|Height (m)|Range|Note]" in shown
    assert shown.splitlines()[0] == "--- system ---"


# -- the baseline -----------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_the_baseline_on_every_form(here: Here, dataset: Path) -> None:
    args = ("--testbed", "noise", "--testbed", "rejection", "--setting", "4k", "--setting", "noise only")
    done = here("ska", "run", dataset, "--baseline", *args, "--limit", "1", "--table", "3", "--format", "csv")
    scores = {k: float(v) for k, v in rows(done)[0].items() if k not in ("system", "figures") and v}
    assert set(scores) == {f"{form} 4k" for form in ("kg", "table", "kg+text", "table+text")}
    assert scores["kg 4k"] == scores["table 4k"] == 100
    found = (dataset / "runs" / "baseline.jsonl").read_text(encoding="utf-8")
    assert '"reading": "ask: ' in found


def disguised(instance: Instance) -> Instance:
    """The instance with other ids, positive units as noise, and nothing that tells them apart."""
    units = instance.units
    random.Random(5).shuffle(units)
    plain = [dataclasses.replace(u, id=f"u{n}", synthesized="", check="", position=n) for n, u in enumerate(units)]
    return dataclasses.replace(
        instance, answers=["?"], positive=plain[-1:], noise=plain[:-1], provenance=Provenance("?")
    )


@pytest.mark.parametrize("form", ["kg", "table"])
def test_the_baseline_sees_questions_and_units_only(form: str) -> None:
    instance = (ska_data.kg(1) if form == "kg" else ska_data.table(1))[0]
    few = dataclasses.replace(instance, noise=instance.noise[:40])
    said = [baseline.answer(i.question, i.header, baseline.facts(i.units), i.title) for i in (few, disguised(few))]
    assert said[0] == said[1]
    assert sorted(said[0].predicted or ()) == instance.answers


def test_units_whose_source_is_unknown() -> None:
    [instance] = ska_data.kg(1)
    bare = [dataclasses.replace(u, source=[]) for u in (*instance.positive, *instance.noise[:40])]
    said = baseline.answer(instance.question, [], baseline.facts(bare))
    assert sorted(said.predicted or ()) == instance.answers
    text = KnowledgeUnit("n0", "passage", ["Rhine", "A river."])
    assert baseline.answer("What is the Danube?", [], baseline.facts([text])).predicted == []


def test_a_small_kb_of_any_table() -> None:
    header = ["id", "Name", "name (2)", "key", 'a.b;"c"', "Año"]
    ends = ("3.5", "3", "n/a", "")
    rows = [
        BareUnit(ROW, (str(n), f"R {n % 3}", "", "x\ny" if n else "", f"{n},000", end)) for n, end in enumerate(ends)
    ]
    with small_kb(rows, header) as small:
        assert small is not None
        assert small.kb.schema.nodes >= 4
    with small_kb([], header) as small:
        assert small is None


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([["1"], None, ["2,000"]], [1, None, 2000]),
        ([["1.5"], ["2"]], [1.5, 2.0]),
        ([["x"], ["2"]], ["x", "2"]),
        ([["1", "3"], None], [[1, 3], None]),
    ],
)
def test_values_of_a_small_kb_are_numbers_if_all_are(values: list[list[str] | None], kept: list[object]) -> None:
    assert _column(values).to_list() == kept


# -- statistics and errors --------------------------------------------------------------------------------------------


def test_statistics_by_hand(here: Here, dataset: Path) -> None:
    instances = read_instances(dataset)
    found = stats.statistics(instances, tokenizer := testbeds.tokenizer())
    for form in ("kg", "table+text"):
        own = [i for i in instances if i.form == form]
        [row] = found.counts.filter(form=form, figures="here").to_dicts()
        units = [u for i in own for u in i.positive if u.kind != "passage"]
        assert row["instances"] == len(own)
        assert row["answers"] == pytest.approx(sum(len(i.answers) for i in own) / len(own), abs=0.006)
        assert row["positive"] == pytest.approx(len(units) / len(own), abs=0.006)
        ends, sign = ("()", ", ") if form == "kg" else ("[]", "|")
        texts = [ends[0] + sign.join(u.content).replace("a|b", "a\\|b") + ends[1] for u in units]
        assert row["positive_tokens"] == pytest.approx(sum(tokenizer.counts(texts)) / len(units), abs=0.006)
    shown = rows(here("ska", "stats", dataset, "--format", "csv"))
    wanted = ("kg", "paper", "positive", "")
    assert [r["value"] for r in shown if (r["form"], r["figures"], r["metric"], r["at"]) == wanted] == ["4.25"]
    bins = [float(r["value"]) for r in shown if r["metric"] == "instances_by_positive"]
    assert sum(bins) == len(instances)


@pytest.mark.system
def test_charts(here: Here, dataset: Path, tmp_path: Path) -> None:
    assert here("ska", "run", dataset, "--oracle").returncode == 0
    for command, file in (("eval", dataset / "runs"), ("stats", dataset)):
        path = tmp_path / f"{command}.svg"
        done = here("ska", command, file, "--plot", path)
        assert done.returncode == 0, done.stderr
        assert path.read_text(encoding="utf-8").startswith("<svg")
    text = (tmp_path / "eval.svg").read_text(encoding="utf-8")
    assert "Figure 6" in text
    assert "Figure 9" in text


@pytest.mark.parametrize(
    "args",
    [
        "run DATA",
        "run DATA --oracle --testbed noises",
        "run DATA --oracle --testbeds none",
        "run DATA --oracle --table 2",
        "run none --oracle",
        "testbed none",
        "testbed DATA --size 5k",
        "prompt DATA nobody",
        "eval DATA",
        "eval DATA/instances.jsonl",
        "eval DATA/runs --table 9",
    ],
)
def test_errors(here: Here, prepared: Path, args: str, wording: Wording) -> None:
    done = here("ska", *args.replace("DATA", str(prepared)).split())
    assert done.returncode == 1
    assert not done.stdout
    wording(done.stderr, "cli", {str(prepared): "DATASET"})


def test_positive_units_beyond_the_budget_are_reported(here: Here, tmp_path: Path) -> None:
    [instance] = ska_data.kg(1)
    long = KnowledgeUnit("p99", "triple", ["x " * 2000, "is", "y"], ["a#x", "is", "a#y"])
    write_instances(tmp_path, [dataclasses.replace(instance, positive=[*instance.positive, long])])
    done = here("ska", "testbed", tmp_path)
    assert f"Left out: 1 instance ({instance.id}): kg: positive units exceed 1k" in done.stderr
    assert not (tmp_path / "testbeds" / "noise-1k.jsonl").exists()
    assert (tmp_path / "testbeds" / "noise-4k.jsonl").exists()


def test_settings_of_runs_are_known_to_evaluate(dataset: Path, here: Here) -> None:
    assert here("ska", "run", dataset, "--oracle", "--testbed", "rejection").returncode == 0
    [run] = evaluate.read_all([dataset / "runs"])
    assert run.settings["tokenizer"] == testbeds.tokenizer().name
    assert run.name == "oracle"
