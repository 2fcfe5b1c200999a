"""Files of runs, answers and queries: every form, round trips, and what is refused with which words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import KbError, UnknownNameError
from kbkit.measures import files
from kbkit.measures.files import Gold, kind, read_bindings, read_gold, read_queries, read_run, write_gold, write_run
from tests.wording import Wording

RUN = {"query": pl.String, "node": pl.String, "score": pl.Float64}
JUDGEMENTS = {"query": pl.String, "node": pl.String, "relevance": pl.Int64}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return call


def lines(*records: Any) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def problem(call: Callable[[Path], Any], path: Path) -> str:
    """The error of a bad file, without its folder."""
    with pytest.raises(KbError) as caught:
        call(path)
    return str(caught.value).replace(f"{path.parent}/", "")


# -- TREC -------------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("ending", ["trec", "run", "txt", "TREC"])
def test_trec_run(write: Write, ending: str) -> None:
    path = write(
        f"r.{ending}", "q1 Q0 b 1 0.5 bm25\nq2\tQ0  x 1 2 bm25 \nq1 Q0 a 99 1e-1 bm25\n\n  q1 Q0 c 1 7. bm25\n"
    )
    assert read_run(path).rows() == [("q1", "c", 7.0), ("q1", "b", 0.5), ("q1", "a", 0.1), ("q2", "x", 2.0)]
    assert dict(read_run(path).schema) == RUN


def test_trec_run_of_another_system(write: Write) -> None:
    """A byte order mark, line ends of Windows, no line end at the end, and names that only ASCII space divides."""
    path = write("r.run", "\ufeffq Q0 a\u00a0b 1 2 t\r\nq Q0 🤧\u2003 2 1 t\r\n\r\nq Q0 \u0085 3 0 t")
    assert read_run(path)["node"].to_list() == ["a\u00a0b", "🤧\u2003", "\u0085"]
    assert read_run(path)["query"].to_list() == ["q", "q", "q"]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "q Q0 a 1 1 t\nq Q0 b 2 t\n",
            ["line 2", "5", "6"],
        ),
        ("\n\nq Q0 a b 1 1 t\n", ["line 3", "7", "6"]),
        ("q\n", ["line 1", "6"]),
        ("q Q0 a 1 high t\n", ["line 1", "'high'"]),
        ("q Q0 a 1 nan t\n", ["line 1", "'a'", "'q'"]),
        (
            "q Q0 b 1 1 t\nq Q0 a 1 -inf t\n",
            ["line 2", "'a'", "'q'"],
        ),
        (
            "q Q0 a 1 3 t\np Q0 a 1 3 t\n\nq Q0 b 1 2 t\nq Q0 a 1 1 t\n",
            ["line 5", "'a'", "'q'", "line 1"],
        ),
    ],
)
def test_bad_runs(write: Write, text: str, facts: list[str], wording: Wording) -> None:
    message = problem(read_run, write("r.trec", text))
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


@pytest.mark.parametrize("ending", ["qrels", "tsv", "txt"])
def test_qrels(write: Write, ending: str) -> None:
    gold = read_gold(write(f"g.{ending}", "2 0 x 1\n1\t0\tb\t0\n1 0 a +2\n\n1 0 a 2\n1 0 c -1\n"))
    assert gold.judgements.rows() == [("2", "x", 1), ("1", "b", 0), ("1", "a", 2), ("1", "c", -1)]
    assert gold.queries.rows() == [("2", None), ("1", None)]
    assert gold.relevant.rows() == [("2", "x", 1), ("1", "a", 2)]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("1 0 a 1\n1 0 b\n", ["line 2", "3", "4", "0"]),
        ("1 0 a 1.5\n", ["line 1", "'1.5'"]),
        ("1 0 a 99999999999999999999\n", ["line 1", "'99999999999999999999'"]),
        (
            "1 0 b 1\n1 0 a 10001\n",
            ["line 2", "'a'", "'1'", "10001"],
        ),
        (
            "1 0 a 1\n1 0 b 1\n1 0 a 0\n",
            ["line 3", "'a'", "'1'", "line 1"],
        ),
    ],
)
def test_bad_qrels(write: Write, text: str, facts: list[str], wording: Wording) -> None:
    message = problem(read_gold, write("g.qrels", text))
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


@pytest.mark.parametrize("read", [read_run, read_gold, read_queries])
@pytest.mark.parametrize("name", ["f.txt", "f.jsonl", "f.json"])
def test_empty_files_and_invalid_utf_8(write: Write, read: Callable[[Path], Any], name: str, wording: Wording) -> None:
    for empty in (b"", b"\n \r\n", b"\xef\xbb\xbf"):
        message = problem(read, write(name, empty))
        wording(message)
    bad = write(name, "α 0 b 1\n".encode() + b"\xff 0 b 1\n")
    message = problem(read, bad)
    assert [fact for fact in ["line 2"] if fact not in message] == []
    wording(message)
    with pytest.raises(FileNotFoundError):
        read(bad.with_name("missing.txt"))


def test_unknown_formats(write: Write, tmp_path: Path, wording: Wording) -> None:
    path = write("f.xml", "<a/>")
    message = problem(read_run, path)
    assert [fact for fact in ["'.xml'"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})
    message = problem(read_gold, path)
    wording(message, replace={str(tmp_path): "DIR"})
    message = problem(read_queries, path)
    assert [fact for fact in ["'.xml'"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})
    run = pl.DataFrame([("q", "a", 1.0)], schema=RUN, orient="row")
    with pytest.raises(KbError) as caught:
        write_run(run, tmp_path / "out")
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})
    with pytest.raises(KbError) as caught:
        write_gold(read_gold(write("g.qrels", "1 0 a 1")), tmp_path / "g.csv")
    message = str(caught.value)
    assert [fact for fact in ["'.csv'"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


def test_a_folder_stands_for_its_runs(write: Write, tmp_path: Path, wording: Wording) -> None:
    known = [write(f"runs/{name}", "q Q0 a 1 1 x\n") for name in ("a.trec", "b.jsonl")]
    write("runs/predictions/a.jsonl", "")
    write("runs/notes.md", "")
    assert files.run_files([tmp_path / "c.run", tmp_path / "runs"]) == [tmp_path / "c.run", *known]
    (tmp_path / "none").mkdir()
    wording(problem(lambda path: files.run_files([path]), tmp_path / "none"))


# -- JSON -------------------------------------------------------------------------------------------------------------


def test_runs_in_json(write: Write) -> None:
    expected = [("1", "c", 0.5), ("1", "a", -2.0), ("2", "b", 1.0)]
    nested = [{"query": "1", "results": [{"node": "a", "score": -2}, {"node": "c", "score": 0.5}]}]
    nested += [{"id": 2, "query": "words", "results": [{"node": "b", "score": 1.0, "more": []}], "time": 0.1}]
    flat = [{"query": q, "node": n, "score": s} for q, n, s in reversed(expected)]
    for name, text in (("r.jsonl", lines(*nested)), ("r.ndjson", "\n" + lines(*flat)), ("r.json", json.dumps(nested))):
        assert sorted(read_run(write(name, text)).rows()) == sorted(expected)


@pytest.mark.parametrize("key", ["nodes", "docs", "answers", "answer_ids"])
def test_nodes_without_scores_are_best_first(write: Write, key: str) -> None:
    path = write("r.jsonl", lines({"query": "q", key: ["b", 12, "a"]}, {"query": "p", key: []}))
    assert read_run(path).rows() == [("q", "b", -1.0), ("q", "12", -2.0), ("q", "a", -3.0)]


def test_a_file_of_a_run_can_also_hold_the_answers(write: Write) -> None:
    path = write("r.jsonl", lines({"query": "q", "answers": ["x"], "results": [{"node": "a", "score": 1}]}))
    assert read_run(path)["node"].to_list() == ["a"]
    assert read_gold(path).judgements["node"].to_list() == ["x"]


def test_gold_in_json(write: Write) -> None:
    first = {"query": "1", "text": "who?", "answers": ["a", 7, "a"], "template": "A∩B", "hops": 2, "more": [1]}
    second = {"id": 2, "query": "what?", "answer_ids": [{"node": "z", "relevance": 3}], "hard": True, "hops": None}
    third = {"query": "3", "answers": None, "template": 5, "hard": False}
    gold = read_gold(write("g.jsonl", lines(first, second, third)))
    assert gold.judgements.rows() == [("1", "a", 1), ("1", "7", 1), ("2", "z", 3)]
    assert gold.queries.to_dicts() == [
        {"query": "1", "text": "who?", "template": "A∩B", "hops": 2, "hard": None},
        {"query": "2", "text": "what?", "template": None, "hops": None, "hard": True},
        {"query": "3", "text": None, "template": "5", "hops": None, "hard": False},
    ]
    assert read_gold(write("g.json", json.dumps([first, second, third]))).queries.equals(gold.queries)


def test_quest(write: Write) -> None:
    metadata = {"template": "_ that are also _", "domain": "films", "fluency": [True], "relevance_ratings": {"A": []}}
    record = {
        "query": "Horror films set in Nevada",
        "docs": ["A", "B b"],
        "original_query": "<mark>x</mark>",
        "scores": None,
    }
    gold = read_gold(write("q.jsonl", lines({**record, "metadata": metadata})))
    assert gold.judgements.rows() == [(record["query"], "A", 1), (record["query"], "B b", 1)]
    assert gold.queries.to_dicts() == [
        {
            "query": record["query"],
            "text": record["query"],
            "template": "_ that are also _",
            "domain": "films",
            "original_query": "<mark>x</mark>",
            "scores": None,
        }
    ]


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ([1, None, 2], pl.Int64),
        ([1, 2.5, None], pl.Float64),
        ([True, None], pl.Boolean),
        ([1, True], pl.String),
        ([2**70, 1], pl.String),
        (["a", 1], pl.String),
        ([None, None], pl.String),
    ],
)
def test_columns_have_one_type(write: Write, value: list[Any], types: Any) -> None:
    records = [{"query": str(i), "answers": [], "c": v} for i, v in enumerate(value)]
    column = read_gold(write("g.jsonl", lines(*records))).queries["c"]
    assert column.dtype == types
    assert column.null_count() == value.count(None)


GOOD = '{"query": "1", "nodes": ["a"], "answers": ["a"]}\n'


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (
            "{",
            ["line 2", "column 2"],
        ),
        ("[1]", ["line 2"]),
        ("[" * 100_000, ["line 2"]),
        (
            '{"query": "\\ud800", "nodes": []}',
            ["line 2"],
        ),
        ("1" * 5000, ["line 2", "4300"]),
        ('{"nodes": []}', ["line 2", '"query"', '"id"']),
        (
            '{"query": true, "nodes": []}',
            ["line 2"],
        ),
        ('{"query": 1.5, "nodes": []}', ["line 2"]),
        ('{"query": "", "nodes": []}', ["line 2"]),
        ('{"query": 1, "nodes": []}', ["line 2", "'1'", "line 1"]),
        (
            '{"query": "2"}',
            ["line 2", '"results"', '"node"', '"12"'],
        ),
        ('{"query": "2", "nodes": "a"}', ["line 2"]),
        ('{"query": "2", "nodes": [null]}', ["line 2"]),
        ('{"query": "2", "nodes": [["a"]]}', ["line 2"]),
        (
            '{"query": "2", "nodes": ["a", "b", "a"]}',
            ["line 2", "'a'", "'2'"],
        ),
        (
            '{"query": "2", "results": ["a"]}',
            ["line 2", '"node"', '"12"', '"score"'],
        ),
        (
            '{"query": "2", "results": [{"node": "a"}]}',
            ["line 2", "'a'", '"nodes"'],
        ),
        (
            '{"query": "2", "node": "a", "score": "1"}',
            ["line 2", "'a'", '"nodes"'],
        ),
        (
            '{"query": "2", "node": "a", "score": true}',
            ["line 2", "'a'", '"nodes"'],
        ),
        (
            '{"query": "2", "node": "a", "score": NaN}',
            ["line 2", "'a'", "'2'"],
        ),
        (
            '{"query": "2", "node": "a", "score": 1' + "0" * 400 + "}",
            ["line 2", "'a'"],
        ),
        (
            '{"query": "1", "node": "a", "score": 1}',
            ["line 2", "'a'", "'1'", "line 1"],
        ),
    ],
)
def test_bad_runs_in_json(write: Write, line: str, facts: list[str], wording: Wording) -> None:
    message = problem(read_run, write("r.jsonl", GOOD + line + "\n"))
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ('{"query": "2"}', ["line 2", '"answers"', '"12"', '"15"']),
        ('{"query": "2", "answers": "a"}', ["line 2"]),
        (
            '{"query": "2", "answers": [0.5]}',
            ["line 2"],
        ),
        (
            '{"query": "2", "answers": [{"node": "a"}]}',
            ["line 2", '"node"', '"12"', '"relevance"'],
        ),
        (
            '{"query": "2", "answers": [{"relevance": 1}]}',
            ["line 2"],
        ),
        (
            '{"query": "2", "answers": ["a", {"node": "a", "relevance": 2}]}',
            ["line 2", "'a'", "'2'"],
        ),
        ('{"query": "1", "answers": []}', ["line 2", "'1'", "line 1"]),
    ],
)
def test_bad_gold_in_json(write: Write, line: str, facts: list[str], wording: Wording) -> None:
    message = problem(read_gold, write("g.jsonl", GOOD + line + "\n"))
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_bad_lists_of_records(write: Write, wording: Wording) -> None:
    message = problem(read_gold, write("g.json", "{}"))
    assert [fact for fact in ["g.json"] if fact not in message] == []
    wording(message)
    message = problem(read_gold, write("g.json", '[{"query": 1, "answers": []}, 3]'))
    assert [fact for fact in ["g.json", "record 2"] if fact not in message] == []
    wording(message)
    message = problem(read_gold, write("g.json", "[]"))
    assert [fact for fact in ["g.json"] if fact not in message] == []
    wording(message)
    assert read_run(write("g.json", "[]")).is_empty()
    said = problem(read_run, write("g.json", '[{"query": 1, "answers": []},\n {"query": 2, "answers": [}]'))
    message = said
    assert [fact for fact in ["g.json", "line 2", "column 27"] if fact not in message] == []
    wording(message)
    sparql = write("s.json", '{"head": {"vars": []}, "results": {"bindings": []}}')
    message = problem(read_run, sparql)
    assert [fact for fact in ["s.json"] if fact not in message] == []
    wording(message)


# -- queries ----------------------------------------------------------------------------------------------------------


def test_queries(write: Write) -> None:
    wanted = [("7", "who wrote it?"), ("8", "where\tis it?")]
    assert read_queries(write("q.tsv", "7\twho wrote it?\r\n\n8\twhere\tis it?")).rows() == wanted
    assert read_queries(write("q.txt", "\n who wrote it?\r\nwhere\tis it?\n")).rows() == [
        ("2", "who wrote it?"),
        ("3", "where\tis it?"),
    ]
    records = [{"id": int(i), "query": text, "split": "a"} for i, text in wanted]
    assert read_queries(write("q.jsonl", lines(*records))).rows() == [(*row, "a") for row in wanted]
    assert read_queries(write("q.csv", "id,query\n7,who wrote it?\n8,where\tis it?\n")).rows() == wanted


def test_bad_queries(write: Write, wording: Wording) -> None:
    said = problem(read_queries, write("q.tsv", "1\ta\n2 b\n"))
    message = said
    assert [fact for fact in ["q.tsv", "line 2"] if fact not in message] == []
    wording(message)
    message = problem(read_queries, write("q.tsv", "1\ta\n1\tb\n"))
    assert [fact for fact in ["q.tsv", "line 2", "'1'"] if fact not in message] == []
    wording(message)


def test_splits_of_records(write: Write, wording: Wording) -> None:
    records = [{"query": i, "answers": [i], "split": split} for i, split in enumerate(["val", "test", "val", None])]
    path = write("g.jsonl", lines(*records))
    assert read_gold(path).queries.height == 4
    gold = read_gold(path, "val")
    assert gold.queries["query"].to_list() == gold.judgements["node"].to_list() == ["0", "2"]
    with pytest.raises(UnknownNameError) as caught:
        read_queries(path, "dev")
    message = str(caught.value)
    assert [fact for fact in ["'dev'", "g.jsonl"] if fact not in message] == []
    wording(message)
    with pytest.raises(KbError) as caught:
        read_gold(write("g.qrels", "1 0 a 1\n"), "val")
    message = str(caught.value)
    assert [fact for fact in ["g.qrels"] if fact not in message] == []
    wording(message)


# -- STaRK ------------------------------------------------------------------------------------------------------------

CSV = 'id,query,answer_ids\n5,"one, two\nlines","[5, 6]"\n7,three,[8]\n9,"four ""5""","[""x y"", 1]"\n'


@pytest.fixture
def stark(write: Write) -> Path:
    write("qa/split/train.index", "5\n")
    write("qa/split/test.index", "\n9 \r\n")
    write("qa/split/test-0.1.index", "9\n")
    write("qa/stark_qa/stark_qa_human_generated_eval.csv", "id,query,answer_ids,answer_ids_source\n0,why?,[3],[3]\n")
    return write("qa/stark_qa/stark_qa.csv", CSV).parent.parent


def test_stark(stark: Path) -> None:
    gold = read_gold(stark)
    assert gold.judgements.rows() == [("5", "5", 1), ("5", "6", 1), ("7", "8", 1), ("9", "x y", 1), ("9", "1", 1)]
    assert gold.queries.to_dicts() == [
        {"query": "5", "text": "one, two\nlines", "split": "train"},
        {"query": "7", "text": "three", "split": None},
        {"query": "9", "text": 'four "5"', "split": "test"},
    ]
    assert read_gold(stark / "stark_qa" / "stark_qa.csv").queries.equals(gold.queries)
    assert read_gold(stark, "train").queries.rows() == [("5", "one, two\nlines", "train")]
    assert read_gold(stark, "test-0.1").judgements["node"].to_list() == ["x y", "1"]
    assert read_queries(stark, "test")["query"].to_list() == ["9"]
    assert read_gold(stark, "human_generated_eval").queries.rows() == [("0", "why?", "[3]")]


def test_blank_lines_of_stark(write: Write, wording: Wording) -> None:
    text = "id,query,answer_ids\n\n1,a,[1]\n\n"
    assert read_gold(write("t.csv", text)).judgements.rows() == [("1", "1", 1)]
    message = problem(read_gold, write("t.csv", text + "2,b,x\n"))
    assert [fact for fact in ["t.csv", "line 5", "answer_ids"] if fact not in message] == []
    wording(message)


def test_stark_beside_its_splits(write: Write) -> None:
    write("s/split/val.index", "7")
    assert read_gold(write("s/mine.csv", CSV), "val").queries["text"].to_list() == ["three"]
    assert "split" not in read_gold(write("t/mine.csv", CSV)).queries.columns
    write("s/split/test.index", "")  # of a small dataset
    assert read_gold(write("s/mine.csv", CSV)).queries["split"].to_list() == [None, "val", None]
    assert read_gold(write("s/mine.csv", CSV), "test").queries.is_empty()


def test_further_columns_of_stark(write: Write) -> None:
    text = "place,id,query,text,answer_ids,split\nhere,1,why?,other words,[2],mine\n"
    queries = read_gold(write("t/t.csv", text)).queries
    assert queries.to_dicts() == [{"query": "1", "text": "why?", "place": "here", "split": "mine"}]
    write("t/split/val.index", "1")
    assert read_gold(write("t/t.csv", text)).queries["split"].to_list() == ["val"]


def test_bad_splits_of_stark(stark: Path, write: Write, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        read_gold(stark, "../split/train")
    assert caught.value.choices == ["test", "test-0.1", "train", "human_generated_eval"]
    with pytest.raises(UnknownNameError) as caught:
        read_gold(stark / "stark_qa" / "stark_qa_human_generated_eval.csv", "val")
    message = str(caught.value)
    wording(message)
    with pytest.raises(UnknownNameError) as caught:
        read_gold(stark / "stark_qa" / "stark_qa.csv", "human_generated_eval")
    message = str(caught.value)
    assert [fact for fact in ["'human_generated_eval'", "stark_qa"] if fact not in message] == []
    wording(message)
    write("qa/split/val.index", "7\n5\n")
    with pytest.raises(KbError) as caught:
        read_gold(stark)
    message = str(caught.value)
    assert [fact for fact in ["val.index", "line 2", "'5'"] if fact not in message] == []
    wording(message)
    write("qa/split/val.index", "7\n4\n")
    with pytest.raises(KbError) as caught:
        read_gold(stark)
    message = str(caught.value)
    assert [fact for fact in ["val.index", "line 2", "stark_qa", "'4'"] if fact not in message] == []
    wording(message)
    assert read_gold(stark, "train").queries.height == 1


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("id,answer_ids\n1,[1]\n", ["answer_ids"]),
        ("id,query\n1,a\n", ["answer_ids"]),
        ('id,query,answer_ids\n1,"a\nb",[1]\n,c,[2]\n', ["line 4"]),
        ("id,query,answer_ids\n1,a,[1]\n1,b,[2]\n", ["line 3", "'1'"]),
        (
            'id,query,answer_ids\n1,"a\n\nb",[1]\n2,b,"[\'x\']"\n',
            ["line 5", "answer_ids", "column 2"],
        ),
        (
            "id,query,answer_ids\n1,a,\"__import__('os')\"\n",
            ["line 2", "answer_ids", "column 1"],
        ),
        ("id,query,answer_ids\n1,a,[1.5]\n", ["line 2", "answer_ids", "1.5"]),
        ('id,query,answer_ids\n1,a,"[1, [2]]"\n', ["line 2", "answer_ids"]),
        ("id,query,answer_ids\n1,a,[true]\n", ["line 2", "answer_ids"]),
        ("id,query,answer_ids\n1,a,3\n", ["line 2", "answer_ids", "601168", "947318"]),
        ("id,query,answer_ids\n1,a,\n", ["line 2", "answer_ids", "601168", "947318"]),
        (
            "id,query,answer_ids\n1,a,[1],2\n",
            ["'Schema'"],
        ),
    ],
)
def test_bad_tables_of_stark(write: Write, text: str, facts: list[str], wording: Wording) -> None:
    message = problem(read_gold, write("t.csv", text))
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_a_folder_without_questions(tmp_path: Path, wording: Wording) -> None:
    message = problem(read_gold, tmp_path)
    assert [fact for fact in ["stark_qa"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


def test_the_published_questions(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "stark_qa" / "amazon"
    gold = read_gold(folder)
    counts = gold.judgements.group_by("query").len()
    assert (gold.queries.height, int((counts["len"] > 1).sum())) == (9100, 7082)
    assert dict(gold.queries["split"].value_counts().iter_rows()) == {"train": 5910, "val": 1548, "test": 1642}
    assert gold.judgements.filter(pl.col("query") == "601168")["node"].to_list() == ["601168", "947318"]
    assert read_gold(folder, "human_generated_eval").queries.height == 81
    write_gold(gold, tmp_path / "g.jsonl")
    again = read_gold(tmp_path / "g.jsonl", "val")
    assert again.queries.equals(read_gold(folder, "val").queries)
    assert again.judgements.equals(read_gold(folder, "val").judgements)


# -- SPARQL -----------------------------------------------------------------------------------------------------------


def test_results_of_sparql(write: Write) -> None:
    rows = [{"x": {"type": "uri", "value": "urn:a"}}, {"y": {"type": "literal", "value": "b", "xml:lang": "en"}}, {}]
    path = write("r.srj", "\ufeff" + json.dumps({"head": {"vars": ["x", "y"]}, "results": {"bindings": rows}}))
    assert read_bindings(path) == rows
    assert read_bindings(write("a.json", '{"head": {}, "boolean": false}')) is False


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("[]", ['"head"', '"results"', '"bindings"']),
        ('{"results": 5}', ['"head"', '"results"', '"bindings"']),
        ('{"boolean": "yes"}', []),
        ('{"results": {"bindings": {}}}', []),
        (
            '{"results": {"bindings": [{}, {"x": "a"}]}}',
            ["solution 2"],
        ),
        (
            '{"results": {"bindings": [{"x": {"value": "a"}}]}}',
            ["solution 1"],
        ),
        ("{", ["column 2"]),
    ],
)
def test_bad_results_of_sparql(write: Write, text: str, facts: list[str], wording: Wording) -> None:
    message = problem(read_bindings, write("r.json", text))
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


# -- round trips ------------------------------------------------------------------------------------------------------

WORD = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=5)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6)
SCORE = st.floats(allow_nan=False, allow_infinity=False)


def runs(names: st.SearchStrategy[str]) -> st.SearchStrategy[pl.DataFrame]:
    rows = st.lists(st.tuples(names, names, SCORE), min_size=1, max_size=12, unique_by=lambda row: row[:2])
    return rows.map(lambda found: files.ordered(pl.DataFrame(found, schema=RUN, orient="row")))


@given(runs(WORD))
def test_runs_come_back_from_trec(tmp_path: Path, run: pl.DataFrame) -> None:
    write_run(run, tmp_path / "r.trec", "me")
    assert read_run(tmp_path / "r.trec").rows() == run.rows()


@given(runs(TEXT), st.sampled_from([".jsonl", ".json"]))
def test_runs_come_back_from_json(tmp_path: Path, run: pl.DataFrame, ending: str) -> None:
    write_run(run, tmp_path / f"r{ending}")
    assert read_run(tmp_path / f"r{ending}").rows() == run.rows()


@given(
    st.dictionaries(TEXT, st.dictionaries(TEXT, st.integers(-3, 3), max_size=3), min_size=1, max_size=4),
    st.sampled_from([".jsonl", ".json"]),
    st.booleans(),
)
def test_gold_comes_back(tmp_path: Path, judged: dict[str, dict[str, int]], ending: str, plain: bool) -> None:
    rows = [(q, n, 1 if plain else level) for q, levels in judged.items() for n, level in levels.items()]
    queries = pl.DataFrame(
        {"query": list(judged), "text": [None, *judged][: len(judged)], "size": list(map(len, judged.values()))},
        schema_overrides={"text": pl.String},
    )
    gold = Gold(pl.DataFrame(rows, schema=JUDGEMENTS, orient="row"), queries)
    assert write_gold(gold, tmp_path / f"g{ending}") == []
    again = read_gold(tmp_path / f"g{ending}")
    assert again.judgements.rows() == gold.judgements.rows()
    assert again.queries.equals(gold.queries)


def test_gold_as_qrels(write: Write, tmp_path: Path, wording: Wording) -> None:
    gold = read_gold(
        write("g.jsonl", lines({"query": 1, "text": "t", "answers": ["a"], "c": 1}, {"query": 2, "answers": []}))
    )
    out = tmp_path / "g.qrels"
    notes = write_gold(gold, out)
    assert len(notes) == 2
    wording("\n".join(notes), replace={str(tmp_path): "DIR"})
    assert out.read_text() == "1 0 a 1\n"
    assert write_gold(read_gold(out), out) == []


def test_the_bytes_of_a_run(tmp_path: Path) -> None:
    run = pl.DataFrame([("1", "a", 0.1), ("1", 'b"c', 30.0), ("2", "d", 1e-20)], schema=RUN, orient="row")
    write_run(run, tmp_path / "r.trec", "me")
    assert (tmp_path / "r.trec").read_bytes() == b'1 Q0 b"c 1 30.0 me\n1 Q0 a 2 0.1 me\n2 Q0 d 1 1e-20 me\n'
    write_run(run, tmp_path / "r.jsonl")
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0]) == {
        "query": "1",
        "results": [{"node": 'b"c', "score": 30.0}, {"node": "a", "score": 0.1}],
    }


ODD_NAMES = ["New York", "q\u00a01", "a\nb", "a\x1fb", "Amélie 100%", "data:,a b", "data:,a", "data:,a%20b", " "]


@given(st.lists(st.sampled_from(ODD_NAMES) | st.text(min_size=1), min_size=1, max_size=8, unique=True))
def test_names_with_white_space_in_trec_files(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    folder = tmp_path_factory.mktemp("trec")
    rows = [(query, node, float(-at)) for query in names for at, node in enumerate(names)]
    run = pl.DataFrame(rows, schema=RUN, orient="row")
    write_run(run, folder / "r.trec")
    assert {len(line.split()) for line in (folder / "r.trec").read_text(encoding="utf-8").splitlines()} == {6}
    assert sorted(read_run(folder / "r.trec").rows()) == sorted(run.rows())
    gold = Gold(run.select("query", "node", relevance=pl.lit(1)), run.select("query", text=pl.lit(None)).unique())
    write_gold(gold, folder / "g.qrels")
    assert sorted(read_gold(folder / "g.qrels").judgements.rows()) == sorted(gold.judgements.rows())


def test_names_in_trec_files_are_data_urls_only_where_needed(tmp_path: Path) -> None:
    names = ["New York", "a%20b", "Amélie", "data:,x"]
    write_run(pl.DataFrame([("q", name, 0.0) for name in names], schema=RUN, orient="row"), tmp_path / "r.trec")
    written = {line.split()[2] for line in (tmp_path / "r.trec").read_text(encoding="utf-8").splitlines()}
    assert written == {"data:,New%20York", "a%20b", "Amélie", "data:,data%3A%2Cx"}
    foreign = ["data:,a%2Db", "data:,abc", "data:,%FF%20", "data:text/plain,a%20b"]  # not as they are written here
    (tmp_path / "f.trec").write_text("".join(f"q Q0 {name} 1 0 x\n" for name in foreign), encoding="utf-8")
    assert set(read_run(tmp_path / "f.trec")["node"]) == set(foreign)


def test_an_empty_name_in_trec_files(tmp_path: Path, wording: Wording) -> None:
    run = pl.DataFrame([("", "a", 1.0)], schema=RUN, orient="row")
    message = problem(lambda p: write_run(run, p), tmp_path / "r.trec")
    wording(message)
    assert not (tmp_path / "r.trec").exists()


def test_a_tag_is_one_word(tmp_path: Path, wording: Wording) -> None:
    run = pl.DataFrame([("q", "a", 1.0)], schema=RUN, orient="row")
    for tag in ("", "my system"):
        with pytest.raises(KbError) as caught:
            write_run(run, tmp_path / "r.trec", tag)
        message = str(caught.value)
        wording(message, replace={str(tmp_path): "DIR"})


# -- what a file holds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.trec", "", "run"),
        ("a.run", "", "run"),
        ("a.qrels", "", "gold"),
        ("a.csv", "id,query,answer_ids\n", "gold"),
        ("a.txt", "\nq Q0 a 1 2 t\n", "run"),
        ("a.txt", "q 0 a 1\n", "gold"),
        ("a.tsv", "q\t0\ta\t1\n", "gold"),
        ("a.txt", "some words here\n", ""),
        ("a.jsonl", '{"query": 1, "results": []}\nnot JSON', "run"),
        ("a.jsonl", '{"query": 1, "node": "a", "score": 1}', "run"),
        ("a.json", '[{"query": 1, "nodes": []}]', "run"),
        ("a.jsonl", '{"query": 1, "answers": []}', "gold"),
        ("a.ndjson", '{"query": 1, "docs": []}', "gold"),
        ("a.jsonl", '{"query": 1, "answers": [], "results": []}', ""),
        ("a.jsonl", '{"query": 1}', ""),
        ("a.json", "[]", ""),
    ],
)
def test_kind(write: Write, name: str, text: str, expected: str) -> None:
    assert kind(write(name, text)) == expected


def test_a_folder_is_gold(tmp_path: Path) -> None:
    assert kind(tmp_path) == "gold"
