"""The performance suite's own working: figures, verdicts, growth, engines that fail, and one small area as a whole."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.performance import evaluation
from tests.performance.__main__ import arguments, main
from tests.performance.areas import AREAS, GOALS, GROWTH, LONG, resolved
from tests.performance.metapaths import ARMS, NAMES, RELATIONS, TYPES, Walker, expected
from tests.performance.report import Figure, Goal, disagreements, exponent, growth, judge, table
from tests.performance.runner import Job, run
from tests.performance.timing import disk_mb, seconds, times


def figure(engine: str, value: float | None, what: str = "hop", unit: str = "ms", **more: object) -> Figure:
    return Figure(what, value, unit, area="answers", engine=engine, **{"scale": 0.1, **more})  # type: ignore[arg-type]


def printed(thing: object) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(thing)
    return console.file.getvalue()  # type: ignore[attr-defined]


# -- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "goal", "verdict"), [(1.0, None, ""), (1.0, 1.0, "met"), (1.01, 1.0, "missed"), (None, 1.0, "missed")]
)
def test_a_verdict(value: float | None, goal: float | None, verdict: str) -> None:
    assert figure("kbkit", value, goal=goal).verdict == verdict


def test_a_figure_survives_json() -> None:
    one = figure("kbkit", 1.5, p95=2.0, goal=1.0, answers=7, extra={"recall": 0.5}, note="n", disk_mb=3.0)
    assert Figure.from_json(one.to_json()) == one
    assert json.loads(one.to_json())["verdict"] == "missed"


def test_a_goal_is_judged_by_its_worst_ratio_against_the_best_peer() -> None:
    goal = Goal("five times", "answers", ("hop", "two"), 5)
    figures = [
        figure("kbkit", 2.0), figure("duckdb", 30.0), figure("ladybug", 12.0), figure("kbkit sql", 0.1),
        figure("kbkit", 0.001, "two", "s"), figure("ladybug", 4.0, "two"),
    ]  # fmt: skip
    [one] = judge([goal], figures)
    assert (one.ratio, one.where, one.verdict) == (4.0, "two, ladybug", "missed")
    [one] = judge([goal], figures[:-1])
    assert (one.ratio, one.where, one.verdict) == (6.0, "hop, ladybug", "met")
    [one] = judge([Goal("against one", "answers", ("hop",), 15, ("duckdb",))], figures)
    assert (one.ratio, one.verdict) == (15.0, "met")


def test_a_peer_that_was_stopped_is_a_lower_bound() -> None:
    peer = figure("ladybug", 60.0, unit="s", least=True)
    [one] = judge([Goal("ten times", "answers", ("hop",), 10)], [figure("kbkit", 2.0, unit="s"), peer])
    assert (one.ratio, one.where, one.verdict) == (30.0, "hop, ladybug (stopped)", "met")
    assert "> 60 s" in printed(table([figure("kbkit", 2.0, unit="s"), peer]))
    assert growth([peer, figure("ladybug", 1.0, unit="s", scale=0.01)]) == []


def test_a_goal_without_a_peer_has_no_verdict_and_one_without_kbkit_is_missed() -> None:
    goal = Goal("five times", "answers", ("hop",), 5)
    assert [one.verdict for one in judge([goal], [figure("kbkit", 1.0)])] == [""]
    assert [one.verdict for one in judge([goal], [figure("kbkit", 1.0), figure("duckdb", None)])] == [""]
    assert [one.verdict for one in judge([goal], [figure("kbkit", None), figure("duckdb", 9.0)])] == ["missed"]
    assert list(judge([goal], [figure("duckdb", 9.0)])) == []


def test_faster_but_finding_less_is_missed() -> None:
    goal = Goal("level", "answers", ("hop",), 1, level="found")
    peer = figure("lancedb", 5.0, extra={"found": 0.9})
    assert [j.verdict for j in judge([goal], [figure("kbkit", 1.0, extra={"found": 0.8}), peer])] == ["missed"]
    assert [j.verdict for j in judge([goal], [figure("kbkit", 1.0, extra={"found": 0.895}), peer])] == ["met"]


@given(st.floats(-2, 3), st.floats(0.001, 1000))
def test_the_exponent_of_a_power_law(power: float, factor: float) -> None:
    sizes = [0.01, 0.1, 1.0]
    assert exponent(sizes, [factor * size**power for size in sizes]) == pytest.approx(power, abs=1e-6)


def test_growth_is_of_times_at_several_scales() -> None:
    figures = [
        figure("kbkit", 1.0, scale=0.01), figure("kbkit", 0.1, unit="s", scale=1.0), figure("duckdb", 5.0),
        figure("kbkit", 10.0, "peak memory", "MB", scale=0.01), figure("kbkit", 20.0, "peak memory", "MB", scale=1.0),
    ]  # fmt: skip
    [(area, what, engine, points, slope)] = growth(figures)
    assert (area, what, engine, points) == ("answers", "hop", "kbkit", [(0.01, 0.001), (1.0, 0.1)])
    assert slope == pytest.approx(1.0)


def test_engines_that_disagree_are_named() -> None:
    agreeing = [figure("kbkit", 1.0, answers=5), figure("duckdb", 1.0, answers=5)]
    assert disagreements(agreeing) == []
    assert disagreements([*agreeing, figure("ladybug", 1.0, answers=1_006)]) == [
        "answers: hop, scale 0.1: answers differ: kbkit 5, duckdb 5, ladybug 1,006"
    ]


def test_a_table_puts_peers_below_kbkit_with_their_ratios() -> None:
    rows = [figure("slow", 500.0), figure("fast", 1.0), figure("kbkit", 2.0, goal=1.0), figure("gone", None, note="no")]
    lines = [line.split() for line in printed(table(rows)).splitlines() if line.strip()]
    assert lines[0] == ["answers,", "scale", "0.1"]
    assert lines[1] == ["what", "engine", "median", "ratio", "goal", "more"]
    assert lines[2:] == [
        ["hop", "kbkit", "2", "ms", "1", "ms", "missed"],
        ["fast", "1", "ms", "0.5x"],
        ["slow", "500", "ms", "250x"],
        ["gone", "no"],
    ]


# -- running -----------------------------------------------------------------------------------------------------------


def notes(job: Job, *, number: int = 0, timeout: float = 60.0) -> list[str]:
    return [f.note for f in run(job, "start", number, 0.1, timeout)]


def test_what_cannot_run_is_a_row_that_says_why() -> None:
    job = Job("peer", "small:start")
    assert notes(Job("peer", "small:start", needs=("no_such_package",))) == ["skipped: pip install no_such_package"]
    assert notes(Job("peer", "small:start", limit=0.01)) == [
        "skipped: run up to scale 0.01, beyond which it takes too much time or memory"
    ]
    assert notes(job, number=99) == ["failed in run: IndexError: tuple index out of range"]
    assert notes(job, timeout=0.0) == ["stopped after 0 s"]


def test_times_are_of_the_calls_after_the_first() -> None:
    called: list[int] = []
    assert times(called.append, [1, 2, 3]).runs == 3
    assert called == [1, 1, 2, 3]
    assert times(called.append, range(100), budget=0.0).runs == 3


def test_a_command_that_fails_is_no_figure() -> None:
    with pytest.raises(RuntimeError, match="No such command"):
        seconds([sys.executable, "-c", "raise SystemExit('No such command')"])


def test_a_file_with_two_names_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 1000)
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    assert disk_mb(tmp_path) == 0.001


def test_every_job_has_its_functions_and_every_goal_its_area() -> None:
    for jobs in AREAS.values():
        for job in jobs:
            assert all(callable(resolved(call)) for call in (job.call, *job.prepare))
    assert {goal.area for goal in GOALS} | set(GROWTH) | set(LONG) <= set(AREAS)


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert arguments(["answers", "--scale", "0.01,1"]).scale == [0.01, 1.0]
    assert set(arguments([]).areas) == set(AREAS) - set(LONG)
    grown = arguments(["growth", "sql"])
    assert (grown.areas, grown.scale) == (["sql", *GROWTH], [0.01, 0.1, 1.0])
    for wrong, said in ((["answer"], "no area 'answer'"), (["sql", "--scale", "big"], "--scale big: numbers")):
        with pytest.raises(SystemExit):
            arguments(wrong)
        assert said in capsys.readouterr().err


# -- answers and measures by hand --------------------------------------------------------------------------------------

EDGES = pl.DataFrame(
    [
        ("1", "writes", "10"), ("1", "writes", "11"), ("2", "writes", "10"), ("2", "writes", "12"),
        ("3", "writes", "13"), ("1", "affiliated_with", "5"), ("2", "affiliated_with", "5"),
        ("3", "affiliated_with", "6"), ("10", "has_topic", "7"), ("11", "has_topic", "7"), ("12", "has_topic", "8"),
        ("13", "has_topic", "7"), ("10", "cites", "10"), ("10", "cites", "12"),
    ],
    schema=["head", "relation", "tail"], orient="row",
)  # fmt: skip
ANSWERS = {
    "author": ({"author": 1}, [10, 11]),
    "cited": ({"paper": 10}, [12]),
    "field": ({"field_of_study": 7}, [10, 11, 13]),
    "institution": ({"institution": 5}, [10, 11, 12]),
    "same_author": ({"paper": 10}, [11, 12]),
    "same_author_and_field": ({"paper": 10}, [11]),
    "institution_and_field": ({"institution": 5, "field_of_study": 7}, [10, 11]),
}


class Rows(Walker):
    def __init__(self, *, check: bool) -> None:
        self.check = check

    def neighbors(self, node: int, relation: str) -> Iterable[int]:
        start, end = ("tail", "head") if relation.startswith("<") else ("head", "tail")
        rows = EDGES.filter(pl.col("relation") == relation.removeprefix("<"), pl.col(start) == str(node))
        return rows[end].cast(pl.Int64).to_list()


@pytest.mark.parametrize("name", NAMES)
def test_answers_by_joins_and_by_walks(name: str) -> None:
    row, answers = ANSWERS[name]
    found = expected(name, pl.DataFrame([row, row]), EDGES.lazy()).sort("row")
    assert found["answers"].to_list() == [answers, answers]
    assert sorted(Rows(check=True).ids(name, row)) == sorted(Rows(check=False).ids(name, row)) == answers


def test_metapaths_are_those_that_kbkit_ships() -> None:
    from kbkit.answers.templates import shipped

    assert {t.id for t in shipped() if t.id.startswith("mag/")} == {f"mag/{name}" for name in NAMES}
    for arms in ARMS.values():
        assert all(slot in TYPES and {r.removeprefix("<") for r in path} <= set(RELATIONS) for slot, path in arms)


def test_measures_by_hand() -> None:
    nodes = list(range(30))
    assert evaluation.by_hand(nodes, [3, 25, 99, 1000]) == {"hit@1": 0.0, "hit@5": 1.0, "recall@20": 0.25, "mrr": 0.25}
    assert evaluation.by_hand(nodes, [99]) == {"hit@1": 0.0, "hit@5": 0.0, "recall@20": 0.0, "mrr": 0.0}


# -- an area as a whole ------------------------------------------------------------------------------------------------


def test_an_area_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KBKIT_BENCH", str(tmp_path / "bench"))
    main(["answers", "--scale", "0.0005", "--engine", "kbkit", "--json", str(tmp_path / "f")])
    assert "answers, scale 0.0005" in capfd.readouterr().out
    first, *lines = [json.loads(line) for line in (tmp_path / "f").read_text().splitlines()]
    assert first["kind"] == "run"
    figures = [Figure.from_json(json.dumps(line)) for line in lines if line["kind"] == "figure"]
    assert {f.what for f in figures} >= {"open", *NAMES, "parse and plan, known text", "peak memory"}
    assert {f.note for f in figures} == {""}
    assert all(f.value is not None and f.value > 0 and f.scale == 0.0005 for f in figures)
    goals = [line for line in lines if line["kind"] == "goal"]
    assert {(line["goal"]["area"], line["where"], line["verdict"]) for line in goals} == {
        ("answers", "no peer was measured", "")
    }
