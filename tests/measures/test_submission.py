"""Runs as csv files for STaRK's leaderboard."""

from __future__ import annotations

import ast
import csv
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import KbError
from kbkit.measures.files import kind, ordered, read_run, write_run
from kbkit.measures.frames import RUN
from tests.conftest import Done
from tests.examples import examples
from tests.wording import Wording

NUMBER = st.integers(0, 10**17).map(str)
SCORE = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: x + 0.0)


@examples(20)
@given(st.lists(st.tuples(NUMBER, NUMBER, SCORE), min_size=1, max_size=20, unique_by=lambda row: row[:2]))
def test_a_run_comes_back_in_its_order(tmp_path: Path, rows: list[tuple[str, str, float]]) -> None:
    run = ordered(pl.DataFrame(rows, schema=RUN, orient="row"))
    path = tmp_path / "s.csv"
    write_run(run, path)
    assert read_run(path).select("query", "node").rows() == run.select("query", "node").rows()
    with path.open(encoding="utf-8", newline="") as file:  # as STaRK's code reads it
        found = [(int(row["query_id"]), ast.literal_eval(row["pred_rank"])) for row in csv.DictReader(file)]
    groups = run.group_by("query", maintain_order=True).agg("node")
    assert found == [(int(query), [int(node) for node in nodes]) for query, nodes in groups.iter_rows()]


def test_the_file_of_the_official_evaluation(tmp_path: Path) -> None:
    """It has the measures of each query beside its ranking."""
    path = tmp_path / "eval_results_test.csv"
    path.write_text('idx,query_id,pred_rank,mrr\n0,17,"[5, 3, 9]",0.5\n1,2,[],0.0\n', encoding="utf-8")
    assert read_run(path).rows() == [("17", "5", -1.0), ("17", "3", -2.0), ("17", "9", -3.0)]
    assert kind(path) == "run"
    path.write_text('id,query,answer_ids\n0,q,"[5]"\n', encoding="utf-8")
    assert kind(path) == "gold"


@pytest.mark.parametrize(
    "text",
    [
        "query_id\n1\n",
        'query_id,pred_rank\n1,"[1,\n',
        'query_id,pred_rank\n1,"[1, 2"\n',
        "query_id,pred_rank\n1,\n",
        'query_id,pred_rank\n1,"{""a"": 1}"\n',
        'query_id,pred_rank\n1,"[1, ""x""]"\n',
        'query_id,pred_rank\n1,"[true]"\n',
        'query_id,pred_rank\n1,"[1, 1.5]"\n',
        'query_id,pred_rank\n1,"[1, -1]"\n',
        'query_id,pred_rank\n1,"[1, 2, 1]"\n',
        "query_id,pred_rank\n1,[1]\n1,[2]\n",
        "query_id,pred_rank\n,[1]\n",
    ],
)
def test_bad_files(tmp_path: Path, text: str, wording: Wording) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KbError) as caught:
        read_run(path)
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize(("query", "node"), [("1", "country#AUS"), ("q", "1"), ("1", "007"), ("1", "²"), ("1", "-1")])
def test_names_that_are_no_numbers(tmp_path: Path, query: str, node: str, wording: Wording) -> None:
    run = pl.DataFrame([(query, node, 1.0)], schema=RUN, orient="row")
    with pytest.raises(KbError) as caught:
        write_run(run, tmp_path / "s.csv")
    wording(str(caught.value), replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "s.csv").exists()


def test_the_command(here: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "r.trec").write_text("3 Q0 12 1 0.5 x\n3 Q0 7 2 0.9 x\n1 Q0 5 1 1 x\n", encoding="utf-8")
    for source, target in (("r.trec", "s.csv"), ("s.csv", "t.trec")):
        done = here("measure", "convert", tmp_path / source, tmp_path / target)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "s.csv").read_text(encoding="utf-8") == 'query_id,pred_rank\n3,"[7, 12]"\n1,[5]\n'
    assert read_run(tmp_path / "t.trec").select("query", "node").rows() == [("3", "7"), ("3", "12"), ("1", "5")]
