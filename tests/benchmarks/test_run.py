"""Runs of systems over items: resumed after any interruption, locked, compared by settings, with their costs."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.costs import COSTS, CostFile, CostSummary, Latency, summary
from kbkit.benchmarks.pipeline import Row
from kbkit.benchmarks.retrieval import Ranked, frame_of, lists_of
from kbkit.benchmarks.run import Run, RunForm, Timing, read_runs, run, run_file
from kbkit.directory.systems import exclusive
from kbkit.errors import BadInputError, KbError, LockedError
from kbkit.llm.account import BudgetError, metered
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.client import ModelRequest, Reply, Usage
from kbkit.llm.threads import each
from tests.places import ROOT
from tests.wording import Wording


@dataclass(frozen=True)
class Number:
    """An item: a number to square."""

    id: str
    value: int


@dataclass(frozen=True)
class Square(Row):
    """A row."""

    square: int
    failed: bool = False


@dataclass
class Squares:
    """A system that squares numbers; ``before`` is called before each answer."""

    before: Callable[[Sequence[int]], object] = lambda _: None
    name: str = "squares"
    settings: dict[str, Any] = field(default_factory=lambda: {"power": 2})
    asked: list[int] = field(default_factory=list)

    def answer(self, questions: Sequence[int]) -> list[int]:
        self.before(questions)
        self.asked += questions
        return [value**2 for value in questions]


class StopError(Exception):
    """An interruption."""


NUMBERS = [Number(f"n{value}", value) for value in range(7)]


def form(batch: int = 2, workers: int | None = None) -> RunForm[Number, int, int, Square]:
    def answered(value: int, square: int) -> Square:
        return Square(f"n{value}", square, failed=square < 0)

    return RunForm(Square, lambda item: item.value, answered, batch, workers, retry=lambda row: row.failed)


def squared(
    path: Path, system: Squares, items: Sequence[Number] = NUMBERS, data: str = "d", **options: Any
) -> Run[Square]:
    how = form(options.pop("batch", 2), options.pop("workers", None))
    return run(path, system, items, how, {"dataset": data}, **options)


def values(done: Run[Square]) -> list[int]:
    return [row.square for row in done.rows.values()]


# -- answers ----------------------------------------------------------------------------------------------------------


def test_a_run_has_its_settings_and_a_row_per_item(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = squared(tmp_path / "r.jsonl", Squares(), progress=lambda *at: seen.append(at))
    assert values(done) == [0, 1, 4, 9, 16, 25, 36]
    first, *rows = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    assert first == {"settings": {"system": "squares", "dataset": "d", "power": 2}}
    assert rows == [{"id": f"n{value}", "square": value**2} for value in range(7)]
    assert seen == [(0, 7), (2, 7), (4, 7), (6, 7), (7, 7)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.costs.csv", "r.jsonl"]


@pytest.mark.parametrize("workers", [None, 3])
def test_a_finished_run_asks_nothing(tmp_path: Path, workers: int | None) -> None:
    first = squared(tmp_path / "r.jsonl", Squares(), workers=workers)
    again = Squares()
    assert squared(tmp_path / "r.jsonl", again, workers=workers) == first
    assert again.asked == []


@given(
    st.permutations(range(7)),
    st.lists(st.tuples(st.integers(1, 7), st.integers(1, 4), st.integers(0, 4)), max_size=4),
    st.sampled_from([None, 1, 3]),
)
@pytest.mark.core
def test_any_interruptions_end_in_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], stops: list[tuple[int, int, int]], workers: int | None
) -> None:
    """Runs of some first items, each stopped by an error after some answers; then a whole run."""
    path = tmp_path_factory.mktemp("run") / "r.jsonl"
    items = [NUMBERS[position] for position in order]
    asked: Counter[int] = Counter()
    for count, batch, answers in stops:
        left = [answers]

        def stop(questions: Sequence[int], left: list[int] = left) -> None:
            if not left[0]:
                raise StopError
            left[0] -= 1
            asked.update(questions)

        with contextlib.suppress(StopError):
            squared(path, Squares(stop), items[:count], batch=batch, workers=workers)
    last = Squares()
    done = squared(path, last, items, batch=3, workers=workers)
    assert values(done) == [item.value**2 for item in items]
    assert asked + Counter(last.asked) == Counter(range(7))  # nothing is answered twice
    assert {row.id for row in read_runs([path], Square, "x")[0].rows.values()} == {item.id for item in NUMBERS}


def test_a_run_that_was_cut_anywhere_continues_to_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    squared(path, Squares())
    whole = path.read_bytes()
    assert len(whole) > 200
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        squared(path, Squares())
        assert path.read_bytes() == whole


def test_a_run_that_was_cut_within_a_character_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = '{"settings": {"system": "s"}}\n{"id": "n1", "square": 1}\n{"id": "né'.encode()
    for end in (len(rows), len(rows) - 1):  # after the character, and within it
        path.write_bytes(rows[:end])
        [read] = read_runs([path], Square, "x")
        assert list(read.rows) == ["n1"]


def test_a_larger_part_continues(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    squared(path, Squares(), NUMBERS[:3])
    second = Squares()
    assert len(squared(path, second).rows) == 7
    assert second.asked == [3, 4, 5, 6]
    assert values(squared(path, Squares(), NUMBERS[1:3])) == [1, 4]  # the rows of the items, no others


def test_items_in_threads_are_answered_once_and_returned_in_order(tmp_path: Path) -> None:
    barrier = threading.Barrier(3, timeout=30)
    numbers = NUMBERS[:6]
    done = squared(tmp_path / "r.jsonl", Squares(lambda _: barrier.wait()), numbers, workers=3)
    assert list(done.rows) == [item.id for item in numbers]
    written = [json.loads(line)["id"] for line in (tmp_path / "r.jsonl").read_text().splitlines()[1:]]
    assert sorted(written) == [item.id for item in numbers]


def test_rows_to_retry_are_answered_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"

    class Failing(Squares):
        def answer(self, questions: Sequence[int]) -> list[int]:
            return [-1 if value == 3 else value**2 for value in questions]

    assert values(squared(path, Failing(), workers=2))[3] == -1
    again = Squares()
    assert values(squared(path, again, workers=2)) == [value**2 for value in range(7)]
    assert again.asked == [3]
    [read] = read_runs([path], Square, "x")
    assert (len(read.rows), read.rows["n3"].square) == (7, 9)  # of two rows, the later one


# -- other runs -------------------------------------------------------------------------------------------------------


def test_other_settings_are_rejected(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "r.jsonl"
    squared(path, Squares())
    before = path.read_bytes()
    others = (
        lambda **o: squared(path, Squares(settings={"power": 3}), **o),
        lambda **o: squared(path, Squares(settings={}), **o),
        lambda **o: squared(path, Squares(settings={"power": 2, "prompt": "p"}), **o),
        lambda **o: squared(path, Squares(name="cubes"), **o),
        lambda **o: squared(path, Squares(), data="e", **o),
    )
    for other in others:
        for options in ({}, {"timing": Timing[int](2, lambda _: pytest.fail("measured"))}):
            with pytest.raises(KbError) as caught:
                other(**options)
            wording(str(caught.value), replace={str(tmp_path): "DIR"})
            assert path.read_bytes() == before
    others[-1](replace=True)
    assert json.loads(path.read_text().splitlines()[0])["settings"]["dataset"] == "e"


def test_replace_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    squared(path, Squares())
    again = Squares()
    squared(path, again, NUMBERS[:2], replace=True)
    assert again.asked == [0, 1]
    assert len(path.read_text().splitlines()) == 3
    assert CostFile(path).read().height == 2


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", '{"id": "n1"}', '{"id": "n1", "square": "x"}', '{"id": "n1", "square": 1, "more": 2}', "\x00"],
)
def test_a_damaged_row_is_named(tmp_path: Path, line: str, wording: Wording) -> None:
    path = tmp_path / "r.jsonl"
    squared(path, Squares())
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]) + "\n")
    before = path.read_bytes()
    with pytest.raises(BadInputError) as caught:
        squared(path, Squares())
    wording(str(caught.value), replace={str(tmp_path): "DIR"})
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_kept(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": "n1", "square": 1}\n')
    with pytest.raises(BadInputError) as caught:
        squared(path, Squares())
    wording(str(caught.value), replace={str(tmp_path): "DIR"})
    assert path.read_text() == '{"id": "n1", "square": 1}\n'


def test_folders_that_cannot_be_written(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "none" / "r.jsonl", tmp_path / "file" / "r.jsonl"):
        with pytest.raises(KbError) as caught:
            squared(path, Squares())
        wording(str(caught.value), replace={str(tmp_path): "DIR"})


# -- processes --------------------------------------------------------------------------------------------------------

PROCESS = """
import os, signal, sys
from pathlib import Path
from tests.benchmarks.test_run import Squares, squared

def before(questions):
    if 4 in questions:
        if sys.argv[2] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        print("running", flush=True)
        sys.stdin.read()

squared(Path(sys.argv[1]), Squares(before), workers=int(sys.argv[3]) or None)
"""


def process(path: Path, what: str, workers: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROCESS, str(path), what, str(workers)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.system
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_a_killed_process_loses_only_what_it_worked_on(tmp_path: Path, workers: int) -> None:
    path = tmp_path / "r.jsonl"
    killed = process(path, "kill", workers)
    assert killed.wait(60) == -signal.SIGKILL
    killed.communicate()
    known = set(read_runs([path], Square, "x")[0].rows)
    if workers:
        assert "n4" not in known
        assert len(known) >= 3  # the other thread can still be working on an earlier item
    else:
        assert known == {"n0", "n1", "n2", "n3"}
    again = Squares()
    assert values(squared(path, again, workers=workers or None)) == [value**2 for value in range(7)]
    assert {f"n{value}" for value in again.asked} == {item.id for item in NUMBERS} - known


@pytest.mark.system
def test_a_second_process_is_rejected_and_then_continues(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "r.jsonl"
    first = process(path, "wait", 0)
    assert first.stdout is not None
    assert first.stdout.readline() == "running\n"
    for replace in (False, True):
        with pytest.raises(LockedError) as caught:
            squared(path, Squares(), replace=replace)
        wording(str(caught.value), replace={str(tmp_path): "DIR"})
    [active] = read_runs([path], Square, "x")
    assert list(active.rows) == ["n0", "n1", "n2", "n3"]
    first.communicate("")
    assert first.returncode == 0
    again = Squares()
    assert len(squared(path, again).rows) == 7
    assert again.asked == []


def test_a_lock_is_per_run(tmp_path: Path) -> None:
    with exclusive(tmp_path / ".r.jsonl.lock", "busy", ""):
        squared(tmp_path / "other.jsonl", Squares())
        with pytest.raises(LockedError):
            squared(tmp_path / "r.jsonl", Squares())
    squared(tmp_path / "r.jsonl", Squares())
    assert not [path for path in tmp_path.iterdir() if "lock" in path.name]


# -- costs ------------------------------------------------------------------------------------------------------------


class Fixed:
    """A model with one reply and a usage of 7 and 3 tokens."""

    name = "m"

    def complete(self, request: ModelRequest) -> Reply:
        return Reply('{"answers": ["x"]}', Usage(7, 3))


def calls(cache: Cache | None = None, **options: Any) -> Calls:
    return Calls([Fixed()], cache or Cache(None), **options)


def asking(model: Calls, per_item: int = 1) -> Callable[[Sequence[int]], object]:
    """Return a function that asks a model ``per_item`` times for each number."""

    def ask(questions: Sequence[int]) -> None:
        inputs = [{"history": [], "question": f"{value}.{n}"} for value in questions for n in range(per_item)]
        model.ask("conv_answer", inputs)

    return ask


@pytest.mark.parametrize("workers", [None, 3])
def test_costs_add_up(tmp_path: Path, workers: int | None) -> None:
    model = calls(prices={"m": (2, 10)}, workers=4)
    done = squared(tmp_path / "r.jsonl", Squares(asking(model, 2)), workers=workers)
    costs = done.costs
    assert costs["id"].to_list() == [item.id for item in NUMBERS] or workers
    assert set(costs["together"]) == ({1} if workers else {2, 1})
    assert set(costs["alone"]) == {workers is not None}
    assert (costs["calls"] == 2).all()
    assert (costs["input_tokens"] == 14).all()
    assert (costs["seconds"] > 0).all()
    total = done.summary
    assert (total.calls, total.cached, total.input_tokens, total.output_tokens) == (14, 0, 98, 42)
    assert total.cost == pytest.approx((98 * 2 + 42 * 10) / 1e6)
    assert total.cost == pytest.approx(model.account.cost)
    assert (total.latency is None) == (workers is None)


def test_cached_replies_are_free_and_not_timed(tmp_path: Path) -> None:
    cache = Cache(None)
    squared(tmp_path / "a.jsonl", Squares(asking(calls(cache))), workers=2)
    again = squared(tmp_path / "b.jsonl", Squares(asking(calls(cache))), workers=2)
    assert again.summary._replace(seconds=0) == (0, 7, 7, 0, 0, None, None)
    assert again.rows == read_runs([tmp_path / "a.jsonl"], Square, "x")[0].rows


def test_a_system_without_models_costs_time_only(tmp_path: Path) -> None:
    total = squared(tmp_path / "r.jsonl", Squares()).summary
    assert total._replace(seconds=0) == (0, 0, 0, 0, 0, None, None)
    assert total.seconds > 0


def test_what_an_interruption_lost_is_in_the_sums(tmp_path: Path) -> None:
    path, cache = tmp_path / "r.jsonl", Cache(None)
    with pytest.raises(BudgetError):
        squared(path, Squares(asking(calls(cache, budget=25, workers=1))))
    [partial] = read_runs([path], Square, "x")
    assert list(partial.rows) == ["n0", "n1"]
    assert partial.costs.filter(together=0)["id"].to_list() == ["n2", "n3"]
    done = squared(path, Squares(asking(calls(cache))))
    assert (done.summary.input_tokens, done.summary.output_tokens) == (49, 21)  # each call was paid once


def test_timed_items_are_measured_once_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    measured: list[int] = []
    timing = Timing[int](3, measured.append)
    first = squared(path, Squares(), timing=timing)
    assert measured == [0, 1, 2]
    assert first.summary.latency is not None
    assert first.costs.filter(alone=True)["id"].to_list() == ["n0", "n1", "n2"]
    again = squared(path, Squares(), timing=Timing(5, measured.append))
    assert measured == [0, 1, 2, 3, 4]
    assert again.costs.filter(alone=True).height == 5
    assert values(again) == values(first)


def test_an_interrupted_measurement_is_no_latency(tmp_path: Path) -> None:
    path, model = tmp_path / "r.jsonl", calls(budget=25, workers=1)
    ask = asking(model)
    with pytest.raises(BudgetError):
        squared(path, Squares(), timing=Timing[int](3, lambda value: ask([value, value + 100])))
    costs = CostFile(path).read()
    assert (costs["together"].to_list(), costs["alone"].to_list()) == ([1, 0], [True, False])
    assert not summary(costs.filter(together=0)).latency


def test_an_item_that_was_answered_again_has_its_last_time() -> None:
    rows = [("a", 1, True, 5.0), ("b", 1, True, 2.0), ("a", 1, True, 1.0), ("a", 3, False, 9.0)]
    numbers = dict.fromkeys(("calls", "cached", "input_tokens", "output_tokens"), 0.0)
    costs = pl.DataFrame(
        [(*row, *numbers.values(), None) for row in rows],
        schema=COSTS,
        orient="row",
    )
    assert summary(costs).latency == Latency(1500.0, 1500.0)
    assert summary(costs).seconds == 17


def test_latency_is_in_milliseconds() -> None:
    assert Latency.of([0.001, 0.002, 0.006]) == Latency(2.0, pytest.approx(3.0))
    assert Latency.of([]) is None


def test_ids_of_any_text_survive_in_costs(tmp_path: Path) -> None:
    names = ['a,"b"', "two\nlines", "", " ", "ü"]
    file = CostFile(tmp_path / "r.jsonl")
    file.measure(names, lambda: None)
    assert file.read()["id"].to_list() == names


def test_incomplete_and_damaged_costs(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "r.jsonl"
    done = squared(path, Squares())
    file = tmp_path / "r.costs.csv"
    whole = file.read_bytes()
    file.write_bytes(whole + b"n8,1,tr")
    assert CostFile(path).read().equals(done.costs)
    squared(path, Squares())
    assert file.read_bytes() == whole
    file.write_bytes(b"id,tog")
    squared(path, Squares())
    assert not file.exists()
    file.write_bytes(whole + b"n8,one,true,x,1,1,1,1,1\n")
    with pytest.raises(BadInputError) as caught:
        CostFile(path).read()
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


def test_calls_are_metered_where_they_are_caused() -> None:
    """Two threads ask at once, each with calls in threads of its own."""
    model = calls(workers=3)

    def work(count: int) -> int:
        with metered() as meter:
            asking(model)(range(100 * count, 100 * count + count))
        return meter.input

    assert each(work, [1, 5, 9, 2], 4) == [7, 35, 63, 14]
    with metered() as outside:
        pass
    assert outside.calls == 0
    assert model.account.input == 7 * 17


# -- files ------------------------------------------------------------------------------------------------------------


def test_names_of_files() -> None:
    names = ["bm25", "bm25 + org/model:7b", "a b", "../x"]
    assert [run_file(Path("r"), name).name for name in names] == [
        "bm25.jsonl",
        "bm25+org-model-7b.jsonl",
        "ab.jsonl",
        "..-x.jsonl",
    ]


def test_runs_of_other_programs(tmp_path: Path) -> None:
    rows = [{"id": "b", "square": 1}, {"id": "a", "square": 2}, {"id": "b", "square": 3}]
    for name in ("x/r.jsonl", "y/r.jsonl", "z.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = [tmp_path / "x" / "r.jsonl", tmp_path / "y" / "r.jsonl", tmp_path / "z.jsonl"]
    found = read_runs(paths, Square, "x")
    assert [one.name for one in found] == [str(paths[0]), str(paths[1]), "z"]
    for one in found:
        assert {name: row.square for name, row in one.rows.items()} == {"b": 3, "a": 2}
        assert (one.settings, one.costs.height) == ({}, 0)


@pytest.mark.parametrize(
    "text",
    ["", "\n", '{"settings": {}}\n', "{", "[]\n", '{"id": 3}\n', '{"id": "a", "square": 1}\n{"id": "b"}\n', "\xff\n"],
)
def test_invalid_runs(tmp_path: Path, text: str, wording: Wording) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInputError) as caught:
        read_runs([path], Square, "ska run DATASET")
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


def test_a_missing_run(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(BadInputError) as caught:
        read_runs([tmp_path / "none.jsonl"], Square, "conv run")
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=3),
        st.lists(st.tuples(st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False)), max_size=4),
        max_size=5,
    )
)
def test_rankings_survive_as_frames(lists: dict[str, list[tuple[str, float]]]) -> None:
    rows = [Ranked(name, [node for node, _ in pairs], [score for _, score in pairs]) for name, pairs in lists.items()]
    frame = frame_of(rows)
    order = list(lists)
    random.Random(3).shuffle(order)
    assert lists_of(frame, order) == {row.id: (row.nodes, row.scores) for row in rows}


@pytest.mark.parametrize(
    ("costs", "line"),
    [
        (CostSummary(0.0, 0, 0, 0, 0, None, None), []),
        (CostSummary(1234.56, 0, 0, 0, 0, None, Latency(12.34, 20.0)), ["m: 1,234.6 s, median 12.3 ms per item"]),
        (CostSummary(2.0, 1, 0, 7000, 9, None, None), ["m: 2.0 s; 1 call of models, 7,000 + 9 tokens"]),
        (CostSummary(2.0, 5, 4, 70, 9, 0.5, None), ["m: 2.0 s; 5 calls of models (4 cached), 70 + 9 tokens, 0.5000"]),
    ],
)  # fmt: skip
def test_costs_in_one_line(costs: CostSummary, line: list[str]) -> None:
    assert costs.lines("m") == line
