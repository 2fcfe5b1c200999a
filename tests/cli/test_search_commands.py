"""Commands that search: search and run."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kbkit.cli.search import _named
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.measures.files import read_run
from tests.conftest import Done, Run
from tests.console import one_line, records, rows
from tests.wording import Wording

MODES = ("bm25", "dense", "multivector", "hybrid", "relational")
QUERY = "rivers of France"
GERMAN = 'language:"German" -> country'
Here = Callable[..., Done]


@pytest.fixture
def here(here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    """Run the program in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return here


# -- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_matches_python(here: Here, world_kb: Path, world: KnowledgeBase, mode: str) -> None:
    expected = world.search(QUERY, k=10, mode=mode)
    assert expected.height == 10
    assert records("search", world_kb, QUERY, "--mode", mode) == expected.to_dicts()


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["-k", 3, "--type", "river", "-m", "bm25"], {"k": 3, "type": "river", "mode": "bm25"}),
        (["-w", GERMAN, "-m", "dense"], {"within": GERMAN, "mode": "dense"}),
        (["--fields", "name", "-m", "bm25"], {"fields": ["name"], "mode": "bm25"}),
        (["--fields", " name=5, description ", "-m", "bm25"], {
            "fields": {"name": 5, "description": None}, "mode": "bm25"
        }),
        (["--weight", "dense=1", "--weight", "multivector=0.5"], {"weights": {"dense": 1, "multivector": 0.5}}),
        (["--fusion", "minmax", "--weight", "bm25=0.7", "--weight", "dense=2"], {
            "fusion": "minmax", "weights": {"bm25": 0.7, "dense": 2}
        }),
        (["--average", 1, "-m", "multivector"], {"average": 1, "mode": "multivector"}),
        (["--explain", "-m", "relational", "-w", GERMAN], {"explain": True, "mode": "relational", "within": GERMAN}),
        (["--embedder", "static"], {}),
    ],
)  # fmt: skip
def test_options(
    here: Here, world_kb: Path, world: KnowledgeBase, arguments: list[object], given: dict[str, Any]
) -> None:
    expected = world.search(QUERY, **{"k": 10, **given})
    assert records("search", world_kb, QUERY, *arguments) == expected.to_dicts()


def test_options_do_what_they_say(here: Here, world_kb: Path, world: KnowledgeBase) -> None:
    german = set(world.answers(GERMAN).nodes()["key"])
    found = records("search", world_kb, QUERY, "-w", GERMAN, "-k", 50, "-m", "dense")
    assert {row["key"] for row in found} == german
    named = records("search", world_kb, "France", "--fields", "name", "-m", "bm25")
    assert {row["name"] for row in named} > {"France", "Swiss franc"}  # one stem
    assert all("franc" in row["name"].lower() for row in named)
    assert "bm25" not in records("search", world_kb, QUERY, "--weight", "dense=1", "-k", 1)[0]
    assert records("search", world_kb, "zzqx", "-m", "bm25", "--within", GERMAN) == []
    assert len(records("search", world_kb, QUERY, "-k", 2)) == 2


def test_searching_within_saved_sets(here: Here, world_kb: Path, tmp_path: Path) -> None:
    own = shutil.copytree(world_kb, tmp_path / "own.kb")
    assert here("answers", own, GERMAN, "--save", "german").returncode == 0
    found = records("search", own, "mountains", "-w", "@german", "-m", "bm25", "-k", 99)
    assert found == records("search", own, "mountains", "-w", GERMAN, "-m", "bm25", "-k", 99)


@pytest.mark.system
@pytest.mark.core
def test_the_program_prints_a_table(run: Run, world_kb: Path) -> None:
    done = run("search", world_kb, "the longest river of Africa", "-f", "table", "-k", 2, "-m", "bm25", "-t", "river")
    assert (done.returncode, done.stderr) == (0, "")
    head, rule, *lines, last = done.stdout.splitlines()
    assert head.split() == ["rank", "name", "node", "score", "snippet"]
    assert set(rule) == {"─"}
    assert lines[0].split()[0] == "1"
    assert "**river**" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert last == "2 rows"


def test_other_formats_have_all_columns(here: Here, world_kb: Path, world: KnowledgeBase, tmp_path: Path) -> None:
    frame = world.search(QUERY, k=3, mode="bm25", explain=True)
    asked = ("search", world_kb, QUERY, "-k", 3, "-m", "bm25", "--explain")
    assert json.loads(here(*asked, "-f", "json").stdout) == frame.to_dicts()
    assert records(*asked, "-f", "ndjson") == frame.to_dicts()
    header, *lines = csv.reader(io.StringIO(here(*asked, "-f", "csv").stdout))
    assert header == frame.columns
    assert [json.loads(line[-1]) for line in lines] == frame["why"].to_list()
    assert [line[2] for line in lines] == frame["key"].to_list()
    assert here(*asked, "-o", "hits.parquet") == Done(0, "", "")
    assert pl.read_parquet(tmp_path / "hits.parquet").equals(frame)


def page(frame: pl.DataFrame) -> list[str]:
    """The lines of the page that explains some hits."""
    lines = []
    for row in frame.iter_rows(named=True):
        lines.append(f"{row['rank']}. {row['name']}  ({row['type']}#{row['key']}) {row['score']:.4g}")
        lines += [f"  {line}" for line in row["why"]]
    return lines


def test_the_page_that_explains(here: Here, world_kb: Path, world: KnowledgeBase) -> None:
    frame = world.search(QUERY, k=4, mode="relational", explain=True)
    done = here("search", world_kb, QUERY, "-k", 4, "-m", "relational", "--explain", "-f", "table")
    linked = ["France: France  (country#FRA, exact)", ""]
    assert done.stdout.splitlines() == [*linked, *page(frame), "4 results"]
    assert re.search(r"^  \w+ -> \[flows_through\] -> France$", done.stdout, re.MULTILINE)


def test_the_page_for_other_modes_and_questions(here: Here, world_kb: Path, world: KnowledgeBase) -> None:
    frame = world.search(QUERY, k=1, mode="hybrid", explain=True)
    done = here("search", world_kb, QUERY, "-k", 1, "-m", "hybrid", "--explain", "-f", "table")
    assert done.stdout.splitlines() == [*page(frame), "1 result"]
    done = here("search", world_kb, "deep and salty", "-k", 2, "-m", "relational", "--explain", "-f", "table")
    assert done.stdout.splitlines()[1] == ""
    assert done.stdout.splitlines()[-1] == "2 results"
    done = here("search", world_kb, "zzqx", "-m", "bm25", "--explain", "-f", "table")
    assert done.stdout == "0 results\n"


SEARCH_ERRORS: list[tuple[list[object], list[str]]] = [
    ([""], ["Empty query"]),
    (["x", "-m", "zz"], ["'zz'", "relational"]),
    (["x", "-k", 0], ["k: 0", "1,000,000"]),
    (["x", "-t", "zz"], ["'zz'", "currency"]),
    (["x", "-w", "zz"], ["Column 1", "'zz'"]),
    (["x", "-w", "@zz"], ["Column 1", "@zz"]),
    (["x", "--fields", "zz"], ["'zz'", "description, name"]),
    (["x", "--fields", "name=0"], ["field name: 0"]),
    (["x", "--fields", "name=x"], ["'x'"]),
    (["x", "--fields", "name", "-m", "dense"], ["'dense'", "fields"]),
    (["x", "--weight", "bm26=1"], ["'bm26'", "'bm25'"]),
    (["x", "--weight", "bm25=0"], ["weights", "0"]),
    (["x", "--weight", "bm25=nan"], ["bm25", "nan"]),
    (["x", "--fusion", "zz"], ["'zz'", "minmax, rrf"]),
    (["x", "--rerank", "zz"], ["'zz'", "cross-encoder:MODEL"]),
    (["x", "-f", "zz"], ["'zz'", "parquet"]),
    (["x", "--embedder", "zz"], ["static", "zz"]),
]


@pytest.mark.parametrize(("arguments", "facts"), SEARCH_ERRORS, ids=[" ".join(map(str, a)) for a, _ in SEARCH_ERRORS])
def test_search_errors(here: Here, world_kb: Path, arguments: list[object], facts: list[str], wording: Wording) -> None:
    message = one_line(here("search", world_kb, *arguments))
    assert [fact for fact in facts if fact not in message] == []
    wording(message, "cli")


def test_more_errors_of_search(here: Here, world_kb: Path, wording: Wording) -> None:
    message = one_line(here("search", "no.kb", "x"))
    wording(message, "cli")
    message = one_line(here("search", world_kb, "x", "--weight", "bm25"))
    assert [fact for fact in ["'bm25'"] if fact not in message] == []
    wording(message, "cli")
    message = one_line(here("search", world_kb, "x", "-m", "bm25", "-o", "no/x.csv"))
    assert [fact for fact in ["no does not exist"] if fact not in message] == []
    wording(message, "cli")


@pytest.mark.parametrize("option", ["--average", "--rerank-depth"])
def test_errors_name_the_option_that_was_typed(here: Here, world_kb: Path, option: str) -> None:
    assert option.removeprefix("--").replace("-", "_") in one_line(here("search", world_kb, "x", option, -1))


# -- run --------------------------------------------------------------------------------------------------------------

STARK = 'id,query,answer_ids\n7,"a lake, in Italy","[1]"\n8,rivers of France,"[2, 3]"\n9,capital of Peru,[]\n'
FILES = {
    "q.txt": "rivers of France\n\n  capital of Peru \n",
    "q.tsv": "a\trivers of France\nb 1\tcapital of Peru\n",
    "q.jsonl": '{"id": "x", "query": "rivers of France"}\n{"query": 2, "text": "capital of Peru", "split": "test"}\n',
    "quest.jsonl": '{"query": "rivers of France", "docs": ["Seine", "Loire"], "original_query": "<mark>r</mark>",'
    ' "metadata": {"template": "_", "domain": "geo"}}\n',
    "q.json": '[{"id": 5, "query": "rivers of France", "answers": ["seine"]}]\n',
    "q.csv": STARK,
}
EXPECTED = {
    "q.txt": {"1": QUERY, "3": "capital of Peru"},
    "q.tsv": {"a": QUERY, "b 1": "capital of Peru"},
    "q.jsonl": {"x": QUERY, "2": "capital of Peru"},
    "quest.jsonl": {QUERY: QUERY},
    "q.json": {"5": QUERY},
    "q.csv": {"7": "a lake, in Italy", "8": QUERY, "9": "capital of Peru"},
}


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text(FILES[name], encoding="utf-8")


def expected(kb: KnowledgeBase, queries: dict[str, str], **given: Any) -> list[tuple[str, str, float]]:
    """The run of some queries, each searched for by itself."""
    found = []
    for query, text in queries.items():
        frame = kb.search(text, quotes=False, **{"k": 100, **given})
        found += [(query, key, score) for key, score in frame.select("key", "score").iter_rows()]
    return found


def shown(path: Path) -> list[tuple[str, str, float]]:
    return read_run(path).select("query", "node", "score").rows()


def assert_same(found: list[tuple[str, str, float]], wanted: list[tuple[str, str, float]]) -> None:
    """Two runs hold the same hits, with scores that differ by rounding at most."""
    found, wanted = sorted(found), sorted(wanted)
    assert [hit[:2] for hit in found] == [hit[:2] for hit in wanted]
    assert [hit[2] for hit in found] == pytest.approx([hit[2] for hit in wanted], rel=1e-4)


@pytest.mark.core
@pytest.mark.parametrize("name", FILES)
def test_files_of_queries(here: Here, world_kb: Path, world: KnowledgeBase, tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
    done = here("run", world_kb, name, "-o", "r.jsonl", "-k", 5, "-m", "bm25")
    count = len(EXPECTED[name])
    assert (done.returncode, done.stdout) == (0, "")
    queries = "1 query" if count == 1 else f"{count} queries"
    said = rf"r\.jsonl: {queries}, {5 * count} results; \d+\.\d s, \d[\d,]*\.\d ms per query\n"
    assert re.fullmatch(said, done.stderr)
    assert_same(shown(tmp_path / "r.jsonl"), expected(world, EXPECTED[name], k=5, mode="bm25"))


def test_a_folder_of_starks_and_its_splits(
    here: Here, world_kb: Path, world: KnowledgeBase, tmp_path: Path, wording: Wording
) -> None:
    for folder in ("stark/stark_qa", "stark/split"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "stark/stark_qa/stark_qa.csv").write_text(STARK, encoding="utf-8")
    (tmp_path / "stark/split/test.index").write_text("9\n7\n", encoding="utf-8")
    (tmp_path / "stark/split/val.index").write_text("8\n", encoding="utf-8")
    assert here("-q", "run", world_kb, "stark", "-o", "r.trec", "-k", 4, "--split", "test", "-m", "bm25") == Done(
        0, "", ""
    )
    queries = {name: EXPECTED["q.csv"][name] for name in ("7", "9")}
    assert_same(shown(tmp_path / "r.trec"), expected(world, queries, k=4, mode="bm25"))
    said = one_line(here("run", world_kb, "stark", "-o", "r.trec", "--split", "tset"))
    message = said
    assert [fact for fact in ["'tset'", "'test'"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


def test_splits_of_json_lines(here: Here, world_kb: Path, tmp_path: Path, wording: Wording) -> None:
    write(tmp_path, "q.jsonl", "q.txt")
    assert (
        here("-q", "run", world_kb, "q.jsonl", "-o", "r.trec", "-k", 1, "--split", "test", "-m", "bm25").returncode == 0
    )
    assert [query for query, _, _ in shown(tmp_path / "r.trec")] == ["2"]
    said = one_line(here("run", world_kb, "q.txt", "-o", "r.trec", "--split", "test"))
    message = said
    assert [fact for fact in ["q.txt"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


def test_types_of_queries_restrict_their_hits(here: Here, world_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(
        '{"query": "1", "text": "Africa", "type": "lake"}\n{"query": "2", "text": "Nile"}'
    )
    done = here("run", world_kb, "q.jsonl", "-o", "r.trec", "-k", 3, "-m", "bm25", "--names", "reference")
    assert "1 query restricted to the type in the field type" in done.stderr
    nodes = [node for query, node, _ in shown(tmp_path / "r.trec") if query == "1"]
    assert [node.partition("#")[0] for node in nodes] == ["lake"] * 3
    whole = here("run", world_kb, "q.jsonl", "-o", "r.trec", "-k", 3, "-m", "bm25", "-t", "sea")
    assert "restricted" not in whole.stderr


def test_options_reach_the_search(here: Here, world_kb: Path, world: KnowledgeBase, tmp_path: Path) -> None:
    write(tmp_path, "q.txt")
    given: list[tuple[list[object], dict[str, Any]]] = [
        (["-m", "relational", "-t", "river"], {"mode": "relational", "type": "river"}),
        (["-m", "bm25", "--fields", "name=2", "-w", "river"], {
            "mode": "bm25", "fields": {"name": 2}, "within": "river"
        }),
        (["--fusion", "minmax", "--weight", "bm25=1", "--weight", "dense=3"], {
            "mode": "hybrid", "fusion": "minmax", "weights": {"bm25": 1, "dense": 3}
        }),
        (["-m", "multivector", "--average", 1], {"mode": "multivector", "average": 1}),
    ]  # fmt: skip
    for arguments, options in given:
        assert here("-q", "run", world_kb, "q.txt", "-o", "r.jsonl", "-k", 6, *arguments) == Done(0, "", "")
        wanted = expected(world, EXPECTED["q.txt"], k=6, **options)
        assert_same(shown(tmp_path / "r.jsonl"), wanted)


def test_quotes_are_ignored_by_default(here: Here, world_kb: Path, world: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text('a "salt lake" that is "high"\n', encoding="utf-8")
    assert here("-q", "run", world_kb, "q.txt", "-o", "all.trec", "-m", "dense", "-k", 50).returncode == 0
    assert len(shown(tmp_path / "all.trec")) == 50
    assert here("-q", "run", world_kb, "q.txt", "-o", "q.trec", "-m", "dense", "-k", 50, "--quotes").returncode == 0
    held = world.sql(
        "SELECT key FROM nodes JOIN texts USING (id) WHERE text ILIKE '%salt lake%'"
        " AND regexp_matches(text, '(?i)\\bhigh\\b')"
    )
    assert held.height >= 2
    assert sorted(node for _, node, _ in shown(tmp_path / "q.trec")) == sorted(held["key"])


def test_trec_and_json_lines_agree(here: Here, world_kb: Path, tmp_path: Path) -> None:
    write(tmp_path, "q.txt")
    for name in ("r.trec", "r.run", "r.jsonl", "r.json"):
        assert here("-q", "run", world_kb, "q.txt", "-o", name, "-k", 7, "--tag", "mine", "-m", "bm25") == Done(
            0, "", ""
        )
    assert shown(tmp_path / "r.trec") == shown(tmp_path / "r.jsonl") == shown(tmp_path / "r.json")
    lines = [line.split(" ") for line in (tmp_path / "r.trec").read_text(encoding="utf-8").splitlines()]
    assert [line[3] for line in lines] == [*map(str, range(1, 8))] * 2
    assert {(line[1], line[5]) for line in lines} == {("Q0", "mine")}
    assert here("-q", "run", world_kb, "q.txt", "-o", "r.trec", "-k", 1, "-m", "bm25").returncode == 0
    again = (tmp_path / "r.trec").read_text(encoding="utf-8").splitlines()  # what was there is gone
    assert [line.split(" ")[5] for line in again] == ["bm25", "bm25"]


def test_measures_read_the_output_of_run(here: Here, world_kb: Path, tmp_path: Path) -> None:
    gold = [
        {"id": "a", "query": "the capital of Peru", "answers": ["city#lima"]},
        {"id": "b", "query": "Lake Titicaca", "answers": ["lake#lake-titicaca"]},
        {"id": "c", "query": "Kathmandu", "answers": ["nowhere"]},
    ]
    (tmp_path / "g.jsonl").write_text("".join(json.dumps(record) + "\n" for record in gold), encoding="utf-8")
    asked = ("run", world_kb, "g.jsonl", "-m", "relational", "--names", "reference", "-o")
    done = here(*asked, "r.trec")
    assert done.returncode == 0
    assert done.stderr.startswith("r.trec: 3 queries, 300 results; ")
    assert here("-q", *asked, "r.jsonl") == Done(0, "", "")
    for name in ("r.trec", "r.jsonl"):
        measured = here(
            "measure",
            "ranking",
            name,
            "g.jsonl",
            "--measure",
            "hit@100",
            "--measure",
            "mrr",
            "--per-query",
            "-f",
            "ndjson",
        )
        found = {row["query"]: row for row in rows(measured, None)}
        assert [found[query]["hit@100"] for query in "abc"] == [1, 1, 0]
        ranks = dict(read_run(tmp_path / name).group_by("query").agg("node").rows())
        assert found["a"]["mrr"] == pytest.approx(1 / (ranks["a"].index("city#lima") + 1))
        assert found["c"]["mrr"] == 0


def test_no_hits_are_an_empty_run(here: Here, world_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("zzqxzzqx\n", encoding="utf-8")
    for name in ("r.trec", "r.jsonl"):
        done = here("run", world_kb, "q.txt", "-o", name, "-m", "bm25", "-k", 3)
        assert (done.returncode, done.stderr.partition(" results;")[0].rpartition(" ")[2]) == (0, "0")
        assert (tmp_path / name).read_bytes() == b""


# -- what a run calls nodes -------------------------------------------------------------------------------------------


@pytest.mark.core
def test_names_of_nodes(here: Here, world_kb: Path, world: KnowledgeBase, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "q.txt").write_text("Jordan, Bhutan\n", encoding="utf-8")
    asked = ("-q", "run", world_kb, "q.txt", "-m", "bm25", "-k", 20, "-o")
    nodes = world.search("Jordan, Bhutan", k=20, mode="bm25").select("type", "key", "name").rows()
    # Bhutan and its currency are BTN; a country and a river are called Jordan.
    message = one_line(here(*asked, "r.jsonl", "--names", "key"))
    assert [fact for fact in ["2", "'BTN'"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    message = one_line(here(*asked, "r.jsonl", "--names", "name"))
    assert [fact for fact in ["2", "'Jordan'"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "r.jsonl").exists()
    for more, expected in (
        (("--names", "reference"), {f"{kind}#{key}" for kind, key, _ in nodes}),
        (("--names", "number"), {str(world.find(f"{kind}#{key}")) for kind, key, _ in nodes}),
        ((), {f"{kind}#{key}" if key == "BTN" else key for kind, key, _ in nodes}),
        (("--type", "country", "--names", "key"), {key for kind, key, _ in nodes if kind == "country"}),
        (("--type", "river", "--names", "name"), {name for kind, _, name in nodes if kind == "river"}),
    ):
        assert here(*asked, "r.jsonl", *more) == Done(0, "", "")
        found = [node for _, node, _ in shown(tmp_path / "r.jsonl")]
        assert len(found) == len(set(found)) >= 1
        assert set(found) == expected
    assert here(*asked, "r.trec", "--names", "name", "--type", "currency") == Done(0, "", "")
    assert read_run(tmp_path / "r.trec")["node"].str.contains(" ").any()


def test_the_number_belongs_to_the_name(wording: Wording) -> None:
    keys = ["a", "a", *(f"b{n}" for n in range(1_000) for _ in range(3))]
    columns = {"query": "q", "type": "t", "score": 1.0}
    found = pl.DataFrame({"id": range(len(keys)), "key": keys}).with_columns(
        **{k: pl.lit(v) for k, v in columns.items()}
    )
    with pytest.raises(KbError) as caught:
        _named(found, "key")
    message = str(caught.value)
    assert [fact for fact in ["2", "'a'"] if fact not in message] == []
    wording(message)
    assert caught.value.message


# -- what run refuses -------------------------------------------------------------------------------------------------

RUN_ERRORS: list[tuple[str, str | None, list[str], list[str]]] = [
    ("no.txt", None, [], ["no.txt"]),
    ("e.txt", "\n \n", [], ["e.txt", "empty"]),
    ("e.jsonl", "", [], ["e.jsonl", "empty"]),
    ("e.json", "[]", [], ["e.json"]),
    ("q.foo", "x", [], ["q.foo", "'.foo'", ".jsonl"]),
    ("q.tsv", "a\tx\nb x\n", [], ["q.tsv, line 2"]),
    ("q.tsv", "a\tx\n\na\ty\n", [], ["q.tsv, line 3", "'a'"]),
    ("q.tsv", "a\tx\nb\t \n", [], ["'b'", "Empty query"]),
    ("q.jsonl", '{"id": 1, "query": " "}', [], ["'1'", "Empty query"]),
    ("q.csv", "id,text\n1,x\n", [], ["q.csv", "column query"]),
    ("q.txt", "x", ["-o", "r.foo"], ["r.foo", "'.foo'", ".trec"]),
    ("q.txt", "x", ["--tag", "a b"], ["'a b'"]),
    ("q.txt", "x", ["-m", "zz"], ["'zz'", "relational"]),
    ("q.txt", "x", ["--names", "zz"], ["'zz'", "reference"]),
]


@pytest.mark.parametrize(("name", "text", "more", "facts"), RUN_ERRORS)
def test_run_errors(
    here: Here,
    world_kb: Path,
    tmp_path: Path,
    name: str,
    text: str | None,
    more: list[str],
    facts: list[str],
    wording: Wording,
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    message = one_line(here("run", world_kb, name, "-o", "r.trec", *more))
    assert [fact for fact in facts if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    assert [path.name for path in tmp_path.iterdir()] == ([name] if text is not None else [])


@pytest.mark.parametrize("out", ["no/r.trec", "no/r.jsonl", "no/r.json"])
def test_a_folder_that_does_not_exist(here: Here, world_kb: Path, tmp_path: Path, out: str, wording: Wording) -> None:
    write(tmp_path, "q.txt")
    said = one_line(here("run", world_kb, "q.txt", "-o", out, "-m", "bm25"))
    message = said
    wording(message, replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "no").exists()


def test_an_out_that_is_a_folder(here: Here, world_kb: Path, tmp_path: Path) -> None:
    write(tmp_path, "q.txt")
    (tmp_path / "r.trec").mkdir()
    assert "r.trec" in one_line(here("run", world_kb, "q.txt", "-o", "r.trec", "-k", 1, "-m", "bm25"))


def test_output_is_required(here: Here, world_kb: Path, tmp_path: Path) -> None:
    write(tmp_path, "q.txt")
    done = here("run", world_kb, "q.txt")
    assert done.returncode == 2
    assert "'-o'" in done.stderr
