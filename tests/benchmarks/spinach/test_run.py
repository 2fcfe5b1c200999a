"""SPINACH's questions on a KB: checked, answered by an agent whose model is scripted, and scored."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kbkit
from kbkit.agent.agent import AgentSettings
from kbkit.benchmarks.spinach import evaluate, execute, files, paper, run, run_files
from kbkit.benchmarks.spinach.execute import Executed
from kbkit.benchmarks.spinach.files import SparqlQuestion
from kbkit.benchmarks.spinach.run_files import AgentRecord, Run
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls
from kbkit.llm.models import open_calls, open_models
from kbkit.measures.rows import Result
from tests.conftest import Done
from tests.llm_server import Seen, Sent, Server, by, completion, status
from tests.wording import Wording

Here = Callable[..., Done]
ANDORRA = "SELECT ?c WHERE { country:AND rel:borders ?c }"
LONGEST = "SELECT ?r ?km { ?r rel:flows_through country:AUT ; attr:length_km ?km FILTER(?km > 2000) }"
QUESTIONS = [
    {"id": "1", "question": "Which countries border Andorra?", "sparql": ANDORRA},
    {"id": "2", "question": "Which long rivers does Austria have?", "sparql": LONGEST},
    {"id": "3", "question": "Is Bern Switzerland's capital?", "sparql": "ASK { country:CHE rel:capital city:bern }"},
    {"id": "4", "question": "Which countries border Iceland?", "sparql": "SELECT ?c { country:ISL rel:borders ?c }"},
    {"id": "5", "question": "Who is the mayor of Vienna?", "sparql": "SELECT ?m { city:vienna rel:mayor ?m }}"},
]
ACTIONS = {
    "1": ['search("Andorra")', 'sparql("SELECT ?c ?n { country:AND rel:borders ?c . ?c rdfs:label ?n }")', "stop()"],
    "2": ['sparql("SELECT ?r { ?r rel:flows_through country:AUT ; attr:length_km ?k FILTER(?k > 2000) }")', "stop()"],
    "3": ['sparql("ASK { country:CHE rel:capital city:geneva }")', "stop()"],
    "4": ['sparql("SELECT ?c { ?c a type:country } LIMIT 1")', "stop()"],
    "5": ["nonsense"],
}
"""What the scripted model does, step by step; the last again and again."""


def next_action(seen: Seen) -> str:
    inputs = seen.inputs
    [name] = [q["id"] for q in QUESTIONS if q["question"] == inputs["question"]]
    script = ACTIONS[name]
    return f"Thought: so far {len(inputs['steps'])}\nAction: {script[min(len(inputs['steps']), len(script) - 1)]}"


@pytest.fixture(scope="module")
def kb_path(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the world KB, whose cache of calls may be written."""
    return shutil.copytree(world_kb, tmp_path_factory.mktemp("spinach") / "world.kb")


@pytest.fixture(scope="module")
def kb(kb_path: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(kb_path) as opened:
        yield opened


@pytest.fixture
def dataset(tmp_path: Path) -> files.QuestionFile:
    return files.read_questions(write(tmp_path / "questions.json", QUESTIONS), question=True)


def write(path: Path, records: Any) -> Path:
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def calls_to(server: Server, **options: Any) -> Calls:
    return open_calls(open_models([f"m@{server.url}"]), **options)


PLAN = run.AgentPlan(AgentSettings(actions=6, total=12))


def answered(
    kb: KnowledgeBase, dataset: files.QuestionFile, out: Path, plan: run.AgentPlan = PLAN, **options: Any
) -> list[Any]:
    with Server(otherwise=by(next_action)) as server:
        run.run(kb, dataset, out, plan, calls_to(server, prices={"m": (2, 10)}), **options)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


# -- queries on a KB --------------------------------------------------------------------------------------------------


def cells(*rows: dict[str, str]) -> Result:
    return [{name: {"type": "literal", "value": value} for name, value in row.items()} for row in rows]


def test_results(kb: KnowledgeBase) -> None:
    found = execute.execute(kb, LONGEST)
    danube = {"r": "http://example.org/world/river/danube", "km": "2850"}
    [cell] = cells(danube)
    expected = [cell | {"r": {"type": "uri", "value": danube["r"]}}]
    assert (found.result, found.stage, found.rows, found.accepted, found.ran) == (expected, "done", 1, True, True)
    assert execute.execute(kb, "ASK { ?s ?p 'no such text' }").result is False
    unbound = execute.execute(kb, "SELECT ?a ?b { VALUES (?a ?b) { (1 UNDEF) ('x' 2.5) } }")
    assert unbound.result == cells({"a": "1"}, {"a": "x", "b": "2.5"})


def test_files_of_wdql(tmp_path: Path) -> None:
    """The form that its authors publish: JSON lines with paraphrases and the query of the log."""
    one = {
        "id": "train_1",
        "question": "List all languages.",
        "sparql": "SELECT ?x WHERE { ?x wdt:P31 wd:Q34770 . }",
        "paraphrases": ["Which languages are there?"],
        "info": {"raw_sparql": "SELECT ?var1 WHERE { ?var1 ?p ?o . }"},
    }
    (tmp_path / "train.jsonl").write_text(json.dumps(one) + "\n" + json.dumps(one | {"id": "train_2"}) + "\n")
    found = files.read_questions(tmp_path / "train.jsonl", question=True).questions
    assert [(q.id, q.text, q.sparql, q.answers) for q in found[:1]] == [
        ("train_1", one["question"], one["sparql"], None)
    ]
    assert len(found) == 2
    shutil.copy(tmp_path / "train.jsonl", tmp_path / "val.jsonl")
    archive = tmp_path / "wdql.tar.gz"
    for names, problem in ((["train.jsonl"], ""), (["train.jsonl", "val.jsonl"], "Duplicate id"), ([], "No .jsonl")):
        with tarfile.open(archive, "w:gz") as written:
            for name in names:
                written.add(tmp_path / name, f"wdql/{name}")
        if problem:
            with pytest.raises(BadInputError, match=problem):
                files.read_questions(archive)
        else:
            assert [(q.id, q.text) for q in files.read_questions(archive).questions] == [(q.id, q.text) for q in found]
            assert files.read_questions(archive).questions[1].where == f"{archive}/wdql/train.jsonl, line 2"
    archive.write_bytes(b"no archive")
    with pytest.raises(BadInputError, match="Cannot read"):
        files.read_questions(archive)


def test_stages(kb: KnowledgeBase) -> None:
    def stage(text: str, **options: Any) -> tuple[str, bool, bool, int]:
        found = execute.execute(kb, text, **options)
        assert bool(found.error) == (found.stage not in ("rows", "done"))
        return found.stage, found.accepted, found.ran, found.rows

    assert stage("SELECT ?a { ?a rel:nothing ?b }") == ("rows", True, True, 0)
    assert stage("SELECT ?a { ?a rel:borders }") == ("syntax", False, False, 0)
    assert stage("SELECT ?a { SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } }") == ("rewrite", False, False, 0)
    assert stage("SELECT ?a { ?a nosuch:prefix ?b }") == ("engine", False, False, 0)
    heavy = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    assert stage(heavy, timeout=0.2) == ("time", True, False, 0)
    assert stage("SELECT ?a { ?a a type:country }", max_rows=5) == ("done", True, True, 5)


def test_max_rows(kb: KnowledgeBase) -> None:
    assert execute.execute(kb, ANDORRA, max_rows=2).cut is False
    assert execute.execute(kb, ANDORRA, max_rows=1).cut is True


def test_check(kb: KnowledgeBase, dataset: files.QuestionFile) -> None:
    seen: list[tuple[int, int]] = []
    checked = list(execute.check_queries(kb, dataset, 60, 100, lambda done, total: seen.append((done, total))))
    assert execute.counts(checked).rows(named=True) == [{"total": 5, "accepted": 4, "ran": 4, "nonempty": 3}]
    assert seen == [(place, 5) for place in range(6)]
    [empty, wrong] = execute.lines(checked)
    assert empty == "4: rows: no rows"
    assert wrong.startswith("5: syntax: ")
    assert "line 1, column 39" in wrong.lower()
    frame = execute.details(checked)
    assert frame["rows"].to_list() == [2, 1, 1, 0, None]
    assert frame["stage"].to_list() == ["done", "done", "done", "rows", "syntax"]


# -- runs -------------------------------------------------------------------------------------------------------------


def test_a_run(kb: KnowledgeBase, dataset: files.QuestionFile, tmp_path: Path) -> None:
    first, *records = answered(kb, dataset, tmp_path / "runs.jsonl")
    settings = first["settings"]
    assert settings["kb"].keys() == {"name", "generation", "created", "sources"}
    assert (settings["kb"]["created"], settings["model"], settings["without"]) == (kb.manifest.created, "m", [])
    assert (settings["file"], settings["dataset"], settings["split"]) == ("questions.json", "", "")
    assert [record["id"] for record in records] == ["1", "2", "3", "4", "5"]
    one = records[0]
    assert one["predicted_sparql"].startswith("SELECT ?c ?n")
    assert sorted(row["n"]["value"] for row in one["predicted_answer_tuple"]) == ["France", "Spain"]
    assert len(one["gold_answer_tuple"]) == 2
    assert (one["actions"], one["rolled_back"], one["taken"]) == (3, 0, {"search": 1, "sparql": 1, "stop": 1})
    assert (one["input_tokens"], one["output_tokens"], one["cost"]) == (30, 15, (30 * 2 + 15 * 10) / 1e6)
    assert (one["outcome"], one.get("error"), one["asked"]) == ("stopped", None, True)
    assert [step["action"] for step in one["trace"]] == ["search", "sparql", "stop"]
    assert records[2]["predicted_answer_tuple"] is False
    assert records[2]["gold_answer_tuple"] is True
    # What gold cannot score is not asked.
    assert [(r["asked"], r["error"]) for r in records[3:]] == [(False, "not asked: there is no gold answer")] * 2
    assert records[3]["gold_answer_tuple"] == []
    assert "line 1, column 39" in records[4]["gold_error"].lower()


def test_questions_without_gold_are_asked(kb: KnowledgeBase, tmp_path: Path) -> None:
    bare = [{key: value for key, value in record.items() if key != "sparql"} for record in QUESTIONS[:1]]
    dataset = files.read_questions(write(tmp_path / "test.json", bare), sparql=False, question=True)
    _, record = answered(kb, dataset, tmp_path / "runs.jsonl")
    assert record["asked"]
    assert record["gold_answer_tuple"] is None
    _, *records = answered(
        kb,
        files.read_questions(write(tmp_path / "all.json", QUESTIONS[3:])),
        tmp_path / "all.jsonl",
        run.AgentPlan(AgentSettings(actions=2, total=3), unscored=True),
    )
    assert [record["asked"] for record in records] == [True, True]
    assert (records[1]["outcome"], records[1]["error"], records[1]["actions"]) == ("nothing", "no query", 2)


def test_an_ablation(kb: KnowledgeBase, dataset: files.QuestionFile, tmp_path: Path) -> None:
    with Server(otherwise=by(next_action)) as server:
        plan = run.AgentPlan(AgentSettings(actions=6, total=12, without=("search",)), limit=1)
        run.run(kb, dataset, tmp_path / "runs.jsonl", plan, calls_to(server))
        known = [action["name"] for action in server.requests[0].inputs["actions"]]
    assert known == ["entry", "examples", "sparql", "stop"]
    assert run_files.read_agent_run(tmp_path / "runs.jsonl").settings["without"] == ["search"]


def test_a_kb_without_triples(dataset: files.QuestionFile, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,thing,a\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,knows,a\n")
    (tmp_path / "texts.csv").write_text("key,text\n")
    out = tmp_path / "runs.jsonl"
    out.write_text("an earlier run\n")
    with (
        kbkit.ingest("table", tmp_path, out=tmp_path / "bare.kb", stores=["tables"]) as bare,
        Server() as server,
        pytest.raises(KbError, match="triples"),
    ):
        run.run(bare, dataset, out, PLAN, calls_to(server), replace=True)
    assert out.read_text() == "an earlier run\n"


def test_a_question_whose_model_fails_is_asked_again(
    kb: KnowledgeBase, dataset: files.QuestionFile, tmp_path: Path
) -> None:
    def broken(server: Server, seen: Seen) -> Sent:
        if "Andorra" in seen.inputs["question"]:
            return status(400, "too long")(server, seen)
        return Sent(200, json.dumps(completion(next_action(seen))).encode())

    out = tmp_path / "runs.jsonl"
    with Server(otherwise=broken) as server:
        run.run(kb, dataset, out, PLAN, calls_to(server))
    [one] = [record for record in run_files.read_agent_run(out).rows.values() if record.id == "1"]
    assert one.predicted_answer_tuple is None
    assert "too long" in one.error
    with Server(otherwise=by(next_action)) as server:
        run.run(kb, dataset, out, PLAN, calls_to(server))
        assert {seen.inputs["question"] for seen in server.requests} == {QUESTIONS[0]["question"]}
    found = {record.id: record for record in run_files.read_agent_run(out).rows.values()}
    assert len(found) == 5
    assert found["1"].error == ""


def test_an_unavailable_model_ends_the_run(kb: KnowledgeBase, dataset: files.QuestionFile, tmp_path: Path) -> None:
    with Server(otherwise=status(400, "no such model")) as server:
        with pytest.raises(KbError, match="no such model"):
            run.run(kb, dataset, tmp_path / "runs.jsonl", PLAN, calls_to(server))
        assert len(server.requests) == 3


# -- scores -----------------------------------------------------------------------------------------------------------


def record(name: str, predicted: Result, gold: Result, **more: Any) -> AgentRecord:
    return AgentRecord(name, f"question {name}", "", predicted, "", gold, **{"gold_error": "", "asked": True, **more})


def run_at(path: Path, settings: dict[str, Any], records: Sequence[AgentRecord]) -> Run:
    return Run(path.stem, path, settings, {one.id: one for one in records})


def scored(*records: AgentRecord, path: str = "mine.jsonl", **settings: Any) -> evaluate.Scored:
    [one] = evaluate.score_all([run_at(Path(path), settings, records)])
    return one


def test_scores_by_hand() -> None:
    gold = cells({"x": "a", "y": "b"}, {"x": "c", "y": "d"})
    one = scored(
        record("same", gold, gold, actions=3, cost=0.5),
        record("half", cells({"x": "a"}), gold, actions=5),  # tp 1/2, fn 3/2, fp 0: 1 / (1 + 3/2)
        record("none", None, gold, error="no query"),
        record("empty", [], gold),
    )
    assert one.scores.rows() == [("same", 100, 100), ("half", 0, pytest.approx(40)), ("none", 0, 0), ("empty", 0, 0)]
    assert evaluate.table([one]).rows() == [("mine", "here", 4, 25.0, pytest.approx(35), 4.0, None, None, 0.5)]
    assert evaluate.remarks(one) == ["mine: scored 0: 1 question (none): no query"]


def test_remarks_on_unscored_questions() -> None:
    rows = cells({"x": "a"})
    labels = cells({"xLabel": "a"})
    one = scored(
        record("1", rows, rows),
        record("2", rows, []),
        record("3", rows, None),
        record("4", rows, None, gold_error="SPARQL stopped after 60 s"),
        record("5", None, None, gold_error="SPARQL stopped after 60 s", asked=False),
        record("6", rows, rows, gold_error="there are more rows than are kept"),
        record("7", labels, labels),
        record("8", rows, rows, cut=True),
    )
    assert one.scores["em"].to_list() == [100, None, None, None, None, None, None, 100]
    assert evaluate.table([one])["questions"].to_list() == [2]
    assert evaluate.remarks(one) == [
        "mine: left out of the means, as in the paper: 1 question (2): the gold query returns no rows",
        "mine: left out of the means, as in the paper: 1 question (3): there is no gold answer",
        "mine: left out of the means, as in the paper: 2 questions (4, 5): SPARQL stopped after 60 s",
        "mine: left out of the means, as in the paper: 1 question (6): there are more rows than are kept",
        "mine: left out of the means: 1 question (7): the gold query returns only labels, which are not scored (the"
        " authors' program scores 0)",
        "mine: only the first rows of the prediction were scored: 1 question (8)",
    ]
    frame = evaluate.per_query([one])
    assert frame["error"].to_list()[2:4] == [None, "gold: SPARQL stopped after 60 s"]
    assert (frame["predicted_rows"].to_list()[:2], frame["gold_rows"].to_list()[:2]) == ([1, 1], [1, 0])


def test_the_paper_s_figures_of_a_run() -> None:
    rows = cells({"x": "a"})

    def printed(path: str, **settings: Any) -> tuple[float, float] | None:
        return scored(record("1", rows, rows), path=path, **settings).printed

    assert printed("qald_7_outputs.json") == (62.2, 74.6)
    dev = {"dataset": "SPINACH", "split": "dev"}
    assert printed("mine.jsonl", **dev) == (21.4, 46.4)
    assert printed("mine.jsonl", **dev, without=["search"]) == (4.6, 25.3)
    assert printed("mine.jsonl", **dev, without=["entry", "search"]) is None
    assert printed("mine.jsonl", dataset="SPINACH", split="test", without=["search"]) is None
    assert printed("mine.jsonl") is None
    assert printed("spinach_dev.jsonl", file="mine.json", dataset="", split="dev") is None
    one = scored(record("1", rows, rows), **dev)
    assert evaluate.table([one]).rows()[1:] == [
        ("mine", "paper", None, 21.4, 46.4, None, None, None, 0.1253),
        ("mine", "difference", None, 78.6, 53.6, None, None, None, None),
    ]


@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=40))
def test_table_5_counts_every_question_once(actions: list[int | None]) -> None:
    rows = cells({"x": "a"})
    one = scored(*(record(str(place), rows, rows, actions=n) for place, n in enumerate(actions)))
    known = [n for n in actions if n is not None]
    frame = evaluate.actions([one])
    if not known:
        assert frame.is_empty()
        return
    named = {"0-2": range(3), "3-5": range(3, 6), "6-8": range(6, 9), "9-11": range(9, 12), "12-14": range(12, 15)}
    expected = {name: sum(n in span for n in known) for name, span in named.items()}
    expected["15"] = sum(n >= 15 for n in known)
    assert dict(frame.select("actions", "questions").iter_rows()) == expected
    assert frame["percent"].sum() == pytest.approx(100)
    assert frame["paper"].to_list() == [0, 28.6, 33.8, 11.0, 7.1, 19.5]


@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=40))
@example([7, 7])
def test_tables_10_and_11_have_ten_equal_bins(counts: list[int]) -> None:
    rows = cells({"x": "a"})
    one = scored(*(record(str(place), rows, rows, output_tokens=n) for place, n in enumerate(counts)))
    frame = evaluate.tokens([one], "output_tokens")
    least, width = min(counts), (max(counts) - min(counts)) / 10 or 1
    assert frame["from"].to_list() == pytest.approx([least + i * width for i in range(10)])
    assert frame["to"][-1] == max(*counts, least + 10 * width)
    held = [
        sum(low <= n and (n < high or (last and n == high)) for n in counts)
        for low, high, last in zip(frame["from"], frame["to"], [False] * 9 + [True], strict=True)
    ]
    assert frame["questions"].to_list() == held
    assert frame["questions"].sum() == len(counts)
    assert evaluate.tokens([one], "input_tokens").is_empty()


def test_the_paper_s_bins() -> None:
    rows = cells({"x": "a"})
    frame = evaluate.tokens([scored(record("1", rows, rows, input_tokens=5))], "input_tokens")
    assert frame.select("paper_from", "paper_to", "paper").row(0) == (4912.5, 10330.5, 16.23)
    assert frame["paper_to"][-1] == pytest.approx(59092.5)
    assert sum(share for _, _, share in paper.tokens("output_tokens")) == pytest.approx(100, abs=0.1)
    assert frame["questions"].sum() == 1


# -- gold from elsewhere ----------------------------------------------------------------------------------------------


def question(name: str, answers: Result, sparql: str = "") -> SparqlQuestion:
    return SparqlQuestion(name, f"question {name}", sparql, answers, f"gold.json, record {name}")


def test_gold_of_a_file() -> None:
    uri: Result = [{"x": {"type": "uri", "value": "a"}}]
    gold = files.QuestionFile(Path("gold.json"), (question("1", uri), question("9", True)))
    theirs = run_at(
        Path("theirs.json"),
        {},
        (AgentRecord("q", "question 1", "", uri, "", None, "", asked=True), record("2", True, True)),
    )
    one, other = evaluate.with_gold(theirs, gold).rows.values()
    assert (one.id, one.gold_answer_tuple, one.predicted_answer_tuple) == ("1", uri, uri)
    assert (other.id, other.gold_answer_tuple, other.predicted_answer_tuple, other.error) == (
        "9",
        True,
        None,
        "the run does not have the question",
    )
    mine = (record("1", cells({"y": "a"}), None), record("7", None, None), record("8", None, None))
    ours = run_at(Path("ours.jsonl"), {"file": "x"}, mine)
    [score] = evaluate.score_all([evaluate.with_gold(ours, gold)])
    assert score.scores["em"].to_list() == [100, 0]  # cells of a KB have no types
    assert evaluate.outside(ours, gold) == ["ours.jsonl: 2 questions (7, 8) not in gold.json, left out"]
    assert evaluate.outside(run_at(Path("ours.jsonl"), {}, mine[:1]), gold) == []


def test_gold_of_other_questions() -> None:
    mine = run_at(Path("mine.json"), {}, (record("1", [], []),))
    with pytest.raises(KbError, match=r"gold\.json .* mine\.json: '7' and '1'"):
        evaluate.with_gold(mine, files.QuestionFile(Path("gold.json"), (question("7", []),)))
    with pytest.raises(KbError, match=r"Missing answers in .*gold\.json, record 1"):
        evaluate.with_gold(mine, files.QuestionFile(Path("gold.json"), (question("1", None),)))


def test_rerun(kb: KnowledgeBase) -> None:
    asked: list[str] = []

    def run_on_kb(text: str) -> Executed:
        asked.append(text)
        return execute.execute(kb, text)

    old = AgentRecord("1", "?", ANDORRA, None, ANDORRA, None, "", asked=True)
    kept = AgentRecord("2", "?", "", True, "", True, "", asked=True)
    [one] = evaluate.score_all([evaluate.rerun(run_at(Path("r.json"), {}, (old, kept)), run_on_kb, gold=True)])
    assert one.scores["f1"].to_list() == [100, 100]
    assert asked == [ANDORRA, ANDORRA]
    gold = files.QuestionFile(Path("gold.json"), (question("1", None, ANDORRA),))
    [only] = evaluate.with_gold(run_at(Path("r.json"), {}, (old,)), gold, run_on_kb).rows.values()
    assert isinstance(only.gold_answer_tuple, list)
    assert len(only.gold_answer_tuple) == 2


# -- files of runs ----------------------------------------------------------------------------------------------------


def test_the_authors_outputs(shared_data: Path) -> None:
    [one] = evaluate.score_all([run_files.read_agent_run(shared_data / "spinach" / "qald_7_outputs.json")])
    here, printed, difference = evaluate.table([one]).select("questions", "em", "f1").rows()
    assert (here[0], round(here[1], 2), round(here[2], 2)) == (45, 62.22, 74.62)
    assert printed[1:] == (62.2, 74.6)
    assert difference[1:] == pytest.approx((0.02, 0.02), abs=0.005)


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "1"}]',
        "[3]",
        '[{"id": 1.5, "predicted_sparql": ""}]',
        '[{"id": "1", "predicted_sparql": 1}]',
        '[{"id": "1", "predicted_sparql": "", "cost": "x"}]',
        '[{"id": "1", "predicted_sparql": "", "actions": -1}]',
        '[{"id": "1", "predicted_sparql": "", "actions": 1.5}]',
        '[{"predicted_sparql": ""}, {"id": "1", "predicted_sparql": ""}]',
        '[{"predicted_answer_tuple": 4}]',
        '{"settings": {}}\n',
        '{"predicted_sparql": ""}\n{"id": ',
        "",
    ],
)
def test_invalid_runs(tmp_path: Path, text: str, wording: Wording) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError) as raised:
        run_files.read_agent_run(path)
    assert str(path) in str(raised.value)
    wording(str(raised.value), replace={str(tmp_path): "DIR"})


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_run_and_eval(here: Here, kb_path: Path, tmp_path: Path) -> None:
    write(tmp_path / "questions.json", QUESTIONS)
    with Server(otherwise=by(next_action)) as server:
        done = here(
            *("spinach", "run", kb_path, "questions.json", "-o", "runs.jsonl", "--llm", f"m@{server.url}"),
            *("--max-actions", "6", "--max-total-actions", "12", "--workers", "2"),
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    assert "Table 11" in done.stdout
    records = here("-q", "spinach", "eval", "runs.jsonl", "-f", "ndjson", cwd=tmp_path)
    rows = [json.loads(line) for line in records.stdout.splitlines()]
    assert {row["table"] for row in rows} == {3, 5, 10, 11}
    # 1: all; 2: one cell of two in its row, tp 1/2 and fn 1/2; 3: the wrong boolean
    assert rows[0]["questions"] == 3
    assert rows[0]["em"] == pytest.approx(100 / 3)
    assert rows[0]["f1"] == pytest.approx((100 + 100 * 2 / 3) / 3)
    assert "m: 7 calls, 70 + 35 tokens" in done.stderr
    assert "runs: left out of the means, as in the paper: 1 question (4): the gold query returns no rows" in done.stderr
    shown = here("-q", "spinach", "eval", "runs.jsonl", "--per-query", "-f", "csv", cwd=tmp_path)
    frame = pl.read_csv(shown.stdout.encode()).sort("query")
    assert frame["em"].to_list() == [100, 0, 0, None, None]
    again = here("-q", "spinach", "eval", "runs.jsonl", "--kb", kb_path, "--table", "3", "-f", "json", cwd=tmp_path)
    assert [row["em"] for row in json.loads(again.stdout)] == [pytest.approx(100 / 3)]
    gold = here(
        *("-q", "spinach", "eval", "runs.jsonl", "--gold", "questions.json", "--kb", kb_path),
        *("--table", "5", "-f", "ndjson"),
        cwd=tmp_path,
    )
    assert [json.loads(line)["questions"] for line in gold.stdout.splitlines()] == [2, 1, 0, 0, 0, 0]


@pytest.mark.core
def test_check_command(here: Here, world_kb: Path, tmp_path: Path) -> None:
    write(tmp_path / "questions.json", QUESTIONS)
    done = here("spinach", "check", world_kb, "questions.json", "--details", "all.csv", "-f", "csv", cwd=tmp_path)
    assert done.stdout == "total,accepted,ran,nonempty\n5,4,4,3\n"
    assert done.stderr.splitlines()[0] == "4: rows: no rows"
    assert pl.read_csv(tmp_path / "all.csv")["id"].to_list() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "KB", "q.json", "-o", "r.jsonl"],
        ["run", "KB", "q.json", "-o", "r.jsonl", "--without", "stop"],
        ["run", "KB", "q.json", "-o", "r.jsonl", "--without", "look"],
        ["check", "KB", "none.json"],
        ["check", "KB", "q.json", "-o", "x.xml"],
        ["eval", "q.json"],
        ["eval", "q.json", "--table", "1"],
    ],
)
def test_command_errors(here: Here, world_kb: Path, tmp_path: Path, arguments: list[str], wording: Wording) -> None:
    write(tmp_path / "q.json", QUESTIONS)
    done = here("spinach", *(world_kb if part == "KB" else part for part in arguments), cwd=tmp_path)
    assert done.returncode == 1
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "r.jsonl").exists()
