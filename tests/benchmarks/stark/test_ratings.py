"""kbkit stark rate and ratings: samples, Table 10, the agreement of raters, and the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from kbkit.benchmarks.people.judgements import Judgement, append_judgements
from kbkit.benchmarks.stark import ratings
from kbkit.benchmarks.stark.run import questions
from kbkit.errors import KbError
from tests.conftest import Done, Run
from tests.wording import Wording

Here = Callable[..., Done]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "stark_qa").mkdir(parents=True)
    rows = "".join(f"{i},query {i} of the set,[1]\n" for i in range(20))
    (folder / "stark_qa" / "stark_qa.csv").write_text("id,query,answer_ids\n" + rows, encoding="utf-8")
    return folder


def drawn_of(data: Path, size: int, count: int, seed: int = 0) -> ratings.Samples:
    return ratings.samples("mine", questions(data, ""), size, count, seed)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rated(*rows: tuple[str, str, int, str, int]) -> pl.DataFrame:
    """Ratings of (rater, dataset, sample, aspect, rating)."""
    full = [(rater, name, [str(sample)], aspect, rating) for rater, name, sample, aspect, rating in rows]
    schema = {"rater": pl.String, "dataset": pl.String, "queries": pl.List(pl.String), "aspect": pl.String}
    return pl.DataFrame(full, schema={**schema, "rating": pl.Int64}, orient="row")


# -- samples ----------------------------------------------------------------------------------------------------------


def test_samples_are_disjoint_and_depend_on_the_seed(data: Path) -> None:
    drawn = drawn_of(data, 6, 3, 1)
    assert drawn == drawn_of(data, 6, 3, 1)
    assert drawn.ids != drawn_of(data, 6, 3, 2).ids
    assert [len(ids) for ids in drawn.ids] == [6, 6, 6]
    assert len({name for ids in drawn.ids for name in ids}) == 18
    assert [one.number for one in drawn] == [1, 2, 3]


@pytest.mark.parametrize(("size", "count", "seed"), [(7, 3, 0), (0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_samples_that_cannot_be_drawn(data: Path, size: int, count: int, seed: int, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        drawn_of(data, size, count, seed)
    wording(str(caught.value))


# -- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_table_10_by_hand() -> None:
    a = [("r1", 5), ("r2", 4), ("r3", 3), ("r4", 2)]
    found = rated(*((rater, "A", 0, "naturalness", n) for rater, n in a), ("r1", "B", 0, "naturalness", 3))
    table = ratings.rates(pl.concat([found, rated(("r1", "A", 0, "diversity", 1))]))
    assert table.rows() == [
        ("A", "naturalness", 4, 50.0, 75.0),
        ("A", "diversity", 1, 0.0, 0.0),
        ("B", "naturalness", 1, 0.0, 100.0),
        ("Average", "naturalness", 5, 25.0, 87.5),
        ("Average", "diversity", 1, 0.0, 0.0),
    ]
    assert ratings.as_printed(table).rows() == [
        ("A", 4, "50.0 / 75.0", "0.0 / 0.0"),
        ("B", 1, "0.0 / 100.0", None),
        ("Average", 5, "25.0 / 87.5", "0.0 / 0.0"),
    ]


def test_the_rates_of_the_paper_are_those_of_19_and_28_people() -> None:
    """For example, 14 and 17 of 19 are 73.7 and 89.5 percent, which the paper prints as 73.6 / 89.5."""
    people = [5] * 14 + [3] * 3 + [1] * 2
    [row] = ratings.rates(rated(*((str(i), "A", 0, "naturalness", n) for i, n in enumerate(people)))).rows()
    assert row[3:] == (pytest.approx(73.6, abs=0.1), pytest.approx(89.5, abs=0.05))


def test_agreement_by_hand() -> None:
    one, two = [1, 2, 3, 4, 5, 5, 3, 1], [1, 3, 3, 5, 4, 5, 2, 2]
    rows = [("x", "A", i, "diversity", n) for i, n in enumerate(one)]
    rows += [("y", "A", i, "diversity", n) for i, n in enumerate(two)]
    rows += [("x", "A", 9, "diversity", 1), ("y", "B", 9, "diversity", 5), ("z", "A", 0, "naturalness", 3)]
    found = ratings.agreement(rated(*rows))
    assert found.rows() == [
        (aspect, "x, y", "cohen, weighted", 8, 0.375, pytest.approx(0.8484848484848485))
        for aspect in ("diversity", "all")
    ]


# -- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "aspect", "rating"),
    [(("d",), "diversity", 1), (("d", "1"), "beauty", 1), (("d", "1"), "diversity", 6), (("d", "1"), "diversity", "1")],
)
def test_bad_ratings(item: tuple[str, ...], aspect: str, rating: int | str, tmp_path: Path, wording: Wording) -> None:
    append_judgements(tmp_path / "r.jsonl", [Judgement("a", item, aspect, rating)])
    with pytest.raises(KbError) as caught:
        ratings.read_ratings([tmp_path / "r.jsonl"])
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


# -- the commands -----------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_a_session(run: Run, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    arguments = ("stark", "rate", data, "-o", path, "--rater", "ann", "--queries", 3, "--samples", 2)
    done = run(*arguments, stdin="5\nsix\n4\n2\n1\nq\n")
    assert (done.returncode, done.stderr) == (
        0,
        f"0 of 2 samples done; q ends the session\n{path}: 4 judgements saved\n",
    )
    drawn = drawn_of(data, 3, 2, 0)
    for name in (name for ids in drawn.ids for name in ids):
        assert f"  query {name} of the set\n" in done.stdout
    assert "Enter 1 not at all, 2, 3 neutral, 4, 5 very much (q: end)" in done.stdout
    assert [(r["question"], r["mark"]) for r in lines(path)] == [
        ("naturalness", 5), ("diversity", 4), ("practicality", 2), ("naturalness", 1),
    ]  # fmt: skip
    again = run(*arguments, stdin="3\n3\n3\n")
    assert again.stderr.endswith(f"{path}: 2 judgements saved\n")
    assert "sample 1" not in again.stdout
    assert [r["item"] for r in lines(path)] == [["mine", *ids] for ids in drawn.ids for _ in ratings.ASPECTS]
    assert run(*arguments).stderr.endswith(f"{path}: 0 judgements saved\n")


def test_the_tables(here: Here, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    for rater, typed in (("ann", "5 4 3 2 2 2"), ("bob", "5 4 2 1 2 2")):
        done = here(
            "-q", "stark", "rate", data, "-o", path, "--rater", rater, "--queries", 3, "--samples", 2,
            stdin=typed.replace(" ", "\n") + "\n",
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
    shown = here("stark", "ratings", path).stdout
    assert "mine            4   50.0 / 50.0   50.0 / 50.0   0.0 / 25.0" in shown
    rows = [
        json.loads(row) for row in here("stark", "ratings", path, "--agreement", "-f", "ndjson").stdout.splitlines()
    ]
    assert [(row["aspect"], row["items"], row["agreement"]) for row in rows] == [
        ("naturalness", 2, 0.5), ("diversity", 2, 1), ("practicality", 2, 0.5), ("all", 6, pytest.approx(2 / 3)),
    ]  # fmt: skip


@pytest.mark.parametrize("output", ["no/r.jsonl", "."])
def test_a_file_that_cannot_be_written(here: Here, data: Path, tmp_path: Path, output: str, wording: Wording) -> None:
    done = here("stark", "rate", data, "-o", tmp_path / output, "--rater", "ann", stdin="5\n")
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})
