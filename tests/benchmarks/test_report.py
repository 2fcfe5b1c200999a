"""Our figures beside the papers': the files of published figures, and the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kbkit import assets
from kbkit.benchmarks.quest import paper as quest_paper
from kbkit.benchmarks.report import FIGURES, HERE, PAPER, beside, in_one_cell, published, read_published
from kbkit.benchmarks.stark import paper as stark_paper
from kbkit.errors import BadInputError, KbError, UnknownNameError

pytestmark = pytest.mark.core

HEAD = "table,section,row,part,column,value,unit,note\n"


@pytest.mark.parametrize(
    ("paper", "figures", "tables"),
    [
        ("convkgyarn", 194, ["1", "2", "3", "4"]),
        ("quest", 66, ["", "3", "4", "5", "7"]),
        ("ska", 333, ["", "1", "2", "3", "4", "5"]),
        ("spinach", 173, ["", "1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"]),
        ("stark", 486, ["", "10", "3", "4", "6", "7", "8"]),
    ],
)
def test_the_figures_of_a_paper(paper: str, figures: int, tables: list[str]) -> None:
    found = published(paper)
    assert len(found.figures) == figures
    assert sorted({one.table for one in found.figures}) == tables
    shares = [one for one in found.figures if "percent" in one.unit]
    assert all(0 <= one.value <= 100 for one in shares)


def test_all_files_are_known() -> None:
    assert sorted(path.stem for path in assets.published_file("ska").parent.iterdir()) == [
        "convkgyarn", "quest", "ska", "spinach", "stark",
    ]  # fmt: skip


def test_shares_of_the_papers_add_up() -> None:
    """Splits of STaRK, bins of tokens, and Table 5 of SPINACH."""
    sums = [
        sum(row[name] for name in ("train", "val", "test"))
        for (_, kind), row in published("stark").of("3").items()
        if kind == "synthesized"
    ]
    assert sums == pytest.approx([1, 1, 1])
    for table in ("5", "10", "11"):
        rows = published("spinach").of(table).values()
        assert sum(row["questions"] for row in rows) == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Invalid first line"),
        ("table,row,value\n", "Invalid first line of .*Use table,section,row"),
        (HEAD + "1,2,a,,b,3\n", "6 cells instead of 8 in .*line 2"),
        (HEAD + "1,,a,,b,3,,\n", "No section in .*line 2"),
        (HEAD + "1,2,,,b,3,,\n", "No row in .*line 2"),
        (HEAD + "1,2,a,,,3,,\n", "No column in .*line 2"),
        (HEAD + "1,2,a,,b,,,\n", "Invalid value '' in .*line 2"),
        (HEAD + "1,2,a,,b,3%,,\n", "Invalid value '3%' in .*line 2"),
        (HEAD + "1,2,a,,b,nan,,\n", "Invalid value 'nan' in .*line 2"),
        (HEAD + "1,2,a,,b,3,,\n1,2,a,,c,3,,\n1,2,a,,b,4,,\n", "Duplicate figure in .*line 4: 1, a, b"),
    ],
)
def test_an_invalid_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=message):
        read_published(path)


def test_figures_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(HEAD + '1,2,a,,b,3,percent,"x, y"\n1,2,a,p,b,4,,\n,3,a,,b,5,,\n', encoding="utf-8")
    found = read_published(path)
    assert found.of("1") == {("a", ""): {"b": 3}, ("a", "p"): {"b": 4}}
    assert found.of("7") == {}
    assert (found.value("", "a", "", "b"), found.value("1", "a", "p", "b")) == (5, 4)
    assert (found.figures[0].unit, found.figures[0].note) == ("percent", "x, y")
    with pytest.raises(KbError, match="no figure 'c'"):
        found.value("1", "a", "", "c")


OURS = pl.DataFrame(
    [("a", 1, 2, 0.5, None), ("b", 1, 3, 0.25, 1.5), ("b", 2, None, None, 2.0)],
    schema={"name": pl.String, "n": pl.Int64, "count": pl.Int64, "x": pl.Float64, "y": pl.Float64},
    orient="row",
)
THEIRS = {("a", 1): (None, 0.4, 7.0), ("b", 2): (9, 0.1, 1.0)}


def test_rows_of_a_paper_follow_ours() -> None:
    found = beside(OURS, ["name", "n"], lambda *key: THEIRS.get(key))
    assert found.columns == ["name", "n", "figures", "count", "x", "y"]
    assert found.rows() == [
        ("a", 1, "here", 2, 0.5, None),
        ("a", 1, "paper", None, 0.4, 7.0),
        ("b", 1, "here", 3, 0.25, 1.5),
        ("b", 2, "here", None, None, 2.0),
        ("b", 2, "paper", 9, 0.1, 1.0),
    ]
    twice = beside(OURS, ["name", "n"], lambda *key: THEIRS.get(key), named=lambda name, n: (name * 2, n))
    assert twice.filter(pl.col("figures") == "paper")["name"].to_list() == ["aa", "bb"]
    less = beside(OURS, ["name", "n"], lambda *key: THEIRS.get(key), difference=True)
    assert less.filter(pl.col("figures") == "difference").rows() == [
        ("a", 1, "difference", None, pytest.approx(0.1), None),
        ("b", 2, "difference", None, None, 1.0),
    ]
    assert beside(OURS.clear(), ["name", "n"], lambda *_: None).schema == found.schema


def test_both_figures_in_one_cell() -> None:
    found = in_one_cell(beside(OURS, ["name", "n"], lambda *key: THEIRS.get(key)), ["x", "y"], [2, 1])
    assert found.rows() == [
        ("a", 1, 2, "0.50 (0.40)", "- (7.0)"),
        ("b", 1, 3, "0.25 (-)", "1.5 (-)"),
        ("b", 2, None, "- (0.10)", "2.0 (1.0)"),
    ]


def test_rows_of_starks_systems() -> None:
    """By figures read from the paper by eye: Table 6 (full and sample), Table 7, and means of Table 8."""
    schema = {"run": pl.String, "queries": pl.Int64, **dict.fromkeys(("Hit@1", "Hit@5", "R@20", "MRR"), pl.Float64)}
    schema |= {"ms_median": pl.Float64, "ms_mean": pl.Float64}
    ours = pl.DataFrame([("bm25", 5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)], schema=schema, orient="row")

    def row(name: str, split: str, sample: float, system: str) -> tuple[Any, ...]:
        found = stark_paper.with_paper(ours, name, split, sample)
        assert found.row(0) == ("bm25", HERE, 5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
        [one] = found.filter(pl.col("run") == system).rows()
        return one[1:2] + one[3:7] + one[8:]

    assert row("mag", "test", 1.0, "GritLM-7b") == (PAPER, 37.90, 56.74, 46.40, 47.25, None)
    assert row("prime", "test", 0.1, "GPT4 Reranker") == (PAPER, 18.28, 37.28, 34.05, 26.55, 26970.0)
    assert row("amazon", "human_generated_eval", 1.0, "QAGNN (roberta)") == (PAPER, 22.22, 49.38, 21.54, 31.33, 2320.0)
    counts = [stark_paper.with_paper(ours, "mag", *at).height - 1 for at in (("test", 1.0), ("test", 0.1))]
    assert counts == [10, 12]
    assert stark_paper.remark("mag", "test", 0.1) == (
        "Rows of the paper: Table 6, STaRK-MAG, a tenth of the test set; ms_mean of Table 8"
    )
    assert "Table 7, STaRK-Prime, the human-generated queries" in stark_paper.remark("prime", "human_generated_eval")
    with pytest.raises(UnknownNameError):
        stark_paper.check_name("dblp")


def test_rows_of_quests_systems() -> None:
    columns = {"system": pl.String, "template": pl.String, "books": pl.Float64, "movie": pl.Float64, "all": pl.Float64}
    ours = pl.DataFrame([("bm25", "_", 0.3, 0.5, 0.4)], schema=columns, orient="row")
    found = quest_paper.with_paper(5, ours)
    # Domains that only the paper has are shown too, as most datasets have none of its names.
    assert found.columns == ["system", FIGURES, "template", "books", "movie", "films", "plants", "animals", "all"]
    assert found.row(0) == ("bm25", HERE, "_", 0.3, 0.5, None, None, None, 0.4)
    assert ("T5-Large DE + T5-Large", PAPER, "_ or _ or _", 0.348, None, 0.2, 0.306, 0.294, None) in found.rows()
    recalls = pl.DataFrame({"system": ["bm25"], "queries": [3], "recall@20": [0.1], "mrecall@20": [None]})
    assert quest_paper.with_paper(4, recalls).row(2) == ("T5-Base DE", PAPER, None, 0.255, 0.045)
