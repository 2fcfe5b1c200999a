"""kbkit stark rate and ratings: samples, the file, Table 10, and the agreement of raters."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from kbkit.benchmarks.judging import Answers
from kbkit.benchmarks.stark import ratings
from kbkit.benchmarks.stark.evaluate import questions
from kbkit.errors import KbError
from kbkit.measures.agreement import weighted_kappa
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
    # Kappa as scikit-learn 1.9 computes it with quadratic weights.
    assert found.rows() == [
        ("x", "y", "diversity", 8, 37.5, pytest.approx(0.8484848484848485)),
        ("x", "y", "all", 8, 37.5, pytest.approx(0.8484848484848485)),
    ]


@pytest.mark.parametrize(
    ("one", "two", "kappa"),
    [([1, 5, 3], [1, 5, 3], 1.0), ([1, 5], [5, 1], -1.0), ([2, 2], [2, 2], None), ([], [], None), ([1, 1], [1, 2], 0)],
)
def test_kappa(one: list[int], two: list[int], kappa: float | None) -> None:
    assert weighted_kappa(one, two, 5) == (None if kappa is None else pytest.approx(kappa))


# -- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ['{"rater": "a', '{"rater": "me", "dataset": "d", "queries": ["1"]'])
def test_recovery_after_a_killed_writer(data: Path, tmp_path: Path, last: str) -> None:
    path = tmp_path / "r.jsonl"
    drawn = drawn_of(data, 2, 2, 0)
    first, second = drawn
    ratings.save(path, "me", first, "diversity", 4)
    whole = path.read_bytes()
    path.write_bytes(whole + last.encode())
    task = ratings.Rating(drawn, path, "me")
    assert [task.given(key) for key in task.keys] == [Answers({"diversity": "4"}), None]
    ratings.save(path, "me", first, "naturalness", 2)
    assert [line["rating"] for line in lines(path)] == [4, 2]
    path.write_bytes(path.read_bytes().rstrip(b"\n"))  # as an editor leaves it
    ratings.save(path, "me", second, "diversity", 3)
    assert [line["rating"] for line in lines(path)] == [4, 2, 3]


def test_concurrent_raters(data: Path, tmp_path: Path) -> None:
    drawn = drawn_of(data, 1, 8, 0)
    asked = [(sample, aspect) for sample in drawn for aspect in ratings.ASPECTS]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: ratings.save(tmp_path / "r.jsonl", "me", *one, 3), asked))
    assert len(lines(tmp_path / "r.jsonl")) == len(asked)
    task = ratings.Rating(drawn, tmp_path / "r.jsonl", "me")
    assert all(task.done(key) for key in task.keys)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "line",
    [
        '{"rater": 1}',
        '{"rater": "a", "dataset": "d", "queries": "1", "aspect": "diversity", "rating": 1}',
        '{"rater": "a", "dataset": "d", "queries": ["1"], "aspect": "beauty", "rating": 1}',
        '{"rater": "a", "dataset": "d", "queries": ["1"], "aspect": "diversity", "rating": 6}',
        '{"rater": "a", "dataset": "d", "queries": ["1"], "aspect": "diversity", "rating": true}',
        "not JSON",
    ],
)
def test_bad_files(line: str, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "r.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(KbError) as caught:
        ratings.read([tmp_path / "r.jsonl"])
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


# -- the commands -----------------------------------------------------------------------------------------------------


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
    assert [(r["aspect"], r["rating"]) for r in lines(path)] == [
        ("naturalness", 5), ("diversity", 4), ("practicality", 2), ("naturalness", 1),
    ]  # fmt: skip
    again = run(*arguments, stdin="3\n3\n3\n")
    assert again.stderr.endswith(f"{path}: 2 judgements saved\n")
    assert "sample 1" not in again.stdout
    assert [tuple(r["queries"]) for r in lines(path)] == [ids for ids in drawn.ids for _ in ratings.ASPECTS]  # type: ignore[call-overload]
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
    assert [(row["aspect"], row["samples"], row["equal"]) for row in rows] == [
        ("naturalness", 2, 50), ("diversity", 2, 100), ("practicality", 2, 50),
        ("all", 6, pytest.approx(66.67, abs=0.01)),
    ]  # fmt: skip


@pytest.mark.parametrize("output", ["no/r.jsonl", "."])
def test_a_file_that_cannot_be_written(here: Here, data: Path, tmp_path: Path, output: str, wording: Wording) -> None:
    done = here("stark", "rate", data, "-o", tmp_path / output, "--rater", "ann", stdin="5\n")
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})
