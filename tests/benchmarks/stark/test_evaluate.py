"""STaRK's evaluation: candidates, runs of every mode, reranking by a model, tables, and the commands."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.costs import Latency
from kbkit.benchmarks.stark import evaluate, rerank
from kbkit.benchmarks.stark import run as running
from kbkit.benchmarks.stark import task as tasks
from kbkit.benchmarks.stark.run import ModeRunner, Result
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.llm import recording
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.client import ModelRequest, Reply, Usage
from kbkit.measures.frames import Gold
from tests.conftest import Done
from tests.kbs import LIGHT
from tests.llm_server import Server, by
from tests.wording import Wording

Here = Callable[..., Done]

NODES = """\
key,type,name
p1,paper,Kites in storms
p2,paper,Kites at sea
p3,paper,Bees and honey
p4,paper,Honey in history
p5,paper,Kites and bees
a1,author,Ada Lovett
p1,author,Pat One
"""
EDGES = "head_type,head,relation,tail_type,tail\nauthor,a1,writes,paper,p2\nauthor,p1,writes,paper,p3\n"
TEXTS = """\
key,type,text
p1,paper,A kite flies in a storm.
p2,paper,A kite flies over the sea with wind.
p3,paper,Bees make honey.
p4,paper,Honey was traded by monks.
p5,paper,A kite made by bees.
a1,author,writes of kites
"""
TABLE = """\
id,query,answer_ids
0,kites over the sea,"[""p2""]"
1,honey of bees,"[""p3"", ""p4"", ""gone""]"
2,storm,"[""p1""]"
"""
HUMAN = 'id,query,answer_ids\n0,monks with honey,"[""p4""]"\n'
ALL = ["bm25", "dense", "multivector", "hybrid", "relational"]


def source(folder: Path) -> Path:
    folder.mkdir()
    for name, text in (("nodes", NODES), ("edges", EDGES), ("texts", TEXTS)):
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def kb_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stark")
    kbkit.ingest("table", source(folder / "source"), out=folder / "p.kb").close()
    return folder / "p.kb"


@pytest.fixture(scope="module")
def kb(kb_path: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(kb_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "d"
    for name, text in (
        ("stark_qa/stark_qa.csv", TABLE),
        ("stark_qa/stark_qa_human_generated_eval.csv", HUMAN),
        ("split/test.index", "0\n1\n2\n"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def gold_of(**answers: Sequence[str]) -> Gold:
    rows = [(query, node, 1) for query, nodes in answers.items() for node in nodes]
    judgements = pl.DataFrame(rows, schema={"query": pl.String, "node": pl.String, "relevance": pl.Int64}, orient="row")
    return Gold(judgements, pl.DataFrame({"query": list(answers), "text": [f"words of {q}" for q in answers]}))


def run_of(**nodes: str) -> pl.DataFrame:
    rows = [(query, node, -float(i)) for query, names in nodes.items() for i, node in enumerate(names.split())]
    return pl.DataFrame(rows, schema={"query": pl.String, "node": pl.String, "score": pl.Float64}, orient="row")


# -- what is asked ----------------------------------------------------------------------------------------------------


def test_a_sample_is_the_same_for_a_seed(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,query,answer_ids\n" + "".join(f"{i},w,[{i}]\n" for i in range(100)))

    def drawn(share: float, seed: int) -> list[str]:
        gold = running.questions(tmp_path / "q.csv", "", share, seed)
        assert gold.judgements["query"].to_list() == gold.queries["query"].to_list()
        return gold.queries["query"].to_list()

    first = drawn(0.1, 7)
    assert len(first) == len(set(first)) == 10
    assert first == sorted(first, key=int)
    assert drawn(0.1, 7) == first
    assert drawn(0.1, 8) != first
    assert len(drawn(0.001, 1)) == 1
    assert len(drawn(1, 1)) == 100


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan")])
def test_sample_size(share: float, data: Path) -> None:
    with pytest.raises(KbError, match="Invalid sample"):
        running.questions(data, "test", share)


def test_the_types_of_the_answers_are_searched(kb: KnowledgeBase, data: Path) -> None:
    task = tasks.task(kb, running.questions(data, "test"))
    # p1 is an author's key too, but the papers hold all answers
    assert task.types == ("paper",)
    assert task.within.tolist() == kb.session.members("paper").tolist()
    assert (task.answers, task.unknown) == (5, 1)
    assert task.remarks() == [
        "Searched 5 nodes of type paper, the type of the answers",
        "1 of 5 answers are not a paper of the KB and are left out",
    ]


def test_several_types(kb: KnowledgeBase) -> None:
    task = tasks.task(kb, gold_of(q=["p2", "a1"]))
    assert sorted(task.types) == ["author", "paper"]
    assert len(task.within) == 7
    assert ModeRunner(kb, task, 10, 0).hits("bm25").is_empty()  # nothing has these words
    asked = tasks.task(kb, gold_of(q=["p2", "a1"]), ["author"])
    assert (asked.types, len(asked.within), asked.unknown, asked.guessed) == (("author",), 2, 1, False)


def test_types_from_the_recipe(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    said = dataclasses.replace(kb.schema, candidate_types=("author",))
    monkeypatch.setattr(type(kb), "schema", said)
    task = tasks.task(kb, gold_of(q=["p1", "p2"]))
    assert (task.types, task.unknown, task.guessed) == (("author",), 1, False)


def test_answers_of_another_kb(kb: KnowledgeBase, kb_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        tasks.task(kb, gold_of(q=["x", "y"]))
    wording(str(caught.value), replace={str(kb_path): "KB"})


def test_ambiguous_keys_are_rejected(kb: KnowledgeBase, wording: Wording) -> None:
    found = pl.DataFrame(
        {"query": ["q", "q"], "id": [1, 2], "key": ["p1", "p1"], "type": ["paper", "author"], "score": [2.0, 1.0]}
    )
    with pytest.raises(KbError) as caught:
        tasks.StarkTask(gold_of(q=["p1"]), ("paper", "author"), kb.session.members("paper"), 1, 0).run(found)
    wording(str(caught.value))


# -- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ALL)
def test_a_mode_finds_what_a_search_finds(kb: KnowledgeBase, data: Path, mode: str) -> None:
    task = tasks.task(kb, running.questions(data, "test"))
    result = ModeRunner(kb, task, k=3, timed=2).result(mode)
    asked = dict(zip(["0", "1", "2"], task.texts, strict=True))
    expected = kb.search_many(asked, 3, mode, type="paper")
    assert result.run.rows() == expected.select("query", "key", "score").rows()
    assert result.latency is not None
    assert 0 < result.latency.median < 60_000
    assert result.latency.mean == pytest.approx(result.latency.median)  # of two


def test_modes_of_a_kb_without_vectors(tmp_path: Path) -> None:
    with kbkit.ingest("table", source(tmp_path / "s"), out=tmp_path / "k.kb", stores=LIGHT) as light:
        assert running.modes(light) == ["bm25"]
        assert running.modes(light, ["dense"]) == ["dense"]  # refused when it runs, with what to build
        assert running.left_out(light) == [
            f"Skipped {mode}: the KB has no vectors" for mode in ("dense", "multivector", "hybrid", "relational")
        ]


def test_a_kb_without_search_stores(tmp_path: Path) -> None:
    stores = ("tables", "adjacency")
    with kbkit.ingest("table", source(tmp_path / "s"), out=tmp_path / "k.kb", stores=stores) as bare:
        assert len(running.left_out(bare)) == 5
        with pytest.raises(KbError, match="neither full text nor vectors"):
            running.modes(bare)


def test_modes(kb: KnowledgeBase) -> None:
    assert running.modes(kb) == ALL
    assert running.left_out(kb) == []
    assert running.modes(kb, ["dense", "bm25", "dense"]) == ["dense", "bm25"]
    with pytest.raises(UnknownNameError, match="'bm52'"):
        running.modes(kb, ["bm52"])


# -- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_table_6_by_hand() -> None:
    gold = gold_of(a=["x"], b=["x", "y"], c=["z"], d=[])
    run = run_of(a="x", b="u v w x", c=" ".join(f"n{i}" for i in range(20)) + " z")
    table = evaluate.table([Result("one", run, Latency(2.0, 3.0)), Result("two", run_of(a="y"))], gold)
    assert table.rows() == [
        # MRR (1 + 1/4 + 1/21) / 3; R@20 (1 + 1/2 + 0) / 3; query d has no answers
        ("one", 4, 33.33, 66.67, 50.0, pytest.approx(100 * (1 + 1 / 4 + 1 / 21) / 3, abs=0.005), 2.0, 3.0),
        ("two", 4, 0.0, 0.0, 0.0, 0.0, None, None),
    ]


def test_a_run_of_another_dataset() -> None:
    with pytest.raises(KbError) as caught:
        evaluate.table([Result("a.trec", run_of(z="x"))], gold_of(a=["x"]))
    assert all(name in str(caught.value) for name in ("a.trec", "'z'", "'a'"))


def test_runs_are_written_for_other_programs(tmp_path: Path) -> None:
    from kbkit.measures.files import read_run

    spaced = pl.DataFrame({"query": ["a"], "node": ["x y"], "score": [1.0]})
    results = [Result("hybrid + org/model:7b", run_of(a="x z"), Latency(1.5, 2.5)), Result("dense", spaced)]
    paths = [evaluate.write_result(result, tmp_path / "out") for result in results]
    assert [path.name for path in paths] == ["hybrid+org-model-7b.trec", "dense.jsonl"]
    assert [read_run(path)["node"].to_list() for path in paths] == [["x", "z"], ["x y"]]
    assert [evaluate.read_result(path).latency for path in paths] == [None, None]  # no run is beside them


def test_a_run_is_resumed_and_keeps_its_times(kb: KnowledgeBase, data: Path, tmp_path: Path) -> None:
    gold = running.questions(data, "test")
    settings = running.settings(data, "test", 1.0, 0, gold)

    def runner(k: int = 3, **options: Any) -> ModeRunner:
        return ModeRunner(kb, tasks.task(kb, gold), k, timed=2, folder=tmp_path, settings=settings, **options)

    first = runner().result("hybrid")
    file = tmp_path / "predictions" / "hybrid.jsonl"
    whole = file.read_bytes()
    file.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]) + b'{"id": "1", "no')  # killed
    again = runner().result("hybrid")
    assert file.read_bytes() == whole
    assert again.run.equals(first.run)
    assert first.latency == again.latency == evaluate.read_result(evaluate.write_result(again, tmp_path)).latency
    with pytest.raises(KbError, match="made with other settings: k was 3, now 2"):
        runner(k=2).result("hybrid")
    assert runner(k=2, replace=True).result("hybrid").run.height < first.run.height


def test_a_run_without_hits(here: Here, kb_path: Path, data: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.csv"
    nothing.write_text('id,query,answer_ids\n0,xylophone,"[""p1""]"\n')
    folder = tmp_path / "runs"
    options = ("-m", "bm25", "--type", "paper", "--latency", 1, "--runs", folder, "--split", "", "-f", "ndjson")
    [row] = rows(here("-q", "stark", "run", kb_path, nothing, *options))
    assert (folder / "bm25.trec").read_bytes() == b""
    [again] = rows(here("-q", "stark", "eval", nothing, folder / "bm25.trec", "--split", "", "-f", "ndjson"))
    assert {**again, "run": "bm25"} == row
    assert (row["queries"], row["MRR"]) == (1, 0)
    assert row["ms_mean"] > 0
    (tmp_path / "other.trec").write_bytes(b"")  # of which nobody says that it is whole
    done = here("stark", "eval", data, tmp_path / "other.trec")
    assert done.returncode == 1
    assert f"{tmp_path}/other.trec is empty" in done.stderr


def test_runs_with_the_same_file_name(tmp_path: Path, wording: Wording) -> None:
    evaluate.check_folder(tmp_path, ["bm25", "dense", "dense + a"])
    with pytest.raises(KbError) as caught:
        evaluate.check_folder(tmp_path, ["dense", "dense + org/a", "dense + org:a"])
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


# -- reranking --------------------------------------------------------------------------------------------------------


class Judge:
    """A model that scores a candidate by its name, and records its input."""

    def __init__(self, name: str, scores: dict[str, Any]) -> None:
        self.name, self.scores = name, scores
        self.seen: list[dict[str, Any]] = []

    def complete(self, request: ModelRequest) -> Reply:
        shown = json.loads(next(message.content for message in request.messages if message.role == "user"))
        self.seen.append(shown)
        return Reply(json.dumps({"score": self.scores.get(shown["candidate"]["name"], 0.5)}), Usage(7, 3))


def test_merged_by_hand() -> None:
    found = pl.DataFrame(
        {"query": ["q"] * 5 + ["r"], "rank": [1, 2, 3, 4, 5, 1], "id": [9, 8, 7, 6, 5, 9], "score": [9.0] * 6}
    )
    scored = pl.DataFrame(
        {"query": ["q"] * 4, "id": [9, 8, 7, 6], "model": [0.2, None, 0.9, 0.2]}, schema_overrides={"id": pl.Int64}
    )
    merged = rerank.merged(found, scored).sort("query", "score", descending=[False, True])
    # by score; equal ones as they were; then the one without a score, then what was not reranked
    assert merged.filter(query="q")["id"].to_list() == [7, 9, 6, 8, 5]
    assert merged.filter(query="q")["score"].to_list()[:2] == [pytest.approx(0.9), pytest.approx(0.2)]
    assert merged.filter(query="r").height == 1


def test_rerank_depth() -> None:
    assert [rerank.depth(split) for split in ("test", "human_generated_eval")] == [20, 10]
    assert rerank.depth("test", 3) == 3
    with pytest.raises(KbError, match="number of hits to rerank: 0"):
        rerank.depth("test", 0)


def reranked(
    kb: KnowledgeBase, data: Path, judge: Judge, depth: int, cache: Cache, timed: int = 0
) -> tuple[Result, list[str], pl.DataFrame]:
    runner = ModeRunner(kb, tasks.task(kb, running.questions(data, "test")), 5, timed)
    [scoring] = rerank.scorings(None, Calls([judge], cache))
    result, remarks = rerank.result(runner, "bm25", scoring, depth)
    return result, remarks, runner.hits("bm25")


def test_reranking_with_a_model(kb: KnowledgeBase, data: Path) -> None:
    judge = Judge("judge", {"Kites and bees": 1.0, "Kites at sea": 0.75})
    result, remarks, before = reranked(kb, data, judge, 2, Cache(None))
    assert (result.name, remarks, result.latency) == ("bm25 + judge", [], None)
    top = before.filter(pl.col("rank") <= 2)
    assert {(seen["query"], seen["candidate"]["name"]) for seen in judge.seen} == {
        (dict(zip("012", ["kites over the sea", "honey of bees", "storm"], strict=True))[query], name)
        for query, name in top.select("query", "name").iter_rows()
    }
    assert len(judge.seen) == top.height
    by_relation = next(seen for seen in judge.seen if seen["candidate"]["name"] == "Kites at sea")["candidate"]
    assert by_relation["texts"] == "A kite flies over the sea with wind."
    assert any("Ada Lovett" in line for line in by_relation["relations"])
    for query in "012":
        scores = {"Kites and bees": 1.0, "Kites at sea": 0.75}
        rows = before.filter(query=query).rows(named=True)
        first = sorted(rows[:2], key=lambda row: -scores.get(row["name"], 0.5))
        expected = [row["key"] for row in first + rows[2:]]
        assert result.run.filter(query=query).sort("score", descending=True)["node"].to_list() == expected


def test_invalid_scores_rank_last(kb: KnowledgeBase, data: Path) -> None:
    judge = Judge("judge", {"Bees and honey": 7, "Honey in history": 0.0})
    result, remarks, before = reranked(kb, data, judge, 20, Cache(None))
    unfit = before.filter(name="Bees and honey").height
    assert unfit > 0
    assert remarks == [f"bm25 + judge: {unfit:,} of {before.height:,} hits got no valid score and rank last"]
    assert result.run.filter(query="1").sort("score")["node"][0] == "p3"  # below the 0.0 too


def test_timed_questions_are_scored_once(kb: KnowledgeBase, data: Path) -> None:
    judge, cache = Judge("judge", {}), Cache(None)
    first, _, before = reranked(kb, data, judge, 20, cache, timed=2)
    assert first.latency is not None
    assert len(judge.seen) == before.height
    again, _, _ = reranked(kb, data, judge, 20, cache, timed=2)
    assert again.latency is None  # the cache's time is not the model's
    assert again.run.equals(first.run)
    assert len(judge.seen) == before.height


def test_systems(wording: Wording) -> None:
    calls = Calls([Judge("a", {}), Judge("b", {})], Cache(None))
    assert [scoring.name for scoring in rerank.scorings(None, calls)] == ["a", "b"]
    assert rerank.scorings(None, None) == []
    with pytest.raises(KbError) as caught:
        rerank.scorings("llm:m@http://localhost:1/v1", None)
    wording(str(caught.value))
    with pytest.raises(UnknownNameError, match="'x:y'"):
        rerank.scorings("x:y", None)


class Longest:
    """A reranker as cross-encoders are: any numbers, query by query."""

    name = "longest"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score(self, query: str, candidates: Sequence[Any]) -> Sequence[float]:
        self.asked.append(query)
        return [-1000.0 / len(candidate.texts) for candidate in candidates]


def test_other_rerankers(kb: KnowledgeBase, data: Path) -> None:
    reranker = Longest()
    runner = ModeRunner(kb, tasks.task(kb, running.questions(data, "test")), 5, 0)
    result, _ = rerank.result(runner, "dense", rerank.Scoring("longest", rerank.reranker_scorer(reranker)), 3)
    assert reranker.asked == ["kites over the sea", "honey of bees", "storm"]
    lengths = {key: len(text) for key, _, text in (line.split(",", 2) for line in TEXTS.splitlines()[1:])}
    for query in "012":
        before = runner.hits("dense").filter(query=query)["key"].to_list()
        expected = sorted(before[:3], key=lambda key: -lengths[key]) + before[3:]
        assert result.run.filter(query=query).sort("score", descending=True)["node"].to_list() == expected


# -- commands ---------------------------------------------------------------------------------------------------------


def rows(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.core
def test_run_and_eval_agree(here: Here, kb_path: Path, data: Path, tmp_path: Path) -> None:
    done = here("stark", "run", kb_path, data, "--runs", tmp_path / "runs", "--latency", 1, "-k", 4, "-f", "ndjson")
    table = rows(done)
    assert [row["run"] for row in table] == ALL
    assert list(table[0]) == ["run", "queries", "Hit@1", "Hit@5", "R@20", "MRR", "ms_median", "ms_mean"]
    assert all(row["queries"] == 3 and row["ms_median"] > 0 for row in table)
    assert table[0]["Hit@1"] == 100  # the words of each are in its first answer alone
    assert table[0]["R@20"] == 100  # the answer that is no paper of the KB does not count
    paths = [tmp_path / "runs" / f"{mode}.trec" for mode in ALL]
    said = [re.sub(r": [\d.]+ s, median [\d.]+ ms per item$", ": TIME", line) for line in done.stderr.splitlines()]
    assert said == [
        "Searched 5 nodes of type paper, the type of the answers",
        "1 of 5 answers are not a paper of the KB and are left out",
        "Rankings end at 4: Hit@5 is Hit@4, R@20 is R@4",
        *(f"{mode}: TIME" for mode in ALL),
        *map(str, paths),
    ]
    again = rows(here("stark", "eval", data, *paths, "--kb", kb_path, "-f", "ndjson"))
    assert [{**row, "run": Path(row["run"]).stem} for row in again] == table
    [all_count] = rows(here("stark", "eval", data, paths[0], "-f", "ndjson"))
    assert all_count["R@20"] == pytest.approx(100 * (1 + 2 / 3 + 1) / 3, abs=0.005)
    measured = rows(here("measure", "ranking", paths[0], data, "--split", "test", "--measure", "mrr", "-f", "ndjson"))
    assert measured[0]["mrr"] == pytest.approx(table[0]["MRR"] / 100, abs=1e-4)


def test_human_queries(here: Here, kb_path: Path, data: Path) -> None:
    args = ("--split", "human_generated_eval", "-m", "bm25", "--latency", 0, "-f", "ndjson")
    [row] = rows(here("-q", "stark", "run", kb_path, data, *args))
    assert row == {
        "run": "bm25", "queries": 1, "Hit@1": 100, "Hit@5": 100, "R@20": 100, "MRR": 100,
        "ms_median": None, "ms_mean": None,
    }  # fmt: skip


def test_a_model_from_a_recording(here: Here, kb: KnowledgeBase, kb_path: Path, data: Path, tmp_path: Path) -> None:
    judge, cache = Judge("judge", {"Kites at sea": 1.0, "Bees and honey": 0.9}), Cache(None)
    expected, _, _ = reranked(kb, data, judge, 20, cache)
    recording.write(cache.rows(), tmp_path / "calls.jsonl")
    args = ("-m", "dense", "--rerank-mode", "bm25", "-k", 5, "--runs", tmp_path / "out", "--latency", 2, "-f", "ndjson")
    done = here("stark", "run", kb_path, data, *args, "--llm", f"replay:{tmp_path}/calls.jsonl")
    table = rows(done)
    assert [row["run"] for row in table] == ["dense", "bm25 + judge"]
    assert table[1]["ms_median"] is None
    gold = running.questions(data, "test")
    assert table[1]["MRR"] == evaluate.table([expected], gold)["MRR"][0]
    assert (tmp_path / "out" / "bm25+judge.trec").is_file()


def test_finished_runs_are_kept_when_the_budget_is_spent(here: Here, kb_path: Path, data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "p.kb"  # its workspace is written to
    shutil.copytree(kb_path, copy)
    with Server(otherwise=by(lambda _: '{"score": 0.5}')) as server:
        llm = ("--llm", f"m@{server.url}", "--budget", 20, "--workers", 1)
        args = ("-m", "bm25", "--rerank-mode", "bm25", "--latency", 0, "-f", "ndjson")
        done = here("stark", "run", copy, data, *args, "--runs", tmp_path / "lb", *llm)
    assert done.returncode == 1
    assert "20 tokens" in done.stderr
    assert [json.loads(line)["run"] for line in done.stdout.splitlines()] == ["bm25"]
    assert sorted(path.name for path in (tmp_path / "lb").iterdir()) == ["bm25.trec", "predictions"]
    assert f"{tmp_path}/lb/bm25.trec\n" in done.stderr


@pytest.mark.parametrize("k", [1, 5, 20])
def test_remark_on_measures_beyond_k(kb: KnowledgeBase, data: Path, k: int) -> None:
    task = tasks.task(kb, running.questions(data, "test"), ["paper"])
    said = ["Rankings end at 1: Hit@5 is Hit@1, R@20 is R@1"] if k == 1 else []  # 5 papers are all
    assert ModeRunner(kb, task, k, 0).remarks()[1:] == said


@pytest.mark.parametrize(
    "args",
    [
        "-f nope",
        "-f parquet",
        "-o none/x.csv",
        "-o x.y",
        "-o d -f csv",
    ],
)
@pytest.mark.parametrize("command", ["run nothing.kb nodata", "eval nodata run.trec", "stats nodata"])
def test_output_options_are_checked_first(here: Here, data: Path, command: str, args: str, wording: Wording) -> None:
    done = here("stark", *command.split(), *args.split(), cwd=data.parent)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli")


@pytest.mark.parametrize(
    "args",
    [
        "--sample 0.5 --seed -1",
        "-m bm52",
        "--rerank-mode bm52 -m bm25",
        "--split dev",
        "--sample 2",
        "--type kite",
        "--rerank-depth 0",
        "-k 0",
        "--runs d/split/test.index",
        "--llm m",
    ],
)
def test_errors(here: Here, kb_path: Path, data: Path, args: str, wording: Wording) -> None:
    done = here("-q", "stark", "run", kb_path, "d", *args.split(), cwd=data.parent)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli")


def test_eval_of_another_datasets_run(here: Here, data: Path, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "x.trec").write_text("99 Q0 p1 1 1 x\n")
    done = here("stark", "eval", data, "x.trec", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli")


def test_eval_of_a_sample(here: Here, data: Path, tmp_path: Path) -> None:
    (tmp_path / "x.trec").write_text("0 Q0 p2 1 1 x\n1 Q0 p2 1 1 x\n2 Q0 p1 1 1 x\n")
    refused = here("stark", "eval", data, "x.trec", "--sample", 0.4, "--seed", -3, cwd=tmp_path)
    assert (refused.returncode, refused.stderr) == (1, "kbkit: Invalid seed: -3. Use 0 or more.\n")
    options = ("--sample", 0.4, "--seed", 3, "-f", "ndjson")
    [row] = rows(here("-q", "stark", "eval", data, "x.trec", *options, cwd=tmp_path))
    drawn = running.questions(data, "test", 0.4, 3).queries["query"].to_list()
    assert row["queries"] == len(drawn) == 1
    assert row["Hit@1"] == (0 if drawn == ["1"] else 100)


def test_a_query_that_finds_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text('id,query,answer_ids\n0,xylophone,"[""p1""]"\n1,storm,"[""p1""]"\n')
    judge = Judge("judge", {})
    for timed in (0, 1):
        runner = ModeRunner(kb, tasks.task(kb, running.questions(tmp_path / "q.csv", ""), ["paper"]), 5, timed)
        [scoring] = rerank.scorings(None, Calls([judge], Cache(None)))
        result, remarks = rerank.result(runner, "bm25", scoring, 20)
        assert (result.run["query"].to_list(), result.run["node"].to_list(), remarks) == (["1"], ["p1"], [])
        assert evaluate.table([result], runner.task.gold)["Hit@1"].to_list() == [50]
