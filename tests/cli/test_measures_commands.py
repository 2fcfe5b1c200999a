"""Commands that score: measure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import console
from tests.conftest import Done
from tests.wording import Wording

RUN_A = "1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n2 Q0 c 1 1 x\n9 Q0 a 1 1 x\n"
RUN_B = '{"query": "1", "nodes": ["b", "a"]}\n{"query": 2, "nodes": ["a", "c"]}\n{"query": 3, "nodes": ["d"]}\n'
GOLD = """\
{"query": "1", "text": "one?", "answers": ["b"], "template": "A", "split": "val"}
{"query": "2", "text": "two?", "answers": ["c", "d"], "template": "B", "split": "test"}
{"query": "3", "text": "three?", "answers": ["d"], "template": "A", "split": "test"}
{"query": "4", "text": "four?", "answers": [], "template": "A", "split": "test"}
"""
Here = Callable[..., Done]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    """Run ``kbkit measure`` in this process, in a folder with the files above, with records as output."""
    for name, text in (("a.trec", RUN_A), ("b.jsonl", RUN_B), ("gold.jsonl", GOLD)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*args: object, before: tuple[str, ...] = ()) -> Done:
        form = () if args[0] == "convert" or {"-f", "-o"} & set(args) else ("-f", "ndjson")
        return console.here(*before, "measure", *args, *form)

    return call


def rows(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def one_line(done: Done) -> str:
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("kbkit: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("kbkit: ").rstrip("\n")


# -- whole commands ---------------------------------------------------------------------------------------------------


def test_the_program_prints_a_table(here: Here, wording: Wording) -> None:
    done = here("ranking", "a.trec", "gold.jsonl", "--by", "template", "-f", "table")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["template", "queries", "hit@1", "hit@5", "recall@20", "mrr", "map", "ndcg@10"]
    assert [[cell if n == 0 else float(cell) for n, cell in enumerate(line)] for line in lines[2:5]] == [
        ["A", 3, 0, 0.5, 0.5, 0.25, 0.25, 0.3155],
        ["B", 1, 1, 1, 0.5, 1, 0.5, 0.6131],
        ["all", 4, 0.3333, 0.6667, 0.5, 0.5, 0.3333, 0.4147],
    ]
    assert done.stdout.endswith("3 rows\n")
    assert done.returncode == 0
    wording(done.stderr, "cli")


def test_quiet(here: Here) -> None:
    done = here("ranking", "a.trec", "gold.jsonl", before=("-q",))
    assert done.stderr == ""
    assert [row["queries"] for row in rows(done)] == [4]


# -- ranking ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_ranking(here: Here) -> None:
    assert rows(here("ranking", "a.trec", "gold.jsonl", "--measure", "MRR", "--measure", "r@1")) == [
        {"queries": 4, "mrr": 0.5, "recall@1": pytest.approx(0.5 / 3)}
    ]


def test_per_query(here: Here, wording: Wording) -> None:
    done = here("ranking", "b.jsonl", "gold.jsonl", "--per-query", "--measure", "mrr", "--measure", "recall@20")
    assert rows(done) == [
        {"query": "1", "template": "A", "split": "val", "mrr": 1.0, "recall@20": 1.0},
        {"query": "2", "template": "B", "split": "test", "mrr": 0.5, "recall@20": 0.5},
        {"query": "3", "template": "A", "split": "test", "mrr": 1.0, "recall@20": 1.0},
        {"query": "4", "template": "A", "split": "test", "mrr": None, "recall@20": None},
    ]
    message = done.stderr
    assert [fact for fact in ["1"] if fact not in message] == []
    wording(message, "cli")


def test_split_and_output(here: Here, tmp_path: Path, wording: Wording) -> None:
    done = here("ranking", "b.jsonl", "gold.jsonl", "--split", "val", "--measure", "mrr", "-o", "out.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "out.csv").read_text() == "queries,mrr\n1,1.0\n"
    message = done.stderr
    assert [fact for fact in ["2"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})


def test_by_two_columns(here: Here) -> None:
    found = rows(here("ranking", "b.jsonl", "gold.jsonl", "--by", "split", "--by", "template", "--measure", "mrr"))
    assert [tuple(row.values()) for row in found] == [
        ("test", "A", 2, 1.0),
        ("test", "B", 1, 0.5),
        ("val", "A", 1, 1.0),
        ("all", "all", 4, pytest.approx(2.5 / 3)),
    ]


# -- sets -------------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_sets(here: Here, wording: Wording) -> None:
    done = here("sets", "a.trec", "gold.jsonl", "-k", 1)
    assert rows(done) == [
        {
            "queries": 4,
            "precision": 0.75,
            "recall": 0.5,
            "f1": pytest.approx((2 / 3 + 2 / 3 + 0) / 3),
            "recall@1": pytest.approx(0.5 / 3),
            "mrecall@1": 0.0,
        }
    ]
    message = done.stderr
    assert [fact for fact in ["2", "4"] if fact not in message] == []
    wording(message, "cli")


def test_false_positives(here: Here, tiny_kb: Path, tmp_path: Path, wording: Wording) -> None:
    gold = {
        "query": "q",
        "answers": ["1"],
        "template": "A∩B",
        "expression": "drug{year < 1970} & (person -> [order] -> drug)",
    }
    (tmp_path / "g.jsonl").write_text(json.dumps(gold))
    (tmp_path / "p.jsonl").write_text(json.dumps({"query": "q", "nodes": ["1", "g3", "a/b c", "?", "00123"]}))
    done = here("sets", "p.jsonl", "g.jsonl", "--false-positives", tiny_kb, "--by", "template")
    share = pytest.approx(1 / 3)
    expected = {
        "false_positives": 4,
        "unknown": 1,
        "unmet_0": share,
        "unmet_1": share,
        "unmet_2": share,
        "unmet_3": 0.0,
    }
    assert rows(done) == [{"template": name, **expected, "negation_violated": None} for name in ("A∩B", "all")]
    message = done.stderr
    assert [fact for fact in ["1", "'?'"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    found = rows(here("sets", "p.jsonl", "g.jsonl", "--false-positives", tiny_kb, "--per-query"))
    assert [(row["node"], row["unmet"]) for row in found] == [("g3", 1), ("a/b c", 2), ("?", None), ("00123", 0)]


# -- compare ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_compare(here: Here, wording: Wording) -> None:
    done = here(
        "compare",
        "a.trec",
        "b.jsonl",
        "gold.jsonl",
        "--measure",
        "mrr",
        "--measure",
        "recall@20",
        "--resamples",
        500,
        "--seed",
        1,
    )
    first, second = rows(done)
    assert {k: first[k] for k in ("measure", "queries", "mean_a", "p_randomization")} == {
        "measure": "mrr",
        "queries": 3,
        "mean_a": 0.5,
        "p_randomization": 0.75,  # differences 0.5, -0.5 and 1
    }
    assert first["difference"] == pytest.approx(1 / 3)
    assert (second["mean_a"], second["mean_b"]) == (0.5, pytest.approx(2.5 / 3))
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["a.trec"] * 3 + ["b.jsonl"]
    wording(done.stderr, "cli")


def test_compare_by_a_column(here: Here, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "g.jsonl").write_text(
        '{"query": "1", "answers": ["a", "b"], "kind": "x"}\n{"query": "2", "answers": ["c"], "kind": "y"}\n'
        '{"query": "3", "answers": ["d"], "kind": "y"}\n{"query": "4", "answers": ["e"]}\n'
    )
    for name, hits in (("f", ("1a", "2x", "3d", "4e")), ("s", ("1b", "2c", "3d", "4x"))):
        lines = [f'{{"query": "{query}", "nodes": ["{node}"]}}\n' for query, node in hits]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    asked = ("compare", "f.jsonl", "s.jsonl", "g.jsonl", "--measure", "mrr", "--measure", "recall@5")
    found = rows(here(*asked, "--by", "kind"))
    assert [(r["kind"], r["measure"], r["queries"], r["mean_a"], r["mean_b"]) for r in found] == [
        ("x", "mrr", 1, 1.0, 1.0), ("x", "recall@5", 1, 0.5, 0.5), ("y", "mrr", 2, 0.5, 1.0),
        ("y", "recall@5", 2, 0.5, 1.0), (None, "mrr", 1, 1.0, 0.0), (None, "recall@5", 1, 1.0, 0.0),
        ("all", "mrr", 4, 0.75, 0.75), ("all", "recall@5", 4, 0.625, 0.625),
    ]  # fmt: skip
    each = rows(here(*asked, "--per-query"))
    assert [(r["query"], r["kind"], r["mrr_a"], r["mrr_b"], r["mrr_difference"]) for r in each] == [
        ("1", "x", 1.0, 1.0, 0.0), ("2", "y", 0.0, 1.0, 1.0), ("3", "y", 1.0, 1.0, 0.0), ("4", None, 1.0, 0.0, -1.0),
    ]  # fmt: skip
    message = one_line(here(*asked, "--by", "knd"))
    assert [fact for fact in ["'knd'"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    message = one_line(here(*asked, "--by", "kind", "--per-query"))
    wording(message, "cli", replace={str(tmp_path): "DIR"})


def test_too_few_to_compare(here: Here, wording: Wording) -> None:
    done = here("compare", "b.jsonl", "b.jsonl", "gold.jsonl", "--split", "val", "--measure", "mrr")
    assert rows(done)[0]["p_randomization"] is None
    message = done.stderr
    assert [fact for fact in ["1", "2"] if fact not in message] == []
    wording(message, "cli")


# -- convert ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_convert_a_run(here: Here, tmp_path: Path) -> None:
    assert here("convert", "b.jsonl", "b.trec", "--tag", "mine") == Done(0, "", "")
    assert (tmp_path / "b.trec").read_text() == (
        "1 Q0 b 1 -1.0 mine\n1 Q0 a 2 -2.0 mine\n2 Q0 a 1 -1.0 mine\n2 Q0 c 2 -2.0 mine\n3 Q0 d 1 -1.0 mine\n"
    )
    assert here("convert", "b.trec", "c.json").returncode == 0
    same = [rows(here("ranking", name, "gold.jsonl")) for name in ("b.jsonl", "b.trec", "c.json")]
    assert same[0] == same[1] == same[2]


def test_convert_gold(here: Here, tmp_path: Path, wording: Wording) -> None:
    done = here("convert", "gold.jsonl", "test.qrels", "--split", "test")
    assert (done.returncode, done.stdout) == (0, "")
    assert [fact for fact in ["test.qrels", "text, template, split", "1 query"] if fact not in done.stderr] == []
    wording(done.stderr, "cli")
    assert (tmp_path / "test.qrels").read_text() == "2 0 c 1\n2 0 d 1\n3 0 d 1\n"
    assert here("convert", "gold.jsonl", "again.jsonl") == Done(0, "", "")
    first, second = (rows(here("sets", "b.jsonl", name, "--per-query")) for name in ("gold.jsonl", "again.jsonl"))
    assert first == second


def test_convert_an_ambiguous_file(here: Here, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "both.jsonl").write_text('{"query": 1, "answers": ["a"], "nodes": ["b"]}')
    message = one_line(here("convert", "both.jsonl", "out.txt"))
    assert [fact for fact in ["both.jsonl", "--kind"] if fact not in message] == []
    wording(message, "cli")
    assert here("convert", "both.jsonl", "out.txt", "--kind", "gold").returncode == 0
    assert (tmp_path / "out.txt").read_text() == "1 0 a 1\n"
    assert here("convert", "both.jsonl", "out.txt", "--kind", "run").returncode == 0
    assert (tmp_path / "out.txt").read_text() == "1 Q0 b 1 -1.0 kbkit\n"


# -- rows and lists ---------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_rows_and_lists(here: Here, tmp_path: Path, wording: Wording) -> None:
    cell = {"type": "literal", "value": "a"}
    records = [
        {"id": "1", "predicted": [{"x": cell}], "gold": [{"y": cell}], "dataset": "d", "split": "s"},
        {"id": "2", "predicted": [], "gold": [{"y": cell}], "dataset": "e", "split": "t"},
    ]
    (tmp_path / "rows.json").write_text(json.dumps(records))
    assert rows(here("rows", "rows.json")) == [{"queries": 2, "em": 0.5, "f1": 0.5}]
    assert rows(here("rows", "rows.json", "--by", "dataset"))[1] == {"dataset": "e", "queries": 1, "em": 0.0, "f1": 0.0}
    assert rows(here("rows", "rows.json", "--split", "s", "--per-query")) == [
        {"query": "1", "dataset": "d", "split": "s", "em": 1.0, "f1": 1.0}
    ]
    message = one_line(here("rows", "rows.json", "--split", "u"))
    assert [fact for fact in ["'u'", "rows.json"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    lists = [
        {"id": 1, "predicted": ["a", "b"], "gold": ["A"], "kind": "k"},
        {"id": 2, "predicted": "I don't know", "gold": [], "kind": "n"},
    ]
    (tmp_path / "lists.jsonl").write_text("".join(json.dumps(r) + "\n" for r in lists))
    found = rows(here("lists", "lists.jsonl", "--per-query"))
    assert found[0]["f1"] == pytest.approx(2 / 3)
    assert (found[1]["kind"], found[1]["f1"], found[1]["rejected"]) == ("n", None, 1.0)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "facts"),
    [
        (
            "ranking a.trec gold.jsonl --measure f1",
            ["'f1'", "hit@K", "recall@K", "mrr@K"],
        ),
        ("ranking a.trec gold.jsonl --measure hit@0", ["hit@0", "1", "1,000,000"]),
        (
            "ranking a.trec gold.jsonl --by kind",
            ["'kind'"],
        ),
        ("ranking a.trec gold.jsonl --split dev", ["'dev'", "gold.jsonl"]),
        (
            "ranking a.trec gold.jsonl --per-query --by split",
            [],
        ),
        ("ranking missing.trec gold.jsonl", []),
        (
            "ranking gold.jsonl a.trec",
            ["'.trec'"],
        ),
        (
            "ranking a.trec b.jsonl",
            ["b.jsonl", "line 1", '"answers"', '"12"'],
        ),
        (
            "ranking a.trec gold.jsonl -f xml",
            ["'xml'"],
        ),
        ("sets a.trec gold.jsonl -k 0", ["0", "1", "1,000,000"]),
        (
            "sets a.trec gold.jsonl --false-positives no.kb",
            [],
        ),
        ("compare a.trec b.jsonl gold.jsonl --resamples 0", ["0", "1", "1,000,000"]),
        (
            "convert a.trec out.jsonl --split val",
            [],
        ),
        ("convert a.trec out.jsonl --kind runs", ["'runs'", "'run'"]),
        (
            "convert a.trec out.xml",
            ["out.xml", "'.xml'"],
        ),
    ],
)
def test_errors_are_one_line(here: Here, args: str, facts: list[str], wording: Wording) -> None:
    message = one_line(here(*args.split(), before=("-q",)))
    assert [fact for fact in facts if fact not in message] == []
    wording(message, "cli")


def test_help(here: Here) -> None:
    done = console.here("measure", "--help")
    assert done.returncode == 0
    for name in ("ranking", "sets", "rows", "lists", "compare", "convert"):
        assert f"\n  {name}" in done.stdout
