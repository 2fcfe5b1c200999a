"""The commands as a user meets them: help, pages, errors, exit codes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import kbkit
from kbkit import assets
from kbkit.cli.app import app

STORES = ["tables", "adjacency", "triples", "text", "vectors"]


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the program with its path."""
    command = command or typer.main.get_command(app)
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


ALL = dict(commands())


def one_line(done: Any) -> str:
    """The error of a command that failed as it should."""
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("kbkit: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("kbkit: ").rstrip("\n")


# -- help -------------------------------------------------------------------------------------------------------------


def test_the_commands_there_are() -> None:
    assert {path[0] for path in ALL if path} >= {
        "demo", "recipes", "recipe", "ingest", "build", "gc", "info", "check", "show", "sql", "sparql", "search",
        "queries", "run", "measure",
    }  # fmt: skip


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_and_option_has_help(path: tuple[str, ...]) -> None:
    command = ALL[path]
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{' '.join(path)} {parameter.name}"


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_printed(run, here, path: tuple[str, ...]) -> None:
    for flag in ("--help", "-h") if not path else ("--help",):
        done = (here if path else run)(*path, flag)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.lstrip().startswith(f"Usage: {' '.join(('kbkit', *path))} ")


def test_version(run) -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"kbkit {kbkit.__version__}\n")


def test_usage_errors(run, here, tiny_kb: Path) -> None:
    for args, said in (
        (("serach", tiny_kb, "x"), "No such command 'serach'"),
        (("sql",), "Missing argument 'DIR'"),
        (("search", tiny_kb, "x", "-k", "many"), "valid integer"),
        (("sql", tiny_kb, "--nope"), "No such option: --nope"),
    ):
        done = (run if args[0] == "serach" else here)(*args)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr


def test_no_arguments_print_the_help(run) -> None:
    assert "Usage: kbkit" in run().stdout + run().stderr


# -- options before the command ---------------------------------------------------------------------------------------


def test_debug_shows_a_traceback(run, tmp_path: Path) -> None:
    plain, debug = run("info", tmp_path), run("--debug", "info", tmp_path)
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert "NotAKbError" in debug.stderr
    assert plain.returncode != 0 != debug.returncode


def test_quiet_builds_say_nothing(run, here, tiny: Path, tmp_path: Path) -> None:
    files = [f"--file={name}={tiny / name}.csv" for name in ("nodes", "edges", "texts")]
    done = run("-q", "ingest", "table", *files, "--out", tmp_path / "a.kb")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    loud = here("ingest", "table", *files, "--out", tmp_path / "b.kb")
    assert loud.returncode == 0
    assert "12 nodes of 5 types, 18 edges of 7 relations, 11 texts" in loud.stderr
    assert loud.stdout == ""


# -- info, check, queries, gc -----------------------------------------------------------------------------------------


def test_info(here, world_kb: Path) -> None:
    data = json.loads(here("info", world_kb, "-f", "json").stdout)
    assert (data["name"], data["generation"]) == ("world", "0001")
    assert data["nodes"] == sum(t["nodes"] for t in data["types"])
    assert data["edges"] == sum(r["edges"] for r in data["relations"])
    assert data["average_degree"] == pytest.approx(2 * data["edges"] / data["nodes"], abs=0.01)
    assert {t["type"]: t["nodes"] for t in data["types"]}["country"] == 197
    assert [s["store"] for s in data["stores"]] and {s["store"] for s in data["stores"]} == set(STORES)
    assert all(s["bytes"] > 0 for s in data["stores"])
    assert len(data["sources"]) >= 20
    assert all(len(s["sha256"]) == 64 for s in data["sources"])
    assert {"kbkit", "duckdb", "pyoxigraph", "tantivy", "lancedb"} <= set(data["versions"])
    for kind in ("csv", "ndjson", "markdown"):
        assert "type country" in here("info", world_kb, "-f", kind).stdout
    page = here("info", world_kb, "-f", "table").stdout
    assert f"{data['nodes']:,} nodes, {data['edges']:,} edges" in page


def test_check(here, world_kb: Path) -> None:
    done = here("check", world_kb, "-f", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == [{"what": what, "result": "ok", "problem": ""} for what in ("files", *STORES)]


def test_check_fails_where_a_file_changed(here, tiny_kb: Path, tmp_path: Path) -> None:
    kb = shutil.copytree(tiny_kb, tmp_path / "copy.kb")
    matrix = kb / "generations" / "0001" / "vectors" / "matrix.npy"
    body = bytearray(matrix.read_bytes())
    body[-1] ^= 1
    matrix.write_bytes(body)
    done = here("check", kb, "-f", "json")
    assert done.returncode == 1
    assert done.stderr == ""
    wrong = [row for row in json.loads(done.stdout) if row["result"] == "wrong"]
    assert [row["what"] for row in wrong] == ["files"]
    assert "vectors/matrix.npy" in wrong[0]["problem"]


def test_queries(run, here) -> None:
    rows = json.loads(here("queries", "-f", "json").stdout)
    assert rows
    assert all(row["answers"].endswith((".", "?")) for row in rows)
    assert {row["language"] for row in rows} == {"sql", "sparql"}
    name = rows[0]["query"]
    printed = run("queries", name).stdout
    assert printed.startswith("-- ")
    assert "SELECT" in printed.upper()
    assert one_line(here("queries", name + "z")).startswith(f"unknown query '{name}z'; did you mean '{name}'")


def test_docs(run, here) -> None:
    named = [line.split()[0] for line in run("docs").stdout.splitlines()]
    assert named[0] == "start"
    assert sorted(named) == sorted(path.stem for path in assets.guides().glob("*.md"))
    assert here("docs", "answers").stdout.startswith("# Answers: paths, sets and proofs\n")
    assert one_line(here("docs", "answer")) == "unknown guide 'answer'; did you mean 'answers'?"


def test_gc(run, here, tiny_kb: Path, tmp_path: Path) -> None:
    kb = shutil.copytree(tiny_kb, tmp_path / "copy.kb")
    done = run("gc", kb)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing to remove\n")
    assert here("-q", "gc", kb).stderr == ""
    assert here("check", kb).returncode == 0


# -- show -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["France", "FRA", "country:France", "country#FRA", "france", "#ID"])
def test_show(here, world_kb: Path, reference: str) -> None:
    with kbkit.open(world_kb) as kb:
        node = kb.find("country#FRA")
    data = json.loads(here("show", world_kb, reference.replace("ID", str(node)), "-f", "json").stdout)
    assert (data["id"], data["reference"], data["name"]) == (node, "country#FRA", "France")
    assert data["attributes"]["un_status"] == "member"
    assert data["texts"][0]["field"] == "description"
    borders = next(r for r in data["relations"] if r["relation"] == "borders")
    assert borders["direction"] == "out"
    assert borders["count"] >= 8
    assert len(borders["neighbors"]) == 5


def test_show_by_alias_and_ambiguous(here, tiny_kb: Path) -> None:
    assert json.loads(here("show", tiny_kb, "Инсулин").stdout)["reference"] == "gene/protein#g3"
    assert one_line(here("show", tiny_kb, "Zoë Müller")) == (
        "several nodes are called 'Zoë Müller'; name one of person#1, person#p2"
    )
    assert one_line(here("show", tiny_kb, "#12")) == "there is no node 12; ids run from 0 to 11"


def test_show_one_relation(here, tiny_kb: Path) -> None:
    rows = json.loads(here("show", tiny_kb, "drug#1", "-r", "order", "-f", "json").stdout)
    assert [(r["direction"], r["key"]) for r in rows] == [("in", "1"), ("in", "1")]
    assert sorted(r["quantity"] for r in rows) == [2, 3]
    assert one_line(here("show", tiny_kb, "drug#1", "-r", "orders")).startswith(
        "unknown relation 'orders'; did you mean 'order'"
    )


def test_show_for_the_eye(here, tiny_kb: Path) -> None:
    page = here("show", tiny_kb, "g3", "-f", "table").stdout
    for line in ("insulin", "gene/protein#g3", "hormone", "year: 1921", "A hormone that lets cells take up sugar"):
        assert line in page
    assert "diabetes mellitus 糖尿病" in page
    assert here("show", tiny_kb, "p3", "-f", "table").stdout.startswith("Nobody, Known")


@pytest.mark.parametrize("number", ["0", "-1", "1"])
def test_show_few(here, world_kb: Path, number: str) -> None:
    done = here("show", world_kb, "France", "-n", number, "-f", "json")
    if done.returncode:
        assert "Traceback" not in done.stderr
    else:
        assert all(len(r["neighbors"]) <= max(int(number), 0) for r in json.loads(done.stdout)["relations"])


def test_show_a_superscript(run, tiny_kb: Path) -> None:
    assert one_line(run("show", tiny_kb, "#²")).startswith("unknown node '#²'")


# -- asking -----------------------------------------------------------------------------------------------------------


def test_a_query_from_text_file_and_standard_input(run, here, tiny_kb: Path, tmp_path: Path) -> None:
    for command, ending, text in (
        ("sql", ".sql", "SELECT count(*) AS n FROM nodes"),
        ("sparql", ".rq", "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s kb:type ?t }"),
    ):
        path = tmp_path / f"q{ending}"
        path.write_text(text, encoding="utf-8")
        for done in (
            here(command, tiny_kb, "-c", text),
            here(command, tiny_kb, path),
            run(command, tiny_kb, "-", stdin=text),
        ):
            assert (done.returncode, done.stdout, done.stderr) == (0, '{"n":12}\n', "")


def test_standard_input_that_is_no_utf8(run, tiny_kb: Path) -> None:
    # The shell hands such bytes on as surrogates, which no engine takes.
    done = run("sql", tiny_kb, "-c", "SELECT '\udcff'")
    assert "Traceback" not in done.stderr
    assert one_line(done)


def test_a_search_that_is_no_utf8(run, tiny_kb: Path) -> None:
    done = run("search", tiny_kb, "\udcff")
    assert done.returncode in (0, 1)
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("command", ["sql", "sparql"])
def test_one_query_at_a_time(here, tiny_kb: Path, command: str) -> None:
    message = f"name one query, or give its text with -c; kbkit {command} DIR -c 'SELECT ...'"
    assert one_line(here(command, tiny_kb)) == message
    assert one_line(here(command, tiny_kb, "x", "-c", "SELECT 1")) == message


@pytest.mark.parametrize("value", ["a", "=1", ""])
def test_parameters_that_are_none(here, tiny_kb: Path, value: str) -> None:
    assert one_line(here("sql", tiny_kb, "-c", "SELECT $a", "-p", value)) == (
        f"-p {value!r} is not NAME=VALUE; e.g. -p limit=10"
    )


def test_parameters_that_a_file_does_not_have(here, tiny_kb: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text("-- Title.\n-- $limit (integer): rows\nSELECT $limit AS n", encoding="utf-8")
    assert json.loads(here("sql", tiny_kb, path, "-p", "limit=3").stdout) == {"n": 3}
    assert one_line(here("sql", tiny_kb, path)) == f"query {path} needs -p limit=...; limit: rows"
    assert one_line(here("sql", tiny_kb, path, "-p", "limits=3")) == (
        f"unknown parameter 'limits' in query {path}; did you mean 'limit'?"
    )
    assert one_line(here("sql", tiny_kb, path, "-p", "limit=x")) == "parameter limit is 'x'; give an integer"


def test_a_query_that_is_not_there(here, tiny_kb: Path) -> None:
    assert one_line(here("sql", tiny_kb, "nosuchquery")).startswith("unknown sql query 'nosuchquery'; ")


def test_search(run, here, world_kb: Path) -> None:
    rows = [json.loads(line) for line in run("search", world_kb, "river nile", "-k", "3").stdout.splitlines()]
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert list(rows[0]) == ["rank", "id", "key", "type", "name", "score", "bm25", "dense", "snippet"]
    typed = here("search", world_kb, "nile", "-t", "country", "-m", "bm25", "-f", "json").stdout
    assert {row["type"] for row in json.loads(typed)} == {"country"}
    assert "river#nile" in here("search", world_kb, "nile", "-f", "table").stdout
    assert one_line(here("search", world_kb, "x", "-k", "0")) == "k is 0; it is from 1 to 1,000,000"
    assert one_line(here("search", world_kb, "x", "-m", "bm26")) == "unknown mode 'bm26'; did you mean 'bm25'?"
    assert one_line(here("search", world_kb, "")) == "the query is empty; give some words"


def test_no_kb(run, here, tmp_path: Path) -> None:
    for args in (("info",), ("check",), ("show", "x"), ("sql", "-c", "SELECT 1"), ("search", "x"), ("gc",)):
        for folder in (tmp_path, tmp_path / "none"):
            error = one_line((run if args[0] == "info" else here)(args[0], folder, *args[1:]))
            assert str(folder) in error
    assert list(tmp_path.iterdir()) == []


def test_asking_writes_nothing(here, tiny_kb: Path, tmp_path: Path) -> None:
    before = sorted(p.relative_to(tiny_kb) for p in tiny_kb.rglob("*") if "lock" not in p.name)
    for args in (
        ("sql", "-c", "SELECT 1"),
        ("sparql", "-c", "ASK {}"),
        ("search", "insulin"),
        ("show", "g1"),
        ("check",),
    ):
        assert here(args[0], tiny_kb, *args[1:], cwd=tmp_path).returncode == 0
    assert sorted(p.relative_to(tiny_kb) for p in tiny_kb.rglob("*") if "lock" not in p.name) == before
    assert list(tmp_path.iterdir()) == []
