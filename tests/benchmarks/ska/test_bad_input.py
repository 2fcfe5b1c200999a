"""Invalid and hostile input of SKA-Bench: queries of instances, files of instances and questions, interruptions."""

from __future__ import annotations

import _thread
import json
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.instances import Instance, KnowledgeUnit, Provenance
from kbkit.directory.typed_json import to_json
from kbkit.errors import BadInputError, KbError, QueryError
from kbkit.kb import KnowledgeBase
from kbkit.stores.scratch import Scratch
from tests.conftest import Run
from tests.loops import each

variable = pl.DataFrame({"secret": ["x"]})


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r", "cancelled after"),
        ("SELECT count(*) FROM range(1000000000000)", "cancelled after"),
        ("SELECT string_agg(repeat(a, 1000000), '') FROM t, range(10000)", "Out of Memory|cancelled after"),
        ("SELECT content FROM read_text('pyproject.toml')", "Permission Error"),
        ("COPY t TO 'out.csv'", "Not a single SELECT"),
        ("SELECT a FROM t; SELECT a FROM t", "Not a single SELECT"),
        ("SELECT * FROM variable", "does not exist"),
        ("SELECT '\ud800' FROM t", "unpaired surrogate"),
        ("SELECT FROM WHERE '|\n", "Invalid query"),
    ],
)
def test_queries_of_instances_are_limited(query: str, problem: str) -> None:
    frames = {"t": pl.DataFrame({"a": ["x"]})}
    with Scratch(0.5) as scratch:
        with pytest.raises(QueryError, match=problem):
            scratch.rows(query, frames)
        assert scratch.rows("SELECT a FROM t", frames) == [("x",)], "the database is usable afterwards"


def test_a_query_with_too_many_rows() -> None:
    with Scratch(60) as scratch:
        with pytest.raises(QueryError, match="more than 1,000,000 rows"):
            scratch.rows("SELECT range FROM range(1000002)", {})
        assert scratch.rows("SELECT 1", {}) == [(1,)]


@pytest.mark.system
def test_ctrl_c_in_a_query_of_a_kb(world: KnowledgeBase, request: pytest.FixtureRequest) -> None:
    """Whichever thread DuckDB runs the query in."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in background jobs
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    for query in (world.tables.rows, world.tables.lookup) * 3:
        threading.Timer(0.1, _thread.interrupt_main).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            query("SELECT count(*) FROM range(1000000000000)")
        assert time.monotonic() - begun < 10, "the whole query takes minutes"


# -- files ------------------------------------------------------------------------------------------------------------

ROW = KnowledgeUnit("p0", "row", ["Aster", "Holm"], ["ferries", "0"])
VALID = Instance("a", "table", "Which?", ["Aster"], [ROW], [], Provenance("own", sql="SELECT 1"), "", ["Ferry", "Port"])


@pytest.mark.parametrize(
    ("instance", "problem"),
    [
        (replace(VALID, header=["Port", "port"]), "Duplicate column in the header in .*line 1"),
        (replace(VALID, question="\ud800"), "Unpaired surrogate .*line 1"),
        (replace(VALID, positive=[replace(ROW, kind="passage")]), "p0 in .*line 1 has no source"),
        (replace(VALID, positive=[replace(ROW, content=["Aster"])]), "p0 in .*line 1 has 1 parts instead of 2"),
        (replace(VALID, noise=[ROW]), "Duplicate unit 'p0' in .*line 1"),
        (replace(VALID, form="text"), "Unknown form 'text' in .*line 1"),
    ],
)
def test_invalid_instances(instance: Instance, problem: str, tmp_path: Path) -> None:
    if "no source" in problem:
        instance = replace(instance, positive=[replace(instance.positive[0], source=[])])
    (tmp_path / instances.FILE).write_text(json.dumps(to_json(instance)) + "\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=problem):
        instances.read_instances(tmp_path)


def test_units_with_any_text_are_read_as_written(tmp_path: Path) -> None:
    odd = replace(VALID, positive=[replace(ROW, content=["a\n| b", "\"Ñ' 🦙``` {x}\t\x1b[31m"])], id="ü/🦙")
    instances.write_instances(tmp_path, [odd])
    assert instances.read_instances(tmp_path) == [odd]


def test_commands_need_instances(here: Run, tmp_path: Path) -> None:
    (tmp_path / instances.FILE).write_text("", encoding="utf-8")
    commands = ("check", "stats", "testbed", "agreement"), ("annotate", "review")
    for command, more in each([(one, ()) for one in commands[0]] + [(one, ("--rater", "a")) for one in commands[1]]):
        done = here("ska", command, tmp_path, *more)
        assert done.returncode == 1, command
        assert "No instances in" in done.stderr or "two raters" in done.stderr, command
        assert "Traceback" not in done.stderr


def test_an_invalid_file_of_questions_leaves_nothing_behind(here: Run, world_kb: Path, tmp_path: Path) -> None:
    """The next run, with the corrected file, needs no --replace."""
    questions = tmp_path / "q.jsonl"
    questions.write_text("hello\n", encoding="utf-8")
    done = here("ska", "make", world_kb, "-o", tmp_path / "out", "--questions", questions)
    assert done.returncode == 1
    assert "Invalid JSON in" in done.stderr
    assert not list((tmp_path / "out").glob("stages/*.jsonl"))


def test_people_who_did_not_rate(here: Run, tmp_path: Path) -> None:
    instances.write_instances(tmp_path, [VALID])
    done = here("ska", "revise", tmp_path, "-o", tmp_path / "new")
    assert "No annotations or reviews in" in done.stderr
    note = {"who": "ada", "item": ["a", "p0"], "question": "needed", "mark": True}
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "ada.jsonl").write_text(json.dumps(note) + "\n", encoding="utf-8")
    assert "Did you mean 'ada'" in here("ska", "revise", tmp_path, "-o", tmp_path / "new", "--raters", "adda").stderr
    assert "is the dataset itself" in here("ska", "revise", tmp_path, "-o", tmp_path).stderr
    assert here("ska", "revise", tmp_path, "-o", tmp_path / "new").returncode == 0
    with pytest.raises(KbError, match="does not exist"):
        instances.read_instances(tmp_path / "other")
